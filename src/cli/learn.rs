//! `petteia learn`: trains an agent on games that workers play.

use std::path::PathBuf;

use clap::Args;

use super::train::{Role, Train};
use crate::error::Result;
use crate::registry::Catalog;
use crate::storage;

/// Train a run on games that workers play.
#[derive(Args)]
#[command(after_help = "\
The learner plays no games: any number of `petteia worker RUN` do, and judge its \
generations. It waits for them, and says so each minute. Ctrl-C and SIGTERM end it; \
the same command goes on. `petteia train --run RUN` does the same and plays, too.

With selfplay.ahead=0 the run has the same games and weights as one that a single \
process trains, on machines with the same instruction set. With selfplay.ahead=1 or \
more, workers go on with the newest network while the learner trains.

Examples:
  petteia learn runs/phage phage
  petteia worker runs/phage
  petteia learn runs/phage
  petteia learn runs/fast phage --set selfplay.ahead=1")]
pub struct Learn {
    /// Run folder
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Settings of a new run: a file, or the name of a shipped config, or a game's id
    #[arg(value_name = "CONFIG")]
    config: Option<PathBuf>,
    /// Setting, e.g. selfplay.ahead=1; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Number of generations (train.generations), also of a run that exists: extends it
    #[arg(long, value_name = "N")]
    generations: Option<usize>,
    /// Take the run over from a learner that is gone for sure, where that cannot be seen
    #[arg(long)]
    take_over: bool,
    /// Resume without records and checkpoints that are missing or wrong
    #[arg(long)]
    accept_missing: bool,
    /// Threads; the result does not depend on them [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

impl Learn {
    /// Trains.
    pub fn run(self, games: Catalog) -> Result<()> {
        storage::silence::be_patient();
        let mut train = Train::default();
        (train.config, train.run, train.set) = (self.config, Some(self.run), self.set);
        (train.generations, train.threads) = (self.generations, self.threads);
        train.accept_missing = self.accept_missing;
        (train.take_over, train.role) = (self.take_over, Role::Learner);
        train.run(games)
    }
}
