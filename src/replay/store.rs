//! Shards: many records in one zstd file of JSON lines, with its SHA-256 beside it.
//!
//! `generation-0003/shard-0007.jsonl.zst` and `....jsonl.zst.sha256` (the format of `sha256sum -c`). The
//! checksum is written last: a shard without one was never finished. A damaged shard is renamed to
//! `....bad`, named, and never trained on.

use std::fs;
use std::path::{Path, PathBuf};

use super::record::Record;
use crate::error::{Error, Result};
use crate::game::{Game, GameIdentity};
use crate::storage;

/// The folder of the run where shards live.
pub const FOLDER: &str = "selfplay";
const SUFFIX: &str = ".jsonl.zst";

/// Where a shard of a run lives.
pub fn shard_path(run: &Path, generation: usize, shard: usize) -> PathBuf {
    run.join(FOLDER).join(format!("generation-{generation:04}")).join(format!("shard-{shard:04}{SUFFIX}"))
}

/// Writes a shard and then its checksum.
pub fn write_shard(path: &Path, records: &[Record]) -> Result<()> {
    let mut lines = Vec::new();
    for record in records {
        serde_json::to_writer(&mut lines, record).expect("records are valid JSON");
        lines.push(b'\n');
    }
    let packed = zstd::encode_all(lines.as_slice(), 3).map_err(Error::io(path))?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(Error::io(folder))?;
    }
    storage::write_whole(path, &packed)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    storage::write_whole(&checksum_path(path), format!("{}  {name}\n", storage::sha256(&packed)).as_bytes())
}

/// Whether the shard was written to its end.
pub fn is_finished(path: &Path) -> bool {
    path.exists() && checksum_path(path).exists()
}

/// Reads a shard, checks its checksum and plays every game again.
pub fn read_shard<G: Game>(path: &Path, game: &G, identity: &GameIdentity) -> Result<Vec<Record>> {
    let damaged = |what: String| Error::Data(format!("{}: {what}", path.display()));
    let packed = storage::read(path)?;
    if !is_finished(path) {
        return Err(damaged("it has no checksum, so it was never finished".into()));
    }
    let checksum = storage::read(&checksum_path(path))?;
    if !checksum.starts_with(storage::sha256(&packed).as_bytes()) {
        return Err(damaged("the SHA-256 differs from the one beside it".into()));
    }
    let text = zstd::decode_all(packed.as_slice()).map_err(|e| damaged(format!("zstd: {e}")))?;
    let text = String::from_utf8(text).map_err(|e| damaged(e.to_string()))?;
    let mut records = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let at = |what: String| format!("line {}: {what}", number + 1);
        let checked = Record::parse(line).and_then(|record| {
            record.replay(game, identity, |_| {})?;
            Ok(record)
        });
        let record = checked.map_err(|error| match error {
            // another format or game is no damage: the shard stays where it is
            Error::Mismatch(what) => Error::Mismatch(format!("{}: {}", path.display(), at(what))),
            error => damaged(at(error.to_string())),
        })?;
        records.push(record);
    }
    Ok(records)
}

/// The shards of a run with their generations, oldest first.
pub fn list(run: &Path) -> Result<Vec<(usize, PathBuf)>> {
    let mut shards = Vec::new();
    for folder in entries(&run.join(FOLDER))? {
        let Some(generation) = number_of(&folder, "generation-", "") else { continue };
        for path in entries(&folder)? {
            if number_of(&path, "shard-", SUFFIX).is_some() {
                shards.push((generation, path));
            }
        }
    }
    shards.sort();
    Ok(shards)
}

/// Renames a damaged shard so that nothing reads it again.
pub fn set_aside(path: &Path) -> Result<PathBuf> {
    let bad = PathBuf::from(format!("{}.bad", path.display()));
    fs::rename(path, &bad).map_err(Error::io(path))?;
    Ok(bad)
}

fn checksum_path(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}.sha256", path.display()))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).map_err(Error::io(folder))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

fn number_of(path: &Path, prefix: &str, suffix: &str) -> Option<usize> {
    path.file_name()?.to_str()?.strip_prefix(prefix)?.strip_suffix(suffix)?.parse().ok()
}
