//! The events that a run reports to an observer, and its summary at the end.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::gate::Decision;
use crate::arena::{self, MatchResult};
use crate::selfplay::Progress;
use crate::train::loss::Losses;

/// What happens in a run, for display.
#[derive(Clone, Debug)]
pub enum Event {
    /// The run is resumed: generations done, generations in all, positions in the window.
    Resumed(usize, usize, usize),
    /// A generation begins: its number, how many there are, its games.
    Generation(usize, usize, usize),
    /// Progress of self-play.
    Selfplay(Progress),
    /// A generation's games were played and read back for training.
    Played(Played),
    /// An optimizer step begins: steps done, steps in all; once more after the last.
    Step(usize, usize),
    /// Progress of training: steps done, steps in all, losses averaged since the last event.
    Training(usize, usize, Losses),
    /// A checkpoint was saved.
    Saved(PathBuf),
    /// Progress of the evaluation: games done, games in all.
    Evaluating(usize, usize),
    /// The evaluation of a generation against the named opponent.
    Evaluated(usize, String, Box<MatchResult>),
    /// Progress of the gate: the state of its match, and the maximum number of games.
    Gating(arena::Standing, usize),
    /// The gate's decision about a generation.
    Gated(usize, Box<Decision>),
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
    /// The generation whose network represents the run: the champion if there is a gate, otherwise the last.
    pub champion: usize,
    /// The last evaluation: opponent and result.
    pub evaluation: Option<(String, MatchResult)>,
    /// The self-play games of each generation, as far as the metrics have them.
    pub played: Vec<Played>,
}
