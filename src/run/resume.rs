//! Resumes an interrupted run: checks that its folder holds what it was trained on, and reads back its window.

use std::collections::BTreeSet;
use std::path::Path;

use super::audit::{self, Audit, Depth};
use super::{Event, Observer, Run};
use crate::any::Opened;
use crate::checkpoint::Checkpoint;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::replay::place::{self, Place, shards_of};
use crate::replay::sample::{Replayed, Sample};
use crate::replay::store::{self, Shard, ShardInfo};
use crate::replay::window::Window;

impl Run<'_> {
    /// Reads back the shards of a checkpoint's window: those that it lists or, if it has no list, the newest.
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

    /// Whether the user has decided to do without the shard of this name.
    pub(super) fn is_given_up(&self, name: &str) -> bool {
        self.given_up.contains(&store::path_in_run(name))
    }

    /// Splits the samples of a shard into those that are trained on and those that are held out.
    pub(super) fn split(&self, shard: Shard<Replayed>) -> [Vec<Sample>; 2] {
        let mut split = [Vec::new(), Vec::new()];
        for (record, mut found) in shard.records.iter().zip(shard.found) {
            found.teach(&self.rules.game, record, self.config);
            let held_out = place::is_held_out(self.config, record.generation, record.index);
            split[usize::from(held_out)].extend(found.samples);
        }
        split
    }

    /// Adds the two parts that [`Run::split`] returned to the window and to the held-out positions.
    pub(super) fn add(&mut self, window: &mut Window, split: [Vec<Sample>; 2]) -> usize {
        let [trained, held_out] = split;
        let added = window.push_samples(&self.rules.game, trained);
        self.held_out.push_samples(&self.rules.game, held_out);
        // held-out positions of the window's shards only, so that a resumed run measures the same as an uninterrupted
        // one
        self.held_out.keep_newest(window.shards());
        added
    }

    /// The names of the shards in a checkpoint's window: those that it lists or, if it has no list, all.
    fn window_of(&self, checkpoint: &Checkpoint) -> Vec<String> {
        match &checkpoint.manifest.data {
            Some(data) => data.window().iter().map(|shard| shard.name.clone()).collect(),
            None => (1..=checkpoint.manifest.generation)
                .flat_map(|of| {
                    let shards = shards_of(self.lineage.config_of(of, self.config), of);
                    (0..shards).map(move |shard| store::shard_name(of, shard))
                })
                .collect(),
        }
    }

    /// Reads a shard that `checkpoint` lists: one of this run, or one that it took over from another.
    fn read_listed(&self, name: &str, checkpoint: &Checkpoint) -> Result<(Shard<Replayed>, ShardInfo)> {
        if let Some((generation, shard)) = store::place_of(Path::new(name)) {
            let read = self.archive().read(generation, shard)?;
            let info = read.info(generation, shard);
            return Ok((read, info));
        }
        if !store::is_inherited(name) {
            let place = checkpoint.path.display();
            return Err(Error::Data(format!(
                "{place}: its manifest lists a file that is not named as a shard is"
            )));
        }
        let read = store::read_samples(&self.folder.join(store::FOLDER).join(name), self.rules, None)?;
        let info = ShardInfo { name: name.to_string(), ..read.info(0, 0) };
        Ok((read, info))
    }
}

/// Compares the run with what its checkpoints list, and returns the files that the user chose to continue without.
pub(super) fn settle(
    rules: &Opened,
    config: &Config,
    folder: &Path,
    observer: &dyn Observer,
) -> Result<BTreeSet<String>> {
    let mut given_up = BTreeSet::new();
    loop {
        let mut read = |path: &Path, place: Option<&Place>| store::read_shard(path, rules, place).map(|_| ());
        let mut found = audit::audit(folder, config, &rules.identity, &given_up, Depth::Window, &mut read)?;
        let accepts = !found.problems.is_empty() && observer.accepts_missing();
        let gone = audit::settle(&mut found, folder, config, accepts)?;
        warn(&found, observer);
        if gone.is_empty() {
            return Ok(given_up);
        }
        // without these, another checkpoint may be the newest, so the run is checked again
        given_up.extend(gone);
    }
}

/// Reports what was found, including what the user chose to continue without.
fn warn(audit: &Audit, observer: &dyn Observer) {
    let say = |what: String| observer.event(Event::Warning(what));
    for problem in &audit.problems {
        say(format!("{problem}; the run continues without it"));
    }
    if !audit.problems.is_empty() {
        // the next audit, without these files, reports the rest
        return;
    }
    for path in &audit.set_aside {
        say(format!("{} was set aside before and is not trained on", path.display()));
    }
    for (path, _) in &audit.without_checksum {
        say(format!(
            "{} is intact, but its checksum file was not: the checksum file was rewritten",
            path.display()
        ));
    }
    audit.unchecked.iter().for_each(|what| say(what.clone()));
}
