//! Plays the games, and records what is measured in them.

use rand::RngExt;

use super::{Level, Opening, Plan};
use crate::any::{AnyGame, AnyState};
use crate::arena::agent::Contestant;
use crate::arena::searching::{Analysis, Searcher};
use crate::error::{Error, Result};
use crate::game::{Action, Game, Outcome, Player};
use crate::parallel;
use crate::random::{Purpose, Random, stream};
use crate::search::Search;
use crate::search::together::{self, Task};
use crate::search::tree::for_first;

/// A game that was played.
pub(super) struct Observed {
    pub(super) actions: Vec<Action>,
    pub(super) outcome: Outcome,
    pub(super) ending: &'static str,
    /// The first player's expected score before each action, by the search of whoever acted, 0 to 1.
    pub(super) scores: Vec<f32>,
    /// Legal actions before each action.
    pub(super) branching: Vec<u32>,
}

impl Observed {
    pub(super) fn score(&self, player: Player) -> f64 {
        (f64::from(self.outcome.value_for(player)) + 1.0) / 2.0
    }
}

/// The players and the plan of a measurement.
pub(super) struct Table<'a> {
    pub(super) game: &'a AnyGame,
    pub(super) levels: &'a [Level],
    pub(super) plan: &'a Plan,
}

/// A game in progress.
struct LevelGame<'a> {
    game: &'a AnyGame,
    levels: [usize; 2],
    searchers: [Searcher<AnyGame>; 2],
    random: Random,
    varied_plies: usize,
    state: AnyState,
    played: Observed,
}

impl Task<AnyGame> for LevelGame<'_> {
    fn advance(&mut self) -> Result<Option<usize>> {
        while self.game.outcome(&self.state).is_none() {
            let mover = self.game.to_move(&self.state);
            let searcher = &mut self.searchers[mover.index()];
            if searcher.think(&self.state) {
                return Ok(Some(self.levels[mover.index()]));
            }
            let analysis = Analysis::of(searcher.search());
            // an agent with a temperature varies anyway
            let is_varied = self.played.actions.len() < self.varied_plies && !searcher.draws();
            let action = if is_varied { drawn(&analysis, &mut self.random) } else { searcher.choose() };
            self.played.scores.push(score_of_first(mover, analysis.value));
            self.played.branching.push(analysis.visits.len() as u32);
            self.played.actions.push(action);
            self.searchers.iter_mut().for_each(|searcher| searcher.played(&self.state, action));
            self.game.play(&mut self.state, action);
        }
        Ok(None)
    }

    fn search(&self) -> &Search<AnyGame> {
        self.searchers[self.game.to_move(&self.state).index()].search()
    }

    fn search_mut(&mut self) -> &mut Search<AnyGame> {
        self.searchers[self.game.to_move(&self.state).index()].search_mut()
    }
}

impl LevelGame<'_> {
    /// The measurements of the finished game.
    fn observed(self) -> Observed {
        let outcome = self.game.outcome(&self.state).expect("it is over");
        Observed { outcome, ending: self.game.ending(&self.state), ..self.played }
    }
}

impl<'a> Table<'a> {
    fn searcher(&self, level: usize, numbers: &[u64]) -> Result<Searcher<AnyGame>> {
        let Level { name, contestant } = &self.levels[level];
        contestant.searcher(stream(self.plan.seed, Purpose::Agent, numbers)).ok_or_else(|| {
            Error::Config(format!("agent `{name}` does not search, so it has no opinion about a position"))
        })
    }

    fn begin(&self, levels: [usize; 2], number: usize) -> Result<LevelGame<'a>> {
        let [first, second] = levels;
        let name = [first as u64, second as u64, number as u64];
        let searcher = |level, side| self.searcher(level, &[name[0], name[1], name[2], side]);
        Ok(LevelGame {
            game: self.game,
            levels,
            searchers: [searcher(first, 0)?, searcher(second, 1)?],
            random: stream(self.plan.seed, Purpose::Opening, &name),
            varied_plies: self.plan.varied_plies,
            state: self.game.initial(),
            played: Observed {
                actions: Vec::new(),
                outcome: Outcome::Draw,
                ending: "",
                scores: Vec::new(),
                branching: Vec::new(),
            },
        })
    }

    /// Plays `games` games; `planned` gives the levels of a game, the first player's first, and its number among the
    /// games of these levels. `tick` is given the number of finished games and returns whether to continue.
    pub(super) fn play(
        &self,
        games: usize,
        planned: impl Fn(usize) -> ([usize; 2], usize) + Sync,
        tick: &(dyn Fn(usize) -> bool + Sync),
    ) -> Result<Vec<Observed>> {
        let contestants: Vec<&Contestant<AnyGame>> =
            self.levels.iter().map(|level| &level.contestant).collect();
        let in_flight = Contestant::in_flight(&contestants, games, None);
        let begin = |index| {
            let (levels, number) = planned(index);
            self.begin(levels, number)
        };
        let evaluator =
            |level: usize| contestants[level].evaluator_among(contestants.len()).expect("only searches ask");
        let played = together::map(games, in_flight, begin, LevelGame::observed, evaluator, tick)?;
        tick(games);
        Ok(played)
    }

    /// The strongest level's value of every first action.
    pub(super) fn openings(&self, games: &[Observed]) -> Result<Vec<Opening>> {
        let (initial, strongest) = (self.game.initial(), self.levels.len() - 1);
        let legal = self.game.legal(&initial);
        let mut openings = parallel::map(legal.len(), &|index| {
            let (action, mut next) = (legal[index], initial.clone());
            self.game.play(&mut next, action);
            let expected = match self.game.outcome(&next) {
                Some(outcome) => (outcome.value_for(Player::First) + 1.0) / 2.0,
                None => {
                    let random = stream(self.plan.seed, Purpose::Agent, &[u64::MAX, index as u64]);
                    let agent = self.levels[strongest].contestant.search_agent(random);
                    let analysis = agent.expect("it has played").analyze(&next)?;
                    score_of_first(self.game.to_move(&next), analysis.value)
                }
            };
            let began: Vec<f64> = games
                .iter()
                .filter(|game| game.actions.first() == Some(&action))
                .map(|game| game.score(Player::First))
                .collect();
            let score = (!began.is_empty()).then(|| began.iter().sum::<f64>() / began.len() as f64);
            let text = self.game.action_text(&initial, action);
            Ok(Opening { action: text, expected: expected.into(), games: began.len(), score })
        })?;
        openings.sort_by(|a, b| b.expected.total_cmp(&a.expected));
        Ok(openings)
    }

    /// How often each square was touched, relative to the most touched one.
    pub(super) fn heat(&self, games: &[Observed]) -> Vec<Vec<f32>> {
        let view = self.game.view(&self.game.initial());
        let mut heat = vec![vec![0.0f32; view.columns.len()]; view.rows.len()];
        for game in games {
            let mut state = self.game.initial();
            for &action in &game.actions {
                self.game.touched(&state, action).into_iter().for_each(|(y, x)| heat[y][x] += 1.0);
                self.game.play(&mut state, action);
            }
        }
        let most = heat.iter().flatten().copied().fold(1.0, f32::max);
        heat.iter_mut().flatten().for_each(|count| *count /= most);
        heat
    }
}

fn score_of_first(mover: Player, value: f32) -> f32 {
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
