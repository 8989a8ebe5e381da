//! Convolutions for training by tiles of bf16: forward and both gradients; sums and everything else are in f32.
//!
//! Up to 32 images at a time are packed as [`Interleaved`] boards. [`Direct`] convolves them forward and, with the
//! kernel rotated by 180 degrees, for the gradient of the images. The gradient of the weights sums over images and
//! squares: the 32 images of a square are the inner dimension of the product of tiles `[input, image]` times
//! `[image, output]`. Groups of images are summed in order, so the same input gives the same bits, whatever the number
//! of threads.

use std::cell::RefCell;

use rayon::prelude::*;

use super::conv::{GROUPS, Target};
use super::geometry::{Conv, Gradient};
use crate::net::infer::matrix::Finish;
use crate::net::kernels::Tiles;
use crate::net::kernels::direct::{ConvOutputs, Direct, Interleaved, words};
use crate::net::kernels::outer::{IMAGES, Lines, group_words, outer, pack, pair};
use crate::net::kernels::vector::{Aligned, Vector};

/// The minimum number of images that go forward together: with fewer images, packing takes longer than another thread
/// saves.
const FEWEST: usize = 8;

/// The buffers of a thread.
#[derive(Default)]
struct TileBuffers {
    x: Boards,
    dz: Boards,
    /// The tiles of each square: `[padded square, tile of inputs, input, pair of images]`.
    inputs: Boards,
    /// `[square, tile of outputs, pair of images, output]`
    outputs: Boards,
    /// A line of a board in f32.
    line: Vec<f32>,
}

/// A buffer for boards, with the sizes that the last user needed.
struct Boards {
    words: Aligned,
    /// The sizes that the buffer is laid out for: height, width, positions, words.
    sizes: [usize; 4],
}

impl Default for Boards {
    fn default() -> Boards {
        Boards { words: Aligned::new(0), sizes: [0; 4] }
    }
}

impl Boards {
    /// Lays out the buffer for boards of this many positions, with this many words per square of a position. The
    /// buffer is filled with zeros unless the last boards had the same sizes. In that case, the old values are still
    /// there, and a border that was never written is still zero.
    fn lay_out(&mut self, Interleaved { board, positions }: Interleaved, words: usize) -> &mut [f32] {
        let sizes = [board.height, board.width, positions, words];
        if std::mem::replace(&mut self.sizes, sizes) != sizes {
            let len = board.padded() * positions * words;
            if self.words.as_ref().len() < len {
                self.words = Aligned::new(len);
            } else {
                self.words.as_mut().fill(0.0);
            }
        }
        self.words.as_mut()
    }
}

fn with_scratch(work: impl FnOnce(&mut TileBuffers)) {
    thread_local! {
        static SCRATCH: RefCell<TileBuffers> = RefCell::default();
    }
    SCRATCH.with_borrow_mut(work);
}

impl Conv {
    /// Does the work of [`Conv::forward`] by tiles.
    pub(super) fn forward_by_tiles(&self, tiles: Tiles, weight: &[f32], x: &[f32], z: &mut [f32]) {
        let direct = self.direct(tiles, weight);
        // the result for an image does not depend on the other images of its group
        let images = (x.len() / self.input_len()).div_ceil(rayon::current_num_threads());
        let group = images.clamp(FEWEST, IMAGES);
        let groups = x.par_chunks(group * self.input_len()).zip(z.par_chunks_mut(group * self.output_len()));
        groups.for_each(|(x, z)| {
            with_scratch(|scratch| {
                let layout = self.layout(x.len() / self.input_len());
                let boards = scratch.x.lay_out(layout, words(self.inputs));
                pack(tiles, layout, self.inputs, PlainImages(x), boards);
                direct.apply(layout, &layout.configure(tiles), boards, z, ConvOutputs::Rows, Finish::Plain);
            });
        });
    }

    /// Does the work of [`Conv::backward`] by tiles.
    pub(super) fn backward_by_tiles(
        &self,
        tiles: Tiles,
        weight: &[f32],
        x: &[f32],
        gradient: &Gradient,
        z: &mut [f32],
        dx: Target,
    ) -> Vec<f32> {
        let turned =
            (!matches!(dx, Target::Nowhere)).then(|| self.turned().direct(tiles, &self.turn(weight)));
        let (input_len, output_len) = (IMAGES * self.input_len(), IMAGES * self.output_len());
        let dx = dx.split(x.len().div_ceil(input_len), input_len);
        let groups = x.par_chunks(input_len).zip(gradient.g.par_chunks(output_len));
        let mut groups: Vec<_> = groups.zip(z.par_chunks_mut(output_len).zip(dx)).collect();
        // limits the number of sums to their number in f32, whatever the size of the batch
        let run = groups.len().div_ceil(GROUPS).max(1);
        let sums: Vec<Aligned> = groups
            .par_chunks_mut(run)
            .map(|run| {
                let (mut sum, mut other) = (None, None);
                for ((x, g), (z, dx)) in run {
                    let gradient = Gradient { g, ..*gradient };
                    let into = if sum.is_none() { &mut sum } else { &mut other };
                    let into = into.get_or_insert_with(|| self.empty_gradient());
                    self.backward_of_group(tiles, turned.as_ref(), (x, &gradient, z), dx, into.as_mut());
                    if let (Some(sum), Some(other)) = (&mut sum, &other) {
                        sum.as_mut().iter_mut().zip(other.as_ref()).for_each(|(sum, other)| *sum += other);
                    }
                }
                sum.expect("a run has a group")
            })
            .collect();
        self.sum_of_groups(sums)
    }

    /// Computes the gradients of one group; the gradient of the weights is written to `sum`.
    fn backward_of_group(
        &self,
        tiles: Tiles,
        turned: Option<&Direct>,
        (x, gradient, z): (&[f32], &Gradient, &mut [f32]),
        dx: &mut Target,
        sum: &mut [f32],
    ) {
        with_scratch(|scratch| {
            let layout = self.layout(x.len() / self.input_len());
            self.pack(tiles, layout, (x, gradient, z), scratch);
            let TileBuffers { inputs, outputs, dz, .. } = scratch;
            let factors = [inputs, outputs].map(|boards| boards.words.as_ref());
            outer(tiles, (layout.board, self.kernel), [self.inputs, self.outputs], factors, sum);
            let dx = match dx {
                Target::Nowhere => return,
                Target::OverZ => z,
                Target::Here(dx) => dx,
            };
            let turned = turned.expect("packed unless nothing is wanted");
            let configured = layout.configure(tiles);
            turned.apply(layout, &configured, dz.words.as_ref(), dx, ConvOutputs::Rows, Finish::Plain);
        });
    }

    /// Packs the images and the gradient of the output, each in both forms.
    fn pack(
        &self,
        tiles: Tiles,
        layout: Interleaved,
        (x, gradient, z): (&[f32], &Gradient, &[f32]),
        scratch: &mut TileBuffers,
    ) {
        let TileBuffers { x: boards, dz, inputs, outputs, line } = scratch;
        let one = Interleaved { positions: 1, ..layout };
        let boards = boards.lay_out(layout, words(self.inputs));
        pack(tiles, layout, self.inputs, PlainImages(x), boards);
        pair(tiles, layout, self.inputs, boards, inputs.lay_out(one, group_words(self.inputs)), true);
        let dz = dz.lay_out(layout, words(self.outputs));
        pack(tiles, layout, self.outputs, Gradients { gradient, z, line }, dz);
        pair(tiles, layout, self.outputs, dz, outputs.lay_out(one, group_words(self.outputs)), false);
    }

    fn layout(&self, positions: usize) -> Interleaved {
        Interleaved { board: self.board(), positions }
    }

    fn direct(&self, tiles: Tiles, weight: &[f32]) -> Direct {
        let &Conv { inputs, outputs, kernel, .. } = self;
        Direct::new([inputs, outputs, kernel], (weight, &vec![0.0; outputs]), self.board(), tiles)
    }

    /// Returns the convolution that computes the gradient of the images from the gradient of the output.
    fn turned(&self) -> Conv {
        Conv { inputs: self.outputs, outputs: self.inputs, ..self.clone() }
    }

    /// Returns the weights of the convolution that `turned` returns: `[inputs, outputs, kernel, kernel]`, with the taps
    /// in reverse order.
    fn turn(&self, weight: &[f32]) -> Vec<f32> {
        let taps = self.kernel * self.kernel;
        let mut turned = vec![0.0; weight.len()];
        for (i, kernel) in weight.chunks_exact(taps).enumerate() {
            let (output, input) = (i / self.inputs, i % self.inputs);
            let to = &mut turned[(input * self.outputs + output) * taps..][..taps];
            to.iter_mut().zip(kernel.iter().rev()).for_each(|(to, tap)| *to = *tap);
        }
        turned
    }
}

/// Images, used unchanged.
struct PlainImages<'a>(&'a [f32]);

impl Lines for PlainImages<'_> {
    #[inline(always)]
    fn line<S: Vector>(&mut self, first: usize, len: usize) -> &[f32] {
        &self.0[first..][..len]
    }
}

/// The gradient of the output `z`, computed line by line.
struct Gradients<'a> {
    gradient: &'a Gradient<'a>,
    z: &'a [f32],
    line: &'a mut Vec<f32>,
}

impl Lines for Gradients<'_> {
    #[inline(always)]
    fn line<S: Vector>(&mut self, first: usize, len: usize) -> &[f32] {
        self.line.resize(len, 0.0);
        self.gradient.line::<S>(self.z, first, self.line);
        self.line
    }
}
