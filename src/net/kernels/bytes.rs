//! Scales sums of bytes with vectors of 512 bits, 16 outputs of one row at a time.

use std::arch::x86_64 as x86;

use super::Worth;

/// The [`Worth`] of 16 outputs.
#[derive(Clone, Copy)]
pub(super) struct Registers {
    scale: x86::__m512,
    bias: x86::__m512,
    /// If something is skipped.
    skipped: Option<x86::__m512>,
}

impl Registers {
    /// # Safety
    /// They must be readable, and the CPU must have AVX-512F.
    #[inline(always)]
    pub(super) unsafe fn new(Worth { scale, bias, skipped }: Worth, skips: bool) -> Registers {
        // SAFETY: guaranteed by the caller.
        unsafe {
            Registers {
                scale: x86::_mm512_loadu_ps(scale),
                bias: x86::_mm512_loadu_ps(bias),
                skipped: if skips { Some(x86::_mm512_loadu_ps(skipped)) } else { None },
            }
        }
    }
}

/// These sums as numbers.
///
/// # Safety
/// The CPU must have AVX-512F.
#[inline(always)]
unsafe fn floats(sums: x86::__m512i, Registers { scale, bias, .. }: Registers) -> x86::__m512 {
    // SAFETY: guaranteed by the caller.
    unsafe { x86::_mm512_fmadd_ps(x86::_mm512_cvtepi32_ps(sums), scale, bias) }
}

/// [`TileProducts::to_bytes`](super::TileProducts::to_bytes)
///
/// # Safety
/// As there, and the CPU must have AVX-512F.
#[inline(always)]
pub(super) unsafe fn store_bytes(sums: x86::__m512i, worth: Registers, slot: *mut u8) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut sum = floats(sums, worth);
        if let Some(step) = worth.skipped {
            let skipped = x86::_mm512_cvtepu8_epi32(slot.cast::<x86::__m128i>().read_unaligned());
            sum = x86::_mm512_fmadd_ps(x86::_mm512_cvtepi32_ps(skipped), step, sum);
        }
        let sum = x86::_mm512_max_ps(sum, x86::_mm512_setzero_ps());
        // too large a number becomes the largest without a sign, which is the largest byte
        let bytes = x86::_mm512_cvtusepi32_epi8(x86::_mm512_cvtps_epi32(sum));
        slot.cast::<x86::__m128i>().write_unaligned(bytes);
    }
}

/// [`TileProducts::to_floats`](super::TileProducts::to_floats)
///
/// # Safety
/// As there, and the CPU must have AVX-512F.
#[inline(always)]
pub(super) unsafe fn store_floats(sums: x86::__m512i, worth: Registers, relu: bool, slot: *mut f32) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let sum = floats(sums, worth);
        // the second operand is what a comparison with NaN gives
        let sum = if relu { x86::_mm512_max_ps(x86::_mm512_setzero_ps(), sum) } else { sum };
        x86::_mm512_storeu_ps(slot, sum);
    }
}
