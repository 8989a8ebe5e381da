//! Repairs a run as far as possible, without deleting anything.
//!
//! Files that are damaged or do not belong to the run are set aside: renamed to `....bad`. Everything that can be
//! derived from the remaining files is rebuilt: settings and lineage from the newest checkpoint, checksum files from
//! its list of shards, and shards from the files of workers or by playing their games again. Replayed games are kept
//! only if they have the bytes that were trained on. Everything that is still missing is lost, and an [`audit`] reports
//! it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::audit::{self, Audit, Defect, Depth};
use crate::any::Opened;
use crate::checkpoint::lineage::{LINEAGE, Lineage};
use crate::checkpoint::{self, Checkpoint};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::net::device::Processor;
use crate::net::evaluator::SharedNet;
use crate::net::network::Network;
use crate::replay::place::{Origin, Place, is_bootstrap, shards_of};
use crate::replay::record::Record;
use crate::replay::store::{self, ShardInfo};
use crate::run::files::archive::Archive;
use crate::run::files::folder::Folder;
use crate::run::files::settings::{SETTINGS, reading_of, settings_of};
use crate::run::files::shared::WORK;
use crate::run::plan::assignment::Assignment;
use crate::run::work::commit::{Consumed, read_commit};
use crate::run::work::listing::Listing;
use crate::selfplay::Shards;
use crate::storage;

/// What a repair has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// Sentences about files that were set aside, with reasons.
    pub set_aside: Vec<String>,
    /// Sentences about files that were rebuilt, with the source.
    pub rebuilt: Vec<String>,
    /// Sentences about files that could not be rebuilt, with reasons.
    pub lost: Vec<String>,
    /// What it costs to resume without the lost files, if there are any.
    pub cost: Option<String>,
}

/// Called with a sentence about what is being done; returns whether to continue.
pub type Tick<'a> = dyn Fn(&str) -> bool + Sync + 'a;

/// Rebuilds the settings of the run in `folder` if they are missing or unreadable. Without settings, the game of the
/// run is unknown.
///
/// # Errors
/// If no checkpoint has a copy of the settings.
pub(crate) fn repair_settings(folder: &Path, repair: &mut Repair) -> Result<()> {
    let wrong = match reading_of(folder) {
        Ok(_) => return Ok(()),
        Err(error @ Error::Io { .. }) => return Err(error),
        Err(error) => error,
    };
    let checkpoints = checkpoint::list(folder)?.into_iter().rev();
    let Some(newest) = checkpoints.filter_map(|path| Checkpoint::open_folder(&path).ok()).next() else {
        return Err(wrong);
    };
    let path = folder.join(SETTINGS);
    if storage::exists(&path)? {
        repair.set_aside(&path, &wrong.to_string())?;
    }
    storage::write_whole(&path, newest.manifest.config.as_bytes())?;
    repair.rebuilt.push(format!("{}: from the copy in {}", path.display(), newest.path.display()));
    Ok(())
}

/// Repairs the run in `folder`, which no process may be training, and adds everything that was done to `repair`. In an
/// object store, the program cannot find out whether a process that trained the run is gone; `is_gone` says that the
/// caller knows this.
///
/// # Errors
/// If the run is in use, if `tick` returns false, or if a file cannot be read or written.
pub fn repair(rules: &Opened, folder: &Path, is_gone: bool, repair: &mut Repair, tick: &Tick) -> Result<()> {
    let _held = Folder::lock_unused(folder, is_gone)?;
    let config = settings_of(folder)?;
    let mut repairing = Repairing { rules, folder, config, repair, tick };
    repairing.work_files()?;
    repairing.checkpoints()?;
    repairing.past()?;
    let audit = repairing.shards()?;
    repairing.unfinished(&audit)?;
    repairing.missing(&audit)?;
    repairing.lists(&audit)?;
    let rest = repairing.audit(Depth::Window)?;
    if !rest.problems.is_empty() {
        repair.cost = Some(audit::cost(&rest, folder));
    }
    Ok(())
}

impl Repair {
    fn set_aside(&mut self, path: &Path, why: &str) -> Result<()> {
        let bad = store::set_aside(path)?;
        let place = path.display().to_string();
        let why = why.strip_prefix(&place).map_or(why, |rest| rest.trim_start_matches([':', ' ']));
        self.set_aside.push(format!("{place} as {}: {why}", bad.display()));
        Ok(())
    }
}

struct Repairing<'a> {
    rules: &'a Opened,
    folder: &'a Path,
    config: Config,
    repair: &'a mut Repair,
    tick: &'a Tick<'a>,
}

impl Repairing<'_> {
    /// Reports what is being done. Fails if the caller wants to stop.
    fn say(&self, what: &str) -> Result<()> {
        if (self.tick)(what) { Ok(()) } else { Err(Error::Interrupted) }
    }

    fn audit(&self, depth: Depth) -> Result<Audit> {
        let mut read = |path: &Path, place: Option<&Place>| {
            self.say(&format!("reading {}", path.display()))?;
            store::read_shard(path, self.rules, place).map(|_| ())
        };
        let none = BTreeSet::new();
        audit::audit(self.folder, &self.config, &self.rules.identity, &none, depth, &mut read)
    }

    /// Sets aside the damaged files of `work/`. Processes write these files again if needed. A damaged commit stays:
    /// the learner rejects it, and the shard is played again.
    fn work_files(&mut self) -> Result<()> {
        let mut folders = vec![self.folder.join(WORK)];
        folders.extend(
            storage::list(&folders[0])?
                .into_iter()
                .filter(|path| store::generation_of(path).is_some() && storage::has_folder(path)),
        );
        for folder in folders {
            for path in storage::list(&folder)? {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                if !name.ends_with(".json") || name.contains(".commit-") || storage::has_folder(&path) {
                    continue;
                }
                let bytes = storage::read_at_most(&path, storage::LARGEST_TEXT, "a sealed file")?;
                if let Err(why) = storage::check_seal(&bytes) {
                    self.repair.set_aside(&path, why)?;
                }
            }
        }
        Ok(())
    }

    /// Sets aside checkpoints with damaged files. Generations after the newest intact checkpoint are trained again.
    fn checkpoints(&mut self) -> Result<()> {
        for path in checkpoint::list(self.folder)? {
            self.say(&format!("reading {}", path.display()))?;
            let checkpoint = match Checkpoint::open_folder(&path) {
                Ok(checkpoint) => checkpoint,
                Err(Error::Data(why)) => {
                    self.repair.set_aside(&path, &why)?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let files = checkpoint.manifest.files.iter().filter(|(name, _)| *name != checkpoint::TENSORS);
            for (name, sha256) in files {
                let file = path.join(name);
                let why = match storage::is_file(&file)? {
                    false => "is missing",
                    true if storage::sha256_of(&file)? != *sha256 => {
                        "is damaged: its SHA-256 differs from the one in the manifest"
                    }
                    true => continue,
                };
                self.repair.set_aside(&path, &format!("{name} {why}"))?;
                break;
            }
        }
        Ok(())
    }

    /// Sets a damaged or foreign lineage aside, and replaces it by the copy in the newest checkpoint.
    fn past(&mut self) -> Result<()> {
        let path = self.folder.join(LINEAGE);
        let newest = checkpoint::latest(self.folder)?;
        let listed = newest.as_ref().and_then(|newest| newest.manifest.data.as_ref());
        let listed = listed.map_or(&[][..], |data| &data.lineage);
        let wrong = match Lineage::of(self.folder) {
            Ok(lineage) => lineage.contradicts(self.folder, listed).map(|(_, what)| what),
            Err(Error::Data(why)) => Some(why),
            Err(error) => return Err(error),
        };
        let is_there = storage::exists(&path)?;
        if let Some(why) = wrong.filter(|_| is_there) {
            self.repair.set_aside(&path, &why)?;
        }
        if !storage::exists(&path)? && !listed.is_empty() {
            Lineage::new(listed.to_vec(), &path)?.write(self.folder)?;
            self.repair.rebuilt.push(format!("{}: from the copy in the newest checkpoint", path.display()));
        }
        Ok(())
    }

    /// Sets aside shards and checkpoints that are wrong, and writes lost checksum files.
    fn shards(&mut self) -> Result<Audit> {
        loop {
            let audit = self.audit(Depth::All)?;
            audit.write_checksums(&self.config)?;
            for (path, _) in &audit.without_checksum {
                self.repair.rebuilt.push(format!("the checksum file of {}", path.display()));
            }
            let wrong = audit.problems.iter().filter(|problem| problem.defect != Defect::Missing);
            let wrong: Vec<_> = wrong.collect();
            for problem in &wrong {
                self.repair.set_aside(&problem.path, &problem.what)?;
            }
            // once a wrong checkpoint is set aside, files that contradicted it may be right
            if wrong.is_empty() {
                return Ok(audit);
            }
        }
    }

    /// Sets aside damaged shards of the generation in progress, which are played again.
    fn unfinished(&mut self, audit: &Audit) -> Result<()> {
        let done = audit.newest.as_ref().map_or(0, |newest| newest.manifest.generation);
        for (generation, path) in store::list(self.folder)?.into_iter().filter(|(number, _)| *number > done) {
            if !store::is_finished(&path)? {
                continue;
            }
            let place = store::place_of(&path).and_then(|(_, shard)| {
                Place::of(audit.lineage.config_of(generation, &self.config), generation, shard)
            });
            match store::read_shard(&path, self.rules, place.as_ref()) {
                Ok(_) => {}
                Err(error @ (Error::Data(_) | Error::Mismatch(_) | Error::Foreign(_))) => {
                    self.repair.set_aside(&path, &error.to_string())?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Rebuilds missing shards, oldest first, because games of later shards may begin with positions of earlier ones.
    fn missing(&mut self, audit: &Audit) -> Result<()> {
        let mut missing: BTreeMap<usize, Vec<(usize, Option<ShardInfo>)>> = BTreeMap::new();
        for problem in &audit.problems {
            match store::place_of(&problem.path) {
                Some((generation, shard)) => {
                    let listed = audit.listed.get(&store::shard_name(generation, shard)).cloned();
                    missing.entry(generation).or_default().push((shard, listed));
                }
                None => self.repair.lost.push(format!("{problem}: no other file has its contents")),
            }
        }
        for (generation, shards) in missing {
            let mut unfound = BTreeMap::new();
            for (shard, listed) in shards {
                let path = store::shard_path(self.folder, generation, shard);
                let Some(listed) = listed else {
                    self.repair.lost.push(format!("{}: no checkpoint says what it held", path.display()));
                    continue;
                };
                match self.copy_of(&path, (generation, shard), &listed.sha256)? {
                    Some((bytes, from)) => {
                        self.write(&path, &bytes, (generation, &listed.sha256), audit)?;
                        self.repair.rebuilt.push(format!("{}: from {}", path.display(), from.display()));
                    }
                    None => drop(unfound.insert(shard, listed)),
                }
            }
            if !unfound.is_empty() {
                self.play_again(generation, unfound, audit)?;
            }
        }
        Ok(())
    }

    /// Finds a file with the bytes of a shard among the files that were set aside and the files of workers.
    fn copy_of(
        &self,
        path: &Path,
        place: (usize, usize),
        sha256: &str,
    ) -> Result<Option<(Vec<u8>, PathBuf)>> {
        let beside = storage::list(path.parent().expect("a shard is in a folder"))?;
        let aside =
            beside.into_iter().filter(|other| store::is_set_aside(other) && other.with_extension("") == path);
        let left = Listing::of(self.folder, place.0)?.shard(place.1).files;
        for other in aside.chain(left) {
            if storage::sha256_of(&other)? == sha256 {
                return Ok(Some((storage::read(&other)?, other)));
            }
        }
        Ok(None)
    }

    fn write(
        &self,
        path: &Path,
        bytes: &[u8],
        (generation, sha256): (usize, &str),
        audit: &Audit,
    ) -> Result<()> {
        store::create_generation_folder(self.folder, generation)?;
        storage::write_whole(path, bytes)?;
        let origin = Origin::of(audit.lineage.config_of(generation, &self.config));
        store::write_checksum(path, sha256, Some(&origin))
    }

    /// Plays shards again, with one possible network after another, until their bytes match those that were trained on.
    fn play_again(
        &mut self,
        generation: usize,
        mut shards: BTreeMap<usize, ShardInfo>,
        audit: &Audit,
    ) -> Result<()> {
        let config = audit.lineage.config_of(generation, &self.config);
        let oldest = if is_bootstrap(config, generation) {
            generation - 1
        } else {
            (generation - 1).saturating_sub(config.selfplay.ahead)
        };
        let mut why = String::new();
        for model in (oldest..generation).rev() {
            let chosen: Vec<usize> = shards.keys().copied().collect();
            self.say(&format!("playing {} shards of generation {generation} again", chosen.len()))?;
            let played = match self.play(config, (generation, model), chosen, audit) {
                Ok(played) => played,
                Err(error @ (Error::Interrupted | Error::Io { .. })) => return Err(error),
                Err(error) => {
                    why = format!("it cannot be played again: {error}");
                    continue;
                }
            };
            for (shard, records) in played {
                let path = store::shard_path(self.folder, generation, shard);
                let bytes = store::packed_shard(&path, &records)?;
                let sha256 = storage::sha256(&bytes);
                if shards[&shard].sha256 == sha256 {
                    self.write(&path, &bytes, (generation, &sha256), audit)?;
                    shards.remove(&shard);
                    self.repair.rebuilt.push(format!("{}: its games were played again", path.display()));
                } else {
                    why = "when played again, its games are different, so it was played with another instruction set \
                           or by another program"
                        .into();
                }
            }
            if shards.is_empty() {
                return Ok(());
            }
        }
        for (shard, listed) in shards {
            let path = store::shard_path(self.folder, generation, shard);
            let ShardInfo { games, positions, .. } = listed;
            self.repair
                .lost
                .push(format!("{} ({games} games, {positions} positions): {why}", path.display()));
        }
        Ok(())
    }

    /// Plays shards of a generation with the network of generation `model`.
    fn play(
        &self,
        config: &Config,
        (generation, model): (usize, usize),
        chosen: Vec<usize>,
        audit: &Audit,
    ) -> Result<BTreeMap<usize, Vec<Record>>> {
        let Repairing { rules, folder, .. } = *self;
        let (processor, _) = Processor::of(config.net.device)?;
        let path = checkpoint::path_of(folder, model);
        let checkpoint = if storage::exists(&path)? { Some(Checkpoint::open_folder(&path)?) } else { None };
        let data = checkpoint.as_ref().and_then(|checkpoint| checkpoint.manifest.data.as_ref());
        let is_given_up = |name: &str| data.is_some_and(|data| data.has_given_up(name));
        let archive = Archive { rules, config: &self.config, folder, lineage: &audit.lineage };
        let starts = archive.starts(generation, model, is_given_up)?;
        let assignment = Assignment::of(config, generation, model);
        let source = assignment.source(|| {
            let network = match &checkpoint {
                Some(checkpoint) => checkpoint.network()?,
                None if model == 0 && !audit.lineage.is_started() => {
                    Network::new(&config.net, rules.identity.shape, config.seed)
                }
                None => return Err(Error::Missing(format!("{} is missing", path.display()))),
            };
            SharedNet::on(&network, &config.net, &processor)
        })?;
        let kept = shards_of(config, generation) - chosen.len();
        let again = Again { chosen: Mutex::new(chosen), played: Mutex::default(), kept };
        let source = (&source, config.selfplay.cache);
        rules.game.play_shards(&assignment.generation(&rules.identity, starts), &again, source, &|_| {
            (self.tick)(&format!("playing generation {generation} again"))
        })?;
        Ok(again.played.into_inner().expect("no panic while playing"))
    }

    /// Rewrites lost lists of the shards that generations were trained on. Only generations played by workers have a
    /// list of shards.
    fn lists(&mut self, audit: &Audit) -> Result<()> {
        let newest = audit.newest.as_ref().map(|newest| &newest.manifest);
        let data = newest.and_then(|newest| newest.data.as_ref());
        for generation in 1..=newest.map_or(0, |newest| newest.generation) {
            let listing = Listing::of(self.folder, generation)?;
            if listing.is_consumed || listing.is_empty() {
                continue;
            }
            let mut list = Consumed { shards: BTreeMap::new(), aside: Vec::new() };
            for shard in 0..shards_of(audit.lineage.config_of(generation, &self.config), generation) {
                let name = store::shard_name(generation, shard);
                match audit.listed.get(&name) {
                    Some(listed) => {
                        let offers = listing.shard(shard);
                        let number = offers.committed().filter(|number| {
                            read_commit(&listing, shard, *number)
                                .is_ok_and(|commit| commit.file_sha256 == listed.sha256)
                        });
                        list.shards.insert(shard, (listed.sha256.clone(), number.unwrap_or(0)));
                    }
                    None if data.is_some_and(|data| data.has_given_up(&name)) => list.aside.push(shard),
                    None => {}
                }
            }
            list.create(self.folder, generation).map(|_| ())?;
            self.repair
                .rebuilt
                .push(format!("the list of the games that generation {generation} was trained on"));
        }
        Ok(())
    }
}

/// Shards that are played again and kept in memory.
struct Again {
    chosen: Mutex<Vec<usize>>,
    played: Mutex<BTreeMap<usize, Vec<Record>>>,
    kept: usize,
}

impl Shards for Again {
    fn next(&self) -> Result<Option<usize>> {
        Ok(self.chosen.lock().expect("no panic while playing").pop())
    }

    fn played(&self, shard: usize, records: Vec<Record>) -> Result<()> {
        self.played.lock().expect("no panic while playing").insert(shard, records);
        Ok(())
    }

    fn kept(&self) -> usize {
        self.kept
    }
}
