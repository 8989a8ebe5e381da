//! Runs that continue: resumed with their own settings, extended, forked, and begun with the weights of another run.
//! Each is compared with the run that it should equal, and records what it took over.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use petteia::checkpoint::{self, Checkpoint};
use petteia::config::Config;
use petteia::game::{GameOptions, Rules};
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::net::network::Network;
use petteia::train::Trainer;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::command::{err, fails, json_lines, out, petteia, succeeds};
use crate::support::runs::{self, Finished, PLAIN, checkpoint as folder_of, copy_folder, shard, text};

/// A learning rate that is the same for runs of any length.
const CONSTANT: &str = "train.learning_rate_final=0.008";

static STEADY: LazyLock<Finished> = LazyLock::new(|| Finished::new(&[CONSTANT]));
static STEADY_5: LazyLock<Finished> = LazyLock::new(|| Finished::new(&[CONSTANT, "train.generations=5"]));

/// Every file of a run by its name, except files that contain times.
fn files(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let found = runs::files(run).into_iter().map(|(path, bytes)| (path.display().to_string(), bytes));
    found.filter(|(name, _)| !["lock", "metrics.jsonl", "train.log"].contains(&name.as_str())).collect()
}

/// The results of a run: its games, its weights without the settings in their header, and the state of its optimizer.
fn products(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = files(run);
    found.retain(|name, _| name.ends_with(".zst") || name.ends_with("optimizer.bin"));
    for path in checkpoint::list(run).unwrap() {
        let tensors = Checkpoint::open_folder(&path).unwrap().tensors_sha256().to_string();
        found.insert(path.strip_prefix(run).unwrap().display().to_string(), tensors.into_bytes());
    }
    found
}

/// Fails if there are differences, and names them.
fn expect_same(found: BTreeMap<String, Vec<u8>>, expected: BTreeMap<String, Vec<u8>>) {
    let names: Vec<_> = found.keys().chain(expected.keys()).collect();
    let differs: Vec<_> = names.iter().filter(|name| found.get(**name) != expected.get(**name)).collect();
    assert!(differs.is_empty(), "{differs:?}");
}

fn manifest(run: &Path, generation: usize) -> Value {
    serde_json::from_slice(&fs::read(folder_of(run, generation).join("manifest.json")).unwrap()).unwrap()
}

/// Asserts that everything that a run lists exists and is intact, according to all commands.
fn expect_whole(run: &Path) {
    succeeds(&["inspect", text(run)], "");
    succeeds(&["records", text(run), "verify"], "");
}

/// Trains without any warning.
fn trains(arguments: &[&str]) -> String {
    let output = succeeds(&[&["train"], arguments, &["--threads", "1"]].concat(), "");
    assert!(!err(&output).contains("warning") && !err(&output).contains("set aside"), "{}", err(&output));
    format!("{}{}", err(&output), out(&output))
}

/// Removes the generations after `generation` from a run, as if it had been killed before they were made.
fn cut(run: &Path, generation: usize) {
    for path in checkpoint::list(run).unwrap() {
        if Checkpoint::open_folder(&path).unwrap().manifest.generation > generation {
            fs::remove_dir_all(&path).unwrap();
            let name = path.file_name().unwrap();
            fs::remove_dir_all(run.join("selfplay").join(name)).unwrap();
        }
    }
}

fn temporary() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("new run");
    (folder, run)
}

#[test]
fn a_run_is_resumed_with_its_own_settings() {
    for config in [None, Some("config.toml"), Some("")] {
        let (_folder, run) = PLAIN.copy(2);
        let said = match config {
            None => trains(&["--run", text(&run)]),
            Some(name) => trains(&[text(&run.join(name))]),
        };
        assert!(said.contains("resumed after generation 2 of 3"), "{said}");
        assert_eq!(said.contains("belongs to the run in"), config.is_some(), "{said}");
        expect_same(files(&run), files(&PLAIN.run()));
    }
    let (_folder, run) = PLAIN.copy(2);
    let other = ["train", "--run", text(&run), "--set", "search.cpuct=2"];
    fails(
        &other,
        2,
        &["exists with different settings", "search.cpuct: 1.5 / 2.0", "--fork continues a copy"],
    );
    // in another folder, a run's settings are those of a new run
    let settings = run.join("config.toml");
    let (_folder, again) = temporary();
    trains(&[text(&settings), "--run", text(&again)]);
    expect_same(files(&again), files(&PLAIN.run()));
    fails(&["train", "--run", "no/such/run"], 1, &["no/such/run does not exist"]);
    fails(&["train", "--run", "src"], 1, &["src is not a run folder (it has no config.toml)"]);
    fails(&["train"], 2, &["CONFIG"]);
}

#[test]
fn an_extended_run_is_one_of_that_length() {
    let (_folder, run) = STEADY.copy(3);
    let before = files(&run);
    let said = trains(&["--run", text(&run), "--generations", "5"]);
    assert!(said.contains("now has 5 generations instead of 3, of which 3 are done"), "{said}");
    assert!(!said.contains("learning rate:"), "the rate is unchanged: {said}");
    expect_same(products(&run), products(&STEADY_5.run()));
    // the files that existed are unchanged
    let mut after = files(&run);
    after.retain(|name, _| before.contains_key(name) && name != "config.toml");
    assert_eq!(after.len() + 1, before.len());
    assert!(after.iter().all(|(name, bytes)| before[name] == *bytes));
    expect_same(
        [("config.toml".to_string(), fs::read(run.join("config.toml")).unwrap())].into(),
        [("config.toml".to_string(), fs::read(STEADY_5.run().join("config.toml")).unwrap())].into(),
    );
    expect_whole(&run);
    assert_eq!(manifest(&run, 3)["data"]["lineage"], Value::Null);
    let chapter = &manifest(&run, 4)["data"]["lineage"][0];
    assert_eq!((&chapter["change"], &chapter["generation"]), (&"extended".into(), &3.into()));
    assert!(chapter["settings"].as_str().unwrap().contains("generations = 3"));
    let shown = out(&succeeds(&["inspect", text(&run)], ""));
    assert!(shown.contains("extended after generation 3: train.generations 3 -> 5"), "{shown}");
    // the same command resumes the run, which can be killed like any other run
    cut(&run, 4);
    trains(&["--run", text(&run), "--generations", "5"]);
    expect_same(products(&run), products(&STEADY_5.run()));
    // the run cannot be shortened to fewer generations than it has
    fails(
        &["train", "--run", text(&run), "--generations", "4"],
        2,
        &["has 5 generations already, so it cannot end after 4"],
    );
}

#[test]
fn a_run_is_extended_before_its_end() {
    let (_folder, run) = STEADY.copy(2);
    // the run is left in the middle of the third generation
    fs::create_dir(run.join("selfplay/generation-0003")).unwrap();
    for number in 0..2 {
        for path in
            [shard(&STEADY.run(), 3, number), shard(&STEADY.run(), 3, number).with_extension("zst.sha256")]
        {
            fs::copy(&path, run.join("selfplay/generation-0003").join(path.file_name().unwrap())).unwrap();
        }
    }
    let began = fs::metadata(shard(&run, 3, 0)).unwrap().modified().unwrap();
    trains(&["--run", text(&run), "--generations", "4"]);
    assert_eq!(fs::metadata(shard(&run, 3, 0)).unwrap().modified().unwrap(), began, "it is not played again");
    // the run can be extended again, also with a settings file
    let config = STEADY.run().parent().unwrap().join("run.toml");
    trains(&[text(&config), "--run", text(&run), "--set", CONSTANT, "--generations", "5"]);
    expect_same(products(&run), products(&STEADY_5.run()));
    expect_whole(&run);
    assert_eq!(manifest(&run, 5)["data"]["lineage"].as_array().unwrap().len(), 2);
    // without --generations, the number in the config must be that of the run
    let asked = ["train", text(&config), "--run", text(&run), "--set", CONSTANT];
    fails(&asked, 2, &["train.generations: 5 / 3", "--run without a CONFIG resumes the run unchanged"]);
}

#[test]
fn the_learning_rate_of_an_extended_run_rises_again() {
    let (_folder, run) = PLAIN.copy(3);
    let said = trains(&["--run", text(&run), "--generations", "6"]);
    assert!(said.contains("learning rate: from 4.05e-3 (the last was 1.00e-4) to 1.00e-4"), "{said}");
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let lines: Vec<Value> = metrics.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let rates = |generation: usize| -> Vec<f64> {
        let of = |line: &&Value| line["kind"] == "train" && line["generation"] == generation;
        lines.iter().filter(of).map(|line| line["learning_rate"].as_f64().unwrap()).collect()
    };
    assert!(*rates(3).last().unwrap() < 2e-4 && rates(4)[0] > 4.0e-3 && *rates(6).last().unwrap() < 2e-4);
    // and the first generations are the same as those of the shorter run
    cut(&run, 3);
    let mut found = files(&run);
    found.retain(|name, _| !["lineage.json", "config.toml"].contains(&name.as_str()));
    let mut expected = files(&PLAIN.run());
    expected.remove("config.toml");
    expect_same(found, expected);
}

/// The manifests of a fork record where it came from; everything else is the same as in the original.
fn without_lineage(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = files(run);
    found.remove("lineage.json");
    for (_, bytes) in found.iter_mut().filter(|(name, _)| name.ends_with("manifest.json")) {
        let mut manifest: Value = serde_json::from_slice(bytes).unwrap();
        manifest.as_object_mut().unwrap().remove("sha256");
        manifest["data"].as_object_mut().unwrap().remove("lineage");
        *bytes = manifest.to_string().into_bytes();
    }
    found
}

#[test]
fn a_fork_without_changes_is_the_original() {
    let (_folder, run) = temporary();
    let source = PLAIN.run();
    let fork = ["--fork", text(&source), "--at", "1", "--run", text(&run)];
    let said = trains(&fork);
    assert!(said.contains("up to generation 1, with the same settings"), "{said}");
    expect_same(without_lineage(&run), without_lineage(&source));
    expect_whole(&run);
    let from = &manifest(&run, 3)["data"]["lineage"][0]["from"];
    assert_eq!(from["generation"], 1);
    assert_eq!(from["tensors"], manifest(&source, 1)["files"]["tensors"]);
    assert!(manifest(&run, 1)["data"]["lineage"].is_null(), "what is copied is not changed");
    let shown = out(&succeeds(&["inspect", text(&run)], ""));
    assert!(shown.contains("forked at generation 1 from"), "{shown}");
    // the same command resumes the fork
    cut(&run, 2);
    trains(&fork);
    expect_same(without_lineage(&run), without_lineage(&source));
    // a different command does not resume the fork
    let other = ["train", "--fork", text(&source), "--at", "2", "--run", text(&run)];
    fails(&other, 2, &["exists and is not a fork of", "at generation 2", "--run DIR"]);
}

#[test]
fn a_fork_goes_on_with_its_own_settings() {
    let (_folder, run) = temporary();
    let changes = ["--set", "seed=9", "--set", "selfplay.batch=8"];
    let source = PLAIN.run();
    let fork =
        [&["--fork", text(&source), "--at", "2", "--run", text(&run), "--generations", "4"], &changes[..]]
            .concat();
    let said = trains(&fork);
    assert!(said.contains("selfplay.batch 4 -> 8") && said.contains("train.generations 3 -> 4"), "{said}");
    let (found, base) = (files(&run), files(&source));
    let of_two = |name: &&String| name.contains("generation-0001") || name.contains("generation-0002");
    assert!(base.keys().filter(of_two).all(|name| found[name] == base[name]));
    let tensors = |run: &Path| manifest(run, 3)["files"]["tensors"].clone();
    assert_ne!(tensors(&run), tensors(&source));
    assert!(shard(&run, 3, 1).exists() && !shard(&run, 3, 2).exists(), "16 games in shards of 8");
    assert_eq!(manifest(&run, 4)["seed"], 9);
    expect_whole(&run);
    let whole = files(&run);
    // killed, extended, and forked again
    cut(&run, 2);
    trains(&["--run", text(&run)]);
    expect_same(files(&run), whole);
    trains(&["--run", text(&run), "--generations", "5"]);
    expect_whole(&run);
    let (_folder, again) = temporary();
    trains(&["--fork", text(&run), "--at", "4", "--run", text(&again)]);
    expect_whole(&again);
    let changes: Vec<_> = manifest(&again, 5)["data"]["lineage"].as_array().unwrap().clone();
    assert_eq!(
        changes.iter().map(|chapter| chapter["change"].clone()).collect::<Vec<_>>(),
        ["forked", "forked"]
    );
}

#[test]
fn what_cannot_be_forked_is_refused() {
    let (folder, run) = temporary();
    let refused = |source: &Path, more: &[&str], parts: &[&str], code| {
        let fork = ["train", "--fork", text(source), "--run", text(&run)];
        fails(&[&fork[..], more].concat(), code, parts);
        assert!(fs::read_dir(folder.path()).unwrap().next().is_none(), "nothing is left");
    };
    let source = PLAIN.run();
    refused(&source, &["--at", "7"], &["has no checkpoint of generation 7: it has 1 to 3"], 2);
    refused(&source, &["--at", "0"], &["has no checkpoint of generation 0"], 2);
    refused(&source, &["--set", "net.filters=16"], &["net.filters is 8, not 16", "begin a new run"], 2);
    refused(&source, &["--set", "train.optimizer=sgd"], &["train.optimizer", "adamw, not sgd"], 2);
    refused(&source, &["--generations", "2"], &["a fork at generation 3 has that many already"], 2);
    refused(&source, &["--set", "game.id=phage"], &["game"], 1);
    refused(Path::new("no/run"), &[], &["no/run does not exist"], 1);
    // a part that the original was trained on is missing there
    let (_kept, torn) = PLAIN.copy(3);
    fs::remove_file(shard(&torn, 1, 2)).unwrap();
    refused(
        &torn,
        &["--at", "2"],
        &["does not hold what it was trained on", "generation-0001/shard-0002"],
        1,
    );
    let (_folder, anyway) = temporary();
    let fork = ["train", "--fork", text(&torn), "--at", "2", "--run", text(&anyway), "--accept-missing"];
    assert!(err(&succeeds(&fork, "")).contains("the run continues without it"));
}

#[test]
fn a_run_begins_with_the_weights_of_another() {
    let (_folder, run) = temporary();
    let source = PLAIN.run();
    let config = source.parent().unwrap().join("run.toml");
    let start = [text(&config), "--run", text(&run), "--from", text(&source), "--set", "seed=5"];
    let said = trains(&start);
    assert!(said.contains("begins with the weights of") && said.contains("generation-0003"), "{said}");
    // the run has a low learning rate, unless the user sets one
    let gently = "the weights are already trained, so train.learning_rate = 0.0008 instead of 0.008";
    assert!(said.contains(gently), "{said}");
    assert!(fs::read_to_string(run.join("config.toml")).unwrap().contains("learning_rate = 0.0008\n"));
    let full = ["--set", "train.learning_rate=0.008", "--dry-run", "--run", "no/such"];
    let full = [&["train", text(&config), "--from", text(&source)], &full[..]].concat();
    assert!(!out(&succeeds(&full, "")).contains("so train.learning_rate"));
    let own = manifest(&run, 0);
    assert_eq!(own["files"]["tensors"], manifest(&source, 3)["files"]["tensors"]);
    assert_eq!((&own["step"], &own["data"]["window_shards"]), (&0.into(), &0.into()));
    let chapter = &manifest(&run, 3)["data"]["lineage"][0];
    assert_eq!((&chapter["change"], &chapter["from"]["generation"]), (&"started".into(), &3.into()));
    // the network plays from the first game on
    let shown = out(&succeeds(&["records", text(&run), "show", "--generation", "1", "--game", "0"], ""));
    assert!(shown.contains("evaluated by generation 0"), "{shown}");
    expect_whole(&run);
    let inspected = &json_lines(&succeeds(&["inspect", text(&run), "--json"], ""))[0];
    assert_eq!(inspected["generations"], 3);
    assert!(
        inspected["lineage"][0].as_str().unwrap().starts_with("started with the weights of"),
        "{inspected}"
    );
    // in whichever generation the run is killed, it ends with the same bytes
    let whole = files(&run);
    for generation in [2, 0] {
        cut(&run, generation);
        match generation {
            0 => trains(&["--run", text(&run)]),
            _ => trains(&start),
        };
        expect_same(files(&run), whole.clone());
    }
    // a run can take the settings of another run, and be extended before its first generation
    let (_folder, same) = temporary();
    trains(&["--from", text(&source), "--run", text(&same), "--set", "seed=5"]);
    expect_same(products(&same), products(&run));
    cut(&same, 0);
    trains(&["--run", text(&same), "--generations", "1"]);
    expect_whole(&same);
    assert_eq!(checkpoint::list(&same).unwrap().len(), 2);
}

/// Auxiliary heads that the weights lack start anew, and heads that the settings do not request are dropped.
#[test]
fn auxiliary_heads_are_put_on_and_taken_off() {
    let (folder, run) = temporary();
    let (source, exported) = (PLAIN.run(), folder.path().join("exported.safetensors"));
    let sizes = |run: &Path, generation: usize| {
        let checkpoint = Checkpoint::open_folder(&folder_of(run, generation)).unwrap();
        let network = checkpoint.network().unwrap();
        (network.layers().auxiliary.len(), network.count())
    };
    let (none, plain) = sizes(&source, 3);
    let heads = ["--set", "net.reply_policy=0.15", "--set", "net.short_value=0.5"];
    trains(&[&["--from", text(&source), "--run", text(&run)], &heads[..]].concat());
    let (two, more) = sizes(&run, 0);
    assert_eq!((none, two), (0, 2));
    assert!(more > plain && sizes(&run, 3) == (2, more));
    expect_whole(&run);
    // an export has no heads, but its settings ask for them
    succeeds(&["export", text(&run), "--format", "safetensors", "--out", text(&exported)], "");
    let again = folder.path().join("again");
    trains(&["--from", text(&exported), "--run", text(&again), "--set", "net.reply_policy=0"]);
    assert!(sizes(&again, 3).0 == 1 && sizes(&again, 3).1 < more);
    // the heads are removed again
    let off = folder.path().join("off");
    trains(&["--from", text(&again), "--run", text(&off), "--set", "net.short_value=0"]);
    assert_eq!(sizes(&off, 3), (none, plain));
}

/// If the weights from outside equal the initial weights, the run is the same as one from nothing.
#[test]
fn a_run_that_begins_with_new_weights_is_one_from_nothing() {
    let (folder, run) = temporary();
    let sets = ["selfplay.bootstrap_games=0".to_string()];
    let config = Config::parse("test", runs::CONFIG, &sets).unwrap();
    let rules = Rules::<TicTacToe>::new(&GameOptions::default()).unwrap();
    let network = Network::new(&config.net, rules.identity.shape, config.seed);
    let trainer = Trainer::new(&config.train, &network);
    let donor = folder.path().join("donor");
    fs::create_dir(&donor).unwrap();
    checkpoint::save(&donor, &config, &rules.identity, 1, &trainer, Default::default()).unwrap();
    let (weights, settings) = (folder_of(&donor, 1), runs::write_config(folder.path()));
    trains(&[text(&settings), "--run", text(&run), "--from", text(&weights)]);
    let plain = folder.path().join("plain");
    trains(&[text(&settings), "--run", text(&plain), "--set", &sets[0]]);
    let mut found = products(&run);
    found.retain(|name, _| !name.contains("generation-0000"));
    expect_same(found, products(&plain));
}

/// Asserts that each shard is listed by its name and with the manifest's entry, in the run and in its own folder.
fn inherited_shards_are_listed(run: &Path, manifest: &Value) {
    let folder = run.join("selfplay/inherited");
    let listed = json_lines(&succeeds(&["records", text(run), "--json"], ""));
    let expected = manifest["data"]["shards"].as_array().unwrap();
    assert_eq!((listed.len(), expected.len()), (24, 12), "12 of its own");
    for (found, shard) in listed.iter().zip(expected) {
        let path = run.join("selfplay").join(shard["name"].as_str().unwrap());
        assert_eq!((&found["shard"], &found["state"]), (&text(&path).into(), &"checked".into()));
        for count in ["games", "positions"] {
            assert_eq!(found[count], shard[count], "{count} of {}", path.display());
        }
    }
    let shown = out(&succeeds(&["records", text(run)], "")).to_string();
    let (first, own) = ("selfplay/inherited/shard-0000.jsonl.zst", "selfplay/generation-0001/shard-0000");
    assert!(shown.contains("\n24 shards (12 inherited), ") && shown.find(first) < shown.find(own), "{shown}");
    assert_eq!(json_lines(&succeeds(&["records", text(&folder), "--json"], "")), listed[..12]);
    for (place, count) in [(run, "24 of 24 shards"), (&folder, "12 of 12 shards")] {
        assert!(out(&succeeds(&["records", text(place), "verify"], "")).contains(count));
    }
    // by default, games are those of the run itself, without the inherited ones
    let show = |place: &Path| {
        let shown = succeeds(&["records", text(place), "show", "--generation", "1", "--game", "0"], "");
        out(&shown).lines().next().unwrap().to_string()
    };
    assert!(show(run).contains("evaluated by generation 0"), "{}", show(run));
    assert!(show(&folder).contains("evaluated by rollout"), "{}", show(&folder));
}

#[test]
fn a_window_is_taken_over_with_the_weights() {
    let (_folder, run) = temporary();
    let source = PLAIN.run();
    let start = ["--from", text(&source), "--with-window", "--run", text(&run), "--set", "seed=5"];
    let said = trains(&start);
    assert!(said.contains("and the window of its run"), "{said}");
    let (own, theirs) = (manifest(&run, 0), manifest(&source, 3));
    assert_eq!(own["data"]["window_shards"], 12);
    assert_eq!(own["data"]["window_positions"], theirs["data"]["window_positions"]);
    let sums = |manifest: &Value| -> Vec<String> {
        let shards = manifest["data"]["shards"].as_array().unwrap();
        shards.iter().map(|shard| shard["sha256"].to_string()).collect()
    };
    assert_eq!(sums(&own), sums(&theirs));
    assert_eq!(manifest(&run, 1)["data"]["window_shards"], 16);
    expect_whole(&run);
    inherited_shards_are_listed(&run, &own);
    let whole = files(&run);
    for generation in [1, 0] {
        cut(&run, generation);
        match generation {
            0 => trains(&["--run", text(&run)]),
            _ => trains(&start),
        };
        expect_same(files(&run), whole.clone());
    }
    // the window is passed on again with a smaller size: only the inherited games that fit are copied
    let (_folder, third) = temporary();
    trains(&["--from", text(&run), "--with-window", "--run", text(&third), "--set", "replay.window=400"]);
    expect_whole(&third);
    let shards = manifest(&third, 0)["data"]["window_shards"].as_u64().unwrap();
    assert!((13..24).contains(&shards), "{shards}");
    // missing or changed inherited files are named
    let lost = run.join("selfplay/inherited/shard-0007.jsonl.zst");
    fs::write(&lost, "junk").unwrap();
    fails(&["records", text(&run)], 1, &["1 of 24 shards damaged"]);
    let verified = petteia(&["records", text(&run), "verify"], "");
    let said = out(&verified);
    assert!(said.contains("inherited/shard-0007") && said.contains("23 of 24 shards intact"), "{said}");
    let resume = ["train", "--run", text(&run)];
    fails(&resume, 1, &["inherited/shard-0007.jsonl.zst", "does not hold what it was trained on"]);
    fails(&["records", text(&run), "verify"], 1, &[]);
    fails(&resume, 1, &["inherited/shard-0007.jsonl.zst: it was set aside"]);
    let accepted = succeeds(&[&resume[..], &["--accept-missing"]].concat(), "");
    assert!(err(&accepted).contains("the run continues without it"), "{}", err(&accepted));
}

#[test]
fn games_from_elsewhere_are_taken_over_with_the_weights() {
    let (folder, run) = temporary();
    let (source, shard) = (PLAIN.run(), folder.path().join("theirs.jsonl.zst"));
    let theirs = source.join("selfplay/generation-0002/shard-0001.jsonl.zst");
    fs::copy(&theirs, &shard).unwrap();
    let start = ["--from", text(&source), "--with-records", text(&shard), "--run", text(&run)];
    // a checksum beside it is copied, too, and says which run played the games
    let checksum = shard.with_extension("zst.sha256");
    fs::write(&checksum, format!("{}  theirs.jsonl.zst\n", "0".repeat(64))).unwrap();
    fails(&[&["train"], &start[..]].concat(), 1, &["theirs.jsonl.zst: the SHA-256 differs"]);
    fs::copy(theirs.with_extension("zst.sha256"), &checksum).unwrap();
    let said = trains(&start);
    assert!(said.contains(&format!("and the games of {}", shard.display())), "{said}");
    let own = manifest(&run, 0);
    assert_eq!(own["data"]["window_shards"], 1);
    assert_eq!(own["data"]["shards"][0]["sha256"], manifest(&source, 3)["data"]["shards"][5]["sha256"]);
    expect_whole(&run);
    let other = folder.path().join("other");
    let start = [&["train"], &start[..4], &["--run", text(&other)]].concat();
    // damaged and missing games are refused
    fs::write(&shard, "junk").unwrap();
    fails(&start, 1, &["theirs.jsonl.zst"]);
    assert!(!other.exists());
    fs::remove_file(&shard).unwrap();
    fails(&start, 1, &["theirs.jsonl.zst does not exist"]);
    fails(&[&start[..], &["--with-window"]].concat(), 2, &["cannot be used with"]);
}

/// Layers that do not depend on the board's size keep their weights, and the first layer keeps those for the planes
/// that both boards have.
#[test]
fn weights_move_to_a_larger_board() {
    let finished = Finished::new(&["game.id=cage-4", "net.value_pooling=true", "train.generations=1"]);
    let small = finished.run();
    let (_folder, run) = temporary();
    let from = ["--from", text(&small), "--run", text(&run), "--set", "game.id=cage-6"];
    let said = trains(&from);
    assert!(said.contains("trained for cage-4"), "{said}");
    assert!(said.contains("layers with new weights: policy_extras.linear"), "{said}");
    expect_whole(&run);
    let weights = |folder: PathBuf| Checkpoint::open_folder(&folder).unwrap().network().unwrap().weights();
    let (small, large) = (weights(folder_of(&small, 1)), weights(folder_of(&run, 0)));
    let of = |layer: &str| [&small, &large].map(|weights| weights.of(layer).clone());
    for layer in ["blocks.0.first", "policy_planes", "value_hidden", "value_out"] {
        let [there, here] = of(layer);
        assert_eq!(there.weight, here.weight, "{layer}");
    }
    // 15 and 16 planes, each followed by a plane of ones, with nine weights per plane
    let [there, here] = of("stem").map(|numbers| numbers.weight);
    for (there, here) in there.chunks(16 * 9).zip(here.chunks(17 * 9)) {
        assert_eq!(there[..15 * 9], here[..15 * 9]);
        assert_eq!(there[15 * 9..], here[16 * 9..]);
    }
    // the other game's window cannot be used
    let (_folder, other) = temporary();
    let window = ["--from", from[1], "--with-window", "--run", text(&other), "--set", from[5]];
    fails(&[&["train"], &window[..]].concat(), 1, &["the window of", "cage-4 instead of cage-6"]);
}

#[test]
fn what_a_run_cannot_begin_with_is_refused() {
    let (folder, run) = temporary();
    let source = PLAIN.run();
    let refused = |arguments: &[&str], code, parts: &[&str]| {
        fails(&[&["train"], arguments, &["--run", text(&run)]].concat(), code, parts);
        assert!(!run.exists(), "nothing is left");
    };
    refused(&["configs/phage.toml", "--from", text(&source)], 1, &["has game tic-tac-toe instead of phage"]);
    refused(
        &["--from", text(&source), "--set", "net.filters=16", "--set", "net.blocks=2"],
        2,
        &[
            "has a different network",
            "net.blocks is 1, not 2, net.filters is 8, not 16",
            "use the same sizes in the settings",
        ],
    );
    refused(&["--from", "no/such"], 1, &["no/such does not exist"]);
    let exported = folder.path().join("a.safetensors");
    succeeds(&["export", text(&source), "--format", "safetensors", "--out", text(&exported)], "");
    let window = ["--from", text(&exported), "--with-window"];
    refused(&window, 2, &["is not a checkpoint in the folder of its run, so there is no window"]);
    let from = ["train", "--from", text(&source)];
    fails(&from, 2, &["--from without a CONFIG", "--run DIR"]);
    // an existing run cannot be restarted from other weights
    let other = ["train", "--from", text(&source), "--run", text(&source)];
    fails(&other, 2, &["exists and did not begin with the weights of"]);
    // weights without a run are enough
    trains(&["--from", text(&exported), "--run", text(&run)]);
    expect_whole(&run);
}

#[test]
fn a_lost_lineage_is_what_the_newest_checkpoint_says() {
    let (_folder, run) = STEADY.copy(3);
    trains(&["--run", text(&run), "--generations", "4"]);
    let whole = files(&run);
    let path = run.join("lineage.json");
    fs::remove_file(&path).unwrap();
    expect_whole(&run);
    trains(&["--run", text(&run)]);
    expect_same(files(&run), whole.clone());
    // the lineage was changed
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("= 3", "= 2")).unwrap();
    let resume = ["train", "--run", text(&run)];
    fails(&resume, 1, &["lineage.json: it was changed or damaged", "remove it"]);
    let inspected = petteia(&["inspect", text(&run)], "");
    assert_eq!(inspected.status.code(), Some(1));
    assert!(out(&inspected).contains("lineage.json: it was changed or damaged"), "{}", out(&inspected));
    // the lineage of another run
    let (_folder, other) = temporary();
    trains(&["--fork", text(&PLAIN.run()), "--at", "1", "--run", text(&other)]);
    fs::copy(other.join("lineage.json"), &path).unwrap();
    fails(&resume, 1, &["lineage.json", "the newest checkpoint has a different lineage"]);
    fs::write(&path, &whole["lineage.json"]).unwrap();
    trains(&["--run", text(&run)]);
    // without any lineage, generations of a shorter run do not belong to this run
    cut(&run, 3);
    fs::remove_file(&path).unwrap();
    fails(&resume, 1, &["train.generations 3 instead of 4"]);
    let (_folder, copy) = temporary();
    copy_folder(&run, &copy);
    let output = petteia(&["train", "--run", text(&copy), "--accept-missing"], "");
    assert!(output.status.success(), "{}", err(&output));
}
