//! A simulation in progress: its path, and the leaf that needs an evaluation.
//!
//! A walk is separate from the tree, so that several walks can be in progress in one tree. A walk keeps its memory for
//! the next simulation. [`Tree::select`] takes it from the root to a leaf, and [`Tree::apply`] propagates the leaf's
//! evaluation back along the path. A simulation allocates only when the path or the arrays of `nodes` must grow.

use super::evaluator::{Evaluation, Request};
use super::proof::{plies, proven};
use super::select::{select, select_beside};
use super::tree::{ROOT, Tree};
use crate::game::{Action, Game, Outcome, Player};

/// One simulation.
#[derive(Clone, Debug)]
pub struct Walk<G: Game> {
    /// The node and the edge of each step.
    path: Vec<(u32, u32)>,
    leaf: G::State,
    legal: Vec<Action>,
    /// The number of the tree's root (see `Tree::roots`) when the walk began.
    root: u64,
}

/// The kind of leaf that [`Tree::select`] reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// The result was known and has already been backed up.
    Terminal,
    /// The walk's position needs an evaluation.
    Needs,
    /// Another walk waits for the evaluation of the same position.
    Awaited,
}

impl<G: Game> Walk<G> {
    /// Returns a walk for [`Tree::select`]; until the selection, its leaf is `state`.
    pub fn new(state: G::State) -> Walk<G> {
        Walk { path: Vec::new(), leaf: state, legal: Vec::new(), root: 0 }
    }

    /// Returns the position that the walk reached, and its legal actions.
    pub fn leaf(&self) -> (&G::State, &[Action]) {
        (&self.leaf, &self.legal)
    }

    /// Returns the request to evaluate the position that the walk reached.
    pub fn request(&self, seed: u64) -> Request<'_, G> {
        Request { state: &self.leaf, legal: &self.legal, seed }
    }
}

impl<G: Game> Tree<G> {
    /// Takes a walk from the root to a leaf. If the leaf [needs](Leaf::Needs) an evaluation, [`Tree::apply`] must be
    /// called before the root changes; other walks may begin and end in between.
    pub fn select(&mut self, walk: &mut Walk<G>) -> Leaf {
        self.descend::<false>(walk)
    }

    /// Does the same as [`Tree::select`] while other walks are in flight, each of which counts as a loss on its path.
    /// Unless its result is known, this walk also counts as a loss until [`Tree::release`], which must be called before
    /// the walk is applied.
    pub(crate) fn select_beside(&mut self, walk: &mut Walk<G>) -> Leaf {
        let leaf = self.descend::<true>(walk);
        if leaf != Leaf::Terminal {
            self.on_their_way += 1;
            walk.path.iter().for_each(|(_, edge)| self.nodes.edges[*edge as usize].waiting += 1);
        }
        leaf
    }

    /// Stops counting a walk as a loss for other walks.
    pub fn release(&mut self, walk: &Walk<G>) {
        self.on_their_way -= 1;
        walk.path.iter().for_each(|(_, edge)| self.nodes.edges[*edge as usize].waiting -= 1);
    }

    #[inline(always)]
    fn descend<const BESIDE: bool>(&mut self, walk: &mut Walk<G>) -> Leaf {
        walk.path.clear();
        walk.legal.clear();
        walk.leaf.clone_from(&self.root);
        walk.root = self.roots;
        if self.nodes.is_empty() {
            self.game.legal_actions(&walk.leaf, &mut walk.legal);
            return if walk.legal.is_empty() { Leaf::Terminal } else { Leaf::Needs };
        }
        let (mut node, mut edge) = (ROOT, self.follow_root::<BESIDE>());
        loop {
            walk.path.push((node as u32, edge as u32));
            let link = self.nodes.edges[edge].link;
            if let Some(outcome) = link.proven() {
                self.back_up_result(&walk.path, outcome);
                return Leaf::Terminal;
            }
            self.game.play(&mut walk.leaf, self.nodes.edges[edge].action);
            if let Some(child) = link.child() {
                // the edge holds its child's mean, which saves another division
                let mean = self.nodes.edges[edge].mean;
                node = child;
                let (reduction, waiting) = (self.config.fpu_reduction, self.nodes.edges[edge].waiting);
                let (config, nodes) = (&self.config, &self.nodes);
                edge = if BESIDE && waiting > 0 {
                    select_beside(config, nodes, node, mean, reduction, waiting.into())
                } else {
                    select(config, nodes, node, mean, reduction)
                };
                continue;
            }
            if BESIDE && self.nodes.edges[edge].waiting > 0 {
                return Leaf::Awaited;
            }
            self.game.legal_actions(&walk.leaf, &mut walk.legal);
            if !walk.legal.is_empty() {
                return Leaf::Needs;
            }
            let outcome = self.game.outcome(&walk.leaf).expect("a position without legal actions is over");
            self.apply_result(walk, outcome, 1);
            return Leaf::Terminal;
        }
    }

    /// Backs up the exact result of a walk's leaf, which needs no evaluation and must not be the root. `plies` is the
    /// number of plies to the end of the game, including the one to the leaf.
    pub(super) fn apply_result(&mut self, walk: &Walk<G>, outcome: Outcome, plies: u32) {
        let (_, edge) = *walk.path.last().expect("the leaf is below the root");
        self.nodes.prove(edge as usize, outcome, plies);
        self.spread_proof(&walk.path);
        self.back_up_result(&walk.path, outcome);
    }

    /// Adds the walk's leaf to the tree, and its value to every node above it.
    ///
    /// # Panics
    ///
    /// If `evaluation` does not have one prior for each legal action, if the tree's root has changed since the walk
    /// began, or if another walk has added the same leaf.
    pub fn apply(&mut self, walk: &Walk<G>, evaluation: Evaluation) {
        assert_eq!(
            evaluation.priors.len(),
            walk.legal.len(),
            "an evaluation must have one prior for each legal action of its position"
        );
        assert_eq!(walk.root, self.roots, "a walk must be applied before the root of its tree changes");
        let added = match walk.path.last() {
            Some(&(_, edge)) => self.nodes.edges[edge as usize].link.child().is_some(),
            None => !self.nodes.is_empty(),
        };
        assert!(!added, "a leaf must be applied once: another walk has added it to the tree");
        self.add(walk, evaluation);
    }

    /// Does the work of [`Tree::apply`] without its checks, for a checked evaluation that directly follows the walk.
    pub(super) fn add(&mut self, walk: &Walk<G>, evaluation: Evaluation) {
        let edge = walk.path.last().map(|&(_, edge)| edge as usize);
        let to_move = self.game.to_move(&walk.leaf);
        let node = self.nodes.push(edge, to_move, &walk.legal, &evaluation);
        let leaf = *self.nodes.get(node);
        self.back_up(&walk.path, leaf.value, leaf.draw, leaf.mean());
    }

    fn back_up_result(&mut self, path: &[(u32, u32)], outcome: Outcome) {
        let value = outcome.value_for(Player::First);
        self.back_up(path, value as f64, (outcome == Outcome::Draw) as u8 as f64, value);
    }

    /// Adds a simulation to every node of the path; `mean` is the mean of the position at its end.
    fn back_up(&mut self, path: &[(u32, u32)], value: f64, draw: f64, mut mean: f32) {
        for &(node, edge) in path.iter().rev() {
            let edge = &mut self.nodes.edges[edge as usize];
            let first_prior = if edge.visits == 0 { edge.prior } else { 0.0 };
            edge.visits += 1;
            if edge.link.proven().is_none() {
                edge.mean = mean;
            }
            self.nodes.square(node as usize, value);
            let node = self.nodes.get_mut(node as usize);
            node.visits += 1;
            node.value += value;
            node.draw += draw;
            node.visited_mass += first_prior;
            mean = node.mean();
        }
        if self.config.lower_bound > 0.0
            && let Some(&(_, edge)) = path.first()
        {
            self.note(edge as usize, value);
        }
    }

    /// Propagates a new proof at the end of the path toward the root, as long as it proves further results.
    fn spread_proof(&mut self, path: &[(u32, u32)]) {
        for step in (0..path.len()).rev() {
            let node = self.nodes.get(path[step].0 as usize);
            let (edges, player) = (&self.nodes.edges[node.range()], node.to_move);
            let Some(outcome) = proven(edges, player) else { return };
            let plies = plies(edges, player, outcome);
            self.nodes.get_mut(path[step].0 as usize).proven = Some(outcome);
            if step > 0 {
                self.nodes.prove(path[step - 1].1 as usize, outcome, plies + 1);
            }
        }
    }
}
