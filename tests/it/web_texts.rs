//! `petteia serve`: games whose rules are a text, the editor's questions, and the tasks that it starts.

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use petteia::games::Games;
use petteia::registry::Catalog;
use serde_json::{Value, json};

use crate::support::command::{fails, succeeds};
use crate::support::runs::text;
use crate::support::server::Server;

const STEPS: &str = "\
game Steps by nobody
about A man steps to a neighbor and takes what is there.
board 3 x 4
piece man W B
start man: row 1 | row 4
set goal = far row
action step man any direction to not own, capture
end any own man and goal: win
stuck: loss
limit 20: draw
";

fn nowhere() -> Server {
    Server::of(&["--folder", "nowhere"])
}

fn game<'a>(home: &'a Value, id: &str) -> &'a Value {
    home["games"].as_array().unwrap().iter().find(|game| game["id"] == id).unwrap()
}

#[test]
fn texts_of_the_program_are_played_and_saved_like_other_games() {
    let server = nowhere();
    let home = server.get("/api/home");
    let games = Catalog::of::<Games>();
    for name in games.text_names() {
        let listed = game(&home, name);
        assert_eq!(listed["origin"], "text", "{name}");
        assert!(
            listed["options"].as_array().unwrap().iter().all(|option| option["name"] != "text"),
            "{listed}"
        );
        let keys: Vec<&str> = home["agents"][name]
            .as_array()
            .unwrap()
            .iter()
            .map(|agent| agent["key"].as_str().unwrap())
            .collect();
        assert!(keys.starts_with(&["rollout"]), "{name}: {keys:?}");
    }
    assert_eq!(game(&home, "phage")["origin"], "program");
    assert!(server.get("/api/starts")["hex"].as_str().unwrap().contains("data-cells=\"hexagons\""));
    let played = json!({"game": "othello", "actions": ["d3"]});
    let position = server.post("/api/position", &played);
    assert!(position["legal"].as_array().unwrap().len() == 3, "{position}");
    let saved = server.post("/api/save", &played);
    assert!(saved["text"].as_str().unwrap().contains("game Othello by"), "{saved}");
    // the program carries this text anyway
    let loaded = server.post("/api/load", &json!({"text": saved["text"]}));
    assert_eq!(loaded["games"][0]["options"], json!({}));
    assert_eq!(loaded["games"][0]["actions"], json!(["d3"]));
    // an option of a text, and its rules
    assert_eq!(game(&home, "hex")["options"][0]["values"], json!([3, 20]));
    let small = json!({"game": "hex", "options": {"size": 5}});
    assert_eq!(server.post("/api/position", &small)["rows"], 5);
    assert!(
        server.post("/api/rules", &small)["html"]
            .as_str()
            .unwrap()
            .contains("connected own from near to goal")
    );
    let asked = json!({"game": "othello", "agent": "rollout", "simulations": 8});
    assert!(server.post("/api/search", &asked)["action"].is_string());
}

#[test]
fn a_piece_is_chosen_first_and_where_it_goes_last() {
    let server = nowhere();
    let start = json!({"game": "breakthrough", "actions": ["a2-a3"]});
    let position = server.post("/api/position", &start);
    let legal = position["legal"].as_array().unwrap();
    let down = legal.iter().find(|action| action["text"] == "a7-a6").unwrap();
    assert_eq!(down["places"], json!([[1, 0], [2, 0]]));
}

#[test]
fn a_file_with_rules_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other) = (folder.path().join("my.game"), folder.path().join("taken.game"));
    fs::write(&path, STEPS).unwrap();
    let server = Server::of(&[text(&path), "--folder", "nowhere"]);
    let home = server.get("/api/home");
    let options = json!({"text": STEPS});
    assert_eq!(game(&home, "steps")["options"][0]["default"], STEPS);
    let played = json!({"game": "steps", "options": options, "actions": ["a1-a2"]});
    assert_eq!(server.post("/api/position", &played)["players"], json!(["White", "Black"]));
    let saved = server.post("/api/save", &played);
    let loaded = server.post("/api/load", &json!({"text": saved["text"]}));
    assert_eq!(loaded["games"][0]["options"], options);
    fs::write(&other, STEPS.replace("Steps", "Phage")).unwrap();
    fails(&["serve", text(&other), "--port", "0"], 2, &["phage is the id of another game"]);
    fs::write(&other, STEPS.replace("step man", "stepp man")).unwrap();
    fails(&["serve", text(&other), "--port", "0"], 2, &["taken.game: line 7, column 8"]);
}

#[test]
fn a_text_is_explained_or_its_first_problem_said() {
    let server = nowhere();
    let ask = |text: &str| server.post("/api/text", &json!({"text": text}));
    let answer = ask(STEPS);
    assert_eq!((&answer["game"]["id"], &answer["taken"]), (&json!("steps"), &json!(false)));
    assert_eq!([&answer["rows"], &answer["columns"], &answer["legal"]], [&json!(4), &json!(3), &json!(7)]);
    assert!(answer["svg"].as_str().unwrap().starts_with("<svg"));
    let lines = answer["lines"].as_array().unwrap();
    assert_eq!(lines.iter().map(|line| line["line"].as_u64().unwrap()).collect::<Vec<_>>(), [6, 7, 8]);
    // the far row of the player who begins is at the top
    assert_eq!(lines[0]["places"], json!([[0, 0], [0, 1], [0, 2]]));
    let problem = |text: &str| ask(text)["problem"].clone();
    let wrong = problem(&STEPS.replace("any direction", "forwart"));
    assert_eq!((&wrong["line"], &wrong["column"]), (&json!(7), &json!(17)), "{wrong}");
    assert!(problem("")["what"].as_str().unwrap().contains("`game`"));
    let long = problem(&format!("{STEPS}#{}", "x".repeat(1 << 16)));
    assert!(long["what"].as_str().unwrap().starts_with("a text has at most 65536 bytes"), "{long}");
    for title in ["Phage", "Othello"] {
        assert_eq!(ask(&STEPS.replace("Steps", title))["taken"], true, "{title}");
    }
    assert_eq!(server.try_post("/api/text", &json!({})).0, 400);
    // a text has a maximum size, and so does every request
    let (status, _) = server.try_post("/api/text", &json!({"text": "x".repeat(9 << 20)}));
    assert_eq!(status, 413);
    let texts = server.get("/api/texts");
    assert!(ask(texts["template"].as_str().unwrap())["game"].is_object());
    let shipped = texts["texts"].as_array().unwrap();
    assert_eq!(shipped.len(), Catalog::of::<Games>().text_names().len());
    for text in shipped {
        let answer = ask(text["text"].as_str().unwrap());
        assert_eq!((&answer["game"]["title"], &answer["taken"]), (&text["title"], &json!(false)));
    }
}

/// Polls the task until it is in this state.
fn task(server: &Server, state: &str) -> Value {
    for _ in 0..6000 {
        let task = server.get("/api/task")["task"].clone();
        if task["state"] == state {
            return task;
        }
        assert_eq!(task["state"], "running", "{task}");
        sleep(Duration::from_millis(50));
    }
    panic!("never {state}");
}

#[test]
fn one_task_at_a_time_and_it_can_be_canceled() {
    let server = nowhere();
    assert_eq!(server.get("/api/home")["tasks"].as_array().unwrap().last().unwrap(), "balance");
    assert!(server.get("/api/task")["task"].is_null());
    let large = server.get("/api/texts")["texts"][0]["text"].clone();
    assert_eq!(server.post("/api/balance", &json!({"text": large}))["task"]["state"], "running");
    let (status, answer) = server.try_post("/api/balance", &json!({"text": STEPS}));
    assert!(status == 400 && answer["error"].as_str().unwrap().contains("is still running"), "{answer}");
    server.post("/api/cancel", &json!({}));
    task(&server, "canceled");
    server.post("/api/balance", &json!({"text": STEPS}));
    let done = task(&server, "finished");
    assert!(done["balance"]["answer"].as_str().unwrap().contains("White"), "{done}");
    assert_eq!(done["balance"]["levels"].as_array().unwrap().len(), 3);
    assert_eq!(server.try_post("/api/balance", &json!({"text": "game X by Y"})).0, 400);
}

#[test]
#[cfg(all(unix, feature = "train"))]
fn an_agent_is_trained_and_what_it_has_learned_stays() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    let mut server = Server::of(&["--folder", text(&runs)]);
    server.post("/api/train", &json!({"text": STEPS}));
    let trained = loop {
        let task = server.get("/api/task")["task"].clone();
        assert_eq!(task["state"], "running", "{task}");
        if task["generation"].as_u64() > Some(0) {
            break task;
        }
        sleep(Duration::from_millis(50));
    };
    assert_eq!((&trained["run"], &trained["agent"]), (&json!(0), &json!("run-0-1")));
    // the game of the run is listed, with its text
    let home = server.get("/api/home");
    assert_eq!(
        (&game(&home, "steps")["origin"], &home["runs"][0]["state"]),
        (&json!("run"), &json!("running"))
    );
    let options = json!({"text": STEPS});
    assert_eq!(home["agents"]["steps"][0]["options"], options);
    let asked = json!({"game": "steps", "options": options, "agent": "run-0-1", "simulations": 8});
    assert!(server.post("/api/search", &asked)["action"].is_string());
    let games = server.get("/api/runs/0/games");
    assert_eq!(games["games"][0]["options"], options);
    // the server saves the run before it ends
    assert!(Command::new("kill").arg(server.program.id().to_string()).status().unwrap().success());
    assert!(server.program.wait().unwrap().success());
    succeeds(&["audit", text(&runs.join("steps"))], "");
}

#[test]
fn other_devices_may_write_games_but_begin_no_task() {
    let (server, lines) = Server::begun(&["--folder", "nowhere", "--listen", "127.0.0.1"], 2);
    let password = lines[1].strip_prefix("password: ").unwrap();
    let given = format!("password={password}");
    let host = format!("Host: {}\r\n", server.address);
    let ask = |method: &str, path: &str, headers: &str, body: &str| {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(server.address).unwrap();
        let length = body.len();
        let request =
            format!("{method} {path} HTTP/1.1\r\n{host}{headers}content-length: {length}\r\n\r\n{body}");
        let _ = stream.write_all(request.as_bytes());
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer
    };
    let entered = ask("POST", "/password", "", &given);
    let cookie = entered.split("set-cookie: ").nth(1).unwrap().split([';', '\r']).next().unwrap();
    let page = ask("GET", "/", &format!("cookie: {cookie}\r\n"), "");
    let token = page.split("name=\"token\" content=\"").nth(1).unwrap().split('"').next().unwrap();
    let headers = format!("cookie: {cookie}\r\nx-petteia-token: {token}\r\n");
    let body = json!({"text": STEPS}).to_string();
    let status = |path: &str| ask("POST", path, &headers, &body).split(' ').nth(1).unwrap().to_string();
    assert_eq!(
        ["/api/text", "/api/train", "/api/balance", "/api/cancel"].map(status),
        ["200", "403", "403", "403"]
    );
    assert!(ask("GET", "/api/home", &headers, "").contains("\"tasks\":[]"));
}
