//! Measures the costs of work on this machine before a run begins: each kind of work is done for a moment, on all the
//! threads that will do it.
//!
//! Input: the game and the settings. Output: [`Costs`] and sizes. The games played here, and the network trained for a
//! few steps, are discarded. They have their own random streams and weights, so the run does not depend on them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::forecast::{Costs, finished};
use crate::any::Opened;
use crate::arena::spec::AgentSpec;
use crate::config::{Bootstrap, Config, OptimizerKind, RootKind};
use crate::error::{Error, Result};
use crate::net::device::{Processor, for_training};
use crate::net::evaluator::SharedNet;
use crate::net::network::Network;
use crate::net::source::Source;
use crate::random::{Purpose, stream};
use crate::replay::record::Record;
use crate::replay::sample::replayed;
use crate::replay::window::Window;
use crate::search::together::InFlight;
use crate::selfplay::starts::Starts;
use crate::selfplay::{Generation, Monitor, Progress};
use crate::storage::packed::pack;
use crate::train::Trainer;

/// The minimum time of a measurement, and the maximum if it is still incomplete.
const SHORTEST: Duration = Duration::from_millis(60);
const LONGEST: Duration = Duration::from_millis(400);
/// Simulations per thread that are enough.
const ENOUGH: usize = 2000;
/// The maximum number of simultaneous games and of simulations per action: with more, each costs about the same.
const TOGETHER: usize = 32;
/// Simultaneous games if batching makes none faster: some of them should finish.
const FEW: usize = 4;
const SIMULATIONS: usize = 64;
/// Games that are enough to estimate their length.
const SOME: usize = 16;
/// The maximum number of games that training samples from.
const GAMES: usize = 256;
/// The minimum share of the planned simulations that self-play is taken to need.
const LEAST_SPENT: f64 = 0.02;
/// The minimum number of timed optimizer steps.
const STEPS: usize = 2;
/// The size of a trained agent's cache in the arena, in MiB.
const CACHE: usize = 4;

/// The costs of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Costs in time.
    pub costs: Costs,
    /// Whether the length of games is that of random games.
    pub is_random: bool,
    /// Bytes per searched position in the records.
    pub position_bytes: f64,
    /// Bytes per checkpoint.
    pub checkpoint_bytes: f64,
}

/// Measures the costs of a run with these settings; `bootstrap` tells whether the bootstrap is still ahead.
pub fn calibrate(rules: &Opened, config: &Config, bootstrap: bool) -> Result<Calibration> {
    let bench = Workbench::new(rules, config);
    let mut beginning = Workbench::new(rules, config);
    // play without a network asks no solver at leaves
    beginning.config.search.leaf_nodes = 0;
    let mut plain = Workbench::new(rules, &beginning.config);
    plain.config.selfplay.solve_nodes = 0;
    let (settings, arena) = (&config.selfplay, &config.arena);
    let opponent = AgentSpec::parse(&arena.opponent).unwrap_or(AgentSpec::Random);
    // quick games first: some of them are sure to finish
    let random = plain.play(1, 1, (1, SOME), &Source::Uniform);
    let simulations = settings.bootstrap_simulations;
    let played = |bench: &Workbench, kind: Bootstrap| {
        bench.play(
            settings.batch.min(FEW),
            simulations,
            (0, SOME),
            &match kind {
                Bootstrap::Rollout => Source::Rollout,
                Bootstrap::Uniform => Source::Uniform,
            },
        )
    };
    let kind = Some(settings.bootstrap).filter(|_| bootstrap && settings.bootstrap_games > 0);
    let first = kind.map(|kind| played(&beginning, kind));
    let cost = |played: &Option<Sampled>| played.as_ref().map_or(0.0, Sampled::cost);
    // opponents without a network ask no solver in matches
    let search = |searched: Bootstrap| {
        if kind == Some(searched) && settings.solve_nodes == 0 {
            cost(&first)
        } else {
            played(&plain, searched).cost()
        }
    };
    let device = for_training(config.train.device)?;
    let network = Network::new(&config.net, rules.identity.shape, config.seed);
    let ([selfplay, matches], spent) = bench.network(&network)?;
    let agent = matches * arena.simulations as f64;
    let opponent = match opponent.searching() {
        AgentSpec::Rollout(simulations) => search(Bootstrap::Rollout) * simulations as f64,
        AgentSpec::Uniform(simulations) => search(Bootstrap::Uniform) * simulations as f64,
        AgentSpec::Trained(_, simulations, _) | AgentSpec::Shipped(simulations, _) => {
            matches * simulations as f64
        }
        _ => 0.0,
    };
    let searched = first.as_ref().filter(|played| played.progress.games >= SOME);
    let is_random = searched.is_none() || kind == Some(Bootstrap::Uniform);
    let sample = searched.unwrap_or(&random);
    let checkpoint_bytes = bench.checkpoint_bytes(&network);
    let costs = Costs {
        bootstrap: cost(&first),
        selfplay,
        step: bench.step(&network, &device, &sample.records)?,
        agent,
        evaluation: (agent + opponent) / 2.0,
        plies: sample.plies(),
        spent: [first.as_ref().map_or(1.0, |played| played.spent(simulations)), spent],
    };
    Ok(Calibration { costs, is_random, position_bytes: sample.position_bytes()?, checkpoint_bytes })
}

/// Plays games that are not kept.
struct Workbench<'a> {
    rules: &'a Opened,
    config: Config,
    /// The cache of each evaluator in MiB.
    cache: usize,
}

/// Games and the time that they took.
struct Sampled {
    progress: Progress,
    /// The sum over all threads.
    seconds: f64,
    /// The records of finished games.
    records: Vec<Record>,
}

impl Sampled {
    /// Thread seconds per simulation.
    fn cost(&self) -> f64 {
        self.seconds / self.progress.simulations.max(1) as f64
    }

    /// The share of `simulations` per action that the searches took: 1 if no game came to its end, and rather too much
    /// if few did, since it is at the ends that positions are solved.
    fn spent(&self, simulations: usize) -> f64 {
        let (Progress { games, positions, .. }, planned) =
            (self.progress, simulations.min(SIMULATIONS) as f64);
        match games {
            0 => 1.0,
            _ => (finished(&self.progress, planned) / (positions as f64 * planned)).clamp(LEAST_SPENT, 1.0),
        }
    }

    /// Searched actions per game.
    fn plies(&self) -> f64 {
        let Progress { games, positions, unfinished, .. } = self.progress;
        (positions - unfinished) as f64 / games.max(1) as f64
    }

    /// Bytes per searched position in a shard.
    fn position_bytes(&self) -> Result<f64> {
        let records = &self.records[..self.records.len().min(GAMES)];
        let lines: Vec<String> = records.iter().map(|record| json!(record).to_string()).collect();
        let packed = pack(lines.join("\n").as_bytes(), 3).map_err(Error::io("memory"))?;
        let positions: usize = records.iter().map(|record| record.wdl.len()).sum();
        Ok(packed.len() as f64 / positions.max(1) as f64)
    }
}

impl<'a> Workbench<'a> {
    fn new(rules: &'a Opened, config: &Config) -> Workbench<'a> {
        let mut config = config.clone();
        // make all searches alike
        config.selfplay.fast_simulations = 0;
        config.selfplay.surprise_weight = 0.0;
        config.search.root = RootKind::Puct;
        Workbench { rules, cache: config.selfplay.cache, config }
    }

    fn generation(&self, simulations: usize) -> Generation<'_> {
        Generation {
            config: &self.config,
            identity: &self.rules.identity,
            number: 1,
            games: 0,
            simulations: simulations.min(SIMULATIONS),
            evaluator: "calibration".into(),
            starts: Starts::default(),
        }
    }

    /// Plays simultaneous games on every thread until the measurement is complete; for `games` see [`is_needed`].
    fn play(&self, together: usize, simulations: usize, games: (usize, usize), source: &Source) -> Sampled {
        let (generation, together) = (self.generation(simulations), together.min(TOGETHER));
        let (monitor, begun, records) = (Monitor::default(), AtomicUsize::new(0), Mutex::new(Vec::new()));
        let (clock, threads) = (Instant::now(), rayon::current_num_threads());
        let more = |progress: Progress| is_needed(clock, &progress, games, threads);
        rayon::broadcast(|_| {
            let mut player = self.rules.game.player(source, self.cache);
            loop {
                let first = begun.fetch_add(together, Ordering::Relaxed);
                let shard = first..first + together;
                match player.play(&generation, shard, &monitor, &more) {
                    Ok(played) => records.lock().expect("nobody panicked").extend(played),
                    Err(_) => break,
                }
            }
        });
        let seconds = clock.elapsed().as_secs_f64() * threads as f64;
        let records = records.into_inner().expect("nobody panicked");
        Sampled { progress: monitor.progress(), seconds, records }
    }

    /// Thread seconds per simulation with the network, in self-play and in a match, and the share of the planned
    /// simulations that self-play takes.
    fn network(&self, network: &Network) -> Result<([f64; 2], f64)> {
        let config = &self.config;
        let (processor, _) = Processor::of(config.net.device)?;
        let net = SharedNet::on(network, &config.net, &processor)?;
        let batch = net.batch();
        let source = Source::Net(net);
        let wanted = if config.selfplay.solve_nodes > 0 { SOME } else { 0 };
        let selfplay = if batch > 1 {
            self.play_halves(config.search.simulations, &source, wanted)
        } else {
            // the solver costs most where it fails and saves most at the ends of games
            self.play(config.selfplay.batch, config.search.simulations, (0, wanted), &source)
        };
        let games = config.arena.games.max(config.arena.ladder_games);
        let mut arena = Workbench::new(self.rules, config);
        arena.cache = CACHE;
        arena.config.selfplay.solve_nodes = config.search.solve_nodes;
        let matches = match InFlight::of(games, config.arena.simulations, batch) {
            InFlight::OnEachThread(most) => arena.play(most, config.arena.simulations, (0, 0), &source),
            InFlight::InHalves(_) | InFlight::InPairs(_) => {
                arena.play_halves(config.arena.simulations, &source, 0)
            }
        };
        let spent = selfplay.spent(config.search.simulations);
        Ok(([selfplay.cost(), matches.cost()], spent))
    }

    /// Plays one shard with an evaluator that wants batches, on all threads.
    fn play_halves(&self, simulations: usize, source: &Source, wanted: usize) -> Sampled {
        let generation = self.generation(simulations);
        let shard = 0..self.config.selfplay.batch.min(TOGETHER);
        let (monitor, clock) = (Monitor::default(), Instant::now());
        let more = |progress: Progress| is_needed(clock, &progress, (0, wanted), 1);
        let played = self.rules.game.player(source, 0).play(&generation, shard, &monitor, &more);
        let seconds = clock.elapsed().as_secs_f64();
        Sampled { progress: monitor.progress(), seconds, records: played.unwrap_or_default() }
    }

    /// Seconds per optimizer step.
    fn step(&self, network: &Network, device: &burn::tensor::Device, records: &[Record]) -> Result<f64> {
        let train = &self.config.train;
        let mut window = Window::new(usize::MAX, self.rules.identity.shape);
        let mut samples = Vec::new();
        for record in records.iter().take(GAMES) {
            let mut found = replayed(self.rules, record)?;
            found.teach(&self.rules.game, record, &self.config);
            samples.extend(found.samples);
        }
        window.push_samples(&self.rules.game, samples);
        if window.is_empty() {
            return Err(Error::Interrupted);
        }
        let mut trainer = Trainer::on(train, network, device);
        let mut random = stream(self.config.seed, Purpose::Sampling, &[]);
        let mut step = || {
            // only its time matters here; the run itself reports a refused step
            let _ = trainer.train(&window.draw(train.batch, 0.0, &mut random), train.learning_rate);
        };
        // the first step allocates memory for the others
        step();
        let (clock, mut steps) = (Instant::now(), 0);
        while steps == 0 || steps < STEPS && clock.elapsed() < LONGEST || clock.elapsed() < SHORTEST {
            step();
            steps += 1;
        }
        Ok(clock.elapsed().as_secs_f64() / steps as f64)
    }

    /// Bytes of the weights and of the optimizer's state for each.
    fn checkpoint_bytes(&self, network: &Network) -> f64 {
        let states = match self.config.train.optimizer {
            OptimizerKind::Adamw => 2,
            OptimizerKind::Sgd => 1,
        };
        (network.count() * size_of::<f32>() * (1 + states)) as f64
    }
}

/// Whether a measurement continues: until there are at least `least` games, and until there are `wanted` games if that
/// does not take too long.
fn is_needed(clock: Instant, progress: &Progress, (least, wanted): (usize, usize), threads: usize) -> bool {
    let took = clock.elapsed();
    let enough = took >= SHORTEST && progress.simulations >= ENOUGH * threads && progress.games >= wanted;
    let over = enough || took >= LONGEST;
    !(over && progress.games >= least || super::interrupted())
}
