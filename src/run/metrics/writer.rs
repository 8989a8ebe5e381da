//! Writes `metrics.jsonl`: each line is appended as a whole, with the current time.
//!
//! Lines of an earlier session that still count stay as they are. The lines of a generation are on disk before its
//! checkpoint is: see [`Metrics::sync`]. If the settings ask for an event file for TensorBoard, the lines are copied to
//! it as soon as the checkpoint is saved.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::Value;

use super::history::History;
use super::ladder::Games;
use super::lines::{LONGEST_LINE, Line, METRICS, Played, generation_of};
use super::signs::Learning;
use super::tensorboard::Events;
use crate::arena::MatchResult;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::storage::{self, Found, Tail};

/// Copies the lines in `from` about generations up to `done` to `to`, which may be the same file. If there is no file
/// `from`, `to` is empty. Returns the number of damaged lines, which are left out.
pub(in crate::run) fn copy_until(from: &Path, done: usize, to: &Path) -> Result<usize> {
    sift(from, to, &mut |generation, _| generation <= done)
}

/// Copies to `to` the lines in `from` for which `keeps` returns true. `keeps` is called with the generation and the
/// text of each line.
fn sift(from: &Path, to: &Path, keeps: &mut dyn FnMut(usize, &[u8]) -> bool) -> Result<usize> {
    let mut damaged = 0;
    storage::stream_whole(to, |file| {
        let mut written = Ok(());
        let mut copy = |line: &[u8]| {
            let is_wanted = generation_of(line).map(|generation| keeps(generation, line));
            if is_wanted == Ok(true) && written.is_ok() {
                written = file.write_all(line).and_then(|()| file.write_all(b"\n"));
            }
            is_wanted.is_ok()
        };
        let mut tail = Tail::new(from, LONGEST_LINE);
        tail.read(u64::MAX, &mut |found| match found {
            Found::Line(line) => damaged += usize::from(!copy(line)),
            Found::TooLong => damaged += 1,
            Found::Anew => {}
        })?;
        // the last line may have been cut off when the run was killed, or lack only its line end
        copy(tail.rest());
        written.map_err(Error::io(to))
    })?;
    Ok(damaged)
}

/// The metrics of a run, open for writing.
pub(in crate::run) struct Metrics {
    path: PathBuf,
    history: History,
    /// For each generation, whether there are lines about its evaluation and its rating.
    judged: BTreeMap<usize, [bool; 2]>,
    /// The first generation whose lines were dropped, and the seconds and CPU seconds that its games had taken.
    repeated: (usize, [Option<f64>; 2]),
    /// The event file, if the run wants one.
    events: Option<Events>,
}

impl Metrics {
    /// Opens the file and drops the lines of generations after `done`, which are trained again. The second value is a
    /// warning about lost lines, if there are any.
    pub(in crate::run) fn open(
        folder: &Path,
        done: usize,
        config: &Config,
    ) -> Result<(Metrics, Option<String>)> {
        let path = folder.join(METRICS);
        let (mut history, mut judged, mut seconds) = (History::default(), BTreeMap::new(), [None; 2]);
        let mut has_games = vec![false; done + 1];
        let damaged = sift(&path, &path, &mut |generation, text| {
            if generation <= done {
                history.add(text);
                note_judged(&mut judged, &history, generation);
                let newest = history.last_selfplay.as_ref();
                has_games[generation] |= newest.is_some_and(|line| line.generation == generation);
            } else if generation == done + 1
                && let Ok(Some(Line::Selfplay(line))) = Line::read(text)
            {
                seconds = [line.seconds, line.cpu_seconds];
            }
            generation <= done
        })?;
        let events = config.train.tensorboard.then(|| Events::open(folder, &config.arena.opponent, done));
        let missing: Vec<String> =
            (1..=done).filter(|number| !has_games[*number]).map(|number| number.to_string()).collect();
        let lost = lost(&path, &missing, damaged);
        let (events, repeated) = (events.transpose()?, (done + 1, seconds));
        Ok((Metrics { path, history, judged, repeated, events }, lost))
    }

    /// Appends a line, with the current time.
    pub(in crate::run) fn write(&mut self, line: &Line<&MatchResult>) -> Result<()> {
        self.add(serde_json::to_value(line).expect("a line of metrics is valid JSON"))
    }

    /// Appends a line that is JSON already, with the current time.
    pub(in crate::run) fn add(&mut self, mut line: Value) -> Result<()> {
        line["time"] = humantime::format_rfc3339_millis(SystemTime::now()).to_string().into();
        let text = line.to_string();
        storage::append_to(&self.path, format!("{text}\n").as_bytes())?;
        self.history.add(text.as_bytes());
        if let Ok(generation) = generation_of(text.as_bytes()) {
            note_judged(&mut self.judged, &self.history, generation);
        }
        Ok(())
    }

    /// Adds everything that was written since the last call to the event file, if there is one.
    pub(in crate::run) fn publish(&mut self) -> Result<()> {
        if storage::is_remote(&self.path) {
            self.sync()?;
        }
        self.events.as_mut().map_or(Ok(()), Events::update)
    }

    /// Waits until everything that was written is on disk.
    pub(in crate::run) fn sync(&self) -> Result<()> {
        storage::sync(&self.path)
    }

    /// Returns the seconds and CPU seconds that an earlier session took for all games of a generation, if known.
    pub(in crate::run) fn seconds_before(&self, generation: usize) -> [Option<f64>; 2] {
        if self.repeated.0 == generation { self.repeated.1 } else { [None; 2] }
    }

    /// Returns the history of the run.
    pub(in crate::run) fn history(&self) -> &History {
        &self.history
    }

    /// Returns whether there are lines about the evaluation of a generation, and about its rating.
    pub(in crate::run) fn judged(&self, generation: usize) -> [bool; 2] {
        self.judged.get(&generation).copied().unwrap_or_default()
    }

    /// Returns the games by which generations are rated.
    pub(in crate::run) fn games(&self) -> &Games {
        &self.history.games
    }

    /// Returns the measurements that signs depend on.
    pub(in crate::run) fn learning(&self) -> &Learning {
        &self.history.learning
    }

    /// Reads the self-play games of every generation in the file, oldest first.
    pub(in crate::run) fn played(&self) -> Result<Vec<Played>> {
        let mut played = Vec::new();
        Tail::new(&self.path, LONGEST_LINE).read(u64::MAX, &mut |found| {
            if let Found::Line(line) = found
                && let Ok(Some(Line::Selfplay(line))) = Line::read(line)
            {
                played.push(line.played());
            }
        })?;
        Ok(played)
    }

    /// Returns the opponent and the result of the evaluation of a generation, if that is the newest evaluation.
    pub(in crate::run) fn evaluation_of(&self, generation: usize) -> Option<(String, MatchResult)> {
        let (evaluated, opponent, result) = self.history.evaluation.as_ref()?;
        (*evaluated == generation).then(|| (opponent.clone(), result.clone()))
    }
}

/// Notes whether a generation is evaluated and rated after a line about it was added to the history.
fn note_judged(judged: &mut BTreeMap<usize, [bool; 2]>, history: &History, generation: usize) {
    let [evaluated, rated] = judged.entry(generation).or_default();
    *evaluated |= history.games.has_evaluated(generation);
    *rated |= history.games.has_rated(generation);
}

/// Describes the lines that the file at `path` lost: the self-play lines of the `missing` generations, and `damaged`
/// lines.
fn lost(path: &Path, missing: &[String], damaged: usize) -> Option<String> {
    let place = path.display();
    match (missing.is_empty(), damaged) {
        (true, 0) => None,
        (true, 1) => Some(format!("{place}: 1 damaged line was dropped")),
        (true, _) => Some(format!("{place}: {damaged} damaged lines were dropped")),
        (false, _) => Some(format!(
            "{place} lacks lines of generations {}: the file was deleted, truncated, or damaged; games and weights do \
             not depend on it, but the numbers that it had for these generations are lost",
            missing.join(", ")
        )),
    }
}
