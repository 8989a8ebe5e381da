//! `petteia games`: the registry.

use clap::Args;
use serde_json::{Map, Value, json};

use super::print;
use crate::error::Result;
use crate::game::{Game, GameOptions};
use crate::games::{Job, ids, with_game};

/// List the games, their sizes and their options.
#[derive(Args)]
pub struct Games {
    /// Print one JSON array of objects instead of a table
    #[arg(long)]
    json: bool,
}

struct Describe(String);

impl Job for Describe {
    type Output = Value;

    fn run<G: Game>(self, game: G, _options: GameOptions) -> Value {
        let shape = game.shape();
        json!({
            "id": self.0, "name": G::TITLE, "author": G::AUTHOR, "players": game.players(),
            "planes": shape.planes, "height": shape.height, "width": shape.width,
            "actions": shape.actions, "encoding": G::ENCODING,
            "options": G::OPTIONS.iter().map(|(name, what)| (name.to_string(), (*what).into())).collect::<Map<_, _>>(),
        })
    }
}

impl Games {
    /// Prints the registry.
    pub fn run(self) -> Result<()> {
        let mut rows = Vec::new();
        for id in ids() {
            rows.push(with_game(&id, &Default::default(), Describe(id.clone()))?);
        }
        if self.json {
            return print(Value::Array(rows));
        }
        let width = rows.iter().filter_map(|row| row["id"].as_str()).map(str::len).max().unwrap_or(0);
        print(format_args!(
            "{:<width$} {:<14} {:<16} {:>6} {:>6} {:>5} {:>7} {:>8}  by",
            "id", "name", "players", "planes", "height", "width", "actions", "encoding"
        ))?;
        for row in &rows {
            let text = |key: &str| row[key].as_str().unwrap_or_default().to_string();
            let players: Vec<&str> =
                row["players"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            print(format_args!(
                "{:<width$} {:<14} {:<16} {:>6} {:>6} {:>5} {:>7} {:>8}  {}",
                text("id"),
                text("name"),
                players.join(", "),
                row["planes"].to_string(),
                row["height"].to_string(),
                row["width"].to_string(),
                row["actions"].to_string(),
                row["encoding"].to_string(),
                text("author"),
            ))?;
        }
        print("\nOptions, in a config as `[game]` or on the command line as `--set game.OPTION=VALUE`:")?;
        // the variants of a game share its options
        for games in rows.chunk_by(|a, b| a["name"] == b["name"]) {
            for (option, what) in games[0]["options"].as_object().into_iter().flatten() {
                let name = games[0]["name"].as_str().unwrap_or_default();
                print(format_args!("{name:<14} {option:<16} {}", what.as_str().unwrap_or_default()))?;
            }
        }
        Ok(())
    }
}
