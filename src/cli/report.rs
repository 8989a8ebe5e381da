//! `petteia report`: one page about one or more runs.

use std::path::PathBuf;

use clap::Args;

use super::{print, refuse_existing};
use crate::error::Result;
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
        // a page is made again and again; anything else that is there stays
        if self.out.extension().is_none_or(|extension| extension != "html") {
            refuse_existing(&self.out)?;
        }
        let runs = report::read(&self.runs)?;
        let page = page::<R>(&runs)?;
        storage::write_whole(&self.out, page.as_bytes())?;
        print(format_args!("{} ({} kB)", self.out.display(), page.len().div_ceil(1000)))
    }
}

/// The page about these runs.
pub fn page<R: Registry>(runs: &[Numbers]) -> Result<String> {
    let game = &runs[0].config.game;
    R::with_game(&game.id, &game.options, Write { runs })?
}
