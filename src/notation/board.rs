//! Converts the squares in game files to squares of a game's board, and builds positions from stones.
//!
//! This code depends only on what every game provides: its board with its pieces, and the text of its initial position.
//! Squares are numbered as in [`crate::board`]: rows from the bottom, each from the left.

use super::{Color, Setup};
use crate::board::{parse_ranks, parse_square, ranks_text, square_text};
use crate::error::quoted;
use crate::game::{BoardStyle, Game, Player};

/// The direction in which files that write a square as two letters (`hg`) count the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rows {
    /// Rows are counted from the top, as in files of programs for Go.
    Down,
    /// Rows are counted from the bottom, as in files of programs that draw the game's row 1 at the top.
    Up,
}

/// A game's board.
pub(super) struct WrittenBoard {
    pub height: usize,
    pub width: usize,
    is_hexagonal: bool,
    /// For each player, the letter of the man and the letter of the king.
    letters: [[Option<char>; 2]; 2],
    /// The letters of all pieces.
    all: String,
    /// The number of pieces in the initial position.
    pieces: usize,
    /// Whether the first player's pieces start above the second player's.
    is_first_above: bool,
}

impl WrittenBoard {
    pub(super) fn of<G: Game>(game: &G) -> WrittenBoard {
        let shape = game.shape();
        let view = game.view(&game.initial());
        let mut rows = [[0, 0]; 2];
        let mut men = [None; 2];
        for (row, cells) in view.cells.iter().enumerate() {
            for (column, cell) in cells.iter().enumerate() {
                if let Some(owner) = view.owner(row, column) {
                    rows[owner.index()] = [rows[owner.index()][0] + row, rows[owner.index()][1] + 1];
                    men[owner.index()] = cell.chars().next();
                }
            }
        }
        let letters = [0, 1].map(|player: usize| {
            let own = &view.pieces[player];
            let man = men[player].or_else(|| own.chars().next());
            let mut others = own.chars().filter(|letter| Some(*letter) != man);
            [man, others.next().filter(|_| others.next().is_none())]
        });
        let [[first, firsts], [second, seconds]] = rows;
        WrittenBoard {
            height: shape.height,
            width: shape.width,
            is_hexagonal: game.about().board == BoardStyle::Hexagons,
            letters,
            all: view.pieces.concat(),
            pieces: firsts + seconds,
            // compare the mean rows of both players' pieces, counted from the top
            is_first_above: first * seconds < second * firsts,
        }
    }

    /// Returns whether a square written as two letters can be understood in two ways. On a board of hexagons it cannot,
    /// because neighboring hexagons would no longer be neighbors if the rows were mirrored.
    pub(super) fn has_two_ways(&self) -> bool {
        !self.is_hexagonal
    }

    /// Returns the square for two letters (`hg`): the first is the column, the second the row.
    pub(super) fn of_letters(&self, text: &str, rows: Rows) -> Option<usize> {
        let number = |letter: char| match letter {
            'a'..='z' => Some(letter as usize - 'a' as usize),
            'A'..='Z' => Some(26 + letter as usize - 'A' as usize),
            _ => None,
        };
        let mut letters = text.chars();
        let (column, row) = (number(letters.next()?)?, number(letters.next()?)?);
        if letters.next().is_some() || column >= self.width || row >= self.height {
            return None;
        }
        let row = if rows == Rows::Down && self.has_two_ways() { self.height - 1 - row } else { row };
        Some(row * self.width + column)
    }

    /// Returns the square with this number among the dark squares, from 1. Square 1 is on Black's side of the board, at
    /// White's left.
    pub(super) fn of_number(&self, number: usize, black: Player) -> Option<usize> {
        let is_dark = |square: usize| (square / self.width + square % self.width).is_multiple_of(2);
        let from_top = |row: usize| (0..self.width).map(move |column| row * self.width + column);
        let mut dark: Vec<usize> =
            (0..self.height).rev().flat_map(from_top).filter(|square| is_dark(*square)).collect();
        if self.is_first_above != (black == Player::First) {
            dark.reverse();
        }
        dark.get(number.checked_sub(1)?).copied()
    }

    /// Returns the squares of a setup point: one square, or in SGF also a rectangle (`aa:cc`).
    fn of_point(&self, point: &str, rows: Rows, black: Player) -> Option<Vec<usize>> {
        let square_of = |text: &str| {
            let by_number = || self.of_number(text.parse().ok()?, black);
            let by_name = || parse_square(&text.to_ascii_lowercase(), self.height, self.width);
            self.of_letters(text, rows).or_else(by_name).or_else(by_number)
        };
        let Some((from, to)) = point.split_once(':') else {
            return square_of(point).map(|square| vec![square]);
        };
        let place = |square: usize| (square % self.width, square / self.width);
        let ((a, b), (c, d)) = (place(square_of(from)?), place(square_of(to)?));
        let columns = a.min(c)..=a.max(c);
        let row = |row: usize| columns.clone().map(move |column| row * self.width + column);
        Some((b.min(d)..=b.max(d)).flat_map(row).collect())
    }

    /// Returns the text of the position with these stones, in which `to_move` is to move.
    pub(super) fn position<G: Game>(
        &self,
        game: &G,
        setup: &Setup,
        to_move: Player,
        rows: Rows,
        black: Player,
    ) -> Result<String, String> {
        let initial = game.state_text(&game.initial());
        let mut words: Vec<String> = initial.split(' ').map(String::from).collect();
        let no_setup = || "positions of this game cannot be set up from stones".to_string();
        let mut cells = parse_ranks(&words[0], self.height, self.width, &self.all).map_err(|_| no_setup())?;
        if setup.is_whole {
            cells.fill(None);
        }
        for stone in &setup.stones {
            let fault = || format!("{} is not a square of the board", quoted(&stone.square));
            let letter = match stone.color {
                None => None,
                Some(color) => {
                    let player = if color == Color::Black { black } else { black.other() };
                    let letter = self.letters[player.index()][usize::from(stone.is_king)];
                    Some(letter.ok_or("there is no such piece in this game")?)
                }
            };
            for square in self.of_point(&stone.square, rows, black).ok_or_else(fault)? {
                cells[square] = letter;
            }
        }
        let [ranks, side, .., ply] = &mut words[..] else { return Err(no_setup()) };
        *ranks = ranks_text(self.height, self.width, |square| cells[square]);
        *side = word_of_side(game, to_move).ok_or_else(no_setup)?;
        let stones = cells.iter().filter(|cell| cell.is_some()).count();
        *ply = stones.saturating_sub(self.pieces).to_string();
        let text = words.join(" ");
        match game.parse_state(&text) {
            Ok(state) if game.outcome(&state).is_some() => {
                Err("the game is already over in its start position".into())
            }
            Ok(_) => Ok(text),
            Err(error) => Err(format!("it cannot begin at the position {}: {error}", quoted(&text))),
        }
    }
}

/// Returns the word after the board that names `player` as the side to move in the text of a position.
fn word_of_side<G: Game>(game: &G, player: Player) -> Option<String> {
    let mut state = game.initial();
    for _ in 0..game.max_plies() {
        if game.to_move(&state) == player {
            return game.state_text(&state).split(' ').nth(1).map(String::from);
        }
        let action = *game.legal(&state).first()?;
        game.play(&mut state, action);
    }
    None
}

/// Returns the squares that an action's text names, in order.
pub(super) fn squares_in(text: &str, board: &WrittenBoard) -> Vec<usize> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let name = bytes[at].is_ascii_lowercase().then(|| text.get(at..at + 1 + digits)).flatten();
        if let Some(square) = name.and_then(|name| parse_square(name, board.height, board.width)) {
            found.push(square);
        }
        at += 1 + digits;
    }
    found
}

/// Returns the name of a square.
pub(super) fn name_of(square: usize, board: &WrittenBoard) -> String {
    square_text(square, board.width)
}
