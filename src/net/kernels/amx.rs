//! Intel's AMX: tile registers and the instructions that multiply them, in assembly.

use std::arch::asm;
use std::arch::x86_64 as x86;
use std::sync::OnceLock;

use super::{Factors, LINE, ROWS, Sums, TileProducts, TileWork};
use crate::net::kernels::vector::Isa;

/// Returns whether the CPU has the instructions and the system permits this process to use them; a process must ask for
/// permission once.
pub(super) fn is_available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| Isa::has_bf16() && has_tiles_of_bf16() && may_use_tiles())
}

/// Checks leaf 7 of CPUID for AMX-BF16 and AMX-TILE.
fn has_tiles_of_bf16() -> bool {
    let (bf16, tile) = (1 << 22, 1 << 24);
    x86::__cpuid(0).eax >= 7 && x86::__cpuid_count(7, 0).edx & (bf16 | tile) == bf16 | tile
}

/// Asks Linux for space for tile registers, which it provides only to the threads of processes that ask.
fn may_use_tiles() -> bool {
    const ARCH_REQ_XCOMP_PERM: libc::c_long = 0x1023;
    const XFEATURE_XTILEDATA: libc::c_long = 18;
    // SAFETY: the call changes only what this process may use.
    unsafe { libc::syscall(libc::SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 }
}

/// The operand of `ldtilecfg`.
#[repr(C, align(64))]
struct TileConfig {
    palette: u8,
    reserved: [u8; 15],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

/// Configures the tile registers: 0 to 5 are for sums and operands of `height` rows, 6 and 7 for weights. (For
/// gradients of weights, all registers have 16 rows.)
pub(super) fn configure(height: u8) {
    let mut config = TileConfig { palette: 1, reserved: [0; 15], row_bytes: [0; 16], rows: [0; 16] };
    config.row_bytes[..8].fill(LINE as u16);
    config.rows[..6].fill(height);
    config.rows[6..8].fill(ROWS as u8);
    // SAFETY: `is_available` was true; the operand has the layout that the instruction expects.
    unsafe { asm!("ldtilecfg [{}]", in(reg) &config, options(nostack, readonly)) };
}

pub(super) fn release() {
    // SAFETY: `is_available` was true.
    unsafe { asm!("tilerelease", options(nostack, nomem)) };
}

/// # Safety
/// As for [`TileProducts::new`], and [`is_available`] must be true.
#[target_feature(enable = "avx512f,avx512bf16,avx2,fma")]
pub(super) unsafe fn run(work: impl TileWork) {
    // SAFETY: guaranteed by the caller.
    unsafe { work.run::<Amx>() }
}

/// Sums are in `tmm0` to `tmm3` (those of the second tile of rows from `tmm2` on), operands in `tmm4` and `tmm5`, and
/// weights in `tmm6` and `tmm7`. All stay there from one instruction to the next, because no compiled code uses these
/// registers.
struct Amx {
    /// Whether weights bypass the L1 cache.
    streams: bool,
}

/// One instruction that changes a tile register.
macro_rules! tile {
    ($register:tt: $instruction:literal $(, $operand:ident = $value:expr)*) => {
        asm!($instruction, $($operand = in(reg) $value,)* out($register) _, options(nostack, readonly))
    };
}

/// The instruction that writes a tile register, `row` bytes from one row to the next.
macro_rules! store {
    ($instruction:literal, $to:expr, $row:expr) => {
        asm!($instruction, to = in(reg) $to, row = in(reg) $row, options(nostack))
    };
}

// Used only if `is_available`, by code that is compiled for these instructions.
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
        // SAFETY: guaranteed by the caller, and by the caller of `new`.
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
            let row = size_of_val(&sums.0[0][0]);
            store!("tilestored [{to} + {row}*1], tmm0", &mut sums.0[0], row);
            store!("tilestored [{to} + {row}*1], tmm2", &mut sums.0[1], row);
            if C == 2 {
                store!("tilestored [{to} + {row}*1 + 64], tmm1", &mut sums.0[0], row);
                store!("tilestored [{to} + {row}*1 + 64], tmm3", &mut sums.0[1], row);
            }
        }
    }

    #[inline(always)]
    fn clear_outer(&mut self) {
        self.clear();
        // SAFETY: guaranteed by the caller of `new`.
        unsafe {
            tile!("tmm4": "tilezero tmm4");
            tile!("tmm5": "tilezero tmm5");
        }
    }

    /// Keeps the sums of the first tile of inputs in `tmm0` to `tmm2` and those of the second from `tmm3` on; the
    /// operands pass through `tmm6`.
    #[inline(always)]
    unsafe fn outer<const K: usize>(&mut self, inputs: [[*const u8; 2]; K], two: bool, outputs: *const u8) {
        macro_rules! add {
            ($register:tt: $product:literal, $tap:literal, $tile:literal) => {
                if $tap < K && [true, two][$tile] {
                    tile!("tmm6": "tileloadd tmm6, [{x} + {line}*1]", x = inputs[$tap % K][$tile], line = LINE);
                    tile!($register: $product);
                }
            };
        }
        // SAFETY: guaranteed by the caller.
        unsafe {
            tile!("tmm7": "tileloadd tmm7, [{x} + {line}*1]", x = outputs, line = LINE);
            add!("tmm0": "tdpbf16ps tmm0, tmm6, tmm7", 0, 0);
            add!("tmm1": "tdpbf16ps tmm1, tmm6, tmm7", 1, 0);
            add!("tmm2": "tdpbf16ps tmm2, tmm6, tmm7", 2, 0);
            add!("tmm3": "tdpbf16ps tmm3, tmm6, tmm7", 0, 1);
            add!("tmm4": "tdpbf16ps tmm4, tmm6, tmm7", 1, 1);
            add!("tmm5": "tdpbf16ps tmm5, tmm6, tmm7", 2, 1);
        }
    }

    #[inline(always)]
    unsafe fn write_outer<const K: usize>(&mut self, to: [[*mut u8; 2]; K], two: bool, row: usize) {
        macro_rules! write {
            ($instruction:literal, $tap:literal, $tile:literal) => {
                if $tap < K && [true, two][$tile] {
                    store!($instruction, to[$tap % K][$tile], row);
                }
            };
        }
        // SAFETY: guaranteed by the caller.
        unsafe {
            write!("tilestored [{to} + {row}*1], tmm0", 0, 0);
            write!("tilestored [{to} + {row}*1], tmm1", 1, 0);
            write!("tilestored [{to} + {row}*1], tmm2", 2, 0);
            write!("tilestored [{to} + {row}*1], tmm3", 0, 1);
            write!("tilestored [{to} + {row}*1], tmm4", 1, 1);
            write!("tilestored [{to} + {row}*1], tmm5", 2, 1);
        }
    }

    #[inline(always)]
    unsafe fn pair(rows: [Option<*const u8>; 2], to: [*mut u32; 2]) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut words = [x86::_mm512_setzero_si512(); 2];
            for (half, word) in words.iter_mut().enumerate() {
                for (i, row) in rows.iter().enumerate() {
                    if let Some(row) = row {
                        let bits = row.add(half * 32).cast::<x86::__m256i>().read_unaligned();
                        let bits = x86::_mm512_cvtepu16_epi32(bits);
                        let bits = if i == 1 { x86::_mm512_slli_epi32::<16>(bits) } else { bits };
                        *word = x86::_mm512_or_si512(*word, bits);
                    }
                }
                to[half].cast::<x86::__m512i>().write_unaligned(*word);
            }
        }
    }

    #[inline(always)]
    unsafe fn transpose(from: *const u32, to: *mut u32) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let mut a = [x86::_mm512_setzero_si512(); 16];
            let mut b = a;
            for (i, row) in a.iter_mut().enumerate() {
                *row = from.add(i * 16).cast::<x86::__m512i>().read_unaligned();
            }
            // within quarters, words of rows 4i to 4i + 3 come together
            for i in 0..8 {
                b[2 * i] = x86::_mm512_unpacklo_epi32(a[2 * i], a[2 * i + 1]);
                b[2 * i + 1] = x86::_mm512_unpackhi_epi32(a[2 * i], a[2 * i + 1]);
            }
            for i in 0..4 {
                a[4 * i] = x86::_mm512_unpacklo_epi64(b[4 * i], b[4 * i + 2]);
                a[4 * i + 1] = x86::_mm512_unpackhi_epi64(b[4 * i], b[4 * i + 2]);
                a[4 * i + 2] = x86::_mm512_unpacklo_epi64(b[4 * i + 1], b[4 * i + 3]);
                a[4 * i + 3] = x86::_mm512_unpackhi_epi64(b[4 * i + 1], b[4 * i + 3]);
            }
            // a[4i + j] has rows 4i to 4i + 3 of columns j, j + 4, j + 8, and j + 12, one quarter each
            for j in 0..4 {
                let even = [
                    x86::_mm512_shuffle_i32x4::<0x88>(a[j], a[4 + j]),
                    x86::_mm512_shuffle_i32x4::<0x88>(a[8 + j], a[12 + j]),
                ];
                let odd = [
                    x86::_mm512_shuffle_i32x4::<0xdd>(a[j], a[4 + j]),
                    x86::_mm512_shuffle_i32x4::<0xdd>(a[8 + j], a[12 + j]),
                ];
                b[j] = x86::_mm512_shuffle_i32x4::<0x88>(even[0], even[1]);
                b[8 + j] = x86::_mm512_shuffle_i32x4::<0xdd>(even[0], even[1]);
                b[4 + j] = x86::_mm512_shuffle_i32x4::<0x88>(odd[0], odd[1]);
                b[12 + j] = x86::_mm512_shuffle_i32x4::<0xdd>(odd[0], odd[1]);
            }
            for (i, row) in b.iter().enumerate() {
                to.add(i * 16).cast::<x86::__m512i>().write_unaligned(*row);
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
