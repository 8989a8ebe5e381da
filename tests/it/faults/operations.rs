//! Every operation on files fails once, fails from then on, succeeds in part, or is the last one before the program
//! is killed.
//!
//! Whatever happens, the program ends in an orderly way or by the kill, and the same command without the fault ends
//! with the same bytes as an undisturbed one, with no temporary files left; the target of an export is absent or
//! complete.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::scene::{Folder, Petteia, RUN, Tally, contents, expect_same, random, reset, sample};
use super::shim::{self, CHANGES, Fault, LOOKS, READS};

/// A command that works in one folder and can be repeated there.
struct Scene<'a> {
    /// The contents of the folder before the command runs.
    base: Option<&'a Path>,
    command: &'a dyn Fn(&Path) -> Petteia,
    /// The file that must be absent or complete at any time, if the command writes one.
    target: Option<&'a str>,
}

/// The faults for sampled operations: (kinds of operations, faults, number of operations in a sample for each fault).
const EVERYTHING: &[(&str, &[&str], usize)] = &[
    (CHANGES, &["eio", "enospc", "before", "after"], 3),
    ("w", &["short", "torn"], 2),
    (READS, &["eio"], 3),
    ("r", &["short"], 1),
    (LOOKS, &["eio"], 3),
];

impl Scene<'_> {
    fn survives(&self, name: u64, faults: &[(&'static str, &[&'static str], usize)]) {
        if !shim::is_here() {
            return;
        }
        let (place, mut chance) = (Folder::new(), random(name));
        let folder = place.path.join("scene");
        let begin = || {
            reset(self.base, &folder);
            fs::create_dir_all(&folder).unwrap();
        };
        begin();
        (self.command)(&folder).run().succeeds();
        let expected = contents(&folder);
        let mut tally = Tally::default();
        for (kinds, hows, few) in faults {
            begin();
            let operations = shim::operations((self.command)(&folder), kinds, &folder);
            assert!(!operations.is_empty(), "nothing is done of {kinds}");
            for how in *hows {
                for number in sample(operations.len(), *few, &mut chance) {
                    let what = format!("{how} of operation {number} of {kinds}: {}", operations[number - 1]);
                    tally.check(|| {
                        begin();
                        self.meets(Fault { kinds, number, how }, &what, &folder, &expected);
                    });
                }
            }
        }
        tally.report(&(self.command)(&folder).arguments[..3].join(" "));
    }

    fn meets(&self, fault: Fault, what: &str, folder: &Path, expected: &BTreeMap<PathBuf, Vec<u8>>) {
        let ended = (self.command)(folder).with(shim::meeting(fault, folder)).run();
        ended.in_words_or_killed(what);
        let kills = ["before", "after", "torn"].contains(&fault.how);
        assert_eq!(kills, ended.signal == Some(9), "{what}: {ended:?}");
        if ended.code == Some(1) {
            assert!(ended.err.contains(folder.to_str().unwrap()), "{what}: no path in {ended:?}");
        }
        if let Some(target) = self.target {
            let path = folder.join(target);
            let whole = fs::read(&path).ok();
            assert!(whole.is_none() || whole == expected.get(Path::new(target)).cloned(), "{what}: torn");
            assert!(kills || ended.code == Some(0) || !has_temporaries(folder), "{what}: something is left");
            // remove the target, because the same command does not overwrite it
            let _ = fs::remove_file(path);
        }
        let again = (self.command)(folder).run();
        assert_eq!(again.code, Some(0), "after {what}: {again:?}");
        expect_same(what, &contents(folder), expected);
    }
}

fn has_temporaries(folder: &Path) -> bool {
    contents(folder).keys().any(|path| path.to_string_lossy().contains(".tmp-"))
}

#[test]
fn a_run_survives_them() {
    let command = |folder: &Path| RUN.training(&folder.join("run"));
    Scene { base: None, command: &command, target: None }.survives(1, EVERYTHING);
}

/// The run was killed in the middle of its last generation, and is resumed.
#[test]
fn a_run_survives_them_while_it_resumes() {
    if !shim::is_here() {
        return;
    }
    let place = Folder::new();
    let command = |folder: &Path| RUN.training(&folder.join("run"));
    let operations = shim::operations(command(&place.path), CHANGES, &place.path);
    let half = operations.iter().position(|line| line.contains("generation-0003/shard-0000")).unwrap();
    reset(None, &place.path.join("run"));
    let fault = Fault { kinds: CHANGES, number: half + 10, how: "before" };
    command(&place.path).with(shim::meeting(fault, &place.path)).run();
    Scene { base: Some(&place.path), command: &command, target: None }.survives(3, EVERYTHING);
}

/// A copied file is either complete or absent, and repeating the command completes the copy.
#[test]
fn forks_and_runs_begun_with_weights_survive_them() {
    let source = RUN.path.display().to_string();
    let fork = ["--fork", &source, "--at", "2", "--set", "search.cpuct=2"];
    let start = ["--from", &source, "--with-window", "--generations", "1"];
    for (number, arguments) in [&fork[..], &start].into_iter().enumerate() {
        let command = |folder: &Path| {
            let run = folder.join("run").display().to_string();
            Petteia::new(&[&["train", "--run", &run, "--threads", "1"], arguments].concat())
        };
        Scene { base: None, command: &command, target: None }.survives(40 + number as u64, EVERYTHING);
    }
}

/// A run is extended once, however often the command is repeated.
#[test]
fn an_extension_survives_them() {
    let command = |folder: &Path| {
        let run = folder.join("run").display().to_string();
        Petteia::new(&["train", "--run", &run, "--threads", "1", "--generations", "4"])
    };
    let base = base_with_run();
    Scene { base: Some(&base.path), command: &command, target: None }.survives(42, EVERYTHING);
}

/// The result of a match does not depend on how often it was restarted.
#[test]
fn a_match_that_is_saved_survives_them() {
    let command = |folder: &Path| {
        let file = folder.join("match.jsonl").display().to_string();
        let agents = ["arena", "tic-tac-toe", "uniform:4", "random", "--games", "12"];
        Petteia::new(&[&agents[..], &["--save", &file, "--threads", "1", "--json"]].concat())
    };
    Scene { base: None, command: &command, target: None }.survives(4, &EVERYTHING[..4]);
}

#[test]
fn exports_are_absent_or_whole() {
    for (number, format) in ["safetensors", "onnx", "bot"].into_iter().enumerate() {
        let command = |folder: &Path| {
            let (run, file) = (folder.join("run"), folder.join("exported"));
            let [run, file] = [run, file].map(|path| path.display().to_string());
            Petteia::new(&["export", &run, "--format", format, "--out", &file])
        };
        let base = base_with_run();
        let scene = Scene { base: Some(&base.path), command: &command, target: Some("exported") };
        scene.survives(5 + number as u64, EVERYTHING);
    }
}

#[test]
fn converted_records_are_absent_or_whole() {
    for (number, format) in ["jsonl", "text", "csv", "positions", "npz"].into_iter().enumerate() {
        let command = |folder: &Path| {
            let (run, file) = (folder.join("run"), folder.join("converted"));
            let [run, file] = [run, file].map(|path| path.display().to_string());
            Petteia::new(&["records", &run, "convert", "--format", format, "--out", &file])
        };
        let base = base_with_run();
        let scene = Scene { base: Some(&base.path), command: &command, target: Some("converted") };
        scene.survives(8 + number as u64, EVERYTHING);
    }
}

/// A folder that contains the finished run.
fn base_with_run() -> Folder {
    let base = Folder::new();
    super::scene::copy(&RUN.path, &base.path.join("run"));
    base
}
