//! `petteia records RUN list`: one line a shard, printed as soon as it is read.
//!
//! A shard is `checked` when its checksum is right and its lines are records; nothing is played again here.

use std::fs;
use std::path::Path;

use clap::Args;
use indicatif::DecimalBytes;
use serde_json::{Value, json};

use super::{Source, generation_of};
use crate::cli::print;
use crate::error::{Error, Result};
use crate::replay::record::Record;
use crate::replay::store;

/// List the shards (the default).
#[derive(Args, Default)]
#[command(after_help = "\
Each shard's checksum is compared; `verify` also plays the games again. Plies are \
all actions, positions those of them that are trained on.")]
pub struct List {
    /// One JSON object a shard
    #[arg(long)]
    json: bool,
}

/// What a readable shard holds.
#[derive(Default)]
struct Content {
    games: usize,
    plies: usize,
    positions: usize,
}

impl List {
    pub fn run(self, source: &Source) -> Result<()> {
        if !self.json {
            print(format_args!(
                "{:>10} {:>6} {:>7} {:>9} {:>10}  {:<14} {:<8} shard",
                "generation", "games", "plies", "positions", "size", "evaluator", "state"
            ))?;
        }
        let (mut sum, mut bytes, mut damaged) = (Content::default(), 0, 0);
        for path in &source.shards.paths {
            let size = fs::metadata(path).map_err(Error::io(path))?.len();
            let read = store::read_unplayed(path);
            if let Ok(records) = &read {
                sum.add(records);
            }
            damaged += read.is_err() as usize;
            bytes += size;
            match self.json {
                true => print(object(path, size, &read))?,
                false => print(row(source, path, size, &read))?,
            }
        }
        for path in &source.shards.set_aside {
            match self.json {
                true => print(json!({"shard": path, "state": "set aside"}))?,
                false => print(format_args!("set aside as damaged: {}", path.display()))?,
            }
        }
        if self.json {
            return Ok(());
        }
        let shards = source.shards.paths.len();
        let damaged = if damaged > 0 { format!("; {damaged} damaged") } else { String::new() };
        print(format_args!(
            "{shards} shards, {} games, {} plies, {} positions, {}{damaged}",
            sum.games,
            sum.plies,
            sum.positions,
            DecimalBytes(bytes)
        ))
    }
}

impl Content {
    fn add(&mut self, records: &[Record]) {
        self.games += records.len();
        self.plies += records.iter().map(|record| record.actions.len()).sum::<usize>();
        self.positions += records.iter().flat_map(|record| &record.visits).filter(|v| !v.is_empty()).count();
    }

    fn of(records: &[Record]) -> Content {
        let mut content = Content::default();
        content.add(records);
        content
    }
}

fn row(source: &Source, path: &Path, size: u64, read: &Result<Vec<Record>>) -> String {
    let size = DecimalBytes(size).to_string();
    let inside = path.strip_prefix(&source.path).ok().filter(|inside| !inside.as_os_str().is_empty());
    let shard = inside.unwrap_or(path).display();
    match read {
        Ok(records) => {
            let Content { games, plies, positions } = Content::of(records);
            let (generation, evaluator) = about(path, records);
            let generation = generation.map_or("?".into(), |generation| generation.to_string());
            format!(
                "{generation:>10} {games:>6} {plies:>7} {positions:>9} {size:>10}  {evaluator:<14} checked  {shard}"
            )
        }
        Err(error) => {
            let generation = generation_of(path).map_or("?".into(), |generation| generation.to_string());
            format!(
                "{generation:>10} {:>6} {:>7} {:>9} {size:>10}  {:<14} DAMAGED  {error}",
                "-", "-", "-", "-"
            )
        }
    }
}

fn object(path: &Path, size: u64, read: &Result<Vec<Record>>) -> Value {
    match read {
        Ok(records) => {
            let Content { games, plies, positions } = Content::of(records);
            let (generation, evaluator) = about(path, records);
            json!({
                "shard": path, "generation": generation, "games": games, "plies": plies, "positions": positions,
                "bytes": size, "evaluator": evaluator, "state": "checked",
            })
        }
        Err(error) => json!({
            "shard": path, "generation": generation_of(path), "bytes": size, "state": "damaged",
            "reason": error.to_string(),
        }),
    }
}

/// The generation and the evaluator that the records of a shard have in common.
fn about<'a>(path: &Path, records: &'a [Record]) -> (Option<usize>, &'a str) {
    match records.first() {
        Some(record) => (Some(record.generation), &record.evaluator),
        None => (generation_of(path), ""),
    }
}
