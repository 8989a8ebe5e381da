//! Monte Carlo tree search: positions in, visits and values out.
//!
//! [`tree`] is cut into select and apply, so that no network, thread or random
//! number sits inside; [`evaluator`] says what a leaf is worth; [`run`] joins the two for one tree.

pub mod cache;
pub mod evaluator;
mod forced;
mod gumbel;
mod nodes;
mod root;
mod select;
mod solver;
pub mod tree;

use rand::RngExt;

use crate::error::Result;
use crate::game::Game;
use crate::random::Random;
use evaluator::{Evaluator, Request};
use tree::{Leaf, Tree};

/// Adds `simulations` to the tree, fewer when its root is solved; without noise. An evaluator that fails ends it.
pub fn run<G: Game>(
    tree: &mut Tree<G>,
    evaluator: &mut dyn Evaluator<G>,
    simulations: usize,
    random: &mut Random,
) -> Result<()> {
    let mut begun = false;
    for done in 0..simulations {
        if tree.is_solved() {
            break;
        }
        if !begun && tree.has_root() {
            tree.begin(simulations - done, None);
            begun = true;
        }
        simulate(tree, evaluator, random)?;
    }
    Ok(())
}

/// Adds one simulation to a tree whose root is not solved; the tree stays as it was when the evaluator fails.
pub fn simulate<G: Game>(
    tree: &mut Tree<G>,
    evaluator: &mut dyn Evaluator<G>,
    random: &mut Random,
) -> Result<()> {
    if let Leaf::Terminal = tree.select() {
        return Ok(());
    }
    // the tree keeps the buffer, so that a search allocates nothing
    let mut evaluations = std::mem::take(&mut tree.evaluations);
    let (state, legal) = tree.pending();
    let request = Request { state, legal, seed: random.random() };
    if let Err(error) = evaluator.evaluate(&[request], &mut evaluations) {
        tree.evaluations = evaluations;
        return Err(error);
    }
    tree.apply(evaluations.row(0));
    tree.evaluations = evaluations;
    Ok(())
}
