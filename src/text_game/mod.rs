//! Games whose rules are a text: lines of plain words in a file `NAME.game`.
//!
//! Input: a text, and the values of its options. Output: a game like any other, or the first problem of the text and
//! its place. `lex` splits the text into statements of words, `parse` turns them into a `text` of trees (`ast`), and
//! `check` rejects what has no meaning. `transform` makes each player's view of the text, and `lower` turns this view
//! into the same trees with operations on whole boards (`ops`) as leaves. `eval`, `moves`, and `perform` use these
//! trees during play. Planes, symmetries, names, and explanations follow from the text. Reading a text opens no file
//! and takes bounded time and memory.

mod ast;
mod check;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod compile;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[path = "compile/nothing.rs"]
mod compile;
mod contract;
mod encode;
mod eval;
mod explain;
mod game;
mod geometry;
mod lex;
mod limits;
mod lower;
mod mask;
mod moves;
mod names;
mod notation;
mod ops;
mod parse;
mod perform;
mod planes;
mod rules;
mod state;
mod symmetry;
mod text;
mod transform;
mod words;

pub(crate) use self::compile::obstacle;
pub use self::explain::Explained;
pub use self::game::TextGame;
pub use self::lex::Problem;
pub use self::limits::LARGEST;
pub use self::mask::{Mask, Squares, Wide};
pub use self::state::State;
pub use self::words::{SECTIONS, Section, Usage};

use std::path::Path;

use crate::error::Error;
use crate::game::{Game, Shape};
use crate::options::{Settings, TEXT};
use crate::storage;

/// A game on a board of at most 64, 128 or 448 squares.
#[derive(Clone, Debug)]
pub enum Sized {
    /// At most 64 squares.
    Small(TextGame<u64>),
    /// At most 128 squares.
    Middle(TextGame<u128>),
    /// At most 448 squares.
    Large(TextGame<Wide>),
}

/// Evaluates `$done` for whichever size the game has.
macro_rules! with_game {
    ($sized:expr, $game:ident => $done:expr) => {
        match $sized {
            $crate::text_game::Sized::Small($game) => $done,
            $crate::text_game::Sized::Middle($game) => $done,
            $crate::text_game::Sized::Large($game) => $done,
        }
    };
}
pub(crate) use with_game;

/// The extension of files with rules.
pub const EXTENSION: &str = "game";

/// Reads the id and the options of the game whose rules are in a file.
///
/// # Errors
/// If the file cannot be read, or its text has a problem with its default options.
pub fn rules_at(path: &Path) -> Result<(String, Settings), Error> {
    let place = path.display();
    let bytes = storage::read_given(path, LARGEST as u64, "rules")
        .map_err(|error| Error::Config(format!("cannot read the rules: {error}")))?;
    let wrong = |why: String| Error::Config(format!("{place}: {why}"));
    let text = storage::text::unmarked(&bytes).map_err(wrong)?;
    let text = std::str::from_utf8(text).map_err(|error| wrong(error.to_string()))?;
    let id = id_of(text).map_err(|problem| wrong(problem.to_string()))?;
    Ok((id, [(TEXT.to_string(), text.into())].into()))
}

/// Returns the id of the game of a text.
///
/// # Errors
/// If the text has a problem with its default options; the error is the first one.
pub fn id_of(text: &str) -> Result<String, Problem> {
    let parsed = parse::parse(text, &Settings::new())?;
    check::check(&parsed)?;
    Ok(names::id_of_title(&parsed.title))
}

/// Returns the title of a text, or `None` if the text has a problem.
pub fn title_of(text: &str) -> Option<String> {
    parse::parse(text, &Settings::new()).ok().map(|parsed| parsed.title)
}

/// Makes the game of a text, with these values for its options.
///
/// # Errors
/// If the text has a problem; the error is the first one.
pub fn read(text: &str, settings: &Settings) -> Result<Sized, Problem> {
    let parsed = parse::parse(text, settings)?;
    check::check(&parsed)?;
    let cells = parsed.board.cells();
    let end = text.lines().count().max(1);
    let game = match cells {
        0..=64 => Sized::Small(TextGame::new(parsed)),
        65..=128 => Sized::Middle(TextGame::new(parsed)),
        _ => Sized::Large(TextGame::new(parsed)),
    };
    let problem = |what: String| Err(Problem { line: end, column: 1, what });
    let Shape { planes, actions, .. } = game.shape();
    if !game.shape().is_possible() {
        return problem(format!(
            "there are {actions} actions and {planes} planes, more than a network can have: use a smaller board or \
                fewer lines"
        ));
    }
    if game.can_begin() {
        Ok(game)
    } else {
        problem("nobody can act in the initial position: check the lines `start` and `action`".into())
    }
}

impl Sized {
    fn shape(&self) -> Shape {
        with_game!(self, game => game.shape())
    }

    fn can_begin(&self) -> bool {
        with_game!(self, game => game.can_begin())
    }
}

#[cfg(test)]
mod hostile;
#[cfg(test)]
mod tests;
