//! Before a run is resumed, checks that its folder holds everything that it was trained on.

use std::collections::BTreeSet;
use std::path::Path;

use crate::any::Opened;
use crate::config::Config;
use crate::error::Result;
use crate::replay::place::Place;
use crate::replay::store;
use crate::run::care::audit::{self, Audit, Depth};
use crate::run::event::{Event, Observer};

/// Compares the run with the lists of its checkpoints, and returns the files that the user gave up.
pub(super) fn settle(
    rules: &Opened,
    config: &Config,
    folder: &Path,
    observer: &dyn Observer,
) -> Result<BTreeSet<String>> {
    let mut given_up = BTreeSet::new();
    loop {
        let mut read = |path: &Path, place: Option<&Place>| store::read_shard(path, rules, place).map(|_| ());
        let mut audit = audit::audit(folder, config, &rules.identity, &given_up, Depth::Window, &mut read)?;
        let accepts = !audit.problems.is_empty() && observer.accepts_missing();
        let gone = audit::settle(&mut audit, folder, config, accepts)?;
        warn(&audit, observer);
        if gone.is_empty() {
            return Ok(given_up);
        }
        // without these files, another checkpoint may be the newest, so the run is checked again
        given_up.extend(gone);
    }
}

/// Reports the result of an audit, including the files that the user gave up.
fn warn(audit: &Audit, observer: &dyn Observer) {
    let warn = |what: String| observer.event(Event::Warning(what));
    for problem in &audit.problems {
        warn(format!("{problem}; the run continues without it"));
    }
    if !audit.problems.is_empty() {
        // the next audit, without these files, reports the rest
        return;
    }
    for path in &audit.set_aside {
        warn(format!("{} was set aside before and is not trained on", path.display()));
    }
    for (path, _) in &audit.without_checksum {
        warn(format!(
            "{} is intact, but its checksum file was not: the checksum file was rewritten",
            path.display()
        ));
    }
    audit.unchecked.iter().for_each(|what| warn(what.clone()));
}
