//! The transforms of Winograd's F(2x2, 3x3), with the matrix names of Lavin and Gray 2016, and their transposes,
//! which the gradients need.
//!
//! A board with a border is cut into 4x4 pieces, one for each 2x2 tile; neighboring pieces overlap by two squares. A
//! piece becomes 16 numbers per channel, its frequencies; their products over the channels are transformed back into
//! tiles. Everything is inlined into the kernels so that it is compiled for their instruction sets; closures would not
//! be inlined. A 1x1 kernel has a single frequency, the board itself.

use std::array::from_fn;

use super::geometry::{Conv, Gradient, plane_stride};
use crate::net::kernels::vector::{BLOCK, Vector, padded, vectors, vectors_mut};

/// The destination of transformed images, `[frequency, row, channel]`, in any number format.
pub(super) trait Images<S: Vector> {
    /// Writes a vector of channels. Each tile has one row; all rows are written, in order.
    fn put(&mut self, value: S, frequency: usize, row: usize, vector: usize);

    /// Writes all frequencies of a piece.
    #[inline(always)]
    fn put_piece(&mut self, piece: Piece<S>, row: usize, vector: usize) {
        for i in 0..16 {
            self.put(piece[i / 4][i % 4], i, row, vector);
        }
    }
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

/// Transforms images to `[frequency, row, channel]`: `B^T d B` of the 4x4 pieces.
#[inline(always)]
pub(super) fn input_transform<S: Vector>(conv: &Conv, x: &[f32], to: &mut impl Images<S>, board: &mut [f32]) {
    let channels = padded(conv.inputs);
    if conv.kernel == 1 {
        put_squares::<S>(x, to, 0, channels);
        return;
    }
    let vectors_of_pixel = channels / S::LANES;
    // only the squares inside the border are written below
    board.fill(0.0);
    for (i, image) in x.chunks_exact(conv.input_len()).enumerate() {
        for (row, line) in image.chunks_exact(conv.width * channels).enumerate() {
            board[conv.on_board(row) * channels..][..line.len()].copy_from_slice(line);
        }
        let board = vectors::<S>(board);
        for tile in 0..conv.tiles() {
            let (first, row) = (conv.corner(tile) * vectors_of_pixel, i * conv.tiles() + tile);
            for vector in 0..vectors_of_pixel {
                let d = take(board, first + vector, [conv.board()[1], 1].map(|step| step * vectors_of_pixel));
                to.put_piece(times_bt(transpose(times_bt(transpose(d)))), row, vector);
            }
        }
    }
}

/// Transforms `[frequency, rows, channel]` to images: `A^T m A`.
#[inline(always)]
pub(super) fn output_transform<S: Vector>(conv: &Conv, from: &[f32], rows: usize, z: &mut [f32]) {
    let channels = padded(conv.outputs);
    if conv.kernel == 1 {
        z.copy_from_slice(&from[..z.len()]);
        return;
    }
    let (from, vectors_of_pixel) = (vectors::<S>(from), channels / S::LANES);
    for (i, image) in z.chunks_exact_mut(conv.output_len()).enumerate() {
        for tile in 0..conv.tiles() {
            let [row, column] = conv.square(tile);
            let first = (row * conv.width + column) * channels;
            // if a side is odd, the last tiles have a row or a column outside the board
            let (right, below) = (column + 1 < conv.width, row + 1 < conv.height);
            let down = first + conv.width * channels;
            for vector in 0..vectors_of_pixel {
                let step = plane_stride(rows, channels) / S::LANES;
                let at = (i * conv.tiles() + tile) * vectors_of_pixel + vector;
                let [a, b, c, d] = take(from, at, [4 * step, step]);
                let [a, b, c, d] = transpose([add(add(a, b), c), sub(sub(b, c), d), a, a]);
                let (even, odd) = (add(add(a, b), c), sub(sub(b, c), d));
                let lane = vector * S::LANES;
                even[0].store(&mut image[first + lane..]);
                if right {
                    odd[0].store(&mut image[first + channels + lane..]);
                }
                if below {
                    even[1].store(&mut image[down + lane..]);
                }
                if right && below {
                    odd[1].store(&mut image[down + channels + lane..]);
                }
            }
        }
    }
}

/// Transforms the output gradients of `images` images, starting at `start`, to `[frequency, row, channel]`:
/// `A dy A^T`.
#[inline(always)]
pub(super) fn gradient_transform<S: Vector>(
    conv: &Conv,
    (gradient, z): (&Gradient, &[f32]),
    [start, images]: [usize; 2],
    to: &mut impl Images<S>,
    board: &mut [f32],
) {
    let channels = padded(conv.outputs);
    if conv.kernel == 1 {
        for image in 0..images {
            gradient.line::<S>(z, start + image * conv.output_len(), board);
            put_squares::<S>(board, to, image * conv.cells(), channels);
        }
        return;
    }
    let vectors_of_pixel = channels / S::LANES;
    board.fill(0.0);
    for image in 0..images {
        for row in 0..conv.height {
            let index = start + image * conv.output_len() + row * conv.width * channels;
            let line = &mut board[conv.on_board(row) * channels..][..conv.width * channels];
            gradient.line::<S>(z, index, line);
        }
        let (board, down) = (vectors::<S>(board), conv.board()[1] * vectors_of_pixel);
        for tile in 0..conv.tiles() {
            let first = conv.corner(tile) * vectors_of_pixel + down + vectors_of_pixel;
            let row = image * conv.tiles() + tile;
            for vector in first..first + vectors_of_pixel {
                let zero = [S::splat(0.0); 4];
                let a = [board[vector], board[vector + vectors_of_pixel], zero[0], zero[0]];
                let b = [board[vector + down], board[vector + down + vectors_of_pixel], zero[0], zero[0]];
                let [a, b, ..] = transpose([a, add(a, b), sub(a, b), sub(zero, b)]);
                let d = transpose([a, add(a, b), sub(a, b), sub(zero, b)]);
                to.put_piece(d, row, vector - first);
            }
        }
    }
}

/// Transforms `[frequency, rows, channel]` to input gradients: the sums of the overlapping 4x4 pieces `B m B^T`.
#[inline(always)]
pub(super) fn input_gradient<S: Vector>(
    conv: &Conv,
    from: &[f32],
    rows: usize,
    dx: &mut [f32],
    board: &mut [f32],
) {
    let channels = padded(conv.inputs);
    if conv.kernel == 1 {
        dx.copy_from_slice(&from[..dx.len()]);
        return;
    }
    let (from, vectors_of_pixel) = (vectors::<S>(from), channels / S::LANES);
    for (i, image) in dx.chunks_exact_mut(conv.input_len()).enumerate() {
        board.fill(0.0);
        let (slots, down) = (vectors_mut::<S>(board), conv.board()[1] * vectors_of_pixel);
        for tile in 0..conv.tiles() {
            let (first, row) = (conv.corner(tile) * vectors_of_pixel, i * conv.tiles() + tile);
            for vector in 0..vectors_of_pixel {
                let step = plane_stride(rows, channels) / S::LANES;
                let m = take(from, row * vectors_of_pixel + vector, [4 * step, step]);
                let m = times_b(transpose(times_b(transpose(m))));
                for i in 0..16 {
                    let slot = &mut slots[first + vector + i / 4 * down + i % 4 * vectors_of_pixel];
                    *slot = slot.add(m[i / 4][i % 4]);
                }
            }
        }
        for (row, line) in image.chunks_exact_mut(conv.width * channels).enumerate() {
            line.copy_from_slice(&board[conv.on_board(row) * channels..][..line.len()]);
        }
    }
}

/// A 4x4 piece of the board, or its products, row by row.
pub(super) type Piece<S> = [[S; 4]; 4];

/// Reads the vectors of a piece, whose rows are `down` apart and whose columns are `right` apart.
#[inline(always)]
fn take<S: Vector>(from: &[S], first: usize, [down, right]: [usize; 2]) -> Piece<S> {
    let mut piece = [[from[first]; 4]; 4];
    for i in 1..16 {
        piece[i / 4][i % 4] = from[first + i / 4 * down + i % 4 * right];
    }
    piece
}

#[inline(always)]
fn transpose<S: Vector>([a, b, c, d]: Piece<S>) -> Piece<S> {
    [[a[0], b[0], c[0], d[0]], [a[1], b[1], c[1], d[1]], [a[2], b[2], c[2], d[2]], [a[3], b[3], c[3], d[3]]]
}

/// Returns `B^T` times a piece.
#[inline(always)]
fn times_bt<S: Vector>([a, b, c, d]: Piece<S>) -> Piece<S> {
    [sub(a, c), add(b, c), sub(c, b), sub(b, d)]
}

/// Returns `B` times a piece.
#[inline(always)]
fn times_b<S: Vector>([a, b, c, d]: Piece<S>) -> Piece<S> {
    [a, add(sub(b, c), d), sub(add(b, c), a), sub([S::splat(0.0); 4], d)]
}

#[inline(always)]
fn add<S: Vector>(a: [S; 4], b: [S; 4]) -> [S; 4] {
    [a[0].add(b[0]), a[1].add(b[1]), a[2].add(b[2]), a[3].add(b[3])]
}

#[inline(always)]
fn sub<S: Vector>(a: [S; 4], b: [S; 4]) -> [S; 4] {
    [a[0].sub(b[0]), a[1].sub(b[1]), a[2].sub(b[2]), a[3].sub(b[3])]
}

/// Returns `G g G^T` of a block of kernels, one in each lane.
#[inline(always)]
pub(super) fn kernel_transform(g: &[[f32; BLOCK]; 9]) -> [[f32; BLOCK]; 16] {
    let mut to = [[0.0; BLOCK]; 16];
    for lane in 0..BLOCK {
        let grow = |[a, b, c]: [f32; 3]| [a, (a + b + c) * 0.5, (a - b + c) * 0.5, c];
        let columns: [[f32; 4]; 3] = from_fn(|i| grow(from_fn(|j| g[j * 3 + i][lane])));
        for i in 0..4 {
            let row = grow(from_fn(|j| columns[j][i]));
            for j in 0..4 {
                to[i * 4 + j][lane] = row[j];
            }
        }
    }
    to
}

/// Returns `G^T m G` of a block of kernels, one in each lane.
#[inline(always)]
pub(super) fn kernel_gradient(m: &[[f32; BLOCK]; 16]) -> [[f32; BLOCK]; 9] {
    let mut to = [[0.0; BLOCK]; 9];
    for lane in 0..BLOCK {
        let shrink = |[a, b, c, d]: [f32; 4]| [a + (b + c) * 0.5, (b - c) * 0.5, (b + c) * 0.5 + d];
        let columns: [[f32; 3]; 4] = from_fn(|i| shrink(from_fn(|j| m[j * 4 + i][lane])));
        for i in 0..3 {
            let row = shrink(from_fn(|j| columns[j][i]));
            for j in 0..3 {
                to[i * 3 + j][lane] = row[j];
            }
        }
    }
    to
}
