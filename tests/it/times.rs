//! The times that a run records: stamps and durations in its metrics, the event file for TensorBoard, and the log of
//! its messages.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::command::{err, fails, out, python, succeeds};
use crate::support::runs::{self, Finished, PLAIN, checkpoint, shard, text};

fn lines(run: &Path) -> Vec<Value> {
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    metrics.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn seconds_since_1970(time: &Value) -> f64 {
    let time = humantime::parse_rfc3339(time.as_str().unwrap()).unwrap();
    time.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64()
}

#[test]
fn metrics_say_when_and_how_long() {
    let run = PLAIN.run();
    let times: Vec<f64> = lines(&run).iter().map(|line| seconds_since_1970(&line["time"])).collect();
    assert!(times.is_sorted(), "{times:?}");
    for line in lines(&run) {
        assert!(line["time"].as_str().unwrap().ends_with('Z'), "UTC: {line}");
        for key in ["seconds", "cpu_seconds"] {
            assert!(line[key].as_f64().unwrap() >= 0.0, "{line}");
        }
        if line["kind"] == "selfplay" {
            assert!(line["window_seconds"].as_f64().unwrap() >= 0.0, "{line}");
            assert!(line["window_cpu_seconds"].as_f64().unwrap() >= 0.0, "{line}");
            assert_eq!(line["bootstrap"], line["generation"] == 1, "{line}");
        }
    }
    // a longer run, so that there are durations to report
    let longer = Finished::new(&["selfplay.bootstrap_games=400", "selfplay.bootstrap_simulations=300"]);
    let said = out(&succeeds(&["train", "--run", text(&longer.run())], ""));
    assert!(said.contains("time of all sessions: ") && said.contains("bootstrap "), "{said}");
    assert!(said.contains(" by the clock, ") && said.contains(" of CPU time"), "{said}");
    // playouts in 400 games keep a core busy, whatever else the machine does
    let playing = |line: &Value| line["cpu_seconds"].as_f64().filter(|_| line["bootstrap"] == true);
    let cpu = lines(&longer.run()).iter().find_map(playing).unwrap();
    let table = out(&succeeds(&["runs", text(&longer.run())], ""));
    assert!(table.contains("by the clock") && table.contains("CPU time"), "{table}");
    let row: Value =
        serde_json::from_str(&out(&succeeds(&["runs", text(&longer.run()), "--json"], ""))).unwrap();
    assert!(cpu > 0.0 && row["cpu_seconds"]["bootstrap"] == cpu, "{row}");
    assert!(row["cpu_seconds"]["training"].as_f64().unwrap() > 0.0, "{row}");
    // lines of an earlier version have no CPU time, and can be read
    let metrics = longer.run().join("metrics.jsonl");
    let older = lines(&longer.run()).into_iter().map(|mut line| {
        line.as_object_mut().unwrap().retain(|key, _| !key.contains("cpu_seconds"));
        format!("{line}\n")
    });
    fs::write(&metrics, older.collect::<String>()).unwrap();
    let table = out(&succeeds(&["runs", text(&longer.run())], ""));
    assert!(table.contains("unknown"), "{table}");
    let said = out(&succeeds(&["train", "--run", text(&longer.run())], ""));
    assert!(said.contains("time of all sessions: ") && !said.contains("of CPU time"), "{said}");
}

/// The scalars of the metrics as (step, value, time), in order.
fn expected(run: &Path) -> BTreeMap<String, Vec<(u64, f32, f64)>> {
    let mut tags: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in lines(run) {
        let step = line["step"].as_u64().or(line["generation"].as_u64()).unwrap();
        let time = seconds_since_1970(&line["time"]);
        for (key, value) in line.as_object().unwrap() {
            let tag = format!("{}/{key}", line["kind"].as_str().unwrap());
            let number = value.as_f64().or(value.as_bool().map(|switch| switch as usize as f64));
            if let Some(number) = number.filter(|_| !["generation", "step"].contains(&key.as_str())) {
                tags.entry(tag).or_default().push((step, number as f32, time));
            }
        }
    }
    tags
}

#[test]
fn tensorboard_reads_the_metrics() {
    let Some(python) = python("tensorboard_reads_the_metrics") else { return };
    let plain = PLAIN.run();
    assert!(!plain.join("events.out.tfevents.petteia").exists(), "only on request");
    let reads = |run: &Path| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/check/event_files.py");
        let output = Command::new(&python).arg(script).arg(run).output().unwrap();
        assert!(output.status.success(), "{}", err(&output));
        let found: BTreeMap<String, Vec<(u64, f32, f64)>> = serde_json::from_slice(&output.stdout).unwrap();
        for (tag, expected) in expected(run) {
            let found = &found[&tag];
            assert_eq!(found.len(), expected.len(), "{tag}");
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!((found.0, found.1), (expected.0, expected.1), "{tag}");
                assert!((found.2 - expected.2).abs() < 1e-3, "{tag}: {found:?} {expected:?}");
            }
        }
        assert!(found.contains_key("evaluation/result.elo"), "{:?}", found.keys());
    };
    let run = Finished::new(&["train.tensorboard=true"]);
    reads(&run.run());
    // a run killed in the third generation, or between a checkpoint and its evaluation, records no step twice
    let (_folder, cut) = run.copy(2);
    reads(&{
        assert!(run.train(&cut, &[]).status.success());
        cut.clone()
    });
    let metrics = fs::read_to_string(cut.join("metrics.jsonl")).unwrap();
    let shorter: Vec<&str> = metrics.lines().collect();
    fs::write(cut.join("metrics.jsonl"), shorter[..shorter.len() - 1].join("\n") + "\n").unwrap();
    assert!(run.train(&cut, &[]).status.success());
    reads(&cut);
    // games and weights are the same as without the file, and a run can be given one later
    for generation in 1..=3 {
        let weights = |run: &Path| fs::read(checkpoint(run, generation).join("optimizer.bin")).unwrap();
        assert!(weights(&cut) == weights(&plain));
    }
    let (_folder, later) = PLAIN.copy(2);
    succeeds(&["train", "--run", text(&later), "--set", "train.tensorboard=true"], "");
    reads(&later);
}

#[test]
fn what_was_said_is_in_the_log() {
    let (_folder, run) = PLAIN.copy(2);
    let path = run.join("train.log");
    let before = fs::read_to_string(&path).unwrap();
    let resume = ["train", "--run", text(&run), "--threads", "1"];
    let output = succeeds(&resume, "");
    let log = fs::read_to_string(&path).unwrap();
    let (old, new) = log.split_at(before.len());
    assert_eq!(old, before, "sessions are appended");
    let said: Vec<&str> = new
        .lines()
        .map(|line| {
            let (time, text) = line.split_once(' ').unwrap();
            humantime::parse_rfc3339(time).unwrap();
            text.trim()
        })
        .collect();
    assert!(said[0].starts_with("petteia ") && said[0].contains(" train --run "), "{said:?}");
    // the lines in the terminal are wrapped
    let said = said.join(" ");
    for line in format!("{}{}", err(&output), out(&output)).lines().filter(|line| !line.trim().is_empty()) {
        let is_hint =
            ["play against it", "measure it", "export it"].iter().any(|hint| line.starts_with(hint));
        assert!(is_hint || said.contains(line.trim()), "`{line}` is not in {said}");
    }
    // an error is logged, but nothing is written to the folder of a refused run
    fs::write(runs::shard(&run, 3, 0), "junk").unwrap();
    fails(&resume, 1, &["does not hold what it was trained on"]);
    fails(&["train", "configs/smoke.toml", "--run", text(&run)], 2, &["exists with different settings"]);
    let log = fs::read_to_string(&path).unwrap();
    assert!(!log.contains("exists with different settings"), "{log}");
}

#[test]
fn a_resumed_generation_keeps_the_time_of_the_games_played_before() {
    let (_folder, run) = PLAIN.copy(3);
    let played = |run: &Path| -> Value {
        let line = lines(run).into_iter().rfind(|line| line["kind"] == "selfplay").unwrap();
        assert_eq!(line["generation"], 3);
        assert_eq!(line["seconds"].is_null(), line["cpu_seconds"].is_null(), "{line}");
        line["seconds"].clone()
    };
    // as if it had been killed after all games were played
    fs::remove_dir_all(checkpoint(&run, 3)).unwrap();
    let slow = lines(&run).into_iter().map(|mut line| {
        if line["kind"] == "selfplay" {
            line["seconds"] = 1234.5.into();
        }
        format!("{line}\n")
    });
    let slow = slow.collect::<String>();
    fs::write(run.join("metrics.jsonl"), &slow).unwrap();
    assert!(PLAIN.train(&run, &[]).status.success());
    assert_eq!(played(&run), 1234.5);
    // some games are missing, so they are played again
    fs::remove_dir_all(checkpoint(&run, 3)).unwrap();
    fs::remove_file(shard(&run, 3, 1)).unwrap();
    assert!(PLAIN.train(&run, &["--accept-missing"]).status.success());
    let seconds = played(&run).as_f64().unwrap();
    assert!(seconds < 1000.0, "{seconds}");
    // if the playing time is lost, it must stay unknown, not become the time of reading the games
    fs::remove_dir_all(checkpoint(&run, 3)).unwrap();
    fs::remove_file(run.join("metrics.jsonl")).unwrap();
    assert!(PLAIN.train(&run, &["--accept-missing"]).status.success());
    assert_eq!(played(&run), Value::Null);
    succeeds(&["report", text(&run), "--out", text(&run.join("page.html"))], "");
}
