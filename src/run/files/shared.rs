//! What the processes of a run leave for each other: sealed files in the folder `work/`, each created by one process
//! and never changed.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::replay::store;
use crate::storage;

/// The folder of the sealed files, in the folder of a run.
pub(crate) const WORK: &str = "work";

/// Returns the folder of a generation's files.
pub(in crate::run) fn folder_of(run: &Path, generation: usize) -> PathBuf {
    run.join(WORK).join(store::folder_name(generation))
}

/// A process that works on a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The machine's name.
    pub machine: String,
    /// The number of the process on its machine.
    pub process: u32,
    /// Random letters and digits that no other process has.
    pub nonce: String,
}

impl Identity {
    /// Returns the identity of this process. Each call makes another nonce.
    pub fn here() -> Identity {
        // the standard library seeds each hasher with random bits of the system
        let nonce = format!("{:016x}", RandomState::new().build_hasher().finish());
        Identity { machine: machine_name(), process: std::process::id(), nonce }
    }
}

/// Returns the name of this machine in its network.
fn machine_name() -> String {
    #[cfg(unix)]
    let name = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    #[cfg(not(unix))]
    let name = std::env::var("COMPUTERNAME").ok();
    name.unwrap_or_else(|| "a machine without a name".into())
}

impl fmt::Display for Identity {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "process {} on {}", self.process, self.machine)
    }
}

/// Creates a sealed file, unless there is one already. Returns the value of the existing file, or `None` if there was
/// no file and this process created one. The seal is the entry `sha256`.
pub(in crate::run) fn create<T: Serialize + DeserializeOwned>(path: &Path, value: &T) -> Result<Option<T>> {
    match storage::create_whole(path, storage::sealed(value).as_bytes())? {
        None => Ok(None),
        Some(bytes) => parsed(path, &bytes).map(Some),
    }
}

/// Reads a sealed file.
pub(in crate::run) fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    parsed(path, &storage::read_at_most(path, storage::LARGEST_TEXT, "a sealed file")?)
}

fn parsed<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T> {
    let place = path.display();
    storage::check_seal(bytes).map_err(|why| Error::Data(format!("{place}: {why}")))?;
    serde_json::from_slice(bytes).map_err(|error| Error::Data(format!("{place}: {error}")))
}
