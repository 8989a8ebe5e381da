//! `petteia copy`: copies a run to another place.

use std::path::PathBuf;

use clap::Args;
use indicatif::ProgressBar;

use super::text::{counted, draws_bars};
use super::{catch_interrupts, interrupted, print};
use crate::error::Result;
use crate::registry::Catalog;
use crate::run;

/// Copy a run to another folder, or into or out of an object store.
#[derive(Args)]
#[command(after_help = "\
The copy has the same bytes as the original. The copy appears only when it is complete, and only if the run still has \
everything that its newest generation was trained on. `petteia train --run TO` continues the copy exactly as it would \
have continued the original. The original is kept; remove it yourself.

Examples:
  petteia copy runs/phage runs/phage-before
  petteia copy runs/phage s3://bucket/phage")]
pub(super) struct CopyCommand {
    /// Run folder
    #[arg(value_name = "RUN")]
    from: PathBuf,
    /// Folder to create, which must not exist
    #[arg(value_name = "TO")]
    to: PathBuf,
    /// Assume that the process that trained the run has ended; needed only in an object store, where petteia cannot
    /// tell
    #[arg(long)]
    take_over: bool,
}

impl CopyCommand {
    /// Copies the run.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        catch_interrupts();
        let config = run::settings_of(&self.from)?;
        let rules = games.open(&config.game.id, &config.game.options)?;
        let bar = draws_bars().then(|| ProgressBar::new(0));
        let copied = run::copy::copy(&rules, &self.from, &self.to, self.take_over, &|done, all| {
            if let Some(bar) = &bar {
                bar.set_length(all as u64);
                bar.set_position(done as u64);
            }
            !interrupted()
        });
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        let copied = copied?;
        print(format_args!(
            "{}: {}, {:.1} MB, as in {}",
            self.to.display(),
            counted(copied.files, "file", "files"),
            copied.bytes as f64 / 1e6,
            self.from.display()
        ))
    }
}
