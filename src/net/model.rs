//! The burn module: a residual tower with a spatial policy head and a win/draw/loss value head (Silver
//! et al. 2017; the value head after KataGo).
//!
//! It knows only the [`Shape`] of a game. Initial weights come from a random stream of the run's seed and parameter
//! ids from parameter paths: burn's own generator is global, its parameters are lazy and its ids random, so none of
//! the three is used. [`Network::snapshot`] is the only way to make a copy that later training does not change, and
//! the only form that is saved.

use std::sync::Once;

use burn::BurnConfig;
use burn::module::{Module, ModuleMapper, Param, ParamId};
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::{BatchNorm, BatchNormConfig, Linear, LinearConfig, PaddingConfig2d};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor, TensorData};
use burn_std::config::RuntimeConfig;
use burn_store::{ModuleSnapshot, SafetensorsStore};
use rand_distr::{Distribution, StandardNormal};

use super::tensors::{self, EXTRA_PLANES};
use super::training;
use super::weights::{self, Weights};
use crate::config::NetConfig;
use crate::encode::Shape;
use crate::error::{Error, Result};
use crate::random::{Purpose, Random, stream};

/// The CPU device for evaluation. Never `Device::default()`: that picks a GPU backend if one is compiled in.
pub fn device() -> Device {
    configure_burn();
    Device::flex()
}

/// The same device with gradients.
pub fn training_device() -> Device {
    device().autodiff()
}

/// Keeps burn from reading a `burn.toml` in the working folder or above it when it is first used; such a file was not
/// meant for us and may name files to write. A configuration that the program set earlier stays.
fn configure_burn() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        BurnConfig::try_set(BurnConfig::default());
    });
}

/// A convolution without bias, followed by batch norm.
#[derive(Module, Debug)]
struct NormedConv {
    conv: Conv2d,
    norm: BatchNorm,
}

#[derive(Module, Debug)]
struct Block {
    first: NormedConv,
    second: NormedConv,
}

#[derive(Module, Debug)]
struct Extras {
    conv: Conv2d,
    linear: Linear,
}

/// The network; [`Weights`] documents the function that it computes.
#[derive(Module, Debug)]
pub struct Network {
    stem: NormedConv,
    blocks: Vec<Block>,
    policy_hidden: NormedConv,
    policy_planes: Option<Conv2d>,
    policy_extras: Option<Extras>,
    value_conv: NormedConv,
    value_hidden: Linear,
    value_out: Linear,
}

impl NormedConv {
    fn new(inputs: usize, outputs: usize, kernel: usize, device: &Device) -> NormedConv {
        NormedConv {
            conv: conv(inputs, outputs, kernel, false, device),
            norm: BatchNormConfig::new(outputs).init(device),
        }
    }

    /// Whether convolution, norm and ReLU run as one operation on `[n, h, w, channels]`: in training on the CPU.
    fn is_fused(&self, device: &Device) -> bool {
        training::applies(device) && self.norm.training.is_enabled()
    }

    /// `relu(norm(conv(x)) + skip)`
    fn forward(&self, x: Tensor<4>, skip: Option<Tensor<4>>) -> Tensor<4> {
        if self.is_fused(&x.device()) {
            return self.train(x, skip);
        }
        let x = self.norm.forward(self.conv.forward(x));
        relu(match skip {
            Some(skip) => x + skip,
            None => x,
        })
    }

    /// The same as one operation; updates the running statistics as burn's batch norm does.
    fn train(&self, x: Tensor<4>, skip: Option<Tensor<4>>) -> Tensor<4> {
        let factors = [self.norm.gamma.val(), self.norm.beta.val()];
        let normed = training::normed_conv(x, self.conv.weight.val(), factors, self.norm.epsilon, skip);
        let momentum = self.norm.momentum;
        for (running, of_batch) in
            [(&self.norm.running_mean, normed.mean), (&self.norm.running_var, normed.variance)]
        {
            let kept = running.value_sync().to_device(&of_batch.device()).mul_scalar(1.0 - momentum);
            running.update(kept.add(of_batch.mul_scalar(momentum)).detach());
        }
        normed.y
    }

    fn outputs(&self) -> usize {
        self.conv.weight.dims()[0]
    }

    /// Norm and convolution folded into one convolution: valid for running statistics only.
    fn folded(&self) -> weights::Conv {
        let mut folded = plain(&self.conv);
        let gamma = numbers(self.norm.gamma.val());
        let beta = numbers(self.norm.beta.val());
        let mean = numbers(self.norm.running_mean.value_sync());
        let variance = numbers(self.norm.running_var.value_sync());
        let per_output = folded.weight.len() / folded.outputs;
        for output in 0..folded.outputs {
            let scale = gamma[output] as f64 / (variance[output] as f64 + self.norm.epsilon).sqrt();
            for weight in &mut folded.weight[output * per_output..(output + 1) * per_output] {
                *weight = (*weight as f64 * scale) as f32;
            }
            folded.bias[output] = (beta[output] as f64 - mean[output] as f64 * scale) as f32;
        }
        folded
    }
}

impl Network {
    /// A network with random initial weights from the stream of `seed`.
    pub fn new(config: &NetConfig, shape: Shape, seed: u64, device: &Device) -> Network {
        let filters = config.filters;
        let (planes, extras) = (shape.actions / shape.cells(), shape.actions % shape.cells());
        let network = Network {
            stem: NormedConv::new(shape.planes, filters, 3, device),
            blocks: (0..config.blocks)
                .map(|_| Block {
                    first: NormedConv::new(filters, filters, 3, device),
                    second: NormedConv::new(filters, filters, 3, device),
                })
                .collect(),
            policy_hidden: NormedConv::new(filters, filters, 1, device),
            policy_planes: (planes > 0).then(|| conv(filters, planes, 1, true, device)),
            policy_extras: (extras > 0).then(|| Extras {
                conv: conv(filters, EXTRA_PLANES, 1, true, device),
                linear: linear(EXTRA_PLANES * shape.cells(), extras, device),
            }),
            value_conv: NormedConv::new(filters, config.value_planes, 1, device),
            value_hidden: linear(config.value_planes * shape.cells(), config.value_hidden, device),
            value_out: linear(config.value_hidden, 3, device),
        };
        network.map(&mut FirstWeights { path: Vec::new(), random: stream(seed, Purpose::Weights, &[]) })
    }

    /// Planes `[n, planes, h, w]` to policy logits `[n, actions]` and value logits `[n, 3]` (win, draw, loss
    /// for the player to move). Batch statistics on an autodiff device, running ones after [`Network::snapshot`].
    pub fn forward(&self, planes: Tensor<4>) -> (Tensor<2>, Tensor<2>) {
        let fused = self.stem.is_fused(&planes.device());
        let planes = if fused { training::channels_last(planes) } else { planes };
        let mut x = self.stem.forward(planes, None); // [n, filters, h, w]; fused: [n, h, w, filters]
        for block in &self.blocks {
            let y = block.first.forward(x.clone(), None);
            x = block.second.forward(y, Some(x));
        }
        let p = self.policy_hidden.forward(x.clone(), None);
        let pointwise = |conv: &Conv2d| match fused {
            true => training::pointwise(p.clone(), conv.weight.val(), conv.bias.as_ref().map(Param::val)),
            false => conv.forward(p.clone()),
        };
        let mut logits = Vec::new();
        if let Some(conv) = &self.policy_planes {
            logits.push(pointwise(conv).flatten(1, 3)); // [n, planes * h * w]
        }
        if let Some(extras) = &self.policy_extras {
            let features: Tensor<2> = relu(pointwise(&extras.conv)).flatten(1, 3);
            logits.push(extras.linear.forward(features));
        }
        let v = self.value_conv.forward(x, None);
        let v = if fused { training::planes(v, self.value_conv.outputs()) } else { v };
        let v: Tensor<2> = v.flatten(1, 3);
        let wdl = self.value_out.forward(relu(self.value_hidden.forward(v)));
        (Tensor::cat(logits, 1), wdl)
    }

    /// An independent copy for evaluation and saving. `clone` would share the running statistics, and a record of the
    /// network in training lacks their last update.
    pub fn snapshot(&self) -> Network {
        self.valid()
    }

    /// The weights with batch norm folded in. Call it on a [`Network::snapshot`].
    pub fn weights(&self, shape: Shape) -> Weights {
        Weights {
            shape,
            stem: self.stem.folded(),
            blocks: self.blocks.iter().map(|block| [block.first.folded(), block.second.folded()]).collect(),
            policy_hidden: self.policy_hidden.folded(),
            policy_planes: self.policy_planes.as_ref().map(plain),
            policy_extras: self
                .policy_extras
                .as_ref()
                .map(|extras| (plain(&extras.conv), plain_linear(&extras.linear))),
            value_conv: self.value_conv.folded(),
            value_hidden: plain_linear(&self.value_hidden),
            value_out: plain_linear(&self.value_out),
        }
    }

    /// The safetensors file of a snapshot; `about` becomes the entry `petteia` of its metadata.
    pub fn to_safetensors(&self, about: &str) -> Result<Vec<u8>> {
        let failed =
            |e: &dyn std::fmt::Display| Error::Data(format!("cannot write weights as safetensors: {e}"));
        let mut store = SafetensorsStore::from_bytes(None).clear_metadata().metadata("petteia", about);
        self.snapshot().save_into(&mut store).map_err(|e| failed(&e))?;
        store.get_bytes().map_err(|e| failed(&e))
    }

    /// Loads a network of this config and shape from a safetensors file, called `place` in errors, which must hold
    /// exactly its tensors, with finite numbers.
    pub fn from_safetensors(
        bytes: Vec<u8>,
        place: &str,
        config: &NetConfig,
        shape: Shape,
        device: &Device,
    ) -> Result<Network> {
        tensors::check(&bytes, place, config, shape)?;
        let mut network = Network::new(config, shape, 0, device);
        let mut store = SafetensorsStore::from_bytes(Some(bytes));
        network
            .load_from(&mut store)
            .map_err(|e| Error::Data(format!("{place} does not hold the weights of this network: {e}")))?;
        Ok(network)
    }
}

fn conv(inputs: usize, outputs: usize, kernel: usize, bias: bool, device: &Device) -> Conv2d {
    let side = kernel / 2;
    Conv2dConfig::new([inputs, outputs], [kernel, kernel])
        .with_padding(PaddingConfig2d::Explicit(side, side, side, side))
        .with_bias(bias)
        .init(device)
}

fn linear(inputs: usize, outputs: usize, device: &Device) -> Linear {
    LinearConfig::new(inputs, outputs).init(device)
}

fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.inner().into_data().try_into_vec::<f32>().expect("our weights are f32")
}

fn plain(conv: &Conv2d) -> weights::Conv {
    let [outputs, inputs, kernel, _] = conv.weight.val().dims();
    let bias = conv.bias.as_ref().map_or_else(|| vec![0.0; outputs], |bias| numbers(bias.val()));
    weights::Conv { inputs, outputs, kernel, weight: numbers(conv.weight.val()), bias }
}

fn plain_linear(linear: &Linear) -> weights::Linear {
    let [inputs, outputs] = linear.weight.val().dims();
    let bias = linear.bias.as_ref().map_or_else(|| vec![0.0; outputs], |bias| numbers(bias.val()));
    weights::Linear { inputs, outputs, weight: numbers(linear.weight.val()), bias }
}

/// Gives every parameter an id derived from its path. Matrices and kernels get He-normal numbers (He et al. 2015),
/// biases 0. The last layers start small, so that a new network is nearly indifferent.
struct FirstWeights {
    path: Vec<String>,
    random: Random,
}

impl ModuleMapper for FirstWeights {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.push(name.to_string());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let path = self.path.join(".");
        let (_, tensor, mapper) = param.consume();
        let tensor = match (D, path.ends_with("bias")) {
            (1, false) => tensor,
            (1, true) => tensor.zeros_like(),
            _ => {
                let dims = tensor.dims();
                // kernels are [out, in, k, k], matrices [in, out]
                let inputs: usize = if D == 4 { dims[1..].iter().product() } else { dims[0] };
                let last = path.starts_with("policy_planes")
                    || path.starts_with("value_out")
                    || path.contains("extras.linear");
                let scale = if last { 0.1 } else { 1.0 } * (2.0 / inputs as f32).sqrt();
                let values: Vec<f32> = (0..dims.iter().product::<usize>())
                    .map(|_| scale * Distribution::<f32>::sample(&StandardNormal, &mut self.random))
                    .collect();
                Tensor::from_data(TensorData::new(values, dims), &tensor.device())
            }
        };
        // a tensor made from data is not tracked by default: without this a kernel would never be trained
        let tensor = if tensor.device().is_autodiff() { tensor.require_grad() } else { tensor };
        Param::from_mapped_value(path_id(&path), tensor, mapper)
    }
}

/// FNV-1a of a parameter's path: an id that survives saving and loading.
fn path_id(path: &str) -> ParamId {
    let hash = path
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ byte as u64).wrapping_mul(0x0100_0000_01b3));
    ParamId::from(hash)
}
