//! The library of `shim.c`, built once. Input: which operation on files meets which fault. Output: the environment
//! for a program that will meet it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use super::scene::{Folder, Petteia};

/// The letters of the kinds of operations: operations that change something, read contents, or only read metadata.
pub const CHANGES: &str = "Owsmdut";
pub const READS: &str = "olr";
pub const LOOKS: &str = "p";

static SHIM: LazyLock<Option<(Folder, PathBuf)>> = LazyLock::new(|| match build() {
    Ok(built) => Some(built),
    Err(why) => {
        eprintln!("SKIPPED: no operation on files is made to fail, and no peak of memory is measured: {why}");
        None
    }
});

fn build() -> Result<(Folder, PathBuf), String> {
    if !cfg!(all(target_os = "linux", target_env = "gnu")) {
        return Err("LD_PRELOAD as it is used here needs Linux with glibc".into());
    }
    let folder = Folder::new();
    let library = folder.path.join("shim.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/faults/shim.c");
    let output = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .output()
        .map_err(|error| format!("`cc` cannot be run: {error}"))?;
    if output.status.success() {
        Ok((folder, library))
    } else {
        // if there is a compiler but it fails, that is no reason to skip the test
        panic!("shim.c: {}", String::from_utf8_lossy(&output.stderr))
    }
}

/// Whether faults of operations can be tested on this machine.
pub fn is_here() -> bool {
    SHIM.is_some()
}

/// The fault that the N-th operation meets.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    pub kinds: &'static str,
    pub number: usize,
    pub how: &'static str,
}

/// The environment in which an operation below `place` meets a fault.
pub fn meeting(fault: Fault, place: &Path) -> Vec<(&'static str, String)> {
    let mut environment = counting(fault.kinds, place);
    environment.extend([("FAULT_AT", fault.number.to_string()), ("FAULT_DO", fault.how.into())]);
    environment
}

fn counting(kinds: &str, place: &Path) -> Vec<(&'static str, String)> {
    let (_, library) = SHIM.as_ref().expect("asked before");
    vec![
        ("LD_PRELOAD", library.display().to_string()),
        ("FAULT_BELOW", place.display().to_string()),
        ("FAULT_KINDS", kinds.into()),
    ]
}

/// The operations of these kinds that a program performs below `place`: one letter and path each.
pub fn operations(program: Petteia, kinds: &str, place: &Path) -> Vec<String> {
    let folder = Folder::new();
    let mut environment = counting(kinds, place);
    environment.push(("FAULT_LOG", folder.at("log")));
    program.with(environment).run().succeeds();
    let log = fs::read_to_string(folder.at("log")).unwrap_or_default();
    log.lines().map(|line| line.split_once(' ').unwrap().1.to_string()).collect()
}

/// Runs a program to its end; also returns the peak of its resident memory in kB, if the program ended in an orderly
/// way and the peak can be measured here.
pub fn peak(program: Petteia) -> (super::scene::Ended, Option<u64>) {
    let folder = Folder::new();
    let environment = match SHIM.as_ref() {
        Some((_, library)) => {
            vec![("LD_PRELOAD", library.display().to_string()), ("FAULT_PEAK", folder.at("peak"))]
        }
        None => Vec::new(),
    };
    let ended = program.with(environment).run();
    let peak = fs::read_to_string(folder.at("peak")).ok().and_then(|text| text.parse().ok());
    assert!(peak.is_some() || !is_here() || ended.code.is_none(), "no peak of {ended:?}");
    (ended, peak)
}
