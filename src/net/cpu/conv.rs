//! 3x3 convolutions on padded boards: direct, or Winograd F(2x2, 3x3) (Lavin and Gray 2016).
//!
//! Activations are `[position, padded row, padded column, channel]` (channels last, padded to whole cache lines). The
//! border is zero and never written, so that neither form has to check for neighbors. Winograd computes 2x2 squares
//! of output from 4x4 of input with 16 instead of 36 products, as 16 matrix products over all tiles of all positions;
//! on boards of odd size the last tiles reach over the edge, and only what is on the board is computed and stored.
//! The form with fewer products is used.

use std::ops::Range;

use super::matrix::{Finish, Matrix, Rows, finished};
use super::products::{Packing, Products, Work};
use crate::net::layers::Conv;
use crate::net::vector::{Aligned, BLOCK, Vector};
use crate::net::weights::Numbers;

/// Products of a 2x2 tile.
const FREQUENCIES: usize = 16;
/// Cost of transforming one tile, in products.
const TRANSFORM: usize = 4;

/// A board with its border.
#[derive(Clone, Copy)]
pub(super) struct Board {
    pub(super) height: usize,
    pub(super) width: usize,
}

impl Board {
    fn tile_rows(self) -> usize {
        self.height.div_ceil(2)
    }

    fn tile_columns(self) -> usize {
        self.width.div_ceil(2)
    }

    fn tiles(self) -> usize {
        self.tile_rows() * self.tile_columns()
    }

    /// Rows and columns of tiles that are entirely on the board.
    fn whole(self) -> [usize; 2] {
        [self.height / 2, self.width / 2]
    }

    /// The four kinds of tiles, each with its rows and columns of tiles per position: over the right edge, entirely
    /// on the board, over the lower edge, over both. Tiles are stored kind by kind, so that those that need a given
    /// frequency are contiguous: a tile over an edge needs no fourth column (or row) of frequencies.
    fn kinds(self) -> [[usize; 2]; 4] {
        let ([rows, columns], [more_rows, more_columns]) = (self.whole(), [self.height % 2, self.width % 2]);
        [[rows, more_columns], [rows, columns], [more_rows, columns], [more_rows, more_columns]]
    }

    /// The indices of the tiles of `positions` that need a frequency.
    fn needed(self, positions: usize, frequency: usize) -> Range<usize> {
        let (mut ends, mut end) = ([0; 5], 0);
        for (kind, [rows, columns]) in self.kinds().into_iter().enumerate() {
            end += positions * rows * columns;
            ends[kind + 1] = end;
        }
        let [right, whole, lower, all] = [ends[1], ends[2], ends[3], ends[4]];
        match (frequency / 4 == 3, frequency % 4 == 3) {
            (false, false) => 0..all,
            (false, true) => right..lower,
            (true, false) => 0..whole,
            (true, true) => right..whole,
        }
    }

    /// The indices of the first tile of a row of tiles and of the one over the right edge.
    fn places(self, positions: usize, position: usize, row: usize) -> [usize; 2] {
        let kinds = self.kinds();
        let tiles = |kind: usize| kinds[kind][0] * kinds[kind][1];
        let begin = |kind: usize| positions * (0..kind).map(tiles).sum::<usize>();
        let place = |kind: usize, row: usize| begin(kind) + position * tiles(kind) + row * kinds[kind][1];
        match row.checked_sub(self.whole()[0]) {
            None => [place(1, row), place(0, row)],
            Some(row) => [place(2, row), place(3, row)],
        }
    }

    /// Squares of a padded row.
    fn pitch(self) -> usize {
        2 * self.tile_columns() + 2
    }

    /// Squares of a padded board.
    pub(super) fn padded(self) -> usize {
        (2 * self.tile_rows() + 2) * self.pitch()
    }

    /// The index on the padded board of a square of the board.
    #[inline(always)]
    pub(super) fn padded_square(self, row: usize, column: usize) -> usize {
        (row + 1) * self.pitch() + column + 1
    }
}

/// A packed 3x3 convolution.
pub(super) struct Conv3 {
    matrix: Matrix,
    /// Floats per padded square of the input.
    stride: usize,
    winograd: bool,
}

/// What Winograd keeps between its three stages for a group of positions.
pub(super) struct Transformed {
    /// `[frequency, tile, word]`
    input: Aligned,
    /// `[frequency, tile, output]`
    output: Aligned,
}

impl Conv3 {
    /// Packs `conv` with the packing `winograd` if that form has fewer products, otherwise with `direct`.
    pub(super) fn new(
        conv: &Conv,
        numbers: &Numbers,
        board: Board,
        [direct, winograd]: [Packing; 2],
    ) -> Conv3 {
        let (&Conv { inputs, kernel, .. }, Numbers { weight, bias }) = (conv, numbers);
        assert_eq!((kernel, weight.len()), (3, conv.outputs * inputs * 9), "weights of a convolution");
        let better = board.tiles() * (FREQUENCIES + TRANSFORM) < board.height * board.width * 9;
        let filter = |input: usize, output: usize| &weight[(output * inputs + input) * 9..][..9];
        let matrix = match better {
            true => Matrix::new(winograd, [FREQUENCIES, 1, inputs], bias, |[f, _, input, output]| {
                kernel_transform(filter(input, output), f)
            }),
            false => Matrix::new(direct, [1, 9, inputs], bias, |[_, tap, input, output]| {
                filter(input, output)[tap]
            }),
        };
        Conv3 { matrix, stride: inputs.next_multiple_of(BLOCK), winograd: better }
    }

    /// Floats per square of the input.
    pub(super) fn input_stride(&self) -> usize {
        self.stride
    }

    /// Floats per square of the output.
    pub(super) fn stride(&self) -> usize {
        self.matrix.stride()
    }

    /// A buffer for `positions` of the widest of `convs`.
    pub(super) fn transformed<'a>(
        convs: impl Iterator<Item = &'a Conv3> + Clone,
        board: Board,
        positions: usize,
    ) -> Transformed {
        let most = |floats: fn(&Conv3) -> usize| {
            let widest = convs.clone().map(floats).max().unwrap_or(0);
            Aligned::new(FREQUENCIES * (board.tiles() * positions * widest + BLOCK))
        };
        Transformed { input: most(|conv| conv.stride), output: most(|conv| conv.matrix.stride()) }
    }

    /// Bytes of [`Transformed`] per position.
    pub(super) fn transformed_bytes(&self, board: Board) -> usize {
        FREQUENCIES * board.tiles() * (self.stride + self.matrix.stride()) * size_of::<f32>()
    }
}

/// One of the 16 numbers of a transformed kernel: `G g G^T`, in f64.
fn kernel_transform(filter: &[f32], frequency: usize) -> f32 {
    let g: [[f64; 3]; 4] = [[1.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0.0, 0.0, 1.0]];
    let (row, column) = (g[frequency / 4], g[frequency % 4]);
    (0..9).map(|tap| row[tap / 3] * column[tap % 3] * f64::from(filter[tap])).sum::<f64>() as f32
}

impl Conv3 {
    /// Applies the convolution to `positions` padded boards.
    pub(super) fn apply(
        &self,
        board: Board,
        positions: usize,
        from: &Aligned,
        to: &mut Aligned,
        between: &mut Transformed,
        finish: Finish,
    ) {
        let (from, to) = (from.as_ref(), to.as_mut());
        let squares = positions * board.padded();
        assert!(
            from.len() >= squares * self.stride && to.len() >= squares * self.stride(),
            "buffers must hold whole boards"
        );
        if !self.winograd {
            return self.direct(board, positions, from, to, finish);
        }
        let (conv, packing) = (self, self.matrix.packing);
        // SAFETY: the matrix is packed this way; the lengths of the boards were asserted above.
        unsafe {
            packing.run(InputTransform { conv, board, positions, from, between });
            self.products(board, positions, between);
            packing.run(OutputTransform { conv, board, positions, between, to, finish });
        }
    }

    fn direct(&self, board: Board, positions: usize, from: &[f32], to: &mut [f32], finish: Finish) {
        let (pitch, stride) = (board.pitch(), self.stride());
        let taps: [usize; 9] = std::array::from_fn(|tap| (tap / 3 * pitch + tap % 3) * self.stride);
        for (position, row) in
            (0..positions).flat_map(|position| (0..board.height).map(move |row| (position, row)))
        {
            let corner = position * board.padded() + row * pitch;
            let rows = Rows {
                count: board.width,
                from: from[corner * self.stride..].as_ptr().cast(),
                from_stride: self.stride,
                taps: &taps,
                to: to[(corner + pitch + 1) * stride..].as_mut_ptr(),
                to_stride: stride,
            };
            // SAFETY: the row and its neighbors are on a padded board.
            unsafe { self.matrix.multiply(0, rows, finish) };
        }
    }

    /// The 16 matrix products.
    fn products(&self, board: Board, positions: usize, between: &mut Transformed) {
        let (pack, tiles) = (self.matrix.packing.pack, positions * board.tiles());
        let (input, output) = (input_plane(self, tiles), output_plane(self, tiles));
        assert!(between.output.as_ref().len() >= FREQUENCIES * output, "a scratch of another network");
        assert!(between.input.as_ref().len() >= FREQUENCIES * input, "a scratch of another network");
        for frequency in 0..FREQUENCIES {
            let needed = board.needed(positions, frequency);
            let (from_stride, to_stride) = (self.stride / pack, self.stride());
            let from = frequency * input + needed.start * from_stride;
            let to = frequency * output + needed.start * to_stride;
            let rows = Rows {
                count: needed.len(),
                from: between.input.as_ref()[from..].as_ptr().cast(),
                from_stride,
                taps: &[0],
                to: between.output.as_mut()[to..].as_mut_ptr(),
                to_stride,
            };
            // SAFETY: both buffers hold this many planes, as asserted above.
            unsafe { self.matrix.multiply(frequency, rows, Finish::Sum) };
        }
    }
}

/// Words between the frequencies of the transformed input: never a power of two, to avoid cache conflicts.
#[inline(always)]
fn input_plane(conv: &Conv3, tiles: usize) -> usize {
    tiles * conv.stride / conv.matrix.packing.pack + BLOCK
}

#[inline(always)]
fn output_plane(conv: &Conv3, tiles: usize) -> usize {
    tiles * conv.matrix.stride() + BLOCK
}

/// `B^T d B` of every tile. Two of a tile's four columns are shared with its neighbor.
struct InputTransform<'a> {
    conv: &'a Conv3,
    board: Board,
    positions: usize,
    from: &'a [f32],
    between: &'a mut Transformed,
}

impl Work for InputTransform<'_> {
    #[inline(always)]
    unsafe fn run<T: Products>(self) {
        let InputTransform { conv, board, positions, from, between } = self;
        let plane = input_plane(conv, positions * board.tiles());
        assert!(between.input.as_ref().len() >= FREQUENCIES * plane, "a scratch of another network");
        let pitch = board.pitch() * conv.stride;
        let (rows, [_, whole]) = (board.tile_rows(), board.whole());
        let to = between.input.as_mut().as_mut_ptr().cast::<u32>();
        for (position, row) in (0..positions).flat_map(|position| (0..rows).map(move |row| (position, row))) {
            let [first, beyond] = board.places(positions, position, row);
            let square = position * board.padded() + 2 * row * board.pitch();
            let row = from[square * conv.stride..].as_ptr();
            for channel in (0..conv.stride).step_by(T::Register::LANES) {
                // SAFETY: the patches are on padded boards, whose size the caller checked; the planes were checked
                // above.
                unsafe {
                    let at = row.add(channel);
                    let (mut a, mut b) = (
                        times_bt::<T::Register>(at, pitch),
                        times_bt::<T::Register>(at.add(conv.stride), pitch),
                    );
                    for tile in 0..board.tile_columns() {
                        let at = at.add((2 * tile + 2) * conv.stride);
                        let (c, d) = (
                            times_bt::<T::Register>(at, pitch),
                            times_bt::<T::Register>(at.add(conv.stride), pitch),
                        );
                        let place = if tile < whole { first + tile } else { beyond };
                        let to = to.add((place * conv.stride + channel) / T::PACK);
                        for row in 0..4 {
                            let to = to.add(4 * row * plane);
                            T::store_operands(a[row].sub(c[row]), to);
                            T::store_operands(b[row].add(c[row]), to.add(plane));
                            T::store_operands(c[row].sub(b[row]), to.add(2 * plane));
                            T::store_operands(b[row].sub(d[row]), to.add(3 * plane));
                        }
                        (a, b) = (c, d);
                    }
                }
            }
        }
    }
}

/// `B^T` times a column of four squares that are `pitch` floats apart.
///
/// # Safety
/// They must be readable.
#[inline(always)]
unsafe fn times_bt<W: Vector>(at: *const f32, pitch: usize) -> [W; 4] {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let (a, b) = (at.cast::<W>().read(), at.add(pitch).cast::<W>().read());
        let (c, d) = (at.add(2 * pitch).cast::<W>().read(), at.add(3 * pitch).cast::<W>().read());
        [a.sub(c), b.add(c), c.sub(b), b.sub(d)]
    }
}

/// `A^T m A` of every tile, then bias, skip connection and ReLU; squares over the edge are not stored.
struct OutputTransform<'a> {
    conv: &'a Conv3,
    board: Board,
    positions: usize,
    between: &'a Transformed,
    to: &'a mut [f32],
    finish: Finish,
}

impl Work for OutputTransform<'_> {
    #[inline(always)]
    unsafe fn run<T: Products>(self) {
        let OutputTransform { conv, board, positions, between, to, finish } = self;
        let (plane, stride) = (output_plane(conv, positions * board.tiles()), conv.matrix.stride());
        let (rows, biases) = (board.tile_rows(), conv.matrix.bias().as_ptr());
        let (from, to) = (between.output.as_ref().as_ptr(), to.as_mut_ptr());
        for (position, row) in (0..positions).flat_map(|position| (0..rows).map(move |row| (position, row))) {
            let [first, beyond] = board.places(positions, position, row);
            let square = position * board.padded() + board.padded_square(2 * row, 0);
            for column in 0..board.tile_columns() {
                let (whole, square) = (column < board.whole()[1], square + 2 * column);
                let place = if whole { first + column } else { beyond };
                // SAFETY: the tile is on a padded board, whose size the caller checked, as it did those of the
                // planes.
                unsafe {
                    let (from, to) = (from.add(place * stride), to.add(square * stride));
                    for channel in (0..conv.matrix.outputs).step_by(T::Register::LANES) {
                        let bias = biases.add(channel).cast::<T::Register>().read();
                        let [upper, lower] = output_rows::<T::Register>(from.add(channel), plane);
                        let to = to.add(channel);
                        store(upper, bias, to, stride, whole, finish);
                        if row < board.whole()[0] {
                            store(lower, bias, to.add(board.pitch() * stride), stride, whole, finish);
                        }
                    }
                }
            }
        }
    }
}

/// `A^T m`: two rows of four sums, from 16 that are `plane` floats apart.
///
/// # Safety
/// They must be readable.
#[inline(always)]
unsafe fn output_rows<W: Vector>(from: *const f32, plane: usize) -> [[W; 4]; 2] {
    let [mut upper, mut lower] = [[W::splat(0.0); 4]; 2];
    for column in 0..4 {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let from = from.add(column * plane);
            let (a, b) = (from.cast::<W>().read(), from.add(4 * plane).cast::<W>().read());
            let (c, d) = (from.add(8 * plane).cast::<W>().read(), from.add(12 * plane).cast::<W>().read());
            upper[column] = a.add(b).add(c);
            lower[column] = b.sub(c).sub(d);
        }
    }
    [upper, lower]
}

/// `m A` of one row of four sums, as one or two squares of output starting at `to`.
///
/// # Safety
/// They must be writable.
#[inline(always)]
unsafe fn store<W: Vector>(m: [W; 4], bias: W, to: *mut f32, stride: usize, two: bool, finish: Finish) {
    let [a, b, c, d] = m;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let slot = to.cast::<W>();
        slot.write(finished(a.add(b).add(c).add(bias), slot, finish));
        if two {
            let slot = to.add(stride).cast::<W>();
            slot.write(finished(b.sub(c).sub(d).add(bias), slot, finish));
        }
    }
}
