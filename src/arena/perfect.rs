//! A perfect player for games that are small enough to solve: a yardstick in `petteia arena`.

use std::collections::HashMap;

use rand::RngExt;

use super::agent::Agent;
use crate::error::{Error, Result};
use crate::game::{Action, Game, Outcome};
use crate::random::Random;

/// The maximum number of positions to remember.
const MAX_POSITIONS: usize = 5_000_000;

/// Exact results by depth-first search, remembered by [`Game::key`].
pub struct Solver<G: Game> {
    game: G,
    known: HashMap<u64, Outcome>,
}

debug_fields!(Solver<G: Game>,);

impl<G: Game> Solver<G> {
    /// A solver that knows nothing yet.
    pub fn new(game: G) -> Solver<G> {
        Solver { game, known: HashMap::new() }
    }

    /// The result of `state` with perfect play.
    pub fn solve(&mut self, state: &G::State) -> Result<Outcome> {
        if let Some(outcome) = self.game.outcome(state) {
            return Ok(outcome);
        }
        let key = self.game.key(state);
        if let Some(outcome) = self.known.get(&key) {
            return Ok(*outcome);
        }
        let player = self.game.to_move(state);
        let mut best = Outcome::Win(player.other());
        for action in self.game.legal(state) {
            let mut next = state.clone();
            self.game.play(&mut next, action);
            let outcome = self.solve(&next)?;
            if outcome.value_for(player) > best.value_for(player) {
                best = outcome;
            }
        }
        if self.known.len() >= MAX_POSITIONS {
            return Err(Error::Config(format!(
                "agent `perfect`: {} has more than {MAX_POSITIONS} positions; it is only for small games such as \
                 tic-tac-toe",
                G::NAME
            )));
        }
        self.known.insert(key, best);
        Ok(best)
    }

    /// All actions that preserve the result.
    pub fn best_actions(&mut self, state: &G::State) -> Result<Vec<Action>> {
        let result = self.solve(state)?;
        let mut best = Vec::new();
        for action in self.game.legal(state) {
            let mut next = state.clone();
            self.game.play(&mut next, action);
            if self.solve(&next)? == result {
                best.push(action);
            }
        }
        Ok(best)
    }
}

/// Plays one of the best actions, each with the same probability.
pub struct Perfect<G: Game> {
    pub(super) solver: Solver<G>,
    pub(super) random: Random,
}

debug_fields!(Perfect<G: Game>,);

impl<G: Game> Agent<G> for Perfect<G> {
    fn choose(&mut self, state: &G::State) -> Result<Action> {
        let best = self.solver.best_actions(state)?;
        Ok(best[self.random.random_range(0..best.len())])
    }
}
