//! `petteia games`: lists the games of the registry.

use clap::Args;
use serde_json::{Map, Value, json};

use super::print;
use super::table::{Column, Table};
use super::text::{display_value, hanging, terminal_width, wrapped};
use crate::any::Opened;
use crate::arena::spec::{AgentSpec, SHIPPED};
use crate::error::Result;
use crate::game::{Game, Settings};
use crate::registry::Catalog;

/// The columns of the table.
const KEYS: [&str; 10] =
    ["id", "name", "agent", "players", "planes", "height", "width", "actions", "encoding", "author"];
/// The column in which the descriptions of options begin.
const OPTIONS_COLUMN: usize = 32;

/// List the games with their sizes and options.
#[derive(Args)]
#[command(after_help = "\
The column agent shows which games have an agent that comes with the program: a trained one (shipped), or perfect play \
if the game can be solved at once (perfect). For these games, commands that take an agent accept the name `shipped`, \
and `petteia play GAME` plays against one of its nine levels.")]
pub(super) struct Games {
    /// Print one JSON array of objects instead of a table
    #[arg(long)]
    json: bool,
}

fn described(rules: &Opened) -> Value {
    let (about, shape) = (rules.game.about(), rules.identity.shape);
    let agent = AgentSpec::shipped(rules).ok().map(|agent| match agent {
        AgentSpec::Perfect => "perfect",
        _ => SHIPPED,
    });
    json!({
        "id": rules.identity.id, "name": about.title, "agent": agent, "author": about.author, "players": about.players,
        "planes": shape.planes, "height": shape.height, "width": shape.width,
        "actions": shape.actions, "encoding": about.encoding,
        "options": rules.game.options().into_iter().map(|option| (option.name.into(),
            option.effect.into())).collect::<Map<_, _>>(),
    })
}

impl Games {
    /// Prints the games.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        let mut rows = Vec::new();
        for id in games.names() {
            rows.push(described(&games.open(&id, &Settings::new())?));
        }
        if self.json {
            return print(Value::Array(rows));
        }
        let table = Table::new(columns(&rows), terminal_width());
        print(table.head())?;
        for row in &rows {
            print(table.line(&KEYS.map(|key| display_value(&row[key]))))?;
        }
        if rows.iter().all(|row| row["options"].as_object().is_none_or(Map::is_empty)) {
            return Ok(());
        }
        let options = "\nOptions, set in the section `[game]` of a config or with `--set game.OPTION=VALUE`:";
        print(wrapped(options, terminal_width()))?;
        // the variants of a game share its options
        for games in rows.chunk_by(|a, b| a["name"] == b["name"]) {
            for (option, effect) in games[0]["options"].as_object().into_iter().flatten() {
                let line = format!(
                    "{:<14} {option:<16} {}",
                    display_value(&games[0]["name"]),
                    display_value(effect)
                );
                print(hanging(&line, OPTIONS_COLUMN, terminal_width()))?;
            }
        }
        Ok(())
    }
}

/// Returns the columns of [`KEYS`], as wide as their contents.
fn columns(rows: &[Value]) -> Vec<Column> {
    let spare = |key: &str| match key {
        "author" => 3,
        "encoding" | "height" | "width" => 2,
        "planes" => 1,
        _ => 0,
    };
    let width =
        |key: &str| rows.iter().map(|row| display_value(&row[key]).chars().count()).max().unwrap_or(0);
    KEYS.map(|key| {
        if rows.first().is_some_and(|row| row[key].is_number()) {
            Column::number(key, width(key), spare(key))
        } else {
            Column::text(if key == "author" { "by" } else { key }, width(key), spare(key))
        }
    })
    .into()
}
