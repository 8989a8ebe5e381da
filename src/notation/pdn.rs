//! Reads Portable Draughts Notation: tags in brackets, then actions with the numbers of squares, as in `1. 11-15 23-18
//! 2. 8-11`. With names of squares instead of numbers, as in `1. F5 D6`, this is PGN for games in which stones are
//! placed.
//!
//! Comments, variations, marks (`$1`, `!`), and clocks are ignored. A result ends a game; in files without results,
//! the next game begins with its tags.

use super::scan::Scan;
use super::{
    Color, LONGEST_VALUE, MOST_ACTIONS, Move, Notation, Said, Setup, Stone, Unread, Winner, Written,
};
use crate::error::quoted;
use crate::replay::ended::Ended;

/// The characters between the squares of an action.
pub(super) const SEPARATORS: [char; 4] = ['-', 'x', 'X', ':'];
/// The characters after an action that comment on it.
const MARKS: [char; 4] = ['!', '?', '*', '+'];

/// The games of a text.
pub(super) struct Games<'a> {
    scan: Scan<'a>,
}

/// A game that is being read.
struct PdnGame {
    written: Written,
    /// The result given by a tag.
    tagged: Option<Said>,
    has_result: bool,
    ended: Option<Ended>,
    fault: Option<Unread>,
    is_empty: bool,
    /// Whether the last action continues after a space, as in `5x 14`.
    is_open: bool,
}

impl<'a> Games<'a> {
    pub(super) fn new(text: &'a str) -> Games<'a> {
        Games { scan: Scan::new(text) }
    }

    fn game(&mut self) -> Option<Result<Written, Unread>> {
        self.scan.skip_space();
        let mut game = PdnGame {
            written: Written::new(Notation::Pdn, self.scan.line),
            tagged: None,
            has_result: false,
            ended: None,
            fault: None,
            is_empty: true,
            is_open: false,
        };
        loop {
            self.scan.skip_space();
            let line = self.scan.line;
            let Some(next) = self.scan.peek() else { return game.end() };
            let part = match next {
                // the tags of the next game
                '[' if !game.written.moves.is_empty() || game.has_result => return game.end(),
                '[' => self.tag().and_then(|(name, value)| game.tag(&name, &value)),
                '{' => self.comment(),
                ';' => {
                    self.scan.while_next(|letter| letter != '\n');
                    Ok(())
                }
                '(' => self.variation(),
                '$' => {
                    self.scan.next();
                    self.scan.while_next(|letter| letter.is_ascii_digit());
                    Ok(())
                }
                ')' | '}' | ']' => {
                    self.scan.next();
                    Err(format!("`{next}` has no opening bracket"))
                }
                _ => {
                    let word = self
                        .scan
                        .while_next(|letter| !letter.is_whitespace() && !"[]{}();$".contains(letter));
                    match game.word(word) {
                        Ok(true) => return game.end(),
                        Ok(false) => Ok(()),
                        Err(what) => Err(what),
                    }
                }
            };
            game.is_empty = false;
            if let Err(what) = part {
                game.fault.get_or_insert(Unread { line, what });
            }
        }
    }

    /// Reads a tag: `[Name "value"]`.
    fn tag(&mut self) -> Result<(String, String), String> {
        self.scan.next();
        self.scan.skip_space();
        let name = self.scan.while_next(|letter| letter.is_alphanumeric() || letter == '_').to_string();
        self.scan.while_next(|letter| letter.is_whitespace() && letter != '\n');
        let fault = format!("the tag {} is not written as [Name \"value\"]", quoted(&name));
        if !self.scan.takes('"') {
            self.scan.while_next(|letter| letter != ']' && letter != '\n');
            self.scan.takes(']');
            return Err(fault);
        }
        let mut value = String::new();
        loop {
            let next = match self.scan.next() {
                None | Some('\n') => return Err(fault),
                Some('"') => break,
                Some('\\') if self.scan.peek().is_some_and(|next| "\"\\".contains(next)) => self.scan.next(),
                next => next,
            };
            value.extend(next.filter(|_| value.len() < LONGEST_VALUE));
        }
        self.scan.while_next(|letter| letter != ']' && letter != '\n');
        if self.scan.takes(']') { Ok((name, value)) } else { Err(fault) }
    }

    fn comment(&mut self) -> Result<(), String> {
        self.scan.while_next(|letter| letter != '}');
        if self.scan.takes('}') { Ok(()) } else { Err("the file ends within a comment".into()) }
    }

    /// Skips a variation and everything nested in it.
    fn variation(&mut self) -> Result<(), String> {
        let mut depth = 0_usize;
        loop {
            match self.scan.peek() {
                None => return Err("the file ends within a variation".into()),
                Some('{') => {
                    self.comment()?;
                    continue;
                }
                Some('(') => depth += 1,
                Some(')') => depth -= 1,
                _ => {}
            }
            self.scan.next();
            if depth == 0 {
                return Ok(());
            }
        }
    }
}

impl Iterator for Games<'_> {
    type Item = Result<Written, Unread>;

    fn next(&mut self) -> Option<Self::Item> {
        self.game()
    }
}

impl PdnGame {
    fn tag(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name.to_ascii_lowercase().as_str() {
            "fen" => self.written.setup = position(value)?,
            "result" => self.tagged = result(value),
            // `21,B,8,8,N1,0`: the kind, the color that begins, columns, rows, and the naming of squares
            "gametype" => {
                let parts: Vec<&str> = value.split(',').map(str::trim).collect();
                self.written.begins = parts.get(1).and_then(|word| Color::of(word));
                let number = |at: usize| parts.get(at).and_then(|text| text.parse().ok());
                self.written.board = number(2).zip(number(3)).map(|(columns, rows)| [columns, rows]);
            }
            "termination" => self.ended = ended(value),
            _ => {}
        }
        Ok(())
    }

    /// Takes a word among the actions; returns true if it is the result, which ends the game.
    fn word(&mut self, word: &str) -> Result<bool, String> {
        // a mark for the previous action, from which it may be separated by a space
        if word.chars().all(|letter| MARKS.contains(&letter)) && word != "*" {
            return Ok(false);
        }
        if word == "*" || result(word).is_some() {
            self.has_result = true;
            self.written.said = result(word);
            return Ok(true);
        }
        // `12.` or `12...`, which the action may follow without a space
        let number = word.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let word = if number.starts_with('.') && number.len() < word.len() {
            number.trim_start_matches('.')
        } else {
            word
        };
        let word = word.trim_end_matches(MARKS);
        if word.is_empty() {
            return Ok(false);
        }
        let is_open = word.ends_with(SEPARATORS);
        let goes_on = self.is_open || word.starts_with(SEPARATORS);
        self.is_open = is_open;
        match self.written.moves.last_mut().filter(|_| goes_on) {
            Some(last) => last.text.push_str(word),
            None => self.written.moves.push(Move { by: None, text: word.into() }),
        }
        let last = self.written.moves.last().map_or("", |last| &last.text);
        let is_action = last.trim_end_matches(SEPARATORS).split(SEPARATORS).all(is_square);
        if !is_action || last.len() > LONGEST_VALUE {
            let what = format!("{} is not an action", quoted(last));
            self.written.moves.pop();
            return Err(what);
        }
        if self.written.moves.len() > MOST_ACTIONS {
            self.written.moves.truncate(1);
            return Err(format!("it has more than {MOST_ACTIONS} actions"));
        }
        Ok(false)
    }

    fn end(mut self) -> Option<Result<Written, Unread>> {
        if self.is_empty && !self.has_result {
            return None;
        }
        if let Some(fault) = self.fault {
            return Some(Err(fault));
        }
        // the tag takes precedence, since programs fill it in, while the word after the actions may only mark their end
        let result = self.tagged.or(self.written.said);
        self.written.said = result.map(|result| Said { ended: result.ended.or(self.ended), ..result });
        Some(Ok(self.written))
    }
}

/// Returns whether a word is a square: `23`, `c3`, or, in PGN for games in which stones are placed, `C3`.
fn is_square(text: &str) -> bool {
    let digits = text.strip_prefix(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text);
    !digits.is_empty() && digits.len() <= 3 && digits.bytes().all(|digit| digit.is_ascii_digit())
}

/// Parses a result. `1-0` is a win for the player who acts first, even in games in which that is Black, as programs
/// such as CheckerBoard write it.
pub(super) fn result(text: &str) -> Option<Said> {
    let winner = match text.trim() {
        "1-0" | "2-0" => Winner::First,
        "0-1" | "0-2" => Winner::Second,
        "1/2-1/2" | "1-1" | "1/2" | "\u{bd}-\u{bd}" => Winner::Nobody,
        _ => return None,
    };
    Some(Said { winner, ended: None })
}

/// Returns how a game ended, from the words of the tag `Termination`.
fn ended(text: &str) -> Option<Ended> {
    let text = text.to_lowercase();
    let is = |word: &str| text.contains(word);
    match () {
        () if is("adjudic") => Some(Ended::Adjudicated),
        () if is("time") || is("forfeit") => Some(Ended::Time),
        () if is("resign") => Some(Ended::Resigned),
        () if is("agree") => Some(Ended::Agreed),
        () => None,
    }
}

/// Parses a position, `B:W18,K24,27-30:B1-12`: the side to move and the squares of both players.
fn position(text: &str) -> Result<Setup, String> {
    let fault = || format!("FEN: {} is not a position", quoted(text));
    let mut parts = text.trim().trim_end_matches('.').split(':');
    let to_move = parts.next().and_then(Color::of).ok_or_else(fault)?;
    let mut setup = Setup { stones: Vec::new(), to_move: Some(to_move), is_whole: true };
    for part in parts.map(str::trim) {
        let Some(color) = Color::of(part) else {
            // counters written by some programs: `H0`, `F1`
            if part.starts_with(['H', 'F']) { continue } else { return Err(fault()) }
        };
        for square in part[1..].split(',').map(str::trim).filter(|square| !square.is_empty()) {
            let plain = square.strip_prefix(['K', 'k']).unwrap_or(square);
            let is_king = plain.len() < square.len();
            let mut put = |square: String| setup.stones.push(Stone { color: Some(color), square, is_king });
            match plain.split_once('-') {
                None if is_square(plain) => put(plain.into()),
                Some((first, last)) => {
                    let number = |text: &str| text.parse::<u16>().ok().filter(|number| *number < 1000);
                    let (first, last) = number(first).zip(number(last)).ok_or_else(fault)?;
                    (first..=last).for_each(|number| put(number.to_string()));
                }
                None => return Err(fault()),
            }
        }
        if setup.stones.len() > MOST_ACTIONS {
            return Err(fault());
        }
    }
    // a word that begins with the letter of a color but lists no pieces is not a position
    if setup.stones.is_empty() { Err(fault()) } else { Ok(setup) }
}
