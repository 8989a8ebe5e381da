//! `petteia bench train`: measures the speed of training.

use clap::Args;
use rand::RngExt;
use serde_json::json;

use super::setup::{BenchSetup, Workbench};
use crate::any::AnyState;
use crate::config::TrainConfig;
use crate::encode::Planes;
use crate::error::{Error, Result};
use crate::game::Game;
use crate::net::device::{Processor, cpu};
use crate::net::model;
use crate::parallel;
use crate::random::{Purpose, Random, stream};
use crate::registry::Catalog;
use crate::replay::sample::Sample;
use crate::replay::window::Window;
use crate::search::evaluator::Wdl;
use crate::train::Trainer;

const BATCH: usize = 256;
/// The number of positions in the window.
const POSITIONS: usize = 4096;

/// Measure training steps.
#[derive(Args)]
#[command(after_help = "\
A step draws a batch from the window, and runs the forward pass, the backward pass, and the \
optimizer, in f32 unless --precision bf16 is given; --device vulkan trains on a GPU. Positions come from random \
games and have random targets.")]
#[command(mut_arg("simulations", |arg| arg.hide(true)))]
#[command(mut_arg("device", |arg| arg.help("Device that trains: cpu, or vulkan (any GPU, in a build with Vulkan)")))]
#[command(mut_arg("precision", |arg| arg.help("Precision of the products of convolutions; bf16 needs a CPU with AMX or \
    AVX-512 BF16 [default: f32]")))]
#[command(mut_arg("batch", |arg| arg.help("Samples per step [default: 256]")))]
pub(super) struct TrainBench {
    #[command(flatten)]
    setup: BenchSetup,
}

impl TrainBench {
    /// Measures training, and prints the result.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        measured(self.setup.bench(games)?)
    }
}

fn measured(bench: Workbench) -> Result<()> {
    crate::cli::allocator::keep_freed();
    let batch = bench.setup.batch.unwrap_or(BATCH);
    let precision = bench.config.precision;
    if !model::trains_in(precision) {
        let error = "--precision bf16: training in this precision needs a CPU with AMX or AVX-512 BF16";
        return Err(Error::Config(error.into()));
    }
    let config = TrainConfig { batch, precision, ..TrainConfig::default() };
    let device = match &bench.processor {
        Processor::Cpu => cpu().autodiff(),
        Processor::Vulkan(device) => device.clone().autodiff(),
        Processor::Cuda(_) => {
            return Err(Error::Config("--device: networks can be trained only with cpu or vulkan".into()));
        }
    };
    let network = bench.network()?;
    let mut random = stream(1, Purpose::Sampling, &[]);
    let mut window = Window::new(POSITIONS, bench.identity.shape);
    let samples = bench.positions(POSITIONS).iter().map(|state| sample(&bench, state, &mut random)).collect();
    window.push_samples(&bench.game, samples);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(bench.setup.threads).build();
    let pool = pool.expect("a pool of threads");
    let named = [("train/positions", "positions/s"), ("train/steps", "steps/s")];
    let measured = bench.setup.measuring.watch(1, &bench.identity.id, named, &|_, counters| {
        pool.install(|| {
            let mut trainer = Trainer::on(&config, &network, &device);
            let mut random = stream(1, Purpose::Sampling, &[1]);
            let mut draw = || window.draw(batch, 0.0, &mut random);
            let mut drawn = draw();
            while !counters.stopped() {
                // as in a run, the next batch is drawn while this step runs
                let (mut losses, mut next) = (None, None);
                parallel::both(&mut || losses = Some(trainer.train(&drawn, 0.001)), &mut || {
                    next = Some(draw());
                });
                losses.transpose()?;
                drawn = next.expect("the next batch has been drawn");
                counters.add(0, batch);
                counters.add(1, 1);
            }
            Ok(())
        })
    })?;
    let device = bench.processor.name();
    bench.print(measured, json!({"net": bench.net_text(), "batch": batch, "device": device}))
}

/// Makes a sample of a position, with a random action and a random result as its targets.
fn sample(bench: &Workbench, state: &AnyState, random: &mut Random) -> Sample {
    let mut planes = Planes::new(bench.identity.shape);
    bench.game.encode(state, &mut planes);
    let legal = bench.game.legal(state);
    let best = random.random_range(0..legal.len());
    let share = |i: usize| if i == best { 1.0 } else { 0.0 };
    let value: f32 = random.random_range(-1.0..1.0);
    let wdl = Wdl::from_value(value.signum(), 0.0);
    Sample {
        planes,
        policy: legal.iter().enumerate().map(|(i, action)| (*action, share(i))).collect(),
        outcome: wdl,
        search: wdl,
        target: wdl,
        weight: 1.0,
        symmetries: bench.game.symmetries(state).to_vec(),
        auxiliary: Vec::new(),
    }
}
