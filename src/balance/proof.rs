//! What can be proved about a game before it is played.
//!
//! Input: the rules and a budget. Output: a [`Proof`], with the result of best play and the result of each first
//! action, as far as they are proven; nothing if the solver is not used. The budget is counted in legal actions, so
//! that games with many actions take no longer than games with few.

use serde::{Serialize, Serializer};

use crate::any::AnyGame;
use crate::error::{Error, Result};
use crate::game::{Game, Outcome};
use crate::solve::{Limits, Solver};

/// The default number of legal actions that the solver examines, which takes about a minute.
pub const USUAL: u64 = 300_000_000;
/// The memory of the solver, in bytes.
const TABLE: usize = 512 << 20;

/// The solver's findings about a game.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proof {
    /// The result with best play.
    #[serde(serialize_with = "named")]
    pub outcome: Option<Outcome>,
    /// The number of positions that the solver examined.
    pub nodes: u64,
    /// The number of first actions.
    pub first_actions: usize,
    /// The number of first actions whose result is proven.
    pub known: usize,
    /// The result after each first action; `None` where it is not proven.
    #[serde(skip)]
    pub outcomes: Vec<Option<Outcome>>,
    /// The first actions that are proven to preserve the result of the game, if that result is proven.
    pub keep: Vec<String>,
}

/// Runs the solver until it has examined about `budget` legal actions. `goes_on` is called from time to time.
///
/// # Errors
/// [`Error::Interrupted`] if `goes_on` returns false.
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
