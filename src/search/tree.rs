//! One search tree; no thread, network or random number inside.
//!
//! A simulation is [`Tree::select`] (walk to a leaf), then, when the leaf needs one, an evaluation
//! given to [`Tree::apply`]. Values are sums for [`Player::First`] everywhere in the tree, so nothing
//! changes sign on the way up and a player may act twice in a row. The conversions are [`for_first`] and
//! [`Edge::mean_for`]. Results of finished games are proven and spread by `solver`. A simulation allocates
//! nothing but what the arrays of `nodes` grow by.

use rand_distr::{Distribution, Gamma};

use super::evaluator::{Evaluation, Evaluations, Wdl};
use super::nodes::Nodes;
use super::select::select;
use super::solver::proven;
use crate::config::SearchConfig;
use crate::game::{Action, Game, Outcome, Player};
use crate::random::Random;

const ROOT: usize = 0;

/// An action of a node, with what is known of the position behind it.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The action.
    pub action: Action,
    /// Simulations through it.
    pub visits: u32,
    /// The evaluator's probability, with noise at a noisy root.
    pub prior: f32,
    /// The exact result, once known.
    pub proven: Option<Outcome>,
    /// The mean value for the first player, of no meaning when proven.
    mean: f32,
    child: Option<usize>,
}

impl Edge {
    /// The mean value for `player`, exact when proven, `None` without visits.
    pub fn mean_for(&self, player: Player) -> Option<f32> {
        match self.proven {
            Some(outcome) => Some(outcome.value_for(player)),
            None if self.visits == 0 => None,
            None => Some(for_first(player, self.mean)),
        }
    }
}

/// What [`Tree::select`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// The result was known; it is backed up already.
    Terminal,
    /// [`Tree::pending`] wants an evaluation.
    Needs,
}

/// A value for `player` from one for the first player, and the other way round.
pub fn for_first(player: Player, value: f32) -> f32 {
    match player {
        Player::First => value,
        Player::Second => -value,
    }
}

/// The search tree of one position.
pub struct Tree<G: Game> {
    game: G,
    config: SearchConfig,
    root: G::State,
    noisy: bool,
    nodes: Nodes,
    /// Node and edge of each step of the simulation under way.
    path: Vec<(u32, u32)>,
    leaf: G::State,
    legal: Vec<Action>,
    /// Kept for [`super::run`], which has no memory of its own.
    pub(super) evaluations: Evaluations,
}

impl<G: Game> Tree<G> {
    /// A tree of nothing but its root.
    pub fn new(game: G, config: SearchConfig, root: G::State) -> Tree<G> {
        Tree {
            game,
            config,
            leaf: root.clone(),
            root,
            noisy: false,
            nodes: Nodes::default(),
            path: Vec::new(),
            legal: Vec::new(),
            evaluations: Evaluations::new(),
        }
    }

    /// The position at the root.
    pub fn root(&self) -> &G::State {
        &self.root
    }

    /// The root's exact result, once known.
    pub fn proven(&self) -> Option<Outcome> {
        match self.nodes.root() {
            Some(root) => root.proven,
            None => self.game.outcome(&self.root),
        }
    }

    /// Further simulations would change nothing: the result is proven and an action for it known.
    pub fn is_solved(&self) -> bool {
        self.proven().is_some()
    }

    /// Simulations that the root has had, those kept from an earlier tree included.
    pub fn visits(&self) -> u32 {
        self.nodes.root().map_or(0, |root| root.visits)
    }

    /// The root's actions; empty before its first evaluation.
    pub fn root_edges(&self) -> impl ExactSizeIterator<Item = Edge> {
        self.nodes.root().map_or(0..0, |root| root.range()).map(|edge| self.edge(edge))
    }

    /// Whether the root has been evaluated, so that noise can be mixed into its priors.
    pub fn has_root(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// Win, draw, loss for the player to move at the root: exact when proven, else the mean.
    pub fn root_wdl(&self) -> Wdl {
        let player = self.game.to_move(&self.root);
        match (self.proven(), self.nodes.root()) {
            (Some(outcome), _) => Wdl::of(outcome, player),
            (None, Some(root)) => {
                Wdl::from_value(for_first(player, root.mean()), (root.draw / root.visits as f64) as f32)
            }
            (None, None) => Wdl { win: 0.0, draw: 1.0, loss: 0.0 },
        }
    }

    /// Mixes Dirichlet noise into the root's priors (Silver et al. 2017), once a root.
    pub fn add_noise(&mut self, random: &mut Random) {
        let (fraction, concentration) = (self.config.noise_fraction, self.config.noise_concentration);
        let Some(root) = self.nodes.root().filter(|_| !self.noisy && fraction > 0.0) else { return };
        let range = root.range();
        self.noisy = true;
        let gamma = Gamma::new((concentration / range.len() as f32) as f64, 1.0)
            .expect("positive by the config's check");
        // an alpha below 1 can draw numbers too small for f64: the floor keeps the sum above 0
        let noise: Vec<f64> = range.clone().map(|_| gamma.sample(random).max(1e-300)).collect();
        let sum: f64 = noise.iter().sum();
        let mut visited_mass = 0.0;
        for (edge, noise) in range.zip(noise) {
            let prior = &mut self.nodes.prior[edge];
            *prior = (1.0 - fraction) * *prior + fraction * (noise / sum) as f32;
            if self.nodes.visits[edge] > 0 {
                visited_mass += *prior;
            }
        }
        self.nodes.get_mut(ROOT).visited_mass = visited_mass;
    }

    /// Walks from the root to a leaf. Nothing else may happen to the tree before [`Tree::apply`]
    /// when this returns [`Leaf::Needs`].
    pub fn select(&mut self) -> Leaf {
        self.path.clear();
        self.leaf.clone_from(&self.root);
        let Some(mut mean) = self.nodes.root().map(|root| root.mean()) else {
            self.game.legal_actions(&self.leaf, &mut self.legal);
            return if self.legal.is_empty() { Leaf::Terminal } else { Leaf::Needs };
        };
        let mut node = ROOT;
        loop {
            let edge = self.follow(node, mean);
            self.path.push((node as u32, edge as u32));
            let link = self.nodes.link[edge];
            if let Some(outcome) = link.proven() {
                self.back_up_result(outcome);
                return Leaf::Terminal;
            }
            self.game.play(&mut self.leaf, self.nodes.action[edge]);
            if let Some(child) = link.child() {
                // the edge holds its child's mean: no need to divide again
                (node, mean) = (child, self.nodes.mean[edge]);
                continue;
            }
            self.game.legal_actions(&self.leaf, &mut self.legal);
            if !self.legal.is_empty() {
                return Leaf::Needs;
            }
            let outcome = self.game.outcome(&self.leaf).expect("a position without legal actions is over");
            self.nodes.prove(edge, outcome);
            self.spread_proof();
            self.back_up_result(outcome);
            return Leaf::Terminal;
        }
    }

    /// The position that [`Tree::select`] reached, and its legal actions.
    pub fn pending(&self) -> (&G::State, &[Action]) {
        (&self.leaf, &self.legal)
    }

    /// Adds the pending position to the tree and its value to every node above it.
    pub fn apply(&mut self, evaluation: Evaluation) {
        debug_assert_eq!(evaluation.priors.len(), self.legal.len());
        let to_move = self.game.to_move(&self.leaf);
        let edge = self.path.last().map(|&(_, edge)| edge as usize);
        let node = self.nodes.push(edge, to_move, &self.legal, evaluation.priors);
        let leaf = self.nodes.get_mut(node);
        leaf.value = for_first(to_move, evaluation.wdl.value()) as f64;
        leaf.draw = evaluation.wdl.draw as f64;
        let (value, draw, mean) = (leaf.value, leaf.draw, leaf.mean());
        self.back_up(value, draw, mean);
    }

    /// Makes the position after `action` the root; keeps its subtree when the config says so.
    pub fn advance(&mut self, action: Action) {
        let child = self.root_edges().find(|edge| edge.action == action).and_then(|edge| edge.child);
        self.game.play(&mut self.root, action);
        self.noisy = false;
        match child.filter(|_| self.config.reuse_tree) {
            Some(child) => self.nodes.keep_subtree(child),
            None => self.nodes.clear(),
        }
    }

    /// Begins anew at `root` and keeps the memory.
    pub fn restart(&mut self, root: G::State) {
        self.root = root;
        self.noisy = false;
        self.nodes.clear();
    }

    /// The action to play: a proven win, else the most visited that is no proven loss (ties: higher mean,
    /// then lower action). `None` before the root's first evaluation.
    pub fn best_action(&self) -> Option<Action> {
        let player = self.game.to_move(&self.root);
        self.targets()
            .into_iter()
            .max_by(|(a, x), (b, y)| {
                let mean = |edge: &Edge| edge.mean_for(player).unwrap_or(-2.0);
                x.cmp(y).then(mean(a).total_cmp(&mean(b))).then(b.action.cmp(&a.action))
            })
            .map(|(edge, _)| edge.action)
    }

    /// The actions worth playing with their visits: those that reach the result when the root is proven,
    /// else those that are no proven loss. Never empty once the root was evaluated.
    pub fn targets(&self) -> Vec<(Edge, u32)> {
        let player = self.game.to_move(&self.root);
        let lost = Some(Outcome::Win(player.other()));
        let root = self.proven();
        let wanted = |edge: &Edge| match root {
            Some(outcome) => edge.proven == Some(outcome),
            None => edge.proven != lost,
        };
        let kept: Vec<(Edge, u32)> =
            self.root_edges().filter(wanted).map(|edge| (edge, edge.visits)).collect();
        // before the first simulation behind the root the priors decide
        if kept.iter().all(|(_, visits)| *visits == 0) {
            return kept.into_iter().map(|(edge, _)| (edge, (edge.prior * 1000.0) as u32 + 1)).collect();
        }
        kept
    }

    /// The most visited line from the root, with who plays each action left to the caller.
    pub fn principal_variation(&self) -> Vec<Action> {
        let Some(first) = self.best_action() else { return Vec::new() };
        let mut line = vec![first];
        let mut next = self.root_edges().find(|edge| edge.action == first).and_then(|edge| edge.child);
        while let Some(node) = next.map(|node| self.nodes.get(node)) {
            let lost = Outcome::Win(node.to_move.other());
            let sound = |edge: &Edge| match node.proven {
                Some(_) => edge.proven == node.proven,
                None => edge.proven != Some(lost),
            };
            let best = node
                .range()
                .map(|edge| self.edge(edge))
                .filter(|edge| edge.visits > 0)
                .filter(sound)
                .max_by_key(|edge| (edge.visits, std::cmp::Reverse(edge.action)));
            let Some(edge) = best else { break };
            line.push(edge.action);
            next = edge.child;
        }
        line
    }

    fn edge(&self, edge: usize) -> Edge {
        let link = self.nodes.link[edge];
        Edge {
            action: self.nodes.action[edge],
            visits: self.nodes.visits[edge],
            prior: self.nodes.prior[edge],
            proven: link.proven(),
            mean: self.nodes.mean[edge],
            child: link.child(),
        }
    }

    fn follow(&self, node: usize, mean: f32) -> usize {
        let reduction = match node == ROOT && self.noisy {
            true => self.config.fpu_reduction_root,
            false => self.config.fpu_reduction,
        };
        select(&self.config, &self.nodes, self.nodes.get(node), mean, reduction)
    }

    fn back_up_result(&mut self, outcome: Outcome) {
        let value = outcome.value_for(Player::First);
        self.back_up(value as f64, (outcome == Outcome::Draw) as u8 as f64, value);
    }

    /// Adds a simulation to every node of the path; `mean` is that of the position at its end.
    fn back_up(&mut self, value: f64, draw: f64, mut mean: f32) {
        for &(node, edge) in self.path.iter().rev() {
            let edge = edge as usize;
            let first_visit = self.nodes.visits[edge] == 0;
            self.nodes.visits[edge] += 1;
            if self.nodes.link[edge].proven().is_none() {
                self.nodes.mean[edge] = mean;
            }
            let prior = self.nodes.prior[edge];
            let node = self.nodes.get_mut(node as usize);
            node.visits += 1;
            node.value += value;
            node.draw += draw;
            if first_visit {
                node.visited_mass += prior;
            }
            mean = node.mean();
        }
    }

    /// Carries a new proof at the end of the path towards the root, as far as it proves anything.
    fn spread_proof(&mut self) {
        for step in (0..self.path.len()).rev() {
            let node = self.nodes.get(self.path[step].0 as usize);
            let Some(outcome) = proven(&self.nodes.link[node.range()], node.to_move) else { return };
            self.nodes.get_mut(self.path[step].0 as usize).proven = Some(outcome);
            if step > 0 {
                self.nodes.prove(self.path[step - 1].1 as usize, outcome);
            }
        }
    }
}
