//! The `petteia` command: parse, run, print the error.

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use petteia::cli;
use petteia::error::Error;

fn main() -> ExitCode {
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        // whoever read our output has had enough
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let style = anstyle::AnsiColor::Red.on_default().bold();
            // nobody may be left to read it
            let _ = writeln!(anstream::stderr(), "{style}error:{style:#} {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
