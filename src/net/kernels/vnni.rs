//! Convolutions of bytes by vectors of 512 bits (AVX-512 VNNI), for CPUs without tiles.
//!
//! Weights are packed as for tiles: a word of four channels times 16 outputs is a vector. A block of the output is at
//! most 12 rows of a line times two vectors, whose sums stay in registers.

use std::arch::x86_64 as x86;

use super::direct::{Apply, Tile, Written};
use super::{LINE, OUTPUTS, ROWS, TILE_WORDS, bytes};
use crate::net::infer::matrix::Finish;

/// Rows of the tallest block.
const MOST_ROWS: usize = 12;

/// Whether the CPU has the instructions.
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni")
}

/// Applies a convolution.
///
/// # Safety
/// Its buffers must hold as many rows as the layout has, and [`is_available`] must be true.
#[target_feature(enable = "avx512f,avx512vnni,avx2,fma")]
pub(super) unsafe fn run(apply: Apply<true>) {
    let (line, columns) = (apply.layout.line(), apply.conv.outputs.div_ceil(OUTPUTS));
    let blocks = line.div_ceil(MOST_ROWS);
    for column in (0..columns).step_by(2) {
        for row in 0..apply.layout.board.height {
            for block in 0..blocks {
                let (begin, end) = (line * block / blocks, line * (block + 1) / blocks);
                let tile = Tile { row, begin };
                macro_rules! with_constants {
                    ($($rows:literal)*) => {
                        // SAFETY: guaranteed by the caller; a block ends within its line.
                        unsafe {
                            match (end - begin, column + 1 < columns) {
                                $(($rows, true) => self::block::<$rows, 2>(&apply, tile, column),
                                ($rows, false) => self::block::<$rows, 1>(&apply, tile, column),)*
                                size => unreachable!("no block of {size:?}"),
                            }
                        }
                    };
                }
                with_constants!(1 2 3 4 5 6 7 8 9 10 11 12);
            }
        }
    }
}

/// Computes a block of `R` rows and `C` vectors of outputs.
///
/// # Safety
/// As [`run`], and the block must end within its line.
#[inline(always)]
unsafe fn block<const R: usize, const C: usize>(apply: &Apply<true>, tile: Tile, column: usize) {
    let (conv, positions) = (apply.conv, apply.layout.positions);
    let row_bytes = conv.words * size_of::<f32>();
    let (operands, used) = (apply.operands(tile), conv.used_words());
    let weights = conv.weights.as_ref()[column * conv.steps.len() * TILE_WORDS..].as_ptr();
    let (above, below) = (tile.row > 0, tile.row + 1 < apply.layout.board.height);
    // SAFETY: guaranteed by the caller; the taps of a block are on the padded boards.
    unsafe {
        let mut sums = [[x86::_mm512_setzero_si512(); C]; R];
        for (i, step) in conv.steps.iter().enumerate() {
            let is_there = conv.kernel == 1 || [above, true, below][step.tap / 3];
            if !is_there {
                continue;
            }
            let from = operands.wrapping_add(step.squares * positions * row_bytes + step.bytes);
            let weights = weights.add(i * C * TILE_WORDS).cast::<x86::__m512i>();
            for word in 0..(used - step.bytes / 4).min(ROWS) {
                let mut weight = [x86::_mm512_setzero_si512(); C];
                for (c, weight) in weight.iter_mut().enumerate() {
                    *weight = weights.add(c * ROWS + word).read_unaligned();
                }
                for (row, sums) in sums.iter_mut().enumerate() {
                    let x = from.wrapping_add(row * row_bytes + word * 4).cast::<i32>().read_unaligned();
                    let x = x86::_mm512_set1_epi32(x);
                    for (sum, weight) in sums.iter_mut().zip(weight) {
                        *sum = x86::_mm512_dpbusd_epi32(*sum, x, weight);
                    }
                }
            }
        }
        let first = column * OUTPUTS;
        let mut place = apply.place(tile, column);
        let skips = apply.finish == Finish::SkipRelu;
        let mut worths = [bytes::Registers::new(conv.worth(first), skips); C];
        for (c, worth) in worths.iter_mut().enumerate() {
            *worth = bytes::Registers::new(conv.worth(first).from(c * OUTPUTS), skips);
        }
        for sums in &sums {
            for (c, (&sum, &worth)) in sums.iter().zip(&worths).enumerate() {
                match apply.written {
                    Written::Boards => {
                        let slot = place.0.cast::<u8>().add(c * OUTPUTS);
                        bytes::store_bytes(sum, worth, slot);
                    }
                    Written::Rows => {
                        let slot = place.0.add(c * OUTPUTS);
                        bytes::store_floats(sum, worth, apply.finish == Finish::Relu, slot);
                    }
                }
            }
            place = apply.next(place);
        }
    }
}

const _: () = assert!(LINE == 4 * ROWS, "a row of a tile is a word for each row of weights");
