//! Copies a run up to one of its generations, to continue from there with other settings.
//!
//! Everything made up to that generation is copied: checkpoints, records, and metrics. The copy appears only when it is
//! complete, and only if it holds everything that its newest checkpoint was trained on. The copy is a separate run;
//! with unchanged settings, it produces the same bytes as the original.

use std::path::{Path, PathBuf};

use super::inherit::{CopyProgress, check_new, check_whole, other_net};
use crate::any::Opened;
use crate::checkpoint::lineage::{Ancestor, Change, Chapter, Lineage};
use crate::checkpoint::{self, Checkpoint};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::replay::store;
use crate::run::files::settings::{SETTINGS, settings_of, write_settings};
use crate::run::metrics::lines::METRICS;
use crate::run::metrics::writer::copy_until;
use crate::storage;

/// A fork to be made.
#[derive(Clone, Copy, Debug)]
pub struct Fork<'a> {
    /// The folder of the original.
    pub source: &'a Path,
    /// The last generation to copy.
    pub generation: usize,
    /// The settings of the generations after the copied ones.
    pub config: &'a Config,
    /// The folder of the copy, which must not exist.
    pub folder: &'a Path,
    /// Whether missing or wrong records are accepted; [`train`](crate::run::train) then asks about them.
    pub accepts_missing: bool,
}

impl Fork<'_> {
    /// Makes the copy, and reports its progress to `tick`.
    ///
    /// # Errors
    /// If there is no such run or generation, if the settings do not fit it, if records are missing, or if the folder
    /// of the copy exists.
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

    /// Returns the last chapter of the copy's lineage, if [`Fork::make`] has no reason to refuse. Records are not
    /// checked.
    ///
    /// # Errors
    /// As for [`Fork::make`].
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
            return Err(Error::Config(format!("{place} has a different network ({difference}): {advice}")));
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

    /// Lists the files to copy unchanged, relative to the run's folder.
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
