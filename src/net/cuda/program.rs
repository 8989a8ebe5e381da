//! The steps that the GPU computes. Input: a network. Output: the steps of `kernel.cu` and their packed numbers.
//!
//! Two buffers of rows alternate; the second convolution of a block writes to the buffer that the first one read. The
//! value is computed before the policy, whose layers may then use both buffers. A position's other numbers, such as
//! pooled ones, are stored separately.

use super::fragments::{self, HalfFormat, NUMBERS, PAIR, STEP};
use crate::encode::Shape;
use crate::error::{Error, Result};
use crate::net::layers::{Conv, Layer, Linear};
use crate::net::weights::{Numbers, Weights};

/// Kinds of steps, as in `kernel.cu`.
pub(super) const INPUT: i32 = 0;
pub(super) const CONV: i32 = 1;
pub(super) const POOL: i32 = 2;
pub(super) const LINEAR: i32 = 3;
pub(super) const ADD: i32 = 4;
pub(super) const LOGITS: i32 = 5;

/// How many 16-bit numbers a `uint4` holds. Fragments are counted in units of `uint4`.
const PER_FRAGMENT: usize = 8;
/// Unused numbers after each row, so that the same column of different rows lies in different banks of shared memory.
const BEHIND_ROW: usize = 8;

/// `Step` in `kernel.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) kind: i32,
    pub(super) from: i32,
    pub(super) to: i32,
    pub(super) inputs: i32,
    pub(super) outputs: i32,
    pub(super) taps: i32,
    pub(super) relu: i32,
    pub(super) skip: i32,
    pub(super) lanes: i32,
    pub(super) fragments: i32,
    pub(super) weights: i32,
    pub(super) bias: i32,
    pub(super) source: i32,
    pub(super) target: i32,
}

/// A network as steps.
#[derive(Debug)]
pub(super) struct NetProgram {
    pub(super) shape: Shape,
    /// Whether a plane of ones follows the input planes.
    pub(super) ones: bool,
    pub(super) steps: Vec<Step>,
    /// The weights of convolutions, followed by as many numbers as one step reads ahead.
    pub(super) fragments: Vec<u16>,
    /// Biases, and the weights of linear layers and of logits on squares.
    pub(super) numbers: Vec<f32>,
    /// The number of outputs of a convolution is padded to a multiple of `unit`, which is 32 or 64.
    pub(super) unit: usize,
    /// The maximum number of outputs of a convolution, with padding.
    pub(super) width: usize,
    /// The length of a row of each buffer, in numbers.
    pub(super) strides: [usize; 2],
    /// The count of a position's numbers outside the buffers, such as pooled ones.
    pub(super) numbers_each: usize,
}

/// Where a layer finds the output of the layer before it.
#[derive(Clone, Copy)]
enum At {
    /// Rows of a buffer, with this many channels.
    Rows { buffer: usize, channels: usize },
    /// Rows of a buffer, flattened.
    Flat { buffer: usize, channels: usize },
    /// Numbers of a position outside the buffers, from index `source` on.
    Numbers { source: usize, count: usize },
}

/// Returns the number of lanes that share a sum of `inputs` products: a power of two, with at least about eight
/// products for each lane.
fn lanes(inputs: usize) -> usize {
    (inputs / 8).max(1).next_power_of_two().min(32)
}

struct ProgramBuilder<'a> {
    weights: &'a Weights,
    format: HalfFormat,
    program: NetProgram,
    /// The number of channels in the rows of each buffer, with padding.
    widths: [usize; 2],
}

impl NetProgram {
    /// # Errors
    /// If the program cannot compute a layer at its place; the error names the layer.
    pub(super) fn new(weights: &Weights, format: HalfFormat) -> Result<NetProgram> {
        let layers = &weights.layers;
        let ones = layers.tower.first() == Some(&Layer::Ones);
        let first = layers.tower.iter().find_map(|layer| match layer {
            Layer::Conv(conv) => Some(conv.outputs),
            _ => None,
        });
        let unit = if first.is_some_and(|channels| channels % 64 == 0) { 64 } else { 32 };
        let (shape, steps) = (layers.shape, Vec::new());
        let (fragments, numbers, strides) = (Vec::new(), Vec::new(), [0; 2]);
        let (width, numbers_each) = (unit, 0);
        let program =
            NetProgram { shape, ones, steps, fragments, numbers, unit, width, strides, numbers_each };
        let mut builder = ProgramBuilder { weights, format, program, widths: [0; 2] };
        let features = builder.tower(&layers.tower[usize::from(ones)..])?;
        builder.value(&layers.value, features)?;
        builder.policy(&layers.policy, &layers.logits, features)?;
        let ProgramBuilder { mut program, .. } = builder;
        program.fragments.resize(program.fragments.len() + program.width / PAIR * NUMBERS, 0);
        program.numbers_each = program.numbers_each.next_multiple_of(4);
        Ok(program)
    }
}

fn refused(place: &str, layer: &Layer) -> Error {
    let name = match layer.weighted().first() {
        Some(weighted) => format!("{:?} ({})", weighted.name(), kind(layer)),
        None => kind(layer).to_string(),
    };
    Error::Mismatch(format!(
        "the GPU program does not support a network with the layer {name} in its {place}"
    ))
}

fn kind(layer: &Layer) -> &'static str {
    match layer {
        Layer::Ones => "ones",
        Layer::Conv(_) => "convolution",
        Layer::Block { .. } => "block",
        Layer::Global(_) => "global pooling",
        Layer::Flatten => "flatten",
        Layer::Pool => "pool",
        Layer::Linear(_) => "linear",
    }
}

impl ProgramBuilder<'_> {
    fn cells(&self) -> usize {
        self.program.shape.cells()
    }

    fn step(&mut self, step: Step) {
        self.program.steps.push(step);
    }

    /// Reserves space for `count` numbers of a position outside the buffers, and returns the index where it begins.
    fn room(&mut self, count: usize) -> usize {
        let at = self.program.numbers_each;
        self.program.numbers_each += count;
        at
    }

    /// Appends plain numbers, aligned so that they can be read four at a time.
    fn put(&mut self, numbers: impl IntoIterator<Item = f32>) -> i32 {
        let all = &mut self.program.numbers;
        all.resize(all.len().next_multiple_of(4), 0.0);
        let at = all.len();
        all.extend(numbers);
        at as i32
    }

    fn widen(&mut self, buffer: usize, width: usize) {
        self.widths[buffer] = width;
        let stride = &mut self.program.strides[buffer];
        *stride = (*stride).max(width + BEHIND_ROW);
    }

    /// Adds a convolution that reads from `buffer` and writes into the other buffer.
    fn conv(&mut self, conv: &Conv, buffer: usize, skip: bool) -> At {
        let (to, &Conv { inputs, outputs, kernel, .. }) = (1 - buffer, conv);
        let (weights, taps) = (self.weights, kernel * kernel);
        let Numbers { weight, bias } = weights.of(&conv.name);
        let sizes = [taps, self.widths[buffer], outputs.next_multiple_of(self.program.unit)];
        let at = self.program.fragments.len() / PER_FRAGMENT;
        fragments::pack(&mut self.program.fragments, self.format, sizes, |tap, input, output| {
            let is_padding = input >= inputs || output >= outputs;
            if is_padding { 0.0 } else { weight[(output * inputs + input) * taps + tap] }
        });
        let padded = bias.iter().copied().chain(std::iter::repeat(0.0)).take(sizes[2]);
        let bias = self.put(padded);
        self.step(Step {
            kind: CONV,
            from: buffer as i32,
            to: to as i32,
            inputs: sizes[1] as i32,
            outputs: sizes[2] as i32,
            taps: taps as i32,
            relu: (conv.relu || skip).into(),
            skip: skip.into(),
            fragments: at as i32,
            bias,
            ..Step::default()
        });
        self.widen(to, sizes[2]);
        self.program.width = self.program.width.max(sizes[2]);
        At::Rows { buffer: to, channels: outputs }
    }

    fn pool(&mut self, buffer: usize, channels: usize, target: usize) {
        let (from, inputs, target) = (buffer as i32, channels as i32, target as i32);
        self.step(Step { kind: POOL, from, inputs, target, ..Step::default() });
    }

    /// Adds a linear layer with `outputs` outputs, some of which may be padding. It writes to `target` or, if `target`
    /// is `None`, to the result.
    fn linear(&mut self, linear: &Linear, at: At, outputs: usize, target: Option<usize>) {
        let weights = self.weights;
        let Numbers { weight, bias } = weights.of(&linear.name);
        let cells = self.cells();
        let (from, taps, source) = match at {
            At::Rows { buffer, channels } | At::Flat { buffer, channels } => (buffer as i32, channels, 0),
            At::Numbers { source, .. } => (-1, 0, source),
        };
        // rows are `[square, channel]`, weights `[channel, square]`
        let read = |k: usize| if from < 0 { k } else { k % taps * cells + k / taps };
        let places = (0..outputs).flat_map(|output| (0..linear.inputs).map(move |k| (output, k)));
        let packed: Vec<f32> = places
            .map(|(output, k)| {
                let is_padding = output >= linear.outputs;
                if is_padding { 0.0 } else { weight[read(k) * linear.outputs + output] }
            })
            .collect();
        let weights = self.put(packed);
        let bias = self.put(bias.iter().copied().chain(std::iter::repeat(0.0)).take(outputs));
        self.step(Step {
            kind: LINEAR,
            from,
            inputs: linear.inputs as i32,
            outputs: outputs as i32,
            taps: taps as i32,
            relu: linear.relu.into(),
            lanes: lanes(linear.inputs) as i32,
            weights,
            bias,
            source: source as i32,
            target: target.map_or(-1, |target| target as i32),
            ..Step::default()
        });
    }

    /// Adds the layers from the input to the features, and returns the buffer of the features and their number of
    /// channels.
    fn tower(&mut self, layers: &[Layer]) -> Result<(usize, usize)> {
        let (mut at, mut channels) = (1, self.program.shape.planes + usize::from(self.program.ones));
        let inputs = channels.next_multiple_of(STEP);
        self.widen(at, inputs);
        self.step(Step { kind: INPUT, to: at as i32, inputs: inputs as i32, ..Step::default() });
        let mut places = None;
        for layer in layers {
            match layer {
                Layer::Conv(conv) => {
                    self.conv(conv, at, false);
                    (at, channels) = (1 - at, conv.outputs);
                }
                Layer::Block { first, second, .. } => {
                    self.conv(first, at, false);
                    self.conv(second, 1 - at, true);
                }
                Layer::Global(linear) => {
                    // these numbers are used up once they have been added, so later layers reuse their space
                    let width = self.widths[at];
                    let &mut [pooled, added] =
                        places.get_or_insert_with(|| [self.room(2 * channels), self.room(width)]);
                    self.pool(at, channels, pooled);
                    let from = At::Numbers { source: pooled, count: 2 * channels };
                    self.linear(linear, from, width, Some(added));
                    let (to, outputs, source) = (at as i32, width as i32, added as i32);
                    self.step(Step { kind: ADD, to, outputs, source, ..Step::default() });
                }
                other => return Err(refused("tower", other)),
            }
        }
        Ok((at, channels))
    }

    fn value(&mut self, layers: &[Layer], (features, channels): (usize, usize)) -> Result<()> {
        let mut at = At::Rows { buffer: features, channels };
        for (index, layer) in layers.iter().enumerate() {
            at = match (layer, at) {
                (Layer::Conv(conv), At::Rows { buffer, .. }) if buffer == features => {
                    self.conv(conv, buffer, false)
                }
                (Layer::Pool, At::Rows { buffer, channels }) => {
                    let source = self.room(2 * channels);
                    self.pool(buffer, channels, source);
                    At::Numbers { source, count: 2 * channels }
                }
                (Layer::Flatten, At::Rows { buffer, channels }) => At::Flat { buffer, channels },
                (Layer::Linear(linear), At::Flat { .. } | At::Numbers { .. }) => {
                    let is_last = index + 1 == layers.len();
                    let target = (!is_last).then(|| self.room(linear.outputs));
                    self.linear(linear, at, linear.outputs, target);
                    At::Numbers { source: target.unwrap_or(0), count: linear.outputs }
                }
                (other, _) => return Err(refused("value", other)),
            };
        }
        match (layers.last(), at) {
            (Some(Layer::Linear(_)), At::Numbers { count: 3, .. }) => Ok(()),
            (last, _) => Err(refused("value", last.unwrap_or(&Layer::Flatten))),
        }
    }

    fn policy(&mut self, layers: &[Layer], logits: &[Vec<Layer>], features: (usize, usize)) -> Result<()> {
        let (mut at, mut channels) = features;
        for layer in layers {
            let Layer::Conv(conv) = layer else { return Err(refused("policy", layer)) };
            self.conv(conv, at, false);
            (at, channels) = (1 - at, conv.outputs);
        }
        let mut last = Step { kind: LOGITS, from: at as i32, ..Step::default() };
        let mut has_row = false;
        for part in logits {
            match &part[..] {
                [Layer::Conv(conv), Layer::Flatten]
                    if !conv.relu && conv.kernel == 1 && last.outputs == 0 && !has_row =>
                {
                    self.squares(conv, &mut last, at);
                }
                [Layer::Conv(conv), Layer::Flatten, Layer::Linear(linear)] if !has_row => {
                    let At::Rows { buffer, channels } = self.conv(conv, at, false) else {
                        unreachable!("rows")
                    };
                    let target = self.room(linear.outputs);
                    self.linear(linear, At::Flat { buffer, channels }, linear.outputs, Some(target));
                    last.source = target as i32;
                    has_row = true;
                }
                other => return Err(refused("policy", other.last().unwrap_or(&Layer::Flatten))),
            }
        }
        debug_assert!(channels <= self.widths[at]);
        self.step(last);
        Ok(())
    }

    /// Adds the logits on squares; only the wanted ones are computed.
    fn squares(&mut self, conv: &Conv, last: &mut Step, at: usize) {
        let weights = self.weights;
        let Numbers { weight, bias } = weights.of(&conv.name);
        let width = self.widths[at];
        let row =
            |row: &[f32]| row.iter().copied().chain(std::iter::repeat(0.0)).take(width).collect::<Vec<_>>();
        last.weights = self.put(weight.chunks_exact(conv.inputs).flat_map(row));
        last.bias = self.put(bias.iter().copied());
        last.inputs = width as i32;
        last.outputs = (conv.outputs * self.cells()) as i32;
    }
}
