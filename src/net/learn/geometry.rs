//! The memory layout of boards in a training step (borders, tiles, padded channels), and the gradient of a
//! convolution's output.

use crate::net::kernels::Tiles;
use crate::net::kernels::pairs::PairSet;
use crate::net::kernels::vector::{BLOCK, Isa, Vector, padded};

/// Returns the distance from one frequency to the next, in floats: one cache line more than the rows fill. Without the
/// extra line, all frequencies of a tile could map to the same few cache sets.
pub(super) fn plane_stride(rows: usize, channels: usize) -> usize {
    rows * channels + BLOCK
}

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

    /// Returns the number of matrix products of the convolution: one per frequency.
    pub(super) fn frequencies(&self) -> usize {
        if self.kernel == 3 { 16 } else { 1 }
    }

    /// Returns the number of rows per image in each matrix product of the convolution.
    pub(super) fn tiles(&self) -> usize {
        if self.kernel == 3 { self.height.div_ceil(2) * self.width.div_ceil(2) } else { self.cells() }
    }

    /// Returns the number of rows and columns of the board with a border of one square, plus one if a side is odd.
    pub(super) fn board(&self) -> [usize; 2] {
        [self.height, self.width].map(|side| side.next_multiple_of(2) + 2)
    }

    /// Cuts a buffer to the size of a board with its border or, for a 1x1 kernel, which needs no border, without it.
    #[inline(always)]
    pub(super) fn cut<'a>(&self, buffer: &'a mut [f32], channels: usize) -> &'a mut [f32] {
        let [high, wide] = self.board();
        &mut buffer[..if self.kernel == 1 { self.cells() } else { high * wide } * channels]
    }

    /// Returns the index of the first square of a row, on the board with its border.
    pub(super) fn on_board(&self, row: usize) -> usize {
        (row + 1) * self.board()[1] + 1
    }

    /// Returns the row and column of a tile's upper left square.
    pub(super) fn square(&self, tile: usize) -> [usize; 2] {
        let wide = self.width.div_ceil(2);
        [tile / wide * 2, tile % wide * 2]
    }

    /// Returns the index of the upper left square of the 4x4 piece around a tile, on the board with its border.
    pub(super) fn corner(&self, tile: usize) -> usize {
        let [row, column] = self.square(tile);
        row * self.board()[1] + column
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
