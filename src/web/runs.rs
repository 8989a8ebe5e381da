//! The runs that a page can watch: found, named by numbers, and described.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::players::{Player, key_of};
use super::{Shown, locked};
use crate::checkpoint::{self, Checkpoint};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::replay::record::Record;
use crate::replay::store;
use crate::report::Numbers;
use crate::run::{self, LOG, METRICS, State};
use crate::storage;

/// How many of a run's generations are offered as opponents; all of them can be played from the page of the run.
const OFFERED: usize = 8;
/// How much of the end of a log is shown, in bytes.
const END_OF_LOG: u64 = 6000;
/// Games of the newest generation that are shown.
const GAMES: usize = 200;

/// The runs and files that the page shows.
pub(super) struct Runs {
    /// All runs in this folder; `None` if the user named some.
    within: Option<PathBuf>,
    /// Those found so far: a number, once given, stays.
    known: Mutex<Vec<PathBuf>>,
    files: Vec<PathBuf>,
}

impl Runs {
    pub(super) fn new(shown: &Shown) -> Result<Runs> {
        let (mut known, mut files) = (Vec::new(), Vec::new());
        for source in &shown.sources {
            if run::is_run(source) {
                known.push(source.clone());
            } else {
                Checkpoint::find(source)?;
                files.push(source.clone());
            }
        }
        let within = shown.sources.is_empty().then(|| shown.folder.clone());
        Ok(Runs { within, known: Mutex::new(known), files })
    }

    /// Exported files.
    pub(super) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The folder of a run.
    pub(super) fn folder(&self, id: usize) -> Result<PathBuf> {
        let unknown = || Error::Missing(format!("there is no run {id}: load the page again"));
        self.all().get(id).cloned().ok_or_else(unknown)
    }

    /// All runs, with those that appeared since the last time.
    fn all(&self) -> Vec<PathBuf> {
        let mut known = locked(&self.known);
        if let Some(within) = &self.within {
            let found = storage::list(within).unwrap_or_default();
            let new: Vec<PathBuf> =
                found.into_iter().filter(|folder| !known.contains(folder) && run::is_run(folder)).collect();
            known.extend(new);
        }
        known.clone()
    }

    /// The runs in a few words, and the agents that they and the files have to offer, by game.
    pub(super) fn list(&self) -> (Vec<Value>, BTreeMap<String, Vec<Player>>) {
        let (mut runs, mut players) = (Vec::new(), BTreeMap::<String, Vec<Player>>::new());
        for (id, folder) in self.all().iter().enumerate() {
            let Ok(config) = run::reading_of(folder).map(|reading| reading.config) else { continue };
            let game = &config.game;
            let done = generations(folder);
            runs.push(json!({
                "id": id,
                "name": name(folder),
                "game": game.id,
                "state": state(folder),
                "generation": done.last().copied().unwrap_or(0),
                "planned": config.train.generations,
            }));
            let (lines, _) = run::metrics_of(folder).unwrap_or_default();
            let elo = strengths(&lines, &config);
            let offered = spaced(&done).into_iter().rev().map(|generation| {
                let title = format!("{}, generation {generation}", name(folder));
                let player = Player::trained(key_of(id, generation), title, game.options.clone());
                let elo = elo.get(&generation).map(|[elo, ..]| elo.unwrap_or(0.0));
                Player { elo, generation: Some(generation), run: Some(id), ..player }
            });
            players.entry(game.id.clone()).or_default().extend(offered);
        }
        for (number, file) in self.files.iter().enumerate() {
            let Ok(checkpoint) = Checkpoint::find(file) else { continue };
            let identity = checkpoint.manifest.game;
            let player = Player::trained(format!("file-{number}"), name(file), identity.options);
            players.entry(identity.id).or_default().push(player);
        }
        (runs, players)
    }

    /// What is known about a run, and what it is doing.
    pub(super) fn about(&self, id: usize) -> Result<Value> {
        let folder = self.folder(id)?;
        let config = run::reading_of(&folder)?.config;
        let (done, planned) = (generations(&folder), config.train.generations);
        let ((lines, _), state) = (run::metrics_of(&folder).unwrap_or_default(), state(&folder));
        let is_running = state == "running";
        let of_kind = |kind: &'static str| lines.iter().filter(move |line| line["kind"] == kind);
        let steps: BTreeMap<u64, u64> = of_kind("train")
            .filter_map(|line| Some((line["generation"].as_u64()?, line["step"].as_u64()?)))
            .collect();
        let speed = of_kind("selfplay").next_back().and_then(|line| {
            let seconds = line["seconds"].as_f64().filter(|seconds| *seconds > 0.0)?;
            Some(line["positions"].as_f64()? / seconds)
        });
        let elo = strengths(&lines, &config);
        let checkpoints: Vec<Value> = done
            .iter()
            .map(|&generation| {
                let [elo, low, high] = elo.get(&generation).copied().unwrap_or_default();
                json!({
                    "generation": generation,
                    "elo": elo,
                    "low": low,
                    "high": high,
                    "agent": key_of(id, generation),
                    "steps": steps.get(&(generation as u64)),
                })
            })
            .collect();
        Ok(json!({
            "id": id,
            "name": name(&folder),
            "game": config.game.id,
            "options": config.game.options,
            "state": state,
            "doing": is_running.then(|| run::doing(&folder, &lines)),
            "generation": done.last().copied().unwrap_or(0),
            "planned": planned,
            "seconds_left": run::seconds_left(&lines, planned).filter(|_| is_running),
            "positions_per_second": speed,
            "log": end_of_log(&folder.join(LOG)),
            "stamp": stamp(&folder),
            "checkpoints": checkpoints,
        }))
    }

    /// The curves of a run.
    pub(super) fn charts(&self, id: usize) -> Result<Value> {
        let folder = self.folder(id)?;
        let stamp = stamp(&folder);
        let html = crate::report::charts(&[Numbers::read(&folder)?]).into_string();
        Ok(json!({"stamp": stamp, "html": html}))
    }

    /// Games of the newest generation, which may be in progress: then only its finished shards are there.
    pub(super) fn games(&self, id: usize) -> Result<(usize, Vec<Record>)> {
        let folder = self.folder(id)?;
        let mut shards = store::list(&folder)?;
        shards.retain(|(_, path)| store::is_finished(path).unwrap_or(false));
        let newest = shards.iter().map(|(generation, _)| *generation).max();
        let newest = newest.ok_or_else(|| Error::Missing("the run has no recorded games yet".into()))?;
        let mut records = Vec::new();
        for (_, path) in shards.iter().filter(|(generation, _)| *generation == newest) {
            records.extend(store::read_unplayed(path)?);
            if records.len() >= GAMES {
                break;
            }
        }
        records.truncate(GAMES);
        Ok((newest, records))
    }
}

fn name(path: &Path) -> String {
    storage::name_of(path).unwrap_or_else(|| "run".into())
}

fn state(folder: &Path) -> &'static str {
    run::state_of(folder).map_or("damaged", State::id)
}

/// The generations with a checkpoint.
fn generations(folder: &Path) -> Vec<usize> {
    let folders = checkpoint::list(folder).unwrap_or_default();
    folders.iter().filter_map(|folder| store::generation_of(folder)).collect()
}

/// The strength of generations in Elo above the first rated one, with its bounds.
fn strengths(lines: &[Value], config: &Config) -> BTreeMap<usize, [Option<f64>; 3]> {
    let ratings = run::ratings_of(lines, &config.arena.opponent);
    ratings.iter().map(|rated| (rated.generation, [Some(rated.elo), rated.low, rated.high])).collect()
}

/// Up to [`OFFERED`] of the generations: the first, the last, and some between.
fn spaced(generations: &[usize]) -> Vec<usize> {
    let last = generations.len().saturating_sub(1);
    let count = OFFERED.min(generations.len());
    let at = |index: usize| generations[if count > 1 { index * last / (count - 1) } else { last }];
    (0..count).map(at).collect()
}

/// Something that changes whenever the run has written something.
fn stamp(folder: &Path) -> String {
    let of = |file: Metadata| {
        let changed =
            file.modified().unwrap_or(SystemTime::UNIX_EPOCH).duration_since(SystemTime::UNIX_EPOCH);
        (changed.map_or(0, |since| since.as_millis()), file.len())
    };
    let files = [METRICS, checkpoint::FOLDER].map(|name| std::fs::metadata(folder.join(name)).map(of));
    let parts = files.into_iter().flatten().map(|(changed, length)| format!("{changed:x}-{length:x}"));
    parts.collect::<Vec<_>>().join("-")
}

fn end_of_log(path: &Path) -> Vec<String> {
    let read = || {
        let mut file = storage::open(path).ok()?;
        let begin = file.metadata().ok()?.len().saturating_sub(END_OF_LOG);
        file.seek(SeekFrom::Start(begin)).ok()?;
        let mut text = Vec::new();
        file.take(END_OF_LOG).read_to_end(&mut text).ok()?;
        Some((text, begin > 0))
    };
    let (text, is_cut) = read().unwrap_or_default();
    // the first line may have lost its beginning
    String::from_utf8_lossy(&text).lines().skip(usize::from(is_cut)).map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offered_generations_have_both_ends() {
        assert!(spaced(&[]).is_empty());
        assert_eq!(spaced(&[3]), [3]);
        assert_eq!(spaced(&[1, 2, 3]), [1, 2, 3]);
        let many: Vec<usize> = (1..=30).collect();
        let found = spaced(&many);
        assert_eq!((found.len(), found[0], found[OFFERED - 1]), (OFFERED, 1, 30));
    }
}
