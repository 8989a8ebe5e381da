//! Proven results in the tree (MCTS-Solver, Winands et al. 2008), with draws.
//!
//! A position is proven if one action is a proven win for its player, or if every action is proven; then it has the
//! best of those results. A win is as near as its nearest proof, a loss as far as the farthest: the proofs that were
//! found, not all that there are.

use super::nodes::Edge;
use crate::game::{Outcome, Player};

/// The plies to a result that a solver found, which does not count them: farther than what a search sees.
pub(super) const FAR: u32 = 1000;

/// The plies to the result of a node whose edges prove it; 0 for a draw.
pub(super) fn plies(edges: &[Edge], player: Player, outcome: Outcome) -> u32 {
    let known = edges.iter().filter(|edge| edge.link.proven() == Some(outcome)).filter_map(Edge::plies);
    match outcome == Outcome::Win(player) {
        true => known.min(),
        false => known.max(),
    }
    .unwrap_or(0)
}

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
