//! The scene of a fault: tiny runs in separate folders, the program that meets the fault, and what it leaves behind.
//!
//! Two folders with the same [`contents`] hold the same results, down to the bytes; only clock times are left out.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::Duration;

use petteia::random::{Purpose, Random, stream};
use rand::RngExt;
use tempfile::TempDir;

pub use crate::support::runs::contents;
pub use crate::support::runs::copy_folder as copy;

/// Three generations in less than a tenth of a second.
pub const TINY: &str = "\
config_format = 1
game.id = 'tic-tac-toe'
net = { filters = 2, blocks = 1, value_hidden = 2 }
search.simulations = 4
selfplay = { games = 4, batch = 2, bootstrap_games = 4, bootstrap_simulations = 4, random_plies = 2 }
replay.window = 60
train = { generations = 3, batch = 8, warmup_steps = 2 }
arena = { opponent = 'random', opening_plies = 2, games = 2, final_games = 4, simulations = 4 }
";

/// One finished tiny run, which nobody changes; faults happen to copies of its files.
pub static RUN: LazyLock<Run> = LazyLock::new(|| Run::new(TINY));

/// Whether to test all faults, not a sample.
pub fn deep() -> bool {
    std::env::var_os("PETTEIA_DEEP").is_some()
}

/// The number of faults of each kind: `short`, or `long` if all are tested.
pub fn times(short: usize, long: usize) -> usize {
    if deep() { long } else { short }
}

/// The size of a [`sample`] if all faults are tested: each fault takes one or two runs of the program, up to a second,
/// and there are dozens of files of thousands of bytes, and hundreds of operations of a command.
const MANY: usize = 60;

/// About `few` of 1 to `all`, or at least [`MANY`] if all faults are tested, evenly spaced from a random start.
pub fn sample(all: usize, few: usize, random: &mut Random) -> Vec<usize> {
    let step = all.div_ceil(if deep() { MANY.max(few) } else { few }).max(1);
    let first = random.random_range(0..step);
    (1..=all).skip(first).step_by(step).collect()
}

/// The randomness of a test; `name` is a number that no other test uses.
pub fn random(name: u64) -> Random {
    stream(20, Purpose::Sampling, &[name])
}

/// A folder for one test, by its canonical path.
pub struct Folder {
    _kept: TempDir,
    pub path: PathBuf,
}

impl Folder {
    pub fn new() -> Folder {
        let kept = tempfile::tempdir().unwrap();
        let path = kept.path().canonicalize().unwrap();
        Folder { _kept: kept, path }
    }

    /// A path in the folder, as text.
    pub fn at(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        fs::write(self.path.join(name), bytes).unwrap();
        self.at(name)
    }
}

/// An undisturbed run, with the config that made it.
pub struct Run {
    _folder: Folder,
    /// The path of the config, as in `train CONFIG --run FOLDER`.
    pub config: String,
    pub path: PathBuf,
}

impl Run {
    pub fn new(config: &str) -> Run {
        Run::begun(config, |_| ())
    }

    /// A run that `begin` has begun in its folder.
    pub fn begun(config: &str, begin: impl FnOnce(&Path)) -> Run {
        let folder = Folder::new();
        let config = folder.write("tiny.toml", config);
        let path = folder.path.join("run");
        begin(&path);
        let run = Run { _folder: folder, config, path };
        run.train(&run.path).succeeds();
        run
    }

    /// The command that trains or resumes such a run in `folder`.
    pub fn training(&self, folder: &Path) -> Petteia {
        let folder = folder.display().to_string();
        Petteia::new(&["train", &self.config, "--run", &folder, "--threads", "1"])
    }

    pub fn train(&self, folder: &Path) -> Ended {
        self.training(folder).run()
    }
}

/// A command of the program, before it runs.
pub struct Petteia {
    pub program: String,
    pub arguments: Vec<String>,
    pub input: Vec<u8>,
    pub environment: Vec<(&'static str, String)>,
    /// The limit of the program's address space in kilobytes, if there is one.
    pub space: Option<u64>,
}

impl Petteia {
    pub fn new(arguments: &[&str]) -> Petteia {
        Petteia::of(env!("CARGO_BIN_EXE_petteia"), arguments)
    }

    /// A command of another program, such as a bot.
    pub fn of(program: &str, arguments: &[&str]) -> Petteia {
        Petteia {
            program: program.into(),
            arguments: arguments.iter().map(|argument| argument.to_string()).collect(),
            input: Vec::new(),
            environment: Vec::new(),
            space: None,
        }
    }

    pub fn hearing(self, input: impl Into<Vec<u8>>) -> Petteia {
        Petteia { input: input.into(), ..self }
    }

    pub fn with(self, environment: Vec<(&'static str, String)>) -> Petteia {
        Petteia { environment, ..self }
    }

    /// Limits the program's address space to this many kilobytes.
    pub fn within(self, space: u64) -> Petteia {
        Petteia { space: Some(space), ..self }
    }

    pub fn command(&self) -> Command {
        let environment = self.environment.iter();
        let mut command = match self.space {
            None => {
                let mut command = Command::new(&self.program);
                command.envs(environment.map(|(name, value)| (name, value)));
                command
            }
            Some(space) => {
                let mut shell = Command::new("sh");
                shell.arg("-c").arg(format!("ulimit -v {space}; exec env \"$@\"")).arg("sh");
                // for the program alone, not for the shell that starts it
                shell.args(environment.map(|(name, value)| format!("{name}={value}"))).arg(&self.program);
                shell
            }
        };
        command.args(&self.arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end, writing and reading at the same time.
    pub fn run(&self) -> Ended {
        let mut child = loop {
            match self.command().spawn() {
                // another test started a process while this program was being written, and that process still holds
                // it open
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                    sleep(Duration::from_millis(5))
                }
                child => break child.unwrap(),
            }
        };
        let mut to = child.stdin.take().unwrap();
        let input = self.input.clone();
        let writer = std::thread::spawn(move || {
            // the program may end without reading all of its input
            let _ = to.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        Ended {
            command: self.arguments.join(" "),
            code: output.status.code(),
            signal: output.status.signal(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// How a program ended.
pub struct Ended {
    command: String,
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub out: String,
    pub err: String,
}

/// Prints no more than a person would read.
impl fmt::Debug for Ended {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let Ended { command, code, signal, out: said, err } = self;
        let status = signal.map_or(format!("{code:?}"), |signal| format!("signal {signal}"));
        write!(out, "`{command:.300}`: {status}, out {said:.300?}, err {err:.600?}")
    }
}

impl Ended {
    /// Asserts that the program ended by itself, with success or an error message, and without a panic in any thread.
    pub fn in_words(&self, fault: &str) -> &Ended {
        let panicked = self.err.contains("panicked") || self.err.contains("bug of the program");
        assert!(matches!(self.code, Some(0..=2)) && !panicked, "{fault}: {self:?}");
        assert!(self.code == Some(0) || self.err.contains("error:"), "{fault}: no error in words: {self:?}");
        self
    }

    pub fn expect_words(&self, fault: &str) {
        self.in_words(fault);
    }

    /// Asserts what [`Ended::in_words`] asserts, or that the program was killed by SIGKILL.
    pub fn in_words_or_killed(&self, fault: &str) -> &Ended {
        if self.signal == Some(9) { self } else { self.in_words(fault) }
    }

    pub fn succeeds(&self) -> &Ended {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// Asserts that the program failed with an error message that contains `part`.
    pub fn names(&self, fault: &str, part: &str) {
        self.in_words(fault);
        assert!(
            self.code != Some(0) && (self.err.contains(part) || self.out.contains(part)),
            "{fault}: no `{part}` in {self:?}"
        );
    }
}

/// Collects failures, so that one fault does not hide the others.
#[derive(Default)]
pub struct Tally {
    pub tried: usize,
    failed: Vec<String>,
}

impl Tally {
    /// Calls `hold`, which panics if something does not hold.
    pub fn check(&mut self, hold: impl FnOnce()) {
        self.tried += 1;
        if let Err(panic) = catch_unwind(AssertUnwindSafe(hold)) {
            let text = panic.downcast_ref::<String>().cloned();
            self.failed.push(
                text.or_else(|| panic.downcast_ref::<&str>().map(|t| t.to_string())).unwrap_or_default(),
            );
        }
    }

    pub fn report(self, what: &str) {
        println!("{what}: {} tried, {} failed", self.tried, self.failed.len());
        assert!(self.tried > 0, "{what}: nothing was tried");
        assert!(
            self.failed.is_empty(),
            "{what}: {} of {} failed:\n{}",
            self.failed.len(),
            self.tried,
            self.failed.join("\n")
        );
    }
}

/// Replaces `to` by a copy of `base`, or by nothing if there is no base.
pub fn reset(base: Option<&Path>, to: &Path) {
    if to.exists() {
        fs::remove_dir_all(to).unwrap();
    }
    if let Some(base) = base {
        copy(base, to);
    }
}

/// Names the first file in which two folders differ.
pub fn expect_same(fault: &str, found: &BTreeMap<PathBuf, Vec<u8>>, expected: &BTreeMap<PathBuf, Vec<u8>>) {
    let other = |a: &BTreeMap<PathBuf, Vec<u8>>, b: &BTreeMap<PathBuf, Vec<u8>>| {
        a.iter().filter(|(path, bytes)| b.get(*path) != Some(bytes)).map(|(path, _)| path.clone()).collect()
    };
    let (more, less): (Vec<_>, Vec<_>) = (other(found, expected), other(expected, found));
    assert!(more.is_empty() && less.is_empty(), "{fault}: {more:?} is not as {less:?} of the unbroken one");
}
