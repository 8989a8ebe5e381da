//! Products over channels, and outer products over tiles, on one thread. The factors are floats or, with other
//! [`ProductTerms`], pairs of bf16.
//!
//! Input: transformed images and kernels of one frequency, `[row, channel]`. Output: sums in f32. The sums are computed
//! in tiles of as many sums as fit into the registers. Each sum is added term by term and in order, so tiling does not
//! change a bit of it.

// Everything here is inlined into the kernels so that it is compiled for their instruction sets; closures would not be
// inlined.

use crate::net::kernels::frequencies::LARGEST;
use crate::net::kernels::vector::Vector;

/// The computation of a term of a sum from a left factor, which is the same for all lanes and has the size of a
/// float, and from right factors, one for each lane.
pub(super) trait ProductTerms<S: Vector> {
    /// The right factors.
    type Right: Copy;
    /// An element of a row of factors of an outer product.
    type Row: Copy;
    /// The number of rows that right factors are taken from.
    const ROWS: usize;
    /// The side of a convolution's largest tile, in squares: larger tiles would lose too much precision.
    const LARGEST_TILE: usize;

    /// Returns the right factors of a column, from rows with this many columns.
    fn right(rows: &[Self::Row], columns: usize, column: usize) -> Self::Right;
    /// Returns `sum` plus the term.
    fn add(sum: S, left: f32, right: Self::Right) -> S;
}

/// Terms that are products of two floats.
pub(super) struct FloatTerms;

impl<S: Vector> ProductTerms<S> for FloatTerms {
    type Right = S;
    type Row = S;
    const ROWS: usize = 1;
    const LARGEST_TILE: usize = LARGEST;

    #[inline(always)]
    fn right(rows: &[S], _columns: usize, column: usize) -> S {
        rows[column]
    }

    #[inline(always)]
    fn add(sum: S, left: f32, right: S) -> S {
        sum.add_product(left, right)
    }
}

/// Splits `columns` columns of vectors into tiles of `HIGH` rows and `WIDE` vectors, which are constants in the block.
/// A tile has as many accumulators as fit into the registers.
macro_rules! in_tiles {
    (@tile $high:literal x $wide:literal, $column:ident, $block:block) => {{
        const HIGH: usize = $high;
        const WIDE: usize = $wide;
        $block
        $column += WIDE;
    }};
    ($vector:ident, $columns:ident, |$column:ident| $block:block) => {
        let mut $column = 0;
        while $column < $columns {
            match $columns - $column {
                4.. if $vector::SUMS >= 24 => in_tiles!(@tile 4 x 4, $column, $block),
                2.. if $vector::SUMS >= 24 => in_tiles!(@tile 8 x 2, $column, $block),
                2.. => in_tiles!(@tile 4 x 2, $column, $block),
                _ => in_tiles!(@tile 8 x 1, $column, $block),
            }
        }
    };
}

/// Computes `to = from * weight` for `[rows, stride]`, of which only the first `depth` of `stride` are used, and
/// `[stride, columns]`.
#[inline(always)]
pub(super) fn product<S: Vector, T: ProductTerms<S>>(
    sizes @ [_, stride, columns]: [usize; 3],
    from: &[f32],
    weight: &[T::Right],
    to: &mut [S],
) {
    in_tiles!(S, columns, |column| {
        let tiles = from.chunks_exact(HIGH * stride).zip(to.chunks_exact_mut(HIGH * columns));
        for (from, to) in tiles {
            product_tile::<S, T, HIGH, WIDE>(sizes, from, &weight[column..], &mut to[column..]);
        }
    });
}

#[inline(always)]
fn product_tile<S: Vector, T: ProductTerms<S>, const R: usize, const V: usize>(
    [depth, stride, columns]: [usize; 3],
    from: &[f32],
    weight: &[T::Right],
    to: &mut [S],
) {
    let mut rows = [&from[..depth]; R];
    for (r, row) in rows.iter_mut().enumerate() {
        *row = &from[r * stride..][..depth];
    }
    let mut sums = [[S::splat(0.0); V]; R];
    for p in 0..depth {
        let weight: &[T::Right; V] = weight[p * columns..].first_chunk().expect("whole tiles");
        for r in 0..R {
            for v in 0..V {
                sums[r][v] = T::add(sums[r][v], rows[r][p], weight[v]);
            }
        }
    }
    for (r, sums) in sums.into_iter().enumerate() {
        to[r * columns..][..V].copy_from_slice(&sums);
    }
}

/// Computes `sum += x^T * dz` for `[terms, high]` and `[terms * T::ROWS, columns]`.
#[inline(always)]
pub(super) fn add_outer<S: Vector, T: ProductTerms<S>>(
    [high, columns]: [usize; 2],
    x: &[f32],
    dz: &[T::Row],
    sum: &mut [S],
) {
    in_tiles!(S, columns, |column| {
        for row in (0..high).step_by(HIGH) {
            outer_tile::<S, T, HIGH, WIDE>(x, [high, row], dz, [columns, column], sum);
        }
    });
}

#[inline(always)]
fn outer_tile<S: Vector, T: ProductTerms<S>, const R: usize, const V: usize>(
    x: &[f32],
    [high, row]: [usize; 2],
    dz: &[T::Row],
    [columns, column]: [usize; 2],
    sum: &mut [S],
) {
    let mut sums = [[S::splat(0.0); V]; R];
    for (r, sums) in sums.iter_mut().enumerate() {
        sums.copy_from_slice(&sum[(row + r) * columns + column..][..V]);
    }
    for (x, dz) in x.chunks_exact(high).zip(dz.chunks_exact(T::ROWS * columns)) {
        let x: &[f32; R] = x[row..].first_chunk().expect("whole tiles");
        let dz = &dz[column..][..(T::ROWS - 1) * columns + V];
        let mut rights = [T::right(dz, columns, 0); V];
        for (v, right) in rights.iter_mut().enumerate().skip(1) {
            *right = T::right(dz, columns, v);
        }
        for r in 0..R {
            for v in 0..V {
                sums[r][v] = T::add(sums[r][v], x[r], rights[v]);
            }
        }
    }
    for (r, sums) in sums.into_iter().enumerate() {
        sum[(row + r) * columns + column..][..V].copy_from_slice(&sums);
    }
}
