//! The events that a run reports to an observer, and its summary at the end.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ladder::Rating;
use crate::arena::{self, MatchResult};
use crate::selfplay::Progress;
use crate::train::loss::Losses;

/// An event of a run, for display.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// The run is resumed.
    Resumed {
        /// Generations done.
        done: usize,
        /// Generations in all.
        generations: usize,
        /// Positions in the window.
        positions: usize,
    },
    /// A generation begins.
    Generation {
        /// Its number, from 1.
        number: usize,
        /// Generations in all.
        generations: usize,
        /// Its games.
        games: usize,
    },
    /// Progress of self-play.
    Selfplay(Progress),
    /// A generation's games were played and read back for training.
    Played(Played),
    /// An optimizer step begins; sent once more after the last.
    Step {
        /// Steps done in this generation.
        done: usize,
        /// Steps of this generation.
        steps: usize,
    },
    /// Progress of training.
    Training {
        /// Steps done in this generation.
        done: usize,
        /// Steps of this generation.
        steps: usize,
        /// Losses, averaged since the last event.
        losses: Losses,
    },
    /// What a generation has taken when its checkpoint is to be saved.
    Took {
        /// The CPU seconds of all processes that played and trained it, if all say so.
        cpu_seconds: Option<f64>,
    },
    /// A checkpoint was saved.
    Saved(PathBuf),
    /// Progress of the evaluation.
    Evaluating {
        /// How far its match is.
        standing: arena::Standing,
        /// Games in all.
        games: usize,
    },
    /// The evaluation of a generation.
    Evaluated {
        /// The generation that played.
        generation: usize,
        /// Its opponent.
        opponent: String,
        /// How the match ended.
        result: Box<MatchResult>,
    },
    /// Progress of the games between generations.
    Rating {
        /// How far they are.
        standing: arena::Standing,
        /// Games in all.
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
        /// Its games.
        games: usize,
        /// How long they took.
        seconds: f64,
        /// Whether they count: another worker may have been first.
        counts: bool,
    },
    /// A worker has judged a generation.
    Judged {
        /// The generation.
        generation: usize,
        /// Whether that counts: another worker may have been first.
        counts: bool,
    },
    /// What a process waits for; a sentence, now and then.
    Waiting(String),
    /// The numbers of a generation suggest that the run learns badly, or explain why it only seems to; a sentence.
    Sign(String),
    /// Something is wrong but the run continues.
    Warning(String),
}

/// The self-play games of one or more generations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Played {
    /// Number of games.
    pub games: usize,
    /// Positions that are trained on.
    pub positions: usize,
    /// Actions, including those that are not trained on.
    pub plies: usize,
    /// Games won by the first player.
    pub first: usize,
    /// Games won by the second player.
    pub second: usize,
    /// Games drawn.
    pub draw: usize,
}

impl Played {
    /// The first player's mean score: a win 1, a draw ½.
    pub fn first_score(&self) -> f64 {
        (self.first as f64 + self.draw as f64 / 2.0) / self.games.max(1) as f64
    }

    /// The share of games that were drawn.
    pub fn draws(&self) -> f64 {
        self.draw as f64 / self.games.max(1) as f64
    }
}

/// How long each part of a run took, over all sessions, in seconds: by the clock, or in CPU time. Work that was
/// interrupted and repeated counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Times {
    /// Games before there was a network.
    pub bootstrap: f64,
    /// Games of the network.
    pub selfplay: f64,
    /// Reading the games back, for training.
    pub window: f64,
    /// Gradient steps.
    pub training: f64,
    /// Evaluation.
    pub evaluation: f64,
    /// Games between generations.
    pub rating: f64,
}

impl Times {
    /// The parts with their names, in the order of a generation.
    pub fn parts(&self) -> [(&'static str, f64); 6] {
        let Times { bootstrap, selfplay, window, training, evaluation, rating } = *self;
        [
            ("bootstrap", bootstrap),
            ("self-play", selfplay),
            ("reading games", window),
            ("training", training),
            ("evaluation", evaluation),
            ("rating", rating),
        ]
    }

    /// The sum of all parts.
    pub fn whole(&self) -> f64 {
        self.parts().iter().map(|(_, seconds)| seconds).sum()
    }
}

/// Receives events, from any thread, and says when to stop.
pub trait Observer: Sync {
    /// Called for every event.
    fn event(&self, event: Event);
    /// Whether the user wants to stop.
    fn interrupted(&self) -> bool {
        false
    }
    /// Whether the user wants to resume a run without those of its records and checkpoints that are missing or wrong.
    /// Called only if some are; if false, nothing is trained.
    fn accepts_missing(&self) -> bool {
        false
    }
}

/// The result of a finished run.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The run folder.
    pub run: PathBuf,
    /// Generations trained.
    pub generations: usize,
    /// Optimizer steps.
    pub steps: usize,
    /// The last evaluation: opponent and result.
    pub evaluation: Option<(String, MatchResult)>,
    /// The rating of the last generation, if the run rates its generations.
    pub rating: Option<Rating>,
    /// The self-play games of each generation, as far as the metrics have them.
    pub played: Vec<Played>,
    /// How long each part took by the clock.
    pub times: Times,
    /// The CPU time of each part, if it is known of all.
    pub cpu_times: Option<Times>,
}
