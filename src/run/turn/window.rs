//! The window of a run in training: what shards add to it, and how it is read back when the run is resumed.

use std::path::Path;

use super::run::Run;
use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result};
use crate::replay::place::{self, shards_of};
use crate::replay::sample::{Replayed, Sample};
use crate::replay::store::{self, Shard, ShardInfo};
use crate::replay::window::Window;

impl Run<'_> {
    /// Reads back the shards of a checkpoint's window. If the checkpoint has no list, these are the newest shards.
    pub(super) fn restore(&mut self, window: &mut Window, checkpoint: &Checkpoint) -> Result<()> {
        let names = self.window_of(checkpoint);
        self.given_up.extend(checkpoint.manifest.data.iter().flat_map(|data| data.given_up.iter().cloned()));
        let (mut newest, mut positions) = (Vec::new(), 0);
        for name in names.into_iter().rev() {
            if self.is_given_up(&name) {
                continue;
            }
            if positions >= window.capacity() {
                break;
            }
            let (shard, info) = self.read_listed(&name, checkpoint)?;
            let split = self.split(shard);
            positions += split[0].len();
            newest.push((split, info));
        }
        for (split, info) in newest.into_iter().rev() {
            self.add(window, split);
            self.shards.push(info);
        }
        Ok(())
    }

    /// Splits the samples of a shard into those that are trained on and those that are held out.
    pub(super) fn split(&self, shard: Shard<Replayed>) -> [Vec<Sample>; 2] {
        let mut split = [Vec::new(), Vec::new()];
        for (record, mut replayed) in shard.records.iter().zip(shard.found) {
            replayed.teach(&self.rules.game, record, self.config);
            let held_out = place::is_held_out(self.config, record.generation, record.index);
            split[usize::from(held_out)].extend(replayed.samples);
        }
        split
    }

    /// Adds the two parts that [`Run::split`] returned to the window and to the held-out positions. Returns the number
    /// of positions that were added to the window.
    pub(super) fn add(&mut self, window: &mut Window, split: [Vec<Sample>; 2]) -> usize {
        let [trained, held_out] = split;
        let added = window.push_samples(&self.rules.game, trained);
        self.held_out.push_samples(&self.rules.game, held_out);
        // keep held-out positions only of the window's shards, so that a resumed run measures the same as an
        // uninterrupted one
        self.held_out.keep_newest(window.shards());
        added
    }

    /// Returns the names of the shards in a checkpoint's window. If the checkpoint has no list, these are all shards.
    fn window_of(&self, checkpoint: &Checkpoint) -> Vec<String> {
        match &checkpoint.manifest.data {
            Some(data) => data.window().iter().map(|shard| shard.name.clone()).collect(),
            None => (1..=checkpoint.manifest.generation)
                .flat_map(|number| {
                    let shards = shards_of(self.lineage.config_of(number, self.config), number);
                    (0..shards).map(move |shard| store::shard_name(number, shard))
                })
                .collect(),
        }
    }

    /// Reads a shard that `checkpoint` lists: one of this run, or one that it took over from another run.
    fn read_listed(&self, name: &str, checkpoint: &Checkpoint) -> Result<(Shard<Replayed>, ShardInfo)> {
        if let Some((generation, shard)) = store::place_of(Path::new(name)) {
            let read = self.archive().read(generation, shard)?;
            let info = read.info(generation, shard);
            return Ok((read, info));
        }
        if !store::is_inherited(name) {
            let place = checkpoint.path.display();
            return Err(Error::Data(format!(
                "{place}: its manifest lists a file whose name is not that of a shard"
            )));
        }
        let read = store::read_samples(&self.folder.join(store::FOLDER).join(name), self.rules, None)?;
        let info = ShardInfo { name: name.to_string(), ..read.info(0, 0) };
        Ok((read, info))
    }
}
