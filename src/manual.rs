//! The rules of a game for the people who play it, as running text with drawn examples.
//!
//! Input: [`Game::manual`], one text for each variant. Output: [`Block`]s, which the terminal and the pages of
//! `docs/games` show, each in its own way. In the text, blocks are separated by empty lines. `# ` begins a heading, and
//! `- ` begins an item of a list. A block that begins with `position: ` is an example: `start` or the text of a
//! position, then optionally a line that begins with `actions: ` and lists actions that are played from there, and then
//! the caption. All other blocks are paragraphs. [`brief`] is for readers who want to begin at once.

use crate::error::{Error, Result};
use crate::game::Game;

/// A part of a manual.
#[derive(Clone, Debug, PartialEq)]
pub enum Block<S> {
    /// A heading.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// The items of a list.
    List(Vec<String>),
    /// A position to draw.
    Example {
        /// The position.
        state: S,
        /// The squares `(row, column)` of the last action, if one was played.
        last: Vec<(usize, usize)>,
        /// The caption, which says what the position shows.
        caption: String,
    },
}

/// Returns the rules of a game in brief, from [`Game::brief`]. The first line says what the game is about and how it is
/// won, which distinguishes it in a list of games. The next lines say what a player can do and what else there is to
/// know. For a game without such lines, the summary is the only line.
pub fn brief<G: Game>(game: &G) -> Vec<String> {
    game.brief().lines().map(str::trim).filter(|line| !line.is_empty()).map(String::from).collect()
}

/// Returns the parts of a game's manual.
///
/// # Errors
/// If the position of an example is invalid or an action is illegal.
pub fn blocks<G: Game>(game: &G) -> Result<Vec<Block<G::State>>> {
    let text = game.manual();
    let parts = text.split("\n\n").map(str::trim).filter(|part| !part.is_empty());
    parts.map(|part| block(game, part)).collect()
}

fn block<G: Game>(game: &G, part: &str) -> Result<Block<G::State>> {
    if let Some(heading) = part.strip_prefix("# ") {
        return Ok(Block::Heading(heading.into()));
    }
    if let Some(example) = part.strip_prefix("position: ") {
        return self::example(game, example);
    }
    if part.starts_with("- ") {
        return Ok(Block::List(part.lines().map(|line| line.trim_start_matches("- ").into()).collect()));
    }
    Ok(Block::Text(part.replace('\n', " ")))
}

fn example<G: Game>(game: &G, text: &str) -> Result<Block<G::State>> {
    let (position, mut rest) = text.split_once('\n').unwrap_or((text, ""));
    let mut state = match position {
        "start" => game.initial(),
        text => game.parse_state(text)?,
    };
    let mut last = Vec::new();
    if let Some(after) = rest.strip_prefix("actions: ") {
        let (actions, caption) = after.split_once('\n').unwrap_or((after, ""));
        for text in actions.split_whitespace() {
            let action = game.parse_action(&state, text).ok_or_else(|| {
                Error::Illegal(format!(
                    "action {text} of the manual is not legal in `{}`",
                    game.state_text(&state)
                ))
            })?;
            last = game.touched(&state, action);
            game.try_play(&mut state, action)?;
        }
        rest = caption;
    }
    Ok(Block::Example { state, last, caption: rest.replace('\n', " ") })
}
