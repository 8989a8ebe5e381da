//! Views of runs that do not train: the list of runs, a run of another process, and a game in words.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::command::{err, out, petteia};
use crate::support::runs::{Finished, PLAIN, copy_folder};

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
    // the strength is that in the metrics
    let history = petteia::run::History::of(&runs.join("whole")).unwrap();
    let rated = history.ratings("random");
    assert_eq!(rows[2]["strength"]["elo"].as_f64(), rated.last().map(|rated| rated.elo));
    let (_, by) = history.rating("random", 3).unwrap().above_opponent.unwrap();
    let of = |key: &str| rows[2]["opponent"][key].as_f64();
    assert_eq!([of("elo"), of("low"), of("high")], [Some(by.elo), by.low, by.high], "an open bound is null");
    let ended = petteia(&["runs", text(runs)], "");
    let (table, warned) = (out(&ended), err(&ended));
    assert!(
        table.starts_with("run ") && table.contains("3 of 3") && table.contains("interrupted"),
        "{table}"
    );
    // problems of a run are reported below the table
    assert!(!table.contains("of  "), "{table}");
    let config = runs.join("damaged/config.toml");
    assert!(
        warned.starts_with("warning: ") && warned.contains(text(&config)) && warned.lines().count() < 4,
        "{warned}"
    );
    // a run that is locked by another process
    let lock = File::open(runs.join("cut/lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(listed(runs)[0]["state"], "running");
    lock.unlock().unwrap();
    assert_eq!(listed(runs)[0]["state"], "interrupted");
    // listing the runs leaves them unchanged
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
    // the folder of a single run gives a list of one
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
    // the command can be pasted into a shell
    let spaced = cut.with_file_name("a run's folder");
    fs::rename(&cut, &spaced).unwrap();
    let shown = out(&petteia(&["watch", text(&spaced)], ""));
    let (_, command) = shown.split_once("is not in training; `petteia train --run ").expect(&shown);
    let (quoted, _) = command.split_once("` resumes it").expect(&shown);
    assert_eq!(shlex::split(quoted).unwrap(), [text(&spaced)]);
    let ended = petteia(&["watch", "nowhere"], "");
    assert!(!ended.status.success() && err(&ended).contains("does not exist"), "{}", err(&ended));
}

#[test]
fn a_run_in_training_is_watched_without_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let watch = || {
        let mut watch = Command::new(env!("CARGO_BIN_EXE_petteia"));
        watch.arg("watch").current_dir(folder.path()).stdin(Stdio::null());
        watch.stdout(Stdio::piped()).stderr(Stdio::piped());
        watch.spawn().unwrap()
    };
    let refused = |says: &[&str]| {
        let ended = watch().wait_with_output().unwrap();
        let said = err(&ended);
        assert!(!ended.status.success() && says.iter().all(|part| said.contains(part)), "{said}");
    };
    refused(&["no run in runs is in training", "petteia runs"]);
    let names = ["ended", "first", "second"];
    for name in names {
        copy_folder(&PLAIN.run(), &folder.path().join("runs").join(name));
    }
    refused(&["no run in runs is in training"]);
    let lock = |name: &str| {
        let lock = File::open(folder.path().join("runs").join(name).join("lock")).unwrap();
        lock.lock().unwrap();
        lock
    };
    let (first, second) = (lock("first"), lock("second"));
    refused(&["runs/first, runs/second"]);
    drop(second);
    let mut watching = watch();
    let mut shown = BufReader::new(watching.stdout.take().unwrap());
    // the program shows the log of the run, and ends with the run
    shown.read_line(&mut String::new()).unwrap();
    drop(first);
    let mut rest = String::new();
    shown.read_to_string(&mut rest).unwrap();
    assert!(watching.wait().unwrap().success() && rest.ends_with("runs/first is finished\n"), "{rest}");
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

/// Lines that no run writes, with numbers of any size.
const STRANGE: [&str; 7] = [
    r#"{"kind":"ladder","generation":18446744073709551615,"matches":[]}"#,
    r#"{"kind":"ladder","generation":3,"matches":[{"generation":2,"pairs":[18446744073709551615,1,1,1,1]}]}"#,
    r#"{"kind":"health","generation":2,"surprise":1e308,"length":5e-324}"#,
    r#"{"kind":"health","generation":3,"surprise":-1e308,"length":1e308}"#,
    r#"{"kind":"evaluation","generation":3,"player":3,"opponent":"random","result":{"elo":1e308,"elo_low":-1e308}}"#,
    r#"{"kind":"selfplay","generation":3,"games":18446744073709551615,"seconds":1e308}"#,
    r#"{"kind":"train","generation":99999999999999999999}"#,
];

/// Appends lines to the metrics of a run.
fn append(run: &Path, lines: &[&str]) {
    let mut metrics = fs::OpenOptions::new().append(true).open(run.join("metrics.jsonl")).unwrap();
    lines.iter().for_each(|line| writeln!(metrics, "{line}").unwrap());
}

#[test]
fn metrics_with_strange_numbers_are_read() {
    for lines in STRANGE.iter().map(std::slice::from_ref).chain([&STRANGE[..]]) {
        let (_kept, run) = PLAIN.copy(3);
        append(&run, lines);
        let rows = listed(&run);
        assert_eq!(
            (&rows[0]["generations"], &rows[0]["problem"]),
            (&Value::from(3), &Value::Null),
            "{lines:?}"
        );
        let page = run.join("page.html");
        let report = petteia(&["report", text(&run), "--out", text(&page)], "");
        assert!(report.status.success(), "{lines:?}: {}", err(&report));
        let page = fs::read_to_string(page).unwrap();
        assert!(!page.contains("NaN") && !page.contains("inf"), "{lines:?}");
        assert_eq!(
            page.contains("of <code>metrics.jsonl</code>"),
            !lines[0].contains("health") && !lines[0].contains("elo"),
            "{lines:?}"
        );
        // resuming drops lines that no run can have written
        let trained = petteia(&["train", "--run", text(&run), "--threads", "1"], "");
        assert!(trained.status.success(), "{lines:?}: {}", err(&trained));
    }
}

/// The page about a long run is hardly larger than the page about a shorter one, and says what it omits.
#[test]
fn a_report_does_not_grow_with_the_run() {
    let page = |generations: usize| {
        let (_kept, run) = PLAIN.copy(3);
        let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
        let last: Vec<&str> = metrics.lines().filter(|line| line.contains("\"generation\":3,")).collect();
        let more: String = (4..=generations)
            .flat_map(|number| {
                last.iter().map(move |line| line.replace(":3,", &format!(":{number},")) + "\n")
            })
            .collect();
        fs::write(run.join("metrics.jsonl"), metrics + &more).unwrap();
        let page = run.join("page.html");
        let report = petteia(&["report", text(&run), "--out", text(&page)], "");
        assert!(report.status.success(), "{}", err(&report));
        fs::read_to_string(page).unwrap()
    };
    let (short, long) = (page(1500), page(6000));
    assert!(long.len() < short.len() * 5 / 4 && long.len() < 1_000_000, "{} {}", short.len(), long.len());
    assert!(
        short.contains("generation in 4 and the newest") && long.contains("generation in 16 and the newest")
    );
    for (page, newest) in [(&short, 1500), (&long, 6000)] {
        let losses = page.split("<h3>Policy loss</h3>").nth(1).unwrap().split("</table>").next().unwrap();
        assert!(
            losses.contains("<th scope=\"row\">1</th>")
                && losses.contains(&format!("<th scope=\"row\">{newest}</th>"))
        );
        assert!(losses.matches("<tr>").count() < 420, "{}", losses.matches("<tr>").count());
    }
    assert!(!page(3).contains("and the newest"));
}

/// The last generation is evaluated and rated after its checkpoint is written.
#[test]
fn a_run_killed_in_its_last_rating_is_not_finished() {
    let rated = Finished::new(&["arena.ladder_games=4"]);
    let whole = fs::read_to_string(rated.run().join("metrics.jsonl")).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    assert!(
        lines[lines.len() - 1].contains("\"ladder\"") && lines[lines.len() - 2].contains("\"evaluation\"")
    );
    assert_eq!(listed(&rated.run())[0]["state"], "finished");
    for left_out in [1, 2] {
        let (_kept, run) = rated.copy(3);
        fs::write(run.join("metrics.jsonl"), lines[..lines.len() - left_out].join("\n") + "\n").unwrap();
        assert_eq!(listed(&run)[0]["state"], "interrupted", "{left_out}");
        assert!(rated.train(&run, &[]).status.success());
        assert_eq!(listed(&run)[0]["state"], "finished", "{left_out}");
    }
    // a run finished by a version without ratings, and one without metrics
    let (_kept, old) = rated.copy(3);
    let without: Vec<&str> = lines.iter().filter(|line| !line.contains("\"ladder\"")).copied().collect();
    fs::write(old.join("metrics.jsonl"), without.join("\n") + "\n").unwrap();
    assert_eq!(listed(&old)[0]["state"], "finished");
    fs::remove_file(old.join("metrics.jsonl")).unwrap();
    assert_eq!(listed(&old)[0]["state"], "finished");
}
