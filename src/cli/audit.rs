//! `petteia audit`: checks that a run has everything that it was trained on, and no game twice.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;

use super::print;
use super::text::{counted, terminal_width, wrapped};
use crate::error::{Error, Result};
use crate::registry::Catalog;
use crate::replay::place::Place;
use crate::replay::store;
use crate::run::audit::{Depth, audit};
use crate::run::settings_of;
use crate::run::work::tally::Tally;

/// Check that a run has everything it was trained on, and no game twice.
#[derive(Args)]
#[command(after_help = "\
Every shard is read, and every game is replayed by the rules. If workers played, the shards that they committed are \
compared with the shards that the learner lists as used and with the shards that exist. Orphans are files whose games \
do not count, because a worker was stopped before it committed them or because another worker was first.

The exit code is 1 if anything is wrong.

Examples:
  petteia audit runs/phage")]
pub(super) struct AuditCommand {
    /// Run folder
    #[arg(value_name = "RUN")]
    folder: PathBuf,
}

impl AuditCommand {
    /// Prints the findings.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        let (folder, config) = (&self.folder, settings_of(&self.folder)?);
        let rules = games.open(&config.game.id, &config.game.options)?;
        let (mut shards, mut plies, mut played) = (0, 0, 0);
        let mut read = |path: &Path, place: Option<&Place>| {
            let shard = store::read_shard(path, &rules, place)?;
            shards += 1;
            played += shard.records.len();
            plies += shard.records.iter().map(|record| record.actions.len()).sum::<usize>();
            Ok(())
        };
        let audit = audit(folder, &config, &rules.identity, &BTreeSet::new(), Depth::All, &mut read)?;
        let tally = Tally::of(folder, &config)?;
        let mut lines = vec![format!(
            "replayed by the rules: {}, {}, {}",
            counted(shards, "shard", "shards"),
            counted(played, "game", "games"),
            counted(plies, "action", "actions")
        )];
        if tally.generations + tally.committed > 0 {
            let Tally { committed, consumed, own, waiting, unused, missing, twice, .. } = &tally;
            lines.push(format!(
                "committed {committed}, consumed {consumed}, waiting {waiting}, unused {unused}; played by the learner \
                 itself {own}"
            ));
            lines.push(format!("missing {missing}, twice {twice}"));
            lines.push(format!(
                "orphans {}, {} of them with the same bytes as a shard that was trained on; rejected {}, failed {}, \
                 put aside {}",
                tally.orphans.len(),
                tally.equal,
                tally.rejected,
                tally.failed,
                tally.aside
            ));
            lines.extend(tally.orphans.iter().map(|path| format!("  orphan: {}", path.display())));
        }
        lines.iter().try_for_each(|line| print(wrapped(line, terminal_width())))?;
        let problems = audit.problems.iter().map(|problem| problem.to_string()).chain(tally.problems);
        let problems: Vec<String> = problems.collect();
        problems
            .iter()
            .try_for_each(|problem| print(wrapped(&format!("  problem: {problem}"), terminal_width())))?;
        match problems.len() {
            0 => print("intact"),
            count => Err(Error::Data(format!(
                "{}: {}, see above",
                folder.display(),
                counted(count, "problem", "problems")
            ))),
        }
    }
}
