//! Suggests what a refused command line may have meant: another name of a command, an agent's flag, a GPU.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use super::help::with_own_name;
use super::shell_word;
use crate::arena::agent::AgentSpec;

/// Names of commands in other programs, and how to do the same here.
const COMMANDS: [(&[&str], &str); 9] = [
    (&["resume", "continue"], "`petteia train --run RUN` resumes a run"),
    (
        &["tournament", "league"],
        "`petteia ladder` rates many agents, and `petteia arena GAME A B` plays a match of two",
    ),
    (&["match", "duel", "versus"], "`petteia arena GAME A B` plays a match"),
    (
        &["eval", "evaluate"],
        "`petteia arena` measures an agent in games, `petteia accuracy` in solved positions",
    ),
    (
        &["genconfig", "settings", "configs", "keys"],
        "`petteia config` lists the configs that come with the program, and `petteia config --keys` all settings",
    ),
    (
        &["selfplay", "self-play"],
        "`petteia train` plays games and learns from them, `petteia records` shows them",
    ),
    (&["web", "gui", "ui"], "`petteia serve` opens the page in a browser"),
    (&["list"], "`petteia games` lists the games, and `petteia runs` the runs"),
    (
        &["status", "monitor", "log"],
        "`petteia runs` lists the runs, and `petteia watch RUN` follows one in training",
    ),
];

const ON_DEVICE: &str =
    "what computes networks is chosen by `--device cuda`, `vulkan` or `auto`, in commands that compute any";

/// The flag with which each command names an agent.
const AGENT_FLAGS: [(&str, &str); 5] = [
    ("play", "--opponent"),
    ("analyze", "--agent"),
    ("engine", "--agent"),
    ("balance", "--agent"),
    ("accuracy", "--agent"),
];

/// The error with a suggestion of what was probably meant, in place of the parser's guess.
pub fn refined(mut error: Error) -> Error {
    let argument = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let tip = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let command = argument(ContextKind::InvalidSubcommand).unwrap_or_default();
            let known = COMMANDS.iter().find(|(names, _)| names.contains(&command.as_str()));
            known.map(|(_, how)| how.to_string())
        }
        ErrorKind::UnknownArgument | ErrorKind::MissingRequiredArgument => {
            let flag = argument(ContextKind::InvalidArg).unwrap_or_default();
            let device =
                ["--gpu", "--cuda", "--device"].contains(&flag.split('=').next().unwrap_or_default());
            if device { Some(ON_DEVICE.into()) } else { with_agent_flag(&flag) }
        }
        _ => None,
    };
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedSubcommand);
        error.remove(ContextKind::SuggestedArg);
        let tip = with_own_name(tip);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// A corrected command line if an agent was given without its flag.
fn with_agent_flag(agent: &str) -> Option<String> {
    corrected(&std::env::args_os().skip(1).collect::<Vec<OsString>>(), agent)
}

fn corrected(words: &[OsString], agent: &str) -> Option<String> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (_, flag) = AGENT_FLAGS.iter().find(|(name, _)| Some(*name) == words.first().map(String::as_str))?;
    AgentSpec::parse(agent).ok()?;
    let at = words.iter().position(|word| word == agent)?;
    let mut line = vec!["petteia".to_string()];
    line.extend(words[..at].iter().cloned().chain([flag.to_string()]).chain(words[at..].iter().cloned()));
    let line: Vec<_> = line.iter().map(|word| shell_word(word)).collect();
    Some(format!("an agent is named by {flag}: `{}`", line.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_has_a_flag() {
        let line = |words: &str, agent: &str| {
            corrected(&words.split(' ').map(OsString::from).collect::<Vec<_>>(), agent)
        };
        assert_eq!(
            line("play phage rollout:100 --side second", "rollout:100").as_deref(),
            Some(
                "an agent is named by --opponent: `petteia play phage --opponent rollout:100 --side second`"
            )
        );
        assert!(
            line("analyze phage shipped", "shipped").is_some_and(|text| text.contains("--agent shipped"))
        );
        assert_eq!(line("play phage nonsense", "nonsense"), None);
        assert_eq!(line("train phage shipped", "shipped"), None);
    }
}
