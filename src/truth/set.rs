//! A set of solved positions: JSON lines, compressed with zstd or not.
//!
//! Petteia writes a [`SetHeader`] and then one [`SetLine`] for each position, with the position as text, its class,
//! and the value of each legal action. The SHA-256 of the file is in another file next to it. A set from elsewhere
//! may lack the checksum and the header, and its lines need only the position and a value, either of the position or
//! of its actions. Reading checks everything against the rules; whether the values are right depends on the author of
//! the set. A line may also be the position, a space, and a number that is positive if the player to move wins, 0 for
//! a draw, and negative otherwise, as in P. Pons' sets of Connect Four (`4455 18`).

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::any::{AnyGame, AnyState, Opened};
use crate::error::{Error, Result, quoted};
use crate::game::{Action, Game, Settings, option_differences};
use crate::parallel;
use crate::replay::store::{Lines, write_checksum};
use crate::storage::{self, packed};

/// The version of this format.
pub const FORMAT: u32 = 1;
/// The largest number of positions in a set.
pub const MAX_POSITIONS: usize = 1_000_000;
/// The strongest of zstd's usual compression levels: sets are small and kept with the source.
const LEVEL: i32 = 19;
/// The maximum number of bytes in the first line, and in any other line apart from its actions.
const LONGEST_HEADER: usize = 1 << 16;
/// The maximum number of bytes in a line for one action, with its value and its score.
const BYTES_OF_ACTION: usize = 128;
/// The number of bytes of text that are checked together, and the minimum memory for a line in addition to its text.
const TOGETHER: usize = 1 << 20;
const BYTES_OF_LINE: usize = 256;

/// The header of a set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetHeader {
    /// The format version, [`FORMAT`].
    pub format: u32,
    /// The game's registry id.
    pub game: String,
    /// The game's options.
    pub options: Settings,
    /// The program, or the command, that made the set.
    pub made_by: String,
    /// The random seed of the positions.
    pub seed: u64,
    /// The classes of positions, in the order in which they are shown.
    pub classes: Vec<String>,
    /// The number of positions.
    pub count: usize,
}

/// A position as Petteia writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetLine {
    /// The position.
    pub position: String,
    /// The position's class, one of those in the header.
    pub class: String,
    /// The number of actions played before the position.
    pub plies: usize,
    /// For each legal action, the result with best play after it, for the player to move here: 1 for a win, 0 for a
    /// draw, -1 for a loss.
    pub values: BTreeMap<String, i8>,
    /// For each legal action, a finer score of the same sign, greater for a faster win or a slower loss; omitted
    /// where it is not known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scores: BTreeMap<String, i32>,
}

/// A position as another program may have written it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    position: String,
    class: Option<String>,
    plies: Option<usize>,
    /// The result with best play, for the player to move.
    value: Option<i8>,
    #[serde(default)]
    values: BTreeMap<String, i8>,
    #[serde(default)]
    scores: BTreeMap<String, i32>,
}

/// A position of a set that has been read.
#[derive(Clone, Debug)]
pub struct Position {
    /// The position.
    pub state: AnyState,
    /// The index of the position's class, if it has one.
    pub class: Option<usize>,
    /// The number of actions played before the position, if it is known.
    pub plies: Option<usize>,
    /// The result with best play, for the player to move: 1, 0, or -1.
    pub value: i8,
    /// The value of each legal action, ascending by action; empty if the values are not known.
    pub values: Vec<(Action, i8)>,
    /// The score of each action, in the order of the values; empty if the scores are not known.
    pub scores: Vec<i32>,
}

impl Position {
    /// Returns whether at least one action is known not to keep the value.
    pub fn has_choice(&self) -> bool {
        self.values.iter().any(|(_, value)| *value < self.value)
    }
}

/// A set that has been read.
#[derive(Clone, Debug)]
pub struct Set {
    /// The set's header.
    pub header: SetHeader,
    /// SHA-256 of the file.
    pub sha256: String,
    /// The positions.
    pub positions: Vec<Position>,
}

/// Writes a set and then its checksum.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, header: &SetHeader, lines: &[SetLine]) -> Result<()> {
    let mut text = serde_json::to_string(header).expect("headers are valid JSON") + "\n";
    for line in lines {
        text += &serde_json::to_string(line).expect("lines are valid JSON");
        text.push('\n');
    }
    let packed = packed::pack(text.as_bytes(), LEVEL).map_err(Error::io(path))?;
    storage::write_whole(path, &packed)?;
    write_checksum(path, &storage::sha256(&packed), None)
}

/// Reads the header of a set, which is its first line.
///
/// # Errors
/// As for [`read`], if the first line shows the error; also if there is no header.
pub fn header(path: &Path) -> Result<SetHeader> {
    let first = Lines::up_to(path, LONGEST_HEADER)?.next().transpose()?.unwrap_or_default();
    read_header(path, &first)
}

/// Reads a set of this game and checks every position against the rules, on all cores.
///
/// # Errors
/// Returns [`Error::Mismatch`] for a set of another game or a newer format, [`Error::Data`] with the number of the
/// line for a damaged set, and [`Error::Io`] if the file cannot be read.
pub fn read(path: &Path, rules: &Opened) -> Result<Set> {
    let shown = path.display();
    let mut lines = Lines::up_to(path, longest_line(rules))?;
    let first = lines.next().transpose()?.unwrap_or_default();
    let is_open = is_position(&first);
    let stored = if is_open {
        None
    } else {
        let header = read_header(path, &first)?;
        check_game(&header, rules).map_err(|error| at_line(path, 1, error))?;
        Some(header)
    };
    let limit = stored.as_ref().map_or(MAX_POSITIONS, |header| header.count);
    let mut header = stored.unwrap_or_else(|| default_header(rules));
    let position = is_open.then_some(Ok(first));
    let numbers = if is_open { 1.. } else { 2.. };
    let mut texts = numbers.zip(position.into_iter().chain(lines.by_ref()));
    let mut positions = Vec::new();
    // read up to one position more than permitted, to detect an excess
    while positions.len() <= limit {
        let texts = piece(&mut texts, limit + 1 - positions.len())?;
        if texts.is_empty() {
            break;
        }
        // all results are collected, so that the first error in the file is the one reported
        let checked = |index: usize| Ok(given(&texts[index].1).and_then(|given| checked(rules, &given)));
        let results: Vec<Result<CheckedPosition>> = parallel::map(texts.len(), &checked)?;
        for (result, (number, _)) in results.into_iter().zip(&texts) {
            let position = result.and_then(|checked| checked.of_class(&mut header.classes, is_open));
            positions.push(position.map_err(|error| at_line(path, *number, error))?);
        }
    }
    drop(texts);
    if is_open {
        header.count = positions.len().min(MAX_POSITIONS);
    }
    if positions.len() != header.count {
        let (found, count) = (positions.len(), header.count);
        let found = if found > count { format!("more than {count}") } else { found.to_string() };
        let says = if is_open { "a set has at most" } else { "its first line says" };
        return Err(Error::Data(format!("{shown}: it has {found} positions, but {says} {count}")));
    }
    Ok(Set { header, sha256: lines.sha256, positions })
}

/// Returns the next lines to be checked together, at most `limit`, with their line numbers.
fn piece(
    lines: &mut impl Iterator<Item = (usize, Result<String>)>,
    limit: usize,
) -> Result<Vec<(usize, String)>> {
    let (mut texts, mut bytes) = (Vec::new(), 0);
    while bytes < TOGETHER
        && texts.len() < limit
        && let Some((number, text)) = lines.next()
    {
        let text = text?;
        bytes += text.len() + BYTES_OF_LINE;
        texts.push((number, text));
    }
    Ok(texts)
}

/// Returns the longest possible line of a position, in bytes.
fn longest_line(rules: &Opened) -> usize {
    rules.identity.shape.actions.saturating_mul(BYTES_OF_ACTION).saturating_add(LONGEST_HEADER)
}

/// Returns whether the first line of a file is already a position, valid or not, instead of a header.
fn is_position(line: &str) -> bool {
    if scored(line).is_some() {
        return true;
    }
    #[derive(Deserialize)]
    struct NamedId {
        #[serde(rename = "position")]
        _position: String,
    }
    parsed::<NamedId>(line).is_ok()
}

/// Returns a header for a set that has none; its positions are not counted yet.
fn default_header(rules: &Opened) -> SetHeader {
    let identity = &rules.identity;
    let (game, options) = (identity.id.clone(), identity.options.clone());
    SetHeader {
        format: FORMAT,
        game,
        options,
        made_by: "unknown".into(),
        seed: 0,
        classes: Vec::new(),
        count: 0,
    }
}

fn at_line(path: &Path, number: usize, error: Error) -> Error {
    let text = format!("{}: line {number}: {error}", path.display());
    match error {
        Error::Mismatch(_) => Error::Mismatch(text),
        _ => Error::Data(text),
    }
}

fn read_header(path: &Path, first: &str) -> Result<SetHeader> {
    let header = parsed_header(first).map_err(|error| at_line(path, 1, error))?;
    if !(1..=MAX_POSITIONS).contains(&header.count) {
        let what = format!("count = {}: a set has 1 to {MAX_POSITIONS} positions", header.count);
        return Err(at_line(path, 1, Error::Data(what)));
    }
    Ok(header)
}

/// Parses a header, checking its version before anything else.
fn parsed_header(line: &str) -> Result<SetHeader> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    let what = "it is neither a position with its value nor the header of a set of solved positions";
    let version: Version = parsed(line).map_err(|_| Error::Data(what.into()))?;
    match version.format {
        FORMAT => parsed(line),
        newer => Err(Error::Mismatch(format!("format {newer}, but this program reads up to {FORMAT}"))),
    }
}

/// Parses a line, either JSON or a position and a score, as a position with its value.
fn given(line: &str) -> Result<Given> {
    match scored(line) {
        Some((position, score)) => Ok(Given {
            position: position.into(),
            class: None,
            plies: None,
            value: Some(score.signum() as i8),
            values: BTreeMap::new(),
            scores: BTreeMap::new(),
        }),
        None => parsed(line),
    }
}

/// Returns the position and the score of a line that is not JSON.
fn scored(line: &str) -> Option<(&str, i64)> {
    let (position, score) =
        line.trim().rsplit_once(char::is_whitespace).filter(|_| !line.starts_with('{'))?;
    Some((position.trim_end(), score.parse().ok()?))
}

fn parsed<T: DeserializeOwned>(line: &str) -> Result<T> {
    serde_json::from_str(line).map_err(|error| Error::Data(error.to_string()))
}

fn check_game(header: &SetHeader, rules: &Opened) -> Result<()> {
    let identity = &rules.identity;
    if header.game != identity.id {
        let (game, id) = (quoted(&header.game), &identity.id);
        return Err(Error::Mismatch(format!("a set of game {game}, not of {id}")));
    }
    if header.options != identity.options {
        let differences = option_differences(&header.options, &identity.options);
        return Err(Error::Mismatch(format!("different game options (there / requested): {differences}")));
    }
    Ok(())
}

/// A position that has been checked against the rules, with the name of its class.
struct CheckedPosition {
    position: Position,
    class: Option<String>,
}

impl CheckedPosition {
    /// Returns the position with the index of its class in `classes`. A new class is added if `is_open`, and
    /// otherwise is an error.
    fn of_class(self, classes: &mut Vec<String>, is_open: bool) -> Result<Position> {
        let Some(name) = self.class else { return Ok(self.position) };
        let class = match classes.iter().position(|class| *class == name) {
            Some(class) => class,
            None if is_open => {
                classes.push(name);
                classes.len() - 1
            }
            None => {
                let what = format!("class {} is not listed in the first line", quoted(&name));
                return Err(Error::Data(what));
            }
        };
        Ok(Position { class: Some(class), ..self.position })
    }
}

/// Checks a position against the rules.
fn checked(rules: &Opened, given: &Given) -> Result<CheckedPosition> {
    let failure = |what: String| Err(Error::Data(what));
    let game = &rules.game;
    let state = game.parse_state(&given.position)?;
    if let Some(plies) = given.plies.filter(|plies| *plies > game.max_plies()) {
        return failure(format!("plies = {plies}: no game is longer than {} actions", game.max_plies()));
    }
    let legal = game.legal(&state);
    if legal.is_empty() {
        return failure(format!("the game is over in {}", quoted(&given.position)));
    }
    let of_actions = |numbers: &BTreeMap<String, i8>| {
        if numbers.is_empty() { Ok(Vec::new()) } else { for_actions(game, &state, &legal, numbers, "value") }
    };
    let values = of_actions(&given.values)?;
    let all_values = values.iter().map(|(_, value)| *value).chain(given.value);
    if let Some(value) = all_values.clone().find(|value| !(-1..=1).contains(value)) {
        return failure(format!("value {value}: must be -1, 0, or 1"));
    }
    let best = values.iter().map(|(_, value)| *value).max();
    let value = match (given.value, best) {
        (Some(value), Some(best)) if value != best => {
            return failure(format!("value {value}, but the best action has {best}"));
        }
        (Some(value), _) | (None, Some(value)) => value,
        (None, None) => return failure("it has neither `value` nor `values`".into()),
    };
    let mut scores = Vec::new();
    if !given.scores.is_empty() {
        if values.is_empty() {
            return failure("it has `scores`, but no `values`".into());
        }
        scores = for_actions(game, &state, &legal, &given.scores, "score")?;
        let differs =
            |((_, value), (_, score)): &(&(Action, i8), &(Action, i32))| i32::from(*value) != score.signum();
        if let Some(((_, value), (_, score))) = values.iter().zip(&scores).find(differs) {
            return failure(format!("an action has value {value}, but score {score}"));
        }
    }
    let scores = scores.into_iter().map(|(_, score)| score).collect();
    let position = Position { state, class: None, plies: given.plies, value, values, scores };
    Ok(CheckedPosition { position, class: given.class.clone() })
}

/// Turns a map by action texts into a list, ascending by action. The map must have every legal action and no other.
fn for_actions<T: Copy>(
    game: &AnyGame,
    state: &AnyState,
    legal: &[Action],
    numbers: &BTreeMap<String, T>,
    what: &str,
) -> Result<Vec<(Action, T)>> {
    let number = |action: Action| {
        let text = game.action_text(state, action);
        let missing = || Error::Data(format!("action {} has no {what}", quoted(&text)));
        numbers.get(&text).map(|number| (action, *number)).ok_or_else(missing)
    };
    let entries = legal.iter().map(|action| number(*action)).collect::<Result<Vec<_>>>()?;
    if entries.len() < numbers.len() {
        let is_legal = |text: &&String| legal.iter().any(|action| game.action_text(state, *action) == **text);
        let other = numbers.keys().find(|text| !is_legal(text)).map_or(String::new(), |text| quoted(text));
        return Err(Error::Data(format!("action {other} is not legal here")));
    }
    Ok(entries)
}
