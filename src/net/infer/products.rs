//! How operands are multiplied: one channel at a time in f32, two at a time in bf16.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64 as x86;
use std::marker::PhantomData;

use crate::config::Precision;
use crate::net::kernels::vector::{Isa, Kernel, Vector};

/// A kind of product; the sums are f32 in either case.
pub(super) trait Products {
    /// The register type of the sums.
    type Register: Vector;
    /// Channels per word of operands.
    const PACK: usize;
    /// The side of a convolution's largest tile, in squares: larger tiles would lose too much precision.
    const LARGEST_TILE: usize;

    /// Returns `sum + x * y`: each lane of `y` holds [`Products::PACK`] weights and `x` the same number of operands;
    /// all their products are added.
    fn product(sum: Self::Register, x: u32, y: Self::Register) -> Self::Register;

    /// Stores lanes as operands.
    ///
    /// # Safety
    /// There must be room for `LANES / PACK` words, aligned to their total size.
    unsafe fn store_operands(register: Self::Register, to: *mut u32);
}

/// Products in f32.
pub(super) struct F32<S>(PhantomData<S>);

impl<S: Vector> Products for F32<S> {
    type Register = S;
    const PACK: usize = 1;
    const LARGEST_TILE: usize = 4;

    #[inline(always)]
    fn product(sum: S, x: u32, y: S) -> S {
        sum.add_product(f32::from_bits(x), y)
    }

    #[inline(always)]
    unsafe fn store_operands(register: S, to: *mut u32) {
        // SAFETY: guaranteed by the caller.
        unsafe { to.cast::<S>().write(register) }
    }
}

/// Products in bf16.
#[cfg(target_arch = "x86_64")]
pub(super) struct Bf16;

#[cfg(target_arch = "x86_64")]
// SAFETY: used only if `Isa::has_bf16`, by code that is compiled for these instructions.
impl Products for Bf16 {
    type Register = x86::__m512;
    const PACK: usize = 2;
    const LARGEST_TILE: usize = 2;

    #[inline(always)]
    fn product(sum: x86::__m512, x: u32, y: x86::__m512) -> x86::__m512 {
        unsafe {
            let pairs = |bits| std::mem::transmute::<x86::__m512i, x86::__m512bh>(bits);
            x86::_mm512_dpbf16_ps(
                sum,
                pairs(x86::_mm512_set1_epi32(x as i32)),
                pairs(x86::_mm512_castps_si512(y)),
            )
        }
    }

    #[inline(always)]
    unsafe fn store_operands(register: x86::__m512, to: *mut u32) {
        unsafe { to.cast::<x86::__m256bh>().write(x86::_mm512_cvtneps_pbh(register)) }
    }
}

/// A computation that works with products of any kind.
pub(super) trait ProductWork {
    /// Runs the computation. It must be inlined into the function that is compiled for the instructions of `P`.
    ///
    /// # Safety
    /// The operands of the computation must be packed for `P`.
    unsafe fn run<P: Products>(self);
}

/// A packing of weights, and the kernel that computes with it.
#[derive(Clone, Copy)]
pub(super) struct Packing {
    isa: Isa,
    /// [`Vector::LANES`].
    pub(super) lanes: usize,
    /// [`Vector::SUMS`].
    pub(super) sums: usize,
    /// [`Products::PACK`].
    pub(super) pack: usize,
    /// [`Products::LARGEST_TILE`].
    pub(super) largest_tile: usize,
}

impl Packing {
    /// Returns the packing for these instructions. bf16 is used only if [`Isa::has_bf16`], and with the widest vectors.
    pub(super) fn new(isa: Isa, precision: Precision) -> Packing {
        let [lanes, sums] = isa.sizes();
        let [pack, largest_tile] = match precision {
            Precision::F32 => [1, 4],
            Precision::Bf16 => [2, 2],
            Precision::Auto => unreachable!("f32 or bf16"),
        };
        Packing { isa, lanes, sums, pack, largest_tile }
    }

    /// Runs `work`, compiled for this packing.
    ///
    /// # Safety
    /// The operands of `work` must have this packing.
    pub(super) unsafe fn run(self, work: impl ProductWork) {
        match self.pack {
            // SAFETY: `Packing::new` checks for the instructions.
            #[cfg(target_arch = "x86_64")]
            2 => unsafe { run_bf16(work) },
            _ => self.isa.run(InF32(work)),
        }
    }
}

struct InF32<W>(W);

impl<W: ProductWork> Kernel for InF32<W> {
    #[inline(always)]
    fn run<S: Vector>(self) {
        // SAFETY: guaranteed by the caller of [`Packing::run`].
        unsafe { self.0.run::<F32<S>>() }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bf16,avx2,fma")]
unsafe fn run_bf16(work: impl ProductWork) {
    // SAFETY: guaranteed by the caller.
    unsafe { work.run::<Bf16>() }
}
