//! The requests of a page about games, and the answers to them, as types.
//!
//! Requests and answers are JSON with the field names of these types, whether the page asks a server (`petteia serve`,
//! under `/api`) or the program in its own file ([`engine`](super::engine)). A player is `first` or `second`; an
//! outcome is `first`, `second`, or `draw`; an action is its text; a square is a row and a column of the drawn board,
//! counted from the top left.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZero;

use serde::{Deserialize, Serialize};

use super::players::PagePlayer;
use crate::draw::Place;
use crate::game::Player as Side;
use crate::options::Settings;

/// A game in progress, as the page sends it: the body of `rules` and `save`, and part of other questions.
#[derive(Deserialize)]
pub(crate) struct PlayedGame {
    pub(crate) game: String,
    #[serde(default)]
    pub(crate) options: Settings,
    /// The start position; the game's usual start if missing.
    #[serde(default)]
    pub(crate) start: Option<String>,
    #[serde(default)]
    pub(crate) actions: Vec<String>,
    /// The player who resigned after the last action.
    #[serde(default)]
    pub(crate) resigned: Option<Side>,
}

/// The body of `position`: a position and what to draw on it.
#[derive(Deserialize)]
pub(crate) struct PositionAsked {
    #[serde(flatten)]
    pub(crate) place: PlayedGame,
    /// Actions with weights from 0 to 1, to draw on the board.
    #[serde(default)]
    pub(crate) weights: Vec<(String, f32)>,
    /// Actions with weights of a second kind, drawn in another color.
    #[serde(default)]
    pub(crate) priors: Vec<(String, f32)>,
    /// Whether the weights are also written as numbers.
    #[serde(default)]
    pub(crate) numbered: bool,
    /// An expected line.
    #[serde(default)]
    pub(crate) line: Vec<String>,
    /// An action that the user tried; the answer says why it is not legal.
    #[serde(default)]
    pub(crate) tried: Option<String>,
    /// The player from whose side the board is seen; the first player if missing.
    #[serde(default)]
    pub(crate) viewer: Option<Side>,
    /// Whether the user wants to see the board from the other side.
    #[serde(default)]
    pub(crate) flipped: bool,
}

/// A question to an agent about a game; part of `search` and `review`.
#[derive(Deserialize)]
pub(crate) struct Question {
    #[serde(flatten)]
    pub(crate) place: PlayedGame,
    /// The agent's key.
    pub(crate) agent: String,
    #[serde(default)]
    pub(crate) simulations: Option<NonZero<usize>>,
    /// The level of the shipped agent, 1 to 9, instead of a number of simulations.
    #[serde(default)]
    pub(crate) level: Option<usize>,
    /// The page's name for itself; a new question ends the search for an earlier question from the same page.
    #[serde(default)]
    pub(crate) page: String,
}

/// The body of `search`, which asks what the agent would play.
#[derive(Deserialize)]
pub(crate) struct SearchAsked {
    #[serde(flatten)]
    pub(crate) question: Question,
    /// How many seconds to search, instead of the agent's number of simulations.
    #[serde(default)]
    pub(crate) seconds: Option<f64>,
    #[serde(default)]
    pub(crate) seed: u64,
    /// Whether the reply varies in the first plies.
    #[serde(default)]
    pub(crate) vary: bool,
}

/// The body of `review`, which asks what the actions of the game lost according to the agent's searches or to perfect
/// play.
#[derive(Deserialize)]
pub(crate) struct ReviewAsked {
    #[serde(flatten)]
    pub(crate) question: Question,
    /// The ply to begin with.
    #[serde(default)]
    pub(crate) from: usize,
}

/// The body of `load`: the text of a file with games.
#[derive(Deserialize)]
pub(crate) struct LoadAsked {
    pub(crate) text: String,
}

/// The answer to a request that fails: the reason, for people.
#[derive(Serialize)]
pub(crate) struct ErrorAnswer {
    pub(crate) error: String,
}

/// Everything that can be played: the whole answer to `home` in a file, and part of it in `petteia serve`.
#[derive(Serialize)]
pub(crate) struct Offer {
    /// The program's name and version.
    pub(crate) program: String,
    pub(crate) games: Vec<Described>,
    /// The agents, by the id of their game.
    pub(crate) agents: BTreeMap<String, Vec<PagePlayer>>,
    /// The agents of a game that is not in the list.
    pub(crate) plain: Vec<PagePlayer>,
}

/// A game in the list.
#[derive(Clone, Serialize)]
pub(crate) struct Described {
    pub(crate) id: String,
    /// Where the game's rules come from: `program`, `text`, `run`, or `own`.
    pub(crate) origin: &'static str,
    pub(crate) title: Cow<'static, str>,
    pub(crate) author: Cow<'static, str>,
    pub(crate) players: [Cow<'static, str>; 2],
    /// The name of the game's family, the same for all variants.
    pub(crate) name: Cow<'static, str>,
    /// The lines of the brief rules; the first one says what the game is.
    pub(crate) brief: Vec<String>,
    pub(crate) options: Vec<OptionForm>,
}

/// The answer to `starts`: a drawing of each game's start position, by the game's id.
pub(crate) type Starts = BTreeMap<String, String>;

/// An option as a form shows it.
#[derive(Clone, Serialize)]
pub(crate) struct OptionForm {
    pub(crate) name: Cow<'static, str>,
    pub(crate) about: Cow<'static, str>,
    pub(crate) default: toml::Value,
    #[serde(flatten)]
    pub(crate) values: OptionKind,
}

/// The permitted values of an option.
#[derive(Clone, Serialize)]
#[serde(tag = "kind", content = "values", rename_all = "lowercase")]
pub(crate) enum OptionKind {
    /// The smallest and the largest number.
    Number([i64; 2]),
    Flag(Vec<toml::Value>),
    Choice(Vec<toml::Value>),
}

/// The answer to `load`: the games of a file.
#[derive(Serialize)]
pub(crate) struct Games {
    pub(crate) games: Vec<NamedGame>,
}

/// A game from elsewhere.
#[derive(Serialize)]
pub(crate) struct NamedGame {
    pub(crate) name: String,
    pub(crate) game: String,
    pub(crate) options: Settings,
    #[serde(flatten)]
    pub(crate) settled: Settled,
}

/// A game from elsewhere, replayed by the rules.
#[derive(Serialize)]
pub(crate) struct Settled {
    pub(crate) start: String,
    pub(crate) actions: Vec<String>,
    pub(crate) resigned: Option<Side>,
    pub(crate) outcome: Option<&'static str>,
    /// The first player's expected score, 0 to 1, at each ply; `None` for plies that were not searched.
    pub(crate) scores: Option<Vec<Option<f32>>>,
}

/// The answer to `rules`.
#[derive(Serialize)]
pub(crate) struct RulesAnswer {
    pub(crate) html: String,
}

/// The answer to `save`: the text of a file to download.
#[derive(Serialize)]
pub(crate) struct SavedFile {
    pub(crate) text: String,
}

/// The answer to `position`.
#[derive(Serialize)]
pub(crate) struct PositionAnswer {
    pub(crate) svg: String,
    pub(crate) position: String,
    pub(crate) start: String,
    pub(crate) actions: Vec<String>,
    /// The player who made each of the actions.
    pub(crate) movers: Vec<&'static str>,
    /// The actions in words, in games that have words for them.
    pub(crate) words: Option<Vec<Option<String>>>,
    pub(crate) players: [String; 2],
    pub(crate) colors: [String; 2],
    pub(crate) to_move: &'static str,
    pub(crate) over: Option<GameOver>,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// Whether the second player's side is at the bottom.
    pub(crate) turned: bool,
    /// Whether the board is never turned.
    pub(crate) upright: bool,
    pub(crate) note: String,
    /// The squares that the last action touched.
    pub(crate) last: Vec<Place>,
    /// The contents of the squares in words.
    pub(crate) names: Vec<Vec<String>>,
    /// The reason why the action that was tried is not legal.
    pub(crate) why: Option<String>,
    pub(crate) legal: Vec<LegalAction>,
}

/// How a game ended.
#[derive(Serialize)]
pub(crate) struct GameOver {
    pub(crate) outcome: &'static str,
    pub(crate) text: String,
}

/// A legal action, as the squares to click and its text.
#[derive(Serialize)]
pub(crate) struct LegalAction {
    pub(crate) text: String,
    pub(crate) places: Vec<Place>,
    pub(crate) words: Option<String>,
}

/// The answer to `search`: an agent's choice, with the numbers of its search.
#[derive(Serialize)]
pub(crate) struct SearchAnswer {
    pub(crate) action: String,
    /// The value for the player to move, -1 to 1.
    pub(crate) value: Option<f32>,
    /// The first player's expected score, 0 to 1.
    pub(crate) score: Option<f32>,
    /// The number of simulations; `None` if the agent does not search.
    pub(crate) simulations: Option<usize>,
    /// The actions: the chosen action first, then the others by visits; empty without a search.
    pub(crate) visits: Vec<Visited>,
    /// The expected continuation.
    pub(crate) line: Vec<String>,
    /// The outcome, if it is known for certain.
    pub(crate) proven: Option<&'static str>,
    /// The identity of the network: equal texts mean equal networks.
    pub(crate) network: Option<String>,
}

/// The answer to `review`: as many plies as there was time for.
#[derive(Serialize)]
pub(crate) struct ReviewAnswer {
    /// The smallest loss that counts as a mistake.
    pub(crate) noticed: f32,
    pub(crate) plies: Vec<ReviewedPly>,
    /// The ply to continue from; `None` at the end of the game.
    pub(crate) next: Option<usize>,
}

/// A position of the game and what the action that was played there lost.
#[derive(Serialize)]
pub(crate) struct ReviewedPly {
    pub(crate) ply: usize,
    pub(crate) search: SearchAnswer,
    /// The mistake; `None` if the action lost little.
    pub(crate) mistake: Option<Mistake>,
}

/// An action that lost a lot; the scores are those of the player who played it, 0 to 1.
#[derive(Serialize)]
pub(crate) struct Mistake {
    pub(crate) could: f32,
    pub(crate) got: f32,
    pub(crate) better: String,
    /// The expected line, starting with the better action.
    pub(crate) line: Vec<String>,
}

/// An action at the root of a search.
#[derive(Serialize)]
pub(crate) struct Visited {
    pub(crate) action: String,
    pub(crate) visits: u32,
    pub(crate) prior: Option<f32>,
}
