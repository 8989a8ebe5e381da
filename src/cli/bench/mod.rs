//! `petteia bench`: measures the speed of the program's parts, and shows whether a change affects the search.

mod setup;
mod measure;
mod net;
mod rules;
mod search;
mod selfplay;
mod signature;
#[cfg(feature = "train")]
mod train;

use clap::{Args, Subcommand};

use super::print;
use crate::error::Result;
use crate::registry::Catalog;

/// Measure how fast the parts of the program are.
#[derive(Args)]
pub(super) struct Bench {
    #[command(subcommand)]
    what: BenchCommand,
}

#[derive(Subcommand)]
enum BenchCommand {
    Rules(rules::RulesBench),
    Net(net::Net),
    Search(search::SearchBench),
    Selfplay(selfplay::Selfplay),
    #[cfg(feature = "train")]
    Train(train::TrainBench),
    /// Print a number that changes if the search's behavior changes
    Signature,
}

impl Bench {
    /// Runs the benchmark.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        match self.what {
            BenchCommand::Rules(rules) => rules.run(games),
            BenchCommand::Net(net) => net.run(games),
            BenchCommand::Search(search) => search.run(games),
            BenchCommand::Selfplay(selfplay) => selfplay.run(games),
            #[cfg(feature = "train")]
            BenchCommand::Train(train) => train.run(games),
            BenchCommand::Signature => print(format_args!("{:016x}", signature::signature(games)?)),
        }
    }
}
