//! The agents that come with a game: the shipped agent, and the agents of nine levels, each of which wins about two
//! thirds of its games against the level below.
//!
//! Input: what the program carries for the game: a network (`agents/ID.safetensors`), and a file with one agent per
//! line, weakest first (`agents/ID.levels`). Output: the agent that `shipped`, `level:5`, or no text at all stands for.

use super::perfect::is_at_hand;
pub use super::spec::LEVELS;
use super::spec::{AgentSpec, DEFAULT_SIMULATIONS};
use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result};
use crate::game::{Game, Rules};
use crate::shipped::Shipped;

/// The simulations of the default opponent in a game without a shipped agent.
const ROLLOUTS: usize = 400;
/// The level of the opponent if the user chooses none.
pub(crate) const MIDDLE: usize = 5;

/// The levels of a shipped agent that has no calibrated levels.
const TYPICAL: [&str; LEVELS] = [
    "shipped:1:t3",
    "shipped:1:t1.5",
    "shipped:1:t1",
    "shipped:1:t0.6",
    "shipped:1:t0.3",
    "shipped:4",
    "shipped:16",
    "shipped:64",
    "shipped:256",
];

/// The levels of a game whose shipped agent is perfect play, if the game has no calibrated levels.
const TYPICAL_IF_PROVED: [&str; LEVELS] = [
    "perfect:t20",
    "perfect:t1.5",
    "perfect:t1",
    "perfect:t0.7",
    "perfect:t0.55",
    "perfect:t0.4",
    "perfect:t0.3",
    "perfect:t0.2",
    "perfect",
];

/// Returns the agent for this level of the game, 1 to [`LEVELS`].
///
/// # Errors
/// If the level does not exist, the program carries no agent for these rules, or its file of levels is wrong.
pub fn agent_of_level<G: Game>(rules: &Rules<G>, level: usize) -> Result<AgentSpec> {
    // the levels, like the agent, are for the game with its usual options
    let shipped = AgentSpec::shipped(rules)?;
    let agents = match &rules.shipped.levels {
        Some(file) => agents_of(file)?,
        None if shipped == AgentSpec::Perfect => TYPICAL_IF_PROVED.into(),
        None => TYPICAL.into(),
    };
    match level {
        1..=LEVELS => AgentSpec::parse(agents[level - 1]),
        _ => Err(Error::Config(format!("level {level}: the levels are 1 to {LEVELS}"))),
    }
}

/// Returns the agents in a file of levels, as texts.
///
/// # Errors
/// If the file does not have [`LEVELS`] agents, or one of its texts is not an agent, is itself a level, or names an
/// agent in a file.
pub(crate) fn agents_of(file: &Shipped) -> Result<Vec<&str>> {
    let wrong = |what: String| Error::Data(format!("{}: {what}", file.path));
    let text = std::str::from_utf8(&file.bytes).map_err(|error| wrong(error.to_string()))?;
    let agents: Vec<&str> = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty())
        .collect();
    if agents.len() != LEVELS {
        return Err(wrong(format!("there must be {LEVELS} agents, one per line, not {}", agents.len())));
    }
    for (index, agent) in agents.iter().enumerate() {
        let level = index + 1;
        match AgentSpec::parse(agent).map(AgentSpec::searching) {
            Ok(AgentSpec::Level(_)) => return Err(wrong(format!("level {level} cannot be a level itself"))),
            Ok(AgentSpec::Trained(..) | AgentSpec::External(_)) => {
                return Err(wrong(format!(
                    "level {level}: {agent} is not part of the program; write `shipped`"
                )));
            }
            Ok(_) => {}
            Err(error) => return Err(wrong(format!("level {level}: {error}"))),
        }
    }
    Ok(agents)
}

/// Returns whether the game has levels: the program carries levels or an agent for it.
pub fn has_levels<G: Game>(rules: &Rules<G>) -> bool {
    agent_of_level(rules, MIDDLE).is_ok()
}

impl AgentSpec {
    /// Returns the agent that plays if the user names none: the shipped one if the program has one for these rules,
    /// otherwise random playouts.
    pub fn usual<G: Game>(rules: &Rules<G>) -> AgentSpec {
        match shipped_agent(rules) {
            Ok(_) => AgentSpec::Shipped(DEFAULT_SIMULATIONS, None),
            Err(_) => AgentSpec::Rollout(ROLLOUTS),
        }
    }

    /// Returns what `shipped` means for these rules: the trained agent that the program carries or, without one,
    /// perfect play if the game is solved at once.
    ///
    /// # Errors
    /// If the program carries no agent for these rules and the game is not solved at once.
    pub fn shipped<G: Game>(rules: &Rules<G>) -> Result<AgentSpec> {
        match shipped_agent(rules) {
            Ok(_) => Ok(AgentSpec::Shipped(DEFAULT_SIMULATIONS, None)),
            Err(_) if is_proved(rules) => Ok(AgentSpec::Perfect),
            Err(error) => Err(error),
        }
    }

    /// Returns what this agent means for these rules: replaces a level by its agent, and `shipped` by perfect play if
    /// that is what it stands for.
    ///
    /// # Errors
    /// If these rules have no levels.
    pub fn resolved<G: Game>(self, rules: &Rules<G>) -> Result<AgentSpec> {
        match self {
            AgentSpec::Level(level) => agent_of_level(rules, level)?.resolved(rules),
            AgentSpec::Shipped(..) if is_proved(rules) => Ok(AgentSpec::Perfect),
            AgentSpec::Drawing(agent, temperature) => {
                Ok(AgentSpec::Drawing(Box::new(agent.resolved(rules)?), temperature))
            }
            other => Ok(other),
        }
    }

    /// Returns the agent at its best, for hints and reviews. A level becomes the shipped agent; an agent with a
    /// temperature loses the temperature and gets the default number of simulations.
    #[must_use]
    pub fn at_its_best<G: Game>(self, rules: &Rules<G>) -> AgentSpec {
        match self {
            AgentSpec::Level(_) => AgentSpec::shipped(rules).unwrap_or_else(|_| AgentSpec::usual(rules)),
            AgentSpec::Drawing(agent, _) => agent.with_simulations(DEFAULT_SIMULATIONS),
            other => other,
        }
    }
}

/// Returns the trained network that the program carries for the game of these rules.
///
/// # Errors
/// If the program carries no network for the game, or carries one for other options of the game.
pub fn shipped_agent<G: Game>(rules: &Rules<G>) -> Result<Checkpoint> {
    let id = &rules.identity.id;
    if is_proved(rules) {
        return Err(Error::Config(format!(
            "the shipped agent of {id} is perfect play, which has no network"
        )));
    }
    let Some(file) = &rules.shipped.agent else {
        return Err(Error::Config(format!(
            "there is no shipped agent for {id}: `rollout:{ROLLOUTS}` plays any game, and `petteia train {id}` trains \
             an agent"
        )));
    };
    let checkpoint = Checkpoint::shipped(file.clone())?;
    checkpoint.manifest.game.expect(&rules.identity, &checkpoint.path.display().to_string())?;
    Ok(checkpoint)
}

/// Returns whether `shipped` is perfect play: the program carries no agent for the game, and the game is solved at
/// once.
pub fn is_proved<G: Game>(rules: &Rules<G>) -> bool {
    rules.shipped.agent.is_none() && is_at_hand(&rules.game)
}
