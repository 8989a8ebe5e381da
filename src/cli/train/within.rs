//! Trains an agent for another command, within a budget of time.
//!
//! Input: a game with its options, a folder, and minutes. Output: a finished run in the folder, with as many
//! generations as this machine is expected to train in that time. An existing run is resumed as it was planned.

use std::path::{Path, PathBuf};

use super::{Plan, Train};
use crate::cli::calibration::calibrate;
use crate::cli::forecast::Forecast;
use crate::cli::note;
use crate::error::Result;
use crate::registry::Catalog;
use crate::run;

/// The smallest number of generations; the first generation is played without a network.
const FEWEST: usize = 2;
/// The largest number of generations.
const MOST: usize = 200;

/// An agent to be trained.
#[derive(Debug)]
pub(crate) struct WantedAgent<'a> {
    /// The id of the game.
    pub id: &'a str,
    /// The options of the game, as `game.KEY=VALUE`.
    pub sets: Vec<String>,
    /// The folder of the run.
    pub folder: &'a Path,
    /// A run of a similar game to begin with, if its weights fit.
    pub from: Option<&'a Path>,
    /// The time that training may take.
    pub minutes: f64,
}

/// Trains the agent. Ctrl-C interrupts the run, which is then not finished.
///
/// # Errors
/// As for `petteia train`.
pub(crate) fn train_within(wanted: &WantedAgent, games: Catalog) -> Result<()> {
    let mut flags = Train {
        config: Some(PathBuf::from(wanted.id)),
        run: Some(wanted.folder.into()),
        set: wanted.sets.clone(),
        from: wanted.from.map(Path::to_path_buf),
        ..Train::default()
    };
    if run::is_run(wanted.folder) {
        (flags.config, flags.from, flags.set) = (None, None, Vec::new());
        return flags.run(games);
    }
    if flags.from.is_some() && !fits(&flags, games)? {
        note(format!(
            "{}: the weights of the previous variant do not fit, so the agent is trained from scratch",
            wanted.id
        ));
        flags.from = None;
    }
    let seconds = wanted.minutes * 60.0;
    let mut fitting = |expected: usize| {
        flags.generations = Some(expected);
        generations(&flags, seconds, games)
    };
    // a longer run has a larger network, and thus fewer generations in the same time
    let small = fitting(run::SHORT)?;
    let number = if small <= run::SHORT { small } else { fitting(run::SHORT + 1)?.max(run::SHORT) };
    flags.generations = Some(number);
    flags.run(games)
}

/// Whether the run can begin with the weights named by the flags.
fn fits(flags: &Train, games: Catalog) -> Result<bool> {
    let plan = Plan::of(flags, games)?;
    let rules = games.open(&plan.config.game.id, &plan.config.game.options)?;
    let (config, _) = plan.suited(&rules)?;
    Ok(plan.with(config).done(&rules).is_ok())
}

/// Returns the number of generations that are expected to take `seconds`, with the network of a run as long as the
/// flags say.
fn generations(flags: &Train, seconds: f64, games: Catalog) -> Result<usize> {
    let plan = Plan::of(flags, games)?;
    let rules = games.open(&plan.config.game.id, &plan.config.game.options)?;
    let (config, _) = plan.suited(&rules)?;
    let (config, _) = run::with_named_device(&config, &plan.folder)?;
    let mut config = run::resolve_precision(&rules, &config, &plan.folder)?;
    let costs = calibrate(&rules, &config, config.selfplay.bootstrap_games > 0)?;
    let mut takes = |generations: usize| {
        config.train.generations = generations;
        Forecast::new(&config, rayon::current_num_threads(), costs, 0).left(0.0)
    };
    Ok((FEWEST..=MOST).take_while(|&generations| takes(generations) <= seconds).last().unwrap_or(FEWEST))
}
