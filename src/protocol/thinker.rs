//! Runs one search after another. Each search takes a task and returns a report, and the tree is kept from one position
//! of a game to the next.
//!
//! A search ends at the first of its limits, when the root is solved, when its memory is full, or when it is stopped. A
//! search always finds an action, unless the agent's evaluator fails, in which case the search fails, too. On a clock,
//! a search also ends when more time could not change the action, and it continues beyond its share while the most
//! visited action is not the one with the best value.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::clock::{Clock, TimeBudget};
use crate::any::{AnyGame, AnyState};
use crate::arena::agent::Agent;
use crate::arena::searching::{Analysis, SearchAgent};
use crate::config::limits::MAX_SIMULATIONS;
use crate::error::{Error, Result};
use crate::game::{Action, Game, line_text};
use crate::random::{Purpose, Random, choose, stream};
use crate::search::Search;
use crate::search::tree::{Edge, Tree};
use crate::session::Session;

/// The default memory of the tree, in MiB.
pub const DEFAULT_HASH: usize = 256;
/// The default memory of the tree, in bytes.
pub const DEFAULT_MEMORY: usize = DEFAULT_HASH << 20;
/// `depth N` ends after this many simulations per ply even if no line is that long.
const SIMULATIONS_PER_DEPTH: usize = 1_000;
/// The number of visits to the root at which a search ends.
const MOST_VISITS: u32 = 1 << 31;
/// The number of simulations between two checks of values that change slowly.
const LOOK: usize = 16;
/// The number of random games played to estimate how many actions a player still has ahead.
const GAMES_AHEAD: usize = 16;
/// How often an infinite search with nothing left to do checks whether it was stopped.
const IDLE: Duration = Duration::from_millis(2);
/// The first pause between two reports of a search; it doubles up to `LONGEST_PAUSE`.
const FIRST_REPORT: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The limits of a search. The search ends at the first limit that is reached. Without limits, the search runs the
/// agent's own number of simulations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// The number of new [simulations](Search).
    pub simulations: Option<usize>,
    /// The length of the expected line, in actions.
    pub depth: Option<usize>,
    /// The time since the search began.
    pub time: Option<Duration>,
    /// A game's clock.
    pub clock: Option<Clock>,
    /// Whether the search ends only when it is stopped.
    pub infinite: bool,
}

/// The request for a search.
#[derive(Clone, Debug)]
pub struct Task {
    /// The position where the game began.
    pub start: AnyState,
    /// The actions played; the position that they reach must not be the end of the game.
    pub actions: Vec<Action>,
    /// When the search ends.
    pub limits: Limits,
    /// The memory for the tree, in bytes.
    pub memory: usize,
    /// Whether to keep thinking after the answer.
    pub ponder: bool,
    /// Whether this is a new game, for which nothing is kept from the previous game.
    pub fresh: bool,
    /// The number of threads of the search; `None` for the agent's own number.
    pub threads: Option<usize>,
    /// How often to report every action that was examined; `None` to report the best one from time to time.
    pub analysis: Option<Duration>,
    /// The rules, if they differ from those of the previous task and the agent can [play by
    /// them](Thinker::with_boards).
    pub game: Option<AnyGame>,
}

impl Task {
    /// Returns the task to search the position that a game has reached.
    pub fn of(session: &Session<AnyGame>, limits: Limits) -> Task {
        let (start, actions) = (session.start().clone(), session.actions().to_vec());
        Task {
            start,
            actions,
            limits,
            memory: DEFAULT_MEMORY,
            ponder: false,
            fresh: false,
            threads: None,
            analysis: None,
            game: None,
        }
    }
}

/// The findings of a search so far.
#[derive(Clone, Debug)]
pub struct Report {
    /// The action to play.
    pub action: Action,
    /// The value for the player to move, from -1 to 1.
    pub value: f32,
    /// The expected line in words, beginning with `action`.
    pub line: Vec<String>,
    /// The number of new [simulations](Search).
    pub simulations: usize,
    /// The time since the search began.
    pub elapsed: Duration,
    /// The findings about each examined action, the best first, if the task asks for them.
    pub candidates: Vec<Candidate>,
}

/// What a search found about an action.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The number of simulations through the action.
    pub visits: u32,
    /// The value for the player to move, from -1 to 1.
    pub value: f32,
    /// The evaluator's probability.
    pub prior: f32,
    /// The expected line in words, beginning with the action.
    pub line: Vec<String>,
}

/// Makes an agent for other rules.
type MakeAgent = Box<dyn Fn(&AnyGame) -> SearchAgent<AnyGame> + Send>;

/// An agent that thinks for a protocol.
pub struct Thinker {
    agent: SearchAgent<AnyGame>,
    /// The game that the agent has followed.
    session: Session<AnyGame>,
    random: Random,
    boards: Option<MakeAgent>,
}

debug_fields!(Thinker, session);

impl Thinker {
    /// Returns a thinker that has not seen a game yet.
    pub fn new(game: AnyGame, agent: SearchAgent<AnyGame>) -> Thinker {
        Thinker { agent, session: Session::new(game), random: stream(0, Purpose::Agent, &[]), boards: None }
    }

    /// Sets how an agent is made for a game on another board. Call this only if the agent can play on that board.
    pub fn with_boards(
        mut self,
        make: impl Fn(&AnyGame) -> SearchAgent<AnyGame> + Send + 'static,
    ) -> Thinker {
        self.boards = Some(Box::new(make));
        self
    }

    /// Searches until a limit is reached or `stop` is set. The time counts from `start_time`; `report` receives the
    /// findings from time to time.
    pub fn search(
        &mut self,
        task: &Task,
        start_time: Instant,
        stop: &AtomicBool,
        report: &mut dyn FnMut(&Report),
    ) -> Result<Report> {
        self.follow(task);
        if let Some(threads) = task.threads {
            self.agent.use_threads(threads);
        }
        if self.session.is_over() {
            return Err(Error::Position("the game is over: there is no action to search for".into()));
        }
        let mut ends =
            StopLimits::new(&task.limits, task.memory, self.budget(&task.limits), self.agent.simulations());
        let (game, state) = (self.session.game(), self.session.state());
        let mut pause = task.analysis.unwrap_or(FIRST_REPORT);
        let mut next_report = start_time + pause;
        let analysis = self.agent.search(state, ends.planned, |search| {
            let now = Instant::now();
            if now >= next_report {
                pause = task.analysis.unwrap_or_else(|| (2 * pause).min(LONGEST_PAUSE));
                next_report = now + pause;
                let candidates = task.analysis.map(|_| candidates(game, search));
                report(&report_of(game, state, &Analysis::of(search), candidates, start_time));
            }
            if stop.load(Ordering::Relaxed) { 0 } else { ends.permit(game, search, now - start_time) }
        })?;
        let candidates = task.analysis.and_then(|_| Some(candidates(game, self.agent.begun()?)));
        if task.limits.infinite {
            while !stop.load(Ordering::Relaxed) {
                std::thread::sleep(IDLE);
                if let Some(pause) = task.analysis.filter(|_| Instant::now() >= next_report) {
                    next_report = Instant::now() + pause;
                    report(&report_of(game, state, &analysis, candidates.clone(), start_time));
                }
            }
        }
        let analysis = match self.agent.chosen() {
            action if action == analysis.action => analysis,
            // an agent with a temperature may choose an action other than the first one of the line that its search
            // expects
            action => Analysis { action, principal_variation: vec![action], ..analysis },
        };
        Ok(report_of(game, state, &analysis, candidates, start_time))
    }

    /// Thinks about the reply to `action` until `more` returns false.
    pub fn ponder(&mut self, action: Action, memory: usize, mut more: impl FnMut() -> bool) -> Result<()> {
        self.play(action);
        if !self.session.is_over() {
            self.agent.search(self.session.state(), None, |search| {
                if has_room(search.tree(), memory) && more() { usize::MAX } else { 0 }
            })?;
        }
        Ok(())
    }

    /// Goes to the position of the task, and keeps the tree if that position continues the last game. With a large
    /// tree, this takes a while.
    pub fn follow(&mut self, task: &Task) {
        if let (Some(game), Some(make)) = (&task.game, &self.boards) {
            (self.agent, self.session) = (make(game), Session::new(game.clone()));
        }
        let continues = !task.fresh
            && *self.session.start() == task.start
            && task.actions.starts_with(self.session.actions());
        if !continues {
            // freeing a large tree takes a while, too
            let old = self.agent.forget();
            std::thread::spawn(move || drop(old));
            self.session.restart(task.start.clone());
        }
        for &action in &task.actions[self.session.actions().len()..] {
            self.play(action);
        }
    }

    fn play(&mut self, action: Action) {
        self.agent.played(self.session.state(), action);
        self.session.play(action);
    }

    fn budget(&mut self, limits: &Limits) -> Option<TimeBudget> {
        let clock = limits.clock?;
        Some(clock.budget(self.actions_ahead()))
    }

    /// Returns the average number of actions that the player to move takes until the end of a random game.
    fn actions_ahead(&mut self) -> f64 {
        let game = self.session.game();
        let player = game.to_move(self.session.state());
        let (mut legal, mut count) = (Vec::new(), 0);
        for _ in 0..GAMES_AHEAD {
            let mut state = self.session.state().clone();
            loop {
                game.legal_actions(&state, &mut legal);
                if legal.is_empty() {
                    break;
                }
                count += (game.to_move(&state) == player) as usize;
                game.play(&mut state, choose(&mut self.random, &legal));
            }
        }
        count as f64 / GAMES_AHEAD as f64
    }
}

fn report_of(
    game: &AnyGame,
    state: &AnyState,
    analysis: &Analysis,
    candidates: Option<Vec<Candidate>>,
    start_time: Instant,
) -> Report {
    let line = line_text(game, state, &analysis.principal_variation);
    let &Analysis { action, value, simulations, .. } = analysis;
    Report {
        action,
        value,
        line,
        simulations,
        elapsed: start_time.elapsed(),
        candidates: candidates.unwrap_or_default(),
    }
}

/// Returns the actions that a search examined: first the one that it would play, then the others by their visits.
fn candidates(game: &AnyGame, search: &Search<AnyGame>) -> Vec<Candidate> {
    let tree = search.tree();
    let best = tree.agents_action();
    let mut edges: Vec<Edge> =
        tree.root_edges().filter(|edge| edge.mean_for(tree.mover()).is_some()).collect();
    edges.sort_by_key(|edge| (Some(edge.action) != best, std::cmp::Reverse(edge.visits), edge.action));
    let candidate = |edge: &Edge| Candidate {
        visits: edge.visits,
        value: edge.mean_for(tree.mover()).unwrap_or_default(),
        prior: edge.prior,
        line: line_text(game, tree.root(), &tree.line_after(edge.action)),
    };
    edges.iter().map(candidate).collect()
}

/// The limits of a search.
struct StopLimits {
    /// The number of simulations with which the agent plans the root's budget.
    planned: Option<usize>,
    simulations: Option<usize>,
    depth: Option<usize>,
    time: Option<Duration>,
    budget: Option<TimeBudget>,
    memory: usize,
    /// The time of the first check, and the number of simulations until then.
    began: Option<(Duration, usize)>,
    /// The number of simulations since the first check at which slowly changing values are checked again.
    next_look: usize,
}

impl StopLimits {
    fn new(limits: &Limits, memory: usize, budget: Option<TimeBudget>, default: usize) -> StopLimits {
        let mut simulations = limits.simulations;
        if let Some(depth) = limits.depth {
            let limit = depth.max(1).saturating_mul(SIMULATIONS_PER_DEPTH);
            simulations = Some(simulations.map_or(limit, |number| number.min(limit)));
        }
        let is_timed = limits.time.is_some() || budget.is_some() || limits.infinite;
        if simulations.is_none() && !is_timed {
            simulations = Some(default);
        }
        let planned = simulations.filter(|simulations| *simulations <= MAX_SIMULATIONS && !is_timed);
        StopLimits {
            planned,
            simulations,
            depth: limits.depth,
            time: limits.time,
            budget,
            memory,
            began: None,
            next_look: 0,
        }
    }

    /// Returns the number of simulations that may follow before `permit` must be called again.
    fn permit(&mut self, game: &AnyGame, search: &Search<AnyGame>, elapsed: Duration) -> usize {
        let (tree, count) = (search.tree(), search.simulations());
        let left = self.simulations.map_or(usize::MAX, |limit| limit.saturating_sub(count));
        let (began, before) = *self.began.get_or_insert((elapsed, count));
        let count = count - before;
        let rate = count as f64 / (elapsed - began).as_secs_f64().max(1e-6);
        let end = [self.time, self.budget.map(|budget| budget.most)].into_iter().flatten().min();
        let in_time = match end {
            Some(end) if elapsed >= end => 0,
            Some(end) => ((rate * (end - elapsed).as_secs_f64()) as usize).max(1),
            None => usize::MAX,
        };
        let allowance = left.min(in_time);
        if allowance == 0 || count < self.next_look {
            return allowance;
        }
        self.next_look = count - count % LOOK + LOOK;
        let is_deep = self.depth.is_some_and(|depth| tree.principal_variation().len() >= depth);
        let is_worth_more = self.budget.is_none_or(|budget| worth_more(game, tree, budget, rate, elapsed));
        if is_deep || !is_worth_more || !has_room(tree, self.memory) { 0 } else { allowance }
    }
}

/// Returns whether a tree may grow: its memory is limited, and so are its visits, which are counted in 32 bits.
fn has_room(tree: &Tree<AnyGame>, memory: usize) -> bool {
    tree.size().1 < memory && tree.visits() < MOST_VISITS
}

/// Returns whether more time could change the action, at `rate` simulations per second.
fn worth_more(
    game: &AnyGame,
    tree: &Tree<AnyGame>,
    budget: TimeBudget,
    rate: f64,
    elapsed: Duration,
) -> bool {
    if tree.root_edges().len() == 1 {
        return false;
    }
    let player = game.to_move(tree.root());
    let value = |edge: &Edge| edge.mean_for(player).unwrap_or(-1.0);
    let (mut first, mut second): (Option<Edge>, u32) = (None, 0);
    let mut best_value = f32::NEG_INFINITY;
    for edge in tree.root_edges() {
        if edge.visits > 0 {
            best_value = best_value.max(value(&edge));
        }
        match &first {
            Some(top) if edge.visits <= top.visits => second = second.max(edge.visits),
            _ => second = second.max(first.replace(edge).map_or(0, |old| old.visits)),
        }
    }
    let Some(first) = first else { return true };
    let in_doubt = value(&first) < best_value;
    let end = if in_doubt { budget.most } else { budget.share };
    if elapsed >= end {
        return false;
    }
    // whether the second most visited action could still catch up at this rate
    let gain = rate * (end - elapsed).as_secs_f64();
    rate == 0.0 || in_doubt || gain + second as f64 > first.visits as f64
}
