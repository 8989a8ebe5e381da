//! The running program, whose name appears in manifests, exports, protocols, and messages.
//!
//! A program with its own games declares itself at startup, as `cli::main` does. If only the library is used, the name
//! is `petteia`.

use std::fmt::{self, Display, Formatter};
use std::sync::OnceLock;

static PROGRAM: OnceLock<Program> = OnceLock::new();

const PETTEIA: Program = crate::program!();

/// The name and version of a program. [`program!`](crate::program!) fills in those of the calling crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program {
    /// The command that a user types.
    pub name: &'static str,
    /// The version of the program.
    pub version: &'static str,
    /// A one-line description of the program.
    pub about: &'static str,
}

/// Makes the [`Program`](crate::program::Program) of the calling crate, with its binary's name, version, and
/// description.
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
    /// Returns the running program.
    pub fn current() -> Program {
        *PROGRAM.get().unwrap_or(&PETTEIA)
    }

    /// Declares the running program. Call it once, before [`Program::current`]; later calls have no effect.
    pub fn declare(self) {
        let _ = PROGRAM.set(self);
    }

    /// Returns the name as a title: `Petteia`.
    pub fn title(&self) -> String {
        let mut title = self.name.to_string();
        if let Some(first) = title.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        title
    }

    /// Returns whether this is Petteia's own program.
    pub fn is_petteia(&self) -> bool {
        self.name == PETTEIA.name
    }
}

/// Writes the name and version and, for other programs, also those of Petteia: `petteia 0.1.0`, `kayles 1.2.0 (petteia
/// 0.1.0)`.
impl Display for Program {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        write!(f, "{} {}", self.name, self.version)?;
        if self.is_petteia() { Ok(()) } else { write!(f, " ({} {})", PETTEIA.name, PETTEIA.version) }
    }
}
