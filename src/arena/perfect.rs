//! A perfect player for games that are small enough to solve: a yardstick in `petteia arena`.

use rand::RngExt;

use super::agent::Agent;
use crate::error::{Error, Result};
use crate::game::{Action, Game};
use crate::random::Random;
use crate::solve::{Limits, Solver};

/// The budget of a perfect agent for an action.
const LIMITS: Limits = Limits { nodes: 500_000, table: 256 << 20 };
/// The budget to solve a game at once, and the number of squares of a board up to which that is worth a try.
const QUICK: Limits = Limits { nodes: 20_000, table: 4 << 20 };
const SMALL: usize = 25;

/// A solver for a perfect agent.
///
/// # Errors
/// The initial position cannot be solved within the limits.
pub(super) fn solver<G: Game>(game: &G) -> Result<Solver<G>> {
    let mut solver = Solver::new(game.clone(), LIMITS);
    let solved = solver.outcome(&game.initial());
    solved.map(|_| solver).map_err(|error| too_large(&error))
}

/// Whether a perfect agent plays almost immediately: the board is small, and the game is solved within milliseconds.
pub fn is_at_hand<G: Game>(game: &G) -> bool {
    let shape = game.shape();
    shape.height * shape.width <= SMALL && Solver::new(game.clone(), QUICK).outcome(&game.initial()).is_ok()
}

fn too_large(error: &Error) -> Error {
    Error::Config(format!("agent `perfect`: {error}; it is only for small games such as tic-tac-toe"))
}

/// Plays one of the best actions, each with the same probability.
pub struct Perfect<G: Game> {
    solver: Solver<G>,
    random: Random,
}

debug_fields!(Perfect<G: Game>, solver);

impl<G: Game> Perfect<G> {
    /// A perfect agent for one game.
    pub fn new(game: G, random: Random) -> Perfect<G> {
        Perfect { solver: Solver::new(game, LIMITS), random }
    }
}

impl<G: Game> Agent<G> for Perfect<G> {
    fn choose(&mut self, state: &G::State) -> Result<Action> {
        let best = self.solver.best_actions(state).map_err(|error| too_large(&error))?;
        Ok(best[self.random.random_range(0..best.len())])
    }
}
