//! The state of a run as seen by another process: what the run is doing now, and how long it will take.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::folder::LOCK;
use super::learner::Learner;
use super::settings::reading_of;
use crate::checkpoint;
use crate::config::Config;
use crate::error::Result;
use crate::replay::store;
use crate::run::metrics::history::{History, TimedPart};
use crate::run::metrics::lines::{Line, METRICS, Scored};
use crate::storage;

/// The log file in the run's folder: everything that `petteia train` printed, over all sessions.
pub const LOG: &str = "train.log";

/// Whether a run is running, finished, or interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A process is training the run.
    Running,
    /// All generations are trained, and the last one is evaluated and rated.
    Finished,
    /// The run ended before its last generation was trained, evaluated, and rated; it can be resumed.
    Interrupted,
}

impl State {
    /// Returns `"running"`, `"finished"`, or `"interrupted"`, as in JSON output.
    pub fn id(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Finished => "finished",
            State::Interrupted => "interrupted",
        }
    }
}

/// Returns the state of the run in `folder`.
///
/// # Errors
/// If there is no run in `folder`, or if its newest checkpoint cannot be read.
pub fn state_of(folder: &Path) -> Result<State> {
    let config = reading_of(folder)?.config;
    let is_running = if storage::is_remote(folder) {
        Learner::is_at_work(folder)?
    } else {
        storage::is_locked(&folder.join(LOCK))
    };
    if is_running {
        return Ok(State::Running);
    }
    let done = checkpoint::latest(folder)?.map_or(0, |checkpoint| checkpoint.manifest.generation);
    let is_finished = done >= config.train.generations && is_judged(folder, &config, done);
    Ok(if is_finished { State::Finished } else { State::Interrupted })
}

/// Describes what the run in `folder` is doing, judging by its metrics and its shards.
pub fn doing(folder: &Path, history: &History) -> String {
    let played = history.last_selfplay.as_ref().map_or(0, |line| line.generation);
    let (trained, step) = history.last_training.as_ref().map_or((0, 0), |line| (line.generation, line.step));
    let next = played + 1;
    let shards = store::list(folder).unwrap_or_default();
    let shards = shards.iter().filter(|(generation, _)| *generation == next).count();
    match (trained < played, shards) {
        (true, _) => format!("generation {played}: training"),
        (false, _) if history.is_training => format!("generation {played}: training, step {step}"),
        (false, 0) => format!("generation {next}: self-play"),
        (false, 1) => format!("generation {next}: self-play, 1 shard of games is finished"),
        (false, shards) => format!("generation {next}: self-play, {shards} shards of games are finished"),
    }
}

/// Estimates the seconds until the last of `planned` generations is done. The estimate assumes that each remaining
/// generation takes as long as the newest trained one, whose time is the sum of its parts. Returns `None` until a
/// generation after the first is complete, because the first is played without a trained network.
pub fn seconds_left(history: &History, planned: usize) -> Option<f64> {
    let is_trained = |parts: &&usize| history.timed[*parts].contains_key(&TimedPart::Training);
    let newest = *history.timed.keys().rev().find(is_trained).filter(|newest| **newest > 1)?;
    let parts = &history.timed[&newest];
    // if the run was resumed after the line about its games was lost, their time is unknown
    parts.get(&TimedPart::Selfplay).copied().flatten()?;
    let seconds: f64 = parts.values().flatten().sum();
    Some(seconds * (planned as f64 - newest as f64).max(0.0))
}

/// The number of bytes that are read at the end of the metrics, which is more than the lines of one generation take.
const LAST_GENERATION: u64 = 1 << 18;

/// Returns whether the metrics have the evaluation and the rating of the last generation, `done`, if the settings
/// request them.
fn is_judged(folder: &Path, config: &Config, done: usize) -> bool {
    let lines = last_lines(folder).unwrap_or_default();
    let is_rating = |line: &&Line<Scored>| matches!(line, Line::Ladder(_));
    let is_evaluation = |line: &&Line<Scored>| matches!(line, Line::Evaluation(_));
    let of_last: Vec<&Line<Scored>> = lines.iter().filter(|line| line.generation() == done).collect();
    // a generation without lines counts as judged, and a run made by a version without ratings needs no rating
    let (is_known, is_rated) = (!of_last.is_empty(), lines.iter().any(|line| is_rating(&line)));
    let lacks_rating = config.arena.ladder_games > 0 && is_rated && !of_last.iter().any(is_rating);
    let lacks_evaluation = config.arena.final_games > 0 && !of_last.iter().any(is_evaluation);
    !is_known || !(lacks_rating || lacks_evaluation)
}

/// Reads the last lines of the metrics; unreadable lines are skipped.
fn last_lines(folder: &Path) -> Option<Vec<Line<Scored>>> {
    let mut file = storage::open(&folder.join(METRICS)).ok()?;
    let begin = file.metadata().ok()?.len().saturating_sub(LAST_GENERATION);
    file.seek(SeekFrom::Start(begin)).ok()?;
    let mut text = Vec::new();
    file.take(LAST_GENERATION).read_to_end(&mut text).ok()?;
    let lines = text.split(|byte| *byte == b'\n');
    Some(lines.filter_map(|line| Line::read(line).ok().flatten()).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_is_left_takes_as_long_as_the_newest_generation() {
        let line = |kind: &str, generation: u64, seconds: f64| {
            json!({"kind": kind, "generation": generation,
            "seconds": seconds})
        };
        let left = |lines: &[Value], planned| {
            let mut history = History::default();
            lines.iter().for_each(|line| history.add(line.to_string().as_bytes()));
            seconds_left(&history, planned)
        };
        let mut lines = vec![line("selfplay", 1, 100.0), line("train", 1, 50.0)];
        assert_eq!(left(&lines, 5), None);
        lines.extend([line("selfplay", 2, 20.0), line("train", 2, 4.0), line("train", 2, 10.0)]);
        lines.push(line("selfplay", 3, 25.0));
        assert_eq!(left(&lines, 5), Some(90.0));
        assert_eq!(left(&lines, 2), Some(0.0));
        lines.push(line("train", 3, 5.0));
        assert_eq!(left(&lines, 5), Some(60.0));
        lines
            .iter_mut()
            .filter(|line| line["kind"] == "selfplay")
            .for_each(|line| line["seconds"] = json!(null));
        assert_eq!(left(&lines, 5), None);
    }
}
