//! Matches between agents: paired games from seeded openings, and what they say about strength.
//!
//! Each opening is played twice, with both colours, so it favours nobody; the pair is the unit of the
//! statistics ([`elo`], [`sprt`]). Openings are uniformly random actions and differ between pairs where the
//! game allows it; games that repeat are counted as what they are worth, because 40 games that are really 2 prove
//! nothing.
//! Pairs are counted in the order of their numbers, and none beyond the one that decides a test: which threads
//! finished first changes nothing.

pub mod agent;
pub mod elo;
pub mod external;
#[cfg(unix)]
mod guardian;
pub mod journal;
mod ledger;
pub mod perfect;
mod process;
mod repeats;
pub mod sprt;

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Fault, Result};
use crate::game::{Action, Game, Outcome, Player};
use crate::random::{Purpose, choose, stream};
use agent::Contestant;
use journal::Journal;
use ledger::Ledger;
use sprt::{Pentanomial, Sprt, SprtResult};

/// How often another opening is tried before one that was played already is accepted.
const OPENING_ATTEMPTS: u64 = 100;

/// What to play.
#[derive(Clone, Debug)]
pub struct Match {
    /// Games, even; with a test the most that are played.
    pub games: usize,
    /// The seed of openings and agents.
    pub seed: u64,
    /// Random actions of an opening.
    pub opening_plies: usize,
    /// A test that may end the match early.
    pub sprt: Option<Sprt>,
}

/// What came out, for the first agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchResult {
    /// Games played.
    pub games: usize,
    /// Games that differ in at least one action.
    pub distinct_games: usize,
    /// Games unlike all others that would say as much: bounds and test count so many. Results of before it was counted
    /// have none.
    #[serde(default)]
    pub effective_games: Option<f64>,
    /// Won by the first agent.
    pub wins: usize,
    /// Drawn.
    pub draws: usize,
    /// Lost by the first agent.
    pub losses: usize,
    /// Drawn by a limit alone, in a game whose rules know no draws; results of before it was counted have none.
    #[serde(default)]
    pub cut_short: usize,
    /// Pairs by the first agent's score in them.
    #[serde(default)]
    pub pairs: Pentanomial,
    /// Elo of the first agent less that of the second. After a test ended the match early it is a little too
    /// far from the middle.
    pub elo: f64,
    /// Lower 95 % bound; `None` when the games are too few or too one-sided to say one.
    pub elo_low: Option<f64>,
    /// Upper 95 % bound, likewise.
    pub elo_high: Option<f64>,
    /// The test, when there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sprt: Option<SprtResult>,
    /// Games that each agent lost by a fault of its own.
    #[serde(default)]
    pub faults: [Faults; 2],
}

/// Games lost by forfeit, by what the agent did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// It ended or closed its output.
    pub crashed: usize,
    /// It did not answer in time.
    pub slow: usize,
    /// It answered something that is no legal action.
    pub illegal: usize,
    /// It wrote more than one answer may have.
    pub flooded: usize,
}

impl Faults {
    /// All kinds together.
    pub fn total(&self) -> usize {
        self.crashed + self.slow + self.illegal + self.flooded
    }

    fn add(&mut self, fault: Fault) {
        match fault {
            Fault::Crashed => self.crashed += 1,
            Fault::Slow => self.slow += 1,
            Fault::Illegal => self.illegal += 1,
            Fault::Flooded => self.flooded += 1,
        }
    }
}

/// How far a match is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Games finished.
    pub games: usize,
    /// What its test says of the pairs that are counted so far.
    pub sprt: Option<SprtResult>,
}

struct Played {
    actions: Vec<Action>,
    /// 1, 0.5 or 0 for the first agent.
    score: f64,
    /// Why the agent with score 0 lost by forfeit.
    fault: Option<Fault>,
}

/// The games of one opening: in the first one the first agent is the first player.
type Pair = [Played; 2];

/// Plays `game` between two agents to the end of the match, or fails as interrupted ([`play_while`]).
pub fn play_match<G: Game>(
    game: &G,
    plan: &Match,
    agents: [&Contestant<G>; 2],
    journal: Option<Journal>,
    tick: impl Fn(&Progress) -> bool + Sync,
) -> Result<MatchResult> {
    match play_while(game, plan, agents, journal, &tick)? {
        (_, false) => Err(Error::Interrupted),
        (result, true) => Ok(result),
    }
}

/// Plays `game` between two agents, behind the pairs that `journal` holds. `tick` hears how far the match is
/// and returns false to stop: then the second value is false, and the first says what was played until then.
pub fn play_while<G: Game>(
    game: &G,
    plan: &Match,
    agents: [&Contestant<G>; 2],
    journal: Option<Journal>,
    tick: &(dyn Fn(&Progress) -> bool + Sync),
) -> Result<(MatchResult, bool)> {
    let ledger = Ledger::new(game, plan, journal);
    let saved = ledger.counted();
    let ledger = Mutex::new(ledger);
    let locked = || -> MutexGuard<Ledger<G>> { ledger.lock().expect("no panic while counting") };
    let played = openings(game, plan)
        .enumerate()
        .skip(saved)
        .take_while(|_| !locked().is_over())
        // pairs are begun in the order of their numbers
        .par_bridge()
        .try_for_each(|(number, opening)| {
            let mut pair = Vec::with_capacity(2);
            for first_agent in [0, 1] {
                let progress = match &*locked() {
                    ledger if ledger.is_over() => return Ok(()),
                    ledger => ledger.progress(),
                };
                if !tick(&progress) {
                    return Err(Error::Interrupted);
                }
                pair.push(play_game(game, plan.seed, number, &opening, agents, first_agent)?);
                locked().finished_game();
            }
            let pair = pair.try_into().unwrap_or_else(|_| unreachable!("two games were played"));
            locked().add(number, pair)
        });
    let complete = match played {
        Err(Error::Interrupted) => false,
        played => played.map(|()| true)?,
    };
    let ledger = locked();
    tick(&ledger.progress());
    Ok((ledger.result(), complete))
}

/// One opening for each pair of games; none ends the game. Those of a longer match begin with those of a
/// shorter one.
fn openings<'a, G: Game>(game: &'a G, plan: &'a Match) -> impl Iterator<Item = Vec<Action>> + Send + 'a {
    let mut seen = HashSet::new();
    (0..plan.games as u64 / 2).map(move |pair| {
        let mut opening = Vec::new();
        for attempt in 0..OPENING_ATTEMPTS {
            opening = draw_opening(game, plan, pair, attempt);
            if seen.insert(opening.clone()) {
                break;
            }
        }
        opening
    })
}

/// Random actions, as many as fit before the game is over.
fn draw_opening<G: Game>(game: &G, plan: &Match, pair: u64, attempt: u64) -> Vec<Action> {
    let mut random = stream(plan.seed, Purpose::Opening, &[pair, attempt]);
    let mut state = game.initial();
    let mut opening = Vec::new();
    for _ in 0..plan.opening_plies {
        let action = choose(&mut random, &game.legal(&state));
        let mut next = state.clone();
        game.play(&mut next, action);
        if game.outcome(&next).is_some() {
            break;
        }
        opening.push(action);
        state = next;
    }
    opening
}

fn play_game<G: Game>(
    game: &G,
    seed: u64,
    pair: usize,
    opening: &[Action],
    agents: [&Contestant<G>; 2],
    first_agent: usize,
) -> Result<Played> {
    let number = 2 * pair as u64 + first_agent as u64;
    let mut players =
        [0, 1].map(|agent| agents[agent].agent(stream(seed, Purpose::Agent, &[number, agent as u64])));
    let mut state = game.initial();
    let mut actions = Vec::new();
    while game.outcome(&state).is_none() {
        let agent = match game.to_move(&state) {
            Player::First => first_agent,
            Player::Second => 1 - first_agent,
        };
        let action = match opening.get(actions.len()) {
            Some(action) => *action,
            None => match players[agent].choose(&state) {
                Ok(action) => action,
                Err(Error::Fault(fault)) => {
                    return Ok(Played { actions, score: agent as f64, fault: Some(fault) });
                }
                Err(error) => return Err(error),
            },
        };
        for player in &mut players {
            player.played(&state, action);
        }
        game.play(&mut state, action);
        actions.push(action);
    }
    let score = score_of(game.outcome(&state).unwrap_or(Outcome::Draw), first_agent);
    Ok(Played { actions, score, fault: None })
}

/// What the first agent gets when `first_agent` is the first player.
fn score_of(outcome: Outcome, first_agent: usize) -> f64 {
    let first_agents_side = if first_agent == 0 { Player::First } else { Player::Second };
    (outcome.value_for(first_agents_side) as f64 + 1.0) / 2.0
}
