//! Self-play: an agent's games against itself, written as records.
//!
//! A shard is a file of `batch` games: `episode` plays one game, and [`starts`] determines where the game begins. A
//! game depends only on (seed, generation, game index), the evaluator, and its start, so any number of threads writes
//! the same bytes. The leaves of games in flight are evaluated together, in the way that the evaluator needs; when a
//! game ends, the next one begins. [`play_generation`] skips the shards that an interrupted run had finished, and
//! writes each remaining shard as soon as its last game is over.

pub(crate) mod episode;
pub mod starts;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::error::{Error, Result};
use crate::game::{Game, GameIdentity};
use crate::replay::place::Origin;
use crate::replay::record::Record;
use crate::replay::store;
use crate::search::evaluator::Evaluator;
use crate::search::together::{Batch, InFlight, Tasks, work_off, work_off_with};
use episode::Episode;
use starts::Starts;

/// One generation of self-play.
#[derive(Debug)]
pub struct Generation<'a> {
    /// The run's settings.
    pub config: &'a Config,
    /// The game's identity, for the records.
    pub identity: &'a GameIdentity,
    /// The generation's number, from 1.
    pub number: usize,
    /// Number of games to play.
    pub games: usize,
    /// Simulations per action.
    pub simulations: usize,
    /// The name of the evaluator, in every record. Two parts of the name have a meaning: if it begins with `uniform:`,
    /// the values of the searches are not learned from ([`Record::has_values`]); if it ends with `:N`, no action has
    /// more than N visits.
    pub evaluator: String,
    /// The starts of the games; with [`Starts::default`], all games begin at the initial position.
    pub starts: Starts,
}

/// The progress of self-play.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Number of finished games.
    pub games: usize,
    /// Number of games that were finished before the run was interrupted.
    pub kept: usize,
    /// Number of games in flight.
    pub in_flight: usize,
    /// Number of positions played.
    pub positions: usize,
    /// Number of positions that belong to games in flight.
    pub unfinished: usize,
    /// Number of simulations of the searches.
    pub simulations: usize,
    /// Number of leaves evaluated.
    pub evaluations: usize,
    /// Number of leaves that a cache answered.
    pub hits: usize,
    /// The work of an evaluator that wants batches.
    pub bulk: Bulk,
}

/// The work so far of an evaluator that wants batches of more than one position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bulk {
    /// Number of batches.
    pub batches: usize,
    /// Number of positions in the batches, without those answered by a cache.
    pub positions: usize,
    /// The number of positions that the evaluator wants in each batch.
    pub wanted: usize,
    /// The time during which the evaluator computed.
    pub busy: Duration,
    /// The total time that passed while the evaluator was in use.
    pub elapsed: Duration,
}

impl Bulk {
    /// Returns how full the batches were on average, 0 to 1, or `None` before the first batch.
    pub fn fill(&self) -> Option<f64> {
        let room = self.batches * self.wanted;
        (room > 0).then(|| (self.positions as f64 / room as f64).min(1.0))
    }

    /// Returns the share of the time when the evaluator was idle.
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
    /// Returns the counts so far.
    #[expect(clippy::missing_panics_doc, reason = "nothing panics while it holds the lock")]
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

    /// Counts a batch.
    fn batch(&self, batch: Batch) {
        let Batch { requests, hits, wanted, busy } = batch;
        self.hits.fetch_add(hits, Ordering::Relaxed);
        self.evaluations.fetch_add(requests, Ordering::Relaxed);
        if wanted > 1 {
            let mut bulk = self.bulk.lock().expect("no panic while counting");
            bulk.batches += usize::from(requests > hits);
            bulk.positions += requests - hits;
            bulk.wanted = wanted;
            bulk.busy += busy;
        }
    }

    /// Counts the time since `start`, for evaluators that want batches.
    fn count_time(&self, start: &Mutex<Instant>) {
        let mut bulk = self.bulk.lock().expect("no panic while counting");
        if bulk.wanted > 1 {
            let (now, mut start) = (Instant::now(), start.lock().expect("no panic while counting"));
            bulk.elapsed += now - *start;
            *start = now;
        }
    }

    /// Counts plies searched and simulations of games in flight.
    fn advanced(&self, [plies, simulations]: [usize; 2]) {
        self.positions.fetch_add(plies, Ordering::Relaxed);
        self.unfinished.fetch_add(plies, Ordering::Relaxed);
        self.simulations.fetch_add(simulations, Ordering::Relaxed);
    }

    /// Asks all threads to stop.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Fails if a stop was requested.
    fn check(&self) -> Result<()> {
        if self.stopped.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// Receives the counts from time to time, from any thread, and returns false to stop.
pub type Tick<'a> = &'a (dyn Fn(Progress) -> bool + Sync);
/// Makes an evaluator for one thread. Evaluators are called with whole batches, so knowing their types would gain
/// nothing.
pub type MakeEvaluator<'a, G> = &'a (dyn Fn() -> Box<dyn Evaluator<G> + 'a> + Sync);

/// Determines which shards of a generation to play, one after another, and takes each shard once all of its games are
/// over. Any thread may call it at any time.
pub trait Shards: Sync {
    /// Returns the number of the shard whose games should begin now, or `None` if no more games should begin. This
    /// method is called when all games of the earlier shards have begun.
    ///
    /// # Errors
    /// If the next shard cannot be determined; all threads then stop.
    fn next(&self) -> Result<Option<usize>>;

    /// Takes the games of a shard, in order.
    ///
    /// # Errors
    /// If the games cannot be kept; all threads then stop.
    fn played(&self, shard: usize, records: Vec<Record>) -> Result<()>;

    /// Returns the number of games of the generation that will not begin here, because they were played before or are
    /// played elsewhere.
    fn kept(&self) -> usize;
}

/// The shards that a run's folder lacks, in order. Their games are written into that folder.
struct Missing<'a> {
    run: &'a Path,
    generation: usize,
    origin: &'a Origin,
    shards: Vec<usize>,
    kept: usize,
    begun: AtomicUsize,
}

impl Shards for Missing<'_> {
    fn next(&self) -> Result<Option<usize>> {
        Ok(self.shards.get(self.begun.fetch_add(1, Ordering::Relaxed)).copied())
    }

    fn played(&self, shard: usize, records: Vec<Record>) -> Result<()> {
        let path = store::shard_path(self.run, self.generation, shard);
        store::write_shard(&path, &records, Some(self.origin))
    }

    fn kept(&self) -> usize {
        self.kept
    }
}

/// Plays the shards of a generation that the folder `run` lacks, and writes them as played by `origin`. Calls `tick`
/// from time to time, from any thread; `tick` returns false to stop. After an interruption, finished shards stay.
///
/// # Errors
/// As for [`play_shard`], or if shards cannot be written.
pub fn play_generation<G: Game>(
    game: &G,
    generation: &Generation,
    run: &Path,
    origin: &Origin,
    evaluator: MakeEvaluator<G>,
    tick: Tick,
) -> Result<()> {
    let (number, plan) = (generation.number, ShardPlan::of(generation));
    let (mut missing, mut kept) = (Vec::new(), 0);
    for shard in 0..plan.count() {
        if store::is_finished(&store::shard_path(run, number, shard))? {
            kept += plan.games(shard).len()
        } else {
            missing.push(shard)
        }
    }
    store::create_generation_folder(run, number)?;
    let begun = AtomicUsize::new(0);
    let shards = Missing { run, generation: number, origin, shards: missing, kept, begun };
    play_shards(game, generation, &shards, evaluator, tick)
}

/// Plays the shards of a generation that `shards` asks for. Calls `tick` from time to time, from any thread; `tick`
/// returns false to stop.
///
/// # Errors
/// As for [`play_shard`], or if `shards` fails.
#[expect(clippy::missing_panics_doc, reason = "nothing panics while it holds the lock")]
pub fn play_shards<G: Game>(
    game: &G,
    generation: &Generation,
    shards: &dyn Shards,
    evaluator: MakeEvaluator<G>,
    tick: Tick,
) -> Result<()> {
    let (plan, monitor) = (ShardPlan::of(generation), Monitor::default());
    let count = generation.games.saturating_sub(shards.kept());
    monitor.keep(shards.kept());
    let keep = |record: Record| match plan.add(record) {
        Some((shard, records)) => shards.played(shard, records),
        None => Ok(()),
    };
    let range = Mutex::new(0..0);
    let next = || {
        let mut range: MutexGuard<Range<usize>> = range.lock().expect("no panic while a game begins");
        if range.is_empty() {
            match shards.next()? {
                Some(shard) => *range = plan.games(shard),
                None => return Ok(None),
            }
        }
        Ok(range.next())
    };
    let games = Games::new((game, generation), &next, &keep, (&monitor, tick));
    let first = evaluator();
    match first.batch() {
        0 | 1 => {
            drop(first);
            let share = count.div_ceil(rayon::current_num_threads());
            let in_flight = InFlight::OnEachThread(share.clamp(1, plan.batch));
            work_off(&Games { make: Some(evaluator), ..games }, in_flight)
        }
        batch_size => work_off_with(&games, halves(count, batch_size), first),
    }
}

/// Returns the arrangement of games in flight for an evaluator that wants `batch_size` positions together.
fn halves(games: usize, batch_size: usize) -> InFlight {
    InFlight::InHalves(games.div_ceil(2).clamp(1, batch_size))
}

/// The shards of a generation: files with `batch` of its games each.
#[derive(Default)]
struct ShardPlan {
    batch: usize,
    games: usize,
    /// The records of shards that still have unfinished games.
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

    /// Takes a record. If its shard is now complete, returns the number and the records of the shard.
    fn add(&self, record: Record) -> Option<(usize, Vec<Record>)> {
        let shard = record.index / self.batch;
        let mut waiting = self.waiting.lock().expect("no panic while records wait");
        let records = waiting.entry(shard).or_default();
        records.push(record);
        let is_whole = records.len() == self.games(shard).len();
        is_whole.then(|| waiting.remove(&shard)).flatten().map(|records| (shard, sorted(records)))
    }
}

/// Plays the games `games` of a generation together on this thread, which is the fastest way if the evaluator
/// computes on a CPU.
///
/// ```
/// use petteia::config::Config;
/// use petteia::game::{GameOptions, Rules};
/// use petteia::games::tic_tac_toe::TicTacToe;
/// use petteia::search::evaluator::Rollout;
/// use petteia::selfplay::{Generation, Monitor, play_shard, starts::Starts};
///
/// let rules = Rules::<TicTacToe>::new(&GameOptions::default())?;
/// let config = Config::new("tic-tac-toe");
/// let generation = Generation {
///     config: &config,
///     identity: &rules.identity,
///     number: 1,
///     games: 4,
///     simulations: 8,
///     evaluator: "rollout:8".into(),
///     starts: Starts::default(),
/// };
/// let (mut rollout, monitor) = (Rollout::new(rules.game.clone()), Monitor::default());
/// let mut play = |games| play_shard(&rules.game, &generation, games, &mut rollout, &monitor, &|_| true);
/// let records = play(0..4)?;
/// // a game does not depend on the games played alongside it
/// assert_eq!(play(2..3)?, records[2..3]);
/// # Ok::<(), petteia::error::Error>(())
/// ```
///
/// # Errors
/// If the evaluator fails, or, with [`Error::Interrupted`], if `tick` returns false.
pub fn play_shard<G: Game>(
    game: &G,
    generation: &Generation,
    games: Range<usize>,
    evaluator: &mut dyn Evaluator<G>,
    monitor: &Monitor,
    tick: Tick,
) -> Result<Vec<Record>> {
    let in_flight = InFlight::OnEachThread(games.len().max(1));
    play(game, generation, games, (evaluator, in_flight), monitor, tick)
}

/// Plays the same games as [`play_shard`] and returns the same records, for an evaluator that needs large batches and
/// leaves the CPU free in the meantime (a GPU): the leaves of one half of the games are evaluated while all cores
/// advance the other half.
///
/// # Errors
/// As for [`play_shard`].
pub fn play_halves<G: Game>(
    game: &G,
    generation: &Generation,
    games: Range<usize>,
    evaluator: &mut dyn Evaluator<G>,
    monitor: &Monitor,
    tick: Tick,
) -> Result<Vec<Record>> {
    let in_flight = halves(games.len(), games.len());
    play(game, generation, games, (evaluator, in_flight), monitor, tick)
}

fn play<G: Game>(
    game: &G,
    generation: &Generation,
    games: Range<usize>,
    (evaluator, in_flight): (&mut dyn Evaluator<G>, InFlight),
    monitor: &Monitor,
    tick: Tick,
) -> Result<Vec<Record>> {
    let (games, records) = (Mutex::new(games), Mutex::new(Vec::new()));
    let next = || Ok(games.lock().expect("no panic while a game begins").next());
    let keep = |record| {
        records.lock().expect("no panic while records are kept").push(record);
        Ok(())
    };
    let games = Games::new((game, generation), &next, &keep, (monitor, tick));
    work_off_with(&games, in_flight, Box::new(evaluator))?;
    Ok(sorted(records.into_inner().expect("no panic while records are kept")))
}

fn sorted(mut records: Vec<Record>) -> Vec<Record> {
    records.sort_by_key(|record| record.index);
    records
}

/// Returns the number of the next game, or `None` if no more games should begin.
type NextGame<'a> = dyn Fn() -> Result<Option<usize>> + Sync + 'a;

/// Games of a generation, for [`together`](crate::search::together).
struct Games<'a, 'e, G: Game> {
    game: &'a G,
    generation: &'a Generation<'a>,
    /// Returns the next game to begin.
    next: &'a NextGame<'a>,
    /// Makes one evaluator for each thread.
    make: Option<MakeEvaluator<'e, G>>,
    keep: &'a (dyn Fn(Record) -> Result<()> + Sync),
    monitor: &'a Monitor,
    tick: Tick<'a>,
    /// The time up to which [`Bulk::elapsed`] counts.
    counted: Mutex<Instant>,
}

impl<'a, G: Game> Games<'a, '_, G> {
    fn new(
        (game, generation): (&'a G, &'a Generation<'a>),
        next: &'a NextGame<'a>,
        keep: &'a (dyn Fn(Record) -> Result<()> + Sync),
        (monitor, tick): (&'a Monitor, Tick<'a>),
    ) -> Self {
        Games { game, generation, next, make: None, keep, monitor, tick, counted: Mutex::new(Instant::now()) }
    }
}

impl<G: Game> Tasks<G> for Games<'_, '_, G> {
    type Task = Box<Episode<G>>;

    fn next(&self) -> Result<Option<Box<Episode<G>>>> {
        Ok((self.next)()?.map(|index| {
            self.monitor.in_flight.fetch_add(1, Ordering::Relaxed);
            Box::new(Episode::new(self.game, self.generation, index))
        }))
    }

    fn finished(&self, mut episode: Box<Episode<G>>) -> Result<()> {
        self.monitor.advanced(episode.advanced());
        self.monitor.unfinished.fetch_sub(episode.searched(), Ordering::Relaxed);
        self.monitor.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.monitor.games.fetch_add(1, Ordering::Relaxed);
        (self.keep)(episode.into_record(self.generation))
    }

    fn goes_on(&self) -> Result<bool> {
        self.monitor.count_time(&self.counted);
        if !(self.tick)(self.monitor.progress()) {
            self.monitor.stop();
        }
        self.monitor.check().map(|()| true)
    }

    fn evaluator(&self, _number: usize) -> Box<dyn Evaluator<G> + '_> {
        self.make.expect("each thread makes its own evaluator unless one is given")()
    }

    /// Counts all games of a thread at once, because threads that share a counter slow each other down.
    fn advanced<'t>(&self, waiting: impl Iterator<Item = &'t mut Box<Episode<G>>>)
    where
        G: 't,
    {
        let add = |sum: [usize; 2], game: [usize; 2]| [sum[0] + game[0], sum[1] + game[1]];
        self.monitor.advanced(waiting.map(|episode| episode.advanced()).fold([0; 2], add));
    }

    fn evaluated(&self, batch: Batch) {
        self.monitor.batch(batch);
    }
}
