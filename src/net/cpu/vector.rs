//! Registers of floats: one trait, one implementation for each instruction set and precision.
//!
//! Everything here is inlined into functions that are compiled for the instructions (see `kernel::Isa`).
//! [`Vector::product`] is the one operation that decides the precision: in f32 a word of operands is one
//! channel, in bf16 it is two channels that are multiplied and added in one instruction.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64 as arm;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64 as x86;
use std::array::from_fn;

/// Floats of a cache line: rows of channels are filled up to a multiple of this, and buffers start on one.
pub(super) const LINE: usize = 16;

/// A register of floats.
pub(super) trait Vector: Copy {
    /// Floats in it.
    const LANES: usize = size_of::<Self>() / size_of::<f32>();
    /// Registers that the sums of a tile may fill, so that its operands find room too.
    const SUMS: usize;
    /// Channels in a word of operands.
    const PACK: usize;
    /// Every lane 0.
    fn zero() -> Self;
    /// Lane by lane.
    fn add(self, other: Self) -> Self;
    /// Lane by lane.
    fn sub(self, other: Self) -> Self;
    /// Lets NaN through, so that a broken network is noticed: a maximum with NaN is its second operand.
    fn relu(self) -> Self;
    /// `self + x * y`: each lane of `y` holds [`Vector::PACK`] weights, `x` as many operands, and all their
    /// products are added.
    fn product(self, x: u32, y: Self) -> Self;
    /// Writes the lanes as operands of [`Vector::product`].
    ///
    /// # Safety
    /// There is room for `LANES / PACK` words, aligned to as many.
    unsafe fn store_operands(self, to: *mut u32);
}

/// The bits of `number` as bf16, rounded to the nearest, ties to even; for weights, which are finite.
pub(super) fn bf16(number: f32) -> u16 {
    let bits = number.to_bits();
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! vector {
    ($register:ty, $sums:expr, $splat:path, $mul_add:expr, $add:path, $sub:path, $max:path) => {
        // SAFETY: only functions use vectors that are compiled for their instructions, or that run where every
        // CPU of the architecture has them.
        impl Vector for $register {
            const SUMS: usize = $sums;
            const PACK: usize = 1;

            #[inline(always)]
            fn zero() -> Self {
                unsafe { $splat(0.0) }
            }

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                unsafe { $add(self, other) }
            }

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                unsafe { $sub(self, other) }
            }

            #[inline(always)]
            fn relu(self) -> Self {
                unsafe { $max($splat(0.0), self) }
            }

            #[inline(always)]
            fn product(self, x: u32, y: Self) -> Self {
                unsafe { ($mul_add)($splat(f32::from_bits(x)), y, self) }
            }

            #[inline(always)]
            unsafe fn store_operands(self, to: *mut u32) {
                unsafe { to.cast::<Self>().write(self) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
vector!(
    x86::__m512,
    24,
    x86::_mm512_set1_ps,
    x86::_mm512_fmadd_ps,
    x86::_mm512_add_ps,
    x86::_mm512_sub_ps,
    x86::_mm512_max_ps
);
#[cfg(target_arch = "x86_64")]
vector!(
    x86::__m256,
    12,
    x86::_mm256_set1_ps,
    x86::_mm256_fmadd_ps,
    x86::_mm256_add_ps,
    x86::_mm256_sub_ps,
    x86::_mm256_max_ps
);
#[cfg(target_arch = "aarch64")]
vector!(
    arm::float32x4_t,
    24,
    arm::vdupq_n_f32,
    |a, b, c| arm::vfmaq_f32(c, a, b),
    arm::vaddq_f32,
    arm::vsubq_f32,
    arm::vmaxq_f32
);

/// What every CPU of the architecture has.
#[cfg(target_arch = "aarch64")]
pub(super) type Portable = arm::float32x4_t;
/// What every CPU of the architecture has.
#[cfg(not(target_arch = "aarch64"))]
pub(super) type Portable = [f32; 4];

impl Vector for [f32; 4] {
    const SUMS: usize = 12;
    const PACK: usize = 1;

    #[inline(always)]
    fn zero() -> Self {
        [0.0; 4]
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        from_fn(|lane| self[lane] + other[lane])
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        from_fn(|lane| self[lane] - other[lane])
    }

    #[inline(always)]
    fn relu(self) -> Self {
        self.map(|x| if x < 0.0 { 0.0 } else { x })
    }

    /// In two operations, for where they are not one instruction `f32::mul_add` is slow.
    #[inline(always)]
    fn product(self, x: u32, y: Self) -> Self {
        from_fn(|lane| f32::from_bits(x) * y[lane] + self[lane])
    }

    #[inline(always)]
    unsafe fn store_operands(self, to: *mut u32) {
        // SAFETY: the caller's.
        unsafe { to.cast::<Self>().write(self) }
    }
}

/// Sums in f32 of products in bf16.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Bf16(x86::__m512);

#[cfg(target_arch = "x86_64")]
// SAFETY: as above.
impl Vector for Bf16 {
    const SUMS: usize = 24;
    const PACK: usize = 2;

    #[inline(always)]
    fn zero() -> Self {
        Bf16(Vector::zero())
    }

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Bf16(Vector::add(self.0, other.0))
    }

    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Bf16(Vector::sub(self.0, other.0))
    }

    #[inline(always)]
    fn relu(self) -> Self {
        Bf16(Vector::relu(self.0))
    }

    #[inline(always)]
    fn product(self, x: u32, y: Self) -> Self {
        unsafe {
            let pairs = |bits| std::mem::transmute::<x86::__m512i, x86::__m512bh>(bits);
            let (x, y) = (x86::_mm512_set1_epi32(x as i32), x86::_mm512_castps_si512(y.0));
            Bf16(x86::_mm512_dpbf16_ps(self.0, pairs(x), pairs(y)))
        }
    }

    #[inline(always)]
    unsafe fn store_operands(self, to: *mut u32) {
        unsafe { to.cast::<x86::__m256bh>().write(x86::_mm512_cvtneps_pbh(self.0)) }
    }
}

/// Zeroed floats that start on a cache line. Operands are kept in them, too: as bits.
pub(super) struct Aligned {
    floats: Vec<f32>,
    start: usize,
    len: usize,
}

impl Aligned {
    pub(super) fn new(len: usize) -> Aligned {
        let floats = vec![0.0; len + LINE];
        let start = floats.as_ptr().align_offset(LINE * size_of::<f32>());
        Aligned { floats, start, len }
    }

    pub(super) fn as_ref(&self) -> &[f32] {
        &self.floats[self.start..][..self.len]
    }

    pub(super) fn as_mut(&mut self) -> &mut [f32] {
        &mut self.floats[self.start..][..self.len]
    }

    pub(super) fn fill(&mut self, values: impl IntoIterator<Item = f32>) {
        self.as_mut().iter_mut().zip(values).for_each(|(slot, value)| *slot = value);
    }
}
