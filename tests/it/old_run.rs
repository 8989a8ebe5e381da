//! Files that version 0.1 wrote, read by the current program.
//!
//! `data/run-0.1` contains `settings.toml`, the run folder that `petteia train` made from it, and two exports of that
//! run. It is never made again: every later version must pass this test with the same files. Changes that a later
//! version might have written are planted in copies of it. The run has a gate. Gates have been removed, but the run
//! can still be read, and it can be resumed in a copy whose settings say that the gate was off.

use std::fs;
use std::path::Path;

use crate::support::command::{self, fails, json_lines, out, petteia, succeeds};
use crate::support::runs::{copy_folder, files};
use petteia::checkpoint::{self, Checkpoint};
use petteia::config::{CONFIG_FORMAT, Config};
use petteia::storage;
use serde_json::Value;
use tempfile::TempDir;

const SETTINGS: &str = "tests/data/run-0.1/settings.toml";
const RUN: &str = "tests/data/run-0.1/run";
const SAFETENSORS: &str = "tests/data/run-0.1/exported.safetensors";
const ONNX: &str = "tests/data/run-0.1/exported.onnx";
/// The SHA-256 of the tensors of generation 1, which were exported.
const TENSORS: &str = "b2a9490df36a910ddb3de297fd937ba89ccc5f66dc4aa1e9a2c6a20bd7ea5944";
/// The prior of a1 at the start of the game, by generation.
const A1: [f64; 2] = [0.109_540, 0.107_545];

/// A copy of the run for training: its gate is off.
fn copy() -> (TempDir, String) {
    let (folder, run) = gated_copy();
    let change =
        |config: &mut toml::Table| drop(section(config, "arena").insert("gate".into(), "none".into()));
    plant_in_checkpoints(Path::new(&run), &change);
    plant_in_settings(Path::new(&run), &change);
    (folder, run)
}

/// A copy of the run as it is.
fn gated_copy() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    copy_folder(Path::new(RUN), &run);
    (folder, run.display().to_string())
}

/// A file with the settings that a [`copy`] was made with.
fn settings_in(folder: &TempDir) -> String {
    let path = folder.path().join("settings.toml");
    fs::write(&path, ungated(&fs::read_to_string(SETTINGS).unwrap())).unwrap();
    path.display().to_string()
}

fn ungated(settings: &str) -> String {
    settings.replace("gate = \"sprt\"", "gate = \"none\"")
}

#[test]
fn it_is_whole_and_says_what_it_is() {
    let generation = |number| format!("{RUN}/checkpoints/generation-{number:04}");
    let shard = format!("{RUN}/selfplay/generation-0002/shard-0001.jsonl.zst");
    let folder = tempfile::tempdir().unwrap();
    let settings = settings_in(&folder);
    for path in [RUN, SAFETENSORS, ONNX, &settings, &generation(1), &generation(2), &shard] {
        let report = &json_lines(&succeeds(&["inspect", path, "--json"], ""))[0];
        assert_eq!(report["game"], "tic-tac-toe", "{path}: {report}");
        assert_eq!(report["problems"].as_array().map(Vec::len), Some(0), "{path}: {report}");
    }
    let run = &json_lines(&succeeds(&["inspect", RUN, "--json"], ""))[0];
    assert_eq!((run["generations"].as_u64(), run["games"].as_u64()), (Some(2), Some(16)), "{run}");
    assert_eq!((run["step"].as_u64(), run["network"]["filters"].as_u64()), (Some(23), Some(4)), "{run}");
    let exported = &json_lines(&succeeds(&["inspect", SAFETENSORS, "--json"], ""))[0];
    assert_eq!(exported["files"]["tensors"], TENSORS);
}

#[test]
fn its_records_are_read() {
    let list = json_lines(&succeeds(&["records", RUN, "list", "--json"], ""));
    assert_eq!(list.len(), 4);
    assert!(list.iter().all(|shard| shard["games"] == 4 && shard["state"] == "checked"), "{list:?}");
    let shown = out(&succeeds(&["records", RUN, "show", "--generation", "2", "--game", "5"], ""));
    assert!(shown.starts_with("tic-tac-toe, generation 2, game 5, evaluated by generation 1: "), "{shown}");
    let verified = out(&succeeds(&["records", RUN, "verify"], ""));
    assert!(verified.contains("4 of 4 shards intact, with 16 games and 107 plies"), "{verified}");
    let folder = tempfile::tempdir().unwrap();
    for format in ["jsonl", "csv", "text", "positions", "npz"] {
        let target = folder.path().join(format).display().to_string();
        succeeds(&["records", RUN, "convert", "--format", format, "--out", &target], "");
        assert!(fs::metadata(&target).unwrap().len() > 1000, "{format}");
    }
}

#[test]
fn it_plays() {
    for agent in [RUN, SAFETENSORS, &format!("{RUN}/checkpoints/generation-0002")] {
        let match_ = ["arena", "tic-tac-toe", &format!("{agent}:4"), "random", "--games", "4", "--json"];
        assert_eq!(json_lines(&succeeds(&match_, ""))[0]["games"], 4);
        let analysis = &json_lines(&succeeds(&["analyze", "tic-tac-toe", "--agent", agent], "startpos\n"))[0];
        // the networks have learned almost nothing yet, but their outputs differ
        let expected = if agent == SAFETENSORS { A1[0] } else { A1[1] };
        let found = analysis["priors"]["a1"].as_f64().unwrap();
        assert!((found - expected).abs() < 1e-5, "{agent}: {found}");
        let played = succeeds(&["play", "tic-tac-toe", "--opponent", agent, "--side", "second"], "quit\n");
        assert!(out(&played).contains("You are O."), "{}", out(&played));
        let engine = ["engine", "tic-tac-toe", "--agent", agent, "--protocol", "gtp"];
        assert!(out(&succeeds(&engine, "genmove x\nquit\n")).starts_with("= "));
    }
}

#[test]
fn it_is_exported() {
    let folder = tempfile::tempdir().unwrap();
    let target = |name: &str| folder.path().join(name).display().to_string();
    for (source, made) in [(RUN, (2, 23)), (SAFETENSORS, (1, 13))] {
        for (format, name) in [("safetensors", "a.safetensors"), ("onnx", "a.onnx"), ("bot", "bot")] {
            let file = target(name);
            let _ = fs::remove_file(&file);
            succeeds(&["export", source, "--format", format, "--out", &file], "");
            let report = &json_lines(&succeeds(&["inspect", &file, "--json"], ""))[0];
            let number = |key: &str| report[key].to_string().trim_matches('"').parse::<usize>().unwrap();
            assert_eq!((number("generation"), number("step")), made, "{source} as {format}");
        }
    }
    let about = command::run(target("bot"), &["--about"], "");
    assert!(out(&about).contains("made by:     petteia 0.1.0"), "{}", out(&about));
    // the weights are unchanged, whatever the header says now
    let exported = Checkpoint::find(Path::new(&target("a.safetensors"))).unwrap();
    assert_eq!(exported.tensors_sha256(), TENSORS);
    exported.weights().unwrap();
}

#[test]
fn it_lives_on() {
    let (folder, run) = copy();
    let said = succeeds(&["train", "--run", &run, "--generations", "3"], "");
    assert!(out(&said).contains("3 generations"), "{}", out(&said));
    let (fork, next) = (folder.path().join("fork"), folder.path().join("next"));
    let [fork, next] = [&fork, &next].map(|path| path.display().to_string());
    let (_folder, source) = copy();
    succeeds(&["train", "--fork", &source, "--at", "1", "--run", &fork], "");
    succeeds(&["train", "--from", &source, "--with-window", "--run", &next, "--generations", "1"], "");
    for run in [&run, &fork, &next] {
        succeeds(&["inspect", run], "");
        succeeds(&["records", run, "verify"], "");
    }
    let report = &json_lines(&succeeds(&["inspect", &next, "--json"], ""))[0];
    assert!(report["lineage"][0].as_str().unwrap().contains("generation 2"), "the newest: {report}");
}

#[test]
fn it_does_not_live_on_with_its_gate() {
    let (folder, run) = gated_copy();
    let next = folder.path().join("next").display().to_string();
    let before = files(Path::new(&run));
    let gone = ["there is no gate anymore", "resume it with the version that started it"];
    fails(&["train", SETTINGS, "--run", &run], 2, &gone);
    fails(&["train", "--run", &run, "--generations", "3"], 2, &gone);
    fails(&["train", "--fork", &run, "--at", "1", "--run", &next], 2, &gone);
    fails(&["train", "--from", &run, "--run", &next], 2, &gone);
    assert!(files(Path::new(&run)) == before, "nothing is written");
    // the run cannot be resumed either if the gate is off in its config alone
    plant_in_settings(Path::new(&run), &|config| drop(section(config, "arena").remove("gate")));
    let settings = settings_in(&folder);
    fails(&["train", &settings, "--run", &run], 2, &gone);
    // the run's weights can begin another run
    let text = fs::read_to_string(&settings).unwrap().replace("bootstrap_games = 8", "bootstrap_games = 0");
    fs::write(&settings, format!("config_format = 1\n{text}")).unwrap();
    succeeds(&["train", &settings, "--from", &run, "--run", &next], "");
}

#[test]
fn the_finished_run_is_recognized() {
    let (folder, run) = copy();
    let settings = settings_in(&folder);
    let before = files(Path::new(&run));
    let output = succeeds(&["train", &settings, "--run", &run], "");
    assert!(out(&output).contains("2 generations, 23 steps"), "{}", out(&output));
    assert!(files(Path::new(&run)) == before, "a finished run is only read");
    fails(
        &["train", &settings, "--run", &run, "--set", "train.generations=3"],
        2,
        &[
            "exists with different settings (there / requested)",
            "train.generations: 2 / 3",
            "or another folder with --run DIR",
            "--generations 3 (instead of --set train.generations=3) extends it",
        ],
    );
}

#[test]
fn the_unfinished_run_is_resumed() {
    let (folder, run) = copy();
    let second = checkpoint::path_of(Path::new(&run), 2);
    fs::remove_dir_all(&second).unwrap();
    let output = petteia(&["train", &settings_in(&folder), "--run", &run], "");
    assert!(
        output.status.success() && out(&output).contains("2 generations, 23 steps"),
        "{}",
        command::err(&output)
    );
    let resumed = Checkpoint::open_folder(&second).unwrap();
    assert_eq!(resumed.manifest.step, 23);
    succeeds(&["inspect", &run], "");
}

#[test]
fn its_settings_mean_what_they_meant() {
    let text = |path: &str| ungated(&fs::read_to_string(path).unwrap());
    let resolved = Config::parse_kept(RUN, &text(&format!("{RUN}/config.toml")), &[]).unwrap();
    let given = resolved.parse_over(SETTINGS, &text(SETTINGS), &[]).unwrap();
    assert_eq!(given.differences(&resolved), Vec::<[String; 3]>::new());
    // defaults that were changed on purpose since then apply to new runs
    let fresh = Config::parse_kept(SETTINGS, &text(SETTINGS), &[]).unwrap();
    let changed: Vec<String> = fresh.differences(&resolved).into_iter().map(|[key, ..]| key).collect();
    assert_eq!(changed, ["train.learning_rate", "train.weight_decay"]);
    // a setting that is named explicitly counts
    let other = resolved.parse_over(SETTINGS, &text(SETTINGS), &["train.weight_decay=0.2".into()]).unwrap();
    assert_eq!(other.differences(&resolved).len(), 1);
}

/// Splits a safetensors file into header and tensors.
fn parts(bytes: &[u8]) -> (Value, &[u8]) {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let (header, tensors) = bytes[8..].split_at(length);
    (serde_json::from_slice(header).unwrap(), tensors)
}

/// Changes the settings of a manifest.
fn plant_in(manifest: &mut Value, change: &dyn Fn(&mut toml::Table)) {
    let mut config: toml::Table = manifest["config"].as_str().unwrap().parse().unwrap();
    change(&mut config);
    manifest["config"] = config.to_string().into();
    if let Some(net) = config.get("net") {
        manifest["net"] = serde_json::to_value(net).unwrap();
    }
}

/// Changes the settings in every manifest of a run, with headers, checksums and seals as the program would write
/// them.
fn plant_in_checkpoints(run: &Path, change: &dyn Fn(&mut toml::Table)) {
    for generation in 1..=2 {
        let folder = checkpoint::path_of(run, generation);
        let path = folder.join("weights.safetensors");
        let bytes = fs::read(&path).unwrap();
        let (mut header, tensors) = parts(&bytes);
        let about = &mut header["__metadata__"]["petteia"];
        let mut manifest: Value = serde_json::from_str(about.as_str().unwrap()).unwrap();
        plant_in(&mut manifest, change);
        *about = manifest.to_string().into();
        let header = header.to_string();
        let weights = [&(header.len() as u64).to_le_bytes(), header.as_bytes(), tensors].concat();
        fs::write(&path, &weights).unwrap();
        let path = folder.join("manifest.json");
        let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        manifest.as_object_mut().unwrap().remove("sha256");
        plant_in(&mut manifest, change);
        manifest["files"]["weights.safetensors"] = storage::sha256(&weights).into();
        fs::write(&path, storage::sealed(&manifest)).unwrap();
    }
}

/// Changes the settings in the run's folder.
fn plant_in_settings(run: &Path, change: &dyn Fn(&mut toml::Table)) {
    let path = run.join("config.toml");
    let mut config: toml::Table = fs::read_to_string(&path).unwrap().parse().unwrap();
    change(&mut config);
    fs::write(path, config.to_string()).unwrap();
}

/// Asserts that everything that needs only the game, the network and the search works.
fn is_used(run: &str, name: &str) {
    let path = |name: &str| Path::new(run).parent().unwrap().join(name).display().to_string();
    let files = ["a.safetensors", "a.onnx", "a-bot"].map(path);
    for (file, format) in files.iter().zip(["safetensors", "onnx", "bot"]) {
        succeeds(&["export", run, "--format", format, "--out", file], "");
        succeeds(&["inspect", file], "");
    }
    for agent in [run, &files[0], &files[2]] {
        let arena = ["arena", "tic-tac-toe", &format!("{agent}:4"), "random", "--games", "2", "--json"];
        assert_eq!(json_lines(&succeeds(&arena, ""))[0]["games"], 2, "{name}");
        let analysis = &json_lines(&succeeds(&["analyze", "tic-tac-toe", "--agent", agent], "startpos\n"))[0];
        assert!((analysis["priors"]["a1"].as_f64().unwrap() - A1[1]).abs() < 1e-5, "{name}: {analysis}");
        succeeds(&["play", "tic-tac-toe", "--opponent", agent, "--side", "second"], "quit\n");
    }
    for arguments in [&["analyze"][..], &["--gtp"], &["--about"]] {
        let output = command::run(&files[2], arguments, "");
        assert!(output.status.success(), "{name}: {arguments:?}: {}", command::err(&output));
    }
    succeeds(&["inspect", &format!("{run}/checkpoints/generation-0002")], "");
    for what in ["list", "show", "verify"] {
        succeeds(&["records", run, what], "");
    }
}

type Change = fn(&mut toml::Table);

fn section<'a>(config: &'a mut toml::Table, name: &str) -> &'a mut toml::Table {
    config[name].as_table_mut().unwrap()
}

/// Changes that other versions might make: a name for the change, which a refusal to resume must contain.
const CHANGES: [(&str, Change); 7] = [
    ("future_key", |config| drop(config.insert("future_key".into(), 1.into()))),
    ("future_key", |config| drop(section(config, "arena").insert("future_key".into(), 1.into()))),
    ("future_key", |config| drop(section(config, "net").insert("future_key".into(), "x".into()))),
    ("later", |config| drop(config.insert("later".into(), toml::Table::new().into()))),
    ("replay.window", |config| drop(config.remove("replay"))),
    ("temperature", |config| drop(section(config, "selfplay").insert("temperature".into(), 99.0.into()))),
    ("newer version", |config| drop(config.insert("config_format".into(), (CONFIG_FORMAT + 1).into()))),
];

#[test]
fn a_run_of_another_version_is_used_but_not_resumed() {
    for (name, change) in CHANGES {
        let (folder, run) = copy();
        plant_in_checkpoints(Path::new(&run), &change);
        plant_in_settings(Path::new(&run), &change);
        is_used(&run, name);
        let inspected = petteia(&["inspect", &run, "--json"], "");
        // a value that is not permitted is a problem of the run, but an unknown setting is not
        assert_eq!(inspected.status.code(), Some(i32::from(name == "temperature")), "{name}");
        let report = &json_lines(&inspected)[0];
        let named = report["settings_of_another_version"].to_string();
        // a missing setting has its default, which is not worth mentioning
        assert!(
            named.contains(name) || name == "replay.window" || named.contains("config_format"),
            "{report}"
        );
        let before = files(Path::new(&run));
        fails(&["train", &settings_in(&folder), "--run", &run], 2, &[name]);
        assert!(files(Path::new(&run)) == before, "nothing is written");
    }
}

#[test]
fn a_checkpoint_of_another_version_in_a_run_of_this_one_is_not_resumed() {
    for (name, change) in CHANGES {
        let (folder, run) = copy();
        plant_in_checkpoints(Path::new(&run), &change);
        let output = petteia(&["train", &settings_in(&folder), "--run", &run], "");
        assert!(
            !output.status.success() && command::err(&output).contains(name),
            "{name}: {}",
            command::err(&output)
        );
    }
}

#[test]
fn a_network_of_impossible_size_is_refused() {
    let changes: [(&str, Change); 3] = [
        ("filters", |config| drop(section(config, "net").insert("filters".into(), 513.into()))),
        ("blocks", |config| drop(section(config, "net").remove("blocks"))),
        ("value_hidden", |config| drop(section(config, "net").insert("value_hidden".into(), (-1).into()))),
    ];
    for (name, change) in changes {
        let (_folder, run) = copy();
        plant_in_checkpoints(Path::new(&run), &change);
        fails(&["arena", "tic-tac-toe", &run, "random", "--games", "2"], 1, &[name, "manifest.json"]);
    }
}
