//! Convolution, batch norm, skip connection, and ReLU as one operation of burn's autodiff on the CPU.
//!
//! burn records the operation and owns every tensor; [`conv`](super::conv) and [`norm`](super::norm) compute it and its
//! gradients, several times as fast as burn's own operations. Between these layers, boards are `[n, h, w, channels]`
//! with channels padded to whole blocks: [`channels_last`] converts to that layout, and [`planes`] converts back.

mod conv;
mod geometry;
mod norm;
mod pairs;
mod products;
mod tiles;
mod trial;
mod weights;
mod winograd;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::{FlexTensor, Layout};
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, Flex, GradientCheckpointingStrategy, TensorMetadata};
use burn::tensor::{Bytes, DType, Device, Shape, Tensor};
use rayon::iter::{ParallelIterator, repeat_n};

use self::conv::Target;
pub(in crate::net) use self::geometry::Halves;
use self::geometry::{Conv, Gradient};
use self::norm::Moments;
pub(in crate::net) use self::trial::{is_faster, times_of_f32};
use crate::net::kernels::vector::{BLOCK, Isa, padded};

type Tracked = Autodiff<Flex, NoCheckpointing>;

/// Returns whether tensors on `device` can use this operation.
pub(in crate::net) fn applies(device: &Device) -> bool {
    // equal devices may differ in their gradient checkpointing
    let strategy = device.gradient_checkpointing_strategy();
    *device == Device::flex() && strategy == Some(GradientCheckpointingStrategy::Disabled)
}

/// Converts `[n, channels, h, w]` to `[n, h, w, padded channels]`.
pub(in crate::net) fn channels_last(planes: Tensor<4>) -> Tensor<4> {
    let [n, channels, h, w] = planes.dims();
    let boards = planes.permute([0, 2, 3, 1]);
    let padding = padded(channels) - channels;
    if padding == 0 {
        return boards;
    }
    let zeros = Tensor::zeros([n, h, w, padding], &boards.device());
    Tensor::cat(vec![boards, zeros], 3)
}

/// Converts `[n, h, w, padded channels]` to `[n, channels, h, w]`: the inverse of [`channels_last`].
pub(in crate::net) fn planes(boards: Tensor<4>, channels: usize) -> Tensor<4> {
    boards.narrow(3, 0, channels).permute([0, 3, 1, 2])
}

/// Applies a 1x1 convolution, from `[n, h, w, padded channels]` to `[n, outputs, h, w]`, as a matrix product in burn.
pub(in crate::net) fn pointwise(boards: Tensor<4>, weight: Tensor<4>, bias: Option<Tensor<1>>) -> Tensor<4> {
    let ([n, h, w, _], [outputs, inputs, _, _]) = (boards.dims(), weight.dims());
    let pixels = boards.narrow(3, 0, inputs).reshape([n * h * w, inputs]);
    let logits = pixels.matmul(weight.reshape([outputs, inputs]).transpose());
    let logits = match bias {
        Some(bias) => logits + bias.unsqueeze(),
        None => logits,
    };
    logits.reshape([n, h * w, outputs]).swap_dims(1, 2).reshape([n, outputs, h, w])
}

/// The results of [`normed_conv`].
pub(in crate::net) struct Normed {
    /// `relu(norm(conv(x)) + skip)`
    pub(super) y: Tensor<4>,
    /// The batch's statistics, without gradients; the variance is the biased one.
    pub(super) mean: Tensor<1>,
    pub(super) variance: Tensor<1>,
}

/// Convolves `x` with `weight` (`[outputs, inputs, kernel, kernel]`), normalizes with the statistics of the
/// batch, adds `skip`, and applies ReLU.
pub(in crate::net) fn normed_conv(
    x: Tensor<4>,
    weight: Tensor<4>,
    [gamma, beta]: [Tensor<1>; 2],
    epsilon: f64,
    skip: Option<Tensor<4>>,
    halves: Option<Halves>,
) -> Normed {
    normed_conv_with(Isa::widest(), halves, x, weight, [gamma, beta], epsilon, skip)
}

fn normed_conv_with(
    isa: Isa,
    halves: Option<Halves>,
    x: Tensor<4>,
    weight: Tensor<4>,
    [gamma, beta]: [Tensor<1>; 2],
    epsilon: f64,
    skip: Option<Tensor<4>>,
) -> Normed {
    let ([n, height, width, _], [outputs, inputs, kernel, _]) = (x.dims(), weight.dims());
    let conv = Conv { height, width, inputs, outputs, kernel, isa, halves };
    let (x, weight, gamma, beta) = (tracked(x), tracked(weight), tracked(gamma), tracked(beta));
    let skip = skip.map(tracked);
    let shape = [n, height, width, padded(outputs)];
    let inner = |tensor: &FloatTensor<Tracked>| tensor.primitive().to_contiguous();
    let (saved, y) = forward(
        conv,
        [inner(&x), inner(&weight), inner(&gamma)],
        inner(&beta),
        epsilon,
        skip.as_ref().map(inner),
        shape,
    );
    let statistic = |values: &[f32]| {
        let inner = tensor([outputs], values[..outputs].to_vec());
        Tensor::from_primitive::<Tracked>(FloatTensor::<Tracked>::new(inner))
    };
    let (mean, variance) = (statistic(&saved.moments.mean), statistic(&saved.moments.variance));
    let nodes = [x.node(), weight.node(), gamma.node(), beta.node()];
    let y = match skip {
        Some(skip) => {
            let [x, weight, gamma, beta] = nodes;
            record::<5>([x, weight, gamma, beta, skip.node()], saved, y)
        }
        None => record::<4>(nodes, saved, y),
    };
    Normed { y: Tensor::from_primitive::<Tracked>(y), mean, variance }
}

fn tracked<const D: usize>(tensor: Tensor<D>) -> FloatTensor<Tracked> {
    tensor.try_into_primitive::<Tracked>().expect("called only for tensors of its own device")
}

fn tensor<const D: usize>(shape: [usize; D], values: Vec<f32>) -> FlexTensor {
    FlexTensor::new(Bytes::from_elems(values), Layout::contiguous(Shape::from(shape)), DType::F32)
}

/// Returns the tensor with contiguous numbers. Takes it by value, because a tensor with two handles is copied before it
/// is overwritten.
fn contiguous(tensor: FlexTensor) -> FlexTensor {
    tensor.to_contiguous()
}

fn values(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice().expect("contiguous floats")
}

#[derive(Debug)]
struct NormedConvOp;

/// The values kept from the forward pass for the backward pass.
#[derive(Clone, Debug)]
struct SavedForward {
    conv: Conv,
    x: FlexTensor,
    weight: FlexTensor,
    gamma: FlexTensor,
    z: FlexTensor,
    y: FlexTensor,
    moments: Moments,
    epsilon: f64,
}

impl SavedForward {
    /// Returns `1 / sqrt(variance + epsilon)` for each channel.
    fn inverse(&self) -> Vec<f32> {
        inverse(&self.moments, self.epsilon)
    }
}

fn inverse(moments: &Moments, epsilon: f64) -> Vec<f32> {
    moments.variance.iter().map(|variance| (1.0 / (f64::from(*variance) + epsilon).sqrt()) as f32).collect()
}

/// Returns `len` zeros; `len` is a multiple of [`BLOCK`]. All threads write the zeros, because boards do not fit into a
/// core's cache and the first write waits for memory.
fn zeros(len: usize) -> Vec<f32> {
    repeat_n([0.0; BLOCK], len / BLOCK).collect::<Vec<[f32; BLOCK]>>().into_flattened()
}

/// Returns `values`, one per channel, followed by zeros up to whole blocks.
fn pad(values: &[f32]) -> Vec<f32> {
    let mut all = values.to_vec();
    all.resize(padded(values.len()), 0.0);
    all
}

fn forward(
    conv: Conv,
    [x, weight, gamma]: [FlexTensor; 3],
    beta: FlexTensor,
    epsilon: f64,
    skip: Option<FlexTensor>,
    shape: [usize; 4],
) -> (SavedForward, FlexTensor) {
    let mut z = zeros(shape.iter().product());
    conv.forward(values(&weight), values(&x), &mut z);
    let moments = norm::moments(conv.isa, &z, shape[3]);
    let scale: Vec<f32> = inverse(&moments, epsilon)
        .iter()
        .zip(pad(values(&gamma)))
        .map(|(inverse, gamma)| inverse * gamma)
        .collect();
    let mut y = zeros(z.len());
    let factors = [&moments.mean[..], &scale, &pad(values(&beta))];
    norm::normalize(conv.isa, &z, factors, skip.as_ref().map(values), &mut y);
    let y = tensor(shape, y);
    (SavedForward { conv, x, weight, gamma, z: tensor(shape, z), y: y.clone(), moments, epsilon }, y)
}

fn record<const N: usize>(
    nodes: [burn::backend::autodiff::ops::NodeGuard; N],
    saved: SavedForward,
    y: FlexTensor,
) -> FloatTensor<Tracked>
where
    NormedConvOp: Backward<Flex, N, State = SavedForward>,
{
    match NormedConvOp.prepare::<NoCheckpointing>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish(saved, y),
        OpsKind::UnTracked(prepared) => prepared.finish(y),
    }
}

/// Returns the gradients of x (if wanted), weight, gamma, beta, and skip.
fn backward(
    saved: SavedForward,
    gradient: FlexTensor,
    wants_x: bool,
) -> (Option<FlexTensor>, [FlexTensor; 4]) {
    let inverse = saved.inverse();
    let SavedForward { conv, x, weight, gamma, mut z, y, moments, .. } = saved;
    let mut gradient = contiguous(gradient);
    let pixels = gradient.shape().num_elements() / padded(conv.outputs);
    let sums = norm::relu_gradient(conv.isa, gradient.storage_mut(), values(&y), values(&z), &moments.mean);
    let per_pixel = |sum: f64| sum / pixels as f64;
    let gamma = pad(values(&gamma));
    let scale: Vec<f32> = gamma.iter().zip(&inverse).map(|(gamma, inverse)| gamma * inverse).collect();
    let channels = || scale.iter().zip(&inverse).enumerate();
    let slope: Vec<f32> = channels()
        .map(|(i, (scale, inverse))| (per_pixel(sums[1][i]) as f32) * -scale * inverse * inverse)
        .collect();
    let shift: Vec<f32> = channels().map(|(i, (scale, _))| (per_pixel(sums[0][i]) as f32) * -scale).collect();
    let outputs = conv.outputs;
    let d_gamma =
        sums[1][..outputs].iter().zip(&inverse).map(|(sum, inverse)| *sum as f32 * inverse).collect();
    let d_beta = sums[0][..outputs].iter().map(|sum| *sum as f32).collect();
    let over_z = wants_x && conv.input_len() == conv.output_len();
    let mut own = if wants_x && !over_z { zeros(values(&x).len()) } else { Vec::new() };
    let target = match (wants_x, over_z) {
        (false, _) => Target::Nowhere,
        (true, true) => Target::OverZ,
        (true, false) => Target::Here(&mut own),
    };
    let (scale, slope, shift) = (&scale[..], &slope[..], &shift[..]);
    let of_output = Gradient { g: values(&gradient), mean: &moments.mean, scale, slope, shift };
    let d_weight = conv.backward(values(&weight), values(&x), &of_output, z.storage_mut(), target);
    let d_weight = tensor([outputs, conv.inputs, conv.kernel, conv.kernel], d_weight);
    let gradients = [d_weight, tensor([outputs], d_gamma), tensor([outputs], d_beta), gradient];
    let dims: [usize; 4] = x.shape().dims();
    let dx = if over_z { z } else { tensor(dims, own) };
    (wants_x.then_some(dx), gradients)
}

macro_rules! backward_with_parents {
    ($count:literal) => {
        impl Backward<Flex, $count> for NormedConvOp {
            type State = SavedForward;

            fn backward(
                self,
                ops: Ops<SavedForward, $count>,
                gradients: &mut Gradients,
                _checkpointer: &mut Checkpointer,
            ) {
                let gradient = gradients.consume::<Flex>(&ops.node);
                let mut parents = ops.parents.into_iter();
                let x = parents.next().flatten();
                let (dx, others) = backward(ops.state, gradient, x.is_some());
                if let (Some(x), Some(dx)) = (x, dx) {
                    gradients.register::<Flex>(x.id, dx);
                }
                for (parent, gradient) in parents.zip(others) {
                    if let Some(parent) = parent {
                        gradients.register::<Flex>(parent.id, gradient);
                    }
                }
            }
        }
    };
}

backward_with_parents!(4);
backward_with_parents!(5);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::kernels::Tiles;
    use crate::net::kernels::pairs::PairSet;
    use crate::net::layers::EPSILON;
    use crate::random::{Purpose, Random, stream};
    use burn::tensor::TensorData;
    use burn::tensor::activation::relu;
    use burn::tensor::module::{batch_norm_train, conv2d};
    use burn::tensor::ops::ConvOptions;
    use rand::RngExt;

    /// The inputs of a layer, and the gradient of its output (`seed`).
    struct Case {
        shape: [usize; 4],
        outputs: usize,
        kernel: usize,
        x: Vec<f32>,
        weight: Vec<f32>,
        gamma: Vec<f32>,
        beta: Vec<f32>,
        skip: Option<Vec<f32>>,
        seed: Vec<f32>,
    }

    fn floats(random: &mut Random, len: usize) -> Vec<f32> {
        (0..len).map(|_| random.random_range(-1.0..1.0)).collect()
    }

    impl Case {
        fn new([n, inputs, h, w]: [usize; 4], outputs: usize, kernel: usize, skip: bool) -> Case {
            let random = &mut stream(1, Purpose::Sampling, &[n as u64, inputs as u64]);
            let len = n * outputs * h * w;
            Case {
                shape: [n, inputs, h, w],
                outputs,
                kernel,
                x: floats(random, n * inputs * h * w),
                weight: floats(random, outputs * inputs * kernel * kernel),
                gamma: floats(random, outputs),
                beta: floats(random, outputs),
                skip: skip.then(|| floats(random, len)),
                seed: floats(random, len),
            }
        }

        /// Returns output, mean, variance, and the gradients of x, weight, gamma, beta, and skip.
        fn run(&self, layer: impl Fn(Inputs) -> [Tensor<4>; 3]) -> Vec<Vec<f32>> {
            let device = Device::flex().autodiff();
            let [n, inputs, h, w] = self.shape;
            let four = |values: &[f32], shape: [usize; 4]| {
                Tensor::<4>::from_data(TensorData::new(values.to_vec(), shape), &device).require_grad()
            };
            let one = |values: &[f32]| {
                Tensor::<1>::from_data(TensorData::new(values.to_vec(), [values.len()]), &device)
                    .require_grad()
            };
            let out = [n, self.outputs, h, w];
            let x = four(&self.x, self.shape);
            let weight = four(&self.weight, [self.outputs, inputs, self.kernel, self.kernel]);
            let (gamma, beta) = (one(&self.gamma), one(&self.beta));
            let skip = self.skip.as_ref().map(|skip| four(skip, out));
            let [y, mean, variance] = layer(Inputs {
                x: x.clone(),
                weight: weight.clone(),
                factors: [gamma.clone(), beta.clone()],
                skip: skip.clone(),
            });
            let seed = Tensor::<4>::from_data(TensorData::new(self.seed.clone(), out), &device);
            let gradients = (y.clone() * seed).sum().backward();
            let mut all = vec![numbers(y.inner()), numbers(mean.inner()), numbers(variance.inner())];
            for tensor in [Some(x), Some(weight), skip].into_iter().flatten() {
                all.push(numbers(tensor.grad(&gradients).expect("a gradient")));
            }
            for tensor in [gamma, beta] {
                all.push(numbers(tensor.grad(&gradients).expect("a gradient")));
            }
            all
        }
    }

    struct Inputs {
        x: Tensor<4>,
        weight: Tensor<4>,
        factors: [Tensor<1>; 2],
        skip: Option<Tensor<4>>,
    }

    fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        tensor.into_data().try_into_vec().expect("floats")
    }

    fn ours(isa: Isa, halves: Option<Halves>, inputs: Inputs) -> [Tensor<4>; 3] {
        let outputs = inputs.weight.dims()[0];
        let skip = inputs.skip.map(channels_last);
        let x = channels_last(inputs.x);
        let normed = normed_conv_with(isa, halves, x, inputs.weight, inputs.factors, EPSILON, skip);
        let statistic = |values: Tensor<1>| values.reshape([1, outputs, 1, 1]);
        [planes(normed.y, outputs), statistic(normed.mean), statistic(normed.variance)]
    }

    fn burns(inputs: Inputs) -> [Tensor<4>; 3] {
        let [outputs, _, kernel, _] = inputs.weight.dims();
        let options = ConvOptions::new([1, 1], [kernel / 2, kernel / 2], [1, 1], 1);
        let z = conv2d(inputs.x, inputs.weight, None, options);
        let [gamma, beta] = inputs.factors;
        let normed = batch_norm_train(z, gamma, beta, EPSILON);
        let y = match inputs.skip {
            Some(skip) => normed.output + skip,
            None => normed.output,
        };
        let statistic = |values: Tensor<1>| values.reshape([1, outputs, 1, 1]);
        [relu(y), statistic(normed.mean), statistic(normed.variance)]
    }

    fn assert_close(got: &[Vec<f32>], want: &[Vec<f32>], what: &str) {
        assert_eq!(got.len(), want.len());
        for (i, (got, want)) in got.iter().zip(want).enumerate() {
            let scale = want.iter().fold(1.0, |largest: f32, x| largest.max(x.abs()));
            assert_eq!(got.len(), want.len(), "{what}, tensor {i}");
            let distance = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(distance <= 1e-4 * scale, "{what}, tensor {i}: {distance} of {scale}");
        }
    }

    fn cases() -> [Case; 9] {
        [
            Case::new([3, 5, 3, 3], 24, 3, false),
            Case::new([32, 64, 10, 10], 64, 3, true),
            Case::new([32, 18, 10, 10], 32, 3, false),
            Case::new([33, 24, 6, 7], 24, 3, true),
            Case::new([1, 18, 6, 7], 5, 3, false),
            Case::new([32, 5, 2, 1], 18, 3, true),
            Case::new([3, 64, 10, 10], 64, 1, false),
            Case::new([32, 24, 6, 7], 4, 1, true),
            // more groups of 32 images than there are separate sums
            Case::new([550, 3, 3, 2], 5, 3, false),
        ]
    }

    #[test]
    fn the_operation_agrees_with_burns_on_every_instruction_set() {
        for case in &cases() {
            let want = case.run(burns);
            for isa in Isa::here() {
                let what = format!("{:?} {} {} {isa:?}", case.shape, case.outputs, case.kernel);
                assert_close(&case.run(|inputs| ours(isa, None, inputs)), &want, &what);
            }
        }
    }

    /// Compares whole tensors, because single numbers may differ more where rounding decides whether a ReLU is
    /// active.
    #[test]
    fn products_of_bf16_are_close_and_instructions_do_what_the_emulation_does() {
        let tiles = (Halves::Tiles(Tiles::Emulated), Tiles::here().map(Halves::Tiles));
        let pairs = (Halves::Pairs(PairSet::EMULATED), PairSet::here().map(Halves::Pairs));
        for case in &cases() {
            let want = case.run(burns);
            let by = |halves| case.run(|inputs| ours(Isa::widest(), Some(halves), inputs));
            for (emulated, real) in [tiles, pairs] {
                let what = format!("{:?} {} {} {emulated:?}", case.shape, case.outputs, case.kernel);
                let got = by(emulated);
                assert_apart(&got, &want, 0.1, &what);
                if let Some(real) = real {
                    let real = by(real);
                    // the values before the products of the backward pass are computed with or without fused
                    // multiply-adds
                    assert!(matches!(emulated, Halves::Pairs(_)) || real[..3] == got[..3], "{what}");
                    assert_apart(&real, &got, 0.001, &what);
                }
            }
        }
    }

    /// Asserts that each tensor's distance is at most this share of its length.
    fn assert_apart(got: &[Vec<f32>], want: &[Vec<f32>], share: f64, what: &str) {
        let length = |numbers: &mut dyn Iterator<Item = f32>| {
            numbers.map(|x| f64::from(x).powi(2)).sum::<f64>().sqrt()
        };
        for (i, (got, want)) in got.iter().zip(want).enumerate() {
            assert_eq!(got.len(), want.len(), "{what}, tensor {i}");
            let distance = length(&mut got.iter().zip(want).map(|(a, b)| a - b));
            let whole = length(&mut want.iter().copied()).max(0.1);
            assert!(distance < share * whole, "{what}, tensor {i}: {distance} of {whole}");
        }
    }

    #[test]
    fn gradients_are_finite_differences() {
        let mut case = Case::new([4, 3, 3, 4], 5, 3, true);
        let isa = Isa::widest();
        let gradients = case.run(|inputs| ours(isa, None, inputs));
        let loss = |case: &Case| -> f64 {
            let y = case.run(|inputs| ours(isa, None, inputs)).swap_remove(0);
            y.iter().zip(&case.seed).map(|(y, seed)| f64::from(*y) * f64::from(*seed)).sum()
        };
        let step = 1e-3;
        for (tensor, index) in [(3, 7), (3, 100), (4, 20), (4, 61), (5, 33), (6, 2), (7, 4)] {
            let mut at = |delta: f32| {
                let values = match tensor {
                    3 => &mut case.x,
                    4 => &mut case.weight,
                    5 => case.skip.as_mut().expect("it has one"),
                    6 => &mut case.gamma,
                    _ => &mut case.beta,
                };
                let before = values[index];
                values[index] += delta;
                let loss = loss(&case);
                match tensor {
                    3 => case.x[index] = before,
                    4 => case.weight[index] = before,
                    5 => case.skip.as_mut().expect("it has one")[index] = before,
                    6 => case.gamma[index] = before,
                    _ => case.beta[index] = before,
                }
                loss
            };
            let difference = (at(step) - at(-step)) / (2.0 * f64::from(step));
            let gradient = f64::from(gradients[tensor][index]);
            assert!(
                (difference - gradient).abs() < 0.02 * gradient.abs().max(1.0),
                "{tensor} {index}: {difference} {gradient}"
            );
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let case = Case::new([37, 24, 6, 7], 24, 3, true);
        let emulated = [Halves::Tiles(Tiles::Emulated), Halves::Pairs(PairSet::EMULATED)];
        for halves in [None, Halves::here()].into_iter().chain(emulated.map(Some)) {
            let of = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                pool.install(|| case.run(|inputs| ours(Isa::widest(), halves, inputs)))
            };
            let one = of(1);
            assert!(one == of(2) && one == of(3));
        }
    }
}
