//! Winograd's transforms F(m, 3) along an axis, and their transposes, with the matrix names of Lavin and Gray 2016.
//!
//! A row of a tile is a product of two polynomials: both factors are evaluated at `m + 2` points, the frequencies,
//! and multiplied there; the results are interpolated. The points are 0, infinity, 1, -1, `B`, and `-B`, in this
//! order, and smaller tiles use the first of them. Errors grow with the size of a tile: those of 4x4 tiles are seven
//! times as large as those of 2x2 tiles. All factors here are exact.
//!
//! Inference needs the transforms, and training also the transposes: a gradient goes backward through each transform.

use super::vector::Vector;

/// Squares of output of the largest tile along an axis.
pub(in crate::net) const LARGEST: usize = 4;
/// Frequencies of the largest tile.
pub(in crate::net) const MOST: usize = LARGEST + 2;

const B: f32 = 0.5;
const BB: f32 = B * B;

/// Repeats the body for each row or column of a tile. The compiler keeps arrays in registers only if it sees constant
/// indices, and it does not unroll long loops.
macro_rules! unroll {
    ($($value:literal)*, $index:ident in $count:expr, $body:block) => {
        $(if $value < $count {
            const $index: usize = $value;
            $body
        })*
    };
}
pub(in crate::net) use unroll;

/// Calls a function whose last parameters are the rows and columns of a tile; only tiles of at most the given size are
/// compiled.
macro_rules! for_size {
    ($size:expr, of at most $most:expr, $function:ident::<$($T:ty),*>$arguments:tt) => {
        $crate::net::kernels::frequencies::for_size!(@sizes $size, $most, $function [$($T),*], $arguments,
            [1 1] [1 2] [1 3] [1 4] [2 1] [2 2] [2 3] [2 4] [3 1] [3 2] [3 3] [3 4] [4 1] [4 2] [4 3] [4 4])
    };
    (@sizes $size:expr, $most:expr, $function:ident $types:tt, $arguments:tt, $([$r:literal $c:literal])*) => {
        match $size {
            $([$r, $c] if const { $crate::net::kernels::frequencies::occurs($r, $c, $most) } => {
                $crate::net::kernels::frequencies::for_size!(@call $function $types $r $c $arguments)
            })*
            size => unreachable!("no tile of {size:?}"),
        }
    };
    (@call $function:ident [$($T:ty),*] $r:literal $c:literal ($($argument:expr),*)) => {
        $function::<$($T,)* $r, $c>($($argument),*)
    };
}
pub(in crate::net) use for_size;

/// Returns whether there are tiles of this many rows and columns if the largest one has `most` of each.
pub(in crate::net) const fn occurs(rows: usize, columns: usize, most: usize) -> bool {
    rows <= most && columns <= most
}

/// Returns `G`: the factors of the three taps of a kernel, for each frequency of the largest tile.
pub(in crate::net) const fn kernel_rows() -> [[f32; 3]; MOST] {
    let (one, b) = (2.0 * (1.0 - BB), 2.0 * BB * (BB - 1.0));
    [
        [1.0 / BB, 0.0, 0.0],
        [0.0, 0.0, 1.0],
        [1.0 / one, 1.0 / one, 1.0 / one],
        [1.0 / one, -1.0 / one, 1.0 / one],
        [1.0 / b, B / b, BB / b],
        [1.0 / b, -B / b, BB / b],
    ]
}

/// Computes `G^T m`: from the frequencies of the largest tile to the gradients of the three taps.
#[inline(always)]
pub(in crate::net) fn to_taps<S: Vector>(m: [S; MOST]) -> [S; 3] {
    let g = const { kernel_rows() };
    let (sum, sum_b) = (m[2].add(m[3]).times(g[2][0]), m[4].add(m[5]));
    [
        sum.add_product(g[4][0], sum_b).add_product(g[0][0], m[0]),
        m[2].sub(m[3]).times(g[2][1]).add_product(g[4][1], m[4].sub(m[5])),
        sum.add_product(g[4][2], sum_b).add(m[1]),
    ]
}

/// Computes `B^T d` of a tile of two squares from four squares. The rows of `B^T` are the coefficients of the
/// polynomials x^2 - 1, x (x^2 - 1), x (x + 1), and x (x - 1).
#[inline(always)]
fn of_two<S: Vector>(a: S, b: S, c: S, d: S) -> [S; 4] {
    [c.sub(a), d.sub(b), c.add(b), c.sub(b)]
}

/// Computes the transpose of [`of_two`].
#[inline(always)]
fn two_of<S: Vector>(p: S, q: S, r: S, s: S) -> [S; 4] {
    [S::splat(0.0).sub(p), r.sub(s).sub(q), p.add(r.add(s)), q]
}

/// Computes `B^T d`: from `M + 2` squares to the frequencies of a tile of `M`.
#[inline(always)]
pub(in crate::net) fn to_frequencies<S: Vector, const M: usize>(d: [S; MOST]) -> [S; MOST] {
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

/// Computes `B m`, the transpose of [`to_frequencies`].
#[inline(always)]
pub(in crate::net) fn from_frequencies<S: Vector, const M: usize>(m: [S; MOST]) -> [S; MOST] {
    let zero = S::splat(0.0);
    match M {
        1 => [zero.sub(m[0]), m[0].sub(m[1]).add(m[2]), m[1], zero, zero, zero],
        2 => {
            let [a, b, c, e] = two_of(m[0], m[1], m[2], m[3]);
            [a, b, c, e, zero, zero]
        }
        3 => {
            let [a, b, c, e] = two_of(m[0], m[1], m[2], m[3]);
            [
                a.times(-B),
                a.add_product(-B, b).sub(m[4]),
                b.add_product(-B, c),
                c.add_product(-B, e).add(m[4]),
                e,
                zero,
            ]
        }
        _ => {
            let [a, b, c, e] = two_of(m[0], m[1], m[2], m[3]);
            let (even, odd) = (m[4].add(m[5]), m[4].sub(m[5]));
            [
                a.times(-BB),
                b.times(-BB).add_product(-B, odd),
                a.add_product(-BB, c).sub(even),
                b.add_product(-BB, e).add_product(B, odd),
                c.add(even),
                e,
            ]
        }
    }
}

/// Computes `A^T m`: from the frequencies of a tile to its `M` squares. The divisors in [`kernel_rows`] are those of
/// a tile of four; the factors of smaller tiles make up for the difference.
#[inline(always)]
pub(in crate::net) fn to_squares<S: Vector, const M: usize>(m: [S; MOST]) -> [S; LARGEST] {
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

/// Computes `A y`, the transpose of [`to_squares`].
#[inline(always)]
pub(in crate::net) fn from_squares<S: Vector, const M: usize>(y: [S; LARGEST]) -> [S; MOST] {
    let zero = S::splat(0.0);
    match M {
        1 => [y[0].times(-BB), y[0], y[0].times(2.0 * (1.0 - BB)), zero, zero, zero],
        2 => {
            let [sum, difference] = [y[0].add(y[1]), y[0].sub(y[1])];
            [y[0].times(-BB), y[1], sum.times(1.0 - BB), difference.times(1.0 - BB), zero, zero]
        }
        3 => {
            let even = y[0].add(y[2]);
            [
                y[0].times(B),
                y[2],
                even.add(y[1]).times(1.0 + B),
                y[1].sub(even).times(1.0 - B),
                y[0].times(2.0 * B).add_product(2.0 * BB, y[1]).add_product(2.0 * B * BB, y[2]),
                zero,
            ]
        }
        _ => {
            let (even, odd) = (y[0].add(y[2]), y[1].add(y[3]));
            let (even_b, odd_b) = (y[0].add_product(BB, y[2]), y[1].add_product(BB, y[3]));
            let pairs =
                [even.add(odd), even.sub(odd), even_b.add_product(B, odd_b), even_b.add_product(-B, odd_b)];
            [y[0], y[3], pairs[0], pairs[1], pairs[2], pairs[3]]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type One = [f32; 4];

    /// Returns the matrix of a transform, `[output, input]`, from its results for unit vectors.
    fn matrix<const N: usize, const K: usize>(transform: impl Fn([One; N]) -> [One; K]) -> [[f32; N]; K] {
        let mut matrix = [[0.0; N]; K];
        for input in 0..N {
            let mut unit = [[0.0; 4]; N];
            unit[input] = [1.0; 4];
            let results = transform(unit);
            matrix.iter_mut().zip(results).for_each(|(row, result)| row[input] = result[0]);
        }
        matrix
    }

    #[test]
    fn gradients_of_taps_are_the_transpose_of_kernels() {
        assert_eq!(matrix(to_taps::<One>), transposed(kernel_rows()));
    }

    fn transposed<const N: usize, const K: usize>(matrix: [[f32; N]; K]) -> [[f32; K]; N] {
        std::array::from_fn(|row| std::array::from_fn(|column| matrix[column][row]))
    }

    fn check<const M: usize>() {
        let (b, a) = (matrix(to_frequencies::<One, M>), matrix(to_squares::<One, M>));
        assert_eq!(matrix(from_frequencies::<One, M>), transposed(b), "{M}");
        assert_eq!(matrix(from_squares::<One, M>), transposed(a), "{M}");
        // a square is the sum over the taps of the neighboring squares
        let g = kernel_rows();
        for (square, tap, input) in (0..M)
            .flat_map(|square| (0..3).flat_map(move |tap| (0..M + 2).map(move |input| (square, tap, input))))
        {
            let sum: f32 = (0..M + 2).map(|f| a[square][f] * g[f][tap] * b[f][input]).sum();
            let wanted = f32::from(u8::from(input == square + tap));
            assert!((sum - wanted).abs() < 1e-6, "{M}: {square} {tap} {input}: {sum}");
        }
    }

    #[test]
    fn transforms_convolve_and_have_transposes() {
        check::<1>();
        check::<2>();
        check::<3>();
        check::<4>();
    }
}
