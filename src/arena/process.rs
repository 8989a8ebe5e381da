//! A running external program: in go lines, out come those that it writes, each wait with an end.
//!
//! One thread writes to the process and one reads from it, over bounded channels, so nobody waits longer than
//! asked for whatever the program does: hang, leave its input unread, or write without end (then it is held up
//! by its full pipe), nor longer than until the match is stopped. A process is in a group of its own; dropping it
//! kills the group and reaps the process. If this program is killed and drops nothing, the group's [`Guardian`]
//! kills it. Only what leaves the group on purpose can survive.

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

/// The longest line, in bytes with its end.
const MAX_LINE: usize = 64 << 10;
/// The most that one answer may have before it, in bytes and lines.
const MAX_BYTES: usize = 16 << 20;
const MAX_LINES: usize = 100_000;
/// Lines in a channel.
const CHANNEL: usize = 16;
/// How long a program may take to end by itself.
pub(super) const QUIT_PATIENCE: Duration = Duration::from_millis(500);
/// Between two looks whether the match was stopped.
const LOOK: Duration = Duration::from_millis(20);

/// A process and its threads.
pub(super) struct Process {
    child: Child,
    #[cfg(unix)]
    guardian: Guardian,
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

/// Why there is no answer.
#[derive(Debug, PartialEq)]
pub(super) enum Unanswered {
    /// The program's fault.
    Fault(Fault),
    /// The match is stopped.
    Stopped,
}

impl From<Fault> for Unanswered {
    fn from(fault: Fault) -> Unanswered {
        Unanswered::Fault(fault)
    }
}

impl Process {
    /// Starts `command`, whose first word is the program. Its standard error goes to `log` or nowhere.
    pub(super) fn start(command: &[String], log: Option<&File>) -> io::Result<Process> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let errors = log.map_or(Ok(Stdio::null()), |log| log.try_clone().map(Stdio::from))?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        #[cfg(unix)]
        let guardian = Guardian::start()?;
        #[cfg(unix)]
        guardian.take_in(&mut command);
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let (input, lines) = sync_channel(CHANNEL);
        let (heard, output) = sync_channel(CHANNEL);
        thread::spawn(move || write_lines(stdin, &lines));
        thread::spawn(move || read_lines(stdout, &heard));
        Ok(Process {
            child,
            #[cfg(unix)]
            guardian,
            input: Some(input),
            output,
        })
    }

    /// Sends a line without waiting for it to be read.
    pub(super) fn say(&self, line: &str) -> Result<(), Fault> {
        let input = self.input.as_ref().ok_or(Fault::Crashed)?;
        input.try_send(format!("{line}\n")).map_err(|error| match error {
            TrySendError::Full(_) => Fault::Slow,
            TrySendError::Disconnected(_) => Fault::Crashed,
        })
    }

    /// Waits for a line that begins with `word` and returns the word behind it, if any; skips other lines. Ends
    /// early when `stop` is set.
    pub(super) fn wait_for(
        &self,
        word: &str,
        patience: Duration,
        stop: &AtomicBool,
    ) -> Result<String, Unanswered> {
        let deadline = Instant::now() + patience;
        let mut bytes = 0;
        for _ in 0..MAX_LINES {
            let late = Instant::now() >= deadline;
            let line = self.hear(deadline, stop)?;
            let mut words = line.split_whitespace();
            if words.next() == Some(word) {
                return Ok(words.next().unwrap_or_default().to_string());
            }
            bytes += line.len();
            if bytes > MAX_BYTES {
                return Err(Fault::Flooded.into());
            }
            // lines that are there already come without waiting
            if late {
                return Err(Fault::Slow.into());
            }
        }
        Err(Fault::Flooded.into())
    }

    /// The next line.
    fn hear(&self, deadline: Instant, stop: &AtomicBool) -> Result<String, Unanswered> {
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(Unanswered::Stopped);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            return match self.output.recv_timeout(left.min(LOOK)) {
                Ok(Heard::Line(line)) => Ok(line),
                Ok(Heard::TooLong) => Err(Fault::Flooded.into()),
                Err(RecvTimeoutError::Timeout) if left > LOOK => continue,
                Err(RecvTimeoutError::Timeout) => Err(Fault::Slow.into()),
                Err(RecvTimeoutError::Disconnected) => Err(Fault::Crashed.into()),
            };
        }
    }

    /// Asks for a sign of life, behind which nothing written earlier is left.
    pub(super) fn ready(&self, patience: Duration, stop: &AtomicBool) -> Result<(), Unanswered> {
        self.say("isready")?;
        self.wait_for("readyok", patience, stop).map(|_| ())
    }

    /// Asks the program to end and closes its input.
    pub(super) fn ask_to_quit(&mut self) {
        // whoever does not hear it is killed
        let _ = self.say("quit");
        self.input = None;
    }

    /// Waits for the end of its output.
    pub(super) fn wait_for_end(&self, deadline: Instant) {
        let left = || deadline.saturating_duration_since(Instant::now());
        while !left().is_zero() && self.output.recv_timeout(left()).is_ok() {}
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        #[cfg(unix)]
        self.guardian.kill();
        // it may have left the group
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

    static NEVER: AtomicBool = AtomicBool::new(false);

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
        assert_eq!(echo.wait_for("answer", patience, &NEVER).unwrap(), "a1");
        assert_eq!(echo.wait_for("answer", patience, &NEVER).unwrap(), "");
        assert_eq!(echo.wait_for("answer", Duration::from_millis(20), &NEVER), Err(Fault::Slow.into()));
    }

    #[test]
    fn too_much_is_a_fault_of_its_own() {
        let patience = Duration::from_secs(60);
        assert_eq!(engine(&["yes", "info"]).wait_for("answer", patience, &NEVER), Err(Fault::Flooded.into()));
        let long = "x".repeat(1000);
        assert_eq!(engine(&["yes", &long]).wait_for("answer", patience, &NEVER), Err(Fault::Flooded.into()));
        let line = format!("printf '%0{}d' 0; sleep 1000", MAX_LINE + 1);
        assert_eq!(
            engine(&["sh", "-c", &line]).wait_for("answer", patience, &NEVER),
            Err(Fault::Flooded.into())
        );
        // one byte less is a line
        let line = format!("printf '%0{}d\\nanswer' 0", MAX_LINE - 1);
        assert_eq!(engine(&["sh", "-c", &line]).wait_for("answer", patience, &NEVER), Ok(String::new()));
        assert_eq!(engine(&["true"]).wait_for("answer", patience, &NEVER), Err(Fault::Crashed.into()));
    }

    #[test]
    fn nobody_waits_once_the_match_is_stopped() {
        let hanging = engine(&["sleep", "1000"]);
        let (stop, patience) = (&AtomicBool::new(false), Duration::from_secs(1_000_000));
        thread::scope(|scope| {
            let answer = scope.spawn(move || hanging.wait_for("answer", patience, stop));
            stop.store(true, Ordering::Relaxed);
            assert_eq!(answer.join().unwrap(), Err(Unanswered::Stopped));
        });
    }
}
