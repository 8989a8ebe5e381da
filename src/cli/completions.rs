//! `petteia completions`: prints scripts that make the Tab key complete commands.

use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Command};
use clap_complete::{Shell, generate};

use super::command;
use super::config::names;
use crate::arena::spec::SHIPPED;
use crate::error::{Error, Result};
use crate::program::Program;
use crate::registry::Catalog;

/// Print a completion script for a shell.
#[derive(Args)]
#[command(after_help = "\
Examples:
  petteia completions bash > ~/.local/share/bash-completion/completions/petteia
  petteia completions zsh > ~/.zfunc/_petteia
  petteia completions fish > ~/.config/fish/completions/petteia.fish")]
pub(super) struct Completions {
    /// Shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    /// Prints the script.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        let mut script = Vec::new();
        let mut command = match self.shell {
            Shell::Bash => with_words(command(games), games),
            // in other shells, the words would be offered instead of file names, which these arguments also accept
            _ => command(games),
        };
        generate(self.shell, &mut command, Program::current().name, &mut script);
        std::io::Write::write_all(&mut std::io::stdout().lock(), &script)
            .map_err(Error::io("standard output"))
    }
}

/// Adds to the command line the words that complete its arguments: games, configs, and agents.
fn with_words(command: Command, games: Catalog) -> Command {
    // the words are leaked, because clap needs static words and the program ends soon
    let fixed =
        |words: Vec<String>| -> Vec<&'static str> { words.into_iter().map(|word| &*word.leak()).collect() };
    let (ids, configs) = (fixed(games.names()), fixed(names(games)));
    let worded = |argument: Arg| {
        let value = argument.get_value_names().and_then(|names| names.first()).map(|name| name.to_string());
        let words = match value.as_deref() {
            Some("GAME" | "RUN-OR-CHECKPOINT|GAME") => ids.clone(),
            Some("CONFIG" | "CONFIG-OR-GAME") => configs.clone(),
            Some("AGENT") => vec![SHIPPED, "random", "perfect"],
            _ => return argument,
        };
        argument.value_parser(PossibleValuesParser::new(words))
    };
    command.mut_args(worded).mut_subcommands(|command| with_words(command, games))
}
