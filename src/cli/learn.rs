//! `petteia learn`: trains a run on games that workers play.

use std::path::PathBuf;

use clap::Args;

use super::train::{ProcessRole, Train};
use crate::error::Result;
use crate::registry::Catalog;
use crate::storage;

/// Train a run on games that workers play.
#[derive(Args)]
#[command(after_help = "\
The learner plays no games. Any number of `petteia worker RUN` processes play the games and judge the generations; \
while waiting for workers, the learner prints a line each minute. Ctrl-C and SIGTERM stop the learner; run the same \
command to continue. `petteia train --run RUN` is a learner that also plays games itself.

With selfplay.ahead=0, the run has the same games and weights as a run trained by a single process, if all machines \
have the same instruction set. With selfplay.ahead=1 or more, workers continue with the newest network while the \
learner trains.

Examples:
  petteia learn runs/phage phage
  petteia worker runs/phage
  petteia learn runs/phage
  petteia learn runs/fast phage --set selfplay.ahead=1")]
pub(super) struct Learn {
    /// Run folder
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Settings of a new run: a file, the name of a shipped config, or the id of a game
    #[arg(value_name = "CONFIG")]
    config: Option<PathBuf>,
    /// Setting, e.g. selfplay.ahead=1; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Number of generations (train.generations); for an existing run, extends it to that number
    #[arg(long, value_name = "N")]
    generations: Option<usize>,
    /// Take over the run from a learner that has certainly ended; needed only in an object store, where petteia cannot
    /// tell
    #[arg(long)]
    take_over: bool,
    /// Resume although records or checkpoints are missing or wrong
    #[arg(long)]
    accept_missing: bool,
    /// Threads; the result does not depend on them [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

impl Learn {
    /// Trains the run.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        storage::silence::be_patient();
        let mut train = Train::default();
        (train.config, train.run, train.set) = (self.config, Some(self.run), self.set);
        (train.generations, train.threads) = (self.generations, self.threads);
        train.accept_missing = self.accept_missing;
        (train.take_over, train.role) = (self.take_over, ProcessRole::Learner);
        train.run(games)
    }
}
