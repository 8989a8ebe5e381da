//! The GTP commands that report what a search finds: those of Leela Zero (`lz-`), those of KataGo (`kata-`), and the
//! command that GoGui and Sabaki use.

use std::time::Duration;

use crate::protocol::thinker::{Candidate, Report};

/// The commands that search until the next line arrives.
pub(super) const ANALYZE: [&str; 2] = ["lz-analyze", "kata-analyze"];
/// The commands that search and play the action found.
pub(super) const GENERATE: [&str; 3] = ["genmove_analyze", "lz-genmove_analyze", "kata-genmove_analyze"];

/// The interval if the command does not give one.
const INTERVAL: Duration = Duration::from_secs(1);
/// KataGo's keywords with one value, which have no effect here.
const IGNORED: [&str; 8] = [
    "minmoves",
    "rootInfo",
    "ownership",
    "ownershipStdev",
    "movesOwnership",
    "movesOwnershipStdev",
    "pvVisits",
    "pvEdgeVisits",
];

/// How to report a search.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AnalysisManner {
    /// Whether probabilities are fractions, as KataGo writes them, instead of ten-thousandths.
    pub is_kata: bool,
    /// The time from one line to the next.
    pub interval: Duration,
    /// The largest number of actions in a line.
    pub most: usize,
}

impl AnalysisManner {
    /// Returns the color and the manner that the words after a command give: `[COLOR] [CENTISECONDS] [KEY VALUE
    /// ...]`.
    ///
    /// # Errors
    /// If the words cannot be understood, or restrict the search to some actions.
    pub(super) fn read<'a>(
        command: &str,
        words: &[&'a str],
    ) -> Result<(Option<&'a str>, AnalysisManner), String> {
        let is_kata = command.starts_with("kata-");
        let mut manner = AnalysisManner { is_kata, interval: INTERVAL, most: usize::MAX };
        let is_key = |word: &str| {
            ["interval", "maxmoves", "avoid", "allow"].contains(&word) || IGNORED.contains(&word)
        };
        let is_number = |word: &str| word.starts_with(|sign: char| sign.is_ascii_digit());
        let (color, mut words) = match words {
            [color, rest @ ..] if !is_key(color) && !is_number(color) => (Some(*color), rest),
            words => (None, words),
        };
        if let [interval, rest @ ..] = words
            && is_number(interval)
        {
            (manner.interval, words) = (centiseconds(interval)?, rest);
        }
        for pair in words.chunks(2) {
            match *pair {
                ["interval", value] => manner.interval = centiseconds(value)?,
                ["maxmoves", value] => manner.most = value.parse().map_err(|_| "syntax error")?,
                ["avoid" | "allow", ..] => {
                    return Err("avoid and allow are not supported: all actions are searched".into());
                }
                [key, _] if IGNORED.contains(&key) => {}
                _ => return Err("syntax error".into()),
            }
        }
        Ok((color, manner))
    }

    /// Returns the line about a search, with `info move .. visits .. winrate .. prior .. order .. pv ..` for each
    /// action.
    pub(super) fn line(&self, report: &Report) -> String {
        let chance = |share: f32| {
            if self.is_kata { format!("{share:.6}") } else { format!("{:.0}", 10_000.0 * share) }
        };
        let text = |(order, candidate): (usize, &Candidate)| {
            let Candidate { visits, value, prior, line } = candidate;
            let action = line.first().map_or("", String::as_str);
            // a draw is half a win
            let (winrate, prior) = (chance((value + 1.0) / 2.0), chance(*prior));
            let line = line.join(" ");
            format!(
                "info move {action} visits {visits} winrate {winrate} prior {prior} order {order} pv {line}"
            )
        };
        report.candidates.iter().take(self.most).enumerate().map(text).collect::<Vec<_>>().join(" ")
    }
}

/// Parses an interval; the shortest is one hundredth of a second.
fn centiseconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "syntax error")?;
    Duration::try_from_secs_f64(number.max(1.0) / 100.0).map_err(|_| "syntax error".into())
}
