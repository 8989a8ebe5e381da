//! Checks that the squares that actions touch ([`Game::touched`]) are the squares that change in the view.
//!
//! An action may touch a square that looks the same afterward, so it is a violation only if a large share of the
//! actions touch unchanged squares.

use crate::game::{Action, BoardView, Game};

use super::{ExaminedPosition, Violation};

/// Counts over the games played so far.
#[derive(Default)]
pub(super) struct Touched {
    /// The number of actions that touch squares and change the view.
    looked_at: usize,
    /// The number of actions that touch squares and change the view, but none of the squares that they touch.
    missed: usize,
    /// The number of touched squares that change, and the number that would change if the rows were counted from the
    /// other end.
    hits: usize,
    flipped_hits: usize,
    first: Option<Violation>,
}

impl Touched {
    /// Adds an action that was played in a random game at (seed, ply).
    pub(super) fn look<G: Game>(
        &mut self,
        game: &G,
        before: &ExaminedPosition<G::State>,
        action: Action,
        after: &G::State,
        (seed, ply): (u64, usize),
    ) {
        let touched = game.touched(&before.state, action);
        let (view, after) = (&before.view, game.view(after));
        let squares =
            (0..view.rows.len()).flat_map(|row| (0..view.columns.len()).map(move |column| (row, column)));
        let cell =
            |view: &BoardView, (row, column): (usize, usize)| view.cells.get(row)?.get(column).cloned();
        let changed: Vec<(usize, usize)> =
            squares.filter(|at| cell(view, *at) != cell(&after, *at)).collect();
        if touched.is_empty() || changed.is_empty() {
            return;
        }
        self.looked_at += 1;
        let hits = touched.iter().filter(|at| changed.contains(at)).count();
        let flipped = |&(row, column): &(usize, usize)| (view.rows.len() - 1 - row, column);
        let flipped_hits = touched.iter().filter(|at| changed.contains(&flipped(at))).count();
        self.hits += hits;
        self.flipped_hits += flipped_hits;
        self.missed += (hits == 0) as usize;
        if hits > 0 && flipped_hits <= hits {
            return;
        }
        self.first.get_or_insert_with(|| {
            let names = |squares: &[(usize, usize)]| {
                let name =
                    |&(row, column): &(usize, usize)| format!("{}{}", view.columns[column], view.rows[row]);
                squares.iter().map(name).collect::<Vec<_>>().join(" ")
            };
            let text = game.action_text(&before.state, action);
            let rule =
                format!("touched of `{text}` lists {}, but {} change", names(&touched), names(&changed));
            Violation { seed, ply, position: before.text.clone(), rule }
        });
    }

    /// Returns a violation if most actions change none of the squares that they touch, or if more squares would match
    /// on an upside-down board.
    pub(super) fn verdict(&self) -> Result<(), Violation> {
        let upside_down = self.flipped_hits > self.hits;
        match &self.first {
            Some(first) if upside_down || 2 * self.missed > self.looked_at => {
                let (missed, all) = (self.missed, self.looked_at);
                let guess = if upside_down { "; the rows are upside down: row 0 is the top one" } else { "" };
                let rule = format!(
                    "{}; {missed} of {all} actions change no square that they touch{guess}",
                    first.rule
                );
                Err(Violation { rule, ..first.clone() })
            }
            _ => Ok(()),
        }
    }
}
