//! The only place where files are opened; it checks the kind of a file before opening it.
//!
//! Opening a FIFO waits for a process that writes into it, and a device may have no end, so only regular files are
//! opened where a file is expected. The whole library opens files through this module.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error as IoError, ErrorKind, Read, Result as IoResult};
use std::path::Path;

use super::remote;
use crate::error::{Error, Result};

/// Opens a regular file for reading. An object of a store is copied into a file without a name.
///
/// # Errors
/// If there is no such file, or it is not a regular file.
pub fn open(path: &Path) -> Result<File> {
    if let Some(object) = remote::object(path)? {
        return object.open();
    }
    regular(path, OpenOptions::new().read(true)).map_err(Error::io(path))
}

/// Opens an existing regular file to write at its end.
///
/// # Errors
/// As for [`open`].
pub fn open_to_append(path: &Path) -> Result<File> {
    regular(path, OpenOptions::new().append(true)).map_err(Error::io(path))
}

/// Opens a regular file to read it and to write at its end; it is created if it is missing.
///
/// # Errors
/// If the file cannot be created, or is not a regular file.
pub fn open_or_create(path: &Path) -> Result<File> {
    regular(path, OpenOptions::new().read(true).append(true).create(true)).map_err(Error::io(path))
}

/// Opens a log for appending: a regular file, which is created if it is missing, a terminal, `/dev/null`, or a stream
/// that this process already has open (`/dev/stderr`).
///
/// # Errors
/// If the log cannot be created, or is something else.
pub fn open_log(path: &Path) -> Result<File> {
    let takes_all = path.metadata().is_ok_and(|about| is_character_device(&about));
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    let log =
        if takes_all || is_open_already(path) { options.open(path) } else { regular(path, &mut options) };
    log.map_err(Error::io(path))
}

/// Reads a file of at most `limit` bytes that a user names: a regular file, or a stream that this process already has
/// open, such as `/dev/stdin` or a shell's `<(command)`. `what` names the kind of file in the error.
///
/// # Errors
/// If the path names something else, or if the file is too long or cannot be read.
pub fn read_given(path: &Path, limit: u64, what: &str) -> Result<Vec<u8>> {
    if let Some(object) = remote::object(path)? {
        return object.read(limit, what);
    }
    if is_open_already(path) {
        at_most(File::open(path).map_err(Error::io(path))?, path, limit, what)
    } else {
        at_most(open(path)?, path, limit, what)
    }
}

/// Reads the rest of a file, which must have at most `limit` bytes.
pub(super) fn at_most(file: File, path: &Path, limit: u64, what: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(Error::io(path))?;
    if bytes.len() as u64 <= limit {
        Ok(bytes)
    } else {
        Err(Error::Data(format!(
            "{}: it has more than {limit} bytes, the maximum for {what}, so it is something else",
            path.display()
        )))
    }
}

/// Opens a regular file with these options.
pub(super) fn regular(path: &Path, options: &mut OpenOptions) -> IoResult<File> {
    // checked before the file is opened, because opening alone can have an effect: the writer of a FIFO continues, or
    // a tape is rewound; if there is no file, opening reports that or creates it
    if let Ok(about) = path.metadata() {
        expect_regular(&about)?;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // if the file was replaced since the check: do not wait, and do not let it become this process's terminal
        options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    }
    let file = options.open(path)?;
    expect_regular(&file.metadata()?)?;
    Ok(file)
}

/// Opens the folder itself.
pub(super) fn folder(path: &Path) -> IoResult<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(libc::O_NONBLOCK | libc::O_DIRECTORY);
    }
    options.open(path)
}

fn expect_regular(about: &Metadata) -> IoResult<()> {
    if about.is_file() {
        Ok(())
    } else {
        let what = format!("it is {}, not a file", kind_of(about));
        Err(IoError::new(ErrorKind::InvalidInput, what))
    }
}

/// Returns the name of a kind of file other than a regular one.
fn kind_of(about: &Metadata) -> &'static str {
    if about.is_dir() {
        return "a folder";
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = about.file_type();
        if kind.is_fifo() {
            return "a FIFO";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    "something else"
}

fn is_character_device(about: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        about.file_type().is_char_device()
    }
    #[cfg(not(unix))]
    {
        let _ = about;
        false
    }
}

/// Returns whether a path names a stream that this process already has open: opening it again does not wait.
fn is_open_already(path: &Path) -> bool {
    let streams = ["/dev/stdin", "/dev/stdout", "/dev/stderr"];
    let folders = ["/dev/fd", "/proc/self/fd"];
    cfg!(unix)
        && (streams.iter().any(|name| path == Path::new(name))
            || path.parent().is_some_and(|parent| folders.iter().any(|name| parent == Path::new(name))))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::storage;

    /// Returns a folder with one file of each special kind: their paths, and the names of their kinds.
    fn strange() -> (tempfile::TempDir, Vec<(std::path::PathBuf, &'static str)>) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        assert!(std::process::Command::new("mkfifo").arg(at("fifo")).status().unwrap().success());
        std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("zero")).unwrap();
        std::os::unix::fs::symlink(at("fifo"), at("link")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        let kinds = [
            ("fifo", "a FIFO"),
            ("socket", "a socket"),
            ("zero", "a device"),
            ("link", "a FIFO"),
            ("folder", "a folder"),
        ];
        let found = kinds.map(|(name, kind)| (at(name), kind)).to_vec();
        (folder, found)
    }

    #[test]
    fn what_is_no_file_is_named_and_not_waited_for() {
        let (_folder, strange) = strange();
        for (path, kind) in &strange {
            let message = format!("{}: it is {kind}, not a file", path.display());
            for result in [open(path), open_to_append(path), open_or_create(path)] {
                assert_eq!(result.unwrap_err().to_string(), message);
            }
            assert_eq!(storage::read(path).unwrap_err().to_string(), message);
            assert_eq!(storage::read_at_most(path, 9, "a test").unwrap_err().to_string(), message);
            assert_eq!(read_given(path, 9, "a test").unwrap_err().to_string(), message);
            assert_eq!(storage::sha256_of(path).unwrap_err().to_string(), message);
            assert!(storage::open_lock(path).unwrap_err().to_string().contains("it cannot be the lock"));
            assert!(!storage::is_locked(path));
            assert!(storage::copy_whole(path, &path.with_extension("copy")).is_err());
            assert!(storage::attachment::find(path).is_err());
        }
    }

    #[test]
    fn logs_and_given_streams_may_be_devices() {
        let folder = tempfile::tempdir().unwrap();
        open_log(&folder.path().join("log")).unwrap();
        open_log(Path::new("/dev/null")).unwrap();
        let (_folder, strange) = strange();
        assert!(open_log(&strange[0].0).is_err());
        assert!(is_open_already(Path::new("/dev/fd/63")) && is_open_already(Path::new("/dev/stdin")));
        assert!(!is_open_already(Path::new("/dev/zero")) && !is_open_already(Path::new("runs/a")));
    }
}
