//! What can be proved about a game before anybody plays it.
//!
//! Input: the rules and a budget. Output: a [`Proof`]: the result with best play, or nothing, and what is proven of each
//! first action. The budget is counted in legal actions, so that games with many take no longer than those with few.

use serde::{Serialize, Serializer};

use crate::any::AnyGame;
use crate::error::{Error, Result};
use crate::game::{Game, Outcome};
use crate::solve::{Limits, Solver};

/// The legal actions that are worth looking at: about a minute.
pub const USUAL: u64 = 300_000_000;
/// The memory of the solver.
const TABLE: usize = 512 << 20;

/// What the solver says about a game.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proof {
    /// The result with best play.
    #[serde(serialize_with = "named")]
    pub outcome: Option<Outcome>,
    /// The positions that the solver looked at.
    pub nodes: u64,
    /// The first actions.
    pub first_actions: usize,
    /// Those whose result is proven.
    pub known: usize,
    /// The result after each first action, as far as it is proven.
    #[serde(skip)]
    pub outcomes: Vec<Option<Outcome>>,
    /// Those that are proven to keep the result of the game, if that is proven.
    pub keep: Vec<String>,
}

/// Asks the solver, which looks at about `budget` legal actions. `goes_on` is asked from time to time.
///
/// # Errors
/// [`Error::Interrupted`] if `goes_on` says so.
pub(super) fn proof(game: &AnyGame, budget: u64, goes_on: &dyn Fn() -> bool) -> Result<Option<Proof>> {
    let initial = game.initial();
    let legal = game.legal(&initial);
    let nodes = budget / legal.len().max(1) as u64;
    if nodes == 0 || game.outcome(&initial).is_some() {
        return Ok(None);
    }
    let mut stopped = false;
    let solved = Solver::new(game.clone(), Limits { nodes, table: TABLE }).solve(&initial, |_, _| {
        stopped = !goes_on();
        !stopped
    });
    if stopped {
        return Err(Error::Interrupted);
    }
    let outcomes: Vec<Option<Outcome>> = solved.actions.iter().map(|(_, bounds)| bounds.outcome()).collect();
    let keep = solved.best_actions().unwrap_or_default();
    Ok(Some(Proof {
        outcome: solved.bounds.outcome(),
        nodes: solved.nodes,
        first_actions: solved.actions.len(),
        known: outcomes.iter().flatten().count(),
        outcomes,
        keep: keep.into_iter().map(|action| game.action_text(&initial, action)).collect(),
    }))
}

fn named<S: Serializer>(outcome: &Option<Outcome>, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    outcome.map(Outcome::id).serialize(serializer)
}
