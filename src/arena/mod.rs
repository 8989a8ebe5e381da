//! Matches between agents: paired games from seeded openings, and what they say about strength.
//!
//! Each opening is played twice, with both colours, so it favours nobody; the pair is the unit of the
//! statistics ([`elo`]). Openings are uniformly random actions and differ between pairs where the game
//! allows it; the number of distinct games is counted, because 40 games that are really 2 prove nothing.

pub mod agent;
pub mod elo;
pub mod perfect;

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::game::{Action, Game, Outcome, Player};
use crate::random::{Purpose, choose, stream};
use agent::Contestant;
use elo::Estimate;

/// How often another opening is tried before one that was played already is accepted.
const OPENING_ATTEMPTS: u64 = 100;

/// What to play.
#[derive(Clone, Debug)]
pub struct Match {
    /// Games, even.
    pub games: usize,
    /// The seed of openings and agents.
    pub seed: u64,
    /// Random actions of an opening.
    pub opening_plies: usize,
}

/// What came out, for the first agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchResult {
    /// Games played.
    pub games: usize,
    /// Games that differ in at least one action.
    pub distinct_games: usize,
    /// Won by the first agent.
    pub wins: usize,
    /// Drawn.
    pub draws: usize,
    /// Lost by the first agent.
    pub losses: usize,
    /// Drawn by a limit alone, in a game whose rules know no draws; results of before it was counted have none.
    #[serde(default)]
    pub cut_short: usize,
    /// Elo of the first agent less that of the second.
    pub elo: f64,
    /// Lower 95 % bound.
    pub elo_low: f64,
    /// Upper 95 % bound.
    pub elo_high: f64,
}

struct Played {
    actions: Vec<Action>,
    /// 1, 0.5 or 0 for the first agent.
    score: f64,
}

/// Plays `game` between two agents. `tick` hears the number of finished games and returns false to stop.
pub fn play_match<G: Game>(
    game: &G,
    plan: &Match,
    agents: [&Contestant<G>; 2],
    tick: impl Fn(usize) -> bool + Sync,
) -> Result<MatchResult> {
    let openings = openings(game, plan);
    let finished = AtomicUsize::new(0);
    let pairs = openings
        .par_iter()
        .enumerate()
        .map(|(pair, opening)| {
            let mut pair_games = Vec::with_capacity(2);
            for first_agent in [0, 1] {
                if !tick(finished.load(Ordering::Relaxed)) {
                    return Err(Error::Interrupted);
                }
                let number = 2 * pair as u64 + first_agent as u64;
                pair_games.push(play_game(game, plan.seed, number, opening, agents, first_agent)?);
                finished.fetch_add(1, Ordering::Relaxed);
            }
            Ok(pair_games)
        })
        .collect::<Result<Vec<_>>>()?;
    tick(finished.load(Ordering::Relaxed));
    let mut result = summarise(&pairs);
    result.cut_short = if G::DRAWLESS { result.draws } else { 0 };
    Ok(result)
}

fn summarise(pairs: &[Vec<Played>]) -> MatchResult {
    let games = || pairs.iter().flatten();
    let count = |score: f64| games().filter(|game| game.score == score).count();
    let scores: Vec<f64> =
        pairs.iter().map(|pair| pair.iter().map(|game| game.score).sum::<f64>() / 2.0).collect();
    let Estimate { elo, low, high } = elo::estimate(&scores);
    MatchResult {
        games: games().count(),
        distinct_games: games().map(|game| &game.actions).collect::<HashSet<_>>().len(),
        wins: count(1.0),
        draws: count(0.5),
        losses: count(0.0),
        cut_short: 0,
        elo,
        elo_low: low,
        elo_high: high,
    }
}

/// One opening for each pair of games; none ends the game.
fn openings<G: Game>(game: &G, plan: &Match) -> Vec<Vec<Action>> {
    let mut seen = HashSet::new();
    let mut openings = Vec::new();
    for pair in 0..plan.games as u64 / 2 {
        let mut opening = Vec::new();
        for attempt in 0..OPENING_ATTEMPTS {
            opening = draw_opening(game, plan, pair, attempt);
            if seen.insert(opening.clone()) {
                break;
            }
        }
        openings.push(opening);
    }
    openings
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
    number: u64,
    opening: &[Action],
    agents: [&Contestant<G>; 2],
    first_agent: usize,
) -> Result<Played> {
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
            None => players[agent].choose(&state)?,
        };
        for player in &mut players {
            player.played(&state, action);
        }
        game.play(&mut state, action);
        actions.push(action);
    }
    let first_agents_side = if first_agent == 0 { Player::First } else { Player::Second };
    let outcome = game.outcome(&state).unwrap_or(Outcome::Draw);
    Ok(Played { actions, score: (outcome.value_for(first_agents_side) as f64 + 1.0) / 2.0 })
}
