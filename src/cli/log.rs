//! `train.log` in the folder of a run: everything that `petteia train` printed in all sessions, each line with its
//! time.
//!
//! Nothing is written before the run has begun, so a refused folder and a finished run stay unchanged. The file is
//! bounded: when it is full, its older half is dropped. A run continues even if the log cannot be written.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::own_command;
use crate::error::Result;
use crate::program::Program;
use crate::run::LOG;
use crate::storage;

/// The length of the log, in bytes, at which its older half is dropped.
const LARGEST: u64 = 1 << 20;

/// The log of a session.
pub(super) struct Log {
    path: PathBuf,
    /// The lines from before the run began; `None` once the run has begun.
    waiting: Option<String>,
}

impl Log {
    /// Creates the log of a session in `folder`. Its first line is the command.
    pub(super) fn new(folder: &Path) -> Log {
        let mut log = Log { path: folder.join(LOG), waiting: Some(String::new()) };
        log.line(&format!("{}: {}", Program::current(), own_command()));
        log
    }

    /// Begins writing, because the folder now belongs to the run.
    pub(super) fn begin(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            let _ = append(&self.path, &waiting);
        }
    }

    /// Adds one or more lines of text.
    pub(super) fn line(&mut self, text: &str) {
        let now = humantime::format_rfc3339_seconds(SystemTime::now());
        let lines: String = text.lines().map(|line| format!("{now} {}\n", line.trim_end())).collect();
        match &mut self.waiting {
            Some(waiting) => waiting.push_str(&lines),
            None => drop(append(&self.path, &lines)),
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if self.waiting.is_none() && storage::is_remote(&self.path) {
            let _ = storage::sync(&self.path);
        }
    }
}

fn append(path: &Path, lines: &str) -> Result<()> {
    let length = storage::about(path)?.map_or(0, |about| about.length);
    if length + lines.len() as u64 > LARGEST {
        let text = storage::read_at_most(path, LARGEST, "a log").unwrap_or_default();
        storage::write_whole(path, newer_half(&text))?;
    }
    storage::append(path, lines.as_bytes())
}

/// Returns the lines that begin in the newer half of `text`.
fn newer_half(text: &[u8]) -> &[u8] {
    let half = &text[text.len() / 2..];
    half.iter().position(|byte| *byte == b'\n').map_or(&[], |end| &half[end + 1..])
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn nothing_is_written_before_the_run_has_begun() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = Log::new(folder.path());
        log.line("one\n  two");
        let path = folder.path().join(LOG);
        assert!(!path.exists());
        log.begin();
        log.line("three");
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().skip(1).map(|line| line.split_once("Z ").unwrap().1).collect();
        assert_eq!(lines, ["one", "  two", "three"]);
    }

    #[test]
    fn the_newer_half_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOG);
        let line = format!("{}\n", "x".repeat(999));
        for number in 0..3000 {
            append(&path, &format!("{number:04} {line}")).unwrap();
            assert!(fs::metadata(&path).unwrap().len() <= LARGEST);
        }
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.len() as u64 >= LARGEST / 2 - 2000 && text.lines().all(|line| line.len() == 1004));
        assert!(text.ends_with(&format!("2999 {line}")));
    }
}
