//! Convolutions for training with vector registers of pairs of bf16: forward and both gradients, as in
//! [`conv`](super::conv).
//!
//! Transformed images and kernels are rounded to bf16; sums and everything else are in f32. A *half* is a vector of
//! bf16, and a *word* is two bf16 in the size of a float. Products over channels pair neighboring channels: images are
//! rows of halves, and kernels have words of two channels. The gradient of the weights sums over tiles instead, and
//! pairs two of them: the inputs are in words of two rows. The gradients of the outputs are stored as rows of halves,
//! which the images' gradient needs, and become words of two rows when they are read.

use std::marker::PhantomData;

use super::conv::{Form, GroupPass};
use super::geometry::{LARGEST_OF_PAIRS, plane_stride};
use super::products::ProductTerms;
use super::winograd::Images;
use crate::net::kernels::pairs::{PairKernel, PairSet, Pairs, halves, halves_mut, words, words_mut};
use crate::net::kernels::vector::Aligned;

/// Terms that are words times words, each the sum of two products.
struct InPairs;

impl<S: Pairs> ProductTerms<S> for InPairs {
    type Right = S::Words;
    type Row = S::Half;
    const ROWS: usize = 2;
    const LARGEST_TILE: usize = LARGEST_OF_PAIRS;

    #[inline(always)]
    fn right(rows: &[S::Half], columns: usize, column: usize) -> S::Words {
        S::paired(rows[column], rows[columns + column])
    }

    #[inline(always)]
    fn add(sum: S, left: f32, right: S::Words) -> S {
        sum.add_pairs(left, right)
    }
}

impl<S: Pairs> Form<S> for InPairs {
    type Rows<'a> = HalfRows<'a, S>;
    type WordRows<'a> = RowPairs<'a, S>;

    #[inline(always)]
    fn rows(to: &mut [f32], rows: usize, channels: usize) -> HalfRows<'_, S> {
        let steps = [channels, 2 * plane_stride(rows, channels / 2)].map(|halves| halves / S::LANES);
        HalfRows { to: halves_mut::<S>(to), steps }
    }

    #[inline(always)]
    fn word_rows(to: &mut [f32], rows: usize, channels: usize) -> RowPairs<'_, S> {
        let steps = [channels, plane_stride(rows, channels / 2)].map(|words| words / S::LANES);
        RowPairs { to, steps, of: PhantomData }
    }

    #[inline(always)]
    fn factors(floats: &[f32]) -> &[S::Half] {
        halves::<S>(floats)
    }

    #[inline(always)]
    fn words(floats: &[f32]) -> &[S::Words] {
        words::<S>(floats)
    }
}

/// A destination of transformed images as rows of halves.
struct HalfRows<'a, S: Pairs> {
    to: &'a mut [S::Half],
    /// The number of halves from one row to the next, and from one frequency to the next.
    steps: [usize; 2],
}

impl<S: Pairs> Images<S> for HalfRows<'_, S> {
    #[inline(always)]
    fn put(&mut self, value: S, frequency: usize, row: usize, vector: usize) {
        self.to[row * self.steps[0] + vector + frequency * self.steps[1]] = value.rounded();
    }
}

/// A destination of transformed images as words of two rows. The first row's half is kept in the place of the words
/// until the second row is written.
struct RowPairs<'a, S: Pairs> {
    to: &'a mut [f32],
    steps: [usize; 2],
    of: PhantomData<S>,
}

impl<S: Pairs> Images<S> for RowPairs<'_, S> {
    #[inline(always)]
    fn put(&mut self, value: S, frequency: usize, row: usize, vector: usize) {
        let place = row / 2 * self.steps[0] + vector + frequency * self.steps[1];
        if row.is_multiple_of(2) {
            halves_mut::<S>(self.to)[2 * place] = value.rounded();
        } else {
            let first = halves::<S>(self.to)[2 * place];
            words_mut::<S>(self.to)[place] = S::paired(first, value.rounded());
        }
    }
}

/// Packs a transformed kernel, with rows of this many lanes, into words of two rows.
pub(super) fn packed(pairs: PairSet, from: &[f32], lanes: usize) -> Aligned {
    let mut to = Aligned::new(from.len() / 2);
    pairs.run(PackHalves { lanes, from, to: to.as_mut() });
    to
}

/// Rounds rows of this many lanes to bf16, and pairs each row with the next one.
struct PackHalves<'a> {
    lanes: usize,
    from: &'a [f32],
    to: &'a mut [f32],
}

impl PairKernel for PackHalves<'_> {
    #[inline(always)]
    fn run<S: Pairs>(self) {
        let PackHalves { lanes, from, to } = self;
        for (from, to) in from.chunks_exact(2 * lanes).zip(to.chunks_exact_mut(lanes)) {
            for (vector, to) in words_mut::<S>(to).iter_mut().enumerate() {
                let half = |row: usize| S::load(&from[row * lanes + vector * S::LANES..]);
                *to = S::paired(half(0).rounded(), half(1).rounded());
            }
        }
    }
}

/// Runs a pass with pairs of bf16.
pub(super) struct ByPairs<P>(pub(super) P);

impl<P: GroupPass> PairKernel for ByPairs<P> {
    #[inline(always)]
    fn run<S: Pairs>(self) {
        self.0.run::<S, InPairs>();
    }
}
