//! The layers as burn modules: how each kind of layer computes and learns.
//!
//! In training on the CPU, a convolution with batch norm is one operation of this crate ([`learn`](super::learn)),
//! and boards pass between these operations with channels last. Everything else is burn's.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::{BatchNorm, BatchNormConfig, Linear, LinearConfig, PaddingConfig2d};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};

use super::layers::{self, EPSILON, Layer, Weighted};
use super::learn::{self, Halves};

/// Activations between layers.
#[derive(Clone)]
pub(super) enum Activations {
    /// `[n, channels, h, w]`
    Planes(Tensor<4>),
    /// `[n, h, w, padded channels]`, and the number of channels.
    Boards(Tensor<4>, usize),
    /// `[n, numbers]`
    Row(Tensor<2>),
}

impl Activations {
    fn planes(self) -> Tensor<4> {
        match self {
            Activations::Planes(planes) => planes,
            Activations::Boards(boards, channels) => learn::planes(boards, channels),
            Activations::Row(_) => panic!("a row instead of planes"),
        }
    }

    fn boards(self) -> Tensor<4> {
        match self {
            Activations::Boards(boards, _) => boards,
            other => learn::channels_last(other.planes()),
        }
    }

    pub(super) fn row(self) -> Tensor<2> {
        match self {
            Activations::Row(row) => row,
            Activations::Planes(_) | Activations::Boards(..) => panic!("planes instead of a row"),
        }
    }
}

/// Applies `layers`, whose weights are in `parts`, to `x`. In training on the CPU, convolutions with batch norm
/// multiply with `halves`, if given.
pub(super) fn run(
    layers: &[Layer],
    parts: &[(String, Part)],
    x: Activations,
    halves: Option<Halves>,
) -> Activations {
    let part = |name: &str| &parts.iter().find(|part| part.0 == name).expect("a part for each layer").1;
    layers.iter().fold(x, |x, layer| match layer {
        Layer::Conv(conv) => part(&conv.name).conv(x, None, conv.relu, halves),
        Layer::Block { first, second, .. } => {
            let y = part(&first.name).conv(x.clone(), None, first.relu, halves);
            part(&second.name).conv(y, Some(x), true, halves)
        }
        Layer::Ones => {
            let planes = x.planes();
            let [n, _, h, w] = planes.dims();
            let ones = Tensor::ones([n, 1, h, w], &planes.device());
            Activations::Planes(Tensor::cat(vec![planes, ones], 1))
        }
        Layer::Global(linear) => {
            let planes = x.planes();
            let [n, channels, ..] = planes.dims();
            let added = part(&linear.name).linear(pooled(planes.clone()), linear.relu);
            Activations::Planes(relu(planes + added.reshape([n, channels, 1, 1])))
        }
        Layer::Flatten => Activations::Row(x.planes().flatten(1, 3)),
        Layer::Pool => Activations::Row(pooled(x.planes())),
        Layer::Linear(linear) => Activations::Row(part(&linear.name).linear(x.row(), linear.relu)),
    })
}

/// Returns the mean of each plane over the board, then the maximum of each: `[n, 2 * channels]`.
fn pooled(planes: Tensor<4>) -> Tensor<2> {
    let squares: Tensor<3> = planes.flatten(2, 3); // [n, channels, h * w]
    Tensor::cat(vec![squares.clone().mean_dim(2), squares.max_dim(2)], 1).flatten(1, 2)
}

/// A layer with weights. The derived methods `visit` and `map` are not used, because they would put the variant's name
/// into the path.
#[derive(Module, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all of them are of the largest variant")]
pub(super) enum Part {
    Normed(NormedConv),
    Conv(Conv2d),
    Linear(Linear),
}

/// A convolution without bias, followed by batch norm.
#[derive(Module, Debug)]
pub(super) struct NormedConv {
    conv: Conv2d,
    norm: BatchNorm,
}

impl Part {
    /// Makes a part with burn's own initial weights, which are lazy and never used.
    pub(super) fn new(layer: Weighted, device: &Device) -> Part {
        match layer {
            Weighted::Conv(&layers::Conv { inputs, outputs, kernel, norm, .. }) => {
                let side = kernel / 2;
                let conv = Conv2dConfig::new([inputs, outputs], [kernel, kernel])
                    .with_padding(PaddingConfig2d::Explicit(side, side, side, side))
                    .with_bias(!norm)
                    .init(device);
                if norm {
                    Part::Normed(NormedConv {
                        conv,
                        norm: BatchNormConfig::new(outputs).with_epsilon(EPSILON).init(device),
                    })
                } else {
                    Part::Conv(conv)
                }
            }
            Weighted::Linear(layer) => {
                Part::Linear(LinearConfig::new(layer.inputs, layer.outputs).init(device))
            }
        }
    }

    pub(super) fn visit_within<Visitor: ModuleVisitor>(&self, visitor: &mut Visitor) {
        match self {
            Part::Normed(module) => module.visit(visitor),
            Part::Conv(module) => module.visit(visitor),
            Part::Linear(module) => module.visit(visitor),
        }
    }

    pub(super) fn map_within<Mapper: ModuleMapper>(self, mapper: &mut Mapper) -> Part {
        match self {
            Part::Normed(module) => Part::Normed(module.map(mapper)),
            Part::Conv(module) => Part::Conv(module.map(mapper)),
            Part::Linear(module) => Part::Linear(module.map(mapper)),
        }
    }

    /// Computes the convolution of `x`, plus `skip`, followed by ReLU if `activate`.
    fn conv(
        &self,
        x: Activations,
        skip: Option<Activations>,
        activate: bool,
        halves: Option<Halves>,
    ) -> Activations {
        let y = match (self, x) {
            (Part::Normed(layer), x) if layer.is_fused(&x) => {
                assert!(activate, "in training, a norm must end in a ReLU");
                let y = layer.train(x.boards(), skip.map(Activations::boards), halves);
                return Activations::Boards(y, layer.outputs());
            }
            (Part::Normed(layer), x) => {
                let y = layer.norm.forward(layer.conv.forward(x.planes()));
                layer.settle();
                y
            }
            (Part::Conv(conv), Activations::Boards(boards, _)) => {
                learn::pointwise(boards, conv.weight.val(), conv.bias.as_ref().map(Param::val))
            }
            (Part::Conv(conv), x) => conv.forward(x.planes()),
            (Part::Linear(_), _) => panic!("a linear layer instead of a convolution"),
        };
        let y = match skip {
            Some(skip) => y + skip.planes(),
            None => y,
        };
        Activations::Planes(if activate { relu(y) } else { y })
    }

    fn linear(&self, x: Tensor<2>, activate: bool) -> Tensor<2> {
        let Part::Linear(layer) = self else { panic!("a convolution instead of a linear layer") };
        let y = layer.forward(x);
        if activate { relu(y) } else { y }
    }
}

impl NormedConv {
    fn outputs(&self) -> usize {
        self.conv.weight.dims()[0]
    }

    /// Returns whether convolution, norm, and ReLU run as one operation on `[n, h, w, channels]`: in training on the
    /// CPU.
    fn is_fused(&self, x: &Activations) -> bool {
        let on_device = match x {
            Activations::Planes(x) | Activations::Boards(x, _) => learn::applies(&x.device()),
            Activations::Row(_) => false,
        };
        on_device && self.norm.training.is_enabled()
    }

    /// Computes `relu(norm(conv(x)) + skip)` as one operation and updates the running statistics as burn's batch norm
    /// does.
    fn train(&self, x: Tensor<4>, skip: Option<Tensor<4>>, halves: Option<Halves>) -> Tensor<4> {
        let factors = [self.norm.gamma.val(), self.norm.beta.val()];
        let normed = learn::normed_conv(x, self.conv.weight.val(), factors, self.norm.epsilon, skip, halves);
        let momentum = self.norm.momentum;
        for (running, of_batch) in
            [(&self.norm.running_mean, normed.mean), (&self.norm.running_var, normed.variance)]
        {
            let previous = running.value_sync().to_device(&of_batch.device()).mul_scalar(1.0 - momentum);
            running.update(previous.add(of_batch.mul_scalar(momentum)).detach());
        }
        self.settle();
        normed.y
    }

    /// Makes updates of the running statistics visible now. burn keeps an update with the thread that made it until
    /// that thread reads the value, and the next step may run on another thread.
    fn settle(&self) {
        self.norm.running_mean.value_sync();
        self.norm.running_var.value_sync();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::device::cpu;
    use burn::tensor::TensorData;

    /// Two positions with two planes of four squares each; no plane has its maximum twice.
    #[test]
    fn pooling_has_means_and_maxima_and_their_gradients() {
        let numbers: Vec<f32> =
            [3, 1, -2, 6, 0, 5, 4, -1, 7, 8, 2, -3, -4, -5, -6, -8].map(|n: i8| n.into()).to_vec();
        let data = TensorData::new(numbers, [2, 2, 2, 2]);
        let planes = Tensor::<4>::from_data(data, &cpu().autodiff()).require_grad();
        let row = run(&[Layer::Pool], &[], Activations::Planes(planes.clone()), None).row();
        let got = row.clone().into_data().try_into_vec::<f32>().unwrap();
        assert_eq!(got, [2.0, 2.0, 6.0, 5.0, 3.5, -5.75, 8.0, -4.0]);
        // each output has a different weight
        let weights = [1.0, 2.0, 10.0, 20.0, 3.0, 4.0, 30.0, 40.0];
        let weights = Tensor::from_data(TensorData::new(weights.to_vec(), [2, 4]), &cpu().autodiff());
        let gradients = (row * weights).sum().backward();
        let gradient = planes.grad(&gradients).unwrap().into_data().try_into_vec::<f32>().unwrap();
        let mut expected = [[0.25; 4], [0.5; 4], [0.75; 4], [1.0; 4]];
        expected[0][3] += 10.0;
        expected[1][1] += 20.0;
        expected[2][1] += 30.0;
        expected[3][0] += 40.0;
        assert_eq!(gradient, expected.concat());
    }
}
