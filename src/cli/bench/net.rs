//! `petteia bench net`: measures how fast the network evaluates positions.

use std::hint::black_box;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::setup::{BenchSetup, Workbench};
use crate::any::{AnyGame, AnyState};
use crate::config::{EvaluatorKind, Precision};
use crate::error::{Error, Result};
use crate::game::{Action, Game};
use crate::net::device::Processor;
use crate::net::evaluator::NetEvaluator;
use crate::net::infer::CpuNet;
use crate::net::precision::{Distance, pick, trials};
use crate::registry::Catalog;
use crate::search::evaluator::{Evaluations, Evaluator, Request};
use crate::storage;

/// The batch sizes to measure by default.
const BATCHES: [usize; 2] = [1, 64];
/// The number of positions that `--save` writes.
const SAVED: usize = 64;

/// Measure the network's forward pass.
#[derive(Args)]
#[command(after_help = "\
Measures the forward pass alone, and together with encoding and the softmax over legal actions, in every precision \
that this CPU supports. Each thread has its own evaluator. `auto` marks the precision that agents choose by default. \
`from_f32` is the mean distance from the results in f32 on positions of random games: the share of the policy that \
moves to other actions, and the difference between the expected scores (0 to 1).")]
#[command(mut_arg("simulations", |arg| arg.hide(true)))]
#[command(mut_arg("batch", |arg| arg.help("Positions evaluated together [default: 1 and 64]")))]
pub(super) struct Net {
    #[command(flatten)]
    setup: BenchSetup,
    /// Also write weights.safetensors and outputs.json to this folder, which is created if it is missing; outputs.json
    /// has the layers, and the planes, logits, and values of some positions
    #[arg(long, value_name = "FOLDER")]
    save: Option<PathBuf>,
}

impl Net {
    /// Measures the network, and prints each line as soon as it is known.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        measured(self.setup.bench(games)?, self.save.as_deref())
    }
}

fn measured(bench: Workbench, folder: Option<&Path>) -> Result<()> {
    if let Some(folder) = folder {
        save(&bench, &mut bench.shared()?.evaluator(&bench.game), folder)?;
    }
    for batch in bench.setup.batch.map_or(BATCHES.to_vec(), |batch| vec![batch]) {
        let precisions = bench.precisions();
        let trials = match precisions.len() {
            1 => Vec::new(),
            _ => trials(&bench.game, &bench.network()?, &bench.config, &precisions, batch)?,
        };
        for precision in precisions {
            let compared = trials.iter().find(|trial| trial.precision == precision).map(|trial| {
                let Distance { policy, score } = trial.distance;
                json!({"from_f32": {"policy": policy, "score": score}, "auto": pick(&trials) == precision})
            });
            measure(&bench, precision, batch, compared)?;
        }
    }
    Ok(())
}

/// Measures one precision and batch size, and prints the result with the comparison to other precisions.
fn measure(bench: &Workbench, precision: Precision, batch: usize, compared: Option<Value>) -> Result<()> {
    let net = bench.shared_in(precision)?;
    let states = bench.positions(batch.max(256).next_multiple_of(batch));
    let legal: Vec<Vec<Action>> = states.iter().map(|state| bench.game.legal(state)).collect();
    let requests = requests(&states, &legal);
    let device = bench.processor.name();
    let mut about =
        json!({"net": bench.net_text(), "precision": precision, "batch": batch, "device": device});
    match &bench.processor {
        Processor::Cuda(_) => about["precision"] = Value::Null,
        Processor::Cpu if bench.config.evaluator == EvaluatorKind::Fused => {
            about["instructions"] = json!(CpuNet::instructions(precision));
        }
        _ => {}
    }
    if let (Some(about), Some(Value::Object(compared))) = (about.as_object_mut(), compared) {
        about.extend(compared);
    }
    let (threads, game) = (bench.setup.threads, &bench.identity.id);
    let named = [("net/forward", "evaluations/s")];
    let measured = bench.setup.measuring.watch(threads, game, named, &|_, counters| {
        let mut evaluator = net.evaluator(&bench.game);
        evaluator.encode(&requests[..batch]);
        while !counters.stopped() {
            evaluator.forward()?;
            counters.add(0, batch);
        }
        Ok(())
    })?;
    bench.print(measured, about.clone())?;
    let named = [("net/evaluate", "evaluations/s")];
    let measured = bench.setup.measuring.watch(threads, game, named, &|_, counters| {
        let (mut evaluator, mut out) = (net.evaluator(&bench.game), Evaluations::new());
        for requests in requests.chunks_exact(batch).cycle() {
            if counters.stopped() {
                break;
            }
            evaluator.evaluate(requests, &mut out)?;
            black_box(&out);
            counters.add(0, batch);
        }
        Ok(())
    })?;
    bench.print(measured, about)
}

fn requests<'a>(states: &'a [AnyState], legal: &'a [Vec<Action>]) -> Vec<Request<'a, AnyGame>> {
    states.iter().zip(legal).map(|(state, legal)| Request { state, legal, seed: 0 }).collect()
}

/// Writes what another program needs to reproduce the results: weights, inputs, and outputs.
fn save(bench: &Workbench, evaluator: &mut NetEvaluator<AnyGame>, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(Error::io(folder))?;
    let states = bench.positions(SAVED);
    let shape = bench.identity.shape;
    let all: Vec<Action> = Action::all(shape).collect();
    let requests: Vec<Request<AnyGame>> =
        states.iter().map(|state| Request { state, legal: &all, seed: 0 }).collect();
    evaluator.encode(&requests);
    evaluator.forward()?;
    let (words, policy, wdl) = evaluator.numbers();
    let mut planes = vec![0.0; SAVED * shape.input_len()];
    shape.expand(words, &mut planes);
    let network = bench.network()?;
    let outputs = json!({
        "game": bench.identity.id, "net": bench.net_text(), "precision": bench.precision(),
        "shape": [SAVED, shape.planes, shape.height, shape.width], "actions": shape.actions,
        "planes": planes, "policy": policy, "wdl": wdl, "layers": network.layers(),
    });
    let weights = network.to_safetensors("{}")?;
    storage::write_whole(&folder.join("weights.safetensors"), &weights)?;
    storage::write_whole(&folder.join("outputs.json"), outputs.to_string().as_bytes())
}
