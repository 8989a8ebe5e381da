//! Products of pairs of bf16 with sums in f32, in registers of any width.
//!
//! A half has one bf16 for each float of a register. A word is a pair of bf16, and a register of words has one word for
//! each float. Halves and words are kept in buffers of [`Aligned`](crate::net::kernels::vector::Aligned) floats, two
//! bf16 in each float. A [`PairKernel`] is written once; [`PairSet::run`] compiles it for AVX-512 BF16 and for plain
//! Rust, so that everything around the instructions can be tested on any CPU.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64 as x86;
use std::array::from_fn;

use super::bf16;
#[cfg(target_arch = "x86_64")]
use crate::net::kernels::vector::Isa;
use crate::net::kernels::vector::Vector;

/// A register of floats whose CPU multiplies pairs of bf16.
pub(in crate::net) trait Pairs: Vector {
    /// A bf16 for each lane.
    type Half: Copy + 'static;
    /// A pair of bf16 for each lane.
    type Words: Copy + 'static;

    /// Returns the lanes, rounded to bf16.
    fn rounded(self) -> Self::Half;
    /// Returns words, each a pair of one lane of `first` and the same lane of `second`.
    fn paired(first: Self::Half, second: Self::Half) -> Self::Words;
    /// Returns `self` plus both products of the pair in `x`, which is the same for every lane, and the pairs in `y`.
    fn add_pairs(self, x: f32, y: Self::Words) -> Self;
}

#[cfg(target_arch = "x86_64")]
// SAFETY: used only if `PairSet::here` found the instructions, by code that is compiled for them.
impl Pairs for x86::__m512 {
    type Half = x86::__m256i;
    type Words = x86::__m512i;

    #[inline(always)]
    fn rounded(self) -> x86::__m256i {
        unsafe { std::mem::transmute::<x86::__m256bh, x86::__m256i>(x86::_mm512_cvtneps_pbh(self)) }
    }

    #[inline(always)]
    fn paired(first: x86::__m256i, second: x86::__m256i) -> x86::__m512i {
        /// The order of indices that takes elements of the first half and the second half in turn.
        const IN_TURN: [u16; 32] = {
            let mut order = [0; 32];
            let mut i = 0;
            while i < 32 {
                order[i] = (i / 2 + i % 2 * 16) as u16;
                i += 1;
            }
            order
        };
        unsafe {
            let both = x86::_mm512_inserti64x4::<1>(x86::_mm512_castsi256_si512(first), second);
            x86::_mm512_permutexvar_epi16(std::mem::transmute::<[u16; 32], x86::__m512i>(IN_TURN), both)
        }
    }

    #[inline(always)]
    fn add_pairs(self, x: f32, y: x86::__m512i) -> x86::__m512 {
        unsafe {
            let pairs = |bits| std::mem::transmute::<x86::__m512i, x86::__m512bh>(bits);
            x86::_mm512_dpbf16_ps(self, pairs(x86::_mm512_set1_epi32(x.to_bits() as i32)), pairs(y))
        }
    }
}

/// The emulation. The instruction may round the sums of a pair differently.
impl Pairs for [f32; 4] {
    type Half = [u16; 4];
    type Words = [[u16; 2]; 4];

    #[inline(always)]
    fn rounded(self) -> [u16; 4] {
        self.map(bf16)
    }

    #[inline(always)]
    fn paired(first: [u16; 4], second: [u16; 4]) -> [[u16; 2]; 4] {
        from_fn(|lane| [first[lane], second[lane]])
    }

    #[inline(always)]
    fn add_pairs(self, x: f32, y: [[u16; 2]; 4]) -> [f32; 4] {
        let number = |bits: u32| f32::from_bits(bits << 16);
        let x = [x.to_bits() & 0xffff, x.to_bits() >> 16].map(number);
        from_fn(|lane| {
            let y = y[lane].map(|bits| number(bits.into()));
            self[lane] + (x[1] * y[1] + x[0] * y[0])
        })
    }
}

/// Returns a buffer as whole halves.
#[inline(always)]
pub(in crate::net) fn halves<S: Pairs>(floats: &[f32]) -> &[S::Half] {
    // SAFETY: a half is made of bf16 and has no invalid bits.
    unsafe { floats.align_to().1 }
}

/// Returns a buffer as whole halves.
#[inline(always)]
pub(in crate::net) fn halves_mut<S: Pairs>(floats: &mut [f32]) -> &mut [S::Half] {
    // SAFETY: neither a half nor a float has invalid bits.
    unsafe { floats.align_to_mut().1 }
}

/// Returns a buffer as whole registers of words.
#[inline(always)]
pub(in crate::net) fn words<S: Pairs>(floats: &[f32]) -> &[S::Words] {
    // SAFETY: words are made of bf16 and have no invalid bits.
    unsafe { floats.align_to().1 }
}

/// Returns a buffer as whole registers of words.
#[inline(always)]
pub(in crate::net) fn words_mut<S: Pairs>(floats: &mut [f32]) -> &mut [S::Words] {
    // SAFETY: neither words nor floats have invalid bits.
    unsafe { floats.align_to_mut().1 }
}

/// A computation that works with registers of any width that multiply pairs.
pub(in crate::net) trait PairKernel {
    /// Runs the computation. It must be inlined into the function that is compiled for the instructions of `S`.
    fn run<S: Pairs>(self);
}

/// The instructions that multiply pairs.
#[derive(Clone, Copy, Debug)]
pub(in crate::net) struct PairSet(Set);

#[derive(Clone, Copy, Debug)]
enum Set {
    #[cfg(target_arch = "x86_64")]
    Avx512Bf16,
    Emulated,
}

impl PairSet {
    /// Slow loops, for tests.
    #[cfg_attr(not(test), expect(dead_code, reason = "it is far too slow for anything but tests"))]
    pub(in crate::net) const EMULATED: PairSet = PairSet(Set::Emulated);

    /// Returns the instructions of this CPU that multiply pairs, if it has any.
    pub(in crate::net) fn here() -> Option<PairSet> {
        #[cfg(target_arch = "x86_64")]
        return (Isa::has_bf16() && is_x86_feature_detected!("avx512bw")).then_some(PairSet(Set::Avx512Bf16));
        #[cfg(not(target_arch = "x86_64"))]
        return None;
    }

    /// Runs a kernel, compiled for these products.
    pub(in crate::net) fn run(self, kernel: impl PairKernel) {
        match self.0 {
            // SAFETY: `PairSet::here` has checked for the instructions.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512Bf16 => unsafe { run_avx512_bf16(kernel) },
            Set::Emulated => kernel.run::<[f32; 4]>(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16,avx2,fma")]
fn run_avx512_bf16(kernel: impl PairKernel) {
    kernel.run::<x86::__m512>();
}
