//! Vector registers of floats: one trait for several instruction sets, and the choice of the widest one available.
//!
//! A [`Kernel`] is written once, generically, and [`Isa::run`] compiles it for every instruction set. Every function
//! that a kernel calls must be inlined into it (`#[inline(always)]`), or it is compiled without those instructions.

#![allow(unsafe_code)]

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64 as arm;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64 as x86;
use std::array::from_fn;
use std::sync::OnceLock;

/// Channels that are adjacent in memory: a cache line of floats, to which buffers are aligned.
pub(in crate::net) const BLOCK: usize = 16;

/// Returns the number of channels in memory, rounded up to whole blocks.
pub(in crate::net) fn padded(channels: usize) -> usize {
    channels.next_multiple_of(BLOCK)
}

/// A register of floats.
pub(in crate::net) trait Vector: Copy + 'static {
    /// Number of registers that the sums of a tile may occupy, leaving enough for the operands.
    const SUMS: usize;
    /// Floats in a vector.
    const LANES: usize = size_of::<Self>() / size_of::<f32>();
    /// Returns `x` in every lane.
    fn splat(x: f32) -> Self;
    /// Returns `x * y + self`.
    fn add_product(self, x: f32, y: Self) -> Self;
    /// Returns `x * y + self`.
    fn add_products(self, x: Self, y: Self) -> Self;
    /// Returns `self + y`.
    fn add(self, y: Self) -> Self;
    /// Returns `self - y`.
    fn sub(self, y: Self) -> Self;
    /// Returns `x * self`.
    fn times(self, x: f32) -> Self;
    /// Returns the maximum of each lane and 0. NaN stays NaN, so that a broken network is noticed: if one operand of
    /// the maximum is NaN, the result is the second operand.
    fn relu(self) -> Self;
    /// Returns `self` in the lanes where `y` is positive, and 0 in the others.
    fn where_positive(self, y: Self) -> Self;

    /// Loads the first floats of a slice.
    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        let from = &from[..Self::LANES];
        // SAFETY: the slice is as long as a vector, which is made of floats and has no invalid bits.
        unsafe { from.as_ptr().cast::<Self>().read_unaligned() }
    }

    /// Overwrites the first floats of a slice.
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        let to = &mut to[..Self::LANES];
        // SAFETY: the slice is as long as a vector, which is made of floats.
        unsafe { to.as_mut_ptr().cast::<Self>().write_unaligned(self) }
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! vector {
    ($register:ty, $sums:expr, $splat:path, $mul_add:expr, $add:path, $sub:path, $mul:path, $max:path, $where:expr) => {
        // SAFETY: vectors are used only by code that is compiled for their instructions and runs where the CPU has
        // them, or by code for an architecture all of whose CPUs have them.
        impl Vector for $register {
            const SUMS: usize = $sums;

            #[inline(always)]
            fn splat(x: f32) -> Self {
                unsafe { $splat(x) }
            }

            #[inline(always)]
            fn add_product(self, x: f32, y: Self) -> Self {
                unsafe { ($mul_add)($splat(x), y, self) }
            }

            #[inline(always)]
            fn add_products(self, x: Self, y: Self) -> Self {
                unsafe { ($mul_add)(x, y, self) }
            }

            #[inline(always)]
            fn add(self, y: Self) -> Self {
                unsafe { $add(self, y) }
            }

            #[inline(always)]
            fn sub(self, y: Self) -> Self {
                unsafe { $sub(self, y) }
            }

            #[inline(always)]
            fn times(self, x: f32) -> Self {
                unsafe { $mul($splat(x), self) }
            }

            #[inline(always)]
            fn relu(self) -> Self {
                unsafe { $max($splat(0.0), self) }
            }

            #[inline(always)]
            fn where_positive(self, y: Self) -> Self {
                unsafe { ($where)(self, y, $splat(0.0)) }
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
    x86::_mm512_mul_ps,
    x86::_mm512_max_ps,
    |x, y, zero| x86::_mm512_maskz_mov_ps(x86::_mm512_cmp_ps_mask::<{ x86::_CMP_GT_OQ }>(y, zero), x)
);
#[cfg(target_arch = "x86_64")]
vector!(
    x86::__m256,
    12,
    x86::_mm256_set1_ps,
    x86::_mm256_fmadd_ps,
    x86::_mm256_add_ps,
    x86::_mm256_sub_ps,
    x86::_mm256_mul_ps,
    x86::_mm256_max_ps,
    |x, y, zero| x86::_mm256_and_ps(x86::_mm256_cmp_ps::<{ x86::_CMP_GT_OQ }>(y, zero), x)
);
#[cfg(target_arch = "aarch64")]
vector!(
    arm::float32x4_t,
    24,
    arm::vdupq_n_f32,
    |a, b, c| arm::vfmaq_f32(c, a, b),
    arm::vaddq_f32,
    arm::vsubq_f32,
    arm::vmulq_f32,
    arm::vmaxq_f32,
    |x, y, zero| arm::vbslq_f32(arm::vcgtq_f32(y, zero), x, zero)
);

/// The vector type that every CPU of the architecture has.
#[cfg(target_arch = "aarch64")]
pub(in crate::net) type Plain = arm::float32x4_t;
#[cfg(not(target_arch = "aarch64"))]
pub(in crate::net) type Plain = [f32; 4];

impl Vector for [f32; 4] {
    const SUMS: usize = 12;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        [x; 4]
    }

    /// Takes two operations, because `f32::mul_add` is slow where it is not a single instruction.
    #[inline(always)]
    fn add_product(self, x: f32, y: Self) -> Self {
        from_fn(|lane| x * y[lane] + self[lane])
    }

    #[inline(always)]
    fn add_products(self, x: Self, y: Self) -> Self {
        from_fn(|lane| x[lane] * y[lane] + self[lane])
    }

    #[inline(always)]
    fn add(self, y: Self) -> Self {
        from_fn(|lane| self[lane] + y[lane])
    }

    #[inline(always)]
    fn sub(self, y: Self) -> Self {
        from_fn(|lane| self[lane] - y[lane])
    }

    #[inline(always)]
    fn times(self, x: f32) -> Self {
        self.map(|y| x * y)
    }

    #[inline(always)]
    fn relu(self) -> Self {
        self.map(|x| if x < 0.0 { 0.0 } else { x })
    }

    #[inline(always)]
    fn where_positive(self, y: Self) -> Self {
        from_fn(|lane| if y[lane] > 0.0 { self[lane] } else { 0.0 })
    }
}

/// Returns an [`Aligned`] buffer as whole vectors.
#[inline(always)]
pub(in crate::net) fn vectors<S: Vector>(floats: &[f32]) -> &[S] {
    // SAFETY: a vector is made of floats and, like them, has no invalid bits.
    unsafe { floats.align_to().1 }
}

/// Returns an [`Aligned`] buffer as whole vectors.
#[inline(always)]
pub(in crate::net) fn vectors_mut<S: Vector>(floats: &mut [f32]) -> &mut [S] {
    // SAFETY: a vector is made of floats and, like them, has no invalid bits.
    unsafe { floats.align_to_mut().1 }
}

/// Zero-initialized floats aligned to a cache line.
pub(in crate::net) struct Aligned {
    floats: Vec<f32>,
    start: usize,
    len: usize,
}

impl Aligned {
    pub(in crate::net) fn new(len: usize) -> Aligned {
        let floats = vec![0.0; len + BLOCK];
        let start = floats.as_ptr().align_offset(BLOCK * size_of::<f32>());
        Aligned { floats, start, len }
    }

    pub(in crate::net) fn as_ref(&self) -> &[f32] {
        &self.floats[self.start..][..self.len]
    }

    pub(in crate::net) fn as_mut(&mut self) -> &mut [f32] {
        &mut self.floats[self.start..][..self.len]
    }
}

/// A computation that works with vectors of any width.
pub(in crate::net) trait Kernel {
    /// Runs the computation. It must be inlined into the function that is compiled for the instructions of `S`.
    fn run<S: Vector>(self);
}

/// The environment variable that, if it is `1`, keeps networks from using wide vectors. Every CPU then computes the
/// same bytes as a page in a file does.
const PLAIN: &str = "PETTEIA_PLAIN";

/// Returns whether only instructions that every CPU has may be used. The variable is read once.
pub(in crate::net) fn is_plain() -> bool {
    static IS_PLAIN: OnceLock<bool> = OnceLock::new();
    *IS_PLAIN.get_or_init(|| std::env::var_os(PLAIN).is_some_and(|value| value == "1"))
}

/// An instruction set that this CPU has.
#[derive(Clone, Copy, Debug)]
pub(in crate::net) struct Isa(Set);

#[derive(Clone, Copy, Debug)]
enum Set {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Plain,
}

impl Isa {
    /// Returns the instruction sets that this CPU has, widest first; only the plain one if [`PLAIN`] asks for it.
    pub(in crate::net) fn here() -> impl Iterator<Item = Isa> {
        #[cfg(target_arch = "x86_64")]
        let wide = {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let avx512 = avx2 && is_x86_feature_detected!("avx512f");
            [avx512.then_some(Isa(Set::Avx512)), avx2.then_some(Isa(Set::Avx2))].into_iter().flatten()
        };
        #[cfg(not(target_arch = "x86_64"))]
        let wide = std::iter::empty();
        wide.filter(|_| !is_plain()).chain([Isa(Set::Plain)])
    }

    /// Returns the widest instruction set of this CPU.
    pub(in crate::net) fn widest() -> Isa {
        Isa::here().next().expect("the plain set is always there")
    }

    /// Returns the name of the instruction set.
    pub(in crate::net) fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => "AVX-512",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => "AVX2",
            Set::Plain if cfg!(target_arch = "aarch64") => "NEON",
            Set::Plain => "none",
        }
    }

    /// Returns the floats per vector, and how many registers the sums of a tile may occupy ([`Vector::SUMS`]).
    pub(in crate::net) fn sizes(self) -> [usize; 2] {
        fn of<S: Vector>() -> [usize; 2] {
            [S::LANES, S::SUMS]
        }
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => of::<x86::__m512>(),
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => of::<x86::__m256>(),
            Set::Plain => of::<Plain>(),
        }
    }

    /// Returns whether the widest vectors of this CPU can multiply pairs of bf16.
    pub(in crate::net) fn has_bf16() -> bool {
        #[cfg(target_arch = "x86_64")]
        return matches!(Isa::widest().0, Set::Avx512) && is_x86_feature_detected!("avx512bf16");
        #[cfg(not(target_arch = "x86_64"))]
        return false;
    }

    /// Runs a kernel, compiled for this instruction set.
    pub(in crate::net) fn run(self, kernel: impl Kernel) {
        match self.0 {
            // SAFETY: only `Isa::here` makes an `Isa`, and only if the CPU has its instructions.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => unsafe { run_avx512(kernel) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { run_avx2(kernel) },
            Set::Plain => kernel.run::<Plain>(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
fn run_avx512(kernel: impl Kernel) {
    kernel.run::<x86::__m512>();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2(kernel: impl Kernel) {
    kernel.run::<x86::__m256>();
}
