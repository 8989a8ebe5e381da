//! The game that a command is about. The user names the game by its id, or by a run or another trained agent, which
//! then takes part in the command.
//!
//! Input: the words of a command line. Output: the opened game, and the agents that were not named.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Args;

use super::note;
use crate::any::Opened;
use crate::arena::levels::is_proved;
use crate::arena::levels::{LEVELS, MIDDLE, agent_of_level, has_levels};
use crate::arena::spec::{AgentSpec, DEFAULT_SIMULATIONS, SHIPPED};
use crate::checkpoint::Checkpoint;
use crate::config::game_settings;
use crate::error::{Error, Result, quoted};
use crate::game::{GameIdentity, Settings};
use crate::options::TEXT;
use crate::registry::{Catalog, unknown};
use crate::run;
use crate::storage;
use crate::text_game::{self, EXTENSION};

/// A game and its options on the command line.
#[derive(Args, Clone)]
pub(super) struct GameArgs {
    /// Game id (see `petteia games`), or a run, checkpoint, or exported file of the game
    #[arg(value_name = "GAME")]
    pub id: String,
    /// Game option, e.g. game.start=blocks; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// A game, and the agent that was named in place of the game.
pub(super) struct Subject {
    pub rules: Opened,
    /// The agent as the user wrote it.
    pub agent: Option<OsString>,
}

impl GameArgs {
    /// Opens the named game.
    pub(super) fn opened(&self, games: Catalog) -> Result<Opened> {
        self.subject(games).map(|subject| subject.rules)
    }

    /// Opens the game that was named, or whose agent was named.
    pub(super) fn subject(&self, games: Catalog) -> Result<Subject> {
        let sets = game_settings(&self.set)?;
        let (id, mut options, agent) = if sets.contains_key(TEXT) {
            // a bot has the text of its game
            (self.id.clone(), Settings::new(), None)
        } else {
            named(&self.id, games)?
        };
        options.extend(sets);
        let rules = games.open(&id, &options)?;
        tell_slow_rules(&rules);
        Ok(Subject { rules, agent })
    }
}

/// Says that the game's rules are slow, if they are a text that cannot be compiled here.
pub(super) fn tell_slow_rules(rules: &Opened) {
    if rules.identity.options.contains_key(TEXT)
        && let Some(why) = text_game::obstacle()
    {
        note(format_args!("these rules are interpreted, several times slower than compiled: {why}"));
    }
}

/// Returns the id and options of the game that `word` names, and the agent if `word` is one.
///
/// # Errors
/// If `word` is neither a game nor an agent with a known game.
pub(super) fn named(word: &str, games: Catalog) -> Result<(String, Settings, Option<OsString>)> {
    if games.ids().iter().any(|id| id == word) {
        return Ok((word.to_string(), Settings::new(), None));
    }
    if let Some((id, options)) = text_rules(Path::new(word))? {
        return Ok((id, options, None));
    }
    if games.text(word).is_some() {
        return Ok((word.to_string(), Settings::new(), None));
    }
    match AgentSpec::parse(word).map(AgentSpec::searching) {
        Ok(AgentSpec::Trained(path, ..)) => {
            let (id, options) = game_of(&path)?;
            Ok((id, options, Some(word.into())))
        }
        // the word is an existing file with a wrong suffix
        Err(error) if word.rsplit_once(':').is_some_and(|(path, _)| storage::has(Path::new(path))) => {
            Err(error)
        }
        Ok(AgentSpec::Shipped(..) | AgentSpec::Level(_)) => Err(Error::Config(format!(
            "{} does not name a game, because each game has its own shipped agent; name one of {}",
            quoted(word),
            games.names().join(", ")
        ))),
        _ if is_path(word) => Err(match Checkpoint::find(Path::new(word)) {
            Err(error) => Error::Config(format!("neither a game nor an agent: {error}")),
            Ok(_) => unknown(word, &games.names()),
        }),
        _ if storage::has_file(&Path::new(word).with_extension(EXTENSION)) => Err(Error::Config(format!(
            "unknown game {}: did you mean {}?",
            quoted(word),
            quoted(&format!("{word}.{EXTENSION}"))
        ))),
        _ => Err(unknown(word, &games.names())),
    }
}

/// Returns the id and options of the text game in a file `NAME.game`; `None` for any other file name.
///
/// # Errors
/// If the file cannot be read, or its text is wrong with its default options.
pub(super) fn text_rules(path: &Path) -> Result<Option<(String, Settings)>> {
    if path.extension().is_none_or(|extension| extension != EXTENSION) {
        return Ok(None);
    }
    text_game::rules_at(path).map(Some)
}

/// Whether a word can only be a path.
fn is_path(word: &str) -> bool {
    word.contains(['/', std::path::MAIN_SEPARATOR])
}

/// Returns the game of a run (which may have no checkpoint yet), a checkpoint, or an exported file.
fn game_of(path: &Path) -> Result<(String, Settings)> {
    if run::is_run(path) {
        run::reading_of(path).map(|reading| (reading.config.game.id, reading.config.game.options))
    } else {
        Checkpoint::find(path).map(|found| (found.manifest.game.id, found.manifest.game.options))
    }
}

impl Subject {
    /// Returns the agent of a command that needs one: the named agent, the agent given in place of the game, or the
    /// usual agent. For the usual agent, also returns a sentence that says which agent it is and begins with `role`,
    /// the agent's part in the command.
    pub(super) fn agent_or_usual(&self, named: Option<&OsString>, role: &str) -> (OsString, Option<String>) {
        self.agent_or(named, || self.usual(role))
    }

    /// Does the same as [`Subject::agent_or_usual`], but `usual` returns the usual agent.
    pub(super) fn agent_or(
        &self,
        named: Option<&OsString>,
        usual: impl FnOnce() -> (OsString, String),
    ) -> (OsString, Option<String>) {
        match named.or(self.agent.as_ref()) {
            Some(agent) => (agent.clone(), None),
            None => {
                let (agent, remark) = usual();
                (agent, Some(remark))
            }
        }
    }

    /// Returns a person's opponent: the named agent, the agent given in place of the game, or otherwise a level or the
    /// usual agent, with a sentence that says which of them it is.
    pub(super) fn opponent(
        &self,
        named: Option<&OsString>,
        level: Option<usize>,
    ) -> Result<(OsString, Option<String>)> {
        let named = named.or(self.agent.as_ref());
        match (named, level) {
            (Some(agent), None) => Ok((agent.clone(), None)),
            (Some(agent), Some(_)) => Err(Error::Config(format!(
                "--level applies only to the shipped agent; to weaken {}, give it fewer simulations or a temperature, \
                 e.g. {0}:20:t0.5",
                agent.display()
            ))),
            (None, None) if !has_levels(&self.rules) => {
                let (agent, remark) = self.usual("Your opponent");
                Ok((agent, Some(format!("{remark} (--opponent AGENT chooses another)."))))
            }
            (None, level) => {
                let at = level.unwrap_or(MIDDLE);
                let agent = agent_of_level(&self.rules, at)?;
                let proved = if agent == AgentSpec::Perfect { ", which is proved perfect" } else { "" };
                let remark = format!(
                    "Your opponent plays at level {at} of {LEVELS}{proved} (--level N or --opponent AGENT chooses \
                        another)."
                );
                Ok((format!("level:{at}").into(), Some(remark)))
            }
        }
    }

    /// Returns the agent to use if none is named and the command does not need an agent that searches, and a sentence
    /// that says which agent it is.
    pub(super) fn shipped_or_usual(&self, role: &str) -> (OsString, String) {
        match AgentSpec::shipped(&self.rules) {
            Ok(AgentSpec::Perfect) => {
                (SHIPPED.into(), format!("{role} is `{SHIPPED}`, which is proved perfect"))
            }
            _ => self.usual(role),
        }
    }

    /// Returns the agent to use if none is named and the command needs an agent that searches, and a sentence that says
    /// which agent it is.
    pub(super) fn usual(&self, role: &str) -> (OsString, String) {
        match AgentSpec::usual(&self.rules) {
            AgentSpec::Shipped(..) => (
                SHIPPED.into(),
                format!("{role} is `{SHIPPED}`, with {DEFAULT_SIMULATIONS} simulations per action"),
            ),
            other => {
                let GameIdentity { id, options, .. } = &self.rules.identity;
                let with = if options.is_empty() { "" } else { " with these options" };
                let text = other.to_string();
                let why = if is_proved(&self.rules) {
                    format!("the shipped agent of {id} plays perfectly and does not search")
                } else {
                    format!("there is no shipped agent for {id}{with}")
                };
                let remark = format!("{role} is `{text}`, because {why}");
                (text.into(), remark)
            }
        }
    }
}

/// Whether the user's text names the shipped agent, with any suffixes.
pub(super) fn is_shipped(agent: &OsStr) -> bool {
    matches!(AgentSpec::parse(agent), Ok(AgentSpec::Shipped(..)))
}
