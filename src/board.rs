//! Squares and boards as text, and the symmetries of a board.
//!
//! A square is `row * width + column`, where row 0 is the first player's side (rank 1) and column 0 is file `a`,
//! unless a game's source says otherwise.

use std::fmt::{self, Display};

/// One of the 8 symmetries of a square board, or of the 4 symmetries of a rectangular one: an optional transposition,
/// followed by optional mirrorings.
///
/// ```
/// use petteia::board::{Symmetry, parse_square, square_text};
///
/// let b1 = parse_square("b1", 4, 4).expect("a square of the board");
/// let images = Symmetry::SQUARE.map(|symmetry| square_text(symmetry.square(b1, 4, 4), 4));
/// assert_eq!(images, ["b1", "c1", "b4", "c4", "a2", "d2", "a3", "d3"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Symmetry {
    /// Whether rows and columns are exchanged first (square boards only).
    pub transpose: bool,
    /// Whether the columns are mirrored (file a becomes the last file).
    pub mirror_columns: bool,
    /// Whether the rows are mirrored (rank 1 becomes the last rank).
    pub mirror_rows: bool,
}

const fn symmetry(transpose: bool, mirror_columns: bool, mirror_rows: bool) -> Symmetry {
    Symmetry { transpose, mirror_columns, mirror_rows }
}

impl Symmetry {
    /// The symmetry that leaves every square where it is.
    pub const IDENTITY: Symmetry = symmetry(false, false, false);
    /// The symmetry that mirrors the rows, which turns the board upside down.
    pub const ROW_MIRROR: Symmetry = symmetry(false, false, true);
    /// The identity and the symmetry that mirrors the columns.
    pub const COLUMN_MIRROR: [Symmetry; 2] = [Symmetry::IDENTITY, symmetry(false, true, false)];
    /// All symmetries of a square board, the identity first.
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

    /// Maps a square of a `height` x `width` board.
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

    /// Maps a step (columns, rows).
    pub fn step(self, (mut columns, mut rows): (i32, i32)) -> (i32, i32) {
        if self.transpose {
            (columns, rows) = (rows, columns);
        }
        (if self.mirror_columns { -columns } else { columns }, if self.mirror_rows { -rows } else { rows })
    }
}

/// Describes the symmetry in words: `transposed, columns mirrored`.
impl Display for Symmetry {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mirrored = match (self.mirror_columns, self.mirror_rows) {
            (false, false) => "",
            (true, false) => "columns mirrored",
            (false, true) => "rows mirrored",
            (true, true) => "columns and rows mirrored",
        };
        match (self.transpose, mirrored) {
            (false, "") => write!(f, "identity"),
            (false, _) => write!(f, "{mirrored}"),
            (true, "") => write!(f, "transposed"),
            (true, _) => write!(f, "transposed, {mirrored}"),
        }
    }
}

/// Returns the name of a square of a board with `width` columns, such as `a1` for square 0.
pub fn square_text(square: usize, width: usize) -> String {
    let mut text = String::new();
    push_square(&mut text, square, width);
    text
}

/// Appends [`square_text`] to `text`. Formatting a number would take most of the time of reading and writing actions.
pub(crate) fn push_square(text: &mut String, square: usize, width: usize) {
    fn push_number(text: &mut String, number: usize) {
        if number >= 10 {
            push_number(text, number / 10);
        }
        text.push((b'0' + (number % 10) as u8) as char);
    }
    text.push((b'a' + (square % width) as u8) as char);
    push_number(text, square / width + 1);
}

/// Returns the square with this [`square_text`]; `None` if there is none on the board.
pub fn parse_square(text: &str, height: usize, width: usize) -> Option<usize> {
    let (&file, rank) = text.as_bytes().split_first()?;
    let column = file.checked_sub(b'a')? as usize;
    // signs and leading zeros are refused, so printing a parsed square gives the same text
    if rank.first().is_none_or(|c| !c.is_ascii_digit() || *c == b'0') {
        return None;
    }
    let row = std::str::from_utf8(rank).ok()?.parse::<usize>().ok()?.checked_sub(1)?;
    (column < width && row < height).then(|| row * width + column)
}

/// Returns the labels `a`, `b` ... of the columns.
pub fn file_labels(width: usize) -> Vec<String> {
    (0..width).map(|x| ((b'a' + x as u8) as char).to_string()).collect()
}

/// Returns the labels of the rows from the top: `8`, `7` ... `1`.
pub fn rank_labels(height: usize) -> Vec<String> {
    (1..=height).rev().map(|y| y.to_string()).collect()
}

/// Returns the ranks of a board from the top, separated by `/`. `letter` returns the content of a square; a run of
/// empty squares is written as a number.
pub fn ranks_text(height: usize, width: usize, letter: impl Fn(usize) -> Option<char>) -> String {
    let rank = |row: usize| {
        let (mut text, mut run) = (String::new(), 0);
        for column in 0..=width {
            let letter = if column < width { letter(row * width + column) } else { None };
            if run > 0 && (letter.is_some() || column == width) {
                text += &run.to_string();
                run = 0;
            }
            match letter {
                Some(letter) => text.push(letter),
                None => run += 1,
            }
        }
        text
    };
    (0..height).rev().map(rank).collect::<Vec<_>>().join("/")
}

/// Parses what [`ranks_text`] writes, and returns the content of each square, which is `None` if the square is empty.
/// Only the given `letters` are accepted.
///
/// ```
/// use petteia::board::{parse_ranks, ranks_text};
///
/// let squares = parse_ranks("2x/1o1", 2, 3, "xo").expect("two ranks of three squares");
/// assert_eq!(squares, [None, Some('o'), None, None, None, Some('x')]);
/// assert_eq!(ranks_text(2, 3, |square| squares[square]), "2x/1o1");
/// assert_eq!(parse_ranks("2x/oo", 2, 3, "xo").unwrap_err(), "rank 1: it has 2 squares, not 3");
/// ```
///
/// # Errors
/// If `text` is not such a board. The error says what is wrong and in which rank.
pub fn parse_ranks(
    text: &str,
    height: usize,
    width: usize,
    letters: &str,
) -> Result<Vec<Option<char>>, String> {
    let ranks: Vec<&str> = text.split('/').collect();
    if ranks.len() != height {
        return Err(format!("the board has {} ranks, not {height}", ranks.len()));
    }
    let mut squares = Vec::with_capacity(height * width);
    for (index, rank) in ranks.iter().enumerate().rev() {
        let wrong = |what: String| Err(format!("rank {}: {what}", height - index));
        let (mut filled, mut rest) = (0, *rank);
        while let Some(letter) = rest.chars().next() {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if digits == 0 {
                if !letters.contains(letter) {
                    return wrong(format!("`{letter}` is not a square of a board"));
                }
                squares.push(Some(letter));
                (filled, rest) = (filled + 1, &rest[letter.len_utf8()..]);
                if filled > width {
                    return wrong(format!("it has more than {width} squares"));
                }
                continue;
            }
            let number = &rest[..digits];
            let run = number.parse().ok().filter(|run| (1..=width - filled).contains(run) && letter != '0');
            let Some(run) = run else {
                return wrong(format!("`{number}` is not a number of empty squares that fits"));
            };
            squares.resize(squares.len() + run, None);
            (filled, rest) = (filled + run, &rest[digits..]);
        }
        if filled != width {
            return wrong(format!("it has {filled} squares, not {width}"));
        }
    }
    Ok(squares)
}

/// Parses a number up to `most`. Signs and leading zeros are refused, so printing the number gives the same text.
pub fn parse_count(text: &str, most: usize) -> Option<usize> {
    text.parse().ok().filter(|number: &usize| *number <= most && number.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_round_trip() {
        for square in 0..100 {
            assert_eq!(parse_square(&square_text(square, 10), 10, 10), Some(square));
        }
        assert_eq!([0, 9, 99, 119].map(|square| square_text(square, 1)), ["a1", "a10", "a100", "a120"]);
        for text in ["", "a", "a0", "a01", "k1", "a11", "1a", "a+1", "ä1", "a18446744073709551615"] {
            assert_eq!(parse_square(text, 10, 10), None, "{text}");
        }
    }

    #[test]
    fn counts_have_only_one_spelling() {
        assert_eq!([parse_count("0", 9), parse_count("9", 9)], [Some(0), Some(9)]);
        for text in ["", "10", "-1", "+1", "01", "1 ", "x", "99999999999999999999999"] {
            assert_eq!(parse_count(text, 9), None, "{text}");
        }
    }

    #[test]
    fn ranks_round_trip() {
        for text in ["10/xo8/9x/o1x1o1x1o1", "x9/10/10/10"] {
            let squares = parse_ranks(text, 4, 10, "xo").unwrap();
            assert_eq!(ranks_text(4, 10, |square| squares[square]), text);
        }
        assert_eq!(parse_ranks("1x/o1", 2, 2, "xo").unwrap(), [Some('o'), None, None, Some('x')]);
    }

    #[test]
    fn wrong_ranks_are_rejected_with_the_reason() {
        let cases = [
            ("", "1 ranks, not 2"),
            ("2/2/2", "3 ranks, not 2"),
            ("2/", "rank 1: it has 0 squares"),
            ("2/1", "rank 1: it has 1 squares, not 2"),
            ("3/2", "rank 2: `3` is not a number"),
            ("2/02", "rank 1: `02` is not a number"),
            ("2/11", "rank 1: `11` is not a number"),
            ("99999999999999999999/2", "rank 2: `99999999999999999999` is not a number"),
            ("xx1/2", "rank 2: `1` is not a number"),
            ("xxx/2", "rank 2: it has more than 2 squares"),
            ("2/x\u{e9}", "rank 1: `\u{e9}` is not a square"),
            ("2/x0", "rank 1: `0` is not a number"),
        ];
        for (text, expected) in cases {
            let error = parse_ranks(text, 2, 2, "xo").unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn symmetries_are_permutations_and_differ() {
        let mut images = Vec::new();
        for symmetry in Symmetry::SQUARE {
            let image: Vec<usize> = (0..25).map(|s| symmetry.square(s, 5, 5)).collect();
            // a step from b2 leads to the same square whether it is mapped before or after
            let (columns, rows) = symmetry.step((1, 2));
            assert_eq!(image[6 + 1 + 10] as i32, image[6] as i32 + columns + 5 * rows);
            let mut sorted = image.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..25).collect::<Vec<_>>());
            images.push(image);
        }
        images.sort();
        images.dedup();
        assert_eq!(images.len(), 8);
        assert_eq!(
            Symmetry::SQUARE.map(|symmetry| symmetry.to_string()).join("; "),
            "\
            identity; columns mirrored; rows mirrored; columns and rows mirrored; transposed; \
            transposed, columns mirrored; transposed, rows mirrored; transposed, columns and rows mirrored"
        );
    }
}
