//! `petteia bench search`: how fast one tree grows, without a network and with one.

use clap::Args;
use serde_json::json;

use super::engine::{Bench, Benchmark, Engine};
use super::measure::Counters;
use crate::config::SearchConfig;
use crate::error::Result;
use crate::game::Game;
use crate::random::{Purpose, choose, stream};
use crate::registry::Registry;
use crate::search;
use crate::search::evaluator::{Evaluator, Uniform};
use crate::search::tree::Tree;

/// Measure the tree search of random games.
#[derive(Args)]
#[command(after_help = "\
Each thread has one tree. Measured are the tree and the rules alone (the uniform \
evaluator costs nothing), and with the network, leaf by leaf. Said of the tree is \
what a search of as many simulations from the start position leaves.")]
#[command(mut_arg("batch", |arg| arg.hide(true)))]
pub struct Search {
    #[command(flatten)]
    engine: Engine,
}

impl Search {
    /// Measures and prints each line as soon as it is known.
    pub fn run<R: Registry>(self) -> Result<()> {
        self.engine.run::<R>(Grow)
    }
}

struct Grow;

impl Benchmark for Grow {
    fn run<G: Game>(self, bench: Bench<G>) -> Result<()> {
        let (threads, game, simulations) =
            (bench.engine.threads, &bench.identity.id, bench.engine.simulations);
        let mut tree = Tree::new(bench.game.clone(), SearchConfig::default(), bench.game.initial());
        search::run(&mut tree, &mut Uniform, simulations, &mut stream(1, Purpose::Agent, &[]))?;
        let (nodes, bytes) = tree.size();
        let about = json!({"simulations": simulations, "nodes": nodes, "bytes": bytes});
        let named = [("search/uniform", "simulations/s")];
        let watch = |named, evaluator: &(dyn Fn() -> Box<dyn Evaluator<G>> + Sync)| {
            bench.engine.measuring.watch(threads, game, named, |thread, counters| {
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

/// Searches every position of random games; the tree keeps what lies behind each action.
fn play<G: Game>(
    bench: &Bench<G>,
    evaluator: &mut dyn Evaluator<G>,
    thread: usize,
    counters: &Counters<1>,
) -> Result<()> {
    let mut random = stream(1, Purpose::Agent, &[thread as u64]);
    let mut tree = Tree::new(bench.game.clone(), SearchConfig::default(), bench.game.initial());
    while !counters.stopped() {
        let legal = bench.game.legal(tree.root());
        if legal.is_empty() {
            tree.restart(bench.game.initial());
            continue;
        }
        let before = tree.visits();
        search::run(&mut tree, evaluator, bench.engine.simulations, &mut random)?;
        counters.add(0, (tree.visits() - before) as usize);
        tree.advance(choose(&mut random, &legal));
    }
    Ok(())
}
