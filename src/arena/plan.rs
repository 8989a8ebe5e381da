//! The plan of a ladder.

use super::book::OpeningBook;
use super::pairing::Pairing;
use crate::config::limits::{MAX_LADDER_AGENTS, MAX_MATCH_GAMES};
use crate::error::{Error, Result};
use crate::game::Game;

/// The plan of a ladder.
#[derive(Clone, Debug)]
pub struct Ladder {
    /// The total number of games, which must be even.
    pub games: usize,
    /// The random seed of openings and agents.
    pub seed: u64,
    /// The number of random actions in an opening.
    pub opening_plies: usize,
    /// The openings to play instead of random ones.
    pub book: Option<OpeningBook>,
    /// How opponents are chosen.
    pub pairing: Pairing,
}

impl Ladder {
    /// Checks the plan for this many agents of a game.
    ///
    /// # Errors
    /// If a number is out of range, or there are too few games to connect the agents.
    pub fn check<G: Game>(&self, game: &G, agents: usize) -> Result<()> {
        let wrong = |what: String| Err(Error::Config(what));
        if !(2..=MAX_LADDER_AGENTS).contains(&agents) {
            return wrong(format!("a ladder has from 2 to {MAX_LADDER_AGENTS} agents, not {agents}"));
        }
        if !(2..=MAX_MATCH_GAMES).contains(&self.games) || !self.games.is_multiple_of(2) {
            return wrong(format!(
                "{} games: a ladder has an even number from 2 to {MAX_MATCH_GAMES}; each opening is played twice",
                self.games
            ));
        }
        let least = 2 * (agents - 1);
        if self.games < least {
            return wrong(format!(
                "{} games do not connect {agents} agents: at least {least} are needed",
                self.games
            ));
        }
        if self.opening_plies >= game.max_plies() {
            return wrong(format!(
                "{} random plies at the start: no game is longer than {} actions",
                self.opening_plies,
                game.max_plies()
            ));
        }
        Ok(())
    }
}
