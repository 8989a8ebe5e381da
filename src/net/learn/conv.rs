//! Convolutions for training: forward and both gradients, on boards with channels last.
//!
//! Activations are `[image, row, column, channel]` with channels padded to whole blocks. A 3x3 kernel goes through
//! [`winograd`](super::winograd): boards and kernels are transformed, so that each 2x2 tile takes 16 products over
//! the channels instead of 36; the gradients use the transposed transforms. A 1x1 kernel is one matrix product with
//! the board itself. Work is split into the same groups of images whatever the number of threads, and summed in
//! order: same input, same bits.

use std::array::from_fn;
use std::cell::RefCell;

use rayon::prelude::*;

use super::geometry::{Conv, Gradient, Halves, plane_stride};
use super::products::{Numbers, add_outer, product};
use super::winograd::{Floats, gradient_transform, input_gradient, input_transform, output_transform};
use crate::net::kernels::vector::{Aligned, Kernel, Vector, padded, vectors, vectors_mut};

/// Groups of images: at most this many threads work at a time, and this many weight gradients are summed.
pub(super) const GROUPS: usize = 16;
/// Tiles that are processed together: enough for the products, few enough for the L2 cache.
const TILES: usize = 64;
/// The number of rows of a product is padded to a multiple of this.
pub(super) const ROWS: usize = 8;

/// Where the gradient of the images goes.
pub(super) enum Target<'a> {
    /// It is not wanted.
    Nowhere,
    /// Over `z`, which is not needed any more and has the same size.
    OverZ,
    Here(&'a mut [f32]),
}

impl<'a> Target<'a> {
    /// For each of so many groups of images, where the gradient of its images goes, of so many floats at most.
    pub(super) fn split(self, groups: usize, len: usize) -> Vec<Target<'a>> {
        match self {
            Target::Here(dx) => dx.chunks_mut(len).map(Target::Here).collect(),
            Target::OverZ => (0..groups).map(|_| Target::OverZ).collect(),
            Target::Nowhere => (0..groups).map(|_| Target::Nowhere).collect(),
        }
    }
}

/// A group's share of a backward pass.
pub(super) struct Share<'a> {
    pub(super) x: &'a [f32],
    pub(super) gradient: Gradient<'a>,
    pub(super) z: &'a mut [f32],
    pub(super) dx: Target<'a>,
}

impl Conv {
    /// Images per group.
    pub(super) fn group(&self, images: usize) -> usize {
        images.div_ceil(GROUPS).max(1)
    }

    /// Convolves the images `x` with `weight`, `[outputs, inputs, kernel, kernel]`, into `z`.
    pub(super) fn forward(&self, weight: &[f32], x: &[f32], z: &mut [f32]) {
        match self.halves {
            Some(Halves::Tiles(tiles)) => return self.forward_by_tiles(tiles, weight, x, z),
            Some(Halves::Pairs(pairs)) => return self.forward_by_pairs(pairs, weight, x, z),
            None => {}
        }
        let weight = self.transformed(weight, false);
        let weight = weight.as_ref();
        self.each_group(x, z, |x, z| {
            self.with_scratch(|scratch| self.isa.run(Forward { conv: self, weight, x, z, scratch }));
        });
    }

    /// Returns the gradient of the weights, and writes that of the images to `dx`. `gradient` is that of the output
    /// `z`.
    pub(super) fn backward(
        &self,
        weight: &[f32],
        x: &[f32],
        gradient: &Gradient,
        z: &mut [f32],
        dx: Target,
    ) -> Vec<f32> {
        match self.halves {
            Some(Halves::Tiles(tiles)) => return self.backward_by_tiles(tiles, weight, x, gradient, z, dx),
            Some(Halves::Pairs(pairs)) => return self.backward_by_pairs(pairs, weight, x, gradient, z, dx),
            None => {}
        }
        let weight = self.transformed(weight, true);
        let weight = weight.as_ref();
        self.each_gradient(x, gradient, z, dx, |Share { x, gradient, z, dx }, sum| {
            self.with_scratch(|scratch| {
                self.isa.run(Backward { conv: self, weight, x, gradient, z, dx, sum, scratch });
            });
        })
    }

    /// Calls `work` with each group of images and their part of the output, on all threads.
    pub(super) fn each_group(&self, x: &[f32], z: &mut [f32], work: impl Fn(&[f32], &mut [f32]) + Sync) {
        let group = self.group(x.len() / self.input_len());
        let groups = x.par_chunks(group * self.input_len()).zip(z.par_chunks_mut(group * self.output_len()));
        groups.for_each(|(x, z)| work(x, z));
    }

    /// Calls `work` with each group's share of a backward pass, on all threads, and with where its gradient of the
    /// transformed weights goes, `[frequency, inputs, outputs]`; returns the gradient of the weights.
    pub(super) fn each_gradient(
        &self,
        x: &[f32],
        gradient: &Gradient,
        z: &mut [f32],
        dx: Target,
        work: impl Fn(Share, &mut [f32]) + Sync,
    ) -> Vec<f32> {
        let images = x.len() / self.input_len();
        let group = self.group(images);
        let dx = dx.split(images.div_ceil(group), group * self.input_len());
        let sums: Vec<Aligned> = x
            .par_chunks(group * self.input_len())
            .zip(gradient.g.par_chunks(group * self.output_len()))
            .zip(z.par_chunks_mut(group * self.output_len()))
            .zip(dx)
            .map(|(((x, g), z), dx)| {
                let mut sum = Aligned::new(self.frequencies() * padded(self.inputs) * padded(self.outputs));
                work(Share { x, gradient: Gradient { g, ..*gradient }, z, dx }, sum.as_mut());
                sum
            })
            .collect();
        self.weight_gradient(sums)
    }

    /// Images that are processed together, so that there are about so many tiles.
    pub(super) fn batch(&self, tiles: usize) -> usize {
        (tiles / self.tiles()).max(1)
    }

    /// Lends this thread's buffers: two for transformed images, one for a board with its border.
    fn with_scratch(&self, work: impl FnOnce([&mut [f32]; 3])) {
        let rows = (self.batch(TILES) * self.tiles()).next_multiple_of(ROWS);
        let transformed = self.frequencies() * plane_stride(rows, padded(self.inputs.max(self.outputs)));
        with_scratch([transformed, transformed, transformed, 0], |[a, b, c, _]| work([a, b, c]));
    }
}

/// Lends this thread's buffers, of so many floats at least.
pub(super) fn with_scratch(lens: [usize; 4], work: impl FnOnce([&mut [f32]; 4])) {
    thread_local! {
        static SCRATCH: RefCell<[Aligned; 4]> = RefCell::new(from_fn(|_| Aligned::new(0)));
    }
    SCRATCH.with_borrow_mut(|buffers| {
        for (buffer, len) in buffers.iter_mut().zip(lens) {
            if buffer.as_ref().len() < len {
                *buffer = Aligned::new(len);
            }
        }
        work(buffers.each_mut().map(Aligned::as_mut));
    });
}

struct Forward<'a> {
    conv: &'a Conv,
    weight: &'a [f32],
    x: &'a [f32],
    z: &'a mut [f32],
    scratch: [&'a mut [f32]; 3],
}

impl Kernel for Forward<'_> {
    #[inline(always)]
    fn run<S: Vector>(self) {
        let Forward { conv, weight, x, z, scratch: [from, to, board] } = self;
        let (wide, high) = (padded(conv.outputs), padded(conv.inputs));
        let images = conv.batch(TILES);
        let chunks = x.chunks(images * conv.input_len()).zip(z.chunks_mut(images * conv.output_len()));
        for (x, z) in chunks {
            let tiles = x.len() / conv.input_len() * conv.tiles();
            let rows = tiles.next_multiple_of(ROWS);
            input_transform::<S>(conv, x, &mut Floats::new(from, rows, high), conv.cut(board, high));
            let (weights, columns) = (weight.chunks_exact(high * wide), wide / S::LANES);
            let products = from
                .chunks_exact(plane_stride(rows, high))
                .zip(to.chunks_exact_mut(plane_stride(rows, wide)))
                .zip(weights);
            for ((from, to), weight) in products {
                product::<S, Numbers>([conv.inputs, high, columns], from, vectors(weight), vectors_mut(to));
            }
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
    scratch: [&'a mut [f32]; 3],
}

impl Kernel for Backward<'_> {
    #[inline(always)]
    fn run<S: Vector>(self) {
        let Backward { conv, weight, x, gradient, z, mut dx, sum, scratch: [dz, other, board] } = self;
        let (wide, high) = (padded(conv.outputs), padded(conv.inputs));
        let (input_len, output_len) =
            (conv.batch(TILES) * conv.input_len(), conv.batch(TILES) * conv.output_len());
        for (chunk, x) in x.chunks(input_len).enumerate() {
            let tiles = x.len() / conv.input_len() * conv.tiles();
            let rows = tiles.next_multiple_of(ROWS);
            let images = [chunk * output_len, x.len() / conv.input_len()];
            let to = &mut Floats::new(dz, rows, wide);
            gradient_transform::<S>(conv, (&gradient, z), images, to, conv.cut(board, wide));
            input_transform::<S>(conv, x, &mut Floats::new(other, rows, high), conv.cut(board, high));
            let sums = sum.chunks_exact_mut(high * wide);
            for ((x, dz), sum) in other
                .chunks_exact(plane_stride(rows, high))
                .zip(dz.chunks_exact(plane_stride(rows, wide)))
                .zip(sums)
            {
                let dz = vectors(&dz[..tiles * wide]);
                add_outer::<S, Numbers>([high, wide / S::LANES], &x[..tiles * high], dz, vectors_mut(sum));
            }
            let dx = match &mut dx {
                Target::Nowhere => continue,
                Target::OverZ => &mut z[chunk * output_len..][..x.len()],
                Target::Here(dx) => &mut dx[chunk * input_len..][..x.len()],
            };
            let (weights, columns) = (weight.chunks_exact(high * wide), high / S::LANES);
            for ((dz, other), weight) in dz
                .chunks_exact(plane_stride(rows, wide))
                .zip(other.chunks_exact_mut(plane_stride(rows, high)))
                .zip(weights)
            {
                product::<S, Numbers>([conv.outputs, wide, columns], dz, vectors(weight), vectors_mut(other));
            }
            input_gradient::<S>(conv, other, rows, dx, conv.cut(board, high));
        }
    }
}
