//! Openings from a file, for matches and ladders: books of balanced openings, as engine testers use them.
//!
//! Input: a text with one opening in each line, its actions separated by spaces; what follows a `#` is left out. Output:
//! a [`OpeningBook`], whose openings are played in their order, from the first again once all have been.

use std::path::Path;
use std::sync::Arc;

use crate::error::{Error, Result, quoted};
use crate::game::{Action, Game};
use crate::storage::{read_given, sha256, text};

/// The largest file, in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// Openings that pairs of games begin with.
#[derive(Clone, Debug, PartialEq)]
pub struct OpeningBook {
    lines: Arc<[Arc<[Action]>]>,
    sha256: String,
}

impl OpeningBook {
    /// Reads a file of openings, and checks every action.
    ///
    /// # Errors
    /// The file cannot be read or has no opening; an action is not legal, or ends the game. The line is named.
    pub fn read<G: Game>(path: &Path, game: &G) -> Result<OpeningBook> {
        let bytes = read_given(path, MOST_BYTES, "a file of openings")?;
        let shown = path.display();
        let readable = text::readable(&bytes).map_err(|why| Error::Data(format!("{shown}: {why}")))?;
        let mut lines = Vec::new();
        for (number, line) in readable.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            if !line.trim().is_empty() {
                let opening = opening(game, line);
                let wrong = |error: Error| Error::Data(format!("{shown}: line {}: {error}", number + 1));
                lines.push(opening.map_err(wrong)?.into());
            }
        }
        match lines.is_empty() {
            true => Err(Error::Data(format!("{shown}: there is no opening in it, as a line of actions"))),
            false => Ok(OpeningBook { lines: lines.into(), sha256: sha256(&bytes) }),
        }
    }

    /// The number of openings.
    pub fn count(&self) -> usize {
        self.lines.len()
    }

    /// SHA-256 of the file.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The opening of a pair of games.
    pub(super) fn opening(&self, pair: u64) -> Vec<Action> {
        self.lines[(pair % self.lines.len() as u64) as usize].to_vec()
    }
}

/// The actions of a line.
fn opening<G: Game>(game: &G, line: &str) -> Result<Vec<Action>> {
    let (mut state, mut actions) = (game.initial(), Vec::new());
    for text in line.split_whitespace() {
        let Some(action) = game.parse_action(&state, text) else {
            let at = quoted(&game.state_text(&state));
            return Err(Error::Data(format!("{} is not a legal action in {at}", quoted(text))));
        };
        game.play(&mut state, action);
        if game.outcome(&state).is_some() {
            return Err(Error::Data(format!("the game is over after {}", quoted(text))));
        }
        actions.push(action);
    }
    Ok(actions)
}
