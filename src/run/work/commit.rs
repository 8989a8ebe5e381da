//! Commits of shards, and the list of the shards that a generation was trained on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::listing::Listing;
use crate::error::Result;
use crate::game::GameIdentity;
use crate::program::Program;
use crate::replay::record::Record;
use crate::replay::store;
use crate::run::files::shared::{Identity, create, folder_of, read};
use crate::storage;

/// A shard that a worker played: the file with its games, and what they depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Commit {
    /// The name of the file, in the same folder.
    pub file: String,
    /// The length of the file, in bytes.
    pub bytes: u64,
    /// The SHA-256 of the file.
    pub file_sha256: String,
    /// The number of games.
    pub games: usize,
    /// The number of positions that are trained on.
    pub positions: usize,
    /// The generation of the network that played, or what played instead.
    pub evaluator: String,
    /// The SHA-256 of the tensors of the network that played; empty if no network played.
    pub tensors: String,
    /// The run for which the shard was played, as in the shard's checksum file.
    pub origin: String,
    /// The rules by which the shard was played.
    pub game: GameIdentity,
    /// The program that played.
    pub program: String,
    /// The instruction set that computed the network. Machines with the same instruction set play the same games.
    pub instructions: String,
    /// The process that played.
    pub worker: Identity,
    /// The seconds that playing took.
    pub seconds: f64,
    /// The CPU seconds of the worker's process since its previous commit, or since it began to play. The sum over all
    /// commits of a process is the process's total work. `None` if the process trains, too.
    #[serde(default)]
    pub cpu_seconds: Option<f64>,
    /// The time when the shard was finished, by the clock of the worker's machine.
    #[serde(default)]
    pub ended: String,
}

/// The parts of a commit that do not depend on the shard.
#[derive(Clone, Debug)]
pub(crate) struct Circumstances<'a> {
    /// See [`Commit::evaluator`].
    pub evaluator: &'a str,
    /// See [`Commit::tensors`].
    pub tensors: &'a str,
    /// See [`Commit::origin`].
    pub origin: String,
    /// See [`Commit::game`].
    pub game: &'a GameIdentity,
    /// See [`Commit::instructions`].
    pub instructions: &'static str,
    /// See [`Commit::worker`].
    pub worker: &'a Identity,
}

/// Writes the games of a shard and commits them under this number. Returns whether the games count. If another worker
/// was first, they do not count, and their file is removed.
pub(crate) fn commit(
    run: &Path,
    (generation, shard, number): (usize, usize, usize),
    records: &[Record],
    about: &Circumstances,
    (seconds, cpu_seconds): (f64, Option<f64>),
) -> Result<bool> {
    let folder = folder_of(run, generation);
    // if the run has the shard already, it may have been trained on
    if storage::exists(&commit_path(&folder, shard, number))?
        || store::is_finished(&store::shard_path(run, generation, shard))?
    {
        return Ok(false);
    }
    let file = format!("shard-{shard:04}-{number}-{}{}", about.worker.nonce, store::SUFFIX);
    let path = folder.join(&file);
    let bytes = store::packed_shard(&path, records)?;
    storage::write_whole(&path, &bytes)?;
    let commit = Commit {
        file,
        bytes: bytes.len() as u64,
        file_sha256: storage::sha256(&bytes),
        games: records.len(),
        positions: records.iter().map(Record::positions).sum(),
        evaluator: about.evaluator.to_string(),
        tensors: about.tensors.to_string(),
        origin: about.origin.clone(),
        game: about.game.clone(),
        program: Program::current().to_string(),
        instructions: about.instructions.to_string(),
        worker: about.worker.clone(),
        seconds,
        cpu_seconds,
        ended: humantime::format_rfc3339_millis(SystemTime::now()).to_string(),
    };
    let before = create(&commit_path(&folder, shard, number), &commit)?;
    if before.is_some() {
        storage::remove(&path)?;
    }
    Ok(before.is_none())
}

/// Returns the path of the commit of a shard with this number, in the folder of its generation.
pub(crate) fn commit_path(folder: &Path, shard: usize, number: usize) -> PathBuf {
    folder.join(format!("shard-{shard:04}.commit-{number}.json"))
}

/// Reads the commit with this number.
pub(crate) fn read_commit(listing: &Listing, shard: usize, number: usize) -> Result<Commit> {
    read(&listing.path(shard, &format!(".commit-{number}.json")))
}

/// The rejection of a commit by the learner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rejection {
    /// The reason, as a sentence.
    pub reason: String,
    /// Whether all games of this worker will be rejected, because it has other rules or another version.
    pub is_final: bool,
    /// The process whose games are rejected.
    pub worker: Identity,
}

/// Rejects a commit, so that the shard is played again.
pub(crate) fn reject(listing: &Listing, shard: usize, number: usize, rejection: &Rejection) -> Result<()> {
    create(&listing.path(shard, &format!(".rejected-{number}.json")), rejection).map(|_| ())
}

/// Reads the rejection of the commit with this number.
pub(crate) fn read_rejection(listing: &Listing, shard: usize, number: usize) -> Result<Rejection> {
    read(&listing.path(shard, &format!(".rejected-{number}.json")))
}

/// The list of everything that a generation was trained on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Consumed {
    /// The SHA-256 of each shard, and the number of its commit; 0 if the learner's own process played it.
    pub shards: BTreeMap<usize, (String, usize)>,
    /// The shards that no worker could play.
    pub aside: Vec<usize>,
}

impl Consumed {
    /// Returns the path of a generation's list.
    pub(crate) fn path(run: &Path, generation: usize) -> PathBuf {
        folder_of(run, generation).join("consumed.json")
    }

    /// Creates the list of a generation. If a different list exists already, returns that list.
    pub(crate) fn create(&self, run: &Path, generation: usize) -> Result<Option<Consumed>> {
        Ok(create(&Consumed::path(run, generation), self)?.filter(|there| there != self))
    }

    /// Reads the list of a generation.
    pub(crate) fn read(run: &Path, generation: usize) -> Result<Consumed> {
        read(&Consumed::path(run, generation))
    }
}
