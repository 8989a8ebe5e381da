//! Kills at random moments, and several programs in one folder: a resumed run ends like an undisturbed one.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use petteia::random::Random;
use rand::RngExt;

use super::scene::{Folder, Petteia, Run, TINY, Tally, contents, expect_same, random, times};

/// A run that is long enough for kills to hit every part of it.
fn longer(changes: &[(&str, &str)]) -> Run {
    let mut text = TINY.replace("games = 4, batch = 2", "games = 40, batch = 8");
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    Run::new(&text)
}

/// How long the undisturbed command takes, on this machine and with its present load.
fn unbroken(command: impl Fn(&Path) -> Petteia) -> Duration {
    let time = |_| {
        let folder = Folder::new();
        let begun = Instant::now();
        command(&folder.path.join("it")).run().succeeds();
        begun.elapsed()
    };
    (0..3).map(time).min().unwrap()
}

/// Kills the command at a random moment, again and again, and lets it end the last time. Returns the number
/// of kills that hit the running command.
fn killed(
    command: impl Fn(&mut Random) -> Petteia,
    time: Duration,
    kills: usize,
    chance: &mut Random,
) -> usize {
    let mut met = 0;
    for _ in 0..kills {
        let mut child = command(chance).command().spawn().unwrap();
        sleep(time.mul_f64(chance.random_range(0.0..1.0)));
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        match output.status.code() {
            None => met += 1,
            code => assert_eq!(code, Some(0), "{}", String::from_utf8_lossy(&output.stderr)),
        }
    }
    let ended = command(chance).run();
    ended.succeeds();
    assert!(!ended.err.contains("warning"), "{ended:?}");
    met
}

fn resumes_as_if_nothing_had_been(name: u64, run: &Run, threads: &[&str]) {
    let (mut chance, mut tally, mut met) = (random(name), Tally::default(), 0);
    let expected = contents(&run.path);
    let time = unbroken(|path| run.training(path));
    for number in 0..times(2, 12) {
        tally.check(|| {
            let folder = Folder::new();
            let path = folder.path.join("run");
            let command = |chance: &mut Random| {
                let mut program = run.training(&path);
                *program.arguments.last_mut().unwrap() =
                    threads[chance.random_range(0..threads.len())].into();
                program
            };
            met += killed(command, time, 4, &mut chance);
            expect_same(&format!("run {number} after its kills"), &contents(&path), &expected);
        });
    }
    assert!(met > 0, "no kill met the program");
    tally.report(&format!("runs with {met} kills"));
}

#[test]
fn plain_runs() {
    resumes_as_if_nothing_had_been(400, &longer(&[]), &["1", "2", "4"]);
}

#[test]
fn runs_with_a_gumbel_root_and_the_economies() {
    let gumbel = longer(&[("search.simulations = 4", "search = { simulations = 4, root = 'gumbel' }")]);
    resumes_as_if_nothing_had_been(402, &gumbel, &["1", "2"]);
    let economies = [(
        "random_plies = 2 }",
        "random_plies = 2, cache = 1, fast_simulations = 2, surprise_weight = 0.5 }",
    )];
    resumes_as_if_nothing_had_been(403, &longer(&economies), &["1", "2"]);
}

#[test]
fn runs_of_the_other_optimizer_and_evaluator() {
    let other = [
        ("warmup_steps = 2 }", "warmup_steps = 2, optimizer = 'sgd' }"),
        ("value_hidden = 2 }", "value_hidden = 2, evaluator = 'burn' }"),
    ];
    resumes_as_if_nothing_had_been(404, &longer(&other), &["1", "2"]);
}

/// Kills a command that saves its games with `--save`; its result must be that of an undisturbed one.
fn saved_games_are_played_once(name: u64, arguments: &[&str]) {
    let (mut chance, mut tally, mut met) = (random(name), Tally::default(), 0);
    let command = |path: &Path, threads: usize| {
        let (file, threads) = (path.display().to_string(), threads.to_string());
        Petteia::new(&[arguments, &["--json", "--save", &file, "--threads", &threads]].concat())
    };
    let whole = Folder::new();
    let expected = command(&whole.path.join("m"), 1).run();
    let time = unbroken(|path| command(path, 4));
    for _ in 0..times(3, 30) {
        tally.check(|| {
            let folder = Folder::new();
            let path = folder.path.join("m");
            met += killed(|chance| command(&path, chance.random_range(1..=4)), time, 3, &mut chance);
            let again = command(&path, 2).run();
            assert_eq!(again.out, expected.succeeds().out);
            expect_same("saved games after kills", &contents(&folder.path), &contents(&whole.path));
        });
    }
    assert!(met > 0, "no kill met the program");
    tally.report(&format!("`{}` with {met} kills", arguments.join(" ")));
}

#[test]
fn a_match_that_is_saved() {
    let arena = ["arena", "tic-tac-toe", "uniform:40", "random", "--games", "600"];
    saved_games_are_played_once(405, &arena);
}

#[test]
fn a_ladder_that_is_saved() {
    let ladder = ["ladder", "--game", "tic-tac-toe", "--opening-plies", "2", "--games", "1200"];
    let agents = ["--agents", "random", "uniform:10", "uniform:40", "rollout:10"];
    for (name, pairing) in [(407, "adaptive"), (408, "round-robin")] {
        saved_games_are_played_once(name, &[&ladder[..], &agents, &["--pairing", pairing]].concat());
    }
}

#[test]
fn of_many_trainers_on_one_folder_one_runs() {
    let run = longer(&[("games = 40", "games = 400")]);
    let folder = Folder::new();
    let path = folder.path.join("run");
    let started: Vec<_> = (0..times(4, 10)).map(|_| run.training(&path).command().spawn().unwrap()).collect();
    let outputs: Vec<_> = started.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let of = |code| outputs.iter().filter(|output| output.status.code() == Some(code)).count();
    assert!(of(0) >= 1 && of(0) + of(2) == outputs.len(), "{outputs:?}");
    for refused in outputs.iter().filter(|output| output.status.code() == Some(2)) {
        let err = String::from_utf8_lossy(&refused.stderr);
        assert!(err.contains("in use by another `petteia train`"), "{err}");
    }
    expect_same("many trainers", &contents(&path), &contents(&run.path));
}

/// A backup made during training can be resumed, or the program names what it lacks.
#[test]
fn a_copy_of_a_run_at_work_is_resumed_or_refused() {
    let run = longer(&[]);
    let (mut chance, mut tally, expected) = (random(406), Tally::default(), contents(&run.path));
    for _ in 0..times(3, 12) {
        tally.check(|| {
            let folder = Folder::new();
            let (path, backup) = (folder.path.join("run"), folder.path.join("backup"));
            let child = run.training(&path).command().spawn().unwrap();
            sleep(Duration::from_micros(chance.random_range(10_000..100_000)));
            // files that vanish while they are copied are not in the backup
            let _ = std::process::Command::new("cp").arg("-r").args([&path, &backup]).output().unwrap();
            assert!(child.wait_with_output().unwrap().status.success());
            let ended = run.train(&backup);
            ended.in_words("a backup");
            if ended.code == Some(0) {
                expect_same("a backup", &contents(&backup), &expected);
            }
        });
    }
    tally.report("backups");
}
