//! The weight of repeated games: from the finished games of a match, computes the number of distinct games that would
//! carry as much information.
//!
//! Deterministic agents play the same game from the same opening again and again, and a thousand copies of two games
//! are only two games. Games with the same actions and the same sides form a cluster, whose games count as repetitions
//! of a single observation. The mean score of N games in clusters of m_1, m_2, ... then has the variance of
//! N² / (m_1² + m_2² + ...) independent games: Kish's effective sample size (L. Kish, Survey Sampling, 1965, section
//! 11.7; (sum of weights)² / sum of squared weights). Every game stays in the mean, which is right for randomized
//! agents, too; only its weight is corrected. If two games are equal by mere chance, the correction is too cautious,
//! never too bold. Games that reach the same position in a different order are not recognized.

use std::collections::HashMap;
use std::sync::Arc;

use crate::game::Action;

/// What identifies a game: the position in which it began (`None` for the usual start position) and its actions.
type Played = (Option<Arc<str>>, Vec<Action>);

/// The games of a match, counted by their actions.
#[derive(Default)]
pub(crate) struct Repeats {
    /// How often each game was played with the first agent as the first player and as the second player.
    seen: HashMap<Played, [u64; 2]>,
    games: u64,
    /// The sum of the clusters' squared sizes.
    squares: u64,
}

impl Repeats {
    /// Counts a game; `side` is the first agent's side, 0 or 1.
    pub(crate) fn count(&mut self, side: usize, actions: Vec<Action>) {
        self.count_from(None, side, actions);
    }

    /// Counts a game that began in the position `start`; `None` is the usual start position.
    pub(crate) fn count_from(&mut self, start: Option<Arc<str>>, side: usize, actions: Vec<Action>) {
        let size = &mut self.seen.entry((start, actions)).or_default()[side];
        self.squares += 2 * *size + 1;
        *size += 1;
        self.games += 1;
    }

    /// Returns the number of games that differ in at least one action.
    pub(crate) fn distinct(&self) -> usize {
        self.seen.len()
    }

    /// Returns the number of distinct games that carry the same information: the number of all games if no two are
    /// equal, otherwise less.
    pub(crate) fn effective(&self) -> f64 {
        match self.games {
            0 => 0.0,
            games => (games * games) as f64 / self.squares as f64,
        }
    }

    /// Returns the mean weight of a game, or of a pair of games: 1 if no two are equal.
    pub(crate) fn worth(&self) -> f64 {
        match self.games {
            0 => 1.0,
            // exactly 1 if the two numbers are the same
            games => games as f64 / self.squares as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_games_count_as_one() {
        let mut repeats = Repeats::default();
        assert_eq!((repeats.effective(), repeats.worth()), (0.0, 1.0));
        let game = |number: u16| vec![Action(7), Action(number)];
        for number in 0..10 {
            repeats.count(0, game(number));
            // the same actions with sides swapped are a different game
            repeats.count(1, game(number));
            assert_eq!((repeats.effective(), repeats.worth()), (2.0 * number as f64 + 2.0, 1.0));
        }
        assert_eq!(repeats.distinct(), 10);
        // all games are counted twice more: there are three times as many games, with the same information as before
        for number in (0..10).chain(0..10) {
            repeats.count(0, game(number));
            repeats.count(1, game(number));
        }
        assert_eq!((repeats.effective(), repeats.worth(), repeats.distinct()), (20.0, 20.0 / 60.0, 10));
    }

    #[test]
    fn a_frequent_game_reduces_the_effective_number() {
        let mut repeats = Repeats::default();
        (0..8).for_each(|_| repeats.count(0, vec![Action(1)]));
        repeats.count(0, vec![Action(2)]);
        repeats.count(0, vec![Action(3)]);
        // 10² / (8² + 1 + 1)
        assert_eq!(repeats.effective(), 100.0 / 66.0);
    }
}
