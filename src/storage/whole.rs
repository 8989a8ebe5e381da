//! Files and folders that appear completely or not at all: they are made under a temporary name, then renamed.
//!
//! A file or folder under a temporary name, a *temporary*, is locked while it is being made. Several processes may make
//! the same file at once, each under its own temporary name. A temporary without a lock was left behind by a process
//! that is gone; the next process that makes the same file removes it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io::{BufWriter, ErrorKind, Result as IoResult, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::{Locked, create_parent, door, is_remote, list, parent, remote, still_at, sync_folder};
use crate::error::{Error, Result};

const TEMPORARY: &str = ".tmp-";
/// The number of processes that may make the same file or folder at once.
const MOST_AT_ONCE: usize = 1000;

/// Writes `bytes` to `path`: temporary name, fsync, rename, fsync of the folder. After an error, nothing is left
/// behind.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(object) = remote::object(path)? {
        return object.write(bytes.to_vec());
    }
    stream_whole(path, |file| file.write_all(bytes).map_err(Error::io(path)))
}

/// Does the same as [`write_whole`] for a program: everyone who can read the file may also execute it.
pub fn write_program_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    fill_whole(path, |file| {
        file.write_all(bytes).and_then(|()| permit_to_run(file.get_ref())).map_err(Error::io(path))
    })
}

/// Does the same as [`write_whole`] with contents that `fill` writes, so that they need not be held in memory.
pub fn stream_whole(path: &Path, fill: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    if let Some(object) = remote::object(path)? {
        let mut bytes = Vec::new();
        return fill(&mut bytes).and_then(|()| object.write(bytes));
    }
    fill_whole(path, |file| fill(file))
}

fn fill_whole(path: &Path, fill: impl FnOnce(&mut BufWriter<&File>) -> Result<()>) -> Result<()> {
    let (temporary, lock) = begin(path, new_file)?;
    let lock = lock.expect("a new file is open");
    let mut file = BufWriter::new(&*lock);
    let finish = |mut file: BufWriter<&File>| {
        file.flush()?;
        lock.sync_all().and_then(|()| fs::rename(&temporary, path))
    };
    let result = fill(&mut file).and_then(|()| finish(file).map_err(Error::io(path)));
    if result.is_err() {
        let _ = fs::remove_file(&temporary);
        return result;
    }
    sync_folder(parent(path))
}

/// Writes `bytes` to `path` if nothing is there yet; if several processes do so at once, one succeeds. Returns `None`
/// if the file has these bytes now, and otherwise the bytes that another process wrote before. The bytes should differ
/// from those of all other processes: finding them in the file then proves that this process wrote them, even if the
/// answer to the first attempt was lost.
///
/// # Errors
/// If the file can be neither written nor read.
pub fn create_whole(path: &Path, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
    if let Some(object) = remote::object(path)? {
        return object.create(bytes.to_vec());
    }
    let (temporary, lock) = begin(path, new_file)?;
    let mut file = &*lock.expect("a new file is open");
    let result = file.write_all(bytes).and_then(|()| file.sync_all());
    // unlike a rename, a link never replaces a file
    let result = result.and_then(|()| fs::hard_link(&temporary, path));
    let _ = fs::remove_file(&temporary);
    match result {
        Ok(()) => sync_folder(parent(path)).map(|()| None),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let contents = super::read(path)?;
            Ok((contents != bytes).then_some(contents))
        }
        Err(error) => Err(Error::io(path)(error)),
    }
}

/// Copies a file as a whole; the folders of `to` are created.
pub fn copy_whole(from: &Path, to: &Path) -> Result<()> {
    let mut source = door::open(from)?;
    create_parent(to)?;
    stream_whole(to, |file| std::io::copy(&mut source, file).map(|_| ()).map_err(Error::io(to)))
}

/// Creates the folder `path` atomically, with everything that `fill` writes into it. The parent of `path` must exist,
/// and the folder itself must not exist, except as an empty folder: if several processes make it at once, one succeeds.
/// After an error, nothing is left behind. In an object store, the file `last` is created after all others, and a
/// folder that has it is whole ([`list_whole`](super::list_whole)).
pub fn write_folder_whole(path: &Path, last: &str, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if is_remote(path) {
        return write_objects(path, last, fill);
    }
    let (temporary, _lock) = begin(path, new_folder)?;
    let finish = || {
        sync_folder(&temporary)?;
        fs::rename(&temporary, path).map_err(|error| match error.kind() {
            ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                made_meanwhile(path)
            }
            _ => Error::io(path)(error),
        })
    };
    if let Err(error) = fill(&temporary).and_then(|()| finish()) {
        let _ = fs::remove_dir_all(&temporary);
        return Err(error);
    }
    sync_folder(parent(path))
}

/// Does the work of [`write_folder_whole`] in an object store: the files are first made in a local folder.
fn write_objects(path: &Path, last: &str, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let here = std::env::temp_dir();
    let name = format!("petteia-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let folder = here.join(name);
    fs::create_dir(&folder).map_err(Error::io(&folder))?;
    let result = fill(&folder).and_then(|()| {
        let (ends, files): (Vec<_>, Vec<_>) = super::files_below(&folder)?
            .into_iter()
            .map(|(file, _)| file)
            .partition(|file| file == &folder.join(last));
        let place = |file: &Path| path.join(file.strip_prefix(&folder).expect("it is in the folder"));
        files.par_iter().try_for_each(|file| write_whole(&place(file), &super::read(file)?))?;
        for file in ends {
            if create_whole(&place(&file), &super::read(&file)?)?.is_some() {
                return Err(made_meanwhile(path));
            }
        }
        Ok(())
    });
    let _ = fs::remove_dir_all(&folder);
    result
}

/// A counter that makes the names of this process's folders unique.
static NUMBER: AtomicUsize = AtomicUsize::new(0);

fn made_meanwhile(path: &Path) -> Error {
    let what = "another process created it in the meantime; this one changed nothing";
    Error::Config(format!("{} already exists: {what}", path.display()))
}

/// Removes temporaries that an interrupted [`write_whole`] or [`write_folder_whole`] may have left behind in `folder`.
pub fn remove_temporaries(folder: &Path) -> Result<()> {
    if is_remote(folder) {
        return Ok(());
    }
    for path in list(folder)?.into_iter().filter(|path| path.file_name().is_some_and(is_temporary)) {
        // without locks, this is called only where no other process writes
        let result = leftover(&path).and_then(|state| match state {
            Use::Now => Ok(()),
            Use::Left(_) | Use::Unknown => remove(&path),
        });
        result.map_err(Error::io(&path))?;
    }
    Ok(())
}

/// Returns whether this is the name of a file or folder that is being made, or that an interrupted write left behind.
pub fn is_temporary(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes())
}

/// Creates a temporary beside `path` that no other process uses; it stays locked while the second value lives.
fn begin(path: &Path, create: fn(&Path) -> IoResult<Option<File>>) -> Result<(PathBuf, Option<Locked>)> {
    for number in 1..=MOST_AT_ONCE {
        let temporary = temporary_beside(path, number)?;
        let mut created = create(&temporary);
        if is_taken(&created)
            && let Use::Left(_lock) = leftover(&temporary).map_err(Error::io(path))?
        {
            remove(&temporary).map_err(Error::io(&temporary))?;
            created = create(&temporary);
        }
        if is_taken(&created) {
            continue;
        }
        let Some(file) = created.map_err(Error::io(path))? else { return Ok((temporary, None)) };
        // before the temporary was locked, another process may have taken it for a leftover: it may be gone, or about
        // to be removed
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            continue;
        }
        match still_at(&file, &temporary) {
            Ok(true) => return Ok((temporary, Some(Locked(file)))),
            Ok(false) => {}
            // a failing disk says nothing about other processes
            Err(error) => {
                let _ = remove_made(&temporary, &file);
                return Err(Error::io(path)(error));
            }
        }
    }
    Err(Error::Config(format!(
        "{}: {MOST_AT_ONCE} other processes are writing it at the same time",
        path.display()
    )))
}

fn is_taken<T>(created: &IoResult<T>) -> bool {
    matches!(created, Err(error) if error.kind() == ErrorKind::AlreadyExists)
}

fn new_file(path: &Path) -> IoResult<Option<File>> {
    File::options().write(true).create_new(true).open(path).map(Some)
}

/// Creates a folder, and opens it for locking where that is possible.
fn new_folder(path: &Path) -> IoResult<Option<File>> {
    fs::create_dir(path)?;
    opened_new(path)
}

/// Opens a folder that was just made. If it is missing, another process took it for a leftover and removed it; the
/// name then counts as taken by that process.
fn opened_new(path: &Path) -> IoResult<Option<File>> {
    match door::folder(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(ErrorKind::AlreadyExists.into())
        }
        // folders in general, or this one, cannot be opened
        Err(_) => Ok(None),
    }
}

/// Whether a temporary is still being made.
enum Use {
    /// The temporary is a leftover. While the lock is held, no other process removes the leftover. Kinds of files that
    /// are never made here have no lock.
    Left(Option<Locked>),
    Now,
    /// The use is unknown: there are no locks here, or the temporary may not be opened.
    Unknown,
}

/// Examines a temporary; a failing disk is an error, because it says nothing about other processes.
fn leftover(temporary: &Path) -> IoResult<Use> {
    let about = match fs::symlink_metadata(temporary) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Use::Unknown),
        about => about?,
    };
    let file = match (about.is_dir(), about.is_file()) {
        (true, _) => door::folder(temporary),
        (_, true) => door::regular(temporary, File::options().read(true).write(true)),
        _ => return Ok(Use::Left(None)),
    };
    let file = match file {
        // the temporary may not be opened, is gone, or is something else by now
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::PermissionDenied | ErrorKind::NotFound | ErrorKind::InvalidInput
            ) =>
        {
            return Ok(Use::Unknown);
        }
        file => file?,
    };
    Ok(match file.try_lock() {
        Ok(()) if still_at(&file, temporary)? => Use::Left(Some(Locked(file))),
        Ok(()) | Err(TryLockError::WouldBlock) => Use::Now,
        Err(TryLockError::Error(_)) => Use::Unknown,
    })
}

fn remove(temporary: &Path) -> IoResult<()> {
    // a link itself is removed, not its target
    if fs::symlink_metadata(temporary)?.is_dir() {
        fs::remove_dir_all(temporary)
    } else {
        fs::remove_file(temporary)
    }
}

/// Removes a temporary that was just made and is still empty.
fn remove_made(temporary: &Path, file: &File) -> IoResult<()> {
    if file.metadata()?.is_dir() { fs::remove_dir(temporary) } else { fs::remove_file(temporary) }
}

fn temporary_beside(path: &Path, number: usize) -> Result<PathBuf> {
    let name = path
        .file_name()
        .ok_or_else(|| Error::Config(format!("`{}` does not name a file", path.display())))?;
    let mut temporary = OsString::from(TEMPORARY);
    if number > 1 {
        temporary.push(format!("{number}-"));
    }
    temporary.push(name);
    Ok(path.with_file_name(temporary))
}

#[cfg(unix)]
fn permit_to_run(file: &File) -> IoResult<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = file.metadata()?.permissions().mode();
    file.set_permissions(fs::Permissions::from_mode(mode | (mode & 0o444) >> 2))
}

/// Does nothing: on other systems, the name of a file determines whether it is a program.
#[cfg(not(unix))]
fn permit_to_run(_file: &File) -> IoResult<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::storage::read;

    #[test]
    fn files_and_folders_appear_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write_whole(&path, b"one").unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!(read(&path).unwrap(), b"two");
        let failed = stream_whole(&path, |file| {
            file.write_all(b"half").unwrap();
            Err(Error::Interrupted)
        });
        assert!(failed.is_err() && read(&path).unwrap() == b"two");
        let whole = folder.path().join("whole");
        let failed = write_folder_whole(&whole, "b", |_| Err(Error::Interrupted));
        assert!(failed.is_err() && !whole.exists());
        remove_temporaries(folder.path()).unwrap();
        write_folder_whole(&whole, "b", |inside| write_whole(&inside.join("b"), b"b")).unwrap();
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }

    #[test]
    fn of_those_who_create_a_file_at_once_one_succeeds() {
        let folder = tempfile::tempdir().unwrap();
        const MAKERS: usize = 6;
        for round in 0..20 {
            let path = folder.path().join(round.to_string());
            let begun = Barrier::new(MAKERS);
            let create = |maker: usize| {
                begun.wait();
                create_whole(&path, format!("maker {maker}").as_bytes()).unwrap()
            };
            let create = &create;
            let before: Vec<Option<Vec<u8>>> = std::thread::scope(|scope| {
                let makers: Vec<_> = (0..MAKERS).map(|maker| scope.spawn(move || create(maker))).collect();
                makers.into_iter().map(|maker| maker.join().unwrap()).collect()
            });
            let winners: Vec<usize> = (0..MAKERS).filter(|maker| before[*maker].is_none()).collect();
            let [winner] = winners[..] else { panic!("{before:?}") };
            let there = format!("maker {winner}").into_bytes();
            assert_eq!(read(&path).unwrap(), there);
            assert!(before.into_iter().flatten().all(|found| found == there));
            // once more, as if the answer had been lost
            assert_eq!(create_whole(&path, &there).unwrap(), None);
        }
        assert_eq!(list(folder.path()).unwrap().len(), 20, "nothing else is left");
        assert!(create_whole(&folder.path().join("missing/file"), b"").is_err());
    }

    #[test]
    fn of_those_who_make_a_folder_at_once_one_succeeds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("copy");
        const MAKERS: usize = 6;
        let (begun, filled) = (Barrier::new(MAKERS), Barrier::new(MAKERS));
        let make = |maker: usize| {
            write_folder_whole(&path, "b", |inside| {
                begun.wait();
                for name in ["a", "b"] {
                    write_whole(&inside.join(name), maker.to_string().as_bytes())?;
                }
                filled.wait();
                Ok(())
            })
        };
        let make = &make;
        let made: Vec<Result<()>> = std::thread::scope(|scope| {
            let makers: Vec<_> = (0..MAKERS).map(|maker| scope.spawn(move || make(maker))).collect();
            makers.into_iter().map(|maker| maker.join().unwrap()).collect()
        });
        let winners: Vec<usize> = (0..MAKERS).filter(|maker| made[*maker].is_ok()).collect();
        let [winner] = winners[..] else { panic!("{made:?}") };
        for name in ["a", "b"] {
            assert_eq!(read(&path.join(name)).unwrap(), winner.to_string().as_bytes());
        }
        for error in made.into_iter().filter_map(Result::err) {
            assert!(error.to_string().contains("copy already exists: another process created it"), "{error}");
        }
        assert_eq!(list(folder.path()).unwrap(), [path], "nothing is left");
    }

    /// Between the creation of a folder and its lock, another process may remove it as a leftover.
    #[test]
    fn a_folder_that_another_process_removed_at_once_is_not_used() {
        fn removed_at_once(path: &Path) -> IoResult<Option<File>> {
            fs::create_dir(path)?;
            if path.ends_with(".tmp-copy") {
                fs::remove_dir(path)?;
            }
            opened_new(path)
        }
        let folder = tempfile::tempdir().unwrap();
        let (temporary, held) = begin(&folder.path().join("copy"), removed_at_once).unwrap();
        assert_eq!(temporary, folder.path().join(".tmp-2-copy"));
        assert!(held.is_some() && temporary.is_dir());
    }

    #[test]
    fn what_a_process_that_is_gone_has_left_is_removed_and_what_is_being_made_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let left = folder.path().join(".tmp-file");
        fs::write(&left, "left").unwrap();
        write_whole(&path, b"one").unwrap();
        assert!(!left.exists());
        stream_whole(&path, |file| {
            file.write_all(b"two").unwrap();
            write_whole(&path, b"at the same time").unwrap();
            remove_temporaries(folder.path()).unwrap();
            assert!(left.exists());
            Ok(())
        })
        .unwrap();
        assert_eq!(read(&path).unwrap(), b"two");
        fs::create_dir(&left).unwrap();
        fs::write(left.join("inside"), "left").unwrap();
        write_folder_whole(&folder.path().join("file2"), "b", |_| {
            remove_temporaries(folder.path())?;
            assert!(!left.exists());
            Ok(())
        })
        .unwrap();
        // something that is never made as a temporary
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&path, &left).unwrap();
            write_whole(&path, b"three").unwrap();
            assert!(!left.exists() && !left.is_symlink());
            assert_eq!(read(&path).unwrap(), b"three");
        }
    }
}
