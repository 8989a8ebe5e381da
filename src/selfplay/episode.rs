//! One self-play game, from its random stream to its record.

use std::collections::BTreeMap;

use rand::RngExt;

use super::Generation;
use crate::config::{Config, RootKind, SelfplayConfig};
use crate::game::{Action, Game};
use crate::random::{Purpose, Random, choose, stream};
use crate::replay::record::{FORMAT, PLAIN_FORMAT, Record};
use crate::search::evaluator::{Evaluation, Request};
use crate::search::tree::{Leaf, Tree};

/// What an episode needs next.
pub enum Step {
    /// An evaluation of [`Episode::request`], with this seed.
    Evaluate(u64),
    /// Nothing: the game is over.
    Finished,
}

/// A game in flight.
pub struct Episode<G: Game> {
    game: G,
    settings: SelfplayConfig,
    root: RootKind,
    simulations: usize,
    index: usize,
    random: Random,
    tree: Tree<G>,
    /// Simulations since the last action.
    done: usize,
    /// The root's search has begun: its first evaluation is no part of it.
    begun: bool,
    start: String,
    actions: Vec<String>,
    visits: Vec<BTreeMap<String, u32>>,
    policy: Vec<BTreeMap<String, u32>>,
    wdl: Vec<[f32; 3]>,
}

impl<G: Game> Episode<G> {
    /// The game `index` of a generation, at its start position.
    pub fn new(game: &G, generation: &Generation, index: usize) -> Episode<G> {
        let Config { seed, search, selfplay, .. } = generation.config;
        let random = stream(*seed, Purpose::Selfplay, &[generation.number as u64, index as u64]);
        let state = game.initial();
        let start = game.state_text(&state);
        let mut episode = Episode {
            game: game.clone(),
            settings: selfplay.clone(),
            root: search.root,
            simulations: generation.simulations,
            index,
            random,
            tree: Tree::new(game.clone(), search.clone(), state),
            done: 0,
            begun: false,
            start,
            actions: Vec::new(),
            visits: Vec::new(),
            policy: Vec::new(),
            wdl: Vec::new(),
        };
        episode.play_random_plies();
        episode
    }

    /// Plies played so far.
    pub fn plies(&self) -> usize {
        self.actions.len()
    }

    /// Searches and acts until a leaf needs an evaluation or the game is over.
    pub fn advance(&mut self) -> Step {
        loop {
            if self.game.outcome(self.tree.root()).is_some() {
                return Step::Finished;
            }
            if self.done >= self.simulations || (self.tree.has_root() && self.tree.is_solved()) {
                self.act();
                continue;
            }
            if !self.begun && self.tree.has_root() {
                self.tree.begin(self.simulations - self.done, Some(&mut self.random));
                self.begun = true;
            }
            self.done += 1;
            if self.tree.select() == Leaf::Needs {
                return Step::Evaluate(self.random.random());
            }
        }
    }

    /// The leaf that waits.
    pub fn request(&self, seed: u64) -> Request<'_, G> {
        let (state, legal) = self.tree.pending();
        Request { state, legal, seed }
    }

    /// Gives the leaf its evaluation.
    pub fn apply(&mut self, evaluation: Evaluation) {
        self.tree.apply(evaluation);
    }

    /// The record of the finished game.
    pub fn into_record(self, generation: &Generation) -> Record {
        let outcome = self.game.outcome(self.tree.root()).expect("an episode ends with its game");
        let plain = self.policy.iter().all(|policy| policy.is_empty());
        Record {
            format: if plain { PLAIN_FORMAT } else { FORMAT },
            game: generation.identity.id.clone(),
            options: generation.identity.options.clone(),
            encoding: generation.identity.encoding,
            generation: generation.number,
            index: self.index,
            evaluator: generation.evaluator.clone(),
            start: self.start,
            actions: self.actions,
            visits: self.visits,
            policy: if plain { Vec::new() } else { self.policy },
            wdl: self.wdl,
            outcome: outcome.id().to_string(),
        }
    }

    fn play_random_plies(&mut self) {
        let plies = self.random.random_range(0..=self.settings.random_plies);
        for _ in 0..plies {
            let legal = self.game.legal(self.tree.root());
            if legal.is_empty() {
                return;
            }
            let action = choose(&mut self.random, &legal);
            self.actions.push(self.game.action_text(self.tree.root(), action));
            self.visits.push(BTreeMap::new());
            self.policy.push(BTreeMap::new());
            self.wdl.push([0.0, 1.0, 0.0]);
            self.tree.advance(action);
        }
    }

    /// Writes down what the search found and plays an action by the temperature of this ply; the Gumbel root has
    /// its own winner.
    fn act(&mut self) {
        let targets: Vec<(Action, u32)> =
            self.tree.targets().into_iter().map(|(edge, visits)| (edge.action, visits)).collect();
        self.visits.push(self.texts(&targets));
        self.policy.push(self.texts(&self.tree.policy_target().unwrap_or_default()));
        let wdl = self.tree.root_wdl();
        self.wdl.push([wdl.win, wdl.draw, wdl.loss].map(|p| (p * 1000.0).round() / 1000.0));
        let temperature = match self.actions.len() < self.settings.temperature_plies {
            _ if self.root == RootKind::Gumbel => 0.0,
            true => self.settings.temperature,
            false => self.settings.temperature_final,
        };
        let best = self.tree.best_action().expect("the root was evaluated");
        let action = if temperature == 0.0 { best } else { draw(&targets, temperature, &mut self.random) };
        self.actions.push(self.game.action_text(self.tree.root(), action));
        self.tree.advance(action);
        (self.done, self.begun) = (0, false);
    }

    /// Weights of the root's actions as a record has them.
    fn texts(&self, weights: &[(Action, u32)]) -> BTreeMap<String, u32> {
        let text = |action: Action| self.game.action_text(self.tree.root(), action);
        weights.iter().filter(|(_, n)| *n > 0).map(|&(action, n)| (text(action), n)).collect()
    }
}

/// An action with probability proportional to `visits ^ (1 / temperature)`.
fn draw(targets: &[(Action, u32)], temperature: f32, random: &mut Random) -> Action {
    let top = targets.iter().map(|(_, visits)| *visits).max().unwrap_or(1) as f64;
    let weight = |visits: u32| (visits as f64 / top).powf(1.0 / temperature as f64);
    let sum: f64 = targets.iter().map(|&(_, visits)| weight(visits)).sum();
    let mut rest = random.random::<f64>() * sum;
    for &(action, visits) in targets {
        rest -= weight(visits);
        if rest < 0.0 {
            return action;
        }
    }
    // rounding left a sliver: the most visited
    targets.iter().max_by_key(|(_, visits)| *visits).expect("an evaluated root has actions").0
}
