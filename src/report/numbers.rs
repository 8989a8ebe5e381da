//! What a run's folder says: its settings and the lines of its metrics.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::config::Config;
use crate::error::{Error, Result};
use crate::run::{self, Played, RatedGeneration, State};
use crate::storage;

/// One run, read.
#[derive(Debug)]
pub struct Numbers {
    /// The run's folder.
    pub folder: PathBuf,
    /// What the page calls it.
    pub name: String,
    /// Its settings, except those that this program does not know.
    pub config: Config,
    /// The newest generation with self-play games.
    pub generations: usize,
    /// How strong each generation is, as far as it was rated.
    pub ratings: Vec<RatedGeneration>,
    /// Lines of its metrics that cannot be read.
    pub damaged: usize,
    lines: Vec<Value>,
}

impl Numbers {
    /// Reads the run in `folder`, which may be in training.
    ///
    /// # Errors
    /// It is not a run, or nothing has been written down yet.
    pub fn read(folder: &Path) -> Result<Numbers> {
        let config = run::reading_of(folder)?.config;
        let (lines, damaged) = run::metrics_of(folder)?;
        let of = |line: &Value| line["generation"].as_u64();
        let Some(generations) = lines.iter().filter(|line| line["kind"] == "selfplay").filter_map(of).max()
        else {
            return Err(Error::Missing(format!(
                "{} has no finished generation of games yet",
                folder.display()
            )));
        };
        let ratings = run::ratings_of(&lines, &config.arena.opponent);
        let name = storage::name_of(folder).unwrap_or_else(|| "run".into());
        Ok(Numbers {
            folder: folder.to_path_buf(),
            name,
            config,
            generations: generations as usize,
            ratings,
            damaged,
            lines,
        })
    }

    fn of_kind(&self, kind: &str) -> impl Iterator<Item = (usize, &Value)> {
        let is = move |line: &&Value| line["kind"] == kind;
        self.lines.iter().filter(is).filter_map(|line| Some((line["generation"].as_u64()? as usize, line)))
    }

    /// A number of each generation: `key` is its place in a line, with dots. The last line of a kind counts.
    pub(super) fn of(&self, kind: &str, key: &str) -> Vec<(f64, f64)> {
        let number = |line: &Value| key.split('.').try_fold(line, |value, key| value.get(key))?.as_f64();
        let found: BTreeMap<usize, f64> =
            self.of_kind(kind).filter_map(|(generation, line)| Some((generation, number(line)?))).collect();
        found.into_iter().map(|(generation, number)| (generation as f64, number)).collect()
    }

    /// Something about the self-play games of each generation.
    pub(super) fn played(&self, of: impl Fn(&Played) -> f64) -> Vec<(f64, f64)> {
        let games = self.of_kind("selfplay").filter_map(|(generation, line)| {
            let games = Played::deserialize(line).ok().filter(|games| games.games > 0)?;
            Some((generation as f64, of(&games)))
        });
        games.collect()
    }

    /// The share of each ending, by generation.
    pub(super) fn endings(&self) -> BTreeMap<String, Vec<(f64, f64)>> {
        let mut all: BTreeMap<String, BTreeMap<usize, f64>> = BTreeMap::new();
        let mut generations = Vec::new();
        for (generation, line) in self.of_kind("selfplay") {
            let counts = line["endings"].as_object().into_iter().flatten();
            let counts: Vec<_> = counts.filter_map(|(name, count)| Some((name, count.as_f64()?))).collect();
            let sum: f64 = counts.iter().map(|(_, count)| count).sum();
            for (name, count) in counts {
                all.entry(name.clone()).or_default().insert(generation, count / sum);
            }
            generations.push(generation);
        }
        let points = |shares: BTreeMap<usize, f64>| {
            generations.iter().map(|of| (*of as f64, shares.get(of).copied().unwrap_or(0.0))).collect()
        };
        all.into_iter().map(|(name, shares)| (name, points(shares))).collect()
    }

    /// The evaluations, by opponent: how much stronger each generation is, by the games of that evaluation alone.
    pub fn evaluations(&self) -> Vec<(String, Vec<RatedGeneration>)> {
        let mut all: BTreeMap<String, Vec<RatedGeneration>> = BTreeMap::new();
        for (generation, line) in self.of_kind("evaluation") {
            let result = &line["result"];
            let [elo, low, high] = ["elo", "elo_low", "elo_high"].map(|key| result[key].as_f64());
            // a clean sweep has only the bound on this side
            let Some(elo) = elo.or(low).or(high) else { continue };
            let opponent = line["opponent"].as_str().unwrap_or_default().to_string();
            all.entry(opponent).or_default().push(RatedGeneration { generation, elo, low, high });
        }
        all.into_iter().collect()
    }

    /// Positions of self-play a second, by generation.
    pub(super) fn speed(&self) -> Vec<(f64, f64)> {
        let speeds = self.of_kind("selfplay").filter_map(|(generation, line)| {
            let seconds = line["seconds"].as_f64().filter(|seconds| *seconds > 0.0)?;
            Some((generation as f64, line["positions"].as_f64()? / seconds))
        });
        speeds.collect()
    }

    /// Seconds of each part of the run.
    pub(super) fn seconds(&self) -> Vec<(&'static str, f64)> {
        let times = run::times_of(&self.lines);
        let parts = [
            ("bootstrap", times.bootstrap),
            ("self-play", times.selfplay),
            ("reading games", times.window),
            ("training", times.training),
            ("gate", times.gate),
            ("evaluation", times.evaluation),
            ("rating", times.rating),
        ];
        parts.into_iter().filter(|(_, seconds)| *seconds > 0.0).collect()
    }

    /// The signs that the run saw, with their generations.
    pub(super) fn signs(&self) -> Vec<(usize, String)> {
        let said = self.of_kind("health").flat_map(|(generation, line)| {
            let signs = line["signs"].as_array().into_iter().flatten();
            signs.filter_map(move |sign| Some((generation, sign.as_str()?.to_string()))).collect::<Vec<_>>()
        });
        said.collect()
    }

    /// What became of it, in words.
    pub(super) fn state(&self) -> String {
        let planned = self.config.train.generations;
        let games = format!("{} of {planned} generations have games", self.generations);
        match run::state_of(&self.folder) {
            Ok(State::Finished) => format!("Finished: {planned} generations"),
            Ok(State::Running) => format!("In training: {games}"),
            _ => format!("Interrupted: {games}"),
        }
    }

    fn sum(&self, of: impl Fn(&Played) -> usize) -> usize {
        self.of_kind("selfplay")
            .filter_map(|(_, line)| Played::deserialize(line).ok())
            .map(|games| of(&games))
            .sum()
    }

    pub(super) fn games(&self) -> usize {
        self.sum(|games| games.games)
    }

    pub(super) fn positions(&self) -> usize {
        self.sum(|games| games.positions)
    }

    pub(super) fn steps(&self) -> Option<usize> {
        self.of("train", "step").last().map(|(_, step)| *step as usize)
    }
}

/// Names runs by more of their path where their folders have the same name.
pub(super) fn tell_apart(runs: &mut [Numbers]) {
    let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
    for run in runs {
        if names.iter().filter(|name| **name == run.name).count() > 1 {
            run.name = run.folder.display().to_string();
        }
    }
}
