//! `petteia man`: the help of every command as manual pages.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};
use clap_mangen::Man as Page;

use super::{Cli, print};
use crate::error::{Error, Result};
use crate::storage;

/// Write manual pages, one for each command.
#[derive(Args)]
#[command(after_help = "\
Example:
  petteia man ~/.local/share/man/man1 && man petteia-train")]
pub struct Man {
    /// The folder for petteia.1, petteia-train.1 ...; it is made, and pages in it
    /// are replaced
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Man {
    /// Writes the pages.
    pub fn run(self) -> Result<()> {
        fs::create_dir_all(&self.folder).map_err(Error::io(&self.folder))?;
        // `help` would have a page for every command once more
        let mut root = Cli::command().disable_help_subcommand(true);
        root.build();
        let pages = write_pages(&root, &self.folder)?;
        print(format_args!("{pages} pages in {}", self.folder.display()))
    }
}

/// Writes the page of a command and those of its subcommands; returns how many.
fn write_pages(command: &Command, folder: &Path) -> Result<usize> {
    let page = Page::new(command.clone());
    let mut text = Vec::new();
    let path = folder.join(page.get_filename());
    page.render(&mut text).map_err(Error::io(&path))?;
    storage::write_whole(&path, &text)?;
    let mut pages = 1;
    for subcommand in command.get_subcommands() {
        pages += write_pages(subcommand, folder)?;
    }
    Ok(pages)
}
