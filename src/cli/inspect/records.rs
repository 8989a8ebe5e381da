//! Shards of records, alone or in a generation's folder.
//!
//! The first record describes them. They are intact if every checksum is correct and every game can be replayed.

use std::path::Path;

use serde_json::json;

use super::Findings;
use crate::cli::records::FoundRecords;
use crate::cli::records::verify::{Verified, verify};
use crate::cli::text::counted;
use crate::error::Result;
use crate::registry::Catalog;
use crate::replay::store;
use crate::storage;

pub fn is_shard(path: &Path) -> bool {
    let is_plain = || store::is_plain(path) && store::first_record(path).is_ok();
    storage::has_file(path) && (store::is_packed(path) || is_plain())
}

pub fn is_generation(path: &Path) -> bool {
    let has_some = |shards: store::Shards| !shards.is_empty();
    storage::has_folder(path) && store::generation_of(path).is_some() && store::find(path).is_ok_and(has_some)
}

/// Reads and replays everything.
pub fn report(path: &Path, report: &mut Findings, games: Catalog) -> Result<()> {
    let source = FoundRecords::of(path)?;
    let Some(found) = report.checked(verify(&source, games)) else { return Ok(()) };
    report.game(&found.game, path, games);
    if let Some(record) = source.shards.all().find_map(|path| store::first_record(path).ok()) {
        report.fact("generation", record.generation);
        report.fact("evaluator", record.evaluator.as_str());
        report.fact("written with encoding", record.encoding);
    }
    counts(&source, found, report);
    Ok(())
}

/// Adds the numbers of shards, games and plies, and the problems.
pub fn counts(source: &FoundRecords, found: Verified, report: &mut Findings) {
    report.fact("shards", source.shards.all().count());
    if !source.shards.inherited.is_empty() {
        report.fact("inherited shards", source.shards.inherited.len());
    }
    report.fact("games", found.games);
    if !found.ends.is_empty() {
        report.fact("games not ended by the rules", json!(found.ends));
    }
    report.fact("plies", found.plies);
    if !source.shards.set_aside.is_empty() {
        let names = source.shards.set_aside.iter().map(|path| path.display().to_string());
        report.fact("set aside", names.collect::<Vec<_>>());
    }
    if found.whole > 0 {
        let shards = counted(found.whole, "shard", "shards");
        let what = format!("the SHA-256 of {shards}; all their games were replayed");
        report.fact("checked records", what);
    }
    if let Some(unchecked) = found.unchecked {
        report.fact("not checked", unchecked);
    }
    found.problems.iter().for_each(|problem| report.problem(problem));
}
