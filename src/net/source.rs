//! A source of evaluators for any game.
//!
//! Input: the kind of evaluation: random playouts, no knowledge (equal priors and value 0), or a network. Output: an
//! [`Evaluator`] for each thread that asks for one. A source does not depend on the type of a game, so code that starts
//! a match or a generation does not need to know that type.

use std::sync::{Arc, Mutex};

use super::evaluator::{NetEvaluator, SharedNet};
use crate::error::Result;
use crate::game::Game;
use crate::search::cache::cached;
use crate::search::evaluator::{Evaluations, Evaluator, Request, Rollout, Uniform};

/// The source of evaluations.
#[derive(Clone, Debug)]
pub enum Source {
    /// Random playouts.
    Rollout,
    /// No knowledge: equal priors and value 0.
    Uniform,
    /// A network.
    Net(SharedNet),
    /// A network whose time is measured.
    Timed(SharedNet, Arc<Stopwatch>),
}

impl Source {
    /// Returns an evaluator for one thread. A network's evaluator is behind a cache of `cache` MiB, or has no cache if
    /// `cache` is 0.
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

    /// Returns the number of positions that the source's evaluators [want](Evaluator::batch) in one batch.
    pub fn batch(&self) -> usize {
        match self {
            Source::Rollout | Source::Uniform => 1,
            Source::Net(net) | Source::Timed(net, _) => net.batch(),
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
    /// Makes a stopwatch with a clock that returns seconds.
    pub fn new(clock: fn() -> f64) -> Stopwatch {
        Stopwatch { clock, spent: Mutex::default() }
    }

    /// Returns the seconds spent on encoding, forward passes, and softmax.
    #[expect(clippy::missing_panics_doc, reason = "nothing panics while it holds the lock")]
    pub fn spent(&self) -> [f64; 3] {
        *self.spent.lock().expect("no panic while adding")
    }
}

/// A network's evaluator that measures the time of each stage.
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
        let mut totals = self.watch.spent.lock().expect("no panic while adding");
        totals.iter_mut().zip(parts).for_each(|(total, part)| *total += part);
        Ok(())
    }

    fn batch(&self) -> usize {
        self.inner.batch()
    }
}
