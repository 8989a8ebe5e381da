//! The `breakthrough` command: training, matches, play, analysis and bots for Breakthrough.

use std::process::ExitCode;

fn main() -> ExitCode {
    petteia::cli::main::<breakthrough::Games>(petteia::program!())
}
