//! Convolutions as products of tiles, without a transform.
//!
//! The activations of a group of positions are [`Interleaved`]: `[padded row, padded column, position, channel]` in
//! bf16 or in [bytes](Operands::Bytes). What one tap of the kernel multiplies is then a tile of rows at the same
//! distance from each other: some squares side by side, of all positions; a group of 16 has a tile for each square. The
//! rows of a line of the board are cut into tiles of one height; if that does not divide them, the last one repeats
//! some rows of the one before. Taps above and below the board are left out; those at its sides read the zeros of the
//! border, which changes no sum.

#[cfg(target_arch = "x86_64")]
use super::vnni;
use super::{
    Configured, Factors, LINE, OUTPUTS, ROWS, Sums, TILE_WORDS, TileProducts, TileWork, Tiles, Worth, bf16,
};
use crate::net::infer::matrix::Finish;
use crate::net::infer::tiling::Board;
use crate::net::kernels::vector::{Aligned, Vector, padded};

/// The first-level cache of the CPUs that have the instructions.
const L1_BYTES: usize = 48 << 10;

/// How the activations of so many positions lie in memory.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::net) struct Interleaved {
    pub(in crate::net) board: Board,
    pub(in crate::net) positions: usize,
}

impl Interleaved {
    /// Rows of all positions' padded boards.
    pub(in crate::net) fn rows(self) -> usize {
        self.board.padded() * self.positions
    }

    /// The row of the first position's square.
    pub(in crate::net) fn row(self, row: usize, column: usize) -> usize {
        self.board.padded_square(row, column) * self.positions
    }

    /// Rows of a line of the board.
    pub(super) fn line(self) -> usize {
        self.board.width * self.positions
    }

    /// Prepares this thread's tile registers for this layout.
    pub(in crate::net) fn configure(self, tiles: Tiles) -> Configured {
        tiles.configure(self.height())
    }

    /// Rows of each tile.
    fn height(self) -> usize {
        self.line().div_ceil(self.line().div_ceil(ROWS))
    }

    /// Sets the border of boards with so many words per row to zero.
    pub(in crate::net) fn clear_border(self, words: usize, boards: &mut [f32]) {
        let (Board { height, .. }, pitch) = (self.board, self.board.pitch());
        let mut clear = |squares: [usize; 2]| {
            let [first, end] = squares.map(|square| square * self.positions * words);
            boards[first..end].fill(0.0);
        };
        clear([0, pitch]);
        // the end of a line and the beginning of the next
        (0..=height).for_each(|row| clear([(row + 1) * pitch - 1, (row + 1) * pitch + 1]));
        clear([(height + 1) * pitch, (height + 2) * pitch]);
    }
}

/// The operands of a convolution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::net) enum Operands {
    /// bf16, with sums in f32.
    Bf16,
    /// Activations from 0 to 255 and weights from -127 to 127, with sums in whole numbers.
    Bytes,
}

impl Operands {
    /// Channels of a word.
    pub(in crate::net) const fn per_word(self) -> usize {
        match self {
            Operands::Bf16 => 2,
            Operands::Bytes => 4,
        }
    }

    /// Words per row of so many channels: whole rows of tiles.
    pub(in crate::net) const fn words(self, channels: usize) -> usize {
        let per_tile = LINE / size_of::<u32>() * self.per_word();
        channels.next_multiple_of(per_tile) / self.per_word()
    }
}

/// Words of two bf16 per row of so many channels.
pub(in crate::net) fn words(channels: usize) -> usize {
    Operands::Bf16.words(channels)
}

/// The outputs of a convolution.
#[derive(Clone, Copy)]
pub(in crate::net) enum Written {
    /// Interleaved boards.
    Boards,
    /// `[position, square, output]` in f32, with outputs in whole blocks.
    Rows,
}

/// A tap and some of its channels.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// Squares from the first tap to it.
    pub(super) squares: usize,
    /// Bytes within a row of operands.
    pub(super) bytes: usize,
    /// The number of the tap.
    pub(super) tap: usize,
}

/// A packed 3x3 or 1x1 convolution.
pub(in crate::net) struct Direct {
    pub(super) tiles: Tiles,
    operands: Operands,
    /// `[pair of tiles of outputs, step, tile of the pair, word of channels, output, channel of the word]`.
    pub(super) weights: Aligned,
    /// `[output]`, padded to pairs of tiles; in steps of the output if that is in bytes.
    pub(super) bias: Aligned,
    /// Of bytes: the same for what a sum is worth, and a step of what is skipped.
    pub(super) scale: Aligned,
    pub(super) skipped: Aligned,
    /// From row to row, and within a row from left to right, the taps of the kernel with all their channels.
    pub(super) steps: Vec<Step>,
    pub(super) kernel: usize,
    inputs: usize,
    /// Words per row of operands.
    pub(super) words: usize,
    pub(super) outputs: usize,
}

impl Direct {
    /// Packs a convolution of these sizes in bf16, with a weight `[output, input, row, column]` and a bias `[output]`.
    pub(in crate::net) fn new(
        [inputs, outputs, kernel]: [usize; 3],
        (weight, bias): (&[f32], &[f32]),
        board: Board,
        tiles: Tiles,
    ) -> Direct {
        let taps = kernel * kernel;
        assert_eq!(weight.len(), outputs * inputs * taps, "weights of a convolution");
        let number = |[tap, input, output]: [usize; 3]| {
            u32::from(bf16(weight[(output * inputs + input) * taps + tap]))
        };
        Direct::packed([inputs, outputs, kernel], bias, (board, tiles, Operands::Bf16), number)
    }

    /// Packs the numbers of `[tap, input, output]`, of which each is as many bits as a channel of these operands has.
    pub(super) fn packed(
        [inputs, outputs, kernel]: [usize; 3],
        bias: &[f32],
        (board, tiles, operands): (Board, Tiles, Operands),
        number: impl Fn([usize; 3]) -> u32,
    ) -> Direct {
        assert!([1, 3].contains(&kernel), "a kernel of {kernel}");
        let (taps, words, per_word) = (kernel * kernel, operands.words(inputs), operands.per_word());
        let chunks = words / ROWS;
        let step = |(tap, chunk): (usize, usize)| Step {
            squares: tap / kernel * board.pitch() + tap % kernel,
            bytes: chunk * LINE,
            tap,
        };
        let steps = (0..taps).flat_map(|tap| (0..chunks).map(move |chunk| (tap, chunk)));
        let columns = outputs.div_ceil(OUTPUTS);
        let mut packed = Aligned::new(columns * taps * words * OUTPUTS);
        let mut slots = packed.as_mut().iter_mut();
        for first in (0..columns).step_by(2) {
            for (tap, chunk) in steps.clone() {
                for (column, row) in
                    (first..columns.min(first + 2)).flat_map(|column| (0..ROWS).map(move |row| (column, row)))
                {
                    let input = (chunk * ROWS + row) * per_word;
                    for (output, slot) in (column * OUTPUTS..).zip(slots.by_ref().take(OUTPUTS)) {
                        let numbers = (0..per_word).filter(|i| input + i < inputs && output < outputs);
                        let numbers =
                            numbers.map(|i| number([tap, input + i, output]) << (32 / per_word * i));
                        *slot = f32::from_bits(numbers.fold(0, |word, number| word | number));
                    }
                }
            }
        }
        let mut filled = Aligned::new(outputs.next_multiple_of(2 * OUTPUTS));
        filled.as_mut()[..outputs].copy_from_slice(bias);
        let steps = steps.map(step).collect();
        let (weights, bias, [scale, skipped]) = (packed, filled, [(); 2].map(|()| Aligned::new(0)));
        Direct { tiles, operands, weights, bias, scale, skipped, steps, kernel, inputs, words, outputs }
    }

    /// Output channels.
    pub(in crate::net) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Words per row that it reads, and that it writes.
    pub(in crate::net) fn words(&self) -> [usize; 2] {
        [self.words, self.written_words()]
    }

    pub(super) fn written_words(&self) -> usize {
        self.operands.words(self.outputs)
    }

    /// Words of an operand's row that are not only padding.
    pub(super) fn used_words(&self) -> usize {
        self.inputs.div_ceil(self.operands.per_word())
    }

    /// The scales of sums, from this output on.
    pub(super) fn worth(&self, output: usize) -> Worth {
        let numbers = [&self.scale, &self.bias, &self.skipped];
        let [scale, bias, skipped] = numbers.map(|numbers| numbers.as_ref()[output..].as_ptr());
        Worth { scale, bias, skipped }
    }

    /// Applies the convolution, with registers that are [`configured`](Interleaved::configure) for the layout. `finish`
    /// adds the bias in any case, and a skip connection only on boards.
    pub(in crate::net) fn apply(
        &self,
        layout: Interleaved,
        configured: &Configured,
        from: &[f32],
        to: &mut [f32],
        written: Written,
        finish: Finish,
    ) {
        assert_eq!(configured.height, layout.height(), "the registers are configured for another layout");
        let read = layout.rows() * self.words;
        let floats = match written {
            Written::Boards => {
                let is_relu = matches!(finish, Finish::Relu | Finish::SkipRelu);
                assert!(is_relu || self.operands == Operands::Bf16, "bytes have no sign");
                layout.rows() * self.written_words()
            }
            Written::Rows => {
                assert!(matches!(finish, Finish::Plain | Finish::Relu), "rows have nothing to skip");
                layout.positions * layout.board.height * layout.board.width * padded(self.outputs)
            }
        };
        assert!(from.len() >= read && to.len() >= floats, "a scratch of another network");
        let (from, to) = (from.as_ptr(), to.as_mut_ptr());
        // SAFETY: the registers are configured, the buffers hold as many rows as the layout has, and the weights are
        // packed this way.
        unsafe {
            match (self.tiles, self.operands) {
                #[cfg(target_arch = "x86_64")]
                (Tiles::Vnni, _) => {
                    vnni::run(Apply::<true> { conv: self, layout, from, to, written, finish })
                }
                (tiles, Operands::Bytes) => {
                    tiles.run(Apply::<true> { conv: self, layout, from, to, written, finish });
                }
                (tiles, Operands::Bf16) => {
                    tiles.run(Apply::<false> { conv: self, layout, from, to, written, finish });
                }
            }
        }
    }

    /// Whether the weights would drive the operands out of the L1 cache, of which they may take a half.
    fn streams(&self) -> bool {
        size_of_val(self.weights.as_ref()) > L1_BYTES / 2
    }

    /// The taps that have a square on the board for any row of a tile, as bits.
    #[inline(always)]
    pub(super) fn taps(&self, layout: Interleaved, Tile { row, begin }: Tile) -> u32 {
        if self.kernel == 1 {
            return 1;
        }
        let Interleaved { board: Board { height, width }, positions } = layout;
        let (above, below) = (row > 0, row + 1 < height);
        let (left, right) = (begin + layout.height() > positions, begin < (width - 1) * positions);
        let line = 0b010 | u32::from(left) | u32::from(right) << 2;
        (line * u32::from(above)) | (line << 3) | ((line * u32::from(below)) << 6)
    }
}

/// A tile of the output: some rows of a line of the board, from `begin` on.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    pub(super) row: usize,
    pub(super) begin: usize,
}

pub(super) struct Apply<'a, const BYTES: bool> {
    pub(super) conv: &'a Direct,
    pub(super) layout: Interleaved,
    pub(super) from: *const f32,
    to: *mut f32,
    pub(super) written: Written,
    pub(super) finish: Finish,
}

impl<const BYTES: bool> TileWork for Apply<'_, BYTES> {
    #[inline(always)]
    unsafe fn run<T: TileProducts>(self) {
        let Apply { conv, layout, .. } = self;
        let (height, line) = (layout.height(), layout.line());
        let (per_line, columns) = (line.div_ceil(height), conv.outputs.div_ceil(OUTPUTS));
        let tiles = layout.board.height * per_line;
        let tile = |i: usize| Tile { row: i / per_line, begin: (i % per_line * height).min(line - height) };
        let (mut sums, mut turn) = ([Sums::ZERO; 2], 0);
        // SAFETY: guaranteed by the caller; all tiles end within their line, taps outside the padded board are not
        // wanted, and what is read and what is written do not overlap.
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
                    let worth = if BYTES { conv.worth(column * OUTPUTS) } else { Worth::NOTHING };
                    unfinished = Unfinished { column, worth, parts: [Part::NOTHING; 2] };
                    for (i, &tile) in pair[..count].iter().enumerate() {
                        // what the tile before in the line has too
                        let repeated = ((first + i) % per_line * height) - tile.begin;
                        let tile = Tile { begin: tile.begin + repeated, ..tile };
                        let sums = &sums.0[i][repeated..height];
                        let (to, position) = self.place(tile, column);
                        unfinished.parts[i] = Part { sums: sums.as_ptr(), rows: sums.len(), to, position };
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
struct Part {
    sums: *const [f32; 2 * OUTPUTS],
    rows: usize,
    /// Where the first goes.
    to: *mut f32,
    /// The position of the first.
    position: usize,
}

/// A block whose sums are ready. They are finished a few rows at a time, while the tiles of the next are multiplied.
struct Unfinished {
    /// Its first tile of outputs.
    column: usize,
    /// Of bytes.
    worth: Worth,
    parts: [Part; 2],
}

impl Part {
    const NOTHING: Part = Part { sums: std::ptr::dangling(), rows: 0, to: std::ptr::null_mut(), position: 0 };
}

impl Unfinished {
    const NOTHING: Unfinished = Unfinished { column: 0, worth: Worth::NOTHING, parts: [Part::NOTHING; 2] };
}

impl<const BYTES: bool> Apply<'_, BYTES> {
    /// Sums up a block of one or two tiles and `C` tiles of outputs, and finishes the one before.
    ///
    /// # Safety
    /// The factors must be readable, what is unfinished must be writable.
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
        let left = unfinished.parts[0].rows + unfinished.parts[1].rows;
        let share = left.div_ceil(steps);
        products.clear();
        let weights = conv.weights.as_ref()[column * conv.steps.len() * TILE_WORDS..].as_ptr();
        for (i, step) in conv.steps.iter().enumerate() {
            if any >> step.tap & 1 == 0 {
                continue;
            }
            let offset = step.squares * square_bytes + step.bytes;
            // SAFETY: guaranteed by the caller.
            unsafe {
                products.step::<BYTES, C>(Factors {
                    operands: operands.map(|operands| operands.wrapping_add(offset)),
                    wanted: taps.map(|taps| taps >> step.tap & 1 == 1),
                    row: row_bytes,
                    weights: weights.add(i * C * TILE_WORDS).cast(),
                });
                self.finish::<T>(unfinished, share);
            }
        }
    }

    /// Where the operands of a tile's first tap are; those of a 3x3 kernel count from the square above and to the left.
    #[inline(always)]
    pub(super) fn operands(&self, Tile { row, begin }: Tile) -> *const u8 {
        let Apply { conv, layout, .. } = *self;
        let first = match conv.kernel {
            1 => layout.row(row, 0),
            _ => row * layout.board.pitch() * layout.positions,
        };
        self.from.cast::<u8>().wrapping_add((first + begin) * conv.words * size_of::<f32>())
    }

    /// Where the outputs of a tile's first row go, and the position of that row.
    #[inline(always)]
    pub(super) fn place(&self, Tile { row, begin }: Tile, column: usize) -> (*mut f32, usize) {
        let Interleaved { board, positions } = self.layout;
        let (square, position) = (begin / positions, begin % positions);
        let floats = match self.written {
            Written::Boards => {
                (self.layout.row(row, 0) + begin) * self.conv.written_words()
                    + column * OUTPUTS / self.conv.operands.per_word()
            }
            Written::Rows => {
                let squares = position * board.height * board.width + row * board.width + square;
                squares * padded(self.conv.outputs) + column * OUTPUTS
            }
        };
        (self.to.wrapping_add(floats), position)
    }

    /// Where the outputs of the next row go, and its position.
    #[inline(always)]
    pub(super) fn next(&self, (to, position): (*mut f32, usize)) -> (*mut f32, usize) {
        let Interleaved { board, positions } = self.layout;
        let (squares, stride) = (board.height * board.width, padded(self.conv.outputs));
        match self.written {
            Written::Boards => (to.wrapping_add(self.conv.written_words()), position),
            Written::Rows if position + 1 == positions => {
                (to.wrapping_add(squares * stride).wrapping_sub(positions * squares * stride - stride), 0)
            }
            Written::Rows => (to.wrapping_add(squares * stride), position + 1),
        }
    }

    /// Finishes so many rows, if there are any left.
    ///
    /// # Safety
    /// The sums must be readable, and where they go must be writable.
    #[inline(always)]
    unsafe fn finish<T: TileProducts>(&self, unfinished: &mut Unfinished, mut rows: usize) {
        let first = unfinished.column * OUTPUTS;
        if BYTES && matches!(self.written, Written::Boards) {
            let (words, worth) = (self.conv.written_words(), unfinished.worth);
            for part in &mut unfinished.parts {
                let count = rows.min(part.rows);
                if count == 0 {
                    continue;
                }
                // SAFETY: guaranteed by the caller.
                unsafe {
                    let sums = std::slice::from_raw_parts(part.sums, count);
                    let skips = self.finish == Finish::SkipRelu;
                    T::to_bytes(sums, worth, skips, part.to.cast(), words * size_of::<f32>());
                }
                part.sums = part.sums.wrapping_add(count);
                part.to = part.to.wrapping_add(count * words);
                (rows, part.rows) = (rows - count, part.rows - count);
            }
            return;
        }
        let bias = &self.conv.bias.as_ref()[first..][..2 * OUTPUTS];
        for part in &mut unfinished.parts {
            while rows > 0 && part.rows > 0 {
                // SAFETY: guaranteed by the caller.
                unsafe {
                    let sums = part.sums.cast::<f32>();
                    match self.written {
                        Written::Boards => {
                            debug_assert!(!BYTES, "finished above");
                            let lanes = T::Register::LANES;
                            for channel in (0..2 * OUTPUTS).step_by(2 * lanes) {
                                let slot = part.to.cast::<u16>().add(channel);
                                let first = finished::<T>(sums, bias, channel, slot, self.finish);
                                let second =
                                    finished::<T>(sums, bias, channel + lanes, slot.add(lanes), self.finish);
                                T::store([first, second], slot);
                            }
                        }
                        Written::Rows if BYTES => {
                            for channel in (0..self.width(first)).step_by(OUTPUTS) {
                                let (sums, worth) = (sums.add(channel), unfinished.worth.from(channel));
                                let relu = self.finish == Finish::Relu;
                                T::to_floats(sums.cast(), worth, relu, part.to.add(channel));
                            }
                        }
                        Written::Rows => {
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

    /// Outputs of a block that belong to a row of floats.
    #[inline(always)]
    pub(super) fn width(&self, first: usize) -> usize {
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
