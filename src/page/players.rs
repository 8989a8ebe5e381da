//! The program's own agents, which a page names by keys. For agents in folders, see `web::keys`.

use serde::Serialize;

use crate::any::Opened;
use crate::arena::levels::has_levels;
use crate::arena::spec::{AgentSpec, DEFAULT_SIMULATIONS, SHIPPED};
use crate::config::limits::MAX_SIMULATIONS;
use crate::error::{Error, Result, quoted};
use crate::options::Settings;

/// The simulations of the rollout agent, unless the page asks for another number.
const ROLLOUTS: usize = 400;

/// An agent in a list.
#[derive(Clone, Serialize)]
pub(crate) struct PagePlayer {
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) simulations: Option<usize>,
    pub(crate) elo: Option<f64>,
    pub(crate) generation: Option<usize>,
    pub(crate) run: Option<usize>,
    pub(crate) options: Settings,
    /// Whether the agent has levels.
    pub(crate) levels: bool,
}

impl PagePlayer {
    /// Returns an agent without a network.
    fn plain(key: &str, name: &str, simulations: Option<usize>) -> PagePlayer {
        let (key, name, options) = (key.into(), name.into(), Settings::new());
        let kind = match simulations {
            Some(_) => "rollout",
            None if key == "perfect" => "perfect",
            None => "random",
        };
        PagePlayer {
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

    /// Returns an agent with a network.
    pub(crate) fn trained(key: String, name: String, options: Settings) -> PagePlayer {
        let simulations = Some(DEFAULT_SIMULATIONS);
        let (elo, generation, run, kind) = (None, None, None, "trained");
        PagePlayer { key, name, kind, simulations, elo, generation, run, options, levels: false }
    }
}

/// Returns the agent that the program carries for a game.
pub(crate) fn shipped(rules: &Opened) -> Option<PagePlayer> {
    let name = "shipped agent";
    let player = match AgentSpec::shipped(rules).ok()? {
        AgentSpec::Perfect => PagePlayer { kind: "perfect", ..PagePlayer::plain(SHIPPED, name, None) },
        _ => PagePlayer::trained(SHIPPED.into(), name.into(), Settings::new()),
    };
    Some(PagePlayer { levels: has_levels(rules), ..player })
}

/// Returns the agent of a level.
pub(crate) fn level_of(key: &str, level: usize) -> Result<AgentSpec> {
    match key {
        SHIPPED => AgentSpec::parse(format!("level:{level}")),
        _ => Err(Error::Config(format!("agent {} has no levels", quoted(key)))),
    }
}

/// Returns the agents that play any game; a small game also has a perfect player.
pub(crate) fn plain(is_small: bool) -> Vec<PagePlayer> {
    let mut players = vec![PagePlayer::plain("rollout", "random playouts", Some(ROLLOUTS))];
    if is_small {
        players.push(PagePlayer::plain("perfect", "perfect", None));
    }
    players.push(PagePlayer::plain("random", "random", None));
    players
}

/// Returns the program's agent with this key; `None` for other keys. `simulations` applies to agents that search.
///
/// # Errors
/// If there are too many simulations.
pub(crate) fn agent_of(key: &str, simulations: Option<usize>) -> Result<Option<AgentSpec>> {
    if let Some(simulations) = simulations.filter(|simulations| *simulations > MAX_SIMULATIONS) {
        return Err(Error::Config(format!(
            "simulations must be at most {MAX_SIMULATIONS}, not {simulations}"
        )));
    }
    Ok(Some(match key {
        "rollout" => AgentSpec::Rollout(simulations.unwrap_or(ROLLOUTS)),
        "perfect" => AgentSpec::Perfect,
        "random" => AgentSpec::Random,
        SHIPPED => AgentSpec::Shipped(simulations.unwrap_or(DEFAULT_SIMULATIONS), None).at_full_speed(),
        _ => return Ok(None),
    }))
}

/// Returns the error for a key that belongs to no agent.
pub(crate) fn unknown(key: &str) -> Error {
    Error::Config(format!("there is no agent {}: reload the page", quoted(key)))
}
