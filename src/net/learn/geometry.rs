//! The memory layout of boards in a training step (borders, tiles, padded channels), and the gradient of a
//! convolution's output.

use std::iter;
use std::ops::Range;

use crate::net::infer::tiling::{BoardTiling, PaddedBoard};
use crate::net::kernels::Tiles;
use crate::net::kernels::frequencies::LARGEST;
use crate::net::kernels::pairs::PairSet;
use crate::net::kernels::vector::{BLOCK, Isa, Vector, padded};

/// Returns the distance from one frequency to the next, in floats: one cache line more than the rows fill. Without the
/// extra line, all frequencies of a tile could map to the same few cache sets.
pub(super) fn plane_stride(rows: usize, channels: usize) -> usize {
    rows * channels + BLOCK
}

/// The side of the largest tile if pairs of bf16 are multiplied.
pub(super) const LARGEST_OF_PAIRS: usize = 2;

/// A convolution without bias that keeps the size of the board.
#[derive(Clone, Debug)]
pub(super) struct Conv {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    /// 3 or 1.
    pub(super) kernel: usize,
    pub(super) isa: Isa,
    /// The instructions that multiply in bf16, if bf16 is used.
    pub(super) halves: Option<Halves>,
}

/// The kinds of instructions that multiply in bf16.
#[derive(Clone, Copy, Debug)]
pub(in crate::net) enum Halves {
    /// Instructions for whole tiles, in direct convolutions.
    Tiles(Tiles),
    /// Vector instructions for pairs, in Winograd's frequencies.
    Pairs(PairSet),
}

impl Halves {
    /// Returns the faster kind that this CPU has; `None` if it has neither.
    pub(in crate::net) fn here() -> Option<Halves> {
        Tiles::here().map(Halves::Tiles).or_else(|| PairSet::here().map(Halves::Pairs))
    }
}

impl Conv {
    /// Returns the number of floats of one input image.
    pub(super) fn input_len(&self) -> usize {
        self.cells() * padded(self.inputs)
    }

    /// Returns the number of floats of one output image.
    pub(super) fn output_len(&self) -> usize {
        self.cells() * padded(self.outputs)
    }

    pub(super) fn cells(&self) -> usize {
        self.height * self.width
    }

    /// Returns how the board is cut into tiles for a 3x3 kernel. Products of bf16 lose too much precision in tiles of
    /// more than two squares.
    pub(super) fn tiling(&self) -> BoardTiling {
        let largest = if self.halves.is_some() { LARGEST_OF_PAIRS } else { LARGEST };
        BoardTiling::new(self.board(), largest)
    }

    /// Returns the number of matrix products of the convolution: one per frequency.
    pub(super) fn frequencies(&self) -> usize {
        if self.kernel == 3 { self.tiling().matrices() } else { 1 }
    }

    /// Returns the number of rows per image in the matrix products of the convolution.
    pub(super) fn tiles(&self) -> usize {
        if self.kernel == 3 { self.tiling().tiles() } else { self.cells() }
    }

    /// Returns the rows of an image that take part in the product of each frequency.
    pub(super) fn having(&self) -> Vec<Range<usize>> {
        if self.kernel == 3 { self.tiling().having() } else { iter::once(0..self.cells()).collect() }
    }

    pub(super) fn board(&self) -> PaddedBoard {
        PaddedBoard { height: self.height, width: self.width }
    }

    /// Cuts a buffer to the size of a board with its border or, for a 1x1 kernel, which needs no border, without it.
    #[inline(always)]
    pub(super) fn cut<'a>(&self, buffer: &'a mut [f32], channels: usize) -> &'a mut [f32] {
        &mut buffer[..if self.kernel == 1 { self.cells() } else { self.board().padded() } * channels]
    }
}

/// The gradient of a convolution's output `z`, from the gradient `g` of the layer's output: for every channel
/// `scale * g + slope * (z - mean) + shift`.
#[derive(Clone, Copy)]
pub(super) struct Gradient<'a> {
    pub(super) g: &'a [f32],
    pub(super) mean: &'a [f32],
    pub(super) scale: &'a [f32],
    pub(super) slope: &'a [f32],
    pub(super) shift: &'a [f32],
}

impl Gradient<'_> {
    /// Writes the gradient of whole pixels, starting at `index`.
    #[inline(always)]
    pub(super) fn line<S: Vector>(&self, z: &[f32], index: usize, to: &mut [f32]) {
        let channels = self.mean.len();
        let (g, z) = (&self.g[index..][..to.len()], &z[index..][..to.len()]);
        let pixels = g.chunks_exact(channels).zip(z.chunks_exact(channels));
        for ((g, z), to) in pixels.zip(to.chunks_exact_mut(channels)) {
            for channel in (0..channels).step_by(S::LANES) {
                S::load(&self.shift[channel..])
                    .add_products(
                        S::load(&self.slope[channel..]),
                        S::load(&z[channel..]).sub(S::load(&self.mean[channel..])),
                    )
                    .add_products(S::load(&self.scale[channel..]), S::load(&g[channel..]))
                    .store(&mut to[channel..]);
            }
        }
    }
}
