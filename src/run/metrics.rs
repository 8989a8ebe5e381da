//! `metrics.jsonl`: one JSON object per line, appended as a whole.
//!
//! Lines of the current run are written; those of an earlier session that still count can be read back. The lines of
//! a generation are on disk before its checkpoint is: see [`Metrics::sync`].

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::Played;

use crate::arena::MatchResult;
use crate::error::{Error, Result};
use crate::storage;

/// One JSON object per line, in the run folder.
pub const METRICS: &str = "metrics.jsonl";
/// The kind of a line that every generation has.
const SELFPLAY: &str = "selfplay";

/// The metrics of a run.
pub(super) struct Metrics {
    path: PathBuf,
    /// The lines that are needed later: all but those of single training steps.
    lines: Vec<Value>,
}

impl Metrics {
    /// Opens the file and drops the lines of generations after `done`, which will be repeated. The second value
    /// describes lost lines, if any.
    pub(super) fn open(folder: &Path, done: usize) -> Result<(Metrics, Option<String>)> {
        let path = folder.join(METRICS);
        let (mut kept, mut damaged) = (Vec::new(), 0);
        if storage::exists(&path)? {
            let text = String::from_utf8_lossy(&storage::read(&path)?).into_owned();
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
        let text: String = kept.iter().map(|line| format!("{line}\n")).collect();
        storage::write_whole(&path, text.as_bytes())?;
        kept.retain(is_needed);
        let metrics = Metrics { path, lines: kept };
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

    pub(super) fn write(&mut self, line: Value) -> Result<()> {
        let mut file = File::options().append(true).open(&self.path).map_err(Error::io(&self.path))?;
        file.write_all(format!("{line}\n").as_bytes()).map_err(Error::io(&self.path))?;
        if is_needed(&line) {
            self.lines.push(line);
        }
        Ok(())
    }

    /// Waits until everything written is on disk.
    pub(super) fn sync(&self) -> Result<()> {
        let file = File::options().append(true).open(&self.path).map_err(Error::io(&self.path))?;
        file.sync_all().map_err(Error::io(&self.path))
    }

    pub(super) fn line_of(&self, kind: &str, generation: usize) -> Option<&Value> {
        self.lines.iter().rev().find(|line| line["kind"] == kind && line["generation"] == generation)
    }

    /// The lines of a kind, the oldest first.
    pub(super) fn lines_of(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.lines.iter().filter(move |line| line["kind"] == kind)
    }

    /// The self-play games of every generation, the oldest first.
    pub(super) fn played(&self) -> impl Iterator<Item = Played> {
        self.lines_of(SELFPLAY).filter_map(|line| Played::deserialize(line).ok())
    }

    pub(super) fn evaluation_of(&self, generation: usize) -> Option<(String, MatchResult)> {
        let line = self.line_of("evaluation", generation)?;
        let result = serde_json::from_value(line["result"].clone()).ok()?;
        Some((line["opponent"].as_str()?.to_string(), result))
    }
}

fn is_needed(line: &Value) -> bool {
    line["kind"] != "train"
}
