//! The description of a network: the list of its layers, derived from the settings and the sizes of a game.
//!
//! The list of layers alone defines what a network computes; everything else follows from it. [`model`](super::model)
//! trains the network, `tensors` checks a file of its tensors, [`weights`](super::weights) has its numbers,
//! [`infer`](super::infer) runs it, and exports write it as ONNX and as JSON in their metadata.

use serde::Serialize;

use super::auxiliary::{self, AuxiliaryHead};
use crate::config::NetConfig;
use crate::encode::Shape;

/// The number of planes that feed the logits of actions that belong to no square.
const EXTRA_PLANES: usize = 8;

/// A residual policy/value network (Silver et al. 2017; the value head after KataGo).
///
/// To find out how large a network will be:
///
/// ```
/// use petteia::config::NetConfig;
/// use petteia::game::Game;
/// use petteia::games::tic_tac_toe::TicTacToe;
/// use petteia::net::{layers::Layers, network::Network};
///
/// let config = NetConfig::with(|net| (net.filters, net.blocks) = (4, 1));
/// let layers = Layers::new(&config, TicTacToe.shape());
/// let tensors = layers.weighted().flat_map(|layer| layer.tensors());
/// let numbers: usize = tensors.map(|(_name, sizes)| sizes.iter().product::<usize>()).sum();
/// assert_eq!(numbers, Network::new(&config, TicTacToe.shape(), 1).count());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layers {
    /// The sizes of input and policy: `actions = policy planes * cells + extras`.
    pub shape: Shape,
    /// The layers from the input to the features that both heads read.
    pub tower: Vec<Layer>,
    /// The layers from the features of the tower to those of the policy.
    pub policy: Vec<Layer>,
    /// The layers from the features of the policy to logits, part by part: first those of the actions on squares, in
    /// the order `[plane, row, column]`, then those of the `actions % cells` actions without a square. Either part may
    /// be missing.
    pub logits: Vec<Vec<Layer>>,
    /// The layers from the features of the tower to the logits of win, draw, and loss for the player to move.
    pub value: Vec<Layer>,
    /// Heads that exist only in training.
    #[serde(skip)]
    pub auxiliary: Vec<AuxiliaryHead>,
}

/// One layer of a list. `x` is the output of the layer before it: planes, or a row of numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "layer", rename_all = "snake_case")]
pub enum Layer {
    /// Appends a plane with a 1 on every square.
    Ones,
    /// `conv(x)`, planes to planes.
    Conv(Conv),
    /// `relu(second(first(x)) + x)`, planes to planes.
    Block {
        /// The beginning of the convolutions' names.
        name: String,
        /// The convolution with a ReLU.
        first: Conv,
        /// The convolution without a ReLU: the block's ReLU comes after the sum.
        second: Conv,
    },
    /// `relu(x + linear(pool(x)))`, planes to planes: computes one number per plane from the [`Layer::Pool`] of all
    /// planes, and adds it to all squares of that plane.
    Global(Linear),
    /// Planes to a row, in the order `[plane, row, column]`.
    Flatten,
    /// Planes to a row: the mean of each plane, then the maximum of each.
    Pool,
    /// `linear(x)`, row to row.
    Linear(Linear),
}

/// Added to a variance in batch norm to avoid a division by zero.
pub const EPSILON: f64 = 1e-5;

/// A stride-1 convolution with zero padding (it keeps the board's size), with batch norm or a bias.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Conv {
    /// The beginning of its tensors' names.
    pub name: String,
    /// Input channels.
    pub inputs: usize,
    /// Output channels.
    pub outputs: usize,
    /// 1 or 3.
    pub kernel: usize,
    /// Whether it has batch norm instead of a bias.
    pub norm: bool,
    /// Whether it ends in a ReLU.
    pub relu: bool,
}

/// A fully connected layer with a bias.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Linear {
    /// The beginning of its tensors' names.
    pub name: String,
    /// Input features.
    pub inputs: usize,
    /// Output features.
    pub outputs: usize,
    /// Whether it ends in a ReLU.
    pub relu: bool,
}

/// A part of a layer that has weights.
#[derive(Clone, Copy, Debug)]
pub enum Weighted<'a> {
    /// A convolution.
    Conv(&'a Conv),
    /// A fully connected layer.
    Linear(&'a Linear),
}

/// The kind of activations between two layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// This many planes of the board's size.
    Planes(usize),
    /// A row of this many numbers.
    Row(usize),
}

impl Layers {
    /// Returns the network of these settings for a game of this shape.
    pub fn new(config: &NetConfig, shape: Shape) -> Layers {
        let NetConfig { filters, value_planes, value_hidden, value_pooling, .. } = *config;
        let mut tower = if value_pooling { vec![Layer::Ones] } else { Vec::new() };
        tower.push(Layer::Conv(normed("stem", shape.planes + tower.len(), filters, 3)));
        for block in 0..config.blocks {
            tower.push(block_of(format!("blocks.{block}"), filters));
            if config.block_pooling > 0 && (block + 1) % config.block_pooling == 0 {
                let name = format!("blocks.{block}.global");
                tower.push(Layer::Global(Linear {
                    name,
                    inputs: 2 * filters,
                    outputs: filters,
                    relu: false,
                }));
            }
        }
        let (row, numbers) = if value_pooling {
            (Layer::Pool, 2 * value_planes)
        } else {
            (Layer::Flatten, value_planes * shape.cells())
        };
        let value = vec![
            Layer::Conv(normed("value_conv", filters, value_planes, 1)),
            row,
            linear("value_hidden", numbers, value_hidden, true),
            linear("value_out", value_hidden, 3, false),
        ];
        let policy = vec![Layer::Conv(normed("policy_hidden", filters, filters, 1))];
        let logits = logits("policy", filters, shape);
        Layers { shape, tower, policy, logits, value, auxiliary: auxiliary::heads(config, shape) }
    }

    /// Returns everything that has weights, in the order in which initial weights are drawn.
    pub fn weighted(&self) -> impl Iterator<Item = Weighted<'_>> {
        let lists = [&self.tower, &self.policy].into_iter().chain(&self.logits).chain([&self.value]);
        lists.chain(self.auxiliary_parts()).flatten().flat_map(Layer::weighted)
    }

    fn auxiliary_parts(&self) -> impl Iterator<Item = &Vec<Layer>> {
        self.auxiliary.iter().flat_map(|head| &head.parts)
    }

    /// Splits the value head into its last layer and the layers before it; auxiliary heads branch off between the
    /// two.
    pub(super) fn value_ends(&self) -> (&[Layer], &[Layer]) {
        self.value.split_at(self.value.len().saturating_sub(1))
    }

    /// Returns whether the layer of this name begins with small weights. Two kinds of layers do: those that produce
    /// logits, which are the last of their lists, and those whose outputs are added to all squares, where no norm
    /// scales the sum back.
    pub fn begins_small(&self, name: &str) -> bool {
        let last = |list: &Vec<Layer>| {
            list.iter().flat_map(Layer::weighted).last().is_some_and(|layer| layer.name() == name)
        };
        let is_global = |layer: &Layer| matches!(layer, Layer::Global(linear) if linear.name == name);
        self.logits.iter().chain([&self.value]).chain(self.auxiliary_parts()).any(last)
            || self.tower.iter().any(is_global)
    }

    /// Checks that each layer fits the one before it and that the heads produce the right logits.
    ///
    /// # Panics
    /// If a layer does not fit or a head produces other logits.
    pub fn check(&self) {
        let cells = self.shape.cells();
        let along = |list: &[Layer], from| list.iter().fold(from, |flow, layer| layer.after(flow, cells));
        let tower = along(&self.tower, Flow::Planes(self.shape.planes));
        let policy = along(&self.policy, tower);
        let outputs = |parts: &[Vec<Layer>], from| {
            let logits = parts.iter().map(|part| match along(part, from) {
                Flow::Row(logits) => logits,
                planes => panic!("{planes:?} are not logits"),
            });
            logits.sum::<usize>()
        };
        assert_eq!(outputs(&self.logits, policy), self.shape.actions, "logits of the policy");
        assert_eq!(along(&self.value, tower), Flow::Row(3), "logits of the value");
        let hidden = along(self.value_ends().0, tower);
        for AuxiliaryHead { kind, parts, .. } in &self.auxiliary {
            let from = if kind.is_policy() { policy } else { hidden };
            assert_eq!(outputs(parts, from), kind.outputs(self.shape), "logits of {}", kind.name());
        }
    }
}

impl Layer {
    /// Returns the parts of the layer that have weights, in order.
    pub fn weighted(&self) -> Vec<Weighted<'_>> {
        match self {
            Layer::Conv(conv) => vec![Weighted::Conv(conv)],
            Layer::Block { first, second, .. } => vec![Weighted::Conv(first), Weighted::Conv(second)],
            Layer::Global(linear) | Layer::Linear(linear) => vec![Weighted::Linear(linear)],
            Layer::Ones | Layer::Flatten | Layer::Pool => Vec::new(),
        }
    }

    /// Returns the kind of output for the input `flow`, on a board of `cells` squares.
    ///
    /// # Panics
    /// If the layer needs another kind of input.
    pub fn after(&self, flow: Flow, cells: usize) -> Flow {
        let conv = |conv: &Conv, flow: Flow| {
            assert_eq!(flow, Flow::Planes(conv.inputs), "a convolution: {conv:?}");
            Flow::Planes(conv.outputs)
        };
        match (self, flow) {
            (Layer::Conv(layer), _) => conv(layer, flow),
            (Layer::Block { first, second, .. }, _) => {
                let sum = conv(second, conv(first, flow));
                assert_eq!(sum, flow, "a residual block");
                sum
            }
            (Layer::Global(linear), Flow::Planes(planes)) => {
                assert_eq!([linear.inputs, linear.outputs], [2 * planes, planes], "of the board: {linear:?}");
                flow
            }
            (Layer::Ones, Flow::Planes(planes)) => Flow::Planes(planes + 1),
            (Layer::Flatten, Flow::Planes(planes)) => Flow::Row(planes * cells),
            (Layer::Pool, Flow::Planes(planes)) => Flow::Row(2 * planes),
            (Layer::Linear(linear), _) => {
                assert_eq!(flow, Flow::Row(linear.inputs), "a linear layer: {linear:?}");
                Flow::Row(linear.outputs)
            }
            (Layer::Global(_) | Layer::Ones | Layer::Flatten | Layer::Pool, Flow::Row(_)) => {
                panic!("{self:?} needs planes")
            }
        }
    }
}

impl<'a> Weighted<'a> {
    /// Returns the beginning of the names of the layer's tensors.
    pub fn name(&self) -> &'a str {
        match self {
            Weighted::Conv(conv) => &conv.name,
            Weighted::Linear(linear) => &linear.name,
        }
    }

    /// Returns the sizes of the layer's weights: `[outputs, inputs, kernel, kernel]` or `[inputs, outputs]`.
    pub fn sizes(&self) -> Vec<usize> {
        match *self {
            Weighted::Conv(&Conv { inputs, outputs, kernel, .. }) => vec![outputs, inputs, kernel, kernel],
            Weighted::Linear(&Linear { inputs, outputs, .. }) => vec![inputs, outputs],
        }
    }

    /// Returns the number of the layer's outputs, which is also the number of its biases.
    pub fn outputs(&self) -> usize {
        match self {
            Weighted::Conv(conv) => conv.outputs,
            Weighted::Linear(linear) => linear.outputs,
        }
    }

    /// Returns the names of the layer's tensors in a file, with the sizes of the tensors.
    pub fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let name = self.name();
        let outputs = vec![self.outputs()];
        if let Weighted::Conv(Conv { norm: true, .. }) = self {
            let norm = ["gamma", "beta", "running_mean", "running_var"];
            let norm = norm.map(|part| (format!("{name}.norm.{part}"), outputs.clone()));
            return [(format!("{name}.conv.weight"), self.sizes())].into_iter().chain(norm).collect();
        }
        vec![(format!("{name}.weight"), self.sizes()), (format!("{name}.bias"), outputs)]
    }
}

/// Returns `relu(norm(conv(x)))`.
fn normed(name: &str, inputs: usize, outputs: usize, kernel: usize) -> Conv {
    Conv { name: name.into(), inputs, outputs, kernel, norm: true, relu: true }
}

/// Returns a 1x1 convolution with a bias.
fn biased(name: &str, inputs: usize, outputs: usize, relu: bool) -> Conv {
    Conv { name: name.into(), inputs, outputs, kernel: 1, norm: false, relu }
}

/// Returns the layers from the features of the policy to a logit for each action, part by part; their names begin
/// with `prefix`.
pub(super) fn logits(prefix: &str, filters: usize, shape: Shape) -> Vec<Vec<Layer>> {
    let (planes, extras) = (shape.actions / shape.cells(), shape.actions % shape.cells());
    let mut parts = Vec::new();
    if planes > 0 {
        let conv = biased(&format!("{prefix}_planes"), filters, planes, false);
        parts.push(vec![Layer::Conv(conv), Layer::Flatten]);
    }
    if extras > 0 {
        let name = format!("{prefix}_extras");
        parts.push(vec![
            Layer::Conv(biased(&format!("{name}.conv"), filters, EXTRA_PLANES, true)),
            Layer::Flatten,
            linear(&format!("{name}.linear"), EXTRA_PLANES * shape.cells(), extras, false),
        ]);
    }
    parts
}

pub(super) fn linear(name: &str, inputs: usize, outputs: usize, relu: bool) -> Layer {
    Layer::Linear(Linear { name: name.into(), inputs, outputs, relu })
}

fn block_of(name: String, filters: usize) -> Layer {
    let conv = |half: &str| normed(&format!("{name}.{half}"), filters, filters, 3);
    let (first, second) = (conv("first"), Conv { relu: false, ..conv("second") });
    Layer::Block { name, first, second }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of actions: only on squares, only off the board, and on both.
    const ACTIONS: [usize; 3] = [12, 5, 17];

    fn config() -> NetConfig {
        NetConfig { filters: 8, blocks: 2, value_planes: 2, value_hidden: 6, ..NetConfig::default() }
    }

    fn layers(actions: usize) -> Layers {
        Layers::new(&config(), Shape { planes: 3, height: 3, width: 4, actions })
    }

    #[test]
    fn layers_fit_to_each_other() {
        for actions in ACTIONS {
            layers(actions).check();
        }
    }

    #[test]
    fn with_pooling_no_tensor_depends_on_the_boards_size() {
        let tensors = |value_pooling: bool, side: usize| {
            let shape = Shape { planes: 3, height: side, width: side, actions: 2 * side * side };
            let block_pooling = value_pooling.into();
            let layers = Layers::new(&NetConfig { value_pooling, block_pooling, ..config() }, shape);
            layers.check();
            layers.weighted().flat_map(|layer| layer.tensors()).collect::<Vec<_>>()
        };
        assert_eq!(tensors(true, 4), tensors(true, 10));
        assert_ne!(tensors(false, 4), tensors(false, 10));
    }

    #[test]
    fn pooling_comes_after_every_so_many_blocks() {
        let after = |block_pooling: usize| {
            let config = NetConfig { blocks: 5, block_pooling, ..config() };
            let layers = Layers::new(&config, Shape { planes: 3, height: 3, width: 4, actions: 12 });
            layers.check();
            let is_global = |layer: &&Layer| matches!(layer, Layer::Global(_));
            layers
                .tower
                .iter()
                .filter(is_global)
                .flat_map(Layer::weighted)
                .map(|l| l.name().to_string())
                .collect()
        };
        let names = |blocks: &[usize]| -> Vec<String> {
            blocks.iter().map(|block| format!("blocks.{block}.global")).collect()
        };
        let found: [Vec<String>; 4] = [0, 1, 2, 6].map(after);
        assert_eq!(found, [names(&[]), names(&[0, 1, 2, 3, 4]), names(&[1, 3]), names(&[])]);
    }

    /// Old files and old optimizer states depend on the names; initial weights depend on the order.
    #[test]
    fn names_and_their_order_stay() {
        let names = |actions: usize| {
            let names: Vec<_> = layers(actions).weighted().map(|layer| layer.name().to_string()).collect();
            names.join(" ")
        };
        let tower = "stem blocks.0.first blocks.0.second blocks.1.first blocks.1.second policy_hidden";
        let (planes, extras) = ("policy_planes", "policy_extras.conv policy_extras.linear");
        let value = "value_conv value_hidden value_out";
        assert_eq!(names(12), format!("{tower} {planes} {value}"));
        assert_eq!(names(5), format!("{tower} {extras} {value}"));
        assert_eq!(names(17), format!("{tower} {planes} {extras} {value}"));
        let small = |layers: Layers| -> Vec<String> {
            let small = layers.weighted().filter(|layer| layers.begins_small(layer.name()));
            small.map(|layer| layer.name().to_string()).collect()
        };
        assert_eq!(small(layers(17)), ["policy_planes", "policy_extras.linear", "value_out"]);
        let pooling = NetConfig { block_pooling: 2, ..config() };
        let pooling = Layers::new(&pooling, Shape { planes: 3, height: 3, width: 2, actions: 12 });
        assert_eq!(small(pooling), ["blocks.1.global", "policy_planes", "value_out"]);
    }
}
