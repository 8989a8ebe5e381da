//! The program that runs: what it is called in manifests, exports, protocols and messages.
//!
//! A program with games of its own declares itself at its start (`cli::main` does it); whoever uses the library alone
//! is called petteia.

use std::fmt::{self, Display, Formatter};
use std::sync::OnceLock;

static PROGRAM: OnceLock<Program> = OnceLock::new();

const PETTEIA: Program = crate::program!();

/// Name and version of a program; [`program!`](crate::program!) makes that of the crate at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// What a user types.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
}

/// The [`Program`](crate::program::Program) of the crate in which this stands: its binary's name, version and description.
#[macro_export]
macro_rules! program {
    () => {
        $crate::program::Program {
            name: match option_env!("CARGO_BIN_NAME") {
                Some(name) => name,
                None => env!("CARGO_PKG_NAME"),
            },
            version: env!("CARGO_PKG_VERSION"),
            about: env!("CARGO_PKG_DESCRIPTION"),
        }
    };
}

impl Program {
    /// The program that runs.
    pub fn current() -> Program {
        *PROGRAM.get().unwrap_or(&PETTEIA)
    }

    /// Says what runs, once and before anything asks; later calls change nothing.
    pub fn declare(self) {
        let _ = PROGRAM.set(self);
    }

    /// Whether this is Petteia's own program.
    pub fn is_petteia(&self) -> bool {
        self.name == PETTEIA.name
    }
}

/// Name and version, and whose engine it is: `petteia 0.1.0`, `kayles 1.2.0 (petteia 0.1.0)`.
impl Display for Program {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)?;
        if self.is_petteia() { Ok(()) } else { write!(f, " ({} {})", PETTEIA.name, PETTEIA.version) }
    }
}
