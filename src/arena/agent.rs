//! What an agent is: something that chooses an action in every position of a game.

use std::sync::Arc;

use crate::error::Result;
use crate::game::{Action, Game};
use crate::search::evaluator::Evaluator;

/// The size of a trained agent's evaluation cache in MiB. Positions recur within a search and from one search to the
/// next, and the cache saves evaluating them again.
const CACHE: usize = 4;
/// The total size, in MiB, of one thread's caches for the agents of a ladder; each cache has at least 1 MiB.
const CACHES: usize = 32;

/// Chooses actions in one game.
pub trait Agent<G: Game>: Send {
    /// Returns the action to play in `state`; the game must not be over.
    ///
    /// # Errors
    /// If the agent cannot choose. An [`Error::Fault`](crate::error::Error::Fault) forfeits the game.
    fn choose(&mut self, state: &G::State) -> Result<Action>;
    /// Is called for every action of the game, including the agent's own.
    fn played(&mut self, _before: &G::State, _action: Action) {}
}

/// Makes an evaluator.
pub(super) type MakeEvaluator<G> = Arc<dyn Fn(Needs) -> Box<dyn Evaluator<G>> + Send + Sync>;

/// What an evaluator may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needs {
    /// The number of threads that the evaluator may use, at least 1.
    pub(super) threads: usize,
    /// The number of agents that have an evaluator at the same time.
    pub(super) agents: usize,
}

impl Needs {
    /// Returns the resources of an evaluator that is alone.
    pub(super) fn alone(threads: usize) -> Needs {
        Needs { threads, agents: 1 }
    }

    /// Returns the size of the evaluator's cache in MiB.
    pub(super) fn cache(self) -> usize {
        (CACHES / self.agents.max(1)).clamp(1, CACHE)
    }
}
