//! Reads what a text declares: the board, pieces, states, counters, options, and where things are at the start.

use super::Parser;
use crate::encode::MAX_CELLS;
use crate::text_game::geometry::{Board, Tiling};
use crate::text_game::lex::{Parsed, Statement};
use crate::text_game::limits::{MOST_COUNTERS, MOST_SETS};
use crate::text_game::mask::{Mask, Wide};
use crate::text_game::text::{Counter, Kind, TextOption};

impl Parser<'_> {
    pub(super) fn game(&mut self, words: &Statement) -> Parsed<()> {
        let (title, author) = words.rest.rsplit_once(" by ").unwrap_or((&words.rest, "unknown"));
        let title = title.trim();
        if title.is_empty()
            || !title.chars().any(|letter| letter.is_ascii_alphanumeric())
            || title.chars().count() > 40
        {
            return Err(words.problem("a title of 1 to 40 letters is expected: `game My Game by Me`"));
        }
        (self.text.title, self.text.author) = (title.into(), author.trim().chars().take(80).collect());
        Ok(())
    }

    pub(super) fn players(&mut self, words: &Statement) -> Parsed<()> {
        let names: Vec<&str> = words.rest.split(',').map(str::trim).collect();
        match names[..] {
            [first, second]
                if first != second
                    && [first, second].iter().all(|name| (1..=20).contains(&name.chars().count())) =>
            {
                self.text.players = [first.into(), second.into()];
                Ok(())
            }
            _ => Err(words.problem("two names of at most 20 letters are expected: `players White, Black`")),
        }
    }

    pub(super) fn board(&mut self, words: &mut Statement) -> Parsed<()> {
        let side = |parser: &mut Self, words: &mut Statement| parser.whole(words, 1..=26);
        let checked = |words: &Statement, width: usize, height: usize| match width * height {
            0..=MAX_CELLS => Ok(()),
            cells => {
                Err(words.problem_before(format!("a board has at most {MAX_CELLS} squares, not {cells}")))
            }
        };
        let known = ["hex", "hexagon", "triangle"];
        let shape = known.into_iter().find(|name| words.takes(name));
        let mut board = match shape {
            None | Some("hex") => {
                let (width, height) = match words.peek().split_once('x').filter(|(one, other)| {
                    !one.is_empty()
                        && [one, other].iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()))
                }) {
                    // `8x8` without spaces
                    Some((width, height)) => {
                        let sides = [width, height].map(|side| side.parse().unwrap_or(0));
                        words.next();
                        if sides.iter().any(|side| !(1..=26).contains(side)) {
                            return Err(
                                words.problem_before("a whole number from 1 to 26 is expected for each side")
                            );
                        }
                        (sides[0], sides[1])
                    }
                    None => {
                        let width = side(self, words)?;
                        words.expect("x")?;
                        (width, side(self, words)?)
                    }
                };
                checked(words, width, height)?;
                let tiling = if shape.is_none() { Tiling::Squares } else { Tiling::Hexagons };
                Board::new(width, height, tiling)
            }
            Some(name) => {
                let side = side(self, words)?;
                let width = if name == "hexagon" { 2 * side - 1 } else { side };
                checked(words, width, width)?;
                if width > 26 {
                    return Err(words.problem_before("a board has at most 26 columns"));
                }
                let mut board = Board::new(width, width, Tiling::Hexagons);
                match name {
                    "hexagon" => board.keep(|x, y| (side - 1..=3 * (side - 1)).contains(&(x + y))),
                    _ => board.keep(|x, y| x + y < side),
                }
                board
            }
        };
        std::mem::swap(&mut self.text.board, &mut board);
        Ok(())
    }

    pub(super) fn option(&mut self, words: &mut Statement) -> Parsed<()> {
        let name = self.name(words)?;
        words.expect("=")?;
        let usual = self.whole(words, 0..=1_000_000)?;
        let (mut least, mut most) = (0, 1_000_000);
        if words.takes("from") {
            least = self.whole(words, 0..=usual)?;
            words.expect("to")?;
            most = self.whole(words, usual..=1_000_000)?;
        }
        let value = match self.settings.get(&name) {
            None => usual as i64,
            Some(toml::Value::Integer(value)) if (least as i64..=most as i64).contains(value) => *value,
            Some(other) => {
                let what =
                    format!("{name} = {other} is not permitted: use a whole number from {least} to {most}");
                return Err(words.problem_before(what));
            }
        };
        let range = least as i64..=most as i64;
        self.text.options.push(TextOption { name: name.clone(), value, usual: usual as i64, range });
        self.names.push(name);
        Ok(())
    }

    pub(super) fn piece(&mut self, words: &mut Statement) -> Parsed<()> {
        let name = self.name(words)?;
        let letter = |words: &mut Statement| {
            let word = words.next();
            let mut letters = word.chars();
            match (letters.next(), letters.next()) {
                (Some(letter), None) if letter.is_ascii_alphabetic() => Ok(letter),
                _ => Err(words
                    .problem_before("a letter is expected for the piece of each player: `piece pawn P p`")),
            }
        };
        let initial = name.chars().next().filter(char::is_ascii_alphabetic).unwrap_or('p');
        let letters = if words.is_done() {
            [initial.to_ascii_uppercase(), initial.to_ascii_lowercase()]
        } else {
            [letter(words)?, letter(words)?]
        };
        let taken = self
            .text
            .kinds
            .iter()
            .flat_map(|kind| kind.letters)
            .chain(self.text.states.iter().map(|state| state.1));
        let taken: Vec<char> = taken.collect();
        if letters[0] == letters[1] || letters.iter().any(|letter| taken.contains(letter)) {
            return Err(
                words.problem_before("the letters must differ from each other and from earlier letters")
            );
        }
        self.text.kinds.push(Kind { name: name.clone(), letters });
        self.text.pieces_at_start.push([Wide::NONE; 2]);
        self.names.push(name);
        self.fits(words)
    }

    pub(super) fn state(&mut self, words: &mut Statement) -> Parsed<()> {
        let name = self.name(words)?;
        let taken: Vec<char> = self
            .text
            .kinds
            .iter()
            .flat_map(|kind| kind.letters)
            .chain(self.text.states.iter().map(|(_, letter)| *letter))
            .collect();
        let is_free = |letter: &char| !taken.contains(letter);
        let letter = match words.next() {
            "" => ['x', 'z', 'y'].into_iter().find(is_free),
            word => word.chars().next().filter(|letter| {
                word.chars().count() == 1 && letter.is_ascii_alphabetic() && is_free(letter)
            }),
        };
        let Some(letter) = letter else {
            return Err(words.problem_before("a letter that nothing else has is expected: `state closed x`"));
        };
        self.text.states.push((name.clone(), letter));
        self.text.states_at_start.push(Wide::NONE);
        self.names.push(name);
        self.fits(words)
    }

    pub(super) fn counter(&mut self, words: &mut Statement) -> Parsed<()> {
        let name = self.name(words)?;
        let per_piece = words.takes_all(&["per", "piece"]);
        words.expect("=")?;
        let start = self.whole(words, 0..=10_000)? as u16;
        self.text.counters.push(Counter { name: name.clone(), per_piece, start });
        self.names.push(name);
        self.fits(words)
    }

    /// Checks that positions have room for all declared things.
    fn fits(&self, words: &Statement) -> Parsed<()> {
        let (sets, counters) = self.text.sizes();
        if sets > MOST_SETS {
            return Err(words.problem_before(format!(
                "twice the number of kinds of pieces plus the number of states is {sets}, but at most {MOST_SETS} fit"
            )));
        }
        if counters > MOST_COUNTERS {
            return Err(words
                .problem_before(format!("{counters} counters are needed, but at most {MOST_COUNTERS} fit")));
        }
        Ok(())
    }

    pub(super) fn start(&mut self, words: &mut Statement) -> Parsed<()> {
        let names = self.text.kind_names().chain(self.text.state_names());
        let kind = words.expect_one("a piece or a state declared before", names)?;
        let all = self.text.board.squares;
        words.expect(":")?;
        if let Some(state) = kind.checked_sub(self.text.kinds.len()) {
            let squares = self.constant(words)?[0] & all;
            self.text.states_at_start[state] |= squares;
            return Ok(());
        }
        let first = self.constant(words)?[0] & all;
        words.expect("|")?;
        let second = self.constant(words)?[1] & all;
        let taken = self.text.pieces_at_start.iter().flatten().fold(Wide::NONE, |set, more| set | *more);
        if ((first | second) & taken | first & second).any() {
            return Err(words.problem_before("two pieces start on the same square"));
        }
        self.text.pieces_at_start[kind][0] |= first;
        self.text.pieces_at_start[kind][1] |= second;
        Ok(())
    }
}
