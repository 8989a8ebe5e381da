//! `petteia man`: writes the help of every command as manual pages.
//!
//! clap_mangen renders everything except the text after the options. The text after the options has tables and
//! examples, so its blocks of more than one line keep their line breaks.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man as Page;
use roff::{Roff, roman};

use super::{command, print};
use crate::error::{Error, Result};
use crate::program::Program;
use crate::registry::Catalog;
use crate::storage;

/// Write manual pages, one per command.
#[derive(Args)]
#[command(after_help = "\
Example:
  petteia man ~/.local/share/man/man1 && man petteia-train")]
pub(super) struct Man {
    /// Folder for petteia.1, petteia-train.1 ...; it is created if it is missing, and
    /// existing pages are replaced
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Man {
    /// Writes the pages.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        fs::create_dir_all(&self.folder).map_err(Error::io(&self.folder))?;
        // `help` would add a second page for every command
        let mut root = command(games).disable_help_subcommand(true);
        root.build();
        let pages = write_pages(&root, &self.folder)?;
        print(format_args!("{pages} pages in {}", self.folder.display()))
    }
}

/// Writes the pages of a command and its subcommands; returns their number.
fn write_pages(command: &Command, folder: &Path) -> Result<usize> {
    let page = page(command);
    let mut text = Vec::new();
    let path = folder.join(page.get_filename());
    let written = page.render(&mut text).and_then(|()| notes(command).to_writer(&mut text));
    written.map_err(Error::io(&path))?;
    storage::write_whole(&path, &text)?;
    let mut pages = 1;
    for subcommand in command.get_subcommands() {
        pages += write_pages(subcommand, folder)?;
    }
    Ok(pages)
}

/// Makes the page of a command, without its notes.
fn page(command: &Command) -> Page {
    // unlike clap_mangen's, this usage includes the arguments of the parent commands
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_string();
    let title = command.get_display_name().unwrap_or(command.get_name()).to_uppercase();
    Page::new(command.clone().override_usage(usage).after_help(None::<&str>))
        .title(title)
        // an empty date would be omitted, and the next field would take its place
        .date(" ")
        .source(Program::current().to_string())
        .manual("Petteia")
}

/// Renders the help text after the options.
fn notes(command: &Command) -> Roff {
    let mut roff = Roff::new();
    let Some(help) = command.get_after_help() else { return roff };
    roff.control("SH", ["NOTES"]);
    for block in help.to_string().split("\n\n") {
        let lines: Vec<&str> = block.lines().collect();
        roff.control("PP", []);
        if lines.len() > 1 {
            roff.control("nf", []);
        }
        lines.iter().for_each(|line| {
            roff.text([roman(*line)]);
        });
        if lines.len() > 1 {
            roff.control("fi", []);
        }
    }
    roff
}
