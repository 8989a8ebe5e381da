//! The whole pipeline on configs/smoke.toml: it runs, resumes, and writes the same bytes whatever happens.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use petteia::arena::contestant::Contestant;
use petteia::arena::spec::AgentSpec;
use petteia::checkpoint::Checkpoint;
use petteia::config::{Config, Precision};
use petteia::error::Error;
use petteia::export::{Format, export};
use petteia::game::{Game, GameOptions, Rules};
use petteia::games::connect_four::ConnectFour;
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::net::infer::CpuNet;
use petteia::random::{Purpose, stream};
use petteia::replay::store;
use petteia::run::{Event, Observer, Summary, settings_of, train};

use crate::support::faulty::{Faulty, Wrong};
use crate::support::runs;

fn smoke(sets: &[&str]) -> Config {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/smoke.toml");
    let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
    Config::parse("configs/smoke.toml", &fs::read_to_string(path).unwrap(), &sets).unwrap()
}

fn rules() -> Rules<TicTacToe> {
    Rules::new(&GameOptions::default()).unwrap()
}

/// Records warnings, and stops the run after a number of events.
#[derive(Default)]
struct Watcher {
    accepts_missing: bool,
    events: AtomicUsize,
    stop_after: Option<usize>,
    warnings: Mutex<Vec<String>>,
    resumed: Mutex<Vec<(usize, usize)>>,
}

impl Observer for Watcher {
    fn event(&self, event: Event) {
        self.events.fetch_add(1, Ordering::SeqCst);
        match event {
            Event::Warning(text) => self.warnings.lock().unwrap().push(text),
            Event::Resumed { done, positions, .. } => self.resumed.lock().unwrap().push((done, positions)),
            _ => {}
        }
    }

    fn accepts_missing(&self) -> bool {
        self.accepts_missing
    }

    fn interrupted(&self) -> bool {
        self.stop_after.is_some_and(|limit| self.events.load(Ordering::SeqCst) >= limit)
    }
}

fn run(config: &Config, folder: &Path, watcher: &Watcher) -> Result<Summary, Error> {
    train(&rules().opened(), config, folder, watcher)
}

/// The weights of a run's checkpoints. (burn writes an optimizer's state in no fixed order.)
fn weights(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = files(folder, "checkpoints");
    found.retain(|path, _| path.ends_with("weights.safetensors"));
    found
}

/// Every file of a part of a run, with its bytes.
fn files(folder: &Path, below: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = runs::files(folder);
    found.retain(|path, _| path.starts_with(below));
    found
}

fn lines(folder: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_run_writes_what_it_should_and_the_loss_falls() {
    let folder = tempfile::tempdir().unwrap();
    let run_folder = folder.path().join("run");
    let config = smoke(&["train.samples_per_position=40"]);
    let summary = run(&config, &run_folder, &Watcher::default()).unwrap();
    assert_eq!(summary.generations, 3);
    let (opponent, result) = summary.evaluation.unwrap();
    assert_eq!((opponent.as_str(), result.games), ("random", 20));
    assert_eq!(
        files(&run_folder, "selfplay").len(),
        3 * 2 * 2,
        "two shards and their checksums a generation"
    );
    assert_eq!(files(&run_folder, "checkpoints").len(), 3 * 3);
    // each generation has its own targets, so losses are compared only within the first generation
    let losses: Vec<f64> = lines(&run_folder)
        .iter()
        .filter(|line| line["kind"] == "train" && line["generation"] == 1)
        .map(|line| {
            let excess = line["policy_loss"].as_f64().unwrap() - line["policy_floor"].as_f64().unwrap();
            excess + line["value_loss"].as_f64().unwrap()
        })
        .collect();
    let (first, last) = (losses[0], *losses.last().unwrap());
    assert!(last < first * 0.8, "the loss goes from {first} to {last}");
    let evaluations = lines(&run_folder).iter().filter(|line| line["kind"] == "evaluation").count();
    assert_eq!(evaluations, 3);
}

#[test]
fn one_thread_and_two_write_the_same_bytes() {
    same_bytes(&[]);
    same_bytes(&["search.root=gumbel", "selfplay.fast_simulations=4", "selfplay.cache=1"]);
    same_bytes(&["search.forced_playouts=2", "selfplay.surprise_weight=0.5", "selfplay.fast_simulations=4"]);
}

fn same_bytes(sets: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let config = smoke(&[&["train.generations=2", "selfplay.batch=8"], sets].concat());
    let mut written = Vec::new();
    for threads in [1, 2] {
        let path = folder.path().join(threads.to_string());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&config, &path, &Watcher::default())).unwrap();
        written.push((files(&path, "selfplay"), weights(&path)));
    }
    assert_eq!(written[0].0.len(), 2 * 4 * 2);
    assert!(written[0] == written[1], "shards or weights differ with {sets:?}");
}

/// A game does not depend on the other games in its batches.
#[test]
fn batches_of_one_and_of_many_play_the_same_games() {
    let folder = tempfile::tempdir().unwrap();
    let rules = rules();
    let mut played = Vec::new();
    for batch in [1, 32] {
        let path = folder.path().join(batch.to_string());
        run(&smoke(&["train.generations=2", &format!("selfplay.batch={batch}")]), &path, &Watcher::default())
            .unwrap();
        let shards = store::list(&path).unwrap();
        assert_eq!(shards.len(), 2 * 32 / batch);
        played.push(
            shards
                .iter()
                .flat_map(|(_, shard)| store::read_shard(shard, &rules, None).unwrap().records)
                .collect::<Vec<_>>(),
        );
    }
    assert!(played[0] == played[1], "the games differ");
}

#[test]
fn an_interrupted_run_ends_with_the_same_bytes() {
    same_bytes_after_an_interruption(&[]);
    same_bytes_after_an_interruption(&["net.value_pooling=true", "net.block_pooling=1"]);
}

fn same_bytes_after_an_interruption(sets: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let config = smoke(sets);
    let whole = folder.path().join("whole");
    let watcher = Watcher::default();
    run(&config, &whole, &watcher).unwrap();
    let all = watcher.events.load(Ordering::SeqCst);
    let written = |folder: &Path| (files(folder, "selfplay"), weights(folder));
    let expected = written(&whole);
    for part in 1..8 {
        let path = folder.path().join(part.to_string());
        let stopper = Watcher { stop_after: Some(all * part / 8), ..Watcher::default() };
        let stopped = run(&config, &path, &stopper);
        assert!(matches!(stopped, Err(Error::Interrupted)), "part {part}: {stopped:?}");
        let watcher = Watcher::default();
        run(&config, &path, &watcher).unwrap();
        assert!(written(&path) == expected, "part {part}: the bytes differ from the uninterrupted run's");
        assert_eq!(kinds(&path), kinds(&whole), "part {part}");
    }
}

/// The kind and the generation of every line of the metrics.
fn kinds(folder: &Path) -> Vec<(serde_json::Value, serde_json::Value)> {
    lines(folder).iter().map(|line| (line["kind"].clone(), line["generation"].clone())).collect()
}

#[test]
fn a_finished_run_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let config = smoke(&["train.generations=1"]);
    run(&config, folder.path(), &Watcher::default()).unwrap();
    let before = files(folder.path(), "");
    let again = run(&config, folder.path(), &Watcher::default()).unwrap();
    assert_eq!(again.evaluation.unwrap().1.games, 20);
    assert!(files(folder.path(), "") == before);
}

#[test]
fn the_window_after_a_restart_is_the_window_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let config = smoke(&["replay.window=400"]);
    run(&config, folder.path(), &Watcher::default()).unwrap();
    let window =
        lines(folder.path()).iter().rev().find(|line| line["kind"] == "selfplay").unwrap()["window"].clone();
    let watcher = Watcher::default();
    run(&config, folder.path(), &watcher).unwrap();
    assert_eq!(*watcher.resumed.lock().unwrap(), [(3, window.as_u64().unwrap() as usize)]);
    assert!(window.as_u64().unwrap() >= 400);
}

#[test]
fn damaged_shards_are_named_and_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    run(&smoke(&[]), folder.path(), &Watcher::default()).unwrap();
    // a flipped byte in one shard, a result that contradicts the rules in the other
    let flipped = store::shard_path(folder.path(), 3, 0);
    let mut bytes = fs::read(&flipped).unwrap();
    bytes[20] ^= 1;
    fs::write(&flipped, bytes).unwrap();
    let lying = store::shard_path(folder.path(), 3, 1);
    let rules = rules();
    let mut records = store::read_shard(&lying, &rules, None).unwrap().records;
    records[2].outcome = if records[2].outcome == "draw" { "first".into() } else { "draw".into() };
    store::write_shard(&lying, &records, None).unwrap();
    let wrong = [
        "shard-0000.jsonl.zst: the SHA-256 differs",
        "shard-0001.jsonl.zst: line 3: the record says that the outcome is",
    ];
    let refused = run(&smoke(&[]), folder.path(), &Watcher::default()).unwrap_err().to_string();
    assert!(wrong.iter().all(|part| refused.contains(part)), "{refused}");
    // both shards are set aside at once
    let bad = |path: &Path| path.with_extension("zst.bad");
    assert!(bad(&flipped).exists() && !flipped.exists() && bad(&lying).exists() && !lying.exists());
    // another attempt is refused, too
    let refused = run(&smoke(&[]), folder.path(), &Watcher::default()).unwrap_err().to_string();
    assert!(refused.contains("shard-0000.jsonl.zst: it was set aside (16 games"), "{refused}");
    let watcher = Watcher { accepts_missing: true, ..Watcher::default() };
    run(&smoke(&[]), folder.path(), &watcher).unwrap();
    let warnings = watcher.warnings.lock().unwrap().join("\n");
    for part in
        ["shard-0001.jsonl.zst: it was set aside (16 games", "shard-0000.jsonl.zst.bad was set aside before"]
    {
        assert!(warnings.contains(part), "no `{part}` in {warnings}");
    }
}

#[test]
fn other_settings_are_refused_with_the_difference() {
    let folder = tempfile::tempdir().unwrap();
    run(&smoke(&["train.generations=1"]), folder.path(), &Watcher::default()).unwrap();
    let before = files(folder.path(), "");
    let error = run(&smoke(&["train.generations=1", "search.cpuct=2"]), folder.path(), &Watcher::default())
        .unwrap_err();
    assert_eq!(error.exit_code(), 2);
    let text = error.to_string();
    assert!(text.contains("search.cpuct: 1.5 / 2.0") && text.contains("or another folder"), "{text}");
    assert!(files(folder.path(), "") == before, "nothing is overwritten");
}

#[test]
fn a_run_killed_before_its_settings_were_written_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("lock"), "").unwrap();
    fs::write(folder.path().join(".tmp-config.toml"), "seed").unwrap();
    run(&smoke(&["train.generations=1"]), folder.path(), &Watcher::default()).unwrap();
    assert!(!folder.path().join(".tmp-config.toml").exists());
}

/// After a damaged checkpoint is renamed, the run continues from the one before it.
#[test]
fn a_renamed_checkpoint_is_out_of_the_way() {
    let folder = tempfile::tempdir().unwrap();
    run(&smoke(&[]), folder.path(), &Watcher::default()).unwrap();
    let checkpoints = folder.path().join("checkpoints");
    let weights = fs::read(checkpoints.join("generation-0003/weights.safetensors")).unwrap();
    fs::write(checkpoints.join("generation-0003/weights.safetensors"), "junk").unwrap();
    let metrics = fs::read(folder.path().join("metrics.jsonl")).unwrap();
    let error = run(&smoke(&[]), folder.path(), &Watcher::default()).unwrap_err().to_string();
    assert!(error.contains("SHA-256"), "{error}");
    assert_eq!(
        fs::read(folder.path().join("metrics.jsonl")).unwrap(),
        metrics,
        "a refused run is not touched"
    );
    fs::rename(checkpoints.join("generation-0003"), checkpoints.join("generation-0003.bad")).unwrap();
    run(&smoke(&[]), folder.path(), &Watcher::default()).unwrap();
    assert!(fs::read(checkpoints.join("generation-0003/weights.safetensors")).unwrap() == weights);
}

#[test]
fn a_shard_of_another_format_is_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    run(&smoke(&[]), folder.path(), &Watcher::default()).unwrap();
    let path = store::shard_path(folder.path(), 3, 0);
    let rules = rules();
    let mut records = store::read_shard(&path, &rules, None).unwrap().records;
    records[0].format = 99;
    store::write_shard(&path, &records, None).unwrap();
    let error = run(&smoke(&[]), folder.path(), &Watcher::default()).unwrap_err();
    assert!(error.to_string().contains("record format 99, but this program reads up to 3"), "{error}");
    assert!(path.exists(), "it is left where it is");
}

#[test]
fn a_folder_that_is_no_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.txt"), "mine").unwrap();
    let error = run(&smoke(&[]), folder.path(), &Watcher::default()).unwrap_err().to_string();
    assert!(error.contains("is not a run folder"), "{error}");
    assert_eq!(files(folder.path(), "").len(), 1);
}

#[test]
fn a_run_of_another_game_is_refused_as_an_agent() {
    let folder = tempfile::tempdir().unwrap();
    run(&smoke(&["train.generations=1"]), folder.path(), &Watcher::default()).unwrap();
    let other = Rules::<ConnectFour>::new(&GameOptions::default()).unwrap();
    let spec = AgentSpec::parse(folder.path()).unwrap();
    let error = Contestant::new(&other, &spec).err().unwrap().to_string();
    assert!(error.contains("has game tic-tac-toe instead of connect-four"), "{error}");
    // another encoding is refused as well
    let mut rules = rules();
    rules.identity.encoding = 99;
    let error = Contestant::new(&rules, &spec).err().unwrap().to_string();
    assert!(error.contains("has encoding version 1 instead of 99"), "{error}");
}

/// `auto` is resolved at the start of a run, which stores the result.
#[test]
fn a_run_names_the_precision_that_it_measured() {
    let folder = tempfile::tempdir().unwrap();
    let sets = ["train.generations=1", "net.precision=auto"];
    let summary = run(&smoke(&sets), folder.path(), &Watcher::default()).unwrap();
    assert_eq!(summary.generations, 1);
    let named = settings_of(folder.path()).unwrap().net.precision;
    assert!(CpuNet::precisions().contains(&named), "{named}");
    // the same settings continue the run, whatever a new measurement would say
    run(&smoke(&sets), folder.path(), &Watcher::default()).unwrap();
    assert_eq!(settings_of(folder.path()).unwrap().net.precision, named);
    assert_eq!(Checkpoint::find(folder.path()).unwrap().manifest.net.precision, named);
}

#[test]
fn an_agent_says_which_precision_it_measured() {
    let folder = tempfile::tempdir().unwrap();
    run(&smoke(&["train.generations=1"]), folder.path(), &Watcher::default()).unwrap();
    let text = format!("{}:30", folder.path().display());
    let spec = AgentSpec::parse(format!("{text}:auto")).unwrap();
    assert_eq!(spec, AgentSpec::parse(&text).unwrap().at_full_speed());
    assert_eq!(spec.to_string(), format!("{text}:auto"));
    // an explicitly named precision is kept
    let f32 = AgentSpec::parse(format!("{text}:f32")).unwrap();
    assert_eq!(f32.clone().at_full_speed(), f32);
    assert_eq!(AgentSpec::Random.at_full_speed(), AgentSpec::Random);
    let rules = rules();
    let identity = Contestant::new(&rules, &spec).unwrap().identity().to_string();
    let says = |precision: &Precision| identity.starts_with(&format!("{text}:auto ({precision}), SHA-256"));
    assert!(CpuNet::precisions().iter().any(says), "{identity}");
}

#[test]
fn an_export_plays_like_its_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    run(&smoke(&["train.generations=1"]), &folder.path().join("run"), &Watcher::default()).unwrap();
    let file = folder.path().join("ttt.safetensors");
    let checkpoint = Checkpoint::find(&folder.path().join("run")).unwrap();
    export(&checkpoint, Format::Safetensors, &file).unwrap();
    let rules = rules();
    let analyze = |path: &Path| {
        let spec = AgentSpec::parse(format!("{}:30", path.display())).unwrap();
        let contestant = Contestant::new(&rules, &spec).unwrap();
        let analysis = contestant
            .search_agent(stream(1, Purpose::Agent, &[]))
            .unwrap()
            .analyze(&rules.game.initial())
            .unwrap();
        (analysis.action, analysis.value, analysis.visits)
    };
    assert_eq!(analyze(&file), analyze(&checkpoint.path));
    assert_eq!(Checkpoint::find(&file).unwrap().manifest.step, checkpoint.manifest.step);
}

#[test]
fn a_game_whose_rules_are_wrong_is_refused_before_anything_is_made() {
    let plain = rules();
    let wrong = Wrong {
        legal_actions: Some(|game: &TicTacToe, state, out| {
            game.legal_actions(state, out);
            out.reverse();
        }),
        ..Wrong::default()
    };
    let rules = Rules {
        game: Faulty { game: plain.game, wrong },
        identity: plain.identity,
        variants: plain.variants,
        shipped: plain.shipped,
    };
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("run");
    let error = train(&rules.opened(), &smoke(&[]), &place, &Watcher::default()).unwrap_err();
    let said =
        "tic-tac-toe cannot be trained, since its rules are wrong: the legal actions are not ascending";
    assert!(error.to_string().starts_with(said), "{error}");
    assert!(!place.exists());
}
