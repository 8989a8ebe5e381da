//! Squares, numbers, conditions and directions in a text.

use super::geometry::{Direction, Tiling};
use super::limits::{DEEPEST, MOST_LINKS};
use super::mask::{Mask, Wide};
use super::parse::Parser;
use super::syntax::{Compare, Condition, Directions, Number, Side, Spot, Squares};
use super::words::{Parsed, Statement};
use crate::board::parse_square;

/// Direction words: the compass, and what a player sees.
pub const DIRECTIONS: [(&str, &[Direction]); 20] = {
    const fn of(compass: u8) -> Direction {
        Direction { compass, relative: false }
    }
    const fn seen(compass: u8) -> Direction {
        Direction { compass, relative: true }
    }
    [
        ("orthogonally", &[of(0), of(2), of(4), of(6)]),
        ("diagonally", &[of(1), of(3), of(5), of(7)]),
        ("north", &[of(0)]),
        ("northeast", &[of(1)]),
        ("east", &[of(2)]),
        ("southeast", &[of(3)]),
        ("south", &[of(4)]),
        ("southwest", &[of(5)]),
        ("west", &[of(6)]),
        ("northwest", &[of(7)]),
        ("forward", &[seen(0)]),
        ("forward-right", &[seen(1)]),
        ("right", &[seen(2)]),
        ("backward-right", &[seen(3)]),
        ("backward", &[seen(4)]),
        ("backward-left", &[seen(5)]),
        ("left", &[seen(6)]),
        ("forward-left", &[seen(7)]),
        // on both sides the same squares, whoever looks
        ("sideways", &[of(6), of(2)]),
        ("vertically", &[of(0), of(4)]),
    ]
};

/// Words with which squares begin, for proposals.
pub const SQUARES: &[&str] = &[
    "own",
    "enemy",
    "all",
    "empty",
    "board",
    "nothing",
    "from",
    "to",
    "over",
    "moved",
    "floor",
    "row",
    "rows",
    "column",
    "columns",
    "edge",
    "corners",
    "center",
    "far",
    "back",
    "dark",
    "light",
    "next",
    "leap",
    "reach",
    "beyond",
    "custodial",
    "group",
    "line",
    "not",
];

/// Words with which conditions begin, and no squares.
pub const CONDITIONS: &[&str] =
    &["any", "no", "connected", "stuck", "inward", "count", "groups", "ply", "quiet", "passes"];

fn boxed(squares: Squares) -> Box<Squares> {
    Box::new(squares)
}

impl Parser<'_> {
    /// Squares, as in `empty and not next to own`.
    pub fn squares(&mut self, words: &mut Statement) -> Parsed<Squares> {
        let mut squares = self.all_of(words)?;
        while words.peek() == "or" && words.peek_at(1) != "off" && !self.begins_condition(words, 1) {
            words.next();
            self.link(words)?;
            squares = Squares::Or(boxed(squares), boxed(self.all_of(words)?));
        }
        Ok(squares)
    }

    fn all_of(&mut self, words: &mut Statement) -> Parsed<Squares> {
        let mut squares = self.term(words)?;
        while words.peek() == "and" && !self.begins_condition(words, 1) {
            words.next();
            self.link(words)?;
            squares = Squares::And(boxed(squares), boxed(self.term(words)?));
        }
        Ok(squares)
    }

    /// Whether the word after so many others begins a condition, so that `and` before it joins conditions.
    fn begins_condition(&self, words: &Statement, mut at: usize) -> bool {
        while ["(", "not"].contains(&words.peek_at(at)) {
            at += 1;
        }
        let word = words.peek_at(at);
        // `from`, `to` and `over` begin a condition if squares follow
        let is_spot = ["from", "to", "over"].contains(&word)
            && !["and", "or", ",", ")", ":", "|", ""].contains(&words.peek_at(at + 1));
        CONDITIONS.contains(&word)
            || is_spot
            || word.starts_with(|letter: char| letter.is_ascii_digit())
            || self.is_number(word)
    }

    /// One more part of the statement: what is read is as deep as the chains that it is made of.
    fn link(&mut self, words: &Statement) -> Parsed<()> {
        self.links += 1;
        if self.links > MOST_LINKS {
            Err(words.problem("this line has too many parts: name some of them with `set`"))
        } else {
            Ok(())
        }
    }

    /// One set of squares with what directly belongs to it.
    pub fn term(&mut self, words: &mut Statement) -> Parsed<Squares> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(words.problem("this is nested too deeply: name a part of it with `set`"));
        }
        let mut squares = self.simple(words)?;
        loop {
            if words.takes_all(&["enclosed", "by"]) {
                self.link(words)?;
                let by = boxed(self.simple(words)?);
                let directions = self.directions_or_all(words)?;
                squares = Squares::Enclosed { what: boxed(squares), by, directions, to: false };
            } else if words.takes_all(&["up", "to"]) {
                self.link(words)?;
                squares = Squares::UpTo { what: boxed(squares), then: boxed(self.simple(words)?) };
            } else {
                self.depth -= 1;
                return Ok(squares);
            }
        }
    }

    fn simple(&mut self, words: &mut Statement) -> Parsed<Squares> {
        let fixed = |squares: Wide| Squares::Fixed(Box::new([squares; 2]));
        if !self.directions(words, false)?.is_empty() {
            return Err(words.problem_before("a direction here means squares only with `of`: `north of own`"));
        }
        if let Some(directions) = self.directions_of(words)? {
            return Ok(Squares::Step(directions, boxed(self.term(words)?)));
        }
        let word = words.next();
        Ok(match word {
            "not" => Squares::Not(boxed(self.term(words)?)),
            "(" => {
                let squares = self.squares(words)?;
                words.expect(")")?;
                squares
            }
            "own" => Squares::Pieces(Some(Side::Own), self.kind(words)),
            "enemy" => Squares::Pieces(Some(Side::Enemy), self.kind(words)),
            "all" => Squares::Pieces(None, None),
            "empty" => Squares::Empty,
            "board" => fixed(self.text.board.squares),
            "nothing" => fixed(Wide::NONE),
            "from" => Squares::From,
            "to" => Squares::To,
            "over" => Squares::Over,
            "moved" => Squares::Moved,
            "floor" => Squares::Floor(Direction::of(4)),
            "row" | "rows" => fixed(self.rows(words)?),
            "column" | "columns" => fixed(self.columns(words)?),
            "edge" => {
                let directions = self.directions(words, true)?;
                let directions = if directions.is_empty() { self.every_direction() } else { directions };
                self.edge(&directions)
            }
            "corners" => fixed(self.corners()),
            "center" => fixed(self.center()),
            "far" | "back" => {
                words.expect("row")?;
                let (width, height) = (self.text.board.width, self.text.board.height);
                let row = |row: usize| (0..width).fold(Wide::NONE, |set, x| set | Wide::of(row * width + x));
                let rows = if word == "far" { [height - 1, 0] } else { [0, height - 1] };
                Squares::Fixed(Box::new(rows.map(|at| row(at) & self.text.board.squares)))
            }
            "dark" | "light" => {
                let width = self.text.board.width;
                let is_dark = |square: &usize| (square % width + square / width).is_multiple_of(2);
                let all =
                    self.text.board.squares.squares().filter(|square| is_dark(square) == (word == "dark"));
                fixed(all.fold(Wide::NONE, |set, square| set | Wide::of(square)))
            }
            "next" => {
                words.expect("to")?;
                let to = boxed(self.term(words)?);
                Squares::Step(self.directions_or_all(words)?, to)
            }
            "leap" => {
                let steps = self.leaps(words)?;
                words.expect("from")?;
                Squares::Leap(steps, boxed(self.term(words)?))
            }
            "reach" => {
                words.expect("of")?;
                let of = boxed(self.term(words)?);
                let over = if words.takes("over") { self.term(words)? } else { Squares::Empty };
                Squares::Reach { of, over: boxed(over), directions: self.directions_or_all(words)? }
            }
            "beyond" => {
                let what = boxed(self.term(words)?);
                words.expect("from")?;
                let from = boxed(self.term(words)?);
                Squares::Beyond { what, from, directions: self.directions_or_all(words)? }
            }
            "custodial" => {
                let what = boxed(self.term(words)?);
                let by = boxed(Squares::Pieces(Some(Side::Own), None));
                Squares::Enclosed { what, by, directions: self.directions_or_all(words)?, to: true }
            }
            "group" => {
                words.expect("of")?;
                let of = boxed(self.term(words)?);
                let within = if words.takes("in") { boxed(self.term(words)?) } else { of.clone() };
                Squares::Group { of, within, directions: self.directions_or_all(words)? }
            }
            "line" => {
                words.expect("of")?;
                let exactly = words.takes("exactly");
                let length = self.whole(words, 1..=20)?;
                let what = boxed(self.term(words)?);
                Squares::Line { length, exactly, what, directions: self.directions_or_all(words)? }
            }
            name => {
                let board = &self.text.board;
                let square = |name: &str| {
                    let square = parse_square(name, board.height, board.width);
                    square.filter(|square| board.squares.has(*square))
                };
                if let Some(first) = square(name) {
                    let mut all = Wide::of(first);
                    while let Some(more) = square(words.peek()) {
                        words.next();
                        all |= Wide::of(more);
                    }
                    fixed(all)
                } else if let Some(kind) = self.text.kinds.iter().position(|kind| kind.name == name) {
                    Squares::Pieces(None, Some(kind))
                } else if let Some(state) = self.text.states.iter().position(|(state, _)| state == name) {
                    Squares::State(state)
                } else if let Some(set) = self.text.sets.iter().position(|set| set.name == name) {
                    Squares::Set(set)
                } else {
                    words.back();
                    let known = self.names.iter().map(String::as_str).chain(SQUARES.iter().copied());
                    return Err(words.expected("a set of squares", known));
                }
            }
        })
    }

    /// A kind of piece, if the next word is one.
    pub fn kind(&self, words: &mut Statement) -> Option<usize> {
        let kind = self.text.kinds.iter().position(|kind| kind.name == words.peek())?;
        words.next();
        Some(kind)
    }

    fn rows(&mut self, words: &mut Statement) -> Parsed<Wide> {
        let (width, height) = (self.text.board.width, self.text.board.height);
        let mut rows = Wide::NONE;
        let mut add = |from: usize, to: usize| {
            for row in from..=to {
                rows = (0..width).fold(rows, |set, x| set | Wide::of((row - 1) * width + x));
            }
        };
        loop {
            let from = self.whole(words, 1..=height)?;
            let to = if words.takes("to") { self.whole(words, from..=height)? } else { from };
            add(from, to);
            if !self.is_whole(words.peek()) {
                return Ok(rows & self.text.board.squares);
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

    /// The squares from which a step in one of these directions leaves the board.
    fn edge(&self, directions: &[Direction]) -> Squares {
        let board = &self.text.board;
        let of = |player: usize| {
            directions.iter().fold(Wide::NONE, |set, direction| {
                let step = super::geometry::STEPS[direction.for_player(player)];
                set | board.squares & !board.with_neighbor(step)
            })
        };
        Squares::Fixed(Box::new([of(0), of(1)]))
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

    /// Leaps, as in `1 2`: so many squares along one axis and so many along the other, to every side.
    pub fn leaps(&mut self, words: &mut Statement) -> Parsed<Vec<(i32, i32)>> {
        let mut steps: Vec<(i32, i32)> = Vec::new();
        while steps.is_empty() || self.is_whole(words.peek()) {
            let (one, other) = (self.whole(words, 0..=20)? as i32, self.whole(words, 0..=20)? as i32);
            if (one, other) == (0, 0) {
                return Err(words.problem_before("a leap of 0 0 leads nowhere"));
            }
            for (dx, dy) in [(one, other), (other, one)] {
                for step in [(dx, dy), (dx, -dy), (-dx, -dy), (-dx, dy)] {
                    if !steps.contains(&step) {
                        steps.push(step);
                    }
                }
            }
        }
        Ok(steps)
    }

    pub fn every_direction(&self) -> Directions {
        self.text.board.directions()
    }

    /// `north of`, if that comes next.
    fn directions_of(&mut self, words: &mut Statement) -> Parsed<Option<Directions>> {
        let mut ahead = words.clone();
        let directions = self.directions(&mut ahead, true)?;
        if directions.is_empty() || !ahead.takes("of") {
            return Ok(None);
        }
        *words = ahead;
        Ok(Some(directions))
    }

    pub fn directions_or_all(&mut self, words: &mut Statement) -> Parsed<Directions> {
        let directions = self.directions(words, true)?;
        Ok(if directions.is_empty() { self.every_direction() } else { directions })
    }

    /// The directions that come next, in their order; none if no direction word comes, or, unless `all`, if `of`
    /// follows them.
    pub fn directions(&mut self, words: &mut Statement, all: bool) -> Parsed<Directions> {
        let before = words.clone();
        let mut found: Directions = Vec::new();
        loop {
            let mut ahead = words.clone();
            if !found.is_empty() {
                ahead.takes("or");
            }
            let is_any = ahead.takes_all(&["any", "direction"]);
            let known = DIRECTIONS.iter().find(|(name, _)| *name == ahead.peek()).map(|(_, of)| *of);
            let these = match (is_any, known) {
                (true, _) => self.every_direction(),
                (false, Some(these)) => {
                    ahead.next();
                    these.to_vec()
                }
                (false, None) => break,
            };
            let is_hex = self.text.board.tiling == Tiling::Hexagons;
            if is_hex && these.iter().any(|direction| direction.compass % 4 == 1) {
                return Err(ahead.problem_before(
                    "a board of hexagons has the directions north, east, southeast, south, west and northwest",
                ));
            }
            for direction in these {
                if !found.contains(&direction) {
                    found.push(direction);
                }
            }
            *words = ahead;
        }
        if !all && words.peek() == "of" {
            *words = before;
            return Ok(Vec::new());
        }
        Ok(found)
    }

    /// A condition, as in `no enemy or count own = 1`.
    pub fn condition(&mut self, words: &mut Statement) -> Parsed<Condition> {
        let mut condition = self.both(words)?;
        while words.takes("or") {
            self.link(words)?;
            condition = Condition::Or(Box::new(condition), Box::new(self.both(words)?));
        }
        Ok(condition)
    }

    fn both(&mut self, words: &mut Statement) -> Parsed<Condition> {
        let mut condition = self.single(words)?;
        while words.takes("and") {
            self.link(words)?;
            condition = Condition::And(Box::new(condition), Box::new(self.single(words)?));
        }
        Ok(condition)
    }

    fn single(&mut self, words: &mut Statement) -> Parsed<Condition> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(words.problem("this is nested too deeply"));
        }
        let condition = self.one_condition(words);
        self.depth -= 1;
        condition
    }

    fn one_condition(&mut self, words: &mut Statement) -> Parsed<Condition> {
        let word = words.peek();
        if word == "(" {
            words.next();
            let condition = self.condition(words)?;
            words.expect(")")?;
            return Ok(condition);
        }
        if words.takes("not") {
            return Ok(Condition::Not(Box::new(self.single(words)?)));
        }
        if words.takes("any") {
            return Ok(Condition::Any(self.squares(words)?));
        }
        if words.takes("no") {
            return Ok(Condition::Not(Box::new(Condition::Any(self.squares(words)?))));
        }
        if words.peek() == "line" {
            return Ok(Condition::Any(self.term(words)?));
        }
        if words.takes("inward") {
            return Ok(Condition::Inward);
        }
        if words.takes("stuck") {
            return match words.next() {
                "own" => Ok(Condition::Stuck(Side::Own)),
                "enemy" => Ok(Condition::Stuck(Side::Enemy)),
                _ => Err(words.problem_before("`stuck own` or `stuck enemy` is expected")),
            };
        }
        if words.takes("connected") {
            let what = self.term(words)?;
            words.expect("from")?;
            let from = self.term(words)?;
            words.expect("to")?;
            let to = self.term(words)?;
            return Ok(Condition::Connected { what, from, to, directions: self.directions_or_all(words)? });
        }
        let spots = [("from", Spot::From), ("to", Spot::To), ("over", Spot::Over)];
        if let Some((_, spot)) = spots.into_iter().find(|(name, _)| *name == word) {
            words.next();
            words.takes("in");
            return Ok(Condition::Place(spot, self.term(words)?));
        }
        if self.is_number(word)
            || self.is_whole(word)
            || ["count", "groups", "ply", "quiet", "passes"].contains(&word)
        {
            let one = self.number(words)?;
            let compare = match words.peek() {
                "<" => Compare::Less,
                "<=" => Compare::AtMost,
                "=" => Compare::Is,
                "!=" => Compare::Differs,
                ">=" => Compare::AtLeast,
                ">" => Compare::More,
                _ => return Err(words.expected("one of < <= = != >= >", [])),
            };
            words.next();
            return Ok(Condition::Compared(one, compare, self.number(words)?));
        }
        let counters = self.text.counters.iter().map(|counter| counter.name.as_str());
        let known = CONDITIONS.iter().copied().chain(["line", "from", "to", "over", "not"]).chain(counters);
        Err(words.expected("a condition (any, no, line, connected, stuck, count, from, to ...)", known))
    }

    /// A sum of numbers.
    pub fn number(&mut self, words: &mut Statement) -> Parsed<Number> {
        let mut number = self.summand(words)?;
        loop {
            number = if words.takes("+") {
                Number::Plus(Box::new(number), Box::new(self.summand(words)?))
            } else if words.takes("-") {
                Number::Minus(Box::new(number), Box::new(self.summand(words)?))
            } else {
                return Ok(number);
            };
            self.link(words)?;
        }
    }

    fn summand(&mut self, words: &mut Statement) -> Parsed<Number> {
        let word = words.peek();
        if self.is_whole(word) {
            return Ok(Number::Is(self.whole(words, 0..=1_000_000)? as i64));
        }
        if let Some(index) = self.text.counters.iter().position(|counter| counter.name == word) {
            words.next();
            let mut side = Side::Own;
            let mut kind = self.line_kind;
            if words.takes("of") {
                side = match words.next() {
                    "own" => Side::Own,
                    "enemy" => Side::Enemy,
                    _ => return Err(words.problem_before("`own` or `enemy` is expected after `of`")),
                };
                kind = self.kind(words).or(kind);
            }
            if !self.text.counters[index].per_piece {
                return Ok(Number::Counter(index, side, None));
            }
            return match kind {
                Some(kind) => Ok(Number::Counter(index, side, Some(kind))),
                None => {
                    Err(words
                        .problem_before(format!("which piece? `{word} of own {}`", self.text.kinds[0].name)))
                }
            };
        }
        words.next();
        match word {
            "count" => Ok(Number::Count(self.term(words)?)),
            "groups" => {
                words.expect("of")?;
                let of = self.term(words)?;
                Ok(Number::Groups(of, self.directions_or_all(words)?))
            }
            "ply" => Ok(Number::Ply),
            "quiet" => Ok(Number::Quiet),
            "passes" => Ok(Number::Passes),
            _ => Err(words.problem_before("a number is expected: 3, `count own`, `ply`, or a counter")),
        }
    }
}
