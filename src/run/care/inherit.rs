//! Checks for runs that are made from another run: copies, forks, and runs that begin with its weights.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::audit::{Depth, audit};
use crate::any::Opened;
use crate::config::{Config, NetConfig};
use crate::error::{Error, Input, Result};
use crate::replay::place::Place;
use crate::replay::store;
use crate::run::files::folder::{is_run, refuse_dangling};
use crate::storage;

/// Called with the number of files copied so far and the number of all files; returns whether to continue.
pub type CopyProgress<'a> = dyn FnMut(usize, usize) -> bool + 'a;

/// Fails if the run just made in `copy` lacks a file that its newest checkpoint lists. A file that the copy lacks is
/// missing in `source`, too.
pub(in crate::run) fn check_whole(copy: &Path, source: &Path, config: &Config, rules: &Opened) -> Result<()> {
    let mut read = |path: &Path, place: Option<&Place>| store::read_shard(path, rules, place).map(|_| ());
    let audit = audit(copy, config, &rules.identity, &BTreeSet::new(), Depth::Window, &mut read)?;
    if audit.problems.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = audit
        .problems
        .iter()
        .map(|problem| {
            let path = problem.path.strip_prefix(copy).unwrap_or(&problem.path);
            format!("\n  {}: {}", path.display(), problem.what)
        })
        .collect();
    Err(Error::Data(format!(
        "{} does not hold what it was trained on, so nothing is copied:{}\nput the files back from a copy of the run",
        source.display(),
        lines.concat()
    )))
}

/// Fails if `folder` is not empty, or is inside a run: a new run needs a folder that holds nothing else.
pub(in crate::run) fn check_new(folder: &Path) -> Result<()> {
    refuse_dangling(folder)?;
    let mut above = above(folder).into_iter();
    if let Some(run) = above.find(|above| is_run(above)) {
        let (place, run) = (folder.display(), run.display());
        return Err(Error::Config(format!("{place} is inside the run {run}: give a folder outside it"))
            .about(Input::RunFolder));
    }
    if storage::exists(folder)? && !storage::list(folder)?.is_empty() {
        Err(Error::Config(format!("{} already exists: give another folder", folder.display()))
            .about(Input::RunFolder))
    } else {
        Ok(())
    }
}

/// Returns the folders that contain a folder, or would contain it, innermost first.
fn above(folder: &Path) -> Vec<PathBuf> {
    let listed = |path: &Path| path.ancestors().skip(1).map(Path::to_path_buf).collect::<Vec<_>>();
    if storage::is_remote(folder) {
        return listed(folder).into_iter().filter(|above| storage::is_remote(above)).collect();
    }
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    let mut above = listed(&whole);
    // if a folder is reached through a link, the folders above the link's target count, too
    let real = above.iter().find_map(|above| storage::real(above).ok());
    above.extend(real.iter().flat_map(|real| std::iter::once(real.clone()).chain(listed(real))));
    above
}

/// Describes how two networks differ in what they compute; `None` if the weights of one fit the other.
pub(in crate::run) fn other_net(theirs: &NetConfig, ours: &NetConfig) -> Option<String> {
    let config = |net: &NetConfig| {
        let mut config = Config::new("any");
        // the device and the precision do not change what a network computes
        config.net = NetConfig {
            evaluator: ours.evaluator,
            precision: ours.precision,
            device: ours.device,
            ..net.clone()
        };
        config
    };
    let differences = config(theirs).differences(&config(ours));
    let lines: Vec<String> =
        differences.into_iter().map(|[key, there, asked]| format!("{key} is {there}, not {asked}")).collect();
    (!lines.is_empty()).then(|| lines.join(", "))
}
