//! Agents as users write them: `random`; `perfect`; `rollout:SIMS`; `uniform:SIMS`; a trained agent,
//! `shipped[:SIMS][:f32|:bf16|:auto]` or `RUN-OR-CHECKPOINT[:SIMS][:f32|:bf16|:auto]`; one of these that searches,
//! followed by `:tTEMPERATURE`; `level:1` to `level:9`; or another program, `ugi:COMMAND`.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

use super::external;
use crate::checkpoint::Checkpoint;
use crate::config::Precision;
use crate::config::limits::MAX_SIMULATIONS;
use crate::error::{Error, Result, did_you_mean, quoted};
use crate::net::infer::CpuNet;
use crate::storage;

/// The default number of simulations of a trained agent; see [`Search`](crate::search::Search) for the definition of a
/// simulation.
pub const DEFAULT_SIMULATIONS: usize = 100;
/// The word for the trained agent that the program carries for a game. Write a file of this name as `./shipped`.
pub(crate) const SHIPPED: &str = "shipped";
/// The number of levels; the highest is the strongest.
pub const LEVELS: usize = 9;
/// The highest temperature of an agent, at which all actions are about equally likely.
const MAX_TEMPERATURE: f32 = 100.0;

/// An agent as the user specified it.
///
/// ```
/// use petteia::arena::spec::AgentSpec;
///
/// assert_eq!(AgentSpec::parse("rollout:400")?, AgentSpec::Rollout(400));
/// let error = AgentSpec::parse("rollut:400").unwrap_err().to_string();
/// assert!(error.contains("did you mean `rollout`?"), "{error}");
/// # Ok::<(), petteia::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum AgentSpec {
    /// Uniformly random actions.
    Random,
    /// Perfect play; small games only.
    Perfect,
    /// Tree search with random playouts.
    Rollout(usize),
    /// Tree search without any knowledge.
    Uniform(usize),
    /// Tree search with a trained network, in the network's own precision or in another one.
    Trained(PathBuf, usize, Option<Precision>),
    /// Tree search with the trained network that the program carries for the game, in the network's own precision or in
    /// another one.
    Shipped(usize, Option<Precision>),
    /// An agent that draws its action at this temperature, after a search
    /// ([`Searcher::choose`](super::searching::Searcher::choose)) or with perfect knowledge
    /// ([`Perfect`](super::perfect::Perfect)).
    Drawing(Box<AgentSpec>, f32),
    /// The agent of a level, 1 to [`LEVELS`].
    Level(usize),
    /// A program with its arguments, for `petteia arena` only.
    External(String),
}

impl AgentSpec {
    /// Parses `text`. A trained agent must exist; its path need not be UTF-8.
    ///
    /// # Errors
    /// If `text` does not name an agent, or names a trained one that does not exist.
    pub fn parse(text: impl AsRef<OsStr>) -> Result<AgentSpec> {
        match text.as_ref().to_str() {
            Some(text) => AgentSpec::parse_text(text),
            None => AgentSpec::parse_path(text.as_ref()),
        }
    }

    /// Returns a trained agent whose path is not UTF-8. Suffixes are only recognized if no path exists that includes
    /// them.
    fn parse_path(text: &OsStr) -> Result<AgentSpec> {
        let (mut path, mut simulations, mut precision) = (text, None, None);
        while !storage::has(Path::new(path))
            && let Some((rest, part)) = split_suffix(path)
        {
            match (Precision::named(part), precision, simulations) {
                (Some(named), None, None) => precision = Some(named),
                (_, _, None) => simulations = Some(parse_simulations(&text.to_string_lossy(), part)?),
                _ => break,
            }
            path = rest;
        }
        AgentSpec::trained(path, simulations, precision, &text.to_string_lossy())
    }

    /// Makes the network compute in the precision that is fastest on this CPU if the user named no precision. The agent
    /// may then play differently each time the program starts.
    #[must_use]
    pub fn at_full_speed(self) -> AgentSpec {
        match self {
            AgentSpec::Trained(path, simulations, None) => {
                AgentSpec::Trained(path, simulations, Some(Precision::Auto))
            }
            AgentSpec::Shipped(simulations, None) => AgentSpec::Shipped(simulations, Some(Precision::Auto)),
            AgentSpec::Drawing(agent, temperature) => {
                AgentSpec::Drawing(Box::new(agent.at_full_speed()), temperature)
            }
            other => other,
        }
    }

    /// Sets the number of simulations per action, for agents that make any.
    #[must_use]
    pub fn with_simulations(self, simulations: usize) -> AgentSpec {
        match self {
            AgentSpec::Rollout(_) => AgentSpec::Rollout(simulations),
            AgentSpec::Uniform(_) => AgentSpec::Uniform(simulations),
            AgentSpec::Trained(path, _, precision) => AgentSpec::Trained(path, simulations, precision),
            AgentSpec::Shipped(_, precision) => AgentSpec::Shipped(simulations, precision),
            AgentSpec::Drawing(agent, temperature) => {
                AgentSpec::Drawing(Box::new(agent.with_simulations(simulations)), temperature)
            }
            other => other,
        }
    }

    /// Returns the underlying agent that searches, without a temperature.
    pub fn searching(self) -> AgentSpec {
        match self {
            AgentSpec::Drawing(agent, _) => *agent,
            other => other,
        }
    }

    /// Returns whether the agent searches, as far as its text shows.
    pub fn searches(&self) -> bool {
        match self {
            AgentSpec::Random | AgentSpec::Perfect | AgentSpec::External(_) => false,
            AgentSpec::Drawing(agent, _) => agent.searches(),
            _ => true,
        }
    }

    /// Returns a trained agent that the user wrote as `whole`.
    fn trained(
        path: impl AsRef<Path>,
        simulations: Option<usize>,
        precision: Option<Precision>,
        whole: &str,
    ) -> Result<AgentSpec> {
        let path = path.as_ref();
        if !storage::is_named(path)? {
            let reason = Checkpoint::find(path).err().map(|e| format!(": {e}")).unwrap_or_default();
            let hint = did_you_mean(
                &path.to_string_lossy(),
                ["random", "perfect", "rollout", "uniform", "level", SHIPPED],
            );
            return Err(Error::Config(format!(
                "unknown agent {}{reason}{hint}\n  agents: shipped[:SIMS], level:1 to level:{LEVELS}, random, perfect, \
                    rollout:SIMS, uniform:SIMS, RUN-OR-CHECKPOINT[:SIMS][:f32|:bf16|:auto], in an arena also \
                    ugi:COMMAND",
                quoted(whole)
            )));
        }
        check_precision(precision, whole)?;
        Ok(AgentSpec::Trained(path.into(), simulations.unwrap_or(DEFAULT_SIMULATIONS), precision))
    }

    fn parse_text(text: &str) -> Result<AgentSpec> {
        if let Some(command) = text.strip_prefix("ugi:") {
            return external::split(command).map(|_| AgentSpec::External(command.into()));
        }
        if let Some(level) =
            text.strip_prefix("level").filter(|rest| rest.is_empty() || rest.starts_with(':'))
        {
            return match level.trim_start_matches(':').parse() {
                Ok(level @ 1..=LEVELS) => Ok(AgentSpec::Level(level)),
                _ => Err(Error::Config(format!(
                    "agent {}: the levels are level:1 to level:{LEVELS}",
                    quoted(text)
                ))),
            };
        }
        if let Some((agent, temperature)) = split_temperature(text)? {
            let agent = AgentSpec::parse_text(agent)?;
            let draws = agent.searches() || agent == AgentSpec::Perfect;
            if !draws || matches!(agent, AgentSpec::Drawing(..) | AgentSpec::Level(_)) {
                return Err(Error::Config(format!(
                    "agent `{text}`: {agent} has no temperature; write just `{agent}`"
                )));
            }
            return Ok(AgentSpec::Drawing(Box::new(agent), temperature));
        }
        let whole = text;
        let (text, precision) = match text.rsplit_once(':') {
            Some((agent, part)) if Precision::named(part).is_some() && !storage::has(Path::new(text)) => {
                (agent, Precision::named(part))
            }
            _ => (text, None),
        };
        let (name, simulations) = match text.rsplit_once(':') {
            // the colon of an address does not begin a suffix
            Some((name, number)) if !number.starts_with("//") && !storage::has(Path::new(text)) => {
                (name, Some(parse_simulations(text, number)?))
            }
            _ => (text, None),
        };
        let needed = || {
            simulations.ok_or_else(|| {
                Error::Config(format!("agent `{text}` needs a number of simulations, e.g. `{text}:400`"))
            })
        };
        match name {
            "random" | "perfect" | "rollout" | "uniform" if precision.is_some() => {
                Err(Error::Config(format!("agent `{whole}`: {name} has no network; write just `{text}`")))
            }
            "random" | "perfect" if simulations.is_some() => {
                Err(Error::Config(format!("agent `{text}`: {name} does not search; write just `{name}`")))
            }
            "random" => Ok(AgentSpec::Random),
            "perfect" => Ok(AgentSpec::Perfect),
            "rollout" => Ok(AgentSpec::Rollout(needed()?)),
            "uniform" => Ok(AgentSpec::Uniform(needed()?)),
            SHIPPED => {
                check_precision(precision, whole)?;
                Ok(AgentSpec::Shipped(simulations.unwrap_or(DEFAULT_SIMULATIONS), precision))
            }
            // the error for a missing file also lists the agents above
            _ => AgentSpec::trained(name, simulations, precision, whole),
        }
    }
}

/// Returns the parts before and after `:t`, if a temperature follows it.
fn split_temperature(text: &str) -> Result<Option<(&str, f32)>> {
    let Some((agent, number)) = text.rsplit_once(":t").filter(|_| !storage::has(Path::new(text))) else {
        return Ok(None);
    };
    match number.parse() {
        Ok(temperature) if temperature > 0.0 && temperature <= MAX_TEMPERATURE => {
            Ok(Some((agent, temperature)))
        }
        Ok(_) => Err(Error::Config(format!(
            "agent {}: a temperature must be above 0 and at most {MAX_TEMPERATURE}",
            quoted(text)
        ))),
        Err(_) => Ok(None),
    }
}

/// Rejects a precision that this CPU lacks, for an agent that the user wrote as `whole`.
fn check_precision(precision: Option<Precision>, whole: &str) -> Result<()> {
    let named = precision.filter(|precision| *precision != Precision::Auto);
    match named.and_then(|named| Some((named, CpuNet::lacks(named)?))) {
        Some((precision, instructions)) => Err(Error::Config(format!(
            "agent {}: this CPU lacks {instructions} instructions; omit `:{precision}`",
            quoted(whole)
        ))),
        None => Ok(()),
    }
}

/// Returns the parts before and after the last colon, if the latter is UTF-8.
#[cfg(unix)]
fn split_suffix(text: &OsStr) -> Option<(&OsStr, &str)> {
    use std::os::unix::ffi::OsStrExt;
    let bytes = text.as_bytes();
    let at = bytes.iter().rposition(|byte| *byte == b':')?;
    Some((OsStr::from_bytes(&bytes[..at]), std::str::from_utf8(&bytes[at + 1..]).ok()?))
}

/// Returns `None`: on other systems, a name that is not UTF-8 cannot be split, so it has no suffixes.
#[cfg(not(unix))]
fn split_suffix(_text: &OsStr) -> Option<(&OsStr, &str)> {
    None
}

impl fmt::Display for AgentSpec {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            AgentSpec::External(command) => write!(out, "ugi:{command}"),
            AgentSpec::Drawing(agent, temperature) => write!(out, "{agent}:t{temperature}"),
            AgentSpec::Level(level) => write!(out, "level:{level}"),
            AgentSpec::Random => out.write_str("random"),
            AgentSpec::Perfect => out.write_str("perfect"),
            AgentSpec::Rollout(simulations) => write!(out, "rollout:{simulations}"),
            AgentSpec::Uniform(simulations) => write!(out, "uniform:{simulations}"),
            AgentSpec::Trained(path, simulations, precision) => {
                write!(out, "{}:{simulations}", path.display())?;
                precision.map_or(Ok(()), |precision| write!(out, ":{precision}"))
            }
            AgentSpec::Shipped(simulations, precision) => {
                write!(out, "{SHIPPED}:{simulations}")?;
                precision.map_or(Ok(()), |precision| write!(out, ":{precision}"))
            }
        }
    }
}

fn parse_simulations(text: &str, number: &str) -> Result<usize> {
    match number.parse() {
        Ok(simulations) if (1..=MAX_SIMULATIONS).contains(&simulations) => Ok(simulations),
        _ => {
            let precision = if text.starts_with("rollout:") || text.starts_with("uniform:") {
                ""
            } else {
                " or a precision (f32, bf16, auto)"
            };
            Err(Error::Config(format!(
                "agent {}: {} is not a number of simulations (1 to {MAX_SIMULATIONS}){precision}",
                quoted(text),
                quoted(number)
            )))
        }
    }
}
