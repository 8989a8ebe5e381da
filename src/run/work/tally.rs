//! Checks that the games of workers were each used once: compares commits with the lists of consumed shards and with
//! the shards of the run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::commit::{Consumed, read_commit};
use super::listing::Listing;
use crate::checkpoint;
use crate::checkpoint::lineage::Lineage;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::replay::place::shards_of;
use crate::replay::store;
use crate::run::files::shared::WORK;
use crate::storage;

/// The counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Generations whose learner has listed the shards that it took.
    pub generations: usize,
    /// Shards that workers committed, in those generations and in the one in progress.
    pub committed: usize,
    /// Shards that were trained on, as workers committed them.
    pub consumed: usize,
    /// Shards that were trained on, as the learner's own process played them.
    pub own: usize,
    /// Commits of generations in progress that the learner has not taken yet.
    pub waiting: usize,
    /// Commits that came after the learner's own process had played the same games.
    pub unused: usize,
    /// Files of games that do not count: a worker ended before it committed them, or was not the first.
    pub orphans: Vec<PathBuf>,
    /// The orphans that have the same bytes as a shard that was trained on.
    pub equal: usize,
    /// Commits that the learner rejected.
    pub rejected: usize,
    /// Notes of workers that failed.
    pub failed: usize,
    /// Shards that were put aside.
    pub aside: usize,
    /// Shards of consumed generations that are missing.
    pub missing: usize,
    /// Shards with the same games as another shard.
    pub twice: usize,
    /// Sentences about everything that is wrong.
    pub problems: Vec<String>,
}

impl Tally {
    /// Counts the commits and shards of a run, which may have had no workers.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn of(run: &Path, config: &Config) -> Result<Tally> {
        let (mut tally, lineage) = (Tally::default(), Lineage::of(run)?);
        let (mut seen, done) = (BTreeMap::new(), checkpoint::newest_generation(run)?);
        let folders = storage::list(&run.join(WORK))?;
        for generation in folders.iter().filter_map(|folder| store::generation_of(folder)) {
            let listing = Listing::of(run, generation)?;
            let config = lineage.config_of(generation, config);
            tally.rejected += listing.shards().map(|(_, offers)| offers.rejected).sum::<usize>();
            tally.failed += listing.shards().map(|(_, offers)| offers.failed.len()).sum::<usize>();
            let committed = listing.shards().filter(|(_, offers)| offers.committed().is_some()).count();
            tally.committed += committed;
            if !listing.is_consumed && generation <= done && committed > 0 {
                let list = Consumed::path(run, generation);
                tally.problems.push(format!(
                    "generation {generation} was trained, but the list of its shards is missing: {}; `petteia inspect \
                     {} --repair` makes it again",
                    list.display(),
                    run.display()
                ));
                continue;
            }
            if !listing.is_consumed {
                tally.waiting += committed;
                continue;
            }
            match Consumed::read(run, generation) {
                Ok(consumed) => tally.add(run, (generation, config), &listing, &consumed, &mut seen)?,
                Err(error @ Error::Data(_)) => tally.problems.push(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        Ok(tally)
    }

    /// Counts a generation that was trained.
    fn add(
        &mut self,
        run: &Path,
        (generation, config): (usize, &Config),
        listing: &Listing,
        consumed: &Consumed,
        seen: &mut BTreeMap<String, String>,
    ) -> Result<()> {
        self.generations += 1;
        self.aside += consumed.aside.len();
        for shard in 0..shards_of(config, generation) {
            let name = store::shard_name(generation, shard);
            let offers = listing.shard(shard);
            let Some((sha256, commit)) = consumed.shards.get(&shard) else {
                if !consumed.aside.contains(&shard) {
                    self.missing += 1;
                    self.problems.push(format!("{name}: the generation was trained without it"));
                }
                continue;
            };
            match commit {
                0 => self.own += 1,
                _ => self.consumed += 1,
            }
            if *commit == 0 && offers.committed().is_some() {
                self.unused += 1;
            }
            if *commit > 0 {
                match read_commit(listing, shard, *commit) {
                    Ok(commit) if commit.file_sha256 == *sha256 => {}
                    Ok(_) => self.problems.push(format!("{name}: its commit is about different games")),
                    Err(error) => self.problems.push(error.to_string()),
                }
            }
            let path = store::shard_path(run, generation, shard);
            if !storage::exists(&path)? {
                self.missing += 1;
                self.problems.push(format!("{name}: it was trained on, but is missing"));
            } else if storage::sha256_of(&path)? != *sha256 {
                self.problems.push(format!("{name}: it is not what was trained on"));
            }
            if let Some(other) = seen.insert(sha256.clone(), name.clone()) {
                self.twice += 1;
                self.problems.push(format!("{name}: it has the games of {other}"));
            }
            for orphan in offers.files {
                self.equal += usize::from(storage::sha256_of(&orphan)? == *sha256);
                self.orphans.push(orphan);
            }
        }
        Ok(())
    }
}
