//! The network as a burn module: the layers of the [description](super::layers) with their parameters, and the
//! forward pass that training and the reference evaluator use.
//!
//! Input: a [`Network`], whose numbers become parameters with ids derived from their paths. (burn's generator is
//! global, its parameters are lazy, and its ids are random, so this module uses none of the three.) Output:
//! [`Model::snapshot`], which is a [`Network`] again. Only a [`Network`] is saved or plays, never a [`Model`].

use burn::module::{Devices, Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::{Device, Tensor, TensorData};

use super::auxiliary::AuxiliaryHead;
use super::layers::{Layer, Layers, Weighted};
use super::learn::{self, Halves};
use super::network::Network;
use super::parts::{self, Activations, Part};
use crate::config::Precision;
use crate::encode::Shape;

/// The container name reported to burn's visitors; only visitors for other file formats use it.
const CONTAINER: &str = "Struct:Network";

/// A network as a burn module.
#[derive(Clone, Debug)]
pub struct Model {
    layers: Layers,
    /// The layers with weights by name, in the order of the description.
    parts: Vec<(String, Part)>,
}

/// The outputs of a network for a batch in training, as logits.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// `[n, actions]`
    pub policy: Tensor<2>,
    /// `[n, 3]`: win, draw, loss for the player to move.
    pub wdl: Tensor<2>,
    /// `[n, outputs]` of each auxiliary head, in the order of [`Layers::auxiliary`].
    pub auxiliary: Vec<Tensor<2>>,
}

/// Like the derived implementation, except that a part's path is its name in the description, without a field name.
impl Module for Model {
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
        Model { parts, layers: self.layers.clone() }
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

impl Model {
    /// Puts a network on `device` as a module; the module can learn if the device has gradients.
    pub fn of(network: &Network, device: &Device) -> Model {
        let layers = network.layers().clone();
        let part = |layer: Weighted| (layer.name().to_string(), Part::new(layer, device));
        let model = Model { parts: layers.weighted().map(part).collect(), layers };
        model.map(&mut Fill { path: Vec::new(), network })
    }

    fn each(self, mut change: impl FnMut(&str, Part) -> Part) -> Model {
        let changed = |(name, part): (String, Part)| {
            let part = change(&name, part);
            (name, part)
        };
        let parts = self.parts.into_iter().map(changed).collect();
        Model { parts, layers: self.layers }
    }

    /// Returns the description of the network's layers.
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// Maps planes `[n, planes, h, w]` to policy logits `[n, actions]` and value logits `[n, 3]` (win, draw, loss for
    /// the player to move). Batch norm uses the batch's statistics on an autodiff device, and the running statistics on
    /// other devices.
    pub fn forward(&self, planes: Tensor<4>) -> (Tensor<2>, Tensor<2>) {
        let Outputs { policy, wdl, .. } = self.outputs(planes, None);
        (policy, wdl)
    }

    /// Computes the forward pass including the logits of the auxiliary heads. In training, convolutions multiply in
    /// `precision` if the CPU has it ([`trains_in`]).
    pub fn forward_in_training(&self, planes: Tensor<4>, precision: Precision) -> Outputs {
        self.outputs(planes, Some(precision))
    }

    fn outputs(&self, planes: Tensor<4>, in_training: Option<Precision>) -> Outputs {
        let halves = if in_training == Some(Precision::Bf16) { Halves::here() } else { None };
        let Layers { tower, policy, logits, auxiliary, .. } = &self.layers;
        let run = |layers: &[Layer], x: Activations| parts::run(layers, &self.parts, x, halves);
        let x = run(tower, Activations::Planes(planes));
        let p = run(policy, x.clone());
        let joined = |parts: &[Vec<Layer>], from: &Activations| {
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

    /// Returns a copy of the network's numbers, which later training does not change. `clone` would share the running
    /// statistics, and a record of the module in training lacks their last update.
    #[expect(clippy::missing_panics_doc, reason = "there are as many numbers as the sizes say")]
    pub fn snapshot(&self) -> Network {
        let mut collection = Collect { path: Vec::new(), names: Vec::new(), tensors: Vec::new() };
        self.valid().visit(&mut collection);
        let all = read(collection.tensors);
        let mut rest = all.as_slice();
        let tensor = |(name, sizes): (String, Vec<usize>)| {
            let numbers = rest.split_off(..sizes.iter().product()).expect("all numbers").to_vec();
            (name, (sizes, numbers))
        };
        Network::of(self.layers.clone(), collection.names.into_iter().map(tensor).collect())
    }
}

/// Returns whether networks can be trained on this machine in `precision`, which must not be `auto`.
pub fn trains_in(precision: Precision) -> bool {
    match precision {
        Precision::F32 => true,
        Precision::Bf16 => Halves::here().is_some(),
        Precision::Auto => false,
    }
}

/// Returns the precision in which networks of this many filters train fastest on this machine: bf16 if the CPU has
/// AMX, or if a measurement of some milliseconds finds AVX-512 BF16 faster.
pub(crate) fn fastest_training(filters: usize, shape: Shape) -> Precision {
    let pays = |halves: Halves| match halves {
        Halves::Tiles(_) => true,
        Halves::Pairs(_) => learn::is_faster(halves, filters, [shape.height, shape.width]),
    };
    if Halves::here().is_some_and(pays) { Precision::Bf16 } else { Precision::F32 }
}

/// Returns the time that training networks of this many filters takes in bf16 with the CPU's vector instructions,
/// relative to f32, or `None` if the CPU has tiles, which are always faster, or no instructions for bf16.
pub(crate) fn training_times_of_f32(filters: usize, shape: Shape) -> Option<f64> {
    match Halves::here()? {
        Halves::Tiles(_) => None,
        halves @ Halves::Pairs(_) => learn::times_of_f32(halves, filters, [shape.height, shape.width]),
    }
}

/// Returns the numbers of these tensors, concatenated. All tensors are read together, because a device finishes all its
/// work before each read.
pub(crate) fn read(numbers: Vec<Tensor<1>>) -> Vec<f32> {
    if numbers.is_empty() {
        Vec::new()
    } else {
        Tensor::cat(numbers, 0).into_data().try_into_vec().expect("our networks are f32")
    }
}

/// Gives every parameter the numbers of the tensor with its name, and an id derived from that name.
struct Fill<'a> {
    path: Vec<String>,
    network: &'a Network,
}

impl ModuleMapper for Fill<'_> {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.push(name.to_string());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let path = self.path.join(".");
        let (_, tensor, mapper) = param.consume();
        let data = TensorData::new(self.network.tensor(&path).to_vec(), tensor.dims());
        let tensor = Tensor::from_data(data, &tensor.device());
        // a tensor made from data is not tracked by default; without `require_grad`, a kernel would never be trained
        let tensor = if tensor.device().is_autodiff() { tensor.require_grad() } else { tensor };
        Param::from_mapped_value(path_id(&path), tensor, mapper)
    }
}

/// Collects all tensors, even those whose numbers are not computed yet.
struct Collect {
    path: Vec<String>,
    names: Vec<(String, Vec<usize>)>,
    tensors: Vec<Tensor<1>>,
}

impl ModuleVisitor for Collect {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.push(name.to_string());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let tensor = param.val();
        self.names.push((self.path.join("."), tensor.dims().to_vec()));
        self.tensors.push(tensor.flatten(0, D - 1));
    }
}

/// Returns the FNV-1a hash of a parameter's path: an id that survives saving and loading.
fn path_id(path: &str) -> ParamId {
    let hash = path
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ byte as u64).wrapping_mul(0x0100_0000_01b3));
    ParamId::from(hash)
}
