//! The heads: layers that read each square of a board separately, or all squares at once, applied step by step.
//!
//! The first step of a head reads the tower's padded boards. Every other step reads the rows that the step before it
//! wrote: `[position, square, channel]`, or `[position, channel]` after a linear layer, padded to whole cache lines.
//! Each step has its own buffer.

use super::matrix::{Finish, Matrix, MatrixRows};
use super::products::Packing;
use super::tiling::PaddedBoard;
use crate::encode::Shape;
use crate::net::kernels::direct::{ConvOutputs, Direct, Interleaved};
use crate::net::kernels::vector::{Aligned, BLOCK};
use crate::net::kernels::{Configured, Tiles};
use crate::net::layers::{Conv, Layer, Linear};
use crate::net::weights::{Numbers, Weights};

/// The input of a step.
#[derive(Clone, Copy)]
pub(super) enum HeadInput {
    /// Padded boards with `stride` floats per square.
    Boards { stride: usize },
    /// [`Interleaved`] boards of the tower's features.
    Interleaved(Tiles),
    /// `count` rows per position with `stride` floats each.
    Rows { count: usize, stride: usize },
}

/// The layout of the positions that pass through the layers together, and the tile registers prepared for them.
pub(super) struct HeadPlace {
    pub(super) layout: Interleaved,
    /// Tile registers, if the network uses them.
    pub(super) configured: Option<Configured>,
}

impl HeadPlace {
    /// Returns the registers of a network that uses them.
    pub(super) fn configured(&self) -> &Configured {
        self.configured.as_ref().expect("the tower has configured them")
    }
}

/// A list of layers, packed.
pub(super) struct Head {
    steps: Vec<HeadStep>,
    /// The outputs of the last step.
    pub(super) end: HeadInput,
}

struct HeadStep {
    work: StepWork,
    /// The number of rows that the step writes per position, and of floats in each row.
    count: usize,
    stride: usize,
}

enum StepWork {
    /// A 1x1 convolution of padded boards with `stride` floats per square.
    Boards { layer: Dense, finish: Finish, stride: usize },
    /// A convolution of interleaved boards.
    Interleaved { layer: Direct, finish: Finish },
    /// A layer that reads one row of `width` floats for each row that it writes.
    Rows { layer: Dense, finish: Finish, width: usize },
    /// Means and maxima of `channels` channels over `squares` rows of `width` floats.
    Pool { channels: usize, squares: usize, width: usize },
}

/// A layer over all channels of some squares: a 1x1 convolution reads one square, and a linear layer reads all squares.
pub(super) struct Dense {
    matrix: Matrix,
    /// Floats from the start of a row to each square.
    taps: Vec<usize>,
    /// Weights of a 1x1 convolution for single outputs: `[outputs, input stride]`.
    by_output: Vec<f32>,
}

impl Head {
    /// Packs `layers`, the first of which reads `from`.
    pub(super) fn new(layers: &[Layer], weights: &Weights, packing: Packing, from: HeadInput) -> Head {
        let Shape { height, width, .. } = weights.layers.shape;
        let (board, cells) = (PaddedBoard { height, width }, height * width);
        let (mut end, mut steps, mut channels) = (from, Vec::new(), 0);
        for layer in layers {
            let step = match (layer, end) {
                (Layer::Conv(conv), HeadInput::Interleaved(tiles)) => {
                    channels = conv.outputs;
                    let Numbers { weight, bias } = weights.of(&conv.name);
                    let sizes = [conv.inputs, conv.outputs, conv.kernel];
                    let layer = Direct::new(sizes, (weight, bias), board, tiles);
                    let work = StepWork::Interleaved { layer, finish: Finish::of(conv.relu) };
                    HeadStep { work, count: cells, stride: channels.next_multiple_of(BLOCK) }
                }
                (Layer::Conv(conv), from) => {
                    channels = conv.outputs;
                    let layer = Dense::conv(conv, weights.of(&conv.name), packing);
                    let (finish, written) = (Finish::of(conv.relu), layer.stride());
                    let work = match from {
                        HeadInput::Boards { stride } => StepWork::Boards { layer, finish, stride },
                        HeadInput::Rows { stride, .. } => StepWork::Rows { layer, finish, width: stride },
                        HeadInput::Interleaved(_) => unreachable!("multiplied by tiles"),
                    };
                    HeadStep { work, count: cells, stride: written }
                }
                // the next layer reads all rows of a position
                (Layer::Flatten, _) => continue,
                (Layer::Pool, HeadInput::Rows { count: squares, stride: width }) => {
                    let work = StepWork::Pool { channels, squares, width };
                    HeadStep { work, count: 1, stride: (2 * channels).next_multiple_of(BLOCK) }
                }
                (Layer::Linear(linear), HeadInput::Rows { count, stride }) => {
                    let layer = Dense::linear(linear, weights.of(&linear.name), [count, stride], packing);
                    let (finish, written) = (Finish::of(linear.relu), layer.stride());
                    let work = StepWork::Rows { layer, finish, width: count * stride };
                    HeadStep { work, count: 1, stride: written }
                }
                (
                    Layer::Ones | Layer::Block { .. } | Layer::Global(_) | Layer::Pool | Layer::Linear(_),
                    _,
                ) => panic!("unsupported layer in a head: {layer:?}"),
            };
            end = HeadInput::Rows { count: step.count, stride: step.stride };
            steps.push(step);
        }
        Head { steps, end }
    }

    /// Returns the buffers of the head's steps for a group of positions.
    pub(super) fn buffers(&self, positions: usize) -> Vec<Aligned> {
        self.steps.iter().map(|step| Aligned::new(positions * step.count * step.stride)).collect()
    }

    /// Applies the steps to the positions in `from`, and returns what the last step wrote.
    pub(super) fn apply<'a>(
        &self,
        place: &HeadPlace,
        from: &'a Aligned,
        buffers: &'a mut [Aligned],
    ) -> &'a Aligned {
        assert_eq!(buffers.len(), self.steps.len(), "the scratch belongs to another network");
        let mut from = from;
        for (step, to) in self.steps.iter().zip(buffers) {
            step.apply(place, from, to);
            from = to;
        }
        from
    }

    /// Returns the floats of each row that the last step writes.
    pub(super) fn stride(&self) -> usize {
        match self.end {
            HeadInput::Boards { stride } | HeadInput::Rows { stride, .. } => stride,
            HeadInput::Interleaved(_) => unreachable!("a head has steps"),
        }
    }
}

impl HeadStep {
    fn apply(&self, place: &HeadPlace, from: &Aligned, to: &mut Aligned) {
        let Interleaved { board, positions } = place.layout;
        match &self.work {
            StepWork::Interleaved { layer, finish } => {
                let (from, to) = (from.as_ref(), to.as_mut());
                layer.apply(place.layout, place.configured(), from, to, ConvOutputs::Rows, *finish);
            }
            StepWork::Boards { layer, finish, stride } => {
                layer.on_boards((board, positions), (from, *stride), to, *finish);
            }
            StepWork::Rows { layer, finish, width } => {
                layer.on_rows(positions * self.count, from, *width, to, *finish);
            }
            &StepWork::Pool { channels, squares, width } => {
                let (read, written) = (positions * squares * width, positions * self.stride);
                let (from, to) = (from.as_ref().get(..read), to.as_mut().get_mut(..written));
                let (from, to) = from.zip(to).expect("the scratch belongs to another network");
                let rows = to.chunks_exact_mut(self.stride);
                rows.zip(from.chunks_exact(squares * width))
                    .for_each(|(row, from)| pool(channels, from.chunks_exact(width), row));
            }
        }
    }
}

/// Writes the mean of each channel over these squares, then the maximum of each channel.
fn pool<'a>(channels: usize, squares: impl Iterator<Item = &'a [f32]>, row: &mut [f32]) {
    let (means, maxima) = row[..2 * channels].split_at_mut(channels);
    means.fill(0.0);
    maxima.fill(f32::NEG_INFINITY);
    let mut count = 0;
    for square in squares {
        count += 1;
        for ((mean, maximum), &number) in means.iter_mut().zip(&mut *maxima).zip(square) {
            *mean += number;
            *maximum = maximum.max(number);
        }
    }
    means.iter_mut().for_each(|mean| *mean /= count as f32);
}

/// A packed [`Layer::Global`], which changes boards in place.
pub(super) struct Global {
    layer: Dense,
    channels: usize,
    /// Floats of a pooled row.
    width: usize,
}

impl Global {
    pub(super) fn new(linear: &Linear, numbers: &Numbers, packing: Packing) -> Global {
        let width = linear.inputs.next_multiple_of(BLOCK);
        let layer = Dense::linear(linear, numbers, [1, width], packing);
        Global { layer, channels: linear.outputs, width }
    }

    /// Returns buffers for `positions` pooled rows and for the values added to their squares.
    pub(super) fn buffers(&self, positions: usize) -> [Aligned; 2] {
        [self.width, self.layer.stride()].map(|floats| Aligned::new(positions * floats))
    }

    /// Changes padded boards with `stride` floats per square; their borders stay as they are.
    pub(super) fn apply(
        &self,
        (board, positions): (PaddedBoard, usize),
        (boards, stride): (&mut Aligned, usize),
        buffers: &mut [Aligned; 2],
    ) {
        let (size, width) = (board.padded() * stride, board.width * stride);
        let lines = || (0..board.height).map(|row| board.padded_square(row, 0) * stride);
        let boards = &mut boards.as_mut()[..positions * size];
        for (position, squares) in boards.chunks_exact(size).enumerate() {
            let squares = lines().flat_map(|at| squares[at..][..width].chunks_exact(stride));
            self.pool(position, squares, buffers);
        }
        for (squares, added) in boards.chunks_exact_mut(size).zip(self.added(positions, buffers)) {
            for at in lines() {
                for square in squares[at..][..width].chunks_exact_mut(stride) {
                    let changed = square[..self.channels].iter_mut().zip(added);
                    changed.for_each(|(x, added)| *x = Global::change(*x, *added));
                }
            }
        }
    }

    /// Pools the squares of a position.
    pub(super) fn pool<'a>(
        &self,
        position: usize,
        squares: impl Iterator<Item = &'a [f32]>,
        [pooled, _]: &mut [Aligned; 2],
    ) {
        pool(self.channels, squares, &mut pooled.as_mut()[position * self.width..][..self.width]);
    }

    /// Returns the values to add to all squares of each pooled position.
    pub(super) fn added<'a>(
        &self,
        positions: usize,
        [pooled, added]: &'a mut [Aligned; 2],
    ) -> impl Iterator<Item = &'a [f32]> {
        self.layer.on_rows(positions, pooled, self.width, added, Finish::of(false));
        added.as_ref().chunks_exact(self.layer.stride()).take(positions)
    }

    /// Returns the number of a square after the addition and the ReLU; NaN stays.
    pub(super) fn change(x: f32, added: f32) -> f32 {
        if x + added < 0.0 { 0.0 } else { x + added }
    }
}

impl Dense {
    pub(super) fn conv(conv: &Conv, numbers: &Numbers, packing: Packing) -> Dense {
        let &Conv { inputs, outputs, kernel, .. } = conv;
        let Numbers { weight, bias } = numbers;
        assert_eq!((kernel, weight.len()), (1, outputs * inputs), "weights of a 1x1 convolution");
        let stride = inputs.next_multiple_of(BLOCK);
        let mut by_output = vec![0.0; outputs * stride];
        for (row, weight) in by_output.chunks_exact_mut(stride).zip(weight.chunks_exact(inputs)) {
            row[..inputs].copy_from_slice(weight);
        }
        let weight = |[_, _, input, output]: [usize; 4]| weight[output * inputs + input];
        Dense { matrix: Matrix::new(packing, [1, 1, inputs], bias, weight), taps: vec![0], by_output }
    }

    /// Packs a linear layer. `linear` reads `[channel, square]`, while the layer before it writes
    /// `[square, channel]`: `squares` squares of `stride` floats each.
    fn linear(linear: &Linear, numbers: &Numbers, [squares, stride]: [usize; 2], packing: Packing) -> Dense {
        let &Linear { inputs, outputs, .. } = linear;
        let Numbers { weight, bias } = numbers;
        assert_eq!(weight.len(), inputs * outputs, "weights of a linear layer");
        let weight = |[_, square, channel, output]: [usize; 4]| {
            weight[(channel * squares + square) * outputs + output]
        };
        let matrix = Matrix::new(packing, [1, squares, inputs / squares], bias, weight);
        let taps = (0..squares).map(|square| square * stride).collect();
        Dense { matrix, taps, by_output: Vec::new() }
    }

    /// Returns the floats per row of outputs.
    fn stride(&self) -> usize {
        self.matrix.stride()
    }

    /// Applies a 1x1 convolution to the squares of padded boards, without the border.
    fn on_boards(
        &self,
        (board, positions): (PaddedBoard, usize),
        (from, from_stride): (&Aligned, usize),
        to: &mut Aligned,
        finish: Finish,
    ) {
        let (PaddedBoard { height, width }, to_stride) = (board, self.stride());
        let (read, written) =
            (positions * board.padded() * from_stride, positions * height * width * to_stride);
        assert!(
            from.as_ref().len() >= read && to.as_ref().len() >= written,
            "the scratch belongs to another network"
        );
        for (position, row) in (0..positions).flat_map(|position| (0..height).map(move |row| (position, row)))
        {
            let square = position * board.padded() + board.padded_square(row, 0);
            let rows = MatrixRows {
                count: width,
                from: from.as_ref()[square * from_stride..].as_ptr().cast(),
                from_stride,
                taps: &self.taps,
                to: to.as_mut()[(position * height + row) * width * to_stride..].as_mut_ptr(),
                to_stride,
            };
            // SAFETY: asserted above; the row is on a padded board.
            unsafe { self.matrix.multiply(0, rows, finish) };
        }
    }

    /// Applies the layer to `count` rows of `stride` floats.
    fn on_rows(&self, count: usize, from: &Aligned, stride: usize, to: &mut Aligned, finish: Finish) {
        let (read, written) = (count * stride, count * self.stride());
        assert!(
            from.as_ref().len() >= read && to.as_ref().len() >= written,
            "the scratch belongs to another network"
        );
        let rows = MatrixRows {
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

    /// Returns one output of one row of a 1x1 convolution; its sums use the same number of lanes with any instruction
    /// set.
    pub(super) fn single(&self, row: &[f32], output: usize) -> f32 {
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
