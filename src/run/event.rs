//! What a run tells whoever shows it, and what it says at its end.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::gate::Decision;
use crate::arena::{self, MatchResult};
use crate::selfplay::Progress;
use crate::train::loss::Losses;

/// What happens in a run, for whoever shows it.
#[derive(Clone, Debug)]
pub enum Event {
    /// The run goes on: generations done, generations in all, positions in the window.
    Resumed(usize, usize, usize),
    /// A generation begins: its number, how many there are, its games.
    Generation(usize, usize, usize),
    /// Self-play goes on.
    Selfplay(Progress),
    /// A generation's games are played, and were read again for training.
    Played(Played),
    /// An optimizer step begins: steps done, steps in all; once more behind the last.
    Step(usize, usize),
    /// Training goes on: steps done, steps in all, losses averaged since the last event.
    Training(usize, usize, Losses),
    /// A checkpoint was saved.
    Saved(PathBuf),
    /// Evaluation goes on: games done, games in all.
    Evaluating(usize, usize),
    /// The evaluation of a generation against the named opponent.
    Evaluated(usize, String, Box<MatchResult>),
    /// The gate goes on: how far its match is, and the most games that it has.
    Gating(arena::Progress, usize),
    /// What the gate said of a generation.
    Gated(usize, Box<Decision>),
    /// Something is wrong but the run goes on.
    Warning(String),
}

/// The self-play games of a generation, or of several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Played {
    /// How many there are.
    pub games: usize,
    /// Positions that are trained on.
    pub positions: usize,
    /// Actions, those that are not trained on as well.
    pub plies: usize,
    /// Won by the first player.
    pub first: usize,
    /// Won by the second player.
    pub second: usize,
    /// Drawn.
    pub draw: usize,
}

/// Hears of events, from any thread, and says when to stop.
pub trait Observer: Sync {
    /// Something happened.
    fn event(&self, event: Event);
    /// Whether the user wants to stop.
    fn interrupted(&self) -> bool {
        false
    }
    /// Whether the user wants to resume a run without those of its records and checkpoints that are missing or wrong.
    /// Asked only when some are; if not, nothing is trained.
    fn accepts_missing(&self) -> bool {
        false
    }
}

/// What a finished run says of its agent.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The run folder.
    pub run: PathBuf,
    /// Generations trained.
    pub generations: usize,
    /// Optimizer steps.
    pub steps: usize,
    /// The generation whose network stands for the run: the champion where there is a gate, else the last.
    pub champion: usize,
    /// The last evaluation: opponent and result.
    pub evaluation: Option<(String, MatchResult)>,
    /// The self-play games of each generation, as far as the metrics know them.
    pub played: Vec<Played>,
}
