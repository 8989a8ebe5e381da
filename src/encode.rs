//! Encodes positions as a few words per plane, which expand into the network's input.
//!
//! A plane is a set of up to 400 squares, stored as bits, and one number for these squares. This keeps a record's
//! position small in the replay window and makes symmetries permutations of bits. [`Planes::expand`] writes the
//! `[planes, height, width]` floats that the network reads. Planes are from the point of view of the player to move.

use crate::board::Symmetry;
use crate::random::mix;

/// The sizes of a game that a network needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Shape {
    /// The number of input planes.
    pub planes: usize,
    /// The number of rows of a plane.
    pub height: usize,
    /// The number of columns of a plane.
    pub width: usize,
    /// The number of policy logits: first as many whole planes of `height * width` logits as fit (action = plane *
    /// cells + cell), then extra logits that belong to no square.
    pub actions: usize,
}

impl Shape {
    /// Returns the number of squares of one plane.
    pub fn cells(&self) -> usize {
        self.height * self.width
    }

    /// Returns whether a network can have this shape: at least one plane, one square, and one action, and no more than
    /// [`MAX_PLANES`], [`MAX_CELLS`], and [`MAX_ACTIONS`].
    pub fn is_possible(&self) -> bool {
        (1..=MAX_PLANES).contains(&self.planes)
            && (1..=MAX_ACTIONS).contains(&self.actions)
            && (1..=MAX_CELLS).contains(&self.height.saturating_mul(self.width))
    }

    /// Returns the number of floats in an expanded position, `[planes, height, width]`.
    pub fn input_len(&self) -> usize {
        self.planes * self.cells()
    }

    /// Returns the number of words of a plane; see [`Planes::words`].
    pub fn plane_words(&self) -> usize {
        self.cells().div_ceil(WORD) + 1
    }

    /// Returns the number of words of an encoded position; see [`Planes::words`].
    pub fn words(&self) -> usize {
        self.planes * self.plane_words()
    }

    /// Returns the index of the first plane, in positions encoded as `[n, words]`, that has squares beyond the board.
    pub fn misplaced(&self, words: &[u64]) -> Option<usize> {
        let each = self.plane_words();
        let beyond = u64::MAX << (self.cells() % WORD);
        let is_misplaced = |plane: &[u64]| {
            let words = &plane[..each - 1];
            !self.cells().is_multiple_of(WORD) && !is_filled(words) && words[each - 2] & beyond != 0
        };
        words.chunks_exact(each).position(is_misplaced)
    }

    /// Writes the floats, `[n, planes, height, width]`, of positions encoded as `[n, words]`.
    ///
    /// # Panics
    /// If the lengths do not match or a plane has squares beyond the board.
    #[expect(unsafe_code, reason = "see `Expansion`")]
    pub fn expand(&self, words: &[u64], out: &mut [f32]) {
        let (cells, each) = (self.cells(), self.plane_words());
        assert_eq!(out.len() * each, words.len() * cells, "positions of this shape");
        let expansion = expansions().next().expect("every machine can run the plain function");
        // SAFETY: this machine has the instructions
        unsafe { expansion(words, each, out, cells) };
    }
}

/// Writes the floats of planes: `each` words of `words` become `cells` floats of `out`. It may be called only on
/// machines with the instructions that it uses.
type Expansion = unsafe fn(words: &[u64], each: usize, out: &mut [f32], cells: usize);

/// Returns the functions that this machine can run, fastest first.
fn expansions() -> impl Iterator<Item = Expansion> {
    #[cfg(target_arch = "x86_64")]
    let fast = {
        let wide: Expansion = x86::expand_avx512;
        let narrow: Expansion = x86::expand_avx2;
        let (has_wide, has_narrow) = (is_x86_feature_detected!("avx512f"), is_x86_feature_detected!("avx2"));
        [has_wide.then_some(wide), has_narrow.then_some(narrow)].into_iter().flatten()
    };
    #[cfg(not(target_arch = "x86_64"))]
    let fast = std::iter::empty();
    fast.chain([expand as Expansion])
}

/// The number of squares that are written at once.
const GROUP: usize = 16;

/// Writes a group of squares at a time; the last group of a word may overlap the one before.
#[inline(always)]
fn expand(words: &[u64], each: usize, out: &mut [f32], cells: usize) {
    for (plane, out) in words.chunks_exact(each).zip(out.chunks_exact_mut(cells)) {
        let (value, words) = (plane[each - 1] as u32, &plane[..each - 1]);
        let is_filled = is_filled(words);
        for (word, out) in words.iter().zip(out.chunks_mut(WORD)) {
            assert!(
                is_filled || out.len() == WORD || word >> out.len() == 0,
                "a plane has squares beyond the board"
            );
            let float =
                |square: usize| f32::from_bits(value & 0_u32.wrapping_sub((word >> square) as u32 & 1));
            let Some(last) = out.len().checked_sub(GROUP) else {
                out.iter_mut().enumerate().for_each(|(square, out)| *out = float(square));
                continue;
            };
            for first in (0..out.len()).step_by(GROUP) {
                let first = first.min(last);
                let out = out[first..].first_chunk_mut::<GROUP>().expect("a group");
                *out = std::array::from_fn(|square| float(first + square));
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    #[target_feature(enable = "avx2")]
    pub(super) fn expand_avx2(words: &[u64], each: usize, out: &mut [f32], cells: usize) {
        super::expand(words, each, out, cells);
    }

    #[target_feature(enable = "avx512f,avx2")]
    pub(super) fn expand_avx512(words: &[u64], each: usize, out: &mut [f32], cells: usize) {
        super::expand(words, each, out, cells);
    }
}

/// The maximum number of squares of a plane: a 20x20 board.
pub const MAX_CELLS: usize = 400;
/// The maximum number of planes: far more than any game has, but few enough to fit in memory.
pub const MAX_PLANES: usize = 4096;
/// The maximum number of actions: an action is a `u16`, from 0 to 65,535.
pub const MAX_ACTIONS: usize = 1 << 16;

/// The number of squares that a word holds.
const WORD: usize = u64::BITS as usize;

/// A set of squares for [`Planes::set_bits`]: an integer whose lowest bit is square 0, or an array of such 64-bit
/// words.
///
/// ```
/// use petteia::encode::Bits;
///
/// assert_eq!((1_u128 << 64).word(1), 1);
/// assert_eq!([0, 7].word(1), 7);
/// assert_eq!(5_u16.word(0), 5);
/// ```
pub trait Bits: Copy {
    /// The number of words that hold the set; [`Bits::word`] is 0 for every later index.
    const WORDS: usize;

    /// Returns the squares `64 * index` to `64 * index + 63`: bit n is square `64 * index + n`.
    fn word(self, index: usize) -> u64;
}

macro_rules! bits {
    ($($number:ty)*) => { $(
        impl Bits for $number {
            const WORDS: usize = 1;

            #[inline]
            fn word(self, index: usize) -> u64 {
                if index == 0 { self.into() } else { 0 }
            }
        }
    )* };
}

bits!(u8 u16 u32 u64);

impl Bits for u128 {
    const WORDS: usize = 2;

    #[inline]
    fn word(self, index: usize) -> u64 {
        if index < 2 { (self >> (index * WORD)) as u64 } else { 0 }
    }
}

impl<const N: usize> Bits for [u64; N] {
    const WORDS: usize = N;

    #[inline]
    fn word(self, index: usize) -> u64 {
        self.get(index).copied().unwrap_or(0)
    }
}

/// Returns whether these are the words of a filled plane, which has the same number on all squares.
fn is_filled(words: &[u64]) -> bool {
    words.iter().all(|word| *word == u64::MAX)
}

/// The planes of one position.
///
/// ```
/// use petteia::encode::Planes;
/// use petteia::game::Game;
/// use petteia::games::tic_tac_toe::TicTacToe;
///
/// let state = TicTacToe.parse_state(".../.X./O.. X")?;
/// let shape = TicTacToe.shape();
/// let (mut planes, mut numbers) = (Planes::new(shape), vec![0.0; shape.input_len()]);
/// TicTacToe.encode(&state, &mut planes);
/// planes.expand(&mut numbers);
/// // X is to move: plane 0 has its mark on b2, plane 1 that of O on a1
/// assert_eq!((numbers[4], numbers[9]), (1.0, 1.0));
/// assert_eq!(numbers.iter().sum::<f32>(), 2.0);
/// # Ok::<(), petteia::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Planes {
    words: Vec<u64>,
    shape: Shape,
}

impl Planes {
    /// Returns planes that hold NaN until they are written, so a forgotten plane is noticed.
    ///
    /// # Panics
    /// If the board has more than [`MAX_CELLS`] squares.
    pub fn new(shape: Shape) -> Planes {
        assert!(shape.cells() <= MAX_CELLS, "a board has at most {MAX_CELLS} squares");
        let mut new = Planes { words: vec![0; shape.words()], shape };
        (0..shape.planes).for_each(|plane| new.fill(plane, f32::NAN));
        new
    }

    /// Returns, for each plane, the words of its set of squares (bit n of a word is square n of the word's 64),
    /// followed by a word with the bits of the plane's value as a 32-bit float. In a filled plane, all bits of the set
    /// are 1, including those beyond the board.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns the words to write them all; see [`Planes::words`].
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// Returns the word of a plane's value and the words of its squares.
    #[inline]
    fn plane_mut(&mut self, plane: usize) -> (&mut u64, &mut [u64]) {
        let each = self.shape.plane_words();
        self.words[plane * each..][..each].split_last_mut().expect("a plane has a value")
    }

    /// Sets a plane to 1 on the squares of `bits` and to 0 elsewhere.
    ///
    /// # Panics
    /// If the plane does not exist, or if `bits` has squares in words that lie beyond the board.
    #[inline]
    pub fn set_bits<B: Bits>(&mut self, plane: usize, bits: B) {
        let (value, words) = self.plane_mut(plane);
        assert!(
            (words.len()..B::WORDS).all(|index| bits.word(index) == 0),
            "plane {plane}: squares beyond the board"
        );
        *value = 1.0_f32.to_bits().into();
        match words {
            // the boards of most games fit in few words and need no loop, which would take as long as the rest of this
            // function
            [low] => *low = bits.word(0),
            [low, high] => [*low, *high] = [0, 1].map(|index| bits.word(index)),
            more => more.iter_mut().enumerate().for_each(|(index, word)| *word = bits.word(index)),
        }
    }

    /// Sets every square of a plane to the same number.
    ///
    /// # Panics
    /// If the plane does not exist.
    pub fn fill(&mut self, plane: usize, number: f32) {
        let (value, words) = self.plane_mut(plane);
        *value = number.to_bits().into();
        words.fill(u64::MAX);
    }

    /// Returns a hash of the planes.
    pub fn hash(&self) -> u64 {
        self.words.iter().fold(0, |hash, word| mix(hash.rotate_left(1) ^ word))
    }

    /// Writes `[planes, height, width]` floats.
    ///
    /// # Panics
    /// If the length of `out` is not planes * squares or a plane has squares beyond the board.
    pub fn expand(&self, out: &mut [f32]) {
        self.shape.expand(&self.words, out);
    }

    /// Returns the planes of the position that `symmetry` maps this position to.
    pub fn mapped(&self, symmetry: Symmetry) -> Planes {
        let mut mapped = self.clone();
        if symmetry == Symmetry::IDENTITY {
            return mapped;
        }
        let (cells, each) = (self.shape.cells(), self.shape.plane_words());
        for (from, to) in self.words.chunks_exact(each).zip(mapped.words.chunks_exact_mut(each)) {
            let (from, to) = (&from[..each - 1], &mut to[..each - 1]);
            if is_filled(from) {
                continue;
            }
            to.fill(0);
            for cell in (0..cells).filter(|cell| from[cell / WORD] >> (cell % WORD) & 1 == 1) {
                let square = symmetry.square(cell, self.shape.height, self.shape.width);
                to[square / WORD] |= 1 << (square % WORD);
            }
        }
        mapped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_expand_and_map() {
        let shape = Shape { planes: 2, height: 2, width: 3, actions: 6 };
        let mut planes = Planes::new(shape);
        let mut out = vec![0.0; 12];
        planes.expand(&mut out);
        assert!(out.iter().all(|x| x.is_nan()));
        planes.set_bits(0, 0b000_001_u8);
        planes.fill(1, 0.25);
        assert_eq!(shape.misplaced(planes.words()), None);
        let mut misplaced = planes.words().to_vec();
        misplaced[0] |= 1 << 6;
        assert_eq!(shape.misplaced(&misplaced), Some(0));
        planes.mapped(Symmetry::COLUMN_MIRROR[1]).expand(&mut out);
        assert_eq!(out[..6], [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(out[6..], [0.25; 6]);
    }

    #[test]
    #[expect(unsafe_code, reason = "see `Expansion`")]
    fn every_expansion_writes_the_same_floats() {
        for cells in [1_usize, 9, 15, 16, 17, 42, 64, 65, 81, 127, 128, 200, 400] {
            let each = cells.div_ceil(WORD) + 1;
            let mut words = vec![u64::MAX; 3 * each];
            for (index, word) in words[..2 * each].iter_mut().enumerate() {
                *word = mix(index as u64 + cells as u64);
            }
            for plane in 0..2 {
                words[plane * each + each - 2] &= u64::MAX >> ((WORD - cells % WORD) % WORD);
            }
            for (plane, value) in [1.0_f32, -0.375, 0.625].into_iter().enumerate() {
                words[plane * each + each - 1] = value.to_bits().into();
            }
            let of = |plane: usize, cell: usize| {
                let is_set = words[plane * each + cell / WORD] >> (cell % WORD) & 1 == 1;
                if is_set { [1.0, -0.375, 0.625][plane] } else { 0.0 }
            };
            let expected: Vec<f32> =
                (0..3).flat_map(|plane| (0..cells).map(move |cell| of(plane, cell))).collect();
            for expansion in expansions() {
                let mut out = vec![f32::NAN; 3 * cells];
                // SAFETY: this machine has the instructions of its expansions
                unsafe { expansion(&words, each, &mut out, cells) };
                assert_eq!(out, expected, "{cells} squares");
            }
        }
    }

    #[test]
    #[should_panic(expected = "squares beyond the board")]
    fn squares_beyond_the_board_are_no_floats() {
        let shape = Shape { planes: 1, height: 3, width: 3, actions: 9 };
        shape.expand(&[1 << 9, 1], &mut [0.0; 9]);
    }

    #[test]
    fn planes_of_all_sizes_are_what_their_squares_say() {
        for (height, width) in [(1, 1), (8, 8), (5, 13), (8, 16), (3, 43), (15, 15), (20, 20)] {
            let shape = Shape { planes: 3, height, width, actions: 1 };
            let (cells, mut planes) = (shape.cells(), Planes::new(shape));
            let is_set = |cell: usize| (cell * cell + cell / 7).is_multiple_of(3);
            let mut bits = [0; MAX_CELLS.div_ceil(WORD)];
            (0..cells).filter(|cell| is_set(*cell)).for_each(|cell| bits[cell / WORD] |= 1 << (cell % WORD));
            planes.set_bits(0, bits);
            planes.set_bits(1, 0_u64);
            planes.fill(2, 0.5);
            for symmetry in [Symmetry::IDENTITY, Symmetry::ROW_MIRROR, Symmetry::COLUMN_MIRROR[1]] {
                let mut out = vec![f32::NAN; shape.input_len()];
                planes.mapped(symmetry).expand(&mut out);
                for cell in 0..cells {
                    let image = symmetry.square(cell, height, width);
                    let expected = [f32::from(u8::from(is_set(cell))), 0.0, 0.5];
                    assert_eq!(
                        [0, 1, 2].map(|plane| out[plane * cells + image]),
                        expected,
                        "{height}x{width}"
                    );
                }
            }
        }
    }
}
