//! The command line as one program has it: help and manual pages are written for Petteia, and other programs have
//! another name and other games.

use clap::builder::StyledStr;
use clap::{Arg, Command};

use crate::games::Games;
use crate::program::Program;
use crate::registry::Registry;

/// `command`, written for Petteia, as the command of the program that runs.
pub fn adapted<R: Registry>(command: Command) -> Command {
    let program = Program::current();
    let command = command.version(program.version);
    if program.is_petteia() {
        return command;
    }
    adapt(command.name(program.name).bin_name(program.name).about(program.about), &Names::of::<R>(program))
}

/// A text that names Petteia's program, as the program that runs would say it.
pub fn in_own_name(text: String) -> String {
    match Program::current() {
        program if program.is_petteia() => text,
        program => text.replace("`petteia ", &format!("`{} ", program.name)),
    }
}

/// What texts call things, and what they are called here.
struct Names {
    program: Program,
    /// Games of Petteia that this program lacks, the longest names first.
    absent: Vec<String>,
    /// The game that examples take instead.
    game: String,
}

impl Names {
    fn of<R: Registry>(program: Program) -> Names {
        let ids = R::ids();
        let mut absent = Games::ids();
        absent.retain(|id| !ids.contains(id));
        absent.sort_by_key(|id| std::cmp::Reverse(id.len()));
        Names { program, absent, game: ids.into_iter().next().unwrap_or_default() }
    }

    fn text(&self, text: &str) -> String {
        let lines = text.split('\n').filter_map(|line| self.line(line));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// A line with this program's name and games; none for an example whose text means something in one game only.
    fn line(&self, line: &str) -> Option<String> {
        let mut own = replaced(line, "petteia", self.program.name);
        for id in &self.absent {
            let with = replaced(&own, id, &self.game);
            if with != own && own.contains('\'') {
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

fn adapt(mut command: Command, names: &Names) -> Command {
    if let Some(help) = command.get_after_help() {
        let help = names.styled(help);
        command = command.after_help(help);
    }
    command
        .mut_args(|argument| adapt_argument(argument, names))
        .mut_subcommands(|command| adapt(command, names))
}

fn adapt_argument(mut argument: Arg, names: &Names) -> Arg {
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

/// `line` with `new` where `old` stands as a word.
fn replaced(line: &str, old: &str, new: &str) -> String {
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(old) {
        let (before, behind) = (&rest[..at], &rest[at + old.len()..]);
        let inside = is_word(before.chars().last().or(text.chars().last())) || is_word(behind.chars().next());
        text += before;
        text += if inside { old } else { new };
        rest = behind;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_name_this_programs_games() {
        let program = Program { name: "kayles", version: "1.2.3", about: "" };
        let names = Names { program, absent: vec!["tic-tac-toe".into(), "cage".into()], game: "nim".into() };
        let line = |text| names.line(text);
        assert_eq!(
            line("  petteia play cage --opponent runs/cage:100").unwrap(),
            "  kayles play nim --opponent runs/nim:100"
        );
        assert_eq!(line("a package of petteias").unwrap(), "a package of petteias");
        assert_eq!(line("  echo 'X.. X' | petteia analyze tic-tac-toe"), None);
        assert_eq!(
            names.text("Examples:\n  x 'y' tic-tac-toe\n  petteia games"),
            "Examples:\n  kayles games"
        );
    }
}
