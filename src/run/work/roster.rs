//! Lists the processes that work on a run, with what they have committed lately.
//!
//! Input: the commits, judgments, failures, and rejections of the two newest generations in `work/`. Output: a line for
//! each process, most recent first. No process reports that it is alive; a worker is known only by its work.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;

use super::commit::{Commit, commit_path, read_commit, read_rejection};
use super::failed::WorkerFailure;
use super::judging::Judged;
use super::listing::Listing;
use crate::error::Result;
use crate::replay::store;
use crate::run::files::shared::{Identity, WORK, folder_of, read};
use crate::storage;

/// The largest number of commits of a generation that are read.
const MOST_COMMITS: usize = 256;
/// The largest number of workers that are listed.
const MOST_WORKERS: usize = 100;
/// A worker can be silent only if it has committed nothing for this many times the duration of its longest shard.
const SILENT_SHARDS: f64 = 3.0;
/// A worker can be silent only if it has committed nothing for this many seconds.
const SILENT_SECONDS: f64 = 60.0;

/// The recent work of a process.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Activity {
    /// The machine of the process.
    pub machine: String,
    /// The number of the process on its machine.
    pub process: u32,
    /// Shards that the process committed.
    pub shards: usize,
    /// Games of the committed shards.
    pub games: usize,
    /// Positions of the committed shards.
    pub positions: usize,
    /// Generations that the process judged.
    pub judged: usize,
    /// Shards that the process could not play.
    pub failed: usize,
    /// Shards of this process that the learner rejected.
    pub rejected: usize,
    /// Positions per second, from the start of the process's first shard to its newest commit.
    pub positions_per_second: Option<f64>,
    /// Seconds since the process last wrote something.
    pub seconds_ago: Option<f64>,
    /// Whether the process has been silent for much longer than a shard takes, so that it waits for work or is gone.
    pub is_silent: bool,
    /// The times when the process began its first shard and when it last wrote something.
    #[serde(skip)]
    span: Option<(SystemTime, SystemTime)>,
    /// The seconds that the process's longest shard took.
    #[serde(skip)]
    longest: f64,
}

/// The commits of a run that were read so far. Commits do not change, so each call reads only the new ones.
#[derive(Debug, Default)]
pub struct Roster {
    known: BTreeMap<PathBuf, Commit>,
}

/// Lists the processes that work on the run in `run`.
///
/// # Errors
/// As for [`Roster::read`].
pub fn roster(run: &Path) -> Result<Vec<Activity>> {
    Roster::default().read(run)
}

impl Roster {
    /// Lists the processes that work on the run in `run`, which must be the same in all calls.
    ///
    /// # Errors
    /// If the folder cannot be read. Individual files that cannot be read are left out.
    pub fn read(&mut self, run: &Path) -> Result<Vec<Activity>> {
        let mut reading =
            RosterReading { before: std::mem::take(&mut self.known), ..RosterReading::default() };
        let result = reading.read(run);
        self.known = reading.commits;
        result
    }
}

impl RosterReading {
    fn read(&mut self, run: &Path) -> Result<Vec<Activity>> {
        let folders = storage::list(&run.join(WORK))?;
        let mut generations: Vec<usize> =
            folders.iter().filter_map(|path| store::generation_of(path)).collect();
        generations.sort_unstable();
        for generation in generations.into_iter().rev().take(2) {
            self.add(run, generation)?;
        }
        let now = SystemTime::now();
        let workers = std::mem::take(&mut self.workers);
        let mut all: Vec<Activity> = workers.into_values().map(|activity| activity.at(now)).collect();
        let ago = |activity: &Activity| activity.seconds_ago.unwrap_or(f64::INFINITY);
        all.sort_by(|one, other| ago(one).total_cmp(&ago(other)));
        all.truncate(MOST_WORKERS);
        Ok(all)
    }

    /// Returns the activity of a worker.
    fn activity_of(&mut self, worker: &Identity) -> &mut Activity {
        let Identity { machine, process, nonce } = worker;
        let new = || Activity { machine: machine.clone(), process: *process, ..Activity::default() };
        self.workers.entry(nonce.clone()).or_insert_with(new)
    }

    /// Adds the work of a generation.
    fn add(&mut self, run: &Path, generation: usize) -> Result<()> {
        let listing = Listing::of(run, generation)?;
        let committed = listing.shards().filter_map(|(shard, offers)| Some((shard, offers.committed()?)));
        let committed: Vec<(usize, usize)> = committed.collect();
        for (shard, number) in committed.into_iter().rev().take(MOST_COMMITS) {
            let path = commit_path(&folder_of(run, generation), shard, number);
            let known = self.before.remove(&path).map_or_else(|| read_commit(&listing, shard, number), Ok);
            let Ok(commit) = known else { continue };
            // a copied file is newer than its contents
            let ended = humantime::parse_rfc3339(&commit.ended).ok();
            let activity = self.activity_of(&commit.worker);
            activity.shards += 1;
            activity.games += commit.games;
            activity.positions += commit.positions;
            activity.note(ended, commit.seconds);
            self.commits.insert(path, commit);
        }
        for (shard, offers) in listing.shards() {
            for path in &offers.failed {
                if let Ok(failure) = read::<WorkerFailure>(path) {
                    let activity = self.activity_of(&failure.worker);
                    activity.failed += 1;
                    activity.note(written(path), 0.0);
                }
            }
            for number in 1..=offers.rejected {
                if let Ok(rejection) = read_rejection(&listing, shard, number) {
                    self.activity_of(&rejection.worker).rejected += 1;
                }
            }
        }
        if let Ok(Some(judged)) = Judged::read(run, generation) {
            let activity = self.activity_of(&judged.worker);
            activity.judged += 1;
            activity.note(written(&Judged::path(run, generation)), 0.0);
        }
        Ok(())
    }
}

/// A reading in progress.
#[derive(Default)]
struct RosterReading {
    /// The workers, by the nonces of their processes.
    workers: BTreeMap<String, Activity>,
    /// The commits that an earlier reading read.
    before: BTreeMap<PathBuf, Commit>,
    /// The commits that count now.
    commits: BTreeMap<PathBuf, Commit>,
}

impl Activity {
    /// Notes that something was written at a time, and took `seconds`.
    fn note(&mut self, written: Option<SystemTime>, seconds: f64) {
        let took = std::time::Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let Some(ended) = written else { return };
        let began = ended.checked_sub(took).unwrap_or(ended);
        let (first, last) = self.span.unwrap_or((began, ended));
        self.span = Some((first.min(began), last.max(ended)));
        self.longest = self.longest.max(took.as_secs_f64());
    }

    /// Computes what depends on the current time.
    fn at(mut self, now: SystemTime) -> Activity {
        if let Some((first, last)) = self.span {
            let between =
                |from: SystemTime, to: SystemTime| to.duration_since(from).unwrap_or_default().as_secs_f64();
            let (worked, ago) = (between(first, last), between(last, now));
            self.positions_per_second =
                (worked > 0.0 && self.positions > 0).then(|| self.positions as f64 / worked);
            self.seconds_ago = Some(ago);
            self.is_silent = ago > SILENT_SECONDS && ago > SILENT_SHARDS * self.longest;
        }
        self
    }
}

/// Returns the time when a file was written.
fn written(path: &Path) -> Option<SystemTime> {
    storage::about(path).ok().flatten()?.modified
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn speed_is_that_of_the_time_worked_and_silence_is_relative_to_it() {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        let at = |seconds: u64| Some(start + Duration::from_secs(seconds));
        let mut activity = Activity { positions: 600, ..Activity::default() };
        // two shards at the same time, then a third
        activity.note(at(40), 40.0);
        activity.note(at(40), 30.0);
        activity.note(at(60), 20.0);
        let seen = activity.clone().at(start + Duration::from_secs(120));
        assert_eq!(
            (seen.positions_per_second, seen.seconds_ago, seen.is_silent),
            (Some(10.0), Some(60.0), false)
        );
        assert!(!activity.clone().at(start + Duration::from_secs(170)).is_silent);
        assert!(activity.clone().at(start + Duration::from_secs(181)).is_silent);
        // clocks differ
        assert_eq!(activity.at(start).seconds_ago, Some(0.0));
    }
}
