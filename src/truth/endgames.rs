//! Makes a set of solved positions near the end of random games.
//!
//! A candidate is a position that occurs a few actions before the end of a random game. A candidate depends only on the
//! seed and its number, and it is solved with an empty table, so a set does not depend on the number of threads.
//! Positions that cannot be solved with the given nodes, repeated positions, and positions that are too easy are left
//! out.

use std::collections::{BTreeMap, HashSet};
use std::ops::RangeInclusive;

use rand::RngExt;

use super::set::{FORMAT, SetHeader, SetLine};
use crate::any::{AnyGame, AnyState, Opened};
use crate::error::{Error, Result};
use crate::game::{Action, Game};
use crate::parallel;
use crate::random::{Purpose, choose, stream};
use crate::solve::{Bounds, Limits, Solved, Solver};

/// The classes, which say whether the player to move can err, and how many nodes solving all actions took.
const CLASSES: [&str; 4] = ["easy", "medium", "hard", "lost"];
/// The minimum numbers of nodes for a position to count as medium and as hard.
const NODES: [u64; 2] = [1_000, 10_000];
/// The smallest number of nodes of a position in a set; a position with fewer nodes is too easy.
const FEWEST_NODES: u64 = 50;
/// At most one position in `LOST` is lost: in a lost position, only the value can be wrong.
const LOST: usize = 4;
/// The number of candidates that are solved together.
const BLOCK: usize = 64;
/// The largest number of candidates per position of the set.
const CANDIDATES: usize = 1_000;

/// The plan of a set.
#[derive(Clone, Debug)]
pub struct SetPlan {
    /// The number of positions.
    pub count: usize,
    /// The random seed.
    pub seed: u64,
    /// The permitted distances of a position from the end of the random game, in actions.
    pub before_end: RangeInclusive<usize>,
    /// The solver's limits for a position; each thread has one solver at a time.
    pub limits: Limits,
    /// The command, which the set's header names.
    pub made_by: String,
}

/// Makes the set. `tick` receives the number of positions so far and ends the work by returning false.
///
/// # Errors
/// Returns [`Error::Interrupted`] if `tick` returns false, and another error if too few positions can be solved.
pub fn make(
    rules: &Opened,
    plan: &SetPlan,
    tick: &(dyn Fn(usize) -> bool + Sync),
) -> Result<(SetHeader, Vec<SetLine>)> {
    let game = &rules.game;
    let (mut lines, mut lost, mut seen) = (Vec::new(), 0, HashSet::new());
    for block in 0.. {
        if lines.len() == plan.count {
            break;
        }
        if block * BLOCK >= CANDIDATES.saturating_mul(plan.count) {
            return Err(Error::Config(format!(
                "only {} of {} positions could be solved among {} candidates: allow more nodes, or positions nearer to \
                 the end",
                lines.len(),
                plan.count,
                block * BLOCK
            )));
        }
        let candidates = parallel::map(BLOCK, &|index| {
            let (state, plies) = candidate(game, plan, (block * BLOCK + index) as u64);
            let solved = Solver::new(game.clone(), plan.limits).solve_in_order(&state, |_| tick(lines.len()));
            if !tick(lines.len()) {
                return Err(Error::Interrupted);
            }
            Ok(line(game, &state, plies, &solved).map(|line| (line, game.key(&state))))
        })?;
        for (line, key) in candidates.into_iter().flatten() {
            let is_lost = line.class == CLASSES[3];
            let is_wanted = lines.len() < plan.count && !(is_lost && lost >= plan.count / LOST);
            if is_wanted && seen.insert(key) {
                lost += usize::from(is_lost);
                lines.push(line);
            }
        }
    }
    Ok((header(rules, plan), lines))
}

fn header(rules: &Opened, plan: &SetPlan) -> SetHeader {
    SetHeader {
        format: FORMAT,
        game: rules.identity.id.clone(),
        options: rules.identity.options.clone(),
        made_by: plan.made_by.clone(),
        seed: plan.seed,
        classes: CLASSES.map(String::from).into(),
        count: plan.count,
    }
}

/// Returns a position of a random game and the number of actions played before it.
fn candidate(game: &AnyGame, plan: &SetPlan, number: u64) -> (AnyState, usize) {
    let mut random = stream(plan.seed, Purpose::Endgame, &[number]);
    let mut states = vec![game.initial()];
    while let Some(state) = states.last()
        && game.outcome(state).is_none()
    {
        let mut next = state.clone();
        game.play(&mut next, choose(&mut random, &game.legal(state)));
        states.push(next);
    }
    let distance = random.random_range(plan.before_end.clone());
    let plies = (states.len() - 1).saturating_sub(distance);
    (states.swap_remove(plies), plies)
}

/// Returns the line of a position; `None` if the position is unsolved or too easy, or if it is not lost but offers no
/// choice between good and bad actions.
fn line(game: &AnyGame, state: &AnyState, plies: usize, solved: &Solved) -> Option<SetLine> {
    let player = game.to_move(state);
    let value = |(action, bounds): &(Action, Bounds)| {
        let value = bounds.outcome()?.value_for(player) as i8;
        Some((game.action_text(state, *action), value))
    };
    let values: BTreeMap<String, i8> = solved.actions.iter().map(value).collect::<Option<_>>()?;
    let (best, worst) = (values.values().max()?, values.values().min()?);
    let class = match (*best, best > worst) {
        (-1, _) => 3,
        (_, true) => NODES.iter().filter(|limit| solved.nodes >= **limit).count(),
        (_, false) => return None,
    };
    let position = game.state_text(state);
    let is_hard_enough = solved.nodes >= FEWEST_NODES;
    is_hard_enough.then(|| SetLine {
        position,
        class: CLASSES[class].into(),
        plies,
        values,
        scores: BTreeMap::default(),
    })
}
