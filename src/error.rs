//! The one error type of the library. Each message is written for people: what was wrong, where,
//! and what to do about it. The binary prints it after `error: ` and exits with [`Error::exit_code`].

use std::path::Path;

use serde::{Deserialize, Serialize};

/// `std::result::Result` with our [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong, by what the user can do about it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name, number or file of settings that the user gave is wrong.
    #[error("{0}")]
    Config(String),
    /// A text is not a position or action of the game.
    #[error("{0}")]
    Position(String),
    /// An action that the rules do not allow.
    #[error("{0}")]
    Illegal(String),
    /// A file belongs to another game, encoding or network.
    #[error("{0}")]
    Mismatch(String),
    /// A file is damaged or no file of ours.
    #[error("{0}")]
    Data(String),
    /// A file is whole, but belongs to another place or another run.
    #[error("{0}")]
    Foreign(String),
    /// A file or folder is not where the user says.
    #[error("{0}")]
    Missing(String),
    /// The operating system refused.
    #[error("{place}: {source}")]
    Io {
        /// The path.
        place: String,
        /// The system's own error.
        source: std::io::Error,
    },
    /// An external program did not play by the protocol; whoever plays a match counts it as a lost game.
    #[error("the program that plays {0}")]
    Fault(Fault),
    /// The work was interrupted by the user; what was finished is saved.
    #[error("interrupted")]
    Interrupted,
}

/// What an external program did wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "lowercase")]
pub enum Fault {
    /// It ended or closed its output.
    #[error("crashed")]
    Crashed,
    /// It did not answer in time.
    #[error("was too slow")]
    Slow,
    /// It answered something that is no legal action.
    #[error("gave an illegal answer")]
    Illegal,
    /// It wrote more than one answer may have.
    #[error("wrote too much")]
    Flooded,
}

impl Error {
    /// Names the path in an I/O error: `fs::read(p).map_err(Error::io(p))`.
    pub fn io(path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Error {
        let place = path.as_ref().display().to_string();
        move |source| Error::Io { place, source }
    }

    /// 2 for what the user gave wrongly, 1 for a failure.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Config(_) => 2,
            _ => 1,
        }
    }
}
