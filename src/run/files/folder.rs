//! Finds, creates, opens, and locks the folder of a run, and checks that it still exists.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::learner::{GONE, Learner, Tenure};
use super::settings::{SETTINGS, other_settings, settings_of, write_settings};
use super::shared::Identity;
use crate::checkpoint;
use crate::config::Config;
use crate::error::{Error, Input, Result, shell_word};
use crate::game::GameIdentity;
use crate::run::metrics::lines::METRICS;
use crate::storage;

/// The file in a run's folder that a process locks while it trains the run.
pub(in crate::run) const LOCK: &str = "lock";
/// The number of times to check whether the whole folder is being deleted, if a file is missing.
const DELETION_LOOKS: usize = 20;
/// The time between two checks of whether the folder is being deleted.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// A run's folder, locked against other processes that would train the run; dropping this value releases the lock.
pub(in crate::run) struct Folder {
    path: PathBuf,
    /// The folder's lock; object stores have none.
    lock: Option<storage::Locked>,
    /// The right to train the run, if workers play or there is no lock.
    tenure: Option<Tenure>,
}

impl Folder {
    /// Locks `folder` for a run with the settings `config`. The folder is created if it does not exist.
    pub(in crate::run) fn open(config: &Config, folder: &Path) -> Result<Folder> {
        let settings = folder.join(SETTINGS);
        check_folder(config, folder)?;
        storage::create_folder(folder)?;
        let held = Folder::lock(folder)?;
        // another process may have created the run while we waited for the lock
        check_folder(config, folder)?;
        storage::remove_temporaries(folder)?;
        checkpoint::clean(folder)?;
        if !storage::exists(&settings)? {
            write_settings(folder, config)?;
        }
        Ok(held)
    }

    /// Locks a folder.
    pub(in crate::run) fn lock(folder: &Path) -> Result<Folder> {
        let lock = if storage::is_remote(folder) {
            None
        } else {
            let lock = storage::open_lock(&folder.join(LOCK))?;
            Some(storage::lock(lock, folder, "`petteia train`").map_err(|error| named(folder, error))?)
        };
        Ok(Folder { path: folder.to_path_buf(), lock, tenure: None })
    }

    /// Locks the folder of a run that no process trains. If the storage has no locks, the last learner must have
    /// recorded its end, unless the caller knows that it `is_gone`.
    pub(in crate::run) fn lock_unused(folder: &Path, is_gone: bool) -> Result<Folder> {
        let held = Folder::lock(folder)?;
        if held.lock.is_none() && !is_gone && Learner::is_at_work(folder)? {
            match Learner::newest(folder)? {
                Some((_, learner)) => Err(learner.in_use(folder, GONE)),
                None => Ok(held),
            }
        } else {
            Ok(held)
        }
    }

    /// Begins a tenure, which all processes that work on the run can see. Without a lock, another learner may still be
    /// at work, unless the caller knows that it `is_gone`.
    pub(in crate::run) fn begin(&mut self, game: &GameIdentity, is_gone: bool) -> Result<()> {
        let (learner, is_gone) = (Learner::here(Identity::here(), game), is_gone || self.lock.is_some());
        self.tenure = Some(Tenure::begin(&self.path, learner, is_gone)?);
        Ok(())
    }

    /// Fails if the folder was deleted or renamed since it was locked: nothing may be written at its old path.
    pub(in crate::run) fn check(&self) -> Result<()> {
        if let Some(tenure) = &self.tenure {
            tenure.check()?;
        }
        match &self.lock {
            Some(lock) if !storage::is_still_at(lock, &self.path.join(LOCK)) => Err(Error::Missing(format!(
                "{} was deleted or renamed during training: nothing more is written there",
                self.path.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Returns `result`. If it failed because the folder is gone, the error says so.
    pub(in crate::run) fn explain<T>(&self, result: Result<T>) -> Result<T> {
        match result {
            Err(error @ (Error::Interrupted | Error::Config(_))) => Err(error),
            Err(error) => {
                // a folder is deleted file by file, in any order: the rest may look damaged, and the lock may be among
                // the last files
                let is_missing = match &error {
                    Error::Io { source, .. } => source.kind() == ErrorKind::NotFound,
                    _ => true,
                };
                for _ in 0..if is_missing { DELETION_LOOKS } else { 0 } {
                    self.check()?;
                    thread::sleep(BETWEEN_LOOKS);
                }
                self.check().and(Err(error))
            }
            result => result,
        }
    }
}

/// Returns the error about a run that is in use; it names the learner, if known.
fn named(folder: &Path, error: Error) -> Error {
    match (error, Learner::newest(folder), Learner::is_at_work(folder)) {
        (Error::Config(_), Ok(Some((_, learner))), Ok(true)) => learner.in_use(folder, ""),
        (error, ..) => error,
    }
}

/// Returns whether there is a run in `folder`: its settings and at least one other file that only a run has. A folder
/// that is still being copied, or was left by an interrupted copy, does not count.
///
/// # Errors
/// If the folder cannot be examined. Returning false instead could make a caller start a new run in place of an
/// existing one.
pub fn has_run(folder: &Path) -> Result<bool> {
    let has = |name: &str| storage::exists(&folder.join(name));
    Ok(!folder.file_name().is_some_and(storage::is_temporary)
        && has(SETTINGS)?
        && (has(LOCK)? || has(METRICS)? || has(checkpoint::FOLDER)?))
}

/// Returns the result of [`has_run`], or false if the folder cannot be examined; meant for lists of runs.
pub fn is_run(folder: &Path) -> bool {
    has_run(folder).unwrap_or(false)
}

/// Returns the folder of the run that a path refers to: the folder itself, or the settings in it.
pub fn run_of(path: &Path) -> Option<PathBuf> {
    if is_run(path) {
        return Some(path.to_path_buf());
    }
    let parent = path.parent().filter(|_| path.ends_with(SETTINGS))?;
    let folder = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    is_run(folder).then(|| folder.to_path_buf())
}

/// Fails if `folder` is a link that leads nowhere.
pub(in crate::run) fn refuse_dangling(folder: &Path) -> Result<()> {
    if !storage::exists(folder)? && folder.is_symlink() {
        Err(Error::Config(format!(
            "{} is a link to a place that does not exist: remove it, or give another folder",
            folder.display()
        ))
        .about(Input::RunFolder))
    } else {
        Ok(())
    }
}

/// Checks that a run with these settings can begin or continue in `folder`.
///
/// # Errors
/// If the folder holds a run with other settings, or anything that is not a run.
pub(crate) fn check_folder(config: &Config, folder: &Path) -> Result<()> {
    if storage::exists(&folder.join(SETTINGS))? {
        let differences = settings_of(folder)?.differences(config);
        return if differences.is_empty() { Ok(()) } else { Err(other_settings(folder, &differences)) };
    }
    if !storage::exists(folder)? {
        return refuse_dangling(folder);
    }
    // a run that was killed at its very start may have left these files behind
    let entries = storage::list(folder)?;
    let mut names = entries.iter().filter_map(|path| path.file_name());
    match names.any(|name| name != LOCK && !storage::is_temporary(name)) {
        false => Ok(()),
        // another process has just started a run there
        true if storage::exists(&folder.join(SETTINGS))? => check_folder(config, folder),
        true => Err(Error::Config(format!(
            "{} exists and is not a run folder (it has no config.toml): give another folder",
            folder.display()
        ))
        .about(Input::RunFolder)),
    }
}

/// Returns the command that resumes the run in `folder` with one process, quoted for a shell.
pub fn resuming(folder: &Path) -> String {
    format!("petteia train --run {}", shell_word(&folder.display().to_string()))
}
