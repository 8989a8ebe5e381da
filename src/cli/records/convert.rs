//! `petteia records RUN convert`: writes the records in a format for other programs, with one shard in memory at a
//! time.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::arrays::Arrays;
use super::rows::{self, PositionRow};
use super::{FoundRecords, record_result};
use crate::any::{AnyGame, Opened};
use crate::cli::text::{counted, wrapped};
use crate::cli::{print, refuse_existing};
use crate::error::{Error, Result};
use crate::game::Game;
use crate::registry::Catalog;
use crate::replay::record::Record;
use crate::replay::store;
use crate::storage;

/// The width of the text format, in columns.
const TEXT_WIDTH: usize = 80;

/// Write all games of the run in another format.
#[derive(Args)]
#[command(after_help = "\
Formats:
  jsonl      one JSON object per game, as stored
  text       for people: a heading and the numbered actions of each game
  csv        one row per position, with a header:
             generation, game, ply   numbers; games and plies count from 0
             to_move                 first or second
             position, action        in the game's notation
             value, win, draw, loss  the result expected by the search or, in an
                                     opening, by the network, for the player to
                                     move; empty for an action drawn at random,
                                     and for a fast search that is certain of a
                                     draw
             visits                  ACTION:COUNT ACTION:COUNT ..., most visited
                                     first; empty if the ply is not trained on
             weight                  how often training samples the position,
                                     relative to 1.0; 0.0 if it is not trained
                                     on
             outcome                 first, second, or draw
             evaluator               what evaluated the positions of the game
             ended                   how the game ended: rules, resigned,
                                     agreed, adjudicated, or time
  positions  one JSON object per position: the columns of csv, with null for
             empty values and with lists in place of the text of visits:
             index                   policy index of the action
             actions, indices        the actions that the search considered,
                                     most visited first, and their policy
                                     indices
             visits, policy          the visits of each action, and its share of
                                     the policy target
  npz        NumPy arrays of the positions that are trained on: the packed
             network input and the training targets; docs/python.md describes
             them. All arrays are in memory until the file is written; to use
             less memory, give the folder of one generation as RUN

All formats except jsonl replay and check every game. A damaged shard stops \
the command with an error that names it; `verify` lists all damaged shards.")]
pub(super) struct Convert {
    /// Output format, see below
    #[arg(long, value_enum, hide_possible_values = true)]
    format: TableFormat,
    /// File to write, which must not exist [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum TableFormat {
    Jsonl,
    Text,
    Csv,
    Positions,
    Npz,
}

impl Convert {
    pub(super) fn run(self, source: &FoundRecords, games: Catalog) -> Result<()> {
        let Some(path) = &self.out else {
            if self.format == TableFormat::Npz {
                return Err(Error::Config("npz is a binary format; name a file with --out FILE".into()));
            }
            let mut out = BufWriter::new(std::io::stdout().lock());
            self.write(source, &mut out, "standard output", games)?;
            return out.flush().map_err(Error::io("standard output"));
        };
        refuse_existing(path)?;
        storage::stream_whole(path, |out| self.write(source, out, &path.display().to_string(), games))?;
        let size = storage::length(path)?;
        let shards = counted(source.shards.paths.len(), "shard", "shards");
        print(format_args!("{}: {shards}, {size} bytes", path.display()))
    }

    fn write(&self, source: &FoundRecords, out: &mut dyn Write, place: &str, games: Catalog) -> Result<()> {
        if self.format != TableFormat::Jsonl {
            return Conversion { source, format: self.format, out, place }.on(source.opened(games)?);
        }
        for path in &source.shards.paths {
            for line in store::Lines::open(path)? {
                writeln!(out, "{}", line?).map_err(Error::io(place))?;
            }
        }
        Ok(())
    }
}

/// A conversion to a format for which the games are replayed.
struct Conversion<'a> {
    source: &'a FoundRecords,
    format: TableFormat,
    out: &'a mut dyn Write,
    place: &'a str,
}

impl Conversion<'_> {
    /// Converts records of this game.
    pub(crate) fn on(self, rules: Opened) -> Result<()> {
        let mut arrays = Arrays::new(&rules.identity);
        if self.format == TableFormat::Csv {
            writeln!(self.out, "{}", rows::COLUMNS).map_err(Error::io(self.place))?;
        }
        for path in &self.source.shards.paths {
            for record in store::read_shard(path, &rules, None)?.records {
                let lines = |line: fn(&PositionRow) -> String| -> Result<String> {
                    Ok(PositionRow::of(&rules, &record)?.iter().map(|row| line(row) + "\n").collect())
                };
                let text = match self.format {
                    TableFormat::Csv => lines(PositionRow::csv)?,
                    TableFormat::Positions => lines(PositionRow::json)?,
                    TableFormat::Text => heading_and_actions(&rules.game, &record),
                    TableFormat::Npz => {
                        arrays.add(&rules, &record)?;
                        continue;
                    }
                    TableFormat::Jsonl => unreachable!("JSON lines are copied unchanged"),
                };
                self.out.write_all(text.as_bytes()).map_err(Error::io(self.place))?;
            }
        }
        match self.format {
            TableFormat::Npz => arrays.write(self.out).map_err(Error::io(self.place)),
            _ => Ok(()),
        }
    }
}

fn heading_and_actions(game: &AnyGame, record: &Record) -> String {
    let plies = record.actions.len();
    let mut text = format!(
        "{}, generation {}, game {}, evaluated by {}: {} after {plies} plies\n",
        record.game,
        record.generation,
        record.index,
        record.evaluator,
        record_result(game, record)
    );
    if record.start != game.state_text(&game.initial()) {
        text += &format!("  from {}\n", record.start);
    }
    // no line break between a number and its action
    let numbered = record.actions.iter().zip(1..).map(|(action, number)| format!("{number}.\u{a0}{action}"));
    let actions = numbered.collect::<Vec<_>>().join(" ");
    text += &wrapped(&format!("  {actions}"), Some(TEXT_WIDTH)).replace('\u{a0}', " ");
    text + "\n\n"
}
