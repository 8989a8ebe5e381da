//! Shards: many records in one zstd file of JSON lines, with its SHA-256 beside it.
//!
//! `generation-0003/shard-0007.jsonl.zst` and `....jsonl.zst.sha256` (the format of `sha256sum -c`). The
//! checksum is written last: a shard without one was never finished; a comment below it says which run played the
//! games. A damaged shard is renamed to `....bad`, named, and never trained on. Reading holds the text of a few
//! games at a time, of bounded length, so a file that would unpack to more than a shard can hold costs next to nothing.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use zstd::Decoder;

use super::place::{Origin, Place};
use super::record::Record;
use super::sample::{Sample, samples};
use crate::error::{Error, Result};
use crate::game::{Game, Rules};
use crate::storage;

/// The folder of the run where shards live.
pub const FOLDER: &str = "selfplay";
const SUFFIX: &str = ".jsonl.zst";
const BAD: &str = "bad";
/// What stands before the run in a checksum's file: a comment for `sha256sum`.
const ORIGIN: &str = "# petteia: ";
/// The longest line that is read or written, whatever the game.
const LONGEST_LINE: usize = 16 << 20;
/// Of an entry of visits or policy, of what else a ply has, and of everything before the plies, at most.
const BYTES_OF_ENTRY: usize = 48;
const BYTES_OF_PLY: usize = 256;
const BYTES_OF_HEAD: usize = 1 << 16;
const LARGEST_CHECKSUM: u64 = 4096;
/// Bytes of text whose games are played again side by side.
const TOGETHER: usize = 1 << 20;
/// What a line takes beside its text, at least.
const BYTES_OF_LINE: usize = 256;
/// Logarithm of the most memory that unpacking may take; what we write asks for 2 MiB.
const WINDOW_LOG: u32 = 23;

/// Where a shard of a run lives.
pub fn shard_path(run: &Path, generation: usize, shard: usize) -> PathBuf {
    run.join(FOLDER).join(shard_name(generation, shard))
}

/// The name of a shard below the folder of records.
pub fn shard_name(generation: usize, shard: usize) -> String {
    format!("generation-{generation:04}/shard-{shard:04}{SUFFIX}")
}

/// Generation and number of the shard at `path`, by the names of file and folder.
pub fn place_of(path: &Path) -> Option<(usize, usize)> {
    Some((generation_of(path.parent()?)?, number_of(path, "shard-", SUFFIX)?))
}

/// What a manifest says of a shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardInfo {
    /// Its file below the run's folder of records: `generation-0001/shard-0000.jsonl.zst`.
    pub name: String,
    /// SHA-256 of the file.
    pub sha256: String,
    /// The generation that played it.
    pub generation: usize,
    /// Games in it.
    pub games: usize,
    /// Positions in it that are trained on.
    pub positions: usize,
}

/// A shard that was read, with what was found in each of its games.
#[derive(Clone, Debug)]
pub struct Shard<T = ()> {
    /// Its games.
    pub records: Vec<Record>,
    /// What each of them came to when it was played again.
    pub found: Vec<T>,
    /// SHA-256 of the file.
    pub sha256: String,
}

impl<T> Shard<T> {
    /// What a manifest says of it.
    pub fn info(&self, generation: usize, shard: usize) -> ShardInfo {
        let positions = self.records.iter().map(Record::positions).sum();
        let (name, games) = (shard_name(generation, shard), self.records.len());
        ShardInfo { name, sha256: self.sha256.clone(), generation, games, positions }
    }
}

/// Writes a shard and then its checksum, with where it was played below it.
///
/// # Errors
/// A record is longer than one can be, or the file cannot be written.
pub fn write_shard(path: &Path, records: &[Record], origin: Option<&Origin>) -> Result<()> {
    let mut lines = Vec::new();
    for record in records {
        let before = lines.len();
        serde_json::to_writer(&mut lines, record).expect("records are valid JSON");
        lines.push(b'\n');
        if lines.len() - before > LONGEST_LINE {
            return Err(Error::Data(format!(
                "{}: game {} would fill more than the {LONGEST_LINE} bytes that a record can have: give the game a \
                 lower limit of actions",
                path.display(),
                record.index
            )));
        }
    }
    let packed = zstd::encode_all(lines.as_slice(), 3).map_err(Error::io(path))?;
    storage::write_whole(path, &packed)?;
    write_checksum(path, &storage::sha256(&packed), origin)
}

/// Writes the checksum beside a shard.
///
/// # Errors
/// The file cannot be written.
pub fn write_checksum(path: &Path, sha256: &str, origin: Option<&Origin>) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let origin = origin.map_or(String::new(), |origin| format!("{ORIGIN}{origin}\n"));
    storage::write_whole(&checksum_path(path), format!("{sha256}  {name}\n{origin}").as_bytes())
}

/// The run that a shard says it is of; `None` in shards of version 0.1.
///
/// # Errors
/// There is no checksum beside it, or it cannot be read.
pub fn origin(path: &Path) -> Result<Option<Origin>> {
    Ok(checksum(path)?.lines().find_map(|line| line.strip_prefix(ORIGIN)).map(Origin::parse))
}

/// Whether the shard was written to its end.
///
/// # Errors
/// The operating system refuses to look.
pub fn is_finished(path: &Path) -> Result<bool> {
    Ok(storage::exists(path)? && storage::exists(&checksum_path(path))?)
}

/// Reads a shard, checks its checksum, that its games are those of `place` (where that is not known: of its folder's
/// generation, in order), and plays every game again, on all cores.
///
/// # Errors
/// [`Error::Data`] for a damaged shard, [`Error::Mismatch`] for one of another game, [`Error::Foreign`] for one of another
/// place, [`Error::Io`] when it cannot be read.
pub fn read_shard<G: Game>(path: &Path, rules: &Rules<G>, place: Option<&Place>) -> Result<Shard> {
    read_checked(path, longest_record(rules), place, &|record| record.replay(rules, |_| {}))
}

/// As [`read_shard`], and keeps what the games teach: the samples of each.
pub fn read_samples<G: Game>(
    path: &Path,
    rules: &Rules<G>,
    place: Option<&Place>,
) -> Result<Shard<Vec<Sample>>> {
    read_checked(path, longest_record(rules), place, &|record| samples(rules, record))
}

/// Reads a shard and checks its checksum, but plays nothing: what its records say of their games may be wrong.
///
/// # Errors
/// As [`read_shard`], of which nothing is found by the rules.
pub fn read_unplayed(path: &Path) -> Result<Vec<Record>> {
    read_checked(path, LONGEST_LINE, None, &|_| Ok(())).map(|shard| shard.records)
}

/// Bytes that a record can have: a ply has an entry of visits and one of policy for each action.
fn longest_record<G: Game>(rules: &Rules<G>) -> usize {
    let ply = rules.identity.shape.actions.saturating_mul(2 * BYTES_OF_ENTRY).saturating_add(BYTES_OF_PLY);
    rules.game.max_plies().saturating_mul(ply).saturating_add(BYTES_OF_HEAD).min(LONGEST_LINE)
}

/// The JSON lines of a shard whose checksum is right. One of them is in memory at a time, however long the file
/// becomes when it is unpacked.
pub struct Lines {
    path: PathBuf,
    text: BufReader<Decoder<'static, BufReader<File>>>,
    longest: usize,
    /// SHA-256 of the file.
    pub sha256: String,
}

debug_fields!(Lines, path, sha256);

impl Lines {
    /// Of the shard at `path`.
    ///
    /// # Errors
    /// The checksum differs, or the file cannot be read.
    pub fn open(path: &Path) -> Result<Lines> {
        Lines::up_to(path, LONGEST_LINE)
    }

    fn up_to(path: &Path, longest: usize) -> Result<Lines> {
        let damaged = |what: &str| Error::Data(format!("{}: {what}", path.display()));
        let checksum = checksum(path)?;
        let sha256 = storage::sha256_of(path)?;
        if !checksum.starts_with(&sha256) {
            return Err(damaged("the SHA-256 differs from the one beside it"));
        }
        let file = File::open(path).map_err(Error::io(path))?;
        let mut packed = Decoder::new(file).map_err(|e| unpacked(path, e))?;
        packed.window_log_max(WINDOW_LOG).map_err(Error::io(path))?;
        Ok(Lines { path: path.to_path_buf(), text: BufReader::new(packed), longest, sha256 })
    }

    fn next_line(&mut self) -> Result<Option<String>> {
        let damaged = |what: String| Error::Data(format!("{}: {what}", self.path.display()));
        let mut line = Vec::new();
        let mut part = self.text.by_ref().take(self.longest as u64 + 1);
        part.read_until(b'\n', &mut line).map_err(|e| unpacked(&self.path, e))?;
        if line.len() > self.longest {
            let longest = self.longest;
            return Err(damaged(format!("a line is longer than the {longest} bytes that a record can have")));
        }
        if line.is_empty() {
            return Ok(None);
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        String::from_utf8(line).map(Some).map_err(|e| damaged(e.to_string()))
    }
}

/// Why a shard could not be unpacked: a disk that fails is no reason to set it aside.
fn unpacked(path: &Path, error: std::io::Error) -> Error {
    match error.raw_os_error() {
        Some(_) => Error::io(path)(error),
        None => Error::Data(format!("{}: zstd: {error}", path.display())),
    }
}

impl Iterator for Lines {
    type Item = Result<String>;

    fn next(&mut self) -> Option<Result<String>> {
        self.next_line().transpose()
    }
}

fn read_checked<T: Send>(
    path: &Path,
    longest: usize,
    place: Option<&Place>,
    check: &(dyn Fn(&Record) -> Result<T> + Sync),
) -> Result<Shard<T>> {
    let shown = path.display();
    let mut lines = Lines::up_to(path, longest)?;
    let mut shard = Shard { records: Vec::<Record>::new(), found: Vec::new(), sha256: String::new() };
    loop {
        let (mut some, mut bytes) = (Vec::new(), 0);
        while bytes < TOGETHER
            && let Some(line) = lines.next_line()?
        {
            bytes += line.len() + BYTES_OF_LINE;
            some.push(line);
        }
        if some.is_empty() {
            break;
        }
        let parsed: Vec<Result<(Record, Result<T>)>> = some
            .par_iter()
            .map(|line| {
                let record = Record::parse(line)?;
                let found = check(&record);
                Ok((record, found))
            })
            .collect();
        for parsed in parsed {
            let number = shard.records.len() + 1;
            let checked = parsed.and_then(|(record, found)| {
                check_place(&record, shard.records.last(), path, place)?;
                found.map(|found| (record, found))
            });
            let (record, found) = checked.map_err(|error| match error {
                // another format or game is no damage: the shard stays where it is
                Error::Mismatch(what) => Error::Mismatch(format!("{shown}: line {number}: {what}")),
                Error::Foreign(what) => Error::Foreign(format!("{shown}: line {number}: {what}")),
                error => Error::Data(format!("{shown}: line {number}: {error}")),
            })?;
            shard.records.push(record);
            shard.found.push(found);
        }
    }
    let (found, expected) = (shard.records.len(), place.map(|place| place.games.len()));
    if found != expected.unwrap_or(found.max(1)) {
        let games = expected.map_or("at least one belongs".into(), |games| format!("{games} belong"));
        return Err(Error::Foreign(format!("{shown}: it holds {found} games, {games} there")));
    }
    shard.sha256 = lines.sha256;
    Ok(shard)
}

/// Refuses a record that does not belong behind `before` in the shard at `path`.
fn check_place(record: &Record, before: Option<&Record>, path: &Path, place: Option<&Place>) -> Result<()> {
    let generation = place.map(|place| place.generation).or(path.parent().and_then(generation_of));
    if let Some(generation) = generation.filter(|generation| *generation != record.generation) {
        let found = record.generation;
        return Err(Error::Foreign(format!(
            "a record of generation {found} in a shard of generation {generation}"
        )));
    }
    let first = place.map_or(record.index, |place| place.games.start);
    let expected = before.map_or(first, |before| before.index.saturating_add(1));
    if record.index != expected {
        return Err(Error::Foreign(format!("game {} stands where game {expected} belongs", record.index)));
    }
    place.map_or(Ok(()), |place| record.check_sums(place.simulations as u64))
}

/// The text of the file beside a shard that begins with its checksum.
///
/// # Errors
/// There is none, or it cannot be read.
pub fn checksum(path: &Path) -> Result<String> {
    let place = checksum_path(path);
    match storage::read_at_most(&place, LARGEST_CHECKSUM, "a checksum") {
        Ok(checksum) => Ok(String::from_utf8_lossy(&checksum).into_owned()),
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound && path.exists() => {
            let place = path.display();
            Err(Error::Data(format!("{place}: it has no checksum, so it was never finished")))
        }
        Err(error) => Err(error),
    }
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
///
/// # Errors
/// There is nothing at `path`, or a file that is not named as a shard is.
pub fn find(path: &Path) -> Result<Shards> {
    if storage::is_file(path)? {
        if !is_packed(path) && !is_set_aside(path) {
            let place = path.display();
            return Err(Error::Data(format!(
                "{place} is no shard of records: its name does not end with {SUFFIX}"
            )));
        }
        return Ok(Shards { paths: vec![path.to_path_buf()], set_aside: Vec::new() });
    }
    if !storage::exists(path)? {
        return Err(Error::Missing(format!("{} does not exist", path.display())));
    }
    let of_run = storage::is_folder(&path.join(FOLDER))? || generation_of(path).is_none();
    let folders = if of_run { generation_folders(path)? } else { vec![(0, path.to_path_buf())] };
    let mut shards = Shards::default();
    for (_, folder) in folders {
        let entries = storage::list(&folder)?;
        shards.set_aside.extend(entries.iter().filter(|path| is_set_aside(path)).cloned());
        shards.paths.extend(entries.into_iter().filter(|path| is_shard(path)));
    }
    Ok(shards)
}

/// The shards of a run with their generations, oldest first.
///
/// # Errors
/// A folder cannot be read.
pub fn list(run: &Path) -> Result<Vec<(usize, PathBuf)>> {
    let mut shards = Vec::new();
    for (generation, folder) in generation_folders(run)? {
        let paths = storage::list(&folder)?.into_iter().filter(|path| is_shard(path));
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
    path.as_os_str().as_encoded_bytes().ends_with(SUFFIX.as_bytes())
}

/// Whether a file is named as a shard that was set aside is.
pub fn is_set_aside(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == BAD) && is_shard(&path.with_extension(""))
}

/// Renames a damaged shard so that nothing reads it again.
///
/// # Errors
/// It cannot be renamed.
pub fn set_aside(path: &Path) -> Result<PathBuf> {
    let bad = bad_path(path);
    fs::rename(path, &bad).map_err(Error::io(path))?;
    Ok(bad)
}

/// Where a shard is after it was set aside.
pub fn bad_path(path: &Path) -> PathBuf {
    storage::with_suffix(path, &format!(".{BAD}"))
}

/// Where the checksum of a shard is; that of one set aside keeps its place.
fn checksum_path(path: &Path) -> PathBuf {
    let path = if is_set_aside(path) { path.with_extension("") } else { path.to_path_buf() };
    storage::with_suffix(&path, ".sha256")
}

fn generation_folders(run: &Path) -> Result<Vec<(usize, PathBuf)>> {
    let folders = storage::list(&run.join(FOLDER))?.into_iter();
    let mut folders: Vec<_> = folders.filter_map(|folder| Some((generation_of(&folder)?, folder))).collect();
    folders.sort();
    Ok(folders)
}

fn number_of(path: &Path, prefix: &str, suffix: &str) -> Option<usize> {
    path.file_name()?.to_str()?.strip_prefix(prefix)?.strip_suffix(suffix)?.parse().ok()
}
