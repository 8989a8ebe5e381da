//! `petteia config`: prints the shipped configs, and every setting that a config can have.
//!
//! All information about a setting comes from its line in the tables of the settings.

use std::ffi::OsStr;
use std::path::Path;

use clap::Args;

use super::help::with_own_name;
use super::print;
use super::table::{Column, Table};
use super::text::{paragraph, terminal_width};
use crate::config::{CONFIG_FORMAT, Config, Kind, Setting, settings};
use crate::error::{Error, Result, did_you_mean, quoted};
use crate::game::{Game, Settings};
use crate::program::Program;
use crate::registry::Catalog;
use crate::run;

/// The width of the list of settings, in columns.
const WIDTH: usize = 80;
const INDENT: &str = "    ";

/// Print a config to start from, or list the settings.
#[derive(Args)]
#[command(after_help = "\
Without an argument, lists the configs that come with this program. A game without a shipped config \
has a config of two lines; all other settings have defaults or follow from \
the game.

Examples:
  petteia config
  petteia config phage > my-phage.toml
  petteia config --keys
  petteia config --keys temperature")]
pub(super) struct ConfigCommand {
    /// Name of a shipped config, or id of a game
    #[arg(value_name = "CONFIG-OR-GAME", conflicts_with = "keys")]
    name: Option<String>,
    /// List all settings with their defaults, permitted values, and meaning; with WORD, only settings whose key or
    /// description contains it, with full descriptions
    #[arg(long, value_name = "WORD", num_args = 0..=1, default_missing_value = "")]
    keys: Option<String>,
}

impl ConfigCommand {
    /// Prints the config or the list.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        match (self.name, self.keys) {
            (_, Some(word)) => print_keys(&word),
            (Some(name), None) => print(config_text(&name, games)?.trim_end()),
            (None, None) => list(games),
        }
    }
}

/// Returns a config that has only the id of a game.
pub(super) fn id_alone(id: &str) -> String {
    format!("config_format = {CONFIG_FORMAT}\n\n[game]\nid = \"{id}\"\n")
}

/// Returns the names that `petteia config` and `petteia train` accept: shipped configs, and games without a shipped
/// config.
pub(super) fn names(games: Catalog) -> Vec<String> {
    let configs = games.config_names().into_iter().map(String::from);
    configs.chain(games.names().into_iter().filter(|id| games.config(id).is_none())).collect()
}

/// Prints the list of the names of configs.
fn list(games: Catalog) -> Result<()> {
    let mut rows: Vec<[String; 2]> = Vec::new();
    for name in names(games) {
        let game = match games.config(&name) {
            Some(text) => Config::read(&name, text)?.config.game.id,
            None => format!("{name} (id only)"),
        };
        rows.push([name, game]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let columns = vec![Column::text("config", width(0), 0), Column::text("game", width(1), 0)];
    let table = Table::new(columns, terminal_width());
    print(table.head())?;
    rows.iter().try_for_each(|row| print(table.line(row)))?;
    let me = Program::current().name;
    print(format_args!(
        "\n{me} config NAME    prints a config\n{me} train NAME     trains with it\n{me} config --keys  lists all \
            settings"
    ))
}

/// Returns the config with this name: a shipped config or, for the id of a game without one, a config with comments
/// about the settings that follow from the game.
///
/// # Errors
/// If there is neither a config nor a game with this name.
fn config_text(name: &str, games: Catalog) -> Result<String> {
    if let Some(text) = games.config(name) {
        return Ok(text.to_string());
    }
    let known = names(games);
    if !known.iter().any(|known| known == name) {
        // `configs/phage.toml` means the shipped config `phage`
        let stem = Path::new(name).file_stem().and_then(OsStr::to_str).unwrap_or(name);
        let hint = did_you_mean(stem, known.iter().map(String::as_str));
        return Err(Error::Config(format!(
            "unknown config {}{hint} (`petteia config` lists the names)",
            quoted(name)
        )));
    }
    let rules = games.open(name, &Settings::new())?;
    let (derived, _) = run::suited(&rules);
    let mut lines = vec![
        format!("# {}: there is no shipped config, so only the id is set.", rules.game.about().title),
        "# All other settings are defaults (`petteia config --keys`), except those that follow from".into(),
        "# the game:".into(),
    ];
    let differences = Config::new(name).differences(&derived);
    lines.extend(differences.iter().map(|[key, _, value]| format!("#   {key} = {value}")));
    Ok(with_own_name(format!("{}\n{}", lines.join("\n"), id_alone(name))))
}

/// Lists the settings that have `word` in their key or description, experimental ones last.
fn print_keys(word: &str) -> Result<()> {
    let has = |text: &str| text.to_lowercase().contains(&word.to_lowercase());
    let matching = settings().filter(|setting| has(setting.key) || has(&setting.doc));
    let (experimental, usual): (Vec<Setting>, Vec<Setting>) =
        matching.partition(|setting| setting.experimental);
    if experimental.is_empty() && usual.is_empty() {
        let names = |key: &'static str| [key, key.rsplit('.').next().unwrap_or(key)];
        let hint = did_you_mean(word, settings().flat_map(|setting| names(setting.key)));
        return Err(Error::Config(format!(
            "no setting has {} in its key or description{hint}",
            quoted(word)
        )));
    }
    if word.is_empty() {
        print(paragraph(
            "The settings of a config or of --set KEY=VALUE, as key = default (permitted values). Some defaults follow \
             from the game if a config does not set them. `petteia games` lists the options of games, game.OPTION.",
        ))?;
    }
    usual.iter().try_for_each(|setting| print(entry(setting, !word.is_empty())))?;
    if !experimental.is_empty() {
        print("\nExperimental: settings that showed no benefit when measured, or were not\nmeasured.")?;
    }
    experimental.iter().try_for_each(|setting| print(entry(setting, !word.is_empty())))
}

/// Formats a setting for the list: a line of facts, and its description, as one sentence or in full.
fn entry(setting: &Setting, in_full: bool) -> String {
    let default = setting.default.as_ref().map_or(String::new(), |default| format!(" = {default}"));
    let doc = if in_full { &*setting.doc } else { first_sentence(&setting.doc) };
    let wrapped = textwrap::Options::new(WIDTH).initial_indent(INDENT).subsequent_indent(INDENT);
    format!("\n{}{default} ({})\n{}", setting.key, permitted(setting), textwrap::fill(doc, wrapped))
}

/// Describes the permitted values.
fn permitted(setting: &Setting) -> String {
    let kind = match setting.kind {
        Kind::Integer if setting.even => "even number".into(),
        Kind::Integer => "whole number".into(),
        Kind::Number => "number".into(),
        Kind::Switch => "true or false".into(),
        Kind::Text => "text".into(),
        Kind::Choice(names) => {
            let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            names.join(" or ")
        }
    };
    let range = setting.range.as_ref().map_or(String::new(), |[low, high]| format!(", {low} to {high}"));
    let required = if setting.default.is_none() { ", required" } else { "" };
    format!("{kind}{range}{required}")
}

fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |end| &text[..=end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_explained_in_lines_of_80_columns() {
        for setting in settings() {
            for text in [entry(&setting, false), entry(&setting, true)] {
                assert!(text.lines().count() >= 3, "{text}");
                assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
                assert!(text.trim_end().ends_with('.'), "{text}");
            }
        }
    }

    #[test]
    fn an_entry_lists_the_permitted_values() {
        let entry =
            |key: &str| entry(&settings().find(|setting| setting.key == key).expect("a setting"), false);
        assert_eq!(
            entry("net.filters"),
            "\nnet.filters = 16 (whole number, 1 to 512)\n    Channels of the tower."
        );
        assert!(entry("search.root").starts_with("\nsearch.root = \"gumbel\" (\"puct\" or \"gumbel\")\n"));
        assert!(entry("arena.games").starts_with("\narena.games = 20 (even number, 0 to "));
        assert!(entry("game.id").starts_with("\ngame.id (text, required)\n"));
    }

    #[test]
    fn the_id_alone_is_a_config() {
        let config = Config::parse("alone", &id_alone("phage"), &[]).expect("a config");
        assert_eq!(config, Config::new("phage"));
    }

    crate::games! { struct Bare: crate::games::tic_tac_toe::TicTacToe }

    #[test]
    fn a_game_without_a_config_has_its_id() {
        let text = config_text("tic-tac-toe", Catalog::of::<Bare>()).expect("a config");
        assert!(text.contains("#   selfplay.games = ") && text.ends_with(&id_alone("tic-tac-toe")), "{text}");
        assert!(Config::parse("alone", &text, &[]).is_ok());
    }
}
