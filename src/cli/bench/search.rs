//! `petteia bench search`: measures how fast a search tree grows, with and without a network.

use clap::Args;
use serde_json::json;

use super::setup::{BenchSetup, SIMULATIONS, Workbench};
use crate::config::SearchConfig;
use crate::error::Result;
use crate::game::Game;
use crate::net::source::Source;
use crate::random::{Purpose, stream};
use crate::registry::Catalog;
use crate::search;
use crate::search::evaluator::Uniform;

/// Measure the tree search in random games.
#[derive(Args)]
#[command(after_help = "\
Each thread has one tree. Measures the tree and the rules alone (with the uniform evaluator, which takes no time), and \
then together with the network, which evaluates leaves one by one. The size of the tree is measured after a search \
from the initial position.")]
#[command(mut_arg("batch", |arg| arg.hide(true)))]
pub(super) struct SearchBench {
    #[command(flatten)]
    setup: BenchSetup,
}

impl SearchBench {
    /// Measures the search, and prints each line as soon as it is known.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        measured(self.setup.bench(games)?)
    }
}

fn measured(bench: Workbench) -> Result<()> {
    let (threads, game) = (bench.setup.threads, &bench.identity.id);
    let simulations = bench.setup.simulations.unwrap_or(SIMULATIONS);
    let mut search = search::Search::new(bench.game.clone(), SearchConfig::default(), bench.game.initial());
    search.run(&mut Uniform, simulations, &mut stream(1, Purpose::Agent, &[]))?;
    let (nodes, bytes) = search.tree().size();
    let about = json!({"simulations": simulations, "nodes": nodes, "bytes": bytes});
    let named = [("search/uniform", "simulations/s")];
    let watch = |named, source: &Source| {
        bench.setup.measuring.watch(threads, game, named, &|thread, counters| {
            bench.game.search_games(source, simulations, thread as u64, &mut |done| {
                counters.add(0, done);
                !counters.stopped()
            })
        })
    };
    bench.print(watch(named, &Source::Uniform)?, about)?;
    let net = Source::Net(bench.shared()?);
    let about = json!({"net": bench.net_text(), "precision": bench.precision(), "simulations": simulations});
    let measured = watch([("search/net", "simulations/s")], &net)?;
    bench.print(measured, about)
}
