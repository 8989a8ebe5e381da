//! Proven results in the tree (MCTS-Solver, Winands et al. 2008), with draws.
//!
//! A position is proven if one action is a proven win for its player, or if every action is proven; the result of the
//! position is then the best result of its actions. The distance to a win is that of its nearest proof, and the
//! distance to a loss is that of its farthest proof. Only the proofs that the search has found count.

use super::nodes::StoredEdge;
use crate::game::{Outcome, Player};

/// The plies assumed for a result from the solver, which does not count plies. No search looks ahead this far.
pub(super) const FAR: u32 = 1000;

/// Returns the plies to the end of the game from a node whose edges prove its result; 0 for a draw.
pub(super) fn plies(edges: &[StoredEdge], player: Player, outcome: Outcome) -> u32 {
    let known = edges.iter().filter(|edge| edge.link.proven() == Some(outcome)).filter_map(StoredEdge::plies);
    if outcome == Outcome::Win(player) { known.min() } else { known.max() }.unwrap_or(0)
}

/// Returns the result of a node, if the results of its edges prove it.
pub(super) fn proven(edges: &[StoredEdge], player: Player) -> Option<Outcome> {
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
