//! Rows of channels times a packed matrix: the one inner loop behind all layers.
//!
//! A [`Matrix`] holds weights in the order in which the loop reads them. A row of operands is multiplied tap by tap:
//! the taps of a convolution are neighboring squares, and those of a linear layer are the squares of the board. The
//! sums of a tile (some rows times a few vectors of outputs) stay in registers over all taps and channels. The order of
//! the additions does not depend on the tile, so a result does not depend on the rest of the batch.

use super::products::{Packing, ProductWork, Products};
use crate::net::kernels::bf16;
use crate::net::kernels::frequencies::unroll;
use crate::net::kernels::vector::{Aligned, BLOCK, Vector};

/// Rows of the tallest compiled tile.
const MAX_ROWS: usize = 12;

/// The weights of a layer and its bias.
pub(super) struct Matrix {
    pub(super) packing: Packing,
    /// Words of operands per tap.
    words: usize,
    /// Columns, padded to whole vectors.
    pub(super) outputs: usize,
    /// For each of the matrices of one shape (a convolution has one for each frequency):
    /// `[group of vectors, tap, word, column of the group, channel of the word]`.
    weight: Aligned,
    /// Floats of one matrix.
    len: usize,
    /// `[outputs]`.
    bias: Aligned,
}

/// Returns the number of vectors per group: two make the most of few registers, and four need the fewest reads.
#[inline(always)]
fn group(sums: usize, left: usize) -> usize {
    if left >= 4 && sums >= 24 { 4 } else { left.min(2) }
}

/// Returns the rows of a tile, given how many rows the registers have room for.
const fn most_rows(rows: usize) -> usize {
    if rows < MAX_ROWS { rows } else { MAX_ROWS }
}

impl Matrix {
    /// Packs `count` matrices of `taps * inputs` rows; `weight` takes `[matrix, tap, input, output]`.
    pub(super) fn new(
        packing: Packing,
        [count, taps, inputs]: [usize; 3],
        bias: &[f32],
        weight: impl Fn([usize; 4]) -> f32,
    ) -> Matrix {
        let Packing { lanes, sums, pack, .. } = packing;
        let outputs = bias.len().next_multiple_of(lanes);
        let words = inputs.div_ceil(pack);
        let len = outputs * taps * words;
        let weight_at = |[matrix, tap, input, output]: [usize; 4]| {
            if input < inputs && output < bias.len() { weight([matrix, tap, input, output]) } else { 0.0 }
        };
        let mut packed = Aligned::new(count * len);
        let mut slots = packed.as_mut().iter_mut();
        for matrix in 0..count {
            let mut first = 0;
            while first < outputs {
                let columns = first..first + group(sums, (outputs - first) / lanes) * lanes;
                for (tap, word) in (0..taps).flat_map(|tap| (0..words).map(move |word| (tap, word))) {
                    for (output, slot) in columns.clone().zip(&mut slots) {
                        let half = |i| u32::from(bf16(weight_at([matrix, tap, word * 2 + i, output])));
                        *slot = match pack {
                            1 => weight_at([matrix, tap, word, output]),
                            _ => f32::from_bits(half(1) << 16 | half(0)),
                        };
                    }
                }
                first = columns.end;
            }
        }
        let mut filled = Aligned::new(outputs);
        filled.as_mut()[..bias.len()].copy_from_slice(bias);
        Matrix { packing, words, outputs, weight: packed, len, bias: filled }
    }

    pub(super) fn bias(&self) -> &[f32] {
        self.bias.as_ref()
    }

    /// Returns the bytes of the weights.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.weight.as_ref())
    }

    /// Returns the floats per row of outputs.
    pub(super) fn stride(&self) -> usize {
        self.outputs.next_multiple_of(BLOCK)
    }
}

/// What is applied to the sums before they are stored.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::net) enum Finish {
    /// Nothing; not even the bias is added.
    Sum,
    /// Bias.
    Plain,
    /// Bias and ReLU.
    Relu,
    /// Bias, the previous content of the output, and ReLU.
    SkipRelu,
}

impl Finish {
    /// Returns [`Finish::Relu`] if `relu` is true, otherwise [`Finish::Plain`].
    pub(super) fn of(relu: bool) -> Finish {
        if relu { Finish::Relu } else { Finish::Plain }
    }
}

/// The memory that rows are read from and written to.
#[derive(Clone, Copy)]
pub(super) struct MatrixRows<'a> {
    /// Number of rows.
    pub(super) count: usize,
    /// Operands of the first row.
    pub(super) from: *const u32,
    /// Words from one row to the next.
    pub(super) from_stride: usize,
    /// Words from the start of a row to each tap.
    pub(super) taps: &'a [usize],
    /// Outputs of the first row.
    pub(super) to: *mut f32,
    /// Floats from one row to the next.
    pub(super) to_stride: usize,
}

impl Matrix {
    /// Multiplies `rows` by the matrix `which`.
    ///
    /// # Safety
    /// The rows must be readable and writable as [`MatrixRows`] describes; `to` and its stride must be multiples of a
    /// vector.
    pub(super) unsafe fn multiply(&self, which: usize, rows: MatrixRows, finish: Finish) {
        // SAFETY: the matrix was packed this way; the rest is guaranteed by the caller.
        unsafe { self.packing.run(Multiply { matrix: self, which, rows, finish }) }
    }
}

struct Multiply<'a> {
    matrix: &'a Matrix,
    which: usize,
    rows: MatrixRows<'a>,
    finish: Finish,
}

impl ProductWork for Multiply<'_> {
    #[inline(always)]
    unsafe fn run<P: Products>(self) {
        let Multiply { matrix, which, rows, finish } = self;
        let vectors = matrix.outputs / P::Register::LANES;
        let weights =
            matrix.weight.as_ref()[which * matrix.len..][..matrix.len].as_ptr().cast::<P::Register>();
        let mut vector = 0;
        while vector < vectors {
            let group = group(P::Register::SUMS, vectors - vector);
            // The tiles have nearly the same height, because a short tile would stall on its own sums.
            let tiles = match group {
                4 => rows.count.div_ceil(const { P::Register::SUMS / 4 }),
                2 => rows.count.div_ceil(const { most_rows(P::Register::SUMS / 2) }),
                _ => rows.count.div_ceil(const { most_rows(P::Register::SUMS) }),
            };
            let (height, taller) = (rows.count / tiles, rows.count % tiles);
            let mut first = 0;
            for tile in 0..tiles {
                let height = height + usize::from(tile < taller);
                // Only tiles that fit into the registers are compiled.
                macro_rules! with_constants {
                    ($([$rows:literal $vectors:literal])*) => {
                        match (height, group) {
                            $(($rows, $vectors) if const { $rows * $vectors <= P::Register::SUMS } =>
                                // SAFETY: guaranteed by the caller.
                                unsafe { self::tile::<P, $rows, $vectors>(matrix, weights, rows, first, vector,
                                    finish) },)*
                            size => unreachable!("no tile of {size:?}"),
                        }
                    };
                }
                with_constants! {
                    [1 1] [2 1] [3 1] [4 1] [5 1] [6 1] [7 1] [8 1] [9 1] [10 1] [11 1] [12 1]
                    [1 2] [2 2] [3 2] [4 2] [5 2] [6 2] [7 2] [8 2] [9 2] [10 2] [11 2] [12 2]
                    [1 4] [2 4] [3 4] [4 4] [5 4] [6 4]
                }
                first += height;
            }
            vector += group;
        }
    }
}

/// Multiplies `R` rows, starting at `first`, by `V` vectors of outputs, starting at `vector`.
///
/// # Safety
/// As for [`Matrix::multiply`].
#[inline(always)]
unsafe fn tile<P: Products, const R: usize, const V: usize>(
    matrix: &Matrix,
    weights: *const P::Register,
    rows: MatrixRows,
    first: usize,
    vector: usize,
    finish: Finish,
) {
    // SAFETY: guaranteed by the caller: everything read and written is within the rows and the matrix.
    unsafe {
        let mut weights = weights.add(vector * rows.taps.len() * matrix.words);
        let mut sums = [[P::Register::splat(0.0); V]; R];
        let from = rows.from.add(first * rows.from_stride);
        for &tap in rows.taps {
            let from = from.add(tap);
            for word in 0..matrix.words {
                let weight: [P::Register; V] = weights.cast::<[P::Register; V]>().read();
                weights = weights.add(V);
                unroll!(0 1 2 3 4 5 6 7 8 9 10 11, ROW in R, {
                    let x = from.add(ROW * rows.from_stride + word).read();
                    for v in 0..V {
                        sums[ROW][v] = P::product(sums[ROW][v], x, weight[v]);
                    }
                });
            }
        }
        let bias = matrix.bias.as_ref().as_ptr().cast::<P::Register>().add(vector);
        unroll!(0 1 2 3 4 5 6 7 8 9 10 11, ROW in R, {
            let to = rows.to.add((first + ROW) * rows.to_stride).cast::<P::Register>().add(vector);
            for (v, &sum) in sums[ROW].iter().enumerate() {
                let slot = to.add(v);
                let biased = || sum.add(bias.add(v).read());
                slot.write(if finish == Finish::Sum { sum } else { finished(biased(), slot, finish) });
            }
        });
    }
}

/// Returns a sum with bias, skip connection, and ReLU applied, as it is stored in `slot`.
///
/// # Safety
/// `slot` must be readable.
#[inline(always)]
pub(super) unsafe fn finished<S: Vector>(sum: S, slot: *const S, finish: Finish) -> S {
    match finish {
        Finish::Sum | Finish::Plain => sum,
        Finish::Relu => sum.relu(),
        // SAFETY: guaranteed by the caller.
        Finish::SkipRelu => sum.add(unsafe { slot.read() }).relu(),
    }
}
