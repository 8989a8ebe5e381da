//! The agents that a page can name: by keys, which never become paths.

use std::path::PathBuf;

use serde::Serialize;

use super::runs::Runs;
use crate::any::Opened;
use crate::arena::agent::{AgentSpec, DEFAULT_SIMULATIONS, SHIPPED};
use crate::arena::levels::has_levels;
use crate::checkpoint;
use crate::config::limits::MAX_SIMULATIONS;
use crate::error::{Error, Result, quoted};
use crate::options::Settings;

/// Simulations of the rollout agent unless the page asks for another number.
const ROLLOUTS: usize = 400;

/// An agent in a list.
#[derive(Clone, Serialize)]
pub(super) struct Player {
    pub(super) key: String,
    pub(super) name: String,
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) simulations: Option<usize>,
    pub(super) elo: Option<f64>,
    pub(super) generation: Option<usize>,
    pub(super) run: Option<usize>,
    pub(super) options: Settings,
    /// Whether it has levels.
    pub(super) levels: bool,
}

impl Player {
    /// An agent without a network.
    fn plain(key: &str, name: &str, simulations: Option<usize>) -> Player {
        let (key, name, options) = (key.into(), name.into(), Settings::new());
        let kind = match simulations {
            Some(_) => "rollout",
            None if key == "perfect" => "perfect",
            None => "random",
        };
        Player {
            key,
            name,
            kind,
            simulations,
            elo: None,
            generation: None,
            run: None,
            options,
            levels: false,
        }
    }

    /// An agent with a network.
    pub(super) fn trained(key: String, name: String, options: Settings) -> Player {
        let simulations = Some(DEFAULT_SIMULATIONS);
        let (elo, generation, run, kind) = (None, None, None, "trained");
        Player { key, name, kind, simulations, elo, generation, run, options, levels: false }
    }
}

/// The agent that the program carries for a game.
pub(super) fn shipped(rules: &Opened) -> Option<Player> {
    let name = "shipped agent";
    let player = match AgentSpec::shipped(rules).ok()? {
        AgentSpec::Perfect => Player { kind: "perfect", ..Player::plain(SHIPPED, name, None) },
        _ => Player::trained(SHIPPED.into(), name.into(), Settings::new()),
    };
    Some(Player { levels: has_levels(rules), ..player })
}

/// The agent of a level.
pub(super) fn level_of(key: &str, level: usize) -> Result<AgentSpec> {
    match key {
        SHIPPED => AgentSpec::parse(format!("level:{level}")),
        _ => Err(Error::Config(format!("agent {} has no levels", quoted(key)))),
    }
}

/// The agents that play any game; a small game also has a perfect player.
pub(super) fn plain(is_small: bool) -> Vec<Player> {
    let mut players = vec![Player::plain("rollout", "random playouts", Some(ROLLOUTS))];
    if is_small {
        players.push(Player::plain("perfect", "perfect", None));
    }
    players.push(Player::plain("random", "random", None));
    players
}

/// The key of a generation of a run.
pub(super) fn key_of(run: usize, generation: usize) -> String {
    format!("run-{run}-{generation}")
}

/// The agent with this key; `simulations` are for agents that search.
pub(super) fn spec(runs: &Runs, key: &str, simulations: Option<usize>) -> Result<AgentSpec> {
    if let Some(simulations) = simulations.filter(|simulations| *simulations > MAX_SIMULATIONS) {
        return Err(Error::Config(format!(
            "simulations must be at most {MAX_SIMULATIONS}, not {simulations}"
        )));
    }
    let unknown = || Error::Config(format!("there is no agent {}: load the page again", quoted(key)));
    let trained = |path: PathBuf| {
        AgentSpec::Trained(path, simulations.unwrap_or(DEFAULT_SIMULATIONS), None).at_full_speed()
    };
    match key {
        "rollout" => return Ok(AgentSpec::Rollout(simulations.unwrap_or(ROLLOUTS))),
        "perfect" => return Ok(AgentSpec::Perfect),
        "random" => return Ok(AgentSpec::Random),
        SHIPPED => {
            let simulations = simulations.unwrap_or(DEFAULT_SIMULATIONS);
            return Ok(AgentSpec::Shipped(simulations, None).at_full_speed());
        }
        _ => {}
    }
    let numbers = |text: &str| text.split('-').map(|part| part.parse().ok()).collect::<Option<Vec<usize>>>();
    if let Some(numbers) = key.strip_prefix("run-").and_then(numbers) {
        let [run, generation] = numbers[..] else { return Err(unknown()) };
        return Ok(trained(checkpoint::path_of(&runs.folder(run)?, generation)));
    }
    let file = key.strip_prefix("file-").and_then(numbers).ok_or_else(unknown)?;
    match file[..] {
        [file] => runs.files().get(file).map(|file| trained(file.clone())).ok_or_else(unknown),
        _ => Err(unknown()),
    }
}
