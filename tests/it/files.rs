//! `petteia records`, `inspect` and `man`: their output for a small run, and for a damaged one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use petteia::replay::store;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::command::{err, fails, json_lines, out, petteia, succeeds};
use crate::support::runs::{copy_folder, shard, text};

/// A run that nobody changes.
static RUN: LazyLock<(TempDir, String)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run").display().to_string();
    succeeds(&["train", "configs/smoke.toml", "--run", &run], "");
    (folder, run)
});

/// A copy of the run, for a test that damages it.
fn copy() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("run");
    copy_folder(Path::new(&RUN.1), &copy);
    (folder, copy)
}

fn flip_a_byte(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn records_alone_lists_every_shard() {
    let table = out(&succeeds(&["records", &RUN.1], ""));
    assert_eq!(table, out(&succeeds(&["records", &RUN.1, "list"], "")));
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows.len(), 1 + 6 + 1, "{table}");
    assert!(rows[1..7].iter().all(|row| row[1] == "16" && row.contains(&"checked")), "{table}");
    assert!(
        rows[1].contains(&"rollout:16")
            && rows[6].ends_with(&["selfplay/generation-0003/shard-0001.jsonl.zst"])
    );
    assert!(table.ends_with('\n') && table.contains("6 shards, 96 games, "), "{table}");
    let objects = json_lines(&succeeds(&["records", &RUN.1, "list", "--json"], ""));
    assert_eq!(objects, json_lines(&succeeds(&["records", &RUN.1, "--json"], "")));
    fails(&["records", &RUN.1, "--json", "verify"], 2, &["--json applies only to the list"]);
    let plies = |row: &Vec<&str>| row[2].parse::<u64>().unwrap();
    for (object, row) in objects.iter().zip(&rows[1..7]) {
        assert_eq!((object["plies"].as_u64(), object["state"].as_str()), (Some(plies(row)), Some("checked")));
    }
    let generation = Path::new(&RUN.1).join("selfplay/generation-0002");
    assert!(out(&succeeds(&["records", text(&generation)], "")).contains("2 shards, 32 games"));
    fails(&["records", "src"], 1, &["src has no records", "run folder"]);
    fails(&["records", "LICENSE-MIT"], 1, &["LICENSE-MIT is not a file of records", ".jsonl.zst"]);
    fails(&["records", "nowhere"], 1, &["nowhere does not exist"]);
}

#[test]
fn show_draws_a_game_as_it_was_played() {
    let shard = shard(Path::new(&RUN.1), 2, 1);
    let record = &store::read_unplayed(&shard).unwrap()[3];
    let number = record.index.to_string();
    let shown = out(&succeeds(&["records", &RUN.1, "show", "--generation", "2", "--game", &number], ""));
    assert!(
        shown.starts_with(&format!("tic-tac-toe, generation 2, game {number}, evaluated by generation 1: "))
    );
    for (ply, action) in record.actions.iter().enumerate() {
        assert!(shown.contains(&format!("ply {ply}: {} plays {action} (", ["X", "O"][ply % 2])), "{shown}");
    }
    let boards: Vec<&str> = shown.split("a  b  c").collect();
    assert_eq!(boards.len() - 1, record.actions.len() + 1, "{shown}");
    assert!(!boards[0].contains('[') && boards[1..boards.len() - 1].iter().all(|board| board.contains('[')));
    let result = match record.outcome.as_str() {
        "first" => "X wins",
        "second" => "O wins",
        _ => "a draw",
    };
    assert!(shown.trim_end().ends_with(result), "{shown}");
    // the default is the newest generation and its first game; one shard is enough
    let newest = out(&succeeds(&["records", &RUN.1, "show"], ""));
    assert!(newest.starts_with("tic-tac-toe, generation 3, game 0, "), "{newest}");
    let alone = out(&succeeds(&["records", text(&shard), "show", "--top", "1"], ""));
    assert!(alone.starts_with("tic-tac-toe, generation 2, game 16, ") && alone.contains(" more)"), "{alone}");
    fails(
        &["records", &RUN.1, "show", "--game", "99"],
        1,
        &["no such game in generation 3, where games are numbered 0 to 31"],
    );
    fails(&["records", &RUN.1, "show", "--generation", "9"], 1, &["no game in generation 9"]);
}

#[test]
fn verify_names_what_is_damaged() {
    let whole = out(&succeeds(&["records", &RUN.1, "verify"], ""));
    assert!(whole.contains("6 of 6 shards intact, with 96 games"), "{whole}");
    let (_folder, run) = copy();
    flip_a_byte(&shard(&run, 1, 0));
    // an intact shard that contradicts the rules: it names the other player as the winner
    let wrong = shard(&run, 2, 1);
    let mut records = store::read_unplayed(&wrong).unwrap();
    records[4].outcome = if records[4].outcome == "first" { "second".into() } else { "first".into() };
    store::write_shard(&wrong, &records, None).unwrap();
    fs::remove_file(format!("{}.sha256", shard(&run, 3, 0).display())).unwrap();
    store::set_aside(&shard(&run, 3, 1)).unwrap();
    let verified = petteia(&["records", text(&run), "verify"], "");
    assert_eq!(verified.status.code(), Some(1));
    let said = out(&verified);
    for part in [
        "generation-0001/shard-0000.jsonl.zst: the SHA-256 differs",
        "generation-0002/shard-0001.jsonl.zst: line 5: the record says",
        "generation-0003/shard-0000.jsonl.zst: its checksum file is missing or wrong",
        "generation-0003/shard-0001.jsonl.zst: it was set aside",
        "2 of 5 shards intact, with 32 games",
    ] {
        assert!(said.contains(part), "no `{part}` in {said}");
    }
    assert!(err(&verified).contains("4 problems, see above"), "{}", err(&verified));
    let listed = petteia(&["records", text(&run)], "");
    assert_eq!(listed.status.code(), Some(1));
    assert!(
        out(&listed).contains("DAMAGED") && out(&listed).contains("5 shards, 48 games"),
        "{}",
        out(&listed)
    );
    assert!(err(&listed).contains("2 of 5 shards damaged"), "{}", err(&listed));
    let csv = run.join("out.csv");
    fails(
        &["records", text(&run), "convert", "--format", "csv", "--out", text(&csv)],
        1,
        &["SHA-256 differs"],
    );
    assert!(
        fs::read_dir(&run)
            .unwrap()
            .flatten()
            .all(|entry| !entry.path().to_string_lossy().contains("out.csv"))
    );
}

#[test]
fn convert_keeps_everything() {
    let convert = |format: &str| out(&succeeds(&["records", &RUN.1, "convert", "--format", format], ""));
    let shards = store::find(Path::new(&RUN.1)).unwrap().paths;
    let lines = shards.iter().flat_map(|path| store::Lines::open(path).unwrap());
    let stored: String = lines.map(|line| line.unwrap() + "\n").collect();
    assert!(convert("jsonl") == stored);
    let records: Vec<_> = shards.iter().flat_map(|path| store::read_unplayed(path).unwrap()).collect();
    let csv = convert("csv");
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 1 + records.iter().map(|record| record.actions.len()).sum::<usize>());
    assert_eq!((rows[0][3], rows[0][10]), ("to_move", "visits"));
    let mut rows = rows[1..].iter();
    for record in &records {
        for (ply, (row, action)) in rows.by_ref().zip(&record.actions).take(record.actions.len()).enumerate()
        {
            let (generation, index) = (record.generation.to_string(), record.index.to_string());
            assert_eq!(row[..3], [generation.as_str(), &index, &ply.to_string()]);
            assert_eq!((row.len(), row[5], row[12]), (15, action.as_str(), record.outcome.as_str()));
            assert_eq!(row[14], "rules");
            let visits = row[10].split_whitespace().map(|part| part.split_once(':').unwrap());
            let visits = visits.map(|(action, n)| (action.to_string(), n.parse().unwrap())).collect();
            assert_eq!(record.visits[ply], visits);
            let [win, _, loss] = record.wdl[ply];
            let was_asked = !record.visits[ply].is_empty() || win + loss > 0.0;
            assert!(row[6..10].iter().all(|field| field.is_empty() != was_asked), "{row:?}");
            assert_eq!(row[11] == "0.0", record.visits[ply].is_empty(), "{row:?}");
        }
    }
    let list = convert("text");
    assert_eq!(list.matches("\n\n").count(), records.len());
    assert!(list.contains(&format!("  1. {} 2. {}", records[0].actions[0], records[0].actions[1])), "{list}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("games.txt");
    let to_file = ["records", &RUN.1, "convert", "--format", "text", "--out", text(&file)];
    succeeds(&to_file, "");
    assert_eq!(fs::read_to_string(&file).unwrap(), list);
    fails(&to_file, 2, &["games.txt already exists"]);
}

#[test]
fn inspect_knows_every_file() {
    let run = Path::new(&RUN.1);
    let folder = tempfile::tempdir().unwrap();
    let export = folder.path().join("exported.safetensors");
    succeeds(&["export", &RUN.1, "--format", "safetensors", "--out", text(&export)], "");
    let shard_file = shard(run, 1, 0);
    let checkpoint = run.join("checkpoints/generation-0003");
    for (path, kind, facts) in [
        (
            run.to_path_buf(),
            "run folder",
            &[("generations", "3"), ("generations_planned", "3"), ("shards", "6"), ("games", "96")] as &[_],
        ),
        (
            run.join("selfplay/generation-0002"),
            "records of a generation",
            &[("games", "32"), ("generation", "2")],
        ),
        (shard_file.clone(), "shard of records", &[("evaluator", "rollout:16"), ("games", "16")]),
        (PathBuf::from(format!("{}.sha256", shard_file.display())), "shard of records", &[("games", "16")]),
        (checkpoint.clone(), "checkpoint", &[("generation", "3"), ("seed", "1")]),
        (checkpoint.join("manifest.json"), "checkpoint", &[("generation", "3")]),
        (checkpoint.join("optimizer.bin"), "optimizer state of a checkpoint", &[("generation", "3")]),
        (checkpoint.join("weights.safetensors"), "network", &[("generation", "3")]),
        (export, "network", &[("generation", "3"), ("encoding", "1")]),
        (run.join("config.toml"), "config", &[("seed", "1")]),
        (run.join("metrics.jsonl"), "metrics of a run", &[]),
    ] {
        let output = succeeds(&["inspect", text(&path), "--json"], "");
        let object = &json_lines(&output)[0];
        assert_eq!(
            (object["kind"].as_str(), &object["problems"]),
            (Some(kind), &serde_json::json!([])),
            "{object}"
        );
        for (name, value) in facts {
            let found = object[*name].as_str().map_or(object[*name].to_string(), str::to_string);
            assert_eq!(found, *value, "{name} of {object}");
        }
        assert!(object["game"] == "tic-tac-toe" || kind == "metrics of a run", "{object}");
        let shown = out(&succeeds(&["inspect", text(&path)], ""));
        assert!(shown.lines().next().unwrap().ends_with(kind) && !shown.contains("problem"), "{shown}");
        assert_eq!(shown.lines().last(), Some("intact"), "{shown}");
        assert!(!shown.contains("  shape") || shown.contains(" 2 planes of 3x3, 9 actions\n"), "{shown}");
    }
}

#[test]
fn inspect_names_the_settings_that_are_no_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("a.toml");
    fs::write(&config, "game.id = 'phage'\n[search]\ncpuct = 2\nnoise_fraction = 0.15\n").unwrap();
    let shown = out(&succeeds(&["inspect", text(&config)], ""));
    // values are shown as the file has them, although they are stored as f32
    assert!(
        shown.contains("search.cpuct 2.0 (default 1.5), search.noise_fraction 0.15 (default 0.25)\n"),
        "{shown}"
    );
}

#[test]
fn inspect_finds_damage() {
    let (_folder, run) = copy();
    let weights = run.join("checkpoints/generation-0002/weights.safetensors");
    flip_a_byte(&weights);
    flip_a_byte(&shard(&run, 1, 1));
    fs::write(run.join("metrics.jsonl"), "{\"kind\": \"train\", \"generation\": 1}\n{\"kin").unwrap();
    let bad = store::set_aside(&shard(&run, 3, 1)).unwrap();
    let problems = |path: &Path, code: i32| {
        let output = petteia(&["inspect", text(path), "--json"], "");
        assert_eq!(output.status.code(), Some(code), "{}", err(&output));
        let object = json_lines(&output).remove(0);
        let Value::Array(problems) = &object["problems"] else { panic!("{object}") };
        problems.iter().map(|problem| problem.as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    let found = problems(&run, 1);
    let expected = [
        "weights.safetensors: the SHA-256",
        "generation-0001/shard-0001.jsonl.zst: the SHA-256",
        "generation-0003/shard-0001.jsonl.zst: it was set aside",
        "line 2",
    ];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (problem, part) in found.iter().zip(expected) {
        assert!(problem.contains(part), "no `{part}` in {problem}");
    }
    assert!(problems(&weights, 1)[0].contains("SHA-256"));
    assert!(problems(&run.join("checkpoints/generation-0002"), 1)[0].contains("SHA-256"));
    // a file that was set aside is read as it is, and its problems are reported, here none
    assert!(problems(&bad, 0).is_empty());
    flip_a_byte(&bad);
    assert!(problems(&bad, 1)[0].contains("SHA-256"));
}

#[test]
fn inspect_says_what_it_can_of_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    };
    fails(&["inspect", &file("a.gz", &[0x1f, 0x8b, 8, 0])], 1, &["a.gz", "gzip", "4 bytes"]);
    fails(&["inspect", &file("b", b"")], 1, &["it is empty"]);
    fails(
        &["inspect", &file("c.safetensors", b"hello")],
        1,
        &["not a safetensors file or bot that `petteia export` wrote: it is too short"],
    );
    fails(&["inspect", &file("optimizer.bin", b"hello")], 1, &["no manifest.json in its folder"]);
    fails(&["inspect", &file("d.toml", b"x = 1")], 1, &["not a Petteia config", "unknown field `x`"]);
    fails(&["inspect", &file("e.jsonl.zst", b"hello")], 1, &["problem"]);
    fails(&["inspect", text(folder.path())], 1, &["is a folder, but not a run"]);
    for run in ["run-2", "run-3", "run-1"] {
        fs::create_dir(folder.path().join(run)).unwrap();
        file(&format!("{run}/config.toml"), b"");
    }
    let runs = petteia(&["inspect", text(folder.path())], "");
    let at = |run: &str| err(&runs).find(run).unwrap();
    assert!(at("run-1") < at("run-2") && at("run-2") < at("run-3"), "{}", err(&runs));
    fails(&["inspect", "nowhere"], 1, &["nowhere does not exist"]);
    fails(&["inspect", Path::new(&RUN.1).join("selfplay").to_str().unwrap()], 1, &["is part of a run"]);
}

#[test]
fn a_run_is_not_an_agent_and_a_missing_one_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (bot, missing) = (path("bot"), path("missing"));
    let export = |run: &str, code: i32, says: &str| {
        fails(&["export", run, "--format", "bot", "--out", &bot], code, &[says]);
    };
    export(&format!("{}:100", RUN.1), 2, &format!("write {} alone", RUN.1));
    export(&missing, 1, "missing does not exist");
    fails(&["arena", "tic-tac-toe", &missing, "random"], 2, &["missing does not exist"]);
    fails(&["play", "tic-tac-toe", "--opponent", &missing], 2, &["missing does not exist"]);
    let half = format!("{}:1:f16", RUN.1);
    fails(
        &["arena", "tic-tac-toe", &half, "random"],
        2,
        &["`f16` is not a number of simulations", "f32, bf16, auto"],
    );
}

#[test]
fn man_writes_a_page_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    succeeds(&["man", text(&pages)], "");
    let mut names: Vec<String> = fs::read_dir(&pages)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    for name in ["petteia.1", "petteia-train.1", "petteia-records-convert.1", "petteia-bench-rules.1"] {
        assert!(names.iter().any(|known| known == name), "no {name} in {names:?}");
    }
    let page = fs::read_to_string(pages.join("petteia-play.1")).unwrap();
    assert!(page.starts_with(".ie") && page.contains("SYNOPSIS") && page.contains("opponent"), "{page}");
    let page = fs::read_to_string(pages.join("petteia-records-convert.1")).unwrap();
    assert!(page.contains("\npetteia records <RUN> convert "), "{page}");
    let (before, table) = page.split_once(".nf\nFormats:\n  jsonl      one").unwrap();
    assert!(
        before.contains("\n.SH NOTES\n") && table.contains("\n.fi\n.PP\nAll formats except jsonl"),
        "{page}"
    );
    assert!(
        page.contains(concat!("\n.TH PETTEIA-RECORDS-CONVERT 1 \" \" \"petteia ", env!("CARGO_PKG_VERSION")))
    );
}
