//! `petteia records RUN list`: prints one line per shard, as soon as the shard has been read.
//!
//! A shard is `checked` if its checksum is correct and its lines are records; the games are not replayed here.

use std::fmt;
use std::path::Path;

use clap::Args;
use indicatif::DecimalBytes;
use serde_json::{Value, json};

use super::{FoundRecords, generation_of};
use crate::cli::print;
use crate::cli::table::{Column, Table};
use crate::cli::text::{counted, terminal_width, wrapped};
use crate::error::{Error, Result};
use crate::replay::ended::Ends;
use crate::replay::record::Record;
use crate::replay::store;
use crate::storage;

/// List the shards (the default).
#[derive(Args, Default)]
#[command(after_help = "\
Each shard's checksum is verified; `verify` also replays the games. The column plies counts \
all actions, and positions counts the positions that are trained on. Shards that the run took over from \
another run come first, with the generations of that run. Games that did not end by \
the rules are counted by how they ended. The exit code is 1 if a shard is damaged.")]
pub(super) struct List {
    /// Print one JSON object per shard
    #[arg(long)]
    json: bool,
}

/// The contents of a readable shard.
#[derive(Default)]
struct Content {
    games: usize,
    plies: usize,
    positions: usize,
    ends: Ends,
}

impl List {
    /// Returns the command, with `--json` if that was given before the subcommand.
    pub(super) fn or_json(self, json: bool) -> List {
        List { json: self.json || json }
    }

    pub(super) fn run(self, source: &FoundRecords) -> Result<()> {
        let listing = ListLayout::new(source, terminal_width());
        if !self.json {
            print(listing.table.head())?;
        }
        let (mut sum, mut bytes, mut damaged) = (Content::default(), 0, 0);
        for path in source.shards.all() {
            let size = storage::length(path)?;
            let read = store::read_unplayed(path);
            if let Ok(records) = &read {
                sum.add(records);
            }
            damaged += read.is_err() as usize;
            bytes += size;
            if self.json { print(object(path, size, &read))? } else { print(listing.row(path, size, &read))? }
        }
        for path in &source.shards.set_aside {
            if self.json {
                print(json!({"shard": path, "state": "set aside"}))?
            } else {
                print(format_args!("set aside as damaged: {}", path.display()))?
            }
        }
        if !self.json {
            let inherited = match source.shards.inherited.len() {
                0 => String::new(),
                some => format!(" ({some} inherited)"),
            };
            print(format_args!("{}{inherited}, {sum}, {}", source.count(), DecimalBytes(bytes)))?;
        }
        match damaged {
            0 => Ok(()),
            _ => Err(Error::Data(format!(
                "{damaged} of {} damaged; see `petteia records {} verify`",
                source.count(),
                source.path.display()
            ))),
        }
    }
}

impl Content {
    fn add(&mut self, records: &[Record]) {
        self.games += records.len();
        self.plies += records.iter().map(|record| record.actions.len()).sum::<usize>();
        self.positions += records.iter().map(Record::positions).sum::<usize>();
        self.ends.add(records);
    }

    fn of(records: &[Record]) -> Content {
        let mut content = Content::default();
        content.add(records);
        content
    }
}

impl fmt::Display for Content {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let games = counted(self.games, "game", "games");
        let plies = counted(self.plies, "ply", "plies");
        let ends = if self.ends.is_empty() { String::new() } else { format!(" ({})", self.ends) };
        write!(out, "{games}{ends}, {plies}, {}", counted(self.positions, "position", "positions"))
    }
}

/// The layout of the list.
struct ListLayout<'a> {
    source: &'a FoundRecords,
    table: Table,
    /// The width of the terminal in columns.
    width: Option<usize>,
    /// Whether there is no room for whole paths, so that only file names are shown; the folder follows from the
    /// generation.
    short: bool,
}

impl ListLayout<'_> {
    fn new(source: &FoundRecords, width: Option<usize>) -> ListLayout<'_> {
        let shard = |short: bool| source.shards.all().map(move |path| name(source, path, short));
        let longest = |short: bool| shard(short).map(|name| name.chars().count()).max().unwrap_or(0);
        let columns = |short: bool| {
            vec![
                Column::number("generation", 0, 0),
                Column::number("games", 6, 0),
                Column::number("plies", 7, 0),
                Column::number("positions", 9, 0),
                Column::number("size", 10, 0),
                Column::text("evaluator", 14, 1),
                Column::text("state", 8, 0),
                Column::text("shard", longest(short), 0),
            ]
        };
        let all = columns(false).iter().map(|column| column.width + 1).sum::<usize>();
        let short = width.is_some_and(|width| all > width + 1);
        ListLayout { source, table: Table::new(columns(short), width), width, short }
    }

    fn row(&self, path: &Path, size: u64, read: &Result<Vec<Record>>) -> String {
        let size = DecimalBytes(size).to_string();
        let text = |generation: Option<usize>| generation.map_or("?".into(), |number| number.to_string());
        match read {
            Ok(records) => {
                let Content { games, plies, positions, .. } = Content::of(records);
                let (generation, evaluator) = about(path, records);
                let [games, plies, positions] = [games, plies, positions].map(|count| count.to_string());
                let shard = name(self.source, path, self.short);
                let (evaluator, state) = (evaluator.to_string(), "checked".to_string());
                self.table.line(&[text(generation), games, plies, positions, size, evaluator, state, shard])
            }
            Err(error) => {
                let [none, damaged] = ["-", "DAMAGED"].map(String::from);
                let (generation, reason) = (text(generation_of(path)), error.to_string());
                let cells =
                    [generation, none.clone(), none.clone(), none.clone(), size, none, damaged, reason];
                wrapped(&self.table.line(&cells), self.width)
            }
        }
    }
}

/// Returns a shard's name in the list: its path relative to the listed folder, or only its file name.
fn name(source: &FoundRecords, path: &Path, short: bool) -> String {
    let inside = path.strip_prefix(&source.path).ok().filter(|inside| !inside.as_os_str().is_empty());
    let shown = inside.unwrap_or(path);
    let file = shown.file_name().filter(|_| short && generation_of(path).is_some()).map(Path::new);
    file.unwrap_or(shown).display().to_string()
}

fn object(path: &Path, size: u64, read: &Result<Vec<Record>>) -> Value {
    match read {
        Ok(records) => {
            let Content { games, plies, positions, ends } = Content::of(records);
            let (generation, evaluator) = about(path, records);
            json!({
                "shard": path, "generation": generation, "games": games, "plies": plies, "positions": positions,
                "ended": ends, "bytes": size, "evaluator": evaluator, "state": "checked",
            })
        }
        Err(error) => json!({
            "shard": path, "generation": generation_of(path), "bytes": size, "state": "damaged",
            "reason": error.to_string(),
        }),
    }
}

/// Returns the generation and the evaluator, which all records of a shard share.
fn about<'a>(path: &Path, records: &'a [Record]) -> (Option<usize>, &'a str) {
    match records.first() {
        Some(record) => (Some(record.generation), &record.evaluator),
        None => (generation_of(path), ""),
    }
}
