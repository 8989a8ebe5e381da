//! Games that people wrote down: readers of PDN, SGF (with the dialect GGF) and plain lists of actions.
//!
//! Input: the text of a file, from anywhere. Output: the [games](Written) in it, as they are [read](fn@read), one after the
//! other, none of them believed; then, by the rules, [what was played](playing::replay), or [why not](Refused). No
//! notation knows a game: what a square of a file is in a game follows from the game's board and the texts of its actions.

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

/// The most actions of a game, and of stones set up before it: a text with more is no game.
pub const MOST_ACTIONS: usize = 10_000;
/// The most bytes of a file of games.
pub const MOST_BYTES: u64 = 256 << 20;
/// The most bytes that are kept of one value of a file: a position, a result.
const LONGEST_VALUE: usize = 4096;

/// How games are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// Portable Draughts Notation, by the numbers of squares, and PGN, by their names.
    Pdn,
    /// The Smart Game Format, and the Generic Game Format of the GGS server, which is written alike.
    Sgf,
    /// A game in each line: its actions, with spaces or without (`F5D6C3`), and its result.
    Lines,
}

impl Notation {
    /// All notations.
    pub const ALL: [Notation; 3] = [Notation::Pdn, Notation::Sgf, Notation::Lines];

    /// `"pdn"`, `"sgf"` or `"lines"`.
    pub fn id(self) -> &'static str {
        match self {
            Notation::Pdn => "pdn",
            Notation::Sgf => "sgf",
            Notation::Lines => "lines",
        }
    }

    /// The notation of a file, by the end of its name: lines unless it says otherwise.
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
#[expect(missing_docs, reason = "the names say it")]
pub enum Color {
    Black,
    White,
}

impl Color {
    /// The color of a word that begins with its letter.
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

/// Who won, as a file says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Winner {
    /// The player of this color.
    Of(Color),
    /// Who acted first.
    First,
    /// The other one.
    Second,
    /// Nobody.
    Nobody,
}

/// The result that a file gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// Who won.
    pub winner: Winner,
    /// How, if it says so.
    pub ended: Option<Ended>,
}

/// An action as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Who acts, where the file says so.
    pub by: Option<Color>,
    /// What is written.
    pub text: String,
}

/// A stone or piece that is there before the game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stone {
    /// Whose it is; `None` if a square is made empty.
    pub color: Option<Color>,
    /// Its square, as it is written; in SGF maybe a rectangle.
    pub square: String,
    /// Whether it is a king.
    pub is_king: bool,
}

/// The position in which a game begins, if it is not the usual one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// What is on the board.
    pub stones: Vec<Stone>,
    /// Who is to move.
    pub to_move: Option<Color>,
    /// Whether the board is empty but for these stones.
    pub is_whole: bool,
}

/// A game as it is written, not yet checked by any rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// How its squares are named.
    pub notation: Notation,
    /// The line where it begins, from 1.
    pub line: usize,
    /// Columns and rows of its board, if the file says so.
    pub board: Option<[usize; 2]>,
    /// Where it begins, if not in the usual position.
    pub setup: Setup,
    /// The text of a position where it begins, in the game's own words.
    pub start: Option<String>,
    /// Its actions.
    pub moves: Vec<Move>,
    /// Its result.
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
    /// The line of what is wrong, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

/// The games of a text, in their order. After one that cannot be read, it goes on with the next.
///
/// ```
/// use petteia::notation::{Notation, read};
///
/// let text = "(;GM[2]SZ[8];B[fe];W[fd](;B[ed];W[dc])(;B[cc]))";
/// let games: Vec<_> = read(Notation::Sgf, text).collect();
/// // variations are left out
/// let actions: Vec<&str> = games[0].as_ref().expect("a game").moves.iter().map(|action| action.text.as_str()).collect();
/// assert_eq!(actions, ["fe", "fd", "ed", "dc"]);
/// ```
pub fn read(notation: Notation, text: &str) -> Box<dyn Iterator<Item = Result<Written, Unread>> + '_> {
    match notation {
        Notation::Pdn => Box::new(pdn::Games::new(text)),
        Notation::Sgf => Box::new(sgf::Games::new(text)),
        Notation::Lines => Box::new(lines::games(text)),
    }
}
