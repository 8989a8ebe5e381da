//! `inspect --repair`: damaged files are set aside, everything that can be derived from the other files is rebuilt with
//! the same bytes, nothing is deleted, and losses are reported. `copy`: a run continues in another place.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use petteia::checkpoint::OPTIMIZER;
use petteia::storage;
use serde_json::{Value, json};

use crate::support::command::{elsewhere, err, fails, out, petteia, succeeds};
use crate::support::runs::{PLAIN, checkpoint, copy_folder, files, shard, text};

/// A copy of a finished run.
fn copy() -> (tempfile::TempDir, PathBuf) {
    PLAIN.copy(3)
}

/// The files of a run, without the lock and without what was set aside.
fn whole(run: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = files(run);
    found.retain(|path, _| {
        let text = path.display().to_string();
        !text.contains(".bad") && !["lock", "metrics.jsonl", "train.log"].contains(&&*text)
    });
    found
}

/// Repairs a run; the exit code must be `code`. Returns the output without line breaks.
fn repaired(run: &Path, code: i32) -> String {
    let output = petteia(&["inspect", text(run), "--repair"], "");
    let said = out(&output) + &err(&output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn cut(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

#[test]
fn shards_are_played_again_with_the_same_bytes() {
    let (_folder, run) = copy();
    cut(&shard(&run, 1, 0));
    fs::remove_file(shard(&run, 2, 1)).unwrap();
    fs::remove_file(shard(&run, 2, 1).with_extension("zst.sha256")).unwrap();
    fs::remove_file(shard(&run, 3, 3).with_extension("zst.sha256")).unwrap();
    fs::copy(shard(&run, 3, 1), shard(&run, 3, 0)).unwrap();
    fs::write(run.join("selfplay/generation-0003/shard-0009.jsonl.zst"), "of another run").unwrap();
    let before = files(&run);
    let said = repaired(&run, 0);
    assert_eq!(said.matches("its games were played again").count(), 3, "{said}");
    assert!(said.contains("rebuilt: the checksum file of") && said.ends_with("intact"), "{said}");
    assert!(!said.contains("lost"), "{said}");
    assert!(whole(&run) == whole(&PLAIN.run()));
    // nothing was deleted
    let after = files(&run);
    let everything: Vec<&Vec<u8>> = after.values().collect();
    assert!(before.values().all(|bytes| everything.contains(&bytes)));
    assert!(repaired(&run, 0).starts_with("nothing to repair"));
    let trained = PLAIN.train(&run, &[]);
    assert!(trained.status.success(), "{}", err(&trained));
    // a second damaged file of the same name does not take the place of the first
    cut(&shard(&run, 1, 0));
    let first = fs::read(storage::with_suffix(&shard(&run, 1, 0), ".bad")).unwrap();
    fs::write(shard(&run, 1, 0), "junk").unwrap();
    repaired(&run, 0);
    assert_eq!(fs::read(storage::with_suffix(&shard(&run, 1, 0), ".bad")).unwrap(), first);
    assert_eq!(fs::read(storage::with_suffix(&shard(&run, 1, 0), ".bad2")).unwrap(), b"junk");
    assert!(whole(&run) == whole(&PLAIN.run()));
}

#[test]
fn a_damaged_checkpoint_is_trained_again() {
    let (_folder, run) = copy();
    cut(&checkpoint(&run, 3).join("weights.safetensors"));
    fs::remove_file(checkpoint(&run, 1).join(OPTIMIZER)).unwrap();
    let said = repaired(&run, 0);
    assert_eq!(said.matches("set aside: ").count(), 2, "{said}");
    assert!(said.contains("weights.safetensors is damaged"), "{said}");
    let trained = PLAIN.train(&run, &[]);
    assert!(trained.status.success(), "{}", err(&trained));
    let (mut found, mut base) = (whole(&run), whole(&PLAIN.run()));
    // the first checkpoint is lost, but is not needed
    for files in [&mut found, &mut base] {
        files.retain(|path, _| !path.starts_with("checkpoints/generation-0001"));
    }
    assert!(found == base);
}

#[test]
fn settings_come_from_a_checkpoint() {
    let (_folder, run) = copy();
    fs::remove_file(run.join("config.toml")).unwrap();
    let said = repaired(&run, 0);
    assert!(said.contains("config.toml: from the copy in"), "{said}");
    fs::write(run.join("config.toml"), "game.id = 'tic-tac-").unwrap();
    repaired(&run, 0);
    assert!(run.join("config.toml.bad").exists());
    assert!(PLAIN.train(&run, &[]).status.success());
    assert!(whole(&run) == whole(&PLAIN.run()));
    let empty = tempfile::tempdir().unwrap();
    fails(&["inspect", text(empty.path()), "--repair"], 2, &["is not a run"]);
}

#[test]
fn what_is_lost_is_said() {
    let (_folder, run) = copy();
    cut(&shard(&run, 2, 1));
    fs::remove_dir_all(checkpoint(&run, 1)).unwrap();
    let said = repaired(&run, 1);
    assert!(said.contains("lost: ") && said.contains("(4 games, "), "{said}");
    assert!(said.contains("generation-0001 is missing") && said.contains("--accept-missing"), "{said}");
    assert!(said.contains(" positions of its window"), "{said}");
    let output = petteia(&["inspect", text(&run), "--repair", "--json"], "");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["lost"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!(report["set_aside"], json!([]));
    // with the network that played, the game can be restored
    copy_folder(&checkpoint(&PLAIN.run(), 1), &checkpoint(&run, 1));
    repaired(&run, 0);
    assert!(whole(&run) == whole(&PLAIN.run()));
}

#[test]
fn a_copy_goes_on_elsewhere() {
    let (_folder, run) = PLAIN.copy(2);
    let place = tempfile::tempdir().unwrap();
    let other = place.path().join("other/place");
    let said = out(&succeeds(&["copy", text(&run), text(&other)], ""));
    assert!(said.contains(" files, ") && said.contains(" MB, as in "), "{said}");
    assert!(!other.join("lock").exists());
    fails(&["copy", text(&run), text(&other)], 2, &["already exists"]);
    let trained = PLAIN.train(&other, &[]);
    assert!(trained.status.success(), "{}", err(&trained));
    assert!(whole(&other) == whole(&PLAIN.run()));
    // a copy of the copy is the same run
    fs::remove_dir_all(&run).unwrap();
    succeeds(&["copy", text(&other), text(&run)], "");
    assert!(whole(&run) == whole(&PLAIN.run()));
    // an incomplete run is not copied
    fs::remove_file(shard(&run, 3, 0)).unwrap();
    let third = place.path().join("third");
    fails(&["copy", text(&run), text(&third)], 1, &["does not hold what it was trained on"]);
    assert!(!third.exists());
    fails(&["copy", text(place.path()), text(&third)], 1, &["is not a run folder"]);
}

#[cfg(unix)]
#[test]
fn a_run_is_not_made_inside_of_a_run() {
    let (_folder, run) = PLAIN.copy(2);
    let before = whole(&run);
    let link = run.with_file_name("link");
    std::os::unix::fs::symlink(&run, &link).unwrap();
    for inside in ["sub", "checkpoints/generation-0009", "checkpoints/new/deeper"] {
        for place in [run.join(inside), link.join(inside)] {
            for command in [
                vec!["copy", text(&run), text(&place)],
                vec!["train", "--fork", text(&run), "--at", "1", "--run", text(&place)],
            ] {
                fails(&command, 2, &[text(&place), "is inside the run"]);
            }
        }
    }
    // a link that leads nowhere does not belong to another process
    let nowhere = run.with_file_name("nowhere");
    std::os::unix::fs::symlink(run.with_file_name("gone"), &nowhere).unwrap();
    fails(&["copy", text(&run), text(&nowhere)], 2, &["is a link to a place that does not exist"]);
    assert!(whole(&run) == before && !run.join("sub").exists());
}

#[test]
fn addresses_of_unknown_kinds_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let run = PLAIN.run();
    let run = text(&run);
    for (address, says) in [
        ("http://host/run", "begins with s3://, gs://, or az://"),
        ("file:///tmp/run", "write only the path: /tmp/run"),
    ] {
        for command in [
            vec!["copy", run, address],
            vec!["copy", address, "copied"],
            vec!["train", "tic-tac-toe", "--run", address],
            vec!["learn", address, "tic-tac-toe"],
            vec!["worker", address],
            vec!["runs", address],
            vec!["inspect", address],
            vec!["audit", address],
            vec!["watch", address],
            vec!["report", address],
            vec!["records", address, "list"],
            vec!["ladder", address],
            vec!["play", address],
            vec!["arena", "tic-tac-toe", address, "random"],
            vec!["export", address, "--out", "bot"],
            vec!["export", run, "--out", address],
            vec!["serve", address, "--port", "0"],
            vec!["serve", "--folder", address, "--port", "0"],
            vec!["site", "pages", address],
            vec!["site", address, "tic-tac-toe"],
        ] {
            let output = elsewhere(place.path(), &command, "");
            let said = err(&output);
            assert_eq!(output.status.code(), Some(2), "{command:?}: {said}");
            assert!(said.contains(address) && said.contains(says), "{command:?}: {said}");
        }
    }
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}
