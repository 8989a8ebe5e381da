//! The events that a run reports to an observer while it is at work, and the summary at its end.

use std::path::PathBuf;

use super::metrics::ladder::Rating;
use super::metrics::lines::Played;
use super::metrics::stopwatch::Times;
use crate::arena::{self, MatchResult};
use crate::selfplay::Progress;
use crate::train::loss::Losses;

/// An event of a run, to be shown to the user.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The run is resumed.
    Resumed {
        /// The number of generations done.
        done: usize,
        /// The number of all generations.
        generations: usize,
        /// The number of positions in the window.
        positions: usize,
    },
    /// A generation begins.
    Generation {
        /// The generation's number, from 1.
        number: usize,
        /// The number of all generations.
        generations: usize,
        /// The number of games in the generation.
        games: usize,
    },
    /// Progress of self-play.
    Selfplay(Progress),
    /// The games of a generation were played and read back for training.
    Played(Played),
    /// An optimizer step begins. The event is sent once more after the last step.
    Step {
        /// The number of steps done in this generation.
        done: usize,
        /// The number of steps of this generation.
        steps: usize,
    },
    /// Progress of training.
    Training {
        /// The number of steps done in this generation.
        done: usize,
        /// The number of steps of this generation.
        steps: usize,
        /// Mean losses since the last event.
        losses: Losses,
    },
    /// The time that a generation took until its checkpoint was saved.
    Took {
        /// The CPU seconds of all processes that played and trained the generation, if all of them report their time.
        cpu_seconds: Option<f64>,
    },
    /// A checkpoint was saved.
    Saved(PathBuf),
    /// Progress of the evaluation.
    Evaluating {
        /// The standing of the match.
        standing: arena::Standing,
        /// The number of all games.
        games: usize,
    },
    /// A generation was evaluated.
    Evaluated {
        /// The generation that played.
        generation: usize,
        /// The generation's opponent.
        opponent: String,
        /// The result of the match.
        result: Box<MatchResult>,
    },
    /// Progress of the games between generations.
    Rating {
        /// The standing of the games.
        standing: arena::Standing,
        /// The number of all games.
        games: usize,
    },
    /// A generation was rated.
    Rated(Box<Rating>),
    /// A worker has committed a shard.
    Committed {
        /// The generation.
        generation: usize,
        /// The shard's number.
        shard: usize,
        /// The number of games in the shard.
        games: usize,
        /// The seconds that the games took.
        seconds: f64,
        /// Whether the games count; if another worker was first, they do not.
        counts: bool,
    },
    /// A worker has judged a generation.
    Judged {
        /// The generation.
        generation: usize,
        /// Whether the judgment counts; if another worker was first, it does not.
        counts: bool,
    },
    /// A sentence about what a process waits for, sent now and then.
    Waiting(String),
    /// A sentence about a generation's numbers: they suggest that the run learns badly, or explain why it only seems
    /// to.
    Sign(String),
    /// A sentence about something that is wrong, although the run continues.
    Warning(String),
}

/// Receives events from any thread, and decides when to stop.
pub trait Observer: Sync {
    /// Called for every event.
    fn event(&self, event: Event);
    /// Returns whether the user wants to stop.
    fn interrupted(&self) -> bool {
        false
    }
    /// Returns whether the user wants to resume a run without its missing or wrong records and checkpoints. Called only
    /// if some are missing or wrong; if it returns false, nothing is trained.
    fn accepts_missing(&self) -> bool {
        false
    }
}

/// The result of a finished run.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The run folder.
    pub run: PathBuf,
    /// The number of generations trained.
    pub generations: usize,
    /// The number of optimizer steps.
    pub steps: usize,
    /// The opponent and the result of the last evaluation.
    pub evaluation: Option<(String, MatchResult)>,
    /// The rating of the last generation, if the run rates its generations.
    pub rating: Option<Rating>,
    /// The self-play games of each generation in the metrics.
    pub played: Vec<Played>,
    /// The wall-clock time of each part of the run.
    pub times: Times,
    /// The CPU time of each part of the run, if known for all parts.
    pub cpu_times: Option<Times>,
}
