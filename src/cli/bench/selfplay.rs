//! `petteia bench selfplay`: measures the speed of self-play and the share of time of each part.

use std::io::Write;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use clap::Args;
use cpu_time::ThreadTime;
use serde_json::{Value, json};

use super::measure::Counters;
use super::setup::{BenchSetup, SIMULATIONS, Workbench};
use crate::any::fast::ShardPlayer;
use crate::config::limits::MAX_CACHE;
use crate::config::{Config, SearchConfig, SelfplayConfig};
use crate::error::{Error, Result};
use crate::memory;
use crate::net::device::Processor;
use crate::net::evaluator::SharedNet;
use crate::net::source::{Source, Stopwatch};
use crate::registry::Catalog;
use crate::selfplay::starts::Starts;
use crate::selfplay::{Generation, Monitor, Progress};

const BATCH: usize = 128;
const COUNTED: [(&str, &str); 4] = [
    ("selfplay/evaluations", "evaluations/s"),
    ("selfplay/simulations", "simulations/s"),
    ("selfplay/positions", "positions/s"),
    ("selfplay/hits", "hits/s"),
];

/// Measure self-play as in training.
#[derive(Args)]
#[command(after_help = "\
Each thread has its own games in flight and its own evaluator. The network computes the evaluations; hits are \
positions found in the cache. The shares of time (search including the rules, encode, forward, softmax) come from a \
separate run on one thread, which reads the clock around every batch. The separate run and a first repetition that is \
not counted each take as long as a counted repetition, so with the default of five repetitions the command takes \
seven times --seconds.")]
pub(super) struct Selfplay {
    #[command(flatten)]
    setup: BenchSetup,
    /// Size of each thread's evaluation cache in MiB; 0 for none [default: 0]
    #[arg(long, value_name = "MIB", help_heading = "Setup")]
    cache: Option<usize>,
}

impl Selfplay {
    /// Measures self-play, and prints the result.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        if let Some(cache) = self.cache.filter(|cache| *cache > MAX_CACHE) {
            return Err(Error::Config(format!("--cache {cache}: must be from 0 to {MAX_CACHE}")));
        }
        measured(self.setup.bench(games)?, self.cache)
    }
}

fn measured(bench: Workbench, cache: Option<usize>) -> Result<()> {
    let mut config = match &bench.checkpoint {
        Some(checkpoint) => checkpoint.reading()?.config,
        None => {
            // the solver and other features that became defaults later are off, so that versions can be compared
            let mut config = Config::new(&bench.identity.id);
            (config.search, config.selfplay) = (SearchConfig::default(), SelfplayConfig::default());
            (config.selfplay.batch, config.selfplay.cache) = (BATCH, 0);
            config.search.simulations = SIMULATIONS;
            config
        }
    };
    let (settings, search) = (&mut config.selfplay, &mut config.search);
    settings.batch = bench.setup.batch.unwrap_or(settings.batch);
    settings.cache = cache.unwrap_or(settings.cache);
    search.simulations = bench.setup.simulations.unwrap_or(search.simulations);
    let (batch, cache, simulations) = (settings.batch, settings.cache, search.simulations);
    memory::check_cache("--cache", cache, bench.setup.threads)?;
    config.net = bench.config.clone();
    let net = bench.shared()?;
    let shares = shares(&bench, &config, &net)?;
    let threads = bench.setup.threads;
    let mut measured = bench
        .setup
        .measuring
        .watch(threads, &bench.identity.id, COUNTED, &|thread, counters| {
            let mut player = bench.game.player(&Source::Net(net.clone()), cache);
            while !counters.stopped() {
                play(&bench, &config, thread, &mut *player, &|done: [usize; 4]| {
                    (0..4).for_each(|which| counters.add(which, done[which]));
                    !Counters::stopped(counters)
                })?;
            }
            Ok(())
        })?
        .into_iter();
    let about = json!({
        "net": bench.net_text(), "precision": bench.precision(), "simulations": simulations,
        "batch": batch, "cache": cache, "shares": shares,
    });
    let [evaluations, simulations, positions, hits] = [(); 4].map(|()| measured.next().expect("four"));
    if positions.is_nothing() {
        let note = "no position was finished within a repetition; increase --seconds";
        let _ = writeln!(std::io::stderr(), "{note}");
    }
    match cache {
        0 => bench.print([evaluations, simulations, positions], about),
        _ => bench.print([evaluations, simulations, positions, hits], about),
    }
}

/// Plays one shard of games. Passes to `tick` the work done since the last call of `tick`: computed evaluations,
/// simulations, positions, and hits.
fn play(
    bench: &Workbench,
    config: &Config,
    thread: usize,
    player: &mut dyn ShardPlayer,
    tick: &(dyn Fn([usize; 4]) -> bool + Sync),
) -> Result<()> {
    let (simulations, batch) = (config.search.simulations, config.selfplay.batch);
    let generation = Generation {
        config,
        identity: &bench.identity,
        number: thread + 1,
        games: batch,
        simulations,
        evaluator: "bench".into(),
        starts: Starts::default(),
    };
    let counted = std::sync::Mutex::new([0; 4]);
    let count = |done: Progress| {
        let now = [done.evaluations - done.hits, done.simulations, done.positions, done.hits];
        let mut counted = counted.lock().expect("nobody panicked");
        let new = std::array::from_fn(|which| now[which] - counted[which]);
        *counted = now;
        tick(new)
    };
    match player.play(&generation, 0..batch, &Monitor::default(), &count) {
        // `tick` ended the games because enough was measured
        Ok(_) | Err(Error::Interrupted) => Ok(()),
        Err(error) => Err(error),
    }
}

/// A clock in seconds: CPU time of this thread, which excludes other programs, or wall-clock time if a GPU computes the
/// network.
type SecondsNow = fn() -> f64;

fn clock(processor: &Processor) -> SecondsNow {
    fn by_the_clock() -> f64 {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        START.elapsed().as_secs_f64()
    }
    match processor {
        Processor::Cpu => || ThreadTime::now().as_duration().as_secs_f64(),
        _ => by_the_clock,
    }
}

/// Measures the share of time of each part of self-play, on one thread.
fn shares(bench: &Workbench, config: &Config, net: &SharedNet) -> Result<Value> {
    let clock = clock(&bench.processor);
    let watch = Arc::new(Stopwatch::new(clock));
    let mut player = bench.game.player(&Source::Timed(net.clone(), watch.clone()), 0);
    let seconds = bench.setup.measuring.seconds();
    bench.setup.measuring.announce("selfplay/shares", 1);
    let start = clock();
    play(bench, config, 0, &mut *player, &|_| clock() - start < seconds)?;
    let total = clock() - start;
    let [encode, forward, softmax] = watch.spent();
    let share = |part: f64| (part / total * 1000.0).round() / 1000.0;
    Ok(json!({
        "search": share(total - encode - forward - softmax), "encode": share(encode),
        "forward": share(forward), "softmax": share(softmax),
    }))
}
