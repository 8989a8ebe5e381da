//! Reads the Smart Game Format (FF[1] to FF[4]) and GGF: trees of nodes with properties, `(;SZ[11];B[a3];W[f6])`.
//!
//! Only the main line is read, which continues from each node with the first node that follows it. Only the properties
//! that describe the game are read: B and W; AB, AW, AE, and PL before the first action; SZ and RE; in GGF, TY and BO.
//! Nested variations take no memory.

use super::scan::Scan;
use super::{
    Color, LONGEST_VALUE, MOST_ACTIONS, Move, Notation, Said, Setup, Stone, Unread, Winner, Written,
};
use crate::error::quoted;
use crate::replay::ended::Ended;

/// The games of a text.
pub(super) struct Games<'a> {
    scan: Scan<'a>,
}

impl<'a> Games<'a> {
    pub(super) fn new(text: &'a str) -> Games<'a> {
        Games { scan: Scan::new(text) }
    }

    /// Skips text that is not a game; returns false at the end of the text.
    fn find(&mut self) -> bool {
        while let Some(next) = self.scan.next() {
            if next == '(' && self.scan.rest().trim_start().starts_with(';') {
                return true;
            }
        }
        false
    }

    /// Reads a game after its first bracket.
    fn game(&mut self) -> Result<Written, Unread> {
        let mut game = SgfGame { written: Written::new(Notation::Sgf, self.scan.line), fault: None };
        // the number of open brackets, and whether no bracket has been closed yet; nothing after the first closed
        // bracket is in the main line
        let (mut depth, mut is_main) = (1_usize, true);
        loop {
            self.scan.skip_space();
            let line = self.scan.line;
            match self.scan.peek() {
                None => return Err(Unread { line, what: "the file ends within the game".into() }),
                Some('(') => depth += 1,
                Some(')') if depth == 1 => {
                    self.scan.next();
                    return game.end();
                }
                Some(')') => (depth, is_main) = (depth - 1, false),
                Some(';') => {}
                Some(letter) if letter.is_ascii_alphabetic() => {
                    self.property(is_main.then_some(&mut game));
                    continue;
                }
                Some(other) => {
                    let what = format!("{} is not expected here", quoted(&other.to_string()));
                    game.fault.get_or_insert(Unread { line, what });
                }
            }
            self.scan.next();
        }
    }

    /// Reads a property: its name and its values in brackets.
    fn property(&mut self, mut game: Option<&mut SgfGame>) {
        let line = self.scan.line;
        // lowercase letters are only for human readers, in FF[1] to FF[3]: `Black[..]`
        let name = self.scan.while_next(|letter| letter.is_ascii_alphanumeric());
        let name: String = name.chars().filter(|letter| !letter.is_ascii_lowercase()).collect();
        let mut values = 0;
        loop {
            self.scan.skip_space();
            if !self.scan.takes('[') {
                break;
            }
            let value = self.value();
            values += 1;
            if let Some(game) = &mut game
                && let Err(what) = game.take(&name, values, value)
            {
                game.fault.get_or_insert(Unread { line, what });
            }
        }
        if let Some(game) = game.filter(|_| values == 0) {
            let what = format!("the property {} has no value", quoted(&name));
            game.fault.get_or_insert(Unread { line, what });
        }
    }

    /// Reads a value after its first bracket, up to the next closing bracket without a backslash. Only the beginning
    /// of a long value is kept.
    fn value(&mut self) -> String {
        let mut value = String::new();
        while let Some(next) = self.scan.next() {
            let kept = match next {
                ']' => break,
                // a line end after a backslash is ignored
                '\\' => match self.scan.next() {
                    Some('\r') => {
                        self.scan.takes('\n');
                        continue;
                    }
                    Some('\n') | None => continue,
                    Some(escaped) => escaped,
                },
                next => next,
            };
            if value.len() < LONGEST_VALUE {
                value.push(kept);
            }
        }
        value
    }
}

impl Iterator for Games<'_> {
    type Item = Result<Written, Unread>;

    fn next(&mut self) -> Option<Self::Item> {
        self.find().then(|| self.game())
    }
}

/// A game that is being read.
struct SgfGame {
    written: Written,
    fault: Option<Unread>,
}

impl SgfGame {
    /// Takes value `number` of a property.
    fn take(&mut self, name: &str, number: usize, value: String) -> Result<(), String> {
        let written = &mut self.written;
        let value = value.trim();
        match name {
            "B" | "W" if number == 1 => {
                // GGF adds an evaluation and a time: `F5/1.2/10`
                let text = value.split('/').next().unwrap_or_default().trim();
                written.moves.push(Move { by: Color::of(name), text: text.into() });
            }
            "AB" | "AW" | "AE" if written.moves.is_empty() => {
                let color = Color::of(&name[1..]);
                written.setup.stones.push(Stone { color, square: value.into(), is_king: false });
            }
            "AB" | "AW" | "AE" => return Err("stones are set up after the first action".into()),
            "PL" if written.moves.is_empty() => {
                let by_number = match value {
                    "1" => Some(Color::Black),
                    "2" => Some(Color::White),
                    _ => None,
                };
                let to_move = by_number.or_else(|| Color::of(value));
                written.setup.to_move =
                    Some(to_move.ok_or_else(|| format!("PL: {} is not a color", quoted(value)))?);
            }
            "SZ" => {
                written.board =
                    Some(size(value).ok_or_else(|| format!("SZ: {} is not a size", quoted(value)))?)
            }
            "TY" => written.board = size(value.trim_matches(|sign: char| !sign.is_ascii_digit())),
            "BO" => board(written, value)?,
            "RE" => written.said = result(value),
            _ => {}
        }
        if written.moves.len().max(written.setup.stones.len()) > MOST_ACTIONS {
            // the rest of the game is skipped
            written.moves.clear();
            written.setup.stones.clear();
            Err(format!("it has more than {MOST_ACTIONS} actions or stones"))
        } else {
            Ok(())
        }
    }

    fn end(self) -> Result<Written, Unread> {
        match self.fault {
            Some(fault) => Err(fault),
            None => Ok(self.written),
        }
    }
}

/// Parses columns and rows: `11`, or `13:9`.
fn size(value: &str) -> Option<[usize; 2]> {
    let number = |text: &str| text.trim().parse().ok();
    match value.split_once(':') {
        Some((columns, rows)) => Some([number(columns)?, number(rows)?]),
        None => number(value).map(|size| [size, size]),
    }
}

/// Reads a board in GGF: its size, all its squares row by row from a1, and the side to move.
fn board(written: &mut Written, value: &str) -> Result<(), String> {
    let fault = || format!("BO: {} is not a board", quoted(value));
    let mut words = value.split_whitespace();
    let size: usize = words
        .next()
        .and_then(|size| size.parse().ok())
        .filter(|size| (1..=26).contains(size))
        .ok_or_else(fault)?;
    let signs: Vec<char> = words.flat_map(str::chars).collect();
    let color = |sign: char| match sign {
        '*' => Some(Color::Black),
        'O' => Some(Color::White),
        _ => None,
    };
    if signs.len() != size * size + 1 {
        return Err(fault());
    }
    let squares = signs[..size * size].iter().enumerate().filter(|(_, sign)| color(**sign).is_some());
    let stones = squares.map(|(square, sign)| Stone {
        color: color(*sign),
        square: crate::board::square_text(square, size),
        is_king: false,
    });
    written.board = Some([size, size]);
    written.setup = Setup { stones: stones.collect(), to_move: color(signs[size * size]), is_whole: true };
    Ok(())
}

/// Parses a result: `B+R`, `W+Time`, `B+12`, `Draw`, `0`, or, in GGF, Black's lead: `-12.0`, `+64.0:r`. Returns `None`
/// if the text gives no result or states that there is none (`?`, `Void`).
pub(super) fn result(value: &str) -> Option<Said> {
    let value = value.trim().to_lowercase();
    if let Some((winner, how)) = value.split_once('+').filter(|(winner, _)| !winner.is_empty()) {
        let winner =
            Winner::Of(Color::of(winner).filter(|_| ["b", "w", "black", "white"].contains(&winner))?);
        return Some(Said { winner, ended: ended(how) });
    }
    let (score, how) = value.split_once(':').unwrap_or((&value, ""));
    if ["draw", "jigo", "drawn"].contains(&score) {
        return Some(Said { winner: Winner::Nobody, ended: ended(how) });
    }
    let score: f64 = score.parse().ok().filter(|score: &f64| score.is_finite())?;
    let winner = match score {
        score if score > 0.0 => Winner::Of(Color::Black),
        score if score < 0.0 => Winner::Of(Color::White),
        _ => Winner::Nobody,
    };
    Some(Said { winner, ended: ended(how) })
}

/// Parses how a game ended: `R`, `Resign`, `T`, `Time`, `F`, `Forfeit`; `None` for a score.
fn ended(how: &str) -> Option<Ended> {
    match how.trim().chars().next()? {
        'r' => Some(Ended::Resigned),
        't' => Some(Ended::Time),
        'f' => Some(Ended::Adjudicated),
        _ => None,
    }
}
