//! Reads and writes the settings in a run's folder, and compares them with requested ones.

use std::path::{Path, PathBuf};

use crate::checkpoint;
use crate::config::{Config, Reading};
use crate::error::{Error, Input, Result};
use crate::storage;

/// The file of resolved settings in the run's folder.
pub const SETTINGS: &str = "config.toml";
/// The settings that may change in an existing run, because its games and weights do not depend on them.
pub(in crate::run) const FREE: [&str; 2] = ["train.generations", "train.tensorboard"];

/// Reads the settings of the run in `folder`.
///
/// # Errors
/// If there is no run in `folder`, or if this program does not know all of its settings.
pub fn settings_of(folder: &Path) -> Result<Config> {
    let (path, text) = settings_text(folder)?;
    Config::parse_kept(&path.display().to_string(), &text, &[])
}

/// Reads the settings of the run in `folder`. Another version of the program may have written the settings; unknown
/// settings are skipped.
///
/// # Errors
/// If there is no run in `folder`.
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

/// Makes the error about a run whose settings differ from those that the user asked for.
pub(in crate::run) fn other_settings(folder: &Path, differences: &[[String; 3]]) -> Error {
    let is_free = differences.iter().all(|[key, ..]| FREE.contains(&&**key));
    let [.., asked] =
        differences.iter().find(|[key, ..]| key == "train.generations").cloned().unwrap_or_default();
    let longer = asked.parse().ok().filter(|_| is_free);
    let lines: Vec<String> =
        differences.iter().map(|[key, there, asked]| format!("\n  {key}: {there} / {asked}")).collect();
    Error::Config(format!(
        "{} exists with different settings (there / requested):{}\n\
         give the same settings to resume it, or another folder",
        folder.display(),
        lines.concat()
    ))
    .about(longer.map_or(Input::RunSettings, Input::RunLength))
}

/// Writes the resolved settings to a run's folder.
pub(in crate::run) fn write_settings(folder: &Path, config: &Config) -> Result<()> {
    storage::write_whole(&folder.join(SETTINGS), config.to_toml().as_bytes())
}
