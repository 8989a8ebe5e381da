//! The places of a board's squares in its drawing: in rows and columns, or as hexagons in shifted rows.
//!
//! The middle of a hexagon contains a box of the size of a square, so that the same pieces fit into both.

use std::fmt::Write;

use super::{Drawing, Place, SQUARE, escaped};
use crate::game::{BoardStyle, Look};

/// The distance from one row of hexagons to the next, and how far a hexagon extends above and below the box in its
/// middle.
const ROW: usize = 35;
const POINT: usize = 3;
/// The offsets from the middle of a hexagon to the labels of its row and its column, which take the places of
/// neighboring hexagons.
const ROW_LABEL: [i32; 2] = [-33, 5];
const COLUMN_LABEL: [i32; 2] = [-17, 36];

/// The room for labels on the right.
const RIGHT: usize = 20;

/// The part of a drawing that a board takes up, without its labels.
pub(super) struct Extent {
    pub left: usize,
    pub width: usize,
    pub height: usize,
}

/// Returns the path of a hexagon around the box with this corner.
pub(super) fn hexagon([left, top]: [usize; 2]) -> String {
    let (x, y) = (left + SQUARE / 2, top as i32 - POINT as i32);
    format!("M{x} {y}l20 11v24l-20 11l-20 -11v-24z")
}

impl Drawing {
    pub(super) fn has_hexagons(&self) -> bool {
        self.style == BoardStyle::Hexagons
    }

    /// Returns the top left corner of the box of a square.
    pub(super) fn corner(&self, (y, x): Place) -> [usize; 2] {
        match self.style {
            BoardStyle::Hexagons => [x * SQUARE + (self.height() - 1 - y) * SQUARE / 2, y * ROW + POINT],
            _ => [x * SQUARE, y * SQUARE],
        }
    }

    pub(super) fn middle(&self, place: Place) -> [usize; 2] {
        self.corner(place).map(|at| at + SQUARE / 2)
    }

    pub(super) fn extent(&self) -> Extent {
        let (rows, columns) = (self.height(), self.width());
        if !self.has_hexagons() {
            return Extent { left: 0, width: columns * SQUARE, height: rows * SQUARE };
        }
        // columns without hexagons do not count
        let lefts =
            self.places().filter(|(_, look)| *look != Look::Hole).map(|(place, _)| self.corner(place)[0]);
        let (left, right) =
            lefts.fold((usize::MAX, 0), |(low, high), left| (low.min(left), high.max(left + SQUARE)));
        let left = left.min(right);
        let beside = if self.has_labels_right() { RIGHT } else { 0 };
        Extent { left, width: right - left + beside, height: (rows - 1) * ROW + SQUARE + 2 * POINT }
    }

    /// Returns whether the row labels are on the right; they are if the column labels are on the left.
    fn has_labels_right(&self) -> bool {
        self.looks.last().and_then(|row| row.first()) == Some(&Look::Hole)
    }

    /// Draws the label of each row beside its first or last hexagon, and the label of each column below its lowest
    /// hexagon.
    pub(super) fn draw_labels_of_hexagons(&self, out: &mut String) {
        let mut label = |place: Place, [dx, dy]: [i32; 2], name: &str, number: usize, text: &str| {
            let [x, y] = self.middle(place).map(|at| at as i32);
            let text = escaped(text);
            let _ = write!(
                out,
                "<text class=\"b-label\" x=\"{}\" y=\"{}\" data-{name}=\"{number}\">{text}</text>",
                x + dx,
                y + dy
            );
        };
        let is_there = |place: &Place| self.looks[place.0][place.1] != Look::Hole;
        for (y, text) in self.view.rows.iter().enumerate().filter(|(_, text)| !text.is_empty()) {
            let mut row = (0..self.width()).map(|x| (y, x));
            let [dx, dy] = ROW_LABEL;
            if self.has_labels_right() {
                row.rfind(is_there).map(|last| label(last, [-dx, dy], "row", y, text))
            } else {
                row.find(is_there).map(|first| label(first, [dx, dy], "row", y, text))
            };
        }
        for (x, text) in self.view.columns.iter().enumerate() {
            if let Some(lowest) = (0..self.height()).rev().map(|y| (y, x)).find(is_there) {
                label(lowest, COLUMN_LABEL, "column", x, text);
            }
        }
    }
}
