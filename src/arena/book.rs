//! Openings from a file, for matches and ladders: books of balanced openings, as engine testers use them.
//!
//! Input: a text with one opening per line: its actions, with or without spaces between them (`F5D6C3`), the text of a
//! position, or `POSITION moves ACTIONS`; text after a `#` is ignored. Output: an [`OpeningBook`], whose openings are
//! played in order; after the last opening, the book starts over.

use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, Result, quoted};
use crate::game::{Action, Game};
use crate::notation::Line;
use crate::notation::playing::actions_of;
use crate::storage::{read_given, sha256, text};

/// The largest file that is read, in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// How a pair of games begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct PairOpening {
    /// The text of the start position; `None` for the game's usual start position.
    pub start: Option<Arc<str>>,
    /// The actions that are played from the start position before the agents choose.
    pub actions: Arc<[Action]>,
}

impl PairOpening {
    /// Returns the position in which the games begin, which the book has checked.
    pub(super) fn begin<G: Game>(&self, game: &G) -> G::State {
        match &self.start {
            Some(text) => game.parse_state(text).expect("a position of the book"),
            None => game.initial(),
        }
    }
}

/// Openings that pairs of games begin with.
#[derive(Clone, Debug, PartialEq)]
pub struct OpeningBook {
    lines: Arc<[PairOpening]>,
    sha256: String,
}

impl OpeningBook {
    /// Reads a file of openings and checks every position and action.
    ///
    /// # Errors
    /// If the file cannot be read or has no opening, a position does not belong to the game, an action is not legal, or
    /// an action ends the game. The message names the line.
    pub fn read<G: Game>(path: &Path, game: &G) -> Result<OpeningBook> {
        let bytes = read_given(path, MOST_BYTES, "a file of openings")?;
        let shown = path.display();
        let readable = text::readable(&bytes).map_err(|why| Error::Data(format!("{shown}: {why}")))?;
        let mut lines = Vec::new();
        for (number, line) in readable.lines().enumerate() {
            let wrong = |error: Error| Error::Data(format!("{shown}: line {}: {error}", number + 1));
            if let Some(line) = Line::of(line) {
                lines.push(opening(game, &line).map_err(wrong)?);
            }
        }
        if lines.is_empty() {
            Err(Error::Data(format!("{shown}: it contains no opening; write one as a line of actions")))
        } else {
            Ok(OpeningBook { lines: lines.into(), sha256: sha256(&bytes) })
        }
    }

    /// Returns the number of openings.
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// Returns the SHA-256 of the file.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Returns the opening of the pair of games with this number.
    pub(super) fn opening(&self, pair: u64) -> PairOpening {
        self.lines[(pair % self.lines.len() as u64) as usize].clone()
    }
}

/// Returns the opening that a line describes.
fn opening<G: Game>(game: &G, line: &Line) -> Result<PairOpening> {
    let over = |word: &str| Error::Data(format!("the game is over after {}", quoted(word)));
    let mut start = line.start;
    let mut words = &line.words[..];
    // a line that is not a list of actions may be a position alone
    let is_action = |word: &&str| actions_of(game, &game.initial(), word).is_some();
    if start.is_none() && !words.first().is_some_and(is_action) && game.parse_state(line.whole).is_ok() {
        start = Some(line.whole);
        words = &[];
    }
    let mut state = start.map_or_else(|| Ok(game.initial()), |text| game.parse_state(text))?;
    if game.outcome(&state).is_some() {
        return Err(over(line.whole));
    }
    let mut actions = Vec::new();
    for word in words {
        let played = actions_of(game, &state, word).ok_or_else(|| {
            let at = quoted(&game.state_text(&state));
            Error::Data(format!("{} is not a legal action in {at}", quoted(word)))
        })?;
        for action in played {
            game.play(&mut state, action);
            if game.outcome(&state).is_some() {
                return Err(over(word));
            }
            actions.push(action);
        }
    }
    Ok(PairOpening { start: start.map(Arc::from), actions: actions.into() })
}
