//! Reads recorded games in PDN, in SGF (with its dialect GGF), and as plain lists of actions.
//!
//! Input: the text of a file from any source. Output: the [games](Written) in it, which are [read](fn@read) one after
//! another and not yet checked. The rules then give [what was played](playing::replay) or [why a game is
//! refused](Refused). The notations do not know the rules of any game: what a file's squares mean follows from the
//! game's board and the texts of its actions.

mod board;
mod lines;
mod pdn;
pub mod playing;
mod scan;
mod sgf;

use std::path::Path;

use crate::replay::ended::Ended;

pub(crate) use self::lines::Line;
pub use self::playing::{Reason, Refused, Replayed, played, replay};

/// The largest number of actions in a game, and of stones that are set up before it. A text with more is not accepted
/// as a game.
pub const MOST_ACTIONS: usize = 10_000;
/// The largest number of bytes in a file of games.
pub const MOST_BYTES: u64 = 256 << 20;
/// The largest number of bytes that are kept of one value in a file, such as a position or a result.
const LONGEST_VALUE: usize = 4096;

/// A way of writing games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// Portable Draughts Notation, which numbers squares, and PGN, which names them.
    Pdn,
    /// The Smart Game Format, and the Generic Game Format of the GGS server, which is written in the same way.
    Sgf,
    /// One game per line: its actions, with or without spaces (`F5D6C3`), and its result.
    Lines,
}

impl Notation {
    /// All notations.
    pub const ALL: [Notation; 3] = [Notation::Pdn, Notation::Sgf, Notation::Lines];

    /// Returns `"pdn"`, `"sgf"`, or `"lines"`.
    pub fn id(self) -> &'static str {
        match self {
            Notation::Pdn => "pdn",
            Notation::Sgf => "sgf",
            Notation::Lines => "lines",
        }
    }

    /// Returns the notation of a file according to the suffix of its name; `Lines` for all other suffixes.
    pub fn of(path: &Path) -> Notation {
        let end = path.extension().map(|end| end.to_string_lossy().to_lowercase());
        match end.as_deref() {
            Some("pdn" | "pgn") => Notation::Pdn,
            Some("sgf" | "ggf") => Notation::Sgf,
            _ => Notation::Lines,
        }
    }
}

/// The colors of the players in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names explain themselves")]
pub enum Color {
    Black,
    White,
}

impl Color {
    /// Returns the color whose letter the word begins with.
    fn of(word: &str) -> Option<Color> {
        match word.trim().chars().next()?.to_ascii_lowercase() {
            'b' => Some(Color::Black),
            'w' => Some(Color::White),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Color::Black => "Black",
            Color::White => "White",
        }
    }
}

/// The winner, as the file gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Winner {
    /// The player of this color.
    Of(Color),
    /// The player who acted first.
    First,
    /// The other player.
    Second,
    /// Nobody: a draw.
    Nobody,
}

/// The result that a file gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// The winner.
    pub winner: Winner,
    /// How the game ended, if the file says so.
    pub ended: Option<Ended>,
}

/// An action as written in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The color that acts, if the file says so.
    pub by: Option<Color>,
    /// The text of the action.
    pub text: String,
}

/// A stone or piece that is on the board before the game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stone {
    /// The stone's owner; `None` if a square is made empty.
    pub color: Option<Color>,
    /// The stone's square as written; in SGF it may be a rectangle.
    pub square: String,
    /// Whether it is a king.
    pub is_king: bool,
}

/// The position in which a game begins, if it is not the usual one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// The stones on the board.
    pub stones: Vec<Stone>,
    /// The color to move.
    pub to_move: Option<Color>,
    /// Whether the stones are the whole position, on an otherwise empty board.
    pub is_whole: bool,
}

/// A game as written, not yet checked by any rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The notation, which determines how squares are named.
    pub notation: Notation,
    /// The line where the game begins, from 1.
    pub line: usize,
    /// The columns and rows of the board, if the file gives them.
    pub board: Option<[usize; 2]>,
    /// The start position, if it is not the usual one.
    pub setup: Setup,
    /// The text of the start position in the game's own notation, if the file gives it.
    pub start: Option<String>,
    /// The actions.
    pub moves: Vec<Move>,
    /// The result.
    pub said: Option<Said>,
    /// The color that begins, if the file says so.
    pub begins: Option<Color>,
}

impl Written {
    fn new(notation: Notation, line: usize) -> Written {
        Written {
            notation,
            line,
            board: None,
            setup: Setup::default(),
            start: None,
            moves: Vec::new(),
            said: None,
            begins: None,
        }
    }
}

/// A game that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The line of the fault, from 1.
    pub line: usize,
    /// The fault, in words.
    pub what: String,
}

/// Returns the games of a text in order. After a game that cannot be read, reading continues with the next one.
///
/// ```
/// use petteia::notation::{Notation, read};
///
/// let text = "(;GM[2]SZ[8];B[fe];W[fd](;B[ed];W[dc])(;B[cc]))";
/// let games: Vec<_> = read(Notation::Sgf, text).collect();
/// // variations are left out
/// let moves = &games[0].as_ref().expect("a game").moves;
/// let actions: Vec<&str> = moves.iter().map(|action| action.text.as_str()).collect();
/// assert_eq!(actions, ["fe", "fd", "ed", "dc"]);
/// ```
pub fn read(notation: Notation, text: &str) -> Box<dyn Iterator<Item = Result<Written, Unread>> + '_> {
    match notation {
        Notation::Pdn => Box::new(pdn::Games::new(text)),
        Notation::Sgf => Box::new(sgf::Games::new(text)),
        Notation::Lines => Box::new(lines::games(text)),
    }
}
