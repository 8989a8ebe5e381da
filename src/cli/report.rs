//! `petteia report`: writes one page about one or more runs.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;

use super::{print, refuse_existing};
use crate::error::{Error, Result};
use crate::registry::Catalog;
use crate::report::{self, page};
use crate::storage;

/// The file name of the page that `petteia train --report` keeps in the folder of a run.
pub(super) const PAGE: &str = "report.html";
/// The maximum size of the head of a page, in bytes.
const LONGEST_HEAD: u64 = 1 << 18;

/// Write a page about one or more runs: curves, strength, time, games.
#[derive(Args)]
#[command(after_help = "\
The page is one self-contained HTML file. The page shows losses with their floor, calibration, strength by generation \
with bounds, the balance and length of games, how games end, speed, where the time went, some games of the newest \
generation as diagrams, and the settings that differ from the defaults. Every chart is also given as a table. The run \
may still be in training. Several runs of the same game are compared.

Examples:
  petteia report runs/phage
  petteia report runs/a runs/b --out a-b.html
  petteia ladder runs/phage --json > ladder.json
  petteia report runs/phage --ladder ladder.json")]
pub(super) struct Report {
    /// Run folders, all of the same game
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// File to write [default: GAME-report.html, with the id of the game]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Also show a ladder of the generations, from the output of `petteia ladder RUN --json`
    #[arg(long, value_name = "FILE")]
    ladder: Option<PathBuf>,
}

impl Report {
    /// Writes the page, and prints where it is.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        if let Some(out) = &self.out {
            refuse_other_files(out)?;
        }
        let runs = report::read(&self.runs)?;
        let game = &runs[0].config.game;
        let out = self.out.unwrap_or_else(|| PathBuf::from(format!("{}-{PAGE}", game.id)));
        let rules = games.open(&game.id, &game.options)?;
        let ladder =
            self.ladder.map(|path| report::LadderReport::read(&path, &rules.identity)).transpose()?;
        write_page(&out, &report::report(&rules, &runs, ladder.as_ref())?)
    }
}

/// Refuses to overwrite a file that is not a page of this program; pages may be overwritten.
pub(super) fn refuse_other_files(out: &Path) -> Result<()> {
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder
        && !storage::is_folder(folder)?
    {
        return Err(Error::Missing(format!("the folder {} does not exist", folder.display())));
    }
    if storage::exists(out)? && title_at(out)?.is_none() { refuse_existing(out) } else { Ok(()) }
}

/// Returns the title of the page at `out`; `None` if the file is not a page of this program.
fn title_at(out: &Path) -> Result<Option<String>> {
    let mut head = Vec::new();
    storage::open(out)?.take(LONGEST_HEAD).read_to_end(&mut head).map_err(Error::io(out))?;
    Ok(page::title_of(&String::from_utf8_lossy(&head)).map(String::from))
}

/// Refuses to overwrite anything but a page with the same title.
pub(super) fn refuse_other_pages(out: &Path, page: &str) -> Result<()> {
    refuse_other_files(out)?;
    let existing = if storage::exists(out)? { title_at(out)? } else { None };
    match existing {
        Some(title) if page::title_of(page) != Some(&title) => Err(Error::Config(format!(
            "{} already exists and is a different page ({title}); choose another file with --out",
            out.display()
        ))),
        _ => Ok(()),
    }
}

/// Writes a page, and prints where it is.
pub(super) fn write_page(out: &Path, page: &str) -> Result<()> {
    refuse_other_pages(out, page)?;
    storage::write_whole(out, page.as_bytes())?;
    print(format_args!("{} ({} kB)", out.display(), page.len().div_ceil(1000)))
}
