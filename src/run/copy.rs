//! Copies a whole run to another place: between folders and object stores.
//!
//! The copy has the same bytes, except for what only says who works on the original. It appears as a whole, and only if
//! it holds everything that its newest checkpoint was trained on.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::folder::{Folder, LOCK, settings_of};
use super::inherit::{check_new, check_whole};
use super::{SETTINGS, work};
use crate::any::Opened;
use crate::error::{Error, Result};
use crate::storage;

/// What was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Number of files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// Copies the run in `from`, which nobody may be training, to `to`, where nothing may be. `is_gone` says that a process
/// that trained it is gone for sure, where that cannot be known otherwise: in an object store. `tick` is told how many
/// of how many files are copied, and returns whether to continue.
///
/// # Errors
/// There is no run in `from`, it is in use or lacks something that it was trained on, there is something at `to`, or a
/// file cannot be read or written.
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

/// Whether a file belongs to the run wherever it is, and not to a process that works on it.
fn is_of_the_run(run: &Path, path: &Path) -> bool {
    let is_temporary = path.iter().any(storage::is_temporary);
    let is_learner = path.parent() == Some(&*run.join(work::FOLDER));
    !is_temporary && !is_learner && path != run.join(LOCK)
}
