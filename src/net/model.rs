//! The network as a burn module: the layers of the [description](super::layers) with their parameters, and the forward
//! pass that training and the reference evaluator use.
//!
//! Initial weights come from a random stream of the run's seed and parameter ids from parameter paths: burn's own
//! generator is global, its parameters are lazy and its ids random, so none of the three is used.
//! [`Network::snapshot`] is the only way to make a copy that later training does not change, and the only form that is
//! saved.

use std::collections::BTreeMap;
use std::sync::Once;

use burn::BurnConfig;
use burn::module::{Devices, Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::{Device, Tensor, TensorData};
use burn_std::config::RuntimeConfig;
use burn_store::{ModuleSnapshot, SafetensorsStore};
use rand_distr::{Distribution, StandardNormal};

use super::auxiliary::AuxiliaryHead;
use super::layers::{Layer, Layers, Weighted};
use super::parts::{self, Flow, Part};
use super::ranges::Ranges;
use super::tensors;
use super::training::{self, Halves};
use super::weights::Weights;
use crate::config::{NetConfig, Precision};
use crate::encode::Shape;
use crate::error::{Error, Result};
use crate::random::{Purpose, Random, stream};

/// What burn's visitors are told to be in; only those of other file formats care.
const CONTAINER: &str = "Struct:Network";

/// The CPU device for evaluation. Never `Device::default()`: that picks a GPU backend if one is compiled in.
pub fn device() -> Device {
    configure_burn();
    Device::flex()
}

/// The CPU device with gradients.
pub fn training_device() -> Device {
    device().autodiff()
}

/// Keeps burn from reading a `burn.toml` or `cubecl.toml` in the working folder or above it when it is first used; such
/// a file was not meant for us and may name files to write. A configuration that the program set earlier stays.
pub(super) fn configure_burn() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        BurnConfig::try_set(BurnConfig::default());
        #[cfg(feature = "vulkan")]
        super::vulkan::configure();
    });
}

/// The network; its [`Layers`] say what it computes.
#[derive(Clone, Debug)]
pub struct Network {
    layers: Layers,
    /// What has weights, in the order of the description, by name.
    parts: Vec<(String, Part)>,
    /// How large its activations become, if that was measured for these weights.
    ranges: Option<Ranges>,
}

/// What a network says of a batch in training, as logits.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// `[n, actions]`
    pub policy: Tensor<2>,
    /// `[n, 3]`: win, draw, loss for the player to move.
    pub wdl: Tensor<2>,
    /// Of each auxiliary head, in the order of [`Layers::auxiliary`].
    pub auxiliary: Vec<Tensor<2>>,
}

/// As burn derives it, except that a part's path is its name in the description, without that of a field.
impl Module for Network {
    fn collect_devices(&self, devices: Devices) -> Devices {
        self.parts.iter().fold(devices, |devices, (_, part)| part.collect_devices(devices))
    }

    fn fork(self, device: &Device) -> Self {
        self.each(|_, part| part.fork(device))
    }

    fn to_device(self, device: &Device) -> Self {
        self.each(|_, part| part.to_device(device))
    }

    fn train(self) -> Self {
        self.each(|_, part| part.train())
    }

    fn valid(&self) -> Self {
        let parts = self.parts.iter().map(|(name, part)| (name.clone(), part.valid())).collect();
        Network { parts, layers: self.layers.clone(), ranges: self.ranges.clone() }
    }

    fn materialize(self) -> Self {
        self.each(|_, part| part.materialize())
    }

    fn visit<Visitor: ModuleVisitor>(&self, visitor: &mut Visitor) {
        for (name, part) in &self.parts {
            name.split('.').for_each(|piece| visitor.enter_module(piece, CONTAINER));
            part.visit_within(visitor);
            name.rsplit('.').for_each(|piece| visitor.exit_module(piece, CONTAINER));
        }
    }

    fn map<Mapper: ModuleMapper>(self, mapper: &mut Mapper) -> Self {
        self.each(|name, part| {
            name.split('.').for_each(|piece| mapper.enter_module(piece, CONTAINER));
            let part = part.map_within(mapper);
            name.rsplit('.').for_each(|piece| mapper.exit_module(piece, CONTAINER));
            part
        })
    }
}

impl Network {
    /// A network with random initial weights from the stream of `seed`.
    pub fn new(config: &NetConfig, shape: Shape, seed: u64, device: &Device) -> Network {
        let layers = Layers::new(config, shape);
        let part = |layer: Weighted| (layer.name().to_string(), Part::new(layer, device));
        let parts = layers.weighted().map(part).collect();
        let network = Network { parts, layers: layers.clone(), ranges: None };
        let random = stream(seed, Purpose::Weights, &[]);
        network.map(&mut FirstWeights { path: Vec::new(), random, layers: &layers })
    }

    /// A network of `config` for a game of `shape` that takes over every layer that is the same here, and the names of
    /// the others, which begin with weights from the stream of `seed`. What it has no place for is left out. If it
    /// reads another number of planes, the first convolution keeps its weights for those that both have, the first
    /// ones.
    pub fn adapted(
        self,
        config: &NetConfig,
        shape: Shape,
        seed: u64,
        device: &Device,
    ) -> (Network, Vec<String>) {
        let Network { parts, layers, .. } = Network::new(config, shape, seed, device);
        let tensors = |layers: &Layers| -> BTreeMap<String, Vec<(String, Vec<usize>)>> {
            layers.weighted().map(|layer| (layer.name().to_string(), layer.tensors())).collect()
        };
        let (known, wanted) = (tensors(&self.layers), tensors(&layers));
        let stem = inputs(&self.layers, &layers);
        let mut own: BTreeMap<String, Part> = self.parts.into_iter().collect();
        let mut anew = Vec::new();
        let adapted = |(name, part): (String, Part)| {
            let part = match own.remove(&name) {
                Some(own) if known.get(&name) == wanted.get(&name) => own,
                Some(own) if name == "stem" && known[&name][1..] == wanted[&name][1..] => {
                    own.with_inputs(&stem, &part)
                }
                _ => {
                    anew.push(name.clone());
                    part
                }
            };
            (name, part)
        };
        let parts = parts.into_iter().map(adapted).collect();
        (Network { parts, layers, ranges: None }, anew)
    }

    fn each(self, mut change: impl FnMut(&str, Part) -> Part) -> Network {
        let changed = |(name, part): (String, Part)| {
            let part = change(&name, part);
            (name, part)
        };
        let parts = self.parts.into_iter().map(changed).collect();
        Network { parts, layers: self.layers, ranges: self.ranges }
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

    /// What it computes.
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// Planes `[n, planes, h, w]` to policy logits `[n, actions]` and value logits `[n, 3]` (win, draw, loss
    /// for the player to move). Batch statistics on an autodiff device, running ones after [`Network::snapshot`].
    pub fn forward(&self, planes: Tensor<4>) -> (Tensor<2>, Tensor<2>) {
        let Outputs { policy, wdl, .. } = self.outputs(planes, None);
        (policy, wdl)
    }

    /// The forward pass with the logits of the auxiliary heads; convolutions that learn multiply in this precision, if
    /// the CPU has it ([`trains_in`]).
    pub fn forward_in_training(&self, planes: Tensor<4>, precision: Precision) -> Outputs {
        self.outputs(planes, Some(precision))
    }

    fn outputs(&self, planes: Tensor<4>, in_training: Option<Precision>) -> Outputs {
        let halves = if in_training == Some(Precision::Bf16) { Halves::here() } else { None };
        let Layers { tower, policy, logits, auxiliary, .. } = &self.layers;
        let run = |layers: &[Layer], x: Flow| parts::run(layers, &self.parts, x, halves);
        let x = run(tower, Flow::Planes(planes));
        let p = run(policy, x.clone());
        let joined = |parts: &[Vec<Layer>], from: &Flow| {
            let parts = parts.iter().map(|part| run(part, from.clone()).row()).collect();
            Tensor::cat(parts, 1)
        };
        let (hidden, last) = self.layers.value_ends();
        let policy = joined(logits, &p);
        let hidden = run(hidden, x);
        let head =
            |head: &AuxiliaryHead| joined(&head.parts, if head.kind.is_policy() { &p } else { &hidden });
        let auxiliary = auxiliary.iter().filter(|_| in_training.is_some()).map(head).collect();
        Outputs { policy, auxiliary, wdl: run(last, hidden).row() }
    }

    /// An independent copy for evaluation and saving. `clone` would share the running statistics, and a record of the
    /// network in training lacks their last update.
    pub fn snapshot(&self) -> Network {
        self.valid()
    }

    /// The weights with batch norm folded in. Call it on a [`Network::snapshot`].
    pub fn weights(&self) -> Weights {
        let numbers = self.parts.iter().map(|(name, part)| (name.clone(), part.numbers())).collect();
        Weights { layers: self.layers.clone(), numbers, ranges: self.ranges.clone() }
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
        let ranges = tensors::ranges(&bytes, place, &network.layers)?;
        let mut store = SafetensorsStore::from_bytes(Some(bytes));
        network
            .load_from(&mut store)
            .map_err(|e| Error::Data(format!("{place} does not hold the weights of this network: {e}")))?;
        Ok(network.with_ranges(ranges))
    }
}

/// Whether networks can be trained here in `precision`, which must be a named one.
pub fn trains_in(precision: Precision) -> bool {
    match precision {
        Precision::F32 => true,
        Precision::Bf16 => Halves::here().is_some(),
        Precision::Int8 | Precision::Auto => false,
    }
}

/// The precision in which networks of so many filters are trained fastest here: bf16 where the CPU has AMX, and where
/// a measurement of some milliseconds finds AVX-512 BF16 faster.
pub fn fastest_training(filters: usize, shape: Shape) -> Precision {
    let pays = |halves: Halves| match halves {
        Halves::Tiles(_) => true,
        Halves::Pairs(_) => training::is_faster(halves, filters, [shape.height, shape.width]),
    };
    if Halves::here().is_some_and(pays) { Precision::Bf16 } else { Precision::F32 }
}

/// How many times as long as in f32 networks of so many filters take to be trained in bf16 by the CPU's vectors; `None`
/// where it has tiles, which are always faster, or no instructions for bf16.
pub fn training_times_of_f32(filters: usize, shape: Shape) -> Option<f64> {
    match Halves::here()? {
        Halves::Tiles(_) => None,
        halves @ Halves::Pairs(_) => training::times_of_f32(halves, filters, [shape.height, shape.width]),
    }
}

/// Gives every parameter an id derived from its path. Matrices and kernels get He-normal numbers (He et al. 2015),
/// biases 0. The last layers start small, so that a new network is nearly indifferent.
struct FirstWeights<'a> {
    path: Vec<String>,
    random: Random,
    layers: &'a Layers,
}

impl ModuleMapper for FirstWeights<'_> {
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
                let layer = path.rsplit_once('.').map_or("", |(layer, _)| layer);
                let size = if self.layers.begins_small(layer) { 0.1 } else { 1.0 };
                let scale = size * (2.0 / inputs as f32).sqrt();
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

/// FNV-1a of a parameter's path: an id that survives saving and loading.
fn path_id(path: &str) -> ParamId {
    let hash = path
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ byte as u64).wrapping_mul(0x0100_0000_01b3));
    ParamId::from(hash)
}
