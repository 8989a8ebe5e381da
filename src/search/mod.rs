//! Monte Carlo tree search: positions in, visits and values out.
//!
//! [`tree`] holds the results, [`walk`] is one simulation, split into select and apply, so that it contains no
//! network, thread or random numbers; [`evaluator`] evaluates leaves. [`Search`] drives one tree from its first
//! evaluation to its last: self-play, agents, protocols and tools all use it.

pub mod cache;
pub mod evaluator;
mod forced;
pub mod function;
mod gumbel;
mod nodes;
pub mod policy;
mod root;
mod select;
mod proof;
pub mod tree;
pub mod walk;

use rand::RngExt;

use crate::config::SearchConfig;
use crate::error::Result;
use crate::game::{Action, Game, Outcome};
use crate::random::Random;
use crate::solve::{Limits, Solver};
use evaluator::{Evaluation, Evaluations, Evaluator, Request, evaluate};
use tree::Tree;
use walk::{Leaf, Walk};

/// The memory of a search's solver, in nodes for a MiB, and at most. Self-play has one for each game in flight.
const NODES_A_MEBIBYTE: usize = 10_000;
const SOLVER_TABLE: usize = 16;

/// A search, applied to one position after another.
///
/// # Simulations
///
/// A simulation goes from the root to a position that is evaluated, or whose result is known. A search of N
/// simulations runs N of them, in addition to those kept from the previous position, **and the first evaluation of a
/// new root is one of them**: `rollout:100`, `search.simulations = 100` and UGI's `nodes 100` evaluate at most 100
/// positions. A search runs fewer if the root is solved, but always evaluates a new root, so that there is an action
/// to play.
///
/// With `search.solve_nodes`, a [`Solver`] looks at each new root after its first evaluation. What it proves is as good as
/// what simulations prove; its nodes are not simulations. With `search.leaf_nodes` it looks at each leaf, too: one whose
/// result it finds ends its simulation as a finished game does, without an evaluation.
///
/// # Driving it
///
/// [`Search::begin`] sets the number of simulations; [`Search::run`] begins and finishes a search with an evaluator.
/// To evaluate the leaves of many searches together, ask each for its [next](Search::next) leaf and give it the
/// evaluation:
///
/// ```
/// use petteia::config::SearchConfig;
/// use petteia::game::{Game, GameOptions};
/// use petteia::games::tic_tac_toe::TicTacToe;
/// use petteia::random::{Purpose, stream};
/// use petteia::search::Search;
/// use petteia::search::evaluator::{Evaluations, Evaluator, Uniform};
///
/// let game = TicTacToe::new(&GameOptions::default())?;
/// let mut random = stream(1, Purpose::Agent, &[]);
/// let mut search = Search::new(game.clone(), SearchConfig::default(), game.initial());
/// search.run(&mut Uniform, 200, &mut random)?;
///
/// let mut again = Search::new(game.clone(), SearchConfig::default(), game.initial());
/// let mut out = Evaluations::new();
/// again.begin(Some(200), false);
/// while again.next(&mut random) {
///     Uniform.evaluate(&[again.request()], &mut out)?;
///     again.apply(out.row(0));
/// }
/// assert_eq!(again.tree().best_action(), search.tree().best_action());
/// assert_eq!(again.tree().visits(), 200);
/// # Ok::<(), petteia::error::Error>(())
/// ```
pub struct Search<G: Game> {
    tree: Tree<G>,
    walk: Walk<G>,
    /// For evaluators that need randomness at the pending leaf.
    seed: u64,
    /// Reused memory of [`Search::run_while`].
    evaluations: Evaluations,
    /// Simulations of this search; `None` if unknown.
    planned: Option<usize>,
    /// Whether there is noise, and the scale of a Gumbel root's.
    noise: Option<f32>,
    done: usize,
    /// The root's plan exists: noise and sequential halving start after the root's first evaluation.
    begun: bool,
    /// For roots and leaves; remembers what it found from search to search. `None` if the config wants none.
    solver: Option<Solver<G>>,
    /// Whether the solver has looked at this root.
    looked: bool,
}

debug_fields!(Search<G: Game>, tree, planned, noise, done, begun);

impl<G: Game> Search<G> {
    /// A search with only a root, not yet begun.
    pub fn new(game: G, config: SearchConfig, root: G::State) -> Search<G> {
        let walk = Walk::new(root.clone());
        let table = config.solve_nodes.div_ceil(NODES_A_MEBIBYTE).min(SOLVER_TABLE);
        let limits = Limits { nodes: config.solve_nodes as u64, table: table.max(1) };
        let solver = (config.solve_nodes + config.leaf_nodes > 0).then(|| Solver::new(game.clone(), limits));
        Search {
            tree: Tree::new(game, config, root),
            walk,
            seed: 0,
            evaluations: Evaluations::new(),
            planned: Some(0),
            noise: None,
            done: 0,
            begun: false,
            solver,
            looked: false,
        }
    }

    /// The search tree.
    pub fn tree(&self) -> &Tree<G> {
        &self.tree
    }

    /// Begins a new search of the root, with or without noise: for this many simulations or, if `None`, until the
    /// caller stops. In the second case the root uses PUCT, because sequential halving must know the number.
    pub fn begin(&mut self, simulations: Option<usize>, noise: bool) {
        self.begin_with_noise(simulations, noise.then_some(1.0));
    }

    /// The same with the scale of the noise, if there is any: a Gumbel root's; that of PUCT is never scaled.
    pub fn begin_with_noise(&mut self, simulations: Option<usize>, noise: Option<f32>) {
        (self.planned, self.noise) = (simulations, noise);
        (self.done, self.begun) = (0, false);
    }

    /// Simulations since the search began.
    pub fn simulations(&self) -> usize {
        self.done
    }

    /// Whether it got past the root's first evaluation, where noise and sequential halving take effect.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Whether there is nothing left to do: the simulations are done, or the root is solved.
    pub fn is_over(&self) -> bool {
        let enough = self.tree.has_root() && self.planned.is_some_and(|planned| self.done >= planned);
        enough || self.tree.is_solved()
    }

    /// Advances to the next leaf that needs an evaluation; false if the search is over.
    pub fn next(&mut self, random: &mut Random) -> bool {
        loop {
            self.solve();
            if self.is_over() {
                return false;
            }
            if self.simulate(random) == Leaf::Needs {
                return true;
            }
        }
    }

    /// The request for the pending leaf.
    pub fn request(&self) -> Request<'_, G> {
        self.walk.request(self.seed)
    }

    /// Applies the evaluation of the pending leaf.
    ///
    /// # Panics
    ///
    /// If no leaf is pending, or the evaluation does not have one prior for each of its legal actions.
    pub fn apply(&mut self, evaluation: Evaluation) {
        self.tree.apply(&self.walk, evaluation);
    }

    /// Begins and finishes a search of this many simulations without noise. If the evaluator fails, the tree stays as
    /// it was before that leaf.
    pub fn run(
        &mut self,
        evaluator: &mut dyn Evaluator<G>,
        simulations: usize,
        random: &mut Random,
    ) -> Result<()> {
        self.begin(Some(simulations), false);
        self.run_while(evaluator, random, |_| true)
    }

    /// Finishes a search that was begun, unless `more` ends it. `more` is called before each simulation, except the
    /// evaluation of a new root.
    pub fn run_while(
        &mut self,
        evaluator: &mut dyn Evaluator<G>,
        random: &mut Random,
        mut more: impl FnMut(&Search<G>) -> bool,
    ) -> Result<()> {
        loop {
            self.solve();
            if self.is_over() || (self.tree.has_root() && !more(self)) {
                return Ok(());
            }
            if self.simulate(random) == Leaf::Terminal {
                continue;
            }
            let request = self.walk.request(self.seed);
            if let Err(error) = evaluate(evaluator, &[request], &mut self.evaluations) {
                self.done -= 1;
                return Err(error);
            }
            self.tree.add(&self.walk, self.evaluations.row(0));
        }
    }

    /// Makes the position after `action` the root, and keeps its subtree if the config says so. Its search has not
    /// begun.
    pub fn advance(&mut self, action: Action) {
        self.tree.advance(action);
        self.looked = false;
        self.begin(Some(0), false);
    }

    /// Starts again at another position with an empty tree, but keeps the memory. Its search has not begun.
    pub fn restart(&mut self, root: G::State) {
        self.tree.restart(root);
        self.looked = false;
        self.begin(Some(0), false);
    }

    /// Lets the solver look at a root that was evaluated and is to be searched, once.
    fn solve(&mut self) {
        let Some(solver) = &mut self.solver else { return };
        if self.looked
            || self.tree.config.solve_nodes == 0
            || self.planned == Some(0)
            || !self.tree.has_root()
            || self.tree.is_solved()
        {
            return;
        }
        self.looked = true;
        // what the actions are worth is only worth finding out where the position itself can be solved
        if solver.outcome(self.tree.root()).is_ok() {
            let found = solver.solve(self.tree.root(), |_| true);
            self.tree.prove(&found.actions);
        }
    }

    fn simulate(&mut self, random: &mut Random) -> Leaf {
        if !self.begun && self.tree.has_root() {
            let left = self.planned.map(|planned| planned - self.done);
            self.tree.begin(left, self.noise.map(|scale| (scale, &mut *random)));
            self.begun = true;
        }
        self.done += 1;
        let leaf = self.tree.select(&mut self.walk);
        if leaf == Leaf::Terminal {
            return leaf;
        }
        if let Some(outcome) = self.solved_leaf() {
            self.tree.apply_result(&self.walk, outcome);
            return Leaf::Terminal;
        }
        self.seed = random.random();
        leaf
    }

    /// The result of the walk's leaf, if the solver finds it. The root is always evaluated, for its priors.
    fn solved_leaf(&mut self) -> Option<Outcome> {
        let nodes = self.tree.config.leaf_nodes as u64;
        let solver = self.solver.as_mut().filter(|_| nodes > 0 && self.tree.has_root())?;
        solver.probe(self.walk.leaf().0, nodes)
    }
}
