//! The `petteia` command: Petteia's games and everything that can be done with them.

use std::process::ExitCode;

fn main() -> ExitCode {
    petteia::cli::main::<petteia::games::Games>(petteia::program!())
}
