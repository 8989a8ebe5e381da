//! A position as people see it, ready to be drawn.

use super::Player;
use crate::board::{file_labels, rank_labels};

/// A position for people to see; row 0 is the top row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardView {
    /// Labels below the columns, from left to right.
    pub columns: Vec<String>,
    /// Labels next to the rows, from the top.
    pub rows: Vec<String>,
    /// A short text for each square, `[rows][columns]`.
    pub cells: Vec<Vec<String>>,
    /// The letters that mark pieces in [`BoardView::cells`]: the first player's and the second player's. In games where
    /// players choose their colors later, these are the letters of the two colors.
    pub pieces: [String; 2],
    /// Anything that the board does not show (reserves, moves left); may be empty.
    pub note: String,
    /// For drawings, the number of pieces in reserve for each entry of [`BoardView::pieces`]; `None` in a game without
    /// reserves.
    pub reserves: Option<[usize; 2]>,
}

impl BoardView {
    /// Returns the caption of a drawing: the note, or "" if the note only says which letter belongs to which player,
    /// because drawings show colored discs.
    pub fn caption(&self, players: [&str; 2]) -> &str {
        let [first, second] = &self.pieces;
        let key = format!("{first} {}, {second} {}", players[0], players[1]);
        if self.note == key { "" } else { &self.note }
    }

    /// Returns a board with files `a`, `b` ... and ranks from 1 at the bottom; `cell` gives the text of the square
    /// `rank * width + file`.
    pub fn of_squares(
        height: usize,
        width: usize,
        pieces: [&str; 2],
        cell: impl Fn(usize) -> String,
        note: String,
    ) -> BoardView {
        let row = |y: usize| (0..width).map(|x| cell(y * width + x)).collect();
        BoardView {
            columns: file_labels(width),
            rows: rank_labels(height),
            cells: (0..height).rev().map(row).collect(),
            pieces: pieces.map(String::from),
            note,
            reserves: None,
        }
    }

    /// Returns the owner of the piece at (`row`, `column`), if there is one.
    pub fn owner(&self, row: usize, column: usize) -> Option<Player> {
        let cell = self.cells[row][column].as_str();
        let has = |player: &Player| !cell.is_empty() && self.pieces[player.index()].contains(cell);
        [Player::First, Player::Second].into_iter().find(has)
    }

    /// Returns the row and column of a square on a board made by [`BoardView::of_squares`].
    pub fn place(square: usize, height: usize, width: usize) -> (usize, usize) {
        (height - 1 - square / width, square % width)
    }
}

/// The look of a board's squares in a [drawing](crate::draw).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoardStyle {
    /// All squares have the same color and lines between them.
    Plain,
    /// The squares are light and dark; the square at the bottom left is dark.
    Checkered,
    /// The squares are loose tiles.
    Tiles,
    /// The squares are round holes.
    Round,
    /// The squares are hexagons; each row is shifted half a hexagon to the right of the row below.
    Hexagons,
}

/// How a text of a [`BoardView`] looks in a [drawing](crate::draw).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// A square without a piece.
    Empty,
    /// A place where the board has no square.
    Hole,
    /// A square that can no longer be entered.
    Closed,
    /// A piece in the color of its [owner](BoardView::owner).
    Piece(PieceShape),
    /// Any other text, written as it is.
    Text,
}

/// The shape of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names explain themselves")]
pub enum PieceShape {
    /// A disc with the text of its square.
    Letter,
    Disc,
    Checker,
    Circle,
    Square,
    Triangle,
    Diamond,
    Cross,
    Nought,
    Queen,
    Rook,
    Bishop,
    Knight,
}
