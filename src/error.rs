//! The one error type of the library. Each message is written for people: what was wrong, where,
//! and what to do about it. The binary prints it after `error: ` and exits with [`Error::exit_code`].
//!
//! However long the text that was wrong, the message is not: [`quoted`] cuts what it repeats, and no message has more than
//! some lines of some hundred characters ([`shortened`]).

use std::borrow::Cow;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// `std::result::Result` with our [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong, by what the user can do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name, number or file of settings that the user gave is wrong.
    #[error("{}", shortened(.0))]
    Config(String),
    /// A text is not a position or action of the game.
    #[error("{}", shortened(.0))]
    Position(String),
    /// An action that the rules do not allow.
    #[error("{}", shortened(.0))]
    Illegal(String),
    /// A file belongs to another game, encoding or network.
    #[error("{}", shortened(.0))]
    Mismatch(String),
    /// A file is damaged or no file of ours.
    #[error("{}", shortened(.0))]
    Data(String),
    /// A file is whole, but belongs to another place or another run.
    #[error("{0}")]
    Foreign(String),
    /// A file or folder is not where the user says.
    #[error("{}", shortened(.0))]
    Missing(String),
    /// The operating system refused.
    #[error("{}: {source}", shortened(place))]
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
    /// An error that another [`Input`] would settle, which each program names in its own way.
    #[error("{error}")]
    About {
        /// What the user can give or change.
        input: Input,
        /// The error in words that fit any program.
        error: Box<Error>,
    },
}

/// What a user gives to a program beside the names in an error: behind a flag, in a field of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Input {
    /// A setting, `key=value`, with which the error begins.
    Setting,
    /// The options of a game.
    GameOptions,
    /// The folder of a run.
    RunFolder,
    /// That a run is resumed without what is lost.
    AcceptMissing,
    /// How many threads there are.
    Threads,
    /// The file in which a match is saved.
    MatchFile,
    /// The limit of an external program's search, with which the error begins.
    EngineLimit,
    /// The patience with an external program, with which the error begins.
    EngineTimeout,
}

/// The longest line of a message, in characters; of a longer one beginning and end are kept.
const LONGEST_LINE: usize = 600;
/// The most lines of a message.
const MOST_LINES: usize = 100;
/// The most of a user's text that is repeated.
const LONGEST_QUOTE: usize = 120;

/// A message without what nobody would read: the middle of very long lines, and the lines beyond a hundred.
pub fn shortened(message: &str) -> Cow<'_, str> {
    // as many bytes are never more characters
    if message.len() <= LONGEST_LINE {
        return Cow::Borrowed(message);
    }
    let lines: Vec<&str> = message.split('\n').collect();
    let kept = &lines[..lines.len().min(MOST_LINES)];
    if kept.len() == lines.len() && kept.iter().all(|line| line.chars().count() <= LONGEST_LINE) {
        return Cow::Borrowed(message);
    }
    let mut short: Vec<Cow<str>> = kept.iter().map(|line| cut(line, LONGEST_LINE)).collect();
    if kept.len() < lines.len() {
        short.push(format!("... and {} lines more", lines.len() - kept.len()).into());
    }
    Cow::Owned(short.join("\n"))
}

/// A user's text to repeat in a message, in backticks.
pub fn quoted(text: &str) -> String {
    format!("`{}`", shown(text))
}

/// A user's text to repeat in a message: on one line, cut if it is long.
pub fn shown(text: &str) -> String {
    let escaped = |letter: char| match letter.is_control() {
        true => letter.escape_default().to_string(),
        false => letter.to_string(),
    };
    cut(text, LONGEST_QUOTE).chars().map(escaped).collect()
}

/// At most `most` characters: two thirds of them from the beginning, the rest from the end.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most || text.chars().count() <= most {
        return Cow::Borrowed(text);
    }
    let end = most / 3;
    let behind = text.char_indices().nth(most - end - 3).map_or(text.len(), |(at, _)| at);
    let before = text.char_indices().rev().nth(end - 1).map_or(0, |(at, _)| at);
    Cow::Owned(format!("{}...{}", &text[..behind], &text[before..]))
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

    /// A text that is no position of a game: what is wrong with it, and how one is written.
    pub fn position(game: &str, text: &str, what: &str, hint: &str) -> Error {
        let what = cut(what, 2 * LONGEST_QUOTE);
        Error::Position(format!("{game} position {}: {what}; {hint}", quoted(text)))
    }

    /// Says that another `input` would settle it.
    pub fn about(self, input: Input) -> Error {
        Error::About { input, error: Box::new(self) }
    }

    /// The same kind of error in other words; an error of the system, whose words are its own, stays.
    pub fn reworded(self, text: String) -> Error {
        match self {
            Error::Config(_) => Error::Config(text),
            Error::Position(_) => Error::Position(text),
            Error::Illegal(_) => Error::Illegal(text),
            Error::Mismatch(_) => Error::Mismatch(text),
            Error::Data(_) => Error::Data(text),
            Error::Foreign(_) => Error::Foreign(text),
            Error::Missing(_) => Error::Missing(text),
            Error::About { input, error } => error.reworded(text).about(input),
            other @ (Error::Io { .. } | Error::Fault(_) | Error::Interrupted) => other,
        }
    }

    /// 2 for what the user gave wrongly, 1 for a failure.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::About { error, .. } => error.exit_code(),
            Error::Config(_) => 2,
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_keep_their_ends() {
        let line = format!("begin {} end", "é".repeat(10_000));
        let short = shortened(&line);
        assert_eq!(short.chars().count(), LONGEST_LINE);
        assert!(
            short.starts_with("begin é") && short.ends_with("é end") && short.contains("é...é"),
            "{short}"
        );
        let many = "line\n".repeat(1_000);
        assert_eq!(shortened(&many).lines().count(), MOST_LINES + 1);
        assert!(shortened(&many).ends_with("... and 901 lines more"));
        for fine in ["", "one line", &"é".repeat(LONGEST_LINE), &"line\n".repeat(MOST_LINES - 1)] {
            assert!(matches!(shortened(fine), Cow::Borrowed(text) if text == fine));
        }
        let error = Error::Data(line.clone());
        assert_eq!(error.to_string(), short);
        assert!(Error::io(&line)(std::io::ErrorKind::NotFound.into()).to_string().chars().count() < 700);
    }

    #[test]
    fn a_quote_is_short_and_on_one_line() {
        assert_eq!(quoted("Caïssa"), "`Caïssa`");
        assert_eq!(quoted("a\nb\u{1b}[0m"), "`a\\nb\\u{1b}[0m`");
        assert_eq!(quoted(&"x".repeat(1_000_000)).len(), LONGEST_QUOTE + 2);
    }
}
