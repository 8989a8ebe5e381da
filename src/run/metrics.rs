//! `metrics.jsonl`: one JSON object per line, appended as a whole.
//!
//! Each line says when it was written. Lines of the current run are written; those of an earlier session that still count
//! can be read back. The lines of a generation are on disk before its checkpoint is: see [`Metrics::sync`]. If the run
//! asks for it, TensorBoard gets them too, from the checkpoint on.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Deserialize;
use serde_json::Value;

use super::tensorboard::Events;
use super::{Played, Times};
use crate::arena::MatchResult;
use crate::error::{Error, Result};
use crate::storage;

/// One JSON object per line, in the run folder.
pub const METRICS: &str = "metrics.jsonl";
/// The kind of a line that every generation has.
const SELFPLAY: &str = "selfplay";
/// The kind of lines about training steps.
const TRAIN: &str = "train";

/// The lines in `path` about the generations up to `done`, and the number of damaged ones; none if there is no file.
pub(super) fn lines_until(path: &Path, done: usize) -> Result<(Vec<Value>, usize)> {
    let (mut kept, mut damaged) = (Vec::new(), 0);
    if storage::exists(path)? {
        let text = String::from_utf8_lossy(&storage::read(path)?).into_owned();
        for line in text.split_inclusive('\n') {
            match serde_json::from_str::<Value>(line) {
                Ok(line) => kept.push(line),
                // a line without its end was cut off when the run was killed
                Err(_) => damaged += line.ends_with('\n') as usize,
            }
        }
        let is_done = |generation: u64| generation as usize <= done;
        kept.retain(|line| line["generation"].as_u64().is_some_and(is_done));
    }
    Ok((kept, damaged))
}

/// The lines of a kind, the oldest first.
pub(super) fn lines_of<'a>(lines: &'a [Value], kind: &str) -> impl Iterator<Item = &'a Value> {
    lines.iter().filter(move |line| line["kind"] == kind)
}

/// Adds a line to those that are needed later: all but those of single training steps, of which a generation has the last.
fn keep(lines: &mut Vec<Value>, line: Value) {
    match lines.last_mut() {
        Some(last) if line["kind"] == TRAIN && last["kind"] == TRAIN => *last = line,
        _ => lines.push(line),
    }
}

/// The metrics of the run in `folder`, also of the generation that is in progress: JSON objects, the oldest first, and how many
/// damaged lines were left out. Of the training steps of a generation there is the last line.
///
/// # Errors
/// The file cannot be read.
pub fn metrics_of(folder: &Path) -> Result<(Vec<Value>, usize)> {
    let (all, damaged) = lines_until(&folder.join(METRICS), usize::MAX)?;
    let mut lines = Vec::new();
    all.into_iter().for_each(|line| keep(&mut lines, line));
    Ok((lines, damaged))
}

/// How long each part of a run took, as far as [`metrics_of`] it say.
pub fn times_of(lines: &[Value]) -> Times {
    let mut times = Times::default();
    for line in lines {
        let seconds = |key: &str| line[key].as_f64().unwrap_or(0.0);
        match line["kind"].as_str() {
            Some(SELFPLAY) if line["bootstrap"] == true => times.bootstrap += seconds("seconds"),
            Some(SELFPLAY) => times.selfplay += seconds("seconds"),
            Some(TRAIN) => times.training += seconds("seconds"),
            Some("gate") => times.gate += seconds("seconds"),
            Some("evaluation") => times.evaluation += seconds("seconds"),
            Some("ladder") => times.rating += seconds("seconds"),
            _ => {}
        }
        times.window += seconds("window_seconds");
    }
    times
}

/// The text of a file with these lines.
pub(super) fn text_of(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The metrics of a run.
pub(super) struct Metrics {
    path: PathBuf,
    /// The lines that are needed later.
    lines: Vec<Value>,
    /// The generation whose lines were dropped, and how long playing its games had taken, in seconds.
    repeated: (usize, Option<f64>),
    /// The event file, if the run wants one.
    events: Option<Events>,
}

impl Metrics {
    /// Opens the file and drops the lines of generations after `done`, which will be repeated. The second value
    /// describes lost lines, if any.
    pub(super) fn open(folder: &Path, done: usize, tensorboard: bool) -> Result<(Metrics, Option<String>)> {
        let path = folder.join(METRICS);
        let (mut kept, damaged) = lines_until(&path, done + 1)?;
        let dropped = kept.extract_if(.., |line| line["generation"] == done + 1);
        let seconds =
            dropped.filter(|line| line["kind"] == SELFPLAY).last().and_then(|line| line["seconds"].as_f64());
        storage::write_whole(&path, text_of(&kept).as_bytes())?;
        let events = tensorboard.then(|| Events::open(folder)).transpose()?;
        let mut metrics = Metrics { path, lines: Vec::new(), repeated: (done + 1, seconds), events };
        kept.into_iter().for_each(|line| keep(&mut metrics.lines, line));
        let lost = metrics.lost(done, damaged);
        Ok((metrics, lost))
    }

    /// What is missing from a file that should cover `done` generations.
    fn lost(&self, done: usize, damaged: usize) -> Option<String> {
        let missing: Vec<String> = (1..=done)
            .filter(|generation| self.line_of(SELFPLAY, *generation).is_none())
            .map(|generation| generation.to_string())
            .collect();
        let place = self.path.display();
        match (missing.is_empty(), damaged) {
            (true, 0) => None,
            (true, 1) => Some(format!("{place}: 1 damaged line was dropped")),
            (true, _) => Some(format!("{place}: {damaged} damaged lines were dropped")),
            (false, _) => Some(format!(
                "{place} lacks lines of generations {}: it was deleted, cut or damaged; games and weights do not \
                 depend on it, but what it said about these generations is lost",
                missing.join(", ")
            )),
        }
    }

    /// Writes a line, with the time.
    pub(super) fn write(&mut self, mut line: Value) -> Result<()> {
        line["time"] = humantime::format_rfc3339_millis(SystemTime::now()).to_string().into();
        let mut file = storage::open_to_append(&self.path)?;
        file.write_all(format!("{line}\n").as_bytes()).map_err(Error::io(&self.path))?;
        keep(&mut self.lines, line);
        Ok(())
    }

    /// Shows TensorBoard what was written since the last time.
    pub(super) fn publish(&mut self) -> Result<()> {
        self.events.as_mut().map_or(Ok(()), Events::update)
    }

    /// Waits until everything written is on disk.
    pub(super) fn sync(&self) -> Result<()> {
        storage::open_to_append(&self.path)?.sync_all().map_err(Error::io(&self.path))
    }

    pub(super) fn line_of(&self, kind: &str, generation: usize) -> Option<&Value> {
        self.lines.iter().rev().find(|line| line["kind"] == kind && line["generation"] == generation)
    }

    /// How long an earlier session took for all games of a generation, in seconds, as far as it said.
    pub(super) fn seconds_before(&self, generation: usize) -> Option<f64> {
        self.repeated.1.filter(|_| self.repeated.0 == generation)
    }

    /// The lines that are needed later, the oldest first.
    pub(super) fn lines(&self) -> &[Value] {
        &self.lines
    }

    /// The lines of a kind, the oldest first.
    pub(super) fn lines_of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        lines_of(&self.lines, kind)
    }

    /// The self-play games of every generation, the oldest first.
    pub(super) fn played(&self) -> impl Iterator<Item = Played> {
        self.lines_of(SELFPLAY).filter_map(|line| Played::deserialize(line).ok())
    }

    /// How long each part of the run took, as far as its lines say.
    pub(super) fn times(&self) -> Times {
        times_of(&self.lines)
    }

    pub(super) fn evaluation_of(&self, generation: usize) -> Option<(String, MatchResult)> {
        let line = self.line_of("evaluation", generation)?;
        let result = serde_json::from_value(line["result"].clone()).ok()?;
        Some((line["opponent"].as_str()?.to_string(), result))
    }
}
