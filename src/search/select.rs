//! PUCT: which edge of a node a simulation follows (Rosin 2011; Silver et al. 2017).
//!
//! Unvisited actions get the node's own value minus a reduction (first-play urgency as in KataGo, Wu 2019); proven
//! results count exactly, and a proven loss for the player to move is never selected.

use super::nodes::{Node, Nodes};
use super::tree::for_first;
use crate::config::SearchConfig;

/// The edge to follow from `node`, whose mean value for the first player is `mean`; `reduction` is that of first-play
/// urgency. This is the hottest loop of a search, so inlining is not left to the compiler.
#[inline(always)]
pub(super) fn select(config: &SearchConfig, nodes: &Nodes, node: &Node, mean: f32, reduction: f32) -> usize {
    let range = node.range();
    let unvisited = for_first(node.to_move, mean) - reduction * node.visited_mass.sqrt();
    let scale = config.cpuct * (node.visits as f32).sqrt();
    let sign = for_first(node.to_move, 1.0);
    let mut best = 0;
    let mut best_score = f32::NEG_INFINITY;
    for (index, edge) in nodes.edges[range.clone()].iter().enumerate() {
        let mean = if edge.visits == 0 { unvisited } else { sign * edge.mean };
        let score = mean + scale * edge.prior / (1 + edge.visits) as f32;
        // strictly greater: ties go to the lower action, and minus infinity is never selected
        if score > best_score {
            (best, best_score) = (index, score);
        }
    }
    range.start + best
}
