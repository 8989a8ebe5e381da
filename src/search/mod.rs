//! Monte Carlo tree search: positions in, visits and values out.
//!
//! [`tree`] holds the nodes and is cut into select and apply, so that no network, thread or random
//! number sits inside; [`evaluator`] says what a leaf is worth; [`run`] joins the two for one tree.

pub mod evaluator;
pub mod select;
pub mod solver;
pub mod tree;

use rand::RngExt;

use crate::game::Game;
use crate::random::Random;
use evaluator::{Evaluation, Evaluator, Request};
use tree::{Leaf, Tree};

/// Adds `simulations` to the tree, fewer when its root is solved.
pub fn run<G: Game>(
    tree: &mut Tree<G>,
    evaluator: &mut dyn Evaluator<G>,
    simulations: usize,
    random: &mut Random,
) {
    let mut evaluations: Vec<Evaluation> = Vec::new();
    for _ in 0..simulations {
        if tree.is_solved() {
            return;
        }
        if let Leaf::Needs = tree.select() {
            let (state, legal) = tree.pending();
            let request = Request { state, legal, seed: random.random() };
            evaluator.evaluate(&[request], &mut evaluations);
            tree.apply(&evaluations[0]);
        }
    }
}
