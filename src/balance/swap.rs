//! Would a swap rule make the game fair? One player makes the first action, and the other chooses a side.
//!
//! Input: the first actions with the strongest level's opinions of them. Output: a [`Swap`] with the action that this
//! level considers the most even. Separate games, which did not influence the choice, judge this action, because the
//! best of many guesses always looks better than it is.

use serde::Serialize;

use super::game::{BalanceTable, Line, Seats};
use super::openings::Book;
use super::verdict::score;
use super::{BalanceProgress, Opening};
use crate::arena::elo::Z;
use crate::error::Result;
use crate::game::Game;

/// The number of plies of openings after the first action.
const PLIES: usize = 4;

/// What a swap rule would do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Swap {
    /// The first action that the strongest level considers the most even.
    pub action: String,
    /// The first player's expected score after this action, by the search that chose it.
    pub expected: f64,
    /// The number of games of the strongest level that begin with this action; none of them influenced the choice.
    pub games: usize,
    /// The first player's mean score in the games that begin with this action, and its 95 % bounds.
    pub score: [f64; 3],
}

/// Returns the first action after which the first player's expected score is nearest to ½.
pub(super) fn most_even(openings: &[Opening]) -> Option<&Opening> {
    let distance = |opening: &&Opening| (opening.expected - 0.5).abs();
    openings.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

impl BalanceTable<'_> {
    /// Plays games after the most even first action; returns `None` if no action is suitable.
    pub(super) fn swap(
        &self,
        openings: &[Opening],
        tick: &(dyn Fn(BalanceProgress) -> bool + Sync),
    ) -> Result<Option<Swap>> {
        let Some(opening) = most_even(openings) else { return Ok(None) };
        if openings.iter().all(|opening| opening.is_proven) && opening.expected != 0.5 {
            // every first action wins or loses
            return Ok(None);
        }
        let (initial, strongest) = (self.game.initial(), self.strongest());
        let Some(action) = self.game.parse_action(&initial, &opening.action) else { return Ok(None) };
        let mut after = initial.clone();
        self.game.play(&mut after, action);
        if self.game.outcome(&after).is_some() {
            return Ok(None);
        }
        let first = Line {
            actions: vec![action],
            scores: vec![opening.expected as f32],
            branching: vec![self.game.legal(&initial).len() as u32],
        };
        let all = 2 * self.plan.games;
        let report = |done: usize| tick(BalanceProgress { what: "games for the swap rule", done, all });
        let wanted = |plies: usize| if plies < 1 + PLIES { all } else { 0 };
        let book = Book::of(self, first, &wanted, &|_| report(0))?;
        // the numbers differ from those of all other games of the level
        let offset = self.plan.most.max(self.plan.games);
        let seats: Vec<Seats> =
            (0..all).map(|number| Seats { levels: [strongest; 2], number: offset + number }).collect();
        let line = |seats: Seats| Some(&book.lines[seats.number % book.lines.len()]);
        let games = self.play(&seats, line, &report)?;
        Ok(Some(Swap {
            action: opening.action.clone(),
            expected: opening.expected,
            games: games.len(),
            score: score(&games.iter().collect::<Vec<_>>(), Z),
        }))
    }
}
