//! A run knows what it should contain: `train`, `inspect`, and `records verify` name whatever is missing, swapped,
//! shortened, repeated, or from another run, and nothing is trained until the user decides.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use petteia::replay::record::Record;
use petteia::replay::store;

use crate::support::command::{err, out, petteia};
use crate::support::runs::{self, Finished, PLAIN, checkpoint, copy_folder, shard, text};

static OTHER_SEED: LazyLock<Finished> = LazyLock::new(|| Finished::new(&["seed=77"]));

fn sum_of(shard: &Path) -> PathBuf {
    shard.with_extension("zst.sha256")
}

/// Every file of a run except the lock, and except the metrics and the log, which contain times.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let found = runs::files(folder).into_iter().map(|(path, bytes)| (path.display().to_string(), bytes));
    found.filter(|(name, _)| !["lock", "metrics.jsonl", "train.log"].contains(&name.as_str())).collect()
}

/// Puts shard `b` in the place of `a`, with a checksum for its new name.
fn put(a: &Path, b: &Path) {
    fs::copy(b, a).unwrap();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let sum = fs::read_to_string(sum_of(b)).unwrap().replace(&name(b), &name(a));
    fs::write(sum_of(a), sum).unwrap();
}

/// Asserts that all three commands fail for `run` as it is, each with all of `parts` in its message, and that nothing
/// is trained.
fn named(base: &Finished, run: &Path, parts: &[&str]) {
    let before = files(run);
    let trained = base.train(run, &[]);
    let said = err(&trained);
    assert_eq!(trained.status.code(), Some(1), "{said}");
    assert!(parts.iter().all(|part| said.contains(part)), "no {parts:?} in {said}");
    assert!(said.contains("put the files back") && said.contains("--accept-missing"), "{said}");
    let after = files(run);
    assert!(before == after, "{:?} {:?}", before.keys(), after.keys());
    for arguments in [&["inspect", text(run)][..], &["records", text(run), "verify"]] {
        let output = petteia(arguments, "");
        let said = format!("{}{}", out(&output), err(&output)).replace("\n  ", " ").replace('\n', " ");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        // inspect wraps its lines
        let squeezed = |text: &str| text.split_whitespace().collect::<String>();
        let has = |part: &&str| squeezed(&said).contains(&squeezed(part));
        assert!(parts.iter().all(has), "{arguments:?}: no {parts:?} in {said}");
    }
}

/// With `--accept-missing` the run continues, and from then on it also continues without that flag.
fn accepted(base: &Finished, run: &Path) {
    let trained = base.train(run, &["--accept-missing"]);
    assert!(trained.status.success(), "{}", err(&trained));
    assert!(err(&trained).contains("the run continues without it"), "{}", err(&trained));
    assert!(checkpoint(run, 3).exists());
    let again = base.train(run, &[]);
    assert!(again.status.success(), "{}", err(&again));
    assert!(err(&again).contains("already complete"), "{}", err(&again));
}

#[test]
fn an_untouched_run_is_whole_and_resumes_to_the_same_bytes() {
    let (_folder, run) = PLAIN.copy(2);
    let trained = PLAIN.train(&run, &[]);
    assert!(trained.status.success() && !err(&trained).contains("warning"), "{}", err(&trained));
    assert!(files(&run) == files(&PLAIN.run()));
    for arguments in [&["inspect", text(&run)][..], &["records", text(&run), "verify"]] {
        let output = petteia(arguments, "");
        assert!(output.status.success(), "{}{}", out(&output), err(&output));
    }
}

#[test]
fn manifests_list_what_was_trained_on() {
    let run = PLAIN.run();
    for generation in 1..=3 {
        let manifest = fs::read_to_string(checkpoint(&run, generation).join("manifest.json")).unwrap();
        let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
        let data = &manifest["data"];
        assert_eq!(data["window_shards"], 4 * generation);
        let shards = data["shards"].as_array().unwrap();
        assert_eq!(shards.len(), 4 * generation);
        for (number, listed) in shards.iter().enumerate() {
            let path = shard(&run, number / 4 + 1, number % 4);
            let sum = fs::read_to_string(sum_of(&path)).unwrap();
            assert!(sum.starts_with(listed["sha256"].as_str().unwrap()));
            assert!(path.ends_with(listed["name"].as_str().unwrap()) && listed["games"] == 4);
            // a comment, as sha256sum permits
            assert!(sum.lines().nth(1).unwrap().starts_with("# petteia: seed 1, settings "), "{sum}");
        }
        let positions: u64 = shards.iter().map(|shard| shard["positions"].as_u64().unwrap()).sum();
        assert_eq!(data["window_positions"], positions);
        let own: u64 =
            shards[shards.len() - 4..].iter().map(|shard| shard["positions"].as_u64().unwrap()).sum();
        assert_eq!(data["new_positions"], own);
    }
}

/// Paths as people write them: relative to the run, to a part of it, or to something that has been removed.
#[test]
fn parts_of_a_run_are_held_against_it_too() {
    let (folder, run) = PLAIN.copy(2);
    fs::remove_dir_all(run.join("selfplay/generation-0001")).unwrap();
    fs::remove_file(shard(&run, 2, 1)).unwrap();
    let verify = |place: &str, below: &str, problems: usize| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_petteia"))
            .args(["records", place, "verify"])
            .current_dir(folder.path().join(below))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some((problems > 0) as i32), "{place}: {}", err(&output));
        assert_eq!(out(&output).matches("it is missing").count(), problems, "{place}: {}", out(&output));
    };
    verify("run", ".", 5);
    verify(".", "run", 5);
    verify("run/selfplay/generation-0002", ".", 1);
    verify(".", "run/selfplay/generation-0002", 1);
    verify("run/selfplay/generation-0002/shard-0000.jsonl.zst", ".", 0);
}

#[test]
fn missing_shards_are_named() {
    let (_folder, run) = PLAIN.copy(2);
    fs::remove_file(shard(&run, 1, 2)).unwrap();
    named(&PLAIN, &run, &["generation-0001/shard-0002.jsonl.zst: it is missing (4 games, "]);
    accepted(&PLAIN, &run);
    // a whole generation, and then everything
    let (_folder, run) = PLAIN.copy(2);
    fs::remove_dir_all(run.join("selfplay/generation-0002")).unwrap();
    named(
        &PLAIN,
        &run,
        &[
            "generation-0002/shard-0000.jsonl.zst: it is missing",
            "generation-0002/shard-0003.jsonl.zst: it is missing",
        ],
    );
    fs::remove_dir_all(run.join("selfplay")).unwrap();
    named(&PLAIN, &run, &["generation-0001/shard-0000.jsonl.zst: it is missing"]);
    accepted(&PLAIN, &run);
}

#[test]
fn shortened_and_repeated_shards_are_named() {
    let changes: [fn(&mut Vec<Record>); 4] = [
        |records| records.truncate(1),
        |records| records.clear(),
        |records| *records = vec![records[0].clone(); 4],
        |records| records.push(records[0].clone()),
    ];
    for change in changes {
        let (_folder, run) = PLAIN.copy(2);
        let path = shard(&run, 2, 1);
        let mut records = store::read_unplayed(&path).unwrap();
        change(&mut records);
        store::write_shard(&path, &records, None).unwrap();
        named(
            &PLAIN,
            &run,
            &["generation-0002/shard-0001.jsonl.zst: it is not the shard that was trained on"],
        );
        accepted(&PLAIN, &run);
    }
}

#[test]
fn exchanged_shards_are_named() {
    // swap two shards of one generation, with their checksums
    let (_folder, run) = PLAIN.copy(2);
    let (a, b) = (shard(&run, 1, 0), shard(&run, 1, 1));
    let kept = (fs::read(&a).unwrap(), fs::read(sum_of(&a)).unwrap());
    put(&a, &b);
    fs::write(&b, &kept.0).unwrap();
    fs::write(sum_of(&b), &kept.1).unwrap();
    named(
        &PLAIN,
        &run,
        &[
            "generation-0001/shard-0000.jsonl.zst: it holds the records of generation-0001/shard-0001.jsonl.zst",
            "generation-0001/shard-0001.jsonl.zst: it holds the records of generation-0001/shard-0000.jsonl.zst",
        ],
    );
    accepted(&PLAIN, &run);
    // a shard of another generation, and a shard of a run with another seed
    let (_folder, run) = PLAIN.copy(2);
    put(&shard(&run, 2, 3), &shard(&run, 1, 3));
    named(
        &PLAIN,
        &run,
        &["shard-0003.jsonl.zst: it holds the records of generation-0001/shard-0003.jsonl.zst"],
    );
    let (_folder, run) = PLAIN.copy(2);
    put(&shard(&run, 2, 3), &shard(&OTHER_SEED.run(), 2, 3));
    named(&PLAIN, &run, &["shard-0003.jsonl.zst: it is not the shard that was trained on", "seed 77"]);
    accepted(&PLAIN, &run);
    // one shard more than the run has
    let (_folder, run) = PLAIN.copy(2);
    put(&shard(&run, 2, 4), &shard(&run, 2, 3));
    named(&PLAIN, &run, &["generation-0002/shard-0004.jsonl.zst: the run has no such shard"]);
    accepted(&PLAIN, &run);
}

/// Nothing was trained on the generation in progress, so shards that do not belong there are replaced by new games.
#[test]
fn foreign_shards_of_the_generation_under_way_are_played_again() {
    for from in [(OTHER_SEED.run(), 3, 1), (PLAIN.run(), 3, 0), (PLAIN.run(), 2, 1)] {
        let (_folder, run) = PLAIN.copy(2);
        fs::create_dir(run.join("selfplay/generation-0003")).unwrap();
        put(&shard(&run, 3, 1), &shard(&from.0, from.1, from.2));
        let trained = PLAIN.train(&run, &[]);
        assert!(trained.status.success(), "{}", err(&trained));
        assert!(err(&trained).contains("set aside as"), "{}", err(&trained));
        fs::remove_file(shard(&run, 3, 1).with_extension("zst.bad")).unwrap();
        assert!(files(&run) == files(&PLAIN.run()));
    }
}

#[test]
fn a_lost_checksum_of_a_whole_shard_is_written_anew() {
    for text in [None, Some("0000  shard-0000.jsonl.zst\n")] {
        let (_folder, run) = PLAIN.copy(2);
        let sum = sum_of(&shard(&run, 1, 0));
        match text {
            Some(text) => fs::write(&sum, text).unwrap(),
            None => fs::remove_file(&sum).unwrap(),
        }
        let verified = petteia(&["records", self::text(&run), "verify"], "");
        assert_eq!(verified.status.code(), Some(1));
        assert!(out(&verified).contains("its checksum file is missing or wrong"), "{}", out(&verified));
        let trained = PLAIN.train(&run, &[]);
        assert!(trained.status.success(), "{}", err(&trained));
        assert!(err(&trained).contains("is intact, but its checksum file was not"), "{}", err(&trained));
        assert!(files(&run) == files(&PLAIN.run()));
    }
}

#[test]
fn foreign_checkpoints_are_named() {
    let (_folder, run) = PLAIN.copy(2);
    fs::remove_dir_all(checkpoint(&run, 2)).unwrap();
    copy_folder(&checkpoint(&OTHER_SEED.run(), 2), &checkpoint(&run, 2));
    named(
        &PLAIN,
        &run,
        &["generation-0002: it is a checkpoint of another run: its seed is 77, but this run has seed 1"],
    );
    // without that checkpoint, the run continues from the one before, and ends with the same bytes
    let trained = PLAIN.train(&run, &["--accept-missing"]);
    assert!(trained.status.success(), "{}", err(&trained));
    let mut found = files(&run);
    found.retain(|name, _| !name.contains(".bad"));
    let expected = files(&PLAIN.run());
    assert!(found.keys().eq(expected.keys()), "{:?}", found.keys());
    assert!(
        found
            .iter()
            .filter(|(name, _)| !name.ends_with("manifest.json"))
            .all(|(name, bytes)| { expected[name] == *bytes })
    );
    // a folder that is not a checkpoint
    let (_folder, run) = PLAIN.copy(2);
    fs::create_dir(checkpoint(&run, 9999)).unwrap();
    named(&PLAIN, &run, &["generation-9999", "it has no manifest.json", "remove the checkpoint"]);
}

#[test]
fn changed_manifests_are_named() {
    let manifest = |run: &Path| checkpoint(run, 2).join("manifest.json");
    for (key, value) in [("step", "14"), ("generation", "3"), ("generation", "1"), ("seed", "2")] {
        let (_folder, run) = PLAIN.copy(2);
        let old = fs::read_to_string(manifest(&run)).unwrap();
        let line = old.lines().find(|line| line.trim().starts_with(&format!("\"{key}\": "))).unwrap();
        let new = old.replacen(line, &format!("  \"{key}\": {value},"), 1);
        assert_ne!(old, new);
        fs::write(manifest(&run), new).unwrap();
        named(&PLAIN, &run, &["generation-0002: manifest.json: it was changed or damaged"]);
    }
    // the manifest of another generation of the same run
    let (_folder, run) = PLAIN.copy(2);
    fs::copy(checkpoint(&run, 1).join("manifest.json"), manifest(&run)).unwrap();
    named(&PLAIN, &run, &["manifest.json: it is the manifest of generation 1"]);
}

/// Turns a run into one that version 0.1 wrote: no lists, no seals, no origins.
fn as_of_old(run: &Path) {
    for generation in 1..=3 {
        let path = checkpoint(run, generation).join("manifest.json");
        let Ok(manifest) = fs::read_to_string(&path) else { continue };
        let mut manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
        manifest.as_object_mut().unwrap().remove("data");
        manifest.as_object_mut().unwrap().remove("sha256");
        fs::write(&path, serde_json::to_string_pretty(&manifest).unwrap()).unwrap();
        for number in 0..4 {
            let sum = sum_of(&shard(run, generation, number));
            let text = fs::read_to_string(&sum).unwrap();
            fs::write(&sum, text.lines().next().unwrap().to_string() + "\n").unwrap();
        }
    }
}

#[test]
fn a_run_of_version_0_1_is_read_with_a_line_that_says_what_cannot_be_checked() {
    let (_folder, run) = PLAIN.copy(2);
    as_of_old(&run);
    let cannot = "was written by version 0.1 and lists no records";
    for arguments in [&["inspect", text(&run)][..], &["records", text(&run), "verify"]] {
        let output = petteia(arguments, "");
        assert!(
            output.status.success() && out(&output).replace("\n", " ").contains("0.1"),
            "{}",
            out(&output)
        );
    }
    let (_other, kept) = (tempfile::tempdir().unwrap(), files(&run));
    let trained = PLAIN.train(&run, &[]);
    assert!(trained.status.success(), "{}", err(&trained));
    assert_eq!(err(&trained).matches(cannot).count(), 1, "{}", err(&trained));
    let expected = files(&PLAIN.run());
    let weights = "checkpoints/generation-0003/weights.safetensors";
    assert!(files(&run)[weights] == expected[weights]);
    // from now on, the shard is listed
    let again = PLAIN.train(&run, &[]);
    assert!(again.status.success() && !err(&again).contains(cannot), "{}", err(&again));
    assert!(kept.len() < files(&run).len());
}

#[test]
fn a_run_of_version_0_1_misses_what_its_settings_ask_for() {
    let old = || {
        let (folder, run) = PLAIN.copy(2);
        as_of_old(&run);
        (folder, run)
    };
    let (_folder, run) = old();
    fs::remove_file(shard(&run, 1, 2)).unwrap();
    named(&PLAIN, &run, &["generation-0001/shard-0002.jsonl.zst: it is missing", "written by version 0.1"]);
    accepted(&PLAIN, &run);
    let (_folder, run) = old();
    put(&shard(&run, 2, 3), &shard(&run, 1, 3));
    named(&PLAIN, &run, &["a record of generation 1 in a shard of generation 2"]);
    let (_folder, run) = old();
    put(&shard(&run, 2, 3), &shard(&run, 2, 2));
    named(&PLAIN, &run, &["game 8 is where game 12 belongs"]);
    let (_folder, run) = old();
    let mut records = store::read_unplayed(&shard(&run, 2, 3)).unwrap();
    records.pop();
    store::write_shard(&shard(&run, 2, 3), &records, None).unwrap();
    named(&PLAIN, &run, &["it holds 3 games, but 4 belong there"]);
    // the header of the weights reveals a manifest that was changed
    let (_folder, run) = old();
    let path = checkpoint(&run, 2).join("manifest.json");
    let manifest = fs::read_to_string(&path).unwrap();
    let mut changed: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    changed["step"] = (changed["step"].as_u64().unwrap() + 1).into();
    fs::write(&path, changed.to_string()).unwrap();
    let trained = PLAIN.train(&run, &[]);
    assert_eq!(trained.status.code(), Some(1));
    assert!(
        err(&trained)
            .contains("manifest.json: it was changed; compared with the weights next to it, it has step "),
        "{}",
        err(&trained)
    );
}
