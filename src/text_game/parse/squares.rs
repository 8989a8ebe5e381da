//! Reads the squares in a text.

use super::Parser;
use crate::board::parse_square;
use crate::text_game::ast::{Along, Around, InRow, Leaping, Side};
use crate::text_game::geometry::{Direction, STEPS};
use crate::text_game::lex::{Parsed, Statement};
use crate::text_game::limits::{DEEPEST, MOST_LINKS};
use crate::text_game::mask::{Mask, Wide};
use crate::text_game::text::{Read, Row, Set, Squares};
use crate::text_game::words::{ConditionWord, NumberWord, SquaresWord, SuffixWord, Vocabulary};

fn fixed(squares: Wide) -> Set {
    Set::Leaf(Squares::Fixed(Box::new([squares; 2])))
}

impl Parser<'_> {
    /// Reads squares, as in `empty and not next to own`.
    pub(super) fn squares(&mut self, words: &mut Statement) -> Parsed<Set> {
        let mut squares = self.all_of(words)?;
        while SuffixWord::of(words.peek()) == Some(SuffixWord::Or)
            && words.peek_at(1) != "off"
            && !self.begins_condition(words, 1)
        {
            words.next();
            self.link(words)?;
            squares = Set::or(squares, self.all_of(words)?);
        }
        Ok(squares)
    }

    fn all_of(&mut self, words: &mut Statement) -> Parsed<Set> {
        let mut squares = self.term(words)?;
        while SuffixWord::of(words.peek()) == Some(SuffixWord::And) && !self.begins_condition(words, 1) {
            words.next();
            self.link(words)?;
            squares = Set::and(squares, self.term(words)?);
        }
        Ok(squares)
    }

    /// Returns whether the word `at` places ahead begins a condition, in which case `and` before it joins conditions.
    fn begins_condition(&self, words: &Statement, mut at: usize) -> bool {
        while ["(", "not"].contains(&words.peek_at(at)) {
            at += 1;
        }
        let word = words.peek_at(at);
        // `from`, `to`, and `over` begin a condition if squares follow
        let is_spot = ["from", "to", "over"].contains(&word)
            && !["and", "or", ",", ")", ":", "|", ""].contains(&words.peek_at(at + 1));
        ConditionWord::of(word).is_some()
            || NumberWord::of(word).is_some()
            || is_spot
            || word.starts_with(|letter: char| letter.is_ascii_digit())
            || self.is_number(word)
    }

    /// Counts one more joined part of the statement. Parts are limited because a chain of them makes the tree as deep
    /// as the chain is long.
    pub(super) fn link(&mut self, words: &Statement) -> Parsed<()> {
        self.links += 1;
        if self.links > MOST_LINKS {
            Err(words.problem("this line has too many parts: name some of them with `set`"))
        } else {
            Ok(())
        }
    }

    /// Reads one set of squares and its suffixes.
    pub(super) fn term(&mut self, words: &mut Statement) -> Parsed<Set> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(words.problem("this is nested too deeply: name a part of it with `set`"));
        }
        let mut squares = self.simple(words)?;
        loop {
            match SuffixWord::of(words.peek()) {
                Some(SuffixWord::Enclosed) if words.takes_all(&["enclosed", "by"]) => {
                    self.link(words)?;
                    let by = self.simple(words)?;
                    squares = Set::Enclosed(self.along(squares, by, words)?);
                }
                Some(SuffixWord::Up) if words.takes_all(&["up", "to"]) => {
                    self.link(words)?;
                    squares = Set::UpTo(Box::new([squares, self.simple(words)?]));
                }
                Some(SuffixWord::And | SuffixWord::Or | SuffixWord::Enclosed | SuffixWord::Up) | None => {
                    self.depth -= 1;
                    return Ok(squares);
                }
            }
        }
    }

    fn simple(&mut self, words: &mut Statement) -> Parsed<Set> {
        if let Some(directions) = self.directions_of(words)? {
            let of = self.term(words)?;
            return Ok(self.neighbors(Around { of, directions }));
        }
        if !self.directions(words)?.is_empty() {
            return Err(words.problem_before("a direction here means squares only with `of`: `north of own`"));
        }
        match SquaresWord::of(words.peek()) {
            Some(word) => {
                words.next();
                self.squares_of(word, words)
            }
            None if words.takes("(") => {
                let squares = self.squares(words)?;
                words.expect(")")?;
                Ok(squares)
            }
            None => self.named_squares(words),
        }
    }

    /// Reads the squares that begin with a word of the language.
    fn squares_of(&mut self, word: SquaresWord, words: &mut Statement) -> Parsed<Set> {
        Ok(match word {
            SquaresWord::Not => Set::Not(Box::new(self.term(words)?)),
            SquaresWord::Own => Set::Leaf(Squares::Pieces(Some(Side::Own), self.kind(words))),
            SquaresWord::Enemy => Set::Leaf(Squares::Pieces(Some(Side::Enemy), self.kind(words))),
            SquaresWord::All => Set::Leaf(Squares::Pieces(None, None)),
            SquaresWord::Empty => Set::Empty,
            SquaresWord::Board => fixed(self.text.board.squares),
            SquaresWord::Nothing => fixed(Wide::NONE),
            SquaresWord::From => Set::From,
            SquaresWord::To => Set::To,
            SquaresWord::Over => Set::Over,
            SquaresWord::Moved => Set::Moved,
            SquaresWord::Floor => Set::Floor(Box::new(Direction::of(4))),
            SquaresWord::Row | SquaresWord::Rows => fixed(self.rows(words)?),
            SquaresWord::Column | SquaresWord::Columns => fixed(self.columns(words)?),
            SquaresWord::Edge => {
                let directions = self.directions_or_all(words)?;
                self.edge(&directions)
            }
            SquaresWord::Corners => fixed(self.corners()),
            SquaresWord::Center => fixed(self.center()),
            SquaresWord::Far | SquaresWord::Back => {
                words.expect("row")?;
                let last = self.text.board.height - 1;
                let rows = if word == SquaresWord::Far { [last, 0] } else { [0, last] };
                Set::Leaf(Squares::Fixed(Box::new(rows.map(|row| self.row_squares(row)))))
            }
            SquaresWord::Dark => fixed(self.colored(true)),
            SquaresWord::Light => fixed(self.colored(false)),
            SquaresWord::Next => {
                words.expect("to")?;
                let of = self.term(words)?;
                let directions = self.directions_or_all(words)?;
                self.neighbors(Around { of, directions })
            }
            SquaresWord::Leap => {
                let leaps = self.leaps(words)?;
                words.expect("from")?;
                Set::Leap(Box::new(Leaping { of: self.term(words)?, leaps }))
            }
            SquaresWord::Reach => self.reach(words)?,
            SquaresWord::Beyond => self.beyond(words)?,
            SquaresWord::Custodial => {
                let of = self.term(words)?;
                Set::Custodial(self.along(of, Squares::of(Side::Own), words)?)
            }
            SquaresWord::Group => self.group(words)?,
            SquaresWord::Line => self.line(words)?,
        })
    }

    /// Returns both sets with the directions that come next, or with all directions if none come next.
    fn along(&mut self, of: Set, with: Set, words: &mut Statement) -> Parsed<Box<Along<Read>>> {
        Ok(Box::new(Along { of, with, directions: self.directions_or_all(words)? }))
    }

    fn reach(&mut self, words: &mut Statement) -> Parsed<Set> {
        words.expect("of")?;
        let of = self.term(words)?;
        let over = if words.takes("over") { self.term(words)? } else { Set::Empty };
        Ok(Set::Reach(self.along(of, over, words)?))
    }

    fn beyond(&mut self, words: &mut Statement) -> Parsed<Set> {
        let of = self.term(words)?;
        words.expect("from")?;
        let from = self.term(words)?;
        Ok(Set::Beyond(self.along(of, from, words)?))
    }

    fn group(&mut self, words: &mut Statement) -> Parsed<Set> {
        words.expect("of")?;
        let of = self.term(words)?;
        let within = if words.takes("in") { self.term(words)? } else { of.clone() };
        Ok(Set::Group(self.along(of, within, words)?))
    }

    fn line(&mut self, words: &mut Statement) -> Parsed<Set> {
        words.expect("of")?;
        let exactly = words.takes("exactly");
        let length = self.whole(words, 1..=20)?;
        let of = self.term(words)?;
        let row = Row { length, directions: self.directions_or_all(words)? };
        Ok(Set::Line(Box::new(InRow { of, row, exactly })))
    }

    /// Returns the squares one step away. If the set contains own pieces, a piece that moves does not count as its own
    /// neighbor, except in a named set, whose meaning does not depend on where a piece comes from.
    fn neighbors(&self, around: Around<Read>) -> Set {
        fn has_own(set: &Set) -> bool {
            match set {
                Set::Leaf(Squares::Pieces(side, _)) => *side != Some(Side::Enemy),
                Set::And(both) | Set::Or(both) => both.iter().any(has_own),
                _ => false,
            }
        }
        let leaves_out_mover = !self.in_named_set && has_own(&around.of);
        let around = Box::new(around);
        if leaves_out_mover { Set::Others(around) } else { Set::Step(around) }
    }

    /// Reads squares, as in `a1 b2`, or a name that the text has declared.
    fn named_squares(&mut self, words: &mut Statement) -> Parsed<Set> {
        let board = &self.text.board;
        let square = |name: &str| {
            let square = parse_square(name, board.height, board.width);
            square.filter(|square| board.squares.has(*square))
        };
        let name = words.peek();
        if square(name).is_some() {
            let mut all = Wide::NONE;
            while let Some(more) = square(words.peek()) {
                words.next();
                all |= Wide::of(more);
            }
            return Ok(fixed(all));
        }
        let leaf = if let Some(kind) = self.kind(words) {
            Squares::Pieces(None, Some(kind))
        } else if let Some(state) = self.text.state_names().position(|state| state == name) {
            words.next();
            Squares::State(state)
        } else if let Some(index) = self.text.sets.iter().position(|set| set.name == name) {
            words.next();
            Squares::Named { index, is_sided: self.text.sets[index].is_sided }
        } else {
            let known = self.names.iter().map(String::as_str).chain(SquaresWord::words());
            return Err(words.expected("a set of squares", known));
        };
        Ok(Set::Leaf(leaf))
    }

    /// Reads a kind of piece, if the next word is one.
    pub(super) fn kind(&self, words: &mut Statement) -> Option<usize> {
        let kind = self.text.kinds.iter().position(|kind| kind.name == words.peek())?;
        words.next();
        Some(kind)
    }

    fn row_squares(&self, row: usize) -> Wide {
        let board = &self.text.board;
        (0..board.width).fold(Wide::NONE, |set, x| set | Wide::of(row * board.width + x)) & board.squares
    }

    fn rows(&mut self, words: &mut Statement) -> Parsed<Wide> {
        let height = self.text.board.height;
        let mut rows = Wide::NONE;
        loop {
            let from = self.whole(words, 1..=height)?;
            let to = if words.takes("to") { self.whole(words, from..=height)? } else { from };
            rows = (from..=to).fold(rows, |set, row| set | self.row_squares(row - 1));
            if !self.is_whole(words.peek()) {
                return Ok(rows);
            }
        }
    }

    fn columns(&mut self, words: &mut Statement) -> Parsed<Wide> {
        let (width, height) = (self.text.board.width, self.text.board.height);
        let letter = |word: &str| match word.as_bytes() {
            [letter @ b'a'..=b'z'] => Some((letter - b'a') as usize).filter(|column| *column < width),
            _ => None,
        };
        let last = (b'a' + width as u8 - 1) as char;
        let mut columns = Wide::NONE;
        let taken = |words: &mut Statement| match letter(words.peek()) {
            Some(column) => {
                words.next();
                Ok(column)
            }
            None => Err(words.expected(&format!("a column from a to {last}"), [])),
        };
        loop {
            let from = taken(words)?;
            let to = if words.takes("to") { taken(words)? } else { from };
            for column in from..=to {
                columns = (0..height).fold(columns, |set, y| set | Wide::of(y * width + column));
            }
            if letter(words.peek()).is_none() {
                return Ok(columns & self.text.board.squares);
            }
        }
    }

    /// Returns the squares from which a step in one of these directions leaves the board.
    fn edge(&self, directions: &[Direction]) -> Set {
        let board = &self.text.board;
        let of = |player: usize| {
            directions.iter().fold(Wide::NONE, |set, direction| {
                set | board.squares & !board.with_neighbor(STEPS[direction.for_player(player)])
            })
        };
        Set::Leaf(Squares::Fixed(Box::new([of(0), of(1)])))
    }

    fn corners(&self) -> Wide {
        let (width, height) = (self.text.board.width, self.text.board.height);
        let corners = [0, width - 1, (height - 1) * width, height * width - 1];
        corners.into_iter().fold(Wide::NONE, |set, square| set | Wide::of(square)) & self.text.board.squares
    }

    fn center(&self) -> Wide {
        let board = &self.text.board;
        let least = board.squares.squares().map(|square| board.off_center(square)).min();
        let nearest = board.squares.squares().filter(|square| Some(board.off_center(*square)) == least);
        nearest.fold(Wide::NONE, |set, square| set | Wide::of(square))
    }

    /// Returns the squares of the color of a1 or, unless `dark`, the squares of the other color.
    fn colored(&self, dark: bool) -> Wide {
        let board = &self.text.board;
        let is_dark = |square: usize| (square % board.width + square / board.width).is_multiple_of(2);
        let all = board.squares.squares().filter(|square| is_dark(*square) == dark);
        all.fold(Wide::NONE, |set, square| set | Wide::of(square))
    }
}
