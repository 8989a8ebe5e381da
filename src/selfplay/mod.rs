//! Self-play: an agent's games against itself, written as records.
//!
//! A shard is a file of `batch` games: [`episode`] is one of them, [`starts`] says where it begins. What becomes of a
//! game depends only on (seed, generation, game index), the evaluator and where it begins, so any number of threads
//! writes the same bytes. Games in flight together have their leaves evaluated in one batch. [`play_generation`] skips
//! the shards that an interrupted run had finished and plays the others as suits the evaluator: for the fused one each
//! core has the games of a shard in flight, until too few shards are left, whose games all cores share
//! ([`play_shard`]); one that wants more positions together ([`Evaluator::batch`]), because a GPU computes them, gets
//! the games of as many shards as fill its batches, one half of them after the other ([`play_halves`]).

pub mod episode;
pub mod starts;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;

use crate::config::Config;
use crate::error::{Error, Result};
use crate::game::{Game, GameIdentity};
use crate::parallel;
use crate::replay::place::Origin;
use crate::replay::record::Record;
use crate::replay::store;
use crate::search::evaluator::{Evaluations, Evaluator, Request, evaluate, recycle};
use crate::storage;
use episode::{Episode, Step};
use starts::Starts;

/// One generation of self-play.
#[derive(Debug)]
pub struct Generation<'a> {
    /// The run's settings.
    pub config: &'a Config,
    /// The game's identity, for the records.
    pub identity: &'a GameIdentity,
    /// Its number, from 1.
    pub number: usize,
    /// Games to play.
    pub games: usize,
    /// Simulations per action.
    pub simulations: usize,
    /// The name of the evaluator in every record.
    pub evaluator: String,
    /// Where its games begin; [`Starts::default`] is the initial position for all.
    pub starts: Starts,
}

/// The progress of self-play.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Games finished.
    pub games: usize,
    /// Games among those that an interrupted run had finished.
    pub kept: usize,
    /// Games in flight.
    pub in_flight: usize,
    /// Positions played.
    pub positions: usize,
    /// Positions among those of games in flight.
    pub unfinished: usize,
    /// Simulations of the searches.
    pub simulations: usize,
    /// Leaves evaluated.
    pub evaluations: usize,
    /// Leaves among those that a cache answered.
    pub hits: usize,
    /// How well an evaluator is used that wants batches.
    pub bulk: Bulk,
}

/// How well an evaluator is used that wants batches of more than one position, as far as it was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bulk {
    /// Batches.
    pub batches: usize,
    /// Positions in them, without those answered by a cache.
    pub positions: usize,
    /// The positions that it wants in each.
    pub wanted: usize,
    /// How long it computed.
    pub busy: Duration,
    /// How long the games took meanwhile, in all.
    pub elapsed: Duration,
}

impl Bulk {
    /// How full its batches were on average, 0 to 1; `None` before the first.
    pub fn fill(&self) -> Option<f64> {
        let room = self.batches * self.wanted;
        (room > 0).then(|| (self.positions as f64 / room as f64).min(1.0))
    }

    /// The share of the time in which it had nothing to do.
    pub fn idle(&self) -> f64 {
        let elapsed = self.elapsed.as_secs_f64();
        if elapsed > 0.0 { 1.0 - (self.busy.as_secs_f64() / elapsed).min(1.0) } else { 0.0 }
    }
}

/// Counters shared by all threads, and a request to stop.
#[derive(Debug, Default)]
pub struct Monitor {
    games: AtomicUsize,
    kept: AtomicUsize,
    in_flight: AtomicUsize,
    positions: AtomicUsize,
    unfinished: AtomicUsize,
    simulations: AtomicUsize,
    evaluations: AtomicUsize,
    hits: AtomicUsize,
    bulk: Mutex<Bulk>,
    stopped: AtomicBool,
}

impl Monitor {
    /// The counts so far.
    pub fn progress(&self) -> Progress {
        let read = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        Progress {
            games: read(&self.games),
            kept: read(&self.kept),
            in_flight: read(&self.in_flight),
            positions: read(&self.positions),
            unfinished: read(&self.unfinished),
            simulations: read(&self.simulations),
            evaluations: read(&self.evaluations),
            hits: read(&self.hits),
            bulk: *self.bulk.lock().expect("no panic while counting"),
        }
    }

    /// Counts games that were finished earlier.
    fn keep(&self, games: usize) {
        self.games.fetch_add(games, Ordering::Relaxed);
        self.kept.fetch_add(games, Ordering::Relaxed);
    }

    /// Counts a batch of an evaluator that wants `wanted` positions.
    fn batch(&self, positions: usize, wanted: usize, busy: Duration) {
        let mut bulk = self.bulk.lock().expect("no panic while counting");
        bulk.batches += usize::from(positions > 0);
        bulk.positions += positions;
        bulk.wanted = wanted;
        bulk.busy += busy;
    }

    /// Asks all threads to stop.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Fails if a stop was requested.
    fn check(&self) -> Result<()> {
        match self.stopped.load(Ordering::Relaxed) {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }

    /// Passes the counts to `tick`, which returns whether to continue.
    fn show(&self, tick: Tick) {
        if !tick(self.progress()) {
            self.stop();
        }
    }
}

/// Is shown the counts now and then, from any thread, and returns false to stop.
pub type Tick<'a> = &'a (dyn Fn(Progress) -> bool + Sync);
/// Makes an evaluator for one thread. Evaluators are asked for whole batches, so nothing is gained by their types.
pub type MakeEvaluator<'a, G> = &'a (dyn Fn() -> Box<dyn Evaluator<G> + 'a> + Sync);

/// Plays and writes the shards of a generation that `run` lacks, as played by `origin`, and calls `tick` now and then
/// from any thread; `tick` returns false to stop. If interrupted, finished shards stay.
pub fn play_generation<G: Game>(
    game: &G,
    generation: &Generation,
    run: &Path,
    origin: &Origin,
    evaluator: MakeEvaluator<G>,
    tick: Tick,
) -> Result<()> {
    let shards = ShardPlan::of(generation);
    let path_of = |shard: usize| store::shard_path(run, generation.number, shard);
    let monitor = Monitor::default();
    let (mut finished, mut missing) = (Vec::new(), Vec::new());
    for shard in 0..shards.count() {
        if store::is_finished(&path_of(shard))? { finished.push(shard) } else { missing.push(shard) }
    }
    monitor.keep(finished.into_iter().map(|shard| shards.games(shard).len()).sum());
    // once: if it disappears later, it must not be created again
    if let Some(folder) = path_of(0).parent() {
        storage::create_folder_in(run, folder)?;
    }
    let write =
        |(shard, records): (usize, Vec<Record>)| store::write_shard(&path_of(shard), &records, Some(origin));
    let file = |records: Vec<Record>| {
        records.into_iter().filter_map(|record| shards.add(record)).try_for_each(write)
    };
    let mut first = evaluator();
    match first.batch() {
        0 | 1 => {
            drop(first);
            let portions = shards.portions(&missing, rayon::current_num_threads());
            parallel::each(portions.len(), &|index| {
                let games = portions[index].iter().copied();
                file(play_together(game, generation, games, &mut *evaluator(), &monitor, tick)?)
            })
        }
        wanted => missing.chunks(shards.in_flight(wanted)).try_for_each(|in_flight| {
            let games: Vec<usize> = in_flight.iter().flat_map(|shard| shards.games(*shard)).collect();
            file(play_in_turn(game, generation, &games, &mut *first, &monitor, tick)?)
        }),
    }
}

/// The shards of a generation: the files with `batch` of its games each.
#[derive(Default)]
struct ShardPlan {
    batch: usize,
    games: usize,
    /// Records of shards some of whose games are not over.
    waiting: Mutex<BTreeMap<usize, Vec<Record>>>,
}

impl ShardPlan {
    fn of(generation: &Generation) -> ShardPlan {
        ShardPlan { batch: generation.config.selfplay.batch, games: generation.games, ..ShardPlan::default() }
    }

    fn count(&self) -> usize {
        self.games.div_ceil(self.batch)
    }

    fn games(&self, shard: usize) -> Range<usize> {
        shard * self.batch..((shard + 1) * self.batch).min(self.games)
    }

    /// How many shards are in flight together so that each half of their games fills a batch of so many positions.
    fn in_flight(&self, wanted: usize) -> usize {
        (2 * wanted).div_ceil(self.batch)
    }

    /// The games of these shards, divided among threads: a shard is a portion, but those of the last ones, if they are
    /// fewer than the threads, are shared by all.
    fn portions(&self, shards: &[usize], threads: usize) -> Vec<Vec<usize>> {
        let (whole, shared) = shards.split_at(shards.len() / threads * threads);
        let games = |shards: &[usize]| shards.iter().flat_map(|shard| self.games(*shard)).collect();
        let mut portions: Vec<Vec<usize>> = whole.chunks(1).map(games).collect();
        let shared: Vec<usize> = games(shared);
        let ends = (0..=threads).map(|thread| shared.len() * thread / threads);
        let parts = ends.clone().zip(ends.skip(1)).map(|(from, to)| shared[from..to].to_vec());
        portions.extend(parts.filter(|part| !part.is_empty()));
        portions
    }

    /// Takes a record; returns those of its shard, with its number, if that is whole now.
    fn add(&self, record: Record) -> Option<(usize, Vec<Record>)> {
        let shard = record.index / self.batch;
        let mut waiting = self.waiting.lock().expect("no panic while records wait");
        let records = waiting.entry(shard).or_default();
        records.push(record);
        let is_whole = records.len() == self.games(shard).len();
        is_whole.then(|| waiting.remove(&shard)).flatten().map(|records| (shard, sorted(records)))
    }
}

/// Plays the games `games` of a generation together on this thread: the fastest way if the evaluator computes on a
/// CPU.
pub fn play_shard<G: Game>(
    game: &G,
    generation: &Generation,
    games: Range<usize>,
    evaluator: &mut dyn Evaluator<G>,
    monitor: &Monitor,
    tick: Tick,
) -> Result<Vec<Record>> {
    play_together(game, generation, games, evaluator, monitor, tick).map(sorted)
}

/// As [`play_shard`], for any games; records in the order of finishing.
fn play_together<G: Game>(
    game: &G,
    generation: &Generation,
    games: impl ExactSizeIterator<Item = usize>,
    evaluator: &mut dyn Evaluator<G>,
    monitor: &Monitor,
    tick: Tick,
) -> Result<Vec<Record>> {
    let mut flight = GamesInFlight::new(game, generation, games, monitor);
    while !flight.active.is_empty() {
        monitor.check()?;
        flight.advance(generation, monitor, false);
        flight.evaluate(evaluator, monitor)?;
        flight.apply();
        monitor.show(tick);
    }
    Ok(flight.records)
}

/// Plays the same games and writes the same records, for an evaluator that needs large batches and leaves the CPU
/// free in the meantime (a GPU): the leaves of one half of the games are evaluated while all cores advance the other
/// half.
pub fn play_halves<G: Game>(
    game: &G,
    generation: &Generation,
    games: Range<usize>,
    evaluator: &mut dyn Evaluator<G>,
    monitor: &Monitor,
    tick: Tick,
) -> Result<Vec<Record>> {
    play_in_turn(game, generation, &games.collect::<Vec<_>>(), evaluator, monitor, tick).map(sorted)
}

/// As [`play_shard`], for any games, one batch computing while the other is searched; records in no order.
fn play_in_turn<G: Game>(
    game: &G,
    generation: &Generation,
    games: &[usize],
    evaluator: &mut dyn Evaluator<G>,
    monitor: &Monitor,
    tick: Tick,
) -> Result<Vec<Record>> {
    let (some, others) = games.split_at(games.len() / 2);
    let [mut waiting, mut moving] =
        [some, others].map(|games| GamesInFlight::new(game, generation, games.iter().copied(), monitor));
    let mut begun = Instant::now();
    waiting.advance(generation, monitor, true);
    while !(waiting.active.is_empty() && moving.active.is_empty()) {
        monitor.check()?;
        let mut evaluated = Ok(());
        parallel::both(&mut || evaluated = waiting.evaluate(evaluator, monitor), &mut || {
            moving.advance(generation, monitor, true);
        });
        evaluated?;
        waiting.apply();
        std::mem::swap(&mut waiting, &mut moving);
        let now = Instant::now();
        monitor.bulk.lock().expect("no panic while counting").elapsed += now - begun;
        begun = now;
        monitor.show(tick);
    }
    waiting.records.extend(moving.records);
    Ok(waiting.records)
}

fn sorted(mut records: Vec<Record>) -> Vec<Record> {
    records.sort_by_key(|record| record.index);
    records
}

/// Games in flight together; each contributes one leaf to a batch.
struct GamesInFlight<G: Game> {
    active: Vec<Episode<G>>,
    /// The last step of each game, including those that have since left.
    steps: Vec<Step>,
    records: Vec<Record>,
    /// Reused allocation for the requests of a batch.
    requests: Vec<Request<'static, G>>,
    evaluations: Evaluations,
}

impl<G: Game> GamesInFlight<G> {
    fn new(
        game: &G,
        generation: &Generation,
        games: impl ExactSizeIterator<Item = usize>,
        monitor: &Monitor,
    ) -> GamesInFlight<G> {
        monitor.in_flight.fetch_add(games.len(), Ordering::Relaxed);
        GamesInFlight {
            active: games.map(|index| Episode::new(game, generation, index)).collect(),
            steps: Vec::new(),
            records: Vec::new(),
            requests: Vec::new(),
            evaluations: Evaluations::new(),
        }
    }

    /// Searches and plays in every game until it needs an evaluation; finished games become records.
    fn advance(&mut self, generation: &Generation, monitor: &Monitor, parallel: bool) {
        let before = self.counts();
        match parallel {
            true => self.active.par_iter_mut().map(Episode::advance).collect_into_vec(&mut self.steps),
            false => {
                self.steps.clear();
                self.steps.extend(self.active.iter_mut().map(Episode::advance));
            }
        }
        // counted locally first: threads that share a counter slow each other down
        let after = self.counts();
        monitor.positions.fetch_add(after[0] - before[0], Ordering::Relaxed);
        monitor.unfinished.fetch_add(after[0] - before[0], Ordering::Relaxed);
        monitor.simulations.fetch_add(after[1] - before[1], Ordering::Relaxed);
        let is_over = |step: &Step| matches!(step, Step::Finished);
        if self.steps.iter().any(is_over) {
            let mut steps = self.steps.iter();
            let over = self.active.extract_if(.., |_| steps.next().is_some_and(is_over));
            let (before, mut positions) = (self.records.len(), 0);
            self.records.extend(over.map(|episode| {
                positions += episode.searched();
                episode.into_record(generation)
            }));
            let finished = self.records.len() - before;
            monitor.in_flight.fetch_sub(finished, Ordering::Relaxed);
            monitor.unfinished.fetch_sub(positions, Ordering::Relaxed);
            monitor.games.fetch_add(finished, Ordering::Relaxed);
        }
    }

    /// Plies searched and simulations of the games in flight.
    fn counts(&self) -> [usize; 2] {
        let add = |[plies, simulations]: [usize; 2], game: &Episode<G>| {
            [plies + game.searched(), simulations + game.simulations()]
        };
        self.active.iter().fold([0; 2], add)
    }

    /// Evaluates the leaf of every game as one batch.
    fn evaluate(&mut self, evaluator: &mut dyn Evaluator<G>, monitor: &Monitor) -> Result<()> {
        let mut batch: Vec<Request<G>> = recycle(std::mem::take(&mut self.requests));
        batch.extend(self.active.iter().map(Episode::request));
        if batch.is_empty() {
            return Ok(());
        }
        let (before, begun) = (evaluator.hits(), Instant::now());
        evaluate(evaluator, &batch, &mut self.evaluations)?;
        let hits = evaluator.hits() - before;
        if evaluator.batch() > 1 {
            monitor.batch(batch.len() - hits, evaluator.batch(), begun.elapsed());
        }
        monitor.hits.fetch_add(hits, Ordering::Relaxed);
        monitor.evaluations.fetch_add(batch.len(), Ordering::Relaxed);
        self.requests = recycle(batch);
        Ok(())
    }

    /// Applies the evaluation of each leaf.
    fn apply(&mut self) {
        for (episode, evaluation) in self.active.iter_mut().zip(self.evaluations.rows()) {
            episode.apply(evaluation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ShardPlan;

    #[test]
    fn the_last_shards_are_shared() {
        let all = ShardPlan { batch: 4, games: 1000, ..ShardPlan::default() };
        let portioned = |shards: &[usize], threads| all.portions(shards, threads);
        assert_eq!(portioned(&[1, 3], 2), [[4, 5, 6, 7], [12, 13, 14, 15]]);
        assert_eq!(portioned(&[0, 1, 5], 2), [&[0, 1, 2, 3][..], &[4, 5, 6, 7], &[20, 21], &[22, 23]]);
        assert_eq!(portioned(&[2], 3), [&[8][..], &[9], &[10, 11]]);
        assert_eq!(portioned(&[2], 8).len(), 4);
        assert!(portioned(&[], 4).is_empty());
        // whatever is missing is played once, by as many threads as there are
        for (missing, threads) in (0..40).flat_map(|missing| (1..20).map(move |threads| (missing, threads))) {
            let shards: Vec<usize> = (0..missing).map(|shard| 2 * shard).collect();
            let found = portioned(&shards, threads);
            let games: Vec<usize> = found.iter().flatten().copied().collect();
            let expected: Vec<usize> = shards.iter().flat_map(|shard| 4 * shard..4 * shard + 4).collect();
            assert_eq!(games, expected);
            assert!(found.iter().all(|portion| portion.len() <= 4));
            let shared = missing % threads;
            assert_eq!(found.len(), missing - shared + threads.min(4 * shared));
        }
    }
}
