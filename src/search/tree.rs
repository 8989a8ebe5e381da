//! One search tree in two flat arenas (nodes, edges); no thread, network or random number inside.
//!
//! A simulation is [`Tree::select`] (walk to a leaf), then, when the leaf needs one, an evaluation
//! given to [`Tree::apply`]. Values are sums for [`Player::First`] everywhere in the tree, so nothing
//! changes sign on the way up and a player may act twice in a row. The two conversions are
//! [`for_first`] and [`Edge::mean_for`]. Results of finished games are proven and spread by `solver`.

use rand_distr::{Distribution, Gamma};

use super::evaluator::{Evaluation, Wdl};
use super::select::select;
use super::solver::proven;
use crate::config::SearchConfig;
use crate::game::{Action, Game, Outcome, Player};
use crate::random::Random;

const NONE: u32 = u32::MAX;
const ROOT: usize = 0;

/// An action of a node, with what is known of the position behind it.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The action.
    pub action: Action,
    /// Simulations through it.
    pub visits: u32,
    /// The evaluator's probability, with noise at a noisy root.
    pub prior: f32,
    /// The exact result, once known.
    pub proven: Option<Outcome>,
    /// Sum of the values for the first player.
    value: f64,
    child: u32,
}

impl Edge {
    /// The mean value for `player`, exact when proven, `None` without visits.
    pub fn mean_for(&self, player: Player) -> Option<f32> {
        match self.proven {
            Some(outcome) => Some(outcome.value_for(player)),
            None if self.visits == 0 => None,
            None => Some(for_first(player, (self.value / self.visits as f64) as f32)),
        }
    }
}

#[derive(Clone, Debug)]
struct Node {
    first_edge: u32,
    edges: u32,
    visits: u32,
    to_move: Player,
    proven: Option<Outcome>,
    /// Sum of the values for the first player.
    value: f64,
    /// Sum of the draw probabilities.
    draw: f64,
}

impl Node {
    fn range(&self) -> std::ops::Range<usize> {
        self.first_edge as usize..(self.first_edge + self.edges) as usize
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
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// Node and edge of each step of the simulation under way.
    path: Vec<(u32, u32)>,
    leaf: G::State,
    legal: Vec<Action>,
}

impl<G: Game> Tree<G> {
    /// A tree of nothing but its root.
    pub fn new(game: G, config: SearchConfig, root: G::State) -> Tree<G> {
        let leaf = root.clone();
        let (nodes, edges, path, legal) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Tree { game, config, root, noisy: false, nodes, edges, path, leaf, legal }
    }

    /// The position at the root.
    pub fn root(&self) -> &G::State {
        &self.root
    }

    /// The root's exact result, once known.
    pub fn proven(&self) -> Option<Outcome> {
        match self.nodes.first() {
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
        self.nodes.first().map_or(0, |root| root.visits)
    }

    /// The root's actions; empty before its first evaluation.
    pub fn root_edges(&self) -> &[Edge] {
        self.nodes.first().map_or(&[], |root| &self.edges[root.range()])
    }

    /// Whether the root has been evaluated, so that noise can be mixed into its priors.
    pub fn has_root(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// Win, draw, loss for the player to move at the root: exact when proven, else the mean.
    pub fn root_wdl(&self) -> Wdl {
        let player = self.game.to_move(&self.root);
        match (self.proven(), self.nodes.first()) {
            (Some(outcome), _) => Wdl::of(outcome, player),
            (None, Some(root)) if root.visits > 0 => {
                let visits = root.visits as f64;
                let value = for_first(player, (root.value / visits) as f32);
                Wdl::from_value(value, (root.draw / visits) as f32)
            }
            _ => Wdl { win: 0.0, draw: 1.0, loss: 0.0 },
        }
    }

    /// Mixes Dirichlet noise into the root's priors (Silver et al. 2017), once a root.
    pub fn add_noise(&mut self, random: &mut Random) {
        let (fraction, concentration) = (self.config.noise_fraction, self.config.noise_concentration);
        if self.noisy || self.nodes.is_empty() || fraction == 0.0 {
            return;
        }
        self.noisy = true;
        let range = self.nodes[ROOT].range();
        let gamma = Gamma::new((concentration / range.len() as f32) as f64, 1.0)
            .expect("positive by the config's check");
        // an alpha below 1 can draw numbers too small for f64: the floor keeps the sum above 0
        let noise: Vec<f64> = range.clone().map(|_| gamma.sample(random).max(1e-300)).collect();
        let sum: f64 = noise.iter().sum();
        for (edge, noise) in self.edges[range].iter_mut().zip(noise) {
            edge.prior = (1.0 - fraction) * edge.prior + fraction * (noise / sum) as f32;
        }
    }

    /// Walks from the root to a leaf. Nothing else may happen to the tree before [`Tree::apply`]
    /// when this returns [`Leaf::Needs`].
    pub fn select(&mut self) -> Leaf {
        self.path.clear();
        self.leaf.clone_from(&self.root);
        if self.nodes.is_empty() {
            self.game.legal_actions(&self.leaf, &mut self.legal);
            return if self.legal.is_empty() { Leaf::Terminal } else { Leaf::Needs };
        }
        let mut node = ROOT;
        loop {
            let edge = self.follow(node);
            self.path.push((node as u32, edge as u32));
            if let Some(outcome) = self.edges[edge].proven {
                self.back_up_result(outcome);
                return Leaf::Terminal;
            }
            self.game.play(&mut self.leaf, self.edges[edge].action);
            if self.edges[edge].child != NONE {
                node = self.edges[edge].child as usize;
                continue;
            }
            self.game.legal_actions(&self.leaf, &mut self.legal);
            if !self.legal.is_empty() {
                return Leaf::Needs;
            }
            let outcome = self.game.outcome(&self.leaf).expect("a position without legal actions is over");
            self.edges[edge].proven = Some(outcome);
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
    pub fn apply(&mut self, evaluation: &Evaluation) {
        debug_assert_eq!(evaluation.priors.len(), self.legal.len());
        let node = self.nodes.len() as u32;
        let to_move = self.game.to_move(&self.leaf);
        self.nodes.push(Node {
            first_edge: self.edges.len() as u32,
            edges: self.legal.len() as u32,
            visits: 0,
            to_move,
            proven: None,
            value: 0.0,
            draw: 0.0,
        });
        self.edges.extend(self.legal.iter().zip(&evaluation.priors).map(|(&action, &prior)| Edge {
            action,
            visits: 0,
            prior,
            proven: None,
            value: 0.0,
            child: NONE,
        }));
        if let Some(&(_, edge)) = self.path.last() {
            self.edges[edge as usize].child = node;
        }
        let value = for_first(to_move, evaluation.wdl.value()) as f64;
        let draw = evaluation.wdl.draw as f64;
        let leaf = &mut self.nodes[node as usize];
        (leaf.visits, leaf.value, leaf.draw) = (1, value, draw);
        self.back_up(value, draw);
    }

    /// Makes the position after `action` the root; keeps its subtree when the config says so.
    pub fn advance(&mut self, action: Action) {
        let child =
            self.root_edges().iter().find(|edge| edge.action == action).map_or(NONE, |edge| edge.child);
        self.game.play(&mut self.root, action);
        self.noisy = false;
        if child == NONE || !self.config.reuse_tree {
            self.nodes.clear();
            self.edges.clear();
            return;
        }
        self.keep_subtree(child as usize);
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
    pub fn targets(&self) -> Vec<(&Edge, u32)> {
        let player = self.game.to_move(&self.root);
        let lost = Some(Outcome::Win(player.other()));
        let root = self.proven();
        let wanted = |edge: &&Edge| match root {
            Some(outcome) => edge.proven == Some(outcome),
            None => edge.proven != lost,
        };
        let kept: Vec<(&Edge, u32)> =
            self.root_edges().iter().filter(wanted).map(|edge| (edge, edge.visits)).collect();
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
        let mut node =
            self.root_edges().iter().find(|edge| edge.action == first).map_or(NONE, |edge| edge.child);
        while node != NONE {
            let player = self.nodes[node as usize].to_move;
            let edges = &self.edges[self.nodes[node as usize].range()];
            let proven = self.nodes[node as usize].proven;
            let sound = |edge: &&Edge| match proven {
                Some(_) => edge.proven == proven,
                None => edge.proven != Some(Outcome::Win(player.other())),
            };
            let best = edges
                .iter()
                .filter(|edge| edge.visits > 0)
                .filter(sound)
                .max_by_key(|edge| (edge.visits, std::cmp::Reverse(edge.action)));
            let Some(edge) = best else { break };
            line.push(edge.action);
            node = edge.child;
        }
        line
    }

    fn follow(&self, index: usize) -> usize {
        let node = &self.nodes[index];
        let reduction = if index == ROOT && self.noisy {
            self.config.fpu_reduction_root
        } else {
            self.config.fpu_reduction
        };
        let value = for_first(node.to_move, (node.value / node.visits.max(1) as f64) as f32);
        let range = node.range();
        range.start + select(&self.config, &self.edges[range], node.to_move, value, node.visits, reduction)
    }

    fn back_up_result(&mut self, outcome: Outcome) {
        let value = outcome.value_for(Player::First) as f64;
        self.back_up(value, (outcome == Outcome::Draw) as u8 as f64);
    }

    fn back_up(&mut self, value: f64, draw: f64) {
        for &(node, edge) in &self.path {
            let node = &mut self.nodes[node as usize];
            node.visits += 1;
            node.value += value;
            node.draw += draw;
            let edge = &mut self.edges[edge as usize];
            edge.visits += 1;
            edge.value += value;
        }
    }

    /// Carries a new proof at the end of the path towards the root, as far as it proves anything.
    fn spread_proof(&mut self) {
        for step in (0..self.path.len()).rev() {
            let node = self.path[step].0 as usize;
            let Some(outcome) = proven(&self.edges[self.nodes[node].range()], self.nodes[node].to_move)
            else {
                return;
            };
            self.nodes[node].proven = Some(outcome);
            if step > 0 {
                self.edges[self.path[step - 1].1 as usize].proven = Some(outcome);
            }
        }
    }

    /// Copies the subtree of `root` to the front of fresh arenas, breadth first; the rest is freed.
    fn keep_subtree(&mut self, root: usize) {
        let (nodes, edges) = (std::mem::take(&mut self.nodes), std::mem::take(&mut self.edges));
        self.nodes.push(nodes[root].clone());
        let mut done = 0;
        while done < self.nodes.len() {
            let range = self.nodes[done].range();
            self.nodes[done].first_edge = self.edges.len() as u32;
            for edge in &edges[range] {
                let mut edge = edge.clone();
                if edge.child != NONE {
                    self.nodes.push(nodes[edge.child as usize].clone());
                    edge.child = self.nodes.len() as u32 - 1;
                }
                self.edges.push(edge);
            }
            done += 1;
        }
    }
}
