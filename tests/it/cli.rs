//! The commands as a user runs them: output, errors, exit codes, and what a killed run leaves.

use petteia::games::Games;
use petteia::net::infer::CpuNet;
use petteia::registry::{Catalog, Registry};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::command::{PETTEIA, err, fails, json_lines, out, start, succeeds};
use crate::support::runs::{PLAIN, text};

#[test]
fn games_lists_the_registry() {
    let games = succeeds(&["games", "--json"], "");
    let games: Value = serde_json::from_str(&out(&games)).unwrap();
    let ids: Vec<&str> = games.as_array().unwrap().iter().map(|game| game["id"].as_str().unwrap()).collect();
    // the games in Rust, then the texts
    assert_eq!(ids, Catalog::of::<Games>().names());
    assert!(ids.starts_with(&Games::ids().iter().map(String::as_str).collect::<Vec<_>>()));
    let of = |id: &str| &games[ids.iter().position(|known| *known == id).unwrap()];
    assert_eq!(
        (of("connect-four")["actions"].as_u64(), of("cage")["actions"].as_u64()),
        (Some(7), Some(1201))
    );
    assert!(of("caissa")["options"]["exchange_ban"].as_str().unwrap().contains("default true"));
    let table = out(&succeeds(&["games"], ""));
    assert!(table.contains("Steve Gardner") && table.contains("White, Black"), "{table}");
    let column = table.find("by\n").unwrap();
    assert!(
        table
            .lines()
            .skip(1)
            .take_while(|line| !line.is_empty())
            .map(|line| line.chars().collect::<Vec<_>>())
            .all(|line| line[column - 1] == ' ' && line[column] != ' '),
        "{table}"
    );
}

#[test]
fn perft_counts() {
    let object = json_lines(&succeeds(&["perft", "phage", "--depth", "3", "--json"], ""));
    assert_eq!((object[0]["nodes"].as_u64(), object[0]["depth"].as_u64()), (Some(179482), Some(3)));
    assert!(object[0]["nodes_per_second"].as_f64().unwrap() > 0.0);
    let divided = out(&succeeds(&["perft", "tic-tac-toe", "--depth", "2", "--divide"], ""));
    assert!(divided.starts_with("a1: 8\n") && divided.contains("72 nodes"), "{divided}");
    let deeper = out(&succeeds(&["perft", "tic-tac-toe", "--depth", "6", "--divide"], ""));
    let parts = deeper.lines().filter_map(|line| line.split_once(": ")?.1.parse::<u64>().ok());
    assert!(parts.sum::<u64>() == 54_720 && deeper.contains("54720 nodes"), "{deeper}");
    let later = succeeds(&["perft", "connect-four", "--depth", "0", "--position", "4455", "--json"], "");
    assert_eq!(json_lines(&later)[0]["nodes"], 1);
}

#[test]
fn check_game_checks() {
    assert!(out(&succeeds(&["check-game", "tic-tac-toe", "--games", "20"], "")).contains("tic-tac-toe: ok"));
}

#[test]
fn arena_reports_one_object() {
    let object = json_lines(&succeeds(
        &["arena", "tic-tac-toe", "rollout:30", "random", "--games", "20", "--json"],
        "",
    ));
    let get = |key: &str| object[0][key].as_f64().unwrap();
    assert_eq!(get("games"), 20.0);
    assert_eq!(get("wins") + get("draws") + get("losses"), 20.0);
    assert!(get("elo_low") <= get("elo") && get("elo") <= get("elo_high") && get("distinct_games") > 10.0);
    let same = |threads| {
        out(&succeeds(
            &["arena", "phage", "rollout:20", "uniform:20", "--games", "6", "--json", "--threads", threads],
            "",
        ))
    };
    assert_eq!(same("1"), same("2"));
    let perfect = succeeds(
        &["arena", "tic-tac-toe", "perfect", "perfect", "--games", "20", "--opening-plies", "0", "--json"],
        "",
    );
    assert_eq!(json_lines(&perfect)[0]["draws"], 20);
}

#[test]
fn arena_tests_hypotheses_and_keeps_games() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("match.jsonl").display().to_string();
    let arena = ["arena", "connect-four", "rollout:20", "random", "--games", "400", "--save", &file];
    let test = ["--sprt", "-20,80", "--alpha", "0.1"];
    let text = out(&succeeds(&[&arena[..], &test].concat(), ""));
    for part in [
        "SPRT of -20 against +80 Elo (alpha 0.1, beta 0.05)",
        "(-2.89 to 2.25)",
        "H1 accepted: +80 Elo rather than",
    ] {
        assert!(text.contains(part), "no `{part}` in: {text}");
    }
    let object = &json_lines(&succeeds(&[&arena[..], &test, &["--json"]].concat(), ""))[0];
    assert_eq!(
        (object["sprt"]["verdict"].as_str(), object["sprt"]["elo1"].as_f64()),
        (Some("h1"), Some(80.0))
    );
    assert!(object["sprt"]["llr"].as_f64() >= object["sprt"]["upper"].as_f64());
    let games = object["games"].as_u64().unwrap();
    assert!(games < 100 && text.contains(&format!("in {games} games")), "{text}");
    let saved = std::fs::read_to_string(&file).unwrap();
    assert_eq!(saved.lines().count() as u64, 1 + games / 2);
    let first: Value = serde_json::from_str(saved.lines().nth(1).unwrap()).unwrap();
    assert!(first["pair"] == 0 && first["games"][0]["actions"].as_array().unwrap().len() > 4, "{first}");
    let few = ["arena", "phage", "random", "random", "--games", "2", "--sprt", "0,5"];
    assert!(out(&succeeds(&few, "")).contains("undecided after 2 games"));
    fails(&[&few[..7], &["5,0"]].concat(), 2, &["elo0 = 5 must be below elo1 = 0"]);
    fails(&[&few[..7], &["5"]].concat(), 2, &["--sprt 5: give two Elo differences"]);
    fails(&[&few[..], &["--alpha", "0.9"]].concat(), 2, &["alpha = 0.9 is out of range"]);
    fails(&[&few[..6], &["--alpha", "0.1"]].concat(), 2, &["--sprt"]);
    let other = ["arena", "connect-four", "rollout:20", "random", "--save", &file, "--seed", "2"];
    fails(&other, 2, &["another match", "seed: 1 / 2"]);
}

#[test]
fn analyze_answers_each_line() {
    let input = "X.X/.O./O.. X\nXXX/OO./... O\n";
    let lines = json_lines(&succeeds(&["analyze", "tic-tac-toe", "--agent", "rollout:200"], input));
    assert_eq!(lines[0]["action"], "b3");
    assert_eq!(lines[0]["value"], 1.0);
    assert_eq!(lines[0]["principal_variation"][0], "b3");
    assert!(lines[0]["visits"].as_object().unwrap().len() == 5);
    // each action has a value, or null if the search did not visit it; b3 wins at once, and the other actions do not
    let values = lines[0]["values"].as_object().unwrap();
    assert!(values.len() == 5 && values["b3"] == 1.0, "{values:?}");
    assert!(values.values().filter(|value| **value == 1.0).count() == 1, "{values:?}");
    assert!(lines[1]["action"].is_null() && lines[1]["outcome"] == "first" && lines[1]["value"] == -1.0);
}

#[test]
fn analyze_shows_what_an_exported_network_is_asked_with() {
    let input = "X.X/.O./O.. X\nXXX/OO./... O\n";
    let arguments = ["analyze", "tic-tac-toe", "--agent", "rollout:20"];
    let lines = json_lines(&succeeds(&[&arguments[..], &["--planes"]].concat(), input));
    let (open, over) = (&lines[0], &lines[1]);
    // the player's own marks, then the opponent's, from the lowest rank up
    assert_eq!(open["planes"][0], json!([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 1.0]]));
    assert_eq!(open["planes"][1], json!([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]));
    assert_eq!(open["legal_actions"], json!([1, 2, 3, 5, 7]));
    assert_eq!(open["legal_action_texts"], json!(["b1", "c1", "a2", "c2", "b3"]));
    for action in open["legal_action_texts"].as_array().unwrap() {
        assert_eq!(open["priors"][action.as_str().unwrap()].as_f64().map(|p| p as f32), Some(0.2), "{open}");
    }
    assert_eq!((&over["planes"], &over["priors"]), (&Value::Null, &json!({})));
    assert_eq!((&over["legal_actions"], &over["legal_action_texts"]), (&json!([]), &json!([])));
    let without = json_lines(&succeeds(&arguments, input));
    assert!(without.iter().all(|line| line.get("planes").is_none() && line.get("legal_actions").is_none()));
}

#[test]
fn colors_are_for_terminals() {
    let replay =
        |color: &[&str]| out(&succeeds(&[&["replay", "caissa", "--board"], color].concat(), "c3-c4"));
    let plain = replay(&[]);
    assert!(!plain.contains('\u{1b}') && plain.contains("[R]") && plain.contains("[.]"), "{plain}");
    assert_eq!(replay(&["--color", "never"]), plain);
    let colored = replay(&["--color", "always"]);
    assert_eq!(anstream::adapter::strip_str(&colored).to_string(), plain);
    assert!(colored.contains("\u{1b}[36mQ\u{1b}[0m"), "{colored:?}");
}

#[test]
fn wrong_names_are_explained() {
    fails(&["perft", "fage", "--depth", "1"], 2, &["unknown game `fage`", &Games::ids().join(", ")]);
    fails(&["replay", "connect four"], 2, &["did you mean `connect-four`?"]);
    fails(&["perft", "tic-tac-toe-9", "--depth", "1"], 2, &["unknown game `tic-tac-toe-9`"]);
    fails(&["perft", "phage", "--depth", "60"], 2, &["no game is longer than 56"]);
    fails(&["perft", "phage", "--depth", "1", "--position", "junk"], 1, &["Phage position `junk`", "7d/5t2"]);
    fails(
        &["arena", "phage", "rolout:400", "random"],
        2,
        &["unknown agent `rolout:400`", "did you mean `rollout`?"],
    );
    fails(&["arena", "phage", "rollout", "random"], 2, &["needs a number of simulations"]);
    fails(&["arena", "phage", "rollout:0", "random"], 2, &["`0` is not a number of simulations"]);
    fails(&["arena", "phage", "random:5", "random"], 2, &["does not search"]);
    fails(&["arena", "phage", "random", "random", "--games", "3"], 2, &["even"]);
    fails(&["arena", "phage", "perfect", "random"], 2, &["small games"]);
    fails(
        &["export", "no/such/run", "--format", "safetensors", "--out", "x"],
        1,
        &["no/such/run does not exist"],
    );
    fails(
        &["export", "src", "--format", "safetensors", "--out", "x"],
        1,
        &["src has no checkpoint", "run folder"],
    );
    fails(&["arena", "phage", "random", "random", "--games", "99999999999998"], 2, &["2 to 1000000"]);
    fails(&["arena", "tic-tac-toe", "random", "random", "--opening-plies", "20"], 2, &["longer than 9"]);
    fails(&["train", "configs/phag.toml"], 2, &["did you mean configs/phage.toml?"]);
    fails(&["check-game", "phage", "--games", "0"], 2, &["at least 1"]);
    fails(&["analyze", "phage", "--agent", "random"], 2, &["does not search"]);
    fails(&["arena", "phage", "rollout:400:bf16", "random"], 2, &["rollout has no network", "`rollout:400`"]);
    fails(&["export", "src", "--format", "gguf", "--out", "x"], 2, &["safetensors, safetensors-bf16, onnx"]);
    assert!(!Path::new(env!("CARGO_MANIFEST_DIR")).join("x").exists());
}

#[test]
fn wrong_settings_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("bad.toml");
    let run = folder.path().join("run");
    let (config_text, run_text) = (config.display().to_string(), run.display().to_string());
    let train = |text: &str, sets: &[&str], parts: &[&str]| {
        std::fs::write(&config, text).unwrap();
        let mut arguments = vec!["train", &config_text, "--run", &run_text];
        sets.iter().for_each(|set| arguments.extend(["--set", set]));
        fails(&arguments, 2, parts);
        assert!(!run.exists(), "nothing is created");
    };
    let good = "[game]\nid = 'tic-tac-toe'\n";
    train(
        "[game]\nid = 'tic-tac-toe'\n[search]\nsimulatons = 5\n",
        &[],
        &["line 4", "^", "unknown field `simulatons`", "simulations", "cpuct"],
    );
    train(
        "[game]\nid = 'tic-tac-toe'\n[search]\ncpuct = nan # no\n",
        &[],
        &["line 4, column 9", "^^^", "0.01 to 100"],
    );
    train("[game]\nid = 'tic-tac-toe'\n[train]\nbatch = -3\n", &[], &["line 4", "^"]);
    train("[game]\nid = 'tic-tac-toe'\n[train]\nbatch = 0\n", &[], &["line 4", "1 to 65536"]);
    train("[game]\nid = 'chess'\n", &[], &["line 2, column 6", "^^^^^^^", "unknown game `chess`"]);
    train(
        "[game]\nid = 'tic-tac-toe'\nsize = 4\n",
        &[],
        &["line 3", "^", "unknown option `game.size`", "no options"],
    );
    train("game = 3 3\n", &[], &["line 1"]);
    train("seed = 1\n", &[], &["missing field `game`"]);
    train("[game]\nid = 'tic-tac-toe'\n[ search ] # tuned\ncpuct = 0\n", &[], &["line 4", "0.01 to 100"]);
    train(good, &["game.id=chess"], &["--set game.id=chess: unknown game `chess`"]);
    let meant = |key: &str, meant: &str| train(good, &[key], &[key, "unknown field", meant]);
    meant("search.simulatons=5", "did you mean `simulations`?");
    meant("simulations=5", "did you mean `search.simulations` or `arena.simulations`?");
    meant("train.games=5", "did you mean `selfplay.games` or `arena.games`?");
    meant("training.generations=5", "did you mean `train`?");
    train(good, &["search.simulations=abc"], &["string \"abc\", expected a whole number, 0 or more"]);
    train(good, &["search.cpuct=abc"], &["string \"abc\", expected a number"]);
    train("game = 'chess'\n", &[], &["expected a section `[game]` with the `id` of a game"]);
    train(good, &["search.cpuct=nan"], &["--set search.cpuct=nan", "0.01 to 100"]);
    train(good, &["search.cpuct"], &["key=value"]);
    train(good, &["selfplay.fast_simulations=64"], &["--set selfplay.fast_simulations=64", "not below"]);
    train(good, &["arena.gate=sprt"], &["--set arena.gate=sprt: there is no gate anymore"]);
    // settings that depend on each other may come in either order
    let both = ["net.precision=bf16", "net.evaluator=burn"];
    train(good, &both, &["--set net.precision=bf16", "net.evaluator = \"fused\""]);
    train(
        good,
        &[both[1], both[0], "net.precision=f32", "arena.opponent=nobody"],
        &["unknown agent `nobody`"],
    );
    train(good, &["arena.opponent=nobody"], &["arena.opponent", "unknown agent `nobody`"]);
    fails(&["train", "no/such.toml"], 2, &["no/such.toml"]);
    fails(&["train", "configs/tictactoe.toml"], 2, &["did you mean configs/tic-tac-toe.toml?"]);
    fails(&["train", "phag"], 2, &["did you mean `petteia train phage`?"]);
}

#[test]
fn a_new_crate_says_what_it_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let new = |name: &str, more: &[&str]| {
        let path = folder.path().join(name);
        let place = path.to_str().unwrap();
        let output = succeeds(&[&["new", name, "--path", place], more].concat(), "");
        assert!(path.join("src/lib.rs").is_file());
        err(&output).to_string()
    };
    assert!(new("hexapawn", &[]).contains("this crate will not build; use --from-checkout DIR"));
    let checkout = ["--from-checkout", env!("CARGO_MANIFEST_DIR")];
    assert_eq!(new("nine-stones", &checkout), "");
    assert!(new("phage", &checkout).contains("this program already has a game `phage`"));
}

#[test]
fn a_closed_pipe_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_petteia"))
        .args(["perft", "phage", "--depth", "3", "--divide"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), err(&output).as_str()), (Some(0), ""));
}

#[test]
fn another_backend_in_the_environment_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let output = Command::new(env!("CARGO_BIN_EXE_petteia"))
        .args(["train", "configs/smoke.toml", "--run", &run.display().to_string()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("BURN_DEVICE", "cuda")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("BURN_DEVICE=cuda") && !run.exists(), "{}", err(&output));
}

/// Waits for `done` while the program works. The wait is finite, because the work is.
#[cfg(unix)]
fn until(child: &mut Child, what: &str, done: impl Fn() -> bool) {
    while !done() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns what the program prints after Ctrl-C; it must exit successfully.
#[cfg(unix)]
fn interrupt(child: Child) -> String {
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    out(&output)
}

/// After Ctrl-C, the run reports its progress and exits with 0. tests/it/signals.rs tests resuming.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_cleanly() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run").display().to_string();
    let sets = ["--set", "selfplay.bootstrap_games=50000", "--set", "train.generations=1"];
    let mut child = start(PETTEIA, &[&["train", "configs/smoke.toml", "--run", &run], &sets[..]].concat());
    let shard = Path::new(&run).join("selfplay/generation-0001/shard-0001.jsonl.zst.sha256");
    until(&mut child, "a shard appears", || shard.exists());
    let said = interrupt(child);
    assert!(said.contains("interrupted"), "{said}");
    assert!(walk(Path::new(&run)).iter().all(|name| !name.starts_with(".tmp-")));
}

/// After Ctrl-C in an arena, the file of the match is complete, and equals that of a match with as many games.
#[cfg(unix)]
#[test]
fn an_interrupted_arena_keeps_its_games() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("match.jsonl").display().to_string();
    let arena = ["arena", "connect-four", "rollout:20", "rollout:10", "--games"];
    let mut child = start(PETTEIA, &[&arena[..], &["50000", "--save", &file]].concat());
    let saved = || std::fs::read_to_string(&file).unwrap_or_default();
    until(&mut child, "pairs are saved", || saved().lines().count() >= 4);
    let said = interrupt(child);
    assert!(said.contains(&format!("interrupted; the finished pairs are in {file}")), "{said}");
    assert!(said.contains("rollout:20 against rollout:10: "), "what was played until then is shown: {said}");
    assert!(saved().ends_with("}\n"));
    let games = (2 * (saved().lines().count() - 1)).to_string();
    let resumed = succeeds(&[&arena[..], &[&games, "--json", "--save", &file]].concat(), "");
    let fresh = succeeds(&[&arena[..], &[&games, "--json"]].concat(), "");
    assert_eq!(out(&resumed), out(&fresh));
}

/// If the command is killed again and again without warning, it ends with the same files as an undisturbed run.
#[test]
fn a_killed_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (alone, killed) = (path("alone"), path("killed"));
    let sets =
        ["--set", "train.samples_per_position=20", "--set", "arena.games=0", "--set", "arena.final_games=0"];
    let arguments = |run: &str| {
        [&["train", "configs/smoke.toml", "--run", run][..], &sets]
            .concat()
            .iter()
            .map(|s| s.to_string())
            .collect::<Vec<_>>()
    };
    let whole = Instant::now();
    let left_alone = arguments(&alone);
    succeeds(&left_alone.iter().map(String::as_str).collect::<Vec<_>>(), "");
    let whole = whole.elapsed();
    for part in 1..=6u32 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_petteia"))
            .args(arguments(&killed))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::max(whole * part / 10, Duration::from_millis(20)));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let arguments = arguments(&killed);
    succeeds(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), "");
    for below in
        ["selfplay/generation-0003/shard-0001.jsonl.zst", "checkpoints/generation-0003/weights.safetensors"]
    {
        let read = |run: &str| std::fs::read(Path::new(run).join(below)).unwrap();
        assert!(read(&alone) == read(&killed), "{below} differs");
    }
    let leftovers = walk(Path::new(&killed)).into_iter().filter(|name| name.contains(".tmp-")).count();
    assert_eq!(leftovers, 0);
}

fn walk(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        names.push(entry.file_name().to_string_lossy().into_owned());
        if entry.path().is_dir() {
            names.extend(walk(&entry.path()));
        }
    }
    names
}

/// Whether `wall` and `cpu` of a line are minimum, median and maximum of rates, and something was done. While other
/// tests run, a single repetition may pass without a whole step of work.
fn has_rates(line: &serde_json::Value) -> bool {
    ["wall", "cpu"].iter().all(|clock| {
        let rates: Vec<f64> = line[clock].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
        rates.len() == 3 && rates[0] >= 0.0 && rates[2] > 0.0 && rates.is_sorted()
    })
}

#[test]
fn benches_of_the_engine_say_what_they_measured() {
    let bench = |what: &str, more: &[&str]| {
        let common = ["bench", what, "--game", "tic-tac-toe", "--net", "8x1", "--seconds", "0.05", "--json"];
        json_lines(&succeeds(&[&common, more].concat(), ""))
    };
    for (what, more, expected) in [
        ("net", &["--batch", "4", "--precision", "f32"] as &[&str], &["forward", "evaluate"] as &[&str]),
        ("search", &["--simulations", "20"], &["uniform", "net"]),
        ("train", &["--batch", "16", "--threads", "2"], &["positions", "steps"]),
        (
            "selfplay",
            &["--threads", "2", "--cache", "1"],
            &["evaluations", "simulations", "positions", "hits"],
        ),
    ] {
        let lines = bench(what, more);
        let names: Vec<&str> = lines.iter().map(|line| line["bench"].as_str().unwrap()).collect();
        assert_eq!(names, expected.iter().map(|part| format!("{what}/{part}")).collect::<Vec<_>>());
        for line in &lines {
            assert!(
                line["game"] == "tic-tac-toe" && line["unit"].as_str().unwrap().ends_with("/s"),
                "{line}"
            );
            assert!(has_rates(line), "{line}");
            assert!(line["net"] == "8x1" || line["bench"] == "search/uniform", "{line}");
        }
        if what == "selfplay" {
            let shares = lines[0]["shares"].as_object().unwrap();
            let sum: f64 = shares.values().map(|share| share.as_f64().unwrap()).sum();
            assert!(shares.len() == 4 && (sum - 1.0).abs() < 0.01, "{shares:?}");
        }
    }
    // all precisions of this CPU, and the one that agents choose by default
    let lines = bench("net", &["--batch", "4"]);
    let precisions = CpuNet::precisions();
    assert_eq!(lines.len(), 2 * precisions.len());
    for (lines, precision) in lines.chunks(2).zip(&precisions) {
        assert!(lines.iter().all(|line| line["precision"] == precision.name()), "{lines:?}");
    }
    if precisions.len() > 1 {
        let picked = lines.iter().filter(|line| line["auto"] == true).count();
        assert_eq!(picked, 2, "one of them: {lines:?}");
        assert!(
            lines[0]["from_f32"]["policy"] == 0.0 && lines[2]["from_f32"]["policy"].as_f64().unwrap() < 0.02
        );
    }
    fails(&["bench", "net", "--net", "32"], 2, &["32x4"]);
    fails(&["bench", "net", "--net", "0x4"], 2, &["`0` is not in the range 1 to 512"]);
    fails(&["bench", "net", "--game", "fage"], 2, &["unknown game `fage`"]);
    fails(&["bench", "selfplay", "--threads", "0"], 2, &["--threads 0: must be from 1 to 512"]);
    fails(&["bench", "search", "--checkpoint", "nowhere"], 1, &["nowhere"]);
    // the game is that of the checkpoint
    let run = PLAIN.run();
    succeeds(&["bench", "net", "--checkpoint", text(&run), "--seconds", "0.01"], "");
    let other = ["bench", "net", "--checkpoint", text(&run), "--game", "phage"];
    fails(&other, 1, &["has game tic-tac-toe instead of phage"]);
    fails(&["bench", "train", "--precision", "f16"], 2, &["f32, bf16"]);
}

#[test]
fn bench_net_saves_what_another_program_needs() {
    let folder = tempfile::tempdir().unwrap();
    let save = folder.path().join("net").display().to_string();
    let net = ["--game", "tic-tac-toe", "--net", "8x1", "--seconds", "0.02", "--save", &save];
    succeeds(&[&["bench", "net"], &net[..]].concat(), "");
    let outputs = std::fs::read_to_string(folder.path().join("net/outputs.json")).unwrap();
    let outputs: serde_json::Value = serde_json::from_str(&outputs).unwrap();
    assert_eq!(
        (outputs["policy"].as_array().unwrap().len(), outputs["wdl"].as_array().unwrap().len()),
        (64 * 9, 64 * 3)
    );
    assert!(folder.path().join("net/weights.safetensors").exists());
}

#[test]
fn bench_rules_says_what_it_measured() {
    let lines = json_lines(&succeeds(&["bench", "rules", "tic-tac-toe", "--json", "--seconds", "0.01"], ""));
    let named: Vec<_> = lines.iter().map(|line| (line["bench"].as_str(), line["unit"].as_str())).collect();
    let expected = [
        ("rules/playouts", "actions/s"),
        ("rules/perft-bulk", "leaves/s"),
        ("rules/perft", "leaves/s"),
        ("rules/encode", "positions/s"),
    ];
    assert_eq!(named, expected.map(|(bench, unit)| (Some(bench), Some(unit))));
    for line in lines {
        assert_eq!(line["game"], "tic-tac-toe");
        assert!(has_rates(&line), "{line}");
    }
    let table = out(&succeeds(&["bench", "rules", "tic-tac-toe", "--seconds", "0.01"], ""));
    assert!(table.lines().count() == 4 && table.contains("million positions/s"), "{table}");
    fails(&["bench", "rules", "fage"], 2, &["unknown game `fage`"]);
    fails(
        &["bench", "rules", "phage", "--repetitions", "4"],
        2,
        &["--repetitions 4: must be from 5 to 1000"],
    );
    fails(&["bench", "rules", "phage", "--seconds", "nan"], 2, &["--seconds NaN: must be more than 0"]);
    fails(&["bench", "rules", "--set", "game.x=1"], 2, &["<GAME>"]);
}

#[test]
fn a_games_options_are_set_by_name() {
    let perft = ["perft", "phage", "--depth", "1", "--set"];
    let with = |set| [&perft[..], &[set]].concat();
    fails(&with("game.size=9"), 2, &["unknown option `game.size`: phage has no options"]);
    fails(&with("search.simulations=9"), 2, &["--set search.simulations=9: only the game's own options"]);
    fails(&with("game.id=phage"), 2, &["only the game's own options"]);
    fails(&with("game.size"), 2, &["write it as key=value"]);
}

/// The options of a game are stored in records, checkpoints and exports, and are checked against later commands.
#[test]
fn options_travel_with_what_was_trained() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (config, run, export) = (path("quarters.toml"), path("run"), path("quarters.safetensors"));
    let text = "[game]\nid = \"custodial-trap-intro\"\nstart = \"quarters\"\n\
        [net]\nfilters = 4\nblocks = 1\n[search]\nsimulations = 2\n\
        [selfplay]\ngames = 4\nbatch = 4\nbootstrap_games = 4\nbootstrap_simulations = 2\n\
        [train]\ngenerations = 1\nbatch = 16\n[arena]\ngames = 0\nfinal_games = 0\n";
    std::fs::write(&config, text).unwrap();
    let options = ["--set", "game.no_progress=6"];
    succeeds(&[&["train", &config, "--run", &run], &options[..]].concat(), "");
    let shard = Path::new(&run).join("selfplay/generation-0001/shard-0000.jsonl.zst");
    let records = zstd::decode_all(std::fs::File::open(shard).unwrap()).unwrap();
    let record: Value = serde_json::from_slice(records.split(|c| *c == b'\n').next().unwrap()).unwrap();
    assert_eq!(record["options"], serde_json::json!({"no_progress": 6, "start": "quarters"}));
    assert!(record["start"].as_str().unwrap().contains("1bbbwww1"), "{record}");
    succeeds(&["export", &run, "--format", "safetensors", "--out", &export], "");
    let again = succeeds(&[&["train", &config, "--run", &run], &options[..]].concat(), "");
    assert!(err(&again).contains("already complete") && out(&again).contains("1 generation,"), "{again:?}");
    assert!(out(&again).contains(&format!("export {run}\n")), "{again:?}");
    for agent in [&run, &export] {
        let arena = ["arena", "custodial-trap-intro", agent, "random", "--games", "2", "--json"];
        fails(&arena, 1, &["game options", "quarters", "--set game.NAME=VALUE"]);
        fails(&[&arena[..], &options[..]].concat(), 1, &["game options"]);
        let both = [&arena[..], &options[..], &["--set", "game.start=quarters"]].concat();
        assert_eq!(json_lines(&succeeds(&both, ""))[0]["games"], 2);
        // an agent that implies its game also implies its options
        let alone = ["arena", agent, "random", "--games", "2", "--json"];
        assert_eq!(json_lines(&succeeds(&alone, ""))[0]["games"], 2);
    }
    fails(
        &[&["train", &config, "--run", &run][..], &["--set", "game.no_progress=7"]].concat(),
        2,
        &["game.no_progress"],
    );
    fails(
        &["train", &config, "--run", &path("other"), "--set", "game.start=halves"],
        2,
        &["game.start", "quarters", "halves"],
    );
    fails(
        &["train", &config, "--run", &path("other"), "--set", "game.size=9"],
        2,
        &["unknown option `game.size`"],
    );
}

/// The behavior of the search. Changing it is a decision: put the new number here and in the commit message.
#[test]
fn the_search_behaves_as_before() {
    assert_eq!(out(&succeeds(&["bench", "signature"], "")).trim(), "39eee3885c9ad6da");
}
