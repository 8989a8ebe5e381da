//! Trains a run: checks its settings and folder, reads existing files, and trains one generation after another.
//!
//! Input: rules, settings, and a folder. Output: checkpoints, records, and metrics in the folder, and a [`Summary`].

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use super::resume;
use super::run::{Role, Run};
use crate::any::Opened;
use crate::checkpoint;
use crate::checkpoint::lineage::{LINEAGE, Lineage};
use crate::config::{Config, GameConfig};
use crate::conformance;
use crate::error::{Error, Result};
use crate::game::GameIdentity;
use crate::net::device::{Processor, for_training};
use crate::net::network::Network;
use crate::options::Settings;
use crate::replay::place;
use crate::replay::window::Window;
use crate::run::event::{Event, Observer, Summary};
use crate::run::files::folder::Folder;
use crate::run::metrics::writer::Metrics;
use crate::run::plan::device::with_named_device;
use crate::run::plan::precision::{self, resolve_precision};
use crate::run::strength::judge::opponent;
use crate::storage;
use crate::train::Trainer;

/// A run to be trained.
#[derive(Clone, Copy)]
pub struct Training<'a> {
    /// The rules of the run's game.
    pub rules: &'a Opened,
    /// The run's settings.
    pub config: &'a Config,
    /// The run's folder.
    pub folder: &'a Path,
    /// Receives the run's events.
    pub observer: &'a dyn Observer,
    /// Whether a process that trained the run before is known to be gone. The value matters only in an object store,
    /// where the program cannot find this out.
    pub is_gone: bool,
}

impl fmt::Debug for Training<'_> {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.debug_struct("Training").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// Rejects a game that violates the contract in its first positions. Without this check, the fault would appear only
/// when records are read, or never, as with a symmetry that the game does not have.
///
/// # Errors
/// [`Error::Illegal`] with the first violated rule.
pub fn check_rules(rules: &Opened) -> Result<()> {
    let id = &rules.identity.id;
    conformance::glance(&rules.game).map_err(|wrong| {
        Error::Illegal(format!("{id} cannot be trained, since its rules are wrong: {wrong}"))
    })
}

impl Training<'_> {
    /// Trains in the given role until the last generation is judged.
    pub(super) fn train_as(&self, role: Role) -> Result<Summary> {
        let Training { rules, folder, observer, .. } = *self;
        let config = self.with_device()?;
        let (processor, _) = &Processor::of(config.net.device)?;
        let device = &for_training(config.train.device)?;
        let config = &self.with_precisions(&config)?;
        let opponent = &opponent(rules, config)?;
        let mut held = Folder::open(config, folder)?;
        // without a lock, only the tenure keeps other learners away
        if role == Role::Learner || storage::is_remote(folder) {
            held.begin(&rules.identity, self.is_gone)?;
        }
        let held = &held;
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
        // the metrics are opened after all checks above, so that a refused run stays unchanged
        let (metrics, lost) = Metrics::open(folder, done, config)?;
        if let Some(warning) = lost {
            self.warn(warning);
        }
        // if the file of the lineage was lost, the newest checkpoint has a copy
        let lineage = Lineage::of(folder)?;
        if !storage::exists(&folder.join(LINEAGE))? {
            lineage.write(folder)?;
        }
        let new_window = |capacity| Window::new(capacity, rules.identity.shape);
        let mut run = Run {
            rules,
            config,
            folder,
            held,
            lineage,
            processor,
            observer,
            metrics,
            shards: Vec::new(),
            given_up,
            held_out: new_window(usize::MAX),
            role,
            opponent,
            unjudged: BTreeSet::new(),
        };
        let mut window = new_window(place::window_of(config, done));
        if let Some(checkpoint) = &start {
            run.restore(&mut window, checkpoint)?;
            let (generations, positions) = (config.train.generations, window.len());
            observer.event(Event::Resumed { done, generations, positions });
            held.explain(run.sweep(done))?;
            held.explain(run.judge(checkpoint))?;
            held.explain(run.metrics.publish())?;
        }
        for number in done + 1..=config.train.generations {
            held.explain(run.turn(&mut trainer, &mut window, number))?;
        }
        held.explain(run.await_judges())?;
        held.explain(run.metrics.publish())?;
        run.summary(trainer.step)
    }

    /// Checks rules and settings, and names the device that plays.
    fn with_device(&self) -> Result<Config> {
        let Training { rules, config, folder, .. } = *self;
        config.check()?;
        check_game(&rules.identity, config)?;
        check_rules(rules)?;
        let (config, warning) = with_named_device(config, folder)?;
        if let Some(warning) = warning {
            self.warn(warning);
        }
        Ok(config)
    }

    /// Names the precisions, and checks that this CPU supports them.
    fn with_precisions(&self, config: &Config) -> Result<Config> {
        let config = resolve_precision(self.rules, config, self.folder)?;
        precision::check(&config)?;
        for warning in precision::slower_than_f32(&self.rules.game, &config) {
            self.warn(warning);
        }
        Ok(config)
    }

    fn warn(&self, warning: String) {
        self.observer.event(Event::Warning(warning));
    }
}

impl Run<'_> {
    /// Summarizes the finished run after its last optimizer step.
    fn summary(&self, steps: usize) -> Result<Summary> {
        let last = self.config.train.generations;
        Ok(Summary {
            run: self.folder.to_path_buf(),
            generations: last,
            steps,
            evaluation: self.metrics.evaluation_of(last),
            rating: self.metrics.games().rating(&self.config.arena.opponent, last),
            played: self.metrics.played()?,
            times: self.metrics.history().times(),
            cpu_times: self.metrics.history().cpu_times(),
        })
    }
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
        "the settings are for {}, but the rules are those of {}: both must be for one game with the same options",
        named(id, options),
        named(&identity.id, &identity.options)
    )))
}
