//! Sets of squares as machine words: 64, 128 or 448 bits.
//!
//! Bit n is square n. Rules work on whole sets, so an operation costs the same for one piece as for thirty.

use std::fmt::Debug;
use std::hash::Hash;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Not};

use crate::encode::{Bits, MAX_CELLS};

/// A set of squares.
pub trait Mask:
    Bits
    + Debug
    + Default
    + Eq
    + Hash
    + Send
    + Sync
    + 'static
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + Not<Output = Self>
    + BitAndAssign
    + BitOrAssign
{
    /// The largest number of squares in a set.
    const SQUARES: usize;
    /// The empty set.
    const NONE: Self;

    /// Returns the set of one square.
    fn of(square: usize) -> Self;
    /// Shifts each square by `by`, which can be negative and whose absolute value is less than [`Mask::SQUARES`].
    /// Squares that leave the range are dropped.
    fn shifted(self, by: i32) -> Self;
    /// Returns the number of squares.
    fn count(self) -> usize;
    /// Returns the lowest square, or [`Mask::SQUARES`] or more if there is none.
    fn lowest(self) -> usize;
    /// Returns all squares except the lowest.
    fn without_lowest(self) -> Self;

    /// Returns every square up to the lowest one of this set, or all squares if the set is empty.
    fn up_to_lowest(self) -> Self;
    /// Returns every square from the highest one of this set on, or all squares if the set is empty.
    fn up_from_highest(self) -> Self;

    /// Returns whether the set is empty.
    #[inline(always)]
    fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// Returns whether the set has a square.
    #[inline(always)]
    fn any(self) -> bool {
        self != Self::NONE
    }

    /// Returns whether this square is in the set.
    #[inline(always)]
    fn has(self, square: usize) -> bool {
        self.word(square / 64) >> (square % 64) & 1 == 1
    }

    /// Makes the set with these bits. No bit beyond [`Mask::SQUARES`] may be set.
    fn from_wide(wide: Wide) -> Self {
        wide.squares().fold(Self::NONE, |set, square| set | Self::of(square))
    }

    /// Calls `found` with each square in ascending order. It is faster than [`Mask::squares`] for large boards.
    #[inline]
    fn each_square(self, mut found: impl FnMut(usize)) {
        for index in 0..Self::WORDS {
            let mut word = self.word(index);
            while word != 0 {
                found(index * 64 + word.trailing_zeros() as usize);
                word &= word - 1;
            }
        }
    }

    /// Returns the squares in ascending order.
    fn squares(self) -> Squares<Self> {
        Squares(self)
    }
}

/// The squares of a set in ascending order.
#[derive(Clone, Debug)]
pub struct Squares<M>(M);

impl<M: Mask> Iterator for Squares<M> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0.is_none() {
            return None;
        }
        let lowest = self.0.lowest();
        self.0 = self.0.without_lowest();
        Some(lowest)
    }
}

macro_rules! machine_word {
    ($($word:ty)*) => { $(
        impl Mask for $word {
            const SQUARES: usize = <$word>::BITS as usize;
            const NONE: $word = 0;

            #[inline(always)]
            fn of(square: usize) -> $word {
                1 << square
            }

            #[inline(always)]
            fn shifted(self, by: i32) -> $word {
                if by >= 0 { self << by } else { self >> -by }
            }

            #[inline(always)]
            fn count(self) -> usize {
                self.count_ones() as usize
            }

            #[inline(always)]
            fn lowest(self) -> usize {
                self.trailing_zeros() as usize
            }

            #[inline(always)]
            fn without_lowest(self) -> $word {
                self & self.wrapping_sub(1)
            }

            #[inline(always)]
            fn up_to_lowest(self) -> $word {
                self ^ self.wrapping_sub(1)
            }

            #[inline(always)]
            fn up_from_highest(self) -> $word {
                !0 << (<$word>::BITS - 1 - (self | 1).leading_zeros())
            }
        }
    )* };
}

machine_word!(u64 u128);

const WORDS: usize = MAX_CELLS.div_ceil(64);

/// A set of up to 448 squares, enough for every board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Wide([u64; WORDS]);

impl Bits for Wide {
    const WORDS: usize = WORDS;

    #[inline(always)]
    fn word(self, index: usize) -> u64 {
        self.0.word(index)
    }
}

impl BitAnd for Wide {
    type Output = Wide;

    #[inline(always)]
    fn bitand(mut self, other: Wide) -> Wide {
        self &= other;
        self
    }
}

impl BitOr for Wide {
    type Output = Wide;

    #[inline(always)]
    fn bitor(mut self, other: Wide) -> Wide {
        self |= other;
        self
    }
}

impl BitAndAssign for Wide {
    #[inline(always)]
    fn bitand_assign(&mut self, other: Wide) {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word &= other);
    }
}

impl BitOrAssign for Wide {
    #[inline(always)]
    fn bitor_assign(&mut self, other: Wide) {
        self.0.iter_mut().zip(other.0).for_each(|(word, other)| *word |= other);
    }
}

impl Not for Wide {
    type Output = Wide;

    #[inline(always)]
    fn not(self) -> Wide {
        Wide(self.0.map(|word| !word))
    }
}

impl Mask for Wide {
    const SQUARES: usize = WORDS * 64;
    const NONE: Wide = Wide([0; WORDS]);

    #[inline(always)]
    fn of(square: usize) -> Wide {
        let mut set = Wide::NONE;
        set.0[square / 64] = 1 << (square % 64);
        set
    }

    #[inline]
    fn shifted(self, by: i32) -> Wide {
        let (words, bits) = (by.unsigned_abs() as usize / 64, by.unsigned_abs() % 64);
        let mut moved = [0; WORDS];
        // bits that move to the next word are shifted in two steps, since one shift by 64 would overflow if `bits` is 0
        if by >= 0 {
            for (at, moved) in moved.iter_mut().enumerate().skip(words) {
                let below = if at > words { self.0[at - words - 1] } else { 0 };
                *moved = self.0[at - words] << bits | below >> 1 >> (63 - bits);
            }
        } else {
            for (at, moved) in moved.iter_mut().enumerate().take(WORDS - words) {
                let above = self.0.get(at + words + 1).copied().unwrap_or(0);
                *moved = self.0[at + words] >> bits | above << 1 << (63 - bits);
            }
        }
        Wide(moved)
    }

    #[inline]
    fn count(self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    #[inline]
    fn lowest(self) -> usize {
        let at = self.0.iter().position(|word| *word != 0).unwrap_or(WORDS);
        at * 64 + self.0.get(at).map_or(0, |word| word.trailing_zeros() as usize)
    }

    #[inline]
    fn without_lowest(mut self) -> Wide {
        if let Some(word) = self.0.iter_mut().find(|word| **word != 0) {
            *word &= *word - 1;
        }
        self
    }

    #[inline]
    fn up_to_lowest(mut self) -> Wide {
        let mut is_above = false;
        for word in &mut self.0 {
            let here = *word;
            *word = if is_above { 0 } else { here ^ here.wrapping_sub(1) };
            is_above |= here != 0;
        }
        self
    }

    #[inline]
    fn up_from_highest(mut self) -> Wide {
        let mut is_below = false;
        for word in self.0.iter_mut().rev() {
            let here = *word;
            *word = match (is_below, here) {
                (true, _) => 0,
                (false, 0) => !0,
                (false, here) => !0 << (63 - here.leading_zeros()),
            };
            is_below |= here != 0;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees<M: Mask>() {
        let some = |seed: usize| {
            let chosen = (0..M::SQUARES).filter(move |square| (square * square + seed).is_multiple_of(5));
            chosen.collect::<Vec<_>>()
        };
        let set = |squares: &[usize]| squares.iter().fold(M::NONE, |set, square| set | M::of(*square));
        for seed in 0..5 {
            let squares = some(seed);
            let mask = set(&squares);
            assert_eq!(mask.squares().collect::<Vec<_>>(), squares);
            let mut each = Vec::new();
            mask.each_square(|square| each.push(square));
            assert_eq!(each, squares);
            assert_eq!((mask.count(), mask.is_none()), (squares.len(), squares.is_empty()));
            assert!((0..M::SQUARES).all(|square| mask.has(square) == squares.contains(&square)));
            for by in [0, 1, 7, 8, 13, 63, -1, -9, -20, -63] {
                let moved = squares.iter().map(|square| *square as i64 + i64::from(by));
                let moved = moved.filter(|square| (0..M::SQUARES as i64).contains(square));
                let moved: Vec<usize> = moved.map(|square| square as usize).collect();
                assert_eq!(mask.shifted(by), set(&moved), "by {by}");
            }
            assert_eq!((!mask | mask) & mask, mask);
            for square in [0, 1, 5, 31, 62, 63].into_iter().chain([100, 447]).filter(|s| *s < M::SQUARES) {
                let (below, above) =
                    (mask & M::of(square).up_to_lowest(), mask & M::of(square).up_from_highest());
                assert!(below.squares().eq(squares.iter().copied().filter(|other| *other <= square)));
                assert!(above.squares().eq(squares.iter().copied().filter(|other| *other >= square)));
            }
            assert_eq!((mask & M::NONE.up_to_lowest(), mask & M::NONE.up_from_highest()), (mask, mask));
        }
        assert!(M::NONE.lowest() >= M::SQUARES && M::NONE.without_lowest().is_none());
    }

    #[test]
    fn all_widths_compute_the_same() {
        agrees::<u64>();
        agrees::<u128>();
        agrees::<Wide>();
        for by in [64, 65, 130, -64, -77, -300] {
            let mask = Wide::of(7) | Wide::of(200) | Wide::of(447);
            let moved = [7, 200, 447].map(|square| square + by).into_iter();
            let moved: Vec<usize> = moved.filter(|s| (0..448).contains(s)).map(|s| s as usize).collect();
            assert_eq!(mask.shifted(by).squares().collect::<Vec<_>>(), moved, "by {by}");
        }
    }
}
