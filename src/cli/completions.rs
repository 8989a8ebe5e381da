//! `petteia completions`: scripts that let the Tab key complete commands.

use clap::Args;
use clap_complete::{Shell, generate};

use super::command;
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
pub struct Completions {
    /// Shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    /// Prints the script.
    pub fn run(self, games: Catalog) -> Result<()> {
        let mut script = Vec::new();
        generate(self.shell, &mut command(games), Program::current().name, &mut script);
        std::io::Write::write_all(&mut std::io::stdout().lock(), &script)
            .map_err(Error::io("standard output"))
    }
}
