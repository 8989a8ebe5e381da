//! The program as a user runs it.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Once};

use serde_json::Value;

/// The program.
pub const PETTEIA: &str = env!("CARGO_BIN_EXE_petteia");

/// Makes sure that child processes start with default handling of the signals that end programs, even if these tests
/// run under nohup or in the background of a shell. A child also ignores the signals that this process ignores, so a
/// test that sends such a signal would wait in vain. A signal that this process catches has its default handling in a
/// child. So this process catches the ignored signals, without any effect.
fn hear_signals() {
    use signal_hook::consts::{SIGINT, SIGTERM};
    const SIGHUP: i32 = 1;
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // this file exists only on Linux
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = ignored.map_or(0, |mask| u64::from_str_radix(mask.trim(), 16).unwrap());
        for signal in [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 1)
        {
            signal_hook::flag::register(signal, Arc::default()).unwrap();
        }
    });
}

/// Starts a program in the repository, with all its streams piped.
pub fn start(program: impl AsRef<OsStr>, arguments: &[&str]) -> Child {
    start_in(Path::new(env!("CARGO_MANIFEST_DIR")), program, arguments)
}

fn start_in(folder: &Path, program: impl AsRef<OsStr>, arguments: &[&str]) -> Child {
    hear_signals();
    Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs a program in the repository with this standard input.
pub fn run(program: impl AsRef<OsStr>, arguments: &[&str], input: impl AsRef<[u8]>) -> Output {
    finish(start(program, arguments), input.as_ref())
}

/// Runs petteia in its own folder, which has nothing of the repository.
pub fn elsewhere(folder: &Path, arguments: &[&str], input: &str) -> Output {
    finish(start_in(folder, PETTEIA, arguments), input.as_bytes())
}

fn finish(mut child: Child, input: &[u8]) -> Output {
    // the program may end before it has read all of the input
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// Runs petteia.
pub fn petteia(arguments: &[&str], input: impl AsRef<[u8]>) -> Output {
    run(PETTEIA, arguments, input)
}

/// The Python that `PETTEIA_PYTHON` names. If the variable is not set, prints that the test checks nothing.
pub fn python(test: &str) -> Option<PathBuf> {
    let python = std::env::var_os("PETTEIA_PYTHON").filter(|python| !python.is_empty());
    if python.is_none() {
        // the output of eprintln! is not shown when a test passes, so write to standard error directly
        let what =
            "PETTEIA_PYTHON names no Python with scripts/check/requirements.txt (scripts/check.sh makes one)";
        std::io::stderr().write_all(format!("SKIPPED {test}: {what}\n").as_bytes()).unwrap();
    }
    python.map(PathBuf::from)
}

/// The standard output.
pub fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The standard error.
pub fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The JSON values on the lines of the output.
pub fn json_lines(output: &Output) -> Vec<Value> {
    out(output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs petteia and expects success.
pub fn succeeds(arguments: &[&str], input: impl AsRef<[u8]>) -> Output {
    let output = petteia(arguments, input);
    assert!(output.status.success(), "{arguments:?}: {}", err(&output));
    output
}

/// Runs petteia, which must fail with this exit code and an error that contains all these parts.
pub fn fails(arguments: &[&str], code: i32, parts: &[&str]) {
    let output = petteia(arguments, "");
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", err(&output));
    for part in parts {
        assert!(err(&output).contains(part), "{arguments:?}: no `{part}` in: {}", err(&output));
    }
    assert!(!err(&output).contains("panicked"));
}
