//! The transforms of Winograd's convolutions, from boards to [`frequencies`](crate::net::kernels::frequencies) and
//! back.

use std::array::from_fn;

use super::matrix::{Finish, finished};
use super::products::{ProductWork, Products};
use super::tiling::{PaddedBoard, TileRun};
use crate::net::kernels::frequencies::{
    LARGEST, MOST, for_size, kernel_rows, to_frequencies, to_squares, unroll,
};
use crate::net::kernels::vector::Vector;

/// Returns `G g G^T` as factors of the nine taps, for each of these rows and columns of frequencies.
pub(super) fn kernel_transforms([rows, columns]: [usize; 2]) -> Vec<[f64; 9]> {
    let g = kernel_rows().map(|row| row.map(f64::from));
    let taps = |f: usize| from_fn(|tap| g[f / columns][tap / 3] * g[f % columns][tap % 3]);
    (0..rows * columns).map(taps).collect()
}

/// A layer's tiles, and the sizes of the input or output of its transform.
#[derive(Clone, Copy)]
pub(super) struct TileLayout<'a> {
    pub(super) board: PaddedBoard,
    /// The tiles of a position.
    pub(super) runs: &'a [TileRun],
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
        let TileLayout { board, runs, positions, stride, plane } = self.layout;
        let pitch = board.pitch();
        let to = self.to.as_mut_ptr().cast::<u32>();
        for (position, run) in each(positions, runs) {
            let TileRun { outputs: [rows, columns], count, corner: [row, column], frequencies, .. } = *run;
            let square = position * board.padded() + row * pitch + column;
            let from = self.from[square * stride..].as_ptr();
            let (steps, planes) = ([pitch * stride, stride], [frequencies * plane, plane]);
            // SAFETY: the tiles are on padded boards; the caller checked the sizes of the boards and of the planes.
            unsafe {
                let to = to.add(run.place(positions, position) * stride / T::PACK);
                for_size!(
                    [rows, columns],
                    of at most T::LARGEST_TILE,
                    tiles_in::<T>(from, steps, to, planes, count, stride)
                );
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
        let TileLayout { board, runs, positions, stride, plane } = self.layout;
        let (pitch, bias, finish) = (board.pitch(), self.bias, self.finish);
        for (position, run) in each(positions, runs) {
            let TileRun { outputs: [rows, columns], count, corner: [row, column], frequencies, .. } = *run;
            let from = self.from[run.place(positions, position) * stride..].as_ptr();
            let square = position * board.padded() + board.padded_square(row, column);
            let to = self.to[square * stride..].as_mut_ptr();
            let (steps, planes) = ([pitch * stride, stride], [frequencies * plane, plane]);
            // SAFETY: the tiles are on padded boards; the caller checked the sizes of the boards and of the planes.
            unsafe {
                for_size!(
                    [rows, columns],
                    of at most T::LARGEST_TILE,
                    tiles_out::<T>(from, planes, to, steps, count, bias, finish)
                );
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
