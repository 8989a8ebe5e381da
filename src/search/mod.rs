//! Monte Carlo tree search: positions in, visits and values out.
//!
//! [`tree`] holds the results. [`walk`] is one simulation, split into select and apply, so it contains no network,
//! threads, or random numbers. [`evaluator`] evaluates leaves. [`Search`] drives one tree from its first evaluation
//! to its last; self-play, agents, protocols, and tools all use it.

mod bound;
pub mod cache;
pub mod crew;
pub mod evaluator;
mod forced;
pub mod function;
mod gumbel;
mod nodes;
pub(crate) mod policy;
mod proof;
mod root;
mod select;
pub(crate) mod together;
pub mod tree;
pub mod walk;

use rand::RngExt;

use crate::config::SearchConfig;
use crate::error::Result;
use crate::game::{Action, Game};
use crate::random::Random;
use crate::solve::{Limits, Solver};
use evaluator::{Evaluation, Evaluations, Evaluator, Request, evaluate, recycle};
use tree::Tree;
use walk::{Leaf, Walk};

/// With `search.leaves = 0`, a round has one leaf per this many visits of the root, but at most [`MOST_LEAVES`].
const VISITS_A_LEAF: u32 = 64;
const MOST_LEAVES: u32 = 16;
/// The memory of a search's solver in bytes: per solver node, and the least and most in total. Self-play has a solver
/// for each game in flight, and solvers are fast only while the processor's cache holds all of them.
const TABLE_A_NODE: usize = 64;
const LEAST_TABLE: usize = 16 << 10;
const MOST_TABLE: usize = 16 << 20;

/// A search that is applied to one position after another.
///
/// # Simulations
///
/// A simulation goes from the root to a position that is evaluated, or whose result is known. A search of N simulations
/// runs N of them, in addition to those kept from the previous position, **and the first evaluation of a new root is
/// one of them**: `rollout:100`, `search.simulations = 100` and UGI's `nodes 100` evaluate at most 100 positions. A
/// search runs fewer simulations if the root is solved, but always evaluates a new root, so that there is an action to
/// play.
///
/// With `search.solve_nodes`, a [`Solver`] looks at each new root after its first evaluation. The solver's proofs count
/// like those that simulations find, but the solver's nodes do not count as simulations. With `search.leaf_nodes`, the
/// solver also looks at each leaf: if it finds the result, the simulation ends without an evaluation, as at the end of
/// a game.
///
/// # Rounds
///
/// With `search.leaves`, several simulations are in flight at once, and their leaves are evaluated together (by several
/// threads if the evaluator is a [`Crew`](crew::Crew)). Which simulations are made depends on the number of leaves and
/// the seed, never on threads or time.
///
/// # Driving a search
///
/// [`Search::begin`] sets the number of simulations; [`Search::run`] begins and finishes a search with an evaluator.
/// To evaluate the leaves of many searches together, ask each for its [next](Search::next) leaf and give it the
/// evaluation:
///
/// ```
/// use petteia::config::SearchConfig;
/// use petteia::game::Game;
/// use petteia::games::tic_tac_toe::TicTacToe;
/// use petteia::random::{Purpose, stream};
/// use petteia::search::Search;
/// use petteia::search::evaluator::{Evaluations, Evaluator, Uniform};
///
/// let game = TicTacToe;
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
    /// The simulations of a round; [`Search::next`] uses only the first one.
    flights: Vec<LeavesInFlight<G>>,
    /// The number of `flights` that are in flight.
    flying: usize,
    /// Memory that [`Search::run_while`] reuses.
    evaluations: Evaluations,
    spare: Vec<Request<'static, G>>,
    /// The number of simulations of this search; `None` if unknown.
    planned: Option<usize>,
    /// The scale of a Gumbel root's noise; `None` without noise.
    noise: Option<f32>,
    done: usize,
    /// Whether the root has its plan: noise and sequential halving start after the root's first evaluation.
    begun: bool,
    /// Solves roots and leaves, and keeps its findings from search to search; `None` if the config does not use a
    /// solver.
    solver: Option<Solver<G>>,
    /// Whether the solver has looked at this root.
    looked: bool,
}

debug_fields!(Search<G: Game>, tree, planned, noise, done, begun);

/// A simulation in flight.
struct LeavesInFlight<G: Game> {
    walk: Walk<G>,
    /// A seed for evaluators that need randomness at this simulation's leaf.
    seed: u64,
    /// Whether the leaf needs an evaluation; if not, an earlier simulation of the round waits for the same leaf.
    asks: bool,
}

impl<G: Game> LeavesInFlight<G> {
    fn new(state: &G::State) -> LeavesInFlight<G> {
        LeavesInFlight { walk: Walk::new(state.clone()), seed: 0, asks: false }
    }
}

impl<G: Game> Search<G> {
    /// Returns a search with only a root, not yet begun.
    pub fn new(game: G, config: SearchConfig, root: G::State) -> Search<G> {
        let flights = vec![LeavesInFlight::new(&root)];
        let table = (config.solve_nodes * TABLE_A_NODE).clamp(LEAST_TABLE, MOST_TABLE);
        let limits = Limits { nodes: config.solve_nodes as u64, table };
        let solver = (config.solve_nodes + config.leaf_nodes > 0).then(|| Solver::new(game.clone(), limits));
        Search {
            tree: Tree::new(game, config, root),
            flights,
            flying: 0,
            evaluations: Evaluations::new(),
            spare: Vec::new(),
            planned: Some(0),
            noise: None,
            done: 0,
            begun: false,
            solver,
            looked: false,
        }
    }

    /// Returns the search tree.
    pub fn tree(&self) -> &Tree<G> {
        &self.tree
    }

    /// Begins a new search of the root, with or without noise. The search makes `simulations` simulations or, if
    /// `None`, continues until the caller stops. With `None`, the root uses PUCT, because sequential halving must know
    /// the number of simulations in advance.
    pub fn begin(&mut self, simulations: Option<usize>, noise: bool) {
        self.begin_with_noise(simulations, noise.then_some(1.0));
    }

    /// Does the same as [`Search::begin`], with noise of this scale, if any; only a Gumbel root scales its noise.
    pub fn begin_with_noise(&mut self, simulations: Option<usize>, noise: Option<f32>) {
        (self.planned, self.noise) = (simulations, noise);
        (self.done, self.begun) = (0, false);
    }

    /// Returns the number of simulations since the search began.
    pub fn simulations(&self) -> usize {
        self.done
    }

    /// Returns whether the search got past the root's first evaluation, where noise and sequential halving take
    /// effect.
    pub fn has_begun(&self) -> bool {
        self.begun
    }

    /// Returns whether there is nothing left to do: the simulations are done, or the root is solved.
    pub fn is_over(&self) -> bool {
        let is_done = self.tree.has_root() && self.planned.is_some_and(|planned| self.done >= planned);
        is_done || self.tree.is_solved()
    }

    /// Advances to the next leaf that needs an evaluation; false if the search is over.
    pub fn next(&mut self, random: &mut Random) -> bool {
        loop {
            self.solve();
            if self.is_over() {
                return false;
            }
            if self.simulate::<false>(0, random) == Leaf::Needs {
                // this is a round with a single simulation
                (self.flying, self.flights[0].asks) = (1, true);
                return true;
            }
        }
    }

    /// Returns the request for the pending leaf.
    pub fn request(&self) -> Request<'_, G> {
        self.flights[0].walk.request(self.flights[0].seed)
    }

    /// Applies the evaluation of the pending leaf.
    ///
    /// # Panics
    ///
    /// If no leaf is pending, or if the evaluation does not have one prior for each legal action of the leaf.
    pub fn apply(&mut self, evaluation: Evaluation) {
        self.tree.apply(&self.flights[0].walk, evaluation);
    }

    /// Begins and finishes a search of this many simulations without noise.
    ///
    /// # Errors
    /// If the evaluator fails; the tree is then as it was before the leaves of that batch.
    pub fn run(
        &mut self,
        evaluator: &mut dyn Evaluator<G>,
        simulations: usize,
        random: &mut Random,
    ) -> Result<()> {
        self.begin(Some(simulations), false);
        self.run_while(evaluator, random, |_| usize::MAX)
    }

    /// Finishes a search that was begun, unless `more` ends it. `more` is called before each round of simulations,
    /// except before the evaluation of a new root, and returns how many simulations may be made until the next call.
    ///
    /// To search until an action has 100 visits:
    ///
    /// ```
    /// use petteia::config::SearchConfig;
    /// use petteia::game::Game;
    /// use petteia::games::connect_four::ConnectFour;
    /// use petteia::random::{Purpose, stream};
    /// use petteia::search::{Search, evaluator::Rollout};
    ///
    /// let mut search = Search::new(ConnectFour, SearchConfig::default(), ConnectFour.initial());
    /// let most_visits = |search: &Search<_>| search.tree().root_edges().map(|edge| edge.visits).max();
    /// search.begin(None, false);
    /// let mut random = stream(1, Purpose::Agent, &[]);
    /// search.run_while(&mut Rollout::new(ConnectFour), &mut random, |search| {
    ///     if most_visits(search) < Some(100) { 1 } else { 0 }
    /// })?;
    /// assert_eq!(most_visits(&search), Some(100));
    /// # Ok::<(), petteia::error::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Search::run`].
    pub fn run_while(
        &mut self,
        evaluator: &mut dyn Evaluator<G>,
        random: &mut Random,
        mut more: impl FnMut(&Search<G>) -> usize,
    ) -> Result<()> {
        while self.take_off(random, &mut more) {
            let mut evaluations = std::mem::take(&mut self.evaluations);
            let mut requests = recycle(std::mem::take(&mut self.spare));
            requests.extend(self.requests());
            let evaluated = evaluate(evaluator, &requests, &mut evaluations);
            self.spare = recycle(requests);
            match evaluated {
                Ok(()) => self.apply_round(&mut evaluations.rows()),
                Err(_) => self.abandon_round(),
            }
            self.evaluations = evaluations;
            evaluated?;
        }
        Ok(())
    }

    /// Continues a search that was begun until leaves of a [round](Search#rounds) need evaluations. Returns false if
    /// the search is over.
    pub(crate) fn next_round(&mut self, random: &mut Random) -> bool {
        self.take_off(random, |_| usize::MAX)
    }

    /// Returns the requests for the leaves of the round, at least one.
    pub fn requests(&self) -> impl Iterator<Item = Request<'_, G>> {
        self.flights[..self.flying]
            .iter()
            .filter(|flight| flight.asks)
            .map(|flight| flight.walk.request(flight.seed))
    }

    /// Adds the evaluations of the round's leaves, taken in the order of the requests.
    ///
    /// # Panics
    ///
    /// If there are too few evaluations, or if an evaluation does not have one prior for each legal action of its leaf.
    pub(crate) fn apply_round<'e>(&mut self, evaluations: &mut impl Iterator<Item = Evaluation<'e>>) {
        self.release();
        for flight in self.flights[..self.flying].iter().filter(|flight| flight.asks) {
            let evaluation = evaluations.next().expect("one evaluation for each request");
            self.tree.apply(&flight.walk, evaluation);
        }
    }

    /// Drops the round, as if its simulations had not been made.
    fn abandon_round(&mut self) {
        self.release();
        self.done -= self.flights[..self.flying].iter().filter(|flight| flight.asks).count();
    }

    /// Stops counting the simulations of the round as losses for each other.
    fn release(&mut self) {
        if self.tree.has_walks() {
            self.flights[..self.flying].iter().for_each(|flight| self.tree.release(&flight.walk));
        }
    }

    /// Makes rounds until one has leaves to evaluate. Returns false if the search is over or if `more` permits no
    /// simulations.
    fn take_off(&mut self, random: &mut Random, mut more: impl FnMut(&Search<G>) -> usize) -> bool {
        loop {
            self.solve();
            if self.is_over() {
                return false;
            }
            let permitted = if self.tree.has_root() { more(self) } else { 1 };
            match self.round(permitted) {
                0 => return false,
                1 => self.gather::<false>(1, random),
                size => self.gather::<true>(size, random),
            }
            if self.requests().next().is_some() {
                return true;
            }
            self.release();
        }
    }

    /// Returns the number of simulations in the next round.
    fn round(&self, permitted: usize) -> usize {
        let leaves = match self.tree.config.leaves {
            0 => (self.tree.visits() / VISITS_A_LEAF).clamp(1, MOST_LEAVES) as usize,
            leaves => leaves,
        };
        let rest = self.planned.map_or(usize::MAX, |planned| planned.saturating_sub(self.done).max(1));
        // the first simulation below the root also makes the root's plan, so it is made alone
        let together = if self.begun { self.tree.together() } else { 1 };
        leaves.min(rest).min(together).min(permitted)
    }

    /// Makes up to `size` simulations. If there may be several (`BESIDE`), each takes the others into account.
    /// Afterward, the simulations that need an evaluation are in flight.
    fn gather<const BESIDE: bool>(&mut self, size: usize, random: &mut Random) {
        self.flying = 0;
        for _ in 0..size {
            if self.flying > 0 && self.is_over() {
                return;
            }
            if self.flying == self.flights.len() {
                self.flights.push(LeavesInFlight::new(self.tree.root()));
            }
            let leaf = self.simulate::<BESIDE>(self.flying, random);
            self.flights[self.flying].asks = leaf == Leaf::Needs;
            self.flying += (leaf != Leaf::Terminal) as usize;
            if leaf == Leaf::Awaited {
                self.done -= 1;
                if self.tree.together() < usize::MAX {
                    // the root's plan counts every simulation, so this one must be made again later
                    self.tree.take_back();
                    return;
                }
            }
        }
    }

    /// Makes the position after `action` the root, and keeps its subtree if the config says so. The search of the new
    /// root has not begun.
    ///
    /// ```
    /// # use petteia::config::SearchConfig;
    /// # use petteia::game::Game;
    /// # use petteia::games::connect_four::ConnectFour;
    /// # use petteia::random::{Purpose, stream};
    /// # use petteia::search::{Search, evaluator::Rollout};
    /// let mut search = Search::new(ConnectFour, SearchConfig::default(), ConnectFour.initial());
    /// search.run(&mut Rollout::new(ConnectFour), 200, &mut stream(1, Purpose::Agent, &[]))?;
    /// let played = search.tree().root_edges().max_by_key(|edge| edge.visits).expect("there are actions");
    /// search.advance(played.action);
    /// assert_eq!(search.tree().visits(), played.visits);
    /// # Ok::<(), petteia::error::Error>(())
    /// ```
    pub fn advance(&mut self, action: Action) {
        self.tree.advance(action);
        self.looked = false;
        self.begin(Some(0), false);
    }

    /// Starts again at another position with an empty tree, but keeps the memory. The search of the new root has not
    /// begun.
    pub fn restart(&mut self, root: G::State) {
        self.tree.restart(root);
        self.looked = false;
        self.begin(Some(0), false);
    }

    /// Runs the solver, once, on an evaluated root before it is searched.
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
        // the values of the actions are worth finding out only if the position itself can be solved
        if let Some(actions) = solver.look(self.tree.root()) {
            self.tree.prove(&actions);
        }
    }

    /// Makes one simulation in the slot `flight`. If the leaf needs an evaluation, the simulation is then in flight.
    fn simulate<const BESIDE: bool>(&mut self, flight: usize, random: &mut Random) -> Leaf {
        if !self.begun && self.tree.has_root() {
            let rest = self.planned.map(|planned| planned - self.done);
            self.tree.begin(rest, self.noise.map(|scale| (scale, &mut *random)));
            self.begun = true;
        }
        self.done += 1;
        let LeavesInFlight { walk, seed, .. } = &mut self.flights[flight];
        let leaf = if BESIDE { self.tree.select_beside(walk) } else { self.tree.select(walk) };
        if leaf != Leaf::Needs {
            return leaf;
        }
        // the root is always evaluated, for its priors
        let nodes = self.tree.config.leaf_nodes as u64;
        let solver = self.solver.as_mut().filter(|_| nodes > 0 && self.tree.has_root());
        if let Some(outcome) = solver.and_then(|solver| solver.probe(walk.leaf().0, nodes)) {
            if BESIDE {
                self.tree.release(walk);
            }
            self.tree.apply_result(walk, outcome, proof::FAR);
            return Leaf::Terminal;
        }
        *seed = random.random();
        leaf
    }
}

#[cfg(test)]
mod tests {
    use super::evaluator::Rollout;
    use super::nodes::Nodes;
    use super::*;
    use crate::config::RootKind;
    use crate::error::Error;
    use crate::game::{GameOptions, Outcome, Variants};
    use crate::games::connect_four::ConnectFour;
    use crate::games::tic_tac_toe::TicTacToe;
    use crate::random::{Purpose, stream};

    /// Rollouts that fail at batch `fails_at`, and record the sizes of the batches.
    struct Counting<G> {
        rollout: Rollout<G>,
        batches: Vec<usize>,
        fails_at: usize,
    }

    impl<G: Game> Evaluator<G> for Counting<G> {
        fn evaluate(&mut self, requests: &[Request<G>], out: &mut Evaluations) -> Result<()> {
            if self.batches.len() == self.fails_at {
                return Err(Error::Interrupted);
            }
            self.batches.push(requests.len());
            self.rollout.evaluate(requests, out)
        }
    }

    fn counting<G: Game>(game: &G) -> Counting<G> {
        Counting { rollout: Rollout::new(game.clone()), batches: Vec::new(), fails_at: usize::MAX }
    }

    /// Asserts that nothing is in flight, every leaf was added once, and each node has one visit more than its edges.
    fn is_sound(nodes: &Nodes) {
        let mut children = 0;
        for node in 0..nodes.size().0 {
            let edges = &nodes.edges[nodes.get(node).range()];
            assert_eq!(nodes.get(node).visits, 1 + edges.iter().map(|edge| edge.visits).sum::<u32>());
            children += edges.iter().filter(|edge| edge.link.child().is_some()).count();
            assert!(edges.iter().all(|edge| edge.waiting == 0));
            // simulations end at a proven edge, so its child may have fewer visits
            for edge in edges.iter().filter(|edge| edge.link.proven().is_none()) {
                assert_eq!(edge.link.child().map_or(0, |child| nodes.get(child).visits), edge.visits);
            }
        }
        assert_eq!(children + 1, nodes.size().0, "a leaf was added twice");
    }

    fn search<G: Game>(game: &G, leaves: usize, root: RootKind) -> Search<G> {
        let config = SearchConfig::with(|search| (search.leaves, search.root) = (leaves, root));
        Search::new(game.clone(), config, game.initial())
    }

    fn rounds_are_sound<G: Variants>() {
        let game = G::new(&GameOptions::default()).unwrap();
        for root in [RootKind::Puct, RootKind::Gumbel] {
            for leaves in [0, 1, 3, 16] {
                let mut search = search(&game, leaves, root);
                let mut random = stream(1, Purpose::Agent, &[]);
                let mut evaluator = counting(&game);
                for ply in 0..4 {
                    search.run(&mut evaluator, 300, &mut random).unwrap();
                    assert_eq!(search.simulations(), 300, "{leaves} leaves, ply {ply}");
                    is_sound(&search.tree.nodes);
                    search.advance(search.tree.best_action().unwrap());
                    is_sound(&search.tree.nodes);
                }
                assert!(evaluator.batches.iter().sum::<usize>() <= 1200);
                let largest = evaluator.batches.iter().max().copied().unwrap();
                let expected = if leaves == 0 { 4 } else { leaves };
                assert!(largest <= expected.max(1200 / 64) && (largest > 1) == (leaves != 1), "{largest}");
            }
        }
    }

    #[test]
    fn rounds_leave_a_sound_tree() {
        rounds_are_sound::<ConnectFour>();
    }

    #[test]
    fn a_round_that_fails_leaves_the_tree_as_it_was() {
        let game = ConnectFour::new(&GameOptions::default()).unwrap();
        let mut search = search(&game, 8, RootKind::Puct);
        let mut random = stream(1, Purpose::Agent, &[]);
        let mut evaluator = Counting { fails_at: 20, ..counting(&game) };
        assert!(search.run(&mut evaluator, 400, &mut random).is_err());
        is_sound(&search.tree.nodes);
        assert_eq!(search.simulations(), search.tree.visits() as usize);
        let before = search.simulations();
        evaluator.fails_at = usize::MAX;
        search.run(&mut evaluator, 100, &mut random).unwrap();
        assert_eq!(search.tree.visits() as usize, before + 100);
    }

    /// Sequential halving gives every action its simulations, however many are in flight at once.
    #[test]
    fn halving_is_the_same_in_rounds() {
        let game = ConnectFour::new(&GameOptions::default()).unwrap();
        let shares = [1, 4, 64].map(|leaves| {
            let mut search = search(&game, leaves, RootKind::Gumbel);
            search.run(&mut counting(&game), 120, &mut stream(3, Purpose::Agent, &[])).unwrap();
            let mut visits: Vec<u32> = search.tree.root_edges().map(|edge| edge.visits).collect();
            visits.sort_unstable();
            visits
        });
        assert!(shares.iter().all(|visits| *visits == shares[0]), "{shares:?}");
    }

    #[test]
    fn solved_games_are_solved_in_rounds() {
        let game = TicTacToe::new(&GameOptions::default()).unwrap();
        let start = game.parse_state("X../.O./... X").unwrap();
        for leaves in [1, 8, 64] {
            let mut search = search(&game, leaves, RootKind::Puct);
            search.restart(start);
            search.run(&mut counting(&game), 200_000, &mut stream(1, Purpose::Agent, &[])).unwrap();
            assert_eq!(search.tree.proven(), Some(Outcome::Draw), "{leaves} leaves");
            is_sound(&search.tree.nodes);
        }
    }
}
