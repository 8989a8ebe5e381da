//! `petteia records`: lists, shows, verifies, and converts the games that a run has recorded.

mod arrays;
mod convert;
mod list;
mod rows;
mod show;
pub(super) mod verify;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::play::result_text;
use super::text::counted;
use crate::any::{AnyGame, Opened};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::game::{Outcome, Settings};
use crate::registry::Catalog;
use crate::replay::record::Record;
use crate::replay::store::{self, Shards};
use crate::run;
use crate::storage;

/// The number of levels from a shard up to its run: shard, generation, records, run.
const LEVELS: usize = 4;

/// List, show, verify, or convert the recorded games of a run.
#[derive(Args)]
#[command(after_help = "\
Without a command after RUN, the shards are listed.

Examples:
  petteia records runs/phage
  petteia records runs/phage show --generation 3 --game 17
  petteia records runs/phage verify
  petteia records runs/phage convert --format csv --out phage.csv")]
pub(super) struct Records {
    /// Run folder, folder of one of its generations, single shard, or file of JSON lines
    #[arg(value_name = "RUN")]
    source: PathBuf,
    /// Print one JSON object per shard, as `list --json` does
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    what: Option<RecordsCommand>,
}

#[derive(Subcommand)]
enum RecordsCommand {
    List(list::List),
    Show(show::Show),
    Verify(verify::Verify),
    Convert(convert::Convert),
}

/// Records that were found at a path.
pub(super) struct FoundRecords {
    path: PathBuf,
    /// The shards found at the path.
    pub shards: Shards,
}

impl Records {
    /// Lists, shows, verifies, or converts the records.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        let source = FoundRecords::of(&self.source)?;
        // verify itself reports missing shards
        if !matches!(self.what, Some(RecordsCommand::Verify(_))) || self.json {
            source.expect_some()?;
        }
        match self.what.unwrap_or(RecordsCommand::List(list::List::default())) {
            RecordsCommand::List(list) => list.or_json(self.json).run(&source),
            _ if self.json => Err(Error::Config("--json applies only to the list of shards; omit it".into())),
            RecordsCommand::Show(show) => show.run(&source, games),
            RecordsCommand::Verify(verify) => verify.run(&source, games),
            RecordsCommand::Convert(convert) => convert.run(&source, games),
        }
    }
}

impl FoundRecords {
    /// Returns the number of shards as text.
    pub(super) fn count(&self) -> String {
        counted(self.shards.all().count(), "shard", "shards")
    }

    /// Fails if there are no records.
    fn expect_some(&self) -> Result<()> {
        if self.shards.is_empty() {
            let place = self.path.display();
            return Err(Error::Missing(format!(
                "{place} has no records; check that it is a run folder and that self-play has begun"
            )));
        }
        Ok(())
    }

    /// Finds the records of a run, a generation, or one shard.
    pub(super) fn of(path: &Path) -> Result<FoundRecords> {
        // `.` and `..` have no file name to recognize them by
        let path = match path.file_name() {
            None => storage::real(path)?,
            Some(_) => path.to_path_buf(),
        };
        // the path is a single word, such as the name of a game
        if path.components().count() == 1 && !storage::has(&path) {
            return Err(Error::Missing(format!(
                "{} does not exist; give the folder of a run, such as runs/phage, or a file of records",
                path.display()
            )));
        }
        Ok(FoundRecords { shards: store::find(&path)?, path })
    }

    /// Returns the run that the records belong to, with its settings; `None` if the path is not inside a run.
    fn run(&self) -> Result<Option<(PathBuf, Config)>> {
        let whole = storage::real(&self.path).unwrap_or(self.path.clone());
        // the path as the user wrote it takes precedence
        let folders = self.path.ancestors().take(LEVELS).chain(whole.ancestors().take(LEVELS));
        let mut runs = folders.filter(|folder| storage::has_file(&folder.join(run::SETTINGS)));
        runs.next().map(|folder| Ok((folder.to_path_buf(), run::reading_of(folder)?.config))).transpose()
    }

    /// Opens the game named in the run's config, or in the first record if there is no config.
    fn opened(&self, games: Catalog) -> Result<Opened> {
        let (id, options) = self.game()?;
        games.open(&id, &options)
    }

    fn game(&self) -> Result<(String, Settings)> {
        if storage::is_file(&self.path.join(run::SETTINGS))? {
            let game = run::reading_of(&self.path)?.config.game;
            return Ok((game.id, game.options));
        }
        let mut problem = Error::Missing(format!("{} has no records", self.path.display()));
        for path in self.shards.all() {
            match store::read_unplayed(path).map(|records| records.into_iter().next()) {
                Ok(Some(record)) => return Ok((record.game, record.options)),
                Ok(None) => {}
                Err(error) => problem = error,
            }
        }
        Err(problem)
    }
}

/// Returns the generation of a shard, from the name of its folder.
fn generation_of(shard: &Path) -> Option<usize> {
    store::generation_of(shard.parent()?)
}

/// Describes the outcome of a replayed game.
fn record_result(game: &AnyGame, record: &Record) -> String {
    match (record.ended, Outcome::from_id(&record.outcome)) {
        (None, Some(outcome)) => result_text(game, outcome),
        _ => record.result(game),
    }
}

/// Sorts visits or policy weights in descending order.
fn greatest_first(weights: &BTreeMap<String, u32>) -> Vec<(&String, u32)> {
    let mut sorted: Vec<(&String, u32)> = weights.iter().map(|(text, n)| (text, *n)).collect();
    sorted.sort_by_key(|&(text, n)| (Reverse(n), text));
    sorted
}
