//! Squares as text and the symmetries of a board.
//!
//! A square is `row * width + column` with row 0 the first player's side (rank 1) and column 0
//! the file `a`, unless a game file says otherwise.

/// One of the 8 symmetries of a square board (or one of 4 of a rectangle): first an optional
/// transposition, then optional mirrors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Symmetry {
    /// Exchange rows and columns first (square boards only).
    pub transpose: bool,
    /// Mirror the columns (file a becomes the last one).
    pub mirror_columns: bool,
    /// Mirror the rows (rank 1 becomes the last one).
    pub mirror_rows: bool,
}

const fn symmetry(transpose: bool, mirror_columns: bool, mirror_rows: bool) -> Symmetry {
    Symmetry { transpose, mirror_columns, mirror_rows }
}

impl Symmetry {
    /// Leaves every square where it is.
    pub const IDENTITY: Symmetry = symmetry(false, false, false);
    /// The identity and the mirror of the columns.
    pub const COLUMN_MIRROR: [Symmetry; 2] = [Symmetry::IDENTITY, symmetry(false, true, false)];
    /// All symmetries of the square, the identity first.
    pub const SQUARE: [Symmetry; 8] = [
        Symmetry::IDENTITY,
        symmetry(false, true, false),
        symmetry(false, false, true),
        symmetry(false, true, true),
        symmetry(true, false, false),
        symmetry(true, true, false),
        symmetry(true, false, true),
        symmetry(true, true, true),
    ];

    /// Where a square of a `height` x `width` board goes.
    pub fn square(self, square: usize, height: usize, width: usize) -> usize {
        let (mut row, mut column) = (square / width, square % width);
        if self.transpose {
            debug_assert_eq!(height, width, "only square boards can be transposed");
            (row, column) = (column, row);
        }
        if self.mirror_columns {
            column = width - 1 - column;
        }
        if self.mirror_rows {
            row = height - 1 - row;
        }
        row * width + column
    }
}

/// `a1` for square 0 of a board `width` wide.
pub fn square_text(square: usize, width: usize) -> String {
    format!("{}{}", (b'a' + (square % width) as u8) as char, square / width + 1)
}

/// The inverse of [`square_text`].
pub fn parse_square(text: &str, height: usize, width: usize) -> Option<usize> {
    let (&file, rank) = text.as_bytes().split_first()?;
    let column = file.checked_sub(b'a')? as usize;
    // no signs, no leading zeros: printing a parsed square gives the same text
    if rank.first().is_none_or(|c| !c.is_ascii_digit() || *c == b'0') {
        return None;
    }
    let row = std::str::from_utf8(rank).ok()?.parse::<usize>().ok()?.checked_sub(1)?;
    (column < width && row < height).then_some(row * width + column)
}

/// Labels `a`, `b` ... of the columns.
pub fn file_labels(width: usize) -> Vec<String> {
    (0..width).map(|x| ((b'a' + x as u8) as char).to_string()).collect()
}

/// Labels of the rows from the top: `8`, `7` ... `1`.
pub fn rank_labels(height: usize) -> Vec<String> {
    (1..=height).rev().map(|y| y.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_round_trip() {
        for square in 0..100 {
            assert_eq!(parse_square(&square_text(square, 10), 10, 10), Some(square));
        }
        for text in ["", "a", "a0", "a01", "k1", "a11", "1a", "a+1", "ä1"] {
            assert_eq!(parse_square(text, 10, 10), None, "{text}");
        }
    }

    #[test]
    fn symmetries_are_permutations_and_differ() {
        let mut images = Vec::new();
        for symmetry in Symmetry::SQUARE {
            let image: Vec<usize> = (0..25).map(|s| symmetry.square(s, 5, 5)).collect();
            let mut sorted = image.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..25).collect::<Vec<_>>());
            images.push(image);
        }
        images.sort();
        images.dedup();
        assert_eq!(images.len(), 8);
    }
}
