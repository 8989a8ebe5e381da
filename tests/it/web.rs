//! `petteia serve`: the requests of its page, and forbidden requests of others.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use petteia::games::Games;
use petteia::registry::Catalog;
use serde_json::{Value, json};

use crate::support::command::{fails, out, petteia, succeeds};
use crate::support::runs::{PLAIN, contents, copy_folder, text};
use crate::support::server::Server;

#[test]
fn every_game_can_be_played_and_drawn() {
    let server = Server::of(&[text(&PLAIN.run())]);
    let home = server.get("/api/home");
    let names = Catalog::of::<Games>().names();
    assert_eq!(home["games"].as_array().unwrap().len(), names.len());
    for id in names {
        let (mut actions, mut ended) = (Vec::<String>::new(), false);
        for ply in 0..60 {
            let position = server.post("/api/position", &json!({"game": id, "actions": actions}));
            assert!(position["svg"].as_str().unwrap().starts_with("<svg"), "{id}");
            assert_eq!(position["actions"], json!(actions));
            let legal = position["legal"].as_array().unwrap();
            ended = !position["over"].is_null();
            assert_eq!(legal.is_empty(), ended, "{id}");
            if ended {
                break;
            }
            let chosen = match ply % 2 {
                0 => legal[ply * 7 % legal.len()]["text"].clone(),
                _ => {
                    let asked = json!({"game": id, "actions": actions, "agent": "rollout", "simulations": 4});
                    let found = server.post("/api/search", &asked);
                    let score = found["score"].as_f64().unwrap();
                    assert!((0.0..=1.0).contains(&score), "{id}: {found}");
                    // the position with the visits of the search on the board
                    let weights: Vec<Value> = found["visits"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|edge| json!([edge["action"], 0.5]))
                        .collect();
                    let shown =
                        json!({"game": id, "actions": actions, "weights": weights, "line": found["line"]});
                    assert!(server.post("/api/position", &shown)["svg"].as_str().unwrap().len() > 500);
                    found["action"].clone()
                }
            };
            assert!(legal.iter().any(|action| action["text"] == chosen), "{id}: {chosen}");
            actions.push(chosen.as_str().unwrap().into());
        }
        assert!(ended || actions.len() == 60);
        let rules = server.post("/api/rules", &json!({"game": id}));
        assert!(rules["html"].as_str().unwrap().contains("<svg"), "{id}");
    }
}

#[test]
fn every_file_of_the_page_is_served() {
    let server = Server::of(&["--folder", "nowhere"]);
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page/assets");
    let mut sizes = 0;
    for entry in fs::read_dir(assets).unwrap() {
        let path = entry.unwrap().path();
        let (name, wanted) =
            (path.file_name().unwrap().to_str().unwrap(), fs::read_to_string(&path).unwrap());
        sizes += wanted.len();
        let place = if name == "index.html" { "/".into() } else { format!("/assets/{name}") };
        let (status, text) = server.answer(server.request("GET", &place, "").as_bytes());
        let (wanted, lines): (Vec<_>, Vec<_>) = (wanted.lines().collect(), text.lines().collect());
        let is_filled = |(wanted, line): (&&str, &&str)| wanted.contains("{{") || wanted == line;
        assert!(
            status == 200 && wanted.len() == lines.len() && wanted.iter().zip(&lines).all(is_filled),
            "{name} differs from what is built in"
        );
        assert!(!text.contains("{{"), "a placeholder in {name} is not filled in");
        assert!(name != "index.html" || text.contains(&format!("content=\"{}\"", server.token)));
    }
    assert!(sizes < 184_000, "the page has {sizes} bytes");
}

/// A proxy for a few requests that removes a prefix and keeps the host name of the request.
fn proxy(to: SocketAddr, prefix: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                head.extend(byte);
            }
            let head = String::from_utf8(head).unwrap();
            let answer = if head.contains(&format!(" {prefix}/")) {
                let mut server = TcpStream::connect(to).unwrap();
                server.write_all(head.replacen(prefix, "", 1).as_bytes()).unwrap();
                let mut answer = Vec::new();
                server.read_to_end(&mut answer).unwrap();
                answer
            } else {
                b"HTTP/1.1 404 Not Found\r\n\r\n".to_vec()
            };
            stream.write_all(&answer).unwrap();
        }
    });
    address
}

#[test]
fn the_page_works_behind_a_proxy_that_cuts_a_prefix_off() {
    let server = Server::of(&["--folder", "nowhere", "--host", "my-box.example"]);
    let proxy = proxy(server.address, "/proxy/7180");
    let ask = |path: &str, host: &str| {
        let mut stream = TcpStream::connect(proxy).unwrap();
        let token = &server.token;
        let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nx-petteia-token: {token}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse::<u16>().unwrap(), body.to_string())
    };
    let (status, page) = ask("/proxy/7180/", "my-box.example");
    assert_eq!(status, 200, "{page}");
    let addresses: Vec<&str> = ["href=\"", "src=\""]
        .iter()
        .flat_map(|start| page.split(start).skip(1).map(|rest| rest.split('"').next().unwrap()))
        .filter(|address| !address.starts_with('#') && !address.starts_with("data:"))
        .collect();
    assert!(addresses.len() >= 4, "{addresses:?}");
    for address in addresses {
        assert_eq!(ask(&format!("/proxy/7180/{address}"), "my-box.example").0, 200, "{address}");
    }
    // request an address as the page's script does: relative to the page
    let script = fs::read_to_string("src/page/assets/source.js").unwrap();
    assert!(script.contains("fetch(`api/${path}`"));
    let (status, home) = ask("/proxy/7180/api/home", "my-box.example:443");
    assert!(status == 200 && home.contains("phage"), "{status}: {home}");
    // any other name is refused
    assert_eq!(ask("/proxy/7180/", "other.example").0, 403);
    assert_eq!(ask("/", "my-box.example").0, 404);
    for wrong in ["http://my-box.example", "my-box.example:80", ""] {
        fails(&["serve", "--host", wrong], 2, &["only a host name"]);
    }
}

#[test]
fn an_illegal_action_is_explained() {
    let server = Server::of(&["--folder", "nowhere"]);
    let asked = json!({"game": "connect-four", "actions": ["4", "9"]});
    let (status, answer) = server.try_post("/api/position", &asked);
    assert_eq!(status, 400);
    assert!(answer["error"].as_str().unwrap().starts_with("`9` is not legal here"), "{answer}");
    for wrong in [
        json!({"game": "chess"}),
        json!({"game": "phage", "start": "nonsense"}),
        json!({"game": "phage", "options": {"no": 1}}),
        json!({"actions": []}),
        json!([1, 2]),
    ] {
        assert_eq!(server.try_post("/api/position", &wrong).0, 400, "{wrong}");
    }
    for (agent, simulations) in [("rollout", 1_000_001), ("run-0-1", 99_999_999_999_u64)] {
        let asked = json!({"game": "tic-tac-toe", "agent": agent, "simulations": simulations});
        let (status, answer) = server.try_post("/api/search", &asked);
        assert_eq!(status, 400, "{answer}");
        assert!(answer["error"].as_str().unwrap().contains("must be at most 1000000"), "{answer}");
    }
    // no key is used as a path
    for key in ["../../etc/passwd", "/etc/passwd", "run-0-1", "run-../x", "file-0", "run-1", "ugi:sh", ""] {
        let asked = json!({"game": "tic-tac-toe", "agent": key, "simulations": 1});
        let (status, answer) = server.try_post("/api/search", &asked);
        assert!([400, 404].contains(&status), "{key}: {answer}");
    }
}

#[test]
fn the_same_question_has_the_same_answer() {
    let server = Server::of(&[text(&PLAIN.run())]);
    let home = server.get("/api/home");
    let agents = home["agents"]["tic-tac-toe"].as_array().unwrap();
    let keys: Vec<&str> = agents.iter().map(|agent| agent["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["run-0-3", "run-0-2", "run-0-1", "shipped", "rollout", "perfect", "random"]);
    // games that a solver solves at once have a perfect player
    let has_perfect =
        |id: &&str| home["agents"][*id].as_array().unwrap().iter().any(|agent| agent["key"] == "perfect");
    let games = ["tic-tac-toe", "cage-4", "cage-6", "connect-four", "phage"];
    assert_eq!(games.iter().filter(|id| has_perfect(id)).collect::<Vec<_>>(), [&"tic-tac-toe", &"cage-4"]);
    for key in keys {
        let ask = |seed: u64| {
            let asked = json!({
                "game": "tic-tac-toe", "actions": ["b2"], "agent": key, "simulations": 50, "seed": seed
            });
            server.post("/api/search", &asked)
        };
        assert_eq!(ask(1), ask(1), "{key}");
    }
    let asked = json!({"game": "tic-tac-toe", "actions": ["b2", "a2"], "agent": "perfect"});
    let found = server.post("/api/search", &asked);
    assert_eq!((found["proven"].as_str(), found["score"].as_f64()), (Some("first"), Some(1.0)));
}

#[test]
fn replies_vary_with_the_seed_if_asked_to() {
    let server = Server::of(&[text(&PLAIN.run())]);
    let replies = |vary: bool| -> BTreeSet<String> {
        let reply = |seed: u64| {
            let asked = json!({
                "game": "tic-tac-toe", "agent": "run-0-1", "simulations": 16, "seed": seed, "vary": vary
            });
            let found = server.post("/api/search", &asked);
            assert_eq!(found, server.post("/api/search", &asked));
            let edges = found["visits"].as_array().unwrap();
            let visits = |edge: &Value| edge["visits"].as_u64().unwrap();
            let played = edges.iter().find(|edge| edge["action"] == found["action"]).unwrap();
            // the first action is the one that would be played without varying
            assert!(2 * visits(played) >= visits(&edges[0]), "{found}");
            found["action"].as_str().unwrap().to_string()
        };
        (1..30).map(reply).collect()
    };
    assert_eq!(replies(false).len(), 1);
    assert!(replies(true).len() > 1);
}

#[test]
fn a_new_search_of_a_page_ends_its_earlier_one() {
    let server = Server::of(&["--folder", "nowhere"]);
    let asked = |page: &str, seconds: f64| {
        json!({"game": "cage", "agent": "rollout", "seconds": seconds,
        "page": page})
    };
    thread::scope(|scope| {
        let first = scope.spawn(|| server.post("/api/search", &asked("a", 60.0)));
        // once the search runs, a later search of the same page ends it
        loop {
            server.post("/api/search", &asked("a", 0.05));
            if first.is_finished() {
                break;
            }
        }
        assert!(first.join().unwrap()["simulations"].as_u64().unwrap() > 0);
    });
    // searches of clients that are gone make room for others
    for page in ["b", "c", "d", "e"] {
        let request = server.request("POST", "/api/search", &asked(page, 60.0).to_string());
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        thread::sleep(std::time::Duration::from_millis(100));
    }
    server.post("/api/search", &asked("f", 0.05));
}

#[test]
fn requests_of_others_are_refused() {
    let server = Server::of(&[text(&PLAIN.run())]);
    let before = contents(&PLAIN.run());
    let Server { address, token, .. } = &server;
    let own = format!("Host: {address}\r\nx-petteia-token: {token}\r\n");
    let status = |request: String| server.answer(request.as_bytes()).0;
    assert_eq!(status(format!("GET /api/home HTTP/1.1\r\n{own}\r\n")), 200);
    for headers in [
        String::new(),
        "Host: evil.example\r\n".into(),
        format!("Host: evil.example:{}\r\nx-petteia-token: {token}\r\n", address.port()),
        format!("{own}Origin: http://evil.example\r\n"),
        format!("{own}Origin: null\r\n"),
        format!("{own}Host: {address}\r\n"),
        format!("Host: {address}\r\nHost: evil.example\r\nx-petteia-token: {token}\r\n"),
        format!("{own}x-petteia-token: {token}\r\n"),
        // a page of another program on this machine
        format!("{own}Origin: http://127.0.0.1:1\r\n"),
        format!("Host: {address}\r\n"),
        format!("Host: {address}\r\nx-petteia-token: {}\r\n", "0".repeat(32)),
    ] {
        assert_eq!(status(format!("GET /api/home HTTP/1.1\r\n{headers}\r\n")) / 100, 4, "{headers}");
    }
    // through a tunnel, and port 80 as browsers write it
    for host in ["localhost:8000", "127.0.0.1"] {
        let headers = format!("Host: {host}\r\nOrigin: http://{host}\r\nx-petteia-token: {token}\r\n");
        assert_eq!(status(format!("GET /api/home HTTP/1.1\r\n{headers}\r\n")), 200, "{host}");
    }
    for path in [
        "/../Cargo.toml",
        "/assets/../Cargo.toml",
        "/assets/..%2f..%2fCargo.toml",
        "/assets/%2e%2e/%2e%2e/etc/passwd",
        "/assets/app.js%00.css",
        "/api/runs/../../x",
        "/api/runs/99999999999999999999",
        "/api/runs/7",
        "/api/runs/-1/games",
        "//etc/passwd",
    ] {
        assert_eq!(status(format!("GET {path} HTTP/1.1\r\n{own}\r\n")) / 100, 4, "{path}");
    }
    for (method, wanted) in [("PUT", 405), ("DELETE", 405), ("OPTIONS", 405), ("BREW", 405)] {
        assert_eq!(status(format!("{method} /api/home HTTP/1.1\r\n{own}\r\n")), wanted, "{method}");
    }
    // too large: rejected before the body is read
    let huge = format!("POST /api/load HTTP/1.1\r\n{own}content-length: 104857600\r\n\r\n");
    assert_eq!(status(huge), 413);
    let mut chunked =
        format!("POST /api/load HTTP/1.1\r\n{own}transfer-encoding: chunked\r\n\r\n").into_bytes();
    for _ in 0..9 {
        chunked.extend(format!("{:x}\r\n", 1 << 20).as_bytes());
        chunked.resize(chunked.len() + (1 << 20), b' ');
        chunked.extend(b"\r\n");
    }
    assert!([413, 0].contains(&server.answer(&chunked).0));
    // malformed requests
    let nested = format!("{{\"game\":{}", "[".repeat(100_000));
    let nulls = "{\"game\":\"phage\\u0000\",\"actions\":[\"\\u0000\"]}";
    for body in ["", "null", "\0\0\0", &nested, nulls] {
        assert_eq!(status(server.request("POST", "/api/position", body)), 400);
    }
    for bytes in [
        &b"\0\0\0\0\r\n\r\n"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01",
        b"\r\n\r\n",
    ] {
        assert_ne!(server.answer(bytes).0, 200);
    }
    let upgrade = format!(
        "GET /api/home HTTP/1.1\r\n{own}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    // this is treated as an ordinary request, and what follows it is not read
    let frames = [upgrade.as_bytes(), b"\xff\xff\xff\xff\xff"].concat();
    assert_eq!(server.answer(&frames).0, 200);
    let long = format!("GET /{} HTTP/1.1\r\n{own}\r\n", "a".repeat(1 << 20));
    assert!([0, 400, 414, 431].contains(&status(long)));
    // more silent connections than the server has places for
    let idle: Vec<_> = (0..400).filter_map(|_| TcpStream::connect(address).ok()).collect();
    assert_eq!(status(format!("GET /api/home HTTP/1.1\r\n{own}\r\n")), 200);
    drop(idle);
    assert_eq!(contents(&PLAIN.run()), before, "nothing is written into a run");
}

/// A page that was loaded before the program restarted asks for its run first.
#[test]
fn a_run_need_not_be_listed_before_it_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    crate::support::runs::copy_folder(&PLAIN.run(), &folder.path().join("a"));
    let server = Server::of(&["--folder", text(folder.path())]);
    assert_eq!(server.get("/api/runs/0")["name"], "a");
}

#[test]
fn a_run_is_shown_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::of(&["--folder", text(folder.path())]);
    assert_eq!(server.get("/api/home")["runs"], json!([]));
    // a run that is started later
    let run = folder.path().join("later");
    crate::support::runs::copy_folder(&PLAIN.run(), &run);
    let home = server.get("/api/home");
    assert_eq!((&home["runs"][0]["name"], &home["runs"][0]["state"]), (&json!("later"), &json!("finished")));
    let about = server.get("/api/runs/0");
    assert_eq!((about["generation"].as_u64(), about["planned"].as_u64()), (Some(3), Some(3)));
    assert_eq!(about["checkpoints"].as_array().unwrap().len(), 3);
    let agent = &about["checkpoints"][2]["agent"];
    let asked = json!({"game": "tic-tac-toe", "agent": agent, "simulations": 10});
    assert_eq!(server.post("/api/search", &asked)["simulations"], 10);
    let charts = server.get("/api/runs/0/charts");
    let html = charts["html"].as_str().unwrap();
    assert!(html.contains("<svg") && html.contains("Policy loss") && !html.contains("<script"), "{html}");
    assert_eq!(charts["stamp"], about["stamp"]);
    let games = server.get("/api/runs/0/games");
    assert_eq!(games["generation"], 3);
    let games = games["games"].as_array().unwrap();
    assert!(!games.is_empty());
    for game in games {
        let plies = game["actions"].as_array().unwrap().len();
        assert_eq!(game["scores"].as_array().unwrap().len(), plies);
        let result = match game["outcome"].as_str().unwrap() {
            "first" => "X wins",
            "second" => "O wins",
            outcome => {
                assert_eq!(outcome, "draw");
                "a draw"
            }
        };
        let name = game["name"].as_str().unwrap();
        assert!(
            name.starts_with("game ") && name.ends_with(&format!(": {result} after {plies} actions")),
            "{name}"
        );
    }
    // a shard that is being written is left out
    let last = PLAIN.run().join("selfplay/generation-0003");
    let next = run.join("selfplay/generation-0004");
    fs::create_dir(&next).unwrap();
    let shard = fs::read_dir(last).unwrap().map(|entry| entry.unwrap().path());
    let shard = shard.into_iter().find(|path| path.to_str().unwrap().ends_with(".jsonl.zst")).unwrap();
    fs::copy(&shard, next.join(shard.file_name().unwrap())).unwrap();
    assert_eq!(server.get("/api/runs/0/games")["generation"], 3);
    // the run writes more
    fs::OpenOptions::new().append(true).open(run.join("metrics.jsonl")).unwrap().write_all(b"{}\n").unwrap();
    assert_ne!(server.get("/api/runs/0")["stamp"], about["stamp"]);
}

/// A problem of one run is reported with that run, and the others are shown.
#[test]
fn a_run_that_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["bad", "good", "odd"] {
        copy_folder(&PLAIN.run(), &folder.path().join(name));
    }
    fs::write(folder.path().join("bad/config.toml"), "net = 5").unwrap();
    let metrics = folder.path().join("odd/metrics.jsonl");
    let mut file = fs::OpenOptions::new().append(true).open(&metrics).unwrap();
    file.write_all(b"{\"kind\":\"ladder\",\"generation\":18446744073709551615,\"matches\":[]}\n").unwrap();
    file.write_all(b"{\"kind\":\"health\",\"generation\":2,\"surprise\":1e308}\n").unwrap();
    let server = Server::of(&["--folder", text(folder.path())]);
    let home = server.get("/api/home");
    let states: Vec<(&str, &str)> = home["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| (run["name"].as_str().unwrap(), run["state"].as_str().unwrap()))
        .collect();
    assert_eq!(states, [("bad", "damaged"), ("good", "finished"), ("odd", "finished")]);
    assert!(home["runs"][0]["problem"].as_str().unwrap().contains("config.toml"), "{home}");
    assert!(server.get("/api/runs/2/charts")["html"].as_str().unwrap().contains("<svg"));
    // the metrics are replaced by those of another run, and then removed
    fs::write(&metrics, fs::read(folder.path().join("good/metrics.jsonl")).unwrap()).unwrap();
    let known = |id: usize| {
        let about = server.get(&format!("/api/runs/{id}"));
        let checkpoints = about["checkpoints"].as_array().unwrap().clone();
        checkpoints.into_iter().map(|of| [of["elo"].clone(), of["steps"].clone()]).collect::<Vec<_>>()
    };
    assert_eq!(known(2), known(1));
    fs::remove_file(&metrics).unwrap();
    assert_eq!(server.get("/api/runs/2")["checkpoints"][2]["steps"], Value::Null);
}

#[test]
fn games_are_saved_and_loaded() {
    let server = Server::of(&["--folder", "nowhere"]);
    let game = json!({"game": "tic-tac-toe", "actions": ["b2", "a1", "c3"]});
    let saved = server.post("/api/save", &game);
    let load = |text: &str| server.post("/api/load", &json!({"text": text}))["games"].clone();
    let games = load(saved["text"].as_str().unwrap());
    assert_eq!(games[0]["actions"], game["actions"]);
    // games saved in the terminal have the same format
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("game.json");
    let typed = format!("b2\nsave {}\nquit\n", file.display());
    succeeds(&["play", "tic-tac-toe", "--opponent", "perfect"], typed);
    assert_eq!(load(&fs::read_to_string(&file).unwrap())[0]["actions"].as_array().unwrap().len(), 2);
    let file = folder.path().join("match.jsonl");
    succeeds(&["arena", "tic-tac-toe", "random", "perfect", "--games", "4", "--save", text(&file)], "");
    let games = load(&fs::read_to_string(&file).unwrap());
    assert_eq!(games.as_array().unwrap().len(), 4);
    assert!(games[0]["name"].as_str().unwrap().starts_with("random against perfect"), "{games}");
    assert!(!games[0]["outcome"].is_null());
    for wrong in ["", "{}", "{\"format\":1}", "not a game"] {
        assert_eq!(server.try_post("/api/load", &json!({"text": wrong})).0, 400);
    }
    let cheat = saved["text"].as_str().unwrap().replace("c3", "a1");
    assert_eq!(server.try_post("/api/load", &json!({"text": cheat})).0, 400);
}

#[test]
fn a_board_is_seen_from_either_side() {
    let server = Server::of(&["--folder", "nowhere"]);
    let seen = |game: &str, viewer: Value, flipped: bool| {
        let asked = json!({"game": game, "viewer": viewer, "flipped": flipped});
        let answer = server.post("/api/position", &asked);
        (answer["turned"].as_bool().unwrap(), answer["upright"].as_bool().unwrap(), answer["svg"].clone())
    };
    // a player sees the board from their own side
    let (first, second) = (seen("caissa", json!("first"), false), seen("caissa", json!("second"), false));
    assert!(!first.0 && second.0 && first.2 != second.2);
    assert_eq!(seen("caissa", json!("second"), true), first);
    assert_eq!(seen("caissa", Value::Null, true), second);
    // if no side of the board belongs to a player, the board is turned only by hand
    assert!(!seen("cage", json!("second"), false).0 && seen("cage", json!("second"), true).0);
    // and an upright board is never turned
    let standing = seen("connect-four", json!("first"), false);
    assert!(!standing.0 && standing.1 && !first.1);
    assert_eq!(seen("connect-four", json!("second"), true), standing);
}

#[test]
fn a_resigned_game_is_over_until_it_is_played_on() {
    let server = Server::of(&["--folder", "nowhere"]);
    let mut game = json!({"game": "tic-tac-toe", "actions": ["b2", "a1"], "resigned": "first"});
    let position = server.post("/api/position", &game);
    assert_eq!(position["over"], json!({"outcome": "second", "text": "X resigned: O wins"}));
    assert_eq!(position["legal"], json!([]));
    game["agent"] = json!("random");
    assert_eq!(server.try_post("/api/search", &game).0, 400);
    // a saved file contains the resignation, and the terminal reads it, too
    let saved = server.post("/api/save", &game)["text"].as_str().unwrap().to_string();
    let loaded = server.post("/api/load", &json!({"text": saved}))["games"][0].clone();
    assert_eq!((&loaded["resigned"], &loaded["outcome"]), (&json!("first"), &json!("second")));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("game.json");
    fs::write(&file, &saved).unwrap();
    let typed = format!("load {}\nc3\nquit\n", file.display());
    let said = out(&succeeds(&["play", "tic-tac-toe", "--opponent", "perfect"], typed));
    assert!(said.contains("resigned here; you can continue the game"), "{said}");
    // nobody can resign a game that is over
    let over =
        json!({"game": "tic-tac-toe", "actions": ["a1", "a2", "b1", "b2", "c1"], "resigned": "second"});
    assert_eq!(server.try_post("/api/position", &over).0, 400);
    let cheat = saved.replace("\"first\"", "\"third\"");
    assert_eq!(server.try_post("/api/load", &json!({"text": cheat})).0, 400);
}

#[test]
fn options_can_have_the_values_that_are_offered() {
    let server = Server::of(&["--folder", "nowhere"]);
    let home = server.get("/api/home");
    let status = |id: &Value, name: &str, value: Value| {
        server.try_post("/api/position", &json!({"game": id, "options": {name: value}})).0
    };
    let mut offered = BTreeSet::new();
    for game in home["games"].as_array().unwrap() {
        let id = &game["id"];
        for option in game["options"].as_array().unwrap() {
            let (name, default) = (option["name"].as_str().unwrap(), &option["default"]);
            offered.insert(name.to_string());
            let about = option["about"].as_str().unwrap();
            let said =
                default.as_str().map_or(format!("default {default}"), |text| format!("\"{text}\" (default)"));
            assert!(about.contains(&said), "{id} {name}: {about}");
            let values = option["values"].as_array().unwrap();
            assert!(option["kind"] == "number" || values.contains(default), "{id} {name}");
            for value in values {
                assert_eq!(status(id, name, value.clone()), 200, "{id} {name} = {value}");
            }
            let wrong = match option["kind"].as_str().unwrap() {
                "number" => json!(values[1].as_i64().unwrap() + 1),
                "flag" => json!("yes"),
                _ => json!("no such thing"),
            };
            assert_eq!(status(id, name, wrong), 400, "{id} {name}");
        }
    }
    let mut known = BTreeSet::from([
        "diagonal_capture",
        "exchange_ban",
        "no_progress",
        "queen_exchange",
        "repetition",
        "start",
    ]);
    // requests about games whose rules are a text
    known.extend(["height", "side", "size", "width"]);
    assert_eq!(offered, known.into_iter().map(String::from).collect());
    // options change the game
    let position = |options: Value| {
        server.post("/api/position", &json!({"game": "custodial-trap-intro", "options": options}))["position"]
            .clone()
    };
    assert_ne!(position(json!({"start": "quarters"})), position(json!({})));
}

#[test]
fn a_port_in_use_and_wrong_sources_are_told() {
    let server = Server::of(&["--folder", "nowhere"]);
    let port = server.address.port().to_string();
    fails(&["serve", "--port", &port], 2, &["is in use", "--port 0"]);
    fails(&["serve", "no-such-run", "--port", "0"], 1, &["no-such-run does not exist"]);
    assert!(!petteia(&["serve", "--port", "70000"], "").status.success());
    assert!(!Path::new("nowhere").exists());
}
