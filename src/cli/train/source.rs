//! The config that `petteia train` is asked for: a file, a shipped config, or only the id of a game.
//!
//! Input: a word of the command line. Output: the text of the config, and its origin. A file or a run takes precedence
//! over a name.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::cli::config::{id_alone, names};
use crate::cli::subject::text_rules;
use crate::error::{Error, Result, nearest, quoted};
use crate::options::{Settings, TEXT};
use crate::registry::Catalog;
use crate::run;
use crate::storage::{self, text};

/// A config and its origin.
pub(super) struct ConfigSource {
    /// The text of the config.
    pub text: String,
    /// The origin of the config, for messages.
    pub place: String,
    /// The file that holds the config, if there is one.
    pub file: Option<PathBuf>,
    /// The name of a run with this config.
    pub name: PathBuf,
    /// A sentence that says which config was used, if the word might mean several configs.
    pub note: Option<String>,
}

impl ConfigSource {
    /// Returns the config that `word` means.
    ///
    /// # Errors
    /// If there is no such file, config, or game, or the file cannot be read.
    pub(super) fn of(word: &Path, games: Catalog) -> Result<ConfigSource> {
        let name = word.to_str().unwrap_or_default();
        let is_file = storage::is_named(word)? && !storage::has_folder(word);
        match games.config(name) {
            Some(_) if is_file => {
                let note = format!("{name}: using the file with this name, not the shipped config");
                Ok(ConfigSource { note: Some(note), ..ConfigSource::file(word, games)? })
            }
            Some(text) => Ok(ConfigSource {
                text: text.to_string(),
                place: format!("the shipped config {name}"),
                file: None,
                name: word.into(),
                note: Some(format!("{name}: using the shipped config; `petteia config {name}` prints it")),
            }),
            None if !is_file && games.ids().iter().any(|id| id == name) => Ok(ConfigSource {
                text: id_alone(name),
                place: format!("the id {name} alone"),
                file: None,
                name: word.into(),
                note: Some(format!(
                    "{name}: there is no shipped config, so all settings are defaults or follow from the game"
                )),
            }),
            None => match (text_rules(word)?, games.text(name)) {
                (Some((id, options)), _) => Ok(ConfigSource {
                    text: of_text(&id, &options),
                    place: word.display().to_string(),
                    file: None,
                    name: word.file_stem().unwrap_or_default().into(),
                    note: Some(format!(
                        "{id}: the rules are a text; all settings are defaults or follow from the game"
                    )),
                }),
                (None, Some(text)) => Ok(ConfigSource {
                    text: of_text(name, &[(TEXT.to_string(), text.into())].into()),
                    place: format!("the id {name} alone"),
                    file: None,
                    name: word.into(),
                    note: Some(format!(
                        "{name}: the rules are a text that comes with the program; all settings are defaults or follow \
                         from the game"
                    )),
                }),
                (None, None) => ConfigSource::file(word, games),
            },
        }
    }

    /// Reads the config in a file.
    fn file(path: &Path, games: Catalog) -> Result<ConfigSource> {
        let place = path.display().to_string();
        let bytes =
            storage::read_given(path, storage::LARGEST_TEXT, "a config").map_err(|error| match &error {
                Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => missing(path, games),
                _ => Error::Config(format!("cannot read the config: {error}")),
            })?;
        let wrong = |why: String| Error::Config(format!("{place}: {why}"));
        let bytes = text::unmarked(&bytes).map_err(wrong)?;
        let text = std::str::from_utf8(bytes).map_err(|e| wrong(e.to_string()))?.to_string();
        let name = path.file_stem().unwrap_or_default().into();
        Ok(ConfigSource { text, place, file: Some(path.into()), name, note: None })
    }

    /// Whether the config begins a new run in `folder`: it is not the config of a run, and the folder has no run.
    ///
    /// # Errors
    /// If the folder cannot be examined.
    pub(super) fn is_new_in(&self, folder: &Path) -> Result<bool> {
        Ok(self.file.as_deref().and_then(run::run_of).is_none() && !run::has_run(folder)?)
    }
}

/// Returns a config that has only the id and the options of a game.
fn of_text(id: &str, options: &Settings) -> String {
    let options = toml::to_string(options).expect("options are valid TOML");
    format!("{}{options}", id_alone(id))
}

/// Returns the error for a config that does not exist, with a suggestion: a name that needs no file, or a file with a
/// similar name.
fn missing(path: &Path, games: Catalog) -> Error {
    let stem = |path: &Path| path.file_stem().map(|name| name.to_string_lossy().into_owned());
    let (named, known) = (stem(path).unwrap_or_default(), names(games));
    // a word that does not look like a path may be a name
    let is_word = path.components().count() == 1 && path.extension().is_none();
    let usual = Path::new("configs").join(path).with_extension("toml");
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("configs"));
    let siblings = if is_word { Vec::new() } else { storage::list(folder).unwrap_or_default() };
    let configs =
        siblings.iter().filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let files: Vec<String> = configs.filter_map(|path| stem(path)).collect();
    let hint = if known.contains(&named) {
        format!("`petteia train {named}` needs no file")
    } else if storage::has_file(&usual) {
        format!("did you mean {}?", usual.display())
    } else if let Some(near) = nearest(&named, files.iter().map(String::as_str)) {
        format!("did you mean {}?", folder.join(format!("{near}.toml")).display())
    } else if let Some(near) = nearest(&named, known.iter().map(String::as_str)) {
        format!("did you mean `petteia train {near}`?")
    } else {
        format!("these names need no file: {}", known.join(", "))
    };
    let path = quoted(&path.display().to_string());
    Error::Config(if is_word {
        format!("{path} is not a file, a shipped config, or a game; {hint}")
    } else {
        format!("the config {path} does not exist; {hint}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::games! { struct Bare: crate::games::tic_tac_toe::TicTacToe }

    #[test]
    fn a_game_without_a_config_is_trained_by_its_id() {
        let source = ConfigSource::of(Path::new("tic-tac-toe"), Catalog::of::<Bare>()).expect("a config");
        assert_eq!((source.text, source.file), (id_alone("tic-tac-toe"), None));
        assert_eq!(source.name, Path::new("tic-tac-toe"));
        assert!(source.note.is_some_and(|note| note.contains("there is no shipped config")));
        let error =
            ConfigSource::of(Path::new("tictactoe"), Catalog::of::<Bare>()).err().map(|e| e.to_string());
        assert!(error.is_some_and(|text| text.ends_with("; did you mean `petteia train tic-tac-toe`?")));
    }
}
