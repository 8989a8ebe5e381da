//! A network as plain numbers: its [description](super::layers) and every tensor, as training has them and files keep
//! them.
//!
//! In: settings and a seed, or a safetensors file. Out: [`Weights`] for whoever computes, tensors for who trains
//! ([`Model`](super::model::Model)), or a file. Nothing here trains or computes, and nothing needs burn.

use std::collections::BTreeMap;

use rand_distr::{Distribution, StandardNormal};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use super::layers::{Conv, EPSILON, Layer, Layers, Weighted};
use super::ranges::Ranges;
use super::tensors;
use super::weights::{Numbers, Weights};
use crate::config::NetConfig;
use crate::encode::Shape;
use crate::error::{Error, Result};
use crate::random::{Purpose, Random, stream};

/// A network; its [`Layers`] say what it computes.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    layers: Layers,
    /// Every tensor by its name in a file, with its sizes: kernels `[out, in, k, k]`, matrices `[in, out]`.
    tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
    /// How large its activations become, if that was measured for these weights.
    ranges: Option<Ranges>,
}

impl Network {
    /// A network with random initial weights from the stream of `seed`: He-normal kernels and matrices (He et al. 2015),
    /// biases 0. The last layers begin small, so that a new network is nearly indifferent.
    pub fn new(config: &NetConfig, shape: Shape, seed: u64) -> Network {
        let layers = Layers::new(config, shape);
        let mut random = stream(seed, Purpose::Weights, &[]);
        let first = |(layer, name, sizes): (String, String, Vec<usize>)| {
            let numbers = match sizes.len() {
                1 if name.ends_with(".gamma") || name.ends_with(".running_var") => vec![1.0; sizes[0]],
                1 => vec![0.0; sizes[0]],
                _ => first_weights(&sizes, layers.begins_small(&layer), &mut random),
            };
            (name, (sizes, numbers))
        };
        let named = layers.weighted().flat_map(|layer| {
            let tensors = layer.tensors().into_iter();
            let named = |(name, sizes): (String, Vec<usize>)| (of_layer(&name).to_string(), name, sizes);
            tensors.map(named).collect::<Vec<_>>()
        });
        let tensors = named.collect::<Vec<_>>().into_iter().map(first).collect();
        Network { layers, tensors, ranges: None }
    }

    /// A network of these tensors, which must be those of `layers`.
    pub(super) fn of(layers: Layers, tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>) -> Network {
        Network { layers, tensors, ranges: None }
    }

    /// A network of `config` for a game of `shape` that takes over every layer that is the same here, and the names of
    /// the others, which begin with weights from the stream of `seed`. What it has no place for is left out. If it
    /// reads another number of planes, the first convolution keeps its weights for those that both have, the first
    /// ones.
    pub fn adapted(mut self, config: &NetConfig, shape: Shape, seed: u64) -> (Network, Vec<String>) {
        let mut network = Network::new(config, shape, seed);
        let mut anew = Vec::new();
        let stem = inputs(&self.layers, &network.layers);
        let known: BTreeMap<String, _> =
            self.layers.weighted().map(|layer| (layer.name().to_string(), layer.tensors())).collect();
        for layer in network.layers.weighted() {
            let (name, wanted) = (layer.name(), layer.tensors());
            let known = known.get(name);
            let is_stem = || name == "stem" && known.is_some_and(|known| known[1..] == wanted[1..]);
            if known != Some(&wanted) && !is_stem() {
                anew.push(name.to_string());
                continue;
            }
            for (tensor, sizes) in &wanted {
                let (own_sizes, own) = self.tensors.remove(tensor).expect("a tensor of its description");
                let new = network.tensors.get_mut(tensor).expect("a tensor of its description");
                new.1 = if own_sizes == *sizes { own } else { with_inputs(&stem, &own_sizes, &own, &new.1) };
            }
        }
        (network, anew)
    }

    /// Attaches the ranges of the network's activations.
    #[must_use]
    pub fn with_ranges(self, ranges: Option<Ranges>) -> Network {
        Network { ranges, ..self }
    }

    /// How large its activations become, if that is known.
    pub fn ranges(&self) -> Option<&Ranges> {
        self.ranges.as_ref()
    }

    /// The description that it follows.
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// Its tensors by their names in a file, each with its sizes.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, &[usize], &[f32])> {
        self.tensors.iter().map(|(name, (sizes, numbers))| (&**name, &**sizes, &**numbers))
    }

    /// The numbers of a tensor.
    ///
    /// # Panics
    /// There is no such tensor.
    pub fn tensor(&self, name: &str) -> &[f32] {
        &self.tensors.get(name).unwrap_or_else(|| panic!("a network without the tensor {name}")).1
    }

    /// All numbers, tensor by tensor in the order of their names.
    pub fn numbers_mut(&mut self) -> impl Iterator<Item = &mut Vec<f32>> {
        self.tensors.values_mut().map(|(_, numbers)| numbers)
    }

    /// How many numbers it has.
    pub fn count(&self) -> usize {
        self.tensors.values().map(|(_, numbers)| numbers.len()).sum()
    }

    /// The weights with batch norm folded in.
    pub fn weights(&self) -> Weights {
        let numbers = |layer: Weighted| {
            let name = layer.name();
            let of = |part: &str| self.tensor(&format!("{name}.{part}"));
            let numbers = match layer {
                Weighted::Conv(Conv { norm: true, .. }) => folded(
                    of("conv.weight"),
                    ["gamma", "beta", "running_mean", "running_var"].map(|part| of(&format!("norm.{part}"))),
                ),
                _ => Numbers { weight: of("weight").to_vec(), bias: of("bias").to_vec() },
            };
            (name.to_string(), numbers)
        };
        Weights {
            layers: self.layers.clone(),
            numbers: self.layers.weighted().map(numbers).collect(),
            ranges: self.ranges.clone(),
        }
    }

    /// As a safetensors file; `about` becomes the entry `petteia` of its metadata.
    ///
    /// # Errors
    /// Never, as far as is known.
    pub fn to_safetensors(&self, about: &str) -> Result<Vec<u8>> {
        let failed =
            |e: &dyn std::fmt::Display| Error::Data(format!("cannot write weights as safetensors: {e}"));
        let bytes: BTreeMap<&str, (&[usize], Vec<u8>)> = self
            .tensors()
            .map(|(name, sizes, numbers)| {
                (name, (sizes, numbers.iter().flat_map(|number| number.to_le_bytes()).collect()))
            })
            .collect();
        let views = bytes.iter().map(|(name, (sizes, bytes))| {
            TensorView::new(Dtype::F32, sizes.to_vec(), bytes).map(|view| (*name, view))
        });
        let views = views.collect::<std::result::Result<Vec<_>, _>>().map_err(|e| failed(&e))?;
        let about = [("petteia".to_string(), about.to_string())].into();
        safetensors::serialize(views, Some(about)).map_err(|e| failed(&e))
    }

    /// A network of this config and shape from a safetensors file, called `place` in errors, which must hold exactly
    /// its tensors, with finite numbers.
    ///
    /// # Errors
    /// It does not.
    pub fn from_safetensors(bytes: &[u8], place: &str, config: &NetConfig, shape: Shape) -> Result<Network> {
        tensors::check(bytes, place, config, shape)?;
        let layers = Layers::new(config, shape);
        let ranges = tensors::ranges(bytes, place, &layers)?;
        let wrong = |e| Error::Data(format!("{place} does not hold the weights of this network: {e}"));
        let file = SafeTensors::deserialize(bytes).map_err(wrong)?;
        let mut tensors = BTreeMap::new();
        for (name, sizes) in layers.weighted().flat_map(|layer| layer.tensors()) {
            let numbers = file.tensor(&name).map_err(wrong)?;
            let numbers =
                numbers.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
            tensors.insert(name, (sizes, numbers));
        }
        Ok(Network { layers, tensors, ranges })
    }
}

/// The layer of a tensor, from its name: that of a norm's factor is `LAYER.norm`, as that of its kernel is
/// `LAYER.conv`.
fn of_layer(tensor: &str) -> &str {
    tensor.rsplit_once('.').map_or("", |(layer, _)| layer)
}

/// He-normal numbers, a tenth of that if they should begin small.
fn first_weights(sizes: &[usize], small: bool, random: &mut Random) -> Vec<f32> {
    // kernels are [out, in, k, k], matrices [in, out]
    let inputs: usize = if sizes.len() == 4 { sizes[1..].iter().product() } else { sizes[0] };
    let size = if small { 0.1 } else { 1.0 };
    let scale = size * (2.0 / inputs as f32).sqrt();
    (0..sizes.iter().product::<usize>())
        .map(|_| scale * Distribution::<f32>::sample(&StandardNormal, random))
        .collect()
}

/// A convolution with the norm behind it, its gamma, beta, mean and variance, as one.
fn folded(kernel: &[f32], [gamma, beta, mean, variance]: [&[f32]; 4]) -> Numbers {
    let (mut weight, mut bias) = (kernel.to_vec(), Vec::with_capacity(gamma.len()));
    let per_output = weight.len() / gamma.len();
    for (output, weights) in weight.chunks_exact_mut(per_output).enumerate() {
        let scale = gamma[output] as f64 / (variance[output] as f64 + EPSILON).sqrt();
        weights.iter_mut().for_each(|weight| *weight = (*weight as f64 * scale) as f32);
        bias.push((beta[output] as f64 - mean[output] as f64 * scale) as f32);
    }
    Numbers { weight, bias }
}

/// A kernel with its inputs rearranged: each one is the input of that number of `own` or, for `None`, as `new` has it.
fn with_inputs(inputs: &[Option<usize>], sizes: &[usize], own: &[f32], new: &[f32]) -> Vec<f32> {
    let area = sizes[2] * sizes[3];
    let of = |kernel: &[f32], all: usize, output: usize, input: usize| {
        kernel[(output * all + input) * area..][..area].to_vec()
    };
    let mut kernel = Vec::with_capacity(new.len());
    for output in 0..sizes[0] {
        for (at, input) in inputs.iter().enumerate() {
            kernel.extend(match *input {
                Some(input) => of(own, sizes[1], output, input),
                None => of(new, inputs.len(), output, at),
            });
        }
    }
    kernel
}

/// For each channel that the stem of `layers` reads, the one of `known` that means the same.
fn inputs(known: &Layers, layers: &Layers) -> Vec<Option<usize>> {
    let has_ones = |layers: &Layers| layers.tower.first() == Some(&Layer::Ones);
    let plane = |plane: usize| (plane < known.shape.planes).then_some(plane);
    let mut inputs: Vec<Option<usize>> = (0..layers.shape.planes).map(plane).collect();
    if has_ones(layers) {
        inputs.push(has_ones(known).then_some(known.shape.planes));
    }
    inputs
}
