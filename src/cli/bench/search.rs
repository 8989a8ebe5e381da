//! `petteia bench search`: measures how fast a search tree grows, without and with a network.

use clap::Args;
use serde_json::json;

use super::measure::Counters;
use super::setup::{Bench, Benchmark, SIMULATIONS, Setup};
use crate::config::SearchConfig;
use crate::error::Result;
use crate::game::Game;
use crate::random::{Purpose, choose, stream};
use crate::registry::Registry;
use crate::search;
use crate::search::evaluator::{Evaluator, Uniform};

/// Measure the tree search in random games.
#[derive(Args)]
#[command(after_help = "\
Each thread has one tree. Measures the tree and the rules alone (the uniform \
evaluator costs nothing), and with the network, leaf by leaf. The size of the tree \
is that after a search from the initial position.")]
#[command(mut_arg("batch", |arg| arg.hide(true)))]
pub struct Search {
    #[command(flatten)]
    setup: Setup,
}

impl Search {
    /// Measures, and prints each line as soon as it is known.
    pub fn run<R: Registry>(self) -> Result<()> {
        self.setup.run::<R>(Grow)
    }
}

struct Grow;

impl Benchmark for Grow {
    fn run<G: Game>(self, bench: Bench<G>) -> Result<()> {
        let (threads, game, simulations) = (bench.setup.threads, &bench.identity.id, simulations(&bench));
        let mut search = begin(&bench.game);
        search.run(&mut Uniform, simulations, &mut stream(1, Purpose::Agent, &[]))?;
        let (nodes, bytes) = search.tree().size();
        let about = json!({"simulations": simulations, "nodes": nodes, "bytes": bytes});
        let named = [("search/uniform", "simulations/s")];
        let watch = |named, evaluator: &(dyn Fn() -> Box<dyn Evaluator<G>> + Sync)| {
            bench.setup.measuring.watch(threads, game, named, &|thread, counters| {
                play(&bench, evaluator().as_mut(), thread, counters)
            })
        };
        bench.print(watch(named, &|| Box::new(Uniform))?, about)?;
        let net = bench.shared()?;
        let about =
            json!({"net": bench.net_text(), "precision": bench.precision(), "simulations": simulations});
        let measured = watch([("search/net", "simulations/s")], &|| Box::new(net.evaluator(&bench.game)))?;
        bench.print(measured, about)
    }
}

fn simulations<G: Game>(bench: &Bench<G>) -> usize {
    bench.setup.simulations.unwrap_or(SIMULATIONS)
}

fn begin<G: Game>(game: &G) -> search::Search<G> {
    search::Search::new(game.clone(), SearchConfig::default(), game.initial())
}

/// Searches every position of random games; the tree keeps the subtree of each played action.
fn play<G: Game>(
    bench: &Bench<G>,
    evaluator: &mut dyn Evaluator<G>,
    thread: usize,
    counters: &Counters<1>,
) -> Result<()> {
    let mut random = stream(1, Purpose::Agent, &[thread as u64]);
    let mut search = begin(&bench.game);
    while !counters.stopped() {
        let legal = bench.game.legal(search.tree().root());
        if legal.is_empty() {
            search.restart(bench.game.initial());
            continue;
        }
        search.run(evaluator, simulations(bench), &mut random)?;
        counters.add(0, search.simulations());
        search.advance(choose(&mut random, &legal));
    }
    Ok(())
}
