//! The Gumbel root: which actions a small search considers, which one it plays, and its policy target (Danihelka et
//! al., "Policy improvement by planning with Gumbel", ICLR 2022; the reference implementation is mctx).
//!
//! The `search.gumbel_actions` actions with the highest Gumbel noise + logit share the simulations by sequential
//! halving. The winner of the halving is played, and the policy target is softmax(logits + sigma(completed q)). As in
//! mctx, a fixed sequence assigns a number of visits to each simulation, and the simulation goes to the best action
//! with exactly that many visits. Differences from mctx:
//!
//! - q has the fixed range -1..1 in every game. It is mapped to 0..1 by (1 + q) / 2 rather than normalized by the
//!   minimum and maximum of the tree.
//! - Visits kept from an earlier tree count toward q, even in the first choice of actions, but not toward the halving.
//! - A proven loss is never considered and is never a target. The simulations of a proven loss that was in the halving
//!   go to the best of the most visited actions. Other proven results count with their exact values.
//! - Below the root, selection is PUCT, not the paper's deterministic rule.

use rand_distr::{Distribution, Gumbel};

use super::nodes::Nodes;
use super::tree::{Edge, ROOT, for_first};
use crate::config::SearchConfig;
use crate::game::{Outcome, Player};
use crate::random::Random;

/// One search by sequential halving; empty until it begins.
#[derive(Clone, Debug, Default)]
pub(super) struct Halving {
    /// Gumbel noise + logit of each action.
    start: Vec<f32>,
    /// Visits of each action when the search began.
    before: Vec<u32>,
    /// For each simulation, the number of visits that an action must have to receive it.
    sequence: Vec<u32>,
    next: usize,
    /// The indices in `sequence` where the halvings begin. All evaluations before such an index must be known.
    halvings: Vec<usize>,
}

impl Halving {
    /// Plans `simulations` simulations. If `noise` is given, it is the scale of the noise and the random stream to draw
    /// from.
    pub(super) fn begin(
        &mut self,
        config: &SearchConfig,
        nodes: &Nodes,
        simulations: usize,
        noise: Option<(f32, &mut Random)>,
    ) {
        let range = nodes.get(ROOT).range();
        self.start.clear();
        self.start.extend(nodes.edges[range.clone()].iter().map(|edge| logit(edge.prior)));
        if let Some((scale, random)) = noise {
            let gumbel = Gumbel::new(0.0f32, 1.0).expect("the scale is positive");
            self.start.iter_mut().for_each(|start| *start += scale * gumbel.sample(random));
        }
        self.before.clear();
        self.before.extend(nodes.edges[range.clone()].iter().map(|edge| edge.visits));
        plan(config.gumbel_actions.min(range.len()), simulations, &mut self.sequence, &mut self.halvings);
        self.next = 0;
    }

    /// Drops the plan.
    pub(super) fn clear(&mut self) {
        self.start.clear();
    }

    /// Returns the root's edge for the next simulation, or `None` if nothing is planned or every action is a proven
    /// loss.
    pub(super) fn follow(&mut self, config: &SearchConfig, nodes: &Nodes) -> Option<usize> {
        if self.start.is_empty() {
            return None;
        }
        let visits = self.sequence.get(self.next).copied();
        self.next += 1;
        self.best(config, nodes, visits)
    }

    /// Returns the number of simulations that may be in flight at once: the number left until the next halving.
    pub(super) fn together(&self) -> usize {
        if self.start.is_empty() {
            return usize::MAX;
        }
        let end = self.halvings.iter().find(|end| **end > self.next);
        end.map_or(usize::MAX, |end| end - self.next)
    }

    /// Takes back the last simulation of the plan.
    pub(super) fn take_back(&mut self) {
        self.next = self.next.saturating_sub(1);
    }

    /// Returns the edge to play, or `None` if nothing is planned or every action is a proven loss.
    pub(super) fn winner(&self, config: &SearchConfig, nodes: &Nodes) -> Option<usize> {
        if self.start.is_empty() { None } else { self.best(config, nodes, None) }
    }

    /// Returns the edge with the highest noise + logit + sigma(q) among those with `target` visits in this search or,
    /// if there is none, among the most visited; ties go to the lower action.
    fn best(&self, config: &SearchConfig, nodes: &Nodes, target: Option<u32>) -> Option<usize> {
        let root = nodes.get(ROOT);
        let lost = Some(Outcome::Win(root.to_move.other()));
        let visits = |index: usize, edge: usize| {
            let edge = &nodes.edges[edge];
            edge.visits + u32::from(edge.waiting) - self.before[index]
        };
        let open = || root.range().enumerate().filter(|(_, edge)| nodes.edges[*edge].link.proven() != lost);
        let most_visits = open().map(|(index, edge)| visits(index, edge)).max()?;
        let target = target.filter(|target| open().any(|(index, edge)| visits(index, edge) == *target));
        let target = target.unwrap_or(most_visits);
        let completed = Completed::new(config, nodes);
        let mut best = None;
        for (index, edge) in open().filter(|(index, edge)| visits(*index, *edge) == target) {
            let score = self.start[index] + completed.sigma(completed.value(nodes, edge));
            if best.is_none_or(|(_, highest)| score > highest) {
                best = Some((edge, score));
            }
        }
        best.map(|(edge, _)| edge)
    }
}

/// The values of the root's actions for its player, completed with the paper's mixed value for actions without
/// visits.
pub(super) struct Completed {
    player: Player,
    /// The value of actions without visits, -1..1.
    mixed: f32,
    /// (c_visit + most visits) * c_scale.
    factor: f32,
}

impl Completed {
    /// Returns the completed values of a root that has been evaluated.
    pub(super) fn new(config: &SearchConfig, nodes: &Nodes) -> Completed {
        let root = nodes.get(ROOT);
        let player = root.to_move;
        let (mut visits, mut most_visits, mut mass, mut sum) = (0u64, 0, 0.0, 0.0);
        for edge in root.range().filter(|edge| nodes.edges[*edge].visits > 0) {
            visits += u64::from(nodes.edges[edge].visits);
            most_visits = most_visits.max(nodes.edges[edge].visits);
            let prior = nodes.edges[edge].prior.max(f32::MIN_POSITIVE);
            mass += prior;
            sum += prior * visited_value(nodes, edge, player);
        }
        let raw = for_first(player, nodes.root_raw());
        let mixed = match visits {
            0 => raw,
            _ => (raw + visits as f32 * sum / mass) / (1 + visits) as f32,
        };
        Completed { player, mixed, factor: (config.gumbel_visit + most_visits as f32) * config.gumbel_scale }
    }

    /// Returns the value of an edge, -1..1.
    fn value(&self, nodes: &Nodes, edge: usize) -> f32 {
        if nodes.edges[edge].visits == 0 { self.mixed } else { visited_value(nodes, edge, self.player) }
    }

    /// Returns the term that a value contributes to a logit.
    fn sigma(&self, value: f32) -> f32 {
        self.factor * (1.0 + value) / 2.0
    }

    /// Returns the completed value of an edge.
    fn of(&self, edge: &Edge) -> f32 {
        edge.mean_for(self.player).unwrap_or(self.mixed)
    }

    /// Returns the value of the improved policy over these edges.
    pub(super) fn expected(&self, edges: &[Edge]) -> f32 {
        edges.iter().zip(self.improved_policy(edges)).map(|(edge, share)| share * self.of(edge)).sum()
    }

    /// Returns softmax(logits + sigma(completed q)) over these edges.
    pub(super) fn improved_policy(&self, edges: &[Edge]) -> Vec<f32> {
        let mut shares: Vec<f32> =
            edges.iter().map(|edge| logit(edge.prior) + self.sigma(self.of(edge))).collect();
        let top = shares.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        shares.iter_mut().for_each(|share| *share = libm::expf(*share - top));
        let sum: f32 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= sum);
        shares
    }
}

/// Returns the value of a visited edge for `player`, -1..1; the means of proven wins and losses, which are outside
/// this range, are clamped.
fn visited_value(nodes: &Nodes, edge: usize, player: Player) -> f32 {
    for_first(player, nodes.edges[edge].mean.clamp(-1.0, 1.0))
}

/// Returns the logit of a prior, up to a constant that cancels in every use.
fn logit(prior: f32) -> f32 {
    libm::logf(prior.max(f32::MIN_POSITIVE))
}

/// For each of `simulations` simulations, writes the number of visits that an action must have to receive it. First,
/// `actions` actions share the simulations, then half as many, and so on down to two (get_sequence_of_considered_visits
/// in mctx).
fn plan(actions: usize, simulations: usize, sequence: &mut Vec<u32>, halvings: &mut Vec<usize>) {
    sequence.clear();
    halvings.clear();
    if actions <= 1 {
        sequence.extend(0..simulations as u32);
        return;
    }
    let rounds = actions.next_power_of_two().ilog2() as usize;
    let (mut considered, mut visits) = (actions, 0);
    while sequence.len() < simulations {
        let each = (simulations / (rounds * considered)).max(1);
        for _ in 0..each {
            sequence.extend(std::iter::repeat_n(visits, considered));
            visits += 1;
        }
        considered = (considered / 2).max(2);
        halvings.push(sequence.len());
    }
    sequence.truncate(simulations);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::evaluator::{Evaluation, Wdl};

    #[test]
    fn the_sequence_is_that_of_mctx() {
        let planned = |actions, simulations| {
            let mut sequence = Vec::new();
            plan(actions, simulations, &mut sequence, &mut Vec::new());
            sequence
        };
        // by hand: 3 rounds of 8 simulations each: 8 actions once, 4 twice, 2 four times
        let expected = [vec![0; 8], vec![1; 4], vec![2; 4], vec![3, 3, 4, 4, 5, 5, 6, 6]].concat();
        assert_eq!(planned(8, 24), expected);
        assert_eq!(planned(4, 8), [0, 0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(planned(3, 7), [0, 0, 0, 1, 1, 2, 2]);
        assert_eq!(planned(16, 5), [0; 5]);
        assert_eq!(planned(1, 3), [0, 1, 2]);
    }
    #[test]
    fn no_halving_is_passed_by_what_is_on_its_way() {
        let (mut halving, mut nodes) = (Halving::default(), Nodes::default());
        let (legal, wdl) = ([0, 1, 2, 3].map(crate::game::Action), Wdl::from_value(0.0, 0.0));
        nodes.push(None, Player::First, &legal, &Evaluation { priors: &[0.4, 0.3, 0.2, 0.1], wdl });
        let config = SearchConfig::default();
        halving.begin(&config, &nodes, 8, None);
        // four actions once, then two of them twice
        let mut found = Vec::new();
        for left in [4, 3, 2, 1] {
            assert_eq!(halving.together(), left);
            let edge = halving.follow(&config, &nodes).unwrap();
            nodes.edges[edge].waiting += 1;
            found.push(edge);
        }
        assert_eq!(found, [0, 1, 2, 3]);
        for (edge, mean) in nodes.edges.iter_mut().zip([-0.9, -0.8, 0.5, 0.6]) {
            (edge.waiting, edge.visits, edge.mean) = (0, 1, mean);
        }
        assert_eq!(halving.together(), 4);
        let mut found = Vec::new();
        for _ in 0..4 {
            let edge = halving.follow(&config, &nodes).unwrap();
            nodes.edges[edge].waiting += 1;
            found.push(edge);
        }
        assert_eq!(found, [3, 2, 3, 2]);
        halving.take_back();
        assert_eq!(halving.together(), 1);
        halving.clear();
        assert_eq!(halving.together(), usize::MAX);
    }
}
