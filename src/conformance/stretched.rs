//! Plays games that avoid ending for as long as possible, to check that [`Game::max_plies`] limits even these.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::game::{Action, Game};

use super::{Checker, Violation, caught};

/// For every `EVERY` random games, there is one seed of games that avoid ending.
const EVERY: usize = 5;
/// The number of actions that are tried in the search for one that does not end the game.
const TRIES: usize = 32;

impl<G: Game> Checker<'_, G> {
    /// Plays games that continue for as long as an action is found that does not end them. Each seed gives two games:
    /// one game takes any action that does not end it, and the other takes the one after which the most actions are
    /// legal. Only the length of the games is checked.
    pub(super) fn long_games(&mut self, games: usize, seed: u64) -> Result<(), Violation> {
        (0..games.div_ceil(EVERY) as u64).map(|index| seed.wrapping_add(index)).try_for_each(|seed| {
            self.long_game(seed, false)?;
            self.long_game(seed, true)
        })
    }

    fn long_game(&mut self, seed: u64, is_free: bool) -> Result<(), Violation> {
        // these random numbers are different from those of the random games
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed.rotate_left(32) ^ 1);
        let (limit, mut state) = (self.game.max_plies(), self.game.initial());
        for ply in 0.. {
            if !(self.goes_on)(&self.report) {
                break;
            }
            let next =
                caught(|| "a function of the rules".into(), || self.not_last(&state, &mut random, is_free));
            let next = next.and_then(|next| {
                if next.is_some() && ply >= limit {
                    Err(format!("the game is not over after max_plies = {limit} actions"))
                } else {
                    Ok(next)
                }
            });
            match next {
                Ok(Some(next)) => state = next,
                Ok(None) => break,
                Err(rule) => {
                    let position = caught(String::new, || self.game.state_text(&state)).unwrap_or_default();
                    return Err(Violation { seed, ply, position, rule });
                }
            }
        }
        Ok(())
    }

    /// Returns the position after an action that does not end the game, if one is found, or after any action otherwise.
    /// Returns `None` if the game is over. With `is_free`, the action is the one after which the most actions are
    /// legal.
    fn not_last(&self, state: &G::State, random: &mut Xoshiro256PlusPlus, is_free: bool) -> Option<G::State> {
        let mut legal: Vec<Action> = self.game.legal(state);
        let (mut next, mut largest, mut scratch) = (None, 0, Vec::new());
        for _ in 0..TRIES.min(legal.len()) {
            let action = legal.swap_remove(random.random_range(0..legal.len()));
            let after = self.after(state, action);
            let freedom = self.game.count_legal_actions(&after, &mut scratch);
            if next.is_none() || freedom > largest {
                (next, largest) = (Some(after), freedom);
            }
            if largest > 0 && !is_free {
                break;
            }
        }
        next
    }
}
