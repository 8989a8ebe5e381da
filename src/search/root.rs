//! The part of a search that is specific to the root: noise, the plan of a search, and how to interpret its result.
//!
//! The root uses PUCT with Dirichlet noise (Silver et al. 2017), or Gumbel with sequential halving (`gumbel`). Below
//! the root, selection is always PUCT.

use rand_distr::{Distribution, Gamma};

use super::bound::Spread;
use super::forced::{forced, prune};
use super::gumbel::{Completed, Halving};
use super::proof::{FAR, proven};
use super::select::{select, select_beside};
use super::tree::{Edge, ROOT, Tree};
use crate::config::RootKind;
use crate::game::{Action, Game, Outcome};
use crate::random::Random;
use crate::search::evaluator::Wdl;
use crate::solve::Bounds;

/// The approximate sum of the weights of an improved policy.
const POLICY_WHOLE: f32 = 10_000.0;

/// The noise and the plan of a root's search.
#[derive(Clone, Debug, Default)]
pub(super) struct RootPlan {
    /// Whether the root's priors contain noise.
    noisy: bool,
    /// The root's priors without noise.
    priors: Vec<f32>,
    halving: Halving,
    /// With `search.lower_bound`, the values of the simulations through each edge.
    spreads: Vec<Spread>,
}

impl RootPlan {
    /// Resets the plan for another root.
    pub(super) fn clear(&mut self) {
        self.noisy = false;
        self.halving.clear();
        self.spreads.clear();
    }
}

impl<G: Game> Tree<G> {
    /// Begins the search of a root that was evaluated; `simulations` is the number still to come, if known. With
    /// `noise`, PUCT mixes noise into the priors, once per root, and Gumbel draws noise of the given scale for its
    /// actions. Sequential halving must know the number of simulations; if the number is unknown, the root uses PUCT.
    pub fn begin(&mut self, simulations: Option<usize>, noise: Option<(f32, &mut Random)>) {
        debug_assert!(self.has_root());
        match (self.config.root, noise) {
            (RootKind::Puct, Some((_, random))) => self.add_noise(random),
            (RootKind::Puct, None) => {}
            (RootKind::Gumbel, noise) => match simulations {
                Some(simulations) => self.plan.halving.begin(&self.config, &self.nodes, simulations, noise),
                None => self.plan.halving.clear(),
            },
        }
    }

    /// Mixes Dirichlet noise into the root's priors (Silver et al. 2017), once per root.
    fn add_noise(&mut self, random: &mut Random) {
        let (fraction, concentration) = (self.config.noise_fraction, self.config.noise_concentration);
        let range = self.nodes.get(ROOT).range();
        let temperature = self.config.root_temperature;
        if self.plan.noisy || fraction == 0.0 && temperature == 1.0 {
            return;
        }
        self.plan.noisy = true;
        self.plan.priors.clear();
        self.plan.priors.extend(self.nodes.edges[range.clone()].iter().map(|edge| edge.prior));
        if temperature != 1.0 {
            soften(&mut self.nodes.edges[range.clone()], temperature);
        }
        let gamma = Gamma::new((concentration / range.len() as f32) as f64, 1.0)
            .expect("the config was checked to be positive");
        // an alpha below 1 can draw numbers that underflow f64: the floor keeps the sum above 0
        let noise: Vec<f64> = range.clone().map(|_| gamma.sample(random).max(1e-300)).collect();
        let sum: f64 = noise.iter().sum();
        let mut visited_mass = 0.0;
        for (edge, noise) in range.zip(noise) {
            let edge = &mut self.nodes.edges[edge];
            edge.prior = (1.0 - fraction) * edge.prior + fraction * (noise / sum) as f32;
            if edge.visits > 0 {
                visited_mass += edge.prior;
            }
        }
        self.nodes.get_mut(ROOT).visited_mass = visited_mass;
    }

    /// Adopts a solver's findings about the root's actions, sorted by action; bounds that leave more than one result
    /// open are ignored.
    pub fn prove(&mut self, bounds: &[(Action, Bounds)]) {
        let Some(root) = self.nodes.root() else { return };
        let (range, player) = (root.range(), root.to_move);
        for edge in range.clone() {
            let at = bounds.binary_search_by_key(&self.nodes.edges[edge].action, |(action, _)| *action);
            if let Some(outcome) = at.ok().and_then(|at| bounds[at].1.outcome()) {
                let mut next = self.root.clone();
                self.game.play(&mut next, self.nodes.edges[edge].action);
                let plies = if self.game.outcome(&next).is_some() { 1 } else { FAR };
                self.nodes.prove(edge, outcome, plies);
            }
        }
        self.nodes.get_mut(ROOT).proven = proven(&self.nodes.edges[range], player);
    }

    /// Returns the edge that a simulation follows from the root.
    pub(super) fn follow_root<const BESIDE: bool>(&mut self) -> usize {
        if let Some(edge) = self.plan.halving.follow(&self.config, &self.nodes) {
            return edge;
        }
        if self.plan.noisy
            && self.config.forced_playouts > 0.0
            && let Some(edge) = forced(&self.config, &self.nodes)
        {
            return edge;
        }
        let root = self.nodes.get(ROOT);
        let reduction =
            if self.plan.noisy { self.config.fpu_reduction_root } else { self.config.fpu_reduction };
        if BESIDE && self.on_their_way > 0 {
            select_beside(&self.config, &self.nodes, ROOT, root.mean(), reduction, self.on_their_way)
        } else {
            select(&self.config, &self.nodes, ROOT, root.mean(), reduction)
        }
    }

    /// Returns the number of simulations that may be in flight at once according to the root's plan.
    pub(super) fn together(&self) -> usize {
        if self.has_root() { self.plan.halving.together() } else { 1 }
    }

    /// Takes back the last simulation of the root's plan.
    pub(super) fn take_back(&mut self) {
        self.plan.halving.take_back();
    }

    /// Returns the action to play: a proven win if there is one, and otherwise the most visited action that is not a
    /// proven loss (ties go to the higher mean, then to the lower action). Returns `None` before the root's first
    /// evaluation.
    ///
    /// With the Gumbel root, the action to play is the winner of the sequential halving, unless the root is proven.
    pub fn best_action(&self) -> Option<Action> {
        if let Some(edge) = self.plan.halving.winner(&self.config, &self.nodes).filter(|_| !self.is_solved())
        {
            return Some(self.nodes.edges[edge].action);
        }
        let player = self.mover();
        self.targets()
            .into_iter()
            .max_by(|(a, x), (b, y)| {
                let mean = |edge: &Edge| edge.mean_for(player).unwrap_or(-2.0);
                x.cmp(y).then(mean(a).total_cmp(&mean(b))).then(b.action.cmp(&a.action))
            })
            .map(|(edge, _)| edge.action)
    }

    /// Returns the actions worth playing, with their visits. If the root is proven, these are the actions that reach
    /// its result; otherwise, they are the actions that are not proven losses. The list is never empty once the root
    /// has been evaluated.
    pub fn targets(&self) -> Vec<(Edge, u32)> {
        let player = self.mover();
        let lost = Some(Outcome::Win(player.other()));
        let root = self.proven();
        let is_target = |edge: &Edge| match root {
            Some(outcome) => edge.proven == Some(outcome),
            None => edge.proven != lost,
        };
        let targets: Vec<(Edge, u32)> =
            self.root_edges().filter(is_target).map(|edge| (edge, edge.visits)).collect();
        // until a simulation goes below the root, the weights are the priors
        if targets.iter().all(|(_, visits)| *visits == 0) {
            return targets
                .into_iter()
                .map(|(edge, _)| (edge, ((edge.prior * 1000.0) as u32).saturating_add(1)))
                .collect();
        }
        targets
    }

    /// Returns the action that an agent plays: [`Tree::best_action`] or, with `search.lower_bound`, the safest one. In
    /// a decided position, it is the action that wins soonest or loses latest according to the proofs found (ties go to
    /// the action with more visits, then to the lower action).
    pub fn agents_action(&self) -> Option<Action> {
        let player = self.mover();
        match self.proven() {
            Some(Outcome::Win(winner)) => {
                let edges = self.targets().into_iter().map(|(edge, _)| edge);
                edges.min_by_key(|edge| by_plies(edge, winner == player)).map(|edge| edge.action)
            }
            _ => {
                let halved = self.plan.halving.winner(&self.config, &self.nodes).is_some();
                let safest = if halved { None } else { self.safest_action() };
                safest.or_else(|| self.best_action())
            }
        }
    }

    /// Records the value, for the first player, of a simulation through this edge of the root.
    pub(super) fn note(&mut self, edge: usize, value: f64) {
        let root = self.nodes.get(ROOT).range();
        self.plan.spreads.resize(root.len(), Spread::default());
        self.plan.spreads[edge - root.start].add(value);
    }

    /// Returns the values that [`Tree::note`] recorded, by edge; empty if it recorded none.
    pub(super) fn spreads(&self) -> &[Spread] {
        &self.plan.spreads
    }

    /// Returns the line that agents expect from the root: the most visited actions or, if a result is proven, the line
    /// of its proof. The line does not say which player plays each action.
    pub fn principal_variation(&self) -> Vec<Action> {
        self.agents_action().map_or_else(Vec::new, |first| self.line_after(first))
    }

    /// Returns the line that agents expect after this action of the root; the line begins with the action.
    pub fn line_after(&self, first: Action) -> Vec<Action> {
        let mut line = vec![first];
        let mut next = self.root_edges().find(|edge| edge.action == first).and_then(|edge| edge.child);
        while let Some(node) = next.map(|node| self.nodes.get(node)) {
            let lost = Outcome::Win(node.to_move.other());
            let sound = |edge: &Edge| match node.proven {
                Some(_) => edge.proven == node.proven,
                None => edge.proven != Some(lost),
            };
            let edges = node.range().map(|edge| self.edge(edge)).filter(|edge| edge.visits > 0).filter(sound);
            let best = match node.proven {
                Some(Outcome::Win(winner)) => edges.min_by_key(|edge| by_plies(edge, winner == node.to_move)),
                _ => edges.max_by_key(|edge| (edge.visits, std::cmp::Reverse(edge.action))),
            };
            let Some(edge) = best else { break };
            line.push(edge.action);
            next = edge.child;
        }
        line
    }

    /// Returns the policy target if it differs from the visits. With the Gumbel root, the target is the improved policy
    /// in ten-thousandths; with forced playouts, it is the visits without the forced ones. It contains only actions
    /// worth playing, in ascending order.
    pub fn policy_target(&self) -> Option<Vec<(Action, u32)>> {
        match self.config.root {
            RootKind::Puct if !self.plan.noisy || self.config.forced_playouts == 0.0 || self.is_solved() => {
                None
            }
            RootKind::Puct => {
                let edges: Vec<Edge> = self.targets().into_iter().map(|(edge, _)| edge).collect();
                let visits = prune(&self.config, &self.nodes, &edges, self.mover());
                let weights = edges.iter().zip(visits).map(|(edge, visits)| (edge.action, visits));
                let weights: Vec<(Action, u32)> = weights.filter(|(_, visits)| *visits > 0).collect();
                // if nothing was visited yet, the priors decide, as they do for the action played
                (!weights.is_empty()).then_some(weights)
            }
            RootKind::Gumbel => {
                let completed = Completed::new(&self.config, &self.nodes);
                let edges: Vec<Edge> = self.targets().into_iter().map(|(edge, _)| edge).collect();
                let shares = completed.improved_policy(&edges);
                let weight = |share: f32| (share * POLICY_WHOLE).round() as u32;
                let weights = edges.iter().zip(shares).map(|(edge, share)| (edge.action, weight(share)));
                let weights: Vec<(Action, u32)> = weights.filter(|(_, weight)| *weight > 0).collect();
                // if no share reaches a ten-thousandth, the visits are the target
                (!weights.is_empty()).then_some(weights)
            }
        }
    }

    /// Returns the root's value for the player to move, as it is recorded and shown. The value is [`Tree::root_wdl`],
    /// except at a Gumbel root, where actions that the halving discarded dominate that mean. At a Gumbel root, the
    /// value is that of the improved policy (Danihelka et al. 2022), with the draw probability of all simulations.
    pub fn search_value(&self) -> Wdl {
        let mean = self.root_wdl();
        if self.config.root == RootKind::Puct || self.is_solved() || !self.has_root() {
            return mean;
        }
        let completed = Completed::new(&self.config, &self.nodes);
        let edges: Vec<Edge> = self.targets().into_iter().map(|(edge, _)| edge).collect();
        Wdl::from_value(completed.expected(&edges).clamp(-1.0, 1.0), mean.draw)
    }

    /// Returns the distance of a policy target from the priors before noise: the Kullback-Leibler divergence in nats.
    pub fn surprise(&self, target: &[(Action, u32)]) -> f64 {
        let total: u64 = target.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let share = |action: Action| {
            let found = target.binary_search_by_key(&action, |(action, _)| *action);
            found.map_or(0.0, |at| target[at].1 as f64 / total as f64)
        };
        let divergence = self.root_edges().enumerate().map(|(index, edge)| {
            let prior = if self.plan.noisy { self.plan.priors[index] } else { edge.prior };
            match share(edge.action) {
                0.0 => 0.0,
                share => share * libm::log(share / prior.max(f32::MIN_POSITIVE) as f64),
            }
        });
        divergence.sum::<f64>().max(0.0)
    }
}

/// Returns the sort key of actions in a decided position; the lowest is played.
fn by_plies(edge: &Edge, is_won: bool) -> (i64, std::cmp::Reverse<u32>, Action) {
    let plies = i64::from(edge.plies.unwrap_or(FAR));
    (if is_won { plies } else { -plies }, std::cmp::Reverse(edge.visits), edge.action)
}

/// Raises the priors to the power of 1 / temperature, normalized so that they still sum to 1.
fn soften(edges: &mut [super::nodes::StoredEdge], temperature: f32) {
    let top = edges.iter().map(|edge| edge.prior).fold(f32::MIN_POSITIVE, f32::max);
    let softened = |prior: f32| libm::powf(prior / top, 1.0 / temperature);
    let sum: f32 = edges.iter().map(|edge| softened(edge.prior)).sum();
    edges.iter_mut().for_each(|edge| edge.prior = softened(edge.prior) / sum);
}
