//! Games between agents, played on all threads.
//!
//! Many games are in flight if [that pays off](Contestant::in_flight), and their leaves are evaluated
//! [together](crate::search::together), so that a network gets batches and games share its cache. The results are the
//! same as if the games were played one after another.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use super::agent::Agent;
use super::book::PairOpening;
use super::contestant::Contestant;
use super::searching::Searcher;
use super::{FinishedGame, Standing, checked, score_of};
use crate::error::{Error, Fault, Result};
use crate::game::{Action, Game, Outcome, Player};
use crate::random::{Purpose, stream};
use crate::search::Search;
use crate::search::evaluator::Evaluator;
use crate::search::together::{Task, Tasks, work_off};

/// A game to play.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    /// The number of the pair that the game belongs to.
    pub(super) pair: usize,
    /// The numbers of the two agents.
    pub(super) agents: [usize; 2],
    /// Which of the two agents is the first player.
    pub(super) first_agent: usize,
    pub(super) opening: PairOpening,
}

/// Counts the games.
pub(super) trait Count: Send {
    /// Returns the progress so far; the caller that plays the games updates it.
    fn standing(&mut self) -> &mut Standing;
    /// Counts a finished game.
    fn add(&mut self, game: &Planned, played: FinishedGame) -> Result<()>;
    /// Returns whether no further game will be counted.
    fn is_over(&self) -> bool;
}

/// The games of a match or a round, and the counter that takes them in.
pub(super) struct Schedule<'a, C> {
    /// The largest number of games in progress on all threads together.
    at_once: usize,
    /// The games, in the order in which they begin.
    games: Mutex<Box<dyn Iterator<Item = Planned> + Send + 'a>>,
    count: Mutex<C>,
    /// The number of actions that agents chose in games in progress.
    unfinished: AtomicUsize,
    /// Receives the progress and returns whether to continue.
    tick: &'a (dyn Fn(&Standing) -> bool + Sync),
}

impl<'a, C> Schedule<'a, C> {
    pub(super) fn new(
        at_once: usize,
        games: impl Iterator<Item = Planned> + Send + 'a,
        count: C,
        tick: &'a (dyn Fn(&Standing) -> bool + Sync),
    ) -> Schedule<'a, C> {
        let (games, count) = (Mutex::new(Box::new(games) as Box<_>), Mutex::new(count));
        Schedule { at_once, games, count, unfinished: AtomicUsize::new(0), tick }
    }

    /// Returns the counter after the games were played.
    pub(super) fn into_count(self) -> C {
        self.count.into_inner().expect("no panic while counting")
    }

    fn count(&self) -> MutexGuard<'_, C> {
        self.count.lock().expect("no panic while counting")
    }
}

/// Plays the games of a schedule; `seed` determines the agents' random numbers.
///
/// # Errors
/// Errors of an agent or of the counter; [`Error::Interrupted`] if the schedule's `tick` returns false.
pub(super) fn play_games<G: Game>(
    game: &G,
    seed: u64,
    agents: &[&Contestant<G>],
    schedule: &Schedule<impl Count>,
) -> Result<()> {
    let in_flight = Contestant::in_flight(agents, schedule.at_once, None);
    work_off(&Games { game, seed, agents, schedule, together: !in_flight.is_single() }, in_flight)
}

struct Games<'a, 's, G: Game, C> {
    game: &'a G,
    seed: u64,
    agents: &'a [&'a Contestant<G>],
    schedule: &'a Schedule<'s, C>,
    /// Whether several games are in flight on a thread.
    together: bool,
}

impl<'a, G: Game, C: Count> Tasks<G> for Games<'a, '_, G, C> {
    type Task = GameInFlight<'a, G>;

    fn next(&self) -> Result<Option<GameInFlight<'a, G>>> {
        let next = self.schedule.games.lock().expect("no panic while drawing openings").next();
        let Some(planned) = next else { return Ok(None) };
        self.schedule.count().standing().playing += 1;
        let number = 2 * planned.pair as u64 + planned.first_agent as u64;
        let seats = [0, 1].map(|seat| {
            let agent = self.agents[planned.agents[seat]];
            let random = stream(self.seed, Purpose::Agent, &[number, seat as u64]);
            // an agent runs a search on several threads by itself; any other search proceeds in rounds and can be
            // stopped between two rounds
            match agent.searcher(random.clone()).filter(|_| self.together || agent.is_single_threaded()) {
                Some(searcher) => Seat::Searching(Box::new(searcher)),
                None => Seat::Other(agent.agent(random)),
            }
        });
        Ok(Some(GameInFlight::new(self.game, planned, seats, &self.schedule.unfinished)))
    }

    fn finished(&self, game: GameInFlight<'a, G>) -> Result<()> {
        let (planned, played) = game.end();
        let chosen = played.actions.len().saturating_sub(planned.opening.actions.len());
        self.schedule.unfinished.fetch_sub(chosen, Ordering::Relaxed);
        let mut count = self.schedule.count();
        count.standing().ended(chosen);
        count.add(&planned, played)
    }

    fn goes_on(&self) -> Result<bool> {
        let standing = match &mut *self.schedule.count() {
            count if count.is_over() => return Ok(false),
            count => *count.standing(),
        };
        let standing = standing.with_unfinished(self.schedule.unfinished.load(Ordering::Relaxed));
        if (self.schedule.tick)(&standing) { Ok(true) } else { Err(Error::Interrupted) }
    }

    fn evaluator(&self, agent: usize) -> Box<dyn Evaluator<G> + '_> {
        self.agents[agent].evaluator_among(self.agents.len()).expect("only searches ask")
    }
}

/// A game in progress.
struct GameInFlight<'a, G: Game> {
    game: &'a G,
    planned: Planned,
    seats: [Seat<G>; 2],
    state: G::State,
    actions: Vec<Action>,
    /// The counter of actions that agents choose.
    chosen: &'a AtomicUsize,
    /// The agent that lost by forfeit, and why.
    forfeit: Option<(usize, Fault)>,
}

/// One of the two agents.
enum Seat<G: Game> {
    /// The agent's leaves are evaluated together with those of other games.
    Searching(Box<Searcher<G>>),
    /// The agent chooses on its own.
    Other(Box<dyn Agent<G>>),
}

impl<'a, G: Game> GameInFlight<'a, G> {
    fn new(
        game: &'a G,
        planned: Planned,
        seats: [Seat<G>; 2],
        chosen: &'a AtomicUsize,
    ) -> GameInFlight<'a, G> {
        let (state, actions) = (planned.opening.begin(game), Vec::new());
        GameInFlight { game, planned, seats, state, actions, chosen, forfeit: None }
    }

    /// Returns the index of the agent to move.
    fn agent_to_move(&self) -> usize {
        match self.game.to_move(&self.state) {
            Player::First => self.planned.first_agent,
            Player::Second => 1 - self.planned.first_agent,
        }
    }

    fn play(&mut self, action: Action) {
        for seat in &mut self.seats {
            match seat {
                Seat::Searching(searcher) => searcher.played(&self.state, action),
                Seat::Other(agent) => agent.played(&self.state, action),
            }
        }
        self.game.play(&mut self.state, action);
        self.actions.push(action);
    }

    /// Returns the game and its result.
    fn end(self) -> (Planned, FinishedGame) {
        let score = match self.forfeit {
            // the score of the first agent
            Some((loser, _)) => loser as f64,
            None => {
                let outcome = self.game.outcome(&self.state).unwrap_or(Outcome::Draw);
                score_of(outcome, self.planned.first_agent)
            }
        };
        let fault = self.forfeit.map(|(_, fault)| fault);
        let start = self.planned.opening.start.clone();
        (self.planned, FinishedGame { start, actions: self.actions, score, fault })
    }
}

impl<G: Game> Task<G> for GameInFlight<'_, G> {
    fn advance(&mut self) -> Result<Option<usize>> {
        while self.game.outcome(&self.state).is_none() {
            if let Some(action) = self.planned.opening.actions.get(self.actions.len()) {
                self.play(*action);
                continue;
            }
            let agent = self.agent_to_move();
            let action = match &mut self.seats[agent] {
                Seat::Searching(searcher) => {
                    if searcher.think(&self.state) {
                        return Ok(Some(self.planned.agents[agent]));
                    }
                    searcher.choose()
                }
                Seat::Other(other) => match other.choose(&self.state) {
                    Ok(action) => action,
                    Err(Error::Fault(fault)) => {
                        self.forfeit = Some((agent, fault));
                        return Ok(None);
                    }
                    Err(error) => return Err(error),
                },
            };
            self.play(checked(self.game, &self.state, action)?);
            self.chosen.fetch_add(1, Ordering::Relaxed);
        }
        Ok(None)
    }

    fn search(&self) -> &Search<G> {
        match &self.seats[self.agent_to_move()] {
            Seat::Searching(searcher) => searcher.search(),
            Seat::Other(_) => unreachable!("only searches wait"),
        }
    }

    fn search_mut(&mut self) -> &mut Search<G> {
        let agent = self.agent_to_move();
        match &mut self.seats[agent] {
            Seat::Searching(searcher) => searcher.search_mut(),
            Seat::Other(_) => unreachable!("only searches wait"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::arena::{Match, play_while};
    use crate::config::SearchConfig;
    use crate::games::tic_tac_toe::TicTacToe;
    use crate::search::evaluator::Rollout;

    /// A request to end the match takes effect before the current search ends.
    #[test]
    fn a_match_ends_within_a_search() {
        let evaluators_made = Arc::new(AtomicUsize::new(0));
        let counting = evaluators_made.clone();
        let make = move || {
            counting.fetch_add(1, Ordering::Relaxed);
            Rollout::new(TicTacToe)
        };
        // proofs would end the searches early
        let search = SearchConfig { leaf_nodes: 0, ..SearchConfig::default().one_by_one() };
        let long = Contestant::searching(&TicTacToe, "long", &search, 1_000_000_000, make);
        let plan = Match { games: 2, seed: 1, opening_plies: 0, book: None, sprt: None };
        let (result, is_complete) = play_while(&TicTacToe, &plan, [&long, &long], None, &|_| {
            evaluators_made.load(Ordering::Relaxed) == 0
        })
        .unwrap();
        assert!(!is_complete && result.games == 0);
    }
}
