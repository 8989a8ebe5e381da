//! Convolutions for training by registers of pairs of bf16: forward and both gradients, as in [`conv`](super::conv).
//!
//! What is transformed, and the transformed kernels, are rounded to bf16; sums and everything else are in f32. Products
//! over channels pair neighboring channels: images are rows of halves there, and kernels have words of two channels.
//! The gradient of the weights sums over tiles and pairs two of them: the inputs are in words of two rows, and the
//! gradients of the outputs, which are rows of halves for the images' gradient, become such words on their way.

use std::marker::PhantomData;

use super::conv::{ROWS, Share, Target, with_scratch};
use super::geometry::{Conv, Gradient, plane_stride};
use super::products::{Terms, add_outer, product};
use super::winograd::{Planes, gradient_transform, input_gradient, input_transform, output_transform};
use crate::net::kernels::pairs::{PairKernel, PairSet, Pairs, halves, halves_mut, words, words_mut};
use crate::net::kernels::vector::{Aligned, BLOCK, padded, vectors_mut};

/// Tiles that are processed together: the gradient of the weights is read and written once for all of them.
const TILES: usize = 96;

/// Floats from one frequency to the next, for so many rows of halves: as [`plane_stride`].
fn half_stride(rows: usize, channels: usize) -> usize {
    rows * channels / 2 + BLOCK
}

/// Words by words, each with two terms.
struct InPairs;

impl<S: Pairs> Terms<S> for InPairs {
    type Right = S::Words;
    type Row = S::Half;
    const ROWS: usize = 2;

    #[inline(always)]
    fn right(rows: &[S::Half], columns: usize, column: usize) -> S::Words {
        S::paired(rows[column], rows[columns + column])
    }

    #[inline(always)]
    fn add(sum: S, left: f32, right: S::Words) -> S {
        sum.add_pairs(left, right)
    }
}

/// Planes of rows of halves.
struct Rows<'a, S: Pairs> {
    to: &'a mut [S::Half],
    /// Halves of a row, and from one frequency to the next.
    steps: [usize; 2],
}

impl<'a, S: Pairs> Rows<'a, S> {
    #[inline(always)]
    fn new(to: &'a mut [f32], rows: usize, channels: usize) -> Rows<'a, S> {
        Rows {
            to: halves_mut::<S>(to),
            steps: [channels / S::LANES, 2 * half_stride(rows, channels) / S::LANES],
        }
    }
}

impl<S: Pairs> Planes<S> for Rows<'_, S> {
    #[inline(always)]
    fn put(&mut self, value: S, frequency: usize, row: usize, vector: usize) {
        self.to[row * self.steps[0] + vector + frequency * self.steps[1]] = value.rounded();
    }
}

/// Planes of words of two rows: of the first of them, the half waits in the place of the words.
struct RowPairs<'a, S: Pairs> {
    to: &'a mut [f32],
    steps: [usize; 2],
    of: PhantomData<S>,
}

impl<'a, S: Pairs> RowPairs<'a, S> {
    #[inline(always)]
    fn new(to: &'a mut [f32], rows: usize, channels: usize) -> RowPairs<'a, S> {
        let steps = [channels, half_stride(rows, channels)].map(|floats| floats / S::LANES);
        RowPairs { to, steps, of: PhantomData }
    }
}

impl<S: Pairs> Planes<S> for RowPairs<'_, S> {
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

/// Where tiles are odd in number, the last one's partner is a row of zeros.
#[inline(always)]
fn even_out<S: Pairs>(conv: &Conv, to: &mut impl Planes<S>, tiles: usize, channels: usize) {
    if !tiles.is_multiple_of(2) {
        for frequency in 0..conv.frequencies() {
            for vector in 0..channels / S::LANES {
                to.put(S::splat(0.0), frequency, tiles, vector);
            }
        }
    }
}

impl Conv {
    /// [`Conv::forward`] by pairs.
    pub(super) fn forward_by_pairs(&self, pairs: PairSet, weight: &[f32], x: &[f32], z: &mut [f32]) {
        let weight = self.packed(pairs, weight, false);
        let weight = weight.as_ref();
        self.each_group(x, z, |x, z| {
            self.with_room(|scratch| pairs.run(Forward { conv: self, weight, x, z, scratch }));
        });
    }

    /// [`Conv::backward`] by pairs.
    pub(super) fn backward_by_pairs(
        &self,
        pairs: PairSet,
        weight: &[f32],
        x: &[f32],
        gradient: &Gradient,
        z: &mut [f32],
        dx: Target,
    ) -> Vec<f32> {
        let weight = self.packed(pairs, weight, true);
        let weight = weight.as_ref();
        self.each_gradient(x, gradient, z, dx, |Share { x, gradient, z, dx }, sum| {
            self.with_room(|scratch| {
                pairs.run(Backward { conv: self, weight, x, gradient, z, dx, sum, scratch });
            });
        })
    }

    /// Lends this thread's buffers: two for halves, one for sums, one for a board with its border.
    fn with_room(&self, work: impl FnOnce([&mut [f32]; 4])) {
        let (rows, channels) = (
            (self.batch(TILES) * self.tiles()).next_multiple_of(ROWS),
            padded(self.inputs.max(self.outputs)),
        );
        let [halves, sums] =
            [half_stride(rows, channels), plane_stride(rows, channels)].map(|n| n * self.frequencies());
        with_scratch([halves, halves, sums, sums], work);
    }

    /// The [`transformed`](Conv::transformed) kernel in bf16: each word has two inputs or, transposed, two outputs.
    fn packed(&self, pairs: PairSet, weight: &[f32], transposed: bool) -> Aligned {
        let from = self.transformed(weight, transposed);
        let mut to = Aligned::new(from.as_ref().len() / 2);
        let lanes = padded(if transposed { self.inputs } else { self.outputs });
        pairs.run(Pack { lanes, from: from.as_ref(), to: to.as_mut() });
        to
    }
}

/// Rounds rows of so many lanes and pairs each with the next one.
struct Pack<'a> {
    lanes: usize,
    from: &'a [f32],
    to: &'a mut [f32],
}

impl PairKernel for Pack<'_> {
    #[inline(always)]
    fn run<S: Pairs>(self) {
        let Pack { lanes, from, to } = self;
        for (from, to) in from.chunks_exact(2 * lanes).zip(to.chunks_exact_mut(lanes)) {
            for (vector, to) in words_mut::<S>(to).iter_mut().enumerate() {
                let half = |row: usize| S::load(&from[row * lanes + vector * S::LANES..]);
                *to = S::paired(half(0).rounded(), half(1).rounded());
            }
        }
    }
}

struct Forward<'a> {
    conv: &'a Conv,
    weight: &'a [f32],
    x: &'a [f32],
    z: &'a mut [f32],
    scratch: [&'a mut [f32]; 4],
}

impl PairKernel for Forward<'_> {
    #[inline(always)]
    fn run<S: Pairs>(self) {
        let Forward { conv, weight, x, z, scratch: [from, _, to, board] } = self;
        let (wide, high) = (padded(conv.outputs), padded(conv.inputs));
        let images = conv.batch(TILES);
        let chunks = x.chunks(images * conv.input_len()).zip(z.chunks_mut(images * conv.output_len()));
        for (x, z) in chunks {
            let tiles = x.len() / conv.input_len() * conv.tiles();
            let rows = tiles.next_multiple_of(ROWS);
            input_transform::<S>(conv, x, &mut Rows::new(from, rows, high), conv.cut(board, high));
            products::<S>([conv.inputs, high, wide], rows, from, weight, to);
            output_transform::<S>(conv, to, rows, z);
        }
    }
}

struct Backward<'a> {
    conv: &'a Conv,
    /// Transposed.
    weight: &'a [f32],
    x: &'a [f32],
    gradient: Gradient<'a>,
    z: &'a mut [f32],
    dx: Target<'a>,
    /// `[frequency, inputs, outputs]`
    sum: &'a mut [f32],
    scratch: [&'a mut [f32]; 4],
}

impl PairKernel for Backward<'_> {
    #[inline(always)]
    fn run<S: Pairs>(self) {
        let Backward { conv, weight, x, gradient, z, mut dx, sum, scratch: [dz, inputs, other, board] } =
            self;
        let (wide, high) = (padded(conv.outputs), padded(conv.inputs));
        let (input_len, output_len) =
            (conv.batch(TILES) * conv.input_len(), conv.batch(TILES) * conv.output_len());
        for (chunk, x) in x.chunks(input_len).enumerate() {
            let tiles = x.len() / conv.input_len() * conv.tiles();
            let rows = tiles.next_multiple_of(ROWS);
            let images = [chunk * output_len, x.len() / conv.input_len()];
            let to = &mut Rows::new(dz, rows, wide);
            gradient_transform::<S>(conv, (&gradient, z), images, to, conv.cut(board, wide));
            even_out::<S>(conv, to, tiles, wide);
            let to = &mut RowPairs::new(inputs, rows, high);
            input_transform::<S>(conv, x, to, conv.cut(board, high));
            even_out::<S>(conv, to, tiles, high);
            let even = tiles.next_multiple_of(2);
            for ((x, dz), sum) in inputs
                .chunks_exact(half_stride(rows, high))
                .zip(dz.chunks_exact(half_stride(rows, wide)))
                .zip(sum.chunks_exact_mut(high * wide))
            {
                let (x, dz) = (&x[..even * high / 2], halves::<S>(&dz[..even * wide / 2]));
                add_outer::<S, InPairs>([high, wide / S::LANES], x, dz, vectors_mut(sum));
            }
            let dx = match &mut dx {
                Target::Nowhere => continue,
                Target::OverZ => &mut z[chunk * output_len..][..x.len()],
                Target::Here(dx) => &mut dx[chunk * input_len..][..x.len()],
            };
            products::<S>([conv.outputs, wide, high], rows, dz, weight, other);
            input_gradient::<S>(conv, other, rows, dx, conv.cut(board, high));
        }
    }
}

/// The products of all frequencies: `to = from * weight` for `[rows, stride]` in halves and `[stride, width]` in words
/// of two rows, of which only the first `depth` of `stride` are used.
#[inline(always)]
fn products<S: Pairs>(
    [depth, stride, width]: [usize; 3],
    rows: usize,
    from: &[f32],
    weight: &[f32],
    to: &mut [f32],
) {
    let columns = width / S::LANES;
    let planes =
        from.chunks_exact(half_stride(rows, stride)).zip(to.chunks_exact_mut(plane_stride(rows, width)));
    for ((from, to), weight) in planes.zip(weight.chunks_exact(stride / 2 * width)) {
        let (weight, to) = (words::<S>(weight), &mut vectors_mut::<S>(to)[..rows * columns]);
        let sizes = [depth.div_ceil(2), stride / 2, columns];
        product::<S, InPairs>(sizes, &from[..rows * stride / 2], weight, to);
    }
}
