//! Adapts the command line to the running program. Help and manual pages are written for Petteia; other programs have
//! other names and other games.

use clap::builder::StyledStr;
use clap::{Arg, Command};

use crate::games::Games;
use crate::program::Program;
use crate::registry::{Catalog, Registry};

/// Returns `command`, which is written for Petteia, adapted to the running program.
pub(super) fn adapted(command: Command, games: Catalog) -> Command {
    let program = Program::current();
    let command = command.version(program.version);
    if program.is_petteia() {
        return command;
    }
    adapt(
        command.name(program.name).bin_name(program.name).about(program.about),
        &OwnNames::of(program, games),
    )
}

/// Replaces Petteia's name in the commands of a text with the name of the running program.
pub(super) fn with_own_name(text: String) -> String {
    match Program::current() {
        program if program.is_petteia() => text,
        program => text.replace("`petteia ", &format!("`{} ", program.name)),
    }
}

/// The names to replace in texts, and their replacements.
struct OwnNames {
    program: Program,
    /// Petteia's games that this program lacks, longest ids first.
    absent: Vec<String>,
    /// The game that replaces the absent games in examples.
    game: String,
}

impl OwnNames {
    fn of(program: Program, games: Catalog) -> OwnNames {
        let ids = games.ids();
        let mut absent = Games::ids();
        absent.retain(|id| !ids.contains(id));
        absent.sort_by_key(|id| std::cmp::Reverse(id.len()));
        OwnNames { program, absent, game: ids.into_iter().next().unwrap_or_default() }
    }

    fn text(&self, text: &str) -> String {
        let lines = text.split('\n').filter_map(|line| self.line(line));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Returns the line with this program's name and games; `None` for an example with a quoted text or an agent that
    /// only one game accepts.
    fn line(&self, line: &str) -> Option<String> {
        let mut own = replaced(line, "petteia", self.program.name);
        for id in &self.absent {
            let with = replaced(&own, id, &self.game);
            if with != own && (own.contains('\'') || own.contains(" perfect")) {
                return None;
            }
            own = with;
        }
        Some(own)
    }

    fn styled(&self, text: &StyledStr) -> String {
        self.text(&text.to_string())
    }
}

fn adapt(mut command: Command, names: &OwnNames) -> Command {
    if let Some(help) = command.get_after_help() {
        let help = names.styled(help);
        command = command.after_help(help);
    }
    command
        .mut_args(|argument| adapt_argument(argument, names))
        .mut_subcommands(|command| adapt(command, names))
}

fn adapt_argument(mut argument: Arg, names: &OwnNames) -> Arg {
    if let Some(help) = argument.get_help() {
        let help = names.styled(help);
        argument = argument.help(help);
    }
    if let Some(help) = argument.get_long_help() {
        let help = names.styled(help);
        argument = argument.long_help(help);
    }
    argument
}

/// Returns `line` with `old` replaced by `new` wherever it is a whole word.
fn replaced(line: &str, old: &str, new: &str) -> String {
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(old) {
        let (before, after) = (&rest[..at], &rest[at + old.len()..]);
        let last = before.chars().last().or(text.chars().last());
        // the game's name in `runs/phage` is replaced; `~/src/petteia` is a checkout and keeps its name
        let inside = is_word(last) || is_word(after.chars().next()) || before.ends_with("src/");
        text += before;
        text += if inside { old } else { new };
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_name_this_programs_games() {
        let program = Program { name: "kayles", version: "1.2.3", about: "" };
        let names =
            OwnNames { program, absent: vec!["tic-tac-toe".into(), "cage".into()], game: "nim".into() };
        let line = |text| names.line(text);
        assert_eq!(
            line("  petteia play cage --opponent runs/cage:100").unwrap(),
            "  kayles play nim --opponent runs/nim:100"
        );
        assert_eq!(line("a package of petteias").unwrap(), "a package of petteias");
        assert_eq!(line("  echo 'X.. X' | petteia analyze tic-tac-toe"), None);
        assert_eq!(line("  petteia play tic-tac-toe --opponent perfect"), None);
        assert_eq!(
            line("  petteia new hexapawn --from-checkout ~/src/petteia").unwrap(),
            "  kayles new hexapawn --from-checkout ~/src/petteia"
        );
        assert_eq!(
            names.text("Examples:\n  x 'y' tic-tac-toe\n  petteia games"),
            "Examples:\n  kayles games"
        );
    }
}
