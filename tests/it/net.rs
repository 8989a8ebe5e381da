//! The traps of the network library, each with a test, and the fused forward pass compared with burn's.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::training::{self, batch, random};
use petteia::any::Opened;
use petteia::checkpoint::{self, Checkpoint, TrainingData};
use petteia::config::{Config, EvaluatorKind, NetConfig, Precision, TrainConfig};
use petteia::game::{Game, GameIdentity, Shape};
use petteia::games::Games;
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::net::device::cpu;
use petteia::net::evaluator::SharedNet;
use petteia::net::forward::{self, Forward, Pass};
use petteia::net::infer::{CpuNet, Wanted};
use petteia::net::model::Model;
use petteia::net::network::Network;
use petteia::registry::Registry;
use petteia::search::evaluator::{Evaluations, Evaluator, Request};
use petteia::train::Trainer;

const SHAPE: Shape = Shape { planes: 3, height: 4, width: 5, actions: 45 };

fn small() -> NetConfig {
    NetConfig::with(|net| (net.filters, net.blocks, net.value_planes, net.value_hidden) = (8, 2, 2, 8))
}

/// The small network with global pooling in the value head and after the second block.
fn pooling() -> NetConfig {
    let mut net = small();
    (net.value_pooling, net.block_pooling) = (true, 2);
    net
}

fn outputs(network: &Network, planes: &[f32], shape: Shape) -> Vec<f32> {
    let n = planes.len() / shape.input_len();
    let data = burn::tensor::TensorData::new(planes.to_vec(), [n, shape.planes, shape.height, shape.width]);
    let model = Model::of(network, &cpu());
    let (policy, wdl) = model.forward(burn::tensor::Tensor::from_data(data, &cpu()));
    let mut all = policy.into_data().try_into_vec::<f32>().unwrap();
    all.extend(wdl.into_data().try_into_vec::<f32>().unwrap());
    all
}

fn trained(steps: u64) -> Trainer {
    training::trained(&small(), SHAPE, steps)
}

fn save(run: &std::path::Path, trainer: &Trainer) -> (Checkpoint, Config) {
    let mut config = Config::new("tic-tac-toe");
    (config.net, config.train) = (small(), TrainConfig::default());
    let identity =
        GameIdentity { id: "tic-tac-toe".into(), options: Default::default(), encoding: 1, shape: SHAPE };
    (checkpoint::save(run, &config, &identity, 1, trainer, TrainingData::default()).unwrap(), config)
}

/// Trap: `clone` shares the running statistics of batch norm.
#[test]
fn a_snapshot_does_not_change_while_training_goes_on() {
    let mut trainer = trained(3);
    let snapshot = trainer.snapshot();
    let input = batch(SHAPE, 4, &mut random(99)).planes.into_raw_vec_and_offset().0;
    let before = outputs(&snapshot, &input, SHAPE);
    for step in 0..5 {
        trainer.train(&batch(SHAPE, 16, &mut random(50 + step)), 0.01).unwrap();
    }
    assert_eq!(before, outputs(&snapshot, &input, SHAPE));
    assert_ne!(before, outputs(&trainer.snapshot(), &input, SHAPE), "training changes the network");
}

/// Trap: on an autodiff device, batch norm uses the batch's own statistics, so rows depend on each other.
#[test]
fn rows_of_a_snapshot_are_independent_of_the_batch() {
    let snapshot = trained(3).snapshot();
    let input = batch(SHAPE, 7, &mut random(98)).planes.into_raw_vec_and_offset().0;
    let together = outputs(&snapshot, &input, SHAPE);
    for row in 0..7 {
        let alone = outputs(&snapshot, &input[row * SHAPE.input_len()..(row + 1) * SHAPE.input_len()], SHAPE);
        let policy = &together[row * SHAPE.actions..(row + 1) * SHAPE.actions];
        let wdl = &together[7 * SHAPE.actions + row * 3..7 * SHAPE.actions + row * 3 + 3];
        for (a, b) in alone.iter().zip(policy.iter().chain(wdl)) {
            assert!((a - b).abs() < 1e-6, "row {row}: {a} and {b}");
        }
    }
}

/// Traps: a record of the module in training lacks the last update of the running statistics; and parameter ids are
/// random, so after loading, an optimizer's state might match no parameter.
#[test]
fn a_saved_trainer_goes_on_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let mut original = trained(5);
    let (saved, config) = save(folder.path(), &original);
    let mut loaded = Checkpoint::find(&saved.path).unwrap().trainer(&config, &cpu().autodiff()).unwrap();
    assert_eq!(loaded.step, 5);
    let input = batch(SHAPE, 4, &mut random(97)).planes.into_raw_vec_and_offset().0;
    assert_eq!(outputs(&original.snapshot(), &input, SHAPE), outputs(&loaded.snapshot(), &input, SHAPE));
    for step in 0..4 {
        let batch = batch(SHAPE, 16, &mut random(60 + step));
        let (a, b) = (original.train(&batch, 0.01).unwrap(), loaded.train(&batch, 0.01).unwrap());
        assert_eq!((a.policy, a.value), (b.policy, b.value), "step {step}");
    }
    assert_eq!(outputs(&original.snapshot(), &input, SHAPE), outputs(&loaded.snapshot(), &input, SHAPE));
}

/// Trap: burn's generator is global, so weights would depend on earlier draws.
#[test]
fn first_weights_depend_on_the_seed_alone() {
    let input = batch(SHAPE, 2, &mut random(96)).planes.into_raw_vec_and_offset().0;
    let first = Network::new(&small(), SHAPE, 7);
    let other = Network::new(&small(), SHAPE, 8);
    cpu().seed(12345);
    let late = outputs(&other, &input, SHAPE);
    let again = Network::new(&small(), SHAPE, 7);
    assert_eq!(outputs(&first, &input, SHAPE), outputs(&again, &input, SHAPE));
    assert_ne!(outputs(&first, &input, SHAPE), late);
}

/// Trap: the default device. Ours is the CPU backend, whatever the environment.
#[test]
fn the_device_is_the_cpu_backend() {
    assert!(format!("{:?}", cpu()).to_lowercase().contains("flex"), "{:?}", cpu());
    assert!(cpu().autodiff().is_autodiff() && !cpu().is_autodiff());
}

/// Trap: a file with changed bytes loads without an error; the manifest's checksum catches it.
#[test]
fn a_changed_weight_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (saved, _) = save(folder.path(), &trained(1));
    let weights = saved.path.join("weights.safetensors");
    let mut bytes = std::fs::read(&weights).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&weights, bytes).unwrap();
    let error = Checkpoint::find(folder.path()).unwrap().network().unwrap_err().to_string();
    assert!(error.contains("SHA-256") && error.contains("weights.safetensors"), "{error}");
}

struct FusedAgainstBurn {
    pooling: bool,
}

impl FusedAgainstBurn {
    fn on(self, rules: Opened) -> f32 {
        let game = &rules.game;
        let shape = game.shape();
        let mut config = NetConfig::with(|net| (net.filters, net.blocks) = (24, 2));
        (config.value_pooling, config.block_pooling) = (self.pooling, self.pooling.into());
        let snapshot = training::trained(&config, shape, 3).snapshot();
        let states = training::positions(game, 40);
        let legal: Vec<_> = states.iter().map(|state| game.legal(state)).collect();
        let requests: Vec<_> =
            states.iter().zip(&legal).map(|(state, legal)| Request { state, legal, seed: 0 }).collect();
        let evaluate = |kind| {
            let mut out = Evaluations::new();
            let mut config = config.clone();
            config.evaluator = kind;
            let net = SharedNet::new(&snapshot, &config);
            net.evaluator(game).evaluate(&requests, &mut out).unwrap();
            out
        };
        let (fused, burn) = (evaluate(EvaluatorKind::Fused), evaluate(EvaluatorKind::Burn));
        let mut most: f32 = 0.0;
        for (a, b) in fused.rows().zip(burn.rows()) {
            assert!((a.priors.iter().sum::<f32>() - 1.0).abs() < 1e-4);
            most = a.priors.iter().zip(b.priors).map(|(x, y)| (x - y).abs()).fold(most, f32::max);
            most = most.max((a.wdl.value() - b.wdl.value()).abs()).max((a.wdl.draw - b.wdl.draw).abs());
        }
        most
    }
}

/// An auxiliary head changes nothing else: neither the initial weights nor the network's outputs.
#[test]
fn the_softer_policy_is_learned_and_not_computed_in_play() {
    let mut soft = small();
    soft.soft_policy = 4.0;
    let [plain, with] = [small(), soft.clone()].map(|net| Network::new(&net, SHAPE, 1));
    let input = batch(SHAPE, 4, &mut random(97)).planes.into_raw_vec_and_offset().0;
    assert_eq!(outputs(&plain, &input, SHAPE), outputs(&with, &input, SHAPE));
    assert!(with.count() > plain.count());
    // the head for the soft policy learns a policy between its target and a uniform policy
    let mut one = batch(SHAPE, 1, &mut random(5));
    one.illegal.fill(true);
    one.policy.fill(0.0);
    for (action, share) in [(3, 0.9), (17, 0.1)] {
        one.illegal[[0, action]] = false;
        one.policy[[0, action]] = share;
    }
    let mut both = Trainer::new(&TrainConfig::default(), &with);
    let rows = |n| petteia::replay::window::Batch {
        planes: one.planes.broadcast((n, 3, 4, 5)).unwrap().to_owned(),
        policy: one.policy.broadcast((n, 45)).unwrap().to_owned(),
        illegal: one.illegal.broadcast((n, 45)).unwrap().to_owned(),
        wdl: one.wdl.broadcast((n, 3)).unwrap().to_owned(),
        auxiliary: Default::default(),
    };
    (0..300).for_each(|_| {
        both.train(&rows(4), 0.01).unwrap();
    });
    let planes = burn::tensor::Tensor::from_data(petteia::train::loss::data(&one.planes), &cpu());
    let said = Model::of(&both.snapshot(), &cpu()).forward_in_training(planes, Precision::F32);
    let share = |logits: burn::tensor::Tensor<2>| {
        let logits = logits.into_data().try_into_vec::<f32>().unwrap();
        1.0 / (1.0 + (logits[17] - logits[3]).exp())
    };
    // 0.9 ^ 0.25 divided by 0.9 ^ 0.25 + 0.1 ^ 0.25
    let (policy, soft) = (share(said.policy), share(said.auxiliary[0].clone()));
    assert!((policy - 0.9).abs() < 0.05 && (soft - 0.634).abs() < 0.05, "{policy} {soft}");
}

#[test]
fn the_fused_forward_agrees_with_burn_on_every_game() {
    for (id, pooling) in Games::ids().into_iter().flat_map(|id| [(id.clone(), false), (id, true)]) {
        let most = Games::open(&id, &Default::default())
            .map(|rules| FusedAgainstBurn { pooling }.on(rules))
            .unwrap();
        println!("{id}, pooling = {pooling}: largest difference {most:e}");
        assert!(most < 1e-4, "{id}, pooling = {pooling}: {most}");
    }
}

#[test]
fn the_fused_forward_agrees_with_burn_on_logits() {
    let snapshot = trained(3).snapshot();
    let input = batch(SHAPE, 5, &mut random(95)).planes.into_raw_vec_and_offset().0;
    let net = CpuNet::new(&snapshot.weights(), Precision::F32).expect("every CPU has f32");
    let actions: Vec<u16> = (0..5).flat_map(|_| 0..SHAPE.actions as u16).collect();
    let ends = [1, 2, 3, 4, 5].map(|row| row * SHAPE.actions);
    let wanted = Wanted { actions: &actions, ends: &ends };
    let (mut policy, mut wdl) = (vec![0.0; 5 * SHAPE.actions], vec![0.0; 15]);
    net.forward(&mut net.scratch(), &input, wanted, &mut policy, &mut wdl);
    policy.extend(wdl);
    for (a, b) in policy.iter().zip(outputs(&snapshot, &input, SHAPE)) {
        assert!((a - b).abs() < 1e-4, "{a} and {b}");
    }
}

/// A forward pass that knows only the sizes, and counts batches.
struct Fake {
    batches: AtomicUsize,
}

impl Forward for Fake {
    fn shape(&self) -> Shape {
        Shape { planes: 2, height: 3, width: 3, actions: 9 }
    }

    fn pass(self: Arc<Self>) -> Box<dyn Pass> {
        Box::new(FakePass(self))
    }
}

struct FakePass(Arc<Fake>);

impl Pass for FakePass {
    fn run(&mut self, batch: forward::Batch) -> petteia::error::Result<()> {
        if self.0.batches.fetch_add(1, Ordering::SeqCst) == 2 {
            return Err(petteia::error::Error::Data("the device is gone".into()));
        }
        assert_eq!((batch.planes.len(), batch.wanted.ends.len()), (2 * self.0.shape().words(), 2));
        batch.logits.fill(0.0);
        batch.wdl.copy_from_slice(&[1000.0, 0.0, 0.0, 0.0, 0.0, 1000.0]);
        Ok(())
    }
}

#[test]
fn any_forward_pass_can_evaluate_and_can_fail() {
    let game = TicTacToe;
    let states = &training::positions(&game, 2)[..2];
    let legal: Vec<_> = states.iter().map(|state| game.legal(state)).collect();
    let requests: Vec<_> =
        states.iter().zip(&legal).map(|(state, legal)| Request { state, legal, seed: 0 }).collect();
    let fake = Arc::new(Fake { batches: AtomicUsize::new(0) });
    let net = SharedNet::from_forward(fake.clone());
    // each thread has its own pass of the same network
    let (mut one, mut other) = (net.evaluator(&game), net.clone().evaluator(&game));
    let mut out = Evaluations::new();
    for evaluator in [&mut one, &mut other] {
        evaluator.evaluate(&requests, &mut out).unwrap();
        let values: Vec<_> = out.rows().map(|row| row.wdl.value()).collect();
        assert_eq!(values, [1.0, -1.0]);
        assert!(out.rows().next().unwrap().priors.iter().all(|prior| (prior - 1.0 / 9.0).abs() < 1e-6));
    }
    let error = one.evaluate(&requests, &mut out).unwrap_err().to_string();
    assert!(error.contains("the device is gone"), "{error}");
    assert_eq!(fake.batches.load(Ordering::SeqCst), 3);
}

/// In training, convolutions are an operation of our own, except with checkpointing, where they are burn's.
#[test]
fn training_agrees_with_burns_operations() {
    let config = Config::new("tic-tac-toe");
    // one network with logits of planes and of extra actions, one with extra actions only
    let other = Shape { planes: 3, height: 6, width: 7, actions: 7 };
    // a norm removes what global pooling adds to a whole plane, so in training, pooling changes only rounding errors.
    // Because of rounding errors, the weights, and the outputs with running statistics, may differ a little more
    let nets = [(small(), SHAPE, 1e-3), (small(), other, 1e-3), (pooling(), SHAPE, 2e-2)];
    for (net, shape, tolerance) in nets {
        let trained = |device: &burn::tensor::Device| {
            let mut trainer = Trainer::on(&config.train, &Network::new(&net, shape, 1), device);
            let losses: Vec<_> = (0..4)
                .map(|step| trainer.train(&batch(shape, 16, &mut random(step)), 0.001).unwrap())
                .flat_map(|losses| [losses.policy, losses.value])
                .collect();
            let input = batch(shape, 4, &mut random(94)).planes.into_raw_vec_and_offset().0;
            (losses, outputs(&trainer.snapshot(), &input, shape))
        };
        let (ours, burns) = (trained(&cpu().autodiff()), trained(&cpu().autodiff().gradient_checkpointing()));
        assert_ne!(ours, burns, "two ways");
        let agree = |ours: &[f32], burns: &[f32], tolerance| {
            ours.iter().zip(burns).all(|(a, b)| (a - b).abs() < tolerance)
        };
        assert!(agree(&ours.0, &burns.0, 1e-3), "{ours:?} and {burns:?}");
        assert!(agree(&ours.1, &burns.1, tolerance), "{ours:?} and {burns:?}");
    }
}

/// Stands for a larger board of the same game: with pooling every tensor fits; without it no tensor of the value head
/// fits.
#[test]
fn with_pooling_weights_fit_boards_of_other_sizes() {
    let larger = Shape { height: 6, width: 9, actions: 2 * 54, ..SHAPE };
    let shape = Shape { actions: 2 * SHAPE.cells(), ..SHAPE };
    for (net, fits) in [(pooling(), true), (small(), false)] {
        let bytes = training::trained(&net, shape, 2).snapshot().to_safetensors("{}").unwrap();
        let loaded = Network::from_safetensors(&bytes, "a", &net, larger);
        assert_eq!(loaded.is_ok(), fits, "{loaded:?}");
        if let Ok(network) = loaded {
            let input = batch(larger, 2, &mut random(93)).planes.into_raw_vec_and_offset().0;
            assert!(outputs(&network, &input, larger).iter().all(|number| number.is_finite()));
        }
    }
}

#[test]
fn a_network_of_another_shape_is_refused() {
    let bytes = trained(1).snapshot().to_safetensors("{}").unwrap();
    let mut wider = small();
    wider.filters = 16;
    assert!(Network::from_safetensors(&bytes, "a.safetensors", &wider, SHAPE).is_err());
    assert!(Network::from_safetensors(&bytes[..bytes.len() / 2], "a", &small(), SHAPE).is_err());
}
