//! Checks and types shared by forks and by runs that begin with another run's weights.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::audit::{Depth, audit};
use super::folder::{is_run, refuse_dangling};
use crate::any::Opened;
use crate::config::{Config, NetConfig};
use crate::error::{Error, Input, Result};
use crate::replay::place::Place;
use crate::replay::store;
use crate::storage;

/// Is told how many of how many files are copied, and returns whether to continue.
pub type CopyProgress<'a> = dyn FnMut(usize, usize) -> bool + 'a;

/// Fails if the run just made in `copy` lacks a file that its newest checkpoint lists, which `source` then lacks,
/// too.
pub(super) fn check_whole(copy: &Path, source: &Path, config: &Config, rules: &Opened) -> Result<()> {
    let mut read = |path: &Path, place: Option<&Place>| store::read_shard(path, rules, place).map(|_| ());
    let found = audit(copy, config, &rules.identity, &BTreeSet::new(), Depth::Window, &mut read)?;
    if found.problems.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = found
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

/// Fails if `folder` is not empty, or is inside of a run: a run is made there only once, and holds nothing but its own.
pub(super) fn check_new(folder: &Path) -> Result<()> {
    refuse_dangling(folder)?;
    let mut above = above(folder).into_iter();
    if let Some(run) = above.find(|above| is_run(above)) {
        let (place, run) = (folder.display(), run.display());
        return Err(Error::Config(format!(
            "{place} is inside of the run {run}: give a folder outside of it"
        ))
        .about(Input::RunFolder));
    }
    if storage::exists(folder)? && !storage::list(folder)?.is_empty() {
        Err(Error::Config(format!("{} exists already: give another folder", folder.display()))
            .about(Input::RunFolder))
    } else {
        Ok(())
    }
}

/// The folders that a folder is in, or would be: the next ones first.
fn above(folder: &Path) -> Vec<PathBuf> {
    let listed = |path: &Path| path.ancestors().skip(1).map(Path::to_path_buf).collect::<Vec<_>>();
    if storage::is_remote(folder) {
        return listed(folder).into_iter().filter(|above| storage::is_remote(above)).collect();
    }
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    let mut above = listed(&whole);
    // where links lead
    let real = above.iter().find_map(|above| storage::real(above).ok());
    above.extend(real.iter().flat_map(|real| std::iter::once(real.clone()).chain(listed(real))));
    above
}

/// Describes how two networks differ in what they compute; `None` if the weights of one fit the other.
pub(super) fn other_net(theirs: &NetConfig, ours: &NetConfig) -> Option<String> {
    let config = |net: &NetConfig| {
        let mut config = Config::new("any");
        // on what and how precisely a network is computed does not change what it is
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
