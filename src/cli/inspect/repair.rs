//! `petteia inspect --repair`: repairs a run, and reports what was set aside, rebuilt, and lost.

use std::path::Path;

use indicatif::ProgressBar;

use super::Findings;
use crate::checkpoint;
use crate::cli::help::with_own_name;
use crate::cli::text::{draws_bars, foreign, terminal_width, wrapped};
use crate::cli::{catch_interrupts, interrupted, print};
use crate::error::{Error, Result};
use crate::registry::Catalog;
use crate::run::{self, repair};

pub(super) struct Repaired(repair::Repair);

/// Repairs the run in `path`; `is_gone` says that the process that trained the run has certainly ended.
pub(super) fn repair(path: &Path, is_gone: bool, games: Catalog) -> Result<Repaired> {
    if !run::is_run(path) && checkpoint::list(path)?.is_empty() {
        return Err(Error::Config(format!("{} is not a run; only runs can be repaired", path.display())));
    }
    catch_interrupts();
    let mut done = repair::Repair::default();
    repair::repair_settings(path, &mut done)?;
    let config = run::settings_of(path)?;
    let rules = games.open(&config.game.id, &config.game.options)?;
    let bar = draws_bars().then(ProgressBar::new_spinner);
    let result = repair::repair(&rules, path, is_gone, &mut done, &|step| {
        if let Some(bar) = &bar {
            bar.set_message(foreign(step));
            bar.tick();
        }
        !interrupted()
    });
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    match result {
        Ok(()) => Ok(Repaired(done)),
        // repairs are reported even if the rest failed
        Err(error) => Repaired(done).print().and(Err(error)),
    }
}

impl Repaired {
    /// Adds the repairs to a report in JSON, or prints them.
    pub(super) fn report(self, report: &mut Findings, is_json: bool) -> Result<()> {
        if !is_json {
            return self.print();
        }
        let repair::Repair { set_aside, rebuilt, lost, cost } = self.0;
        report.fact("set aside", set_aside);
        report.fact("rebuilt", rebuilt);
        report.fact("lost", lost);
        report.fact("cost", cost);
        Ok(())
    }

    fn print(&self) -> Result<()> {
        let repair::Repair { set_aside, rebuilt, lost, cost } = &self.0;
        if set_aside.is_empty() && rebuilt.is_empty() && lost.is_empty() {
            return print("nothing to repair");
        }
        let kinds = [("set aside", set_aside), ("rebuilt", rebuilt), ("lost", lost)];
        for (kind, lines) in kinds {
            for line in lines {
                print(wrapped(&with_own_name(format!("{kind}: {line}")), terminal_width()))?;
            }
        }
        match cost {
            Some(cost) => print(wrapped(
                &format!("`petteia train --accept-missing` resumes the run without what is lost: {cost}"),
                terminal_width(),
            )),
            None => Ok(()),
        }
    }
}
