//! A perfect player for games that are small enough to solve, as a yardstick for `petteia arena`.

use rand::RngExt;

use super::agent::Agent;
use super::searching::win_at_hand;
use crate::error::{Error, Result};
use crate::game::{Action, Game, Outcome};
use crate::random::Random;
use crate::search::policy::draw;
use crate::solve::{Limits, Solver};

/// The budget of a perfect agent for one action.
const LIMITS: Limits = Limits { nodes: 500_000, table: 256 << 20 };
/// The weight of a winning action when actions are drawn; the worst action has at least 1.
const SHARES: f32 = 1_000_000.0;
/// The budget for solving a game at once, and the largest number of squares for which that is worth a try.
const QUICK: Limits = Limits { nodes: 20_000, table: 4 << 20 };
const SMALL: usize = 25;

/// Returns the solver of a perfect agent.
///
/// # Errors
/// If the initial position cannot be solved within the limits.
pub(super) fn solver<G: Game>(game: &G) -> Result<Solver<G>> {
    let mut solver = Solver::new(game.clone(), LIMITS);
    let solved = solver.outcome(&game.initial());
    solved.map(|_| solver).map_err(|error| too_large(&error))
}

/// Returns whether a perfect agent plays almost immediately: the board is small, and the game is solved within
/// milliseconds.
pub fn is_at_hand<G: Game>(game: &G) -> bool {
    let shape = game.shape();
    shape.height * shape.width <= SMALL && Solver::new(game.clone(), QUICK).outcome(&game.initial()).is_ok()
}

fn too_large(error: &Error) -> Error {
    Error::Config(format!("agent `perfect`: {error}; it is only for small games such as tic-tac-toe"))
}

/// Plays one of the best actions, each with the same probability. With a temperature T above 0, it plays any action,
/// with a probability proportional to e to the power of v / T, where v is the action's value with perfect play, -1 to
/// 1; even then it plays an action that wins at once.
pub struct Perfect<G: Game> {
    game: G,
    solver: Solver<G>,
    temperature: f32,
    random: Random,
}

debug_fields!(Perfect<G: Game>, solver);

impl<G: Game> Perfect<G> {
    /// Returns a perfect agent for one game.
    pub fn new(game: G, random: Random) -> Perfect<G> {
        Perfect { game: game.clone(), solver: Solver::new(game, LIMITS), temperature: 0.0, random }
    }

    /// Returns the result of a position with best play, however this agent plays.
    pub(crate) fn outcome(&mut self, state: &G::State) -> Result<Outcome> {
        self.solver.outcome(state).map_err(|error| too_large(&error))
    }

    /// Draws actions at this temperature from now on.
    pub(super) fn at(self, temperature: f32) -> Perfect<G> {
        Perfect { temperature, ..self }
    }

    /// Returns an action drawn according to the values of all actions.
    fn drawn(&mut self, state: &G::State) -> Result<Action> {
        let player = self.game.to_move(state);
        let mut weights = Vec::new();
        for action in self.game.legal(state) {
            let mut next = state.clone();
            self.game.play(&mut next, action);
            let value = self.outcome(&next)?.value_for(player);
            let weight = libm::expf((value - 1.0) / self.temperature);
            weights.push((action, (weight * SHARES) as u32 + 1));
        }
        Ok(draw(&weights, 1.0, &mut self.random))
    }
}

impl<G: Game> Agent<G> for Perfect<G> {
    fn choose(&mut self, state: &G::State) -> Result<Action> {
        if self.temperature > 0.0 {
            return win_at_hand(&self.game, state).map_or_else(|| self.drawn(state), Ok);
        }
        let best = self.solver.best_actions(state).map_err(|error| too_large(&error))?;
        Ok(best[self.random.random_range(0..best.len())])
    }
}
