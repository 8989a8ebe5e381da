//! Reads a run's folder: its settings and the lines of its metrics.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::error::{Error, Result};
use crate::run::{self, History, Played, RatedGeneration, SelfplayLine, State, Thinned};
use crate::storage;

/// The largest number of kinds of endings in the chart.
const SHOWN_ENDINGS: usize = 32;

/// The numbers of one run.
#[derive(Debug)]
pub struct RunNumbers {
    /// The run's folder.
    pub folder: PathBuf,
    /// The run's name on the page.
    pub name: String,
    /// The run's settings, except those that this version does not know.
    pub config: Config,
    /// The newest generation with self-play games.
    pub generations: usize,
    /// The strengths of the rated generations among the newest ones.
    pub ratings: Vec<RatedGeneration>,
    /// The contents of the run's metrics.
    pub history: History,
}

impl RunNumbers {
    /// Reads the run in `folder`, which may be in training.
    ///
    /// # Errors
    /// If the folder is not that of a run, or if the run has not written any results yet.
    pub fn read(folder: &Path) -> Result<RunNumbers> {
        let config = run::reading_of(folder)?.config;
        RunNumbers::of(folder, config, History::of(folder)?)
    }

    /// Returns the numbers of the run in `folder`, whose settings and metrics have already been read.
    ///
    /// # Errors
    /// If the run has not written any results yet.
    pub fn of(folder: &Path, config: Config, history: History) -> Result<RunNumbers> {
        if history.newest == 0 {
            return Err(Error::Missing(format!(
                "{} has no finished generation of games yet",
                folder.display()
            )));
        }
        Ok(RunNumbers {
            folder: folder.to_path_buf(),
            name: storage::name_of(folder).unwrap_or_else(|| "run".into()),
            generations: history.newest,
            ratings: history.ratings(&config.arena.opponent),
            config,
            history,
        })
    }

    /// Returns n if the page shows only every nth generation.
    pub(super) fn every(&self) -> usize {
        let History { selfplay, training, health, evaluations, .. } = &self.history;
        let evaluations = evaluations.values().map(Thinned::every);
        evaluations.chain([selfplay.every(), training.every(), health.every()]).max().unwrap_or(1)
    }

    /// Returns a number about the self-play games of each generation, by generation.
    pub(super) fn played(&self, of: impl Fn(&Played) -> f64) -> Vec<(f64, f64)> {
        let games = self.history.selfplay.iter().map(|(generation, line)| (generation, line.played()));
        games.filter(|(_, games)| games.games > 0).map(|(at, games)| (at as f64, of(&games))).collect()
    }

    /// Returns the share of each ending, by generation.
    pub(super) fn endings(&self) -> BTreeMap<String, Vec<(f64, f64)>> {
        let lines = || self.history.selfplay.iter();
        let names: BTreeSet<&String> = lines().flat_map(|(_, line)| line.endings.keys()).collect();
        let share = |line: &SelfplayLine, name: &String| {
            let all: usize = line.endings.values().sum();
            line.endings.get(name).map_or(0.0, |count| *count as f64 / all.max(1) as f64)
        };
        let shares = |name: &String| lines().map(|(at, line)| (at as f64, share(line, name))).collect();
        names.into_iter().take(SHOWN_ENDINGS).map(|name| (name.clone(), shares(name))).collect()
    }

    /// Returns the evaluations, by opponent: how much stronger than the opponent each generation is, according to the
    /// games of its own evaluation alone.
    pub fn evaluations(&self) -> Vec<(String, Vec<RatedGeneration>)> {
        let all = self.history.evaluations.iter();
        all.map(|(opponent, of)| (opponent.clone(), of.iter().map(|(_, rated)| *rated).collect())).collect()
    }

    /// Returns the positions of self-play per second, by generation, with the seconds taken from each line by
    /// `seconds`.
    pub(super) fn speed(&self, seconds: fn(&SelfplayLine) -> Option<f64>) -> Vec<(f64, f64)> {
        let lines = self.history.selfplay.iter();
        lines.filter_map(|(at, line)| Some((at as f64, line.speed(seconds)?))).collect()
    }

    /// Returns the run's state, in words.
    pub(super) fn state(&self) -> String {
        let planned = self.config.train.generations;
        let games = format!("{} of {planned} generations have games", self.generations);
        match run::state_of(&self.folder) {
            Ok(State::Finished) => format!("Finished: {planned} generations"),
            Ok(State::Running) => format!("In training: {games}"),
            _ => format!("Interrupted: {games}"),
        }
    }
}

/// Gives runs whose folders have the same name the paths of their folders as names.
pub(super) fn tell_apart(runs: &mut [RunNumbers]) {
    let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
    for run in runs {
        if names.iter().filter(|name| **name == run.name).count() > 1 {
            run.name = run.folder.display().to_string();
        }
    }
}
