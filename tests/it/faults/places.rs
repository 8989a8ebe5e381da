//! Places that cannot be written to: a full disk, read-only folders, files in the place of folders, deleted folders,
//! odd names. The error messages name the place; existing files stay intact; a run can be resumed once there is room.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::scene::{Folder, Petteia, RUN, Tally, contents, copy, expect_same, reset, times};

/// Runs a shell script that may mount file systems where nobody else sees them; if that is not permitted, prints a
/// message and returns `None`.
fn with_mounts(script: &str, arguments: &[&str]) -> Option<Output> {
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).stdin(Stdio::null());
        command
    };
    let folder = Folder::new();
    let probe = format!("mount -t tmpfs -o size=64k none '{}'", folder.path.display());
    match unshare(&probe).output() {
        Ok(output) if output.status.success() => Some(unshare(script).args(arguments).output().unwrap()),
        Ok(output) => {
            eprintln!("SKIPPED: nothing can be mounted: {}", String::from_utf8_lossy(&output.stderr).trim());
            None
        }
        Err(error) => {
            eprintln!("SKIPPED: nothing can be mounted: unshare: {error}");
            None
        }
    }
}

/// `$0` is the program, `$1` a folder, `$2` the size of the disk, and then come the arguments. The exit code of the
/// program is written next to the disk, which is copied out and back with more room.
const FULL_DISK: &str = "mkdir \"$1/disk\" && mount -t tmpfs -o size=\"$2\" none \"$1/disk\" || exit 99
place=$1; shift 2; [ -d \"$place/base\" ] && { cp -r \"$place/base/.\" \"$place/disk/\" || exit 98; }
\"$0\" \"$@\" > \"$place/out\" 2> \"$place/err\"; echo $? > \"$place/code\"; cp -r \"$place/disk\" \"$place/after\"";

/// Runs the program on a disk of that size at `folder/disk`, which begins with the contents of `folder/base`, if that
/// exists.
fn on_full_disk(folder: &Folder, size: usize, arguments: &[&str]) -> Option<(i32, String)> {
    let (place, size) = (folder.path.display().to_string(), size.to_string());
    let arguments = [&[env!("CARGO_BIN_EXE_petteia"), &place, &size][..], arguments].concat();
    let output = with_mounts(FULL_DISK, &arguments)?;
    let read = |name: &str| fs::read_to_string(folder.path.join(name)).unwrap_or_default();
    let code = read("code").trim().parse();
    Some((code.unwrap_or_else(|_| panic!("{output:?}")), read("err")))
}

#[test]
fn a_full_disk_is_named_and_a_run_resumes_once_there_is_room() {
    let mut tally = Tally::default();
    let expected = contents(&RUN.path);
    let step = times(28 << 10, 4 << 10);
    for size in (8 << 10..260 << 10).step_by(step) {
        let mut possible = true;
        tally.check(|| {
            let folder = Folder::new();
            let run = folder.at("disk/run");
            let train = ["train", &RUN.config, "--run", &run, "--threads", "1"];
            let Some((code, err)) = on_full_disk(&folder, size, &train) else {
                possible = false;
                return;
            };
            assert!(
                code == 0 || code == 1 && err.contains("No space left on device"),
                "{size}: {code} {err}"
            );
            let after = folder.path.join("after/run");
            if code == 1 {
                assert!(err.contains(&run), "{size}: no path in {err}");
            }
            RUN.train(&after).succeeds();
            expect_same(&format!("a disk of {size}"), &contents(&after), &expected);
        });
        if !possible {
            return;
        }
    }
    tally.report("full disks");
}

#[test]
fn what_is_written_to_a_full_disk_is_absent_or_whole() {
    let run = RUN.path.display().to_string();
    let mut tally = Tally::default();
    for size in [4 << 10, 8 << 10, 16 << 10] {
        for command in [
            &["export", &run, "--format", "bot", "--out", "FILE"][..],
            &["export", &run, "--format", "onnx", "--out", "FILE"],
            &["export", &run, "--format", "safetensors", "--out", "FILE"],
            &["records", &run, "convert", "--format", "csv", "--out", "FILE"],
            &["arena", "tic-tac-toe", "random", "random", "--games", "2000", "--save", "FILE"],
        ] {
            let mut possible = true;
            tally.check(|| {
                let folder = Folder::new();
                let file = folder.at("disk/file");
                let command: Vec<&str> =
                    command.iter().map(|word| if *word == "FILE" { file.as_str() } else { word }).collect();
                let Some((code, err)) = on_full_disk(&folder, size, &command) else {
                    possible = false;
                    return;
                };
                assert!(code == 0 || code == 1 && err.contains(&file), "{command:?}: {code} {err}");
                let left = contents(&folder.path.join("after"));
                // a match keeps the games that were already played
                let fine = code == 0 || left.is_empty() || command[0] == "arena";
                assert!(fine, "{command:?}: {:?}", left.keys());
            });
            if !possible {
                return;
            }
        }
    }
    tally.report("writing to full disks");
}

/// `$0` is the program, `$1` the folder that cannot be written.
const READ_ONLY: &str = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" || exit 99
shift; \"$0\" \"$@\"";

#[test]
fn a_read_only_run_is_read_and_not_trained() {
    let folder = Folder::new();
    let path = folder.path.join("run");
    copy(&RUN.path, &path);
    let run = path.display().to_string();
    let before = contents(&path);
    for (arguments, code) in [
        (&["train", &RUN.config, "--run", &run][..], 1),
        (&["records", &run, "verify"], 0),
        (&["inspect", &run], 0),
        (&["arena", "tic-tac-toe", &format!("{run}:4"), "random", "--games", "2"], 0),
        (&["export", &run, "--format", "onnx", "--out", &format!("{run}/x.onnx")], 1),
        (&["arena", "tic-tac-toe", "random", "random", "--games", "2", "--save", &format!("{run}/m")], 1),
    ] {
        let arguments = [&[env!("CARGO_BIN_EXE_petteia"), run.as_str()], arguments].concat();
        let Some(output) = with_mounts(READ_ONLY, &arguments) else { return };
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {err}");
        assert!(code == 0 || err.contains(&run) && err.contains("Read-only"), "{arguments:?}: {err}");
    }
    expect_same("a read-only run", &contents(&path), &before);
}

/// Replaces every file and folder of a run with something of another kind.
#[test]
fn what_stands_in_the_way_is_named() {
    let folder = Folder::new();
    let path = folder.path.join("run");
    let mut tally = Tally::default();
    for name in
        ["config.toml", "lock", "metrics.jsonl", "selfplay", "checkpoints", "selfplay/generation-0003"]
            .into_iter()
            .chain([
                "checkpoints/generation-0003/manifest.json",
                "selfplay/generation-0003/shard-0000.jsonl.zst",
            ])
    {
        for other in ["file", "folder", "dangling", "loop", "device"] {
            tally.check(|| {
                reset(Some(&RUN.path), &path);
                let _ = fs::remove_file(folder.path.join("nowhere"));
                let place = path.join(name);
                let _ = fs::remove_file(&place).or_else(|_| fs::remove_dir_all(&place));
                match other {
                    "file" => fs::write(&place, "what is this").unwrap(),
                    "folder" => fs::create_dir(&place).unwrap(),
                    "dangling" => symlink(folder.path.join("nowhere"), &place).unwrap(),
                    "loop" => symlink(&place, &place).unwrap(),
                    _ => symlink("/dev/null", &place).unwrap(),
                }
                let what = format!("{name} is a {other}");
                RUN.train(&path).in_words(&what);
                let run = path.display().to_string();
                Petteia::new(&["inspect", &run]).run().in_words(&what);
                Petteia::new(&["records", &run, "verify"]).run().in_words(&what);
                assert!(!folder.path.join("nowhere").exists(), "{what}: a link was followed");
            });
        }
    }
    tally.report("things in the way");
}

/// Names that are not valid text, and names that shells and terminals stumble over.
#[test]
fn any_name_of_a_folder_will_do() {
    let folder = Folder::new();
    let mut tally = Tally::default();
    let long = "x".repeat(200);
    let names: [&[u8]; 8] =
        [b"a b", b"-x", b"a'\"b", b"a\nb", b"\xff\xfe", "\u{202e}é漢".as_bytes(), b"a:4", long.as_bytes()];
    for name in names {
        tally.check(|| {
            let path = folder.path.join(OsStr::from_bytes(name));
            let training = RUN.training(&path);
            let mut command = Command::new(env!("CARGO_BIN_EXE_petteia"));
            command.args(["train", &RUN.config, "--threads", "1", "--run"]).arg(&path).stdin(Stdio::null());
            let output = command.output().unwrap();
            let err = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{path:?} ({:?}): {err}", training.arguments);
            expect_same("an odd name", &contents(&path), &contents(&RUN.path));
        });
    }
    tally.report("odd names");
}

/// If a run folder is removed or renamed while a program works in it, no part of it reappears.
#[test]
fn a_run_that_is_gone_stays_gone() {
    let config = super::scene::TINY.replace("generations = 3", "generations = 3000");
    let folder = Folder::new();
    let config = folder.write("long.toml", config);
    for gone in ["renamed", "removed"] {
        let run = folder.path.join("run");
        let train = Petteia::new(&["train", &config, "--run", &run.display().to_string(), "--threads", "1"]);
        let mut child = train.command().stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let begun = run.join("checkpoints/generation-0002/manifest.json");
        while !begun.exists() {
            assert!(child.try_wait().unwrap().is_none());
        }
        match gone {
            "renamed" => fs::rename(&run, folder.path.join("other")).unwrap(),
            // the program may write something while the folder is being removed
            _ => while fs::remove_dir_all(&run).is_err() {},
        }
        assert_eq!(child.wait().unwrap().code(), Some(1), "{gone}");
        assert!(
            !Path::new(&run).exists() || gone == "removed" && contents(&run).is_empty(),
            "{gone}: it came back"
        );
    }
}
