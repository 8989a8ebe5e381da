//! Levels of play: for each game nine agents, of which each beats the one below it in about two of three games.
//!
//! Input: the file that the program carries for the game (`agents/ID.levels`): an agent in each line, the weakest
//! first. Output: the agent of a level.

use super::spec::AgentSpec;
use crate::error::{Error, Result};
use crate::game::{Game, Rules};

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
/// The program carries neither levels nor an agent for these rules, or its file of levels is wrong.
pub fn agent_of_level<G: Game>(rules: &Rules<G>, level: usize) -> Result<AgentSpec> {
    // levels are of the game with its usual options, as the agent is
    let shipped = AgentSpec::shipped(rules)?;
    let Some(file) = rules.shipped.levels else {
        let typical = if shipped == AgentSpec::Perfect { TYPICAL_IF_PROVED } else { TYPICAL };
        return AgentSpec::parse(typical[level - 1]);
    };
    let wrong = |what: String| Error::Data(format!("{}: {what}", file.path));
    let text = std::str::from_utf8(file.bytes).map_err(|error| wrong(error.to_string()))?;
    let agents: Vec<&str> = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim())
        .filter(|line| !line.is_empty())
        .collect();
    if agents.len() != LEVELS {
        return Err(wrong(format!("there must be {LEVELS} agents, one in a line, not {}", agents.len())));
    }
    match AgentSpec::parse(agents[level - 1]) {
        Ok(AgentSpec::Level(_)) => Err(wrong(format!("level {level} cannot be a level itself"))),
        Ok(agent) => Ok(agent),
        Err(error) => Err(wrong(format!("level {level}: {error}"))),
    }
}

/// Whether the game has levels: the program carries some for it, or an agent.
pub fn has_levels<G: Game>(rules: &Rules<G>) -> bool {
    agent_of_level(rules, MIDDLE).is_ok()
}
