//! 3x3 convolutions on padded boards by Winograd's algorithm (Lavin and Gray 2016, arXiv:1509.09308).
//!
//! Activations are `[position, padded row, padded column, channel]` (channels last, padded to whole cache lines). The
//! border is zero and never written, so no code has to check for neighbors. The board is cut into tiles of at most
//! 4x4 squares of output ([`tiling`](super::tiling)). A convolution has three stages: the squares of each tile and
//! those around it become frequencies ([`winograd`](super::winograd)); for each frequency, the numbers of all tiles
//! of all positions are multiplied by a matrix; and the sums become squares. A 4x4 tile takes 36 products instead of
//! 144.

use std::ops::Range;

use super::matrix::{Finish, Matrix, MatrixRows};
use super::products::Packing;
use super::tiling::{BoardTiling, PaddedBoard, TileRun};
use super::winograd::{InputTransform, OutputTransform, TileLayout, kernel_transforms};
use crate::net::kernels::vector::{Aligned, BLOCK};
use crate::net::layers::Conv;
use crate::net::weights::Numbers;

/// A packed 3x3 convolution.
pub(super) struct Conv3 {
    matrix: Matrix,
    board: PaddedBoard,
    tiling: BoardTiling,
    /// The tiles of a position.
    runs: Vec<TileRun>,
    /// For each frequency, the tiles of a position that have this frequency.
    having: Vec<Range<usize>>,
    /// Floats per padded square of the input.
    stride: usize,
}

/// Buffers between the three stages, for a group of positions.
pub(super) struct Transformed {
    /// `[frequency, tile, word]`
    input: Aligned,
    /// `[frequency, tile, output]`
    output: Aligned,
}

impl Conv3 {
    /// Packs `conv`.
    pub(super) fn new(conv: &Conv, numbers: &Numbers, board: PaddedBoard, packing: Packing) -> Conv3 {
        let (&Conv { inputs, kernel, .. }, Numbers { weight, bias }) = (conv, numbers);
        assert_eq!((kernel, weight.len()), (3, conv.outputs * inputs * 9), "weights of a convolution");
        let tiling = BoardTiling::new(board, packing.largest_tile);
        let transforms = kernel_transforms(tiling.frequencies());
        let weight = |[frequency, _, input, output]: [usize; 4]| {
            let taps = weight[(output * inputs + input) * 9..].iter();
            let products = taps.zip(&transforms[frequency]).map(|(&tap, factor)| f64::from(tap) * factor);
            products.sum::<f64>() as f32
        };
        let matrix = Matrix::new(packing, [transforms.len(), 1, inputs], bias, weight);
        let (runs, having) = (tiling.runs(), tiling.having());
        Conv3 { matrix, board, tiling, runs, having, stride: inputs.next_multiple_of(BLOCK) }
    }

    /// Returns the floats per square of the input.
    pub(super) fn input_stride(&self) -> usize {
        self.stride
    }

    /// Returns the floats per square of the output.
    pub(super) fn stride(&self) -> usize {
        self.matrix.stride()
    }

    /// Returns a buffer for `positions` positions that suits each of `convs`.
    pub(super) fn transformed<'a>(
        convs: impl Iterator<Item = &'a Conv3> + Clone,
        positions: usize,
    ) -> Transformed {
        let buffer = |floats: fn(&Conv3, usize) -> usize| {
            Aligned::new(convs.clone().map(|conv| floats(conv, positions)).max().unwrap_or(0))
        };
        Transformed {
            input: buffer(|conv, positions| conv.tiling.matrices() * conv.input_layout(positions).plane),
            output: buffer(|conv, positions| conv.tiling.matrices() * conv.output_layout(positions).plane),
        }
    }

    /// Returns how many bytes of [`Transformed`] each position uses.
    pub(super) fn transformed_bytes(&self) -> usize {
        self.tiling.numbers() * (self.stride + self.stride()) * size_of::<f32>()
    }

    /// Returns the bytes of all matrices of the convolution.
    pub(super) fn matrix_bytes(&self) -> usize {
        self.matrix.bytes()
    }

    fn input_layout(&self, positions: usize) -> TileLayout<'_> {
        self.layout(positions, self.stride, self.stride / self.matrix.packing.pack)
    }

    fn output_layout(&self, positions: usize) -> TileLayout<'_> {
        self.layout(positions, self.stride(), self.stride())
    }

    /// Describes tiles with `stride` floats per square and `row` words or floats per frequency of a tile. Planes are
    /// never a power of two apart, to avoid cache conflicts.
    fn layout(&self, positions: usize, stride: usize, row: usize) -> TileLayout<'_> {
        let Conv3 { board, tiling, ref runs, .. } = *self;
        let plane = positions * tiling.tiles() * row + BLOCK;
        TileLayout { board, runs, positions, stride, plane }
    }

    /// Applies the convolution to `positions` padded boards.
    pub(super) fn apply(
        &self,
        positions: usize,
        from: &Aligned,
        to: &mut Aligned,
        between: &mut Transformed,
        finish: Finish,
    ) {
        let (from, to, squares) = (from.as_ref(), to.as_mut(), positions * self.board.padded());
        let (read, written) = (self.input_layout(positions), self.output_layout(positions));
        let (packing, matrices) = (self.matrix.packing, self.tiling.matrices());
        let Transformed { input, output } = between;
        let (input, output) = (input.as_mut(), output.as_mut());
        assert!(
            from.len() >= squares * read.stride && to.len() >= squares * written.stride,
            "buffers must hold whole boards"
        );
        assert!(
            input.len() >= matrices * read.plane && output.len() >= matrices * written.plane,
            "the scratch belongs to another network"
        );
        // SAFETY: the matrix is packed this way; boards and planes are as long as asserted above.
        unsafe {
            packing.run(InputTransform { layout: read, from, to: input });
            let from_stride = read.stride / packing.pack;
            for (frequency, tiles) in self.having.iter().enumerate() {
                let (first, count) = (positions * tiles.start, positions * tiles.len());
                let rows = MatrixRows {
                    count,
                    from: input[frequency * read.plane + first * from_stride..].as_ptr().cast(),
                    from_stride,
                    taps: &[0],
                    to: output[frequency * written.plane + first * written.stride..].as_mut_ptr(),
                    to_stride: written.stride,
                };
                self.matrix.multiply(frequency, rows, Finish::Sum);
            }
            let bias = self.matrix.bias();
            packing.run(OutputTransform { layout: written, from: output, to, bias, finish });
        }
    }
}
