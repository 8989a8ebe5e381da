//! A source of evaluators, whatever the game.
//!
//! In: random playouts, nothing, or a network. Out: an [`Evaluator`] for each thread that asks. Because it names no
//! game, who commands a match or a generation need not know the game's type.

use std::sync::{Arc, Mutex};

use super::evaluator::{NetEvaluator, SharedNet};
use crate::error::Result;
use crate::game::Game;
use crate::search::cache::cached;
use crate::search::evaluator::{Evaluations, Evaluator, Request, Rollout, Uniform};

/// Who evaluates positions.
#[derive(Clone, Debug)]
pub enum Source {
    /// Random playouts.
    Rollout,
    /// Nothing: equal priors and value 0.
    Uniform,
    /// A network.
    Net(SharedNet),
    /// A network under a stopwatch.
    Timed(SharedNet, Arc<Stopwatch>),
}

impl Source {
    /// An evaluator for one thread; that of a network is behind a cache of so many mebibytes, or of none.
    pub fn evaluator<G: Game>(&self, game: &G, cache: usize) -> Box<dyn Evaluator<G>> {
        match self {
            Source::Rollout => Box::new(Rollout::new(game.clone())),
            Source::Uniform => Box::new(Uniform),
            Source::Net(net) => cached(game, net.evaluator(game), cache),
            Source::Timed(net, watch) => {
                cached(game, Timed { inner: net.evaluator(game), watch: watch.clone() }, cache)
            }
        }
    }
}

/// The time that evaluations take.
#[derive(Debug)]
pub struct Stopwatch {
    clock: fn() -> f64,
    spent: Mutex<[f64; 3]>,
}

impl Stopwatch {
    /// By a clock that tells seconds.
    pub fn new(clock: fn() -> f64) -> Stopwatch {
        Stopwatch { clock, spent: Mutex::default() }
    }

    /// Seconds for encoding, forward passes and softmax.
    pub fn spent(&self) -> [f64; 3] {
        *self.spent.lock().expect("no panic while adding")
    }
}

/// The network's evaluator, with the time of each part.
struct Timed<G: Game> {
    inner: NetEvaluator<G>,
    watch: Arc<Stopwatch>,
}

impl<G: Game> Evaluator<G> for Timed<G> {
    fn evaluate(&mut self, requests: &[Request<G>], out: &mut Evaluations) -> Result<()> {
        let clock = self.watch.clock;
        let start = clock();
        self.inner.encode(requests);
        let encoded = clock();
        self.inner.forward()?;
        let computed = clock();
        self.inner.answer(requests, out)?;
        let parts = [encoded - start, computed - encoded, clock() - computed];
        let mut spent = self.watch.spent.lock().expect("no panic while adding");
        spent.iter_mut().zip(parts).for_each(|(spent, part)| *spent += part);
        Ok(())
    }

    fn batch(&self) -> usize {
        self.inner.batch()
    }
}
