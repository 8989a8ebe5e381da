//! Suggests what a refused command line may have meant: another name of a command, a run in place of its game, a GPU.

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use super::help::with_own_name;
use super::shell_word;
use crate::run;

/// Names of commands in other programs, and how to do the same here.
const COMMANDS: [(&[&str], &str); 7] = [
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
        &["config", "genconfig", "settings"],
        "`petteia train FILE` reads settings from a file such as configs/phage.toml; `[game]` and `id = \"phage\"` are \
         enough, and docs/configuration.md lists the others",
    ),
    (
        &["selfplay", "self-play"],
        "`petteia train` plays games and learns from them, `petteia records` shows them",
    ),
    (&["web", "gui", "ui"], "`petteia serve` opens the page in a browser"),
];

const ON_DEVICE: &str =
    "what computes networks is chosen by `--device cuda`, `vulkan` or `auto`, in commands that compute any";

/// The flag with which each command that takes a game first takes an agent.
const AGENT_FLAGS: [(&str, Option<&str>); 5] = [
    ("play", Some("--opponent")),
    ("analyze", Some("--agent")),
    ("engine", Some("--agent")),
    ("balance", Some("--agent")),
    ("arena", None),
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
            if device { Some(ON_DEVICE.into()) } else { on_its_game() }
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

/// A corrected command line if a command names a run where it needs the run's game.
pub fn on_its_game() -> Option<String> {
    corrected(&std::env::args_os().skip(1).collect::<Vec<OsString>>())
}

fn corrected(words: &[OsString]) -> Option<String> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (command, rest) = words.split_first()?;
    let (_, flag) = AGENT_FLAGS.iter().find(|(name, _)| name == command)?;
    let is_value = |at: usize| at > 0 && rest[at - 1].starts_with("--");
    let (at, game) =
        (0..rest.len()).filter(|at| !is_value(*at)).find_map(|at| Some((at, game_of(&rest[at])?)))?;
    let mut corrected = vec!["petteia".to_string(), command.clone(), game.clone()];
    if let Some(flag) = flag.filter(|flag| !rest.iter().any(|word| word == flag)) {
        corrected.extend([flag.to_string(), rest[at].clone()]);
        corrected
            .extend(rest.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, word)| word.clone()));
        // the game may also have been given after the run
        if let Some(again) = corrected.iter().skip(3).position(|word| *word == game) {
            corrected.remove(3 + again);
        }
    } else if flag.is_some() {
        corrected
            .extend(rest.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, word)| word.clone()));
    } else {
        corrected.extend(rest.iter().cloned());
    }
    let line: Vec<_> = corrected.iter().map(|word| shell_word(word)).collect();
    Some(format!("the game of {} is {game}: `{}`", rest[at], line.join(" ")))
}

/// The game of a run; simulations may follow the run's path.
fn game_of(agent: &str) -> Option<String> {
    let folder =
        [agent, agent.split(':').next()?].into_iter().map(Path::new).find(|path| run::is_run(path))?;
    Some(run::reading_of(folder).ok()?.config.game.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_with_its_game() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = folder.path().join("run");
        std::fs::create_dir(&run).expect("a folder");
        std::fs::write(run.join(run::SETTINGS), "[game]\nid = \"phage\"\n").expect("a file");
        std::fs::write(run.join(run::METRICS), "").expect("a file");
        let run = run.display().to_string();
        let line = |words: &str| {
            let words = words.replace("RUN", &run);
            corrected(&words.split(' ').map(OsString::from).collect::<Vec<_>>())
        };
        for (words, meant) in [
            ("play RUN", "play phage --opponent RUN"),
            ("play phage RUN", "play phage --opponent RUN"),
            ("play RUN:50 --side second", "play phage --opponent RUN:50 --side second"),
            ("play RUN --opponent rollout:100", "play phage --opponent rollout:100"),
            ("arena RUN rollout:100", "arena phage RUN rollout:100"),
            ("arena RUN:10 RUN:20 --games 4", "arena phage RUN:10 RUN:20 --games 4"),
            ("analyze RUN", "analyze phage --agent RUN"),
        ] {
            let found = line(words).unwrap_or_default();
            assert!(
                found.ends_with(&format!(" is phage: `petteia {}`", meant.replace("RUN", &run))),
                "{found}"
            );
        }
        assert_eq!(line("play phage --opponent RUN"), None);
        assert_eq!(line("train RUN"), None);
        assert_eq!(line("play"), None);
    }
}
