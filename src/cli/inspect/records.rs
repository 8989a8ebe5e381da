//! Shards of records, alone or in the folder of a generation.
//!
//! The first record describes the shards. Shards are intact if every checksum is correct and every game can be
//! replayed.

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

pub(super) fn is_shard(path: &Path) -> bool {
    let is_plain = || store::is_plain(path) && store::first_record(path).is_ok();
    storage::has_file(path) && (store::is_packed(path) || is_plain())
}

pub(super) fn is_generation(path: &Path) -> bool {
    let has_some = |shards: store::Shards| !shards.is_empty();
    storage::has_folder(path) && store::generation_of(path).is_some() && store::find(path).is_ok_and(has_some)
}

/// Reports records, all of which are read and replayed.
pub(super) fn report(path: &Path, report: &mut Findings, games: Catalog) -> Result<()> {
    let source = FoundRecords::of(path)?;
    let Some(verified) = report.checked(verify(&source, games)) else { return Ok(()) };
    report.game(&verified.game, path, games);
    if let Some(record) = source.shards.all().find_map(|path| store::first_record(path).ok()) {
        report.fact("generation", record.generation);
        report.fact("evaluator", record.evaluator.as_str());
        report.fact("written with encoding", record.encoding);
    }
    counts(&source, verified, report);
    Ok(())
}

/// Adds the numbers of shards, games, and plies, and the problems.
pub(super) fn counts(source: &FoundRecords, verified: Verified, report: &mut Findings) {
    report.fact("shards", source.shards.all().count());
    if !source.shards.inherited.is_empty() {
        report.fact("inherited shards", source.shards.inherited.len());
    }
    report.fact("games", verified.games);
    if !verified.ends.is_empty() {
        report.fact("games not ended by the rules", json!(verified.ends));
    }
    report.fact("plies", verified.plies);
    if !source.shards.set_aside.is_empty() {
        let names = source.shards.set_aside.iter().map(|path| path.display().to_string());
        report.fact("set aside", names.collect::<Vec<_>>());
    }
    if verified.whole > 0 {
        let shards = counted(verified.whole, "shard", "shards");
        report.fact("checked records", format!("the SHA-256 of {shards}; all of their games were replayed"));
    }
    if let Some(unchecked) = verified.unchecked {
        report.fact("not checked", unchecked);
    }
    verified.problems.iter().for_each(|problem| report.problem(problem));
}
