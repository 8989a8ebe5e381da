//! Things that are not files in the place of files: FIFOs, sockets, devices. Opening a FIFO would wait forever, so no
//! command does: each one ends, and names the thing if it needs the file. If a test does not end, some code opens
//! files without checking.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use super::scene::{Folder, Petteia, RUN, TINY, Tally, copy, deep, reset};
use crate::support::runs::paths;

fn make_fifo(path: &Path) {
    let _ = fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// All files of a run, and those that may exist next to them.
fn places(run: &Path) -> Vec<String> {
    let mut names: Vec<String> = paths(run).iter().map(|path| path.display().to_string()).collect();
    names.extend(["lineage.json", "report.html", ".tmp-config.toml", ".tmp-lineage.json"].map(String::from));
    names.sort();
    names.dedup();
    if !deep() {
        // one file of each kind
        let is_early = |name: &str| name.contains("generation-0001") || name.contains("generation-0002");
        names.retain(|name| !is_early(name) && !name.contains("shard-0001"));
    }
    names
}

#[test]
fn a_fifo_in_the_place_of_any_file_of_a_run_stops_nobody() {
    let mut tally = Tally::default();
    let folder = Folder::new();
    let run = folder.path.join("runs/run");
    let at = |name: &str| folder.at(name);
    let (runs, path) = (at("runs"), at("runs/run"));
    for name in places(&RUN.path) {
        for command in [
            &["runs", &runs][..],
            &["report", &path, "--out", &at("page.html")],
            &["watch", &path],
            &["inspect", &path],
            &["records", &path, "verify"],
            &["train", "--run", &path, "--threads", "1"],
            &["train", "--run", &path, "--threads", "1", "--report", "--set", "train.tensorboard=true"],
            &["train", "--fork", &path, "--run", &at("copy"), "--threads", "1"],
            &["train", "--from", &path, "--with-window", "--run", &at("copy"), "--threads", "1"],
        ] {
            tally.check(|| {
                fs::create_dir_all(folder.path.join("runs")).unwrap();
                reset(Some(&RUN.path), &run);
                let _ = fs::remove_dir_all(folder.path.join("copy"));
                make_fifo(&run.join(&name));
                let ended = Petteia::new(command).run();
                let says = format!("{}{}", ended.out, ended.err);
                assert!(matches!(ended.code, Some(0..=2)), "{name}: {command:?}: {says}");
                // the file is read, so it is named
                let is_read = match (command[0], name.as_str()) {
                    ("runs" | "report" | "watch" | "inspect", "config.toml") => true,
                    ("train", "config.toml") => command[1] != "--from",
                    ("report" | "inspect", "metrics.jsonl") => true,
                    // a run that begins with the weights of another does not take over its lineage
                    ("train", "lineage.json") => command[1] != "--from",
                    // nor does it take over the older checkpoints of that run
                    ("train", name) if command[1] == "--from" => name.ends_with("0003/manifest.json"),
                    ("train", name) => name.ends_with("manifest.json"),
                    _ => false,
                };
                assert!(!is_read || says.contains("it is a FIFO, not a file"), "{name}: {command:?}: {says}");
            });
        }
    }
    tally.report("FIFOs");
}

#[test]
fn what_a_user_names_is_asked_for_what_it_is() {
    let folder = Folder::new();
    make_fifo(&folder.path.join("fifo"));
    let _socket = UnixListener::bind(folder.path.join("socket")).unwrap();
    symlink("/dev/zero", folder.path.join("zero")).unwrap();
    for (name, kind) in
        [("fifo", "a FIFO"), ("socket", "a socket"), ("zero", "a device"), ("/dev/zero", "a device")]
    {
        let path = if name.starts_with('/') { name.to_string() } else { folder.at(name) };
        let says = format!("it is {kind}, not a file");
        for (command, input) in [
            (&["train", &path, "--run", &folder.at("run")][..], ""),
            (&["train", "--from", &RUN.path.display().to_string(), &path, "--run", &folder.at("run")], ""),
            (&["play", "tic-tac-toe", "--opponent", "random"], &*format!("load {path}\nquit\n")),
        ] {
            let ended = Petteia::new(command).hearing(input).run();
            let said = format!("{}{}", ended.out, ended.err);
            assert!(said.contains(&says), "{command:?}: {said}");
        }
        // if a folder would be accepted as well, or a name must have a certain ending, the error says in other words
        // that it is not a file
        let links = |end: &str| {
            let link = folder.path.join(format!("link{end}"));
            let _ = fs::remove_file(&link);
            symlink(&path, &link).unwrap();
            link.display().to_string()
        };
        for command in [
            &["inspect", &path][..],
            &["records", &links(".jsonl.zst"), "verify"],
            &["accuracy", "tic-tac-toe", "--agent", "random", "--set", &links(".jsonl.zst")],
            &["arena", "tic-tac-toe", "random", "random", "--games", "2", "--save", &path],
            &["arena", "tic-tac-toe", &links(".safetensors"), "random", "--games", "2"],
            &["export", &links(".safetensors"), "--format", "onnx", "--out", &folder.at("out.onnx")],
            &["report", &path],
            &["runs", &path],
        ] {
            let ended = Petteia::new(command).run();
            assert!(matches!(ended.code, Some(1 | 2)), "{command:?}: {}{}", ended.out, ended.err);
            assert!(!ended.err.contains("panicked"), "{command:?}: {}", ended.err);
        }
    }
    assert!(!folder.path.join("run").exists());
}

/// Streams that are already open are accepted like files.
#[test]
fn a_config_may_come_through_a_pipe() {
    let folder = Folder::new();
    let run = folder.at("run");
    let train = ["train", "/dev/stdin", "--run", &run, "--threads", "1"];
    Petteia::new(&train).hearing(TINY).run().succeeds();
    // what a shell passes for <(command)
    let script =
        format!("exec \"$0\" train <(cat '{}') --run '{}' --threads 1", RUN.config, folder.at("other"));
    Petteia::of("bash", &["-c", &script, env!("CARGO_BIN_EXE_petteia")]).run().succeeds();
    let endless = Petteia::of(
        "bash",
        &["-c", "exec \"$0\" train <(cat /dev/zero) --run x", env!("CARGO_BIN_EXE_petteia")],
    );
    let refused = endless.within(4 << 20).run();
    assert!(refused.err.contains("more than 33554432 bytes, the maximum for a config"), "{}", refused.err);
}

#[test]
fn a_fifo_in_the_place_of_the_lock_is_named() {
    let folder = Folder::new();
    let run = folder.path.join("run");
    copy(&RUN.path, &run);
    make_fifo(&run.join("lock"));
    let ended = RUN.train(&run);
    assert!(matches!(ended.code, Some(1 | 2)), "{}", ended.err);
    assert!(ended.err.contains("FIFO") || ended.err.contains("not a regular file"), "{}", ended.err);
}

/// If several processes fork into one folder, one of them makes the fork, and none of the others prints anything
/// untrue.
#[test]
fn of_forks_into_one_folder_at_once_one_wins_whole() {
    let source = RUN.path.display().to_string();
    let mut tally = Tally::default();
    for begin in ["--fork", "--from"] {
        for _ in 0..super::scene::times(3, 20) {
            tally.check(|| {
                let folder = Folder::new();
                let copy = folder.at("copy");
                let train = ["train", begin, &source, "--run", &copy, "--threads", "1"];
                let command = Petteia::new(&train);
                let children: Vec<_> = (0..4).map(|_| command.command().spawn().unwrap()).collect();
                let ended: Vec<_> =
                    children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
                let err = |at: usize| String::from_utf8_lossy(&ended[at].stderr).into_owned();
                let won = ended.iter().filter(|ended| ended.status.success()).count();
                let all: Vec<String> = (0..4).map(err).collect();
                assert!(won >= 1, "{all:#?}");
                for err in (0..4).filter(|at| !ended[*at].status.success()).map(err) {
                    let is_true = err.contains("another process created it in the meantime")
                        || err.contains("already exists")
                        || err.contains("is in use by another `petteia train`");
                    assert!(is_true, "{err}");
                }
                let left: Vec<_> =
                    fs::read_dir(&folder.path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
                assert_eq!(left, ["copy"]);
                Petteia::new(&["inspect", &copy]).run().succeeds();
            });
        }
    }
    tally.report("forks at once");
}

#[test]
fn what_an_interrupted_copy_left_is_no_run() {
    let folder = Folder::new();
    copy(&RUN.path, &folder.path.join("runs/run"));
    copy(&RUN.path, &folder.path.join("runs/.tmp-copy"));
    let listed = Petteia::new(&["runs", &folder.at("runs"), "--json"]).run();
    listed.succeeds();
    assert_eq!(listed.out.lines().count(), 1, "{}", listed.out);
    let missing = Petteia::new(&["report", &folder.at("runs/other")]).run();
    assert!(missing.err.contains("runs here") && !missing.err.contains(".tmp-copy"), "{}", missing.err);
}
