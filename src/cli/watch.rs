//! `petteia watch`: shows a run of another process in this terminal.

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;

use super::text::{draws_bars, foreign};
use super::{catch_interrupts, interrupted, print};
use crate::checkpoint::RUNS;
use crate::error::{Error, Result};
use crate::run::{self, LOG, Reader, State};
use crate::storage;

/// The minimum time between two readings of the files.
const INTERVAL: Duration = Duration::from_millis(500);
/// The minimum time between two readings, as a multiple of [`storage::between_looks`].
const LOOKS: u32 = 3;
/// How much of the earlier log is shown, in bytes.
const BEFORE: u64 = 4000;

/// Show a run that another process trains, until it ends.
#[derive(Args)]
#[command(after_help = "\
Prints the end of the run's train.log, and new lines as they are added; on a terminal, also shows what \
the run is doing now. `petteia watch` only reads files; Ctrl-C stops watching, not the run. The exit code is 0 if the \
run has finished or was interrupted.

Examples:
  petteia watch
  petteia watch runs/phage")]
pub(super) struct Watch {
    /// Run folder [default: the run in `runs` that is in training]
    #[arg(value_name = "RUN")]
    run: Option<PathBuf>,
}

impl Watch {
    /// Follows the log.
    pub(super) fn run(self) -> Result<()> {
        let folder = match self.run {
            Some(folder) => folder,
            None => only_running(Path::new(RUNS))?,
        };
        let mut state = run::state_of(&folder)?;
        catch_interrupts();
        let mut log = RunTail::new(folder.join(LOG));
        let mut metrics = Reader::new(&folder);
        let bar = draws_bars().then(ProgressBar::new_spinner);
        loop {
            let lines = log.lines()?;
            let show = || lines.iter().try_for_each(|line| print(foreign(line)));
            match &bar {
                Some(bar) => bar.suspend(show)?,
                None => show()?,
            }
            if state != State::Running || interrupted() {
                break;
            }
            if let Some(bar) = &bar {
                // if the metrics cannot be read, the run is watched without them
                let _ = metrics.read(u64::MAX);
                bar.set_message(foreign(&run::doing(&folder, metrics.history())));
                bar.tick();
            }
            thread::sleep(INTERVAL.max(LOOKS * storage::between_looks(&folder)));
            state = run::state_of(&folder)?;
        }
        if let Some(bar) = &bar {
            bar.finish_and_clear();
        }
        let place = foreign(&folder.display().to_string());
        match state {
            State::Running => Ok(()),
            State::Finished => print(format_args!("{place} is finished")),
            State::Interrupted => {
                let command = run::resuming(&folder);
                print(format_args!("{place} is not in training; `{}` resumes it", foreign(&command)))
            }
        }
    }
}

/// Returns the run in a folder of runs that is in training now; fails unless there is exactly one.
fn only_running(place: &Path) -> Result<PathBuf> {
    let is_running =
        |folder: &PathBuf| run::is_run(folder) && matches!(run::state_of(folder), Ok(State::Running));
    let listed = if storage::is_folder(place)? { storage::list(place)? } else { Vec::new() };
    let mut running: Vec<PathBuf> = listed.into_iter().filter(is_running).collect();
    running.sort();
    match &running[..] {
        [run] => Ok(run.clone()),
        [] => Err(Error::Missing(format!(
            "no run in {} is in training now; name a run (`petteia runs` lists them)",
            place.display()
        ))),
        several => {
            let names: Vec<String> = several.iter().map(|run| run.display().to_string()).collect();
            Err(Error::Config(format!(
                "several runs are in training; name one of them: {}",
                names.join(", ")
            )))
        }
    }
}

/// A text file that grows, read line by line.
struct RunTail {
    path: PathBuf,
    at: Option<u64>,
    /// The beginning of a line whose end is not written yet.
    rest: Vec<u8>,
}

impl RunTail {
    fn new(path: PathBuf) -> RunTail {
        RunTail { path, at: None, rest: Vec::new() }
    }

    /// Returns the lines that were added since the last call; on the first call, the last lines of the file.
    fn lines(&mut self) -> Result<Vec<String>> {
        let Ok(mut file) = storage::open(&self.path) else { return Ok(Vec::new()) };
        let length = file.metadata().map_err(Error::io(&self.path))?.len();
        // a file that has become shorter is a new one: it is read from near its end, as on the first call
        let known = self.at.filter(|at| *at <= length);
        let at = known.unwrap_or_else(|| {
            self.rest.clear();
            length.saturating_sub(BEFORE)
        });
        let read = file.seek(SeekFrom::Start(at)).and_then(|_| file.read_to_end(&mut self.rest));
        self.at = Some(at + read.map_err(Error::io(&self.path))? as u64);
        let end = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let whole: Vec<u8> = self.rest.drain(..end).collect();
        let text = String::from_utf8_lossy(&whole).into_owned();
        // the first line may have lost its beginning
        let skipped = usize::from(known.is_none() && at > 0);
        Ok(text.lines().skip(skipped).map(String::from).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use super::*;

    #[test]
    fn lines_come_once_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut tail = RunTail::new(path.clone());
        assert!(tail.lines().unwrap().is_empty());
        fs::write(&path, "one\ntwo\nthr").unwrap();
        assert_eq!(tail.lines().unwrap(), ["one", "two"]);
        assert!(tail.lines().unwrap().is_empty());
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"ee\n").unwrap();
        assert_eq!(tail.lines().unwrap(), ["three"]);
        // the file is truncated and written again
        fs::write(&path, "new\n").unwrap();
        assert_eq!(tail.lines().unwrap(), ["new"]);
        // the beginning of a line in the old file is not joined to a line in the new file
        fs::write(&path, "new\na line and half of ").unwrap();
        assert!(tail.lines().unwrap().is_empty());
        fs::write(&path, "short\n").unwrap();
        assert_eq!(tail.lines().unwrap(), ["short"]);
        // of a long file, only the end is returned, beginning with a whole line
        let long: String = (0..2000).map(|number| format!("line {number}\n")).collect();
        fs::write(&path, &long).unwrap();
        let lines = RunTail::new(path).lines().unwrap();
        assert_eq!(lines.last().unwrap(), "line 1999");
        assert!(lines.len() < 1000 && lines[0].starts_with("line "), "{}", lines[0]);
        // after a file has become shorter, only its end is returned, too
        let shorter: String = (0..1000).map(|number| format!("line {number}\n")).collect();
        let mut tail = RunTail::new(folder.path().join("log"));
        tail.lines().unwrap();
        fs::write(folder.path().join("log"), &shorter).unwrap();
        let lines = tail.lines().unwrap();
        assert!(lines.len() < 500 && lines[0].starts_with("line "), "{}", lines[0]);
    }
}
