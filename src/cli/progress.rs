//! Progress of long work: a bar on a terminal, plain lines elsewhere. Everything goes to standard error.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use terminal_size::{Width, terminal_size_of};

use super::board::counted;
use crate::arena::sprt::{SprtResult, Verdict};
use crate::arena::{Faults, MatchResult};
use crate::gate::Decision;
use crate::pipeline::{Event, Observer};

/// Without a terminal a line is printed at most this often while a phase goes on.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);
/// Columns that the bar has at least, where the terminal has [`WITH_BAR`].
const BAR: usize = 8;
/// Columns of a terminal that has room for a bar beside the words.
const WITH_BAR: usize = 60;

/// Columns of a terminal that does not say how many it has.
const USUAL_WIDTH: usize = 80;
/// The phase that goes by steps; the others go by games.
const TRAINING: &str = "training";

/// Shows the events of a run.
pub struct Screen {
    bar: Option<ProgressBar>,
    /// The user wants to resume without what is missing.
    accept_missing: bool,
    state: Mutex<State>,
}

struct State {
    started: Instant,
    phase_started: Instant,
    last_plain: Instant,
    generation: usize,
    generations: usize,
    first_generation: Option<usize>,
    /// How much of the generation under way is done, 0..1.
    part: f64,
    games: usize,
    losses: String,
}

impl Screen {
    /// A screen for a run that begins now; with `accept_missing` it resumes without what is missing.
    pub fn new(accept_missing: bool) -> Screen {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style =
                ProgressStyle::with_template("{prefix} {wide_bar} {msg}").expect("the template is constant");
            let bar = ProgressBar::new(1).with_style(style.progress_chars("=> "));
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(8));
            bar
        });
        let now = Instant::now();
        let state = State {
            started: now,
            phase_started: now,
            last_plain: now,
            generation: 0,
            generations: 0,
            first_generation: None,
            part: 0.0,
            games: 0,
            losses: String::new(),
        };
        Screen { bar, accept_missing, state: Mutex::new(state) }
    }

    /// Clears the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// A line that stays.
    pub fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => say(text),
        }
    }

    /// Moves the bar and shows what there is room for: how far the phase is, the time left, `details`. Without a
    /// terminal, prints a line now and then.
    fn show(&self, state: &mut State, phase: &str, (done, all): (usize, usize), details: &[String]) {
        let place = format!("{}/{} {phase}", state.generation, state.generations);
        let unit = if phase == TRAINING { "steps" } else { "games" };
        let mut parts = vec![format!("{done}/{all} {unit}")];
        parts.extend(state.time_left());
        parts.extend_from_slice(details);
        match &self.bar {
            Some(bar) => {
                let size = terminal_size_of(std::io::stderr());
                let width = size.map_or(USUAL_WIDTH, |(Width(columns), _)| columns as usize);
                let bar_width = if width < WITH_BAR { 0 } else { BAR };
                bar.set_message(fitting(&parts, width.saturating_sub(place.len() + bar_width + 2)));
                bar.set_prefix(place);
                bar.set_length(all.max(1) as u64);
                bar.set_position(done as u64);
            }
            None if state.last_plain.elapsed() >= PLAIN_INTERVAL => {
                state.last_plain = Instant::now();
                say(&format!("generation {place}: {}", parts.join(", ")));
            }
            None => {}
        }
    }
}

impl State {
    /// From the part of this session's generations that is done; the halves of a generation are self-play and
    /// training.
    fn time_left(&self) -> Option<String> {
        let first = self.first_generation?;
        let done = (self.generation - first) as f64 + self.part;
        let all = (self.generations - first + 1) as f64;
        if done < 0.02 {
            return None;
        }
        let left = self.started.elapsed().as_secs_f64() * (all - done) / done;
        Some(format!("{} left", duration(left)))
    }
}

/// As many of `parts` as `width` columns have room for, the first before the others.
fn fitting(parts: &[String], width: usize) -> String {
    let fits = |shown: &usize| parts[..*shown].join(", ").len() <= width;
    parts[..(1..=parts.len()).rev().find(fits).unwrap_or(0)].join(", ")
}

/// A line on standard error; whether anyone still reads it is no concern of a run.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

impl Observer for Screen {
    fn event(&self, event: Event) {
        let mut guard = self.state.lock().expect("no panic while drawing");
        let state = &mut *guard;
        match event {
            Event::Resumed(done, all, positions) => {
                (state.generation, state.generations) = (done, all);
                self.line(&match done < all {
                    true => format!(
                        "resumed after generation {done} with {} in the window",
                        counted(positions, "position", "positions")
                    ),
                    false => "already complete: nothing is left to train".into(),
                });
            }
            Event::Generation(number, all, games) => {
                (state.generation, state.generations, state.games) = (number, all, games);
                state.first_generation.get_or_insert(number);
                state.phase_started = Instant::now();
                state.part = 0.0;
            }
            Event::Selfplay(progress) => {
                state.part = progress.games as f64 / state.games.max(1) as f64 / 2.0;
                let seconds = state.phase_started.elapsed().as_secs_f64().max(1e-3);
                let evaluations = progress.evaluations - progress.hits;
                let details = [
                    format!("{:.0} positions/s", progress.positions as f64 / seconds),
                    format!("{:.0} evaluations/s", evaluations as f64 / seconds),
                ];
                self.show(state, "self-play", (progress.games, state.games), &details);
            }
            Event::Training(step, steps, losses) => {
                state.part = 0.5 + step as f64 / steps as f64 / 2.0;
                let policy = format!("policy loss {:.3}", losses.policy);
                let value = format!("value loss {:.3}", losses.value);
                let floor = format!("policy floor {:.3}", losses.policy_floor);
                state.losses = format!("{policy} (floor {:.3}), {value}", losses.policy_floor);
                self.show(state, TRAINING, (step, steps), &[policy, value, floor]);
            }
            Event::Evaluating(done, all) => {
                state.part = 1.0;
                self.show(state, "arena", (done, all), &[]);
            }
            Event::Saved(path) => {
                let took = duration(state.phase_started.elapsed().as_secs_f64());
                self.line(&format!(
                    "generation {}/{}: {}, {took}, saved {}",
                    state.generation,
                    state.generations,
                    state.losses,
                    path.display()
                ));
            }
            Event::Evaluated(generation, opponent, result) => {
                self.line(&format!("generation {generation} against {opponent}: {}", verdict(&result)));
            }
            Event::Gating(progress, most) => {
                state.part = 1.0;
                let standing: Vec<String> = progress.sprt.iter().map(sprt_standing).collect();
                self.show(state, "gate", (progress.games, most), &standing);
            }
            Event::Gated(generation, decision) => self.line(&gate_line(generation, &decision)),
            Event::Warning(text) => self.line(&format!("warning: {text}")),
        }
    }

    fn interrupted(&self) -> bool {
        super::interrupted()
    }

    fn accepts_missing(&self) -> bool {
        self.accept_missing
    }
}

/// A match result in one line.
pub fn verdict(result: &MatchResult) -> String {
    let cut_short = match result.cut_short {
        0 => String::new(),
        games => {
            format!("; WARNING: {games} games were cut short by the limit of actions and count as draws")
        }
    };
    format!(
        "{}, {}, {} in {} games ({} distinct): {}{cut_short}",
        counted(result.wins, "win", "wins"),
        counted(result.draws, "draw", "draws"),
        counted(result.losses, "loss", "losses"),
        result.games,
        result.distinct_games,
        elo_text(result)
    )
}

/// The Elo difference with its bounds; a clean sweep has only one.
fn elo_text(result: &MatchResult) -> String {
    let MatchResult { games, elo, elo_low, elo_high, .. } = result;
    match (result.wins == *games, result.losses == *games) {
        (true, false) => format!("Elo {elo_low:+.0} or more (95 %)"),
        (false, true) => format!("Elo {elo_high:+.0} or less (95 %)"),
        _ => format!("Elo {elo:+.0}, 95 % {elo_low:+.0} to {elo_high:+.0}"),
    }
}

/// Games that `agent` lost by forfeit, in one line.
pub fn fault_line(agent: &str, faults: &Faults) -> String {
    let kinds = [
        (faults.crashed, "crashed"),
        (faults.slow, "too slow"),
        (faults.illegal, "illegal answers"),
        (faults.flooded, "wrote too much"),
    ];
    let named: Vec<String> =
        kinds.iter().filter(|(games, _)| *games > 0).map(|(games, kind)| format!("{games} {kind}")).collect();
    format!(
        "{agent} lost {} by its own fault: {}",
        counted(faults.total(), "game", "games"),
        named.join(", ")
    )
}

/// What the gate said of a generation, in one line.
fn gate_line(generation: usize, decision: &Decision) -> String {
    let (Some(champion), Some(result)) = (decision.champion, &decision.result) else {
        return format!("generation {generation} is the champion: it is the first");
    };
    let says = match decision.promoted {
        true => "is the new champion",
        false => "is not promoted",
    };
    let test = result.sprt.map(|sprt| format!("; {}", sprt_verdict(&sprt, result.games))).unwrap_or_default();
    format!("generation {generation} {says}; against generation {champion}: {}{test}", verdict(result))
}

/// Ratio and bounds of a test.
pub fn sprt_standing(result: &SprtResult) -> String {
    format!("LLR {:.2} ({:.2} to {:.2})", result.llr, result.lower, result.upper)
}

/// A test and its verdict in one line.
pub fn sprt_verdict(result: &SprtResult, games: usize) -> String {
    let sprt = &result.sprt;
    let says = match result.verdict {
        Verdict::H1 => format!("H1 accepted: {:+} Elo rather than {:+}", sprt.elo1, sprt.elo0),
        Verdict::H0 => format!("H0 accepted: {:+} Elo rather than {:+}", sprt.elo0, sprt.elo1),
        Verdict::Undecided => format!("undecided after {games} games"),
    };
    format!(
        "SPRT of {:+} against {:+} Elo (alpha {}, beta {}): {}, {says}",
        sprt.elo0,
        sprt.elo1,
        sprt.alpha,
        sprt.beta,
        sprt_standing(result)
    )
}

/// `75 s`, `3 min 20 s` or `2 h 5 min`.
pub fn duration(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match seconds {
        0..=99 => format!("{seconds} s"),
        100..=5999 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::elo::estimate;

    #[test]
    fn what_matters_most_is_shown_first() {
        let parts = ["12/40 steps", "3 min 20 s left", "policy loss 1.234"].map(String::from);
        assert_eq!(fitting(&parts, 80), "12/40 steps, 3 min 20 s left, policy loss 1.234");
        assert_eq!(fitting(&parts, 28), "12/40 steps, 3 min 20 s left");
        assert_eq!(fitting(&parts, 27), "12/40 steps");
        assert_eq!(fitting(&parts, 10), "");
    }

    #[test]
    fn a_clean_sweep_has_one_bound() {
        let said = |wins: usize, draws: usize, losses: usize| {
            let games = wins + draws + losses;
            let score = (wins as f64 + draws as f64 / 2.0) / games as f64;
            let bounds = estimate(&vec![score; games / 2]);
            let (elo, elo_low, elo_high) = (bounds.elo, bounds.low, bounds.high);
            let (distinct_games, cut_short) = (games, 0);
            let (pairs, sprt, faults) = Default::default();
            verdict(&MatchResult {
                games,
                distinct_games,
                wins,
                draws,
                losses,
                cut_short,
                pairs,
                elo,
                elo_low,
                elo_high,
                sprt,
                faults,
            })
        };
        assert!(said(40, 0, 0).ends_with(": Elo +287 or more (95 %)"), "{}", said(40, 0, 0));
        assert!(said(0, 0, 40).ends_with(": Elo -287 or less (95 %)"), "{}", said(0, 0, 40));
        assert!(said(3, 0, 1).starts_with("3 wins, 0 draws, 1 loss in 4 games"), "{}", said(3, 0, 1));
        assert!(said(1, 1, 2).contains(", 95 % "), "{}", said(1, 1, 2));
        assert!(said(0, 2, 0).contains("Elo +0, 95 % "), "{}", said(0, 2, 0));
    }
}
