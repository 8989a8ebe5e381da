//! Checks and types shared by forks and by runs that begin with another run's weights.

use std::collections::BTreeSet;
use std::path::Path;

use super::audit::{Depth, audit};
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

/// Fails if `folder` is not empty: a run is made there only once.
pub(super) fn check_new(folder: &Path) -> Result<()> {
    match storage::exists(folder)? && !storage::list(folder)?.is_empty() {
        true => Err(Error::Config(format!("{} exists already: give another folder", folder.display()))
            .about(Input::RunFolder)),
        false => Ok(()),
    }
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
