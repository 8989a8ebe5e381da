//! Files that are written completely or not at all, their checksums, and locks.
//!
//! A path may also name something in an object store: `s3://bucket/runs/phage` (`remote`). The functions here read,
//! list, and write everything that belongs to a run, so a run may be there as well as in a folder.
//!
//! Reads are bounded: a file that is larger than its kind permits is rejected before it is read. Anything but a
//! regular file is not even opened ([`open`]).

pub mod attachment;
mod door;
mod lines;
pub mod own_file;
pub mod packed;
mod remote;
mod tail;
pub mod text;
mod whole;

use std::fs::{self, File, TryLockError};
use std::io::{BufReader, ErrorKind, Read, Write};
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use sha2::{Digest, Sha256};

pub use self::door::{open, open_log, open_or_create, open_to_append, read_given};
pub use self::lines::{Lines, lines, lines_of};
pub use self::remote::{is_remote, silence};
pub use self::tail::{Found, Tail};
pub use self::whole::{
    copy_whole, create_whole, is_temporary, remove_temporaries, stream_whole, write_folder_whole,
    write_program_whole, write_whole,
};
use crate::error::{Error, Result};

/// The largest text file (settings, manifest) that is read: enough for a manifest of 100,000 shards.
pub const LARGEST_TEXT: u64 = 32 << 20;
/// The text before and after the checksum at the end of a sealed file.
const SEAL: (&str, &str) = (",\n  \"sha256\": \"", "\"\n}");
/// Number of hexadecimal digits of a SHA-256.
const DIGITS: usize = 64;

/// Creates a folder and its missing parents. When the call returns, each new folder is on disk, together with its entry
/// in its parent.
pub fn create_folder(path: &Path) -> Result<()> {
    if remote::object(path)?.is_some() {
        return Ok(());
    }
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    create_folder(parent(path))?;
    create_one_folder(path)
}

/// Does the same as [`create_folder`] for the folder that contains `path`.
pub fn create_parent(path: &Path) -> Result<()> {
    create_folder(parent(path))
}

/// Does the same as [`create_folder`] for a folder below `root`, which must exist: if `root` was deleted, it is not
/// created again.
pub fn create_folder_in(root: &Path, path: &Path) -> Result<()> {
    if remote::object(path)?.is_some() || path.is_dir() {
        return Ok(());
    }
    let above = parent(path);
    if above != root && above.starts_with(root) {
        create_folder_in(root, above)?;
    }
    create_one_folder(path)
}

fn create_one_folder(path: &Path) -> Result<()> {
    match fs::create_dir(path) {
        Ok(()) => sync_folder(parent(path)),
        // another process was faster
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(Error::io(path)(error)),
    }
}

/// Opens or creates an empty file for a lock. A link is rejected, and an existing file is not changed.
pub fn open_lock(path: &Path) -> Result<File> {
    let file = match fs::symlink_metadata(path) {
        Ok(about) if about.is_file() => door::regular(path, File::options().write(true)),
        Ok(_) => {
            let what = "is not a regular file, so it cannot be the lock: remove it";
            return Err(Error::Config(format!("{} {what}", path.display())));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            match door::regular(path, File::options().write(true).create_new(true)) {
                // another process was faster
                Err(error) if error.kind() == ErrorKind::AlreadyExists => return open_lock(path),
                file => file,
            }
        }
        Err(error) => Err(error),
    };
    file.map_err(Error::io(path))
}

/// Returns whether `path` still leads to `file`, and not to a newer file of the same name.
pub fn is_still_at(file: &File, path: &Path) -> bool {
    still_at(file, path).unwrap_or(false)
}

/// Does the same as [`is_still_at`], but a failing disk is an error, so that it is not taken for a missing file.
fn still_at(file: &File, path: &Path) -> std::io::Result<bool> {
    let about = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        about => about?,
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let own = file.metadata()?;
        Ok((own.dev(), own.ino()) == (about.dev(), about.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = (file, about);
        Ok(true)
    }
}

/// The lock of a file, held until this value is dropped.
///
/// Closing the file is not enough: a child process that another thread is starting briefly holds every open file, and
/// the lock with it.
#[derive(Debug)]
pub struct Locked(File);

impl Deref for Locked {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // closing the file would also unlock it, but only later
        let _ = self.0.unlock();
    }
}

/// Takes the lock of `file`; the error names `command` as the command that may already use `place`.
pub fn lock(file: File, place: &Path, command: &str) -> Result<Locked> {
    match file.try_lock() {
        Ok(()) => Ok(Locked(file)),
        Err(TryLockError::WouldBlock) => {
            Err(Error::Config(format!("{} is in use by another {command}", place.display())))
        }
        Err(TryLockError::Error(error)) => Err(Error::io(place)(error)),
    }
}

/// Returns whether a process holds the lock of the file at `path`. To find out, it tries to take a shared lock, and
/// releases it at once.
pub fn is_locked(path: &Path) -> bool {
    open(path).is_ok_and(|file| match file.try_lock_shared() {
        Ok(()) => file.unlock().is_err(),
        Err(error) => matches!(error, TryLockError::WouldBlock),
    })
}

/// Returns the name of a file or folder, even if its path ends in `.` or `..`.
pub fn name_of(path: &Path) -> Option<String> {
    let whole = real(path).unwrap_or_else(|_| path.to_path_buf());
    whole.file_name().map(|name| name.to_string_lossy().into_owned())
}

/// Returns the path of a file or folder with all links followed.
pub fn real(path: &Path) -> Result<PathBuf> {
    if is_remote(path) { Ok(path.to_path_buf()) } else { path.canonicalize().map_err(Error::io(path)) }
}

/// Returns the contents of a folder, sorted; empty if there is no folder. A disk that fails halfway is an error,
/// because training would otherwise use a partial list as if it were complete.
pub fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    if let Some(object) = remote::object(folder)? {
        return object.list();
    }
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(Error::io(folder))?,
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = paths.collect::<std::io::Result<Vec<PathBuf>>>().map_err(Error::io(folder))?;
    paths.sort();
    Ok(paths)
}

/// Returns all files below a folder, with their lengths, sorted. Links are not followed: they count as files.
pub fn files_below(folder: &Path) -> Result<Vec<(PathBuf, u64)>> {
    if let Some(object) = remote::object(folder)? {
        return object.files_below();
    }
    let mut files = Vec::new();
    for path in list(folder)? {
        let about = fs::symlink_metadata(&path).map_err(Error::io(&path))?;
        if about.is_dir() { files.extend(files_below(&path)?) } else { files.push((path, about.len())) }
    }
    Ok(files)
}

/// Returns, sorted, the folders in `folder` that [`write_folder_whole`] wrote with `last` as the last file.
pub fn list_whole(folder: &Path, last: &str) -> Result<Vec<PathBuf>> {
    match remote::object(folder)? {
        // where folders do not appear as a whole, those without `last` are still being written
        Some(object) => object.folders_with(last),
        None => list(folder),
    }
}

/// Returns how long to wait before checking again whether another process has written something below `path`.
pub fn between_looks(path: &Path) -> Duration {
    Duration::from_millis(if is_remote(path) { 1000 } else { 100 })
}

/// Adds bytes at the end of a file, which is created if it is missing. In an object store, the bytes may be written
/// later, at the latest by [`sync`].
pub fn append(path: &Path, bytes: &[u8]) -> Result<()> {
    match remote::object(path)? {
        Some(object) => object.append(bytes),
        None => open_or_create(path)?.write_all(bytes).map_err(Error::io(path)),
    }
}

/// Does the same as [`append`] to a file that must exist: if it was deleted, it is not created again.
pub fn append_to(path: &Path, bytes: &[u8]) -> Result<()> {
    match remote::object(path)? {
        Some(object) => object.append(bytes),
        None => open_to_append(path)?.write_all(bytes).map_err(Error::io(path)),
    }
}

/// Waits until everything that was appended to a file is on disk.
pub fn sync(path: &Path) -> Result<()> {
    match remote::object(path)? {
        Some(object) => object.sync(),
        None => open_to_append(path)?.sync_all().map_err(Error::io(path)),
    }
}

/// Renames a file or folder within its folder. In an object store, the files of a folder are renamed one by one.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    if let Some(object) = remote::object(from)? {
        return object.rename(to);
    }
    fs::rename(from, to).map_err(Error::io(from))
}

/// Removes a file, unless it is already gone.
pub fn remove(path: &Path) -> Result<()> {
    if let Some(object) = remote::object(path)? {
        return object.remove();
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io(path)(error)),
        _ => Ok(()),
    }
}

/// Returns whether there is something at `path`. A path that cannot be examined is an error and does not count as
/// absent.
pub fn exists(path: &Path) -> Result<bool> {
    about(path).map(|about| about.is_some())
}

/// Returns whether there is a file at `path`, with errors as in [`exists`].
pub fn is_file(path: &Path) -> Result<bool> {
    about(path).map(|about| about.is_some_and(|about| about.is_file))
}

/// Returns whether there is a folder at `path`, with errors as in [`exists`].
pub fn is_folder(path: &Path) -> Result<bool> {
    about(path).map(|about| about.is_some_and(|about| about.is_folder))
}

/// Does the same as [`exists`] for a text that may mean something else, such as an agent or a game: a text that
/// cannot be the name of a file counts as absent, but an object store's complaint about an address is an error.
pub fn is_named(path: &Path) -> Result<bool> {
    exists(path).or_else(|error| if is_remote(path) { Err(error) } else { Ok(false) })
}

/// Does the same as [`exists`], but a path that cannot be examined counts as absent.
pub fn has(path: &Path) -> bool {
    exists(path).unwrap_or(false)
}

/// Does the same as [`is_file`], but a path that cannot be examined counts as absent.
pub fn has_file(path: &Path) -> bool {
    is_file(path).unwrap_or(false)
}

/// Does the same as [`is_folder`], but a path that cannot be examined counts as absent.
pub fn has_folder(path: &Path) -> bool {
    is_folder(path).unwrap_or(false)
}

/// The properties of a file or folder that are known without reading it.
#[derive(Clone, Copy, Debug)]
pub struct FileAbout {
    /// Whether there is a regular file at the path.
    pub is_file: bool,
    /// Whether there is a folder at the path.
    pub is_folder: bool,
    /// The length of a file, in bytes.
    pub length: u64,
    /// The time of the last write.
    pub modified: Option<SystemTime>,
}

/// Examines `path`. A path that cannot be examined is an error and does not count as absent.
pub fn about(path: &Path) -> Result<Option<FileAbout>> {
    if let Some(object) = remote::object(path)? {
        return object.about();
    }
    match fs::metadata(path) {
        Ok(about) => Ok(Some(FileAbout {
            is_file: about.is_file(),
            is_folder: about.is_dir(),
            length: about.len(),
            modified: about.modified().ok(),
        })),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(Error::io(path)(error)),
    }
}

/// Returns the length of a file, in bytes.
pub fn length(path: &Path) -> Result<u64> {
    let missing = || Error::io(path)(ErrorKind::NotFound.into());
    about(path)?.map(|about| about.length).ok_or_else(missing)
}

/// Returns the SHA-256 of `bytes` in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the SHA-256 of a file; only a small part of the file is in memory at a time.
pub fn sha256_of(path: &Path) -> Result<String> {
    let mut file = BufReader::with_capacity(1 << 16, open(path)?);
    let mut digest = Sha256::new();
    let mut part = [0; 1 << 14];
    loop {
        match file.read(&mut part) {
            Ok(0) => return Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            Ok(length) => digest.update(&part[..length]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io(path)(error)),
        }
    }
}

/// Reads a whole file.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    read_at_most(path, u64::MAX, "a file")
}

/// Reads a whole file of at most `limit` bytes; `what` names its kind in the error.
pub fn read_at_most(path: &Path, limit: u64, what: &str) -> Result<Vec<u8>> {
    if let Some(object) = remote::object(path)? {
        return object.read(limit, what);
    }
    door::at_most(open(path)?, path, limit, what)
}

/// Reads a text file; bytes that are not UTF-8 are replaced. UTF-16 is an error.
pub fn read_text(path: &Path, what: &str) -> Result<String> {
    let bytes = read_at_most(path, LARGEST_TEXT, what)?;
    let text = text::readable(&bytes).map_err(|why| Error::Data(format!("{}: {why}", path.display())))?;
    Ok(text.into_owned())
}

/// Returns `value` as a JSON object that ends with the SHA-256 of its own text, computed with zeros in place of the
/// digits.
pub fn sealed<T: Serialize>(value: &T) -> String {
    let text = serde_json::to_string_pretty(value).expect("sealed values are valid JSON");
    let object = text.strip_suffix("\n}").expect("sealed values are objects with entries");
    let with = |digits: &str| format!("{object}{}{digits}{}", SEAL.0, SEAL.1);
    with(&sha256(with(&"0".repeat(DIGITS)).as_bytes()))
}

/// Checks the seal at the end of `text`. If the seal is missing or wrong, returns the reason for an error message.
pub fn check_seal(text: &[u8]) -> std::result::Result<(), &'static str> {
    let Some((rest, digits)) = split_seal(text) else {
        return Err("it was changed or damaged: it no longer contains its SHA-256");
    };
    let zeroed = [rest, "0".repeat(DIGITS).as_bytes(), SEAL.1.as_bytes()].concat();
    if sha256(&zeroed).as_bytes() == digits {
        Ok(())
    } else {
        Err("it was changed or damaged: its SHA-256 differs from the one that it contains")
    }
}

/// Returns whether `text` ends with a seal, be it correct or not.
pub fn has_seal(text: &[u8]) -> bool {
    split_seal(text).is_some()
}

/// Returns the text in front of the digits of a seal, and the digits.
fn split_seal(text: &[u8]) -> Option<(&[u8], &[u8; DIGITS])> {
    let split = text.strip_suffix(SEAL.1.as_bytes())?.split_last_chunk::<DIGITS>()?;
    split.0.ends_with(SEAL.0.as_bytes()).then_some(split)
}

/// Returns `path` with `suffix` appended to its name, which need not be UTF-8.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(suffix);
    name.into()
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn sync_folder(folder: &Path) -> Result<()> {
    // folders can be opened and synced only on Unix
    if cfg!(unix) {
        door::folder(folder).and_then(|folder| folder.sync_all()).map_err(Error::io(folder))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deleted_root_is_not_created_again() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("run");
        let inside = root.join("records/generation-0001");
        assert!(create_folder_in(&root, &inside).is_err() && !root.exists());
        assert!(write_folder_whole(&root.join("checkpoint"), "last", |_| Ok(())).is_err() && !root.exists());
        fs::create_dir(&root).unwrap();
        create_folder_in(&root, &inside).unwrap();
        create_folder_in(&root, &inside).unwrap();
        assert!(inside.is_dir());
    }

    #[test]
    fn checksums_are_sha256() {
        let of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), of_abc);
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), b"abc").unwrap();
        assert_eq!(sha256_of(file.path()).unwrap(), of_abc);
    }

    #[test]
    fn a_seal_notices_every_changed_byte() {
        let text = sealed(&serde_json::json!({"a": 1, "b": [1, 2], "sha256": "not this one"}));
        assert_eq!(check_seal(text.as_bytes()), Ok(()), "{text}");
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] ^= 1;
            assert!(check_seal(&changed).is_err(), "byte {at}");
            assert!(check_seal(&text.as_bytes()[..at]).is_err(), "cut at {at}");
        }
        let unsealed = b"{\n  \"a\": 1\n}";
        assert!(has_seal(text.as_bytes()) && !has_seal(unsealed));
        assert!(check_seal(unsealed).unwrap_err().contains("no longer contains its SHA-256"));
    }

    #[test]
    fn files_over_the_limit_are_not_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), b"12345").unwrap();
        assert_eq!(read_at_most(file.path(), 5, "a test").unwrap(), b"12345");
        let error = read_at_most(file.path(), 4, "a test").unwrap_err().to_string();
        assert!(error.contains("more than 4 bytes, the maximum for a test"), "{error}");
    }

    #[test]
    fn a_dropped_lock_is_free_while_a_child_still_holds_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let open = || open_lock(&folder.path().join("lock")).unwrap();
        let first = lock(open(), folder.path(), "test").unwrap();
        // a child process has a copy of the open file between fork and exec
        let _of_a_child = first.try_clone().unwrap();
        assert!(lock(open(), folder.path(), "test").is_err());
        drop(first);
        assert!(lock(open(), folder.path(), "test").is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_is_not_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (target, lock) = (folder.path().join("target"), folder.path().join("lock"));
        for content in [None, Some("precious")] {
            if let Some(content) = content {
                fs::write(&target, content).unwrap();
            }
            std::os::unix::fs::symlink(&target, &lock).unwrap();
            assert!(open_lock(&lock).unwrap_err().to_string().contains("not a regular file"));
            assert_eq!(fs::read_to_string(&target).ok().as_deref(), content);
            fs::remove_file(&lock).unwrap();
        }
        let file = open_lock(&lock).unwrap();
        assert!(is_still_at(&file, &lock));
        fs::remove_file(&lock).unwrap();
        assert!(!is_still_at(&file, &lock));
        let _other = open_lock(&lock).unwrap();
        assert!(!is_still_at(&file, &lock));
    }
}
