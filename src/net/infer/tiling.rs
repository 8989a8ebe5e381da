//! Cuts a board into the tiles of Winograd's convolutions.
//!
//! Each axis is cut into as few tiles as possible, of nearly equal sizes: ten squares into 4, 3, and 3; seven into 4
//! and 3. So there are at most two sizes, which differ by one. Along an axis, a tile of `m` squares of output reads
//! `m + 2` squares and has `m + 2` frequencies. A tile of the board has one frequency for each pair of a row frequency
//! and a column frequency. The frequencies of a size are the first ones of every larger size, so all tiles share one
//! list of matrices.

use std::ops::Range;

/// A board with its border of one square.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::net) struct PaddedBoard {
    pub(in crate::net) height: usize,
    pub(in crate::net) width: usize,
}

impl PaddedBoard {
    /// Returns the squares of a padded row.
    #[inline(always)]
    pub(in crate::net) fn pitch(self) -> usize {
        self.width + 2
    }

    /// Returns the squares of a padded board.
    pub(in crate::net) fn padded(self) -> usize {
        (self.height + 2) * self.pitch()
    }

    /// Returns the index of a square of the board on the padded board.
    #[inline(always)]
    pub(in crate::net) fn padded_square(self, row: usize, column: usize) -> usize {
        (row + 1) * self.pitch() + column + 1
    }
}

/// The tiles of one size along an axis.
#[derive(Clone, Copy)]
struct Size {
    /// Squares of output.
    outputs: usize,
    /// Number of tiles.
    count: usize,
    /// The first square of the first tile.
    first: usize,
}

/// The tiles along an axis: first the larger ones, then those that are smaller by one, if there are any.
#[derive(Clone, Copy)]
struct Axis {
    sizes: [Size; 2],
}

impl Axis {
    fn new(squares: usize, largest: usize) -> Axis {
        let tiles = squares.div_ceil(largest);
        let (size, rest) = (squares / tiles, squares % tiles);
        let large = match rest {
            0 => Size { outputs: size, count: tiles, first: 0 },
            _ => Size { outputs: size + 1, count: rest, first: 0 },
        };
        let small = Size { outputs: size, count: tiles - large.count, first: large.outputs * large.count };
        Axis { sizes: [large, small] }
    }

    /// Returns the number of frequencies of the largest tile along the axis.
    fn frequencies(self) -> usize {
        self.sizes[0].outputs + 2
    }

    /// Returns the total number of frequencies of all tiles along the axis.
    fn numbers(self) -> usize {
        self.sizes.iter().map(|size| size.count * (size.outputs + 2)).sum()
    }

    /// Returns whether only the larger tiles have this frequency.
    fn is_of_large(self, frequency: usize) -> bool {
        frequency >= self.sizes[1].outputs + 2
    }
}

/// The tiles of a board.
///
/// The tiles of a group of positions are stored by size, large or small in rows and columns. The order of the sizes,
/// [`ORDER`], makes the tiles that have a given frequency contiguous.
#[derive(Clone, Copy)]
pub(in crate::net) struct BoardTiling {
    rows: Axis,
    columns: Axis,
}

/// The order of the sizes, each given by the index of its row size and the index of its column size.
const ORDER: [[usize; 2]; 4] = [[0, 1], [0, 0], [1, 0], [1, 1]];

/// Tiles of one size that are side by side.
#[derive(Clone, Copy)]
pub(in crate::net) struct TileRun {
    /// Rows and columns of each tile's output.
    pub(in crate::net) outputs: [usize; 2],
    pub(in crate::net) count: usize,
    /// The row and the column of the board where the run's output begins.
    pub(in crate::net) corner: [usize; 2],
    /// The number of frequencies from one row of a tile's frequencies to the next, on this board.
    pub(in crate::net) frequencies: usize,
    /// The number of a position's tiles stored before those of this size, the number of tiles of this size, and the
    /// number of tiles of this size before the run.
    order: [usize; 3],
}

impl TileRun {
    /// Returns the index of the run's first tile for a position, among the tiles of all `positions`.
    #[inline(always)]
    pub(in crate::net) fn place(&self, positions: usize, position: usize) -> usize {
        let [before, size, earlier] = self.order;
        positions * before + position * size + earlier
    }
}

impl BoardTiling {
    /// Returns the tiling with tiles of at most `largest` squares along each axis.
    ///
    /// Using as few tiles as possible takes the fewest products and transforms, and has been the fastest choice with
    /// all widths and instruction sets. Large tiles need more matrices, however: on a board of four by four or less,
    /// smaller tiles would be faster for a single position, but not for three positions together.
    pub(in crate::net) fn new(board: PaddedBoard, largest: usize) -> BoardTiling {
        BoardTiling { rows: Axis::new(board.height, largest), columns: Axis::new(board.width, largest) }
    }

    /// Returns the number of frequencies of rows, and of columns.
    #[inline(always)]
    pub(in crate::net) fn frequencies(self) -> [usize; 2] {
        [self.rows.frequencies(), self.columns.frequencies()]
    }

    /// Returns the number of matrices: one for each pair of frequencies.
    pub(in crate::net) fn matrices(self) -> usize {
        self.rows.frequencies() * self.columns.frequencies()
    }

    /// Returns the number of tiles of a position.
    pub(in crate::net) fn tiles(self) -> usize {
        ORDER.iter().map(|&sizes| self.tiles_of(sizes)).sum()
    }

    /// Returns the total number of frequencies of all tiles of a position.
    pub(super) fn numbers(self) -> usize {
        self.rows.numbers() * self.columns.numbers()
    }

    fn tiles_of(self, [row, column]: [usize; 2]) -> usize {
        self.rows.sizes[row].count * self.columns.sizes[column].count
    }

    /// Returns, for each frequency, row by row, the tiles of a position that have this frequency. For `n` positions,
    /// multiply both ends of the range by `n`.
    pub(in crate::net) fn having(self) -> Vec<Range<usize>> {
        let [right, large, lower, both] = ORDER.map(|sizes| self.tiles_of(sizes));
        let range = |frequency: usize| {
            let columns = self.columns.frequencies();
            match (self.rows.is_of_large(frequency / columns), self.columns.is_of_large(frequency % columns))
            {
                (false, false) => 0..right + large + lower + both,
                (false, true) => right..right + large + lower,
                (true, false) => 0..right + large,
                (true, true) => right..right + large,
            }
        };
        (0..self.matrices()).map(range).collect()
    }

    /// Returns all tiles of a position.
    pub(in crate::net) fn runs(self) -> Vec<TileRun> {
        let (mut runs, mut before) = (Vec::new(), 0);
        for [row, column] in ORDER {
            let ([rows, columns], size) =
                ([self.rows.sizes[row], self.columns.sizes[column]], self.tiles_of([row, column]));
            runs.extend((0..rows.count).filter(|_| columns.count > 0).map(|row| TileRun {
                outputs: [rows.outputs, columns.outputs],
                count: columns.count,
                corner: [rows.first + row * rows.outputs, columns.first],
                frequencies: self.columns.frequencies(),
                order: [before, size, row * columns.count],
            }));
            before += size;
        }
        runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POSITIONS: usize = 3;

    /// Checks all boards of at most 12 x 12 squares, with tiles of at most 2 x 2 and of at most 4 x 4.
    fn all(check: impl Fn(PaddedBoard, BoardTiling)) {
        for (height, width) in (1..=12).flat_map(|height| (1..=12).map(move |width| (height, width))) {
            for largest in [2, 4] {
                let board = PaddedBoard { height, width };
                let tiling = BoardTiling::new(board, largest);
                assert!(tiling.runs().iter().all(|run| run.outputs.iter().all(|size| *size <= largest)));
                check(board, tiling);
            }
        }
    }

    #[test]
    fn every_square_belongs_to_one_tile() {
        all(|board, tiling| {
            let mut squares = vec![0; board.height * board.width];
            for run in tiling.runs() {
                let ([rows, columns], [first, left]) = (run.outputs, run.corner);
                for row in first..first + rows {
                    squares[row * board.width + left..][..run.count * columns]
                        .iter_mut()
                        .for_each(|n| *n += 1);
                }
            }
            assert!(squares.iter().all(|count| *count == 1), "{squares:?}");
        });
    }

    #[test]
    fn every_tile_has_a_place_and_its_frequencies() {
        all(|_, tiling| {
            let mut outputs = vec![[0; 2]; POSITIONS * tiling.tiles()];
            for (position, run) in
                (0..POSITIONS).flat_map(|position| tiling.runs().into_iter().map(move |run| (position, run)))
            {
                for slot in &mut outputs[run.place(POSITIONS, position)..][..run.count] {
                    assert_eq!(std::mem::replace(slot, run.outputs), [0; 2], "two tiles in one place");
                }
            }
            let [_, columns] = tiling.frequencies();
            for (frequency, range) in tiling.having().into_iter().enumerate() {
                let range = POSITIONS * range.start..POSITIONS * range.end;
                for (place, [height, width]) in outputs.iter().enumerate() {
                    let has = frequency / columns < height + 2 && frequency % columns < width + 2;
                    assert_eq!(range.contains(&place), has, "{frequency} of {height} x {width}");
                }
            }
            let numbers = tiling.having().iter().map(Range::len).sum::<usize>();
            assert_eq!(numbers, tiling.numbers());
        });
    }
}
