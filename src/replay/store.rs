//! Shards: many records in one zstd file of JSON lines, with the SHA-256 of the file in another file next to it.
//!
//! The files are `generation-0003/shard-0007.jsonl.zst` and `....jsonl.zst.sha256` (in the format of `sha256sum -c`).
//! The checksum is written last, so a shard without one was never finished; a comment after the checksum identifies the
//! run that played the games. A damaged shard is renamed to `....bad`, reported, and never used for training. Reading
//! holds the text of a few games at a time. The numbers of lines, games, and unpacked bytes are limited, so a file that
//! would unpack to more than a shard can hold is refused before it uses that much memory.
//!
//! Outside a run, games may also be in a file that another program wrote: plain JSON lines, without a checksum, in
//! any order.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::place::{Origin, Place};
use super::record::Record;
use super::sample::{Replayed, replayed};
pub use super::shards::{FOLDER, Shards, bad_path, find, list, path_in_run, place_of, set_aside, shard_path};
pub(crate) use super::shards::{
    SUFFIX, create_generation_folder, finished_in, folder_name, generation_of, inherited_name, is_inherited,
    is_inherited_folder, is_packed, is_plain, is_set_aside, is_shard, shard_name,
};
use super::shards::{checksum_path, is_of_run};
use crate::config::limits::MAX_BATCH;
use crate::error::{Error, Result};
use crate::game::{Game, Rules};
use crate::storage::{self, packed};

/// The prefix of the run's origin in a checksum file; `sha256sum` takes the line as a comment.
const ORIGIN: &str = "# petteia: ";
/// The longest line of any game that is read or written, in bytes.
const LONGEST_LINE: usize = 16 << 20;
/// Upper limits, in bytes, for an entry of the visits or the policy, for the rest of a ply, and for everything before
/// the plies.
const BYTES_OF_ENTRY: usize = 48;
const BYTES_OF_PLY: usize = 256;
const BYTES_OF_HEAD: usize = 1 << 16;
const LARGEST_CHECKSUM: u64 = 4096;
/// The zstd compression level.
const LEVEL: i32 = 3;
/// The most bytes that all lines of a shard or set may have together when unpacked, both in writing and in reading.
const LARGEST_TEXT: u64 = 1 << 30;
/// The number of bytes of text whose games are replayed in parallel.
const TOGETHER: usize = 1 << 20;
/// The minimum memory for a line in addition to its text, in bytes.
const BYTES_OF_LINE: usize = 256;
/// The byte order mark, which some editors put at the start of a text.
const BYTE_ORDER_MARK: char = '\u{feff}';
/// The first bytes of a zstd file.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The logarithm of the memory limit for unpacking; Petteia's own files need 2 MiB.
const WINDOW_LOG: u32 = 23;

/// The entry of a shard in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardInfo {
    /// The shard's path inside the run's folder of records: `generation-0001/shard-0000.jsonl.zst`.
    pub name: String,
    /// SHA-256 of the file.
    pub sha256: String,
    /// The generation that played the games.
    pub generation: usize,
    /// The number of games.
    pub games: usize,
    /// The number of positions that are used for training.
    pub positions: usize,
}

/// A shard that has been read, with the results of replaying its games.
#[derive(Clone, Debug)]
pub struct Shard<T = ()> {
    /// The games.
    pub records: Vec<Record>,
    /// For each game, the result of replaying it.
    pub found: Vec<T>,
    /// SHA-256 of the file.
    pub sha256: String,
}

impl<T> Shard<T> {
    /// Returns the shard's entry in a manifest.
    pub fn info(&self, generation: usize, shard: usize) -> ShardInfo {
        let positions = self.records.iter().map(Record::positions).sum();
        let (name, games) = (shard_name(generation, shard), self.records.len());
        ShardInfo { name, sha256: self.sha256.clone(), generation, games, positions }
    }
}

/// Writes a shard and then its checksum, followed by the origin of its games.
///
/// With `records` from [`play_shard`](crate::selfplay::play_shard):
///
/// ```
/// use petteia::error::Error;
/// use petteia::replay::store::{read_shard, write_shard};
///
/// # use petteia::{config::Config, game::{GameOptions, Rules}, games::tic_tac_toe::TicTacToe};
/// # use petteia::{search::evaluator::Rollout, selfplay::{Generation, Monitor, play_shard}};
/// # let rules = Rules::<TicTacToe>::new(&GameOptions::default())?;
/// # let (config, identity) = (&Config::new("tic-tac-toe"), &rules.identity);
/// # let (simulations, evaluator, starts) = (8, "rollout:8".to_string(), Default::default());
/// # let generation = Generation { config, identity, number: 1, games: 4, simulations, evaluator, starts };
/// # let (mut rollout, monitor) = (Rollout::new(rules.game.clone()), Monitor::default());
/// # let records = play_shard(&rules.game, &generation, 0..4, &mut rollout, &monitor, &|_| true)?;
/// # let folder = tempfile::tempdir().map_err(petteia::error::Error::io("a temporary folder"))?;
/// # let folder = folder.path();
/// let path = folder.join("shard-0000.jsonl.zst");
/// write_shard(&path, &records, None)?;
/// assert_eq!(read_shard(&path, &rules, None)?.records, records);
/// // a damaged file is noticed
/// std::fs::write(&path, "no shard").map_err(Error::io(&path))?;
/// assert!(matches!(read_shard(&path, &rules, None), Err(Error::Data(_))));
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// If a record is too long, or the file cannot be written.
pub fn write_shard(path: &Path, records: &[Record], origin: Option<&Origin>) -> Result<()> {
    let shard = packed_shard(path, records)?;
    storage::write_whole(path, &shard)?;
    write_checksum(path, &storage::sha256(&shard), origin)
}

/// Returns the bytes of the shard with these games. Errors name `path`.
///
/// # Errors
/// If a record is too long, or the records together are too long.
pub(crate) fn packed_shard(path: &Path, records: &[Record]) -> Result<Vec<u8>> {
    let mut lines = Vec::new();
    for record in records {
        let before = lines.len();
        serde_json::to_writer(&mut lines, record).expect("records are valid JSON");
        lines.push(b'\n');
        if lines.len() - before > LONGEST_LINE {
            return Err(Error::Data(format!(
                "{}: the record of game {} is longer than the limit of {LONGEST_LINE} bytes: give the game a lower \
                 limit of actions",
                path.display(),
                record.index
            )));
        }
        if lines.len() as u64 > LARGEST_TEXT {
            return Err(Error::Data(format!(
                "{}: the records are longer than a shard's limit of {LARGEST_TEXT} bytes: set selfplay.batch to fewer \
                 games per shard",
                path.display()
            )));
        }
    }
    packed::pack(&lines, LEVEL).map_err(Error::io(path))
}

/// Writes the checksum file of a shard.
///
/// # Errors
/// If the file cannot be written.
pub fn write_checksum(path: &Path, sha256: &str, origin: Option<&Origin>) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let origin = origin.map_or(String::new(), |origin| format!("{ORIGIN}{origin}\n"));
    storage::write_whole(&checksum_path(path), format!("{sha256}  {name}\n{origin}").as_bytes())
}

/// Copies a shard, which another program may have written, to `target` as a packed shard of a run, with a checksum
/// file. Returns the checksum.
///
/// # Errors
/// If the shard cannot be read, has a wrong checksum, or cannot be written.
pub fn take_over(path: &Path, target: &Path) -> Result<String> {
    let mut lines = Lines::open(path)?;
    let origin = if storage::exists(&checksum_path(path))? { origin(path)? } else { None };
    let sha256 = if lines.is_packed {
        storage::copy_whole(path, target)?;
        lines.sha256
    } else {
        let mut text = Vec::new();
        while let Some(line) = lines.next_written()? {
            text.extend(line.bytes().chain([b'\n']));
        }
        let shard = packed::pack(&text, LEVEL).map_err(Error::io(target))?;
        storage::create_parent(target)?;
        storage::write_whole(target, &shard)?;
        storage::sha256(&shard)
    };
    write_checksum(target, &sha256, origin.as_ref())?;
    Ok(sha256)
}

/// Returns the run that played a shard, according to its checksum file; `None` for shards of version 0.1.
///
/// # Errors
/// If the checksum file is missing or cannot be read.
pub fn origin(path: &Path) -> Result<Option<Origin>> {
    Ok(checksum(path)?.lines().find_map(|line| line.strip_prefix(ORIGIN)).map(Origin::parse))
}

/// Returns whether the shard was finished.
///
/// # Errors
/// If the operating system reports an error.
pub fn is_finished(path: &Path) -> Result<bool> {
    Ok(storage::exists(path)? && storage::exists(&checksum_path(path))?)
}

/// Reads a shard, verifies its checksum, checks that its games are those of `place`, and replays every game, on all
/// cores. If `place` is `None`, the games must be of the generation in the folder's name, in order.
///
/// # Errors
/// Returns [`Error::Data`] for a damaged shard, [`Error::Mismatch`] for a shard of another game, [`Error::Foreign`] for
/// a shard that belongs to another place, and [`Error::Io`] if the file cannot be read.
pub fn read_shard<G: Game>(path: &Path, rules: &Rules<G>, place: Option<&Place>) -> Result<Shard> {
    read_checked(path, longest_record(rules), place, &|record| record.replay(rules, |_| {}).map(|_| ()))
}

/// Reads a shard like [`read_shard`], but keeps the training samples of each game.
///
/// # Errors
/// As for [`read_shard`].
pub fn read_samples<G: Game>(
    path: &Path,
    rules: &Rules<G>,
    place: Option<&Place>,
) -> Result<Shard<Replayed>> {
    read_checked(path, longest_record(rules), place, &|record| replayed(rules, record))
}

/// Reads a shard and verifies its checksum, but does not replay the games, so the contents of the records may be
/// wrong.
///
/// # Errors
/// As for [`read_shard`], except for errors that only replaying finds.
pub fn read_unplayed(path: &Path) -> Result<Vec<Record>> {
    read_checked(path, LONGEST_LINE, None, &|_| Ok(())).map(|shard| shard.records)
}

/// Returns the first record of a shard after verifying its checksum; nothing else is parsed.
///
/// # Errors
/// As for [`read_unplayed`], if the first record shows the error.
pub fn first_record(path: &Path) -> Result<Record> {
    let first = Lines::open(path)?.next().transpose()?.unwrap_or_default();
    Record::parse(&first).map_err(|error| {
        let text = format!("{}: line 1: {error}", path.display());
        error.reworded(text)
    })
}

/// Returns the length of the longest possible record, in bytes: each ply has an entry of visits and one of policy for
/// each action.
fn longest_record<G: Game>(rules: &Rules<G>) -> usize {
    let ply = rules.identity.shape.actions.saturating_mul(2 * BYTES_OF_ENTRY).saturating_add(BYTES_OF_PLY);
    rules.game.max_plies().saturating_mul(ply).saturating_add(BYTES_OF_HEAD).min(LONGEST_LINE)
}

/// The JSON lines of a shard whose checksum is right. Only one line is in memory at a time, whatever the size of the
/// unpacked file.
pub struct Lines {
    path: PathBuf,
    text: Box<dyn BufRead>,
    /// Whether the file is compressed.
    is_packed: bool,
    longest: usize,
    /// The number of bytes that may still follow.
    left: u64,
    /// The number of lines read so far.
    number: usize,
    /// SHA-256 of the file.
    pub sha256: String,
}

debug_fields!(Lines, path, sha256);

impl Lines {
    /// Opens the shard at `path`.
    ///
    /// # Errors
    /// If the checksum differs, a shard of a run has no checksum, or the file cannot be read.
    pub fn open(path: &Path) -> Result<Lines> {
        Lines::up_to(path, LONGEST_LINE)
    }

    /// Opens JSON lines of at most `longest` bytes, which another program may have written, compressed with zstd or
    /// not. Outside a run, the checksum may be missing.
    ///
    /// # Errors
    /// As for [`Lines::open`].
    pub(crate) fn up_to(path: &Path, longest: usize) -> Result<Lines> {
        let has_checksum = is_of_run(path) || storage::exists(&checksum_path(path))?;
        let sha256 =
            if has_checksum { Lines::checked(path, &checksum(path)?)? } else { storage::sha256_of(path)? };
        let mut file = BufReader::new(storage::open(path)?);
        let begins = |file: &BufReader<File>, mark: &[u8]| file.buffer().starts_with(mark);
        file.fill_buf().map_err(Error::io(path))?;
        if begins(&file, &ZSTD) || is_packed(path) && !begins(&file, b"{") {
            return Lines::packed(path, file, longest, sha256);
        }
        Ok(Lines::of(path, Box::new(file), longest, sha256))
    }

    fn of(path: &Path, text: Box<dyn BufRead>, longest: usize, sha256: String) -> Lines {
        Lines {
            path: path.to_path_buf(),
            text,
            is_packed: false,
            longest,
            left: LARGEST_TEXT,
            number: 0,
            sha256,
        }
    }

    /// Returns the SHA-256 of a file, which must match its checksum file.
    fn checked(path: &Path, checksum: &str) -> Result<String> {
        let sha256 = storage::sha256_of(path)?;
        if checksum.starts_with(&sha256) {
            Ok(sha256)
        } else {
            Err(Error::Data(format!(
                "{}: the SHA-256 differs from the one in its checksum file",
                path.display()
            )))
        }
    }

    fn packed(path: &Path, file: BufReader<File>, longest: usize, sha256: String) -> Result<Lines> {
        let text = packed::unpacking(file, WINDOW_LOG).map_err(|e| unpacked(path, e))?;
        Ok(Lines { is_packed: true, ..Lines::of(path, Box::new(BufReader::new(text)), longest, sha256) })
    }

    fn next_line(&mut self) -> Result<Option<String>> {
        let error = |what: String| Error::Data(format!("{}: {what}", self.path.display()));
        let mut line = Vec::new();
        let mut part = self.text.by_ref().take(self.longest as u64 + 1);
        part.read_until(b'\n', &mut line).map_err(|e| unpacked(&self.path, e))?;
        if line.len() > self.longest {
            let longest = self.longest;
            return Err(error(format!("a line is longer than the limit of {longest} bytes")));
        }
        if line.is_empty() {
            return Ok(None);
        }
        self.left = self
            .left
            .checked_sub(line.len() as u64)
            .ok_or_else(|| error(format!("it unpacks to more than the limit of {LARGEST_TEXT} bytes")))?;
        self.number += 1;
        let text = String::from_utf8(line).map_err(|e| error(e.to_string()))?;
        let text = if self.number == 1 { text.trim_start_matches(BYTE_ORDER_MARK) } else { &text };
        Ok(Some(text.trim_end_matches('\n').into()))
    }

    /// Returns the next line that is not blank. Blank lines may end a file, but must not precede another line.
    fn next_written(&mut self) -> Result<Option<String>> {
        let mut blank = None;
        while let Some(line) = self.next_line()? {
            match (line.trim().is_empty(), blank) {
                (true, _) => blank = blank.or(Some(self.number)),
                (false, None) => return Ok(Some(line)),
                (false, Some(number)) => {
                    return Err(Error::Data(format!(
                        "{}: line {number}: it is blank, but more lines follow",
                        self.path.display()
                    )));
                }
            }
        }
        Ok(None)
    }
}

/// Returns whether a file begins like a file of records: with a JSON object or as a compressed file.
///
/// # Errors
/// If the file cannot be read.
pub(super) fn begins_like_records(path: &Path) -> Result<bool> {
    let mut file = BufReader::new(storage::open(path)?);
    let start = file.fill_buf().map_err(Error::io(path))?;
    let mark = BYTE_ORDER_MARK.to_string();
    let text = start.strip_prefix(mark.as_bytes()).unwrap_or(start);
    Ok(start.starts_with(&ZSTD) || text.trim_ascii_start().starts_with(b"{"))
}

/// Classifies an error while unpacking. A failing disk is not a reason to set a shard aside.
fn unpacked(path: &Path, error: std::io::Error) -> Error {
    match error.raw_os_error() {
        Some(_) => Error::io(path)(error),
        None => Error::Data(format!("{}: zstd: {error}", path.display())),
    }
}

impl Iterator for Lines {
    type Item = Result<String>;

    fn next(&mut self) -> Option<Result<String>> {
        self.next_written().transpose()
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
    let limit = place.map_or(MAX_BATCH, |place| place.games.len());
    loop {
        let (mut texts, mut bytes) = (Vec::new(), 0);
        while bytes < TOGETHER
            && let Some(line) = lines.next_written()?
        {
            bytes += line.len() + BYTES_OF_LINE;
            texts.push(line);
        }
        if texts.is_empty() {
            break;
        }
        let parsed: Vec<Result<(Record, Result<T>)>> = texts
            .par_iter()
            .map(|line| {
                let record = Record::parse(line)?;
                let found = check(&record);
                Ok((record, found))
            })
            .collect();
        for parsed in parsed {
            let number = shard.records.len() + 1;
            // stop here, whatever the number of games that follow
            if number > limit {
                let error = match place {
                    Some(_) => Error::Foreign(format!(
                        "{shown}: it holds more than the {limit} games that belong there"
                    )),
                    None => {
                        Error::Data(format!("{shown}: it holds more than a shard's limit of {limit} games"))
                    }
                };
                return Err(error);
            }
            let result = parsed.and_then(|(record, found)| {
                check_order(&record, shard.records.last(), path, place)?;
                found.map(|found| (record, found))
            });
            let (record, found) = result.map_err(|error| match error {
                // another format or game is not damage: the shard stays where it is
                Error::Mismatch(what) => Error::Mismatch(format!("{shown}: line {number}: {what}")),
                Error::Foreign(what) => Error::Foreign(format!("{shown}: line {number}: {what}")),
                error => Error::Data(format!("{shown}: line {number}: {error}")),
            })?;
            shard.records.push(record);
            shard.found.push(found);
        }
    }
    let (count, expected) = (shard.records.len(), place.map(|place| place.games.len()));
    if count != expected.unwrap_or(count.max(1)) {
        let games = expected.map_or("at least one belongs".into(), |games| format!("{games} belong"));
        return Err(Error::Foreign(format!("{shown}: it holds {count} games, but {games} there")));
    }
    shard.sha256 = lines.sha256;
    Ok(shard)
}

/// Rejects a record that must not follow `before` in the shard at `path`. Games outside the folder of a generation
/// may be in any order.
fn check_order(record: &Record, before: Option<&Record>, path: &Path, place: Option<&Place>) -> Result<()> {
    let generation = place.map(|place| place.generation).or(path.parent().and_then(generation_of));
    let Some(generation) = generation else { return Ok(()) };
    if generation != record.generation {
        let number = record.generation;
        return Err(Error::Foreign(format!(
            "a record of generation {number} in a shard of generation {generation}"
        )));
    }
    let first = place.map_or(record.index, |place| place.games.start);
    let expected = before.map_or(first, |before| before.index.saturating_add(1));
    if record.index != expected {
        return Err(Error::Foreign(format!("game {} is where game {expected} belongs", record.index)));
    }
    place.map_or(Ok(()), |place| record.check_sums(place.simulations as u64))
}

/// Returns the content of a shard's checksum file, which begins with the checksum.
///
/// # Errors
/// If the file does not exist or cannot be read.
pub fn checksum(path: &Path) -> Result<String> {
    let place = checksum_path(path);
    match storage::read_at_most(&place, LARGEST_CHECKSUM, "a checksum") {
        Ok(checksum) => Ok(String::from_utf8_lossy(&checksum).into_owned()),
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            storage::length(path)?;
            Err(Error::Data(format!("{}: it has no checksum, so it was never finished", path.display())))
        }
        Err(error) => Err(error),
    }
}
