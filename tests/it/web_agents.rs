//! `petteia serve`: agents whose files are replaced, and the page's texts for people who do not see the board.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::command::succeeds;
use crate::support::runs::{Finished, PLAIN, copy_folder, text};
use crate::support::server::Server;

/// The agent's priors for the first actions, and the network that it reports.
fn priors(server: &Server, agent: &str) -> (Value, Value) {
    let asked = json!({"game": "tic-tac-toe", "agent": agent, "simulations": 4});
    let found = server.post("/api/search", &asked);
    let mut priors: Vec<Value> = found["visits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|edge| json!([edge["action"], edge["prior"]]))
        .collect();
    priors.sort_by_key(|prior| prior[0].to_string());
    (json!(priors), found["network"].clone())
}

fn export(run: &Path, file: &Path) {
    succeeds(&["export", text(run), "--format", "safetensors", "--out", text(file)], "");
}

#[test]
fn a_run_that_was_trained_anew_plays_with_its_new_network() {
    let other = Finished::new(&["seed=77"]);
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("a");
    copy_folder(&PLAIN.run(), &run);
    let server = Server::of(&["--folder", text(folder.path())]);
    let before = priors(&server, "run-0-3");
    assert_eq!(priors(&server, "run-0-3"), before);
    fs::remove_dir_all(&run).unwrap();
    copy_folder(&other.run(), &run);
    let after = priors(&server, "run-0-3");
    assert!(after.0 != before.0 && after.1 != before.1, "{after:?}");
    // the answers are those of a program that has just been started
    let fresh = Server::of(&["--folder", text(folder.path())]);
    assert_eq!(priors(&fresh, "run-0-3"), after);
    // then the earlier run is put back
    fs::remove_dir_all(&run).unwrap();
    copy_folder(&PLAIN.run(), &run);
    assert_eq!(priors(&server, "run-0-3"), before);
    fs::remove_dir_all(&run).unwrap();
    let asked = json!({"game": "tic-tac-toe", "agent": "run-0-3", "simulations": 4});
    let (status, answer) = server.try_post("/api/search", &asked);
    assert!(status == 404 && answer["error"].as_str().unwrap().contains("does not exist"), "{answer}");
}

#[test]
fn an_export_that_was_replaced_plays_with_its_new_network() {
    let other = Finished::new(&["seed=78"]);
    let folder = tempfile::tempdir().unwrap();
    let [file, next] = ["agent.safetensors", "next.safetensors"].map(|name| folder.path().join(name));
    export(&PLAIN.run(), &file);
    export(&other.run(), &next);
    let server = Server::of(&[text(&file)]);
    let before = priors(&server, "file-0");
    // the contents of another file of the same length, in the same place
    let replacement = fs::read(&next).unwrap();
    fs::write(&file, &replacement).unwrap();
    let after = priors(&server, "file-0");
    assert!(after.0 != before.0 && after.1 != before.1, "{after:?}");
    assert_eq!(priors(&server, "file-0"), after);
    // another file with the same name
    fs::remove_file(&next).unwrap();
    export(&PLAIN.run(), &next);
    fs::rename(&next, &file).unwrap();
    assert_eq!(priors(&server, "file-0").0, before.0);
}

#[test]
fn squares_and_actions_are_told_in_words() {
    let server = Server::of(&["--folder", "nowhere"]);
    let phage = server.post("/api/position", &json!({"game": "phage"}));
    assert_eq!((&phage["names"][0][7], &phage["names"][7][1]), (&json!("black diamond"), &json!("empty")));
    assert_eq!(phage["words"], Value::Null);
    // if no action was tried, there is no reason to give
    assert_eq!(phage["why"], Value::Null);
    let why = |game: &str, actions: &[&str], tried: &str| {
        server.post("/api/position", &json!({"game": game, "actions": actions, "tried": tried}))["why"]
            .clone()
    };
    assert_eq!(why("phage", &[], "b2-b3"), "White has no piece on b2");
    let advanced = "custodial-trap-advanced";
    let late = "men are put in ascending order, and the last one is on c2";
    assert_eq!(why(advanced, &["W@b2", "B@c2"], "W@b2"), "there is a man on b2");
    assert_eq!(why(advanced, &["B@c2"], "W@b2"), late);
    assert_eq!(why(advanced, &["B@c2"], "W@h8"), "h8 is at the edge of the board");
    assert_eq!(why(advanced, &["B@c2"], "W@d2"), Value::Null);
    let set_up = server.post("/api/position", &json!({"game": advanced, "actions": ["B@c2", "first:w"]}));
    assert_eq!(set_up["words"], json!(["a black man on c2", "White begins"]));
    let said = |position: &Value| -> Vec<String> {
        let legal = position["legal"].as_array().unwrap().iter();
        legal.map(|action| format!("{}: {}", action["text"], action["words"]).replace('"', "")).collect()
    };
    assert_eq!(
        said(&set_up),
        ["pick:w: take White", "pick:b: take Black", "re:w: lift the white men", "re:b: lift the black men"]
    );
    // every button has words there
    assert!(
        said(&server.post("/api/position", &json!({"game": advanced})))
            .iter()
            .all(|said| !said.contains("null"))
    );
}
