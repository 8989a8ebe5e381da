//! A forward pass for CPUs: the whole network for one group of positions at a time, in f32 or bf16.
//!
//! [`CpuNet`] packs [`Weights`] once, in the order in which the inner loop reads them, and is then shared between
//! threads; each thread owns a [`Scratch`]. `tower` goes from the input to the features of both heads, by Winograd's
//! convolutions (`conv`, with `tiling` and `winograd`) or, in bf16 where the CPU has AMX, by the convolutions of
//! `net::kernels`. `head` computes the layers after the tower, `matrix` has the inner loop that the layers share, and
//! `net::kernels::vector` has the vector registers that the loop uses. Activations are stored channels last. Bias, skip
//! connection, and ReLU need no separate pass, and only the requested policy logits are computed.
//!
//! The code is compiled for several instruction sets and uses the widest available. A result does not depend on batch,
//! thread, or run. A result may differ between instruction sets: in f32 in its last bits, and in bf16 by as much as
//! rounding to bf16 changes it. In bf16, the operands of the tower's products have 16 bits (with AMX, so do the
//! operands of the heads' first layers and the activations between them); sums and everything else have 32 bits.

#![allow(unsafe_code)]

mod conv;
mod head;
pub(in crate::net) mod matrix;
mod products;
#[cfg(test)]
mod tests;
pub(in crate::net) mod tiling;
mod tower;
mod winograd;

use self::head::{Dense, Head, HeadInput, HeadPlace};
use self::products::Packing;
use self::tiling::PaddedBoard;
use self::tower::{Buffers, Tower};
use super::kernels::Tiles;
use super::kernels::direct::Interleaved;
use super::kernels::vector::{Aligned, Isa};
use super::layers::Layer;
use super::weights::Weights;
use crate::config::Precision;
use crate::encode::Shape;

/// A network packed for this CPU, read-only.
pub struct CpuNet {
    shape: Shape,
    board: PaddedBoard,
    /// Number of positions that pass through the layers together.
    group: usize,
    tower: Tower,
    policy: Head,
    logits: Vec<PartLogits>,
    value: Head,
}

/// The instructions that multiply the tower's factors.
#[derive(Clone, Copy, Debug)]
enum TowerInstructions {
    /// Vectors, in a precision.
    Vectors(Isa, Precision),
    /// Tiles of bf16.
    Tiles(Tiles),
}

/// A part of the policy's logits.
enum PartLogits {
    /// One plane for each kind of action on squares: only the requested logits are computed.
    Planes(Dense, usize),
    /// A row of this many numbers.
    Row(Head, usize),
}

debug_fields!(CpuNet, shape, group);

/// The buffers of one thread, so that [`CpuNet::forward`] does not allocate.
pub struct Scratch {
    tower: Buffers,
    /// One buffer for each step of the heads.
    policy: Vec<Aligned>,
    logits: Vec<Vec<Aligned>>,
    value: Vec<Aligned>,
}

debug_fields!(Scratch,);

/// The requested policy logits: the actions of all positions, concatenated.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Actions.
    pub actions: &'a [u16],
    /// For each position, the end of its actions in `actions`.
    pub ends: &'a [usize],
}

impl CpuNet {
    /// Returns the precisions for which this CPU has the instructions, f32 first.
    pub fn precisions() -> Vec<Precision> {
        let bf16 = Isa::has_bf16().then_some(Precision::Bf16);
        [Some(Precision::F32), bf16].into_iter().flatten().collect()
    }

    /// Returns whether this CPU has the instructions for `precision`, which must not be `auto`.
    pub fn has(precision: Precision) -> bool {
        CpuNet::precisions().contains(&precision)
    }

    /// Returns the instructions for `precision`, which must not be `auto`, if this CPU lacks them.
    pub fn lacks(precision: Precision) -> Option<&'static str> {
        (!CpuNet::has(precision)).then_some("AVX-512 BF16")
    }

    /// Returns the name of the instructions that multiply in `precision`, which must not be `auto`.
    pub fn instructions(precision: Precision) -> &'static str {
        match precision {
            Precision::Bf16 => Tiles::here().map_or("AVX-512 BF16", Tiles::name),
            _ => Isa::widest().name(),
        }
    }

    /// Packs `weights` for the fastest engine of this CPU in this precision; `None` if the CPU lacks the precision.
    pub fn new(weights: &Weights, precision: Precision) -> Option<CpuNet> {
        let engine = match (precision, Tiles::here()) {
            (Precision::Bf16, Some(tiles)) => TowerInstructions::Tiles(tiles),
            _ => TowerInstructions::Vectors(Isa::widest(), precision),
        };
        CpuNet::has(precision).then(|| CpuNet::with(weights, engine))
    }

    fn with(weights: &Weights, engine: TowerInstructions) -> CpuNet {
        weights.check();
        let shape = weights.layers.shape;
        let board = PaddedBoard { height: shape.height, width: shape.width };
        let isa = match engine {
            TowerInstructions::Vectors(isa, _) => isa,
            TowerInstructions::Tiles(_) => Isa::widest(),
        };
        let plain = Packing::new(isa, Precision::F32);
        let tower = Tower::new(weights, board, plain, engine);
        let features = tower.features();
        let policy = Head::new(&weights.layers.policy, weights, plain, features);
        let logits = |layers: &Vec<Layer>| PartLogits::new(layers, weights, plain, policy.end);
        CpuNet {
            shape,
            board,
            group: tower.group(),
            logits: weights.layers.logits.iter().map(logits).collect(),
            value: Head::new(&weights.layers.value, weights, plain, features),
            tower,
            policy,
        }
    }

    /// Returns the sizes of input and policy.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns buffers for one thread.
    pub fn scratch(&self) -> Scratch {
        Scratch {
            tower: self.tower.buffers(self.group),
            policy: self.policy.buffers(self.group),
            logits: self.logits.iter().map(|part| part.buffers(self.group)).collect(),
            value: self.value.buffers(self.group),
        }
    }

    /// Evaluates `planes` (`[n, planes, height, width]`): writes the `wanted` policy logits into `logits`, and the
    /// logits of win, draw, and loss for the player to move into `wdl` (`[n, 3]`).
    ///
    /// # Panics
    /// If the lengths do not match, an action is outside this shape, or `scratch` belongs to another network.
    pub fn forward(
        &self,
        scratch: &mut Scratch,
        planes: &[f32],
        wanted: Wanted,
        logits: &mut [f32],
        wdl: &mut [f32],
    ) {
        let (input_len, batch) = (self.shape.input_len(), wanted.ends.len());
        let actions = wanted.ends.last().copied().unwrap_or(0);
        let lengths = [planes.len(), wdl.len(), wanted.actions.len(), logits.len()];
        assert_eq!(
            lengths,
            [batch * input_len, batch * 3, actions, actions],
            "the lengths of planes, wdl, actions, and logits"
        );
        // Groups of nearly the same size.
        let groups = batch.div_ceil(self.group);
        let (mut first, mut begin) = (0, 0);
        for group in 0..groups {
            let next = batch * (group + 1) / groups;
            let ends = &wanted.ends[first..next];
            let end = ends[ends.len() - 1];
            let part = PositionGroup {
                planes: &planes[first * input_len..next * input_len],
                actions: &wanted.actions[begin..end],
                ends,
                begin,
                logits: &mut logits[begin..end],
                wdl: &mut wdl[first * 3..next * 3],
            };
            evaluate(self, scratch, part);
            (first, begin) = (next, end);
        }
    }
}

impl PartLogits {
    fn new(layers: &[Layer], weights: &Weights, packing: Packing, from: HeadInput) -> PartLogits {
        let cells = weights.layers.shape.cells();
        match layers {
            [Layer::Conv(conv), Layer::Flatten] if !conv.relu => {
                PartLogits::Planes(Dense::conv(conv, weights.of(&conv.name), packing), conv.outputs * cells)
            }
            [.., Layer::Linear(last)] => {
                PartLogits::Row(Head::new(layers, weights, packing, from), last.outputs)
            }
            other => panic!("unsupported logits: {other:?}"),
        }
    }

    fn buffers(&self, positions: usize) -> Vec<Aligned> {
        match self {
            PartLogits::Planes(..) => Vec::new(),
            PartLogits::Row(head, _) => head.buffers(positions),
        }
    }
}

/// A group of positions, and where its results are written.
struct PositionGroup<'a> {
    planes: &'a [f32],
    actions: &'a [u16],
    ends: &'a [usize],
    /// Actions before the group, as counted by `ends`.
    begin: usize,
    logits: &'a mut [f32],
    wdl: &'a mut [f32],
}

/// Evaluates a group of at most [`CpuNet::group`] positions.
fn evaluate(net: &CpuNet, scratch: &mut Scratch, group: PositionGroup) {
    let Scratch { tower, policy, logits, value } = scratch;
    let place = &net.tower.configure(Interleaved { board: net.board, positions: group.ends.len() });
    let x = net.tower.apply(place, group.planes, tower);
    let out = net.value.apply(place, x, value).as_ref();
    let rows = out.chunks_exact(net.value.stride());
    group.wdl.chunks_exact_mut(3).zip(rows).for_each(|(wdl, row)| wdl.copy_from_slice(&row[..3]));
    let features = net.policy.apply(place, x, policy);
    write_logits(net, place, features, logits, group);
}

/// Computes the wanted logits from the features of the policy.
fn write_logits(
    net: &CpuNet,
    place: &HeadPlace,
    features: &Aligned,
    buffers: &mut [Vec<Aligned>],
    group: PositionGroup,
) {
    let (cells, stride) = (net.shape.cells(), net.policy.stride());
    assert_eq!(buffers.len(), net.logits.len(), "the scratch belongs to another network");
    for (part, buffers) in net.logits.iter().zip(&mut *buffers) {
        if let PartLogits::Row(head, _) = part {
            head.apply(place, features, buffers);
        }
    }
    let logit = |position: usize, action: u16| {
        let mut index = action as usize;
        for (part, buffers) in net.logits.iter().zip(&*buffers) {
            match part {
                PartLogits::Planes(conv, count) if index < *count => {
                    let square = position * cells + index % cells;
                    return conv.single(&features.as_ref()[square * stride..][..stride], index / cells);
                }
                PartLogits::Row(head, count) if index < *count => {
                    return buffers[buffers.len() - 1].as_ref()[position * head.stride() + index];
                }
                PartLogits::Planes(_, count) | PartLogits::Row(_, count) => index -= count,
            }
        }
        panic!("action {action} is outside the {} of this network", net.shape.actions)
    };
    let mut begin = group.begin;
    for (position, &end) in group.ends.iter().enumerate() {
        let range = begin - group.begin..end - group.begin;
        for (&action, slot) in group.actions[range.clone()].iter().zip(&mut group.logits[range]) {
            *slot = logit(position, action);
        }
        begin = end;
    }
}
