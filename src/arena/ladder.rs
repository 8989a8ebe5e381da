//! Ladders: rate many agents together from paired games among them.
//!
//! Pairs of games are planned in rounds. A round depends only on the results of all earlier rounds, not on threads, so
//! an interrupted ladder ends the same way. Every pair of games has its own random opening; with an opening book, the
//! pairs of games between the same two agents use the book's openings in order. Pairs are counted and saved in the
//! order of their numbers.

use std::collections::BTreeMap;

use super::contestant::Contestant;
use super::journal::{Journal, SavedPair};
use super::ledger::EarlyPairs;
use super::pairing::{Pairing, Planner};
pub use super::plan::Ladder;
use super::playing::{self, Count, Planned, Schedule};
use super::rating::{Meeting, Ratings};
use super::repeats::Repeats;
use super::sprt::Pentanomial;
use super::{Faults, FinishedGame, Match, Pair, Standing, both_games, openings};
use crate::error::{Error, Result};
use crate::game::Game;

/// The number of pairs of games in a round: enough to keep many cores busy, few enough that the next round can soon use
/// the results.
const ROUND: usize = 32;

/// The games of two agents of a ladder against each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Met {
    /// The agents, by number.
    pub agents: [usize; 2],
    /// Games won by the first agent.
    pub wins: usize,
    /// Drawn games.
    pub draws: usize,
    /// Games lost by the first agent.
    pub losses: usize,
    /// The number of games that differ in at least one action.
    pub distinct_games: usize,
    /// The number of distinct games that would carry as much information as the played ones.
    pub effective_games: f64,
    /// The number of pairs with each score of the first agent.
    pub pairs: Pentanomial,
}

/// The result of a ladder.
#[derive(Clone, Debug)]
pub struct LadderResult {
    /// The number of games played.
    pub games: usize,
    /// Games that were drawn only because of the action limit, if the rules have no draws.
    pub cut_short: usize,
    /// The ratings of the agents, in the order of the agents.
    pub ratings: Ratings,
    /// The games of every two agents that played each other, in the order of the agents.
    pub met: Vec<Met>,
    /// The games that each agent lost by forfeit.
    pub faults: Vec<Faults>,
}

/// Plays a ladder of `game`, continuing after the pairs in `journal`. `tick` receives the progress and returns false to
/// stop. Returns the result so far and whether the ladder is complete.
///
/// ```
/// use petteia::arena::contestant::Contestant;
/// use petteia::arena::spec::AgentSpec;
/// use petteia::arena::ladder::{Ladder, play_ladder};
/// use petteia::arena::pairing::Pairing;
/// use petteia::game::{GameOptions, Rules};
/// use petteia::games::tic_tac_toe::TicTacToe;
///
/// let rules = Rules::<TicTacToe>::new(&GameOptions::default())?;
/// let agent = |text: &str| Contestant::new(&rules, &AgentSpec::parse(text)?);
/// let agents = [&agent("random")?, &agent("rollout:20")?, &agent("perfect")?];
/// let plan = Ladder { games: 60, seed: 1, opening_plies: 1, book: None, pairing: Pairing::RoundRobin };
/// let (result, complete) = play_ladder(&rules.game, &plan, &agents, None, &|_standing| true)?;
/// assert!(complete);
/// // the strongest first
/// assert_eq!(result.ratings.ranking(0), [2, 1, 0]);
/// # Ok::<(), petteia::error::Error>(())
/// ```
///
/// # Errors
/// If the plan does not fit the agents, an agent fails, or the journal cannot be written.
#[expect(clippy::missing_panics_doc, reason = "`openings` returns an opening for each pair of games")]
pub fn play_ladder<G: Game>(
    game: &G,
    plan: &Ladder,
    agents: &[&Contestant<G>],
    journal: Option<Journal>,
    tick: &(dyn Fn(&Standing) -> bool + Sync),
) -> Result<(LadderResult, bool)> {
    plan.check(game, agents.len())?;
    let Ladder { games, seed, opening_plies, .. } = *plan;
    let all = Match { games, seed, opening_plies, book: None, sprt: None };
    let mut drawn = openings(game, &all);
    // every two agents have their own count of openings: with a common count, the turns of the agents and those of the
    // openings would fall into step, and two agents would meet in only a few openings
    let mut meetings: BTreeMap<[usize; 2], u64> = BTreeMap::new();
    let mut opening_of = |agents: [usize; 2]| match &plan.book {
        Some(openings) => {
            let met = meetings.entry(agents).or_default();
            *met += 1;
            openings.opening(*met - 1)
        }
        None => drawn.next().expect("there is an opening for every pair of games"),
    };
    let mut book = LadderPairs::new(game, plan, agents.len(), journal);
    while let Some(round) = book.round()? {
        // pairs from the journal are already counted, but they used openings, too
        let counted = book.next;
        let games: Vec<Planned> = round
            .map(|(pair, agents)| (pair, agents, opening_of(agents)))
            .filter(|(pair, ..)| *pair >= counted)
            .flat_map(|(pair, agents, opening)| {
                both_games((pair, opening)).map(move |game| Planned { agents, ..game })
            })
            .collect();
        let round = Schedule::new(games.len(), games.into_iter(), book, tick);
        let played = playing::play_games(game, seed, agents, &round);
        book = round.into_count();
        match played {
            Err(Error::Interrupted) => return Ok((book.result(), false)),
            played => played?,
        }
    }
    tick(&book.standing);
    Ok((book.result(), true))
}

/// The pairs of an ongoing ladder.
struct LadderPairs<'a, G: Game> {
    game: &'a G,
    plan: &'a Ladder,
    agents: usize,
    journal: Option<Journal>,
    /// The pairs from the journal that have not been counted yet.
    saved: std::iter::Peekable<std::vec::IntoIter<SavedPair>>,
    edges: BTreeMap<[usize; 2], Encounter>,
    faults: Vec<Faults>,
    cut_short: usize,
    /// The number of counted pairs, which is the number of the next pair.
    next: usize,
    /// The first pair of the next round.
    planned: usize,
    ahead: EarlyPairs,
    /// The progress of all games, counted or not.
    standing: Standing,
}

/// The counted pairs of two agents.
#[derive(Default)]
struct Encounter {
    pairs: Pentanomial,
    /// The numbers of games that the first agent won, drew, and lost.
    results: [usize; 3],
    repeats: Repeats,
}

impl<G: Game> Count for LadderPairs<'_, G> {
    fn standing(&mut self) -> &mut Standing {
        &mut self.standing
    }

    /// Adds a finished game, and counts and saves all pairs whose turn it is.
    fn add(&mut self, game: &Planned, played: FinishedGame) -> Result<()> {
        self.ahead.add(game, played);
        while let Some((agents, pair)) = self.ahead.take(self.next) {
            if let Some(journal) = &mut self.journal {
                journal.append(self.game, self.next, Some(agents), &pair)?;
            }
            self.count(agents, pair);
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        false
    }
}

impl<'a, G: Game> LadderPairs<'a, G> {
    fn new(game: &'a G, plan: &'a Ladder, agents: usize, mut journal: Option<Journal>) -> Self {
        let saved = journal.as_mut().map(|journal| std::mem::take(&mut journal.saved)).unwrap_or_default();
        LadderPairs {
            game,
            plan,
            agents,
            journal,
            saved: saved.into_iter().peekable(),
            edges: BTreeMap::new(),
            faults: vec![Faults::default(); agents],
            cut_short: 0,
            next: 0,
            planned: 0,
            ahead: EarlyPairs::default(),
            standing: Standing::default(),
        }
    }

    /// Returns the numbers and agents of the next pairs; `None` after the last. Pairs in the journal are counted. The
    /// agents of such a pair must be the planned ones, unless the journal has the whole round and the plan of the round
    /// would depend on results.
    fn round(&mut self) -> Result<Option<impl Iterator<Item = (usize, [usize; 2])> + use<G>>> {
        let (start, all) = (self.planned, self.plan.games / 2);
        // the chain that connects all agents comes first
        let len = if start == 0 { self.agents - 1 } else { ROUND };
        let end = all.min(start + len);
        if start == end {
            return Ok(None);
        }
        let kept: Vec<SavedPair> = self.saved.by_ref().take(end - start).collect();
        // a new plan does not depend on the pairs of this round that have already been played
        let is_planned = kept.len() < end - start || self.takes_turns(start);
        let mut agents = if is_planned { self.plan(start, len) } else { vec![[0, 1]; len] };
        for (saved, agents) in kept.into_iter().zip(&mut agents) {
            if let Some(journal) = self.journal.as_ref().filter(|_| is_planned && *agents != saved.agents) {
                return Err(journal.other_agents(self.next, saved.agents, *agents));
            }
            *agents = saved.agents;
            self.count(saved.agents, saved.pair);
            self.standing.games += 2;
            self.standing.kept += 2;
        }
        self.planned = end;
        Ok(Some((start..end).zip(agents)))
    }

    /// Returns whether the agents of the round that begins with pair `start` are independent of all results.
    fn takes_turns(&self, start: usize) -> bool {
        start == 0 || self.plan.pairing != Pairing::Adaptive
    }

    /// Returns the agents of `len` pairs from number `start` on. The results of all earlier pairs must be known.
    fn plan(&self, start: usize, len: usize) -> Vec<[usize; 2]> {
        let candidates = self.plan.pairing.candidates(self.agents);
        let in_turn = |number: usize| candidates[number % candidates.len()];
        match self.plan.pairing {
            Pairing::Adaptive if !self.takes_turns(start) => {
                let mut planner = Planner::new(&self.ratings());
                (0..len).filter_map(|_| planner.choose(&candidates)).collect()
            }
            _ => (start..start + len).map(in_turn).collect(),
        }
    }

    fn count(&mut self, agents: [usize; 2], pair: Pair) {
        let edge = self.edges.entry(agents).or_default();
        edge.pairs[(2.0 * (pair[0].score + pair[1].score)) as usize] += 1;
        for (side, played) in pair.into_iter().enumerate() {
            edge.results[(2.0 - 2.0 * played.score) as usize] += 1;
            self.cut_short += (self.game.about().drawless && played.score == 0.5) as usize;
            if let Some(fault) = played.fault {
                self.faults[agents[(played.score == 1.0) as usize]].add(fault);
            }
            edge.repeats.count_from(played.start, side, played.actions);
        }
        self.next += 1;
    }

    fn ratings(&self) -> Ratings {
        let meetings: Vec<Meeting> = self
            .edges
            .iter()
            .map(|(agents, edge)| Meeting {
                agents: *agents,
                pairs: edge.pairs,
                draws: edge.results[1],
                worth: edge.repeats.worth(),
            })
            .collect();
        Ratings::fit(self.agents, &meetings)
    }

    fn result(&self) -> LadderResult {
        let met = self.edges.iter().map(|(agents, edge)| Met {
            agents: *agents,
            wins: edge.results[0],
            draws: edge.results[1],
            losses: edge.results[2],
            distinct_games: edge.repeats.distinct(),
            effective_games: edge.repeats.effective(),
            pairs: edge.pairs,
        });
        LadderResult {
            games: 2 * self.next,
            cut_short: self.cut_short,
            ratings: self.ratings(),
            met: met.collect(),
            faults: self.faults.clone(),
        }
    }
}
