//! Commits of shards, and the list of those that a generation was trained on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::listing::Listing;
use super::{Identity, create, folder_of, read};
use crate::error::Result;
use crate::game::GameIdentity;
use crate::program::Program;
use crate::replay::record::Record;
use crate::replay::store;
use crate::storage;

/// A shard that a worker played: which file has its games, and what they depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Commit {
    /// The name of the file, in the same folder.
    pub file: String,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256.
    pub file_sha256: String,
    /// Number of games.
    pub games: usize,
    /// Number of positions that are trained on.
    pub positions: usize,
    /// The network that played, by its generation, or what played instead.
    pub evaluator: String,
    /// SHA-256 of the tensors of that network; empty if none played.
    pub tensors: String,
    /// The run that it is for, as in a shard's checksum file.
    pub origin: String,
    /// The rules that it was played by.
    pub game: GameIdentity,
    /// The program that played.
    pub program: String,
    /// The instruction set that the network was computed with: the games are equal on machines with the same one.
    pub instructions: String,
    /// The process that played.
    pub worker: Identity,
    /// How long that took, in seconds.
    pub seconds: f64,
    /// The CPU seconds of its process since its commit before, or since it began to play: those of all its commits add
    /// up to what it did. `None` if the process trains, too.
    #[serde(default)]
    pub cpu_seconds: Option<f64>,
    /// When it was over, by the clock of the worker's machine.
    #[serde(default)]
    pub ended: String,
}

/// What a commit says that does not depend on the shard.
#[derive(Clone, Debug)]
pub struct Circumstances<'a> {
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

/// Writes the games of a shard and commits them under this number. Returns whether they are the ones that count: another
/// worker may have been first, and then the file is removed again.
pub fn commit(
    run: &Path,
    (generation, shard, number): (usize, usize, usize),
    records: &[Record],
    about: &Circumstances,
    (seconds, cpu_seconds): (f64, Option<f64>),
) -> Result<bool> {
    let folder = folder_of(run, generation);
    // a shard that the run has already may have been trained on without this one
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

/// The file of a shard's commit of this number, in the folder of its generation.
pub fn commit_path(folder: &Path, shard: usize, number: usize) -> PathBuf {
    folder.join(format!("shard-{shard:04}.commit-{number}.json"))
}

/// Reads the commit of this number.
pub fn read_commit(listing: &Listing, shard: usize, number: usize) -> Result<Commit> {
    read(&listing.path(shard, &format!(".commit-{number}.json")))
}

/// The reason why the learner does not take a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejection {
    /// A sentence.
    pub reason: String,
    /// Whether the worker cannot do better: it has other rules, or another version.
    pub is_final: bool,
    /// The process whose games are rejected.
    pub worker: Identity,
}

/// Rejects a commit, so that the shard is played again.
pub fn reject(listing: &Listing, shard: usize, number: usize, rejection: &Rejection) -> Result<()> {
    create(&listing.path(shard, &format!(".rejected-{number}.json")), rejection).map(|_| ())
}

/// Reads the rejection of the commit of this number.
pub fn read_rejection(listing: &Listing, shard: usize, number: usize) -> Result<Rejection> {
    read(&listing.path(shard, &format!(".rejected-{number}.json")))
}

/// Everything that a generation was trained on, as its learner found it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consumed {
    /// The SHA-256 of each shard, and the number of its commit; 0 if the learner's own process played it.
    pub shards: BTreeMap<usize, (String, usize)>,
    /// Shards that nobody could play.
    pub aside: Vec<usize>,
}

impl Consumed {
    /// The path of the list of a generation.
    pub fn path(run: &Path, generation: usize) -> PathBuf {
        folder_of(run, generation).join("consumed.json")
    }

    /// Creates the list of a generation. Returns the one that is there, if it says something else.
    pub fn create(&self, run: &Path, generation: usize) -> Result<Option<Consumed>> {
        Ok(create(&Consumed::path(run, generation), self)?.filter(|there| there != self))
    }

    /// Reads the list of a generation.
    pub fn read(run: &Path, generation: usize) -> Result<Consumed> {
        read(&Consumed::path(run, generation))
    }
}
