//! A running external program: in go lines, out come those that it writes, each wait with an end.
//!
//! One thread writes to the process and one reads from it, over bounded channels, so nobody waits longer than
//! asked for whatever the program does: hang, leave its input unread, or write without end (then it is held up
//! by its full pipe). A process is the leader of its own group; dropping it kills the group and reaps the
//! process.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Fault;

/// The longest line, in bytes with its end.
const MAX_LINE: usize = 64 << 10;
/// The most that one answer may have before it, in bytes and lines.
const MAX_BYTES: usize = 16 << 20;
const MAX_LINES: usize = 100_000;
/// Lines in a channel.
const CHANNEL: usize = 16;
/// How long a program may take to end by itself.
const QUIT_PATIENCE: Duration = Duration::from_millis(500);

/// A process and its threads.
pub(super) struct Process {
    child: Child,
    /// To the writing thread; none when the program was told to end.
    input: Option<SyncSender<String>>,
    /// From the reading thread, which ends with the program's output.
    output: Receiver<Heard>,
}

enum Heard {
    Line(String),
    /// A line longer than [`MAX_LINE`]; nothing follows.
    TooLong,
}

impl Process {
    /// Starts `command`, whose first word is the program. Its standard error goes to `log` or nowhere.
    pub(super) fn start(command: &[String], log: Option<&File>) -> io::Result<Process> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let errors = log.map_or(Ok(Stdio::null()), |log| log.try_clone().map(Stdio::from))?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let (input, lines) = sync_channel(CHANNEL);
        let (heard, output) = sync_channel(CHANNEL);
        thread::spawn(move || write_lines(stdin, &lines));
        thread::spawn(move || read_lines(stdout, &heard));
        Ok(Process { child, input: Some(input), output })
    }

    /// Sends a line without waiting for it to be read.
    pub(super) fn say(&self, line: &str) -> Result<(), Fault> {
        let input = self.input.as_ref().ok_or(Fault::Crashed)?;
        input.try_send(format!("{line}\n")).map_err(|error| match error {
            TrySendError::Full(_) => Fault::Slow,
            TrySendError::Disconnected(_) => Fault::Crashed,
        })
    }

    /// Waits for a line that begins with `word` and returns the word behind it, if any; skips other lines.
    pub(super) fn wait_for(&self, word: &str, patience: Duration) -> Result<String, Fault> {
        let deadline = Instant::now() + patience;
        let mut bytes = 0;
        for _ in 0..MAX_LINES {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = match self.output.recv_timeout(left) {
                Ok(Heard::Line(line)) => line,
                Ok(Heard::TooLong) => return Err(Fault::Flooded),
                Err(RecvTimeoutError::Timeout) => return Err(Fault::Slow),
                Err(RecvTimeoutError::Disconnected) => return Err(Fault::Crashed),
            };
            let mut words = line.split_whitespace();
            if words.next() == Some(word) {
                return Ok(words.next().unwrap_or_default().to_string());
            }
            bytes += line.len();
            if bytes > MAX_BYTES {
                return Err(Fault::Flooded);
            }
            // lines that are there already come without waiting
            if left.is_zero() {
                return Err(Fault::Slow);
            }
        }
        Err(Fault::Flooded)
    }

    /// Asks for a sign of life, behind which nothing written earlier is left.
    pub(super) fn ready(&self, patience: Duration) -> Result<(), Fault> {
        self.say("isready")?;
        self.wait_for("readyok", patience).map(|_| ())
    }

    /// Asks the program to end and closes its input.
    pub(super) fn ask_to_quit(&mut self) {
        // whoever does not hear it is killed
        let _ = self.say("quit");
        self.input = None;
    }

    /// Waits a little for the end of its output.
    pub(super) fn wait_for_end(&self) {
        let deadline = Instant::now() + QUIT_PATIENCE;
        let left = || deadline.saturating_duration_since(Instant::now());
        while !left().is_zero() && self.output.recv_timeout(left()).is_ok() {}
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // the process is not reaped yet, so its number is still its own; it may be gone all the same
        #[cfg(unix)]
        if let Ok(group) = i32::try_from(self.child.id()) {
            use nix::sys::signal::{Signal, killpg};
            let _ = killpg(nix::unistd::Pid::from_raw(group), Signal::SIGKILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write_lines(mut input: ChildStdin, lines: &Receiver<String>) {
    for line in lines {
        if input.write_all(line.as_bytes()).is_err() {
            return;
        }
    }
}

fn read_lines(output: ChildStdout, heard: &SyncSender<Heard>) {
    let mut reader = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        let read = reader.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line);
        let next = match read {
            Ok(0) | Err(_) => return,
            Ok(length) if length > MAX_LINE => Heard::TooLong,
            Ok(_) => Heard::Line(String::from_utf8_lossy(&line).into_owned()),
        };
        let last = matches!(next, Heard::TooLong);
        if heard.send(next).is_err() || last {
            return;
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn engine(words: &[&str]) -> Process {
        let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        Process::start(&words, None).unwrap()
    }

    #[test]
    fn a_full_pipe_holds_nobody_up() {
        let deaf = engine(&["sleep", "1000"]);
        let line = "x".repeat(100_000);
        // the pipe takes less than one of these, the thread holds one
        let said = (0..CHANNEL + 3).find_map(|_| deaf.say(&line).err());
        assert_eq!(said, Some(Fault::Slow));
    }

    #[test]
    fn what_comes_before_an_answer_is_skipped() {
        let echo = engine(&["cat"]);
        for line in ["info one", "", "answerless 1", "answer a1 more", "answer"] {
            echo.say(line).unwrap();
        }
        let patience = Duration::from_secs(60);
        assert_eq!(echo.wait_for("answer", patience).unwrap(), "a1");
        assert_eq!(echo.wait_for("answer", patience).unwrap(), "");
        assert_eq!(echo.wait_for("answer", Duration::from_millis(20)), Err(Fault::Slow));
    }

    #[test]
    fn too_much_is_a_fault_of_its_own() {
        let patience = Duration::from_secs(60);
        assert_eq!(engine(&["yes", "info"]).wait_for("answer", patience), Err(Fault::Flooded));
        let long = "x".repeat(1000);
        assert_eq!(engine(&["yes", &long]).wait_for("answer", patience), Err(Fault::Flooded));
        let line = format!("printf '%0{}d' 0; sleep 1000", MAX_LINE + 1);
        assert_eq!(engine(&["sh", "-c", &line]).wait_for("answer", patience), Err(Fault::Flooded));
        // one byte less is a line
        let line = format!("printf '%0{}d\\nanswer' 0", MAX_LINE - 1);
        assert_eq!(engine(&["sh", "-c", &line]).wait_for("answer", patience), Ok(String::new()));
        assert_eq!(engine(&["true"]).wait_for("answer", patience), Err(Fault::Crashed));
    }
}
