//! `petteia report`: one page about one or more runs.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{print, refuse_existing};
use crate::error::{Error, Result};
use crate::game::{Game, Rules};
use crate::registry::{Job, Registry};
use crate::report::{self, Numbers};
use crate::storage;

/// The page if no other is named.
pub const PAGE: &str = "report.html";

/// Write a page about one or more runs: curves, strength, time, games.
#[derive(Args)]
#[command(after_help = "\
The page is one HTML file that needs nothing else. It shows losses with their floor, \
calibration, strength by generation with bounds, balance and length of the games, \
how they end, speed, where the time went, some games of the newest generation as \
diagrams, and the settings that differ from the defaults. Every picture is also a \
table. A run that is still in training can be shown, too. Several runs of a game are \
compared.

Examples:
  petteia report runs/phage
  petteia report runs/a runs/b --out a-b.html")]
pub struct Report {
    /// Run folders, all of one game
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// The page
    #[arg(long, value_name = "FILE", default_value = PAGE)]
    out: PathBuf,
}

struct Write<'a> {
    runs: &'a [Numbers],
}

impl Job for Write<'_> {
    type Output = Result<String>;

    fn run<G: Game>(self, rules: Rules<G>) -> Result<String> {
        report::report(&rules, self.runs)
    }
}

impl Report {
    /// Writes the page, and says where it is.
    pub fn run<R: Registry>(self) -> Result<()> {
        refuse_other_files(&self.out)?;
        let runs = report::read(&self.runs)?;
        let game = &runs[0].config.game;
        write_page(&self.out, &R::with_game(&game.id, &game.options, Write { runs: &runs })??)
    }
}

/// Refuses to overwrite what is no page: pages are made again and again, anything else that is there stays.
pub fn refuse_other_files(out: &Path) -> Result<()> {
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(Error::Missing(format!("{}: there is no such folder", folder.display())));
    }
    match out.extension().is_some_and(|extension| extension == "html") {
        true => Ok(()),
        false => refuse_existing(out),
    }
}

/// Writes a page, and says where it is.
pub fn write_page(out: &Path, page: &str) -> Result<()> {
    storage::write_whole(out, page.as_bytes())?;
    print(format_args!("{} ({} kB)", out.display(), page.len().div_ceil(1000)))
}
