//! The file of a match or a ladder: a header line, then one JSON line for each finished pair, in the order of their
//! numbers.
//!
//! The header has the game, its options, the agents, the seed, the opening plies, and how a ladder pairs its agents.
//! The file of another match is rejected, and the error lists the differences. The header does not have the number of
//! games or the test, because the pairs do not depend on them. Each line is written in one piece. When the file is
//! read, an incomplete last line is dropped and every game is replayed. The contents do not depend on threads or
//! interruptions.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::book::OpeningBook;
use super::contestant::Contestant;
use super::pairing::Pairing;
use super::plan::Ladder;
use super::{FinishedGame, Match, Pair, score_of};
use crate::error::{Error, Fault, Input, Result};
use crate::game::{Game, GameIdentity, Rules};
use crate::storage::{self, text};

/// The version of this format.
const FORMAT: u32 = 1;
/// The version of the format for a ladder with a file of openings. In version 1, all pairs of a ladder went through the
/// openings together; now every two agents go through them separately.
const LADDER_WITH_OPENINGS: u32 = 2;

/// The open file of a match or a ladder.
pub struct Journal {
    path: PathBuf,
    file: storage::Locked,
    /// The pairs in the file when it was opened.
    pub(super) saved: Vec<SavedPair>,
}

/// A pair in the file.
pub(super) struct SavedPair {
    /// The numbers of the two agents.
    pub(super) agents: [usize; 2],
    pub(super) pair: Pair,
}

debug_fields!(Journal, path);

#[derive(Serialize)]
struct JournalHead<'a> {
    format: u32,
    game: &'a GameIdentity,
    agents: Vec<&'a str>,
    seed: u64,
    opening_plies: usize,
    /// The SHA-256 of the file of openings, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    openings: Option<&'a str>,
    /// How a ladder pairs its agents; absent from the file of a match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pairing: Option<Pairing>,
}

/// The longest line of a file, in bytes.
pub(crate) const LONGEST_LINE: usize = 16 << 20;

/// A pair as it is in the file, not yet checked by the rules.
#[derive(Serialize, Deserialize)]
pub(crate) struct JournalLine {
    /// The number of the pair, from 0.
    pair: usize,
    /// The numbers of the two agents; absent from the file of a match, which has only two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agents: Option<[usize; 2]>,
    pub(crate) games: [GameLine; 2],
}

/// A game as it is in the file.
#[derive(Serialize, Deserialize)]
pub(crate) struct GameLine {
    /// The position in which the game began, if it is not the usual start position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) start: Option<String>,
    /// The actions in the game's notation, including the opening.
    pub(crate) actions: Vec<String>,
    /// The score of the first agent: 1, 0.5, or 0.
    pub(crate) score: f64,
    /// The fault, if the game was lost by forfeit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fault: Option<Fault>,
}

impl<'a> JournalHead<'a> {
    fn new<G: Game>(
        rules: &'a Rules<G>,
        agents: &[&'a Contestant<G>],
        seed: u64,
        opening_plies: usize,
        book: Option<&'a OpeningBook>,
    ) -> JournalHead<'a> {
        let agents = agents.iter().map(|agent| agent.identity()).collect();
        let openings = book.map(OpeningBook::sha256);
        JournalHead {
            format: FORMAT,
            game: &rules.identity,
            agents,
            seed,
            opening_plies,
            openings,
            pairing: None,
        }
    }
}

impl Journal {
    /// Opens or creates the file of a match and reads its pairs.
    ///
    /// # Errors
    /// If the file cannot be read or written, is damaged, or belongs to another match.
    pub fn open<G: Game>(
        path: &Path,
        rules: &Rules<G>,
        plan: &Match,
        agents: [&Contestant<G>; 2],
    ) -> Result<Journal> {
        let (seed, opening_plies) = (plan.seed, plan.opening_plies);
        let header = JournalHead::new(rules, &agents, seed, opening_plies, plan.book.as_ref());
        Journal::begin(path, rules, &agents, header)
    }

    /// Opens or creates the file of a ladder and reads its pairs.
    ///
    /// # Errors
    /// If the file cannot be read or written, is damaged, or belongs to another ladder or match.
    pub fn open_ladder<G: Game>(
        path: &Path,
        rules: &Rules<G>,
        plan: &Ladder,
        agents: &[&Contestant<G>],
    ) -> Result<Journal> {
        let header = JournalHead::new(rules, agents, plan.seed, plan.opening_plies, plan.book.as_ref());
        let format = if plan.book.is_some() { LADDER_WITH_OPENINGS } else { FORMAT };
        Journal::begin(path, rules, agents, JournalHead { format, pairing: Some(plan.pairing), ..header })
    }

    fn begin<G: Game>(
        path: &Path,
        rules: &Rules<G>,
        agents: &[&Contestant<G>],
        header: JournalHead,
    ) -> Result<Journal> {
        let header = serde_json::to_value(header).expect("headers are valid JSON");
        expect_regular(path)?;
        let mut file =
            storage::lock(storage::open_or_create(path)?, path, "`petteia arena` or `petteia ladder`")?;
        let expected = format!("{header}\n");
        let (saved, whole) = {
            let mut lines = storage::lines_of(&*file, path, LONGEST_LINE);
            let first = match lines.next().transpose() {
                // no journal has a line this long, so the file is not a journal
                Err(Error::Data(_)) => b"?".to_vec(),
                first => first?.unwrap_or_default(),
            };
            let written = text::unmarked(&first)
                .map_err(|why| Error::Config(format!("{}: {why}", path.display())).about(Input::MatchFile))?;
            match expected.as_bytes().strip_prefix(written) {
                // the file is new, or writing its header was interrupted
                Some(rest) if !rest.is_empty() => (Vec::new(), 0),
                _ => {
                    expect_header(path, written, &header)?;
                    let (saved, length) = read_pairs(path, lines, &rules.game, agents.len())?;
                    (saved, first.len() as u64 + length)
                }
            }
        };
        // only now is it certain that the file belongs to this match
        if whole < file.metadata().map_err(Error::io(path))?.len() {
            file.set_len(whole).map_err(Error::io(path))?;
        }
        if whole == 0 {
            file.write_all(expected.as_bytes()).map_err(Error::io(path))?;
        }
        Ok(Journal { path: path.to_path_buf(), file, saved })
    }

    /// Returns the error for a pair in the file that should have been played by other agents.
    pub(super) fn other_agents(&self, number: usize, actual: [usize; 2], planned: [usize; 2]) -> Error {
        let (place, line) = (self.path.display(), number + 2);
        Error::Data(format!(
            "{place}: line {line}: agents {actual:?} played, but it was the turn of {planned:?}; remove this line and \
             those after it"
        ))
    }

    /// Returns the number of pairs in the file when it was opened.
    pub fn saved(&self) -> usize {
        self.saved.len()
    }

    /// Appends the next pair in a single write. A line of a ladder names the agents that played the pair.
    pub(super) fn append<G: Game>(
        &mut self,
        game: &G,
        number: usize,
        agents: Option<[usize; 2]>,
        pair: &Pair,
    ) -> Result<()> {
        let games = pair.each_ref().map(|played| GameLine {
            start: played.start.as_deref().map(String::from),
            actions: texts(game, played),
            score: played.score,
            fault: played.fault,
        });
        let line = JournalLine { pair: number, agents, games };
        let mut line = serde_json::to_string(&line).expect("lines are valid JSON");
        line.push('\n');
        self.file.write_all(line.as_bytes()).map_err(Error::io(&self.path))
    }
}

/// Rejects a device or pipe: it may be endless and cannot be read again, so a match saved there could not be resumed.
fn expect_regular(path: &Path) -> Result<()> {
    match path.metadata() {
        Ok(there) if !there.is_file() => Err(Error::Config(format!(
            "{} is not a regular file, so the match could not be resumed: choose another file",
            path.display()
        ))
        .about(Input::MatchFile)),
        // opening the file reports any other problem
        _ => Ok(()),
    }
}

fn expect_header(path: &Path, line: &[u8], expected: &Value) -> Result<()> {
    let found: Value = serde_json::from_slice(line).unwrap_or_default();
    let (Some(found), Some(expected)) = (found.as_object(), expected.as_object()) else {
        return Err(Error::Config(format!("{} is not a saved match: choose another file", path.display()))
            .about(Input::MatchFile));
    };
    let shown = |value: Option<&Value>| value.map_or("missing".to_string(), Value::to_string);
    let mut differences = Vec::new();
    for (key, wanted) in expected.iter().filter(|(key, wanted)| found.get(*key) != Some(wanted)) {
        differences.push(format!("{key}: {} / {wanted}", shown(found.get(key))));
    }
    for (key, theirs) in found.iter().filter(|(key, _)| !expected.contains_key(*key)) {
        differences.push(format!("{key}: {theirs} / missing"));
    }
    if differences.is_empty() {
        return Ok(());
    }
    if let [only] = &differences[..]
        && only.starts_with("format: ")
    {
        return Err(Error::Config(format!(
            "{} was saved by another version of this program, which chose openings in a different order ({only}, file \
             / command): choose another file, or continue with that version",
            path.display()
        ))
        .about(Input::MatchFile));
    }
    Err(Error::Config(format!(
        "{} holds another match (file / command):\n  {}\nchoose another file",
        path.display(),
        differences.join("\n  ")
    ))
    .about(Input::MatchFile))
}

/// Returns the pairs of a file after its header and the number of bytes of their lines; a last line without an end is
/// left out.
fn read_pairs<G: Game>(
    path: &Path,
    lines: impl Iterator<Item = Result<Vec<u8>>>,
    game: &G,
    count: usize,
) -> Result<(Vec<SavedPair>, u64)> {
    let (mut pairs, mut bytes) = (Vec::new(), 0);
    for line in lines {
        let line = line?;
        if line.last() != Some(&b'\n') {
            break;
        }
        bytes += line.len() as u64;
        let damaged = |what: String| {
            let number = pairs.len() + 2;
            Error::Data(format!(
                "{}: line {number}: {what}; remove this line and those after it",
                path.display()
            ))
        };
        let line: JournalLine = serde_json::from_slice(&line).map_err(|e| damaged(e.to_string()))?;
        if line.pair != pairs.len() {
            return Err(damaged(format!("found pair {} in place of pair {}", line.pair, pairs.len())));
        }
        let agents = line.agents.unwrap_or([0, 1]);
        if agents[0] >= agents[1] || agents[1] >= count {
            return Err(damaged(format!("agents {agents:?} do not exist")));
        }
        let [first, second] = line.games;
        let pair = [replay(game, 0, first), replay(game, 1, second)];
        let [Ok(first), Ok(second)] = pair else {
            let what = pair.into_iter().find_map(Result::err).unwrap_or_default();
            return Err(damaged(what));
        };
        pairs.push(SavedPair { agents, pair: [first, second] });
    }
    Ok((pairs, bytes))
}

/// Replays a game; the error says how it violates the rules.
fn replay<G: Game>(game: &G, first_agent: usize, line: GameLine) -> Result<FinishedGame, String> {
    let mut state = begin(game, line.start.as_deref())?;
    let mut actions = Vec::new();
    for text in &line.actions {
        let action = game
            .parse_action(&state, text)
            .filter(|action| game.legal(&state).binary_search(action).is_ok())
            .ok_or(format!("`{text}` is not a legal action in its position"))?;
        game.play(&mut state, action);
        actions.push(action);
    }
    let score = match (game.outcome(&state), line.fault) {
        (Some(outcome), None) => score_of(outcome, first_agent),
        // either agent may have lost by forfeit
        (None, Some(_)) if [0.0, 1.0].contains(&line.score) => line.score,
        _ => return Err("the game does not end by the rules".into()),
    };
    if score != line.score {
        return Err(format!("the score is {score}, not {}", line.score));
    }
    Ok(FinishedGame { start: line.start.map(Into::into), actions, score, fault: line.fault })
}

/// Returns the position in which a game began.
fn begin<G: Game>(game: &G, start: Option<&str>) -> Result<G::State, String> {
    start.map_or_else(|| Ok(game.initial()), |text| game.parse_state(text).map_err(|error| error.to_string()))
}

fn texts<G: Game>(game: &G, played: &FinishedGame) -> Vec<String> {
    let mut state = begin(game, played.start.as_deref()).expect("a position of the book");
    let mut texts = Vec::new();
    for &action in &played.actions {
        texts.push(game.action_text(&state, action));
        game.play(&mut state, action);
    }
    texts
}
