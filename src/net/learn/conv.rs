//! Convolutions for training: forward and both gradients, on boards with channels last.
//!
//! Activations are `[image, row, column, channel]` with channels padded to whole blocks. A 3x3 kernel goes through
//! [`winograd`](super::winograd): boards and kernels are transformed, so that each 4x4 tile takes 36 products over the
//! channels instead of 144; the gradients use the transposed transforms. A 1x1 kernel is one matrix product with the
//! board itself. Work is split into the same groups of images whatever the number of threads, and the results are
//! summed in order, so the same input gives the same bits.

use std::array::from_fn;
use std::cell::RefCell;
use std::ops::Range;

use rayon::prelude::*;

use super::geometry::{Conv, Gradient, Halves, plane_stride};
use super::pairs::{self, ByPairs};
use super::products::{FloatTerms, ProductTerms, add_outer, product};
use super::winograd::{
    Floats, Images, gradient_transform, input_gradient, input_transform, output_transform,
};
use crate::net::kernels::vector::{Aligned, Kernel, Vector, padded, vectors, vectors_mut};

/// The number of groups of images: at most this many threads work at a time, and this many weight gradients are
/// summed.
pub(super) const GROUPS: usize = 16;
/// The maximum number of tiles that are processed together, unless an image has more: enough for the products, few
/// enough for the L2 cache.
const TILES: usize = 80;
/// The maximum number of tiles that are processed together if pairs of bf16 are multiplied. The gradient of the weights
/// is read and written once for all of these tiles.
const TILES_OF_PAIRS: usize = 96;
/// The number of rows of a product is padded to a multiple of this.
const ROWS: usize = 8;

/// The form in which transformed images and kernels are multiplied: floats, or pairs of bf16.
///
/// Images are rows of factors, in which the channels that a product sums over are side by side; kernels are rows with
/// one word per output, each with the factors of [`ProductTerms::ROWS`] channels. The gradient of the weights sums over
/// tiles instead: there, the images' gradients are rows of factors, and images are rows of words, each with the
/// factors of [`ProductTerms::ROWS`] tiles.
pub(super) trait Form<S: Vector>: ProductTerms<S> {
    /// Rows of factors in a buffer of floats.
    type Rows<'a>: Images<S>;
    /// Rows of words in a buffer of floats.
    type WordRows<'a>: Images<S>;

    fn rows(to: &mut [f32], rows: usize, channels: usize) -> Self::Rows<'_>;
    fn word_rows(to: &mut [f32], rows: usize, channels: usize) -> Self::WordRows<'_>;
    /// Factors as vectors.
    fn factors(floats: &[f32]) -> &[Self::Row];
    /// Words as vectors.
    fn words(floats: &[f32]) -> &[Self::Right];
}

impl<S: Vector> Form<S> for FloatTerms {
    type Rows<'a> = Floats<'a, S>;
    type WordRows<'a> = Floats<'a, S>;

    #[inline(always)]
    fn rows(to: &mut [f32], rows: usize, channels: usize) -> Floats<'_, S> {
        Floats::new(to, rows, channels)
    }

    #[inline(always)]
    fn word_rows(to: &mut [f32], rows: usize, channels: usize) -> Floats<'_, S> {
        Floats::new(to, rows, channels)
    }

    #[inline(always)]
    fn factors(floats: &[f32]) -> &[S] {
        vectors(floats)
    }

    #[inline(always)]
    fn words(floats: &[f32]) -> &[S] {
        vectors(floats)
    }
}

/// The destination of the images' gradient.
pub(super) enum Target<'a> {
    /// The gradient is not wanted.
    Nowhere,
    /// The gradient overwrites `z`, which is no longer needed and has the same size.
    OverZ,
    Here(&'a mut [f32]),
}

impl<'a> Target<'a> {
    /// Splits the target into one for each of `groups` groups of images, of at most `len` floats each.
    pub(super) fn split(self, groups: usize, len: usize) -> Vec<Target<'a>> {
        match self {
            Target::Here(dx) => dx.chunks_mut(len).map(Target::Here).collect(),
            Target::OverZ => (0..groups).map(|_| Target::OverZ).collect(),
            Target::Nowhere => (0..groups).map(|_| Target::Nowhere).collect(),
        }
    }
}

impl Conv {
    /// Returns the number of images in a group.
    pub(super) fn group(&self, images: usize) -> usize {
        images.div_ceil(GROUPS).max(1)
    }

    /// Convolves the images `x` with `weight`, `[outputs, inputs, kernel, kernel]`, into `z`.
    pub(super) fn forward(&self, weight: &[f32], x: &[f32], z: &mut [f32]) {
        if let Some(Halves::Tiles(tiles)) = self.halves {
            return self.forward_by_tiles(tiles, weight, x, z);
        }
        let weight = self.packed(weight, false);
        let weight = weight.as_ref();
        self.each_group(x, z, |x, z| {
            self.with_scratch(x.len() / self.input_len(), |[from, to, board, _]| {
                self.run(ForwardGroup { conv: self, weight, x, z, scratch: [from, to, board] });
            });
        });
    }

    /// Returns the gradient of the weights, and writes the gradient of the images to `dx`. `gradient` is the gradient
    /// of the output `z`.
    pub(super) fn backward(
        &self,
        weight: &[f32],
        x: &[f32],
        gradient: &Gradient,
        z: &mut [f32],
        dx: Target,
    ) -> Vec<f32> {
        if let Some(Halves::Tiles(tiles)) = self.halves {
            return self.backward_by_tiles(tiles, weight, x, gradient, z, dx);
        }
        let weight = self.packed(weight, true);
        let weight = weight.as_ref();
        let images = x.len() / self.input_len();
        let group = self.group(images);
        let dx = dx.split(images.div_ceil(group), group * self.input_len());
        let gradients: Vec<Aligned> = x
            .par_chunks(group * self.input_len())
            .zip(gradient.g.par_chunks(group * self.output_len()))
            .zip(z.par_chunks_mut(group * self.output_len()))
            .zip(dx)
            .map(|(((x, g), z), dx)| {
                let mut taps = self.empty_gradient();
                self.with_scratch(x.len() / self.input_len(), |[dz, other, board, sum]| {
                    let sum = &mut sum[..self.frequencies() * padded(self.inputs) * padded(self.outputs)];
                    sum.fill(0.0);
                    let (gradient, scratch) = (Gradient { g, ..*gradient }, [dz, other, board]);
                    self.run(Backward { conv: self, weight, x, gradient, z, dx, sum, scratch });
                    self.transform_back(sum, taps.as_mut());
                });
                taps
            })
            .collect();
        self.sum_of_groups(gradients)
    }

    /// Returns the [`transformed`](Conv::transformed) kernel, in the form in which it is multiplied.
    fn packed(&self, weight: &[f32], transposed: bool) -> Aligned {
        let weight = self.transformed(weight, transposed);
        let lanes = padded(if transposed { self.inputs } else { self.outputs });
        match self.halves {
            Some(Halves::Pairs(pairs)) => pairs::packed(pairs, weight.as_ref(), lanes),
            _ => weight,
        }
    }

    /// Runs a pass in the form in which this convolution multiplies.
    fn run(&self, pass: impl GroupPass) {
        match self.halves {
            Some(Halves::Pairs(pairs)) => pairs.run(ByPairs(pass)),
            _ => self.isa.run(InFloats(pass)),
        }
    }

    /// Returns the number of images of a group that are processed together.
    fn batch(&self, group: usize) -> usize {
        let most = if self.halves.is_some() { TILES_OF_PAIRS } else { TILES };
        let images = group.div_ceil((group * self.tiles()).div_ceil(most));
        // a word of pairs has the factors of two tiles
        if self.halves.is_some() { images.next_multiple_of(2) } else { images }
    }

    /// Calls `work` with each group of images and their part of the output, on all threads.
    fn each_group(&self, x: &[f32], z: &mut [f32], work: impl Fn(&[f32], &mut [f32]) + Sync) {
        let group = self.group(x.len() / self.input_len());
        let groups = x.par_chunks(group * self.input_len()).zip(z.par_chunks_mut(group * self.output_len()));
        groups.for_each(|(x, z)| work(x, z));
    }

    /// Returns the rows that buffers have for a frequency of this many images: [`ROWS`] more than are used, because the
    /// rows of a product are rounded up.
    fn rows(&self, images: usize) -> usize {
        images * self.tiles() + ROWS
    }

    /// Calls `work` with this thread's buffers: for factors, for words or sums, for a board with its border, and for
    /// the gradient of the transformed weights.
    fn with_scratch(&self, group: usize, work: impl FnOnce([&mut [f32]; 4])) {
        thread_local! {
            static SCRATCH: RefCell<[Aligned; 4]> = RefCell::new(from_fn(|_| Aligned::new(0)));
        }
        let [inputs, outputs] = [self.inputs, self.outputs].map(padded);
        let transformed =
            self.frequencies() * plane_stride(self.rows(self.batch(group)), inputs.max(outputs));
        let board = self.board().padded() * inputs.max(outputs);
        let lens = [transformed, transformed, board, self.frequencies() * inputs * outputs];
        SCRATCH.with_borrow_mut(|buffers| {
            for (buffer, len) in buffers.iter_mut().zip(lens) {
                if buffer.as_ref().len() < len {
                    *buffer = Aligned::new(len);
                }
            }
            work(buffers.each_mut().map(Aligned::as_mut));
        });
    }
}

/// A pass over a group of images, in any form.
pub(super) trait GroupPass {
    /// Runs the computation. It must be inlined into the function that is compiled for the instructions of `S`.
    fn run<S: Vector, F: Form<S>>(self);
}

/// A pass that multiplies floats.
struct InFloats<P>(P);

impl<P: GroupPass> Kernel for InFloats<P> {
    #[inline(always)]
    fn run<S: Vector>(self) {
        self.0.run::<S, FloatTerms>();
    }
}

/// The forward pass of a group of images.
struct ForwardGroup<'a> {
    conv: &'a Conv,
    /// Transformed weights: `[frequency, inputs, outputs]`.
    weight: &'a [f32],
    x: &'a [f32],
    z: &'a mut [f32],
    scratch: [&'a mut [f32]; 3],
}

impl GroupPass for ForwardGroup<'_> {
    #[inline(always)]
    fn run<S: Vector, F: Form<S>>(self) {
        let ForwardGroup { conv, weight, x, z, scratch: [from, to, board] } = self;
        let (wide, high) = (padded(conv.outputs), padded(conv.inputs));
        let (batch, runs, having) =
            (conv.batch(x.len() / conv.input_len()), conv.tiling().runs(), conv.having());
        let chunks = x.chunks(batch * conv.input_len()).zip(z.chunks_mut(batch * conv.output_len()));
        for (x, z) in chunks {
            let images = (x.len() / conv.input_len()).next_multiple_of(F::ROWS);
            let rows = conv.rows(images);
            input_transform::<S, F, _>(
                conv,
                (x, &runs, images),
                &mut F::rows(from, rows, high),
                conv.cut(board, high),
            );
            products::<S, F>([conv.inputs, high, wide], (&having, images, rows), from, weight, to);
            output_transform::<S, F>(conv, (to, &runs, images), rows, z);
        }
    }
}

/// The backward pass of a group of images.
struct Backward<'a> {
    conv: &'a Conv,
    /// Transformed and transposed weights: `[frequency, outputs, inputs]`.
    weight: &'a [f32],
    x: &'a [f32],
    gradient: Gradient<'a>,
    z: &'a mut [f32],
    dx: Target<'a>,
    /// `[frequency, inputs, outputs]`
    sum: &'a mut [f32],
    scratch: [&'a mut [f32]; 3],
}

impl GroupPass for Backward<'_> {
    #[inline(always)]
    fn run<S: Vector, F: Form<S>>(self) {
        let Backward { conv, weight, x, gradient, z, mut dx, sum, scratch: [dz, other, board] } = self;
        let (wide, high) = (padded(conv.outputs), padded(conv.inputs));
        let batch = conv.batch(x.len() / conv.input_len());
        let (input_len, output_len) = (batch * conv.input_len(), batch * conv.output_len());
        let (runs, having) = (conv.tiling().runs(), conv.having());
        for (chunk, x) in x.chunks(input_len).enumerate() {
            let images = (x.len() / conv.input_len()).next_multiple_of(F::ROWS);
            let rows = conv.rows(images);
            {
                let (to, from) = (&mut F::rows(dz, rows, wide), (&gradient, &*z, chunk * output_len));
                gradient_transform::<S, F, _>(conv, from, (&runs, images), to, conv.cut(board, wide));
                let to = &mut F::word_rows(other, rows, high);
                input_transform::<S, F, _>(conv, (x, &runs, images), to, conv.cut(board, high));
            }
            outer_products::<S, F>([high, wide], (&having, images, rows), other, dz, sum);
            let dx = match &mut dx {
                Target::Nowhere => continue,
                Target::OverZ => &mut z[chunk * output_len..][..x.len()],
                Target::Here(dx) => &mut dx[chunk * input_len..][..x.len()],
            };
            products::<S, F>([conv.outputs, wide, high], (&having, images, rows), dz, weight, other);
            input_gradient::<S, F>(conv, (other, &runs, images), rows, dx, conv.cut(board, high));
        }
    }
}

/// Computes the products of all frequencies: `to = from * weight` for `[rows, stride]` in factors and
/// `[stride, width]` in words, of which only the first `depth` of `stride` are used. Of each of `images` images, a
/// frequency has the rows in `having`.
#[inline(always)]
fn products<S: Vector, F: Form<S>>(
    [depth, stride, width]: [usize; 3],
    (having, images, rows): (&[Range<usize>], usize, usize),
    from: &[f32],
    weight: &[f32],
    to: &mut [f32],
) {
    let (columns, stride) = (width / S::LANES, stride / F::ROWS);
    let planes = from.chunks(plane_stride(rows, stride)).zip(to.chunks_mut(plane_stride(rows, width)));
    for (((from, to), weight), having) in planes.zip(weight.chunks_exact(stride * width)).zip(having) {
        let (first, count) = (images * having.start, (images * having.len()).next_multiple_of(ROWS));
        let to = &mut vectors_mut::<S>(&mut to[first * width..][..count * width])[..count * columns];
        let sizes = [depth.div_ceil(F::ROWS), stride, columns];
        product::<S, F>(sizes, &from[first * stride..][..count * stride], F::words(weight), to);
    }
}

/// Computes the outer products of all frequencies: `sum += x^T * dz` for `[tiles, high]` in words and `[tiles, wide]`
/// in factors. Of each of `images` images, a frequency has the rows in `having`.
#[inline(always)]
fn outer_products<S: Vector, F: Form<S>>(
    [high, wide]: [usize; 2],
    (having, images, rows): (&[Range<usize>], usize, usize),
    x: &[f32],
    dz: &[f32],
    sum: &mut [f32],
) {
    let planes =
        x.chunks(plane_stride(rows, high / F::ROWS)).zip(dz.chunks(plane_stride(rows, wide / F::ROWS)));
    for (((x, dz), sum), having) in planes.zip(sum.chunks_exact_mut(high * wide)).zip(having) {
        let (first, count) = (images * having.start, images * having.len());
        let x = &x[first * high / F::ROWS..][..count * high / F::ROWS];
        let dz = F::factors(&dz[first * wide / F::ROWS..][..count * wide / F::ROWS]);
        add_outer::<S, F>([high, wide / S::LANES], x, dz, vectors_mut(sum));
    }
}
