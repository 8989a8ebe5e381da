//! A forward pass for CPUs: the whole network for one group of positions at a time, in f32 or bf16.
//!
//! [`CpuNet`] packs [`Weights`] once, in the order in which the inner loop reads them, and is then shared between
//! threads; each thread owns a [`Scratch`]. `conv` holds the 3x3 convolutions of the tower (`tiling` and `winograd` are
//! its parts), `head` the layers after it, `matrix` the loop behind every layer, `vector` the registers. Activations are
//! stored channels last; bias, skip connection and ReLU need no pass of their own, and only the requested policy logits
//! are computed. The code is compiled for several instruction sets and uses the widest available. A result does not
//! depend on batch, thread or run; between instruction sets it may differ in its last bits. In bf16 the operands of the
//! tower's products have 16 bits; sums and everything else have 32.

#![allow(unsafe_code)]

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

mod conv;
mod head;
mod matrix;
mod products;
#[cfg(test)]
mod tests;
mod tiling;
mod winograd;

use self::conv::{Conv3, Transformed};
use self::head::{Dense, Global, Head, Source};
use self::matrix::Finish;
use self::products::Packing;
use self::tiling::Board;
use super::layers::{Conv, Layer};
use super::vector::{Aligned, Isa};
use super::weights::Weights;
use crate::config::Precision;
use crate::encode::Shape;

/// Bytes that a group of positions may use between the stages of a convolution: part of an L2 cache, which also holds
/// its matrices and boards.
const GROUP_BYTES: usize = 192 << 10;
/// Maximum number of positions in a group.
const MAX_GROUP: usize = 32;

/// A network packed for this CPU, read-only.
pub struct CpuNet {
    shape: Shape,
    board: Board,
    /// Positions that pass through the layers together.
    group: usize,
    /// Whether a plane of ones follows the planes of the input.
    ones: bool,
    tower: Vec<Stage>,
    policy: Head,
    logits: Vec<Logits>,
    value: Head,
}

/// A convolution of the tower. It reads what the one before wrote into one of two buffers and writes into the other,
/// where the second of a block finds what the first read.
struct Stage {
    conv: Conv3,
    finish: Finish,
    /// Changes what the convolution wrote.
    global: Option<Global>,
}

/// A part of the policy's logits.
enum Logits {
    /// A plane for each of the kinds of actions on squares: only wanted logits are computed.
    Planes(Dense, usize),
    /// So many numbers.
    Row(Head, usize),
}

debug_fields!(CpuNet, shape, group);

/// The buffers of one thread, so that [`CpuNet::forward`] does not allocate.
pub struct Scratch {
    /// Padded boards, `[position, padded row, padded column, channel]`.
    input: Aligned,
    /// The same for the two activations that alternate in the tower.
    tower: [Aligned; 2],
    between: Transformed,
    /// For each stage of the tower with a [`Global`].
    globals: Vec<[Aligned; 2]>,
    /// One buffer for each step of the heads.
    policy: Vec<Aligned>,
    logits: Vec<Vec<Aligned>>,
    value: Vec<Aligned>,
}

debug_fields!(Scratch,);

/// The requested policy logits: the actions of all positions, concatenated.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Actions.
    pub actions: &'a [u16],
    /// For each position, the end of its actions in `actions`.
    pub ends: &'a [usize],
}

impl CpuNet {
    /// The precisions for which this CPU has the instructions, f32 first.
    pub fn precisions() -> &'static [Precision] {
        if Isa::has_bf16() { &[Precision::F32, Precision::Bf16] } else { &[Precision::F32] }
    }

    /// Whether this CPU has the instructions for `precision`, which must be a named one.
    pub fn has(precision: Precision) -> bool {
        CpuNet::precisions().contains(&precision)
    }

    /// Packs `weights` for the widest vectors of this CPU; `None` if it lacks the precision.
    pub fn new(weights: &Weights, precision: Precision) -> Option<CpuNet> {
        CpuNet::has(precision).then(|| CpuNet::with_isa(weights, Isa::widest(), precision))
    }

    fn with_isa(weights: &Weights, isa: Isa, precision: Precision) -> CpuNet {
        weights.check();
        let shape = weights.layers.shape;
        let board = Board { height: shape.height, width: shape.width };
        let (plain, products) = (Packing::new(isa, Precision::F32), Packing::new(isa, precision));
        let tower = tower(weights, board, [plain, products]);
        let stride = tower[0].conv.stride();
        assert!(tower.iter().all(|stage| stage.conv.stride() == stride), "a tower of one width");
        let bytes = tower.iter().map(|stage| stage.conv.transformed_bytes()).max();
        let features = Source::Boards { stride };
        let policy = Head::new(&weights.layers.policy, weights, plain, features);
        let logits = |layers: &Vec<Layer>| Logits::new(layers, weights, plain, policy.end);
        CpuNet {
            shape,
            board,
            ones: weights.layers.tower.first() == Some(&Layer::Ones),
            group: (GROUP_BYTES / bytes.unwrap_or(1)).clamp(1, MAX_GROUP),
            logits: weights.layers.logits.iter().map(logits).collect(),
            value: Head::new(&weights.layers.value, weights, plain, features),
            tower,
            policy,
        }
    }

    /// The sizes of input and policy.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Buffers for one thread.
    pub fn scratch(&self) -> Scratch {
        let boards = self.group * self.board.padded();
        let (first, convs) = (&self.tower[0].conv, self.tower.iter().map(|stage| &stage.conv));
        let globals = self.tower.iter().filter_map(|stage| stage.global.as_ref());
        let mut input = Aligned::new(boards * first.input_stride());
        if self.ones {
            // nothing else is ever written there
            let ones = vec![1.0; self.group * self.shape.cells()];
            write_planes(self, &ones, [1, self.shape.planes], input.as_mut());
        }
        Scratch {
            input,
            tower: [(); 2].map(|()| Aligned::new(boards * first.stride())),
            between: Conv3::transformed(convs, self.group),
            globals: globals.map(|global| global.buffers(self.group)).collect(),
            policy: self.policy.buffers(self.group),
            logits: self.logits.iter().map(|part| part.buffers(self.group)).collect(),
            value: self.value.buffers(self.group),
        }
    }

    /// Evaluates `planes` (`[n, planes, height, width]`): writes the `wanted` policy logits into `logits`, and the
    /// logits of win, draw and loss for the player to move into `wdl` (`[n, 3]`).
    ///
    /// # Panics
    /// If the lengths do not match, an action is outside this shape, or `scratch` belongs to another network.
    pub fn forward(
        &self,
        scratch: &mut Scratch,
        planes: &[f32],
        wanted: Wanted,
        logits: &mut [f32],
        wdl: &mut [f32],
    ) {
        let (input_len, batch) = (self.shape.input_len(), wanted.ends.len());
        let actions = wanted.ends.last().copied().unwrap_or(0);
        let lengths = [planes.len(), wdl.len(), wanted.actions.len(), logits.len()];
        assert_eq!(lengths, [batch * input_len, batch * 3, actions, actions], "planes, wdl, actions, logits");
        // Groups of nearly the same size.
        let groups = batch.div_ceil(self.group);
        let (mut first, mut begin) = (0, 0);
        for group in 0..groups {
            let next = batch * (group + 1) / groups;
            let ends = &wanted.ends[first..next];
            let end = ends[ends.len() - 1];
            let part = Group {
                planes: &planes[first * input_len..next * input_len],
                actions: &wanted.actions[begin..end],
                ends,
                begin,
                logits: &mut logits[begin..end],
                wdl: &mut wdl[first * 3..next * 3],
            };
            evaluate(self, scratch, part);
            (first, begin) = (next, end);
        }
    }
}

/// Packs the tower: what is not a convolution is always in f32.
fn tower(weights: &Weights, board: Board, [plain, products]: [Packing; 2]) -> Vec<Stage> {
    let stage = |conv: &Conv, finish: Finish| {
        let conv = Conv3::new(conv, weights.of(&conv.name), board, products);
        Stage { conv, finish, global: None }
    };
    let mut stages: Vec<Stage> = Vec::new();
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
            other => panic!("a tower with {other:?}"),
        }
    }
    stages
}

impl Logits {
    fn new(layers: &[Layer], weights: &Weights, packing: Packing, from: Source) -> Logits {
        let cells = weights.layers.shape.cells();
        match layers {
            [Layer::Conv(conv), Layer::Flatten] if !conv.relu => {
                Logits::Planes(Dense::conv(conv, weights.of(&conv.name), packing), conv.outputs * cells)
            }
            [.., Layer::Linear(last)] => Logits::Row(Head::new(layers, weights, packing, from), last.outputs),
            other => panic!("logits of {other:?}"),
        }
    }

    fn buffers(&self, positions: usize) -> Vec<Aligned> {
        match self {
            Logits::Planes(..) => Vec::new(),
            Logits::Row(head, _) => head.buffers(positions),
        }
    }
}

/// A group of positions, and where its results go.
struct Group<'a> {
    planes: &'a [f32],
    actions: &'a [u16],
    ends: &'a [usize],
    /// Actions before the group, as counted by `ends`.
    begin: usize,
    logits: &'a mut [f32],
    wdl: &'a mut [f32],
}

/// Evaluates a group of at most [`CpuNet::group`] positions.
fn evaluate(net: &CpuNet, scratch: &mut Scratch, group: Group) {
    let Scratch { input, tower: [x, y], between, globals, policy, logits, value } = scratch;
    let (positions, board) = (group.ends.len(), net.board);
    write_planes(net, group.planes, [net.shape.planes, 0], input.as_mut());
    let (mut x, mut y, mut globals) = (x, y, globals.iter_mut());
    for (index, Stage { conv, finish, global }) in net.tower.iter().enumerate() {
        let from = if index == 0 { &*input } else { &*x };
        conv.apply(positions, from, y, between, *finish);
        std::mem::swap(&mut x, &mut y);
        if let Some(global) = global {
            let buffers = globals.next().expect("a scratch of another network");
            global.apply((board, positions), (&mut *x, conv.stride()), buffers);
        }
    }
    let out = net.value.apply(board, positions, x, value).as_ref();
    let rows = out.chunks_exact(net.value.stride());
    group.wdl.chunks_exact_mut(3).zip(rows).for_each(|(wdl, row)| wdl.copy_from_slice(&row[..3]));
    let features = net.policy.apply(board, positions, x, policy);
    write_logits(net, features, logits, group);
}

/// `[n, count, height, width]` to the channels from `first` on of padded boards, channels last.
fn write_planes(net: &CpuNet, planes: &[f32], [count, first]: [usize; 2], input: &mut [f32]) {
    let Shape { height, width, .. } = net.shape;
    let (board, stride) = (net.board, net.tower[0].conv.input_stride());
    let boards = input.chunks_exact_mut(board.padded() * stride);
    for (planes, input) in planes.chunks_exact(count * net.shape.cells()).zip(boards) {
        for (channel, plane) in (first..).zip(planes.chunks_exact(height * width)) {
            for (row, line) in plane.chunks_exact(width).enumerate() {
                let slots =
                    input[board.padded_square(row, 0) * stride + channel..].iter_mut().step_by(stride);
                slots.zip(line).for_each(|(slot, &number)| *slot = number);
            }
        }
    }
}

/// Computes the wanted logits from the features of the policy.
fn write_logits(net: &CpuNet, features: &Aligned, buffers: &mut [Vec<Aligned>], group: Group) {
    let (positions, cells, stride) = (group.ends.len(), net.shape.cells(), net.policy.stride());
    assert_eq!(buffers.len(), net.logits.len(), "a scratch of another network");
    for (part, buffers) in net.logits.iter().zip(&mut *buffers) {
        if let Logits::Row(head, _) = part {
            head.apply(net.board, positions, features, buffers);
        }
    }
    let logit = |position: usize, action: u16| {
        let mut index = action as usize;
        for (part, buffers) in net.logits.iter().zip(&*buffers) {
            match part {
                Logits::Planes(conv, count) if index < *count => {
                    let square = position * cells + index % cells;
                    return conv.single(&features.as_ref()[square * stride..][..stride], index / cells);
                }
                Logits::Row(head, count) if index < *count => {
                    return buffers[buffers.len() - 1].as_ref()[position * head.stride() + index];
                }
                Logits::Planes(_, count) | Logits::Row(_, count) => index -= count,
            }
        }
        panic!("action {action} is outside the {} of this network", net.shape.actions)
    };
    let mut begin = group.begin;
    for (position, &end) in group.ends.iter().enumerate() {
        let range = begin - group.begin..end - group.begin;
        for (&action, slot) in group.actions[range.clone()].iter().zip(&mut group.logits[range]) {
            *slot = logit(position, action);
        }
        begin = end;
    }
}
