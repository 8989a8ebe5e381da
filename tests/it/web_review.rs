//! `petteia serve`: reviews of games, which equal those of the terminal, and the contents of the first view.

use std::collections::BTreeMap;
use std::fs;

use petteia::games::Games;
use petteia::registry::Catalog;
use serde_json::{Value, json};

use crate::support::command::{out, succeeds};
use crate::support::server::Server;

const ACTIONS: [&str; 9] = ["4", "1", "4", "1", "3", "7", "5", "2", "6"];

/// All plies of a review, requested in parts.
fn reviewed(server: &Server, game: &Value, agent: &str, simulations: usize) -> Vec<Value> {
    let (mut plies, mut from) = (Vec::new(), json!(0));
    while !from.is_null() {
        let mut asked = game.clone();
        asked["agent"] = agent.into();
        asked["simulations"] = simulations.into();
        asked["from"] = from;
        let answer = server.post("/api/review", &asked);
        assert!((answer["noticed"].as_f64().unwrap() - 0.05).abs() < 1e-6);
        plies.extend(answer["plies"].as_array().unwrap().clone());
        from = answer["next"].clone();
    }
    plies
}

/// The mistakes by ply, in the words of the terminal.
fn mistakes(plies: &[Value], actions: &[&str]) -> BTreeMap<usize, String> {
    let told = |ply: &Value| {
        let (at, mistake) = (ply["ply"].as_u64()? as usize, &ply["mistake"]);
        let better = mistake["better"].as_str()?;
        let [could, got] = ["could", "got"].map(|name| mistake[name].as_f64().unwrap() as f32);
        let line: Vec<&str> = mistake["line"].as_array()?.iter().filter_map(Value::as_str).collect();
        assert_eq!(line[0], better);
        let (played, line) = (actions[at], line.join(" "));
        Some((
            at,
            format!(
                "plays {played} and goes from {could:.2} to {got:.2}; better {better} (expected: {line})"
            ),
        ))
    };
    plies.iter().filter_map(told).collect()
}

#[test]
fn a_review_has_the_numbers_of_the_terminal() {
    let server = Server::of(&["--folder", "nowhere"]);
    let game = json!({"game": "connect-four", "actions": ACTIONS});
    let plies = reviewed(&server, &game, "rollout", 400);
    assert_eq!(
        plies.iter().map(|ply| ply["ply"].as_u64().unwrap()).collect::<Vec<_>>(),
        (0..9).collect::<Vec<_>>()
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("game.json");
    fs::write(&file, server.post("/api/save", &game)["text"].as_str().unwrap()).unwrap();
    let typed = format!("load {}\nreview\nquit\n", file.display());
    let said = out(&succeeds(&["play", "connect-four", "--opponent", "rollout:400"], typed));
    let said: String = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = mistakes(&plies, &ACTIONS);
    assert!(!told.is_empty() && told.len() <= 5, "{told:?}");
    for (ply, words) in &told {
        let line = said.split("ply ").find(|line| line.starts_with(&format!("{ply}: ")));
        assert!(line.is_some_and(|line| line.contains(words)), "{ply}: {words} in {said}");
    }
    assert_eq!(said.matches(" goes from ").count(), told.len(), "{said}");
    // each ply has the same search as the answer to a request for that position
    let asked = json!({
        "game": "connect-four", "actions": &ACTIONS[..3], "agent": "rollout", "simulations": 400, "seed": 1
    });
    assert_eq!(plies[3]["search"], server.post("/api/search", &asked));
    // a review that begins at a later ply has the same searches
    let mut asked = game.clone();
    (asked["agent"], asked["simulations"], asked["from"]) = (json!("rollout"), json!(400), json!(5));
    let late = server.post("/api/review", &asked);
    assert_eq!(late["plies"][0], plies[5]);
}

#[test]
fn a_game_that_is_not_over_is_reviewed_up_to_its_end() {
    let server = Server::of(&["--folder", "nowhere"]);
    // O lets X have three in a row
    let actions = ["b2", "a1", "c2", "b1"];
    let mut game = json!({"game": "tic-tac-toe", "actions": actions});
    let plies = reviewed(&server, &game, "rollout", 200);
    assert_eq!(plies.len(), 5);
    let last = &plies[3]["mistake"];
    assert_eq!(last["better"], "a2", "{last}");
    assert!(last["could"].as_f64().unwrap() > 0.2 && last["got"].as_f64().unwrap() < 0.01, "{last}");
    assert_eq!(
        (&plies[4]["search"]["action"], &plies[4]["search"]["proven"]),
        (&json!("a2"), &json!("first"))
    );
    // a resigned game is not over according to its actions
    game["resigned"] = json!("first");
    assert_eq!(reviewed(&server, &game, "rollout", 200), plies);
    game["actions"] = json!([]);
    game["resigned"] = Value::Null;
    assert_eq!(reviewed(&server, &game, "rollout", 20).len(), 1);
}

#[test]
fn a_review_is_asked_of_an_agent_that_searches_or_is_perfect() {
    let server = Server::of(&["--folder", "nowhere"]);
    let status = |changes: Value| {
        let mut asked =
            json!({"game": "tic-tac-toe", "actions": ["b2"], "agent": "rollout", "simulations": 4});
        asked.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        server.try_post("/api/review", &asked)
    };
    assert_eq!(status(json!({})).0, 200);
    // beyond the end there is nothing
    let (code, answer) = status(json!({"from": 7}));
    assert_eq!((code, &answer["plies"], &answer["next"]), (200, &json!([]), &Value::Null));
    let (code, answer) = status(json!({"agent": "random"}));
    assert!(
        code == 400 && answer["error"].as_str().unwrap().contains("needs an agent that searches"),
        "{answer}"
    );
    // perfect play needs no search
    for agent in ["perfect", "shipped"] {
        let (code, answer) = status(json!({"agent": agent, "simulations": null}));
        assert_eq!((code, &answer["plies"][0]["search"]["simulations"]), (200, &Value::Null), "{answer}");
        assert_eq!(answer["plies"][0]["search"]["value"].as_f64(), Some(0.0), "{answer}");
    }
    for wrong in [
        json!({"from": -1}),
        json!({"simulations": 1_000_001}),
        json!({"agent": "nobody"}),
        json!({"actions": ["d9"]}),
        json!({"actions": "b2"}),
    ] {
        assert_eq!(status(wrong.clone()).0, 400, "{wrong}");
    }
}

#[test]
fn the_first_view_has_a_board_and_a_line_for_each_game() {
    let server = Server::of(&["--folder", "nowhere"]);
    let starts: BTreeMap<String, String> = serde_json::from_value(server.get("/api/starts")).unwrap();
    assert_eq!(starts.len(), Catalog::of::<Games>().names().len());
    let home = server.get("/api/home");
    for game in home["games"].as_array().unwrap() {
        let id = game["id"].as_str().unwrap();
        assert!(starts[id].starts_with("<svg") && starts[id].contains("<title>The start of "), "{id}");
        let lines = game["brief"].as_array().unwrap().len();
        assert!(lines == 3 || game["origin"] == "text" && lines > 0, "{id}");
    }
}
