//! Levels of play: for each game nine agents, of which each beats the one below it in about two of three games.
//!
//! Input: the file that the program carries for the game (`agents/ID.levels`): an agent in each line, the weakest
//! first. Output: the agent of a level.

use super::spec::AgentSpec;
use crate::error::{Error, Result};
use crate::game::{Game, Rules};
use crate::shipped::Shipped;

/// The number of levels; the highest is the strongest.
pub const LEVELS: usize = 9;
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
