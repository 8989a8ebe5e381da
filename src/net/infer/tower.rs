//! The tower: from encoded positions to the features that the heads read, one convolution after another.
//!
//! There are two kinds of towers. [`Winograd`] has padded boards of f32, one position after the other, and transforms
//! them; [`Straight`] has interleaved boards of bf16 and multiplies tiles. Two buffers alternate: each convolution
//! reads the output of the one before from one buffer and writes its own into the other. The second convolution of a
//! block thus writes where the input of the block is still stored, and adds to it. Everything except the convolutions
//! is always computed in f32.

use super::TowerInstructions;
use super::conv::{Conv3, Transformed};
use super::head::{Global, HeadInput, HeadPlace};
use super::matrix::Finish;
use super::products::Packing;
use super::tiling::PaddedBoard;
use crate::net::kernels::direct::{ConvOutputs, Direct, Interleaved, words};
use crate::net::kernels::vector::Aligned;
use crate::net::kernels::{ROWS, Tiles, bf16};
use crate::net::layers::{Conv, Layer};
use crate::net::weights::{Numbers, Weights};

/// Returns how many positions should pass together through a convolution with `matrices` bytes of matrices and
/// `between` bytes per position between its stages.
///
/// If the matrices fit into the L2 cache, they stay there, and a group takes up 3/8 of the cache. With 32 to 96 filters
/// and a cache of 2 MiB, 3/8 is the fastest share: up to 2.7 times as fast as 1/8. If the matrices do not fit, each
/// group reads them from farther away. A group is then so large that the matrices are only half of what the stages read
/// and write. These larger groups are 1.2 to 1.5 times as fast with 128 filters, and 1.6 to 4 times as fast with 256.
fn group_of(matrices: usize, between: usize, l2: usize) -> usize {
    let fitting = l2 * 3 / 8 / between;
    let sharing = if matrices > l2 { 2 * matrices / between } else { 0 };
    fitting.max(sharing).clamp(1, MAX_GROUP)
}

/// Returns the size of a core's L2 cache in bytes, but at least the smallest size among recent CPUs.
fn l2_bytes() -> usize {
    const LEAST: usize = 512 << 10;
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::__cpuid;
        if __cpuid(0x8000_0000).eax >= 0x8000_0006 {
            let kilobytes = __cpuid(0x8000_0006).ecx >> 16;
            return LEAST.max((kilobytes as usize) << 10);
        }
    }
    LEAST
}

/// Maximum number of positions in a group.
pub(super) const MAX_GROUP: usize = 32;

/// A packed tower.
pub(super) enum Tower {
    Winograd(Winograd),
    Straight(Straight),
}

/// The buffers of one thread.
pub(super) enum Buffers {
    Winograd(WinogradBuffers),
    Straight(StraightBuffers),
}

/// A convolution, its [`Finish`], and the [`Global`] that changes its output, if there is one.
struct Stage<C> {
    conv: C,
    finish: Finish,
    global: Option<Global>,
}

impl Tower {
    pub(super) fn new(
        weights: &Weights,
        board: PaddedBoard,
        plain: Packing,
        engine: TowerInstructions,
    ) -> Tower {
        match engine {
            TowerInstructions::Vectors(isa, precision) => {
                Tower::Winograd(Winograd::new(weights, board, plain, Packing::new(isa, precision)))
            }
            TowerInstructions::Tiles(tiles) => Tower::Straight(Straight::new(weights, board, plain, tiles)),
        }
    }

    /// Returns the tower's output, which the heads read.
    pub(super) fn features(&self) -> HeadInput {
        match self {
            Tower::Winograd(tower) => HeadInput::Boards { stride: tower.stages[0].conv.stride() },
            Tower::Straight(tower) => HeadInput::Interleaved(tower.tiles),
        }
    }

    /// Returns the maximum number of positions that should pass through the layers together.
    pub(super) fn group(&self) -> usize {
        match self {
            Tower::Winograd(tower) => {
                let widest =
                    tower.stages.iter().map(|stage| &stage.conv).max_by_key(|conv| conv.transformed_bytes());
                widest.map_or(1, |conv| group_of(conv.matrix_bytes(), conv.transformed_bytes(), l2_bytes()))
            }
            Tower::Straight(_) => ROWS,
        }
    }

    /// Returns buffers for groups of at most `group` positions.
    pub(super) fn buffers(&self, group: usize) -> Buffers {
        match self {
            Tower::Winograd(tower) => Buffers::Winograd(tower.buffers(group)),
            Tower::Straight(tower) => Buffers::Straight(tower.buffers(group)),
        }
    }

    /// Prepares this thread for [`Tower::apply`], and for the heads that read its features.
    pub(super) fn configure(&self, layout: Interleaved) -> HeadPlace {
        let configured = match self {
            Tower::Winograd(_) => None,
            Tower::Straight(tower) => Some(layout.configure(tower.tiles)),
        };
        HeadPlace { layout, configured }
    }

    /// Returns the features of positions, for the input `planes` (`[position, plane, row, column]`).
    pub(super) fn apply<'a>(
        &self,
        place: &HeadPlace,
        planes: &[f32],
        buffers: &'a mut Buffers,
    ) -> &'a Aligned {
        match (self, buffers) {
            (Tower::Winograd(tower), Buffers::Winograd(buffers)) => {
                tower.apply(place.layout.positions, planes, buffers)
            }
            (Tower::Straight(tower), Buffers::Straight(buffers)) => tower.apply(place, planes, buffers),
            _ => panic!("the scratch belongs to another network"),
        }
    }
}

/// Packs the convolutions of a tower.
fn stages<C>(weights: &Weights, plain: Packing, pack: impl Fn(&Conv) -> C) -> Vec<Stage<C>> {
    let stage = |conv: &Conv, finish: Finish| Stage { conv: pack(conv), finish, global: None };
    let mut stages: Vec<Stage<C>> = Vec::new();
    for (index, layer) in weights.layers.tower.iter().enumerate() {
        match layer {
            Layer::Ones if index == 0 => {}
            Layer::Conv(conv) => stages.push(stage(conv, Finish::of(conv.relu))),
            Layer::Block { first, second, .. } => {
                stages.extend([stage(first, Finish::of(first.relu)), stage(second, Finish::SkipRelu)]);
            }
            Layer::Global(linear) => {
                let before = stages.last_mut().expect("a block comes before");
                before.global = Some(Global::new(linear, weights.of(&linear.name), plain));
            }
            Layer::Ones | Layer::Flatten | Layer::Pool | Layer::Linear(_) => {
                panic!("unsupported layer in a tower: {layer:?}")
            }
        }
    }
    stages
}

/// Returns whether a plane of ones follows the planes of the input.
fn has_ones(weights: &Weights) -> bool {
    weights.layers.tower.first() == Some(&Layer::Ones)
}

/// A tower of Winograd's convolutions.
pub(super) struct Winograd {
    board: PaddedBoard,
    /// Planes of the input, without the plane of ones.
    planes: usize,
    ones: bool,
    stages: Vec<Stage<Conv3>>,
}

pub(super) struct WinogradBuffers {
    /// Padded boards, `[position, padded row, padded column, channel]`.
    input: Aligned,
    /// The two activations that alternate in the tower.
    boards: [Aligned; 2],
    between: Transformed,
    /// The buffers of each stage's [`Global`], for the stages that have one.
    globals: Vec<[Aligned; 2]>,
}

impl Winograd {
    fn new(weights: &Weights, board: PaddedBoard, plain: Packing, products: Packing) -> Winograd {
        let pack = |conv: &Conv| Conv3::new(conv, weights.of(&conv.name), board, products);
        let stages = stages(weights, plain, pack);
        let stride = stages[0].conv.stride();
        assert!(stages.iter().all(|stage| stage.conv.stride() == stride), "a tower must have one width");
        Winograd { board, planes: weights.layers.shape.planes, ones: has_ones(weights), stages }
    }

    fn buffers(&self, group: usize) -> WinogradBuffers {
        let boards = group * self.board.padded();
        let (first, convs) = (&self.stages[0].conv, self.stages.iter().map(|stage| &stage.conv));
        let globals = self.stages.iter().filter_map(|stage| stage.global.as_ref());
        let mut input = Aligned::new(boards * first.input_stride());
        if self.ones {
            // nothing else is ever written to this plane
            let ones = vec![1.0; group * self.board.height * self.board.width];
            self.write(&ones, [1, self.planes], input.as_mut());
        }
        WinogradBuffers {
            input,
            boards: [(); 2].map(|()| Aligned::new(boards * first.stride())),
            between: Conv3::transformed(convs, group),
            globals: globals.map(|global| global.buffers(group)).collect(),
        }
    }

    fn apply<'a>(&self, positions: usize, planes: &[f32], buffers: &'a mut WinogradBuffers) -> &'a Aligned {
        let WinogradBuffers { input, boards: [x, y], between, globals } = buffers;
        self.write(planes, [self.planes, 0], input.as_mut());
        let (mut x, mut y, mut globals) = (x, y, globals.iter_mut());
        for (index, Stage { conv, finish, global }) in self.stages.iter().enumerate() {
            let from = if index == 0 { &*input } else { &*x };
            conv.apply(positions, from, y, between, *finish);
            std::mem::swap(&mut x, &mut y);
            if let Some(global) = global {
                let buffers = globals.next().expect("the scratch belongs to another network");
                global.apply((self.board, positions), (&mut *x, conv.stride()), buffers);
            }
        }
        x
    }

    /// Writes `[n, count, height, width]` into the channels from `first` on of padded boards, channels last.
    fn write(&self, planes: &[f32], [count, first]: [usize; 2], input: &mut [f32]) {
        let (board, stride) = (self.board, self.stages[0].conv.input_stride());
        for (line, numbers) in planes.chunks_exact(board.width).enumerate() {
            let (plane, row) = (line / board.height, line % board.height);
            let square = plane / count * board.padded() + board.padded_square(row, 0);
            let slots = input[square * stride + first + plane % count..].iter_mut().step_by(stride);
            slots.zip(numbers).for_each(|(slot, &number)| *slot = number);
        }
    }
}

/// A tower of [`Direct`] convolutions.
pub(super) struct Straight {
    tiles: Tiles,
    /// Planes of the input, without the plane of ones.
    planes: usize,
    ones: bool,
    board: PaddedBoard,
    stages: Vec<Stage<Direct>>,
    /// Words per row of the input, and of all other boards.
    words: [usize; 2],
    /// Lines of the board: one of zeros and one of ones.
    lines: [Vec<f32>; 2],
}

pub(super) struct StraightBuffers {
    /// Interleaved boards.
    input: Aligned,
    /// The two activations that alternate in the tower.
    boards: [Aligned; 2],
    /// The buffers of each stage's [`Global`], for the stages that have one; `squares` has room for the squares of one
    /// position, in f32, while a [`Global`] changes them.
    globals: Vec<[Aligned; 2]>,
    squares: Aligned,
    /// The layout for which the borders were set to zero.
    laid_out: Option<Interleaved>,
}

impl Straight {
    fn new(weights: &Weights, board: PaddedBoard, plain: Packing, tiles: Tiles) -> Straight {
        let pack = |conv: &Conv| {
            let Numbers { weight, bias } = weights.of(&conv.name);
            Direct::new([conv.inputs, conv.outputs, conv.kernel], (weight, bias), board, tiles)
        };
        let planes = weights.layers.shape.planes;
        let (ones, stages) = (has_ones(weights), stages(weights, plain, pack));
        let words = [planes + usize::from(ones), stages[0].conv.outputs()].map(words);
        assert!(
            stages[1..].iter().all(|stage| stage.conv.words() == [words[1]; 2]),
            "a tower must have one width"
        );
        let lines = [0.0, 1.0].map(|number| vec![number; board.width]);
        Straight { tiles, planes, ones, board, stages, words, lines }
    }

    fn buffers(&self, group: usize) -> StraightBuffers {
        let rows = group * self.board.padded();
        let globals = self.stages.iter().filter_map(|stage| stage.global.as_ref());
        let squares = if globals.clone().next().is_some() { self.board.height * self.board.width } else { 0 };
        StraightBuffers {
            input: Aligned::new(rows * self.words[0]),
            boards: [(); 2].map(|()| Aligned::new(rows * self.words[1])),
            globals: globals.map(|global| global.buffers(group)).collect(),
            squares: Aligned::new(squares * 2 * self.words[1]),
            laid_out: None,
        }
    }

    fn apply<'a>(&self, place: &HeadPlace, planes: &[f32], buffers: &'a mut StraightBuffers) -> &'a Aligned {
        let (layout, configured) = (place.layout, place.configured());
        self.lay_out(layout, buffers);
        let StraightBuffers { input, boards: [x, y], globals, squares, .. } = buffers;
        self.write(layout, planes, input.as_mut());
        let (mut x, mut y, mut globals) = (x, y, globals.iter_mut());
        for (index, Stage { conv, finish, global }) in self.stages.iter().enumerate() {
            let from = if index == 0 { &*input } else { &*x };
            conv.apply(layout, configured, from.as_ref(), y.as_mut(), ConvOutputs::Boards, *finish);
            std::mem::swap(&mut x, &mut y);
            if let Some(global) = global {
                let buffers = globals.next().expect("the scratch belongs to another network");
                self.change(global, (layout, x.as_mut()), squares, buffers);
            }
        }
        x
    }

    /// Sets the borders of `layout` to zero, unless they already are.
    fn lay_out(&self, layout: Interleaved, buffers: &mut StraightBuffers) {
        if buffers.laid_out.replace(layout) == Some(layout) {
            return;
        }
        let [input, others] = self.words;
        layout.clear_border(input, buffers.input.as_mut());
        buffers.boards.iter_mut().for_each(|boards| layout.clear_border(others, boards.as_mut()));
    }

    /// Writes `[n, planes, height, width]` into interleaved boards, two planes at a time; the plane of ones comes
    /// after them.
    fn write(&self, layout: Interleaved, planes: &[f32], input: &mut [f32]) {
        let (PaddedBoard { height, width }, words) = (self.board, self.words[0]);
        let (step, channels) = (layout.positions * words, self.planes + usize::from(self.ones));
        let [zeros, ones] = &self.lines;
        for (position, planes) in planes.chunks_exact(self.planes * height * width).enumerate() {
            for (word, row) in
                (0..channels.div_ceil(2)).flat_map(|word| (0..height).map(move |row| (word, row)))
            {
                let line = |plane: usize| match plane {
                    plane if plane < self.planes => &planes[(plane * height + row) * width..][..width],
                    plane if plane < channels => ones,
                    _ => zeros,
                };
                let slots = input[(layout.row(row, 0) + position) * words + word..].iter_mut().step_by(step);
                for (slot, (&low, &high)) in slots.zip(line(2 * word).iter().zip(line(2 * word + 1))) {
                    *slot = word_of([low, high]);
                }
            }
        }
    }

    /// Applies `global` to interleaved boards.
    fn change(
        &self,
        global: &Global,
        (layout, boards): (Interleaved, &mut [f32]),
        squares: &mut Aligned,
        buffers: &mut [Aligned; 2],
    ) {
        let (PaddedBoard { height, width }, words) = (self.board, self.words[1]);
        let rows_of = |position: usize| {
            let row = move |square: usize| layout.row(square / width, 0) + square % width * layout.positions;
            (0..height * width).map(move |square| (row(square) + position) * words)
        };
        for position in 0..layout.positions {
            let squares = squares.as_mut();
            for (at, square) in rows_of(position).zip(squares.chunks_exact_mut(2 * words)) {
                let numbers = boards[at..][..words].iter().flat_map(|&word| halves(word));
                square.iter_mut().zip(numbers).for_each(|(slot, number)| *slot = number);
            }
            global.pool(position, squares.chunks_exact(2 * words), buffers);
        }
        for (position, added) in global.added(layout.positions, buffers).enumerate() {
            for at in rows_of(position) {
                for (word, added) in boards[at..][..words].iter_mut().zip(added.as_chunks::<2>().0) {
                    let [low, high] = halves(*word);
                    *word = word_of([Global::change(low, added[0]), Global::change(high, added[1])]);
                }
            }
        }
    }
}

/// Returns the two bf16 numbers of a word.
fn halves(word: f32) -> [f32; 2] {
    [f32::from_bits(word.to_bits() << 16), f32::from_bits(word.to_bits() & 0xffff_0000)]
}

/// Returns the word that contains two numbers, rounded to bf16.
fn word_of([low, high]: [f32; 2]) -> f32 {
    f32::from_bits(u32::from(bf16(high)) << 16 | u32::from(bf16(low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_follow_the_cache_until_matrices_outgrow_it() {
        // 3x3 convolutions on a board of ten by ten: 36 matrices, and 256 frequencies in all tiles together
        let group =
            |filters: usize, l2: usize| group_of(36 * filters * filters * 4, 256 * 2 * filters * 4, l2 << 20);
        assert_eq!([32, 64, 96, 128, 256].map(|filters| group(filters, 2)), [12, 6, 4, 18, 32]);
        assert_eq!([32, 64, 96, 128, 256].map(|filters| group(filters, 1)), [6, 3, 13, 18, 32]);
        assert_eq!(group_of(1 << 30, 1 << 20, 1 << 20), MAX_GROUP);
        assert_eq!(group_of(1, 1 << 30, 1 << 20), 1);
    }
}
