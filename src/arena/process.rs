//! A running external program that reads and writes lines. Every wait has a timeout.
//!
//! One thread writes to the process and one reads from it, over bounded channels. As a result, no wait exceeds its
//! timeout or outlasts the match, even if the program hangs, does not read its input, or writes endlessly (its full
//! pipe then blocks it). Each process has its own process group; dropping the process kills the group and reaps the
//! process. If this program is killed and drops nothing, the [`Guardian`] kills the group. Only a process that leaves
//! its group can survive.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

#[cfg(unix)]
use super::guardian::Guardian;
use crate::error::Fault;
use crate::storage::text;

/// The maximum length of a line in bytes, including its line break.
const MAX_LINE: usize = 64 << 10;
/// The maximum output before an answer, in bytes and lines.
const MAX_BYTES: usize = 16 << 20;
const MAX_LINES: usize = 100_000;
/// The capacity of a channel in lines.
const CHANNEL: usize = 16;
/// How long a program may take to exit by itself.
pub(super) const QUIT_PATIENCE: Duration = Duration::from_millis(500);
/// The interval between checks whether the match was stopped.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A process and its threads.
pub(super) struct Process {
    child: Child,
    #[cfg(unix)]
    guardian: Guardian,
    /// The channel to the writing thread; `None` after the program was asked to quit.
    input: Option<SyncSender<String>>,
    /// The channel from the reading thread, which ends with the program's output.
    output: Receiver<Output>,
}

/// Output of the program.
enum Output {
    Line(String),
    /// A line longer than [`MAX_LINE`]; nothing follows it.
    TooLong,
}

/// The reason for a missing answer.
#[derive(Debug, PartialEq)]
pub(super) enum NoAnswer {
    /// The program's fault.
    Fault(Fault),
    /// The match was stopped.
    Stopped,
}

impl From<Fault> for NoAnswer {
    fn from(fault: Fault) -> NoAnswer {
        NoAnswer::Fault(fault)
    }
}

impl Process {
    /// Starts `command`, whose first word is the program. The program's standard error is written to `log` or
    /// discarded.
    pub(super) fn start(command: &[String], log: Option<&File>) -> io::Result<Process> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let errors = log.map_or(Ok(Stdio::null()), |log| log.try_clone().map(Stdio::from))?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        #[cfg(unix)]
        let guardian = Guardian::start()?;
        #[cfg(unix)]
        guardian.adopt(&mut command);
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let (input, lines) = sync_channel(CHANNEL);
        let (sender, output) = sync_channel(CHANNEL);
        thread::spawn(move || write_lines(stdin, &lines));
        thread::spawn(move || read_lines(stdout, &sender));
        Ok(Process {
            child,
            #[cfg(unix)]
            guardian,
            input: Some(input),
            output,
        })
    }

    /// Sends a line without waiting for the program to read it.
    pub(super) fn send(&self, line: &str) -> Result<(), Fault> {
        let input = self.input.as_ref().ok_or(Fault::Crashed)?;
        input.try_send(format!("{line}\n")).map_err(|error| match error {
            TrySendError::Full(_) => Fault::Slow,
            TrySendError::Disconnected(_) => Fault::Crashed,
        })
    }

    /// Waits for a line that begins with `word` and returns the next word or an empty text; skips other lines. Returns
    /// early if `stop` is set.
    pub(super) fn wait_for(
        &self,
        word: &str,
        patience: Duration,
        stop: &AtomicBool,
    ) -> Result<String, NoAnswer> {
        let deadline = Instant::now() + patience;
        let mut bytes = 0;
        for _ in 0..MAX_LINES {
            let late = Instant::now() >= deadline;
            let line = self.next_line(deadline, stop)?;
            let mut words = line.split_whitespace();
            if words.next() == Some(word) {
                return Ok(words.next().unwrap_or_default().to_string());
            }
            bytes += line.len();
            if bytes > MAX_BYTES {
                return Err(Fault::Flooded.into());
            }
            // lines that have already arrived are still read after the deadline
            if late {
                return Err(Fault::Slow.into());
            }
        }
        Err(Fault::Flooded.into())
    }

    /// Waits for the next line and returns it.
    fn next_line(&self, deadline: Instant, stop: &AtomicBool) -> Result<String, NoAnswer> {
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(NoAnswer::Stopped);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            return match self.output.recv_timeout(left.min(POLL_INTERVAL)) {
                Ok(Output::Line(line)) => Ok(line),
                Ok(Output::TooLong) => Err(Fault::Flooded.into()),
                Err(RecvTimeoutError::Timeout) if left > POLL_INTERVAL => continue,
                Err(RecvTimeoutError::Timeout) => Err(Fault::Slow.into()),
                Err(RecvTimeoutError::Disconnected) => Err(Fault::Crashed.into()),
            };
        }
    }

    /// Sends `isready` and waits for the answer, skipping all earlier output.
    pub(super) fn ready(&self, patience: Duration, stop: &AtomicBool) -> Result<(), NoAnswer> {
        self.send("isready")?;
        self.wait_for("readyok", patience, stop).map(|_| ())
    }

    /// Asks the program to quit and closes its input.
    pub(super) fn ask_to_quit(&mut self) {
        // a program that cannot receive this is killed instead
        let _ = self.send("quit");
        self.input = None;
    }

    /// Waits until the process's output ends.
    pub(super) fn wait_for_end(&self, deadline: Instant) {
        let left = || deadline.saturating_duration_since(Instant::now());
        while !left().is_zero() && self.output.recv_timeout(left()).is_ok() {}
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        #[cfg(unix)]
        self.guardian.kill();
        // the process may have left the group
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

fn read_lines(output: ChildStdout, sender: &SyncSender<Output>) {
    let mut reader = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        let read = reader.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line);
        let next = match read {
            Ok(0) | Err(_) => return,
            Ok(length) if length > MAX_LINE => Output::TooLong,
            // a program that writes UTF-16 gives no readable answer
            Ok(_) => Output::Line(text::readable(&line).unwrap_or_default().into_owned()),
        };
        let last = matches!(next, Output::TooLong);
        if sender.send(next).is_err() || last {
            return;
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    static NEVER: AtomicBool = AtomicBool::new(false);

    fn engine(words: &[&str]) -> Process {
        let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        Process::start(&words, None).unwrap()
    }

    #[test]
    fn a_full_pipe_does_not_block() {
        let deaf = engine(&["sleep", "1000"]);
        let line = "x".repeat(100_000);
        // the pipe holds less than one of these lines, and the thread holds one
        let fault = (0..CHANNEL + 3).find_map(|_| deaf.send(&line).err());
        assert_eq!(fault, Some(Fault::Slow));
    }

    #[test]
    fn lines_before_an_answer_are_skipped() {
        let echo = engine(&["cat"]);
        for line in ["info one", "", "answerless 1", "answer a1 more", "answer"] {
            echo.send(line).unwrap();
        }
        let patience = Duration::from_secs(60);
        assert_eq!(echo.wait_for("answer", patience, &NEVER).unwrap(), "a1");
        assert_eq!(echo.wait_for("answer", patience, &NEVER).unwrap(), "");
        assert_eq!(echo.wait_for("answer", Duration::from_millis(20), &NEVER), Err(Fault::Slow.into()));
    }

    #[test]
    fn too_much_output_is_a_fault() {
        let patience = Duration::from_secs(60);
        assert_eq!(engine(&["yes", "info"]).wait_for("answer", patience, &NEVER), Err(Fault::Flooded.into()));
        let long = "x".repeat(1000);
        assert_eq!(engine(&["yes", &long]).wait_for("answer", patience, &NEVER), Err(Fault::Flooded.into()));
        let line = format!("printf '%0{}d' 0; sleep 1000", MAX_LINE + 1);
        assert_eq!(
            engine(&["sh", "-c", &line]).wait_for("answer", patience, &NEVER),
            Err(Fault::Flooded.into())
        );
        // a line that is one byte shorter is accepted
        let line = format!("printf '%0{}d\\nanswer' 0", MAX_LINE - 1);
        assert_eq!(engine(&["sh", "-c", &line]).wait_for("answer", patience, &NEVER), Ok(String::new()));
        assert_eq!(engine(&["true"]).wait_for("answer", patience, &NEVER), Err(Fault::Crashed.into()));
    }

    #[test]
    fn a_stopped_match_ends_every_wait() {
        let hanging = engine(&["sleep", "1000"]);
        let (stop, patience) = (&AtomicBool::new(false), Duration::from_secs(1_000_000));
        thread::scope(|scope| {
            let answer = scope.spawn(move || hanging.wait_for("answer", patience, stop));
            stop.store(true, Ordering::Relaxed);
            assert_eq!(answer.join().unwrap(), Err(NoAnswer::Stopped));
        });
    }
}
