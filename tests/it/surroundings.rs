//! Nothing outside a run influences it, and nothing in a file is trusted: foreign settings of burn, links, odd names,
//! folders that disappear, numbers that are not finite.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use petteia::replay::store;
use petteia::storage::sha256;

use crate::support::command::{err, out, petteia, start};
use crate::support::runs::{PLAIN, checkpoint, copy_folder, shard, text, write_config};

/// Runs the program in `folder`.
#[cfg(unix)]
fn petteia_in(folder: &Path, arguments: &[&std::ffi::OsStr]) -> Output {
    std::process::Command::new(env!("CARGO_BIN_EXE_petteia"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

#[cfg(unix)]
fn words<'a>(words: &[&'a str]) -> Vec<&'a std::ffi::OsStr> {
    words.iter().map(|word| std::ffi::OsStr::new(*word)).collect()
}

/// A configuration of burn in a parent folder says where to write a log, but it was not meant for this program.
#[cfg(unix)]
#[test]
fn a_burn_toml_in_a_folder_above_is_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let victim = folder.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let settings = format!(
        "[autodiff]\nlogger = {{ level = \"full\", file = \"{}\", append = false, stdout = true }}\n",
        victim.display()
    );
    fs::write(folder.path().join("burn.toml"), settings).unwrap();
    let below = folder.path().join("a/b");
    fs::create_dir_all(&below).unwrap();
    let trained = petteia_in(&below, &words(&["train", text(&write_config(folder.path())), "--run", "run"]));
    assert!(trained.status.success(), "{}", err(&trained));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert!(!out(&trained).contains("utodiff"), "{}", out(&trained));
}

#[cfg(unix)]
#[test]
fn a_lock_that_is_a_link_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (run, victim) = (folder.path().join("run"), folder.path().join("victim"));
    fs::create_dir(&run).unwrap();
    fs::write(&victim, "precious").unwrap();
    std::os::unix::fs::symlink(&victim, run.join("lock")).unwrap();
    let trained = petteia(&["train", text(&write_config(folder.path())), "--run", text(&run)], "");
    assert_eq!(trained.status.code(), Some(2), "{}", err(&trained));
    assert!(err(&trained).contains("lock is not a regular file"), "{}", err(&trained));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    let gone = folder.path().join("gone");
    std::os::unix::fs::symlink(folder.path().join("nowhere"), &gone).unwrap();
    let trained = petteia(&["train", text(&write_config(folder.path())), "--run", text(&gone)], "");
    assert!(err(&trained).contains("is a link to a place that does not exist"), "{}", err(&trained));
}

#[cfg(target_os = "linux")]
#[test]
fn a_path_need_not_be_utf_8() {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let folder = tempfile::tempdir().unwrap();
    let settings = write_config(folder.path());
    let name = std::ffi::OsStr::from_bytes(b"r\xffn");
    let run = |arguments: &[&std::ffi::OsStr]| {
        let output = petteia_in(folder.path(), arguments);
        assert!(output.status.success(), "{arguments:?}: {}", err(&output));
        output
    };
    let train = [words(&["train", text(&settings), "--run"]), vec![name]].concat();
    run(&train);
    assert!(err(&run(&train)).contains("already complete"));
    assert!(folder.path().join(name).join("checkpoints/generation-0001/manifest.json").exists());
    run(&[words(&["inspect"]), vec![name]].concat());
    run(&[words(&["records"]), vec![name], words(&["verify"])].concat());
    run(&[words(&["export"]), vec![name], words(&["--format", "onnx", "--out", "net.onnx"])].concat());
    let agent = |suffix: &[u8]| std::ffi::OsString::from_vec([&b"r\xffn"[..], suffix].concat());
    for suffix in [&b""[..], b":7", b":7:f32"] {
        let agent = agent(suffix);
        let arena = [words(&["arena", "tic-tac-toe"]), vec![&agent, "random".as_ref()]].concat();
        run(&[arena, words(&["--games", "2"])].concat());
    }
    let (known, unknown) = (agent(b":3"), agent(b":3:4"));
    run(&[words(&["analyze", "tic-tac-toe", "--agent"]), vec![&known]].concat());
    let unknown = [words(&["engine", "tic-tac-toe", "--agent"]), vec![&unknown]].concat();
    assert!(err(&petteia_in(folder.path(), &unknown)).contains("unknown agent"));
    // a damaged shard is set aside next to its place
    let shard = shard(&folder.path().join(name), 1, 0);
    fs::write(&shard, "junk").unwrap();
    let refused = petteia_in(folder.path(), &train);
    assert_eq!(refused.status.code(), Some(1), "{}", err(&refused));
    assert!(store::bad_path(&shard).exists() && !shard.exists());
}

/// If the folder disappears while the run trains, no part of it reappears.
#[cfg(unix)]
#[test]
fn a_folder_that_was_deleted_or_renamed_ends_the_run() {
    for renamed in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let settings = write_config(folder.path());
        // more games than can be played before the folder is gone
        let sets = ["selfplay.games=20000", "train.generations=50"];
        let arguments = ["train", text(&settings), "--run", text(&run), "--set", sets[0], "--set", sets[1]];
        let child = start(env!("CARGO_BIN_EXE_petteia"), &arguments);
        while !run.join("checkpoints/generation-0001").exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        if renamed {
            fs::rename(&run, folder.path().join("other")).unwrap()
        } else {
            while fs::remove_dir_all(&run).is_err() {}
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", err(&output));
        assert!(err(&output).contains("was deleted or renamed during training"), "{}", err(&output));
        assert!(!run.exists());
    }
}

/// A copy of the checkpoint with the numbers of a tensor replaced and every checksum right, and an export of it.
fn with_numbers(tensor: &str, number: f32) -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let copied = folder.path().join("generation-0001");
    copy_folder(&checkpoint(&PLAIN.run(), 1), &copied);
    let path = copied.join("weights.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let length = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let begin = 8 + length + header[tensor]["data_offsets"][0].as_u64().unwrap() as usize;
    let before = sha256(&bytes[8 + length..]);
    bytes[begin..begin + 4].copy_from_slice(&number.to_le_bytes());
    let after = sha256(&bytes[8 + length..]);
    let text = String::from_utf8(bytes[8..8 + length].to_vec()).unwrap().replace(&before, &after);
    bytes.splice(8..8 + length, text.into_bytes());
    let old = sha256(&fs::read(&path).unwrap());
    fs::write(&path, &bytes).unwrap();
    let export = folder.path().join("net.safetensors");
    fs::write(&export, &bytes).unwrap();
    // without its seal and lists, the manifest is like one of version 0.1
    let manifest = fs::read_to_string(copied.join("manifest.json")).unwrap();
    let manifest = manifest.replace(&before, &after).replace(&old, &sha256(&bytes));
    let mut manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    manifest.as_object_mut().unwrap().retain(|key, _| !["data", "sha256"].contains(&key.as_str()));
    fs::write(copied.join("manifest.json"), manifest.to_string()).unwrap();
    (folder, copied, export)
}

#[test]
fn weights_that_are_not_numbers_are_refused_everywhere() {
    for (tensor, number, says) in [
        ("policy_planes.weight", f32::NAN, "is NaN, not a finite number"),
        ("stem.conv.weight", f32::INFINITY, "is inf, not a finite number"),
        ("blocks.0.second.norm.running_var", -1.0, "is -1: a variance must be at least 0"),
    ] {
        let (folder, checkpoint, export) = with_numbers(tensor, number);
        let says = format!("number 0 of tensor `{tensor}` {says}");
        for place in [&checkpoint, &export] {
            let (place, target) = (text(place), folder.path().join("out"));
            let agent = format!("{place}:10");
            let target = text(&target);
            for arguments in [
                vec!["inspect", place],
                vec!["analyze", "tic-tac-toe", "--agent", &agent],
                vec!["arena", "tic-tac-toe", &agent, "random", "--games", "2"],
                vec!["engine", "tic-tac-toe", "--agent", &agent],
                vec!["export", place, "--format", "bot", "--out", target],
                vec!["export", place, "--format", "onnx", "--out", target],
                vec!["export", place, "--format", "safetensors", "--out", target],
            ] {
                let output = petteia(&arguments, "");
                let said =
                    format!("{}{}", out(&output), err(&output)).replace("\n  ", " ").replace('\n', " ");
                assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
                assert!(said.contains(&says), "{arguments:?}: no `{says}` in {said}");
                assert!(!Path::new(target).exists(), "{arguments:?}");
            }
        }
        // the error is the same for a run that contains it
        let run = folder.path().join("run");
        fs::create_dir_all(run.join("checkpoints")).unwrap();
        fs::copy(PLAIN.run().join("config.toml"), run.join("config.toml")).unwrap();
        fs::rename(&checkpoint, run.join("checkpoints/generation-0001")).unwrap();
        let settings = write_config(folder.path());
        let arguments = ["train", text(&settings), "--run", text(&run), "--accept-missing"];
        let trained = petteia(&arguments, "");
        assert_eq!(trained.status.code(), Some(1), "{}", err(&trained));
        assert!(err(&trained).contains(&says), "{}", err(&trained));
    }
}

#[test]
fn visits_that_no_search_makes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let forged = folder.path().join("generation-0001/shard-0000.jsonl.zst");
    fs::create_dir(forged.parent().unwrap()).unwrap();
    let whole = store::read_unplayed(&shard(&PLAIN.run(), 1, 0)).unwrap();
    for visits in [[u32::MAX, 1], [60_000, 60_000]] {
        let mut records = whole.clone();
        let ply = records[0].visits.iter().position(|visits| visits.len() > 1).unwrap();
        for (visits, wrong) in records[0].visits[ply].values_mut().zip(visits) {
            *visits = wrong;
        }
        store::write_shard(&forged, &records, None).unwrap();
        let verified = petteia(&["records", text(&forged), "verify"], "");
        assert_eq!(verified.status.code(), Some(1), "{}", out(&verified));
        let sum: u64 = visits.iter().map(|visits| u64::from(*visits)).sum();
        let says = format!("ply {ply}: the visits or the policy sum to ");
        assert!(out(&verified).contains(&says), "{}", out(&verified));
        let said = out(&verified).split(&says).nth(1).unwrap().split(',').next().unwrap().parse::<u64>();
        assert!(said.unwrap() >= sum, "{}", out(&verified));
    }
}

/// Rules as text are compiled; a system that forbids a process to make code gets the same answers from their trees.
#[cfg(target_os = "linux")]
#[test]
fn rules_are_interpreted_where_new_code_is_forbidden() {
    use std::os::unix::process::CommandExt;
    const PR_SET_MDWE: i32 = 65;
    const PR_MDWE_REFUSE_EXEC_GAIN: u64 = 1;
    // Linux before 6.3 does not know this call
    let forbid = || match unsafe { libc::prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    };
    let arguments = ["check-game", "rules/breakthrough.game", "--games", "5"];
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_petteia"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR"));
    let Ok(forbidden) = unsafe { command.pre_exec(forbid) }.output() else { return };
    assert!(forbidden.status.success(), "{}", err(&forbidden));
    assert_eq!(err(&forbidden).matches("these rules are interpreted").count(), 1, "{}", err(&forbidden));
    let free = petteia(&arguments, "");
    assert_eq!((out(&free), err(&free)), (out(&forbidden), String::new()));
}
