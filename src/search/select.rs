//! PUCT: which edge of a node a simulation follows (Rosin 2011; Silver et al. 2017).
//!
//! Unvisited actions count as the node's own value less a reduction (first-play urgency as in KataGo,
//! Wu 2019); proven results count exactly, a proven loss for the player to move is never followed.

use super::tree::Edge;
use crate::config::SearchConfig;
use crate::game::{Outcome, Player};

/// The index of the edge to follow among `edges` of a node whose player to move is `player`.
/// `value` is the node's mean for `player`, `visits` its visits, `reduction` the first-play urgency's.
pub(super) fn select(
    config: &SearchConfig,
    edges: &[Edge],
    player: Player,
    value: f32,
    visits: u32,
    reduction: f32,
) -> usize {
    let visited_mass: f32 = edges.iter().filter(|edge| edge.visits > 0).map(|edge| edge.prior).sum();
    let unvisited = value - reduction * visited_mass.sqrt();
    let scale = config.cpuct * (visits as f32).sqrt();
    let mut best = 0;
    let mut best_score = f32::NEG_INFINITY;
    for (index, edge) in edges.iter().enumerate() {
        if edge.proven == Some(Outcome::Win(player.other())) {
            continue;
        }
        let mean = edge.mean_for(player).unwrap_or(unvisited);
        let score = mean + scale * edge.prior / (1 + edge.visits) as f32;
        // strictly greater: ties go to the lower action
        if score > best_score {
            (best, best_score) = (index, score);
        }
    }
    best
}
