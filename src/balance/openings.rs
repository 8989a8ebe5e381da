//! Openings that cost nothing: none of their actions worsens the prospects of the player who acts.
//!
//! Games between equal players would all be the same if they began alike, so their openings vary. Random first actions
//! would decide a short game; if only even openings were played, an advantage of the player who begins would not show.
//! The strongest level therefore chooses: it searches each position of the opening and keeps every action that is
//! worth at most [`COST`] less to the mover than the best action. If a level plays perfectly, the actions that
//! preserve the result are kept instead. Input: the levels and the number of openings wanted. Output: a [`Book`].

use std::collections::HashSet;

use rand::seq::SliceRandom;
use serde::Serialize;

use super::game::{BalanceTable, Line, score_of_first};
use crate::any::{AnyGame, AnyState};
use crate::arena::contestant::Contestant;
use crate::arena::searching::Searcher;
use crate::error::Result;
use crate::game::{Action, Game, Player};
use crate::random::{Purpose, stream};
use crate::search::together::{self, Task};

/// The largest loss of expected score at which an action still counts as costing nothing.
pub(super) const COST: f32 = 0.03;
/// The minimum number of visits, and the minimum share of the visits, for an action's value to be trusted.
const LEAST_VISITS: u32 = 2;
const LEAST_SHARE: f32 = 0.01;

/// Openings that lead to different positions.
#[derive(Debug)]
pub(super) struct Book {
    pub(super) lines: Vec<Line>,
    pub(super) about: BookFacts,
}

/// Facts about openings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BookFacts {
    /// The number of openings.
    pub openings: usize,
    /// Whether perfect play judged the openings; if not, a search by the level [`super::Balance::shown`] did.
    pub is_proven: bool,
    /// The number of actions in each opening.
    pub plies: usize,
    /// The number of legal actions that were judged for the openings.
    pub judged: usize,
    /// The number of judged actions that cost nothing.
    pub kept: usize,
}

impl Book {
    /// Returns openings that begin with `first`: at least one, which may be `first` itself. All openings are
    /// lengthened, one action at a time, until their number reaches the number that `wanted` returns for their length.
    pub(super) fn of(
        table: &BalanceTable,
        first: Line,
        wanted: &dyn Fn(usize) -> usize,
        tick: &(dyn Fn(usize) -> bool + Sync),
    ) -> Result<Book> {
        let game = table.game;
        let mut state = game.initial();
        first.actions.iter().for_each(|action| game.play(&mut state, *action));
        let is_proven = table.levels.iter().any(|level| level.contestant.is_perfect());
        let mut about = BookFacts { openings: 1, is_proven, plies: first.actions.len(), judged: 0, kept: 0 };
        let mut front = vec![(first, state)];
        while front.len() < wanted(about.plies) {
            let found = judged(table, &front, about.plies, tick)?;
            let mut seen = HashSet::new();
            let mut next = Vec::new();
            for ((line, state), actions) in front.iter().zip(&found) {
                let legal = game.legal(state).len();
                about.judged += legal;
                about.kept += actions.kept.len();
                for &action in &actions.kept {
                    let mut after = state.clone();
                    game.play(&mut after, action);
                    if game.outcome(&after).is_none() && seen.insert(game.key(&after)) {
                        let mut line = line.clone();
                        line.actions.push(action);
                        line.scores.push(actions.score);
                        line.branching.push(legal as u32);
                        next.push((line, after));
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            // a random selection if there are too many openings
            next.shuffle(&mut stream(table.plan.seed, Purpose::Opening, &[u64::MAX, about.plies as u64]));
            next.truncate(wanted(about.plies));
            about.plies += 1;
            front = next;
        }
        about.openings = front.len();
        Ok(Book { lines: front.into_iter().map(|(line, _)| line).collect(), about })
    }
}

/// The actions of a position that cost nothing.
struct CostlessActions {
    kept: Vec<Action>,
    /// The first player's expected score.
    score: f32,
}

/// Judges positions by perfect play or by a search by the strongest level. The game must not be over in any position.
fn judged(
    table: &BalanceTable,
    front: &[(Line, AnyState)],
    ply: usize,
    tick: &(dyn Fn(usize) -> bool + Sync),
) -> Result<Vec<CostlessActions>> {
    if let Some(mut solver) = table.solver() {
        let known = |(_, state): &(Line, AnyState)| {
            let score = solver.outcome(state)?.score_for(Player::First);
            Ok(CostlessActions { kept: solver.best_actions(state)?, score })
        };
        return front.iter().map(known).collect();
    }
    let strongest = table.strongest();
    let contestant = &table.levels[strongest].contestant;
    let in_flight = Contestant::in_flight(&[contestant], front.len(), None);
    let begin = |index: usize| {
        let mut searcher = table.searcher(strongest, &[u64::MAX - 1, ply as u64, index as u64])?;
        let simulations = searcher.simulations();
        searcher.begin(&front[index].1, Some(simulations));
        Ok(searcher)
    };
    let evaluator = |_: usize| contestant.evaluator().expect("only searches need an evaluator");
    together::map(front.len(), in_flight, begin, |searcher| of_search(&searcher), evaluator, tick)
}

fn of_search(searcher: &Searcher<AnyGame>) -> CostlessActions {
    let tree = searcher.search().tree();
    let mover = tree.mover();
    let best = tree.agents_action().expect("the root was evaluated");
    let minimum = ((tree.visits() as f32 * LEAST_SHARE) as u32).max(LEAST_VISITS);
    let value = |action: Action| tree.root_edges().find(|edge| edge.action == action)?.mean_for(mover);
    let best_value = value(best).unwrap_or(tree.search_value().value());
    let costs_nothing = |value: f32| (best_value - value) / 2.0 <= COST;
    let kept = tree.root_edges().filter(|edge| {
        edge.action == best
            || (edge.visits >= minimum || edge.proven.is_some())
                && edge.mean_for(mover).is_some_and(costs_nothing)
    });
    let kept = kept.map(|edge| edge.action).collect();
    CostlessActions { kept, score: score_of_first(mover, tree.search_value().value()) }
}
