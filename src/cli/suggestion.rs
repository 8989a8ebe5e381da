//! Suggests what the user may have meant by a refused command line: another name for a command, an agent without its
//! flag, a GPU.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use super::help::with_own_name;
use super::{command, shell_word};
use crate::arena::spec::AgentSpec;
use crate::registry::Catalog;

/// Command names from other programs, and how to do the same here.
const COMMANDS: [(&[&str], &str); 10] = [
    (&["version"], "`petteia --version`"),
    (&["resume", "continue"], "`petteia train --run RUN` resumes a run"),
    (
        &["tournament", "league"],
        "`petteia ladder` rates many agents, and `petteia arena GAME A B` plays a match between two",
    ),
    (&["match", "duel", "versus"], "`petteia arena GAME A B` plays a match"),
    (
        &["eval", "evaluate"],
        "`petteia arena` measures an agent in games, and `petteia accuracy` in solved positions",
    ),
    (
        &["genconfig", "settings", "configs", "keys"],
        "`petteia config` lists the shipped configs, and `petteia config --keys` lists all settings",
    ),
    (
        &["selfplay", "self-play"],
        "`petteia train` plays games and learns from them, and `petteia records` shows them",
    ),
    (&["web", "gui", "ui"], "`petteia serve` opens the page in a browser"),
    (&["list"], "`petteia games` lists the games, and `petteia runs` lists the runs"),
    (
        &["status", "monitor", "log"],
        "`petteia runs` lists the runs, and `petteia watch RUN` follows one in training",
    ),
];

const ON_DEVICE: &str =
    "commands that evaluate networks have `--device cuda`, `--device vulkan`, and `--device auto`";

/// The flag that names an agent, by command.
const AGENT_FLAGS: [(&str, &str); 5] = [
    ("play", "--opponent"),
    ("analyze", "--agent"),
    ("engine", "--agent"),
    ("balance", "--agent"),
    ("accuracy", "--agent"),
];

/// Replaces the parser's guess in `error` with a better suggestion, if there is one.
pub(super) fn added(mut error: Error, games: Catalog) -> Error {
    let argument = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let tip = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let command = argument(ContextKind::InvalidSubcommand).unwrap_or_default();
            let known = COMMANDS.iter().find(|(names, _)| names.contains(&command.as_str()));
            let is_game = || games.names().contains(&command) || command.ends_with(".game");
            let play = || {
                format!(
                    "`petteia play {0}` plays this game, and `petteia rules {0}` explains it",
                    shell_word(&command)
                )
            };
            known.map(|(_, how)| how.to_string()).or_else(|| is_game().then(play))
        }
        ErrorKind::UnknownArgument | ErrorKind::MissingRequiredArgument => {
            let flag = argument(ContextKind::InvalidArg).unwrap_or_default();
            let device =
                ["--gpu", "--cuda", "--device"].contains(&flag.split('=').next().unwrap_or_default());
            let words: Vec<OsString> = std::env::args_os().skip(1).collect();
            match () {
                () if device => Some(ON_DEVICE.into()),
                () if flag == "-v" => Some("`petteia --version`".into()),
                () => number_refused(&words, &flag)
                    .or_else(|| set_without_sign(&words, &flag))
                    .or_else(|| corrected(&words, &flag)),
            }
        }
        ErrorKind::ValueValidation if is_about_digits(&error) => {
            let command = command(games);
            let mut plain = Error::new(ErrorKind::ValueValidation).with_cmd(&command);
            for kind in [ContextKind::InvalidArg, ContextKind::InvalidValue] {
                if let Some(value) = error.get(kind).cloned() {
                    plain.insert(kind, value);
                }
            }
            error = plain;
            Some("use a whole number in digits only, such as 1000".into())
        }
        ErrorKind::TooFewValues
            if argument(ContextKind::InvalidArg).is_some_and(|arg| arg.starts_with("--levels")) =>
        {
            Some("give at least two agents, the weakest first, e.g. `--levels rollout:50 rollout:200`".into())
        }
        _ => None,
    };
    if let Some(tip) = tip {
        error.remove(ContextKind::TrailingArg);
        error.remove(ContextKind::SuggestedSubcommand);
        error.remove(ContextKind::SuggestedArg);
        let tip = with_own_name(tip);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Whether an error comes from Rust's parser for whole numbers.
fn is_about_digits(error: &Error) -> bool {
    std::error::Error::source(error).is_some_and(|source| source.is::<std::num::ParseIntError>())
}

/// Returns a tip if a flag was followed by a negative number.
fn number_refused(words: &[OsString], number: &str) -> Option<String> {
    number.parse::<f64>().ok().filter(|number| *number < 0.0)?;
    let before = words.iter().take_while(|word| word.to_str() != Some(number)).last()?.to_str()?;
    before.starts_with("--").then(|| format!("{before} does not accept negative numbers"))
}

/// Returns a tip if a setting and its value were given as two words.
fn set_without_sign(words: &[OsString], value: &str) -> Option<String> {
    let at = words.iter().position(|word| word.to_str() == Some(value)).filter(|at| *at >= 2)?;
    let [set, key] = [words[at - 2].to_str()?, words[at - 1].to_str()?];
    (set == "--set" && !key.contains('='))
        .then(|| format!("join a setting and its value with `=`: `--set {key}={}`", shell_word(value)))
}

/// Returns a corrected command line if an agent was given without its flag.
fn corrected(words: &[OsString], agent: &str) -> Option<String> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (_, flag) = AGENT_FLAGS.iter().find(|(name, _)| Some(*name) == words.first().map(String::as_str))?;
    AgentSpec::parse(agent).ok()?;
    let at = words.iter().position(|word| word == agent)?;
    let mut line = vec!["petteia".to_string()];
    line.extend(words[..at].iter().cloned().chain([flag.to_string()]).chain(words[at..].iter().cloned()));
    let line: Vec<_> = line.iter().map(|word| shell_word(word)).collect();
    Some(format!("name the agent with {flag}: `{}`", line.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_settings_of_two_words() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        let tip = number_refused(&words("train phage --generations -1"), "-1");
        assert_eq!(tip.as_deref(), Some("--generations does not accept negative numbers"));
        assert_eq!(number_refused(&words("train phage -1"), "-1"), None);
        let tip = set_without_sign(&words("train phage --set selfplay.games 100"), "100");
        assert_eq!(tip.as_deref(), Some("join a setting and its value with `=`: `--set selfplay.games=100`"));
        assert_eq!(set_without_sign(&words("train phage --set a=1 100"), "100"), None);
        assert_eq!(set_without_sign(&words("100"), "100"), None);
    }

    #[test]
    fn an_agent_has_a_flag() {
        let line = |words: &str, agent: &str| {
            corrected(&words.split(' ').map(OsString::from).collect::<Vec<_>>(), agent)
        };
        assert_eq!(
            line("play phage rollout:100 --side second", "rollout:100").as_deref(),
            Some("name the agent with --opponent: `petteia play phage --opponent rollout:100 --side second`")
        );
        assert!(
            line("analyze phage shipped", "shipped").is_some_and(|text| text.contains("--agent shipped"))
        );
        assert_eq!(line("play phage nonsense", "nonsense"), None);
        assert_eq!(line("train phage shipped", "shipped"), None);
    }
}
