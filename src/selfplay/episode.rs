//! One self-play game, from its random stream to its record.

use std::collections::BTreeMap;

use rand::RngExt;

use super::Generation;
use crate::config::{Config, RootKind, SearchConfig, SelfplayConfig};
use crate::error::Result;
use crate::game::{Action, Game};
use crate::random::{Purpose, Random, choose, stream};
use crate::replay::record::Record;
use crate::search::Search;
use crate::search::evaluator::Wdl;
use crate::search::policy::draw;
use crate::search::together::Task;

/// The sum of the integer weights that priors are converted to when an action is drawn from them.
const PRIOR_WHOLE: f32 = 1e6;

/// A game in flight.
pub(crate) struct Episode<G: Game> {
    game: G,
    settings: SelfplayConfig,
    root: RootKind,
    simulations: usize,
    /// Whether the current search is a full one; see `selfplay.fast_simulations`.
    full: bool,
    index: usize,
    random: Random,
    search: Search<G>,
    /// Simulations of the searches before the current one.
    earlier: usize,
    /// The numbers of searched plies and of simulations that [`Episode::advanced`] has already reported.
    told: [usize; 2],
    start: String,
    /// The number of actions at the start of the game that were not searched.
    unsearched: usize,
    /// The number of opening actions that are still to be drawn from the network's policy.
    policy_plies: usize,
    /// The number of uniformly random actions that follow those drawn from the policy.
    random_plies: usize,
    /// Whether the current ply is searched although it belongs to the opening; see `selfplay.opening_share`.
    opening_search: bool,
    actions: Vec<String>,
    visits: Vec<BTreeMap<String, u32>>,
    policy: Vec<BTreeMap<String, u32>>,
    /// For each ply, the distance of its policy target from the prior; `None` for plies that are not trained on.
    surprise: Vec<Option<f64>>,
    wdl: Vec<[f32; 3]>,
}

debug_fields!(Episode<G: Game>, index, simulations, search);

impl<G: Game> Episode<G> {
    /// Begins game number `index` of a generation, at its start position.
    ///
    /// # Panics
    /// If a start of the generation is not a position of the game.
    pub(crate) fn new(game: &G, generation: &Generation, index: usize) -> Episode<G> {
        let Config { seed, search, selfplay, .. } = generation.config;
        let random = stream(*seed, Purpose::Selfplay, &[generation.number as u64, index as u64]);
        let start = generation.starts.of(index);
        let start = start.map(|text| game.parse_state(text).expect("a start is parsed when it is drawn"));
        let is_usual = start.is_none();
        let state = start.unwrap_or_else(|| game.initial());
        let start = game.state_text(&state);
        let mut episode = Episode {
            game: game.clone(),
            settings: selfplay.clone(),
            root: search.root,
            simulations: generation.simulations,
            full: true,
            index,
            random,
            search: Search::new(
                game.clone(),
                SearchConfig { solve_nodes: selfplay.solve_nodes, ..search.clone() },
                state,
            ),
            earlier: 0,
            told: [0; 2],
            start,
            unsearched: 0,
            policy_plies: 0,
            random_plies: 0,
            opening_search: false,
            actions: Vec::new(),
            visits: Vec::new(),
            policy: Vec::new(),
            surprise: Vec::new(),
            wdl: Vec::new(),
        };
        if is_usual {
            episode.random_plies = episode.random.random_range(0..=selfplay.random_plies);
            if selfplay.policy_plies > 0 {
                episode.policy_plies = episode.random.random_range(0..=selfplay.policy_plies);
            }
        }
        episode.begin();
        episode
    }

    /// Returns the number of plies searched so far: all plies except those of the opening that were drawn at random or
    /// from the policy.
    pub(crate) fn searched(&self) -> usize {
        self.actions.len() - self.unsearched
    }

    /// Returns the number of simulations made so far.
    pub(crate) fn simulations(&self) -> usize {
        self.earlier + self.search.simulations()
    }

    /// Returns the numbers of plies searched and of simulations made since the last call.
    pub(crate) fn advanced(&mut self) -> [usize; 2] {
        let now = [self.searched(), self.simulations()];
        let before = std::mem::replace(&mut self.told, now);
        [now[0] - before[0], now[1] - before[1]]
    }

    /// Returns the current position.
    fn root(&self) -> &G::State {
        self.search.tree().root()
    }

    /// Returns the record of the finished game.
    ///
    /// # Panics
    /// If the game is not over.
    pub(crate) fn into_record(self, generation: &Generation) -> Record {
        let outcome = self.game.outcome(self.root()).expect("the game of a finished episode is over");
        let mut policy = self.policy;
        if policy.iter().all(|weights| weights.is_empty()) {
            policy.clear();
        }
        let weights = weights(self.settings.surprise_weight as f64, &self.surprise);
        let record = Record {
            generation: generation.number,
            index: self.index,
            actions: self.actions,
            visits: self.visits,
            policy,
            weights,
            wdl: self.wdl,
            outcome: outcome.id().to_string(),
            ..Record::new(generation.identity, &generation.evaluator, self.start)
        };
        record.with_its_format()
    }

    /// Plays an action that was not searched and will not be trained on.
    fn play_unsearched(&mut self, action: Action, wdl: [f32; 3]) {
        self.actions.push(self.game.action_text(self.root(), action));
        self.visits.push(BTreeMap::new());
        self.policy.push(BTreeMap::new());
        self.surprise.push(None);
        self.wdl.push(wdl);
        self.search.advance(action);
        self.unsearched += 1;
    }

    /// Returns whether the next action belongs to the opening, where it is drawn even if the position is searched.
    fn is_opening(&self) -> bool {
        self.policy_plies + self.random_plies > 0
    }

    /// Draws the next action of the opening: from the network's policy, or uniformly.
    fn draw_opening(&mut self) -> Action {
        if self.policy_plies == 0 {
            self.random_plies -= 1;
            let legal = self.game.legal(self.root());
            return choose(&mut self.random, &legal);
        }
        self.policy_plies -= 1;
        let weight = |prior: f32| (prior * PRIOR_WHOLE) as u32 + 1;
        let priors: Vec<(Action, u32)> =
            self.search.tree().root_edges().map(|edge| (edge.action, weight(edge.prior))).collect();
        draw(&priors, self.settings.policy_temperature, &mut self.random)
    }

    /// Begins the search of the position, full or fast (playout cap randomization); actions of the opening that need
    /// no search are played first.
    fn begin(&mut self) {
        let share = self.settings.opening_share;
        while self.is_opening() && self.game.outcome(self.root()).is_none() {
            self.opening_search = share > 0.0 && self.random.random::<f32>() < share;
            if self.opening_search {
                self.full = true;
                return self.search.begin_with_noise(Some(self.simulations), Some(1.0));
            }
            if self.policy_plies > 0 {
                return self.search.begin(Some(0), false);
            }
            let action = self.draw_opening();
            self.play_unsearched(action, [0.0, 1.0, 0.0]);
        }
        if self.settings.fast_simulations > 0 {
            self.full = self.random.random::<f32>() < self.settings.full_share;
        }
        let simulations = if self.full { self.simulations } else { self.settings.fast_simulations };
        let is_late = self.actions.len() >= self.settings.temperature_plies;
        let scale = if is_late { self.settings.gumbel_final } else { 1.0 };
        self.search.begin_with_noise(Some(simulations), self.full.then_some(scale));
    }

    /// Records the search's result and plays an action. In the opening, the action is drawn by
    /// [`Episode::draw_opening`]. In a decided game, the best action is played; with a Gumbel root, the winner of the
    /// halving is played. Otherwise, the action is drawn from the policy target with the temperature of this ply.
    fn act(&mut self) {
        self.earlier += self.search.simulations();
        if self.is_opening() && !self.opening_search {
            let wdl = rounded(self.search.tree().root_wdl());
            let action = self.draw_opening();
            self.play_unsearched(action, wdl);
            return self.begin();
        }
        let tree = self.search.tree();
        let targets: Vec<(Action, u32)> =
            tree.targets().into_iter().map(|(edge, visits)| (edge.action, visits)).collect();
        let policy = tree.policy_target();
        let policy_target = policy.as_ref().unwrap_or(&targets);
        self.surprise.push(self.full.then(|| tree.surprise(policy_target)));
        // a ply without recorded visits is not trained on
        let texts = |weights: &[(Action, u32)]| if self.full { self.texts(weights) } else { BTreeMap::new() };
        let entries = (texts(&targets), texts(policy.as_deref().unwrap_or_default()));
        self.visits.push(entries.0);
        self.policy.push(entries.1);
        let value = tree.search_value();
        self.wdl.push(rounded(value));
        let threshold = self.settings.decided;
        let is_decided = threshold > 0.0 && (tree.is_solved() || value.value().abs() >= threshold);
        let temperature = match self.actions.len() < self.settings.temperature_plies {
            // the halving has already drawn an action; if it had no simulations, draw from the policy as usual
            _ if self.root == RootKind::Gumbel && self.search.has_begun() => 0.0,
            _ if is_decided => 0.0,
            true => self.settings.temperature,
            false => self.settings.temperature_final,
        };
        let best = tree.best_action().expect("the root was evaluated");
        let action = match temperature {
            _ if self.is_opening() => self.draw_opening(),
            0.0 => best,
            _ => draw(policy_target, temperature, &mut self.random),
        };
        self.actions.push(self.game.action_text(self.root(), action));
        self.search.advance(action);
        self.begin();
    }

    /// Returns the weights of the root's actions in the format of a record.
    fn texts(&self, weights: &[(Action, u32)]) -> BTreeMap<String, u32> {
        let text = |action: Action| self.game.action_text(self.root(), action);
        weights.iter().filter(|(_, n)| *n > 0).map(|&(action, n)| (text(action), n)).collect()
    }
}

/// Searches and plays until a leaf needs an evaluation, always by evaluator 0, or until the game is over.
impl<G: Game> Task<G> for Box<Episode<G>> {
    fn advance(&mut self) -> Result<Option<usize>> {
        loop {
            if self.search.next(&mut self.random) {
                return Ok(Some(0));
            }
            if self.game.outcome(self.root()).is_some() {
                return Ok(None);
            }
            self.act();
        }
    }

    fn search(&self) -> &Search<G> {
        &self.search
    }

    fn search_mut(&mut self) -> &mut Search<G> {
        &mut self.search
    }
}

/// Returns win, draw, and loss, rounded as in records.
fn rounded(wdl: Wdl) -> [f32; 3] {
    [wdl.win, wdl.draw, wdl.loss].map(|p| (p * 1000.0).round() / 1000.0)
}

/// Returns how often training draws each ply, relative to the usual 1. The weights of a game sum to the number of its
/// trained plies: the share `surprise_weight` of this sum is distributed by surprise, and the rest equally. The weights
/// are rounded to three decimal places. The result is empty if all weights are 1.
fn weights(surprise_weight: f64, surprise: &[Option<f64>]) -> Vec<f32> {
    let count = surprise.iter().flatten().count() as f64;
    let sum: f64 = surprise.iter().flatten().sum();
    if surprise_weight == 0.0 || sum == 0.0 {
        return Vec::new();
    }
    let weight = |surprise: f64| 1.0 - surprise_weight + surprise_weight * count * surprise / sum;
    let rounded = |weight: f64| ((weight * 1000.0).round() / 1000.0) as f32;
    let weights: Vec<f32> =
        surprise.iter().map(|surprise| surprise.map_or(1.0, |surprise| rounded(weight(surprise)))).collect();
    if weights.iter().all(|weight| *weight == 1.0) { Vec::new() } else { weights }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_weight_goes_by_surprise() {
        // three trained plies weigh 3: each gets half of 1, and 1.5 are split in the ratio 1 : 3 : 0
        let surprise = [None, Some(0.1), Some(0.3), None, Some(0.0)];
        assert_eq!(weights(0.5, &surprise), [1.0, 0.875, 1.625, 1.0, 0.5]);
        assert!(weights(0.0, &surprise).is_empty());
        assert!(weights(0.5, &[Some(0.0), None]).is_empty(), "no ply is surprising");
        assert!(weights(0.5, &[Some(0.2), Some(0.2)]).is_empty(), "all plies are equally surprising");
    }
}
