//! Reads the shards of a run, and checks them against the run's settings.

use std::path::Path;

use crate::any::Opened;
use crate::checkpoint::lineage::Lineage;
use crate::config::Config;
use crate::error::Result;
use crate::replay::place::{self, Place, shards_of};
use crate::replay::sample::Replayed;
use crate::replay::store::{self, Shard};
use crate::selfplay::starts::Starts;

/// The shards of a run in its folder.
#[derive(Clone, Copy)]
pub(in crate::run) struct Archive<'a> {
    pub(in crate::run) rules: &'a Opened,
    pub(in crate::run) config: &'a Config,
    pub(in crate::run) folder: &'a Path,
    pub(in crate::run) lineage: &'a Lineage,
}

impl Archive<'_> {
    /// Reads a shard. The shard's games must be those that belong in its place in the run.
    pub(in crate::run) fn read(&self, generation: usize, shard: usize) -> Result<Shard<Replayed>> {
        let path = store::shard_path(self.folder, generation, shard);
        let place = Place::of(self.lineage.config_of(generation, self.config), generation, shard);
        store::read_samples(&path, self.rules, place.as_ref())
    }

    /// Draws the initial positions for games of generation `number`. The positions come from the games of generation
    /// `from`, except for shards that were given up.
    pub(in crate::run) fn starts(
        &self,
        number: usize,
        from: usize,
        is_given_up: impl Fn(&str) -> bool,
    ) -> Result<Starts> {
        let settings = &self.config.selfplay;
        if settings.restart_share + settings.fork_share == 0.0 || from < 1 {
            return Ok(Starts::default());
        }
        let shards = (0..shards_of(self.lineage.config_of(from, self.config), from))
            .filter(|index| !is_given_up(&store::shard_name(from, *index)))
            .map(|index| self.read(from, index))
            .collect::<Result<Vec<_>>>()?;
        let games = place::games_of(self.config, number).0;
        Starts::draw(self.rules, self.config, (self.config.seed, number, games), &shards)
    }
}
