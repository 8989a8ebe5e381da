//! Copies a run up to one of its generations, to go on from there with other settings.
//!
//! Everything made up to that generation is copied: checkpoints, records, metrics. The copy appears as a whole, and
//! only if it holds everything that its newest checkpoint was trained on. From then on it is a run of its own; with
//! unchanged settings it makes the same bytes as the original.

use std::path::{Path, PathBuf};

use super::folder::{settings_of, write_settings};
use super::inherit::{CopyProgress, check_new, check_whole, other_net};
use super::metrics::copy_until;
use super::{METRICS, SETTINGS};
use crate::any::Opened;
use crate::checkpoint::lineage::{Ancestor, Change, Chapter, Lineage};
use crate::checkpoint::{self, Checkpoint};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::replay::store;
use crate::storage;

/// A copy to be made: of which run, up to where, and with which settings to continue.
#[derive(Clone, Copy, Debug)]
pub struct Fork<'a> {
    /// The folder of the run.
    pub source: &'a Path,
    /// The last generation to copy.
    pub generation: usize,
    /// The settings from there on.
    pub config: &'a Config,
    /// The folder of the copy, which must not exist.
    pub folder: &'a Path,
    /// Whether records that are missing or wrong are accepted; [`train`](super::train) then asks about them.
    pub accepts_missing: bool,
}

impl Fork<'_> {
    /// Makes the copy; `tick` is told how many files are copied and returns whether to continue.
    ///
    /// # Errors
    /// There is no such run or generation, the settings do not fit it, records are missing, or the copy exists.
    pub fn make(&self, rules: &Opened, tick: &mut CopyProgress) -> Result<()> {
        let Fork { source, generation, config, folder, accepts_missing } = *self;
        let chapter = self.check(rules)?;
        let lineage = Lineage::of(source)?.until(generation).followed_by(chapter)?;
        let files = self.files()?;
        storage::create_parent(folder)?;
        storage::write_folder_whole(folder, SETTINGS, |copy| {
            for (done, name) in files.iter().enumerate() {
                if !tick(done, files.len()) {
                    return Err(Error::Interrupted);
                }
                storage::copy_whole(&source.join(name), &copy.join(name))?;
            }
            copy_until(&source.join(METRICS), generation, &copy.join(METRICS))?;
            lineage.write(copy)?;
            write_settings(copy, config)?;
            if accepts_missing { Ok(()) } else { check_whole(copy, source, config, rules) }
        })
    }

    /// What the copy's lineage will say, if [`Fork::make`] has no reason to refuse; records are not looked at.
    ///
    /// # Errors
    /// As for it.
    pub fn check(&self, rules: &Opened) -> Result<Chapter> {
        self.config.check()?;
        check_new(self.folder)?;
        self.chapter(rules)
    }

    /// Describes the change of settings as a chapter of the copy's lineage. Fails if the settings do not fit the run.
    fn chapter(&self, rules: &Opened) -> Result<Chapter> {
        let Fork { source, generation, config, .. } = *self;
        let place = source.display();
        let theirs = settings_of(source)?;
        let numbers: Vec<usize> =
            checkpoint::list(source)?.iter().filter_map(|path| store::generation_of(path)).collect();
        if generation == 0 || !numbers.contains(&generation) {
            let has = match (numbers.iter().find(|number| **number > 0), numbers.last()) {
                (Some(first), Some(last)) if first < last => format!("it has {first} to {last}"),
                (Some(only), _) => format!("it has {only}"),
                _ => "it has none yet".into(),
            };
            return Err(Error::Config(format!(
                "{place} has no checkpoint of generation {generation}: {has}"
            )));
        }
        let ancestor = Checkpoint::open_folder(&checkpoint::path_of(source, generation))?;
        ancestor.manifest.game.expect(&rules.identity, &place.to_string())?;
        let lineage = Lineage::of(source)?;
        let before = lineage.config_of(generation, &theirs);
        let advice = "a fork keeps the network: begin a new run";
        if let Some(difference) = other_net(&before.net, &config.net) {
            return Err(Error::Config(format!("{place} has another network ({difference}): {advice}")));
        }
        if before.train.optimizer != config.train.optimizer {
            return Err(Error::Config(format!(
                "train.optimizer: {place} has {}, not {}, and a fork keeps the optimizer's state: begin a new run \
                 with its weights",
                before.train.optimizer, config.train.optimizer
            )));
        }
        if config.train.generations < generation {
            return Err(Error::Config(format!(
                "train.generations = {}: a fork at generation {generation} has that many already",
                config.train.generations
            )));
        }
        let settings = before.to_toml();
        let from = Some(Ancestor::of(&ancestor));
        Ok(Chapter { change: Change::Forked, generation, settings, from })
    }

    /// The files to copy as they are, relative to the run.
    fn files(&self) -> Result<Vec<PathBuf>> {
        let is_kept = |number: Option<usize>| number.is_some_and(|number| number <= self.generation);
        let mut folders = checkpoint::list(self.source)?;
        folders.extend(storage::list(&self.source.join(store::FOLDER))?);
        folders.retain(|folder| is_kept(store::generation_of(folder)) || store::is_inherited_folder(folder));
        let is_temporary = |path: &Path| path.file_name().is_some_and(storage::is_temporary);
        let mut files = Vec::new();
        for folder in folders {
            let inside = storage::list(&folder)?.into_iter();
            files.extend(inside.filter(|path| !storage::has_folder(path) && !is_temporary(path)));
        }
        let relative = |path: PathBuf| path.strip_prefix(self.source).map(Path::to_path_buf).unwrap_or(path);
        Ok(files.into_iter().map(relative).collect())
    }
}
