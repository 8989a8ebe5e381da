//! `petteia man`: the help of every command as manual pages.
//!
//! clap_mangen writes all but what stands after the options in the help, which has tables and examples: a block of
//! more than one line keeps its lines.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man as Page;
use roff::{Roff, roman};

use super::{command, print};
use crate::error::{Error, Result};
use crate::program::Program;
use crate::registry::Registry;
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
    pub fn run<R: Registry>(self) -> Result<()> {
        fs::create_dir_all(&self.folder).map_err(Error::io(&self.folder))?;
        // `help` would have a page for every command once more
        let mut root = command::<R>().disable_help_subcommand(true);
        root.build();
        let pages = write_pages(&root, &self.folder)?;
        print(format_args!("{pages} pages in {}", self.folder.display()))
    }
}

/// Writes the page of a command and those of its subcommands; returns how many.
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

/// The page of a command but for its notes.
fn page(command: &Command) -> Page {
    // unlike the page's own, it has the arguments of the commands before this one
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_string();
    let title = command.get_display_name().unwrap_or(command.get_name()).to_uppercase();
    Page::new(command.clone().override_usage(usage).after_help(None::<&str>))
        .title(title)
        // an empty date would be left out, and what follows would stand in its place
        .date(" ")
        .source(Program::current().to_string())
        .manual("Petteia")
}

/// What the help says after the options.
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
