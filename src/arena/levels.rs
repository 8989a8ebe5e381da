//! The agents that a game has by itself: the shipped one, and those of its levels, nine agents of which each beats the one
//! below it in about two of three games.
//!
//! Input: what the program carries for the game: a network (`agents/ID.safetensors`), and a file with an agent in each
//! line, the weakest first (`agents/ID.levels`). Output: the agent that `shipped`, `level:5` or no text at all means.

use super::perfect::is_at_hand;
pub use super::spec::LEVELS;
use super::spec::{AgentSpec, DEFAULT_SIMULATIONS};
use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result};
use crate::game::{Game, Rules};
use crate::shipped::Shipped;

/// The simulations of the usual opponent in a game without a shipped agent.
const ROLLOUTS: usize = 400;
/// The level of an opponent that nobody chose.
pub const MIDDLE: usize = 5;

/// The levels of a shipped agent for which none were calibrated.
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

/// The levels of a game in which perfect play is shipped, likewise.
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

/// The agent that plays this level of the game, 1 to [`LEVELS`].
///
/// # Errors
/// There is no such level, the program carries no agent for these rules, or its file of levels is wrong.
pub fn agent_of_level<G: Game>(rules: &Rules<G>, level: usize) -> Result<AgentSpec> {
    // levels are of the game with its usual options, as the agent is
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

/// The texts of the agents in a file of levels.
///
/// # Errors
/// They are not [`LEVELS`], or one of them is no agent, is a level, or would be read from a file.
pub(crate) fn agents_of(file: &Shipped) -> Result<Vec<&str>> {
    let wrong = |what: String| Error::Data(format!("{}: {what}", file.path));
    let text = std::str::from_utf8(&file.bytes).map_err(|error| wrong(error.to_string()))?;
    let agents: Vec<&str> = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty())
        .collect();
    if agents.len() != LEVELS {
        return Err(wrong(format!("there must be {LEVELS} agents, one in a line, not {}", agents.len())));
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

/// Whether the game has levels: the program carries some for it, or an agent.
pub fn has_levels<G: Game>(rules: &Rules<G>) -> bool {
    agent_of_level(rules, MIDDLE).is_ok()
}

impl AgentSpec {
    /// The agent that plays where the user names none: the shipped one if the program has one for these rules, otherwise
    /// random playouts.
    pub fn usual<G: Game>(rules: &Rules<G>) -> AgentSpec {
        match shipped_agent(rules) {
            Ok(_) => AgentSpec::Shipped(DEFAULT_SIMULATIONS, None),
            Err(_) => AgentSpec::Rollout(ROLLOUTS),
        }
    }

    /// What `shipped` is for these rules: the trained agent that the program carries or, without one, perfect play if
    /// the game is solved at once.
    ///
    /// # Errors
    /// It is neither.
    pub fn shipped<G: Game>(rules: &Rules<G>) -> Result<AgentSpec> {
        match shipped_agent(rules) {
            Ok(_) => Ok(AgentSpec::Shipped(DEFAULT_SIMULATIONS, None)),
            Err(_) if is_proved(rules) => Ok(AgentSpec::Perfect),
            Err(error) => Err(error),
        }
    }

    /// The agent that this one is for these rules: that of a level, and perfect play where `shipped` is that.
    ///
    /// # Errors
    /// These rules have no levels.
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

    /// The agent at its best, for hints and reviews: in the place of a level the shipped agent, and in that of an agent
    /// with a temperature the same without it, with the default number of simulations.
    #[must_use]
    pub fn at_its_best<G: Game>(self, rules: &Rules<G>) -> AgentSpec {
        match self {
            AgentSpec::Level(_) => AgentSpec::shipped(rules).unwrap_or_else(|_| AgentSpec::usual(rules)),
            AgentSpec::Drawing(agent, _) => agent.with_simulations(DEFAULT_SIMULATIONS),
            other => other,
        }
    }
}

/// The trained network that the program carries for the game of these rules.
///
/// # Errors
/// There is none, or it is one for other options of the game.
pub fn shipped_agent<G: Game>(rules: &Rules<G>) -> Result<Checkpoint> {
    let id = &rules.identity.id;
    if is_proved(rules) {
        return Err(Error::Config(format!(
            "the shipped agent of {id} is perfect play, which has no network"
        )));
    }
    let Some(file) = &rules.shipped.agent else {
        return Err(Error::Config(format!(
            "there is no shipped agent for {id}: `rollout:{ROLLOUTS}` plays any game, and `petteia train {id}` trains an \
             agent"
        )));
    };
    let checkpoint = Checkpoint::shipped(file.clone())?;
    checkpoint.manifest.game.expect(&rules.identity, &checkpoint.path.display().to_string())?;
    Ok(checkpoint)
}

/// Whether `shipped` is perfect play: the program carries no agent for the game, which is solved at once.
pub fn is_proved<G: Game>(rules: &Rules<G>) -> bool {
    rules.shipped.agent.is_none() && is_at_hand(&rules.game)
}
