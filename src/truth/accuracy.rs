//! How often an agent errs in positions whose value is known.
//!
//! An *error* is an action that does not keep the value of the position: it turns a win into a draw or a loss, or a
//! draw into a loss. The error rate is the share of errors among all positions, including those in which no action is
//! an error, as in AlphaZero.jl's benchmark; positions whose actions have unknown values are left out. An action is
//! *slow* if scores are known and the action does not have the best score: it wins later, or loses sooner, than
//! possible. The agent's value *agrees* if it has the same sign as the position's value; drawn positions do not count.
//! The Brier score is the mean square of the difference between the expected score, (value + 1) / 2, and the true
//! score; a value of 0 everywhere gives 0.25 in won and lost positions.
//!
//! Each position is judged on its own, with its own random stream, so the result does not depend on the number of
//! threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;

use super::set::{Position, Set};
use crate::any::AnyGame;
use crate::arena::checked;
use crate::arena::contestant::Contestant;
use crate::arena::elo::wilson;
use crate::arena::searching::{Analysis, Searcher};
use crate::error::{Error, Result};
use crate::game::Action;
use crate::parallel;
use crate::random::{Purpose, stream};
use crate::search::together::{self, Task};
use crate::train::reliability::{Bin, Reliability};

/// The number of successive plies that are counted together.
pub const PLIES: usize = 7;

/// How an agent that searches chooses its action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// The search that the agent's specification gives.
    Own,
    /// No search: the action with the greatest prior, and the value that the evaluator gives to the position itself.
    Policy,
    /// A search of this many simulations.
    Simulations(usize),
}

/// Counts over a set of positions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tally {
    /// The number of positions.
    pub positions: usize,
    /// The number of positions in which the values of the actions are known.
    pub judged: usize,
    /// The number of positions in which an error is possible.
    pub choices: usize,
    /// The number of positions in which the agent erred.
    pub errors: usize,
    /// The number of positions with scores.
    pub scored: usize,
    /// The number of positions in which the agent's action does not have the best score, including errors.
    pub slow: usize,
    /// The number of won or lost positions for which the agent has a value.
    pub decided: usize,
    /// The number of decided positions in which the sign of the agent's value is right.
    pub agreed: usize,
    /// The number of positions for which the agent has a value.
    pub valued: usize,
    /// The sum of the squared errors of the expected score.
    pub squares: f64,
}

impl Tally {
    /// Returns the share of errors among the positions in which an error would be noticed, with 95% bounds.
    pub fn error_rate(&self) -> Option<Rate> {
        Rate::of(self.errors, self.judged)
    }

    /// Returns the share of slow actions among the positions with scores.
    pub fn slow_rate(&self) -> Option<Rate> {
        Rate::of(self.slow, self.scored)
    }

    /// Returns the share of right signs among the decided positions.
    pub fn agreement(&self) -> Option<Rate> {
        Rate::of(self.agreed, self.decided)
    }

    /// Returns the mean squared error of the expected score.
    pub fn brier(&self) -> Option<f64> {
        (self.valued > 0).then(|| self.squares / self.valued as f64)
    }

    fn add(&mut self, position: &Position, answer: &AgentAnswer) {
        let value = position.value;
        self.positions += 1;
        if let Some(place) = position.values.iter().position(|(action, _)| *action == answer.action) {
            self.judged += 1;
            self.choices += usize::from(position.has_choice());
            self.errors += usize::from(position.values[place].1 < value);
            self.scored += usize::from(!position.scores.is_empty());
            self.slow += usize::from(position.scores.iter().any(|score| *score > position.scores[place]));
        }
        if let Some(expected) = answer.value {
            self.decided += usize::from(value != 0);
            self.agreed += usize::from(f32::from(value) * expected > 0.0);
            self.valued += 1;
            self.squares += (f64::from(expected) - f64::from(value)).powi(2) / 4.0;
        }
    }
}

/// A share with its 95% bounds (Wilson).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// The share, 0..1.
    pub rate: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

impl Rate {
    /// Returns the share of `hits` in `all`; `None` if there are no positions.
    fn of(hits: usize, all: usize) -> Option<Rate> {
        let rate = hits as f64 / all as f64;
        let (low, high) = wilson(rate, all as f64);
        (all > 0).then(|| Rate { rate, low: low.max(0.0), high: high.min(1.0) })
    }
}

/// The accuracy of an agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Accuracy {
    /// The counts over all positions.
    pub all: Tally,
    /// The counts by class, in the order of the set; only classes with positions.
    pub classes: Vec<(String, Tally)>,
    /// The counts by the number of plies played. [`PLIES`] successive plies are counted together, and each entry names
    /// the first of them.
    pub plies: Vec<(usize, Tally)>,
    /// The true values by ranges of the agent's value; only ranges with positions.
    pub reliability: Vec<Bin>,
}

/// An agent's answer for a position.
#[derive(Clone, Copy, Debug)]
struct AgentAnswer {
    action: Action,
    value: Option<f32>,
}

/// Measures an agent in every position of a set. `tick` receives the number of positions done and ends the work by
/// returning false.
///
/// ```
/// use petteia::arena::contestant::Contestant;
/// use petteia::arena::spec::AgentSpec;
/// use petteia::game::{GameOptions, Rules};
/// use petteia::games::tic_tac_toe::TicTacToe;
/// use petteia::solve::Limits;
/// use petteia::truth::accuracy::{Budget, measure};
/// use petteia::truth::{endgames, set};
///
/// # let folder = tempfile::tempdir().map_err(petteia::error::Error::io("a temporary folder"))?;
/// # let folder = folder.path();
/// let rules = Rules::<TicTacToe>::new(&GameOptions::default())?.opened();
/// let (limits, made_by) = (Limits::default(), "an example".to_string());
/// let plan = endgames::SetPlan { count: 8, seed: 1, before_end: 4..=7, limits, made_by };
/// let (header, lines) = endgames::make(&rules, &plan, &|_positions| true)?;
/// let path = folder.join("endgames.jsonl.zst");
/// set::write(&path, &header, &lines)?;
///
/// let (set, perfect) = (set::read(&path, &rules)?, Contestant::new(&rules, &AgentSpec::Perfect)?);
/// let found = measure(&rules.game, &set, &perfect, Budget::Own, 1, &|_done| true)?;
/// assert_eq!((found.all.judged, found.all.errors), (8, 0));
/// # Ok::<(), petteia::error::Error>(())
/// ```
///
/// # Errors
/// Returns the agent's error, [`Error::Interrupted`] if `tick` returns false, or another error if a budget is given
/// for an agent that does not search.
pub fn measure(
    game: &AnyGame,
    set: &Set,
    agent: &Contestant<AnyGame>,
    budget: Budget,
    seed: u64,
    tick: &(dyn Fn(usize) -> bool + Sync),
) -> Result<Accuracy> {
    let simulations = match budget {
        Budget::Own => None,
        // one simulation evaluates only the root
        Budget::Policy => Some(1),
        Budget::Simulations(simulations) => Some(simulations),
    };
    let random = |index: usize| stream(seed, Purpose::Agent, &[index as u64]);
    let positions = &set.positions;
    let answers = if agent.searches() {
        let begin = |index: usize| {
            let mut searcher = agent.searcher(random(index)).expect("the agent searches");
            searcher.begin(&positions[index].state, Some(simulations.unwrap_or(searcher.simulations())));
            Ok(searcher)
        };
        let evaluator = |_| agent.evaluator().expect("the agent searches");
        let in_flight = Contestant::in_flight(&[agent], positions.len(), simulations);
        let end = |searcher: Searcher<AnyGame>| answer(searcher, budget);
        together::map(positions.len(), in_flight, begin, end, evaluator, tick)?
    } else if budget == Budget::Own {
        let count = AtomicUsize::new(0);
        parallel::map(positions.len(), &|index| {
            if !tick(count.load(Ordering::Relaxed)) {
                return Err(Error::Interrupted);
            }
            let state = &positions[index].state;
            let action = checked(game, state, agent.agent(random(index)).choose(state)?)?;
            count.fetch_add(1, Ordering::Relaxed);
            Ok(AgentAnswer { action, value: None })
        })?
    } else {
        let agent = agent.identity();
        return Err(Error::Config(format!("agent {agent} does not search, so it cannot be given a budget")));
    };
    Ok(counted(set, &answers))
}

/// Returns the answer of a search.
fn answer(mut searcher: Searcher<AnyGame>, budget: Budget) -> AgentAnswer {
    let analysis = Analysis::of(searcher.search());
    let priors = analysis.priors.iter().rev();
    let most_likely = priors.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(action, _)| *action);
    let action = match budget {
        Budget::Policy => most_likely.unwrap_or(analysis.action),
        _ => searcher.choose(),
    };
    AgentAnswer { action, value: Some(analysis.value) }
}

fn counted(set: &Set, answers: &[AgentAnswer]) -> Accuracy {
    let mut all = Tally::default();
    let mut classes: BTreeMap<usize, Tally> = BTreeMap::new();
    let mut plies: BTreeMap<usize, Tally> = BTreeMap::new();
    for (position, answer) in set.positions.iter().zip(answers) {
        all.add(position, answer);
        if let Some(class) = position.class {
            classes.entry(class).or_default().add(position, answer);
        }
        if let Some(number) = position.plies {
            plies.entry(number / PLIES * PLIES).or_default().add(position, answer);
        }
    }
    let classes =
        classes.into_iter().map(|(class, tally)| (set.header.classes[class].clone(), tally)).collect();
    Accuracy { all, classes, plies: plies.into_iter().collect(), reliability: reliability(set, answers) }
}

/// Returns the mean of the true values for each range of the agent's values.
fn reliability(set: &Set, answers: &[AgentAnswer]) -> Vec<Bin> {
    let mut table = Reliability::default();
    for (position, answer) in set.positions.iter().zip(answers) {
        if let Some(expected) = answer.value {
            table.add(expected, f64::from(position.value));
        }
    }
    table.bins()
}
