//! Products of tiles in plain Rust that equal those of the instructions to the last bit (except for the bits of a NaN).

use super::{CHANNELS, Factors, LINE, OUTPUTS, ROWS, Sums, TILE_WORDS, TileProducts, bf16};
use crate::net::kernels::vector::{Plain, Vector};

/// Intel's pseudocode of `tdpbf16ps` as loops: within each tile, the even and the odd channels are summed separately
/// by fused multiply-adds; numbers below the smallest normal one are zero.
pub(super) struct Emulated {
    height: usize,
    sums: Sums,
    /// `[tap][tile of inputs]`
    outer: [[[[f32; OUTPUTS]; ROWS]; 2]; 3],
}

impl TileProducts for Emulated {
    type Register = Plain;

    unsafe fn new(height: usize, _streams: bool) -> Emulated {
        Emulated { height, sums: Sums::ZERO, outer: [[[[0.0; OUTPUTS]; ROWS]; 2]; 3] }
    }

    fn clear(&mut self) {
        self.sums = Sums::ZERO;
    }

    unsafe fn step<const C: usize>(&mut self, Factors { operands, wanted, row, weights }: Factors) {
        let tiles = self.sums.0.iter_mut().zip(operands).zip(wanted);
        for ((sums, operands), _) in tiles.filter(|(_, wanted)| *wanted) {
            for (i, sums) in sums[..self.height].iter_mut().enumerate() {
                for (output, sum) in sums[..C * OUTPUTS].iter_mut().enumerate() {
                    let (column, lane) = (output / OUTPUTS, output % OUTPUTS);
                    // SAFETY: guaranteed by the caller.
                    unsafe {
                        let weights = weights.add((column * TILE_WORDS + lane) * size_of::<u32>());
                        add_row(sum, operands.add(i * row), weights);
                    }
                }
            }
        }
    }

    fn write<const C: usize>(&mut self, sums: &mut Sums) {
        *sums = self.sums;
    }

    fn clear_outer(&mut self) {
        self.outer = [[[[0.0; OUTPUTS]; ROWS]; 2]; 3];
    }

    unsafe fn outer<const K: usize>(&mut self, inputs: [[*const u8; 2]; K], two: bool, outputs: *const u8) {
        for (sums, inputs) in self.outer.iter_mut().zip(inputs) {
            for (sums, inputs) in sums.iter_mut().zip(inputs).take(1 + usize::from(two)) {
                for (row, sums) in sums.iter_mut().enumerate() {
                    for (lane, sum) in sums.iter_mut().enumerate() {
                        // SAFETY: guaranteed by the caller.
                        unsafe { add_row(sum, inputs.add(row * LINE), outputs.add(lane * 4)) };
                    }
                }
            }
        }
    }

    unsafe fn write_outer<const K: usize>(&mut self, to: [[*mut u8; 2]; K], two: bool, row: usize) {
        for (sums, to) in self.outer.iter().zip(to) {
            for (sums, to) in sums.iter().zip(to).take(1 + usize::from(two)) {
                for (i, sums) in sums.iter().enumerate() {
                    // SAFETY: guaranteed by the caller.
                    unsafe { to.add(i * row).cast::<[f32; OUTPUTS]>().write_unaligned(*sums) };
                }
            }
        }
    }

    unsafe fn pair(rows: [Option<*const u8>; 2], to: [*mut u32; 2]) {
        for channel in 0..CHANNELS {
            // SAFETY: guaranteed by the caller.
            unsafe {
                let [low, high] =
                    rows.map(|row| row.map_or(0, |row| u32::from(row.cast::<u16>().add(channel).read())));
                to[channel / OUTPUTS].add(channel % OUTPUTS).write(high << 16 | low);
            }
        }
    }

    unsafe fn transpose(from: *const u32, to: *mut u32) {
        for i in 0..ROWS * ROWS {
            // SAFETY: guaranteed by the caller.
            unsafe { to.add(i % ROWS * ROWS + i / ROWS).write(from.add(i).read()) };
        }
    }

    unsafe fn load(from: *const u16) -> Plain {
        let mut numbers = [0.0; Plain::LANES];
        for (i, number) in numbers.iter_mut().enumerate() {
            // SAFETY: guaranteed by the caller.
            *number = f32::from_bits(u32::from(unsafe { from.add(i).read() }) << 16);
        }
        Plain::load(&numbers)
    }

    unsafe fn store(registers: [Plain; 2], to: *mut u16) {
        let mut numbers = [[0.0; Plain::LANES]; 2];
        registers.into_iter().zip(&mut numbers).for_each(|(register, numbers)| register.store(numbers));
        for (i, &number) in numbers.as_flattened().iter().enumerate() {
            // SAFETY: guaranteed by the caller.
            unsafe { to.add(i).write(bf16(normal(number))) };
        }
    }
}

/// Adds one number of a product of tiles: the sum of a row times a column whose first pair is at `column`.
///
/// # Safety
/// The row and the column must be readable.
unsafe fn add_row(sum: &mut f32, row: *const u8, column: *const u8) {
    let number = |bits: u16| normal(f32::from_bits(u32::from(bits) << 16));
    let mut halves = [0.0_f32; 2];
    for pair in 0..ROWS {
        for (half, sum) in halves.iter_mut().enumerate() {
            // SAFETY: guaranteed by the caller.
            let [x, y] = unsafe {
                let (x, y) = (row.add(pair * 4).cast::<u16>(), column.add(pair * LINE).cast::<u16>());
                [number(x.add(half).read()), number(y.add(half).read())]
            };
            *sum = normal(x.mul_add(y, *sum));
        }
    }
    *sum = normal(*sum + normal(halves[0] + halves[1]));
}

/// Returns `number`, or zero if it is subnormal.
fn normal(number: f32) -> f32 {
    if number.is_subnormal() { 0.0_f32.copysign(number) } else { number }
}
