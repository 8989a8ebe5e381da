//! The shards that a worker plays now. The worker claims shards one after another, and commits each shard when its
//! games are over.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::commit::{Circumstances, commit, commit_path};
use crate::checkpoint;
use crate::config::Config;
use crate::error::Result;
use crate::parallel;
use crate::replay::place;
use crate::replay::record::Record;
use crate::replay::store;
use crate::run::event::{Event, Observer};
use crate::run::files::shared::folder_of;
use crate::selfplay::Shards;
use crate::storage;

/// What a worker is about to play.
pub(super) struct Job<'a> {
    pub(super) folder: &'a Path,
    pub(super) config: &'a Config,
    pub(super) observer: &'a dyn Observer,
    pub(super) about: Circumstances<'a>,
    /// The generation that is played.
    pub(super) number: usize,
    /// The generation whose network plays.
    pub(super) model: usize,
    /// The shards to play, each with the number that its commit gets.
    pub(super) chosen: Vec<(usize, usize)>,
    /// How long games in flight may continue when the worker must end.
    pub(super) grace: Duration,
    /// Whether the process does nothing else.
    pub(super) is_alone: bool,
}

/// The shards of a job, which the worker claims one after another.
pub(super) struct Claims<'a> {
    folder: &'a Path,
    observer: &'a dyn Observer,
    about: Circumstances<'a>,
    number: usize,
    /// The generation whose network plays.
    model: usize,
    /// Whether the worker switches to a newer network as soon as there is one.
    is_free: bool,
    kept: usize,
    grace: Duration,
    state: Mutex<State>,
}

struct State {
    /// The shards not yet begun, each with the number that its commit gets.
    waiting: VecDeque<(usize, usize)>,
    /// The shards in flight, with the numbers of their commits and the times when they began.
    begun: BTreeMap<usize, (usize, Instant)>,
    /// The time that the last finished shard took.
    took: Option<Duration>,
    /// The CPU time of the process at its last commit, if it does nothing else.
    cpu: Option<Duration>,
    /// The time when the worker learned that it must end.
    ending: Option<Instant>,
}

impl<'a> Claims<'a> {
    pub(super) fn new(job: Job<'a>) -> Claims<'a> {
        let Job { folder, config, observer, about, number, model, chosen, grace, is_alone } = job;
        let own: usize = chosen.iter().map(|(shard, _)| place::games_in(config, number, *shard)).sum();
        let cpu = is_alone.then(parallel::cpu_time_of_process).flatten();
        let state = State { waiting: chosen.into(), begun: BTreeMap::new(), took: None, cpu, ending: None };
        Claims {
            folder,
            observer,
            about,
            number,
            model,
            is_free: config.selfplay.ahead > 0 && !place::is_bootstrap(config, number),
            kept: place::games_of(config, number).0 - own,
            grace,
            state: Mutex::new(state),
        }
    }

    /// Returns whether games in flight continue: until they are over or, if the worker must end, for its grace period.
    pub(super) fn continues(&self) -> bool {
        if !self.observer.interrupted() {
            return true;
        }
        let mut state = self.state.lock().expect("no panic while shards are claimed");
        !state.begun.is_empty() && state.ending.get_or_insert_with(Instant::now).elapsed() < self.grace
    }

    /// Returns the shards that were not finished, and the time that the last finished one took.
    pub(super) fn end(self) -> (Vec<usize>, Option<Duration>) {
        let state = self.state.into_inner().expect("no panic while shards are claimed");
        (state.begun.into_keys().collect(), state.took)
    }
}

impl Shards for Claims<'_> {
    fn next(&self) -> Result<Option<usize>> {
        let mut state = self.state.lock().expect("no panic while shards are claimed");
        if self.observer.interrupted()
            || (self.is_free && checkpoint::newest_generation(self.folder)? > self.model)
        {
            state.waiting.clear();
        }
        let folder = folder_of(self.folder, self.number);
        while let Some((shard, number)) = state.waiting.pop_front() {
            // other workers may have been faster since the list was made
            let path = store::shard_path(self.folder, self.number, shard);
            if !storage::exists(&commit_path(&folder, shard, number))? && !store::is_finished(&path)? {
                state.begun.insert(shard, (number, Instant::now()));
                return Ok(Some(shard));
            }
        }
        Ok(None)
    }

    fn played(&self, shard: usize, records: Vec<Record>) -> Result<()> {
        let mut state = self.state.lock().expect("no panic while shards are claimed");
        let (number, began) = state.begun.get(&shard).copied().expect("a shard begins before it is played");
        let before = state.cpu;
        state.cpu = before.and_then(|_| parallel::cpu_time_of_process());
        let cpu_seconds = state.cpu.zip(before).map(|(now, before)| now.saturating_sub(before).as_secs_f64());
        drop(state);
        let (place, took) = ((self.number, shard, number), began.elapsed());
        let counts = commit(self.folder, place, &records, &self.about, (took.as_secs_f64(), cpu_seconds))?;
        let mut state = self.state.lock().expect("no panic while shards are claimed");
        state.begun.remove(&shard);
        state.took = Some(took);
        drop(state);
        let (generation, games, seconds) = (self.number, records.len(), took.as_secs_f64());
        self.observer.event(Event::Committed { generation, shard, games, seconds, counts });
        Ok(())
    }

    fn kept(&self) -> usize {
        self.kept
    }
}
