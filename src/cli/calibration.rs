//! Measures the costs of work on this machine before a run begins: each kind of work is done for a moment, on all the
//! threads that will do it.
//!
//! Input: the game and the settings. Output: [`Costs`] and sizes. The games played here, and the network trained for a
//! few steps, are discarded. The run does not depend on the discarded games and network, which have their own random
//! streams and weights.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use burn::tensor::Device;
use serde_json::json;

use super::forecast::Costs;
use crate::any::Opened;
use crate::arena::spec::AgentSpec;
use crate::config::{Bootstrap, Config, OptimizerKind};
use crate::error::{Error, Result};
use crate::net::device::{Processor, for_training};
use crate::net::evaluator::SharedNet;
use crate::net::network::Network;
use crate::net::source::Source;
use crate::random::{Purpose, stream};
use crate::replay::record::Record;
use crate::replay::sample::replayed;
use crate::replay::window::Window;
use crate::run::bootstrap_config;
use crate::selfplay::starts::Starts;
use crate::selfplay::{Generation, Monitor, Progress};
use crate::storage::packed::pack;
use crate::train::Trainer;

/// A measurement ends after `SHORTEST` if [`SOME`] games are over, and otherwise after `LONGEST`, but never before the
/// required number of games is over.
const SHORTEST: Duration = Duration::from_millis(60);
const LONGEST: Duration = Duration::from_millis(400);
/// The number of games that is enough to estimate their length, and the maximum number of games whose records are used.
const SOME: usize = 16;
const GAMES: usize = 256;
/// The maximum numbers of simultaneous games with and without a network, and of simulations per action. With larger
/// numbers, the cost of each simulation would be about the same, but fewer games would end.
const TOGETHER: usize = 32;
const FEW: usize = 4;
const SIMULATIONS: usize = 64;

/// Measures the costs of a run with these settings; `bootstrap` says whether the bootstrap is still to come.
pub(super) fn calibrate(rules: &Opened, config: &Config, bootstrap: bool) -> Result<Costs> {
    let without_network = |kind: Bootstrap, simulations: usize| {
        let source = if kind == Bootstrap::Rollout { Source::Rollout } else { Source::Uniform };
        Sampled::play(rules, &bootstrap_config(config, kind), &source, (FEW, simulations), 0)
    };
    let Config { selfplay, arena, .. } = config;
    // at least one random game must end, because its length is needed; random games are quick
    let random =
        Sampled::play(rules, &bootstrap_config(config, Bootstrap::Uniform), &Source::Uniform, (1, 1), 1);
    let first = (bootstrap && selfplay.bootstrap_games > 0)
        .then(|| without_network(selfplay.bootstrap, selfplay.bootstrap_simulations));
    let network = Network::new(&config.net, rules.identity.shape, config.seed);
    let net = SharedNet::on(&network, &config.net, &Processor::of(config.net.device)?.0)?;
    let mut alike = config.clone();
    // use only full searches, with the planned number of simulations
    (alike.selfplay.fast_simulations, alike.selfplay.surprise_weight) = (0, 0.0);
    let by_network =
        Sampled::play(rules, &alike, &Source::Net(net), (TOGETHER, config.search.simulations), 0).cost();
    let rival = |kind, simulations: usize| simulations as f64 * without_network(kind, SIMULATIONS).cost();
    let opponent = match AgentSpec::parse(&arena.opponent).unwrap_or(AgentSpec::Random).searching() {
        AgentSpec::Rollout(simulations) => rival(Bootstrap::Rollout, simulations),
        AgentSpec::Uniform(simulations) => rival(Bootstrap::Uniform, simulations),
        AgentSpec::Trained(_, simulations, _) | AgentSpec::Shipped(simulations, _) => {
            simulations as f64 * by_network
        }
        _ => 0.0,
    };
    let sample = first.as_ref().filter(|played| played.records.len() >= SOME).unwrap_or(&random);
    let step = step(rules, config, &network, &for_training(config.train.device)?, &sample.records)?;
    let Progress { games, positions, unfinished, .. } = sample.progress;
    let plies = (positions - unfinished) as f64 / games.max(1) as f64;
    let bootstrap = first.as_ref().map_or(0.0, Sampled::cost);
    let (agent, chosen) =
        (by_network * arena.simulations as f64, (plies - arena.opening_plies as f64).max(1.0));
    let (evaluation, rating) = ((agent + opponent) / 2.0 * chosen, agent * chosen);
    let states = if config.train.optimizer == OptimizerKind::Adamw { 2 } else { 1 };
    Ok(Costs {
        paces: [bootstrap * plies, by_network * plies, step * plies, evaluation, rating],
        plies,
        position_bytes: sample.position_bytes()?,
        checkpoint_bytes: (network.count() * size_of::<f32>() * (1 + states)) as f64,
    })
}

/// Games and the time that they took.
struct Sampled {
    progress: Progress,
    /// Simulations per action.
    simulations: usize,
    /// The wall-clock time.
    seconds: f64,
    /// The records of finished games.
    records: Vec<Record>,
}

impl Sampled {
    /// Plays on all threads for a moment, with at most `together` games at once on each thread and at most
    /// `simulations` simulations per action. Plays on until at least `required_games` games are over.
    fn play(
        rules: &Opened,
        config: &Config,
        source: &Source,
        (together, simulations): (usize, usize),
        required_games: usize,
    ) -> Sampled {
        let (together, simulations) = (together.min(config.selfplay.batch), simulations.min(SIMULATIONS));
        let (identity, evaluator, starts) = (&rules.identity, "calibration".into(), Starts::default());
        let generation = Generation { config, identity, number: 1, games: 0, simulations, evaluator, starts };
        let (monitor, begun, records) = (Monitor::default(), AtomicUsize::new(0), Mutex::new(Vec::new()));
        let clock = Instant::now();
        let more = |progress: Progress| {
            let took = clock.elapsed();
            let over = took >= LONGEST || took >= SHORTEST && progress.games >= SOME;
            (!over || progress.games < required_games) && !super::interrupted()
        };
        let work = || {
            let mut player = rules.game.player(source, config.selfplay.cache);
            loop {
                let first = begun.fetch_add(together, Ordering::Relaxed);
                match player.play(&generation, first..first + together, &monitor, &more) {
                    Ok(played) => records.lock().expect("nobody panicked").extend(played),
                    Err(_) => break,
                }
            }
        };
        // with an evaluator that wants large batches, all threads play one shard together
        if matches!(source, Source::Net(_)) && config.net.in_bulk() {
            work();
        } else {
            rayon::broadcast(|_| work());
        }
        let (progress, seconds) = (monitor.progress(), clock.elapsed().as_secs_f64());
        let mut records = records.into_inner().expect("nobody panicked");
        records.truncate(GAMES);
        Sampled { progress, simulations, seconds, records }
    }

    /// Returns the seconds per planned simulation. A solved position needs no simulations, but its planned simulations
    /// are counted, too.
    fn cost(&self) -> f64 {
        let planned = self.progress.positions * self.simulations;
        self.seconds / planned.max(self.progress.simulations).max(1) as f64
    }

    /// Returns the bytes per searched position in a shard.
    fn position_bytes(&self) -> Result<f64> {
        let lines: Vec<String> = self.records.iter().map(|record| json!(record).to_string()).collect();
        let packed = pack(lines.join("\n").as_bytes(), 3).map_err(Error::io("memory"))?;
        let positions: usize = self.records.iter().map(|record| record.wdl.len()).sum();
        Ok(packed.len() as f64 / positions.max(1) as f64)
    }
}

/// Returns the seconds per optimizer step on these games.
fn step(
    rules: &Opened,
    config: &Config,
    network: &Network,
    device: &Device,
    games: &[Record],
) -> Result<f64> {
    let train = &config.train;
    let mut window = Window::new(usize::MAX, rules.identity.shape);
    let mut samples = Vec::new();
    for record in games {
        let mut found = replayed(rules, record)?;
        found.teach(&rules.game, record, config);
        samples.extend(found.samples);
    }
    window.push_samples(&rules.game, samples);
    if window.is_empty() {
        return Err(Error::Interrupted);
    }
    let mut trainer = Trainer::on(train, network, device);
    let mut random = stream(config.seed, Purpose::Sampling, &[]);
    let mut step = || {
        // only the time of the step matters here; the run itself reports a refused step
        let _ = trainer.train(&window.draw(train.batch, 0.0, &mut random), train.learning_rate);
    };
    // the first step allocates memory for the later steps
    step();
    let (clock, mut steps) = (Instant::now(), 0);
    while steps == 0 || clock.elapsed() < 2 * SHORTEST {
        step();
        steps += 1;
    }
    Ok(clock.elapsed().as_secs_f64() / steps as f64)
}
