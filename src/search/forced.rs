//! Forced playouts and policy target pruning (Wu 2019, "Accelerating Self-Play Learning in Go", arXiv:1902.10565,
//! section 3.2): actions boosted by noise are explored properly without becoming targets.
//!
//! Each visited action of a noisy root gets at least sqrt(k * prior * simulations) simulations. Afterward, forced
//! simulations are subtracted from every action except the most visited one, as long as the action's PUCT score stays
//! below that of the most visited action. An action left with at most one simulation is not a target. Proven losses are
//! not forced.

use super::nodes::Nodes;
use super::select::exploration;
use super::tree::{Edge, ROOT};
use crate::config::SearchConfig;
use crate::game::{Outcome, Player};

/// Returns the root's first visited edge that has too few simulations and is not a proven loss.
pub(super) fn forced(config: &SearchConfig, nodes: &Nodes) -> Option<usize> {
    let root = nodes.get(ROOT);
    let lost = Some(Outcome::Win(root.to_move.other()));
    let simulations = root.visits - 1;
    let wanting = |edge: &usize| {
        let visits = nodes.edges[*edge].visits + u32::from(nodes.edges[*edge].waiting);
        visits > 0 && (visits as f32) < minimum(config, nodes.edges[*edge].prior, simulations)
    };
    root.range().filter(wanting).find(|edge| nodes.edges[*edge].link.proven() != lost)
}

/// Returns the visits that the actions in `edges` of an unproven root would have without forcing.
pub(super) fn prune(config: &SearchConfig, nodes: &Nodes, edges: &[Edge], player: Player) -> Vec<u32> {
    let root = nodes.get(ROOT);
    let scale = exploration(config, nodes, ROOT, root.visits);
    let score = |edge: &Edge, visits: u32| {
        edge.mean_for(player).unwrap_or(-1.0) + scale * edge.prior / (1 + visits) as f32
    };
    // the action that the search plays: the most visited, then the better mean, then the lower action
    let best = edges.iter().max_by(|a, b| {
        let means = [a, b].map(|edge| edge.mean_for(player).unwrap_or(-2.0));
        a.visits.cmp(&b.visits).then(means[0].total_cmp(&means[1])).then(b.action.cmp(&a.action))
    });
    let Some(best) = best else { return Vec::new() };
    let highest = score(best, best.visits);
    let pruned = |edge: &Edge| {
        if edge.action == best.action {
            return edge.visits;
        }
        let mut removable = minimum(config, edge.prior, root.visits - 1) as u32;
        let mut visits = edge.visits;
        while removable > 0 && visits > 0 && score(edge, visits - 1) < highest {
            (visits, removable) = (visits - 1, removable - 1);
        }
        if visits <= 1 { 0 } else { visits }
    };
    edges.iter().map(pruned).collect()
}

fn minimum(config: &SearchConfig, prior: f32, simulations: u32) -> f32 {
    (config.forced_playouts * prior * simulations as f32).sqrt()
}
