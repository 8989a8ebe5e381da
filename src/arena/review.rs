//! A review of a game: which actions lost expected score, and what would have been better.
//!
//! Input: the positions of a game with the actions played, and an agent that searches or is perfect. Output: what the
//! agent thinks of each position, and a [`Verdict`] on each action that lost at least [`NOTICED`]. The terminal and the
//! page show the same numbers, because each search depends only on its ply.

use super::contestant::Contestant;
use super::searching::Analysis;
use crate::error::{Error, Result};
use crate::game::{Action, Game, Outcome};
use crate::parallel;
use crate::random::{Purpose, stream};
use crate::search::Search;
use crate::search::tree::for_first;
use crate::solve::Solver;

/// The smallest loss of expected score that is reported; a whole game is worth 1.
pub const NOTICED: f32 = 0.05;

/// What an action lost: the expected scores of the player who chose it, from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The expected score before the action.
    pub could: f32,
    /// The expected score after the action.
    pub got: f32,
    /// The action that the agent would have played.
    pub better: Action,
    /// The expected line, starting with the better action.
    pub line: Vec<Action>,
}

/// What an agent thinks of a position.
#[derive(Clone, Debug)]
pub struct Thought {
    /// The result of the agent's search; for a perfect agent, only an action, the value, and a line.
    pub analysis: Analysis,
    /// The outcome, if it is proven.
    pub proven: Option<Outcome>,
}

/// Returns what `agent` thinks of the positions `states`, the first of which is at ply `first`; `None` for a position
/// in which the game is over. Each search calls `goes_on` from time to time and ends early if it returns false. A
/// perfect agent does not search; `goes_on` is called before each position.
///
/// # Errors
/// If the agent neither searches nor is perfect, or its evaluator fails; [`Error::Interrupted`] if `goes_on` stops a
/// perfect agent.
pub fn analyses<G: Game>(
    game: &G,
    agent: &Contestant<G>,
    states: &[G::State],
    first: usize,
    goes_on: &(dyn Fn(Option<&Search<G>>) -> bool + Sync),
) -> Result<Vec<Option<Thought>>> {
    if let Some(mut solver) = agent.solver() {
        let thought = |state| match (game.outcome(state), goes_on(None)) {
            (Some(_), _) => Ok(None),
            (None, true) => known(game, &mut solver, state).map(Some),
            (None, false) => Err(Error::Interrupted),
        };
        return states.iter().map(thought).collect();
    }
    parallel::map(states.len(), &|index| {
        let random = stream(1, Purpose::Agent, &[(first + index) as u64]);
        let Some(mut searching) = agent.search_agent(random) else {
            return Err(Error::Config("a review needs an agent that searches, e.g. rollout:1000".into()));
        };
        if game.outcome(&states[index]).is_some() {
            return Ok(None);
        }
        let planned = Some(searching.simulations());
        let more = |search: &_| if goes_on(Some(search)) { usize::MAX } else { 0 };
        let analysis = searching.search(&states[index], planned, more)?;
        let proven = searching.forget().and_then(|search| search.tree().proven());
        Ok(Some(Thought { analysis, proven }))
    })
}

/// Returns the perfect agent's thought on `state`, in which the game must not be over.
fn known<G: Game>(game: &G, solver: &mut Solver<G>, state: &G::State) -> Result<Thought> {
    let outcome = solver.outcome(state)?;
    let line = perfect_line(game, solver, state)?;
    let analysis = Analysis {
        action: line[0],
        value: outcome.value_for(game.to_move(state)),
        visits: Vec::new(),
        priors: Vec::new(),
        values: Vec::new(),
        principal_variation: line,
        simulations: 0,
    };
    Ok(Thought { analysis, proven: Some(outcome) })
}

/// Returns the actions of perfect play from `state` to the end of the game.
pub(crate) fn perfect_line<G: Game>(
    game: &G,
    solver: &mut Solver<G>,
    state: &G::State,
) -> Result<Vec<Action>> {
    let (mut line, mut next) = (Vec::new(), state.clone());
    while game.outcome(&next).is_none() {
        let action = solver.best_actions(&next)?[0];
        line.push(action);
        game.play(&mut next, action);
    }
    Ok(line)
}

/// Returns the verdict on an action that was played in `before`; `None` if it lost little. `thought` is about `before`,
/// and `after` is about the position `next` after the action, unless the game is over there.
pub fn verdict<G: Game>(
    game: &G,
    (before, thought): (&G::State, &Thought),
    played: Action,
    (next, after): (&G::State, Option<&Thought>),
) -> Option<Verdict> {
    let mover = game.to_move(before);
    let got = match (game.outcome(next), after) {
        (Some(outcome), _) => outcome.value_for(mover),
        (None, Some(after)) => for_first(mover, for_first(game.to_move(next), after.analysis.value)),
        (None, None) => return None,
    };
    let search = &thought.analysis;
    let [could, got] = [search.value, got].map(|value| (value + 1.0) / 2.0);
    (search.action != played && could - got >= NOTICED).then(|| Verdict {
        could,
        got,
        better: search.action,
        line: search.principal_variation.clone(),
    })
}

/// Returns the verdicts on actions that were played one after another, with the number of each action, counted from 0.
/// `states` are the positions before and after the actions, one more than there are actions; `thoughts` are about these
/// positions.
pub fn verdicts<G: Game>(
    game: &G,
    states: &[G::State],
    actions: &[Action],
    thoughts: &[Option<Thought>],
) -> Vec<(usize, Verdict)> {
    let numbered = |ply: usize| {
        let before = (&states[ply], thoughts[ply].as_ref()?);
        let next = (&states[ply + 1], thoughts[ply + 1].as_ref());
        Some((ply, verdict(game, before, actions[ply], next)?))
    };
    (0..actions.len()).filter_map(numbered).collect()
}
