//! Files that appear whole or not at all, and their checksums.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

const TEMPORARY: &str = ".tmp-";

/// Writes `bytes` to `path`: a temporary name, fsync, rename, fsync of the folder. On an error nothing stays.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let temporary = temporary_beside(path)?;
    let written = File::create(&temporary)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temporary, path));
    if let Err(error) = written {
        let _ = fs::remove_file(&temporary);
        return Err(Error::io(path)(error));
    }
    sync_folder(parent(path))
}

/// Makes the folder `path` appear with everything that `fill` writes into it.
pub fn write_folder_whole(path: &Path, fill: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let temporary = temporary_beside(path)?;
    if temporary.exists() {
        fs::remove_dir_all(&temporary).map_err(Error::io(&temporary))?;
    }
    fs::create_dir_all(&temporary).map_err(Error::io(&temporary))?;
    fill(&temporary)?;
    sync_folder(&temporary)?;
    fs::rename(&temporary, path).map_err(Error::io(path))?;
    sync_folder(parent(path))
}

/// Takes the lock of `file`, which lasts as long as it is open; `command` is who else may have `place` in use.
pub fn lock(file: &File, place: &Path, command: &str) -> Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            Err(Error::Config(format!("{} is in use by another {command}", place.display())))
        }
        Err(TryLockError::Error(error)) => Err(Error::io(place)(error)),
    }
}

/// Removes what an interrupted [`write_whole`] or [`write_folder_whole`] may have left in `folder`.
pub fn remove_temporaries(folder: &Path) -> Result<()> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if !is_temporary(&name.to_string_lossy()) {
            continue;
        }
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(Error::io(&path))?;
    }
    Ok(())
}

/// The SHA-256 of `bytes` in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a whole file.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(Error::io(path))
}

/// Reads a whole file of JSON.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    serde_json::from_slice(&read(path)?)
        .map_err(|e| Error::Data(format!("{}: {e}; remove the file if it cannot be mended", path.display())))
}

/// Whether a file of this name is one that an interrupted write left.
pub fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY)
}

fn temporary_beside(path: &Path) -> Result<PathBuf> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = name.ok_or_else(|| Error::Config(format!("`{}` is no name of a file", path.display())))?;
    Ok(path.with_file_name(format!("{TEMPORARY}{name}")))
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn sync_folder(folder: &Path) -> Result<()> {
    // folders can be opened and synced on Unix only
    if cfg!(unix) {
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::io(folder))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_appear_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        write_whole(&path, b"one").unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!(read(&path).unwrap(), b"two");
        let whole = folder.path().join("whole");
        let failed = write_folder_whole(&whole, |_| Err(Error::Interrupted));
        assert!(failed.is_err() && !whole.exists());
        remove_temporaries(folder.path()).unwrap();
        write_folder_whole(&whole, |inside| write_whole(&inside.join("b"), b"b")).unwrap();
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }

    #[test]
    fn checksums_are_sha256() {
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
