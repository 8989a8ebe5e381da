//! What an interrupted run takes up again: the check that its folder holds what it was trained on, and its window.

use std::collections::BTreeSet;
use std::path::Path;

use super::audit::{self, Audit, Depth};
use super::{Event, Observer, Run};
use crate::checkpoint::Checkpoint;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::game::{Game, Rules};
use crate::replay::place::{Place, shards_of};
use crate::replay::sample::Sample;
use crate::replay::store::{self, Shard};
use crate::replay::window::Window;

impl<G: Game> Run<'_, G> {
    /// Reads back the shards of a checkpoint's window: those that it lists or, if it lists none, the newest.
    pub(super) fn restore(&mut self, window: &mut Window, checkpoint: &Checkpoint) -> Result<()> {
        let names: Vec<(usize, usize)> = match &checkpoint.manifest.data {
            Some(data) => {
                self.given_up.extend(data.given_up.iter().cloned());
                let listed = data.window().iter().map(|shard| store::place_of(Path::new(&shard.name)));
                listed.collect::<Option<_>>().ok_or_else(|| {
                    let place = checkpoint.path.display();
                    Error::Data(format!("{place}: its manifest lists a file that is not named as a shard is"))
                })?
            }
            None => (1..=checkpoint.manifest.generation)
                .flat_map(|of| (0..shards_of(self.config, of)).map(move |shard| (of, shard)))
                .collect(),
        };
        let (mut newest, mut positions) = (Vec::new(), 0);
        for (generation, shard) in names.into_iter().rev() {
            let name = format!("{}/{}", store::FOLDER, store::shard_name(generation, shard));
            if self.given_up.contains(&name) {
                continue;
            }
            if positions >= self.config.replay.window {
                break;
            }
            let read = self.read(generation, shard)?;
            let info = read.info(generation, shard);
            positions += info.positions;
            newest.push((read.found, info));
        }
        for (samples, info) in newest.into_iter().rev() {
            window.push_samples(&self.rules.game, samples.into_iter().flatten().collect());
            self.shards.push(info);
        }
        Ok(())
    }

    /// Reads a shard of this run.
    pub(super) fn read(&self, generation: usize, shard: usize) -> Result<Shard<Vec<Sample>>> {
        let path = store::shard_path(self.folder, generation, shard);
        let place = Place::of(self.config, generation, shard);
        store::read_samples(&path, self.rules, place.as_ref())
    }
}

/// Compares the run with what its checkpoints list, and returns the shards that the user chose to continue without.
pub(super) fn settle<G: Game>(
    rules: &Rules<G>,
    config: &Config,
    folder: &Path,
    observer: &dyn Observer,
) -> Result<BTreeSet<String>> {
    let mut given_up = BTreeSet::new();
    loop {
        let mut read = |path: &Path, place: &Place| store::read_shard(path, rules, Some(place)).map(|_| ());
        let mut found = audit::audit(folder, config, &rules.identity, &given_up, Depth::Window, &mut read)?;
        let accepts = !found.problems.is_empty() && observer.accepts_missing();
        let gone = audit::settle(&mut found, folder, config, accepts)?;
        warn(&found, observer);
        if gone.is_empty() {
            return Ok(given_up);
        }
        // without these another checkpoint may be the newest
        given_up.extend(gone);
    }
}

/// Says what was found, also what the user went without.
fn warn(audit: &Audit, observer: &dyn Observer) {
    let say = |what: String| observer.event(Event::Warning(what));
    for problem in &audit.problems {
        say(format!("{problem}; the run continues without it"));
    }
    if !audit.problems.is_empty() {
        // the next audit reports the rest
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
