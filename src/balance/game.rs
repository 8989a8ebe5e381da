//! Plays the games and records the numbers that the measurement needs.

use rand::RngExt;

use super::proof::Proof;
use super::{Level, Opening, Plan};
use crate::any::{AnyGame, AnyState};
use crate::arena::agent::Agent;
use crate::arena::contestant::Contestant;
use crate::arena::perfect::Perfect;
use crate::arena::searching::{Analysis, Searcher};
use crate::error::{Error, Result};
use crate::game::{Action, Game, Outcome, Player};
use crate::parallel;
use crate::random::{Purpose, Random, stream};
use crate::search::Search;
use crate::search::together::{self, Task};
use crate::search::tree::for_first;
use crate::solve::Solver;

/// An opening: its actions, and before each action the first player's expected score and the number of legal actions.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub(super) actions: Vec<Action>,
    pub(super) scores: Vec<f32>,
    pub(super) branching: Vec<u32>,
}

/// A game that has been played.
pub(super) struct Observed {
    pub(super) actions: Vec<Action>,
    pub(super) outcome: Outcome,
    pub(super) ending: String,
    /// The number of actions that come from an opening.
    pub(super) opening: usize,
    /// The first player's expected score before each action, from 0 to 1, by the search of the player who acted or of
    /// the level that chose the opening.
    pub(super) scores: Vec<f32>,
    /// The number of legal actions before each action.
    pub(super) branching: Vec<u32>,
    /// The first ply after the opening at which the search of the player who acted had proven the result; `None` if
    /// there is no such ply.
    pub(super) proven_from: Option<usize>,
}

impl Observed {
    pub(super) fn score(&self, player: Player) -> f64 {
        self.outcome.score_for(player).into()
    }

    /// Returns the first player's expected scores after the opening, which come from the searches of the players
    /// themselves.
    pub(super) fn own_scores(&self) -> &[f32] {
        &self.scores[self.opening..]
    }
}

/// The players and the plan of a measurement.
pub(super) struct BalanceTable<'a> {
    pub(super) game: &'a AnyGame,
    pub(super) levels: &'a [Level],
    pub(super) plan: &'a Plan,
}

/// The players of a game: the levels of the first and the second player, and the game's number among the games between
/// these levels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seats {
    pub(super) levels: [usize; 2],
    pub(super) number: usize,
}

/// How a player evaluates a position and chooses an action: by a search or by perfect play.
enum Mind {
    Searching(Box<Searcher<AnyGame>>),
    Perfect(Box<Perfect<AnyGame>>),
}

/// A game in progress.
struct LevelGame<'a> {
    game: &'a AnyGame,
    levels: [usize; 2],
    minds: [Mind; 2],
    random: Random,
    /// The number of plies at the start whose actions are drawn from the visits.
    drawn_plies: usize,
    state: AnyState,
    played: Observed,
}

impl Task<AnyGame> for LevelGame<'_> {
    fn advance(&mut self) -> Result<Option<usize>> {
        while self.game.outcome(&self.state).is_none() {
            let mover = self.game.to_move(&self.state);
            let ply = self.played.actions.len();
            let (action, score, branching, is_proven) = match &mut self.minds[mover.index()] {
                Mind::Perfect(player) => {
                    let known = player.outcome(&self.state)?.score_for(Player::First);
                    let legal = self.game.legal(&self.state).len();
                    (player.choose(&self.state)?, known, legal, true)
                }
                Mind::Searching(searcher) => {
                    if searcher.think(&self.state) {
                        return Ok(Some(self.levels[mover.index()]));
                    }
                    let analysis = Analysis::of(searcher.search());
                    // an agent with a temperature varies its actions anyway
                    let is_drawn = ply < self.drawn_plies && !searcher.draws();
                    let action =
                        if is_drawn { drawn(&analysis, &mut self.random) } else { searcher.choose() };
                    let is_proven = searcher.search().tree().is_solved();
                    (action, score_of_first(mover, analysis.value), analysis.visits.len(), is_proven)
                }
            };
            self.played.scores.push(score);
            self.played.branching.push(branching as u32);
            self.played.actions.push(action);
            self.played.proven_from = self.played.proven_from.or(is_proven.then_some(ply));
            for mind in &mut self.minds {
                if let Mind::Searching(searcher) = mind {
                    searcher.played(&self.state, action);
                }
            }
            self.game.play(&mut self.state, action);
        }
        Ok(None)
    }

    fn search(&self) -> &Search<AnyGame> {
        match &self.minds[self.game.to_move(&self.state).index()] {
            Mind::Searching(searcher) => searcher.search(),
            Mind::Perfect(..) => unreachable!("perfect play needs no evaluator"),
        }
    }

    fn search_mut(&mut self) -> &mut Search<AnyGame> {
        match &mut self.minds[self.game.to_move(&self.state).index()] {
            Mind::Searching(searcher) => searcher.search_mut(),
            Mind::Perfect(..) => unreachable!("perfect play needs no evaluator"),
        }
    }
}

impl LevelGame<'_> {
    /// Returns the measurements of the finished game.
    fn observed(self) -> Observed {
        let outcome = self.game.outcome(&self.state).expect("the game is over");
        Observed { outcome, ending: self.game.ending(&self.state).into(), ..self.played }
    }
}

impl<'a> BalanceTable<'a> {
    /// Returns the strongest level that searches, or the strongest of all if none does.
    pub(super) fn strongest(&self) -> usize {
        let searches = |level: &Level| level.contestant.searches();
        self.levels.iter().rposition(searches).unwrap_or(self.levels.len().saturating_sub(1))
    }

    pub(super) fn searcher(&self, level: usize, numbers: &[u64]) -> Result<Searcher<AnyGame>> {
        let Level { name, contestant, .. } = &self.levels[level];
        contestant.searcher(stream(self.plan.seed, Purpose::Agent, numbers)).ok_or_else(|| {
            Error::Config(format!(
                "agent `{name}` does not search, so it cannot evaluate positions; every level must search or be perfect"
            ))
        })
    }

    fn mind(&self, level: usize, numbers: &[u64]) -> Result<Mind> {
        let random = stream(self.plan.seed, Purpose::Agent, numbers);
        match self.levels[level].contestant.perfect(random) {
            Some(player) => Ok(Mind::Perfect(Box::new(player))),
            None => Ok(Mind::Searching(Box::new(self.searcher(level, numbers)?))),
        }
    }

    /// Begins a game with an opening, or with actions drawn from the visits.
    fn begin(&self, seats: Seats, opening: Option<&Line>) -> Result<LevelGame<'a>> {
        let Seats { levels: [first, second], number } = seats;
        let name = [first as u64, second as u64, number as u64];
        let mind = |level, side| self.mind(level, &[name[0], name[1], name[2], side]);
        let Line { actions, scores, branching } = opening.cloned().unwrap_or_default();
        let mut state = self.game.initial();
        actions.iter().for_each(|action| self.game.play(&mut state, *action));
        Ok(LevelGame {
            game: self.game,
            levels: seats.levels,
            minds: [mind(first, 0)?, mind(second, 1)?],
            random: stream(self.plan.seed, Purpose::Opening, &name),
            drawn_plies: self.plan.varied_plies.unwrap_or(0),
            state,
            played: Observed {
                opening: actions.len(),
                actions,
                outcome: Outcome::Draw,
                ending: String::new(),
                scores,
                branching,
                proven_from: None,
            },
        })
    }

    /// Plays games. `opening` returns the opening of each game if there is a book of openings. `tick` receives the
    /// number of finished games and returns whether to continue.
    pub(super) fn play(
        &self,
        games: &[Seats],
        opening: impl Fn(Seats) -> Option<&'a Line> + Sync,
        tick: &(dyn Fn(usize) -> bool + Sync),
    ) -> Result<Vec<Observed>> {
        let contestants: Vec<&Contestant<AnyGame>> =
            self.levels.iter().map(|level| &level.contestant).collect();
        let searching: Vec<_> = contestants.iter().copied().filter(|agent| agent.searches()).collect();
        let in_flight = Contestant::in_flight(&searching, games.len(), None);
        let begin = |index: usize| self.begin(games[index], opening(games[index]));
        let evaluator = |level: usize| {
            contestants[level].evaluator_among(contestants.len()).expect("only searches need an evaluator")
        };
        let played = together::map(games.len(), in_flight, begin, LevelGame::observed, evaluator, tick)?;
        tick(games.len());
        Ok(played)
    }

    /// Returns a solver that knows the value of every position, if one of the levels plays perfectly.
    pub(super) fn solver(&self) -> Option<Solver<AnyGame>> {
        self.levels.iter().find_map(|level| level.contestant.solver())
    }

    /// Returns the value of every first action, from the proof, from perfect play, or from a search by the strongest
    /// level.
    pub(super) fn openings(&self, proof: Option<&Proof>, games: &[Observed]) -> Result<Vec<Opening>> {
        let (initial, strongest) = (self.game.initial(), self.strongest());
        let legal = self.game.legal(&initial);
        let mut openings = parallel::map(legal.len(), &|index| {
            let (action, mut next) = (legal[index], initial.clone());
            self.game.play(&mut next, action);
            let proved = || proof.and_then(|proof| proof.outcomes[index]);
            let known = match self.game.outcome(&next).or_else(proved) {
                None => self.solver().map(|mut solver| solver.outcome(&next)).transpose()?,
                found => found,
            };
            let expected = match known {
                Some(outcome) => outcome.score_for(Player::First),
                None => {
                    let random = stream(self.plan.seed, Purpose::Agent, &[u64::MAX, index as u64]);
                    let agent = self.levels[strongest].contestant.search_agent(random);
                    let analysis = agent.expect("a level without perfect play searches").analyze(&next)?;
                    score_of_first(self.game.to_move(&next), analysis.value)
                }
            };
            let scores: Vec<f64> = games
                .iter()
                .filter(|game| game.actions.first() == Some(&action))
                .map(|game| game.score(Player::First))
                .collect();
            let score = (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64);
            let text = self.game.action_text(&initial, action);
            Ok(Opening {
                action: text,
                expected: expected.into(),
                is_proven: known.is_some(),
                games: scores.len(),
                score,
            })
        })?;
        openings.sort_by(|a, b| b.expected.total_cmp(&a.expected));
        Ok(openings)
    }
}

pub(super) fn score_of_first(mover: Player, value: f32) -> f32 {
    (for_first(mover, value) + 1.0) / 2.0
}

/// Draws an action with a probability proportional to its visits.
fn drawn(analysis: &Analysis, random: &mut Random) -> Action {
    let all: u32 = analysis.visits.iter().map(|(_, visits)| visits).sum();
    if all == 0 {
        return analysis.action;
    }
    let mut left = random.random_range(0..all);
    for &(action, visits) in &analysis.visits {
        match left.checked_sub(visits) {
            Some(rest) => left = rest,
            None => return action,
        }
    }
    analysis.action
}
