//! The file of a match: a header line, then one JSON line for each finished pair, in the order of their
//! numbers.
//!
//! The header names game, options, agents, seed and opening plies; a file of another match is refused with the
//! difference. How many games are wanted, and whether a test may end the match early, is not part of it: the
//! pairs are the same. Each line is written in one piece, a torn last one is dropped when the file is read, and
//! every game is played again by the rules. The bytes do not depend on threads or interruptions.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agent::Contestant;
use super::{Match, Pair, Played, score_of};
use crate::error::{Error, Fault, Result};
use crate::game::{Game, GameIdentity, Rules};
use crate::storage;

/// The version of this format.
const FORMAT: u32 = 1;

/// An open file of a match.
pub struct Journal {
    path: PathBuf,
    file: storage::Locked,
    /// What the file held when it was opened.
    pub(super) saved: Vec<Pair>,
}

#[derive(Serialize)]
struct Header<'a> {
    format: u32,
    game: &'a GameIdentity,
    agents: [&'a str; 2],
    seed: u64,
    opening_plies: usize,
}

#[derive(Serialize, Deserialize)]
struct Line {
    /// From 0.
    pair: usize,
    games: [GameLine; 2],
}

#[derive(Serialize, Deserialize)]
struct GameLine {
    /// In the game's own notation, the opening included.
    actions: Vec<String>,
    /// 1, 0.5 or 0 for the first agent.
    score: f64,
    /// Why the game was lost by forfeit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fault: Option<Fault>,
}

impl Journal {
    /// Opens or makes the file of a match and reads the pairs that it holds.
    pub fn open<G: Game>(
        path: &Path,
        rules: &Rules<G>,
        plan: &Match,
        agents: [&Contestant<G>; 2],
    ) -> Result<Journal> {
        let agents = agents.map(Contestant::identity);
        let (seed, opening_plies) = (plan.seed, plan.opening_plies);
        let header = Header { format: FORMAT, game: &rules.identity, agents, seed, opening_plies };
        let header = serde_json::to_value(header).expect("headers are valid JSON");
        expect_regular(path)?;
        let file =
            File::options().read(true).append(true).create(true).open(path).map_err(Error::io(path))?;
        let mut file = storage::lock(file, path, "petteia arena")?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(Error::io(path))?;
        let first = format!("{header}\n");
        // new, or cut off while it was begun
        if first.as_bytes().starts_with(&bytes) && bytes.len() < first.len() {
            file.set_len(0).and_then(|()| file.write_all(first.as_bytes())).map_err(Error::io(path))?;
            bytes = first.into_bytes();
        }
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let text = String::from_utf8_lossy(&bytes[..whole]);
        let (first, lines) = text.split_once('\n').unwrap_or_default();
        expect_header(path, first, &header)?;
        let saved = read_pairs(path, lines, &rules.game)?;
        // only now: the file is one of ours
        if whole < bytes.len() {
            file.set_len(whole as u64).map_err(Error::io(path))?;
        }
        Ok(Journal { path: path.to_path_buf(), file, saved })
    }

    /// Pairs that the file held when it was opened.
    pub fn saved(&self) -> usize {
        self.saved.len()
    }

    /// Adds the next pair, whole or not at all.
    pub(super) fn append<G: Game>(&mut self, game: &G, number: usize, pair: &Pair) -> Result<()> {
        let games = pair.each_ref().map(|played| GameLine {
            actions: texts(game, played),
            score: played.score,
            fault: played.fault,
        });
        let mut line = serde_json::to_string(&Line { pair: number, games }).expect("lines are valid JSON");
        line.push('\n');
        self.file.write_all(line.as_bytes()).map_err(Error::io(&self.path))
    }
}

/// A device or a pipe may have no end, and gives nothing back: a match that it was given could not be resumed.
fn expect_regular(path: &Path) -> Result<()> {
    match path.metadata() {
        Ok(there) if !there.is_file() => Err(Error::Config(format!(
            "--save {}: this is not a regular file, which can be read again: give another one",
            path.display()
        ))),
        // opening it says what is wrong
        _ => Ok(()),
    }
}

fn expect_header(path: &Path, line: &str, expected: &Value) -> Result<()> {
    let found: Value = serde_json::from_str(line).unwrap_or_default();
    let (Some(found), Some(expected)) = (found.as_object(), expected.as_object()) else {
        return Err(Error::Config(format!(
            "{} is no saved match: give another file with --save FILE",
            path.display()
        )));
    };
    let shown = |value: Option<&Value>| value.map_or("not there".to_string(), Value::to_string);
    let mut differences = Vec::new();
    for (key, wanted) in expected.iter().filter(|(key, wanted)| found.get(*key) != Some(wanted)) {
        differences.push(format!("{key}: {} / {wanted}", shown(found.get(key))));
    }
    if differences.is_empty() {
        return Ok(());
    }
    Err(Error::Config(format!(
        "{} holds another match (there / asked for):\n  {}\ngive another file with --save FILE",
        path.display(),
        differences.join("\n  ")
    )))
}

fn read_pairs<G: Game>(path: &Path, lines: &str, game: &G) -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    for line in lines.lines() {
        let damaged = |what: String| {
            let number = pairs.len() + 2;
            Error::Data(format!("{}: line {number}: {what}; remove it and what follows", path.display()))
        };
        let line: Line = serde_json::from_str(line).map_err(|e| damaged(e.to_string()))?;
        if line.pair != pairs.len() {
            return Err(damaged(format!("pair {} stands where pair {} should", line.pair, pairs.len())));
        }
        let [first, second] = line.games;
        let pair = [replay(game, 0, first), replay(game, 1, second)];
        let [Ok(first), Ok(second)] = pair else {
            let what = pair.into_iter().find_map(Result::err).unwrap_or_default();
            return Err(damaged(what));
        };
        pairs.push([first, second]);
    }
    Ok(pairs)
}

/// The game by the rules; the error says what in it they deny.
fn replay<G: Game>(game: &G, first_agent: usize, line: GameLine) -> Result<Played, String> {
    let mut state = game.initial();
    let mut actions = Vec::new();
    for text in &line.actions {
        let action = game.parse_action(&state, text).ok_or(format!("`{text}` is no legal action there"))?;
        game.play(&mut state, action);
        actions.push(action);
    }
    let score = match (game.outcome(&state), line.fault) {
        (Some(outcome), None) => score_of(outcome, first_agent),
        // either agent may have lost by its own fault
        (None, Some(_)) if [0.0, 1.0].contains(&line.score) => line.score,
        _ => return Err("the game has no end that the rules know".into()),
    };
    if score != line.score {
        return Err(format!("the score is {score}, not {}", line.score));
    }
    Ok(Played { actions, score, fault: line.fault })
}

fn texts<G: Game>(game: &G, played: &Played) -> Vec<String> {
    let mut state = game.initial();
    let mut texts = Vec::new();
    for &action in &played.actions {
        texts.push(game.action_text(&state, action));
        game.play(&mut state, action);
    }
    texts
}
