//! Training: settings and folder are checked, existing files are read, and generation follows generation.
//!
//! Input: rules, settings and a folder. Output: checkpoints, records and metrics in the folder, and a [`Summary`].
//! [`Run::turn`] is the algorithm; its steps are in files of their own.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::event::{Event, Observer, Summary};
use super::folder::{Folder, has_run, settings_of};
use super::generation::Archive;
use super::judge::{Judge, opponent};
use super::metrics::Metrics;
use super::precision::{self, resolve_precision};
use super::{beside, examine, resume};
use crate::any::{AnyGame, Opened};
use crate::arena::contestant::Contestant;
use crate::checkpoint::lineage::{LINEAGE, Lineage};
use crate::checkpoint::{self, Checkpoint, TrainingData};
use crate::config::{Config, DeviceKind, GameConfig};
use crate::conformance;
use crate::error::{Error, Result};
use crate::game::GameIdentity;
use crate::net::device::{Processor, for_training};
use crate::net::network::Network;
use crate::options::Settings;
use crate::replay::place;
use crate::replay::store::ShardInfo;
use crate::replay::window::Window;
use crate::storage;
use crate::train::Trainer;

/// A run at work.
pub(super) struct Run<'a> {
    pub(super) rules: &'a Opened,
    pub(super) config: &'a Config,
    pub(super) folder: &'a Path,
    pub(super) held: &'a Folder,
    pub(super) lineage: Lineage,
    /// The device that evaluates its networks during play.
    pub(super) processor: &'a Processor,
    pub(super) observer: &'a dyn Observer,
    pub(super) metrics: Metrics,
    /// The shards that the next checkpoint lists, oldest first.
    pub(super) shards: Vec<ShardInfo>,
    /// Lost shards that the user has decided to do without.
    pub(super) given_up: BTreeSet<String>,
    /// The positions of the window's shards that are never trained on.
    pub(super) held_out: Window,
    pub(super) role: Role,
    /// The opponent of the evaluation.
    pub(super) opponent: &'a Contestant<AnyGame>,
    /// Generations that judges have not judged yet, if others judge.
    pub(super) unjudged: BTreeSet<usize>,
}

/// What a process does for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It plays, trains and judges.
    Both,
    /// It trains; [workers](super::work::worker) play and judge.
    Learner,
}

/// `config` with `net.device = "auto"` replaced by a name: the device of the run in `folder` or, for a new run, a GPU
/// if there is one, and otherwise the CPU, with a sentence that says why. A run keeps its device, since its bytes
/// depend on it.
///
/// # Errors
/// The settings of the run in `folder` cannot be read.
pub fn with_named_device(config: &Config, folder: &Path) -> Result<(Config, Option<String>)> {
    let mut config = config.clone();
    if config.net.device != DeviceKind::Auto {
        return Ok((config, None));
    }
    if has_run(folder)? {
        config.net.device = settings_of(folder)?.net.device;
        return Ok((config, None));
    }
    let (processor, said) = Processor::of(DeviceKind::Auto)?;
    config.net.device = processor.kind();
    Ok((config, said))
}

/// Trains in `folder`, which is created if it does not exist, resumed if it has the same settings, and rejected
/// otherwise. With `selfplay.ahead`, a worker plays in the same process.
///
/// # Errors
/// If settings are out of range or belong to another game than `rules`, if the folder cannot be used, and if playing,
/// training, reading or writing fails.
pub fn train(rules: &Opened, config: &Config, folder: &Path, observer: &dyn Observer) -> Result<Summary> {
    train_after(rules, config, folder, observer, false)
}

/// [`train`]; `is_gone` says that a process that trained the run before is gone for sure, where that cannot be known
/// otherwise: in an object store.
///
/// # Errors
/// As [`train`].
pub fn train_after(
    rules: &Opened,
    config: &Config,
    folder: &Path,
    observer: &dyn Observer,
    is_gone: bool,
) -> Result<Summary> {
    match config.selfplay.ahead {
        0 => {
            // where there are no locks, whoever trains says so
            let is_gone = storage::is_remote(folder).then_some(is_gone);
            train_as(Role::Both, rules, config, folder, observer, is_gone)
        }
        _ => beside::train(rules, config, folder, observer, is_gone),
    }
}

/// Trains as [`train`] does, on games that [workers](super::work::worker) play, who judge, too. `is_gone` says that a
/// learner that was there before is gone for sure, where that cannot be known otherwise.
///
/// # Errors
/// As [`train`]; [`Error::Config`] if another learner is at work, or takes over.
pub fn learn(
    rules: &Opened,
    config: &Config,
    folder: &Path,
    observer: &dyn Observer,
    is_gone: bool,
) -> Result<Summary> {
    train_as(Role::Learner, rules, config, folder, observer, Some(is_gone))
}

/// Refuses a game that does not keep the contract from its first positions on: what is wrong would only show when its records are
/// read, or would never show, as a symmetry that it does not have.
///
/// # Errors
/// [`Error::Illegal`] with the first violated rule.
pub fn check_rules(rules: &Opened) -> Result<()> {
    let id = &rules.identity.id;
    conformance::glance(&rules.game).map_err(|wrong| {
        Error::Illegal(format!("{id} cannot be trained, since its rules are wrong: {wrong}"))
    })
}

/// [`train`] or [`learn`]; a learner begins its tenure with `is_gone`.
pub(super) fn train_as(
    role: Role,
    rules: &Opened,
    config: &Config,
    folder: &Path,
    observer: &dyn Observer,
    is_gone: Option<bool>,
) -> Result<Summary> {
    config.check()?;
    check_game(&rules.identity, config)?;
    check_rules(rules)?;
    let (config, warning) = with_named_device(config, folder)?;
    let warn = |warning: String| observer.event(Event::Warning(warning));
    if let Some(warning) = warning {
        warn(warning);
    }
    let (processor, _) = &Processor::of(config.net.device)?;
    let device = &for_training(config.train.device)?;
    let config = &resolve_precision(rules, &config, folder)?;
    precision::check(config)?;
    for warning in precision::slower_than_f32(&rules.game, config) {
        warn(warning);
    }
    let opponent = &opponent(rules, config)?;
    let mut held = Folder::open(config, folder)?;
    if let Some(is_gone) = is_gone {
        held.begin(&rules.identity, is_gone)?;
    }
    let given_up = resume::settle(rules, config, folder, observer)?;
    let start = checkpoint::latest(folder)?;
    let done = start.as_ref().map_or(0, |checkpoint| checkpoint.manifest.generation);
    let mut trainer = match &start {
        Some(checkpoint) => checkpoint.trainer(config, device)?,
        None => {
            let network = Network::new(&config.net, rules.identity.shape, config.seed);
            Trainer::on(&config.train, &network, device)
        }
    };
    // only now, so that a run that was refused above stays untouched
    let (metrics, lost) = Metrics::open(folder, done, config)?;
    if let Some(warning) = lost {
        warn(warning);
    }
    let held = &held;
    // if the file of the lineage was lost, the newest checkpoint has a copy
    let lineage = Lineage::of(folder)?;
    if !storage::exists(&folder.join(LINEAGE))? {
        lineage.write(folder)?;
    }
    let new_window = |capacity| Window::new(capacity, rules.identity.shape);
    let (shards, held_out) = (Vec::new(), new_window(usize::MAX));
    let mut run = Run {
        rules,
        config,
        folder,
        held,
        lineage,
        processor,
        observer,
        metrics,
        shards,
        given_up,
        held_out,
        role,
        opponent,
        unjudged: BTreeSet::new(),
    };
    let mut window = new_window(place::window_of(config, done));
    if let Some(checkpoint) = &start {
        run.restore(&mut window, checkpoint)?;
        run.observer.event(Event::Resumed {
            done,
            generations: config.train.generations,
            positions: window.len(),
        });
        held.explain(run.sweep(done))?;
        held.explain(run.judge(checkpoint))?;
        held.explain(run.metrics.publish())?;
    }
    for number in done + 1..=config.train.generations {
        held.explain(run.turn(&mut trainer, &mut window, number))?;
    }
    held.explain(run.await_judges())?;
    held.explain(run.metrics.publish())?;
    let evaluation = run.metrics.evaluation_of(config.train.generations);
    Ok(Summary {
        run: folder.to_path_buf(),
        generations: config.train.generations,
        steps: trainer.step,
        evaluation,
        rating: run.metrics.games().rating(&config.arena.opponent, config.train.generations),
        played: run.metrics.played()?,
        times: run.metrics.history().times(),
        cpu_times: run.metrics.history().cpu_times(),
    })
}

/// Rejects settings of another game.
fn check_game(identity: &GameIdentity, config: &Config) -> Result<()> {
    let GameConfig { id, options } = &config.game;
    if (id, options) == (&identity.id, &identity.options) {
        return Ok(());
    }
    let named = |id: &str, options: &Settings| {
        if options.is_empty() {
            format!("`{id}`")
        } else {
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

impl Run<'_> {
    /// One generation: self-play, training, checkpoint, and what follows it.
    fn turn(&mut self, trainer: &mut Trainer, window: &mut Window, number: usize) -> Result<()> {
        let before = trainer.step;
        window.set_capacity(place::window_of(self.config, number));
        let new_positions = self.play(trainer, window, number)?;
        let fresh = examine::fresh(trainer, window, new_positions);
        if self.config.replay.merge {
            self.train(trainer, &window.merged(), number, new_positions)?
        } else {
            self.train(trainer, window, number, new_positions)?
        }
        let signs = self.examine(trainer, window, number, fresh)?;
        let data = self.data(window, number, new_positions, trainer.step - before);
        self.held.check()?;
        // everything that a checkpoint refers to must be on disk first
        self.metrics.sync()?;
        let saved = checkpoint::save(self.folder, self.config, &self.rules.identity, number, trainer, data)?;
        let cpu_seconds = self.metrics.history().cpu_seconds_of(number);
        self.observer.event(Event::Took { cpu_seconds });
        self.observer.event(Event::Saved(saved.path.clone()));
        signs.into_iter().for_each(|sign| self.observer.event(Event::Sign(sign)));
        self.metrics.publish()?;
        self.sweep(number)?;
        self.judge(&saved)?;
        self.metrics.publish()
    }

    /// Evaluates and rates the generation of a checkpoint, unless that was done before, or others do it.
    fn judge(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let number = checkpoint.manifest.generation;
        if self.role == Role::Learner {
            let arena = &self.config.arena;
            let evaluated =
                if number == self.config.train.generations { arena.final_games } else { arena.games };
            if evaluated + arena.ladder_games > 0 && self.metrics.judged(number) == [false; 2] {
                self.unjudged.insert(number);
            }
            return self.absorb_judged().map(|_| ());
        }
        let judge = Judge {
            rules: self.rules,
            config: self.config,
            folder: self.folder,
            processor: self.processor,
            opponent: self.opponent,
            observer: self.observer,
        };
        let (has, games) = (self.metrics.judged(number), self.metrics.games().clone());
        judge.judge(checkpoint, has, &games, &mut |line| self.add_judged(number, line))
    }

    /// Adds a line of a judge to the metrics, and reports what it says.
    pub(super) fn add_judged(&mut self, number: usize, line: Value) -> Result<()> {
        let is_evaluation = line["kind"] == "evaluation";
        self.metrics.add(line)?;
        if is_evaluation && let Some((opponent, result)) = self.metrics.evaluation_of(number) {
            self.observer.event(Event::Evaluated { generation: number, opponent, result: Box::new(result) });
        } else if let Some(rating) = self.metrics.games().rating(&self.config.arena.opponent, number) {
            self.observer.event(Event::Rated(Box::new(rating)));
        }
        Ok(())
    }

    /// The shards of the run.
    pub(super) fn archive(&self) -> Archive<'_> {
        let Run { rules, config, folder, lineage, .. } = self;
        Archive { rules, config, folder, lineage }
    }

    /// The part of generation `number`'s checkpoint that describes its training data.
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
            lineage: self.lineage.chapters().to_vec(),
        }
    }
}
