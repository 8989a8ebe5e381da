//! Copies a whole run between folders and object stores.
//!
//! The copy has the same bytes as the original, but lacks files that only record which processes work on the original.
//! The copy appears only when it is complete, and only if it holds everything that its newest checkpoint was trained
//! on.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::inherit::{check_new, check_whole};
use crate::any::Opened;
use crate::error::{Error, Result};
use crate::run::files::folder::{Folder, LOCK};
use crate::run::files::settings::{SETTINGS, settings_of};
use crate::run::files::shared::WORK;
use crate::storage;

/// The size of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The number of files.
    pub files: usize,
    /// The total length of the files, in bytes.
    pub bytes: u64,
}

/// Copies the run in `from`, which no process may be training, to `to`, which must be new. In an object store, the
/// program cannot find out whether a process that trained the run is gone; `is_gone` says that the caller knows this.
/// `tick` is called with the number of files copied so far and the number of all files; it returns whether to
/// continue.
///
/// # Errors
/// If there is no run in `from`, if it is in use or lacks something that it was trained on, if there is anything at
/// `to`, or if a file cannot be read or written.
pub fn copy(
    rules: &Opened,
    from: &Path,
    to: &Path,
    is_gone: bool,
    tick: &(dyn Fn(usize, usize) -> bool + Sync),
) -> Result<Copied> {
    let config = settings_of(from)?;
    check_new(to)?;
    let _held = Folder::lock_unused(from, is_gone)?;
    let mut files = storage::files_below(from)?;
    files.retain(|(path, _)| is_of_the_run(from, path));
    let done = AtomicUsize::new(0);
    storage::create_parent(to)?;
    storage::write_folder_whole(to, SETTINGS, |copy| {
        files.par_iter().try_for_each(|(path, _)| {
            if !tick(done.fetch_add(1, Ordering::Relaxed), files.len()) {
                return Err(Error::Interrupted);
            }
            let name: PathBuf = path.strip_prefix(from).unwrap_or(path).to_path_buf();
            storage::copy_whole(path, &copy.join(name))
        })?;
        check_whole(copy, from, &config, rules)
    })?;
    Ok(Copied { files: files.len(), bytes: files.iter().map(|(_, bytes)| bytes).sum() })
}

/// Returns whether a file belongs to the run itself, and not to a process that works on it.
fn is_of_the_run(run: &Path, path: &Path) -> bool {
    let is_temporary = path.iter().any(storage::is_temporary);
    let is_learner = path.parent() == Some(&*run.join(WORK));
    !is_temporary && !is_learner && path != run.join(LOCK)
}
