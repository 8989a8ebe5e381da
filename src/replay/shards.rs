//! The names of shards in a run's folder, and the search for shards on disk.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::store::begins_like_records;
use crate::error::{Error, Result};
use crate::storage;

/// The folder of a run that holds its shards.
pub const FOLDER: &str = "selfplay";
pub(crate) const SUFFIX: &str = ".jsonl.zst";
/// The suffix of the name of an uncompressed file of records.
const PLAIN: &str = ".jsonl";
/// The folder for shards that a run took over from another run, inside the folder of records.
const INHERITED: &str = "inherited";
const BAD: &str = "bad";

/// Returns the path of a shard of a run.
pub fn shard_path(run: &Path, generation: usize, shard: usize) -> PathBuf {
    run.join(FOLDER).join(shard_name(generation, shard))
}

/// Makes the folder for the shards of a generation of a run. The folder is made once, before games begin: if it
/// disappears later, it is not made again, so a deleted run is not recreated.
///
/// # Errors
/// If there is no run at `run`, or the folder cannot be made.
pub(crate) fn create_generation_folder(run: &Path, generation: usize) -> Result<()> {
    storage::create_folder_in(run, &run.join(FOLDER).join(folder_name(generation)))
}

/// Returns the path of a shard relative to the folder of records.
pub(crate) fn shard_name(generation: usize, shard: usize) -> String {
    format!("{}/shard-{shard:04}{SUFFIX}", folder_name(generation))
}

/// Returns the path, relative to the folder of records, of a shard that a run took over from another run.
pub(crate) fn inherited_name(number: usize) -> String {
    format!("{INHERITED}/shard-{number:04}{SUFFIX}")
}

/// Returns whether this is the name of a shard that a run took over from another run.
pub(crate) fn is_inherited(name: &str) -> bool {
    let path = Path::new(name);
    path.parent() == Some(Path::new(INHERITED)) && is_shard(path)
}

/// Returns whether this is the path of the folder for shards that a run took over.
pub(crate) fn is_inherited_folder(path: &Path) -> bool {
    path.ends_with(Path::new(FOLDER).join(INHERITED))
}

/// Returns the path, relative to the run's folder, of the shard `name`, as in lists of shards that were given up.
pub fn path_in_run(name: &str) -> String {
    format!("{FOLDER}/{name}")
}

/// Returns the name of a generation's folder, used wherever a run has one folder per generation.
pub(crate) fn folder_name(generation: usize) -> String {
    format!("generation-{generation:04}")
}

/// Returns the generation and the number of the shard at `path`, from the names of the folder and the file.
pub fn place_of(path: &Path) -> Option<(usize, usize)> {
    Some((generation_of(path.parent()?)?, number_of(path, "shard-", SUFFIX)?))
}

/// Shards on disk, oldest first.
#[derive(Debug, Default)]
pub struct Shards {
    /// Shards in use.
    pub paths: Vec<PathBuf>,
    /// Shards that a run took over from another run.
    pub inherited: Vec<PathBuf>,
    /// Shards that were set aside as damaged.
    pub set_aside: Vec<PathBuf>,
}

impl Shards {
    /// Returns all shards in use, beginning with those that the run took over.
    pub fn all(&self) -> impl Iterator<Item = &PathBuf> {
        self.inherited.iter().chain(&self.paths)
    }

    /// Returns whether there are no shards at all, not even shards that were set aside.
    pub fn is_empty(&self) -> bool {
        self.all().chain(&self.set_aside).next().is_none()
    }
}

/// Resolves a path given by a user to the shards of a run or of one of its folders, or to a single file. The single
/// file may be a shard that was set aside, or JSON lines that another program wrote.
///
/// # Errors
/// If there is nothing at `path`, or if it is a file of another kind.
pub fn find(path: &Path) -> Result<Shards> {
    if storage::is_file(path)? {
        // a shard that is damaged still has its name
        if !is_packed(path) && !is_set_aside(path) && !begins_like_records(path)? {
            let place = path.display();
            return Err(Error::Data(format!(
                "{place} is not a file of records: it contains no JSON lines, and its name does not end with {SUFFIX}"
            )));
        }
        return Ok(Shards { paths: vec![path.to_path_buf()], ..Shards::default() });
    }
    if !storage::exists(path)? {
        return Err(Error::Missing(format!("{} does not exist", path.display())));
    }
    let holds_shards = generation_of(path).is_some() || path.ends_with(INHERITED);
    let mut shards = Shards::default();
    if holds_shards && !storage::is_folder(&path.join(FOLDER))? {
        shards.paths = in_folder(path, &mut shards.set_aside)?;
        return Ok(shards);
    }
    shards.inherited = in_folder(&path.join(FOLDER).join(INHERITED), &mut shards.set_aside)?;
    for (_, folder) in generation_folders(path)? {
        shards.paths.extend(in_folder(&folder, &mut shards.set_aside)?);
    }
    Ok(shards)
}

/// Returns the shards in a folder and adds those that were set aside to `set_aside`.
fn in_folder(folder: &Path, set_aside: &mut Vec<PathBuf>) -> Result<Vec<PathBuf>> {
    let (bad, others): (Vec<_>, Vec<_>) =
        storage::list(folder)?.into_iter().partition(|path| is_set_aside(path));
    set_aside.extend(bad);
    Ok(others.into_iter().filter(|path| is_shard(path)).collect())
}

/// Returns the shards of a run with their generations, oldest first.
///
/// # Errors
/// If a folder cannot be read.
pub fn list(run: &Path) -> Result<Vec<(usize, PathBuf)>> {
    let mut shards = Vec::new();
    for (generation, folder) in generation_folders(run)? {
        let paths = storage::list(&folder)?.into_iter().filter(|path| is_shard(path));
        shards.extend(paths.map(|path| (generation, path)));
    }
    shards.sort();
    Ok(shards)
}

/// Returns the numbers of the finished shards of a generation: those with a checksum file.
///
/// # Errors
/// If the folder cannot be read.
pub(crate) fn finished_in(run: &Path, generation: usize) -> Result<BTreeSet<usize>> {
    let folder = run.join(FOLDER).join(folder_name(generation));
    let paths: BTreeSet<PathBuf> = storage::list(&folder)?.into_iter().collect();
    let is_finished = |path: &&PathBuf| paths.contains(&checksum_path(path));
    Ok(paths.iter().filter(is_finished).filter_map(|path| number_of(path, "shard-", SUFFIX)).collect())
}

/// Returns the number in the name of a generation's folder; `None` for another name.
pub(crate) fn generation_of(folder: &Path) -> Option<usize> {
    number_of(folder, "generation-", "")
}

/// Returns whether a file has the name of a shard.
pub(crate) fn is_shard(path: &Path) -> bool {
    number_of(path, "shard-", SUFFIX).is_some()
}

/// Returns whether a file's name ends with the suffix of compressed shards.
pub(crate) fn is_packed(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(SUFFIX.as_bytes())
}

/// Returns whether a file's name ends with the suffix of uncompressed records.
pub(crate) fn is_plain(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(PLAIN.as_bytes())
}

/// Returns whether a shard is where a run keeps its own shards or those that it took over.
pub(super) fn is_of_run(path: &Path) -> bool {
    let name = if is_set_aside(path) { path.with_extension("") } else { path.to_path_buf() };
    let is_inherited = || path.parent().is_some_and(is_inherited_folder) && is_shard(&name);
    place_of(&name).is_some() || is_inherited()
}

/// Returns whether a file has the name of a shard that was set aside.
pub(crate) fn is_set_aside(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    extension.strip_prefix(BAD).is_some_and(|rest| rest.bytes().all(|digit| digit.is_ascii_digit()))
        && is_shard(&path.with_extension(""))
}

/// Renames a damaged shard, or any file or folder, so that nothing reads it again. Files that were set aside earlier
/// stay: the next file of the same name becomes `.bad2`.
///
/// # Errors
/// If the file cannot be renamed.
pub fn set_aside(path: &Path) -> Result<PathBuf> {
    let mut bad = bad_path(path);
    for number in 2.. {
        if !storage::exists(&bad)? {
            break;
        }
        bad = storage::with_suffix(path, &format!(".{BAD}{number}"));
    }
    storage::rename(path, &bad)?;
    Ok(bad)
}

/// Returns the path that a shard gets the first time it is set aside.
pub fn bad_path(path: &Path) -> PathBuf {
    storage::with_suffix(path, &format!(".{BAD}"))
}

/// Returns the path of a shard's checksum file, which is not renamed when the shard is set aside.
pub(super) fn checksum_path(path: &Path) -> PathBuf {
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
