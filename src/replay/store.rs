//! Shards: many records in one zstd file of JSON lines, with its SHA-256 beside it.
//!
//! `generation-0003/shard-0007.jsonl.zst` and `....jsonl.zst.sha256` (the format of `sha256sum -c`). The
//! checksum is written last: a shard without one was never finished. A damaged shard is renamed to
//! `....bad`, named, and never trained on.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::record::Record;
use crate::error::{Error, Result};
use crate::game::{Game, GameIdentity};
use crate::storage;

/// The folder of the run where shards live.
pub const FOLDER: &str = "selfplay";
const SUFFIX: &str = ".jsonl.zst";
const BAD: &str = "bad";

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
    read_checked(path, |record| record.replay(game, identity, |_| {}))
}

/// Reads a shard and checks its checksum, but plays nothing: what its records say of their games may be wrong.
pub fn read_unplayed(path: &Path) -> Result<Vec<Record>> {
    read_checked(path, |_| Ok(()))
}

/// The JSON lines of a shard whose checksum is right.
pub fn unpack(path: &Path) -> Result<String> {
    let damaged = |what: String| Error::Data(format!("{}: {what}", path.display()));
    let packed = storage::read(path)?;
    let checksum = match fs::read(checksum_path(path)) {
        Ok(checksum) => checksum,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(damaged("it has no checksum, so it was never finished".into()));
        }
        Err(error) => return Err(Error::io(checksum_path(path))(error)),
    };
    if !checksum.starts_with(storage::sha256(&packed).as_bytes()) {
        return Err(damaged("the SHA-256 differs from the one beside it".into()));
    }
    let text = zstd::decode_all(packed.as_slice()).map_err(|e| damaged(format!("zstd: {e}")))?;
    String::from_utf8(text).map_err(|e| damaged(e.to_string()))
}

fn read_checked(path: &Path, check: impl Fn(&Record) -> Result<()>) -> Result<Vec<Record>> {
    let place = path.display();
    let mut records = Vec::new();
    for (number, line) in unpack(path)?.lines().enumerate() {
        let checked = Record::parse(line).and_then(|record| check(&record).map(|()| record));
        let record = checked.map_err(|error| match error {
            // another format or game is no damage: the shard stays where it is
            Error::Mismatch(what) => Error::Mismatch(format!("{place}: line {}: {what}", number + 1)),
            error => Error::Data(format!("{place}: line {}: {error}", number + 1)),
        })?;
        records.push(record);
    }
    Ok(records)
}

/// Shards on disk, oldest first.
#[derive(Debug, Default)]
pub struct Shards {
    /// Those in use.
    pub paths: Vec<PathBuf>,
    /// Those that were set aside as damaged.
    pub set_aside: Vec<PathBuf>,
}

/// What a user means by `path`: the shards of a run, those of one generation's folder, or one file, which may have
/// been set aside.
pub fn find(path: &Path) -> Result<Shards> {
    if path.is_file() {
        if !is_packed(path) && !is_set_aside(path) {
            let place = path.display();
            return Err(Error::Data(format!(
                "{place} is no shard of records: its name does not end with {SUFFIX}"
            )));
        }
        return Ok(Shards { paths: vec![path.to_path_buf()], set_aside: Vec::new() });
    }
    if !path.exists() {
        return Err(Error::Missing(format!("{} does not exist", path.display())));
    }
    let of_run = path.join(FOLDER).is_dir() || generation_of(path).is_none();
    let folders = if of_run { generation_folders(path)? } else { vec![(0, path.to_path_buf())] };
    let mut shards = Shards::default();
    for (_, folder) in folders {
        let mut entries = entries(&folder)?;
        entries.sort();
        shards.set_aside.extend(entries.iter().filter(|path| is_set_aside(path)).cloned());
        shards.paths.extend(entries.into_iter().filter(|path| is_shard(path)));
    }
    Ok(shards)
}

/// The shards of a run with their generations, oldest first.
pub fn list(run: &Path) -> Result<Vec<(usize, PathBuf)>> {
    let mut shards = Vec::new();
    for (generation, folder) in generation_folders(run)? {
        let paths = entries(&folder)?.into_iter().filter(|path| is_shard(path));
        shards.extend(paths.map(|path| (generation, path)));
    }
    shards.sort();
    Ok(shards)
}

/// The number in the name of a generation's folder.
pub fn generation_of(folder: &Path) -> Option<usize> {
    number_of(folder, "generation-", "")
}

/// Whether a file is named as a shard is.
pub fn is_shard(path: &Path) -> bool {
    number_of(path, "shard-", SUFFIX).is_some()
}

/// Whether a file is packed as shards are, by its name, of which only the end matters.
pub fn is_packed(path: &Path) -> bool {
    path.to_string_lossy().ends_with(SUFFIX)
}

/// Whether a file is named as a shard that was set aside is.
pub fn is_set_aside(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == BAD) && is_shard(&path.with_extension(""))
}

/// Renames a damaged shard so that nothing reads it again.
pub fn set_aside(path: &Path) -> Result<PathBuf> {
    let bad = PathBuf::from(format!("{}.{BAD}", path.display()));
    fs::rename(path, &bad).map_err(Error::io(path))?;
    Ok(bad)
}

/// Where the checksum of a shard is; that of one set aside keeps its place.
fn checksum_path(path: &Path) -> PathBuf {
    let path = if is_set_aside(path) { path.with_extension("") } else { path.to_path_buf() };
    PathBuf::from(format!("{}.sha256", path.display()))
}

fn generation_folders(run: &Path) -> Result<Vec<(usize, PathBuf)>> {
    let folders = entries(&run.join(FOLDER))?.into_iter();
    let mut folders: Vec<_> = folders.filter_map(|folder| Some((generation_of(&folder)?, folder))).collect();
    folders.sort();
    Ok(folders)
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
