//! Numbers that are not finite end a run before they do harm, and every generation reports how well it learns.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use petteia::checkpoint;
use petteia::config::{Config, NetConfig, TrainConfig};
use petteia::encode::{Planes, Shape};
use petteia::error::Result;
use petteia::game::{GameOptions, Rules};
use petteia::games::tic_tac_toe::{State, TicTacToe};
use petteia::net::network::Network;
use petteia::replay::window::Batch;
use petteia::run::{self, Event, Health, METRICS, Observer, Refused, Summary};
use petteia::train::{Refusal, Trainer};
use serde_json::Value;

use crate::support::faulty::{Faulty, Wrong};
use crate::support::training;

const SHAPE: Shape = Shape { planes: 2, height: 3, width: 3, actions: 9 };
const GAMES: usize = 32;

fn trainer(value_weight: f32) -> Trainer {
    let net = NetConfig::with(|net| (net.filters, net.blocks) = (4, 1));
    let config = TrainConfig::with(|train| train.value_weight = value_weight);
    Trainer::new(&config, &Network::new(&net, SHAPE, 1))
}

fn batch() -> Batch {
    training::batch(SHAPE, 4, &mut training::random(1))
}

fn weights(trainer: &Trainer) -> Vec<u8> {
    trainer.snapshot().to_safetensors("").unwrap()
}

#[test]
fn a_step_on_an_intact_batch_is_taken() {
    let mut trainer = trainer(1.0);
    let before = weights(&trainer);
    assert!(trainer.train(&batch(), 0.01).unwrap().value > 0.0);
    assert_ne!(weights(&trainer), before);
    assert_eq!(trainer.step, 1);
}

#[test]
fn a_batch_that_is_not_finite_is_refused_and_changes_nothing() {
    let plants: [fn(&mut Batch); 3] = [
        |batch| batch.planes[[1, 0, 2, 2]] = f32::NAN,
        |batch| batch.policy[[3, 3]] = f32::INFINITY,
        |batch| batch.wdl[[0, 2]] = f32::NEG_INFINITY,
    ];
    for plant in plants {
        let mut trainer = trainer(1.0);
        let before = weights(&trainer);
        let mut bad = batch();
        plant(&mut bad);
        assert_eq!(trainer.train(&bad, 0.01).unwrap_err(), Refusal::Batch);
        assert_eq!((weights(&trainer) == before, trainer.step), (true, 0));
        // the weights are unchanged, so training can continue
        trainer.train(&batch(), 0.01).unwrap();
    }
}

#[test]
fn losses_gradients_and_weights_that_are_not_finite_are_refused() {
    // finite numbers whose products are not finite
    let mut huge = batch();
    huge.planes.fill(f32::MAX);
    let refusal = trainer(1.0).train(&huge, 0.01).unwrap_err();
    assert!(matches!(refusal, Refusal::Loss { .. }), "{refusal}");
    // the losses are finite, but the square of the gradient is not
    assert_eq!(trainer(1e37).train(&batch(), 0.01).unwrap_err(), Refusal::Gradient);
    // the gradient is finite, but the step is too large for finite weights
    assert_eq!(trainer(1.0).train(&batch(), 1e39).unwrap_err(), Refusal::Weights);
}

/// Whether the planes of each poisoned game are wrong at the moment.
static POISONED: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];
/// The number that the wrong planes contain.
const POISON: [f32; 2] = [f32::NAN, f32::MAX];

fn encode<const WHICH: usize>(game: &TicTacToe, state: &State, planes: &mut Planes) {
    petteia::game::Game::encode(game, state, planes);
    if POISONED[WHICH].load(Ordering::Relaxed) {
        planes.fill(1, POISON[WHICH]);
    }
}

/// Poisons the planes after the games of generation 2, before they are read back.
#[derive(Default)]
struct Poisoner {
    which: Option<usize>,
    generation: AtomicUsize,
    signs: Mutex<Vec<String>>,
}

impl Observer for Poisoner {
    fn event(&self, event: Event) {
        match event {
            Event::Generation { number, .. } => self.generation.store(number, Ordering::Relaxed),
            Event::Selfplay(progress) if progress.games == GAMES => {
                let second = self.generation.load(Ordering::Relaxed) == 2;
                if let Some(which) = self.which {
                    POISONED[which].store(second, Ordering::Relaxed);
                }
            }
            Event::Sign(sign) => self.signs.lock().unwrap().push(sign),
            _ => {}
        }
    }
}

fn config(sets: &[&str]) -> Config {
    let mut all = vec![
        "net.filters=4",
        "net.blocks=1",
        "search.simulations=8",
        "selfplay.bootstrap_simulations=8",
        "train.generations=3",
        "train.batch=16",
        "arena.games=0",
        "arena.final_games=0",
        "arena.ladder_games=0",
    ];
    all.extend(sets);
    let games = [format!("selfplay.games={GAMES}"), format!("selfplay.bootstrap_games={GAMES}")];
    let all: Vec<String> = all.iter().map(|set| set.to_string()).chain(games).collect();
    Config::parse_kept("test", "game.id = 'tic-tac-toe'", &all).unwrap()
}

fn train(which: Option<usize>, sets: &[&str], run: &Path) -> Result<Summary> {
    let plain = Rules::<TicTacToe>::new(&GameOptions::default()).unwrap();
    let wrong = match which {
        Some(0) => Wrong { encode: Some(encode::<0>), ..Wrong::default() },
        Some(_) => Wrong { encode: Some(encode::<1>), ..Wrong::default() },
        None => Wrong::default(),
    };
    let rules = Rules {
        game: Faulty { game: plain.game, wrong },
        identity: plain.identity,
        variants: plain.variants,
        shipped: plain.shipped,
    };
    run::train(&rules.opened(), &config(sets), run, &Poisoner { which, ..Poisoner::default() })
}

/// The weights of a run's last checkpoint.
fn trained(run: &Path) -> Vec<u8> {
    std::fs::read(checkpoint::latest(run).unwrap().unwrap().path.join("weights.safetensors")).unwrap()
}

#[test]
fn a_run_that_meets_such_a_number_keeps_its_last_checkpoint_and_the_batch() {
    let unbroken = tempfile::tempdir().unwrap();
    train(None, &[], &unbroken.path().join("run")).unwrap();
    for (which, said, bad) in [
        (0, ["the batch has a number that is not finite", "records RUN verify"], true),
        (1, ["the losses are not finite", "lower train.learning_rate"], false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let error = train(Some(which), &[], &run).unwrap_err();
        let text = error.to_string();
        assert_eq!(error.exit_code(), 1);
        let batch: Vec<_> = std::fs::read_dir(&run)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| Refused::is(path))
            .collect();
        let [batch] = batch.as_slice() else { panic!("{batch:?}") };
        for part in said.iter().chain(&["generation 2 was refused", &batch.display().to_string()]) {
            assert!(text.contains(part), "{part}: {text}");
        }
        let (about, parts) = Refused::read(batch).unwrap();
        assert_eq!((about.generation, about.rows), (2, 16));
        assert!(text.contains(&format!("training step {} of", about.step + 1)), "{text}");
        let planes = parts.iter().find(|part| part.name == "planes").unwrap();
        assert_eq!((planes.sizes.as_slice(), planes.bad > 0), ([16, 2, 3, 3].as_slice(), bad));
        assert_eq!(checkpoint::latest(&run).unwrap().unwrap().manifest.generation, 1);
        // when the game is repaired, the run continues as if nothing had happened
        POISONED[which].store(false, Ordering::Relaxed);
        train(None, &[], &run).unwrap();
        assert_eq!(trained(&run), trained(&unbroken.path().join("run")));
    }
}

/// The lines of a kind in a run's metrics.
fn lines(run: &Path, kind: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(run.join(METRICS)).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["kind"] == kind).collect()
}

#[test]
fn every_generation_says_how_well_it_learns() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    train(None, &["replay.held_out=0.2"], &run).unwrap();
    let played = lines(&run, "selfplay");
    let health: Vec<Health> =
        lines(&run, "health").into_iter().map(|line| serde_json::from_value(line).unwrap()).collect();
    assert_eq!(health.len(), 3);
    for (health, played) in health.iter().zip(&played) {
        let number = |key: &str| played[key].as_f64().unwrap();
        // an untrained network predicts nothing
        assert_eq!(health.fresh.is_some(), health.generation > 1);
        assert_eq!(health.seen.positions as f64, number("window"));
        let held_out = health.held_out.unwrap();
        assert!(held_out.positions > 0 && held_out.positions < health.seen.positions);
        for quality in health.fresh.iter().chain([&health.seen, &held_out]) {
            assert!(quality.policy_floor <= quality.policy_loss && quality.policy_floor > 0.0, "{quality:?}");
            assert!(quality.value_loss > 0.0 && quality.value_constant <= 3f64.ln() + 1e-9, "{quality:?}");
            assert!((0.0..=1.0).contains(&quality.brier) && (0.0..=1.0).contains(&quality.calibration));
        }
        assert_eq!(health.surprise.is_some(), health.fresh.is_some());
        // there are far fewer positions than are played
        assert!(health.duplicates > 0.1 && health.duplicates < 1.0, "{}", health.duplicates);
        assert_eq!(health.length, number("plies") / number("games"));
        assert_eq!(health.first_score, (number("first") + number("draw") / 2.0) / number("games"));
        assert_eq!(health.draws, number("draw") / number("games"));
        assert_eq!(health.endings.values().sum::<usize>(), GAMES);
        let full = health.endings.get("a full board").copied().unwrap_or(0);
        assert!(full >= played["draw"].as_u64().unwrap() as usize, "{health:?}");
    }
    // about a fifth of the games is not trained on
    let [positions, plies] = ["positions", "plies"].map(|key| played[0][key].as_f64().unwrap());
    assert!((0.6..0.95).contains(&(positions / plies)), "{positions} of {plies}");
}

#[test]
fn a_killed_run_with_games_held_out_goes_on_to_the_same_weights_and_numbers() {
    // the window has about one generation; the oldest held-out game that is read back must be one of the window's games
    for share in [0.1, 0.3] {
        resumes_with_held_out(share);
    }
}

fn resumes_with_held_out(share: f32) {
    let sets = [&*format!("replay.held_out={share}"), "replay.window=150"];
    let folder = tempfile::tempdir().unwrap();
    let [whole, cut] = ["whole", "cut"].map(|name| folder.path().join(name));
    train(None, &sets, &whole).unwrap();
    train(None, &sets, &cut).unwrap();
    // as if the run had been killed in generation 3
    std::fs::remove_dir_all(cut.join("checkpoints/generation-0003")).unwrap();
    train(None, &sets, &cut).unwrap();
    assert_eq!(trained(&cut), trained(&whole));
    let same = |run: &Path| -> Vec<Value> {
        let mut lines = lines(run, "health");
        let clock = ["seconds", "cpu_seconds", "time"];
        lines.iter_mut().for_each(|line| clock.iter().for_each(|key| line[key] = Value::Null));
        lines
    };
    assert_eq!(same(&cut), same(&whole));
}
