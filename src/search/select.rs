//! PUCT: chooses the edge of a node that a simulation follows (Rosin 2011; Silver et al. 2017).
//!
//! Unvisited actions get the node's own value minus a reduction (first-play urgency as in KataGo, Wu 2019). Proven
//! results count with their exact values, and a proven loss for the player to move is never selected. With
//! `search.cpuct_growth`, exploration grows with the logarithm of the node's visits (KataGo's `cpuctExplorationLog`).
//! With `search.cpuct_spread`, it grows with the spread of the values below the node (KataGo's dynamic variance-scaled
//! cPUCT).
//!
//! While other simulations wait for their evaluations, each of them counts as a visit that lost (virtual loss;
//! Chaslot et al., "Parallel Monte-Carlo Tree Search", 2008), so that the next simulation looks elsewhere.

use super::nodes::Nodes;
use super::tree::for_first;
use crate::config::SearchConfig;

/// At this many visits, `cpuct` has grown by `search.cpuct_growth` times ln 2 (KataGo's `cpuctExplorationBase`).
const GROWTH_VISITS: f32 = 500.0;

/// The standard deviation of values that leaves exploration unchanged, and the number of visits for which it counts
/// when it is mixed with the actual values (KataGo's `cpuctUtilityStdevPrior` and `cpuctUtilityStdevPriorWeight`).
const USUAL_SPREAD: f64 = 0.4;
const USUAL_VISITS: f64 = 2.0;

/// Returns the factor of an unvisited action's prior at the node `at` when the node has this many visits.
#[inline(always)]
pub(super) fn exploration(config: &SearchConfig, nodes: &Nodes, at: usize, visits: u32) -> f32 {
    let varies = config.cpuct_growth > 0.0 || config.cpuct_spread > 0.0;
    let cpuct = if varies { varied(config, nodes, at, visits) } else { config.cpuct };
    cpuct * (visits as f32).sqrt()
}

/// Returns `cpuct` at a node with this many visits. The function is separate and cold, so it costs next to nothing in
/// searches without growth and spread.
#[cold]
fn varied(config: &SearchConfig, nodes: &Nodes, at: usize, visits: u32) -> f32 {
    let mut cpuct = config.cpuct;
    if config.cpuct_growth > 0.0 {
        cpuct += config.cpuct_growth * (visits as f32 / GROWTH_VISITS).ln_1p();
    }
    if config.cpuct_spread > 0.0 {
        cpuct *= 1.0 + config.cpuct_spread * (spread(nodes, at) / USUAL_SPREAD - 1.0) as f32;
    }
    cpuct
}

/// Returns the standard deviation of the values below a node, drawn toward [`USUAL_SPREAD`] if there are few visits.
fn spread(nodes: &Nodes, at: usize) -> f64 {
    let node = nodes.get(at);
    if node.visits <= 1 {
        return USUAL_SPREAD;
    }
    let (visits, mean) = (f64::from(node.visits), node.value / f64::from(node.visits));
    let usual = USUAL_VISITS * (mean * mean + USUAL_SPREAD * USUAL_SPREAD);
    let variance = (usual + nodes.squares(at)) / (USUAL_VISITS + visits - 1.0) - mean * mean;
    variance.max(0.0).sqrt()
}

/// Returns the edge to follow from the node `at`, whose mean value for the first player is `mean`; `reduction` is the
/// first-play urgency reduction. This is the hottest loop of a search, so inlining is not left to the compiler.
#[inline(always)]
pub(super) fn select(config: &SearchConfig, nodes: &Nodes, at: usize, mean: f32, reduction: f32) -> usize {
    let node = nodes.get(at);
    let range = node.range();
    let unvisited = for_first(node.to_move, mean) - reduction * node.visited_mass.sqrt();
    let scale = exploration(config, nodes, at, node.visits);
    let sign = for_first(node.to_move, 1.0);
    let mut best = 0;
    let mut best_score = f32::NEG_INFINITY;
    for (index, edge) in nodes.edges[range.clone()].iter().enumerate() {
        let mean = if edge.visits == 0 { unvisited } else { sign * edge.mean };
        let score = mean + scale * edge.prior / (1 + edge.visits) as f32;
        // strictly greater, so ties go to the lower action and minus infinity is never selected
        if score > best_score {
            (best, best_score) = (index, score);
        }
    }
    range.start + best
}

/// The value of a simulation in flight until it is evaluated, for the player who chose it.
const AWAITED: f32 = -1.0;

/// Does the same as [`select`] while other simulations are in flight, `waiting` of which pass through this node.
pub(super) fn select_beside(
    config: &SearchConfig,
    nodes: &Nodes,
    at: usize,
    mean: f32,
    reduction: f32,
    waiting: u32,
) -> usize {
    let node = nodes.get(at);
    let range = node.range();
    let unvisited = for_first(node.to_move, mean) - reduction * node.visited_mass.sqrt();
    let scale = exploration(config, nodes, at, node.visits + waiting);
    let sign = for_first(node.to_move, 1.0);
    let mut best = 0;
    let mut best_score = f32::NEG_INFINITY;
    for (index, edge) in nodes.edges[range.clone()].iter().enumerate() {
        let (visits, waiting) = (edge.visits as f32, f32::from(edge.waiting));
        let mean = match (edge.visits, edge.waiting) {
            (0, 0) => unvisited,
            (0, _) => AWAITED,
            (_, 0) => sign * edge.mean,
            _ => (sign * edge.mean * visits + AWAITED * waiting) / (visits + waiting),
        };
        let score = mean + scale * edge.prior / (1.0 + visits + waiting);
        if score > best_score {
            (best, best_score) = (index, score);
        }
    }
    range.start + best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Action, Player};
    use crate::search::evaluator::{Evaluation, Wdl};

    fn with(cpuct_growth: f32) -> SearchConfig {
        SearchConfig::with(|search| search.cpuct_growth = cpuct_growth)
    }

    #[test]
    fn exploration_grows_with_the_logarithm_of_visits() {
        let nodes = Nodes::default();
        for visits in [1, 64, 1000] {
            assert_eq!(exploration(&with(0.0), &nodes, 0, visits), 1.5 * (visits as f32).sqrt());
        }
        let cpuct = |visits: u32| exploration(&with(0.45), &nodes, 0, visits) / (visits as f32).sqrt();
        // 1.5 + 0.45 ln 1.002, ln 2, ln 3, ln 201
        for (visits, expected) in [(1, 1.5009), (500, 1.8119), (1000, 1.9944), (100_000, 3.8865)] {
            assert!((cpuct(visits) - expected).abs() < 1e-4, "{visits}: {}", cpuct(visits));
        }
    }

    #[test]
    fn exploration_scales_with_the_spread_of_values() {
        let config = SearchConfig::with(|search| search.cpuct_spread = 0.85);
        let (legal, wdl) = ([Action(0), Action(1)], Wdl::from_value(0.1, 0.0));
        let mut nodes = Nodes::new(&config);
        nodes.push(None, Player::First, &legal, &Evaluation { priors: &[0.5, 0.5], wdl });
        // a single evaluation has no spread: `cpuct` is the same as without the setting
        let cpuct = |nodes: &Nodes| exploration(&config, nodes, 0, 100) / 10.0;
        assert!((cpuct(&nodes) - 1.5).abs() < 1e-6);
        // values that agree reduce exploration, values that disagree increase it
        let after = |value: [f64; 2]| {
            let mut nodes = nodes.clone();
            for visit in 0..98 {
                let node = nodes.get_mut(0);
                (node.visits, node.value) = (node.visits + 1, node.value + value[visit % 2]);
                nodes.square(0, value[visit % 2]);
            }
            cpuct(&nodes)
        };
        // 99 visits of 0.1: (2 * 0.17 + 0.99) / 100 - 0.01 = 0.0033 -> 0.0574
        assert!(
            (after([0.1, 0.1]) - 1.5 * (1.0 + 0.85 * (0.05745 / 0.4 - 1.0))).abs() < 1e-3,
            "{}",
            after([0.1, 0.1])
        );
        // 49 each of 1 and -0.8: mean 0.1, (2 * 0.17 + 0.01 + 49 * 1.64) / 100 - 0.01 = 0.7971 -> 0.8928
        assert!(
            (after([1.0, -0.8]) - 1.5 * (1.0 + 0.85 * (0.8928 / 0.4 - 1.0))).abs() < 1e-3,
            "{}",
            after([1.0, -0.8])
        );
    }

    /// Returns the edge followed at a node with this many visits, where action 0 has the better mean and nine tenths
    /// of the visits.
    fn followed(cpuct_growth: f32, visits: u32) -> usize {
        let (legal, wdl) = ([Action(0), Action(1)], Wdl::from_value(0.0, 0.0));
        let mut nodes = Nodes::default();
        nodes.push(None, Player::First, &legal, &Evaluation { priors: &[0.2, 0.2], wdl });
        nodes.get_mut(0).visits = visits;
        for (edge, share, mean) in [(0, 0.9, 0.1), (1, 0.099, 0.0)] {
            let edge = &mut nodes.edges[edge];
            (edge.visits, edge.mean) = ((visits as f32 * share) as u32, mean);
        }
        select(&with(cpuct_growth), &nodes, 0, 0.0, 0.2)
    }

    /// Returns the edge followed at a node with two actions that have these visits, means and waiting simulations.
    fn beside(edges: [(u32, f32, u16); 2]) -> usize {
        let (legal, wdl) = ([Action(0), Action(1)], Wdl::from_value(0.0, 0.0));
        let mut nodes = Nodes::default();
        nodes.push(None, Player::First, &legal, &Evaluation { priors: &[0.6, 0.4], wdl });
        let waiting = edges.iter().map(|(_, _, waiting)| u32::from(*waiting)).sum();
        nodes.get_mut(0).visits = 1 + edges.iter().map(|(visits, ..)| visits).sum::<u32>();
        for (edge, (visits, mean, waiting)) in nodes.edges.iter_mut().zip(edges) {
            (edge.visits, edge.mean, edge.waiting) = (visits, mean, waiting);
        }
        select_beside(&with(0.0), &nodes, 0, 0.0, 0.0, waiting)
    }

    #[test]
    fn who_waits_counts_as_a_loss() {
        // 9 visits: 0.2 + 1.5 * 3 * 0.6 / 6 = 0.65 against 0.1 + 1.5 * 3 * 0.4 / 4 = 0.55
        assert_eq!(beside([(5, 0.2, 0), (3, 0.1, 0)]), 0);
        // one waits: (0.2 * 5 - 1) / 6 + 1.5 * sqrt(10) * 0.6 / 7 = 0.41 against 0.1 + 1.5 * sqrt(10) * 0.4 / 4 =
        // 0.57
        assert_eq!(beside([(5, 0.2, 1), (3, 0.1, 0)]), 1);
        // one waits at each action: 0.41 against (0.1 * 3 - 1) / 4 + 1.5 * sqrt(11) * 0.4 / 5 = 0.22
        assert_eq!(beside([(5, 0.2, 1), (3, 0.1, 1)]), 0);
        // an action without visits but with a waiting simulation counts as a loss, not as the parent's value
        assert_eq!(beside([(0, 0.0, 1), (0, 0.0, 0)]), 1);
        // a proven win stays a win, and a proven loss a loss, whatever waits there
        assert_eq!(beside([(1, f32::INFINITY, 3), (1, 0.9, 0)]), 0);
        assert_eq!(beside([(1, f32::NEG_INFINITY, 0), (1, -0.9, 9)]), 1);
        // if nothing waits, the choice is that of `select`
        for visits in [1, 7, 40] {
            let edges = [(visits, 0.2, 0), (3, 0.1, 0)];
            let mut nodes = Nodes::default();
            let wdl = Wdl::from_value(0.0, 0.0);
            nodes.push(
                None,
                Player::First,
                &[Action(0), Action(1)],
                &Evaluation { priors: &[0.6, 0.4], wdl },
            );
            nodes.get_mut(0).visits = visits + 4;
            for (edge, (visits, mean, _)) in nodes.edges.iter_mut().zip(edges) {
                (edge.visits, edge.mean) = (visits, mean);
            }
            assert_eq!(select(&with(0.0), &nodes, 0, 0.0, 0.0), beside(edges));
        }
    }

    #[test]
    fn many_visits_make_the_rarer_action_worth_a_look() {
        // at 1000 visits, action 1 is followed if scale * (0.2 / 100 - 0.2 / 901) > 0.1, that is, if cpuct > 1.778
        // and growth > 0.2535
        assert_eq!([0.0, 0.25, 0.26, 0.45].map(|growth| followed(growth, 1000)), [0, 0, 1, 1]);
        // at 10,000 visits, action 1 is followed if scale * (0.2 / 991 - 0.2 / 9001) > 0.1: cpuct > 5.567, growth >
        // 1.336
        assert_eq!([0.0, 1.33, 1.34].map(|growth| followed(growth, 10_000)), [0, 0, 1]);
    }
}
