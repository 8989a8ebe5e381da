//! The transforms of Winograd's convolutions F(m, 3), with the matrix names of Lavin and Gray 2016.
//!
//! A row of a tile is a product of two polynomials: both factors are evaluated at `m + 2` points, the frequencies,
//! and multiplied there; the results are interpolated. The points are 0, infinity, 1, -1, `B`, and `-B`, in this
//! order, and smaller tiles use the first of them. Errors grow with the size of a tile: those of 4x4 tiles are seven
//! times as large as those of 2x2 tiles. All factors here are exact.

use std::array::from_fn;

use super::matrix::{Finish, finished};
use super::products::{ProductWork, Products};
use super::tiling::{PaddedBoard, TileRun};
use crate::net::kernels::vector::Vector;

/// Squares of output of the largest tile along an axis.
pub(super) const LARGEST: usize = 4;
/// Frequencies of the largest tile.
pub(super) const MOST: usize = LARGEST + 2;

const B: f32 = 0.5;
const BB: f32 = B * B;

/// Returns `G`: the factors of the three taps of a kernel, for each frequency of the largest tile.
fn kernel_rows() -> [[f64; 3]; MOST] {
    let at = |point: f32, divisor: f32| [1.0, point, point * point].map(|power| f64::from(power / divisor));
    let (one, b) = (2.0 * (1.0 - BB), 2.0 * BB * (BB - 1.0));
    [at(0.0, BB), [0.0, 0.0, 1.0], at(1.0, one), at(-1.0, one), at(B, b), at(-B, b)]
}

/// Returns `G g G^T` as factors of the nine taps, for each of these rows and columns of frequencies.
pub(super) fn kernel_transforms([rows, columns]: [usize; 2]) -> Vec<[f64; 9]> {
    let g = kernel_rows();
    let taps = |f: usize| from_fn(|tap| g[f / columns][tap / 3] * g[f % columns][tap % 3]);
    (0..rows * columns).map(taps).collect()
}

/// Computes `B^T d` of a tile of two squares from four squares. The rows of `B^T` are the coefficients of the
/// polynomials x^2 - 1, x (x^2 - 1), x (x + 1), and x (x - 1).
#[inline(always)]
fn of_two<S: Vector>(a: S, b: S, c: S, d: S) -> [S; 4] {
    [c.sub(a), d.sub(b), c.add(b), c.sub(b)]
}

/// Computes `B^T d`: from `M + 2` squares to the frequencies of a tile of `M`.
#[inline(always)]
fn to_frequencies<S: Vector, const M: usize>(d: [S; MOST]) -> [S; MOST] {
    let zero = S::splat(0.0);
    match M {
        1 => [d[1].sub(d[0]), d[2].sub(d[1]), d[1], zero, zero, zero],
        2 => {
            let [a, b, c, e] = of_two(d[0], d[1], d[2], d[3]);
            [a, b, c, e, zero, zero]
        }
        // all polynomials but the last have the factor x - B
        3 => {
            let [a, b, c, e] = of_two(
                d[1].add_product(-B, d[0]),
                d[2].add_product(-B, d[1]),
                d[3].add_product(-B, d[2]),
                d[4].add_product(-B, d[3]),
            );
            [a, b, c, e, d[3].sub(d[1]), zero]
        }
        // all polynomials but the last two have the factor x^2 - B^2
        _ => {
            let [a, b, c, e] = of_two(
                d[2].add_product(-BB, d[0]),
                d[3].add_product(-BB, d[1]),
                d[4].add_product(-BB, d[2]),
                d[5].add_product(-BB, d[3]),
            );
            let (even, odd) = (d[4].sub(d[2]), d[3].sub(d[1]));
            [a, b, c, e, even.add_product(B, odd), even.add_product(-B, odd)]
        }
    }
}

/// Computes `A^T m`: from the frequencies of a tile to its `M` squares. The divisors in [`kernel_rows`] are those of
/// a tile of four; the factors of smaller tiles make up for the difference.
#[inline(always)]
fn to_squares<S: Vector, const M: usize>(m: [S; MOST]) -> [S; LARGEST] {
    let (zero, [sum, difference]) = (S::splat(0.0), [m[2].add(m[3]), m[2].sub(m[3])]);
    match M {
        1 => [m[1].add_product(-BB, m[0]).add_product(2.0 * (1.0 - BB), m[2]), zero, zero, zero],
        2 => {
            let first = sum.times(1.0 - BB).add_product(-BB, m[0]);
            [first, m[1].add_product(1.0 - BB, difference), zero, zero]
        }
        3 => {
            let even = m[2].times(1.0 + B).add_product(B - 1.0, m[3]);
            let odd = m[2].times(1.0 + B).add_product(1.0 - B, m[3]);
            [
                even.add_product(B, m[0]).add_product(2.0 * B, m[4]),
                odd.add_product(2.0 * BB, m[4]),
                even.add(m[1]).add_product(2.0 * B * BB, m[4]),
                zero,
            ]
        }
        _ => {
            let [sum_b, difference_b] = [m[4].add(m[5]), m[4].sub(m[5])];
            [
                m[0].add(sum).add(sum_b),
                difference.add_product(B, difference_b),
                sum.add_product(BB, sum_b),
                m[1].add(difference).add_product(B * BB, difference_b),
            ]
        }
    }
}

/// Calls a function whose last parameters are the rows and columns of a tile; only tiles that occur are compiled.
macro_rules! for_size {
    ($rows:expr, $columns:expr, $function:ident::<$T:ty>$arguments:tt) => {
        for_size!(@sizes $rows, $columns, $function $T, $arguments,
            [1 1] [1 2] [1 3] [1 4] [2 1] [2 2] [2 3] [2 4] [3 1] [3 2] [3 3] [3 4] [4 1] [4 2] [4 3] [4 4])
    };
    (@sizes $rows:expr, $columns:expr, $function:ident $T:ty, $arguments:tt, $([$r:literal $c:literal])*) => {
        match ($rows, $columns) {
            $(($r, $c) if const { occurs::<$T>($r, $c) } => {
                for_size!(@call $function::<$T, $r, $c>$arguments)
            })*
            size => unreachable!("no tile of {size:?}"),
        }
    };
    (@call $function:ident::<$T:ty, $r:literal, $c:literal>($($argument:expr),*)) => {
        $function::<$T, $r, $c>($($argument),*)
    };
}

/// Returns whether there are tiles of this many rows and columns.
const fn occurs<T: Products>(rows: usize, columns: usize) -> bool {
    rows <= T::LARGEST_TILE && columns <= T::LARGEST_TILE
}

/// A layer's tiles, and the sizes of the input or output of its transform.
#[derive(Clone, Copy)]
pub(super) struct TileLayout<'a> {
    pub(super) board: PaddedBoard,
    /// The tiles of a position.
    pub(super) runs: &'a [TileRun],
    /// Frequencies of a row.
    pub(super) frequencies: usize,
    pub(super) positions: usize,
    /// Floats per square.
    pub(super) stride: usize,
    /// The distance from one frequency to the next: in words for the transformed input, in floats for the sums.
    pub(super) plane: usize,
}

/// Returns every run of every position.
#[inline(always)]
fn each(positions: usize, runs: &[TileRun]) -> impl Iterator<Item = (usize, &TileRun)> {
    (0..positions).flat_map(move |position| runs.iter().map(move |run| (position, run)))
}

/// `B^T d B` of every tile.
pub(super) struct InputTransform<'a> {
    pub(super) layout: TileLayout<'a>,
    pub(super) from: &'a [f32],
    pub(super) to: &'a mut [f32],
}

impl ProductWork for InputTransform<'_> {
    #[inline(always)]
    unsafe fn run<T: Products>(self) {
        let TileLayout { board, runs, frequencies, positions, stride, plane } = self.layout;
        let pitch = board.pitch();
        let to = self.to.as_mut_ptr().cast::<u32>();
        for (position, run) in each(positions, runs) {
            let (TileRun { outputs: [rows, columns], count, .. }, [row, column]) = (*run, run.corner);
            let square = position * board.padded() + row * pitch + column;
            let from = self.from[square * stride..].as_ptr();
            let (steps, planes) = ([pitch * stride, stride], [frequencies * plane, plane]);
            // SAFETY: the tiles are on padded boards; the caller checked the sizes of the boards and of the planes.
            unsafe {
                let to = to.add(run.place(positions, position) * stride / T::PACK);
                for_size!(rows, columns, tiles_in::<T>(from, steps, to, planes, count, stride));
            }
        }
    }
}

/// Computes `B^T d B` of `count` tiles side by side, from squares whose rows and columns are `steps` floats apart, to
/// frequencies whose rows and columns are `planes` words apart.
///
/// # Safety
/// The squares must be readable and the frequencies writable.
#[expect(
    clippy::needless_range_loop,
    reason = "iterators are not always inlined, and vectors would go through memory"
)]
#[inline(always)]
unsafe fn tiles_in<T: Products, const R: usize, const C: usize>(
    from: *const f32,
    [down, right]: [usize; 2],
    to: *mut u32,
    [row_plane, plane]: [usize; 2],
    count: usize,
    stride: usize,
) {
    for tile in 0..count {
        for channel in (0..stride).step_by(T::Register::LANES) {
            // SAFETY: guaranteed by the caller.
            unsafe {
                let from = from.add(tile * C * right + channel);
                let to = to.add((tile * stride + channel) / T::PACK);
                let zero = T::Register::splat(0.0);
                let mut columns = [[zero; MOST]; MOST];
                unroll!(0 1 2 3 4 5, COLUMN in C + 2, {
                    let mut d = [zero; MOST];
                    for row in 0..R + 2 {
                        d[row] = from.add(row * down + COLUMN * right).cast::<T::Register>().read();
                    }
                    columns[COLUMN] = to_frequencies::<T::Register, R>(d);
                });
                unroll!(0 1 2 3 4 5, ROW in R + 2, {
                    let mut d = [zero; MOST];
                    for column in 0..C + 2 {
                        d[column] = columns[column][ROW];
                    }
                    let m = to_frequencies::<T::Register, C>(d);
                    for column in 0..C + 2 {
                        T::store_operands(m[column], to.add(ROW * row_plane + column * plane));
                    }
                });
            }
        }
    }
}

/// `A^T m A` of every tile, then bias, skip connection, and ReLU.
pub(super) struct OutputTransform<'a> {
    pub(super) layout: TileLayout<'a>,
    pub(super) from: &'a [f32],
    pub(super) to: &'a mut [f32],
    pub(super) bias: &'a [f32],
    pub(super) finish: Finish,
}

impl ProductWork for OutputTransform<'_> {
    #[inline(always)]
    unsafe fn run<T: Products>(self) {
        let TileLayout { board, runs, frequencies, positions, stride, plane } = self.layout;
        let (pitch, bias, finish) = (board.pitch(), self.bias, self.finish);
        for (position, run) in each(positions, runs) {
            let (TileRun { outputs: [rows, columns], count, .. }, [row, column]) = (*run, run.corner);
            let from = self.from[run.place(positions, position) * stride..].as_ptr();
            let square = position * board.padded() + board.padded_square(row, column);
            let to = self.to[square * stride..].as_mut_ptr();
            let (steps, planes) = ([pitch * stride, stride], [frequencies * plane, plane]);
            // SAFETY: the tiles are on padded boards; the caller checked the sizes of the boards and of the planes.
            unsafe {
                for_size!(rows, columns, tiles_out::<T>(from, planes, to, steps, count, bias, finish));
            }
        }
    }
}

/// Computes `A^T m A` of `count` tiles side by side, then applies `finish`. Both the rows and columns of the
/// frequencies and those of the squares are a given number of floats apart.
///
/// # Safety
/// The frequencies must be readable and the squares writable.
#[expect(
    clippy::needless_range_loop,
    reason = "iterators are not always inlined, and vectors would go through memory"
)]
#[inline(always)]
unsafe fn tiles_out<T: Products, const R: usize, const C: usize>(
    from: *const f32,
    [row_plane, plane]: [usize; 2],
    to: *mut f32,
    [down, right]: [usize; 2],
    count: usize,
    bias: &[f32],
    finish: Finish,
) {
    for tile in 0..count {
        for channel in (0..bias.len()).step_by(T::Register::LANES) {
            // SAFETY: guaranteed by the caller.
            unsafe {
                let bias = bias.as_ptr().add(channel).cast::<T::Register>().read();
                let from = from.add(tile * right + channel);
                let to = to.add(tile * C * right + channel);
                let zero = T::Register::splat(0.0);
                let mut rows = [[zero; LARGEST]; MOST];
                unroll!(0 1 2 3 4 5, ROW in R + 2, {
                    let mut m = [zero; MOST];
                    for column in 0..C + 2 {
                        m[column] = from.add(ROW * row_plane + column * plane).cast::<T::Register>().read();
                    }
                    rows[ROW] = to_squares::<T::Register, C>(m);
                });
                unroll!(0 1 2 3, COLUMN in C, {
                    let mut m = [zero; MOST];
                    for row in 0..R + 2 {
                        m[row] = rows[row][COLUMN];
                    }
                    let y = to_squares::<T::Register, R>(m);
                    for row in 0..R {
                        let slot = to.add(row * down + COLUMN * right).cast::<T::Register>();
                        slot.write(finished(y[row].add(bias), slot, finish));
                    }
                });
            }
        }
    }
}
