//! A network as plain numbers: its [description](super::layers) and every tensor, in the form that is trained and
//! stored in files.
//!
//! Input: settings and a seed, or a safetensors file. Output: [`Weights`] for inference, tensors for training
//! ([`Model`](super::model::Model)), or a file. This module neither trains nor computes, and does not need burn.

use std::collections::BTreeMap;

use rand_distr::{Distribution, StandardNormal};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use super::kernels::bf16;
use super::layers::{Conv, EPSILON, Layer, Layers, Weighted};
use super::tensors;
use super::weights::{Numbers, Weights};
use crate::config::NetConfig;
use crate::encode::Shape;
use crate::error::{Error, Result};
use crate::random::{Purpose, Random, stream};

/// A network; its [`Layers`] define what it computes.
///
/// ```
/// use petteia::config::NetConfig;
/// use petteia::game::Game;
/// use petteia::games::tic_tac_toe::TicTacToe;
/// use petteia::net::network::Network;
///
/// let config = NetConfig::with(|net| (net.filters, net.blocks) = (4, 1));
/// let shape = TicTacToe.shape();
/// let network = Network::new(&config, shape, 1);
/// assert_eq!(network.tensor("stem.conv.weight").len(), 4 * shape.planes * 3 * 3);
/// let bytes = network.to_safetensors("an example")?;
/// assert_eq!(Network::from_safetensors(&bytes, "its own file", &config, shape)?, network);
/// # Ok::<(), petteia::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    layers: Layers,
    /// Every tensor by its name in a file, with its sizes: kernels `[out, in, k, k]`, matrices `[in, out]`.
    tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
}

impl Network {
    /// Makes a network with random initial weights from the stream of `seed`: He-normal kernels and matrices (He et al.
    /// 2015), and biases of 0. The last layers begin with small weights, so that a new network prefers no action by
    /// much.
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
        let entries = layers.weighted().flat_map(|layer| {
            let tensors = layer.tensors().into_iter();
            let entry = |(name, sizes): (String, Vec<usize>)| (of_layer(&name).to_string(), name, sizes);
            tensors.map(entry).collect::<Vec<_>>()
        });
        let tensors = entries.collect::<Vec<_>>().into_iter().map(first).collect();
        Network { layers, tensors }
    }

    /// Makes a network of these tensors, which must be those of `layers`.
    pub(super) fn of(layers: Layers, tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>) -> Network {
        Network { layers, tensors }
    }

    /// Returns a network of `config` for a game of `shape` that keeps the weights of every layer whose sizes stay the
    /// same. The other layers begin with weights from the stream of `seed`; their names are returned, too. Layers that
    /// do not exist in the new network are dropped. If the number of input planes differs, the first convolution keeps
    /// its weights for the planes that both networks have, which come first.
    #[expect(clippy::missing_panics_doc, reason = "a network has the tensors of its description")]
    pub fn adapted(mut self, config: &NetConfig, shape: Shape, seed: u64) -> (Network, Vec<String>) {
        let mut network = Network::new(config, shape, seed);
        let mut new_layers = Vec::new();
        let stem = inputs(&self.layers, &network.layers);
        let old_layers: BTreeMap<String, _> =
            self.layers.weighted().map(|layer| (layer.name().to_string(), layer.tensors())).collect();
        for layer in network.layers.weighted() {
            let (name, tensors) = (layer.name(), layer.tensors());
            let old = old_layers.get(name);
            let is_stem = || name == "stem" && old.is_some_and(|old| old[1..] == tensors[1..]);
            if old != Some(&tensors) && !is_stem() {
                new_layers.push(name.to_string());
                continue;
            }
            for (tensor, sizes) in &tensors {
                let (own_sizes, own) = self.tensors.remove(tensor).expect("a tensor of its description");
                let new = network.tensors.get_mut(tensor).expect("a tensor of its description");
                new.1 = if own_sizes == *sizes { own } else { with_inputs(&stem, &own_sizes, &own, &new.1) };
            }
        }
        (network, new_layers)
    }

    /// Returns the description of the network's layers.
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// Returns the network's tensors with their names in a file and their sizes.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, &[usize], &[f32])> {
        self.tensors.iter().map(|(name, (sizes, numbers))| (&**name, &**sizes, &**numbers))
    }

    /// Returns the numbers of a tensor.
    ///
    /// # Panics
    /// If there is no such tensor.
    pub fn tensor(&self, name: &str) -> &[f32] {
        &self.tensors.get(name).unwrap_or_else(|| panic!("the network has no tensor {name}")).1
    }

    /// Returns all numbers, tensor by tensor in the order of their names.
    pub(crate) fn numbers_mut(&mut self) -> impl Iterator<Item = &mut Vec<f32>> {
        self.tensors.values_mut().map(|(_, numbers)| numbers)
    }

    /// Returns how many numbers the network has.
    pub fn count(&self) -> usize {
        self.tensors.values().map(|(_, numbers)| numbers.len()).sum()
    }

    /// Returns the weights with batch norm folded in.
    pub fn weights(&self) -> Weights {
        let numbers = |layer: Weighted| {
            let name = layer.name();
            let of = |part: &str| self.tensor(&format!("{name}.{part}"));
            let numbers = match layer {
                Weighted::Conv(Conv { norm: true, .. }) => folded(
                    of("conv.weight"),
                    ["gamma", "beta", "running_mean", "running_var"].map(|part| of(&format!("norm.{part}"))),
                ),
                Weighted::Conv(Conv { norm: false, .. }) | Weighted::Linear(_) => {
                    Numbers { weight: of("weight").to_vec(), bias: of("bias").to_vec() }
                }
            };
            (name.to_string(), numbers)
        };
        Weights { layers: self.layers.clone(), numbers: self.layers.weighted().map(numbers).collect() }
    }

    /// Writes the network as a safetensors file; `about` becomes the entry `petteia` of its metadata.
    ///
    /// # Errors
    /// If the `safetensors` library refuses the tensors, which no network is known to cause.
    pub fn to_safetensors(&self, about: &str) -> Result<Vec<u8>> {
        self.to_safetensors_as(Dtype::F32, about)
    }

    /// Does the same as [`Network::to_safetensors`] with kernels and matrices rounded to bf16, in about half the bytes.
    /// Norms and biases, which are few, stay in f32.
    ///
    /// # Errors
    /// As for [`Network::to_safetensors`].
    pub fn to_safetensors_bf16(&self, about: &str) -> Result<Vec<u8>> {
        self.to_safetensors_as(Dtype::BF16, about)
    }

    /// Writes a safetensors file whose kernels and matrices are of this type, F32 or BF16.
    fn to_safetensors_as(&self, kind: Dtype, about: &str) -> Result<Vec<u8>> {
        let error =
            |e: &dyn std::fmt::Display| Error::Data(format!("cannot write weights as safetensors: {e}"));
        let bytes: Vec<_> = self
            .tensors()
            .map(|(name, sizes, numbers)| {
                if kind == Dtype::BF16 && sizes.len() > 1 {
                    let halves = numbers.iter().flat_map(|number| bf16(*number).to_le_bytes());
                    (name, sizes, kind, halves.collect::<Vec<u8>>())
                } else {
                    let whole = numbers.iter().flat_map(|number| number.to_le_bytes());
                    (name, sizes, Dtype::F32, whole.collect())
                }
            })
            .collect();
        let views = bytes.iter().map(|(name, sizes, kind, bytes)| {
            TensorView::new(*kind, sizes.to_vec(), bytes).map(|view| (*name, view))
        });
        let views = views.collect::<std::result::Result<Vec<_>, _>>().map_err(|e| error(&e))?;
        let about = [("petteia".to_string(), about.to_string())].into();
        safetensors::serialize(views, Some(about)).map_err(|e| error(&e))
    }

    /// Reads a network of this config and shape from a safetensors file, called `place` in errors.
    ///
    /// # Errors
    /// If the file does not contain exactly the tensors of a network of this config and shape, with finite numbers.
    pub fn from_safetensors(bytes: &[u8], place: &str, config: &NetConfig, shape: Shape) -> Result<Network> {
        tensors::check(bytes, place, config, shape)?;
        let layers = Layers::new(config, shape);
        let error = |e| Error::Data(format!("{place} does not hold the weights of this network: {e}"));
        let file = SafeTensors::deserialize(bytes).map_err(error)?;
        let mut tensors = BTreeMap::new();
        for (name, sizes) in layers.weighted().flat_map(|layer| layer.tensors()) {
            let tensor = file.tensor(&name).map_err(error)?;
            tensors.insert(name, (sizes, tensors::numbers(tensor.data(), tensor.dtype().bitsize() / 8)));
        }
        Ok(Network { layers, tensors })
    }
}

/// Returns the name of a tensor without its last part: the layer or, for a convolution with batch norm, `LAYER.norm` or
/// `LAYER.conv`.
fn of_layer(tensor: &str) -> &str {
    tensor.rsplit_once('.').map_or("", |(layer, _)| layer)
}

/// Draws He-normal weights, a tenth as large if the layer should begin with small weights.
fn first_weights(sizes: &[usize], small: bool, random: &mut Random) -> Vec<f32> {
    // kernels are [out, in, k, k], matrices [in, out]
    let inputs: usize = if sizes.len() == 4 { sizes[1..].iter().product() } else { sizes[0] };
    let size = if small { 0.1 } else { 1.0 };
    let scale = size * (2.0 / inputs as f32).sqrt();
    (0..sizes.iter().product::<usize>())
        .map(|_| scale * Distribution::<f32>::sample(&StandardNormal, random))
        .collect()
}

/// Folds a batch norm (gamma, beta, mean and variance) into the convolution before it.
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

/// Returns a kernel with other inputs: for each element of `inputs`, the input of `own` with this index or, if `None`,
/// the input at the same place in `new`.
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

/// Returns, for each channel that the stem of `layers` reads, the channel of `old` with the same meaning.
fn inputs(old: &Layers, layers: &Layers) -> Vec<Option<usize>> {
    let has_ones = |layers: &Layers| layers.tower.first() == Some(&Layer::Ones);
    let plane = |plane: usize| (plane < old.shape.planes).then_some(plane);
    let mut inputs: Vec<Option<usize>> = (0..layers.shape.planes).map(plane).collect();
    if has_ones(layers) {
        inputs.push(has_ones(old).then_some(old.shape.planes));
    }
    inputs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_16_bits_has_the_rounded_numbers() {
        let config = NetConfig { value_pooling: true, ..NetConfig::default() };
        let shape = Shape { planes: 3, height: 5, width: 5, actions: 26 };
        let network = Network::new(&config, shape, 7);
        let (whole, half) = (network.to_safetensors("").unwrap(), network.to_safetensors_bf16("").unwrap());
        assert!(2 * half.len() < whole.len() + whole.len() / 8, "{} and {} bytes", half.len(), whole.len());
        let read = Network::from_safetensors(&half, "half", &config, shape).unwrap();
        for ((name, sizes, numbers), (_, _, read)) in network.tensors().zip(read.tensors()) {
            let is_rounded = sizes.len() > 1;
            let rounded = |number: &f32| f32::from_bits(u32::from(bf16(*number)) << 16);
            let expected = |number: &f32| if is_rounded { rounded(number) } else { *number };
            assert!(numbers.iter().map(expected).eq(read.iter().copied()), "{name}");
            assert!(!is_rounded || numbers != read, "{name} has numbers beyond 16 bits");
        }
        // rounding twice changes nothing
        assert_eq!(read.to_safetensors_bf16("").unwrap(), half);
        // a number that is not finite is found in 16 bits, too
        let (at, mut wrong) = (half.len() - 2, half);
        wrong[at..].copy_from_slice(&0x7f80u16.to_le_bytes());
        let error = Network::from_safetensors(&wrong, "half", &config, shape).unwrap_err().to_string();
        assert!(error.contains("inf, not a finite number"), "{error}");
    }

    #[test]
    fn channels_that_shrink_are_counted() {
        let config = NetConfig::default();
        let shape = Shape { planes: 3, height: 5, width: 5, actions: 26 };
        let mut weights = Network::new(&config, shape, 7).weights();
        let (dead, all) = weights.dead_channels();
        assert_eq!(dead, 0);
        assert!(all > 2 * config.filters * config.blocks, "{all} channels");
        let stem = weights.numbers.get_mut("stem").unwrap();
        let inputs = stem.weight.len() / config.filters;
        for (channel, factor) in [(0, 0.5), (1, 1e-4), (5, 0.0)] {
            stem.weight[channel * inputs..][..inputs].iter_mut().for_each(|weight| *weight *= factor);
        }
        assert_eq!(weights.dead_channels(), (2, all));
        // dead channels are found even if most of a layer is dead
        let stem = weights.numbers.get_mut("stem").unwrap();
        stem.weight[..inputs * config.filters / 4 * 3].iter_mut().for_each(|weight| *weight *= 1e-4);
        assert_eq!(weights.dead_channels(), (config.filters / 4 * 3, all));
    }
}
