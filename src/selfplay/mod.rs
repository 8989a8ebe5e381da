//! Self-play: an agent's games against itself, written as records.
//!
//! A shard is `batch` games in flight together on one thread: [`episode`] is one of them, and the leaves of
//! all form one batch for the evaluator. What a shard holds depends on (seed, generation, game index) and
//! the evaluator alone, so any number of threads writes the same bytes. [`play_generation`] spreads shards
//! over the cores and skips those that an interrupted run has finished already.

pub mod episode;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::config::Config;
use crate::error::{Error, Result};
use crate::game::{Game, GameIdentity};
use crate::replay::record::Record;
use crate::replay::store;
use crate::search::evaluator::{Evaluations, Evaluator, Request, recycle};
use episode::{Episode, Step};

/// One generation of self-play.
pub struct Generation<'a> {
    /// The run's settings.
    pub config: &'a Config,
    /// The game's identity, for the records.
    pub identity: &'a GameIdentity,
    /// Its number, from 1.
    pub number: usize,
    /// Games to play.
    pub games: usize,
    /// Simulations an action.
    pub simulations: usize,
    /// Named in every record.
    pub evaluator: String,
}

/// What self-play reports while it runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Games finished.
    pub games: usize,
    /// Positions played.
    pub positions: usize,
    /// Simulations of their searches.
    pub simulations: usize,
    /// Leaves evaluated.
    pub evaluations: usize,
    /// Those of them that a cache answered.
    pub hits: usize,
}

/// Counters that all threads share, and the wish to stop.
#[derive(Default)]
pub struct Monitor {
    games: AtomicUsize,
    positions: AtomicUsize,
    simulations: AtomicUsize,
    evaluations: AtomicUsize,
    hits: AtomicUsize,
    stopped: AtomicBool,
}

impl Monitor {
    /// The counts so far.
    pub fn progress(&self) -> Progress {
        let read = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        Progress {
            games: read(&self.games),
            positions: read(&self.positions),
            simulations: read(&self.simulations),
            evaluations: read(&self.evaluations),
            hits: read(&self.hits),
        }
    }

    /// Asks all threads to stop.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// Plays and writes the shards of a generation that `run` lacks, and calls `tick` now and then from any
/// thread; `tick` returns false to stop. Shards that were finished stay when it is interrupted.
pub fn play_generation<G: Game, E: Evaluator<G>>(
    game: &G,
    generation: &Generation,
    run: &Path,
    evaluator: impl Fn() -> E + Sync,
    tick: impl Fn(Progress) -> bool + Sync,
) -> Result<()> {
    let batch = generation.config.selfplay.batch;
    let monitor = Monitor::default();
    (0..generation.games.div_ceil(batch)).into_par_iter().try_for_each(|shard| {
        let path = store::shard_path(run, generation.number, shard);
        let games = shard * batch..((shard + 1) * batch).min(generation.games);
        if store::is_finished(&path) {
            monitor.games.fetch_add(games.len(), Ordering::Relaxed);
            return Ok(());
        }
        let records = play_shard(game, generation, games, &mut evaluator(), &monitor, &tick)?;
        store::write_shard(&path, &records)
    })
}

/// Plays the games `games` of a generation together.
pub fn play_shard<G: Game>(
    game: &G,
    generation: &Generation,
    games: std::ops::Range<usize>,
    evaluator: &mut dyn Evaluator<G>,
    monitor: &Monitor,
    tick: &(impl Fn(Progress) -> bool + Sync),
) -> Result<Vec<Record>> {
    let mut active: Vec<Episode<G>> = games.map(|index| Episode::new(game, generation, index)).collect();
    let mut records = Vec::new();
    let (mut seeds, mut requests, mut evaluations) = (Vec::new(), Vec::new(), Evaluations::new());
    while !active.is_empty() {
        if monitor.stopped.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        seeds.clear();
        // counted here first: threads that share a counter wait for each other
        let (mut positions, mut simulations) = (0, 0);
        while let Some(episode) = active.get_mut(seeds.len()) {
            let before = (episode.plies(), episode.simulations());
            let step = episode.advance();
            positions += episode.plies() - before.0;
            simulations += episode.simulations() - before.1;
            match step {
                Step::Evaluate(seed) => seeds.push(seed),
                Step::Finished => {
                    monitor.games.fetch_add(1, Ordering::Relaxed);
                    records.push(active.remove(seeds.len()).into_record(generation));
                }
            }
        }
        monitor.positions.fetch_add(positions, Ordering::Relaxed);
        monitor.simulations.fetch_add(simulations, Ordering::Relaxed);
        let mut waiting: Vec<Request<G>> = recycle(requests);
        waiting.extend(active.iter().zip(&seeds).map(|(episode, seed)| episode.request(*seed)));
        if !waiting.is_empty() {
            let before = evaluator.hits();
            evaluator.evaluate(&waiting, &mut evaluations);
            monitor.hits.fetch_add(evaluator.hits() - before, Ordering::Relaxed);
            monitor.evaluations.fetch_add(waiting.len(), Ordering::Relaxed);
        }
        requests = recycle(waiting);
        for (episode, evaluation) in active.iter_mut().zip(evaluations.rows()) {
            episode.apply(evaluation);
        }
        if !tick(monitor.progress()) {
            monitor.stop();
        }
    }
    records.sort_by_key(|record| record.index);
    Ok(records)
}
