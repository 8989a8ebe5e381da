//! `petteia records RUN verify`: verifies every checksum, replays every game, and compares the records with the lists
//! in the run's checkpoints.
//!
//! [`verify`] prints nothing; `petteia inspect` uses it, too. One shard is in memory at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;

use super::FoundRecords;
use crate::cli::print;
use crate::cli::text::counted;
use crate::error::{Error, Result};
use crate::game::GameIdentity;
use crate::registry::Catalog;
use crate::replay::ended::Ends;
use crate::replay::place::Place;
use crate::replay::record::Record;
use crate::replay::store;
use crate::run::audit::{Depth, audit};
use crate::storage;

/// Verify every checksum and replay every game.
#[derive(Args)]
#[command(after_help = "\
Each shard that is damaged, missing, or different from the one listed in the run's checkpoints is reported with the \
reason. If any shard is reported, the exit code is 1.")]
pub(crate) struct Verify {}

/// The result of a verification.
pub(crate) struct Verified {
    /// The game of the records.
    pub game: GameIdentity,
    /// The number of intact shards.
    pub whole: usize,
    /// The number of games in the intact shards.
    pub games: usize,
    /// The number of actions in the games of the intact shards.
    pub plies: usize,
    /// Counts of games that did not end by the rules.
    pub ends: Ends,
    /// Problems with shards that are not intact and with the run's checkpoints.
    pub problems: Vec<String>,
    /// A sentence about what could not be checked.
    pub unchecked: Option<String>,
}

/// Reads every shard of `source`, one at a time, and replays its games.
pub(crate) fn verify(source: &FoundRecords, games: Catalog) -> Result<Verified> {
    let rules = source.opened(games)?;
    let mut verified = Verified {
        game: rules.identity.clone(),
        whole: 0,
        games: 0,
        plies: 0,
        ends: Ends::default(),
        problems: Vec::new(),
        unchecked: None,
    };
    // shards that the run lists, with their problems
    let mut known: BTreeMap<PathBuf, Option<String>> = BTreeMap::new();
    if let Some((run, config)) = source.run()? {
        let wanted: BTreeSet<PathBuf> = source.shards.all().map(|path| whole(path)).collect();
        let mut read = |path: &Path, place: Option<&Place>| {
            if !wanted.contains(&whole(path)) {
                return Ok(());
            }
            let records = store::read_shard(path, &rules, place)?.records;
            verified.add(&records);
            known.insert(whole(path), None);
            Ok(())
        };
        let audit = audit(&run, &config, &rules.identity, &BTreeSet::new(), Depth::All, &mut read)?;
        let below = whole(&source.path);
        for problem in audit.problems.into_iter().filter(|problem| whole(&problem.path).starts_with(&below)) {
            known.insert(whole(&problem.path), Some(problem.to_string()));
        }
        for (path, _) in audit.without_checksum.iter().filter(|(path, _)| wanted.contains(&whole(path))) {
            let problem = format!(
                "{}: its checksum file is missing or wrong, although the shard is the one that was trained on; \
                 `petteia train` rewrites the checksum when it resumes",
                path.display()
            );
            known.insert(whole(path), Some(problem));
        }
        verified.unchecked = audit.unchecked;
    }
    for path in source.shards.all() {
        if known.contains_key(&whole(path)) {
            continue;
        }
        match store::read_shard(path, &rules, None) {
            Ok(shard) => verified.add(&shard.records),
            Err(error) => verified.problems.push(error.to_string()),
        }
    }
    verified.problems.extend(known.into_values().flatten());
    Ok(verified)
}

impl Verified {
    fn add(&mut self, records: &[Record]) {
        self.whole += 1;
        self.games += records.len();
        self.plies += records.iter().map(|record| record.actions.len()).sum::<usize>();
        self.ends.add(records);
    }
}

/// Returns a comparable path, even for a missing file: links are resolved in the part that exists.
fn whole(path: &Path) -> PathBuf {
    if storage::is_remote(path) {
        return path.to_path_buf();
    }
    let path = std::path::absolute(path).unwrap_or(path.to_path_buf());
    let existing = path.ancestors().find_map(|folder| Some((folder, folder.canonicalize().ok()?)));
    let missing = existing.as_ref().and_then(|(folder, _)| path.strip_prefix(folder).ok());
    match (&existing, missing) {
        (Some((_, folder)), Some(missing)) => folder.components().chain(missing.components()).collect(),
        _ => path,
    }
}

impl Verify {
    pub(crate) fn run(self, source: &FoundRecords, games: Catalog) -> Result<()> {
        if source.run()?.is_none() {
            source.expect_some()?;
        }
        let Verified { game, whole, games, plies, ends, problems, unchecked } = verify(source, games)?;
        for problem in &problems {
            print(problem)?;
        }
        let is_named =
            |path: &Path| problems.iter().any(|problem| problem.contains(&path.display().to_string()));
        for path in source.shards.set_aside.iter().filter(|path| !is_named(&path.with_extension(""))) {
            print(format_args!("{}: set aside earlier as damaged, not used", path.display()))?;
        }
        if let Some(unchecked) = unchecked {
            print(unchecked)?;
        }
        let shards = source.count();
        print(format_args!(
            "{}: {whole} of {shards} intact, with {}{} and {} of {}",
            source.path.display(),
            counted(games, "game", "games"),
            if ends.is_empty() { String::new() } else { format!(" ({ends})") },
            counted(plies, "ply", "plies"),
            game.id
        ))?;
        match problems.len() {
            0 => Ok(()),
            count => Err(Error::Data(format!(
                "{}, see above; `petteia train` resumes only if the files are restored, or with --accept-missing",
                counted(count, "problem", "problems")
            ))),
        }
    }
}
