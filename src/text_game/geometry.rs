//! Boards: their squares, and the directions between them.

use super::mask::{Mask, Wide};
use crate::board::Symmetry;
use crate::encode::MAX_CELLS;

/// A direction as it is written in a text: a compass direction, or one relative to a player. Forward is north for the
/// first player.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Direction {
    /// 0 to 7: north, northeast, and so on.
    pub compass: u8,
    /// Whether the direction is the opposite one for the second player.
    pub relative: bool,
}

impl Direction {
    pub(super) const fn of(compass: u8) -> Direction {
        Direction { compass, relative: false }
    }

    /// Returns the compass direction, 0 to 7, that this direction means for the player with this index.
    pub(super) fn for_player(self, player: usize) -> usize {
        let turned = if self.relative && player == 1 { 4 } else { 0 };
        (self.compass as usize + turned) % 8
    }
}

/// The steps (columns, rows) of the compass: north, northeast, and so on.
pub(super) const STEPS: [(i32, i32); 8] =
    [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)];

/// The opposite of a direction of the compass.
pub(super) const fn opposite(direction: usize) -> usize {
    (direction + 4) % 8
}

/// Returns the compass direction of a step.
pub(super) fn direction_of(step: (i32, i32)) -> Option<usize> {
    STEPS.iter().position(|known| *known == step)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tiling {
    Squares,
    /// Rows of hexagons, each row shifted relative to the row below. No square has a neighbor to the northeast or
    /// southwest.
    Hexagons,
}

/// A board. The number of a square is `row * width + column`; holes have numbers, too.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Board {
    pub width: usize,
    pub height: usize,
    pub tiling: Tiling,
    /// The squares that exist.
    pub squares: Wide,
}

impl Board {
    pub(super) fn new(width: usize, height: usize, tiling: Tiling) -> Board {
        assert!((1..=MAX_CELLS).contains(&(width * height)), "a board of 1 to {MAX_CELLS} squares");
        let squares = (0..width * height).fold(Wide::NONE, |set, square| set | Wide::of(square));
        Board { width, height, tiling, squares }
    }

    /// Keeps only the squares for which `is_there(column, row)` is true.
    pub(super) fn keep(&mut self, is_there: impl Fn(usize, usize) -> bool) {
        let width = self.width;
        let kept = self.squares.squares().filter(|square| is_there(square % width, square / width));
        self.squares = kept.fold(Wide::NONE, |set, square| set | Wide::of(square));
    }

    pub(super) fn cells(&self) -> usize {
        self.width * self.height
    }

    /// Returns the compass directions that this board has.
    pub(super) fn directions(&self) -> Vec<Direction> {
        let has = |direction: &u8| self.tiling == Tiling::Squares || *direction % 4 != 1;
        (0..8).filter(has).map(Direction::of).collect()
    }

    /// Returns the square one step away, if there is one.
    pub(super) fn neighbor(&self, square: usize, (columns, rows): (i32, i32)) -> Option<usize> {
        let (x, y) = ((square % self.width) as i32 + columns, (square / self.width) as i32 + rows);
        let inside = (0..self.width as i32).contains(&x) && (0..self.height as i32).contains(&y);
        let to = inside.then(|| y as usize * self.width + x as usize)?;
        self.squares.has(to).then_some(to)
    }

    /// Returns the squares from which this step stays on the board.
    pub(super) fn with_neighbor(&self, step: (i32, i32)) -> Wide {
        let from = self.squares.squares().filter(|square| self.neighbor(*square, step).is_some());
        from.fold(Wide::NONE, |set, square| set | Wide::of(square))
    }

    /// Returns the difference between the numbers of two squares that are this step apart.
    pub(super) fn difference(&self, (columns, rows): (i32, i32)) -> i32 {
        rows * self.width as i32 + columns
    }

    /// Maps squares by a symmetry.
    pub(super) fn mapped(&self, symmetry: Symmetry, squares: Wide) -> Wide {
        let square = |square| symmetry.square(square, self.height, self.width);
        squares.squares().fold(Wide::NONE, |set, from| set | Wide::of(square(from)))
    }

    /// Returns the symmetries that map squares to squares and directions to directions.
    pub(super) fn symmetries(&self) -> Vec<Symmetry> {
        let fits = |symmetry: &Symmetry| {
            (!symmetry.transpose || self.width == self.height)
                && self.mapped(*symmetry, self.squares) == self.squares
                && self.directions().iter().all(|direction| {
                    let step = symmetry.step(STEPS[direction.compass as usize]);
                    self.directions().iter().any(|there| STEPS[there.compass as usize] == step)
                })
        };
        Symmetry::SQUARE.into_iter().filter(fits).collect()
    }

    /// Returns the distance of a square from the center, in units that are meaningful only for comparison.
    pub(super) fn off_center(&self, square: usize) -> i64 {
        let (x, y) = ((square % self.width) as i64, (square / self.width) as i64);
        let (x, y) = (2 * x - self.width as i64 + 1, 2 * y - self.height as i64 + 1);
        match self.tiling {
            Tiling::Squares => x * x + y * y,
            // the rows are shifted, so the axes meet at an angle of 60 degrees
            Tiling::Hexagons => x * x + y * y + x * y,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexagons_have_the_symmetries_that_keep_neighbors() {
        let symmetries = |board: &Board| board.symmetries().len();
        assert_eq!(symmetries(&Board::new(5, 5, Tiling::Squares)), 8);
        assert_eq!(symmetries(&Board::new(5, 4, Tiling::Squares)), 4);
        let rhombus = Board::new(5, 5, Tiling::Hexagons);
        assert_eq!(symmetries(&rhombus), 4);
        assert_eq!(rhombus.directions().len(), 6);
        let mut triangle = rhombus.clone();
        triangle.keep(|column, row| column + row < 5);
        assert_eq!(symmetries(&triangle), 2);
    }
}
