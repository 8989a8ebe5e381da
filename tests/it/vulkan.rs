//! A GPU through Vulkan, in programs that are built for it: burn's operations on the GPU compared with the CPU's
//! kernels, and whole runs. A software driver is enough (Debian: mesa-vulkan-drivers, libvulkan1); `scripts/check.sh
//! --deep` runs these tests.

use petteia::any::Opened;
use petteia::checkpoint::{self, Checkpoint, TrainingData};
use petteia::config::{Config, DeviceKind, NetConfig, OptimizerKind, TrainConfig, TrainDevice};
use petteia::game::{Game, GameIdentity};
use petteia::games::Games;
use petteia::net::device::{Processor, for_training};
use petteia::net::evaluator::SharedNet;
use petteia::net::network::Network;
use petteia::registry::Registry;
use petteia::search::evaluator::{Evaluations, Evaluator, Request};
use petteia::train::Trainer;

use crate::support::command::{PETTEIA, err, succeeds};
use crate::support::training::{self, batch, random};

fn with_heads() -> NetConfig {
    NetConfig::with(|net| {
        (net.filters, net.blocks, net.value_pooling, net.block_pooling) = (24, 2, true, 1);
        (net.soft_policy, net.reply_policy, net.short_value) = (1.0, 0.15, 0.5);
    })
}

struct GpuAgainstCpu(NetConfig);

impl GpuAgainstCpu {
    /// The largest difference in a probability, in batches of several sizes.
    fn on(self, rules: Opened) -> f32 {
        let (game, config) = (&rules.game, &self.0);
        let snapshot = training::trained(config, game.shape(), 3).snapshot();
        let states = training::positions(game, 40);
        let legal: Vec<_> = states.iter().map(|state| game.legal(state)).collect();
        let requests: Vec<_> =
            states.iter().zip(&legal).map(|(state, legal)| Request { state, legal, seed: 0 }).collect();
        let (gpu, _) = Processor::of(DeviceKind::Vulkan).expect("a Vulkan driver");
        let evaluate = |processor: &Processor, size: usize| {
            let net = SharedNet::on(&snapshot, config, processor).unwrap();
            let (mut evaluator, mut all) = (net.evaluator(game), Vec::new());
            for requests in requests.chunks(size) {
                let mut out = Evaluations::new();
                evaluator.evaluate(requests, &mut out).unwrap();
                for row in out.rows() {
                    all.extend(row.priors.iter().copied().chain([row.wdl.win, row.wdl.draw, row.wdl.loss]));
                }
            }
            all
        };
        // burn on a GPU requests other batches than burn on the CPU, although both would give the same answers
        assert_eq!(SharedNet::on(&snapshot, config, &gpu).unwrap().batch(), 256);
        let expected = evaluate(&Processor::Cpu, requests.len());
        let apart = |size| {
            let found = evaluate(&gpu, size);
            assert_eq!(found.len(), expected.len());
            found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
        };
        [requests.len(), 7, 1].map(apart).into_iter().fold(0.0, f32::max)
    }
}

#[test]
fn a_gpu_computes_what_the_cpu_does() {
    let plain = NetConfig::with(|net| (net.filters, net.blocks) = (16, 2));
    for id in ["connect-four", "cage-6", "phage", "tic-tac-toe"] {
        for config in [plain.clone(), with_heads()] {
            let apart =
                Games::open(id, &Default::default()).map(|rules| GpuAgainstCpu(config).on(rules)).unwrap();
            assert!(apart < 2e-5, "{id}: {apart}");
        }
    }
}

const SHAPE: petteia::encode::Shape = petteia::encode::Shape { planes: 3, height: 6, width: 7, actions: 45 };

fn settings(optimizer: OptimizerKind, device: TrainDevice) -> TrainConfig {
    // SGD needs a different learning rate than AdamW
    let learning_rate = if optimizer == OptimizerKind::Sgd { 0.05 } else { 0.005 };
    TrainConfig::with(|train| {
        (train.optimizer, train.device, train.learning_rate, train.average) =
            (optimizer, device, learning_rate, 0.9);
    })
}

/// All weights as numbers, with norms folded in.
fn numbers(network: &Network) -> Vec<f32> {
    network.weights().numbers.into_values().flat_map(|layer| [layer.weight, layer.bias].concat()).collect()
}

/// The distance between two arrays of numbers, as a share of their length.
fn apart(a: &[f32], b: &[f32]) -> f64 {
    let length = |numbers: &mut dyn Iterator<Item = f64>| numbers.map(|x| x * x).sum::<f64>().sqrt();
    assert_eq!(a.len(), b.len());
    length(&mut a.iter().zip(b).map(|(a, b)| f64::from(a - b))) / length(&mut b.iter().map(|b| f64::from(*b)))
}

/// Trains steps `from..to`, and returns the losses of the last step.
fn step(trainer: &mut Trainer, [from, to]: [u64; 2], rate: f64) -> (f32, f32) {
    let mut last = (0.0, 0.0);
    for step in from..to {
        let losses = trainer.train(&batch(SHAPE, 16, &mut random(step)), rate).unwrap();
        last = (losses.policy, losses.value);
    }
    last
}

#[test]
fn a_gpu_learns_what_the_cpu_does() {
    for optimizer in [OptimizerKind::Adamw, OptimizerKind::Sgd] {
        let trained = |device| {
            let config = settings(optimizer, device);
            let network = Network::new(&with_heads(), SHAPE, 1);
            let mut trainer = Trainer::on(&config, &network, &for_training(device).unwrap());
            let losses = step(&mut trainer, [0, 4], config.learning_rate);
            let in_training = trainer.in_training().expect("an average plays");
            (losses, numbers(&trainer.snapshot()), numbers(&in_training))
        };
        let (cpu, gpu) = (trained(TrainDevice::Cpu), trained(TrainDevice::Vulkan));
        let begin = numbers(&Network::new(&with_heads(), SHAPE, 1));
        assert!(
            (cpu.0.0 - gpu.0.0).abs() < 1e-3 && (cpu.0.1 - gpu.0.1).abs() < 1e-3,
            "{:?} {:?}",
            cpu.0,
            gpu.0
        );
        for (cpu, gpu) in [(&cpu.1, &gpu.1), (&cpu.2, &gpu.2)] {
            let (moved, apart) = (apart(cpu, &begin), apart(gpu, cpu));
            assert!(apart < moved / 50.0 && moved > 0.001, "{optimizer:?}: {apart} apart, {moved} learned");
        }
    }
}

/// A run may continue on another device: weights, optimizer and average are the same numbers everywhere.
#[test]
fn a_trainer_moves_between_devices() {
    for optimizer in [OptimizerKind::Adamw, OptimizerKind::Sgd] {
        for [from, to] in [[TrainDevice::Vulkan, TrainDevice::Cpu], [TrainDevice::Cpu, TrainDevice::Vulkan]] {
            let folder = tempfile::tempdir().unwrap();
            let mut config = Config::new("tic-tac-toe");
            (config.net, config.train) = (with_heads(), settings(optimizer, from));
            let network = Network::new(&config.net, SHAPE, 1);
            let mut original = Trainer::on(&config.train, &network, &for_training(from).unwrap());
            let rate = config.train.learning_rate;
            step(&mut original, [0, 3], rate);
            let identity = GameIdentity {
                id: "tic-tac-toe".into(),
                options: Default::default(),
                encoding: 1,
                shape: SHAPE,
            };
            let data = TrainingData::default();
            let saved = checkpoint::save(folder.path(), &config, &identity, 1, &original, data).unwrap();
            let open = |device| {
                Checkpoint::find(&saved.path)
                    .unwrap()
                    .trainer(&config, &for_training(device).unwrap())
                    .unwrap()
            };
            let mut moved = open(to);
            assert_eq!(moved.step, 3);
            assert_eq!(numbers(&moved.snapshot()), numbers(&original.snapshot()));
            assert_eq!(moved.optimizer_bytes().unwrap(), original.optimizer_bytes().unwrap());
            let (there, here) = (step(&mut moved, [3, 5], rate), step(&mut original, [3, 5], rate));
            assert!((there.0 - here.0).abs() < 1e-3 && (there.1 - here.1).abs() < 1e-3, "{there:?} {here:?}");
            assert!(apart(&numbers(&moved.snapshot()), &numbers(&original.snapshot())) < 1e-3);
        }
    }
}

#[test]
fn a_run_on_a_gpu_trains_resumes_and_plays() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let run = run.to_str().unwrap();
    let begin =
        ["train", "configs/smoke.toml", "--run", run, "--device", "vulkan", "--set", "train.device=vulkan"];
    succeeds(&[&begin[..], &["--set", "train.generations=1"]].concat(), "");
    let settings = std::fs::read_to_string(folder.path().join("run/config.toml")).unwrap();
    assert_eq!(settings.matches("device = \"vulkan\"").count(), 2, "{settings}");
    succeeds(&["train", "--run", run, "--generations", "2"], "");
    let agent = format!("{run}:20");
    for device in ["vulkan", "cpu"] {
        let arena = ["arena", "tic-tac-toe", &agent, "random", "--games", "10", "--device", device];
        succeeds(&arena, "");
    }
    // the batch that the device wants is too large for such a short run, but the benchmark's commands accept the
    // device
    succeeds(
        &[
            "bench",
            "train",
            "--device",
            "vulkan",
            "--game",
            "tic-tac-toe",
            "--net",
            "8x1",
            "--batch",
            "8",
            "--seconds",
            "0.1",
        ],
        "",
    );
}

/// Vulkan's loader finds no driver; burn's default device, onto which burn would read an optimizer, does not exist
/// then.
#[test]
fn without_a_driver_the_cpu_trains_and_a_gpu_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let without = |arguments: &[&str]| {
        std::process::Command::new(PETTEIA)
            .args(arguments)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .envs(["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].map(|name| (name, "/nonexistent.json")))
            .output()
            .unwrap()
    };
    let run_path = run.to_str().unwrap();
    let begin = ["train", "configs/smoke.toml", "--run", run_path, "--set", "train.generations=1"];
    for wrong in [&["--device", "vulkan"], &["--set", "train.device=vulkan"]] {
        let refused = without(&[&begin[..], wrong].concat());
        assert_eq!(refused.status.code(), Some(2), "{}", err(&refused));
        assert!(err(&refused).contains("no GPU with a Vulkan driver was found"), "{}", err(&refused));
        assert!(!run.exists(), "nothing was written");
    }
    assert!(without(&begin).status.success());
    let resumed = without(&["train", "--run", run_path, "--generations", "2"]);
    assert!(resumed.status.success(), "{}", err(&resumed));
    let there = without(&["inspect", run_path]);
    assert!(there.status.success(), "{}", err(&there));
}
