//! The error type of the whole library. Each message is written for people and says what was wrong, where, and what to
//! do about it. The binary prints it after `error: ` and exits with [`Error::exit_code`].
//!
//! Messages stay short, no matter how long the faulty text is: [`quoted`] truncates the text that it repeats, and
//! [`shortened`] limits the number and the length of the lines.

use std::borrow::Cow;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// `std::result::Result` with [`Error`] as its error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any error of the library; the variants differ in what the user can do about the problem.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The user gave a wrong name, number or settings file.
    #[error("{}", shortened(.0))]
    Config(String),
    /// A text is not a valid position or action of the game.
    #[error("{}", shortened(.0))]
    Position(String),
    /// The rules do not allow an action.
    #[error("{}", shortened(.0))]
    Illegal(String),
    /// A file belongs to another game, encoding or network.
    #[error("{}", shortened(.0))]
    Mismatch(String),
    /// A file is damaged or is not a Petteia file.
    #[error("{}", shortened(.0))]
    Data(String),
    /// A file is intact but belongs in another place or to another run.
    #[error("{0}")]
    Foreign(String),
    /// A file or folder does not exist at the given path.
    #[error("{}", shortened(.0))]
    Missing(String),
    /// The operating system reported an error.
    #[error("{}: {source}", shortened(place))]
    Io {
        /// The path or other place where the error occurred.
        place: String,
        /// The error that the system reported.
        source: std::io::Error,
    },
    /// An external program violated the protocol; in a match this forfeits the game.
    #[error("the program that plays {0}")]
    Fault(Fault),
    /// The user interrupted the work. Finished parts are saved.
    #[error("interrupted")]
    Interrupted,
    /// An error that a different [`Input`] would resolve. Each program has its own names for inputs.
    #[error("{error}")]
    About {
        /// The input that the user can give or change.
        input: Input,
        /// The error, worded so that it fits any program.
        error: Box<Error>,
    },
}

/// A user's input to a program: the value of a command-line flag or of a field in a form, for example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Input {
    /// A setting, `key=value`; the error begins with it.
    Setting,
    /// The options of a game.
    GameOptions,
    /// The folder of a run.
    RunFolder,
    /// The settings of an existing run. Different settings need another folder.
    RunSettings,
    /// The settings of an existing run, which may be extended to this many generations.
    RunLength(usize),
    /// Permission to resume a run without its missing files.
    AcceptMissing,
    /// The device of an existing run. Only a copy of the run can continue on another device.
    RunDevice,
    /// The number of threads.
    Threads,
    /// The file to which a match is saved.
    MatchFile,
    /// The limit of an external program's search; the error begins with it.
    EngineLimit,
    /// The timeout of an external program; the error begins with it.
    EngineTimeout,
}

/// The maximum length of a line of a message, in characters; longer lines keep only their beginning and end.
const LONGEST_LINE: usize = 600;
/// The maximum number of lines in a message.
const MOST_LINES: usize = 100;
/// The maximum length of a user's text when it is repeated, in characters.
const LONGEST_QUOTE: usize = 120;

/// Spellings that sound alike, so that `connect4` is near `connect-four`, and `fage` near `phage`.
const SPELLINGS: [(&str, &str); 5] =
    [("ph", "f"), ("2", "two"), ("3", "three"), ("4", "four"), ("5", "five")];

/// Returns the message without the middle of very long lines, and without any lines after the first hundred.
pub fn shortened(message: &str) -> Cow<'_, str> {
    // a text never has more characters than bytes, so this check is sufficient and quick
    if message.len() <= LONGEST_LINE {
        return Cow::Borrowed(message);
    }
    let lines: Vec<&str> = message.split('\n').collect();
    let start = &lines[..lines.len().min(MOST_LINES)];
    if start.len() == lines.len() && start.iter().all(|line| line.chars().count() <= LONGEST_LINE) {
        return Cow::Borrowed(message);
    }
    let mut short: Vec<Cow<str>> = start.iter().map(|line| cut(line, LONGEST_LINE)).collect();
    if start.len() < lines.len() {
        short.push(format!("... and {} more lines", lines.len() - start.len()).into());
    }
    Cow::Owned(short.join("\n"))
}

/// Returns a user's text for a message, in backticks.
pub fn quoted(text: &str) -> String {
    format!("`{}`", shown(text))
}

/// Returns a word of a command, quoted if a shell would not take it literally.
pub fn shell_word(word: &str) -> Cow<'_, str> {
    shlex::try_quote(word).unwrap_or(Cow::Borrowed(word))
}

/// Returns a user's text for a message: on one line, truncated if it is long.
pub fn shown(text: &str) -> String {
    let escape = |letter: char| {
        if letter.is_control() { letter.escape_default().to_string() } else { letter.to_string() }
    };
    cut(text, LONGEST_QUOTE).chars().map(escape).collect()
}

/// Returns `; did you mean ...?` with the name in `names` that a user most likely meant by `text`, or an empty text if
/// no name is close.
pub fn did_you_mean<'a>(text: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(text, names).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// Returns the name in `names` that a user most likely meant by `text`, which is the first of the closest names, or
/// `None` if no name is close.
pub fn nearest<'a>(text: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let sound =
        |text: &str| SPELLINGS.iter().fold(plain(text), |text, (one, other)| text.replace(one, other));
    if text.is_empty() || text.len() > LONGEST_QUOTE {
        return None;
    }
    let (text, text_sound) = (plain(text), sound(text));
    let errors = |name: &str| match plain(name) {
        name if name == text || sound(&name) == text_sound => 0,
        name if name.starts_with(&text) => 1,
        name if text.starts_with(&name) => 2,
        name => 2 + strsim::damerau_levenshtein(&name, &text),
    };
    // one letter in three may be wrong, plus two more
    let limit = 2 + text.len().div_ceil(3);
    let close = names.into_iter().map(|name| (errors(name), name)).filter(|(errors, _)| *errors <= limit);
    close.min_by_key(|(errors, _)| *errors).map(|(_, name)| name)
}

/// Returns the text or, if it is longer than `limit` characters, `limit` of them: two thirds from the beginning and the
/// rest from the end.
fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit || text.chars().count() <= limit {
        return Cow::Borrowed(text);
    }
    let end = limit / 3;
    let head = text.char_indices().nth(limit - end - 3).map_or(text.len(), |(at, _)| at);
    let tail = text.char_indices().rev().nth(end - 1).map_or(0, |(at, _)| at);
    Cow::Owned(format!("{}...{}", &text[..head], &text[tail..]))
}

/// A fault of an external program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "lowercase")]
pub enum Fault {
    /// The program exited or closed its output.
    #[error("crashed")]
    Crashed,
    /// The program did not answer in time.
    #[error("was too slow")]
    Slow,
    /// The program's answer was not a legal action.
    #[error("gave an illegal answer")]
    Illegal,
    /// The program's answer was too long.
    #[error("wrote too much")]
    Flooded,
}

impl Error {
    /// Adds the path to an I/O error: `fs::read(p).map_err(Error::io(p))`.
    pub fn io(path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Error {
        let place = path.as_ref().display().to_string();
        move |source| Error::Io { place, source }
    }

    /// Returns the error for a text that is not a position of a game. It says what is wrong with the text and how to
    /// write a position.
    pub fn position(game: &str, text: &str, what: &str, hint: &str) -> Error {
        let what = cut(what, 2 * LONGEST_QUOTE);
        Error::Position(format!("{game} position {}: {what}; {hint}", quoted(text)))
    }

    /// Adds to the error that a different `input` would resolve it.
    pub fn about(self, input: Input) -> Error {
        Error::About { input, error: Box::new(self) }
    }

    /// Replaces the message. System errors, faults, and interruptions are returned unchanged.
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

    /// Returns 2 for incorrect input by the user and 1 for a failure.
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
        assert!(shortened(&many).ends_with("... and 901 more lines"));
        for fine in ["", "one line", &"é".repeat(LONGEST_LINE), &"line\n".repeat(MOST_LINES - 1)] {
            assert!(matches!(shortened(fine), Cow::Borrowed(text) if text == fine));
        }
        let error = Error::Data(line.clone());
        assert_eq!(error.to_string(), short);
        assert!(Error::io(&line)(std::io::ErrorKind::NotFound.into()).to_string().chars().count() < 700);
    }

    #[test]
    fn misspelled_names_are_recognized() {
        let known = ["phage", "tic-tac-toe", "cage", "perfect", "train", "connect-four"];
        for (text, meant) in [
            ("phag", "phage"),
            ("fage", "phage"),
            ("gage", "cage"),
            ("TicTacToe", "tic-tac-toe"),
            ("tic", "tic-tac-toe"),
            ("perfct", "perfect"),
            ("perfekt", "perfect"),
            ("training", "train"),
            ("connect4", "connect-four"),
        ] {
            assert_eq!(nearest(text, known), Some(meant), "{text}");
        }
        for text in ["", "chess", "x", "nobody", &"phage".repeat(1000)] {
            assert_eq!(nearest(text, known), None, "{text}");
        }
        assert_eq!(did_you_mean("phag", known), "; did you mean `phage`?");
        assert_eq!(did_you_mean("chess", known), "");
    }

    #[test]
    fn a_quote_is_short_and_on_one_line() {
        assert_eq!(quoted("Caïssa"), "`Caïssa`");
        assert_eq!(quoted("a\nb\u{1b}[0m"), "`a\\nb\\u{1b}[0m`");
        assert_eq!(quoted(&"x".repeat(1_000_000)).len(), LONGEST_QUOTE + 2);
    }
}
