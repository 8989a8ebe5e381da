//! The requests of the page and the answers of the server, as types.
//!
//! The bodies and answers of all requests under `/api` are here, as JSON with these names. A player is `first` or
//! `second`; an outcome is one of these or `draw`; an action is its text; a square is a row and a column of the drawn
//! board, counted from its top left. A file that plays by itself answers its own page in the same way.

use std::collections::BTreeMap;
use std::num::NonZero;

use serde::{Deserialize, Serialize};

use super::players::Player as Agent;
use crate::draw::Place;
use crate::game::Player;
use crate::options::Settings;
use crate::run::work::roster::Activity;

/// A game in progress, as the page sends it: the body of `rules` and `save`, and part of other questions.
#[derive(Deserialize)]
pub(super) struct PlayedGame {
    pub(super) game: String,
    #[serde(default)]
    pub(super) options: Settings,
    /// The start; the usual one if it is missing.
    #[serde(default)]
    pub(super) start: Option<String>,
    #[serde(default)]
    pub(super) actions: Vec<String>,
    /// The player who resigned after these actions.
    #[serde(default)]
    pub(super) resigned: Option<Player>,
}

/// `position`: a position, and what to draw on it.
#[derive(Deserialize)]
pub(super) struct PositionAsked {
    #[serde(flatten)]
    pub(super) place: PlayedGame,
    /// Actions with weights from 0 to 1.
    #[serde(default)]
    pub(super) weights: Vec<(String, f32)>,
    /// Weights of a second kind, drawn in another color.
    #[serde(default)]
    pub(super) priors: Vec<(String, f32)>,
    /// Whether the weights are also written as numbers.
    #[serde(default)]
    pub(super) numbered: bool,
    /// An expected line.
    #[serde(default)]
    pub(super) line: Vec<String>,
    /// An action that a user tried: the answer says why it is not legal.
    #[serde(default)]
    pub(super) tried: Option<String>,
    /// The player from whose side the board is seen; the first player if it is missing.
    #[serde(default)]
    pub(super) viewer: Option<Player>,
    /// Whether the user wants to see the board from the other side.
    #[serde(default)]
    pub(super) flipped: bool,
}

/// A question to an agent about a game: part of `search` and `review`.
#[derive(Deserialize)]
pub(super) struct Question {
    #[serde(flatten)]
    pub(super) place: PlayedGame,
    /// The agent's key.
    pub(super) agent: String,
    #[serde(default)]
    pub(super) simulations: Option<NonZero<usize>>,
    /// The level of the shipped agent, 1 to 9, instead of a number of simulations.
    #[serde(default)]
    pub(super) level: Option<usize>,
    /// The page's name for itself: a new question ends the earlier one of the same page.
    #[serde(default)]
    pub(super) page: String,
}

/// `search`: what the agent would play.
#[derive(Deserialize)]
pub(super) struct SearchAsked {
    #[serde(flatten)]
    pub(super) question: Question,
    /// How many seconds to search, instead of the agent's number of simulations.
    #[serde(default)]
    pub(super) seconds: Option<f64>,
    #[serde(default)]
    pub(super) seed: u64,
    /// Whether to vary the reply in the first plies.
    #[serde(default)]
    pub(super) vary: bool,
}

/// `review`: what the actions of the game lost by the agent's searches, or by perfect play.
#[derive(Deserialize)]
pub(super) struct ReviewAsked {
    #[serde(flatten)]
    pub(super) question: Question,
    /// The ply to begin with.
    #[serde(default)]
    pub(super) from: usize,
}

/// `load`: the text of a file with games.
#[derive(Deserialize)]
pub(super) struct LoadAsked {
    pub(super) text: String,
}

/// `text`, `train` and `balance`: the rules of a game as a text.
#[derive(Deserialize)]
pub(super) struct TextAsked {
    pub(super) text: String,
}

/// The answer to a request that cannot be answered: the reason, for people.
#[derive(Serialize)]
pub(super) struct ErrorAnswer {
    pub(super) error: String,
}

/// `home`: everything that can be played and watched.
#[derive(Serialize)]
pub(super) struct Home {
    /// The program's name and version.
    pub(super) program: String,
    pub(super) games: Vec<Described>,
    /// The agents by the id of their game.
    pub(super) agents: BTreeMap<String, Vec<Agent>>,
    /// The agents of a game that is not in the list.
    pub(super) plain: Vec<Agent>,
    pub(super) runs: Vec<RunInShort>,
    /// The kinds of tasks that this page may begin.
    pub(super) tasks: Vec<TaskKind>,
    /// The reason why there are no runs, if they could not be looked for.
    pub(super) trouble: Option<String>,
}

/// A game in the list.
#[derive(Clone, Serialize)]
pub(super) struct Described {
    pub(super) id: String,
    /// Where its rules are from: `program`, `text`, `run` or `own`.
    pub(super) origin: &'static str,
    pub(super) title: &'static str,
    pub(super) author: &'static str,
    pub(super) players: [&'static str; 2],
    /// The name of its family, the same for all variants.
    pub(super) name: &'static str,
    /// The rules in brief, a line each; the first one says what the game is.
    pub(super) brief: Vec<String>,
    pub(super) options: Vec<OptionForm>,
}

/// `starts`: a drawing of the start of each game, by its id.
pub(super) type Starts = BTreeMap<String, String>;

/// An option as a form shows it.
#[derive(Clone, Serialize)]
pub(super) struct OptionForm {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) default: toml::Value,
    #[serde(flatten)]
    pub(super) values: OptionKind,
}

/// The permitted values of an option.
#[derive(Clone, Serialize)]
#[serde(tag = "kind", content = "values", rename_all = "lowercase")]
pub(super) enum OptionKind {
    /// The smallest and the largest number.
    Number([i64; 2]),
    Flag(Vec<toml::Value>),
    Choice(Vec<toml::Value>),
}

/// A run in the list.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum RunInShort {
    Known {
        id: usize,
        name: String,
        game: String,
        state: &'static str,
        /// The newest generation; 0 if there is none.
        generation: usize,
        planned: usize,
    },
    /// A run that cannot be read; its state is `damaged`.
    Damaged { id: usize, name: String, state: &'static str, problem: String },
}

/// `runs/ID`: a run's state, and its present work.
#[derive(Serialize)]
pub(super) struct RunAnswer {
    pub(super) id: usize,
    pub(super) name: String,
    pub(super) game: String,
    pub(super) options: Settings,
    pub(super) state: &'static str,
    /// A text about what the run is doing, if it is running.
    pub(super) doing: Option<String>,
    pub(super) generation: usize,
    pub(super) planned: usize,
    pub(super) seconds_left: Option<f64>,
    pub(super) positions_per_second: Option<f64>,
    /// The processes that play and judge for it, if any do.
    pub(super) workers: Vec<Activity>,
    /// The last lines of the log.
    pub(super) log: Vec<String>,
    pub(super) stamp: String,
    /// The checkpoints, or a selection if there are many.
    pub(super) checkpoints: Vec<CheckpointRow>,
    pub(super) all_checkpoints: usize,
}

/// A checkpoint with its strength in Elo above the first rated generation.
#[derive(Serialize)]
pub(super) struct CheckpointRow {
    pub(super) generation: usize,
    pub(super) elo: Option<f64>,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    /// The agent's key.
    pub(super) agent: String,
    pub(super) steps: Option<usize>,
}

/// `runs/ID/charts`.
#[derive(Serialize)]
pub(super) struct Charts {
    /// Changes whenever the run has written something.
    pub(super) stamp: String,
    pub(super) html: String,
}

/// `runs/ID/games`: games of the newest generation.
#[derive(Serialize)]
pub(super) struct RunGames {
    pub(super) generation: usize,
    pub(super) games: Vec<NamedGame>,
}

/// `load`: the games of a file.
#[derive(Serialize)]
pub(super) struct Games {
    pub(super) games: Vec<NamedGame>,
}

/// A game from elsewhere.
#[derive(Serialize)]
pub(super) struct NamedGame {
    pub(super) name: String,
    pub(super) game: String,
    pub(super) options: Settings,
    #[serde(flatten)]
    pub(super) settled: Settled,
}

/// A game from elsewhere, replayed by the rules.
#[derive(Serialize)]
pub(super) struct Settled {
    pub(super) start: String,
    pub(super) actions: Vec<String>,
    pub(super) resigned: Option<Player>,
    pub(super) outcome: Option<&'static str>,
    /// The first player's expected score, 0 to 1, at each ply that was searched.
    pub(super) scores: Option<Vec<Option<f32>>>,
}

/// `texts`: the texts to begin with in the editor.
#[derive(Serialize)]
pub(super) struct Texts {
    pub(super) template: String,
    pub(super) texts: Vec<WrittenText>,
}

/// A text with its title.
#[derive(Serialize)]
pub(super) struct WrittenText {
    pub(super) title: String,
    pub(super) text: String,
}

/// `text`: what a text says.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum TextAnswer {
    Wrong {
        problem: TextProblem,
    },
    Right {
        game: Box<Described>,
        /// The position at the start.
        svg: String,
        rows: usize,
        columns: usize,
        /// The contents of the squares in words.
        names: Vec<Vec<String>>,
        /// The number of actions that a network knows, and that of the legal ones at the start.
        actions: usize,
        legal: usize,
        lines: Vec<TextLine>,
        /// Whether the page has another game of this id.
        taken: bool,
    },
}

/// The first problem of a text, with its place from 1.
#[derive(Serialize)]
pub(super) struct TextProblem {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) what: String,
}

/// What a line of a text means at the start.
#[derive(Serialize)]
pub(super) struct TextLine {
    pub(super) line: usize,
    pub(super) words: String,
    pub(super) says: String,
    /// The squares that it speaks of.
    pub(super) places: Vec<Place>,
}

/// What the page can have done for a text.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum TaskKind {
    Training,
    Balance,
}

/// `task`, `train`, `balance`, `cancel`: the newest task.
#[derive(Serialize)]
pub(super) struct TaskAnswer {
    /// Nothing if there was none yet.
    pub(super) task: Option<TaskShown>,
}

/// A task, as far as it is.
#[derive(Clone, Serialize)]
pub(super) struct TaskShown {
    pub(super) kind: TaskKind,
    pub(super) game: String,
    pub(super) title: String,
    /// `running`, `finished`, `canceled` or `failed`.
    pub(super) state: &'static str,
    pub(super) doing: String,
    /// From 0 to 1.
    pub(super) progress: f64,
    pub(super) seconds: f64,
    /// The run that is trained, by its number, once it is there.
    pub(super) run: Option<usize>,
    /// The generation and the key of its newest agent.
    pub(super) generation: usize,
    pub(super) agent: Option<String>,
    pub(super) error: Option<String>,
    pub(super) balance: Option<BalanceInShort>,
}

/// Whether a game is balanced.
#[derive(Clone, Serialize)]
pub(super) struct BalanceInShort {
    pub(super) answer: String,
    pub(super) levels: Vec<LevelInShort>,
}

/// Games of a level against itself.
#[derive(Clone, Serialize)]
pub(super) struct LevelInShort {
    pub(super) name: String,
    pub(super) games: usize,
    /// The first player's mean score, and its 95 % bounds, from 0 to 1.
    pub(super) score: [f64; 3],
    pub(super) draws: f64,
    /// Actions in a game.
    pub(super) length: f64,
}

/// `rules`.
#[derive(Serialize)]
pub(super) struct RulesAnswer {
    pub(super) html: String,
}

/// `save`: a file to download.
#[derive(Serialize)]
pub(super) struct SavedFile {
    pub(super) name: String,
    pub(super) text: String,
}

/// `position`.
#[derive(Serialize)]
pub(super) struct PositionAnswer {
    pub(super) svg: String,
    pub(super) position: String,
    pub(super) start: String,
    pub(super) actions: Vec<String>,
    /// The player who made each of the actions.
    pub(super) movers: Vec<&'static str>,
    /// The actions in words, in games that have any.
    pub(super) words: Option<Vec<Option<String>>>,
    pub(super) players: [&'static str; 2],
    pub(super) colors: [String; 2],
    pub(super) to_move: &'static str,
    pub(super) over: Option<Over>,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Whether the second player's side is at the bottom.
    pub(super) turned: bool,
    /// Whether the board is never turned.
    pub(super) upright: bool,
    pub(super) note: String,
    /// The squares that the last action touched.
    pub(super) last: Vec<Place>,
    /// The contents of the squares in words.
    pub(super) names: Vec<Vec<String>>,
    /// The reason why the action that was tried is not legal.
    pub(super) why: Option<String>,
    pub(super) legal: Vec<LegalAction>,
}

/// How a game ended.
#[derive(Serialize)]
pub(super) struct Over {
    pub(super) outcome: &'static str,
    pub(super) text: String,
}

/// A legal action, as the squares to click and its text.
#[derive(Serialize)]
pub(super) struct LegalAction {
    pub(super) text: String,
    pub(super) places: Vec<Place>,
    pub(super) words: Option<String>,
}

/// `search`: an agent's choice, with the numbers of its search.
#[derive(Serialize)]
pub(super) struct SearchAnswer {
    pub(super) action: String,
    /// The value for the player to move, -1 to 1.
    pub(super) value: Option<f32>,
    /// The first player's expected score, 0 to 1.
    pub(super) score: Option<f32>,
    /// Nothing if the agent does not search.
    pub(super) simulations: Option<usize>,
    /// The chosen action first, then the others by visits; none without a search.
    pub(super) visits: Vec<Visited>,
    /// The expected continuation.
    pub(super) line: Vec<String>,
    /// The outcome, if it is known for certain.
    pub(super) proven: Option<&'static str>,
    /// The identity of the network: equal texts mean equal networks.
    pub(super) network: Option<String>,
}

/// `review`: as many plies as there was time for.
#[derive(Serialize)]
pub(super) struct ReviewAnswer {
    /// The smallest loss that is a mistake.
    pub(super) noticed: f32,
    pub(super) plies: Vec<ReviewedPly>,
    /// The ply to go on from; nothing if this was the end of the game.
    pub(super) next: Option<usize>,
}

/// A position of the game, and what the action that was played there lost.
#[derive(Serialize)]
pub(super) struct ReviewedPly {
    pub(super) ply: usize,
    pub(super) search: SearchAnswer,
    /// Nothing if it lost little.
    pub(super) mistake: Option<Mistake>,
}

/// An action that lost much: scores of the player who played it, 0 to 1.
#[derive(Serialize)]
pub(super) struct Mistake {
    pub(super) could: f32,
    pub(super) got: f32,
    pub(super) better: String,
    /// The expected line, starting with the better action.
    pub(super) line: Vec<String>,
}

/// An action at the root of a search.
#[derive(Serialize)]
pub(super) struct Visited {
    pub(super) action: String,
    pub(super) visits: u32,
    pub(super) prior: Option<f32>,
}
