//! The limits of permitted input: the minimum and the maximum of every setting, more threads and memory than the
//! machine has, texts of any length, and files of games that the program does not have.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::command::{err, fails, json_lines, out, petteia, succeeds};
use petteia::any::Opened;
use petteia::checkpoint;
use petteia::config::Config;
use petteia::error::Result;
use petteia::game::{Game, GameOptions, Rules};
use petteia::games::Games;
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::net::network::Network;
use petteia::registry::Registry;
use petteia::train::Trainer;
use proptest::prelude::*;

const GOOD: &str = "game.id = 'tic-tac-toe'";
/// The maximum length of readable standard error, in bytes.
const READABLE: usize = 2_000;

fn with(key: &str, value: &str) -> Result<Config> {
    Config::parse("test", GOOD, &[format!("{key}={value}")])
}

#[test]
fn a_range_is_said_in_the_digits_that_were_written() {
    let said = with("search.cpuct", "0.009").unwrap_err().to_string();
    assert!(said.contains("search.cpuct = 0.009 is out of range: 0.01 to 100 is permitted"), "{said}");
}

#[test]
fn more_threads_than_make_sense_are_refused() {
    for threads in ["0", "513", "2000", "18446744073709551615"] {
        let said = format!("--threads {threads}: must be from 1 to 512");
        let more = ["--threads", threads];
        fails(&[&["train", "configs/smoke.toml", "--run", "no/such/run"], &more[..]].concat(), 2, &[&said]);
        fails(&[&["arena", "tic-tac-toe", "random", "random"], &more[..]].concat(), 2, &[&said]);
        fails(&[&["bench", "search"], &more[..]].concat(), 2, &[&said]);
        fails(&[&["bench", "train"], &more[..]].concat(), 2, &[&said]);
    }
    for (name, number, code) in [
        ("RAYON_NUM_THREADS", "4096", 2),
        ("RAYON_RS_NUM_CPUS", "4096", 2),
        ("RAYON_NUM_THREADS", "512", 0),
        // rayon takes these to mean all cores
        ("RAYON_NUM_THREADS", "0", 0),
        ("RAYON_NUM_THREADS", "many", 0),
    ] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_petteia")).arg("games").env(name, number).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{name}={number}: {}", err(&output));
        let said = format!("{name}={number}: the maximum is 512 threads");
        assert_eq!(err(&output).contains(&said), code == 2, "{}", err(&output));
    }
}

/// Runs petteia with 4 GB of address space.
#[cfg(target_os = "linux")]
fn confined(arguments: &[&str]) -> Output {
    Command::new("sh")
        .args(["-c", "ulimit -v 4000000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_petteia")])
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_cache_that_no_memory_holds_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run").display().to_string();
    let train = |more: &[&str]| {
        let start = ["train", "configs/smoke.toml", "--run", &run, "--threads", "2"];
        let output = confined(&[&start[..], more].concat());
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
        assert!(!Path::new(&run).exists(), "nothing is made");
        err(&output)
    };
    let said =
        train(&["--set", "selfplay.cache=65536", "--set", "selfplay.games=64", "--set", "selfplay.batch=8"]);
    assert!(said.contains("2 shards in flight x 65536 MiB needs 128.0 GiB, but only 3.8 GiB"), "{said}");
    let said =
        train(&["--set", "selfplay.cache=3900", "--set", "selfplay.games=8", "--set", "selfplay.batch=8"]);
    assert!(said.contains("1 shard in flight x 3900 MiB needs 3.8 GiB"), "{said}");
    let said = train(&["--set", "net.filters=512", "--set", "train.batch=65536"]);
    assert!(said.contains("train.batch = 65536") && said.contains("but only 3.8 GiB"), "{said}");
    let output = confined(&["bench", "selfplay", "--threads", "64", "--cache", "1000"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("--cache = 1000: 64 shards in flight"), "{}", err(&output));
    fails(
        &["bench", "selfplay", "--cache", "99999999999999"],
        2,
        &["--cache 99999999999999: must be from 0 to 65536"],
    );
}

/// Asserts that the command failed with a short message.
fn short(output: &Output, code: i32, part: &str) {
    let said = err(output);
    assert_eq!(output.status.code(), Some(code), "{}", &said[..said.len().min(READABLE)]);
    assert!(
        said.len() < READABLE && said.contains(part),
        "{} bytes: {}",
        said.len(),
        &said[..said.len().min(READABLE)]
    );
}

#[test]
fn long_texts_on_standard_input_are_not_repeated() {
    for line in ["x".repeat(10 << 20), "a1 ".repeat(3 << 20), "\u{e9}/".repeat(3 << 20)] {
        let analyze = ["analyze", "tic-tac-toe", "--agent", "uniform:2"];
        short(&petteia(&analyze, &line), 1, "line 1: Tic-tac-toe position `");
        let word = line.replace(' ', "_");
        short(&petteia(&["replay", "tic-tac-toe"], &word), 1, "ply 0: action `");
        let played = petteia(&["play", "tic-tac-toe", "--opponent", "random"], format!("{line}\nquit\n"));
        assert!(played.status.success() && out(&played).len() < READABLE, "{}", out(&played).len());
        let part = |bytes: usize| &line[..line.floor_char_boundary(bytes)];
        for (language, answer) in [("ugi", "info string "), ("gtp", "? "), ("codecup", "")] {
            for line in [
                &line[..],
                part(1 << 20),
                &format!("position fen {}", part(900_000)),
                &format!("play {}", part(900_000)),
            ] {
                let engine = ["engine", "tic-tac-toe", "--agent", "uniform:2", "--protocol", language];
                let said = petteia(&engine, format!("{line}\n"));
                assert!(said.status.success(), "{language}: {}", err(&said).len());
                assert!(out(&said).len() < READABLE && err(&said).len() < READABLE, "{language}");
                assert!(out(&said).starts_with(answer), "{language}: {}", out(&said));
            }
        }
    }
}

#[test]
fn long_lines_of_a_config_are_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("long.toml");
    let long = "x".repeat(10 << 20);
    for (text, part) in [
        (format!("{GOOD}\nseed = \"{long}\"\n"), "line 2, column 8"),
        (format!("{GOOD}\n{long} = 1\n"), "line 2, column 1"),
        (format!("{GOOD}\n[search]\n{long} = 1\n"), "line 3, column 1"),
        (format!("{GOOD}\nsearch = {{ {} = 1, cpuct = 0 }}\n", " ".repeat(10 << 20)), "line 2, column "),
        (long.clone(), "line 1, column "),
        (format!("{GOOD}\n{}a = 1\n", "x.".repeat(5 << 20)), "line 2, column 1"),
        (format!("{GOOD}\nx = {}", "]=\n={[=".repeat(100_000)), "too many brackets or dots"),
        (format!("{GOOD}\nx = {}", "[".repeat(10 << 20)), "line 2, column "),
        (format!("{GOOD}\nx = {}", "{a=".repeat(3 << 20)), "line 2, column "),
        (format!("[game]\nid = '{long}'\n"), "unknown game `xxx"),
        (format!("{GOOD}\ngame.{long} = 1\n"), "unknown option `game.xxx"),
        (format!("{GOOD}\narena.opponent = '{long}'\n"), "arena.opponent: unknown agent `xxx"),
        (format!("{GOOD}\nsearch.cpuct = 0{}\n", "0".repeat(10 << 20)), "line 2, column "),
        ("\n".repeat(10 << 20) + "oops", "line 10485761, column "),
    ] {
        std::fs::write(&config, text).unwrap();
        let run = folder.path().join("run").display().to_string();
        short(&petteia(&["train", config.to_str().unwrap(), "--run", &run], ""), 2, part);
    }
}

/// A command line has its own limits: on Linux, 128 KiB per word.
#[test]
fn long_words_of_a_command_line_are_not_repeated() {
    let long = "x".repeat(100_000);
    let set = format!("game.{long}=1");
    for (arguments, code, part) in [
        (vec!["arena", "tic-tac-toe", &long, "random"], 2, "unknown agent `xxx"),
        (
            vec!["arena", "tic-tac-toe", &format!("rollout:{long}"), "random"],
            2,
            "is not a number of simulations",
        ),
        (vec!["arena", "tic-tac-toe", "random", "random", "--games", &long], 2, "invalid value 'xxx"),
        (vec!["arena", "tic-tac-toe", "random", "random", "--sprt", &long], 2, "--sprt"),
        (vec!["perft", &long, "--depth", "1"], 2, "unknown game `xxx"),
        (vec!["perft", "tic-tac-toe", "--depth", "1", "--position", &long], 1, "Tic-tac-toe position `xxx"),
        (vec!["perft", "tic-tac-toe", "--depth", "1", "--set", &set], 2, "unknown option `game.xxx"),
        (vec!["perft", "tic-tac-toe", "--depth", "1", "--set", &long], 2, "--set xxx"),
        (vec!["train", "configs/smoke.toml", "--set", &set], 2, "--set game.xxx"),
        (vec!["train", "configs/smoke.toml", "--set", &format!("search.{long}=1")], 2, "unknown field"),
        (vec!["train", "configs/smoke.toml", "--set", &format!("{long}.a=1")], 2, "--set xxx"),
        (
            vec!["train", "configs/smoke.toml", "--set", &format!("{}=1", "x.".repeat(50_000))],
            2,
            "too many brackets or dots",
        ),
        (
            vec!["perft", "phage", "--depth", "1", "--set", &format!("game.x={{{}=1}}", "x.".repeat(50_000))],
            2,
            "too many brackets or dots",
        ),
        (vec!["train", &long], 2, "cannot read the config"),
        (vec!["play", "tic-tac-toe", "--opponent", "random", "--side", &long], 2, "--side xxx"),
        (vec![&long], 2, "unrecognized subcommand 'xxx"),
        (vec!["export", &long, "--format", "onnx", "--out", "x"], 1, "xxx"),
        (vec!["inspect", &long], 1, "xxx"),
        (vec!["records", &long], 1, "xxx"),
    ] {
        short(&petteia(&arguments, ""), code, part);
    }
}

struct Misread<'a>(&'a str);

impl Misread<'_> {
    fn on(self, rules: Opened) -> String {
        let game = &rules.game;
        // the position's own text with one part repeated many times
        let text = game.state_text(&game.initial());
        let mut longest = String::new();
        for place in (0..=text.len()).filter(|place| text.is_char_boundary(*place)) {
            let long = format!("{}{}{}", &text[..place], self.0, &text[place..]);
            let said = game.parse_state(&long).map_or_else(|error| error.to_string(), |_| String::new());
            longest = if said.len() > longest.len() { said } else { longest };
        }
        longest
    }
}

#[test]
fn no_part_of_a_position_is_repeated_at_length() {
    for id in Games::ids() {
        for part in ["x", "1", "w", "-", "\u{265a}"] {
            let said = Games::open(&id, &Default::default())
                .map(|rules| Misread(&part.repeat(30_000)).on(rules))
                .unwrap();
            assert!((10..READABLE).contains(&said.len()), "{id}: {} bytes", said.len());
        }
    }
}

proptest! {
    /// No error about a config is long, wherever the config is damaged.
    #[test]
    fn damaged_configs_are_refused_in_few_words(at in 0usize..2000, part in "[\\[\\]={}'\"x\u{e9}\n.#0]{1,8}",
        times in 1usize..20_000) {
        let good = Config::new("tic-tac-toe").to_toml();
        let at = good.floor_char_boundary(at.min(good.len()));
        let text = format!("{}{}{}", &good[..at], part.repeat(times), &good[at..]);
        if let Err(error) = Config::parse("test", &text, &[]) {
            prop_assert!(error.to_string().len() < READABLE, "{error}");
        }
    }
}

/// The export of a run of tic-tac-toe in `folder`, with `change` applied to the manifest in its header.
fn changed_export(folder: &Path, change: impl Fn(&mut serde_json::Value)) -> String {
    let Rules { game, identity, .. } = Rules::<TicTacToe>::new(&GameOptions::default()).unwrap();
    let mut config = Config::new("tic-tac-toe");
    (config.net.filters, config.net.blocks) = (8, 1);
    let trainer = Trainer::new(&config.train, &Network::new(&config.net, game.shape(), 1));
    let run = folder.join("run");
    if !run.exists() {
        std::fs::create_dir(&run).unwrap();
        checkpoint::save(&run, &config, &identity, 1, &trainer, Default::default()).unwrap();
    }
    let out = folder.join("changed.safetensors");
    let _ = std::fs::remove_file(&out);
    let text = |path: &Path| path.to_str().unwrap().to_string();
    succeeds(&["export", &text(&run), "--format", "safetensors", "--out", &text(&out)], "");
    let bytes = std::fs::read(&out).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let (header, tensors) = bytes[8..].split_at(length);
    let mut header: serde_json::Value = serde_json::from_slice(header).unwrap();
    let metadata = &mut header["__metadata__"];
    let mut manifest: serde_json::Value =
        serde_json::from_str(metadata["petteia"].as_str().unwrap()).unwrap();
    change(&mut manifest);
    let about = manifest.to_string();
    metadata["petteia_sha256"] = petteia::storage::sha256(about.as_bytes()).into();
    metadata["petteia"] = about.into();
    let mut header = header.to_string().into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    let length = (header.len() as u64).to_le_bytes();
    std::fs::write(&out, [&length[..], &header, tensors].concat()).unwrap();
    text(&out)
}

#[test]
fn an_export_of_a_game_that_is_not_here_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target").display().to_string();
    type Change = fn(&mut serde_json::Value);
    let cases: [(Change, &[&str]); 4] = [
        (
            |manifest| manifest["game"]["id"] = "hex-5".into(),
            &["unknown game `hex-5`", "games here: cage,", "the program that trained it"],
        ),
        (|manifest| manifest["game"]["encoding"] = 99.into(), &["encoding version 99 instead of 1"]),
        (
            |manifest| manifest["game"]["shape"]["actions"] = 10.into(),
            &["shape", "actions: 10", "actions: 9"],
        ),
        (|manifest| manifest["game"]["options"]["start"] = "halves".into(), &["unknown option `game.start`"]),
    ];
    for (change, parts) in cases {
        let file = changed_export(folder.path(), change);
        for format in ["bot", "safetensors", "onnx"] {
            fails(&["export", &file, "--format", format, "--out", &target], 1, parts);
            assert!(!Path::new(&target).exists(), "nothing is written");
        }
        // playing with this export has always been refused
        let engine = petteia(&["engine", "tic-tac-toe", "--agent", &file], "isready\n");
        assert_eq!(engine.status.code(), Some(1), "{}", err(&engine));
    }
    let same = changed_export(folder.path(), |_| ());
    succeeds(&["export", &same, "--format", "onnx", "--out", &target], "");
}

#[test]
fn other_options_are_named() {
    let settings = |set: &[&str]| {
        let sets: Vec<String> = set.iter().map(|set| set.to_string()).collect();
        petteia::config::game_settings(&sets).unwrap()
    };
    struct Identity;
    impl Identity {
        fn on(self, rules: Opened) -> petteia::game::GameIdentity {
            rules.identity.clone()
        }
    }
    let of = |set: &[&str]| {
        Games::open("custodial-trap-intro", &settings(set)).map(|rules| Identity.on(rules)).unwrap()
    };
    let [ours, theirs] = [
        of(&["game.start=quarters", "game.no_progress=6"]),
        of(&["game.start=quarters", "game.no_progress=7"]),
    ];
    let said = ours.expect(&theirs, "runs/x").unwrap_err().to_string();
    assert!(
        said.starts_with(
            "runs/x has different game options (there / requested): no_progress = 6 / 7: use it"
        ),
        "{said}"
    );
    let said = ours.expect(&of(&[]), "runs/x").unwrap_err().to_string();
    assert!(said.contains("no_progress = 6 / not set, start = \"quarters\" / not set: use it"), "{said}");
}

#[test]
fn the_initial_position_can_be_analyzed_by_name() {
    let analyze = ["analyze", "connect-four", "--agent", "uniform:20"];
    let [named, written] = ["startpos\n", "-\n"].map(|line| json_lines(&succeeds(&analyze, line)));
    assert_eq!((&named[0]["action"], &named[0]["visits"]), (&written[0]["action"], &written[0]["visits"]));
    assert!(named[0]["action"].is_string() && named[0]["position"] == "-", "{named:?}");
}

#[test]
fn whoever_looks_for_another_device_is_told() {
    let said = "`--device cuda`";
    for argument in ["--gpu", "--cuda"] {
        fails(&["train", "configs/smoke.toml", argument], 2, &["unexpected argument", said]);
    }
    fails(&["perft", "phage", "--device=cuda"], 2, &["unexpected argument", said]);
    fails(
        &["train", "configs/smoke.toml", "--set", "net.gpu=0"],
        2,
        &["unknown field `gpu`", "`net.device`"],
    );
    fails(
        &["arena", "phage", "random", "random", "--device", "gpu"],
        2,
        &["possible values: cpu, cuda, vulkan, auto"],
    );
    let other = petteia(&["train", "configs/smoke.toml", "--gup"], "");
    assert!(!err(&other).contains(said), "{}", err(&other));
}
