//! Changes those settings of a run that do not affect its existing games and weights.
//!
//! Everything made before the change keeps its bytes, and the old settings are recorded as a chapter of the lineage.
//! From then on, the run continues as if it had had the new settings from the start. The learning rate then follows the
//! new, longer schedule, so it may rise.

use std::collections::BTreeSet;
use std::path::Path;

use super::audit::{Depth, audit, settle};
use crate::any::Opened;
use crate::checkpoint;
use crate::checkpoint::lineage::{Change, Chapter, Lineage};
use crate::config::{Config, TrainConfig};
use crate::error::{Error, Result};
use crate::replay::place::Place;
use crate::replay::store;
use crate::run::files::folder::Folder;
use crate::run::files::settings::{FREE, other_settings, settings_of, write_settings};
use crate::train::schedule::learning_rate;

/// The changes that [`extend`] made.
#[derive(Clone, Debug, PartialEq)]
pub struct Extension {
    /// The number of generations done.
    pub done: usize,
    /// The number of all generations, before and after the change.
    pub generations: [usize; 2],
    /// The learning rates (without warm-up) after the last generation done, in the next generation, and in the last
    /// planned one.
    pub learning_rates: [f64; 3],
}

/// Gives the run in `folder` the settings `config`, which may differ only in the number of generations and in whether
/// event files are written. Returns `None` if the run has these settings already. With `accepts_missing`, the run may
/// lack some of the files that it was trained on; [`train`](crate::run::train) then asks about them.
///
/// # Errors
/// If there is no run in `folder`, if it differs in other settings, if it has already done more generations, if it is
/// in use, or if files that it was trained on are missing. After an error, the run still has its old settings.
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
        let mut audit = audit(folder, &before, &rules.identity, &BTreeSet::new(), Depth::Window, &mut read)?;
        settle(&mut audit, folder, &before, false)?;
    }
    let chapter =
        Chapter { change: Change::Extended, generation: done, settings: before.to_toml(), from: None };
    Lineage::of(folder)?.followed_by(chapter)?.write(folder)?;
    write_settings(folder, config)?;
    let learning_rates =
        [rate(&before.train, done), rate(&config.train, done), rate(&config.train, generations[1])];
    Ok(Some(Extension { done, generations, learning_rates }))
}

/// Returns the number of generations that the run in `folder` has done, if [`extend`] may give it the settings
/// `config`.
///
/// # Errors
/// If there is no run in `folder`, if it differs in other settings, or if it has already done more generations.
pub(crate) fn check_extension(folder: &Path, config: &Config) -> Result<usize> {
    let differences = settings_of(folder)?.differences(config);
    if differences.iter().any(|[key, ..]| !FREE.contains(&&**key)) {
        return Err(other_settings(folder, &differences));
    }
    let done = checkpoint::latest(folder)?.map_or(0, |checkpoint| checkpoint.manifest.generation);
    let wanted = config.train.generations;
    if wanted < done {
        Err(Error::Config(format!(
            "{} has {done} generations already, so it cannot end after {wanted}; a fork at generation {wanted} can",
            folder.display()
        )))
    } else {
        Ok(done)
    }
}

/// Returns the learning rate after `done` generations, without the warm-up.
fn rate(settings: &TrainConfig, done: usize) -> f64 {
    learning_rate(settings, settings.warmup_steps, done as f64 / settings.generations as f64)
}
