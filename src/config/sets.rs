//! Settings given individually as `key=value`, on top of a file or without one.

use super::{Config, FORMAT_KEY, TOO_DEEP, explained, too_deep};
use crate::error::{Error, Input, Result, quoted, shown};
use crate::options::Settings;

/// Returns the key and the value of `key=value` as a user writes it.
pub(super) fn parse(set: &str) -> Result<(&str, toml::Value)> {
    let (key, text) = set
        .split_once('=')
        .map(|(key, text)| (key.trim(), text.trim()))
        .filter(|(key, _)| !key.is_empty())
        .ok_or_else(|| {
            wrong(set, "write it as key=value, e.g. search.simulations=64 or game.start=blocks")
        })?;
    if too_deep(set).is_some() {
        return Err(wrong(set, TOO_DEEP));
    }
    // text that is not a TOML value is a string, so that game.id=phage needs no quotes
    let value = format!("x = {text}")
        .parse::<toml::Table>()
        .ok()
        .and_then(|mut table| table.remove("x"))
        .unwrap_or_else(|| toml::Value::String(text.to_string()));
    Ok((key, value))
}

/// Returns the error for a wrong `key=value`.
pub(super) fn wrong(set: &str, what: &str) -> Error {
    Error::Config(format!("{}: {}", shown(set), what.trim_end())).about(Input::Setting)
}

/// Returns the switches of a game from a list of `game.NAME=VALUE`, for callers that do not need a whole config. As
/// there are no other settings here, `NAME=VALUE` works, too.
///
/// # Errors
/// If an item is malformed, or is not one of the game's own options.
pub fn game_settings(sets: &[String]) -> Result<Settings> {
    let mut settings = Settings::new();
    for set in sets {
        let (key, value) = parse(set)?;
        let name = key.strip_prefix("game.").or((!key.contains('.')).then_some(key));
        let name = name.filter(|name| !["", "id"].contains(name)).ok_or_else(|| {
            wrong(set, "only the game's own options can be set here, e.g. game.start=blocks")
        })?;
        settings.insert(name.to_string(), value);
    }
    Ok(settings)
}

/// Puts one `key=value` into `table` and returns the resulting config.
pub(super) fn apply(table: &mut toml::Table, set: &str) -> Result<Config> {
    let wrong = |what: &str| wrong(set, what);
    let (key, value) = parse(set)?;
    if key == FORMAT_KEY {
        return Err(wrong("the format determines what the other lines of a file mean: set it in the file"));
    }
    let (sections, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut target = &mut *table;
    for section in sections.split('.').filter(|section| !section.is_empty()) {
        target = target
            .entry(section)
            .or_insert_with(|| toml::Value::Table(toml::Table::new()))
            .as_table_mut()
            .ok_or_else(|| wrong(&format!("{} is not a section", quoted(section))))?;
    }
    target.insert(name.to_string(), value);
    table.clone().try_into().map_err(|e: toml::de::Error| wrong(&explained(&e)))
}
