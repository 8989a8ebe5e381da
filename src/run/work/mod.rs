//! What several processes do for one run, without talking to each other: files in the run's folder `work/`.
//!
//! A shard is a function of the settings, its generation and number, and the network that plays: whoever plays it gets
//! the same games, and playing it twice only wastes time. So nobody is told what to do. A worker plays what is missing
//! ([`worker`]), writes it under a name that nobody else uses, and then *commits* it (`commit`): it creates a small
//! file that only the first can create. The learner takes in what is committed (`gather`), checks it as everything
//! else that is trained on, and keeps it where a run has its shards. Before it trains, it creates the list of what it
//! took, which is the truth from then on (`commit::Consumed`).
//!
//! ```text
//! work/learner-0001.json                                 who learns (`learner`); the newest one counts
//! work/generation-0003/shard-0007-1-5be1....jsonl.zst    games that a worker played, until the learner has them
//! work/generation-0003/shard-0007.commit-1.json          the first of them that was committed
//! work/generation-0003/shard-0007.rejected-1.json        the learner found it wrong; commit-2 may follow
//! work/generation-0003/shard-0007.failed-5be1....json    a worker could not play it
//! work/generation-0003/shard-0007.aside.json             nobody can: the run goes on without it
//! work/generation-0003/judged.json                       the games of a judge with the network of generation 3
//! work/generation-0003/consumed.json                     what generation 3 was trained on
//! ```

pub(super) mod commit;
pub(super) mod failed;
#[cfg(feature = "train")]
pub(super) mod gather;
pub(super) mod judging;
pub mod learner;
pub(super) mod listing;
pub mod roster;
pub mod tally;
pub mod worker;

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::replay::store;
use crate::storage;

/// The folder of a run for what its processes tell each other.
pub const FOLDER: &str = "work";

/// The folder of a generation there.
pub(super) fn folder_of(run: &Path, generation: usize) -> PathBuf {
    run.join(FOLDER).join(store::folder_name(generation))
}

/// A process that works on a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The machine's name.
    pub machine: String,
    /// The number of the process there.
    pub process: u32,
    /// Random letters and digits: no other process has the same.
    pub nonce: String,
}

impl Identity {
    /// This process. Each call makes another nonce.
    pub fn here() -> Identity {
        // the standard library seeds each of these with random bits of the system
        let nonce = format!("{:016x}", RandomState::new().build_hasher().finish());
        Identity { machine: machine_name(), process: std::process::id(), nonce }
    }
}

/// The name of this machine in its network.
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

/// The pauses of a process that has nothing to do grow by this factor, up to so many times the shortest.
const GROWTH: f64 = 1.25;
const LONGEST_PAUSES: u32 = 10;

/// The pause after one in which nothing has happened; zero stands for none. A thousand processes that look at everything
/// each second would cost more than they earn.
fn longer(pause: Duration, run: &Path) -> Duration {
    let first = storage::between_looks(run);
    pause.mul_f64(GROWTH).clamp(first, LONGEST_PAUSES * first)
}

/// Creates a sealed file that only the first can create; the seal is its entry `sha256`. Returns `None` if it is ours, or what is there.
fn create<T: Serialize + DeserializeOwned>(path: &Path, value: &T) -> Result<Option<T>> {
    match storage::create_whole(path, storage::sealed(value).as_bytes())? {
        None => Ok(None),
        Some(bytes) => parsed(path, &bytes).map(Some),
    }
}

/// Reads a sealed file.
fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    parsed(path, &storage::read_at_most(path, storage::LARGEST_TEXT, "such a file")?)
}

fn parsed<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T> {
    let place = path.display();
    if storage::check_seal(bytes) != Some(true) {
        return Err(Error::Data(format!(
            "{place}: it was changed or damaged: its SHA-256 is not the one in it"
        )));
    }
    serde_json::from_slice(bytes).map_err(|error| Error::Data(format!("{place}: {error}")))
}
