//! One search tree; no thread, network or random number inside.
//!
//! A simulation is [`Tree::select`] (walk to a leaf), then, when the leaf needs one, an evaluation
//! given to [`Tree::apply`]. Values are for [`Player::First`] everywhere in the tree, so nothing
//! changes sign on the way up and a player may act twice in a row. The conversions are [`for_first`] and
//! [`Edge::mean_for`]. Results of finished games are proven and spread by `solver`. A simulation allocates
//! nothing but what the arrays of `nodes` grow by. What is done at the root alone is in `root`.

use super::evaluator::{Evaluation, Evaluations, Wdl};
use super::nodes::Nodes;
use super::root::Plan;
use super::select::select;
use super::solver::proven;
use crate::config::SearchConfig;
use crate::game::{Action, Game, Outcome, Player};

pub(super) const ROOT: usize = 0;

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
    pub(super) child: Option<usize>,
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
    pub(super) game: G,
    pub(super) config: SearchConfig,
    pub(super) root: G::State,
    pub(super) nodes: Nodes,
    /// What the search of this root has drawn and planned.
    pub(super) plan: Plan,
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
            nodes: Nodes::default(),
            plan: Plan::default(),
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

    /// Nodes in the tree, and bytes that they and their edges fill.
    pub fn size(&self) -> (usize, usize) {
        self.nodes.size()
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

    /// Walks from the root to a leaf. Nothing else may happen to the tree before [`Tree::apply`]
    /// when this returns [`Leaf::Needs`].
    pub fn select(&mut self) -> Leaf {
        self.path.clear();
        self.leaf.clone_from(&self.root);
        if self.nodes.is_empty() {
            self.game.legal_actions(&self.leaf, &mut self.legal);
            return if self.legal.is_empty() { Leaf::Terminal } else { Leaf::Needs };
        }
        let (mut node, mut edge) = (ROOT, self.follow_root());
        loop {
            self.path.push((node as u32, edge as u32));
            let link = self.nodes.edges[edge].link;
            if let Some(outcome) = link.proven() {
                self.back_up_result(outcome);
                return Leaf::Terminal;
            }
            self.game.play(&mut self.leaf, self.nodes.edges[edge].action);
            if let Some(child) = link.child() {
                // the edge holds its child's mean: no need to divide again
                let mean = self.nodes.edges[edge].mean;
                node = child;
                edge =
                    select(&self.config, &self.nodes, self.nodes.get(node), mean, self.config.fpu_reduction);
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
        let node = self.nodes.push(edge, to_move, &self.legal, &evaluation);
        let leaf = *self.nodes.get(node);
        self.back_up(leaf.value, leaf.draw, leaf.mean());
    }

    /// Makes the position after `action` the root; keeps its subtree when the config says so.
    pub fn advance(&mut self, action: Action) {
        let child = self.root_edges().find(|edge| edge.action == action).and_then(|edge| edge.child);
        self.game.play(&mut self.root, action);
        self.plan.clear();
        match child.filter(|_| self.config.reuse_tree) {
            Some(child) => self.nodes.keep_subtree(child),
            None => self.nodes.clear(),
        }
    }

    /// Begins anew at `root` and keeps the memory.
    pub fn restart(&mut self, root: G::State) {
        self.root = root;
        self.plan.clear();
        self.nodes.clear();
    }

    pub(super) fn edge(&self, edge: usize) -> Edge {
        let edge = self.nodes.edges[edge];
        Edge {
            action: edge.action,
            visits: edge.visits,
            prior: edge.prior,
            proven: edge.link.proven(),
            mean: edge.mean,
            child: edge.link.child(),
        }
    }

    fn back_up_result(&mut self, outcome: Outcome) {
        let value = outcome.value_for(Player::First);
        self.back_up(value as f64, (outcome == Outcome::Draw) as u8 as f64, value);
    }

    /// Adds a simulation to every node of the path; `mean` is that of the position at its end.
    fn back_up(&mut self, value: f64, draw: f64, mut mean: f32) {
        for &(node, edge) in self.path.iter().rev() {
            let edge = &mut self.nodes.edges[edge as usize];
            let first_prior = if edge.visits == 0 { edge.prior } else { 0.0 };
            edge.visits += 1;
            if edge.link.proven().is_none() {
                edge.mean = mean;
            }
            let node = self.nodes.get_mut(node as usize);
            node.visits += 1;
            node.value += value;
            node.draw += draw;
            node.visited_mass += first_prior;
            mean = node.mean();
        }
    }

    /// Carries a new proof at the end of the path towards the root, as far as it proves anything.
    fn spread_proof(&mut self) {
        for step in (0..self.path.len()).rev() {
            let node = self.nodes.get(self.path[step].0 as usize);
            let Some(outcome) = proven(&self.nodes.edges[node.range()], node.to_move) else { return };
            self.nodes.get_mut(self.path[step].0 as usize).proven = Some(outcome);
            if step > 0 {
                self.nodes.prove(self.path[step - 1].1 as usize, outcome);
            }
        }
    }
}
