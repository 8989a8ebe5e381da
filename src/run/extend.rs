//! Changes those settings of a run on which none of its existing games and weights depend.
//!
//! Everything made before the change keeps its bytes, and the old settings are recorded as a chapter of the
//! [lineage](crate::checkpoint::lineage). From then on the run continues like one that had the new settings from the
//! start: its learning rate is what the new, longer schedule gives at that point, so it rises if the run was further
//! along the old schedule.

use std::collections::BTreeSet;
use std::path::Path;

use super::audit::{Depth, audit, settle};
use super::folder::{Folder, other_settings, settings_of, write_settings};
use crate::any::Opened;
use crate::checkpoint;
use crate::checkpoint::lineage::{Change, Chapter, Lineage};
use crate::config::{Config, TrainConfig};
use crate::error::{Error, Result};
use crate::replay::place::Place;
use crate::replay::store;
use crate::train::schedule::learning_rate;

/// The settings that may change.
pub(super) const FREE: [&str; 2] = ["train.generations", "train.tensorboard"];

/// The changes that [`extend`] made.
#[derive(Clone, Debug, PartialEq)]
pub struct Extension {
    /// Generations that are done.
    pub done: usize,
    /// Generations in all, before and now.
    pub generations: [usize; 2],
    /// The learning rate after warm-up: of the last generation done, of the next one, and of the last one of all.
    pub learning_rates: [f64; 3],
}

/// Gives the run in `folder` the settings `config`, which may differ only in the number of generations and in whether
/// event files are written. Returns `None` if the run has these settings already. `accepts_missing` says whether the
/// run may continue without some of the files it was trained on; [`train`](super::train) then asks about them.
///
/// # Errors
/// There is no run in `folder`, it differs in other settings, more generations are done, it is in use, or files that
/// it was trained on are missing; the run then keeps its settings.
pub fn extend(
    rules: &Opened,
    folder: &Path,
    config: &Config,
    accepts_missing: bool,
) -> Result<Option<Extension>> {
    config.check()?;
    if settings_of(folder)?.differences(config).is_empty() {
        return Ok(None);
    }
    let _held = Folder::lock(folder)?;
    let before = settings_of(folder)?;
    let done = check_extension(folder, config)?;
    let generations = [before.train.generations, config.train.generations];
    if !accepts_missing {
        let mut read = |path: &Path, place: Option<&Place>| store::read_shard(path, rules, place).map(|_| ());
        let mut found = audit(folder, &before, &rules.identity, &BTreeSet::new(), Depth::Window, &mut read)?;
        settle(&mut found, folder, &before, false)?;
    }
    let chapter =
        Chapter { change: Change::Extended, generation: done, settings: before.to_toml(), from: None };
    Lineage::of(folder)?.followed_by(chapter)?.write(folder)?;
    write_settings(folder, config)?;
    let learning_rates =
        [rate(&before.train, done), rate(&config.train, done), rate(&config.train, generations[1])];
    Ok(Some(Extension { done, generations, learning_rates }))
}

/// The generations that the run in `folder` has done, if [`extend`] may give it the settings `config`.
///
/// # Errors
/// There is no run in `folder`, it differs in other settings, or more generations are done.
pub fn check_extension(folder: &Path, config: &Config) -> Result<usize> {
    let differences = settings_of(folder)?.differences(config);
    if differences.iter().any(|[key, ..]| !FREE.contains(&&**key)) {
        return Err(other_settings(folder, &differences));
    }
    let done = checkpoint::latest(folder)?.map_or(0, |checkpoint| checkpoint.manifest.generation);
    let wanted = config.train.generations;
    if wanted < done {
        Err(Error::Config(format!(
            "{} has {done} generations already, so it cannot end after {wanted}: a fork at generation {wanted} does",
            folder.display()
        )))
    } else {
        Ok(done)
    }
}

/// The learning rate after `done` generations, without the warm-up.
fn rate(settings: &TrainConfig, done: usize) -> f64 {
    learning_rate(settings, settings.warmup_steps, done as f64 / settings.generations as f64)
}
