//! Proven results in the tree (MCTS-Solver, Winands et al. 2008), with draws.
//!
//! A position is proven if one action is a proven win for its player, or if every action is proven; then it has the
//! best of those results.

use super::nodes::Edge;
use crate::game::{Outcome, Player};

/// The result of a node, if the results of its edges prove it.
pub(super) fn proven(edges: &[Edge], player: Player) -> Option<Outcome> {
    let win = Outcome::Win(player);
    let mut best = Outcome::Win(player.other());
    let mut all = true;
    for edge in edges {
        match edge.link.proven() {
            Some(outcome) if outcome == win => return Some(win),
            Some(Outcome::Draw) => best = Outcome::Draw,
            Some(_) => {}
            None => all = false,
        }
    }
    all.then_some(best)
}
