//! Chooses an action by the lower bound of its value (Leela Zero's "LCB", then KataGo's) rather than by its number of
//! simulations.
//!
//! Late in a search, an action may start to look better than the one with the most simulations. With
//! `search.lower_bound`, agents consider the actions with enough simulations and play the one with the greatest mean
//! value minus `search.lower_bound` standard errors. The standard errors are computed from the values of this search's
//! simulations, which are recorded at the root.

use super::tree::{Edge, Tree};
use crate::game::{Action, Game, Outcome};

/// The minimum share of the most visited action's simulations that an action needs to be considered (KataGo's
/// `minVisitPropForLCB`).
const LEAST_SHARE: f32 = 0.15;
/// The minimum number of values for a standard error.
const LEAST_VALUES: u32 = 4;

/// A set of values: their number, their sum, and the sum of their squares.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spread {
    count: u32,
    sum: f64,
    squares: f64,
}

impl Spread {
    pub(super) fn add(&mut self, value: f64) {
        let Spread { count, sum, squares } = *self;
        *self = Spread { count: count + 1, sum: sum + value, squares: squares + value * value };
    }

    /// Returns the standard error of the mean, or `None` if there are too few values.
    fn error(self) -> Option<f32> {
        let count = f64::from(self.count);
        let square = (self.squares - self.sum * self.sum / count).max(0.0) / (count - 1.0);
        (self.count >= LEAST_VALUES).then(|| (square / count).sqrt() as f32)
    }
}

impl<G: Game> Tree<G> {
    /// Returns the action with the greatest lower bound of its value (ties go to the action with more visits, then to
    /// the lower action). Returns `None` if the root is proven, if `search.lower_bound` is not set, or if the most
    /// visited action has too few values.
    pub(super) fn safest_action(&self) -> Option<Action> {
        let player = self.mover();
        let lost = Outcome::Win(player.other());
        if self.is_solved() {
            return None;
        }
        let open = || self.root_edges().zip(self.spreads()).filter(|(edge, _)| edge.proven != Some(lost));
        let most_visits = open().map(|(edge, _)| edge.visits).max()?;
        let bound = |edge: &Edge, spread: &Spread| {
            let error = if edge.proven.is_some() { 0.0 } else { spread.error()? };
            Some(edge.mean_for(player)? - self.config.lower_bound * error)
        };
        let candidates = open().filter(|(edge, _)| edge.visits as f32 >= LEAST_SHARE * most_visits as f32);
        let mut bounds = Vec::new();
        for (edge, spread) in candidates {
            match bound(&edge, spread) {
                Some(bound) => bounds.push((bound, edge.visits, edge.action)),
                None if edge.visits == most_visits => return None,
                None => {}
            }
        }
        let best = bounds.into_iter().max_by(|a, b| a.0.total_cmp(&b.0).then((a.1, b.2).cmp(&(b.1, a.2))));
        best.map(|(_, _, action)| action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SearchConfig;
    use crate::game::{GameOptions, Variants};
    use crate::games::tic_tac_toe::TicTacToe;
    use crate::search::evaluator::{Evaluation, Wdl};

    fn error(values: &[f64]) -> Option<f32> {
        let mut spread = Spread::default();
        values.iter().for_each(|value| spread.add(*value));
        spread.error()
    }

    #[test]
    fn an_error_needs_some_values() {
        assert_eq!(error(&[]), None);
        assert_eq!(error(&[1.0, 0.0, 1.0]), None);
        assert_eq!(error(&[0.5; 4]), Some(0.0));
        // the sample variance of 1, 1, -1, -1 is 4/3
        let expected = (4f32 / 3.0 / 4.0).sqrt();
        assert!((error(&[1.0, 1.0, -1.0, -1.0]).unwrap() - expected).abs() < 1e-6);
    }

    /// Returns the action that is played on an empty board if the first two squares have simulations with these
    /// values.
    fn safest(lower_bound: f32, squares: [&[f64]; 2]) -> Option<Action> {
        let game = TicTacToe::new(&GameOptions::default()).unwrap();
        let state = game.initial();
        let legal = game.legal(&state);
        let mut tree = Tree::new(game, SearchConfig::with(|search| search.lower_bound = lower_bound), state);
        let priors = vec![1.0 / 9.0; 9];
        let wdl = Wdl::from_value(0.0, 0.0);
        tree.nodes.push(None, crate::game::Player::First, &legal, &Evaluation { priors: &priors, wdl });
        for (square, values) in squares.into_iter().enumerate() {
            for value in values {
                tree.note(square, *value);
            }
            let edge = &mut tree.nodes.edges[square];
            edge.visits = values.len() as u32;
            edge.mean = (values.iter().sum::<f64>() / values.len() as f64) as f32;
        }
        tree.safest_action()
    }

    #[test]
    fn the_surer_action_is_played() {
        let (wild, calm) = ([0.9, -0.3, 0.9, -0.3, 0.9, -0.3], [0.2; 4]);
        // means of 0.3 and 0.2, errors of 0.27 and 0
        assert_eq!(safest(0.1, [&wild, &calm]), Some(Action(0)));
        assert_eq!(safest(2.0, [&wild, &calm]), Some(Action(1)));
        // the better action is played although it has fewer simulations, but not if it has too few
        let good = [0.6, 0.6, 0.5, 0.7];
        assert_eq!(safest(2.0, [&[0.2; 26], &good]), Some(Action(1)));
        assert_eq!(safest(2.0, [&[0.2; 27], &good]), Some(Action(0)));
        assert_eq!(safest(2.0, [&[0.2; 8], &good[..3]]), Some(Action(0)));
        // equal bounds: more simulations win, then the lower action
        assert_eq!(safest(2.0, [&[0.2; 5], &[0.2; 8]]), Some(Action(1)));
        assert_eq!(safest(2.0, [&[0.2; 5], &[0.2; 5]]), Some(Action(0)));
        // nothing is known about the values of the most visited action
        assert_eq!(safest(2.0, [&[0.2; 3], &[]]), None);
    }
}
