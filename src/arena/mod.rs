//! Matches between agents: paired games from seeded openings, and estimates of strength.
//!
//! Each opening is played twice, with sides swapped, so it favors neither agent; the pair is the unit of the statistics
//! ([`elo`], [`sprt`]). Openings are uniformly random actions and differ between pairs if the game allows it. Repeated
//! games get less weight, because 40 games that are really only 2 prove nothing.
//!
//! Pairs are counted in the order of their numbers, up to the one that decides a test, so the result does not depend on
//! the order in which threads finish.
//!
//! A [`ladder`] rates any number of agents together, from games among all of them ([`pairing`], [`rating`]).

pub mod agent;
pub mod book;
pub mod contestant;
pub mod elo;
pub mod external;
#[cfg(unix)]
mod guardian;
pub mod journal;
pub mod ladder;
mod ledger;
pub mod levels;
pub mod pairing;
pub mod perfect;
mod plan;
mod playing;
pub mod positions;
mod process;
pub mod rating;
pub(crate) mod repeats;
pub mod review;
pub mod searching;
pub mod spec;
pub mod sprt;

use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Fault, Result, quoted};
use crate::game::{Action, Game, Outcome, Player};
use crate::random::{Purpose, choose, stream};
use book::{OpeningBook, PairOpening};
use contestant::Contestant;
use journal::Journal;
use ledger::Ledger;
use playing::{Count, Planned, Schedule};
use sprt::{Pentanomial, Sprt, SprtResult};

/// The number of openings that are tried before a repeated one is accepted.
const OPENING_ATTEMPTS: u64 = 100;
/// The maximum number of games in flight, on all threads, if a test may end the match.
const TESTED_AT_ONCE: usize = 64;

/// The plan of a match.
#[derive(Clone, Debug)]
pub struct Match {
    /// The number of games, which must be even; if there is a test, the maximum.
    pub games: usize,
    /// The random seed of openings and agents.
    pub seed: u64,
    /// The number of random actions in an opening.
    pub opening_plies: usize,
    /// The openings to play instead of random ones.
    pub book: Option<OpeningBook>,
    /// A test that may end the match early.
    pub sprt: Option<Sprt>,
}

/// The result of a match, for the first agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchResult {
    /// The number of games played.
    pub games: usize,
    /// The number of games that differ in at least one action.
    pub distinct_games: usize,
    /// The number of distinct games that would carry as much information as the played ones; the bounds and the test
    /// use this number. `None` in older results, which lack the number.
    #[serde(default)]
    pub effective_games: Option<f64>,
    /// Games won by the first agent.
    pub wins: usize,
    /// Drawn games.
    pub draws: usize,
    /// Games lost by the first agent.
    pub losses: usize,
    /// Games that were drawn only because of the action limit, if the rules have no draws; 0 in older results, which
    /// did not count them.
    #[serde(default)]
    pub cut_short: usize,
    /// The number of pairs with each score of the first agent.
    #[serde(default)]
    pub pairs: Pentanomial,
    /// The first agent's Elo minus the second's. The difference is slightly too extreme if a test ended the match
    /// early.
    pub elo: f64,
    /// The lower 95% bound; `None` if there are too few games or they are too one-sided to give one.
    pub elo_low: Option<f64>,
    /// The upper 95% bound; `None` if there are too few games or they are too one-sided to give one.
    pub elo_high: Option<f64>,
    /// The result of the test, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sprt: Option<SprtResult>,
    /// The games that each agent lost by forfeit.
    #[serde(default)]
    pub faults: [Faults; 2],
}

impl MatchResult {
    /// Returns the number of pairs in which the same side won both games, whoever played it; 0 for older results, which
    /// did not count pairs.
    pub fn one_sided_pairs(&self) -> usize {
        one_sided_pairs(&self.pairs, self.draws)
    }
}

/// Returns the number of pairs in which the same side won both games, computed from the scores of all pairs and the
/// number of drawn games.
pub fn one_sided_pairs([_, losing, even, winning, _]: &Pentanomial, draws: usize) -> usize {
    // an even pair is two draws or one win each
    let drawn = draws.saturating_sub(losing + winning) / 2;
    even.saturating_sub(drawn)
}

/// The numbers of games that an agent lost by forfeit, by kind of fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// The agent exited or closed its output.
    pub crashed: usize,
    /// The agent did not answer in time.
    pub slow: usize,
    /// The agent's answer was not a legal action.
    pub illegal: usize,
    /// The agent's answer was too long.
    pub flooded: usize,
}

impl Faults {
    /// Returns the total over all kinds.
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

/// The progress of a match.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    /// Games finished.
    pub games: usize,
    /// The part of the finished games that was played earlier, such as games in a journal.
    pub kept: usize,
    /// Games in progress.
    pub playing: usize,
    /// Actions that agents chose in games finished in this session or in flight; actions of openings do not count.
    pub actions: usize,
    /// The part of `actions` that belongs to games in flight.
    pub unfinished: usize,
    /// The result of the match's test for the pairs counted so far.
    pub sprt: Option<SprtResult>,
}

impl Standing {
    /// Counts a game as finished, with this many chosen actions.
    fn ended(&mut self, actions: usize) {
        self.games += 1;
        self.playing -= 1;
        self.actions += actions;
    }

    /// Adds the actions of games in flight.
    fn with_unfinished(self, actions: usize) -> Standing {
        Standing { actions: self.actions + actions, unfinished: actions, ..self }
    }
}

struct FinishedGame {
    /// The text of the position in which the game began, if it is not the usual start position.
    start: Option<Arc<str>>,
    actions: Vec<Action>,
    /// The score of the first agent: 1, 0.5, or 0.
    score: f64,
    /// The fault, if the losing agent lost by forfeit.
    fault: Option<Fault>,
}

/// The two games of one opening; in the first, the first agent is the first player.
type Pair = [FinishedGame; 2];

/// Plays a whole match of `game` between two agents; see [`play_while`] for the arguments.
///
/// A match that ends as soon as it is clear who is stronger:
///
/// ```
/// use petteia::arena::contestant::Contestant;
/// use petteia::arena::spec::AgentSpec;
/// use petteia::arena::sprt::{Sprt, Verdict};
/// use petteia::arena::{Match, play_match};
/// use petteia::game::{GameOptions, Rules};
/// use petteia::games::tic_tac_toe::TicTacToe;
///
/// let rules = Rules::<TicTacToe>::new(&GameOptions::default())?;
/// let rollout = Contestant::new(&rules, &AgentSpec::Rollout(50))?;
/// let random = Contestant::new(&rules, &AgentSpec::Random)?;
/// let sprt = Some(Sprt::new(0.0, 100.0, 0.05, 0.05)?);
/// let plan = Match { games: 400, seed: 1, opening_plies: 1, book: None, sprt };
/// let result = play_match(&rules.game, &plan, [&rollout, &random], None, |_standing| true)?;
/// assert_eq!(result.sprt.map(|test| test.verdict), Some(Verdict::H1));
/// assert!(result.games < 400);
/// # Ok::<(), petteia::error::Error>(())
/// ```
///
/// # Errors
/// As for [`play_while`], or, with [`Error::Interrupted`], if `tick` returns false.
pub fn play_match<G: Game>(
    game: &G,
    plan: &Match,
    agents: [&Contestant<G>; 2],
    journal: Option<Journal>,
    tick: impl Fn(&Standing) -> bool + Sync,
) -> Result<MatchResult> {
    match play_while(game, plan, agents, journal, &tick)? {
        (_, false) => Err(Error::Interrupted),
        (result, true) => Ok(result),
    }
}

/// Plays a match of `game` between two agents, continuing after the pairs in `journal`. `tick` receives the progress
/// and returns false to stop. Returns the result so far and whether the match is complete.
///
/// # Errors
/// If an agent fails, or the journal cannot be written.
pub fn play_while<G: Game>(
    game: &G,
    plan: &Match,
    agents: [&Contestant<G>; 2],
    journal: Option<Journal>,
    tick: &(dyn Fn(&Standing) -> bool + Sync),
) -> Result<(MatchResult, bool)> {
    let ledger = Ledger::new(game, plan, journal);
    let saved = ledger.counted();
    let left = plan.games.saturating_sub(2 * saved);
    // a test may end the match at any time, and games in flight are then not counted
    let at_once = if plan.sprt.is_some() { left.min(TESTED_AT_ONCE) } else { left };
    let games = openings(game, plan).enumerate().skip(saved).flat_map(both_games);
    let schedule = Schedule::new(at_once, games, ledger, tick);
    let complete = match playing::play_games(game, plan.seed, &agents, &schedule) {
        Err(Error::Interrupted) => false,
        played => played.map(|()| true)?,
    };
    let mut ledger = schedule.into_count();
    tick(ledger.standing());
    Ok((ledger.result(), complete))
}

/// Returns both games of an opening between agents 0 and 1.
fn both_games((pair, opening): (usize, PairOpening)) -> impl Iterator<Item = Planned> {
    [0, 1].into_iter().map(move |first_agent| Planned {
        pair,
        agents: [0, 1],
        first_agent,
        opening: opening.clone(),
    })
}

/// Returns one opening for each pair of games; no opening ends the game. The openings of a shorter match are a prefix
/// of those of a longer one.
fn openings<'a, G: Game>(game: &'a G, plan: &'a Match) -> impl Iterator<Item = PairOpening> + Send + 'a {
    let mut seen = HashSet::new();
    (0..plan.games as u64 / 2).map(move |pair| {
        if let Some(book) = &plan.book {
            return book.opening(pair);
        }
        let mut opening = Vec::new();
        for attempt in 0..OPENING_ATTEMPTS {
            opening = draw_opening(game, plan, pair, attempt);
            if seen.insert(opening.clone()) {
                break;
            }
        }
        PairOpening { start: None, actions: opening.into() }
    })
}

/// Draws random actions, leaving out any that would end the game.
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

/// Returns the action that one of this program's agents chose, if it is legal. (An external program forfeits the game
/// by an illegal action.)
///
/// # Errors
/// [`Error::Data`] if the action is illegal.
pub(crate) fn checked<G: Game>(game: &G, state: &G::State, action: Action) -> Result<Action> {
    match game.legal(state).binary_search(&action) {
        Ok(_) => Ok(action),
        Err(_) => Err(Error::Data(format!(
            "an agent chose action {}, which is not legal in the position {}: agents must choose from \
             `Game::legal_actions`",
            action.0,
            quoted(&game.state_text(state))
        ))),
    }
}

/// Returns the first agent's score if agent `first_agent` is the first player.
fn score_of(outcome: Outcome, first_agent: usize) -> f64 {
    let first_agents_side = if first_agent == 0 { Player::First } else { Player::Second };
    outcome.score_for(first_agents_side).into()
}
