//! The requests of the page about runs, texts, and tasks, and the answers of the server, as types.
//!
//! Requests and answers about games are in [`page::api`](crate::page::api).

use serde::{Deserialize, Serialize};

use crate::draw::Place;
use crate::options::Settings;
use crate::page::api::{Described, NamedGame, Offer};
use crate::run::work::roster::Activity;

/// `text`, `train`, and `balance`: the rules of a game as a text.
#[derive(Deserialize)]
pub(super) struct TextAsked {
    pub(super) text: String,
}

/// `home`: everything that can be played and watched.
#[derive(Serialize)]
pub(super) struct Home {
    #[serde(flatten)]
    pub(super) offer: Offer,
    pub(super) runs: Vec<RunInShort>,
    /// The kinds of tasks that this page may begin.
    pub(super) tasks: Vec<TaskKind>,
    /// The reason why there are no runs, if the server could not look for them.
    pub(super) trouble: Option<String>,
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
        /// When the run last wrote metrics, in milliseconds since 1970.
        changed: u64,
    },
    /// A run that cannot be read; its state is `damaged`.
    Damaged { id: usize, name: String, state: &'static str, problem: String },
}

/// `runs/ID`: a run's state and what it is doing now.
#[derive(Serialize)]
pub(super) struct RunAnswer {
    pub(super) id: usize,
    pub(super) name: String,
    pub(super) game: String,
    pub(super) options: Settings,
    pub(super) state: &'static str,
    /// What the run is doing, in words, if it is running.
    pub(super) doing: Option<String>,
    /// The command that resumes the run, if it was interrupted.
    pub(super) resuming: Option<String>,
    pub(super) generation: usize,
    pub(super) planned: usize,
    pub(super) seconds_left: Option<f64>,
    pub(super) positions_per_second: Option<f64>,
    pub(super) positions_per_cpu_second: Option<f64>,
    /// The CPU time of all parts of the run so far, if it is known.
    pub(super) cpu_seconds: Option<f64>,
    /// The processes that play and judge games for the run.
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

/// `runs/ID/charts`: the curves of a run.
#[derive(Serialize)]
pub(super) struct Charts {
    /// A text that changes whenever the run has written something.
    pub(super) stamp: String,
    pub(super) html: String,
}

/// `runs/ID/games`: games of the newest generation.
#[derive(Serialize)]
pub(super) struct RunGames {
    pub(super) generation: usize,
    pub(super) games: Vec<NamedGame>,
}

/// `texts`: the texts that the editor offers to begin with.
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

/// `text`: the meaning of a text, or its first problem.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum TextAnswer {
    Wrong {
        problem: TextProblem,
    },
    Right {
        game: Box<Described>,
        /// The initial position.
        svg: String,
        rows: usize,
        columns: usize,
        /// The contents of the squares, in words.
        names: Vec<Vec<String>>,
        /// The number of actions in the network's output, and the number of legal actions in the initial position.
        actions: usize,
        legal: usize,
        lines: Vec<TextLine>,
        /// Whether the page already has another game with this id.
        taken: bool,
    },
}

/// The first problem of a text, with its line and column, both from 1.
#[derive(Serialize)]
pub(super) struct TextProblem {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) what: String,
}

/// The meaning of a line of a text in the initial position.
#[derive(Serialize)]
pub(super) struct TextLine {
    pub(super) line: usize,
    pub(super) words: String,
    pub(super) says: String,
    /// The squares that the line is about.
    pub(super) places: Vec<Place>,
}

/// The kind of work that the page can begin for a text.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum TaskKind {
    Training,
    Balance,
}

/// `task`, `train`, `balance`, and `cancel`: the newest task.
#[derive(Serialize)]
pub(super) struct TaskAnswer {
    /// The task; `None` if there was none yet.
    pub(super) task: Option<TaskShown>,
}

/// A task in its present state.
#[derive(Clone, Serialize)]
pub(super) struct TaskShown {
    pub(super) kind: TaskKind,
    pub(super) game: String,
    pub(super) title: String,
    /// `running`, `finished`, `canceled`, or `failed`.
    pub(super) state: &'static str,
    pub(super) doing: String,
    /// The progress, from 0 to 1.
    pub(super) progress: f64,
    pub(super) seconds: f64,
    /// The number of the run that is being trained, once it exists.
    pub(super) run: Option<usize>,
    /// The generation and the key of the run's newest agent.
    pub(super) generation: usize,
    pub(super) agent: Option<String>,
    pub(super) error: Option<String>,
    pub(super) balance: Option<BalanceInShort>,
}

/// The findings about a game's balance.
#[derive(Clone, Serialize)]
pub(super) struct BalanceInShort {
    pub(super) answer: String,
    pub(super) levels: Vec<LevelInShort>,
}

/// The games of a level against itself.
#[derive(Clone, Serialize)]
pub(super) struct LevelInShort {
    pub(super) name: String,
    pub(super) games: usize,
    /// The first player's mean score with its 95 % bounds, from 0 to 1.
    pub(super) score: [f64; 3],
    pub(super) draws: f64,
    /// The number of actions in a game.
    pub(super) length: f64,
}
