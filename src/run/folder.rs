//! The folder of a run: created, or found with the same settings; locked during training; and checked to still exist.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::SETTINGS;
use crate::checkpoint;
use crate::config::Config;
use crate::error::{Error, Input, Result};
use crate::storage;

const LOCK: &str = "lock";
/// How often, and how far apart, to look whether a folder in which a file is missing is being deleted.
const DELETION_LOOKS: usize = 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);

/// A run's folder, locked against other trainers as long as this lives.
pub(super) struct Folder {
    path: PathBuf,
    lock: storage::Locked,
}

impl Folder {
    /// Creates or checks the folder and takes its lock.
    pub(super) fn open(config: &Config, folder: &Path) -> Result<Folder> {
        let settings = folder.join(SETTINGS);
        check_settings(config, folder, &settings)?;
        storage::create_folder(folder)?;
        let path = folder.join(LOCK);
        let lock = storage::lock(storage::open_lock(&path)?, folder, "petteia train")?;
        // another process may have created the run while we waited for the lock
        check_settings(config, folder, &settings)?;
        storage::remove_temporaries(folder)?;
        checkpoint::clean(folder)?;
        if !storage::exists(&settings)? {
            storage::write_whole(&settings, config.to_toml().as_bytes())?;
        }
        Ok(Folder { path: folder.to_path_buf(), lock })
    }

    /// Fails if the folder was deleted or renamed since it was opened: nothing must be written at its old path.
    pub(super) fn check(&self) -> Result<()> {
        match storage::is_still_at(&self.lock, &self.path.join(LOCK)) {
            true => Ok(()),
            false => Err(Error::Missing(format!(
                "{} was deleted or renamed during training: nothing more is written there",
                self.path.display()
            ))),
        }
    }

    /// Returns `result`, or an error that the folder is gone if that is why it failed.
    pub(super) fn explain<T>(&self, result: Result<T>) -> Result<T> {
        match result {
            Err(error @ Error::Io { .. }) => {
                // a folder is deleted file by file, and its lock may be among the last
                let is_missing =
                    matches!(&error, Error::Io { source, .. } if source.kind() == ErrorKind::NotFound);
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

/// Rejects a folder of a run with other settings, and one that holds anything else.
fn check_settings(config: &Config, folder: &Path, settings: &Path) -> Result<()> {
    if storage::exists(settings)? {
        let text = storage::read_text(settings, "a config")?;
        let theirs = Config::parse(&settings.display().to_string(), &text, &[])?;
        let differences: Vec<String> = theirs
            .differences(config)
            .into_iter()
            .map(|[key, there, asked]| format!("{key}: {there} / {asked}"))
            .collect();
        if differences.is_empty() {
            return Ok(());
        }
        return Err(Error::Config(format!(
            "{} exists with other settings (there / asked for):\n  {}\n\
             give the same settings to resume it, or another folder",
            folder.display(),
            differences.join("\n  ")
        ))
        .about(Input::RunFolder));
    }
    if !storage::exists(folder)? {
        return match folder.is_symlink() {
            true => Err(Error::Config(format!(
                "{} is a link to a place that does not exist: remove it, or give another folder",
                folder.display()
            ))
            .about(Input::RunFolder)),
            false => Ok(()),
        };
    }
    // what a run killed right at its start may have left behind is not a reason to reject the folder
    let entries = storage::list(folder)?;
    let mut names = entries.iter().filter_map(|path| path.file_name());
    match names.any(|name| name != LOCK && !storage::is_temporary(name)) {
        false => Ok(()),
        true => Err(Error::Config(format!(
            "{} exists and is not a run folder (it has no config.toml): give another folder",
            folder.display()
        ))
        .about(Input::RunFolder)),
    }
}
