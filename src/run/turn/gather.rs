//! Takes in the shards that workers have committed, and waits for the rest.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use rayon::prelude::*;

use super::gathered::{Gathered, Timed};
use super::run::Run;
use crate::error::{Error, Result};
use crate::program::Program;
use crate::replay::place::{Place, games_in, shards_of};
use crate::replay::store;
use crate::run::event::Event;
use crate::run::files::shared::{Identity, folder_of};
use crate::run::metrics::stopwatch::Took;
use crate::run::work::commit::{Commit, Consumed, Rejection, commit_path, read_commit, reject};
use crate::run::work::failed::Aside;
use crate::run::work::listing::Listing;
use crate::run::work::pause::{BETWEEN_REPORTS, longer};
use crate::selfplay::Progress;
use crate::storage;

/// The longest pause of the learner while no commits arrive, as a multiple of the shortest pause.
const LONGEST_PAUSES: u32 = 3;

/// The reason why a commit is rejected.
enum CommitRefusal {
    /// The worker has other rules, or another version.
    Other(String),
    /// The games of the commit are damaged or missing.
    Bad(String),
}

impl Run<'_> {
    /// Waits until workers have played generation `number`.
    pub(super) fn gather(&self, number: usize) -> Result<Gathered> {
        let mut gathered = self.finished(number)?;
        storage::create_folder_in(self.folder, &folder_of(self.folder, number))?;
        store::create_generation_folder(self.folder, number)?;
        let (all, started) = (shards_of(self.config, number), Instant::now());
        let (mut reported, mut changed, mut pause) = (Instant::now(), Instant::now(), Duration::ZERO);
        loop {
            if self.absorb(number, &mut gathered)? > 0 {
                (reported, changed, pause) = (Instant::now(), Instant::now(), Duration::ZERO);
            }
            self.show(&gathered, number);
            let missing = all - gathered.shards.len() - gathered.aside.len();
            if missing == 0 {
                gathered.took = Took { clock: started.elapsed(), cpu: gathered.cpu_of_workers() };
                return Ok(gathered);
            }
            if self.observer.interrupted() {
                return Err(Error::Interrupted);
            }
            if reported.elapsed() >= BETWEEN_REPORTS {
                reported = Instant::now();
                let minutes = changed.elapsed().as_secs() / 60;
                self.observer.event(Event::Waiting(format!(
                    "generation {number} waits for {missing} of {all} shards of games; workers have committed none for \
                     {minutes} min"
                )));
            }
            self.held.check()?;
            pause = longer(pause, self.folder).min(LONGEST_PAUSES * storage::between_looks(self.folder));
            thread::sleep(pause);
        }
    }

    /// Takes in the shards that workers have committed since the last call, and puts aside the shards that cannot be
    /// played. Returns the number of shards that were taken in or put aside.
    pub(super) fn absorb(&self, number: usize, gathered: &mut Gathered) -> Result<usize> {
        let listing = Listing::of(self.folder, number)?;
        let mut new = 0;
        let all = shards_of(self.config, number);
        let is_new = |shard: usize| {
            !gathered.shards.contains_key(&shard) && !gathered.aside.contains(&shard) && shard < all
        };
        let offered: Vec<_> = listing.shards().filter(|(shard, _)| is_new(*shard)).collect();
        // in parallel, because remote files take time to arrive
        let committed = offered.par_iter().filter_map(|(shard, offers)| {
            let commit = offers.committed()?;
            Some(self.take(&listing, (number, *shard), commit).map(|taken| (*shard, (commit, taken))))
        });
        let mut taken: BTreeMap<usize, _> = committed.collect::<Result<_>>()?;
        for (shard, offers) in offered {
            if let Some((commit, taken)) = taken.remove(&shard) {
                match taken {
                    Ok(read) => {
                        gathered.add(shard, read);
                        new += 1;
                    }
                    Err((refusal, worker)) => {
                        let (reason, is_final) = match refusal {
                            CommitRefusal::Other(reason) => (reason, true),
                            CommitRefusal::Bad(reason) => (reason, false),
                        };
                        self.observer.event(Event::Warning(format!(
                            "the games of {worker} for shard {shard} of generation {number} are not used: {reason}"
                        )));
                        reject(&listing, shard, commit, &Rejection { reason, is_final, worker })?;
                    }
                }
            } else if let Some(aside) = Aside::decide(&listing, shard, offers)? {
                let machines: Vec<&str> = aside.machines.iter().map(String::as_str).collect();
                self.observer.event(Event::Warning(format!(
                    "shard {shard} of generation {number} is put aside, and the run goes on without its games: playing \
                     them failed {} times, on {}: {}",
                    aside.failures,
                    machines.join(" and "),
                    aside.message
                )));
                gathered.aside.insert(shard);
                new += 1;
            }
        }
        Ok(new)
    }

    /// Moves the games of a commit to the shards of the run and returns them, if they are right.
    fn take(
        &self,
        listing: &Listing,
        (number, shard): (usize, usize),
        commit: usize,
    ) -> Result<Result<Timed, (CommitRefusal, Identity)>> {
        let unknown = || Identity { machine: "unknown".into(), process: 0, nonce: String::new() };
        let commit = match read_commit(listing, shard, commit) {
            Ok(commit) => commit,
            Err(Error::Data(reason)) => return Ok(Err((CommitRefusal::Bad(reason), unknown()))),
            Err(error) => return Err(error),
        };
        let worker = commit.worker.clone();
        let refused = |refusal| Ok(Err((refusal, worker)));
        if let Some(reason) = self.is_other(&commit, number) {
            return refused(CommitRefusal::Other(reason));
        }
        let place = Place::of(self.config, number, shard);
        let file = folder_of(self.folder, number).join(&commit.file);
        if file.parent() != Some(&*folder_of(self.folder, number)) || !storage::exists(&file)? {
            return refused(CommitRefusal::Bad(format!("{} is missing", file.display())));
        }
        let bytes = match storage::read_at_most(&file, commit.bytes, "the shard that was committed") {
            Ok(bytes) => bytes,
            Err(Error::Data(reason)) => return refused(CommitRefusal::Bad(reason)),
            Err(error) => return Err(error),
        };
        if storage::sha256(&bytes) != commit.file_sha256
            || place.is_none_or(|place| place.games.len() != commit.games)
        {
            return refused(CommitRefusal::Bad(format!("{}: it is not what was committed", file.display())));
        }
        let path = store::shard_path(self.folder, number, shard);
        self.held.check()?;
        storage::write_whole(&path, &bytes)?;
        let origins = self.lineage.origins(number, self.config);
        let origin = origins.iter().find(|origin| origin.to_string() == commit.origin);
        store::write_checksum(&path, &commit.file_sha256, origin)?;
        match self.archive().read(number, shard) {
            Ok(read) => Ok(Ok((read, commit.cpu_seconds))),
            Err(error @ (Error::Data(_) | Error::Foreign(_) | Error::Mismatch(_))) => {
                store::set_aside(&path)?;
                refused(CommitRefusal::Bad(error.to_string()))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the reason if a commit is of another run, other rules, or another program.
    fn is_other(&self, commit: &Commit, number: usize) -> Option<String> {
        let own = Program::current().to_string();
        if commit.program != own {
            return Some(format!("they were played by {}, but the learner is {own}", commit.program));
        }
        if let Err(error) = commit.game.expect(&self.rules.identity, "the worker") {
            return Some(error.to_string());
        }
        let origins = self.lineage.origins(number, self.config);
        if origins.iter().any(|origin| origin.to_string() == commit.origin) {
            None
        } else {
            Some(format!("it was played for another run ({})", commit.origin))
        }
    }

    /// Reports how many games are available.
    fn show(&self, gathered: &Gathered, number: usize) {
        let games = |shard: &usize| games_in(self.config, number, *shard);
        let positions = gathered.shards.values().map(|shard| shard.info(0, 0).positions);
        self.observer.event(Event::Selfplay(Progress {
            games: gathered.shards.keys().map(games).sum(),
            kept: gathered.kept.iter().map(games).sum(),
            positions: positions.sum(),
            ..Progress::default()
        }));
    }

    /// Creates the list of the shards that generation `number` is trained on, if workers played any.
    pub(super) fn consume(&self, number: usize, gathered: &Gathered) -> Result<()> {
        let listing = Listing::of(self.folder, number)?;
        if listing.is_empty() {
            return Ok(());
        }
        let mut shards = BTreeMap::new();
        for shard in (0..shards_of(self.config, number)).filter(|shard| !gathered.aside.contains(shard)) {
            let sha256 = match gathered.shards.get(&shard) {
                Some(read) => read.sha256.clone(),
                // this process has just played the shard
                None => {
                    let recorded = store::checksum(&store::shard_path(self.folder, number, shard))?;
                    recorded.split_whitespace().next().unwrap_or_default().to_string()
                }
            };
            // after a restart, shards that were taken before are recognized by their bytes
            let committed = listing.shard(shard).committed().filter(|commit| {
                read_commit(&listing, shard, *commit).is_ok_and(|commit| commit.file_sha256 == sha256)
            });
            shards.insert(shard, (sha256, committed.unwrap_or(0)));
        }
        let list = Consumed { shards, aside: gathered.aside.iter().copied().collect() };
        match list.create(self.folder, number) {
            Ok(None) => Ok(()),
            Ok(Some(there)) => self.reconcile(number, &list, &there),
            Err(Error::Data(what)) => Err(Error::Config(format!(
                "{what}; `petteia inspect {} --repair` sets it aside",
                self.folder.display()
            ))),
            Err(error) => Err(error),
        }
    }

    /// Compares the list that would be created with the list that is `there`, because the generation was trained
    /// before. If both have the same games, only commits were lost or damaged since then. If their games differ, the
    /// call fails.
    fn reconcile(&self, number: usize, list: &Consumed, there: &Consumed) -> Result<()> {
        // if another learner has taken over, the error names it
        self.held.check()?;
        let sha256_of =
            |list: &Consumed, shard: usize| list.shards.get(&shard).map(|(sha256, _)| sha256.clone());
        let all = shards_of(self.config, number);
        let others: Vec<String> = (0..all)
            .filter(|shard| sha256_of(list, *shard) != sha256_of(there, *shard))
            .map(|shard| store::shard_name(number, shard))
            .collect();
        if !others.is_empty() || list.aside != there.aside {
            return Err(Error::Config(format!(
                "{}: it lists different games than the run has for generation {number} ({}), so nothing is trained: \
                 put back the list, or the shards, from a copy of the run; if the shards are right, remove the list, \
                 and it is made again",
                Consumed::path(self.folder, number).display(),
                if others.is_empty() { "the shards put aside".into() } else { others.join(", ") }
            )));
        }
        let listing = Listing::of(self.folder, number)?;
        for (shard, (sha256, commit)) in &there.shards {
            if *commit == 0 || list.shards.get(shard).is_some_and(|(_, now)| now == commit) {
                continue;
            }
            let path = commit_path(&folder_of(self.folder, number), *shard, *commit);
            let what = match read_commit(&listing, *shard, *commit) {
                Ok(commit) if commit.file_sha256 == *sha256 => continue,
                Ok(_) => format!("{}: it is about different games", path.display()),
                Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                    format!("{} is missing", path.display())
                }
                Err(error @ Error::Data(_)) => error.to_string(),
                Err(error) => return Err(error),
            };
            self.observer.event(Event::Warning(format!(
                "{what}; the run has the committed games, and generation {number} is trained on them, as before"
            )));
        }
        Ok(())
    }

    /// Removes the workers' files of a trained generation, whose bytes are in the run's own shards.
    pub(super) fn sweep(&self, number: usize) -> Result<()> {
        let listing = Listing::of(self.folder, number)?;
        if !listing.is_consumed {
            return Ok(());
        }
        for (shard, (_, commit)) in Consumed::read(self.folder, number)?.shards {
            if commit > 0 && !listing.shard(shard).files.is_empty() {
                let file = read_commit(&listing, shard, commit)?.file;
                let path: PathBuf = folder_of(self.folder, number).join(file);
                storage::remove(&path)?;
            }
        }
        Ok(())
    }
}
