//! A forward pass for CPUs: direct convolutions in f32, one position at a time.
//!
//! [`CpuNet`] packs [`Weights`] once, in the order in which the inner loop reads them, and is then shared
//! between threads; each thread owns a [`Scratch`]. Activations lie as `[block of channels, row, column,
//! channel of the block]`. The sums of a tile of output pixels times a few vectors of output channels stay
//! in registers while taps and input channels run; taps beside the board are skipped; bias, skip connection
//! and ReLU cost no pass of their own. The code is compiled for several instruction sets and takes the
//! widest that is here. A result depends on neither batch, thread nor run; between instruction sets it may
//! differ in its last bits.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64 as x86;
use std::array::from_fn;

use super::vector::{Aligned, BLOCK, Plain, Vector, vectors, vectors_mut};
use super::weights::{Conv, Linear, Weights};
use crate::game::Shape;

/// The widest tile that is compiled.
const MAX_COLUMNS: usize = 10;

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
pub struct Scratch([Aligned; 3]);

impl CpuNet {
    /// Packs `weights` for the widest vectors that this CPU has.
    pub fn new(weights: &Weights) -> CpuNet {
        CpuNet::with_isa(weights, Isa::here().swap_remove(0))
    }

    fn with_isa(weights: &Weights, isa: Isa) -> CpuNet {
        let conv = |conv: &Conv| Layer::conv(conv, [weights.shape.height, weights.shape.width], &isa);
        let linear = |linear: &Linear| Layer::linear(linear, &isa);
        CpuNet {
            shape: weights.shape,
            stem: conv(&weights.stem),
            blocks: weights.blocks.iter().map(|[a, b]| [conv(a), conv(b)]).collect(),
            policy_hidden: conv(&weights.policy_hidden),
            policy_planes: weights.policy_planes.as_ref().map(conv),
            policy_extras: weights.policy_extras.as_ref().map(|(c, l)| (conv(c), linear(l))),
            value_conv: conv(&weights.value_conv),
            value_hidden: linear(&weights.value_hidden),
            value_out: linear(&weights.value_out),
            isa,
        }
    }

    /// Buffers for one thread.
    pub fn scratch(&self) -> Scratch {
        let trunk = [&self.stem, &self.policy_hidden, &self.value_conv, &self.value_hidden, &self.value_out];
        let optional = self.policy_planes.iter().chain(self.policy_extras.iter().flat_map(|(c, l)| [c, l]));
        let layers = trunk.into_iter().chain(self.blocks.iter().flatten()).chain(optional);
        let channels = |layer: &Layer| layer.inputs.max(layer.outputs).next_multiple_of(BLOCK);
        let len = layers.map(|layer| layer.height * layer.width * channels(layer)).max().unwrap_or(0);
        Scratch(from_fn(|_| Aligned::new(len)))
    }

    /// Evaluates `planes` (`[n, planes, height, width]`) into `policy` (`[n, actions]` logits) and
    /// `wdl` (`[n, 3]` logits of win, draw and loss for the player to move).
    ///
    /// # Panics
    /// If the lengths do not fit each other, or `scratch` is that of a smaller network.
    pub fn forward(&self, scratch: &mut Scratch, planes: &[f32], policy: &mut [f32], wdl: &mut [f32]) {
        let (input_len, actions) = (self.shape.input_len(), self.shape.actions);
        let (batch, lengths) = (wdl.len() / 3, [planes.len(), policy.len(), wdl.len()]);
        assert_eq!(lengths, [batch * input_len, batch * actions, batch * 3], "planes, policy, wdl");
        let outputs = policy.chunks_exact_mut(actions).zip(wdl.chunks_exact_mut(3));
        for (planes, (policy, wdl)) in planes.chunks_exact(input_len).zip(outputs) {
            self.evaluate(scratch, planes, policy, wdl);
        }
    }

    fn evaluate(&self, scratch: &mut Scratch, planes: &[f32], policy: &mut [f32], wdl: &mut [f32]) {
        let [x, y, z] = scratch.0.each_mut().map(Aligned::as_mut);
        let cells = self.shape.cells();
        let run = |layer: &Layer, from: &[f32], to: &mut [f32], finish: Finish| {
            // SAFETY: `Isa::here` alone makes an Isa, and only where the CPU has its instructions.
            unsafe { (self.isa.run)(layer, from, to, finish) }
        };

        to_blocks(planes, cells, z);
        run(&self.stem, z, x, Finish::Relu);
        for [a, b] in &self.blocks {
            run(a, x, y, Finish::Relu);
            run(b, y, x, Finish::SkipRelu);
        }
        run(&self.policy_hidden, x, y, Finish::Relu);
        let (on_board, extras) = policy.split_at_mut(policy.len() / cells * cells);
        if let Some(conv) = &self.policy_planes {
            run(conv, y, z, Finish::Plain);
            to_planes(z, cells, on_board);
        }
        if let Some((conv, linear)) = &self.policy_extras {
            run(conv, y, z, Finish::Relu);
            to_planes(z, cells, &mut y[..linear.inputs]);
            run(linear, y, z, Finish::Plain);
            extras.copy_from_slice(&z[..extras.len()]);
        }
        run(&self.value_conv, x, z, Finish::Relu);
        to_planes(z, cells, &mut y[..self.value_hidden.inputs]);
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
    /// See [`largest_tile`].
    columns: usize,
    vectors: usize,
    /// `[group of vectors, kernel, kernel, inputs, channel of the group]`.
    weight: Aligned,
    /// `[outputs]`.
    bias: Aligned,
}

impl Layer {
    fn linear(linear: &Linear, isa: &Isa) -> Layer {
        let &Linear { inputs, outputs, ref weight, ref bias } = linear;
        let transposed = (0..inputs * outputs).map(|i| weight[i % inputs * outputs + i / inputs]).collect();
        let conv = Conv { inputs, outputs, kernel: 1, weight: transposed, bias: bias.clone() };
        Layer::conv(&conv, [1, 1], isa)
    }

    fn conv(conv: &Conv, [height, width]: [usize; 2], isa: &Isa) -> Layer {
        let &Conv { inputs, kernel, .. } = conv;
        let taps = kernel * kernel;
        assert_eq!(conv.weight.len(), conv.outputs * inputs * taps, "weights of a layer");
        let outputs = conv.outputs.next_multiple_of(isa.lanes);
        let (columns, vectors) = largest_tile(width, outputs / isa.lanes, isa.sums);
        let mut weight = Aligned::new(outputs * taps * inputs);
        let mut slots = weight.as_mut().iter_mut();
        let mut first = 0;
        while first < outputs {
            let group = first..first + next_group(vectors, (outputs - first) / isa.lanes) * isa.lanes;
            for (tap, input) in (0..taps).flat_map(|tap| (0..inputs).map(move |input| (tap, input))) {
                for (output, slot) in group.clone().zip(&mut slots) {
                    // Zero beyond the last channel.
                    *slot = conv.weight.get((output * inputs + input) * taps + tap).copied().unwrap_or(0.0);
                }
            }
            first = group.end;
        }
        let mut bias = Aligned::new(outputs);
        bias.as_mut()[..conv.outputs].copy_from_slice(&conv.bias);
        Layer { height, width, kernel, inputs, outputs, columns, vectors, weight, bias }
    }
}

/// Columns and vectors of the largest tile: many sums, because each waits for its last multiply-add, but no
/// more than there is room for. Smaller tiles do what it leaves at the edges.
fn largest_tile(width: usize, vectors: usize, sums: usize) -> (usize, usize) {
    let columns = width.div_ceil(width.div_ceil(MAX_COLUMNS.min(sums / 2)));
    let narrow = columns <= 3 && columns * 4 < sums;
    (columns, if narrow && vectors >= 4 { 4 } else { vectors.min(2) })
}

/// Vectors of the next tile (4, 2 or 1) when `left` are left of a layer.
fn next_group(most: usize, left: usize) -> usize {
    if left >= most { most } else { left.min(2) }
}

/// `[channels, cells]` to `[blocks of channels, cells, BLOCK]`; what lies beyond the last channel is left as
/// it is, for no layer reads it.
fn to_blocks(planes: &[f32], cells: usize, to: &mut [f32]) {
    for (channel, plane) in planes.chunks_exact(cells).enumerate() {
        let slots = to[first_slot(channel, cells)..].iter_mut().step_by(BLOCK);
        plane.iter().zip(slots).for_each(|(&x, slot)| *slot = x);
    }
}

/// The reverse of [`to_blocks`], for as many channels as `planes` has room for.
fn to_planes(from: &[f32], cells: usize, planes: &mut [f32]) {
    for (channel, plane) in planes.chunks_exact_mut(cells).enumerate() {
        let slots = from[first_slot(channel, cells)..].iter().step_by(BLOCK);
        plane.iter_mut().zip(slots).for_each(|(x, &slot)| *x = slot);
    }
}

fn first_slot(channel: usize, cells: usize) -> usize {
    channel / BLOCK * cells * BLOCK + channel % BLOCK
}

/// What happens to the sums before they are stored.
#[derive(Clone, Copy)]
enum Finish {
    Plain,
    Relu,
    /// What the output held before is added, then ReLU.
    SkipRelu,
}

/// [`run`] compiled for an instruction set.
struct Isa {
    /// Floats of a vector.
    lanes: usize,
    /// [`Vector::SUMS`].
    sums: usize,
    /// Applies a layer to `[blocks of inputs, height, width, BLOCK]`.
    run: unsafe fn(&Layer, &[f32], &mut [f32], Finish),
}

impl Isa {
    /// What this CPU has, widest first.
    #[cfg_attr(not(target_arch = "x86_64"), allow(clippy::vec_init_then_push))]
    fn here() -> Vec<Isa> {
        let mut here = Vec::new();
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            if is_x86_feature_detected!("avx512f") {
                here.push(Isa { lanes: 16, sums: x86::__m512::SUMS, run: run_avx512 });
            }
            here.push(Isa { lanes: 8, sums: x86::__m256::SUMS, run: run_avx2 });
        }
        here.push(Isa { lanes: 4, sums: Plain::SUMS, run: run::<Plain> });
        here
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2,fma")]
fn run_avx512(layer: &Layer, from: &[f32], to: &mut [f32], finish: Finish) {
    run::<x86::__m512>(layer, from, to, finish);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2(layer: &Layer, from: &[f32], to: &mut [f32], finish: Finish) {
    run::<x86::__m256>(layer, from, to, finish);
}

/// Repeats the body for every column of a tile. The compiler keeps the sums in registers only if it sees
/// constant indices, and long loops it does not unroll.
macro_rules! unroll {
    ($($value:literal)*, $column:ident in $columns:ident, $body:block) => {
        $(if $value < $columns {
            const $column: usize = $value;
            $body
        })*
    };
}

// Everything below is inlined into `run_avx512` and `run_avx2`, to be compiled for their instructions.

#[inline(always)]
fn run<S: Vector>(layer: &Layer, from: &[f32], to: &mut [f32], finish: Finish) {
    let read = layer.height * layer.width * layer.inputs.next_multiple_of(BLOCK);
    assert!(from.len() >= read, "a scratch of another network");
    let vectors = layer.outputs * size_of::<f32>() / size_of::<S>();
    let mut vector = 0;
    while vector < vectors {
        let group = next_group(layer.vectors, vectors - vector);
        for (row, column) in (0..layer.height)
            .flat_map(|row| (0..layer.width).step_by(layer.columns).map(move |column| (row, column)))
        {
            let columns = layer.columns.min(layer.width - column);
            // Compiled are only the tiles that `largest_tile` leads to, of one vector as those of two.
            macro_rules! with_constants {
                ($([$columns:literal $vectors:literal])*) => {
                    match (columns, group) {
                        $(($columns, $vectors) if const { $columns * ($vectors + $vectors % 2) <= S::SUMS } =>
                            tile::<S, $columns, $vectors>(layer, from, to, finish, [row, column, vector]),)*
                        size => unreachable!("no tile of {size:?}"),
                    }
                };
            }
            with_constants! {
                [1 1] [2 1] [3 1] [4 1] [5 1] [6 1] [7 1] [8 1] [9 1] [10 1]
                [1 2] [2 2] [3 2] [4 2] [5 2] [6 2] [7 2] [8 2] [9 2] [10 2]
                [1 4] [2 4] [3 4]
            }
        }
        vector += group;
    }
}

/// Computes, from `row`, `column` and `vector` on, `C` pixels and `V` vectors of output channels.
#[inline(always)]
fn tile<S: Vector, const C: usize, const V: usize>(
    layer: &Layer,
    from: &[f32],
    to: &mut [f32],
    finish: Finish,
    [row, column, vector]: [usize; 3],
) {
    let &Layer { height, width, kernel, inputs, .. } = layer;
    let (boards, taps) = (from.as_chunks::<BLOCK>().0, kernel * kernel);
    let weight = &vectors::<S>(layer.weight.as_ref())[vector * taps * inputs..][..V * taps * inputs];
    let &bias = vectors::<S>(layer.bias.as_ref())[vector..].first_chunk::<V>().expect("whole groups");
    let mut sums: [[S; V]; C] = [bias; C];
    for (tap, weight) in weight.as_chunks::<V>().0.chunks_exact(inputs).enumerate() {
        // Where the tap's pixels start, counted from `kernel / 2` squares beside the board.
        let (down, right) = (row + tap / kernel, column + tap % kernel);
        let Some(from_row) = down.checked_sub(kernel / 2).filter(|&row| row < height) else { continue };
        let left = right.saturating_sub(kernel / 2);
        let blocks = boards.chunks_exact(height * width).zip(weight.chunks(BLOCK));
        let blocks = blocks.map(|(board, weight)| (&board[from_row * width + left..], weight));
        if right < kernel / 2 {
            add_tap::<S, C, V, 1, 0>(&mut sums, blocks);
        } else if left + C > width {
            add_tap::<S, C, V, 0, 1>(&mut sums, blocks);
        } else {
            add_tap::<S, C, V, 0, 0>(&mut sums, blocks);
        }
    }
    let lanes = size_of::<S>() / size_of::<f32>();
    let to = vectors_mut::<S>(to);
    unroll!(0 1 2 3 4 5 6 7 8 9, COLUMN in C, {
        for (v, &sum) in sums[COLUMN].iter().enumerate() {
            let channel = (vector + v) * lanes;
            let pixel = (channel / BLOCK * height + row) * width + column + COLUMN;
            let slot = &mut to[(pixel * BLOCK + channel % BLOCK) / lanes];
            *slot = match finish {
                Finish::Plain => sum,
                Finish::Relu => sum.relu(),
                Finish::SkipRelu => slot.add_product(1.0, sum).relu(),
            };
        }
    });
}

/// Adds one tap of the kernel, except for the first `L` and the last `U` pixels of the tile.
#[inline(always)]
fn add_tap<'a, S: Vector + 'a, const C: usize, const V: usize, const L: usize, const U: usize>(
    sums: &mut [[S; V]; C],
    blocks: impl Iterator<Item = (&'a [[f32; BLOCK]], &'a [[S; V]])>,
) {
    if L + U >= C {
        return;
    }
    for (pixels, weight) in blocks {
        let pixels = &pixels[..C - L - U];
        for (channel, weight) in weight.iter().enumerate().take(BLOCK) {
            unroll!(0 1 2 3 4 5 6 7 8 9, COLUMN in C, {
                if (L..C - U).contains(&COLUMN) {
                    let x = pixels[COLUMN - L][channel];
                    for v in 0..V {
                        sums[COLUMN][v] = sums[COLUMN][v].add_product(x, weight[v]);
                    }
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A linear congruential generator.
    struct Random(u64);

    impl Random {
        fn floats(&mut self, len: usize, scale: f32) -> Vec<f32> {
            let next = |_| {
                self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                ((self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0) * scale
            };
            (0..len).map(next).collect()
        }

        fn conv(&mut self, inputs: usize, outputs: usize, kernel: usize) -> Conv {
            let Linear { weight, bias, .. } = self.linear(inputs * kernel * kernel, outputs);
            Conv { inputs, outputs, kernel, weight, bias }
        }

        fn linear(&mut self, inputs: usize, outputs: usize) -> Linear {
            let weight = self.floats(inputs * outputs, (3.0 / inputs as f32).sqrt());
            Linear { inputs, outputs, weight, bias: self.floats(outputs, 0.3) }
        }

        fn weights(&mut self, [planes, height, width, actions, filters, blocks]: [usize; 6]) -> Weights {
            let shape = Shape { planes, height, width, actions };
            let (cells, f) = (shape.cells(), filters);
            let (whole, extras) = (actions / cells, actions % cells);
            Weights {
                shape,
                stem: self.conv(planes, f, 3),
                blocks: (0..blocks).map(|_| [self.conv(f, f, 3), self.conv(f, f, 3)]).collect(),
                policy_hidden: self.conv(f, f, 1),
                policy_planes: (whole > 0).then(|| self.conv(f, whole, 1)),
                policy_extras: (extras > 0).then(|| (self.conv(f, 2, 1), self.linear(2 * cells, extras))),
                value_conv: self.conv(f, 4, 1),
                value_hidden: self.linear(4 * cells, 70),
                value_out: self.linear(70, 3),
            }
        }
    }

    /// `[planes, height, width, actions, filters, blocks]`.
    const NETS: &[[usize; 6]] = &[
        [2, 3, 3, 9, 16, 1],
        [3, 6, 7, 7, 24, 1],
        [18, 8, 8, 256, 32, 1],
        [18, 10, 10, 1201, 24, 3],
        [17, 9, 9, 82, 5, 0],
        [2, 4, 3, 24, 70, 1],
        [2, 3, 23, 69, 40, 1],
        [2, 11, 11, 122, 8, 1],
        [2, 6, 2, 6, 100, 1],
        [3, 2, 1, 2, 8, 1],
    ];

    fn naive_conv(conv: &Conv, shape: Shape, x: &[f64]) -> Vec<f64> {
        let (h, w, k) = (shape.height, shape.width, conv.kernel);
        let output = |(o, row, column): (usize, usize, usize)| {
            let mut sum = f64::from(conv.bias[o]);
            for (i, down, right) in (0..conv.inputs * k * k).map(|i| (i / (k * k), i / k % k, i % k)) {
                let (row, column) = ((row + down).wrapping_sub(k / 2), (column + right).wrapping_sub(k / 2));
                if row < h && column < w {
                    let weight = conv.weight[((o * conv.inputs + i) * k + down) * k + right];
                    sum += f64::from(weight) * x[(i * h + row) * w + column];
                }
            }
            sum
        };
        (0..conv.outputs * h * w).map(|i| (i / (h * w), i / w % h, i % w)).map(output).collect()
    }

    fn naive_linear(linear: &Linear, x: &[f64]) -> Vec<f64> {
        let weight = |i: usize, o: usize| f64::from(linear.weight[i * linear.outputs + o]);
        let sum = |o: usize| x.iter().enumerate().map(|(i, x)| x * weight(i, o)).sum::<f64>();
        (0..linear.outputs).map(|o| f64::from(linear.bias[o]) + sum(o)).collect()
    }

    /// Policy and value logits.
    fn naive_net(weights: &Weights, planes: &[f32]) -> [Vec<f64>; 2] {
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
        [policy, naive_linear(&weights.value_out, &hidden)]
    }

    fn is_close(got: &[f32], want: &[f64]) -> bool {
        let scale = want.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        got.len() == want.len()
            && got.iter().zip(want).all(|(&x, y)| (f64::from(x) - y).abs() <= 1e-4 * scale)
    }

    #[test]
    fn a_result_follows_the_formula_whatever_the_vectors_and_the_batch() {
        fn shared_between_threads<T: Send + Sync>(_: &T) {}
        for (seed, &net) in NETS.iter().enumerate() {
            let random = &mut Random(seed as u64);
            let weights = random.weights(net);
            let (len, actions) = (weights.shape.input_len(), weights.shape.actions);
            let planes = random.floats(5 * len, 1.5);
            let expected: Vec<_> = planes.chunks(len).map(|row| naive_net(&weights, row)).collect();
            for isa in Isa::here() {
                let what = format!("{net:?} in vectors of {}", isa.lanes);
                let cpu = CpuNet::with_isa(&weights, isa);
                shared_between_threads(&cpu);
                let (mut scratch, mut p, mut v) = (cpu.scratch(), vec![0.0; actions], [0.0; 3]);
                let (mut policy, mut wdl) = (vec![0.0; 5 * actions], [0.0; 5 * 3]);
                cpu.forward(&mut scratch, &planes, &mut policy, &mut wdl);
                // A broken input is noticed, and leaves nothing behind.
                cpu.forward(&mut scratch, &vec![f32::NAN; len], &mut p, &mut v);
                assert!(p.iter().chain(&v).all(|x| x.is_nan()), "{what}");
                for (i, (row, [naive_policy, naive_wdl])) in planes.chunks(len).zip(&expected).enumerate() {
                    cpu.forward(&mut scratch, row, &mut p, &mut v);
                    assert!(is_close(&p, naive_policy) && is_close(&v, naive_wdl), "{what}: {p:?} {v:?}");
                    assert!(p == policy[i * actions..][..actions] && v == wdl[i * 3..][..3], "{what}");
                }
            }
        }
    }
}
