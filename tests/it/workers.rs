//! One run, many processes: learners and workers in a folder, and how each reacts when the others are slow, wrong,
//! duplicated, or gone.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::thread::sleep;
use std::time::Duration;

use petteia::replay::store;
use petteia::storage;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::command::{PETTEIA, err, fails, out, petteia, start, succeeds};
use crate::support::runs::{PLAIN, files, text, write_config};

/// Checks again and again, for minutes, until `what` is true.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..30_000 {
        if done() {
            return;
        }
        sleep(Duration::from_millis(10));
    }
    panic!("never: {what}");
}

/// A folder for a run with the same settings as [`PLAIN`], which a single process trained.
struct Cluster {
    folder: TempDir,
}

impl Cluster {
    fn new() -> Cluster {
        let folder = tempfile::tempdir().unwrap();
        write_config(folder.path());
        Cluster { folder }
    }

    fn run(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    fn work(&self, generation: usize, name: &str) -> PathBuf {
        self.run().join(format!("work/generation-{generation:04}")).join(name)
    }

    fn learner(&self, more: &[&str]) -> Child {
        let (run, config) = (self.run(), self.folder.path().join("run.toml"));
        start(PETTEIA, &[&["learn", text(&run), text(&config), "--threads", "1"], more].concat())
    }

    fn worker(&self, more: &[&str]) -> Child {
        let run = self.run();
        start(PETTEIA, &[&["worker", text(&run), "--threads", "1", "--grace", "0"], more].concat())
    }

    /// Returns the output of `petteia audit`, which must find nothing wrong.
    fn audit(&self) -> String {
        out(&succeeds(&["audit", text(&self.run())], ""))
    }
}

/// The processes that work on a run, as `petteia runs` and the page show them.
fn roster(cluster: &Cluster) -> Vec<Value> {
    let row = out(&succeeds(&["runs", text(&cluster.run()), "--json"], ""));
    let row: Value = serde_json::from_str(&row).unwrap();
    let workers = row["workers"].as_array().unwrap().clone();
    #[cfg(feature = "web")]
    {
        let page = crate::support::server::Server::of(&[text(&cluster.run())]);
        let shown = page.get("/api/runs/0")["workers"].as_array().unwrap().clone();
        let shards =
            |workers: &[Value]| workers.iter().map(|worker| worker["shards"].clone()).collect::<Vec<_>>();
        assert_eq!(shards(&shown), shards(&workers));
    }
    workers
}

/// The next line that a process prints; later output is left to be read.
fn next_line(child: &mut Child) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    while byte != *b"\n" {
        child.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

fn ended(child: Child) -> Output {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}{}", out(&output), err(&output));
    output
}

/// The games and weights of a run, which do not depend on who played them.
fn made(run: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = files(run);
    found.retain(|path, _| path.starts_with("selfplay") || path.starts_with("checkpoints"));
    assert!(found.len() > 20, "{:?}", found.keys());
    found
}

#[test]
fn many_processes_make_what_one_makes() {
    let cluster = Cluster::new();
    // a worker may start before the run exists
    let mut first = cluster.worker(&["--index", "0", "--of", "3"]);
    let waits = next_line(&mut first);
    assert!(waits.contains("is not a run yet; waiting for its learner"), "{waits}");
    let learner = cluster.learner(&[]);
    let others = [cluster.worker(&["--index", "1", "--of", "3"]), cluster.worker(&[])];
    let said = err(&ended(learner));
    assert!(!said.contains("warning"), "{said}");
    let lines = out(&ended(first));
    assert!(lines.contains(": shard ") && lines.ends_with("run is finished\n"), "{lines}");
    others.into_iter().for_each(|worker| drop(ended(worker)));
    assert!(made(&cluster.run()) == made(&PLAIN.run()));
    let audit = cluster.audit();
    assert!(
        audit.contains("committed 12, consumed 12, waiting 0, unused 0; played by the learner itself 0"),
        "{audit}"
    );
    assert!(audit.contains("missing 0, twice 0") && audit.contains("orphans 0"), "{audit}");
    // the games of judges are in the metrics, as if the learner had played them
    let metrics = fs::read_to_string(cluster.run().join("metrics.jsonl")).unwrap();
    let lines: Vec<Value> = metrics.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let judged = |kind: &str| lines.iter().filter(|line| line["kind"] == kind).count();
    assert_eq!((judged("evaluation"), judged("ladder")), (3, 3));
    assert!(lines.iter().all(|line| line["time"].is_string()));
    // the CPU time of games is that of the workers
    for line in lines.iter().filter(|line| line["kind"] == "selfplay") {
        let number = usize::try_from(line["generation"].as_u64().unwrap()).unwrap();
        let commits = (0..4).map(|shard| cluster.work(number, &format!("shard-{shard:04}.commit-1.json")));
        let read = |path: PathBuf| serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap();
        let seconds: Vec<f64> = commits
            .map(|path| read(path)["cpu_seconds"].as_f64().filter(|seconds| *seconds > 0.0).unwrap())
            .collect();
        // the metrics are rounded to thousandths
        let told = line["cpu_seconds"].as_f64().unwrap();
        assert!((told - seconds.iter().sum::<f64>()).abs() < 0.0006, "{told} of {seconds:?}");
    }
    let workers = roster(&cluster);
    let sum = |key: &str| workers.iter().filter_map(|worker| worker[key].as_u64()).sum::<u64>();
    // these are the figures of the two newest generations
    assert_eq!((sum("shards"), sum("games"), sum("judged")), (8, 32, 2), "{workers:?}");
    assert_eq!((sum("failed"), sum("rejected")), (0, 0));
    let fast = |worker: &Value| worker["positions_per_second"].as_f64().is_some_and(|speed| speed > 0.0);
    assert!(workers.iter().all(|worker| worker["shards"] == 0 || fast(worker)), "{workers:?}");
    let table = out(&succeeds(&["runs", text(&cluster.run())], ""));
    assert!(table.contains("positions/s") && table.contains(" ago"), "{table}");
    // there is nothing left to do for latecomers
    for late in [cluster.worker(&[]), cluster.learner(&[])] {
        ended(late);
    }
    assert!(made(&cluster.run()) == made(&PLAIN.run()));
}

#[test]
fn whoever_trains_takes_what_workers_played() {
    let cluster = Cluster::new();
    let (run, config) = (cluster.run(), cluster.folder.path().join("run.toml"));
    let learner = cluster.learner(&[]);
    let mut worker = cluster.worker(&["--only", "play"]);
    until("the second generation is being played", || {
        cluster.work(2, "shard-0000.commit-1.json").exists() || cluster.work(2, "consumed.json").exists()
    });
    worker.kill().unwrap();
    worker.wait().unwrap();
    let mut learner = learner;
    learner.kill().unwrap();
    learner.wait().unwrap();
    // a single process continues from the existing files
    succeeds(&["train", text(&config), "--run", text(&run), "--threads", "1"], "");
    assert!(made(&run) == made(&PLAIN.run()));
    let audit = cluster.audit();
    assert!(audit.contains("missing 0, twice 0"), "{audit}");
}

#[test]
fn who_is_killed_is_replaced() {
    let cluster = Cluster::new();
    let mut learner = cluster.learner(&[]);
    let mut workers =
        [cluster.worker(&["--index", "0", "--of", "2"]), cluster.worker(&["--index", "1", "--of", "2"])];
    // each round kills the next of the three processes after a short time
    for round in 0..12 {
        sleep(Duration::from_millis(40 + 30 * (round % 5)));
        let (victim, anew): (&mut Child, Child) = match round % 3 {
            0 => (&mut learner, cluster.learner(&[])),
            index => {
                let number = (index - 1).to_string();
                (&mut workers[index as usize - 1], cluster.worker(&["--index", &number, "--of", "2"]))
            }
        };
        let mut killed = std::mem::replace(victim, anew);
        let _ = killed.kill();
        killed.wait().unwrap();
        if round % 3 == 0 {
            // the new learner may have met the old one, which was still alive
            if let Some(status) = learner.try_wait().unwrap() {
                assert!(status.success() || status.code() == Some(2), "{status}");
                learner = cluster.learner(&[]);
            }
        }
    }
    loop {
        let status = learner.wait().unwrap();
        if status.success() {
            break;
        }
        assert_eq!(status.code(), Some(2), "another learner");
        sleep(Duration::from_millis(50));
        learner = cluster.learner(&[]);
    }
    workers.into_iter().for_each(|worker| drop(ended(worker)));
    assert!(made(&cluster.run()) == made(&PLAIN.run()));
    assert!(cluster.audit().contains("missing 0, twice 0"));
}

#[test]
fn a_second_learner_names_the_first() {
    let cluster = Cluster::new();
    let mut learner = cluster.learner(&[]);
    until("the learner has named itself", || cluster.run().join("work/learner-0001.json").exists());
    let (run, process) = (cluster.run(), learner.id().to_string());
    let names = format!("is being trained by process {process} on ");
    fails(&["learn", text(&run)], 2, &[&names, ", started 20"]);
    fails(&["train", "--run", text(&run)], 2, &[&names]);
    Command::new("kill").args(["-s", "TERM", &process]).status().unwrap();
    let output = learner.wait().unwrap();
    assert!(output.success());
    assert!(run.join("work/learner-0001.left.json").exists());
}

#[test]
fn a_worker_says_whether_to_try_again() {
    let cluster = Cluster::new();
    let worker = cluster.worker(&[]);
    let process = worker.id().to_string();
    sleep(Duration::from_millis(100));
    Command::new("kill").args(["-s", "TERM", &process]).status().unwrap();
    let output = worker.wait_with_output().unwrap();
    assert_eq!((output.status.code(), err(&output).trim()), (Some(1), "error: interrupted"));

    let mut learner = cluster.learner(&[]);
    let named = cluster.run().join("work/learner-0001.json");
    until("the learner has named itself", || named.exists());
    let mut value: Value = serde_json::from_slice(&fs::read(&named).unwrap()).unwrap();
    value.as_object_mut().unwrap().remove("sha256");
    for (key, other, says) in [
        ("program", json!("petteia 99.0.0"), "the run is trained by petteia 99.0.0"),
        (
            "game",
            json!({"id": "tic-tac-toe", "options": {}, "encoding": 7, "shape": value["game"]["shape"]}),
            "encoding version 7",
        ),
    ] {
        let mut changed = value.clone();
        changed[key] = other;
        fs::write(&named, storage::sealed(&changed)).unwrap();
        let output = cluster.worker(&[]).wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
        assert!(err(&output).contains(says) && err(&output).lines().count() == 1, "{}", err(&output));
    }
    learner.kill().unwrap();
    learner.wait().unwrap();
    fails(
        &["worker", text(&cluster.run()), "--index", "2", "--of", "2"],
        2,
        &["the index must be from 0 to 1"],
    );
}

/// The games of a shard of generation 1, as a single process played them.
fn games(number: usize) -> Vec<u8> {
    fs::read(store::shard_path(&PLAIN.run(), 1, number)).unwrap()
}

/// A commit of a shard of generation 1, by a worker on this machine's namesake.
fn commit(cluster: &Cluster, number: usize, bytes: &[u8], changes: &[(&str, Value)]) {
    let run = cluster.run();
    let learner: Value =
        serde_json::from_slice(&fs::read(run.join("work/learner-0001.json")).unwrap()).unwrap();
    let origin = store::origin(&store::shard_path(&PLAIN.run(), 1, number)).unwrap().unwrap().to_string();
    let file = format!("shard-{number:04}-1-00000000deadbeef.jsonl.zst");
    let mut value = json!({
        "file": file, "bytes": bytes.len(), "file_sha256": storage::sha256(bytes), "games": 4, "positions": 9,
        "evaluator": "rollout:16", "tensors": "", "origin": origin, "game": learner["game"],
        "program": learner["program"], "instructions": "AVX2", "seconds": 1.0,
        "worker": {"machine": "other", "process": 1, "nonce": "00000000deadbeef"},
    });
    changes.iter().for_each(|(key, changed)| value[key] = changed.clone());
    fs::create_dir_all(cluster.work(1, "")).unwrap();
    fs::write(cluster.work(1, &file), bytes).unwrap();
    fs::write(cluster.work(1, &format!("shard-{number:04}.commit-1.json")), storage::sealed(&value)).unwrap();
}

#[test]
fn what_is_wrong_is_played_again() {
    let cluster = Cluster::new();
    let mut learner = cluster.learner(&[]);
    until("the learner waits", || {
        cluster.work(1, "").exists() && cluster.run().join("work/learner-0001.json").exists()
    });
    // every part of this commit is wrong
    commit(&cluster, 0, &games(1), &[]);
    commit(&cluster, 1, &games(1), &[("file_sha256", json!("0".repeat(64)))]);
    commit(&cluster, 2, &games(2), &[("program", json!("petteia 0.0.1"))]);
    commit(&cluster, 3, &games(3), &[("file", json!("../generation-0002/shard-0000-1-x.jsonl.zst"))]);
    for number in 0..4 {
        until("it is rejected", || cluster.work(1, &format!("shard-{number:04}.rejected-1.json")).exists());
    }
    let said = |number: usize| {
        let path = cluster.work(1, &format!("shard-{number:04}.rejected-1.json"));
        serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap()
    };
    let reason = |number: usize| said(number)["reason"].as_str().unwrap().to_string();
    assert!(reason(0).contains("game 4 is where game 0 belongs"), "{}", reason(0));
    assert!(reason(1).contains("it is not what was committed"), "{}", reason(1));
    assert!(reason(2).contains("played by petteia 0.0.1") && said(2)["is_final"] == true, "{}", reason(2));
    assert!(reason(3).contains("is missing"), "{}", reason(3));
    ended(cluster.worker(&[]));
    assert!(learner.wait().unwrap().success());
    let mut found = made(&cluster.run());
    // the shard that was kept at first is set aside, by name
    let bad = Path::new("selfplay/generation-0001/shard-0000.jsonl.zst.bad");
    assert!(found.remove(bad).is_some(), "{:?}", found.keys());
    assert!(found == made(&PLAIN.run()));
    let audit = cluster.audit();
    assert!(audit.contains("rejected 4") && audit.contains("orphans 4"), "{audit}");
}

#[test]
fn games_that_are_right_are_taken_from_anybody() {
    let cluster = Cluster::new();
    let mut learner = cluster.learner(&[]);
    until("the learner waits", || {
        cluster.work(1, "").exists() && cluster.run().join("work/learner-0001.json").exists()
    });
    (0..4).for_each(|number| commit(&cluster, number, &games(number), &[]));
    until("the generation is trained", || cluster.work(1, "consumed.json").exists());
    ended(cluster.worker(&[]));
    assert!(learner.wait().unwrap().success());
    assert!(made(&cluster.run()) == made(&PLAIN.run()));
    assert!(cluster.audit().contains("consumed 12"));
}

#[test]
fn a_shard_that_nobody_can_play_is_put_aside() {
    let cluster = Cluster::new();
    let learner = cluster.learner(&[]);
    until("the learner waits", || cluster.work(1, "").exists());
    let failed = |machine: &str, times: usize| {
        let worker = json!({"machine": machine, "process": 1, "nonce": machine});
        let note = json!({"message": "it fell over", "worker": worker, "times": times});
        fs::write(
            cluster.work(1, &format!("shard-0001.failed-{machine}-{times}.json")),
            storage::sealed(&note),
        )
        .unwrap();
    };
    failed("one", 1);
    failed("one", 2);
    failed("one", 3);
    // a single machine may itself be at fault
    sleep(Duration::from_millis(500));
    assert!(!cluster.work(1, "shard-0001.aside.json").exists());
    failed("two", 1);
    until("it is put aside", || cluster.work(1, "shard-0001.aside.json").exists());
    ended(cluster.worker(&[]));
    let said = err(&ended(learner)).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("shard 1 of generation 1 is put aside"), "{said}");
    assert!(said.contains("failed 4 times, on one and two: it fell over"), "{said}");
    let manifest = fs::read(cluster.run().join("checkpoints/generation-0003/manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["data"]["given_up"], json!(["selfplay/generation-0001/shard-0001.jsonl.zst"]));
    let audit = cluster.audit();
    assert!(audit.contains("put aside 1") && audit.contains("committed 11, consumed 11"), "{audit}");
}

/// A judge may disappear before it has finished, while others have judged later generations.
#[test]
fn a_generation_that_a_judge_left_is_judged_by_another() {
    let cluster = Cluster::new();
    let mut learner = cluster.learner(&[]);
    until("the learner waits", || cluster.work(1, "").exists());
    let mut player = cluster.worker(&["--only", "play"]);
    until("the last generation is trained", || {
        cluster.run().join("checkpoints/generation-0003/manifest.json").exists()
    });
    player.wait().unwrap();
    // the judge of generation 2 never came
    ended(cluster.worker(&["--only", "judge", "--index", "1", "--of", "3"]));
    assert!(learner.wait().unwrap().success());
    assert!((1..=3).all(|number| cluster.work(number, "judged.json").exists()));
}

#[test]
fn an_audit_finds_what_is_wrong() {
    let cluster = Cluster::new();
    let learner = cluster.learner(&[]);
    ended(cluster.worker(&[]));
    ended(learner);
    cluster.audit();
    let run = cluster.run();
    let shard = |number: usize| store::shard_path(&run, 2, number);
    let others: Vec<Vec<u8>> = (0..2).map(|number| fs::read(shard(number)).unwrap()).collect();
    fs::write(shard(0), &others[1]).unwrap();
    fails(&["audit", text(&run)], 1, &["see above"]);
    fs::write(shard(0), &others[0]).unwrap();
    let list = cluster.work(2, "consumed.json");
    let whole = fs::read(&list).unwrap();
    let mut value: Value = serde_json::from_slice(&whole).unwrap();
    value.as_object_mut().unwrap().remove("sha256");
    let first = value["shards"]["0"].clone();
    value["shards"]["1"] = first;
    fs::write(&list, storage::sealed(&value)).unwrap();
    fails(&["audit", text(&run)], 1, &["see above"]);
    fs::write(&list, &whole[..whole.len() / 2]).unwrap();
    fails(&["audit", text(&run)], 1, &["see above"]);
    // without the list, nothing says that each game was used once
    fs::remove_file(&list).unwrap();
    let audit = petteia(&["audit", text(&run)], "");
    assert!(err(&audit).contains("1 problem, see above"), "{}", err(&audit));
    let audit = out(&audit).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        audit.contains("problem: generation 2 was trained, but the list of its shards is missing"),
        "{audit}"
    );
    assert!(audit.contains("waiting 0") && audit.contains("consumed.json"), "{audit}");
    fs::write(&list, &whole[..whole.len() / 2]).unwrap();
    // the list is rebuilt from the checkpoints' lists; files that only record which processes worked are set aside
    let learner = run.join("work/learner-0001.json");
    fs::write(&learner, "junk").unwrap();
    let said = out(&succeeds(&["inspect", text(&run), "--repair"], ""));
    assert!(said.contains("rebuilt: the list of the games that generation 2"), "{said}");
    assert_eq!(fs::read(&list).unwrap(), whole);
    assert!(!learner.exists());
    cluster.audit();
}

/// A generation whose checkpoint is gone is trained again on the games in its list, even if the commits are lost.
#[test]
fn a_lost_commit_is_named_and_a_wrong_list_is_not_trained_on() {
    let cluster = Cluster::new();
    let learner = cluster.learner(&[]);
    ended(cluster.worker(&[]));
    ended(learner);
    let (run, whole) = (cluster.run(), made(&cluster.run()));
    let newest = run.join("checkpoints/generation-0003");
    let commits = [0, 1].map(|shard| cluster.work(3, &format!("shard-{shard:04}.commit-1.json")));
    let kept = commits.clone().map(|path| fs::read(path).unwrap());
    fs::remove_file(&commits[0]).unwrap();
    fs::write(&commits[1], &kept[1][1..]).unwrap();
    fs::remove_dir_all(&newest).unwrap();
    let said = err(&ended(cluster.learner(&[])));
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("shard-0000.commit-1.json is missing; the run has the committed games"), "{said}");
    assert!(said.contains("shard-0001.commit-1.json: it was changed or damaged"), "{said}");
    assert!(made(&run) == whole);
    fails(&["audit", text(&run)], 1, &["2 problems, see above"]);
    commits.iter().zip(kept).for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
    cluster.audit();
    // trying again cannot help, so a scheduler should not
    for (list, says) in [
        (fs::read(cluster.work(2, "consumed.json")).unwrap(), "it lists different games than the run has"),
        (b"junk".to_vec(), "it was changed or damaged"),
    ] {
        fs::write(cluster.work(3, "consumed.json"), list).unwrap();
        let _ = fs::remove_dir_all(&newest);
        let output = cluster.learner(&[]).wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
        assert!(err(&output).contains(says) && err(&output).contains("work/generation-0003/consumed.json"));
        assert!(!newest.exists());
    }
}

/// With self-play ahead of training, records say which network played, and everything is used once.
#[test]
fn self_play_may_be_ahead() {
    let cluster = Cluster::new();
    let (run, config) = (cluster.run(), cluster.folder.path().join("run.toml"));
    succeeds(
        &["train", text(&config), "--run", text(&run), "--threads", "1", "--set", "selfplay.ahead=1"],
        "",
    );
    let audit = cluster.audit();
    assert!(audit.contains("committed 12, consumed 12, waiting 0"), "{audit}");
    let played = |generation: usize| -> Vec<String> {
        let shards = (0..4).map(|number| store::shard_path(&run, generation, number));
        shards.flat_map(|path| store::read_unplayed(&path).unwrap()).map(|record| record.evaluator).collect()
    };
    assert!(played(1).iter().all(|by| by == "rollout:16"));
    assert!(played(2).iter().all(|by| by == "generation 1"), "{:?}", played(2));
    let third = played(3);
    assert!(third.iter().all(|by| by == "generation 1" || by == "generation 2"), "{third:?}");
}
