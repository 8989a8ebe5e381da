//! Products of tiles for training, besides [`Direct`](super::direct::Direct): packs boards in bf16, and computes the
//! gradient of a convolution's weights.
//!
//! The gradient is a sum over images and squares: the [`IMAGES`] images of a square are the inner dimension of a
//! product of tiles, `[input, image]` times `[image, output]`.

use super::direct::{Interleaved, words};
use super::{CHANNELS, OUTPUTS, ROWS, TILE_WORDS, TileProducts, TileWork, Tiles};
use crate::net::infer::tiling::PaddedBoard;
use crate::net::kernels::vector::{Vector, padded};

/// The number of images in a group.
pub(in crate::net) const IMAGES: usize = 2 * ROWS;

/// Returns the words of a group's channels on one square, in tiles.
pub(in crate::net) fn group_words(channels: usize) -> usize {
    words(channels) * IMAGES
}

/// Boards of f32, `[position, row, column, channel]` with channels in whole blocks.
pub(in crate::net) trait Lines {
    /// Returns `len` floats starting at `first`: a line of a board.
    fn line<S: Vector>(&mut self, first: usize, len: usize) -> &[f32];
}

/// Rounds boards of `channels` channels to bf16, interleaved. Does not write the border.
pub(in crate::net) fn pack(
    tiles: Tiles,
    layout: Interleaved,
    channels: usize,
    from: impl Lines,
    to: &mut [f32],
) {
    assert!(to.len() >= layout.rows() * words(channels), "the buffer is too small for the boards");
    // SAFETY: nothing is multiplied, and there is room for all rows.
    unsafe { tiles.run(Pack { layout, channels, from, to }) };
}

/// Makes tiles of interleaved boards with pairs of images in words: `[square, tile of channels, pair, channel]` or,
/// if `transposed`, `[padded square, tile of channels, channel, pair]`, whose border is not written.
pub(in crate::net) fn pair(
    tiles: Tiles,
    layout: Interleaved,
    channels: usize,
    from: &[f32],
    to: &mut [f32],
    transposed: bool,
) {
    assert!(from.len() >= layout.rows() * words(channels), "the boards do not fit this layout");
    assert!(layout.positions <= IMAGES, "more positions than a group has");
    // SAFETY: nothing is multiplied; access to the squares of the result is checked against its bounds.
    unsafe { tiles.run(Pair { layout, channels, from, to, transposed }) };
}

/// Computes the gradient of weights, `[tap, input, output]` with channels in whole blocks, from `inputs` (transposed)
/// and the gradient of `outputs`, both as [`pair`] makes them; `channels` are the numbers of channels of the inputs and
/// of the outputs. Configures the tile registers.
pub(in crate::net) fn outer(
    tiles: Tiles,
    (board, kernel): (PaddedBoard, usize),
    channels: [usize; 2],
    [inputs, outputs]: [&[f32]; 2],
    sum: &mut [f32],
) {
    let [read, written] = channels.map(group_words);
    assert!(inputs.len() >= board.padded() * read && outputs.len() >= board.height * board.width * written);
    assert_eq!(
        sum.len(),
        kernel * kernel * padded(channels[0]) * padded(channels[1]),
        "a gradient of weights"
    );
    let _configured = tiles.configure(ROWS);
    // SAFETY: the registers are configured; all tiles are within the slices.
    unsafe { tiles.run(Outer { board, kernel, channels, inputs, outputs, sum }) };
}

/// The work of [`pack`].
struct Pack<'a, L> {
    layout: Interleaved,
    channels: usize,
    from: L,
    to: &'a mut [f32],
}

impl<L: Lines> TileWork for Pack<'_, L> {
    #[inline(always)]
    unsafe fn run<T: TileProducts>(self) {
        let Pack { layout, channels, mut from, to } = self;
        let Interleaved { board: PaddedBoard { height, width }, positions } = layout;
        let (words, channels, lanes) = (words(channels), padded(channels), T::Register::LANES);
        let step = positions * words;
        for position in 0..positions {
            for row in 0..height {
                let first = (position * height + row) * width * channels;
                let line = from.line::<T::Register>(first, width * channels);
                let slots = to[(layout.row(row, 0) + position) * words..].chunks_mut(step);
                for (numbers, slot) in line.chunks_exact(channels).zip(slots) {
                    let slot = slot[..words].as_mut_ptr().cast::<u16>();
                    for channel in (0..channels).step_by(2 * lanes) {
                        let second = if channel + lanes < channels {
                            T::Register::load(&numbers[channel + lanes..])
                        } else {
                            T::Register::splat(0.0)
                        };
                        // SAFETY: the slot has room for all channels.
                        unsafe {
                            T::store([T::Register::load(&numbers[channel..]), second], slot.add(channel))
                        };
                    }
                }
            }
        }
    }
}

/// The work of [`pair`].
struct Pair<'a> {
    layout: Interleaved,
    channels: usize,
    from: &'a [f32],
    to: &'a mut [f32],
    transposed: bool,
}

impl TileWork for Pair<'_> {
    #[inline(always)]
    unsafe fn run<T: TileProducts>(self) {
        let Pair { layout, channels, from, to, transposed } = self;
        let Interleaved { board, positions } = layout;
        let (words, size) = (words(channels), group_words(channels));
        let mut pairs = [[0_u32; TILE_WORDS]; 2];
        for square in 0..board.height * board.width {
            let (row, column) = (square / board.width, square % board.width);
            let first = layout.row(row, 0) + column * positions;
            let place = if transposed { board.padded_square(row, column) } else { square };
            let tiles = &mut to[place * size..][..size];
            for (chunk, tiles) in tiles.chunks_exact_mut(2 * TILE_WORDS).enumerate() {
                let tiles = tiles.as_mut_ptr().cast::<u32>();
                let direct = [tiles, tiles.wrapping_add(TILE_WORDS)];
                let target = if transposed { pairs.each_mut().map(|half| half.as_mut_ptr()) } else { direct };
                for pair in 0..IMAGES / 2 {
                    let line = |image: usize| {
                        let word = (first + image) * words + chunk * CHANNELS / 2;
                        (image < positions).then(|| from[word..].as_ptr().cast::<u8>())
                    };
                    // SAFETY: rows have 32 channels for each chunk, tiles have 16 rows of 16 words.
                    unsafe {
                        T::pair(
                            [line(2 * pair), line(2 * pair + 1)],
                            target.map(|half| half.wrapping_add(pair * 16)),
                        );
                    }
                }
                if transposed {
                    for (pairs, tile) in pairs.iter().zip(direct) {
                        // SAFETY: as above.
                        unsafe { T::transpose(pairs.as_ptr(), tile) };
                    }
                }
            }
        }
    }
}

/// The work of [`outer`].
struct Outer<'a> {
    board: PaddedBoard,
    kernel: usize,
    /// Inputs and outputs.
    channels: [usize; 2],
    inputs: &'a [f32],
    outputs: &'a [f32],
    sum: &'a mut [f32],
}

impl TileWork for Outer<'_> {
    #[inline(always)]
    unsafe fn run<T: TileProducts>(self) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.kernel {
                1 => self.run_with::<T, 1>(),
                _ => self.run_with::<T, 3>(),
            }
        }
    }
}

impl Outer<'_> {
    /// Runs for a kernel of `K` rows and columns.
    ///
    /// # Safety
    /// As for [`TileWork::run`].
    #[inline(always)]
    unsafe fn run_with<T: TileProducts, const K: usize>(self) {
        let Outer { board, channels, inputs, outputs, sum, .. } = self;
        let PaddedBoard { height, width } = board;
        let ([high, wide], [per_input, per_output]) = (channels.map(padded), channels.map(group_words));
        let sum = sum.as_mut_ptr();
        // SAFETY: guaranteed by the caller; all tiles are within the buffers.
        unsafe {
            let mut products = T::new(ROWS, false);
            for output in (0..wide).step_by(OUTPUTS) {
                for input in (0..high).step_by(2 * ROWS) {
                    let two = input + ROWS < high;
                    for down in 0..K {
                        products.clear_outer();
                        // rows of the output whose tap is on the board
                        let rows = (K / 2).saturating_sub(down)..(height + K / 2 - down).min(height);
                        for row in rows {
                            for column in 0..width {
                                // the square of the first tap in the row
                                let square =
                                    board.padded_square(row + down, column) - K / 2 * (board.pitch() + 1);
                                let tile = |tap: usize, i: usize| {
                                    let word = (square + tap) * per_input + (input / ROWS + i) * TILE_WORDS;
                                    inputs.as_ptr().wrapping_add(word).cast::<u8>()
                                };
                                let mut taps = [[std::ptr::null(); 2]; K];
                                for (tap, place) in taps.iter_mut().enumerate() {
                                    *place = [tile(tap, 0), tile(tap, 1)];
                                }
                                let word =
                                    (row * width + column) * per_output + output / OUTPUTS * TILE_WORDS;
                                products.outer::<K>(taps, two, outputs.as_ptr().wrapping_add(word).cast());
                            }
                        }
                        let mut to = [[std::ptr::null_mut(); 2]; K];
                        for (tap, to) in to.iter_mut().enumerate() {
                            for (i, to) in to.iter_mut().enumerate() {
                                let place = ((down * K + tap) * high + input + i * ROWS) * wide + output;
                                *to = sum.wrapping_add(place).cast::<u8>();
                            }
                        }
                        products.write_outer::<K>(to, two, wide * size_of::<f32>());
                    }
                }
            }
        }
    }
}
