//! Agents that search. A [`Searcher`] keeps the tree of a game and is driven by code that has an evaluator. A
//! [`SearchAgent`] has its own evaluator. If many games are played at once, their leaves are evaluated
//! together instead.

use super::agent::{Agent, MakeEvaluator, Needs};
use crate::config::SearchConfig;
use crate::error::Result;
use crate::game::{Action, Game, Outcome};
use crate::random::Random;
use crate::search::Search;
use crate::search::evaluator::Evaluator;
use crate::search::policy::draw;
use crate::search::together::Task;
use crate::search::tree::{Edge, Tree};

/// An agent with a temperature never plays an action that it would draw less often than this, relative to its likeliest
/// action.
const LEAST: f32 = 0.1;

/// The searches of one game; keeps the tree between actions.
pub struct Searcher<G: Game> {
    game: G,
    config: SearchConfig,
    simulations: usize,
    /// The temperature at which actions are drawn; 0 plays the best action.
    temperature: f32,
    random: Random,
    search: Option<Search<G>>,
    /// Whether [`Searcher::think`] is still working on its position.
    thinks: bool,
}

debug_fields!(Searcher<G: Game>, simulations, config, search);

impl<G: Game> Searcher<G> {
    pub(super) fn new(game: G, config: SearchConfig, simulations: usize, random: Random) -> Searcher<G> {
        Searcher { game, config, simulations, temperature: 0.0, random, search: None, thinks: false }
    }

    /// Draws actions at this temperature from now on.
    pub(super) fn at(self, temperature: f32) -> Searcher<G> {
        Searcher { temperature, ..self }
    }

    /// Returns the default number of simulations.
    pub fn simulations(&self) -> usize {
        self.simulations
    }

    /// Returns whether the searcher draws its actions at a temperature.
    pub fn draws(&self) -> bool {
        self.temperature > 0.0
    }

    /// Begins to search `state`, in which the game must not be over, for `planned` simulations or without a limit. The
    /// search builds on the tree kept from the previous position.
    pub fn begin(&mut self, state: &G::State, planned: Option<usize>) {
        let fits = self.search.as_ref().is_some_and(|search| search.tree().root() == state);
        if !fits {
            self.search = Some(Search::new(self.game.clone(), self.config.clone(), state.clone()));
        }
        self.search_mut().begin(planned, false);
    }

    /// Searches `state` with the default number of simulations over several calls: returns true whenever leaves need to
    /// be evaluated, and false once the search is over.
    pub fn think(&mut self, state: &G::State) -> bool {
        if !self.thinks {
            self.begin(state, Some(self.simulations));
        }
        self.thinks = self.go_on();
        self.thinks
    }

    /// Continues the search; returns false if it is over.
    fn go_on(&mut self) -> bool {
        let search = self.search.as_mut().expect("a search was begun");
        search.next_round(&mut self.random)
    }

    /// Returns the agent's action after a search.
    ///
    /// An agent with a temperature draws among its plausible actions, weighted by their visits and priors to the power
    /// of 1 / temperature. The agent always plays an action that wins at once, and the best action if its search has
    /// solved the position.
    ///
    /// # Panics
    /// If the root was not evaluated.
    pub fn choose(&mut self) -> Action {
        let tree = self.search.as_ref().expect("a search was begun").tree();
        let best = tree.agents_action().expect("the root was evaluated");
        if self.temperature == 0.0 || tree.is_solved() {
            return best;
        }
        win_at_hand(&self.game, tree.root())
            .unwrap_or_else(|| draw(&plausible(tree, self.temperature), self.temperature, &mut self.random))
    }

    /// Moves the tree on to the position after `action`; drops the tree if its root is not `before`.
    pub fn played(&mut self, before: &G::State, action: Action) {
        match &mut self.search {
            Some(search) if search.tree().root() == before => search.advance(action),
            _ => self.search = None,
        }
    }
}

/// The search that was [begun](Searcher::begin), as a task whose leaves go to evaluator 0.
///
/// # Panics
/// If no search was begun.
impl<G: Game> Task<G> for Searcher<G> {
    fn advance(&mut self) -> Result<Option<usize>> {
        Ok(self.go_on().then_some(0))
    }

    fn search(&self) -> &Search<G> {
        self.search.as_ref().expect("a search was begun")
    }

    fn search_mut(&mut self) -> &mut Search<G> {
        self.search.as_mut().expect("a search was begun")
    }
}

/// Returns an action that wins the game at once, if there is one.
pub(super) fn win_at_hand<G: Game>(game: &G, state: &G::State) -> Option<Action> {
    let won = Some(Outcome::Win(game.to_move(state)));
    game.legal(state).into_iter().find(|action| {
        let mut next = state.clone();
        game.play(&mut next, *action);
        game.outcome(&next) == won
    })
}

/// Returns the actions that are drawn at least [`LEAST`] times as often as the likeliest, with their weights in
/// thousandths of a visit or of a prior of 1. Without this limit, the agent would play actions that make no sense to
/// the network.
fn plausible<G: Game>(tree: &Tree<G>, temperature: f32) -> Vec<(Action, u32)> {
    let weight = |edge: &Edge| (((edge.visits as f32 + edge.prior) * 1000.0) as u32).max(1);
    let mut weights: Vec<(Action, u32)> =
        tree.targets().iter().map(|(edge, _)| (edge.action, weight(edge))).collect();
    let top = weights.iter().map(|(_, weight)| *weight).max().unwrap_or(0) as f32;
    weights.retain(|(_, weight)| *weight as f32 >= top * libm::powf(LEAST, temperature));
    weights
}

/// Chooses actions by tree search, with its own evaluator.
pub struct SearchAgent<G: Game> {
    searcher: Searcher<G>,
    evaluator: Box<dyn Evaluator<G>>,
    /// Makes an evaluator for another number of threads; `None` if this evaluator is the only one.
    make: Option<MakeEvaluator<G>>,
    threads: usize,
}

debug_fields!(SearchAgent<G: Game>, searcher);

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The action to play.
    pub action: Action,
    /// The expected result for the player to move, -1..1.
    pub value: f32,
    /// The visits of every legal action, in ascending order of actions.
    pub visits: Vec<(Action, u32)>,
    /// The evaluator's probability of every legal action, in the same order.
    pub priors: Vec<(Action, f32)>,
    /// The expected result after every legal action, for the player to move, -1..1, in the same order; `None` for
    /// actions that the search did not visit.
    pub values: Vec<(Action, Option<f32>)>,
    /// The expected line of play, starting with `action`.
    pub principal_variation: Vec<Action>,
    /// The number of [simulations](Search).
    pub simulations: usize,
}

impl<G: Game> SearchAgent<G> {
    /// Returns an agent that searches this many [simulations](Search) per action. Rollouts get their seeds from
    /// `random`.
    pub fn new(
        game: G,
        config: SearchConfig,
        simulations: usize,
        evaluator: impl Evaluator<G> + 'static,
        random: Random,
    ) -> SearchAgent<G> {
        let searcher = Searcher::new(game, config, simulations, random);
        SearchAgent { searcher, evaluator: Box::new(evaluator), make: None, threads: 1 }
    }

    /// Returns an agent that makes its own evaluator for this many threads.
    pub(super) fn threaded(searcher: Searcher<G>, make: MakeEvaluator<G>, threads: usize) -> SearchAgent<G> {
        SearchAgent { searcher, evaluator: make(Needs::alone(threads)), make: Some(make), threads }
    }

    /// Sets the number of threads for further searches, at least 1; an agent made from a single evaluator keeps one
    /// thread.
    pub fn use_threads(&mut self, threads: usize) {
        if let Some(make) = self.make.as_ref().filter(|_| threads != self.threads) {
            (self.evaluator, self.threads) = (make(Needs::alone(threads)), threads);
        }
    }

    /// Searches `state`, in which the game must not be over, with the agent's number of simulations, building on the
    /// tree kept from the previous position.
    ///
    /// # Errors
    /// If the evaluator fails.
    pub fn analyze(&mut self, state: &G::State) -> Result<Analysis> {
        self.search(state, Some(self.simulations()), |_| usize::MAX)
    }

    /// Searches `state` for `planned` simulations or without a limit, building on the kept tree. `more` is called from
    /// time to time and returns how many further simulations it permits; 0 ends the search. The root is always
    /// evaluated. A search without a limit has a PUCT root.
    ///
    /// # Errors
    /// If the evaluator fails.
    pub fn search(
        &mut self,
        state: &G::State,
        planned: Option<usize>,
        more: impl FnMut(&Search<G>) -> usize,
    ) -> Result<Analysis> {
        self.begin(state, planned);
        self.go_on(more)?;
        Ok(self.analysis())
    }

    /// Begins a search like that of [`SearchAgent::search`], which [`SearchAgent::go_on`] continues.
    pub fn begin(&mut self, state: &G::State, planned: Option<usize>) {
        self.searcher.begin(state, planned);
    }

    /// Continues a search that was begun until it [is over](SearchAgent::is_over) or `more` permits no further
    /// simulations. A search that is stopped and continued gives the same result as one that never stops, if it always
    /// gets as many simulations as it asks for.
    ///
    /// # Panics
    /// If no search was begun.
    ///
    /// # Errors
    /// If the evaluator fails; the search is then forgotten.
    pub fn go_on(&mut self, more: impl FnMut(&Search<G>) -> usize) -> Result<()> {
        let Searcher { random, search, .. } = &mut self.searcher;
        let begun = search.as_mut().expect("a search was begun");
        let gone_on = begun.run_while(self.evaluator.as_mut(), random, more);
        if gone_on.is_err() {
            *search = None;
        }
        gone_on
    }

    /// Returns whether the search that was begun has nothing left to do.
    pub fn is_over(&self) -> bool {
        self.searcher.search.as_ref().is_none_or(Search::is_over)
    }

    /// Returns the current result of a search that was begun.
    ///
    /// # Panics
    /// If no search was begun, or its root was not evaluated.
    pub fn analysis(&self) -> Analysis {
        Analysis::of(self.searcher.search.as_ref().expect("a search was begun"))
    }

    /// Returns the search that was begun.
    pub fn begun(&self) -> Option<&Search<G>> {
        self.searcher.search.as_ref()
    }

    /// Returns an action for a game against a person, so that games against the same agent vary. The action is drawn by
    /// visits from those that the last search visited at least half as often as `analysis.action`. A proven result is
    /// never given away. An agent with a temperature varies in any case.
    pub fn varied(&mut self, analysis: &Analysis) -> Action {
        if self.searcher.draws() {
            return self.searcher.choose();
        }
        let is_solved = self.searcher.search.as_ref().is_some_and(|search| search.tree().is_solved());
        let best = analysis.visits.iter().find(|(action, _)| *action == analysis.action);
        let least = best.map_or(0, |(_, visits)| visits.div_ceil(2)).max(1);
        let good: Vec<(Action, u32)> =
            analysis.visits.iter().copied().filter(|(_, visits)| *visits >= least).collect();
        if is_solved || good.is_empty() {
            analysis.action
        } else {
            draw(&good, 1.0, &mut self.searcher.random)
        }
    }

    /// Returns the action to play after the last search; see [`Searcher::choose`].
    ///
    /// # Panics
    /// If there was no search.
    pub fn chosen(&mut self) -> Action {
        self.searcher.choose()
    }

    /// Returns the agent's default number of simulations.
    pub fn simulations(&self) -> usize {
        self.searcher.simulations
    }

    /// Forgets the game and returns the kept search.
    pub fn forget(&mut self) -> Option<Search<G>> {
        self.searcher.search.take()
    }
}

impl Analysis {
    /// Returns the current result of a search.
    ///
    /// # Panics
    ///
    /// If the root was not evaluated.
    pub fn of<G: Game>(search: &Search<G>) -> Analysis {
        let tree = search.tree();
        Analysis {
            action: tree.agents_action().expect("the root was evaluated"),
            value: tree.search_value().value(),
            visits: tree.root_edges().map(|edge| (edge.action, edge.visits)).collect(),
            priors: tree.root_edges().map(|edge| (edge.action, edge.prior)).collect(),
            values: tree.root_edges().map(|edge| (edge.action, edge.mean_for(tree.mover()))).collect(),
            principal_variation: tree.principal_variation(),
            simulations: search.simulations(),
        }
    }
}

impl<G: Game> Agent<G> for SearchAgent<G> {
    fn choose(&mut self, state: &G::State) -> Result<Action> {
        self.analyze(state)?;
        Ok(self.searcher.choose())
    }

    fn played(&mut self, before: &G::State, action: Action) {
        self.searcher.played(before, action);
    }
}
