//! A forward pass for CPUs: the whole network for one group of positions at a time, in f32 or bf16.
//!
//! [`CpuNet`] packs [`Weights`] once, in the order in which the inner loop reads them, and is then shared between
//! threads; each thread owns a [`Scratch`]. `conv` holds the 3x3 convolutions of the tower (direct or Winograd),
//! `matrix` the loop behind every layer, `vector` the registers. Activations are stored channels last; bias, skip
//! connection and ReLU need no pass of their own, and only the requested policy logits are computed. The code is
//! compiled for several instruction sets and uses the widest available. A result does not depend on batch, thread or
//! run; between instruction sets it may differ in its last bits. In bf16 the operands of the tower's products have 16
//! bits; sums and everything else have 32.

#![allow(unsafe_code)]

mod conv;
mod matrix;
mod products;
#[cfg(test)]
mod tests;

use self::conv::{Board, Conv3, Transformed};
use self::matrix::{Finish, Matrix, Rows};
use self::products::Packing;
use super::vector::{Aligned, BLOCK, Isa};
use super::weights::{Conv, Linear, Weights};
use crate::config::Precision;
use crate::encode::Shape;

/// Bytes that a group of positions may use between the stages of a convolution: part of an L2 cache.
const GROUP_BYTES: usize = 192 << 10;
/// Maximum number of positions in a group.
const MAX_GROUP: usize = 32;

/// A network packed for this CPU, read-only.
pub struct CpuNet {
    shape: Shape,
    board: Board,
    /// Positions that pass through the layers together.
    group: usize,
    stem: Conv3,
    blocks: Vec<[Conv3; 2]>,
    policy_hidden: Dense,
    policy_planes: Option<Dense>,
    policy_extras: Option<[Dense; 2]>,
    value_conv: Dense,
    value_hidden: Dense,
    value_out: Dense,
}

debug_fields!(CpuNet, shape, group);

/// The buffers of one thread, so that [`CpuNet::forward`] does not allocate.
pub struct Scratch {
    /// Padded boards, `[position, padded row, padded column, channel]`.
    input: Aligned,
    /// The same for the two activations that alternate in the tower.
    tower: [Aligned; 2],
    between: Transformed,
    /// `[position, square, channel]`.
    policy: Aligned,
    /// The few planes of a head: `[position, square, channel]`.
    planes: Aligned,
    /// Outputs of linear layers: `[position, channel]`.
    hidden: Aligned,
    out: Aligned,
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
    /// Whether this CPU has the instructions for `precision`.
    pub fn has(precision: Precision) -> bool {
        precision == Precision::F32 || Isa::has_bf16()
    }

    /// Packs `weights` for the widest vectors of this CPU; `None` if it lacks the precision.
    pub fn new(weights: &Weights, precision: Precision) -> Option<CpuNet> {
        CpuNet::has(precision).then(|| CpuNet::with_isa(weights, Isa::widest(), precision))
    }

    fn with_isa(weights: &Weights, isa: Isa, precision: Precision) -> CpuNet {
        check(weights);
        let shape = weights.shape;
        let (cells, board) = (shape.cells(), Board { height: shape.height, width: shape.width });
        let (plain, tower) = (Packing::new(isa, Precision::F32), Packing::new(isa, precision));
        let conv3 = |conv: &Conv| Conv3::new(conv, board, plain, tower);
        let conv = |conv: &Conv| Dense::conv(conv, plain);
        let linear = |linear: &Linear, from: &Dense, cells: usize| Dense::linear(linear, from, cells, plain);
        let stem = conv3(&weights.stem);
        let blocks: Vec<_> = weights.blocks.iter().map(|[a, b]| [conv3(a), conv3(b)]).collect();
        let bytes = blocks.iter().flatten().chain([&stem]).map(|conv| conv.transformed_bytes(board)).max();
        let value_conv = conv(&weights.value_conv);
        let value_hidden = linear(&weights.value_hidden, &value_conv, cells);
        CpuNet {
            shape,
            board,
            group: (GROUP_BYTES / bytes.unwrap_or(1)).clamp(1, MAX_GROUP),
            stem,
            blocks,
            policy_hidden: conv(&weights.policy_hidden),
            policy_planes: weights.policy_planes.as_ref().map(conv),
            policy_extras: weights.policy_extras.as_ref().map(|(c, l)| {
                let conv = conv(c);
                let linear = linear(l, &conv, cells);
                [conv, linear]
            }),
            value_out: linear(&weights.value_out, &value_hidden, 1),
            value_conv,
            value_hidden,
        }
    }

    /// Buffers for one thread.
    pub fn scratch(&self) -> Scratch {
        let convs = self.blocks.iter().flatten().chain([&self.stem]);
        let (boards, squares) = (self.group * self.board.padded(), self.group * self.shape.cells());
        let extras = self.policy_extras.as_ref();
        let few = self.value_conv.stride().max(extras.map_or(0, |[conv, _]| conv.stride()));
        let out = self.value_out.stride().max(extras.map_or(0, |[_, linear]| linear.stride()));
        Scratch {
            input: Aligned::new(boards * self.stem.input_stride()),
            tower: [(); 2].map(|()| Aligned::new(boards * self.stem.stride())),
            between: Conv3::transformed(convs, self.board, self.group),
            policy: Aligned::new(squares * self.policy_hidden.stride()),
            planes: Aligned::new(squares * few),
            hidden: Aligned::new(self.group * self.value_hidden.stride()),
            out: Aligned::new(self.group * out),
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

/// Asserts that the layers match each other; the kernels rely on it.
fn check(weights: &Weights) {
    let (shape, filters, cells) = (weights.shape, weights.stem.outputs, weights.shape.cells());
    let conv = |conv: &Conv, inputs: usize, outputs: usize| {
        assert_eq!((conv.inputs, conv.outputs, conv.bias.len()), (inputs, outputs, outputs), "a convolution");
    };
    let linear = |linear: &Linear, inputs: usize, outputs: usize| {
        let sizes = (linear.inputs, linear.outputs, linear.bias.len());
        assert_eq!(sizes, (inputs, outputs, outputs), "a linear layer");
    };
    conv(&weights.stem, shape.planes, filters);
    weights.blocks.iter().flatten().for_each(|block| conv(block, filters, filters));
    conv(&weights.policy_hidden, filters, weights.policy_hidden.outputs);
    let features = weights.policy_hidden.outputs;
    if let Some(planes) = &weights.policy_planes {
        conv(planes, features, shape.actions / cells);
    }
    if let Some((planes, extras)) = &weights.policy_extras {
        conv(planes, features, planes.outputs);
        linear(extras, planes.outputs * cells, shape.actions % cells);
    }
    conv(&weights.value_conv, filters, weights.value_conv.outputs);
    linear(&weights.value_hidden, weights.value_conv.outputs * cells, weights.value_hidden.outputs);
    linear(&weights.value_out, weights.value_hidden.outputs, 3);
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

/// A layer over all channels of some squares: a 1x1 convolution takes one square, a linear layer all.
struct Dense {
    matrix: Matrix,
    /// Floats from the start of a row to each square.
    taps: Vec<usize>,
    /// Weights of a 1x1 convolution for single outputs: `[outputs, input stride]`.
    by_output: Vec<f32>,
}

impl Dense {
    fn conv(conv: &Conv, packing: Packing) -> Dense {
        let &Conv { inputs, outputs, kernel, ref weight, ref bias } = conv;
        assert_eq!((kernel, weight.len()), (1, outputs * inputs), "weights of a 1x1 convolution");
        let stride = inputs.next_multiple_of(BLOCK);
        let mut by_output = vec![0.0; outputs * stride];
        for (row, weight) in by_output.chunks_exact_mut(stride).zip(weight.chunks_exact(inputs)) {
            row[..inputs].copy_from_slice(weight);
        }
        let weight = |[_, _, input, output]: [usize; 4]| weight[output * inputs + input];
        Dense { matrix: Matrix::new(packing, [1, 1, inputs], bias, weight), taps: vec![0], by_output }
    }

    /// `linear` reads `[channel, square]`, while `from` writes `[square, channel]`.
    fn linear(linear: &Linear, from: &Dense, cells: usize, packing: Packing) -> Dense {
        let &Linear { inputs, outputs, ref weight, ref bias } = linear;
        assert_eq!(weight.len(), inputs * outputs, "weights of a linear layer");
        let weight =
            |[_, square, channel, output]: [usize; 4]| weight[(channel * cells + square) * outputs + output];
        let matrix = Matrix::new(packing, [1, cells, inputs / cells], bias, weight);
        let taps = (0..cells).map(|square| square * from.stride()).collect();
        Dense { matrix, taps, by_output: Vec::new() }
    }

    /// Floats per row of outputs.
    fn stride(&self) -> usize {
        self.matrix.stride()
    }
}

/// Evaluates a group of at most [`CpuNet::group`] positions.
fn evaluate(net: &CpuNet, scratch: &mut Scratch, group: Group) {
    let Scratch { input, tower: [x, y], between, .. } = scratch;
    let (positions, board) = (group.ends.len(), net.board);
    write_planes(net, group.planes, input.as_mut());
    net.stem.apply(board, positions, input, x, between, Finish::Relu);
    for [a, b] in &net.blocks {
        a.apply(board, positions, x, y, between, Finish::Relu);
        b.apply(board, positions, y, x, between, Finish::SkipRelu);
    }
    value_head(net, scratch, group.wdl);
    policy_head(net, scratch, group);
}

/// `[n, planes, height, width]` to padded boards, channels last.
fn write_planes(net: &CpuNet, planes: &[f32], input: &mut [f32]) {
    let Shape { height, width, .. } = net.shape;
    let (board, stride) = (net.board, net.stem.input_stride());
    let boards = input.chunks_exact_mut(board.padded() * stride);
    for (planes, input) in planes.chunks_exact(net.shape.input_len()).zip(boards) {
        for (channel, plane) in planes.chunks_exact(height * width).enumerate() {
            for (row, line) in plane.chunks_exact(width).enumerate() {
                let slots =
                    input[board.padded_square(row, 0) * stride + channel..].iter_mut().step_by(stride);
                slots.zip(line).for_each(|(slot, &number)| *slot = number);
            }
        }
    }
}

fn value_head(net: &CpuNet, scratch: &mut Scratch, wdl: &mut [f32]) {
    let Scratch { tower: [x, _], planes, hidden, out, .. } = scratch;
    let (positions, cells) = (wdl.len() / 3, net.shape.cells());
    from_boards(net, &net.value_conv, positions, x, planes);
    net.value_hidden.apply(positions, planes, cells * net.value_conv.stride(), hidden, Finish::Relu);
    net.value_out.apply(positions, hidden, net.value_hidden.stride(), out, Finish::Plain);
    let rows = out.as_ref().chunks_exact(net.value_out.stride());
    wdl.chunks_exact_mut(3).zip(rows).for_each(|(wdl, row)| wdl.copy_from_slice(&row[..3]));
}

fn policy_head(net: &CpuNet, scratch: &mut Scratch, group: Group) {
    let Scratch { tower: [x, _], policy, planes, out, .. } = scratch;
    let (positions, cells) = (group.ends.len(), net.shape.cells());
    let on_board = net.shape.actions / cells * cells;
    let stride = net.policy_hidden.stride();
    from_boards(net, &net.policy_hidden, positions, x, policy);
    if let Some([conv, linear]) = &net.policy_extras {
        conv.apply(positions * cells, policy, stride, planes, Finish::Relu);
        linear.apply(positions, planes, cells * conv.stride(), out, Finish::Plain);
    }
    let mut begin = group.begin;
    for (position, &end) in group.ends.iter().enumerate() {
        let range = begin - group.begin..end - group.begin;
        for (&action, logit) in group.actions[range.clone()].iter().zip(&mut group.logits[range]) {
            let action = action as usize;
            *logit = match (&net.policy_planes, &net.policy_extras) {
                (Some(conv), _) if action < on_board => {
                    let square = position * cells + action % cells;
                    conv.single(&policy.as_ref()[square * stride..][..stride], action / cells)
                }
                (_, Some([_, linear])) if action < net.shape.actions => {
                    out.as_ref()[position * linear.stride() + action - on_board]
                }
                _ => panic!("action {action} is outside the {} of this network", net.shape.actions),
            };
        }
        begin = end;
    }
}

/// Applies a 1x1 convolution to the squares of padded boards, without the border, and ReLU.
fn from_boards(net: &CpuNet, layer: &Dense, positions: usize, from: &Aligned, to: &mut Aligned) {
    let (from_stride, to_stride) = (net.stem.stride(), layer.stride());
    let Board { height, width } = net.board;
    let (read, written) =
        (positions * net.board.padded() * from_stride, positions * height * width * to_stride);
    assert!(from.as_ref().len() >= read && to.as_ref().len() >= written, "a scratch of another network");
    for (position, row) in (0..positions).flat_map(|position| (0..height).map(move |row| (position, row))) {
        let square = position * net.board.padded() + net.board.padded_square(row, 0);
        let rows = Rows {
            count: width,
            from: from.as_ref()[square * from_stride..].as_ptr().cast(),
            from_stride,
            taps: &layer.taps,
            to: to.as_mut()[(position * height + row) * width * to_stride..].as_mut_ptr(),
            to_stride,
        };
        // SAFETY: asserted above; the row is on a padded board.
        unsafe { layer.matrix.multiply(0, rows, Finish::Relu) };
    }
}

impl Dense {
    /// Applies the layer to `count` rows of `stride` floats.
    fn apply(&self, count: usize, from: &Aligned, stride: usize, to: &mut Aligned, finish: Finish) {
        let (read, written) = (count * stride, count * self.stride());
        assert!(from.as_ref().len() >= read && to.as_ref().len() >= written, "a scratch of another network");
        let rows = Rows {
            count,
            from: from.as_ref().as_ptr().cast(),
            from_stride: stride,
            taps: &self.taps,
            to: to.as_mut().as_mut_ptr(),
            to_stride: self.stride(),
        };
        // SAFETY: asserted above; a tap and its channels are within the row.
        unsafe { self.matrix.multiply(0, rows, finish) };
    }

    /// One output of one row of a 1x1 convolution; its sums use the same number of lanes with any instruction set.
    fn single(&self, row: &[f32], output: usize) -> f32 {
        let mut lanes = [0.0; BLOCK];
        let weight = &self.by_output[output * row.len()..][..row.len()];
        for (x, weight) in row.as_chunks::<BLOCK>().0.iter().zip(weight.as_chunks::<BLOCK>().0) {
            for lane in 0..BLOCK {
                lanes[lane] += x[lane] * weight[lane];
            }
        }
        let mut half = BLOCK / 2;
        while half > 0 {
            for lane in 0..half {
                lanes[lane] += lanes[lane + half];
            }
            half /= 2;
        }
        lanes[0] + self.matrix.bias()[output]
    }
}
