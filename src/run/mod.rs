//! A training run: generations of self-play, training, checkpoint, gate and evaluation, in one folder.
//!
//! The run folder holds `config.toml` (the resolved settings), `selfplay/` (shards of records),
//! `checkpoints/`, `metrics.jsonl` and `lock`. If the program is killed at any point, [`train`] resumes the run: the
//! finished shards of the current generation are kept, the window is read back from the shards, and network and optimizer
//! come from the newest checkpoint. A resumed run plays the same games and ends with the same weights, byte for byte, as
//! an uninterrupted one. If files that this takes are missing (see [`audit`](mod@audit)), it trains nothing until the user
//! decides.

pub mod audit;
mod event;
mod folder;
pub mod gate;
mod metrics;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use serde_json::json;

pub use self::event::{Event, Observer, Played, Summary};
use self::folder::Folder;
pub use self::metrics::METRICS;
use self::metrics::Metrics;

use self::audit::{Audit, Depth};
use crate::arena::agent::{AgentSpec, Contestant};
use crate::arena::{Match, play_match};
use crate::checkpoint::{self, Checkpoint, TrainingData};
use crate::config::{Bootstrap, Config, EvaluatorKind, GameConfig, GateKind, RootKind};
use crate::error::{Error, Result};
use crate::game::{Game, GameIdentity, Outcome, Rules};
use crate::net::cpu::CpuNet;
use crate::net::evaluator::SharedNet;
use crate::net::model::{self, Network};
use crate::options::Settings;
use crate::random::{Purpose, stream};
use crate::replay::place::{self, Origin, Place, shards_of};
use crate::replay::sample::Sample;
use crate::replay::store::{self, Shard, ShardInfo};
use crate::replay::window::{Batch, Window};
use crate::search::cache::Cached;
use crate::search::evaluator::{Rollout, Uniform};
use crate::selfplay::{Generation, MakeEvaluator, play_generation};
use crate::train::Trainer;
use crate::train::loss::Losses;
use crate::train::schedule::learning_rate;

/// The file of resolved settings in the run folder.
pub const SETTINGS: &str = "config.toml";
/// Approximate number of training lines per generation in `metrics.jsonl`.
const LOSS_LINES: usize = 20;

struct Run<'a, G: Game> {
    rules: &'a Rules<G>,
    config: &'a Config,
    folder: &'a Path,
    held: &'a Folder,
    observer: &'a dyn Observer,
    metrics: Metrics,
    /// The shards that the next checkpoint lists, oldest first.
    shards: Vec<ShardInfo>,
    /// Lost shards that the user has decided to do without.
    given_up: BTreeSet<String>,
}

/// Trains in `folder`, which is created if it does not exist, resumed if it has the same settings, and rejected
/// otherwise.
///
/// # Errors
/// If settings are out of range or belong to another game than `rules`, if the folder cannot be used, and if playing,
/// training, reading or writing fails.
pub fn train<G: Game>(
    rules: &Rules<G>,
    config: &Config,
    folder: &Path,
    observer: &dyn Observer,
) -> Result<Summary> {
    config.check()?;
    check_game(&rules.identity, config)?;
    if !CpuNet::has(config.net.precision) {
        return Err(Error::Config(
            "net.precision = \"bf16\" needs a CPU with AVX-512 BF16 instructions, which this one lacks: \
             start a run with \"f32\" (a run started in bf16 can only be resumed on a CPU that has them)"
                .into(),
        ));
    }
    let opponent = AgentSpec::parse(&config.arena.opponent)
        .and_then(|spec| Contestant::new(rules, &spec))
        .map_err(|e| Error::Config(format!("arena.opponent: {e}")))?;
    let held = Folder::open(config, folder)?;
    let given_up = settle(rules, config, folder, observer)?;
    let start = checkpoint::latest(folder)?;
    let done = start.as_ref().map_or(0, |checkpoint| checkpoint.manifest.generation);
    let mut trainer = match &start {
        Some(checkpoint) => checkpoint.trainer(config, &model::training_device())?,
        None => {
            let network =
                Network::new(&config.net, rules.identity.shape, config.seed, &model::training_device());
            Trainer::new(&config.train, network)
        }
    };
    // only now, so that nothing of a run refused above has been touched
    let (metrics, lost) = Metrics::open(folder, done)?;
    lost.into_iter().for_each(|what| observer.event(Event::Warning(what)));
    let held = &held;
    let mut run = Run { rules, config, folder, held, observer, metrics, shards: Vec::new(), given_up };
    let mut window = Window::new(config.replay.window, rules.identity.shape);
    if let Some(checkpoint) = &start {
        run.restore(&mut window, checkpoint)?;
        run.observer.event(Event::Resumed {
            done,
            generations: config.train.generations,
            positions: window.len(),
        });
        held.explain(run.judge(checkpoint, &trainer, &opponent))?;
    }
    for number in done + 1..=config.train.generations {
        held.explain(run.turn(&mut trainer, &mut window, &opponent, number))?;
    }
    let evaluation = run.metrics.evaluation_of(config.train.generations);
    Ok(Summary {
        run: folder.to_path_buf(),
        generations: config.train.generations,
        steps: trainer.step,
        champion: checkpoint::champion(folder)?.map_or(0, |champion| champion.manifest.generation),
        evaluation,
        played: run.metrics.played().collect(),
    })
}

/// Rejects settings of another game.
fn check_game(identity: &GameIdentity, config: &Config) -> Result<()> {
    let GameConfig { id, options } = &config.game;
    if (id, options) == (&identity.id, &identity.options) {
        return Ok(());
    }
    let named = |id: &str, options: &Settings| match options.is_empty() {
        true => format!("`{id}`"),
        false => {
            let options: Vec<String> =
                options.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            format!("`{id}` with {}", options.join(", "))
        }
    };
    Err(Error::Config(format!(
        "the settings are those of {}, and the rules those of {}: both must be of one game with the same options",
        named(id, options),
        named(&identity.id, &identity.options)
    )))
}

/// Compares the run with what its checkpoints list, and returns the shards that the user chose to continue without.
fn settle<G: Game>(
    rules: &Rules<G>,
    config: &Config,
    folder: &Path,
    observer: &dyn Observer,
) -> Result<BTreeSet<String>> {
    let mut given_up = BTreeSet::new();
    loop {
        let mut read = |path: &Path, place: &Place| store::read_shard(path, rules, Some(place)).map(|_| ());
        let mut found = audit::audit(folder, config, &rules.identity, &given_up, Depth::Window, &mut read)?;
        let accepts = !found.problems.is_empty() && observer.accepts_missing();
        let gone = audit::settle(&mut found, folder, config, accepts)?;
        warn(&found, observer);
        if gone.is_empty() {
            return Ok(given_up);
        }
        // without these another checkpoint may be the newest
        given_up.extend(gone);
    }
}

/// Says what was found, also what the user went without.
fn warn(audit: &Audit, observer: &dyn Observer) {
    let say = |what: String| observer.event(Event::Warning(what));
    for problem in &audit.problems {
        say(format!("{problem}; the run continues without it"));
    }
    if !audit.problems.is_empty() {
        // the next audit reports the rest
        return;
    }
    for path in &audit.set_aside {
        say(format!("{} was set aside before and is not trained on", path.display()));
    }
    for (path, _) in &audit.without_checksum {
        say(format!(
            "{} is intact, but its checksum file was not: the checksum file was rewritten",
            path.display()
        ));
    }
    audit.unchecked.iter().for_each(|what| say(what.clone()));
}

impl<G: Game> Run<'_, G> {
    /// One generation: self-play, training, checkpoint, and what follows it.
    fn turn(
        &mut self,
        trainer: &mut Trainer,
        window: &mut Window,
        opponent: &Contestant<G>,
        number: usize,
    ) -> Result<()> {
        let before = trainer.step;
        let new_positions = self.play(trainer, window, number)?;
        self.train(trainer, window, number, new_positions)?;
        let data = self.data(window, number, new_positions, trainer.step - before);
        // what a checkpoint refers to must be on disk
        self.metrics.sync()?;
        self.held.check()?;
        let saved = checkpoint::save(self.folder, self.config, &self.rules.identity, number, trainer, data)?;
        self.observer.event(Event::Saved(saved.path.clone()));
        self.judge(&saved, trainer, opponent)
    }

    /// What the checkpoint of generation `number` records about its training data.
    fn data(
        &mut self,
        window: &Window,
        number: usize,
        new_positions: usize,
        new_steps: usize,
    ) -> TrainingData {
        let own = self.shards.iter().filter(|shard| shard.generation == number).count();
        let kept = window.shards().max(own).min(self.shards.len());
        self.shards.drain(..self.shards.len() - kept);
        let is_listed = |path: &String| self.shards.iter().any(|shard| path.ends_with(&shard.name));
        TrainingData {
            shards: self.shards.clone(),
            window_shards: window.shards(),
            window_positions: window.len(),
            new_positions,
            new_steps,
            given_up: self.given_up.iter().filter(|path| !is_listed(path)).cloned().collect(),
        }
    }

    /// Reads back the shards of a checkpoint's window: those that it lists or, if it lists none, the newest.
    fn restore(&mut self, window: &mut Window, checkpoint: &Checkpoint) -> Result<()> {
        let names: Vec<(usize, usize)> = match &checkpoint.manifest.data {
            Some(data) => {
                self.given_up.extend(data.given_up.iter().cloned());
                let listed = data.window().iter().map(|shard| store::place_of(Path::new(&shard.name)));
                listed.collect::<Option<_>>().ok_or_else(|| {
                    let place = checkpoint.path.display();
                    Error::Data(format!("{place}: its manifest lists a file that is not named as a shard is"))
                })?
            }
            None => (1..=checkpoint.manifest.generation)
                .flat_map(|of| (0..shards_of(self.config, of)).map(move |shard| (of, shard)))
                .collect(),
        };
        let (mut newest, mut positions) = (Vec::new(), 0);
        for (generation, shard) in names.into_iter().rev() {
            let name = format!("{}/{}", store::FOLDER, store::shard_name(generation, shard));
            if self.given_up.contains(&name) {
                continue;
            }
            if positions >= self.config.replay.window {
                break;
            }
            let read = self.read(generation, shard)?;
            let info = read.info(generation, shard);
            positions += info.positions;
            newest.push((read.found, info));
        }
        for (samples, info) in newest.into_iter().rev() {
            window.push_samples(&self.rules.game, samples.into_iter().flatten().collect());
            self.shards.push(info);
        }
        Ok(())
    }

    /// Reads a shard of this run.
    fn read(&self, generation: usize, shard: usize) -> Result<Shard<Vec<Sample>>> {
        let path = store::shard_path(self.folder, generation, shard);
        let place = Place::of(self.config, generation, shard);
        store::read_samples(&path, self.rules, place.as_ref())
    }

    fn set_aside(&self, path: &Path, error: &Error) -> Result<()> {
        let bad = store::set_aside(path)?;
        self.observer
            .event(Event::Warning(format!("{error}; set aside as {}, not trained on", bad.display())));
        Ok(())
    }

    /// Plays a generation and adds it to the window; returns the number of its positions.
    fn play(&mut self, trainer: &Trainer, window: &mut Window, number: usize) -> Result<usize> {
        let (games, simulations) = place::games_of(self.config, number);
        let (newest, network) = self.player(trainer, number - 1)?;
        let bootstrap = place::is_bootstrap(self.config, number).then_some(self.config.selfplay.bootstrap);
        let evaluator = match bootstrap {
            None => format!("generation {newest}"),
            Some(Bootstrap::Rollout) => format!("rollout:{simulations}"),
            Some(Bootstrap::Uniform) => format!("uniform:{simulations}"),
        };
        let config = &bootstrap.map_or(self.config.clone(), |kind| bootstrap_config(self.config, kind));
        let identity = &self.rules.identity;
        let generation = Generation { config, identity, number, games, simulations, evaluator };
        self.observer.event(Event::Generation { number, generations: self.config.train.generations, games });
        let started = Instant::now();
        let game = &self.rules.game;
        let finished = match bootstrap {
            Some(Bootstrap::Rollout) => self.fill(&generation, &|| Box::new(Rollout::new(game.clone())))?,
            Some(Bootstrap::Uniform) => self.fill(&generation, &|| Box::new(Uniform))?,
            None => {
                let net = SharedNet::new(&network, &self.config.net, &model::device());
                match self.config.selfplay.cache {
                    0 => self.fill(&generation, &|| Box::new(net.evaluator(game)))?,
                    size => self.fill(&generation, &|| {
                        Box::new(Cached::new(game.clone(), net.evaluator(game), size))
                    })?,
                }
            }
        };
        self.take_in(window, number, finished, started)
    }

    /// Adds the games of a generation to the window, of which `finished` were read already, and reports how they went;
    /// returns the number of their positions.
    fn take_in(
        &mut self,
        window: &mut Window,
        number: usize,
        mut finished: BTreeMap<usize, Shard<Vec<Sample>>>,
        started: Instant,
    ) -> Result<usize> {
        let (mut positions, mut plies, mut cut_short) = (0, 0, 0);
        let mut outcomes = [0usize; 3];
        for index in 0..shards_of(self.config, number) {
            let shard = match finished.remove(&index) {
                Some(shard) => shard,
                None => self.read(number, index)?,
            };
            for record in &shard.records {
                plies += record.actions.len();
                cut_short += (G::DRAWLESS && record.outcome == Outcome::Draw.id()) as usize;
                let ids = ["first", "second", "draw"];
                outcomes[ids.iter().position(|id| *id == record.outcome).unwrap_or(2)] += 1;
            }
            self.shards.push(shard.info(number, index));
            positions += window.push_samples(&self.rules.game, shard.found.into_iter().flatten().collect());
        }
        let games = place::games_of(self.config, number).0;
        if cut_short > 0 {
            self.observer.event(Event::Warning(format!(
                "{cut_short} of {games} games of generation {number} were cut short after {} actions and count \
                 as draws: this should not happen, look at their records",
                self.rules.game.max_plies()
            )));
        }
        self.metrics.write(json!({
            "kind": "selfplay", "generation": number, "games": games, "positions": positions, "plies": plies,
            "first": outcomes[0], "second": outcomes[1], "draw": outcomes[2], "window": window.len(),
            "seconds": rounded(started.elapsed().as_secs_f64()),
        }))?;
        self.metrics
            .played()
            .last()
            .into_iter()
            .for_each(|played| self.observer.event(Event::Played(played)));
        Ok(positions)
    }

    /// Plays what is missing of a generation, and returns what an interrupted run had finished of it. A shard of that run
    /// that is damaged, or that another run played, is played again, with the games that belong there.
    fn fill(
        &self,
        generation: &Generation,
        evaluator: MakeEvaluator<G>,
    ) -> Result<BTreeMap<usize, Shard<Vec<Sample>>>> {
        let number = generation.number;
        let origin = Origin::of(self.config);
        let mut finished = BTreeMap::new();
        for index in 0..shards_of(self.config, number) {
            let path = store::shard_path(self.folder, number, index);
            if !store::is_finished(&path)? {
                continue;
            }
            let found = self.read(number, index).and_then(|shard| match store::origin(&path)? {
                Some(other) if other != origin => {
                    let place = path.display();
                    Err(Error::Foreign(format!(
                        "{place}: it was played by another run ({other}), not by this one ({origin})"
                    )))
                }
                _ => Ok(shard),
            });
            match found {
                Ok(shard) => {
                    finished.insert(index, shard);
                }
                Err(error @ (Error::Data(_) | Error::Foreign(_))) => self.set_aside(&path, &error)?,
                Err(error) => return Err(error),
            }
        }
        self.held.check()?;
        play_generation(&self.rules.game, generation, self.folder, &origin, evaluator, &|progress| {
            self.observer.event(Event::Selfplay(progress));
            !self.observer.interrupted()
        })?;
        Ok(finished)
    }

    fn train(
        &mut self,
        trainer: &mut Trainer,
        window: &Window,
        number: usize,
        new_positions: usize,
    ) -> Result<()> {
        let settings = &self.config.train;
        if window.is_empty() {
            return Err(Error::Data("self-play wrote no position to train on".into()));
        }
        let samples = new_positions as f64 * settings.samples_per_position as f64;
        let steps = ((samples / settings.batch as f64).round() as usize).max(1);
        let every = steps.div_ceil(LOSS_LINES);
        let started = Instant::now();
        let mut mean = Mean::default();
        for step in 0..steps {
            if self.observer.interrupted() {
                return Err(Error::Interrupted);
            }
            self.observer.event(Event::Step { done: step, steps });
            let progress = (number as f64 - 1.0 + step as f64 / steps as f64) / settings.generations as f64;
            let rate = learning_rate(settings, trainer.step, progress);
            let mut random = stream(self.config.seed, Purpose::Sampling, &[trainer.step as u64]);
            let batch = window.draw(settings.batch, settings.search_value_share, &mut random);
            mean.add(trainer.train(&batch, rate));
            if (step + 1) % every == 0 || step + 1 == steps {
                let losses = mean.take();
                self.observer.event(Event::Training { done: step + 1, steps, losses });
                self.metrics.write(json!({
                    "kind": "train", "generation": number, "step": trainer.step, "learning_rate": rate,
                    "policy_loss": losses.policy, "policy_floor": losses.policy_floor, "value_loss": losses.value,
                    "seconds": rounded(started.elapsed().as_secs_f64()),
                }))?;
                // at the end, the losses of the final weights: those above were computed before each step
                let after = if step + 1 == steps { trainer.evaluate(&batch) } else { losses };
                if !(losses.policy + losses.value + after.policy + after.value).is_finite() {
                    return Err(diverged(&batch, trainer.step));
                }
            }
        }
        self.observer.event(Event::Step { done: steps, steps });
        Ok(())
    }

    /// The network that plays, and its generation: the champion if there is a gate, otherwise the `newest`.
    fn player(&self, trainer: &Trainer, newest: usize) -> Result<(usize, Network)> {
        let champion = match self.config.arena.gate {
            GateKind::None => None,
            GateKind::Sprt => checkpoint::champion(self.folder)?,
        };
        match champion {
            Some(champion) => Ok((champion.manifest.generation, champion.network(&model::device())?)),
            None => Ok((newest, trainer.snapshot())),
        }
    }

    /// What follows a checkpoint: the gate, then the evaluation of the network that represents the run.
    fn judge(&mut self, checkpoint: &Checkpoint, trainer: &Trainer, opponent: &Contestant<G>) -> Result<()> {
        let number = checkpoint.manifest.generation;
        let changed = match self.config.arena.gate {
            GateKind::None => true,
            GateKind::Sprt => self.gate(checkpoint)?,
        };
        // the same agent would play the same games again
        if changed || number == self.config.train.generations {
            self.evaluate(trainer, opponent, number)?;
        }
        Ok(())
    }

    /// Returns whether the checkpoint is the champion now.
    fn gate(&mut self, checkpoint: &Checkpoint) -> Result<bool> {
        let number = checkpoint.manifest.generation;
        let games = self.config.arena.gate_games;
        let decision = gate::decide(self.rules, self.config, self.folder, checkpoint, |standing| {
            self.observer.event(Event::Gating { standing: *standing, games });
            !self.observer.interrupted()
        })?;
        let promoted = decision.promoted;
        if self.metrics.line_of("gate", number).is_none() {
            self.metrics.write(json!({
                "kind": "gate", "generation": number, "promoted": promoted, "champion": decision.champion,
                "result": decision.result,
            }))?;
            self.observer.event(Event::Gated { generation: number, decision: Box::new(decision) });
        }
        Ok(promoted)
    }

    /// Plays the evaluation games of a generation, unless they were played before.
    fn evaluate(&mut self, trainer: &Trainer, opponent: &Contestant<G>, number: usize) -> Result<()> {
        let settings = &self.config.arena;
        let last = number == self.config.train.generations;
        let games = if last { settings.final_games } else { settings.games };
        if games == 0 || self.metrics.evaluation_of(number).is_some() {
            return Ok(());
        }
        let (player, network) = self.player(trainer, number)?;
        let net = SharedNet::new(&network, &self.config.net, &model::device());
        let agent = Contestant::trained(&self.rules.game, &self.config.search, net, settings.simulations);
        let plan = Match { games, seed: self.config.seed, opening_plies: settings.opening_plies, sprt: None };
        let result = play_match(&self.rules.game, &plan, [&agent, opponent], None, |standing| {
            self.observer.event(Event::Evaluating { done: standing.games, games });
            !self.observer.interrupted()
        })?;
        self.metrics.write(json!({
            "kind": "evaluation", "generation": number, "player": player, "opponent": settings.opponent,
            "simulations": settings.simulations, "result": result,
        }))?;
        let opponent = settings.opponent.clone();
        self.observer.event(Event::Evaluated { generation: player, opponent, result: Box::new(result) });
        Ok(())
    }
}

/// The settings for games played before there is a network.
fn bootstrap_config(config: &Config, kind: Bootstrap) -> Config {
    let mut config = config.clone();
    // these simulations are cheap, and priors without knowledge cannot be surprised
    config.selfplay.fast_simulations = 0;
    config.selfplay.surprise_weight = 0.0;
    // without a network there are no values for a Gumbel root to rely on
    config.search.root = RootKind::Puct;
    // one evaluator for each core
    config.net.evaluator = EvaluatorKind::Fused;
    if kind == Bootstrap::Rollout {
        // with equal priors and noisy playouts, root noise would drown the targets
        config.search.noise_fraction = 0.0;
    }
    config
}

/// Why the losses are no longer numbers.
fn diverged(batch: &Batch, step: usize) -> Error {
    Error::Data(match batch.is_finite() {
        true => format!(
            "training diverged: after step {step} the losses are no longer numbers, although its \
             training records are intact; start a new run with a lower train.learning_rate"
        ),
        false => format!(
            "at step {step} a training record contained a number that is not finite: check the records with \
             `petteia records RUN verify`"
        ),
    })
}

#[derive(Default)]
struct Mean {
    sum: Losses,
    count: usize,
}

impl Mean {
    fn add(&mut self, losses: Losses) {
        self.sum.policy += losses.policy;
        self.sum.policy_floor += losses.policy_floor;
        self.sum.value += losses.value;
        self.count += 1;
    }

    fn take(&mut self) -> Losses {
        let Mean { sum, count } = std::mem::take(self);
        let n = count.max(1) as f32;
        Losses { policy: sum.policy / n, policy_floor: sum.policy_floor / n, value: sum.value / n }
    }
}

fn rounded(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}
