//! Trains a network on existing data, without playing. Solved positions show what self-play could reach with perfect
//! data; the sets for training and for measuring must be made with different seeds. The newest `replay.window`
//! positions of a run serve to compare networks, learning rates, and targets on the same games. Saves a checkpoint that
//! `petteia accuracy` accepts.
//!
//! `cargo run --release --example supervised -- CONFIG SET-OR-RUN OUT STEPS [KEY=VALUE]...`

#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::Path;
use std::process::ExitCode;

use petteia::any::Opened;
use petteia::checkpoint::{self, TrainingData};
use petteia::config::Config;
use petteia::encode::Planes;
use petteia::error::{Error, Result};
use petteia::game::Game;
use petteia::games::Games;
use petteia::net::network::Network;
use petteia::random::{Purpose, stream};
use petteia::registry::Registry;
use petteia::replay::sample::Sample;
use petteia::replay::store;
use petteia::replay::window::Window;
use petteia::search::evaluator::Wdl;
use petteia::train::Trainer;
use petteia::train::schedule::learning_rate;
use petteia::truth::set::{self, Position};

fn supervised(rules: &Opened, config: &Config, set: &Path, out: &Path, steps: usize) -> Result<()> {
    let shape = rules.identity.shape;
    let mut window = Window::new(config.replay.window, shape);
    if set.is_dir() {
        fill_window(&mut window, set, rules, config)?;
    } else {
        let mut positions = set::read(set, rules)?.positions;
        // the value alone does not say which action to play
        positions.retain(|position| !position.values.is_empty());
        window.set_capacity(positions.len());
        window.push_samples(&rules.game, positions.iter().map(|position| sample(rules, position)).collect());
    }
    eprintln!("{} positions", window.len());
    let mut trainer = Trainer::new(&config.train, &Network::new(&config.net, shape, config.seed));
    for step in 0..steps {
        let rate = learning_rate(&config.train, step, step as f64 / steps as f64);
        let mut random = stream(config.seed, Purpose::Sampling, &[step as u64]);
        let losses = trainer
            .train(&window.draw(config.train.batch, config.train.search_value_share, &mut random), rate)?;
        if (step + 1) % 500 == 0 || step + 1 == steps {
            let (policy, value) = (losses.policy - losses.policy_floor, losses.value);
            eprintln!("step {}: policy divergence {policy:.3}, value loss {value:.3}", step + 1);
        }
    }
    std::fs::create_dir_all(out).map_err(Error::io(out))?;
    let saved = checkpoint::save(out, config, &rules.identity, 1, &trainer, TrainingData::default())?;
    println!("{}", saved.path.display());
    Ok(())
}
/// Adds the positions of all of the run's shards to the window, which keeps the newest positions.
fn fill_window(window: &mut Window, run: &Path, rules: &Opened, config: &Config) -> Result<()> {
    for (_, path) in store::list(run)? {
        let shard = store::read_samples(&path, rules, None)?;
        let games = shard.records.iter().zip(shard.found);
        let samples = games.flat_map(|(record, mut game)| {
            game.teach(&rules.game, record, config);
            game.samples
        });
        window.push_samples(&rules.game, samples.collect());
    }
    Ok(())
}

/// A position as a training row: all actions that keep its value are equally good.
fn sample(rules: &Opened, position: &Position) -> Sample {
    let mut planes = Planes::new(rules.identity.shape);
    rules.game.encode(&position.state, &mut planes);
    let keeps = |value: i8| f32::from(value == position.value);
    let count: f32 = position.values.iter().map(|(_, value)| keeps(*value)).sum();
    let wdl = Wdl::from_value(position.value.into(), if position.value == 0 { 1.0 } else { 0.0 });
    Sample {
        planes,
        policy: position.values.iter().map(|(action, value)| (*action, keeps(*value) / count)).collect(),
        outcome: wdl,
        search: wdl,
        target: wdl,
        weight: 1.0,
        symmetries: rules.game.symmetries(&position.state).to_vec(),
        auxiliary: Vec::new(),
    }
}

fn run(words: &[String]) -> Result<()> {
    let [config, set, out, steps, sets @ ..] = words else {
        return Err(Error::Config("usage: supervised CONFIG SET-OR-RUN OUT STEPS [KEY=VALUE]...".into()));
    };
    let steps = steps.parse().map_err(|_| Error::Config(format!("{steps} is not a number of steps")))?;
    let config = Config::parse(config, &std::fs::read_to_string(config).map_err(Error::io(config))?, sets)?;
    let rules = Games::open(&config.game.id, &config.game.options)?;
    supervised(&rules, &config, Path::new(set), Path::new(out), steps)
}

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
