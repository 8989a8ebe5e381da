//! A forward pass for CPUs: direct convolutions in f32, one position at a time.
//!
//! [`CpuNet`] packs [`Weights`] once, in the order in which the inner loop reads them, and is then
//! shared between threads; each thread owns a [`Scratch`]. Activations are kept as `[block of
//! channels, row, column, lane]`, a block being as many channels as a vector has lanes. A tile of
//! output pixels times a few vectors of output channels stays in registers while taps and input
//! channels run; taps beside the board are skipped; bias, skip connection and ReLU happen in the
//! store. The same code is compiled for several instruction sets, of which the widest here is taken.
//! A result does not depend on batch, thread or run, but may differ in its last bits between
//! instruction sets.

#![allow(unsafe_code)]

use std::array::from_fn;
#[cfg(target_arch = "x86_64")]
use std::{
    arch::x86_64::{__m256, __m512, _mm256_fmadd_ps, _mm256_set1_ps, _mm512_fmadd_ps, _mm512_set1_ps},
    mem::transmute,
};

use super::weights::{Conv, Linear, Weights};
use crate::game::Shape;

/// A cache line in floats, to which buffers are aligned.
const CACHE_LINE: usize = 16;
/// The widest tile that is compiled.
const MAX_COLUMNS: usize = 10;

/// Sums that fit into the registers beside their operands: of 32 registers ...
const SUMS_OF_32: usize = 24;
/// ... and of 16.
const SUMS_OF_16: usize = 12;
/// ... and of what every CPU of the architecture has.
const PORTABLE_SUMS: usize = if cfg!(target_arch = "aarch64") { SUMS_OF_32 } else { SUMS_OF_16 };
/// Whether every CPU of the architecture multiplies and adds in one instruction; elsewhere
/// `mul_add` would be a slow call.
const PORTABLE_FUSED: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));

/// A network packed for this CPU, read-only.
pub struct CpuNet {
    shape: Shape,
    isa: Isa,
    stem: Layer,
    blocks: Vec<[Layer; 2]>,
    policy_hidden: Layer,
    policy_planes: Option<Layer>,
    policy_extras: Option<(Layer, Layer)>,
    value_conv: Layer,
    value_hidden: Layer,
    value_out: Layer,
}

/// The buffers of one thread, so that [`CpuNet::forward`] allocates nothing.
pub struct Scratch {
    x: Aligned,
    y: Aligned,
    z: Aligned,
}

impl CpuNet {
    /// Packs `weights` for the widest vectors that this CPU has.
    pub fn new(weights: &Weights) -> CpuNet {
        let here = Isa::ALL.iter().copied().find(|isa| isa.is_here());
        CpuNet::with_isa(weights, here.unwrap_or(Isa::Portable))
    }

    fn with_isa(weights: &Weights, isa: Isa) -> CpuNet {
        assert!(isa.is_here(), "this CPU has no {isa:?}");
        let conv = |conv: &Conv| Layer::conv(conv, weights.shape, isa);
        let linear = |linear: &Linear| Layer::linear(linear, isa);
        CpuNet {
            shape: weights.shape,
            isa,
            stem: conv(&weights.stem),
            blocks: weights.blocks.iter().map(|[a, b]| [conv(a), conv(b)]).collect(),
            policy_hidden: conv(&weights.policy_hidden),
            policy_planes: weights.policy_planes.as_ref().map(conv),
            policy_extras: weights.policy_extras.as_ref().map(|(c, l)| (conv(c), linear(l))),
            value_conv: conv(&weights.value_conv),
            value_hidden: linear(&weights.value_hidden),
            value_out: linear(&weights.value_out),
        }
    }

    /// Sizes of input and policy.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Buffers for one thread.
    pub fn scratch(&self) -> Scratch {
        let heads = self.policy_planes.iter().chain(self.policy_extras.iter().flat_map(|(c, l)| [c, l]));
        let len = [&self.stem, &self.policy_hidden, &self.value_conv, &self.value_hidden, &self.value_out]
            .into_iter()
            .chain(self.blocks.iter().flatten())
            .chain(heads)
            .map(|layer| layer.buffer_len(self.isa.lanes()))
            .max()
            .unwrap_or(0);
        Scratch { x: Aligned::new(len), y: Aligned::new(len), z: Aligned::new(len) }
    }

    /// Evaluates `planes` (`[n, planes, height, width]`) into `policy` (`[n, actions]` logits) and
    /// `wdl` (`[n, 3]` logits of win, draw and loss for the player to move).
    ///
    /// # Panics
    /// If the lengths do not fit each other, or `scratch` is that of a smaller network.
    pub fn forward(&self, scratch: &mut Scratch, planes: &[f32], policy: &mut [f32], wdl: &mut [f32]) {
        let (input_len, actions) = (self.shape.input_len(), self.shape.actions);
        let batch = wdl.len() / 3;
        let lengths = (planes.len(), policy.len(), wdl.len());
        assert_eq!(lengths, (batch * input_len, batch * actions, batch * 3), "planes, policy, wdl");
        let outputs = policy.chunks_exact_mut(actions).zip(wdl.chunks_exact_mut(3));
        for (planes, (policy, wdl)) in planes.chunks_exact(input_len).zip(outputs) {
            self.evaluate(scratch, planes, policy, wdl);
        }
    }

    fn evaluate(&self, scratch: &mut Scratch, planes: &[f32], policy: &mut [f32], wdl: &mut [f32]) {
        let Scratch { x, y, z } = scratch;
        let (x, y, z) = (x.as_mut(), y.as_mut(), z.as_mut());
        let (cells, lanes) = (self.shape.cells(), self.isa.lanes());
        let run = |layer: &Layer, from: &[f32], to: &mut [f32], finish: Finish| {
            self.isa.run(layer, from, to, finish)
        };

        to_blocks(planes, cells, lanes, z);
        run(&self.stem, z, x, Finish::Relu);
        for [a, b] in &self.blocks {
            run(a, x, y, Finish::Relu);
            run(b, y, x, Finish::SkipRelu);
        }
        run(&self.policy_hidden, x, y, Finish::Relu);
        let (on_board, extras) = policy.split_at_mut(policy.len() / cells * cells);
        if let Some(conv) = &self.policy_planes {
            run(conv, y, z, Finish::Plain);
            to_planes(z, cells, lanes, on_board);
        }
        if let Some((conv, linear)) = &self.policy_extras {
            run(conv, y, z, Finish::Relu);
            to_planes(z, cells, lanes, &mut y[..linear.inputs]);
            run(linear, y, z, Finish::Plain);
            extras.copy_from_slice(&z[..extras.len()]);
        }
        run(&self.value_conv, x, z, Finish::Relu);
        to_planes(z, cells, lanes, &mut y[..self.value_hidden.inputs]);
        run(&self.value_hidden, y, z, Finish::Relu);
        run(&self.value_out, z, y, Finish::Plain);
        wdl.copy_from_slice(&y[..3]);
    }
}

/// A packed convolution or, as a 1x1 convolution on a board of one square, linear layer.
struct Layer {
    height: usize,
    width: usize,
    kernel: usize,
    inputs: usize,
    /// Output channels, rounded up to whole vectors.
    outputs: usize,
    tile: Tile,
    /// `[group of tile.vectors vectors, kernel, kernel, inputs, lane of the group]`.
    weight: Aligned,
    /// `[outputs]`.
    bias: Aligned,
}

impl Layer {
    fn conv(conv: &Conv, board: Shape, isa: Isa) -> Layer {
        let taps = conv.kernel * conv.kernel;
        let at = |output: usize, tap: usize, input: usize| {
            conv.weight[(output * conv.inputs + input) * taps + tap]
        };
        Layer::pack([board.height, board.width, conv.kernel, conv.inputs], at, &conv.bias, isa)
    }

    fn linear(linear: &Linear, isa: Isa) -> Layer {
        let at = |output: usize, _tap: usize, input: usize| linear.weight[input * linear.outputs + output];
        Layer::pack([1, 1, 1, linear.inputs], at, &linear.bias, isa)
    }

    fn pack(
        [height, width, kernel, inputs]: [usize; 4],
        weight_at: impl Fn(usize, usize, usize) -> f32,
        bias: &[f32],
        isa: Isa,
    ) -> Layer {
        let (lanes, taps) = (isa.lanes(), kernel * kernel);
        let outputs = bias.len().next_multiple_of(lanes);
        let tile = Tile::choose(height, width, outputs / lanes, isa.sums());
        let mut weight = Aligned::new(outputs * taps * inputs);
        let mut slots = weight.as_mut().iter_mut();
        let mut first = 0;
        while first < outputs {
            let group = first..first + tile.group((outputs - first) / lanes) * lanes;
            for (tap, input) in (0..taps).flat_map(|tap| (0..inputs).map(move |input| (tap, input))) {
                for (output, slot) in group.clone().zip(&mut slots) {
                    *slot = if output < bias.len() { weight_at(output, tap, input) } else { 0.0 };
                }
            }
            first = group.end;
        }
        let mut padded = Aligned::new(outputs);
        padded.as_mut()[..bias.len()].copy_from_slice(bias);
        Layer { height, width, kernel, inputs, outputs, tile, weight, bias: padded }
    }

    /// Floats of a buffer for input or output.
    fn buffer_len(&self, lanes: usize) -> usize {
        self.height * self.width * self.inputs.next_multiple_of(lanes).max(self.outputs)
    }
}

/// The largest tile of a layer; what it leaves at the edges is done with smaller ones.
#[derive(Clone, Copy)]
struct Tile {
    rows: usize,
    columns: usize,
    vectors: usize,
}

impl Tile {
    /// As many sums as there is room for, since each has to wait for its last multiply-add. A row of
    /// taps off the board is skipped only if the tile has one row, so narrow boards alone take more.
    fn choose(height: usize, width: usize, vectors: usize, sums: usize) -> Tile {
        let columns = width.div_ceil(width.div_ceil(MAX_COLUMNS.min(sums / 2)));
        let vectors = match (columns, vectors) {
            (1, 4..) => 4,
            (_, 2..) => 2,
            _ => 1,
        };
        let rows = match columns {
            3 if height % 3 == 0 && 3 * columns * vectors <= sums => 3,
            2..=4 if height > 1 && 2 * columns * vectors <= sums => 2,
            _ => 1,
        };
        Tile { rows, columns, vectors }
    }

    /// Vectors of the next group when `left` are left.
    fn group(self, left: usize) -> usize {
        match left {
            1 => 1,
            2 | 3 => self.vectors.min(2),
            _ => self.vectors,
        }
    }
}

/// Zeroed floats that start on a cache line.
struct Aligned {
    floats: Vec<f32>,
    start: usize,
    len: usize,
}

impl Aligned {
    fn new(len: usize) -> Aligned {
        let floats = vec![0.0; len + CACHE_LINE];
        let start = floats.as_ptr().align_offset(CACHE_LINE * size_of::<f32>()).min(CACHE_LINE);
        Aligned { floats, start, len }
    }

    fn as_ref(&self) -> &[f32] {
        &self.floats[self.start..][..self.len]
    }

    fn as_mut(&mut self) -> &mut [f32] {
        &mut self.floats[self.start..][..self.len]
    }
}

/// What happens to the sums before they are stored.
#[derive(Clone, Copy)]
enum Finish {
    Plain,
    Relu,
    /// What the output held before is added, then ReLU.
    SkipRelu,
}

/// `[channels, cells]` to `[blocks of channels, cells, lanes]`; lanes beyond the last channel are
/// left as they are, for no layer reads them.
fn to_blocks(planes: &[f32], cells: usize, lanes: usize, to: &mut [f32]) {
    for (channels, block) in planes.chunks(cells * lanes).zip(to.chunks_exact_mut(cells * lanes)) {
        for (lane, plane) in channels.chunks_exact(cells).enumerate() {
            for (pixel, &x) in block.chunks_exact_mut(lanes).zip(plane) {
                pixel[lane] = x;
            }
        }
    }
}

/// The reverse of [`to_blocks`], for as many channels as `planes` has room for.
fn to_planes(from: &[f32], cells: usize, lanes: usize, planes: &mut [f32]) {
    for (channels, block) in planes.chunks_mut(cells * lanes).zip(from.chunks_exact(cells * lanes)) {
        for (lane, plane) in channels.chunks_exact_mut(cells).enumerate() {
            for (pixel, x) in block.chunks_exact(lanes).zip(plane) {
                *x = pixel[lane];
            }
        }
    }
}

/// The instruction sets that [`run`] is compiled for.
#[derive(Clone, Copy, Debug)]
enum Isa {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Isa {
    /// Widest first.
    const ALL: &[Isa] = &[
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512,
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2,
        Isa::Portable,
    ];

    fn is_here(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => is_x86_feature_detected!("avx512f") && Isa::Avx2.is_here(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            Isa::Portable => true,
        }
    }

    /// Floats of a vector.
    fn lanes(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => 16,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => 8,
            Isa::Portable => 4,
        }
    }

    /// Vectors of sums in a tile.
    fn sums(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => SUMS_OF_32,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => SUMS_OF_16,
            Isa::Portable => PORTABLE_SUMS,
        }
    }

    /// Applies `layer` to `from` (`[blocks of inputs, height, width, lanes]`).
    fn run(self, layer: &Layer, from: &[f32], to: &mut [f32], finish: Finish) {
        match self {
            // SAFETY: the network was packed for AVX-512 after `is_here` had found it.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => unsafe { run_avx512(layer, from, to, finish) },
            // SAFETY: the network was packed for AVX2 after `is_here` had found it and FMA.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => unsafe { run_avx2(layer, from, to, finish) },
            Isa::Portable => run::<[f32; 4], 4, PORTABLE_SUMS>(layer, from, to, finish),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
fn run_avx512(layer: &Layer, from: &[f32], to: &mut [f32], finish: Finish) {
    run::<__m512, 16, SUMS_OF_32>(layer, from, to, finish);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2(layer: &Layer, from: &[f32], to: &mut [f32], finish: Finish) {
    run::<__m256, 8, SUMS_OF_16>(layer, from, to, finish);
}

/// Calls [`tile`] with the rows, columns and vectors of `$size` as constants.
macro_rules! with_size {
    ($size:expr, $arguments:tt, $([$rows:literal $columns:literal $vectors:literal])*) => {
        match $size {
            $(($rows, $columns, $vectors)
                if const { $rows * $columns * $vectors <= SUMS && 2 * $columns <= SUMS } =>
            {
                with_size!(@ $arguments, $rows, $columns, $vectors)
            })*
            size => unreachable!("no tile of size {size:?}"),
        }
    };
    (@ ($($argument:expr),*), $rows:literal, $columns:literal, $vectors:literal) => {
        tile::<S, LANES, $rows, $columns, $vectors>($($argument),*)
    };
}

/// Repeats the body for every sum of a tile. Only if constants alone index the sums, and that before
/// any loop is unrolled, do they stay in registers.
macro_rules! for_each_sum {
    ($row:ident in $rows:ident, $column:ident in $columns:ident, $vector:ident in $vectors:ident, $body:block) => {
        for_each_sum!(@ $row $rows [0 1 2] {
            for_each_sum!(@ $column $columns [0 1 2 3 4 5 6 7 8 9] {
                for_each_sum!(@ $vector $vectors [0 1 2 3] $body)
            })
        })
    };
    (@ $index:ident $bound:ident [$($value:literal)*] $body:block) => {
        {
            $(if $value < $bound {
                const $index: usize = $value;
                $body
            })*
        }
    };
}

// Everything below is inlined into the functions above, for only there the compiler may use the
// instruction set.

#[inline(always)]
fn run<S: Vector<LANES>, const LANES: usize, const SUMS: usize>(
    layer: &Layer,
    from: &[f32],
    to: &mut [f32],
    finish: Finish,
) {
    let from = from.as_chunks().0;
    let to = to.as_chunks_mut().0;
    let (most, vectors) = (layer.tile, layer.outputs / LANES);
    let mut first = 0;
    while first < vectors {
        let group = most.group(vectors - first);
        let mut row = 0;
        while row < layer.height {
            let rows = if layer.height - row < most.rows { 1 } else { most.rows };
            for column in (0..layer.width).step_by(most.columns) {
                let columns = most.columns.min(layer.width - column);
                let corner = Corner { row, column, vector: first };
                with_size!((rows, columns, group), (layer, from, to, finish, corner),
                    [1 1 1] [1 2 1] [1 3 1] [1 4 1] [1 5 1] [1 6 1] [1 7 1] [1 8 1] [1 9 1] [1 10 1]
                    [1 1 2] [1 2 2] [1 3 2] [1 4 2] [1 5 2] [1 6 2] [1 7 2] [1 8 2] [1 9 2] [1 10 2]
                    [2 2 1] [2 3 1] [2 4 1] [2 2 2] [2 3 2] [2 4 2] [3 3 1] [3 3 2] [1 1 4]);
            }
            row += rows;
        }
        first += group;
    }
}

/// Where a tile starts.
#[derive(Clone, Copy)]
struct Corner {
    row: usize,
    column: usize,
    vector: usize,
}

/// A register of floats. Arrays would do, if compilers kept them in registers reliably.
trait Vector<const LANES: usize>: Copy {
    fn load(from: &[f32; LANES]) -> Self;
    fn to_array(self) -> [f32; LANES];
    /// `self + x * weight`.
    fn add_product(self, x: f32, weight: Self) -> Self;
}

#[cfg(target_arch = "x86_64")]
impl Vector<16> for __m512 {
    #[inline(always)]
    fn load(from: &[f32; 16]) -> __m512 {
        // SAFETY: both are 16 floats, whatever their bits.
        unsafe { transmute(*from) }
    }

    #[inline(always)]
    fn to_array(self) -> [f32; 16] {
        // SAFETY: both are 16 floats, whatever their bits.
        unsafe { transmute(self) }
    }

    #[inline(always)]
    fn add_product(self, x: f32, weight: __m512) -> __m512 {
        // SAFETY: `run_avx512` alone uses this type, where AVX-512 was found.
        unsafe { _mm512_fmadd_ps(_mm512_set1_ps(x), weight, self) }
    }
}

#[cfg(target_arch = "x86_64")]
impl Vector<8> for __m256 {
    #[inline(always)]
    fn load(from: &[f32; 8]) -> __m256 {
        // SAFETY: both are 8 floats, whatever their bits.
        unsafe { transmute(*from) }
    }

    #[inline(always)]
    fn to_array(self) -> [f32; 8] {
        // SAFETY: both are 8 floats, whatever their bits.
        unsafe { transmute(self) }
    }

    #[inline(always)]
    fn add_product(self, x: f32, weight: __m256) -> __m256 {
        // SAFETY: `run_avx2` alone uses this type, where AVX2 and FMA were found.
        unsafe { _mm256_fmadd_ps(_mm256_set1_ps(x), weight, self) }
    }
}

impl Vector<4> for [f32; 4] {
    #[inline(always)]
    fn load(from: &[f32; 4]) -> [f32; 4] {
        *from
    }

    #[inline(always)]
    fn to_array(self) -> [f32; 4] {
        self
    }

    #[inline(always)]
    fn add_product(self, x: f32, weight: [f32; 4]) -> [f32; 4] {
        from_fn(|l| if PORTABLE_FUSED { x.mul_add(weight[l], self[l]) } else { self[l] + x * weight[l] })
    }
}

/// The sums of a tile of `R` rows, `C` columns and `V` vectors.
type Sums<S, const R: usize, const C: usize, const V: usize> = [[[S; V]; C]; R];

#[inline(always)]
fn tile<S: Vector<LANES>, const LANES: usize, const R: usize, const C: usize, const V: usize>(
    layer: &Layer,
    from: &[[f32; LANES]],
    to: &mut [[f32; LANES]],
    finish: Finish,
    corner: Corner,
) {
    let &Layer { height, width, kernel, inputs, .. } = layer;
    let taps = kernel * kernel;
    let weight = layer.weight.as_ref().as_chunks::<LANES>().0;
    let weight = weight[corner.vector * taps * inputs..][..V * taps * inputs].as_chunks::<V>().0;
    let bias = layer.bias.as_ref().as_chunks::<LANES>().0;
    let bias: [S; V] = from_fn(|v| S::load(&bias[corner.vector + v]));
    let mut sums: Sums<S, R, C, V> = [[bias; C]; R];
    for (tap, weight) in weight.chunks_exact(inputs).enumerate() {
        let blocks = from.chunks_exact(height * width).zip(weight.chunks(LANES));
        // Where the tap's pixels start; counted from `kernel / 2` squares beside the board.
        let column = corner.column + tap % kernel;
        let left = column.saturating_sub(kernel / 2);
        let starts: [Option<usize>; R] = from_fn(|r| {
            let row = (corner.row + r + tap / kernel).checked_sub(kernel / 2)?;
            (row < height).then_some(row * width + left)
        });
        if R == 1 && starts[0].is_none() {
            continue;
        }
        if column < kernel / 2 {
            add_tap::<S, LANES, R, C, V, 1, 0>(&mut sums, blocks, starts);
        } else if left + C > width {
            add_tap::<S, LANES, R, C, V, 0, 1>(&mut sums, blocks, starts);
        } else {
            add_tap::<S, LANES, R, C, V, 0, 0>(&mut sums, blocks, starts);
        }
    }
    store(layer, to, finish, corner, &sums);
}

/// Adds one tap of the kernel, except for the first `L` and the last `U` columns of the tile.
#[inline(always)]
fn add_tap<
    'a,
    S: Vector<LANES>,
    const LANES: usize,
    const R: usize,
    const C: usize,
    const V: usize,
    const L: usize,
    const U: usize,
>(
    sums: &mut Sums<S, R, C, V>,
    blocks: impl Iterator<Item = (&'a [[f32; LANES]], &'a [[[f32; LANES]; V]])>,
    starts: [Option<usize>; R],
) {
    if L + U >= C {
        return;
    }
    let off_board = [[0.0; LANES]; C];
    for (board, weight) in blocks {
        let pixels: [&[[f32; LANES]]; R] = from_fn(|r| match starts[r] {
            Some(start) => &board[start..][..C - L - U],
            None => &off_board[L + U..],
        });
        for (lane, weight) in weight.iter().enumerate().take(LANES) {
            let weight: [S; V] = from_fn(|v| S::load(&weight[v]));
            for_each_sum!(ROW in R, COLUMN in C, VECTOR in V, {
                if COLUMN >= L && COLUMN + U < C {
                    let sum = &mut sums[ROW][COLUMN][VECTOR];
                    *sum = sum.add_product(pixels[ROW][COLUMN - L][lane], weight[VECTOR]);
                }
            });
        }
    }
}

#[inline(always)]
fn store<S: Vector<LANES>, const LANES: usize, const R: usize, const C: usize, const V: usize>(
    layer: &Layer,
    to: &mut [[f32; LANES]],
    finish: Finish,
    corner: Corner,
    sums: &Sums<S, R, C, V>,
) {
    // Unlike `max`, it lets NaN through, so that a broken network is noticed.
    let relu = |x: f32| if x < 0.0 { 0.0 } else { x };
    let cells = layer.height * layer.width;
    for_each_sum!(ROW in R, COLUMN in C, VECTOR in V, {
        let cell = (corner.row + ROW) * layer.width + corner.column + COLUMN;
        let slot = &mut to[(corner.vector + VECTOR) * cells + cell];
        let sum = sums[ROW][COLUMN][VECTOR].to_array();
        *slot = match finish {
            Finish::Plain => sum,
            Finish::Relu => sum.map(relu),
            Finish::SkipRelu => from_fn(|lane| relu(sum[lane] + slot[lane])),
        };
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A linear congruential generator.
    struct Random(u64);

    impl Random {
        fn floats(&mut self, len: usize, scale: f32) -> Vec<f32> {
            let mut next = || {
                self.0 =
                    self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                ((self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0) * scale
            };
            (0..len).map(|_| next()).collect()
        }

        fn conv(&mut self, inputs: usize, outputs: usize, kernel: usize) -> Conv {
            let fan_in = inputs * kernel * kernel;
            let weight = self.floats(fan_in * outputs, (3.0 / fan_in as f32).sqrt());
            Conv { inputs, outputs, kernel, weight, bias: self.floats(outputs, 0.3) }
        }

        fn linear(&mut self, inputs: usize, outputs: usize) -> Linear {
            let weight = self.floats(inputs * outputs, (3.0 / inputs as f32).sqrt());
            Linear { inputs, outputs, weight, bias: self.floats(outputs, 0.3) }
        }

        /// `[planes, height, width, actions, filters, blocks]`.
        fn weights(&mut self, [planes, height, width, actions, filters, blocks]: [usize; 6]) -> Weights {
            let shape = Shape { planes, height, width, actions };
            let (whole, extras) = (actions / shape.cells(), actions % shape.cells());
            Weights {
                shape,
                stem: self.conv(planes, filters, 3),
                blocks: (0..blocks)
                    .map(|_| [self.conv(filters, filters, 3), self.conv(filters, filters, 3)])
                    .collect(),
                policy_hidden: self.conv(filters, filters, 1),
                policy_planes: (whole > 0).then(|| self.conv(filters, whole, 1)),
                policy_extras: (extras > 0)
                    .then(|| (self.conv(filters, 2, 1), self.linear(2 * shape.cells(), extras))),
                value_conv: self.conv(filters, 4, 1),
                value_hidden: self.linear(4 * shape.cells(), 20),
                value_out: self.linear(20, 3),
            }
        }
    }

    const NETS: &[[usize; 6]] = &[
        [2, 3, 3, 9, 16, 1],
        [3, 6, 7, 7, 24, 1],
        [18, 8, 8, 256, 32, 1],
        [18, 10, 10, 1201, 24, 3],
        [17, 9, 9, 82, 5, 0],
        [1, 5, 4, 45, 33, 1],
        [2, 4, 3, 24, 70, 1],
        [2, 2, 2, 5, 3, 1],
        [3, 1, 1, 1, 8, 1],
        [2, 3, 23, 69, 40, 1],
        [2, 11, 11, 122, 8, 1],
        [2, 7, 6, 50, 7, 1],
        [2, 1, 5, 5, 20, 1],
        [2, 6, 1, 6, 20, 1],
    ];

    fn naive_conv(conv: &Conv, shape: Shape, x: &[f64]) -> Vec<f64> {
        let (h, w, k) = (shape.height as isize, shape.width as isize, conv.kernel as isize);
        let pixel = |o: usize, row: isize, column: isize| {
            let mut sum = f64::from(conv.bias[o]);
            for (i, down, right) in
                (0..conv.inputs).flat_map(|i| (0..k * k).map(move |tap| (i, tap / k, tap % k)))
            {
                let (y, x_) = (row + down - k / 2, column + right - k / 2);
                if (0..h).contains(&y) && (0..w).contains(&x_) {
                    let weight =
                        conv.weight[(o * conv.inputs + i) * (k * k) as usize + (down * k + right) as usize];
                    sum += f64::from(weight) * x[i * shape.cells() + (y * w + x_) as usize];
                }
            }
            sum
        };
        (0..conv.outputs).flat_map(|o| (0..h * w).map(move |cell| pixel(o, cell / w, cell % w))).collect()
    }

    fn naive_linear(linear: &Linear, x: &[f64]) -> Vec<f64> {
        let weight = |i: usize, o: usize| f64::from(linear.weight[i * linear.outputs + o]);
        (0..linear.outputs)
            .map(|o| {
                f64::from(linear.bias[o]) + x.iter().enumerate().map(|(i, x)| x * weight(i, o)).sum::<f64>()
            })
            .collect()
    }

    fn naive_net(weights: &Weights, planes: &[f32]) -> (Vec<f64>, Vec<f64>) {
        let relu = |x: Vec<f64>| x.into_iter().map(|x| x.max(0.0)).collect::<Vec<_>>();
        let conv = |conv: &Conv, x: &[f64]| naive_conv(conv, weights.shape, x);
        let planes: Vec<f64> = planes.iter().copied().map(f64::from).collect();
        let mut x = relu(conv(&weights.stem, &planes));
        for [a, b] in &weights.blocks {
            let y = conv(b, &relu(conv(a, &x)));
            x = relu(x.iter().zip(&y).map(|(x, y)| x + y).collect());
        }
        let p = relu(conv(&weights.policy_hidden, &x));
        let mut policy = weights.policy_planes.as_ref().map_or(Vec::new(), |layer| conv(layer, &p));
        if let Some((layer, linear)) = &weights.policy_extras {
            policy.extend(naive_linear(linear, &relu(conv(layer, &p))));
        }
        let hidden = relu(naive_linear(&weights.value_hidden, &relu(conv(&weights.value_conv, &x))));
        (policy, naive_linear(&weights.value_out, &hidden))
    }

    fn assert_close(got: &[f32], want: &[f64], what: &str) {
        assert_eq!(got.len(), want.len(), "{what}");
        let scale = want.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        for (i, (&got, want)) in got.iter().zip(want).enumerate() {
            assert!((f64::from(got) - want).abs() <= 1e-4 * scale, "{what} {i}: {got} for {want}");
        }
    }

    #[test]
    fn every_instruction_set_agrees_with_the_formula() {
        for (seed, &net) in NETS.iter().enumerate() {
            let random = &mut Random(seed as u64);
            let weights = random.weights(net);
            let positions = [1.0, 3.0].map(|scale| random.floats(weights.shape.input_len(), scale));
            let expected = positions.each_ref().map(|planes| naive_net(&weights, planes));
            for &isa in Isa::ALL.iter().filter(|isa| isa.is_here()) {
                let cpu = CpuNet::with_isa(&weights, isa);
                let mut scratch = cpu.scratch();
                for buffer in [&mut scratch.x, &mut scratch.y, &mut scratch.z] {
                    buffer.as_mut().fill(f32::NAN);
                }
                for (planes, (policy, wdl)) in positions.iter().zip(&expected) {
                    let (mut p, mut v) = (vec![f32::NAN; weights.shape.actions], [f32::NAN; 3]);
                    cpu.forward(&mut scratch, planes, &mut p, &mut v);
                    assert_close(&p, policy, &format!("{isa:?} {net:?} policy"));
                    assert_close(&v, wdl, &format!("{isa:?} {net:?} wdl"));
                }
            }
        }
    }

    #[test]
    fn a_batch_equals_its_rows_bit_for_bit() {
        let random = &mut Random(9);
        let weights = random.weights([4, 6, 7, 50, 24, 2]);
        let planes = random.floats(5 * weights.shape.input_len(), 1.0);
        for &isa in Isa::ALL.iter().filter(|isa| isa.is_here()) {
            let cpu = CpuNet::with_isa(&weights, isa);
            let (mut policy, mut wdl) = (vec![0.0; 5 * 50], vec![0.0; 5 * 3]);
            cpu.forward(&mut cpu.scratch(), &planes, &mut policy, &mut wdl);
            for (i, row) in planes.chunks(weights.shape.input_len()).enumerate() {
                let (mut p, mut v) = (vec![0.0; 50], vec![0.0; 3]);
                cpu.forward(&mut cpu.scratch(), row, &mut p, &mut v);
                assert_eq!((&p[..], &v[..]), (&policy[i * 50..][..50], &wdl[i * 3..][..3]));
            }
        }
    }

    #[test]
    fn a_broken_network_is_noticed() {
        let random = &mut Random(1);
        let mut weights = random.weights([2, 3, 3, 9, 4, 1]);
        weights.stem.bias[0] = f32::NAN;
        let cpu = CpuNet::new(&weights);
        let mut wdl = [0.0; 3];
        cpu.forward(&mut cpu.scratch(), &[0.0; 18], &mut [0.0; 9], &mut wdl);
        assert!(wdl.iter().all(|x| x.is_nan()));
    }

    #[test]
    fn one_network_serves_many_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<CpuNet>();
    }
}
