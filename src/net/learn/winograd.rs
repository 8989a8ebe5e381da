//! The transforms of Winograd's convolutions, from boards to [`frequencies`](crate::net::kernels::frequencies) and
//! back, and their transposes, which the gradients need.
//!
//! A board with a border is cut into [tiles](crate::net::infer::tiling); each tile and the squares around it become
//! frequencies, and their products over the channels become tiles again. Everything is inlined into the kernels so that
//! it is compiled for their instruction sets; closures would not be inlined. A 1x1 kernel has a single frequency, the
//! board itself.

use std::array::from_fn;

use super::geometry::{Conv, Gradient, plane_stride};
use super::products::ProductTerms;
use crate::net::infer::tiling::TileRun;
use crate::net::kernels::frequencies::{
    LARGEST, MOST, for_size, from_frequencies, from_squares, kernel_rows, to_frequencies, to_squares,
    to_taps, unroll,
};
use crate::net::kernels::vector::{BLOCK, Vector, padded, vectors, vectors_mut};

/// The destination of transformed images, `[frequency, row, channel]`, in any number format.
pub(super) trait Images<S: Vector> {
    /// Writes a vector of channels. Each tile has one row; the rows of tiles of one size are written in order.
    fn put(&mut self, value: S, frequency: usize, row: usize, vector: usize);
}

/// A destination in floats.
pub(super) struct Floats<'a, S> {
    to: &'a mut [S],
    /// The number of vectors from one row to the next, and from one frequency to the next.
    steps: [usize; 2],
}

impl<'a, S: Vector> Floats<'a, S> {
    /// Returns a destination with this many rows and channels.
    #[inline(always)]
    pub(super) fn new(to: &'a mut [f32], rows: usize, channels: usize) -> Floats<'a, S> {
        Floats { to: vectors_mut(to), steps: [channels, plane_stride(rows, channels)].map(|n| n / S::LANES) }
    }
}

impl<S: Vector> Images<S> for Floats<'_, S> {
    #[inline(always)]
    fn put(&mut self, value: S, frequency: usize, row: usize, vector: usize) {
        self.to[row * self.steps[0] + vector + frequency * self.steps[1]] = value;
    }
}

/// Writes the rows for a 1x1 kernel, which are the squares themselves, starting at row `first`.
#[inline(always)]
fn put_squares<S: Vector>(squares: &[f32], to: &mut impl Images<S>, first: usize, channels: usize) {
    for (row, square) in squares.chunks_exact(channels).enumerate() {
        for (vector, value) in square.chunks_exact(S::LANES).enumerate() {
            to.put(S::load(value), 0, first + row, vector);
        }
    }
}

/// Tiles of one size that are side by side, on a board with its border.
#[derive(Clone, Copy)]
struct Place {
    count: usize,
    /// The first vector of the first tile, on the board: of the upper left square, or of the square beyond it.
    board: usize,
    /// Vectors from one row of the board to the next, and from one square to the next.
    steps: [usize; 2],
    /// The row of the first tile.
    row: usize,
    /// Frequencies of a row of frequencies.
    frequencies: usize,
}

impl Place {
    /// Returns the place of a run of an image, and the size of its tiles. `border` is 1 if the tiles include the
    /// squares around them, otherwise 0.
    #[inline(always)]
    fn new<S: Vector>(
        conv: &Conv,
        run: &TileRun,
        [images, image]: [usize; 2],
        channels: usize,
        border: usize,
    ) -> ([usize; 2], Place) {
        let (pitch, right) = (conv.board().pitch(), channels / S::LANES);
        let square = (run.corner[0] + 1 - border) * pitch + run.corner[1] + 1 - border;
        let place = Place {
            count: run.count,
            board: square * right,
            steps: [pitch * right, right],
            row: run.place(images, image),
            frequencies: run.frequencies,
        };
        (run.outputs, place)
    }
}

/// Transforms `images` images to `[frequency, row, channel]`: `B^T d B` of each tile. Images that are missing in `x`
/// are zero.
#[inline(always)]
pub(super) fn input_transform<S: Vector, T: ProductTerms<S>, I: Images<S>>(
    conv: &Conv,
    (x, runs, images): (&[f32], &[TileRun], usize),
    to: &mut I,
    board: &mut [f32],
) {
    let channels = padded(conv.inputs);
    // only the squares inside the border are written below
    board.fill(0.0);
    for image in 0..images {
        match x.get(image * conv.input_len()..(image + 1) * conv.input_len()) {
            Some(x) if conv.kernel == 1 => {
                put_squares::<S>(x, to, image * conv.cells(), channels);
                continue;
            }
            Some(x) => {
                for (row, line) in x.chunks_exact(conv.width * channels).enumerate() {
                    board[conv.board().padded_square(row, 0) * channels..][..line.len()]
                        .copy_from_slice(line);
                }
            }
            None => board.fill(0.0),
        }
        if conv.kernel == 1 {
            put_squares::<S>(board, to, image * conv.cells(), channels);
            continue;
        }
        for run in runs {
            let (size, place) = Place::new::<S>(conv, run, [images, image], channels, 1);
            for_size!(size, of at most T::LARGEST_TILE, tiles_in::<S, I>(vectors(board), to, place));
        }
    }
}

/// Computes `B^T d B` of tiles side by side.
#[expect(
    clippy::needless_range_loop,
    reason = "iterators are not always inlined, and vectors would go through memory"
)]
#[inline(always)]
fn tiles_in<S: Vector, I: Images<S>, const R: usize, const C: usize>(board: &[S], to: &mut I, place: Place) {
    let [down, right] = place.steps;
    for tile in 0..place.count {
        for vector in 0..right {
            let board =
                &board[place.board + tile * C * right + vector..][..(R + 1) * down + (C + 1) * right + 1];
            let mut columns = [[S::splat(0.0); MOST]; MOST];
            unroll!(0 1 2 3 4 5, COLUMN in C + 2, {
                let mut d = [S::splat(0.0); MOST];
                for row in 0..R + 2 {
                    d[row] = board[row * down + COLUMN * right];
                }
                columns[COLUMN] = to_frequencies::<S, R>(d);
            });
            unroll!(0 1 2 3 4 5, ROW in R + 2, {
                let mut d = [S::splat(0.0); MOST];
                for column in 0..C + 2 {
                    d[column] = columns[column][ROW];
                }
                let m = to_frequencies::<S, C>(d);
                for column in 0..C + 2 {
                    to.put(m[column], ROW * place.frequencies + column, place.row + tile, vector);
                }
            });
        }
    }
}

/// Transforms `[frequency, rows, channel]` to images: `A^T m A`. `images` is the number of images that the rows have
/// room for.
#[inline(always)]
pub(super) fn output_transform<S: Vector, T: ProductTerms<S>>(
    conv: &Conv,
    (from, runs, images): (&[f32], &[TileRun], usize),
    rows: usize,
    z: &mut [f32],
) {
    let channels = padded(conv.outputs);
    if conv.kernel == 1 {
        z.copy_from_slice(&from[..z.len()]);
        return;
    }
    let (from, plane, right) =
        (vectors::<S>(from), plane_stride(rows, channels) / S::LANES, channels / S::LANES);
    for (image, z) in z.chunks_exact_mut(conv.output_len()).enumerate() {
        for run in runs {
            let (size, place) = Place::new::<S>(conv, run, [images, image], channels, 0);
            // these boards have no border
            let board = (run.corner[0] * conv.width + run.corner[1]) * right;
            let place = Place { board, steps: [conv.width * right, right], ..place };
            for_size!(size, of at most T::LARGEST_TILE, tiles_out::<S>(from, plane, z, place));
        }
    }
}

/// Computes `A^T m A` of tiles side by side, from frequencies `plane` vectors apart.
#[inline(always)]
fn tiles_out<S: Vector, const R: usize, const C: usize>(
    from: &[S],
    plane: usize,
    z: &mut [f32],
    place: Place,
) {
    let [down, right] = place.steps;
    for tile in 0..place.count {
        for vector in 0..right {
            let from = &from[(place.row + tile) * right + vector..];
            let z = &mut z[(place.board + tile * C * right + vector) * S::LANES..];
            let mut rows = [[S::splat(0.0); LARGEST]; MOST];
            unroll!(0 1 2 3 4 5, ROW in R + 2, {
                let mut m = [S::splat(0.0); MOST];
                for column in 0..C + 2 {
                    m[column] = from[(ROW * place.frequencies + column) * plane];
                }
                rows[ROW] = to_squares::<S, C>(m);
            });
            unroll!(0 1 2 3, COLUMN in C, {
                let mut m = [S::splat(0.0); MOST];
                for row in 0..R + 2 {
                    m[row] = rows[row][COLUMN];
                }
                let y = to_squares::<S, R>(m);
                for row in 0..R {
                    y[row].store(&mut z[(row * down + COLUMN * right) * S::LANES..]);
                }
            });
        }
    }
}

/// Transforms the output gradients of `images` images to `[frequency, row, channel]`: `A dy A^T`. The first number of
/// the first image is `start`; images beyond the end of `z` are zero.
#[inline(always)]
pub(super) fn gradient_transform<S: Vector, T: ProductTerms<S>, I: Images<S>>(
    conv: &Conv,
    (gradient, z, start): (&Gradient, &[f32], usize),
    (runs, images): (&[TileRun], usize),
    to: &mut I,
    board: &mut [f32],
) {
    let channels = padded(conv.outputs);
    board.fill(0.0);
    for image in 0..images {
        let first = start + image * conv.output_len();
        let is_missing = first >= z.len();
        if is_missing {
            board.fill(0.0);
        }
        if conv.kernel == 1 {
            if !is_missing {
                gradient.line::<S>(z, first, board);
            }
            put_squares::<S>(board, to, image * conv.cells(), channels);
            continue;
        }
        for row in 0..if is_missing { 0 } else { conv.height } {
            let line = &mut board[conv.board().padded_square(row, 0) * channels..][..conv.width * channels];
            gradient.line::<S>(z, first + row * conv.width * channels, line);
        }
        for run in runs {
            let (size, place) = Place::new::<S>(conv, run, [images, image], channels, 0);
            for_size!(size, of at most T::LARGEST_TILE, tiles_of_gradient::<S, I>(vectors(board), to, place));
        }
    }
}

/// Computes `A dy A^T` of tiles side by side.
#[expect(
    clippy::needless_range_loop,
    reason = "iterators are not always inlined, and vectors would go through memory"
)]
#[inline(always)]
fn tiles_of_gradient<S: Vector, I: Images<S>, const R: usize, const C: usize>(
    board: &[S],
    to: &mut I,
    place: Place,
) {
    let [down, right] = place.steps;
    for tile in 0..place.count {
        for vector in 0..right {
            let board =
                &board[place.board + tile * C * right + vector..][..(R - 1) * down + (C - 1) * right + 1];
            let mut columns = [[S::splat(0.0); MOST]; LARGEST];
            unroll!(0 1 2 3, COLUMN in C, {
                let mut y = [S::splat(0.0); LARGEST];
                for row in 0..R {
                    y[row] = board[row * down + COLUMN * right];
                }
                columns[COLUMN] = from_squares::<S, R>(y);
            });
            unroll!(0 1 2 3 4 5, ROW in R + 2, {
                let mut y = [S::splat(0.0); LARGEST];
                for column in 0..C {
                    y[column] = columns[column][ROW];
                }
                let m = from_squares::<S, C>(y);
                for column in 0..C + 2 {
                    to.put(m[column], ROW * place.frequencies + column, place.row + tile, vector);
                }
            });
        }
    }
}

/// Transforms `[frequency, rows, channel]` to input gradients: the sums of the overlapping pieces `B m B^T`.
#[inline(always)]
pub(super) fn input_gradient<S: Vector, T: ProductTerms<S>>(
    conv: &Conv,
    (from, runs, images): (&[f32], &[TileRun], usize),
    rows: usize,
    dx: &mut [f32],
    board: &mut [f32],
) {
    let channels = padded(conv.inputs);
    if conv.kernel == 1 {
        dx.copy_from_slice(&from[..dx.len()]);
        return;
    }
    let (from, plane) = (vectors::<S>(from), plane_stride(rows, channels) / S::LANES);
    for (image, dx) in dx.chunks_exact_mut(conv.input_len()).enumerate() {
        board.fill(0.0);
        for run in runs {
            let (size, place) = Place::new::<S>(conv, run, [images, image], channels, 1);
            for_size!(size, of at most T::LARGEST_TILE, tiles_back::<S>(from, plane, vectors_mut(board), place));
        }
        for (row, line) in dx.chunks_exact_mut(conv.width * channels).enumerate() {
            line.copy_from_slice(&board[conv.board().padded_square(row, 0) * channels..][..line.len()]);
        }
    }
}

/// Adds `B m B^T` of tiles side by side to the board, from frequencies `plane` vectors apart.
#[inline(always)]
fn tiles_back<S: Vector, const R: usize, const C: usize>(
    from: &[S],
    plane: usize,
    board: &mut [S],
    place: Place,
) {
    let [down, right] = place.steps;
    for tile in 0..place.count {
        for vector in 0..right {
            let from = &from[(place.row + tile) * right + vector..];
            let board =
                &mut board[place.board + tile * C * right + vector..][..(R + 1) * down + (C + 1) * right + 1];
            let mut rows = [[S::splat(0.0); MOST]; MOST];
            unroll!(0 1 2 3 4 5, ROW in R + 2, {
                let mut m = [S::splat(0.0); MOST];
                for column in 0..C + 2 {
                    m[column] = from[(ROW * place.frequencies + column) * plane];
                }
                rows[ROW] = from_frequencies::<S, C>(m);
            });
            unroll!(0 1 2 3 4 5, COLUMN in C + 2, {
                let mut m = [S::splat(0.0); MOST];
                for row in 0..R + 2 {
                    m[row] = rows[row][COLUMN];
                }
                let d = from_frequencies::<S, R>(m);
                for row in 0..R + 2 {
                    let slot = &mut board[row * down + COLUMN * right];
                    *slot = slot.add(d[row]);
                }
            });
        }
    }
}

/// The factors of the taps of a kernel, for each frequency of the largest tile.
const G: [[f32; 3]; MOST] = kernel_rows();

/// Returns `G g G^T` of a block of kernels, one in each lane.
#[inline(always)]
pub(super) fn kernel_transform(g: &[[f32; BLOCK]; 9]) -> [[[f32; BLOCK]; MOST]; MOST] {
    let sum = |factors: [f32; 3], of: [&[f32; BLOCK]; 3]| -> [f32; BLOCK] {
        from_fn(|lane| factors[0] * of[0][lane] + factors[1] * of[1][lane] + factors[2] * of[2][lane])
    };
    let lines: [[[f32; BLOCK]; MOST]; 3] =
        from_fn(|row| G.map(|factors| sum(factors, [&g[row * 3], &g[row * 3 + 1], &g[row * 3 + 2]])));
    G.map(|factors| from_fn(|column| sum(factors, [&lines[0][column], &lines[1][column], &lines[2][column]])))
}

/// Computes `G^T m G` of kernels, one in each lane, from frequencies to taps, both `plane` floats apart.
/// `size` is the number of rows and columns of frequencies.
#[inline(always)]
pub(super) fn kernel_gradient<S: Vector>(
    [high, across]: [usize; 2],
    from: &[f32],
    plane: usize,
    to: &mut [f32],
) {
    let mut rows = [[S::splat(0.0); 3]; MOST];
    unroll!(0 1 2 3 4 5, ROW in MOST, {
        let mut m = [S::splat(0.0); MOST];
        unroll!(0 1 2 3 4 5, COLUMN in MOST, {
            if ROW < high && COLUMN < across {
                m[COLUMN] = S::load(&from[(ROW * across + COLUMN) * plane..]);
            }
        });
        rows[ROW] = to_taps(m);
    });
    unroll!(0 1 2, COLUMN in 3, {
        let mut m = [S::splat(0.0); MOST];
        unroll!(0 1 2 3 4 5, ROW in MOST, {
            m[ROW] = rows[ROW][COLUMN];
        });
        let taps = to_taps(m);
        unroll!(0 1 2, ROW in 3, {
            taps[ROW].store(&mut to[(ROW * 3 + COLUMN) * plane..]);
        });
    });
}
