//! What people see of runs without training: the list, a run of another process, a game in words.

use std::fs::{self, File};
use std::path::Path;

use serde_json::Value;

use crate::support::command::{err, out, petteia};
use crate::support::runs::{PLAIN, copy_folder};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn listed(folder: &Path) -> Vec<Value> {
    let listed = petteia(&["runs", text(folder), "--json"], "");
    assert!(listed.status.success(), "{}", err(&listed));
    out(&listed).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn runs_are_listed_with_what_became_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path();
    copy_folder(&PLAIN.run(), &runs.join("whole"));
    let (_kept, cut) = PLAIN.copy(2);
    copy_folder(&cut, &runs.join("cut"));
    copy_folder(&PLAIN.run(), &runs.join("damaged"));
    fs::write(runs.join("damaged/config.toml"), "net = 5").unwrap();
    fs::create_dir(runs.join("notes")).unwrap();
    let rows = listed(runs);
    let get = |key: &str| rows.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!(get("run"), ["cut", "damaged", "whole"]);
    assert_eq!(get("state"), ["interrupted", "damaged", "finished"]);
    assert_eq!(get("game"), [Value::from("tic-tac-toe"), Value::Null, Value::from("tic-tac-toe")]);
    assert_eq!(rows[2]["generations"], 3);
    assert!(rows[1]["problem"].as_str().unwrap().contains("config.toml"), "{}", rows[1]);
    // the strength is that of the metrics
    let (lines, _) = petteia::run::metrics_of(&runs.join("whole")).unwrap();
    let rated = petteia::run::ratings_of(&lines, "random");
    assert_eq!(rows[2]["strength"]["elo"].as_f64(), rated.last().map(|rated| rated.elo));
    let last = lines.iter().rfind(|line| line["kind"] == "evaluation").unwrap();
    for (bound, of_match) in [("low", "elo_low"), ("high", "elo_high")] {
        assert_eq!(rows[2]["opponent"][bound], last["result"][of_match], "an open bound is null");
    }
    let ended = petteia(&["runs", text(runs)], "");
    let (table, warned) = (out(&ended), err(&ended));
    assert!(
        table.starts_with("run ") && table.contains("3 of 3") && table.contains("interrupted"),
        "{table}"
    );
    // what is wrong with a run is said below the table
    assert!(!table.contains("of  "), "{table}");
    let config = runs.join("damaged/config.toml");
    assert!(
        warned.starts_with("warning: ") && warned.contains(text(&config)) && warned.lines().count() < 4,
        "{warned}"
    );
    // a run that another process holds
    let lock = File::open(runs.join("cut/lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(listed(runs)[0]["state"], "running");
    lock.unlock().unwrap();
    assert_eq!(listed(runs)[0]["state"], "interrupted");
    // looking leaves it as it was
    assert!(petteia(&["train", "--run", text(&runs.join("whole"))], "").status.success());
}

#[test]
fn folders_without_runs_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let fails = |path: &Path, says: &str| {
        let ended = petteia(&["runs", text(path)], "");
        assert!(!ended.status.success() && err(&ended).contains(says), "{}", err(&ended));
    };
    fails(folder.path(), "has no runs");
    fails(&folder.path().join("nowhere"), "is not a folder");
    // the folder of one run is a list of one
    assert_eq!(listed(&PLAIN.run()).len(), 1);
}

#[test]
fn a_run_that_does_not_run_is_shown_to_its_end() {
    let watched = petteia(&["watch", text(&PLAIN.run())], "");
    assert!(watched.status.success(), "{}", err(&watched));
    let shown = out(&watched);
    let log = fs::read_to_string(PLAIN.run().join("train.log")).unwrap();
    assert!(shown.contains(log.lines().last().unwrap()), "{shown}");
    assert!(shown.trim_end().ends_with("is finished"), "{shown}");
    let (_kept, cut) = PLAIN.copy(1);
    let shown = out(&petteia(&["watch", text(&cut)], ""));
    assert!(shown.contains("is not in training; `petteia train --run"), "{shown}");
    let ended = petteia(&["watch", "nowhere"], "");
    assert!(!ended.status.success() && err(&ended).contains("does not exist"), "{}", err(&ended));
}

#[test]
fn a_review_names_the_actions_that_lost_and_what_was_better() {
    let run = PLAIN.run();
    let mut named = 0;
    for game in 0..8 {
        let game = game.to_string();
        let arguments =
            ["records", text(&run), "show", "--generation", "1", "--game", &game, "--top", "3", "--review"];
        let reviewed = petteia(&[&arguments[..], &["--agent", "rollout:2000"]].concat(), "");
        assert!(reviewed.status.success(), "{}", err(&reviewed));
        let shown = out(&reviewed);
        let plies: Vec<usize> = shown
            .lines()
            .filter_map(|line| line.strip_prefix("ply ")?.split_once(':')?.0.parse().ok())
            .collect();
        assert!(plies.len() <= 3 && plies.is_sorted(), "{shown}");
        assert!(!plies.is_empty() || shown.contains("no action lost much"), "{shown}");
        for line in shown.lines().filter(|line| line.starts_with("ply ")) {
            let score = |key: &str| {
                let rest = line.split_once(key).unwrap().1;
                rest.split([' ', ';']).next().unwrap().parse::<f64>().unwrap()
            };
            assert!(score(" goes from ") - score(" to ") >= 0.04, "{line}");
            named += 1;
        }
    }
    assert!(named > 0, "searches of 16 simulations err in eight games");
    let alone = petteia(&["records", text(&run), "show", "--review"], "");
    assert!(!alone.status.success() && err(&alone).contains("--agent"), "{}", err(&alone));
    let random = petteia(&["records", text(&run), "show", "--review", "--agent", "random"], "");
    assert!(
        !random.status.success() && err(&random).contains("needs an agent that searches"),
        "{}",
        err(&random)
    );
}
