//! Shards that cannot be played: workers fail, or the learner rejects what they played.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::commit::read_rejection;
use super::listing::{Listing, Offers};
use crate::error::Result;
use crate::run::files::shared::{Identity, create, read};

/// The number of failures after which a shard is put aside.
const FAILURES: usize = 3;
/// The number of machines on which a shard must have failed; a single machine may itself be at fault.
const MACHINES: usize = 2;

/// The note of a worker that could not play a shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WorkerFailure {
    /// The error.
    pub message: String,
    /// The process that failed.
    pub worker: Identity,
    /// How often this process has failed at this shard, including this time.
    pub times: usize,
}

impl WorkerFailure {
    /// Leaves the note.
    pub(crate) fn write(&self, listing: &Listing, shard: usize) -> Result<()> {
        let name = format!(".failed-{}-{}.json", self.worker.nonce, self.times);
        create(&listing.path(shard, &name), self).map(|_| ())
    }
}

/// A shard that was put aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Aside {
    /// The last failure's message.
    pub message: String,
    /// How often the shard failed.
    pub failures: usize,
    /// The machines on which the shard failed.
    pub machines: BTreeSet<String>,
}

impl Aside {
    /// Puts a shard aside if it failed often enough, and returns the reason. Notes that cannot be read do not count.
    pub(crate) fn decide(listing: &Listing, shard: usize, offers: &Offers) -> Result<Option<Aside>> {
        let path = listing.path(shard, ".aside.json");
        if offers.is_aside {
            return read(&path).map(Some);
        }
        if offers.failed.len() + offers.rejected < FAILURES {
            return Ok(None);
        }
        let failures = offers.failed.iter().filter_map(|path| read::<WorkerFailure>(path).ok());
        let failures = failures.map(|failure| (failure.message, failure.worker.machine));
        let rejections =
            (1..=offers.rejected).filter_map(|number| read_rejection(listing, shard, number).ok());
        // a worker with other rules or another version proves nothing about the shard
        let rejections = rejections.filter(|rejection| !rejection.is_final);
        let rejections = rejections.map(|rejection| (rejection.reason, rejection.worker.machine));
        let all: Vec<(String, String)> = failures.chain(rejections).collect();
        let machines: BTreeSet<String> = all.iter().map(|(_, machine)| machine.clone()).collect();
        let message = all.last().map_or(String::new(), |(message, _)| message.clone());
        let aside = Aside { message, failures: all.len(), machines };
        if aside.failures < FAILURES || aside.machines.len() < MACHINES {
            return Ok(None);
        }
        Ok(Some(create(&path, &aside)?.unwrap_or(aside)))
    }
}
