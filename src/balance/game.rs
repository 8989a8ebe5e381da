//! Plays the games, and remembers what is measured of them.

use rand::RngExt;

use super::{Level, Opening, Plan};
use crate::arena::agent::{Agent, Analysis, SearchAgent};
use crate::error::{Error, Result};
use crate::game::{Action, Game, Outcome, Player};
use crate::parallel;
use crate::random::{Purpose, Random, stream};
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

/// Where levels meet.
pub(super) struct Table<'a, G: Game> {
    pub(super) game: &'a G,
    pub(super) levels: &'a [Level<G>],
    pub(super) plan: &'a Plan,
}

impl<G: Game> Table<'_, G> {
    fn agent(&self, level: usize, numbers: &[u64]) -> Result<SearchAgent<G>> {
        let Level { name, contestant } = &self.levels[level];
        contestant.search_agent(stream(self.plan.seed, Purpose::Agent, numbers)).ok_or_else(|| {
            Error::Config(format!("agent `{name}` does not search, so it has no opinion about a position"))
        })
    }

    /// Game `number` between two levels.
    pub(super) fn play(&self, first: usize, second: usize, number: usize) -> Result<Observed> {
        let name = [first as u64, second as u64, number as u64];
        let mut agents = [
            self.agent(first, &[name[0], name[1], name[2], 0])?,
            self.agent(second, &[name[0], name[1], name[2], 1])?,
        ];
        let mut random = stream(self.plan.seed, Purpose::Opening, &name);
        let mut state = self.game.initial();
        let (mut actions, mut scores, mut branching) = (Vec::new(), Vec::new(), Vec::new());
        let outcome = loop {
            if let Some(outcome) = self.game.outcome(&state) {
                break outcome;
            }
            let mover = self.game.to_move(&state);
            let analysis = agents[mover.index()].analyze(&state)?;
            let action = match actions.len() < self.plan.varied_plies {
                true => drawn(&analysis, &mut random),
                false => analysis.action,
            };
            scores.push(score_of_first(mover, analysis.value));
            branching.push(analysis.visits.len() as u32);
            actions.push(action);
            let before = state.clone();
            self.game.play(&mut state, action);
            agents.iter_mut().for_each(|agent| agent.played(&before, action));
        };
        Ok(Observed { actions, outcome, ending: self.game.ending(&state), scores, branching })
    }

    /// What the strongest level thinks of every first action.
    pub(super) fn openings(&self, games: &[Observed]) -> Result<Vec<Opening>> {
        let (initial, strongest) = (self.game.initial(), self.levels.len() - 1);
        let legal = self.game.legal(&initial);
        let mut openings = parallel::map(legal.len(), &|index| {
            let (action, mut next) = (legal[index], initial.clone());
            self.game.play(&mut next, action);
            let expected = match self.game.outcome(&next) {
                Some(outcome) => (outcome.value_for(Player::First) + 1.0) / 2.0,
                None => {
                    let analysis = self.agent(strongest, &[u64::MAX, index as u64])?.analyze(&next)?;
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

    /// How often each square was touched; 1 for the most.
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

/// An action with a chance proportional to its visits.
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
