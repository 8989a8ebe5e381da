//! The folder of a run: created, or opened if it has the same settings; locked during training; and checked to still
//! exist.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::extend::FREE;
use super::look::is_judged;
use super::work::Identity;
use super::work::learner::{GONE, Learner, Tenure};
use super::{METRICS, SETTINGS};
use crate::checkpoint;
use crate::config::{Config, Reading};
use crate::error::{Error, Input, Result, shell_word};
use crate::game::GameIdentity;
use crate::storage;

pub(super) const LOCK: &str = "lock";
/// When a file is missing, how often, and how far apart, to look whether its whole folder is being deleted.
const DELETION_LOOKS: usize = 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// A run's folder, locked against other trainers as long as this lives.
pub(super) struct Folder {
    path: PathBuf,
    /// Its lock, where there are locks.
    lock: Option<storage::Locked>,
    /// The right to train it, where workers play.
    tenure: Option<Tenure>,
}

impl Folder {
    /// Creates or checks the folder and takes its lock.
    pub(super) fn open(config: &Config, folder: &Path) -> Result<Folder> {
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

    /// Takes the lock of a folder.
    pub(super) fn lock(folder: &Path) -> Result<Folder> {
        let lock = if storage::is_remote(folder) {
            None
        } else {
            let lock = storage::open_lock(&folder.join(LOCK))?;
            Some(storage::lock(lock, folder, "`petteia train`").map_err(|error| named(folder, error))?)
        };
        Ok(Folder { path: folder.to_path_buf(), lock, tenure: None })
    }

    /// Takes the lock of a run that nobody trains. Where there are no locks, who trains it has to have said that it ended,
    /// or `is_gone` for sure.
    pub(super) fn lock_unused(folder: &Path, is_gone: bool) -> Result<Folder> {
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

    /// Begins to learn, as all processes can see that work on the run. Without a lock, another learner may be there
    /// that is not gone.
    pub(super) fn begin(&mut self, game: &GameIdentity, is_gone: bool) -> Result<()> {
        let (learner, is_gone) = (Learner::here(Identity::here(), game), is_gone || self.lock.is_some());
        self.tenure = Some(Tenure::begin(&self.path, learner, is_gone)?);
        Ok(())
    }

    /// Fails if the folder was deleted or renamed since it was opened: nothing must be written at its old path.
    pub(super) fn check(&self) -> Result<()> {
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

    /// Returns `result`, or an error that says that the folder is gone if that is why it failed.
    pub(super) fn explain<T>(&self, result: Result<T>) -> Result<T> {
        match result {
            Err(error @ (Error::Interrupted | Error::Config(_))) => Err(error),
            Err(error) => {
                // a folder is deleted file by file, in any order: what is left may look damaged, and its lock may be
                // among the last
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

/// The error for a run that is in use, with the learner that uses it if that has said who it is.
fn named(folder: &Path, error: Error) -> Error {
    match (error, Learner::newest(folder), Learner::is_at_work(folder)) {
        (Error::Config(_), Ok(Some((_, learner))), Ok(true)) => learner.in_use(folder, ""),
        (error, ..) => error,
    }
}

/// Whether a run is running, finished or interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A process trains it now.
    Running,
    /// All of its generations are trained, and the last one is evaluated and rated.
    Finished,
    /// It was ended before, and can be resumed.
    Interrupted,
}

impl State {
    /// `"running"`, `"finished"` or `"interrupted"`, as in JSON output.
    pub fn id(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Finished => "finished",
            State::Interrupted => "interrupted",
        }
    }
}

/// The state of the run in `folder`.
///
/// # Errors
/// There is no run in `folder`, or its newest checkpoint cannot be read.
pub fn state_of(folder: &Path) -> Result<State> {
    let config = reading_of(folder)?.config;
    let is_running = if storage::is_remote(folder) {
        Learner::is_at_work(folder)?
    } else {
        storage::is_locked(&folder.join(LOCK))
    };
    if is_running {
        return Ok(State::Running);
    }
    let done = checkpoint::latest(folder)?.map_or(0, |checkpoint| checkpoint.manifest.generation);
    let is_finished = done >= config.train.generations && is_judged(folder, &config, done);
    Ok(if is_finished { State::Finished } else { State::Interrupted })
}

/// The command that resumes the run in `folder` by one process, as a shell reads it.
pub fn resuming(folder: &Path) -> String {
    format!("petteia train --run {}", shell_word(&folder.display().to_string()))
}

/// Whether there is a run in `folder`: its settings and at least one other file that only a run has. A folder that is
/// still being copied, or was left by an interrupted copy, does not count.
///
/// # Errors
/// The folder cannot be examined: a run must not be taken for a new one because of that.
pub fn has_run(folder: &Path) -> Result<bool> {
    let has = |name: &str| storage::exists(&folder.join(name));
    Ok(!folder.file_name().is_some_and(storage::is_temporary)
        && has(SETTINGS)?
        && (has(LOCK)? || has(METRICS)? || has(checkpoint::FOLDER)?))
}

/// [`has_run`], where a folder that cannot be examined has none: for lists.
pub fn is_run(folder: &Path) -> bool {
    has_run(folder).unwrap_or(false)
}

/// The run that a path means: its folder, or the settings in it.
pub fn run_of(path: &Path) -> Option<PathBuf> {
    if is_run(path) {
        return Some(path.to_path_buf());
    }
    let parent = path.parent().filter(|_| path.ends_with(SETTINGS))?;
    let folder = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    is_run(folder).then(|| folder.to_path_buf())
}

/// The settings of the run in `folder`.
///
/// # Errors
/// There is no run in `folder`, or this program does not know all of its settings.
pub fn settings_of(folder: &Path) -> Result<Config> {
    let (path, text) = settings_text(folder)?;
    Config::parse_kept(&path.display().to_string(), &text, &[])
}

/// The settings of the run in `folder`, as far as this program knows them: another version may have written them.
///
/// # Errors
/// There is no run in `folder`.
pub fn reading_of(folder: &Path) -> Result<Reading> {
    let (path, text) = settings_text(folder)?;
    Config::read(&path.display().to_string(), &text)
}

fn settings_text(folder: &Path) -> Result<(PathBuf, String)> {
    let (path, place) = (folder.join(SETTINGS), folder.display());
    if !storage::exists(folder)? {
        return Err(Error::Missing(format!("{place} does not exist{}", checkpoint::runs_beside(folder))));
    }
    if !storage::exists(&path)? {
        return Err(Error::Missing(format!(
            "{place} is not a run folder (it has no {SETTINGS}){}",
            checkpoint::runs_beside(folder)
        )));
    }
    let text = storage::read_text(&path, "a config")?;
    Ok((path, text))
}

/// The error for a run whose settings are not the ones asked for.
pub(super) fn other_settings(folder: &Path, differences: &[[String; 3]]) -> Error {
    let is_free = differences.iter().all(|[key, ..]| FREE.contains(&&**key));
    let [.., asked] =
        differences.iter().find(|[key, ..]| key == "train.generations").cloned().unwrap_or_default();
    let longer = asked.parse().ok().filter(|_| is_free);
    let lines: Vec<String> =
        differences.iter().map(|[key, there, asked]| format!("\n  {key}: {there} / {asked}")).collect();
    Error::Config(format!(
        "{} exists with other settings (there / asked for):{}\n\
         give the same settings to resume it, or another folder",
        folder.display(),
        lines.concat()
    ))
    .about(longer.map_or(Input::RunSettings, Input::RunLength))
}

/// Writes the resolved settings into a run's folder.
pub(super) fn write_settings(folder: &Path, config: &Config) -> Result<()> {
    storage::write_whole(&folder.join(SETTINGS), config.to_toml().as_bytes())
}

/// Fails if `folder` is a link that leads nowhere.
pub(super) fn refuse_dangling(folder: &Path) -> Result<()> {
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

/// Whether a run with these settings can begin or go on in `folder`.
///
/// # Errors
/// It holds a run with other settings, or anything that is not a run.
pub fn check_folder(config: &Config, folder: &Path) -> Result<()> {
    if storage::exists(&folder.join(SETTINGS))? {
        let differences = settings_of(folder)?.differences(config);
        return if differences.is_empty() { Ok(()) } else { Err(other_settings(folder, &differences)) };
    }
    if !storage::exists(folder)? {
        return refuse_dangling(folder);
    }
    // files that a run killed right at its start may have left behind are no reason to reject the folder
    let entries = storage::list(folder)?;
    let mut names = entries.iter().filter_map(|path| path.file_name());
    match names.any(|name| name != LOCK && !storage::is_temporary(name)) {
        false => Ok(()),
        // another process has just begun a run there
        true if storage::exists(&folder.join(SETTINGS))? => check_folder(config, folder),
        true => Err(Error::Config(format!(
            "{} exists and is not a run folder (it has no config.toml): give another folder",
            folder.display()
        ))
        .about(Input::RunFolder)),
    }
}
