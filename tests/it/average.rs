//! `train.average`: the network that plays is the moving average of the network in training, including batch norm's
//! statistics. The network in training is not replaced by the average.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use petteia::checkpoint::{self, Checkpoint, TrainingData};
use petteia::config::{Config, TrainConfig};
use petteia::game::{GameIdentity, GameOptions, Rules, Shape};
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::net::device::cpu;
use petteia::net::evaluator::SharedNet;
use petteia::net::network::Network;
use petteia::replay::record::Record;
use petteia::replay::store;
use petteia::run::settings_of;
use petteia::selfplay::starts::Starts;
use petteia::selfplay::{Generation, Monitor, play_shard};
use petteia::train::Trainer;
use safetensors::SafeTensors;

use crate::support::command::{err, fails, json_lines, out, petteia, succeeds};
use crate::support::runs::{Finished, PLAIN, checkpoint as folder_of, contents, shard, text};
use crate::support::training::{batch, random};

const SHAPE: Shape = Shape { planes: 3, height: 4, width: 5, actions: 45 };
const DECAY: f32 = 0.8;
const RAW: &str = "training.safetensors";

/// A run that plays with averaged weights.
static AVERAGED: LazyLock<Finished> = LazyLock::new(|| Finished::new(&["train.average=0.9"]));

fn config(average: f32) -> Config {
    let mut config = Config::new("tic-tac-toe");
    let net = &mut config.net;
    (net.filters, net.blocks, net.value_planes, net.value_hidden) = (8, 1, 2, 8);
    config.train.average = average;
    config
}

fn trainer(average: f32) -> Trainer {
    let Config { net, train, .. } = config(average);
    Trainer::new(&train, &Network::new(&net, SHAPE, 1))
}

/// Every tensor by its name.
fn tensors(network: &Network) -> BTreeMap<String, Vec<f32>> {
    let bytes = network.to_safetensors("").unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap().tensors();
    let numbers = |bytes: &[u8]| bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    tensors.into_iter().map(|(name, tensor)| (name, numbers(tensor.data()))).collect()
}

fn train(trainers: &mut [&mut Trainer], steps: std::ops::Range<u64>) {
    for step in steps {
        let batch = batch(SHAPE, 16, &mut random(step));
        for trainer in trainers.iter_mut() {
            trainer.train(&batch, 0.01).unwrap();
        }
    }
}

#[test]
fn every_tensor_is_averaged_and_training_goes_on_as_without() {
    let (mut plain, mut averaged) = (trainer(0.0), trainer(DECAY));
    let mut expected = tensors(&plain.snapshot());
    assert_eq!(tensors(&averaged.snapshot()), expected, "the average begins with the initial weights");
    for step in 1..=40 {
        train(&mut [&mut plain, &mut averaged], step..step + 1);
        let decay = f64::from(DECAY).min((1 + step) as f64 / (10 + step) as f64);
        for (name, new) in tensors(&plain.snapshot()) {
            for (average, new) in expected.get_mut(&name).unwrap().iter_mut().zip(new) {
                *average = (decay * f64::from(*average) + (1.0 - decay) * f64::from(new)) as f32;
            }
        }
    }
    let (now, raw, found) = (
        tensors(&plain.snapshot()),
        tensors(&averaged.in_training().expect("another one plays")),
        tensors(&averaged.snapshot()),
    );
    assert_eq!(raw, now);
    assert!(plain.in_training().is_none());
    for kind in ["running_mean", "running_var", "gamma", "weight"] {
        assert!(found.keys().any(|name| name.ends_with(kind)), "{kind}: {:?}", found.keys());
    }
    for (name, numbers) in &found {
        let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-5 * (1.0 + b.abs());
        assert!(numbers.iter().zip(&expected[name]).all(close), "{name}");
        // the bias of a single policy plane never changes
        assert!(numbers != &now[name] || numbers.len() == 1, "{name} is not averaged");
    }
}

#[test]
fn the_average_is_what_is_measured() {
    let mut averaged = trainer(DECAY);
    train(&mut [&mut averaged], 0..10);
    let quality = |trainer: &Trainer| trainer.quality([batch(SHAPE, 8, &mut random(77))]).unwrap();
    let as_plain = |network| quality(&Trainer::new(&TrainConfig::default(), &network));
    assert_eq!(quality(&averaged), as_plain(averaged.snapshot()));
    assert_ne!(quality(&averaged), as_plain(averaged.in_training().unwrap()));
}

/// Saves and loads a trainer, with averages of `before` and `after`.
fn saved(run: &Path, trainer: &Trainer, before: f32, after: f32) -> (Checkpoint, Trainer) {
    let identity =
        GameIdentity { id: "tic-tac-toe".into(), options: Default::default(), encoding: 1, shape: SHAPE };
    let data = TrainingData::default();
    fs::create_dir_all(run).unwrap();
    let saved = checkpoint::save(run, &config(before), &identity, 1, trainer, data).unwrap();
    let loaded = Checkpoint::find(&saved.path).unwrap().trainer(&config(after), &cpu().autodiff()).unwrap();
    (saved, loaded)
}

#[test]
fn a_saved_average_goes_on_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let mut original = trainer(DECAY);
    train(&mut [&mut original], 0..5);
    let (saved, mut loaded) = saved(folder.path(), &original, DECAY, DECAY);
    assert!(saved.manifest.files.contains_key(RAW) && saved.path.join(RAW).is_file());
    let state =
        |trainer: &Trainer| (tensors(&trainer.snapshot()), trainer.in_training().as_ref().map(tensors));
    assert_eq!(state(&original), state(&loaded));
    train(&mut [&mut original, &mut loaded], 5..9);
    assert_eq!(state(&original), state(&loaded));
    assert_eq!(original.optimizer_bytes().unwrap(), loaded.optimizer_bytes().unwrap());
    // everything else sees the average
    let network = |path: &Path| tensors(&Checkpoint::find(path).unwrap().network().unwrap());
    assert_ne!(network(&saved.path), network(&saved.path.join(RAW)));
    assert_eq!(network(&saved.path), network(&saved.path.join("weights.safetensors")));
    // a changed file is not accepted as a network
    let mut bytes = fs::read(saved.path.join(RAW)).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(saved.path.join(RAW), bytes).unwrap();
    let error = saved.trainer(&config(DECAY), &cpu().autodiff()).unwrap_err().to_string();
    assert!(error.contains(RAW) && error.contains("the SHA-256 differs"), "{error}");
}

#[test]
fn an_average_ends_and_begins_where_the_settings_change() {
    let folder = tempfile::tempdir().unwrap();
    let mut averaged = trainer(DECAY);
    train(&mut [&mut averaged], 0..5);
    let playing = tensors(&averaged.snapshot());
    // without an average, training continues with the network that plays
    let (_, mut plain) = saved(&folder.path().join("on"), &averaged, DECAY, 0.0);
    assert_eq!((tensors(&plain.snapshot()), plain.in_training().is_none()), (playing.clone(), true));
    // conversely, if averaging is turned on, the average begins as the network that played
    let (checkpoint, begun) = saved(&folder.path().join("off"), &plain, 0.0, DECAY);
    assert!(!checkpoint.manifest.files.contains_key(RAW) && !checkpoint.path.join(RAW).exists());
    assert_eq!(tensors(&begun.snapshot()), playing);
    assert_eq!(tensors(&begun.in_training().unwrap()), playing);
    train(&mut [&mut plain], 5..6);
    assert_ne!(tensors(&plain.snapshot()), playing);
}

/// The games of generation 2 as `network` plays them.
fn played(run: &Path, network: &Network) -> Vec<Record> {
    let rules: Rules<TicTacToe> = Rules::new(&GameOptions::default()).unwrap();
    let config = settings_of(run).unwrap();
    let net = SharedNet::new(network, &config.net);
    let generation = Generation {
        config: &config,
        identity: &rules.identity,
        number: 2,
        games: config.selfplay.games,
        simulations: config.search.simulations,
        evaluator: "generation 1".into(),
        starts: Starts::default(),
    };
    let mut evaluator = net.evaluator(&rules.game);
    let games = 0..config.selfplay.batch;
    play_shard(&rules.game, &generation, games, &mut evaluator, &Monitor::default(), &|_| true).unwrap()
}

#[test]
fn games_are_played_with_the_average() {
    let run = AVERAGED.run();
    let rules: Rules<TicTacToe> = Rules::new(&GameOptions::default()).unwrap();
    let recorded = store::read_shard(&shard(&run, 2, 0), &rules, None).unwrap().records;
    let folder = folder_of(&run, 1);
    let network = |path: &Path| Checkpoint::find(path).unwrap().network().unwrap();
    assert_eq!(played(&run, &network(&folder)), recorded);
    assert_ne!(played(&run, &network(&folder.join(RAW))), recorded);
    // the bootstrap is the same, so the first training is the same, too
    let plain = Checkpoint::find(&folder_of(&PLAIN.run(), 1)).unwrap();
    assert_eq!(tensors(&network(&plain.path)), tensors(&network(&folder.join(RAW))));
}

#[test]
fn an_interrupted_run_goes_on_to_the_same_bytes_with_any_number_of_threads() {
    let whole = contents(&AVERAGED.run());
    assert!(whole.keys().any(|name| name.ends_with(RAW)));
    for (generations, threads) in [(1, "2"), (2, "1")] {
        let (_folder, run) = AVERAGED.copy(generations);
        succeeds(&["train", "--run", text(&run), "--threads", threads], "");
        let found = contents(&run);
        let differs = |name: &&PathBuf| found.get(*name) != whole.get(*name) && !name.ends_with("lock");
        let differs: Vec<_> = whole.keys().filter(differs).collect();
        assert!(differs.is_empty(), "{differs:?}");
    }
}

#[test]
fn forks_starts_and_inspect_know_both_networks() {
    let run = AVERAGED.run();
    let checkpoint = folder_of(&run, 2);
    let said = out(&succeeds(&["inspect", text(&checkpoint)], ""));
    assert!(said.contains(RAW), "{said}");
    succeeds(&["inspect", text(&run)], "");
    let facts = json_lines(&succeeds(&["inspect", text(&checkpoint.join(RAW)), "--json"], ""));
    assert_eq!((facts[0]["kind"].as_str(), facts[0]["step"].is_u64()), (Some("network"), true));
    // a fork continues with both networks
    let folder = tempfile::tempdir().unwrap();
    let fork = folder.path().join("fork");
    succeeds(&["train", "--fork", text(&run), "--at", "2", "--run", text(&fork), "--threads", "1"], "");
    let network = |path: &Path| tensors(&Checkpoint::find(path).unwrap().network().unwrap());
    for name in ["weights.safetensors", RAW] {
        let of = |run: &Path| network(&folder_of(run, 3).join(name));
        assert!(of(&fork) == of(&run), "{name}");
    }
    // a run that begins with another run's weights takes the weights of the network that plays
    let started = folder.path().join("started");
    let config = folder.path().join("config.toml");
    fs::write(&config, format!("config_format = 1\n{}", settings_of(&run).unwrap().to_toml())).unwrap();
    let sets = ["--set", "selfplay.bootstrap_games=0", "--set", "train.generations=1"];
    let begin = ["train", text(&config), "--run", text(&started), "--from", text(&checkpoint)];
    succeeds(&[&begin[..], &sets[..], &["--threads", "1"]].concat(), "");
    for name in ["weights.safetensors", RAW] {
        assert!(network(&folder_of(&started, 0).join(name)) == network(&checkpoint), "{name}");
    }
    // and a network that is lost is reported as missing
    let (_folder, copy) = AVERAGED.copy(2);
    fs::remove_file(folder_of(&copy, 2).join(RAW)).unwrap();
    let said = petteia(&["inspect", text(&folder_of(&copy, 2))], "");
    assert!(
        said.status.code() == Some(1) && format!("{}{}", out(&said), err(&said)).contains(RAW),
        "{said:?}"
    );
    fails(&["train", "--run", text(&copy)], 1, &[RAW]);
}
