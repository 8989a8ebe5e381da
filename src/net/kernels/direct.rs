//! Convolutions as products of tiles, without a transform.
//!
//! The activations of a group of positions are [`Interleaved`]: `[padded row, padded column, position, channel]` in
//! bf16. The operands of one tap of the kernel are then a tile of equally spaced rows: some adjacent squares of all
//! positions. In a group of 16 positions, each square is one tile. The rows of a line of the board are cut into tiles
//! of one height; if that height does not divide the number of rows, the last tile repeats some rows of the tile before
//! it. Taps above and below the board are left out. Taps to the left and right of the board read the zeros of the
//! border, which change no sum.

use super::{
    CHANNELS, Configured, Factors, LINE, OUTPUTS, ROWS, Sums, TILE_WORDS, TileProducts, TileWork, Tiles, bf16,
};
use crate::net::infer::matrix::Finish;
use crate::net::infer::tiling::PaddedBoard;
use crate::net::kernels::vector::{Aligned, Vector, padded};

/// The size of the L1 cache of the CPUs that have AMX, in bytes.
const L1_BYTES: usize = 48 << 10;

/// The layout in memory of the activations of `positions` positions.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::net) struct Interleaved {
    pub(in crate::net) board: PaddedBoard,
    pub(in crate::net) positions: usize,
}

impl Interleaved {
    /// Returns the number of rows in the padded boards of all positions.
    pub(in crate::net) fn rows(self) -> usize {
        self.board.padded() * self.positions
    }

    /// Returns the index of the row that holds this square of the first position.
    pub(in crate::net) fn row(self, row: usize, column: usize) -> usize {
        self.board.padded_square(row, column) * self.positions
    }

    /// Returns the number of rows in a line of the board.
    fn line(self) -> usize {
        self.board.width * self.positions
    }

    /// Prepares this thread's tile registers for this layout.
    pub(in crate::net) fn configure(self, tiles: Tiles) -> Configured {
        tiles.configure(self.height())
    }

    /// Returns the number of rows in each tile.
    fn height(self) -> usize {
        self.line().div_ceil(self.line().div_ceil(ROWS))
    }

    /// Sets the border of boards with `words` words per row to zero.
    pub(in crate::net) fn clear_border(self, words: usize, boards: &mut [f32]) {
        let (PaddedBoard { height, .. }, pitch) = (self.board, self.board.pitch());
        let mut clear = |squares: [usize; 2]| {
            let [first, end] = squares.map(|square| square * self.positions * words);
            boards[first..end].fill(0.0);
        };
        clear([0, pitch]);
        // the end of one line and the beginning of the next
        (0..=height).for_each(|row| clear([(row + 1) * pitch - 1, (row + 1) * pitch + 1]));
        clear([(height + 1) * pitch, (height + 2) * pitch]);
    }
}

/// Returns the number of words, of two bf16 each, in a row of this many channels, padded to whole rows of tiles.
pub(in crate::net) fn words(channels: usize) -> usize {
    channels.next_multiple_of(CHANNELS) / 2
}

/// The outputs of a convolution.
#[derive(Clone, Copy)]
pub(in crate::net) enum ConvOutputs {
    /// Interleaved boards.
    Boards,
    /// `[position, square, output]` in f32, with outputs in whole blocks.
    Rows,
}

/// A tap of the kernel and some of its channels.
#[derive(Clone, Copy)]
struct KernelStep {
    /// The distance from the first tap to this tap, in squares.
    squares: usize,
    /// The offset of the channels within a row of operands, in bytes.
    bytes: usize,
    /// The number of the tap.
    tap: usize,
}

/// A packed 3x3 or 1x1 convolution.
pub(in crate::net) struct Direct {
    tiles: Tiles,
    /// `[pair of tiles of outputs, step, tile of the pair, pair of channels, output, channel of the pair]`.
    weights: Aligned,
    /// `[output]`, padded to pairs of tiles.
    bias: Aligned,
    /// From row to row, and within a row from left to right, the taps of the kernel with all their channels.
    steps: Vec<KernelStep>,
    kernel: usize,
    /// Words per row of operands.
    words: usize,
    outputs: usize,
}

impl Direct {
    /// Packs a convolution of these sizes, with the weights `[output, input, row, column]` and the bias `[output]`.
    pub(in crate::net) fn new(
        [inputs, outputs, kernel]: [usize; 3],
        (weight, bias): (&[f32], &[f32]),
        board: PaddedBoard,
        tiles: Tiles,
    ) -> Direct {
        assert!([1, 3].contains(&kernel), "unsupported kernel size {kernel}");
        let (taps, words) = (kernel * kernel, words(inputs));
        assert_eq!(weight.len(), outputs * inputs * taps, "weights of a convolution");
        let chunks = words / ROWS;
        let step = |(tap, chunk): (usize, usize)| KernelStep {
            squares: tap / kernel * board.pitch() + tap % kernel,
            bytes: chunk * LINE,
            tap,
        };
        let steps = (0..taps).flat_map(|tap| (0..chunks).map(move |chunk| (tap, chunk)));
        let columns = outputs.div_ceil(OUTPUTS);
        let number = |tap: usize, input: usize, output: usize| {
            if input < inputs && output < outputs {
                u32::from(bf16(weight[(output * inputs + input) * taps + tap]))
            } else {
                0
            }
        };
        let mut packed = Aligned::new(columns * taps * words * OUTPUTS);
        let mut slots = packed.as_mut().iter_mut();
        for first in (0..columns).step_by(2) {
            for (tap, chunk) in steps.clone() {
                for (column, row) in
                    (first..columns.min(first + 2)).flat_map(|column| (0..ROWS).map(move |row| (column, row)))
                {
                    let input = (chunk * ROWS + row) * 2;
                    for (output, slot) in (column * OUTPUTS..).zip(slots.by_ref().take(OUTPUTS)) {
                        let [low, high] = [input, input + 1].map(|input| number(tap, input, output));
                        *slot = f32::from_bits(high << 16 | low);
                    }
                }
            }
        }
        let mut filled = Aligned::new(outputs.next_multiple_of(2 * OUTPUTS));
        filled.as_mut()[..outputs].copy_from_slice(bias);
        let steps = steps.map(step).collect();
        Direct { tiles, weights: packed, bias: filled, steps, kernel, words, outputs }
    }

    /// Returns the number of output channels.
    pub(in crate::net) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Returns the number of words per row of the input, and of the output.
    pub(in crate::net) fn words(&self) -> [usize; 2] {
        [self.words, words(self.outputs)]
    }

    /// Applies the convolution, with registers that are [`configured`](Interleaved::configure) for the layout.
    /// `finish` always adds the bias, and adds a skip connection only on boards.
    pub(in crate::net) fn apply(
        &self,
        layout: Interleaved,
        configured: &Configured,
        from: &[f32],
        to: &mut [f32],
        written: ConvOutputs,
        finish: Finish,
    ) {
        assert_eq!(configured.height, layout.height(), "the registers are configured for another layout");
        let read = layout.rows() * self.words;
        let floats = match written {
            ConvOutputs::Boards => layout.rows() * words(self.outputs),
            ConvOutputs::Rows => {
                assert!(matches!(finish, Finish::Plain | Finish::Relu), "rows have nothing to skip");
                layout.positions * layout.board.height * layout.board.width * padded(self.outputs)
            }
        };
        assert!(from.len() >= read && to.len() >= floats, "the scratch belongs to another network");
        let (from, to) = (from.as_ptr(), to.as_mut_ptr());
        // SAFETY: the registers are configured, the buffers hold as many rows as the layout has, and the weights are
        // packed this way.
        unsafe { self.tiles.run(Apply { conv: self, layout, from, to, written, finish }) };
    }

    /// Returns whether the weights would drive the operands out of the L1 cache; the weights may take up half of it.
    fn streams(&self) -> bool {
        size_of_val(self.weights.as_ref()) > L1_BYTES / 2
    }

    /// Returns, as bits, the taps that are on the board for at least one row of a tile.
    #[inline(always)]
    fn taps(&self, layout: Interleaved, Tile { row, begin }: Tile) -> u32 {
        if self.kernel == 1 {
            return 1;
        }
        let Interleaved { board: PaddedBoard { height, width }, positions } = layout;
        let (above, below) = (row > 0, row + 1 < height);
        let (left, right) = (begin + layout.height() > positions, begin < (width - 1) * positions);
        let line = 0b010 | u32::from(left) | u32::from(right) << 2;
        (line * u32::from(above)) | (line << 3) | ((line * u32::from(below)) << 6)
    }
}

/// A tile of the output: some rows of a line of the board, starting at `begin`.
#[derive(Clone, Copy)]
struct Tile {
    row: usize,
    begin: usize,
}

struct Apply<'a> {
    conv: &'a Direct,
    layout: Interleaved,
    from: *const f32,
    to: *mut f32,
    written: ConvOutputs,
    finish: Finish,
}

impl TileWork for Apply<'_> {
    #[inline(always)]
    unsafe fn run<T: TileProducts>(self) {
        let Apply { conv, layout, .. } = self;
        let (height, line) = (layout.height(), layout.line());
        let (per_line, columns) = (line.div_ceil(height), conv.outputs.div_ceil(OUTPUTS));
        let tiles = layout.board.height * per_line;
        let tile = |i: usize| Tile { row: i / per_line, begin: (i % per_line * height).min(line - height) };
        let (mut sums, mut turn) = ([Sums::ZERO; 2], 0);
        // SAFETY: guaranteed by the caller; all tiles end within their line, taps outside the padded board are not
        // wanted, and the memory read and the memory written do not overlap.
        unsafe {
            let mut products = T::new(height, conv.streams());
            let mut unfinished = Unfinished::NOTHING;
            for first in (0..tiles).step_by(2) {
                let count = (tiles - first).min(2);
                let pair = [tile(first), tile(first + count - 1)];
                for column in (0..columns).step_by(2) {
                    let sums = &mut sums[turn];
                    if column + 1 < columns {
                        self.block::<T, 2>(&mut products, &pair[..count], column, &mut unfinished);
                        products.write::<2>(sums);
                    } else {
                        self.block::<T, 1>(&mut products, &pair[..count], column, &mut unfinished);
                        products.write::<1>(sums);
                    }
                    unfinished = Unfinished { column, parts: [PartialSums::NOTHING; 2] };
                    for (i, &tile) in pair[..count].iter().enumerate() {
                        // rows that the previous tile in the line also has
                        let repeated = ((first + i) % per_line * height) - tile.begin;
                        let tile = Tile { begin: tile.begin + repeated, ..tile };
                        let sums = &sums.0[i][repeated..height];
                        let (to, position) = self.place(tile, column);
                        unfinished.parts[i] =
                            PartialSums { sums: sums.as_ptr(), rows: sums.len(), to, position };
                    }
                    turn = 1 - turn;
                }
            }
            self.finish::<T>(&mut unfinished, usize::MAX);
        }
    }
}

/// Rows of sums that are not yet finished.
#[derive(Clone, Copy)]
struct PartialSums {
    sums: *const [f32; 2 * OUTPUTS],
    rows: usize,
    /// Where the first row is written.
    to: *mut f32,
    /// The position of the first row.
    position: usize,
}

/// A block whose sums are ready. They are finished a few rows at a time, while the tiles of the next block are
/// multiplied.
struct Unfinished {
    /// The block's first tile of outputs.
    column: usize,
    parts: [PartialSums; 2],
}

impl PartialSums {
    const NOTHING: PartialSums =
        PartialSums { sums: std::ptr::null(), rows: 0, to: std::ptr::null_mut(), position: 0 };
}

impl Unfinished {
    const NOTHING: Unfinished = Unfinished { column: 0, parts: [PartialSums::NOTHING; 2] };
}

impl Apply<'_> {
    /// Computes the sums of a block of one or two tiles and `C` tiles of outputs, and finishes the block before it.
    ///
    /// # Safety
    /// The factors must be readable, and the unfinished outputs writable.
    #[inline(always)]
    unsafe fn block<T: TileProducts, const C: usize>(
        &self,
        products: &mut T,
        pair: &[Tile],
        column: usize,
        unfinished: &mut Unfinished,
    ) {
        let Apply { conv, layout, .. } = *self;
        let row_bytes = conv.words * size_of::<f32>();
        let square_bytes = layout.positions * row_bytes;
        let (mut taps, mut operands) = ([0; 2], [self.from.cast::<u8>(); 2]);
        for (i, &tile) in pair.iter().enumerate() {
            taps[i] = conv.taps(layout, tile);
            operands[i] = self.operands(tile);
        }
        let any = taps[0] | taps[1];
        let steps = any.count_ones() as usize * conv.steps.len() / (conv.kernel * conv.kernel);
        let rest = unfinished.parts[0].rows + unfinished.parts[1].rows;
        let share = rest.div_ceil(steps);
        products.clear();
        let weights = conv.weights.as_ref()[column * conv.steps.len() * TILE_WORDS..].as_ptr();
        for (i, step) in conv.steps.iter().enumerate() {
            if any >> step.tap & 1 == 0 {
                continue;
            }
            let offset = step.squares * square_bytes + step.bytes;
            // SAFETY: guaranteed by the caller.
            unsafe {
                products.step::<C>(Factors {
                    operands: operands.map(|operands| operands.wrapping_add(offset)),
                    wanted: taps.map(|taps| taps >> step.tap & 1 == 1),
                    row: row_bytes,
                    weights: weights.add(i * C * TILE_WORDS).cast(),
                });
                self.finish::<T>(unfinished, share);
            }
        }
    }

    /// Returns where the operands of a tile's first tap begin; a 3x3 kernel starts at the square above and to the
    /// left.
    #[inline(always)]
    fn operands(&self, Tile { row, begin }: Tile) -> *const u8 {
        let Apply { conv, layout, .. } = *self;
        let first = match conv.kernel {
            1 => layout.row(row, 0),
            _ => row * layout.board.pitch() * layout.positions,
        };
        self.from.cast::<u8>().wrapping_add((first + begin) * conv.words * size_of::<f32>())
    }

    /// Returns where the outputs of a tile's first row are written, and the position of that row.
    #[inline(always)]
    fn place(&self, Tile { row, begin }: Tile, column: usize) -> (*mut f32, usize) {
        let Interleaved { board, positions } = self.layout;
        let (square, position) = (begin / positions, begin % positions);
        let floats = match self.written {
            ConvOutputs::Boards => {
                (self.layout.row(row, 0) + begin) * words(self.conv.outputs) + column * OUTPUTS / 2
            }
            ConvOutputs::Rows => {
                let squares = position * board.height * board.width + row * board.width + square;
                squares * padded(self.conv.outputs) + column * OUTPUTS
            }
        };
        (self.to.wrapping_add(floats), position)
    }

    /// Returns where the outputs of the next row are written, and the position of that row.
    #[inline(always)]
    fn next(&self, (to, position): (*mut f32, usize)) -> (*mut f32, usize) {
        let Interleaved { board, positions } = self.layout;
        let (squares, stride) = (board.height * board.width, padded(self.conv.outputs));
        match self.written {
            ConvOutputs::Boards => (to.wrapping_add(words(self.conv.outputs)), position),
            ConvOutputs::Rows if position + 1 == positions => {
                (to.wrapping_add(squares * stride).wrapping_sub(positions * squares * stride - stride), 0)
            }
            ConvOutputs::Rows => (to.wrapping_add(squares * stride), position + 1),
        }
    }

    /// Finishes up to `rows` rows.
    ///
    /// # Safety
    /// The sums must be readable and their destination writable.
    #[inline(always)]
    unsafe fn finish<T: TileProducts>(&self, unfinished: &mut Unfinished, mut rows: usize) {
        let first = unfinished.column * OUTPUTS;
        let bias = &self.conv.bias.as_ref()[first..][..2 * OUTPUTS];
        for part in &mut unfinished.parts {
            while rows > 0 && part.rows > 0 {
                // SAFETY: guaranteed by the caller.
                unsafe {
                    let sums = part.sums.cast::<f32>();
                    match self.written {
                        ConvOutputs::Boards => {
                            let lanes = T::Register::LANES;
                            for channel in (0..2 * OUTPUTS).step_by(2 * lanes) {
                                let slot = part.to.cast::<u16>().add(channel);
                                let first = finished::<T>(sums, bias, channel, slot, self.finish);
                                let second =
                                    finished::<T>(sums, bias, channel + lanes, slot.add(lanes), self.finish);
                                T::store([first, second], slot);
                            }
                        }
                        ConvOutputs::Rows => {
                            for channel in (0..self.width(first)).step_by(T::Register::LANES) {
                                let sum = biased::<T::Register>(sums, bias, channel);
                                let sum = if self.finish == Finish::Relu { sum.relu() } else { sum };
                                part.to.add(channel).cast::<T::Register>().write_unaligned(sum);
                            }
                        }
                    }
                    part.sums = part.sums.add(1);
                    (part.to, part.position) = self.next((part.to, part.position));
                }
                (rows, part.rows) = (rows - 1, part.rows - 1);
            }
        }
    }

    /// Returns the outputs of a block that belong to a row of floats.
    #[inline(always)]
    fn width(&self, first: usize) -> usize {
        (padded(self.conv.outputs) - first).min(2 * OUTPUTS)
    }
}

/// # Safety
/// The sums must be readable, and so must `slot`.
#[inline(always)]
unsafe fn finished<T: TileProducts>(
    sums: *const f32,
    bias: &[f32],
    channel: usize,
    slot: *const u16,
    finish: Finish,
) -> T::Register {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let sum = biased::<T::Register>(sums, bias, channel);
        match finish {
            Finish::Sum | Finish::Plain => sum,
            Finish::Relu => sum.relu(),
            Finish::SkipRelu => sum.add(T::load(slot)).relu(),
        }
    }
}

/// # Safety
/// The sums must be readable.
#[inline(always)]
unsafe fn biased<S: Vector>(sums: *const f32, bias: &[f32], channel: usize) -> S {
    // SAFETY: guaranteed by the caller.
    let sum = unsafe { sums.add(channel).cast::<S>().read() };
    sum.add(S::load(&bias[channel..]))
}
