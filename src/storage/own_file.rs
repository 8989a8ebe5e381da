//! Finds the file of the running program, even if the system does not say where it is: the jails of some juries do
//! not mount `/proc`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::error::{Error, Result};

/// Returns the running program's own file.
///
/// # Errors
/// If no source says where the file is.
pub fn own_file() -> Result<PathBuf> {
    places().first().cloned().ok_or_else(|| {
        Error::Data(
            "the program cannot find its own file: mount /proc, or start the program by its path".into(),
        )
    })
}

/// Returns the files that may be the running program's own, the likeliest first: according to the system, to the
/// kernel, and to the caller's command line. The paths are absolute and are determined on the first call, because the
/// working folder may change later.
pub fn places() -> &'static [PathBuf] {
    static PLACES: OnceLock<Vec<PathBuf>> = OnceLock::new();
    PLACES.get_or_init(|| {
        let command = std::env::args_os().next().and_then(|name| found(&name, std::env::var_os("PATH")));
        let sources = [std::env::current_exe().ok(), started(), command];
        let mut files: Vec<PathBuf> = Vec::new();
        for file in sources.into_iter().flatten().filter_map(|path| std::path::absolute(path).ok()) {
            if file.is_file() && !files.contains(&file) {
                files.push(file);
            }
        }
        files
    })
}

/// Returns the file that a shell would start by this name: a path, or a name to search for in the list `folders`.
fn found(name: &OsStr, folders: Option<OsString>) -> Option<PathBuf> {
    let path = Path::new(name);
    if name.is_empty() || path.components().count() > 1 || path.is_absolute() {
        return (!name.is_empty()).then(|| path.to_path_buf());
    }
    std::env::split_paths(&folders?).map(|folder| folder.join(path)).find(|file| file.is_file())
}

/// Returns the path that the kernel was asked to start.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn started() -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    // SAFETY: the call takes a number and returns 0 if there is no such entry; this entry points to a null-terminated
    // text, which the kernel put above the stack and which never changes.
    let text = unsafe {
        let text = libc::getauxval(libc::AT_EXECFN) as *const libc::c_char;
        (!text.is_null()).then(|| std::ffi::CStr::from_ptr(text))?
    };
    Some(PathBuf::from(OsStr::from_bytes(text.to_bytes())))
}

#[cfg(not(target_os = "linux"))]
fn started() -> Option<PathBuf> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_names_the_same_file() {
        let own = std::env::current_exe().unwrap();
        assert_eq!(own_file().unwrap(), own);
        assert!(places().iter().all(|place| place.is_file() && place.is_absolute()));
        #[cfg(target_os = "linux")]
        assert_eq!(started().unwrap().canonicalize().unwrap(), own.canonicalize().unwrap());
    }

    #[test]
    fn a_name_is_searched_for_as_by_a_shell() {
        let folder = tempfile::tempdir().unwrap();
        let [empty, full] = ["empty", "full"].map(|name| folder.path().join(name));
        for folder in [&empty, &full] {
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::write(full.join("bot"), "").unwrap();
        std::fs::create_dir(empty.join("bot")).unwrap();
        let folders = || Some(std::env::join_paths([&empty, &full]).unwrap());
        assert_eq!(found("bot".as_ref(), folders()), Some(full.join("bot")));
        assert_eq!(found("other".as_ref(), folders()), None);
        assert_eq!(found("bot".as_ref(), None), None);
        assert_eq!(found("./bot".as_ref(), folders()), Some(PathBuf::from("./bot")));
        assert_eq!(found("/x/bot".as_ref(), None), Some(PathBuf::from("/x/bot")));
        assert_eq!(found("".as_ref(), folders()), None);
    }
}
