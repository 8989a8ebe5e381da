//! The products that a CPU can compute, for inference and training: floats in registers of any width ([`vector`]),
//! pairs of bf16 by AVX-512 BF16 ([`pairs`]), and whole tiles of bf16 by Intel's AMX. Products of pairs and of tiles
//! also exist in plain Rust, so that everything around them can be tested on any CPU.
//!
//! A tile is at most 16 rows of 64 bytes. A tile of operands is `[row, channel]` with 32 channels in bf16; a tile of
//! weights is `[pair of channels, output, channel of the pair]` with 16 outputs; a tile of sums is `[row, output]` in
//! f32. A block of the output is at most two tiles of rows times two tiles of outputs; all its sums stay in tile
//! registers during all steps, which go through the taps and channels. The sums are added in the order of the steps.
//!
//! [`direct`] has the convolutions of both the forward pass and training, and [`outer`] has the gradients of weights;
//! both use tiles.

#![allow(unsafe_code)]

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod amx;
pub(super) mod direct;
mod emulated;
pub(super) mod frequencies;
pub(super) mod outer;
pub(super) mod pairs;
pub(super) mod vector;

use std::marker::PhantomData;

use self::emulated::Emulated;
use self::vector::Vector;

/// Rows of the tallest tile.
pub(super) const ROWS: usize = 16;
/// Channels of a tile of operands.
pub(super) const CHANNELS: usize = 32;
/// Outputs of a tile of weights.
pub(super) const OUTPUTS: usize = 16;
/// Bytes of a row.
const LINE: usize = 64;
/// Words of a tile of weights, of two bf16 each.
const TILE_WORDS: usize = ROWS * LINE / size_of::<u32>();

/// The sums of a block: `[tile of rows, row, output]`.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Sums(pub(super) [[[f32; 2 * OUTPUTS]; ROWS]; 2]);

impl Sums {
    pub(super) const ZERO: Sums = Sums([[[0.0; 2 * OUTPUTS]; ROWS]; 2]);
}

/// The factors of a step.
#[derive(Clone, Copy)]
pub(super) struct Factors {
    /// The first row of operands of both tiles of rows.
    pub(super) operands: [*const u8; 2],
    /// Whether each tile of rows takes part.
    pub(super) wanted: [bool; 2],
    /// Bytes from one row to the next.
    pub(super) row: usize,
    /// Tiles of weights, one for each tile of outputs, one after the other.
    pub(super) weights: *const u8,
}

/// A way to multiply tiles, together with its registers, which hold the sums of a block; all sums begin at 0.
pub(super) trait TileProducts {
    /// The register in which sums are processed further.
    type Register: Vector;

    /// Makes products for tiles of `height` rows. If `streams` is true, weights bypass the nearest cache, which is left
    /// to the operands, because those are read again and again.
    ///
    /// # Safety
    /// The tile registers of this thread must be [`configured`](Tiles::configure) for this height, and nothing else
    /// may use them while the result is in use.
    unsafe fn new(height: usize, streams: bool) -> Self;

    /// Sets all sums to 0.
    fn clear(&mut self);

    /// Adds the products of a step to the sums of `C` tiles of outputs.
    ///
    /// # Safety
    /// The factors must be readable as [`Factors`] describes.
    unsafe fn step<const C: usize>(&mut self, factors: Factors);

    /// Writes the sums of `C` tiles of outputs.
    fn write<const C: usize>(&mut self, sums: &mut Sums);

    /// Sets the sums of all taps and tiles of inputs to 0, for gradients of weights.
    fn clear_outer(&mut self);

    /// Adds the products of inputs (`[tap][tile of inputs]`, `[input, pair, one of the pair]`) and outputs
    /// (`[pair, output, one of the pair]`), for one tile of inputs or for two.
    ///
    /// # Safety
    /// The tiles must be readable.
    unsafe fn outer<const K: usize>(&mut self, inputs: [[*const u8; 2]; K], two: bool, outputs: *const u8);

    /// Writes the sums of [`TileProducts::outer`], each tile with `row` bytes per row.
    ///
    /// # Safety
    /// The tiles must be writable.
    unsafe fn write_outer<const K: usize>(&mut self, to: [[*mut u8; 2]; K], two: bool, row: usize);

    /// Pairs two rows of 32 channels in bf16: each word is one channel of both rows. One row or both may be missing.
    ///
    /// # Safety
    /// The rows must be readable, and 16 words of each half of the channels writable.
    unsafe fn pair(rows: [Option<*const u8>; 2], to: [*mut u32; 2]);

    /// Transposes 16 rows of 16 words.
    ///
    /// # Safety
    /// `from` must be readable and `to` writable.
    unsafe fn transpose(from: *const u32, to: *mut u32);

    /// Reads as many bf16 as a register has lanes.
    ///
    /// # Safety
    /// The numbers must be readable.
    unsafe fn load(from: *const u16) -> Self::Register;

    /// Rounds the lanes of both registers to bf16 and writes them.
    ///
    /// # Safety
    /// The destination must be writable.
    unsafe fn store(registers: [Self::Register; 2], to: *mut u16);
}

/// A computation that works with any [`TileProducts`].
pub(super) trait TileWork {
    /// Runs the computation. It must be inlined into the function that is compiled for the instructions of `T`.
    ///
    /// # Safety
    /// As for [`TileProducts::new`].
    unsafe fn run<T: TileProducts>(self);
}

/// The instructions that multiply tiles.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tiles {
    /// The CPU's instructions.
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    Amx,
    /// Loops that round as the instructions do; only the bits of a NaN may differ.
    #[cfg_attr(not(test), expect(dead_code, reason = "it is far too slow for anything but tests"))]
    Emulated,
}

impl Tiles {
    /// Returns AMX, if the CPU has it and the system lets this process use it.
    pub(super) fn here() -> Option<Tiles> {
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        return (!vector::is_plain() && amx::is_available()).then_some(Tiles::Amx);
        #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
        return None;
    }

    /// Returns the name of the instructions.
    pub(super) fn name(self) -> &'static str {
        match self {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Tiles::Amx => "AMX",
            Tiles::Emulated => "none",
        }
    }

    /// Prepares this thread's tile registers for tiles of `height` rows until the result is dropped.
    fn configure(self, height: usize) -> Configured {
        assert!((1..=ROWS).contains(&height), "tiles of {height} rows");
        match self {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Tiles::Amx => amx::configure(height as u8),
            Tiles::Emulated => {}
        }
        Configured { tiles: self, height, of_this_thread: PhantomData }
    }

    /// Runs `work`, compiled for these products.
    ///
    /// # Safety
    /// As for [`TileProducts::new`].
    pub(super) unsafe fn run(self, work: impl TileWork) {
        match self {
            // SAFETY: `Tiles::here` has checked for the instructions; the rest is guaranteed by the caller.
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Tiles::Amx => unsafe { amx::run(work) },
            // SAFETY: guaranteed by the caller.
            Tiles::Emulated => unsafe { work.run::<Emulated>() },
        }
    }
}

/// A thread's tile registers in use, configured for tiles of `height` rows; dropping this value releases them.
pub(super) struct Configured {
    tiles: Tiles,
    height: usize,
    of_this_thread: PhantomData<*const ()>,
}

impl Drop for Configured {
    fn drop(&mut self) {
        match self.tiles {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Tiles::Amx => amx::release(),
            Tiles::Emulated => {}
        }
    }
}

/// Returns the bits of `number` as bf16, rounded to nearest, ties to even.
pub(super) fn bf16(number: f32) -> u16 {
    if number.is_nan() {
        return 0x7fc0;
    }
    let bits = number.to_bits();
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::bf16;

    #[test]
    fn bf16_rounds_to_the_nearest_ties_to_even() {
        for (bits, want) in [
            (0x3f80_0000, 0x3f80),
            (0x3f80_8000, 0x3f80),
            (0x3f81_8000, 0x3f82),
            (0x3f80_8001, 0x3f81),
            (0xbf80_7fff, 0xbf80),
            (0xffff_ffff, 0x7fc0),
        ] {
            assert_eq!(bf16(f32::from_bits(bits)), want, "{bits:x}");
        }
    }
}
