//! `petteia balance`: the page and the numbers, with and without a trained agent.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::command::{elsewhere, err, out, petteia};
use crate::support::runs::PLAIN;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn numbers(arguments: &[&str]) -> Vec<Value> {
    let quick = ["--solver", "0", "--most-games", "1", "--json"];
    let measured = petteia(&[&["balance"], arguments, &quick].concat(), "");
    assert!(measured.status.success(), "{}", err(&measured));
    serde_json::from_str(&out(&measured)).unwrap()
}

fn level_names(found: &[Value]) -> Vec<&str> {
    let levels = found[0]["balance"]["levels"].as_array().unwrap();
    levels.iter().map(|level| level["name"].as_str().unwrap()).collect()
}

#[test]
fn the_generations_of_a_run_are_levels() {
    let run = PLAIN.run();
    let found = numbers(&["tic-tac-toe", "--agent", text(&run), "--games", "4", "--simulations", "8"]);
    let names = level_names(&found);
    let generations = ["generation 1, 8", "generation 2, 8", "generation 3, 8", "generation 3, 32"];
    let generations = generations.map(|level| format!("{level} simulations"));
    assert_eq!(names[..2], ["rollout:20", "rollout:100"]);
    assert_eq!(names[2..6], generations);
    // tic-tac-toe is solved at once
    assert_eq!(names[6..], ["perfect play"]);
    // the requested numbers of games and simulations
    let more = ["--games", "2", "--generations", "2", "--simulations", "4,6,9"];
    let found = numbers(&[&["tic-tac-toe", "--agent", text(&run)], &more[..]].concat());
    let generations = ["generation 1, 4", "generation 3, 4", "generation 3, 6", "generation 3, 9"];
    assert_eq!(level_names(&found)[2..6], generations.map(|level| format!("{level} simulations")));
    assert_eq!(found[0]["balance"]["steps"].as_array().unwrap().len(), 6);
    // the same command gives the same numbers, with any number of threads
    let arguments = ["tic-tac-toe", "--levels", "rollout:4", "rollout:8", "--games", "6", "--threads"];
    let with = |threads: &str| numbers(&[&arguments[..], &[threads]].concat());
    assert_eq!(with("1"), with("3"));
}

#[test]
fn the_page_stands_alone_and_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    let arguments =
        ["balance", "tic-tac-toe", "--levels", "rollout:4", "rollout:40", "--games", "6", "--out"];
    for _ in 0..2 {
        let written = petteia(&[&arguments[..], &[text(&path)]].concat(), "");
        assert!(written.status.success(), "{}", err(&written));
    }
    let page = fs::read_to_string(&path).unwrap();
    for part in [
        "Is Tic-tac-toe balanced?",
        "tic-tac-toe, 3x3 board",
        "Proved: with best play, the game is a draw",
        "Squares used",
        "A representative game",
        "Late uncertainty",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // a page about other variants cannot continue this page, which is reported before anything is played
    let compared = petteia(&[&arguments[..], &[text(&path), "--compare", "cage-6"]].concat(), "");
    let said = err(&compared);
    assert!(said.contains("is a different page") && !said.contains("games,"), "{said}");
    assert!(
        page.contains("<th scope=\"col\">draws</th>") && !page.contains("<th>"),
        "a table heading has no scope"
    );
    let page = page.replace("http://www.w3.org/2000/svg", "");
    assert!(
        !page.contains("<script") && !page.contains("http") && !page.contains("NaN") && page.len() < 400_000
    );
}

#[test]
fn variants_stand_side_by_side() {
    let common = ["--levels", "rollout:2", "rollout:4", "--games", "2"];
    let compared = numbers(&[&["cage-4", "--compare", "cage-6"], &common[..]].concat());
    let names = |found: &[Value]| found.iter().map(|one| one["name"].clone()).collect::<Vec<_>>();
    assert_eq!(names(&compared), ["cage-4", "cage-6"]);
    let sets =
        ["custodial-trap-intro", "--set", "game.start=quarters,blocks", "--set", "game.no_progress=10"];
    let options = numbers(&[&sets[..], &common[..]].concat());
    assert_eq!(
        names(&options),
        [
            "custodial-trap-intro game.start=quarters game.no_progress=10",
            "custodial-trap-intro game.start=blocks game.no_progress=10"
        ]
    );
}

#[test]
fn what_cannot_be_measured_is_refused() {
    let fails = |arguments: &[&str], says: &str| {
        let ended = petteia(&[&["balance"], arguments].concat(), "");
        assert!(!ended.status.success() && err(&ended).contains(says), "{}", err(&ended));
    };
    let run = PLAIN.run();
    fails(&["fage"], "unknown game `fage`");
    fails(&["tic-tac-toe", "--games", "0"], "--games 0: must be from 1");
    fails(
        &["tic-tac-toe", "--agent", text(&run), text(&run)],
        "--agent: 2 agents given for 1 variant without an agent",
    );
    fails(&["connect-four", "--agent", text(&run)], "has game tic-tac-toe instead of connect-four");
    fails(&["tic-tac-toe", "--levels", "random", "perfect", "--games", "1"], "`random` does not search");
    fails(&["tic-tac-toe", "--out", "Cargo.toml"], "already exists");
    fails(&["tic-tac-toe", "--agent", "nowhere"], "nowhere");
    fails(&["tic-tac-toe", "--generations", "0"], "--generations 0: must be from 1 to 1000");
    fails(&["tic-tac-toe", "--simulations", "8,0"], "--simulations 0: must be from 1");
    fails(
        &["tic-tac-toe", "--simulations", "8,8"],
        "--simulations 8,8: the numbers must be in ascending order",
    );
    // the second variant is invalid, which is noticed before the games of the first
    let starts =
        ["--set", "game.start=quarters,bogus", "--levels", "rollout:1", "rollout:2", "--games", "2000"];
    let ended = petteia(&[&["balance", "custodial-trap-intro"], &starts[..]].concat(), "");
    assert!(err(&ended).starts_with("error: ") && err(&ended).contains("bogus"), "{}", err(&ended));
}

/// The proof comes first, also in a game that the second player wins.
#[test]
fn a_solved_game_begins_with_its_proof() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let quick = ["--games", "4", "--most-games", "4"];
    let told = petteia(&[&["balance", "cage-4", "--out", text(&page)], &quick[..]].concat(), "");
    let words = out(&told).replace('\n', " ");
    let proof = "Proved: with best play, Blue, who plays second, wins whatever the first action is.";
    assert!(words.starts_with(proof), "{words}");
    // perfect play is a level, and the other levels are judged against it
    let found = petteia(&[&["balance", "cage-4", "--json"], &quick[..]].concat(), "");
    let found: Vec<Value> = serde_json::from_str(&out(&found)).unwrap();
    let names = level_names(&found);
    assert_eq!(names.last(), Some(&"perfect play"));
    let balance = &found[0]["balance"];
    assert_eq!(balance["proof"]["outcome"], "second");
    assert_eq!(balance["proof"]["first_actions"], 8);
    let best = &balance["levels"][names.len() - 1];
    // the value is known from the first action after the opening on
    let opening = balance["book"]["plies"].as_u64();
    assert_eq!((best["first_score"][0].as_f64(), best["proven_from"].as_u64()), (Some(0.0), opening));
}

/// A question about variants that nobody has trained: agents are trained within a budget, and the answer names each
/// variant.
#[test]
fn a_question_is_answered_from_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let question = [
        "balance",
        "custodial-trap-intro",
        "--set",
        "game.start=quarters",
        "--set",
        "game.no_progress=8,10",
        "--train-minutes",
        "0.1",
        "--games",
        "2",
        "--most-games",
        "2",
        "--simulations",
        "2",
        "--solver",
        "0",
    ];
    let asked = || elsewhere(folder.path(), &question, "");
    let answered = asked();
    let (said, told) = (err(&answered), out(&answered));
    assert!(answered.status.success() && said.contains("training 2 agents for about 0.1 min each"), "{said}");
    assert!(told.contains("In short: custodial-trap-intro game.start=quarters game.no_progress=8"), "{told}");
    let runs = folder.path().join("runs/balance");
    assert_eq!(fs::read_dir(&runs).unwrap().count(), 2);
    // if the question is repeated, nothing is trained again
    let checkpoints = || {
        let runs = fs::read_dir(&runs).unwrap().map(|run| run.unwrap().path().join("checkpoints"));
        runs.map(|folder| fs::read_dir(folder).unwrap().count()).sum::<usize>()
    };
    let before = checkpoints();
    assert!(before >= 4 && asked().status.success());
    assert_eq!(checkpoints(), before);
}
