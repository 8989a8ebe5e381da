//! Products of whole tiles of bf16, by Intel's AMX; in plain Rust too, so that everything around them can be tested on
//! any CPU.
//!
//! A tile is at most 16 rows of 64 bytes. One of operands is `[row, channel]` with 32 channels in bf16; one of weights
//! is `[pair of channels, output, channel of the pair]` with 16 outputs; one of sums is `[row, output]` in f32. A block of
//! the output is at most two tiles of rows times two of outputs: all its sums stay in tile registers while the taps and
//! channels pass by, step by step. The order of the sums is that of the steps.

use crate::net::vector::{Isa, Plain, Vector};

/// Rows of the tallest tile.
pub(super) const ROWS: usize = 16;
/// Channels of a tile of operands.
pub(super) const CHANNELS: usize = 32;
/// Outputs of a tile of weights.
pub(super) const OUTPUTS: usize = 16;
/// Bytes of a row.
const LINE: usize = 64;
/// Bytes of a tile of weights.
const TILE: usize = ROWS * LINE;

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
    /// Whether each of the tiles takes part.
    pub(super) wanted: [bool; 2],
    /// Bytes from one row to the next.
    pub(super) row: usize,
    /// Tiles of weights, one for each tile of outputs, one after the other.
    pub(super) weights: *const u8,
}

/// A way to multiply tiles, and the registers that go with it: it holds the sums of a block, all of which begin at 0.
pub(super) trait TileProducts {
    /// For what is done with the sums.
    type Register: Vector;

    /// For tiles of `height` rows. If `streams`, weights are not kept in the nearest cache, where
    /// operands are read again and again.
    ///
    /// # Safety
    /// The tile registers of this thread must be [`configured`](Tiles::configure) for this height, and nothing else
    /// may use them as long as the result is in use.
    unsafe fn new(height: usize, streams: bool) -> Self;

    /// Sets all sums to 0.
    fn clear(&mut self);

    /// Adds the products of a step to the sums of `C` tiles of outputs.
    ///
    /// # Safety
    /// The factors must be readable as they say.
    unsafe fn step<const C: usize>(&mut self, factors: Factors);

    /// Writes the sums of `C` tiles of outputs.
    fn write<const C: usize>(&mut self, sums: &mut Sums);

    /// Reads as many bf16 as a register has lanes.
    ///
    /// # Safety
    /// They must be readable.
    unsafe fn load(from: *const u16) -> Self::Register;

    /// Rounds the lanes of both to bf16 and writes them.
    ///
    /// # Safety
    /// They must be writable.
    unsafe fn store(registers: [Self::Register; 2], to: *mut u16);
}

/// A computation that works with any [`TileProducts`].
pub(super) trait TileWork {
    /// Runs it; must be inlined into the function that is compiled for the instructions of `T`.
    ///
    /// # Safety
    /// As [`TileProducts::new`].
    unsafe fn run<T: TileProducts>(self);
}

/// What multiplies tiles.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tiles {
    /// The CPU's instructions.
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    Amx,
    /// Loops, which round exactly as the instructions do.
    #[cfg_attr(not(test), expect(dead_code, reason = "it is far too slow for anything but tests"))]
    Emulated,
}

impl Tiles {
    /// AMX, if the CPU has it and the system lets this process use it.
    pub(super) fn here() -> Option<Tiles> {
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        return amx::is_available().then_some(Tiles::Amx);
        #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
        return None;
    }

    /// Prepares this thread's tile registers for tiles of `height` rows until the result is dropped.
    pub(super) fn configure(self, height: usize) -> Configured {
        debug_assert!((1..=ROWS).contains(&height), "{height}");
        match self {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Tiles::Amx => amx::configure(height as u8),
            Tiles::Emulated => {}
        }
        Configured(self)
    }

    /// Runs `work`, compiled for these products.
    ///
    /// # Safety
    /// As [`TileProducts::new`].
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

/// Tile registers that are in use; they are released when it is dropped.
pub(super) struct Configured(Tiles);

impl Drop for Configured {
    fn drop(&mut self) {
        match self.0 {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Tiles::Amx => amx::release(),
            Tiles::Emulated => {}
        }
    }
}

/// Intel's pseudocode of `tdpbf16ps` as loops: per tile, the even and the odd channels are summed apart by fused
/// multiply-adds; numbers below the smallest normal one are zero.
struct Emulated {
    height: usize,
    sums: Sums,
}

impl TileProducts for Emulated {
    type Register = Plain;

    unsafe fn new(height: usize, _streams: bool) -> Emulated {
        Emulated { height, sums: Sums::ZERO }
    }

    fn clear(&mut self) {
        self.sums = Sums::ZERO;
    }

    unsafe fn step<const C: usize>(&mut self, Factors { operands, wanted, row, weights }: Factors) {
        let number = |bits: u16| normal(f32::from_bits(u32::from(bits) << 16));
        let tiles = self.sums.0.iter_mut().zip(operands).zip(wanted);
        for ((sums, operands), _) in tiles.filter(|(_, wanted)| *wanted) {
            for (i, sums) in sums[..self.height].iter_mut().enumerate() {
                for (output, sum) in sums[..C * OUTPUTS].iter_mut().enumerate() {
                    let (column, lane) = (output / OUTPUTS, output % OUTPUTS);
                    let mut halves = [0.0_f32; 2];
                    for pair in 0..ROWS {
                        for (half, sum) in halves.iter_mut().enumerate() {
                            // SAFETY: guaranteed by the caller.
                            let [x, y] = unsafe {
                                let x = operands.add(i * row + pair * 4).cast::<u16>().add(half);
                                let y = weights.add(column * TILE + pair * LINE + lane * 4);
                                [number(x.read()), number(y.cast::<u16>().add(half).read())]
                            };
                            *sum = normal(x.mul_add(y, *sum));
                        }
                    }
                    *sum = normal(*sum + normal(halves[0] + halves[1]));
                }
            }
        }
    }

    fn write<const C: usize>(&mut self, sums: &mut Sums) {
        *sums = self.sums;
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
            unsafe { to.add(i).write(super::products::bf16(normal(number))) };
        }
    }
}

/// Zero instead of a number below the smallest normal one.
fn normal(number: f32) -> f32 {
    if number.is_subnormal() { 0.0_f32.copysign(number) } else { number }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod amx {
    use std::arch::asm;
    use std::arch::x86_64 as x86;
    use std::sync::OnceLock;

    use super::{Factors, Isa, LINE, ROWS, Sums, TileProducts, TileWork};

    /// Whether the CPU has the instructions and the system lets this process use them, which it must be asked once.
    pub(super) fn is_available() -> bool {
        static AVAILABLE: OnceLock<bool> = OnceLock::new();
        *AVAILABLE.get_or_init(|| Isa::has_bf16() && has_tiles_of_bf16() && may_use_tiles())
    }

    /// Leaf 7 of CPUID: AMX-BF16 and AMX-TILE.
    fn has_tiles_of_bf16() -> bool {
        let (bf16, tile) = (1 << 22, 1 << 24);
        x86::__cpuid(0).eax >= 7 && x86::__cpuid_count(7, 0).edx & (bf16 | tile) == bf16 | tile
    }

    /// Linux gives threads room for tile registers only to processes that ask for it.
    fn may_use_tiles() -> bool {
        const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
        const XFEATURE_XTILEDATA: libc::c_long = 18;
        // SAFETY: the call changes nothing but what this process may use.
        unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
    }

    /// The operand of `ldtilecfg`.
    #[repr(C, align(64))]
    struct Config {
        palette: u8,
        reserved: [u8; 15],
        row_bytes: [u16; 16],
        rows: [u8; 16],
    }

    /// Registers 0 to 5 are sums and operands of `height` rows, 6 and 7 weights.
    pub(super) fn configure(height: u8) {
        let mut config = Config { palette: 1, reserved: [0; 15], row_bytes: [0; 16], rows: [0; 16] };
        config.row_bytes[..8].fill(LINE as u16);
        config.rows[..6].fill(height);
        config.rows[6..8].fill(ROWS as u8);
        // SAFETY: `is_available` was true; the operand is as the instruction wants it.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &config, options(nostack, readonly)) };
    }

    pub(super) fn release() {
        // SAFETY: `is_available` was true.
        unsafe { asm!("tilerelease", options(nostack, nomem)) };
    }

    /// # Safety
    /// As [`TileProducts::new`], and [`is_available`] must be true.
    #[target_feature(enable = "avx512f,avx512bf16,avx2,fma")]
    pub(super) unsafe fn run(work: impl TileWork) {
        // SAFETY: guaranteed by the caller.
        unsafe { work.run::<Amx>() }
    }

    /// Sums are in `tmm0` to `tmm3` (those of the second tile of rows from `tmm2` on), operands in `tmm4` and `tmm5`,
    /// weights in `tmm6` and `tmm7`. All stay there from one instruction to the next: no compiled code uses these registers.
    struct Amx {
        /// Whether weights pass by the L1 cache.
        streams: bool,
    }

    /// One instruction that changes a tile register.
    macro_rules! tile {
        ($register:tt: $instruction:literal $(, $operand:ident = $value:expr)*) => {
            asm!($instruction, $($operand = in(reg) $value,)* out($register) _, options(nostack, readonly))
        };
    }

    // SAFETY: used only if `is_available`, by code that is compiled for these instructions.
    impl TileProducts for Amx {
        type Register = x86::__m512;

        #[inline(always)]
        unsafe fn new(_height: usize, streams: bool) -> Amx {
            Amx { streams }
        }

        #[inline(always)]
        fn clear(&mut self) {
            // SAFETY: guaranteed by the caller of `new`.
            unsafe {
                tile!("tmm0": "tilezero tmm0");
                tile!("tmm1": "tilezero tmm1");
                tile!("tmm2": "tilezero tmm2");
                tile!("tmm3": "tilezero tmm3");
            }
        }

        #[inline(always)]
        unsafe fn step<const C: usize>(&mut self, Factors { operands, wanted, row, weights }: Factors) {
            // SAFETY: guaranteed by the caller, and that of `new`.
            unsafe {
                if self.streams {
                    tile!("tmm6": "tileloaddt1 tmm6, [{w} + {line}*1]", w = weights, line = LINE);
                    if C == 2 {
                        tile!("tmm7": "tileloaddt1 tmm7, [{w} + {line}*1 + 1024]", w = weights, line = LINE);
                    }
                } else {
                    tile!("tmm6": "tileloadd tmm6, [{w} + {line}*1]", w = weights, line = LINE);
                    if C == 2 {
                        tile!("tmm7": "tileloadd tmm7, [{w} + {line}*1 + 1024]", w = weights, line = LINE);
                    }
                }
                if wanted[0] {
                    tile!("tmm4": "tileloadd tmm4, [{x} + {row}*1]", x = operands[0], row = row);
                    tile!("tmm0": "tdpbf16ps tmm0, tmm4, tmm6");
                    if C == 2 {
                        tile!("tmm1": "tdpbf16ps tmm1, tmm4, tmm7");
                    }
                }
                if wanted[1] {
                    tile!("tmm5": "tileloadd tmm5, [{x} + {row}*1]", x = operands[1], row = row);
                    tile!("tmm2": "tdpbf16ps tmm2, tmm5, tmm6");
                    if C == 2 {
                        tile!("tmm3": "tdpbf16ps tmm3, tmm5, tmm7");
                    }
                }
            }
        }

        #[inline(always)]
        fn write<const C: usize>(&mut self, sums: &mut Sums) {
            // SAFETY: the sums have room for four tiles.
            unsafe {
                asm!(
                    "tilestored [{sums} + {line}*2], tmm0",
                    "tilestored [{sums} + {line}*2 + 2048], tmm2",
                    sums = in(reg) sums,
                    line = in(reg) LINE,
                    options(nostack),
                );
                if C == 2 {
                    asm!(
                        "tilestored [{sums} + {line}*2 + 64], tmm1",
                        "tilestored [{sums} + {line}*2 + 2112], tmm3",
                        sums = in(reg) sums,
                        line = in(reg) LINE,
                        options(nostack),
                    );
                }
            }
        }

        #[inline(always)]
        unsafe fn load(from: *const u16) -> x86::__m512 {
            // SAFETY: guaranteed by the caller.
            unsafe {
                let bits = x86::_mm512_cvtepu16_epi32(from.cast::<x86::__m256i>().read_unaligned());
                x86::_mm512_castsi512_ps(x86::_mm512_slli_epi32::<16>(bits))
            }
        }

        #[inline(always)]
        unsafe fn store([low, high]: [x86::__m512; 2], to: *mut u16) {
            // SAFETY: guaranteed by the caller.
            unsafe { to.cast::<x86::__m512bh>().write_unaligned(x86::_mm512_cvtne2ps_pbh(high, low)) }
        }
    }
}
