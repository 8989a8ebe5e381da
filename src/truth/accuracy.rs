//! How often an agent errs in positions whose value is known.
//!
//! An *error* is an action that does not keep the value of the position: it turns a win into a draw or a loss, or a
//! draw into a loss. The rate is that of all positions, also of those in which no action errs, as in AlphaZero.jl's
//! benchmark; positions whose value is known but not those of their actions have no part in it. An action is *slow* if
//! it has not the best score, where scores are known: it wins later, or loses sooner, than it could. The agent's value
//! *agrees* if it has the sign of the position's value; drawn positions do not count. The Brier score is the mean
//! square of the difference between the expected score, (value + 1) / 2, and the true one; a value of 0 everywhere has
//! 0.25 in won and lost positions.
//!
//! Each position is judged on its own, with a random stream of its own, so the result does not depend on threads.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;

use super::set::{Position, Set};
use crate::any::AnyGame;
use crate::arena::agent::Contestant;
use crate::arena::checked;
use crate::arena::elo::wilson;
use crate::arena::searching::{Analysis, Searcher};
use crate::error::{Error, Result};
use crate::game::Action;
use crate::parallel;
use crate::random::{Purpose, stream};
use crate::search::together::{self, Task};
use crate::train::reliability::{Bin, Reliability};

/// Plies that are counted together.
pub const PLIES: usize = 7;

/// How an agent with a search chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// As the agent was specified.
    Own,
    /// The action of the greatest prior, and the value of the position's own evaluation: without a search.
    Policy,
    /// After a search of this many simulations.
    Simulations(usize),
}

/// Counts over some positions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tally {
    /// The positions.
    pub positions: usize,
    /// Those in which the values of the actions are known.
    pub judged: usize,
    /// Those in which an error is possible.
    pub choices: usize,
    /// Those in which the agent erred.
    pub errors: usize,
    /// Those with scores.
    pub scored: usize,
    /// Those in which the action has not the best score; errors count.
    pub slow: usize,
    /// Those that are won or lost and have a value of the agent.
    pub decided: usize,
    /// Those of them in which the sign of the agent's value is right.
    pub agreed: usize,
    /// Those with a value of the agent.
    pub valued: usize,
    /// The sum of the squares of the expected score's errors.
    pub squares: f64,
}

impl Tally {
    /// The share of errors among the positions in which one would be noticed, with 95% bounds.
    pub fn error_rate(&self) -> Option<Rate> {
        Rate::of(self.errors, self.judged)
    }

    /// The share of slow actions among the positions with scores.
    pub fn slow_rate(&self) -> Option<Rate> {
        Rate::of(self.slow, self.scored)
    }

    /// The share of right signs among the decided positions.
    pub fn agreement(&self) -> Option<Rate> {
        Rate::of(self.agreed, self.decided)
    }

    /// The mean square of the expected score's errors.
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

/// A share with its 95% bounds (Wilson's).
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
    /// `None` of nothing.
    fn of(hits: usize, all: usize) -> Option<Rate> {
        let rate = hits as f64 / all as f64;
        let (low, high) = wilson(rate, all as f64);
        (all > 0).then(|| Rate { rate, low: low.max(0.0), high: high.min(1.0) })
    }
}

/// How accurate an agent is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Accuracy {
    /// In all positions.
    pub all: Tally,
    /// By class, in the order of the set; only classes with positions.
    pub classes: Vec<(String, Tally)>,
    /// By the plies played: the first ply of [`PLIES`] that are counted together.
    pub plies: Vec<(usize, Tally)>,
    /// By the agent's value; only bins with positions.
    pub reliability: Vec<Bin>,
}

/// An agent's answer for a position.
#[derive(Clone, Copy, Debug)]
struct AgentAnswer {
    action: Action,
    value: Option<f32>,
}

/// Measures an agent in every position of a set. `tick` gets the number of positions done, and ends the work by
/// returning false.
///
/// # Errors
/// The agent's error; [`Error::Interrupted`] if `tick` says so; a budget of an agent that does not search.
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
        // the evaluation of the root
        Budget::Policy => Some(1),
        Budget::Simulations(simulations) => Some(simulations),
    };
    let random = |index: usize| stream(seed, Purpose::Agent, &[index as u64]);
    let positions = &set.positions;
    let answers = if agent.searches() {
        let begin = |index: usize| {
            let mut searcher = agent.searcher(random(index)).expect("it searches");
            searcher.begin(&positions[index].state, Some(simulations.unwrap_or(searcher.simulations())));
            Ok(searcher)
        };
        let evaluator = |_| agent.evaluator().expect("it searches");
        let most = Contestant::at_once(&[agent], positions.len(), simulations);
        let end = |searcher: Searcher<AnyGame>| answer(&Analysis::of(searcher.search()), budget);
        together::map(positions.len(), most, begin, end, evaluator, tick)?
    } else if budget == Budget::Own {
        let done = AtomicUsize::new(0);
        parallel::map(positions.len(), &|index| {
            if !tick(done.load(Ordering::Relaxed)) {
                return Err(Error::Interrupted);
            }
            let state = &positions[index].state;
            let action = checked(game, state, agent.agent(random(index)).choose(state)?)?;
            done.fetch_add(1, Ordering::Relaxed);
            Ok(AgentAnswer { action, value: None })
        })?
    } else {
        return Err(Error::Config(format!("agent {} does not search", agent.identity())));
    };
    Ok(counted(set, &answers))
}

/// A search's answer.
fn answer(analysis: &Analysis, budget: Budget) -> AgentAnswer {
    let priors = analysis.priors.iter().rev();
    let most_likely = priors.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(action, _)| *action);
    let action = match budget {
        Budget::Policy => most_likely.unwrap_or(analysis.action),
        _ => analysis.action,
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

/// The mean of the true values where the agent's value was in some range.
fn reliability(set: &Set, answers: &[AgentAnswer]) -> Vec<Bin> {
    let mut table = Reliability::default();
    for (position, answer) in set.positions.iter().zip(answers) {
        answer.value.into_iter().for_each(|expected| table.add(expected, f64::from(position.value)));
    }
    table.bins()
}
