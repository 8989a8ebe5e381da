//! The shards of a generation that are available to this process, including those that were finished before it began.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use super::run::Run;
use crate::error::{Error, Result};
use crate::replay::place::{Origin, shards_of};
use crate::replay::sample::Replayed;
use crate::replay::store::{self, Shard};
use crate::run::event::Event;
use crate::run::metrics::stopwatch::Took;

/// A shard, and the CPU seconds that its games took, if known.
pub(super) type Timed = (Shard<Replayed>, Option<f64>);

/// The available shards of a generation.
#[derive(Default)]
pub(super) struct Gathered {
    /// The shards that were read.
    pub(super) shards: BTreeMap<usize, Shard<Replayed>>,
    /// The shards that were finished before this process began.
    pub(super) kept: BTreeSet<usize>,
    /// Shards that no worker can play.
    pub(super) aside: BTreeSet<usize>,
    /// The time that playing or waiting took, and the CPU time of all processes that played.
    pub(super) took: Took,
    /// The CPU seconds of workers for the shards that this process read, and whether any of these times is unknown.
    worked: (f64, bool),
}

impl Gathered {
    /// Returns the CPU time of workers, if known for all their shards.
    pub(super) fn cpu_of_workers(&self) -> Option<Duration> {
        let (seconds, is_unknown) = self.worked;
        Duration::try_from_secs_f64(seconds).ok().filter(|_| !is_unknown)
    }

    /// Adds a shard of a worker.
    pub(super) fn add(&mut self, shard: usize, (read, cpu_seconds): Timed) {
        self.shards.insert(shard, read);
        self.worked.0 += cpu_seconds.unwrap_or(0.0);
        self.worked.1 |= cpu_seconds.is_none();
    }
}

impl Run<'_> {
    /// Reads the shards of a generation that are finished already. A shard that is damaged, or that another run played,
    /// is set aside and played again.
    pub(super) fn finished(&self, number: usize) -> Result<Gathered> {
        let (origin, origins) = (Origin::of(self.config), self.lineage.origins(number, self.config));
        let mut gathered = Gathered::default();
        for index in 0..shards_of(self.config, number) {
            let path = store::shard_path(self.folder, number, index);
            if !store::is_finished(&path)? {
                continue;
            }
            let result = self.archive().read(number, index).and_then(|shard| match store::origin(&path)? {
                Some(other) if !origins.contains(&other) => {
                    let place = path.display();
                    Err(Error::Foreign(format!(
                        "{place}: it was played by another run ({other}), not by this one ({origin})"
                    )))
                }
                _ => Ok(shard),
            });
            match result {
                Ok(shard) => {
                    gathered.shards.insert(index, shard);
                    gathered.kept.insert(index);
                }
                Err(error @ (Error::Data(_) | Error::Foreign(_))) => self.set_aside(&path, &error)?,
                Err(error) => return Err(error),
            }
        }
        Ok(gathered)
    }

    /// Sets a shard aside, with a warning.
    fn set_aside(&self, path: &Path, error: &Error) -> Result<()> {
        let bad = store::set_aside(path)?;
        self.observer
            .event(Event::Warning(format!("{error}; set aside as {}, not trained on", bad.display())));
        Ok(())
    }
}
