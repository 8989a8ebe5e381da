//! The weights of a network as plain numbers with batch norm folded in: what an evaluator needs, and nothing that
//! only training needs. [`model`](super::model) makes them, [`cpu`](super::cpu) reads them.

use crate::encode::Shape;

/// A stride-1 convolution with zero padding (it keeps the board's size) and batch norm folded in.
#[derive(Clone, Debug)]
pub struct Conv {
    /// Input channels.
    pub inputs: usize,
    /// Output channels.
    pub outputs: usize,
    /// 1 or 3.
    pub kernel: usize,
    /// `[outputs, inputs, kernel, kernel]`.
    pub weight: Vec<f32>,
    /// `[outputs]`.
    pub bias: Vec<f32>,
}

/// A fully connected layer: `out[o] = bias[o] + sum over i of input[i] * weight[i * outputs + o]`.
#[derive(Clone, Debug)]
pub struct Linear {
    /// Input features.
    pub inputs: usize,
    /// Output features.
    pub outputs: usize,
    /// `[inputs, outputs]`.
    pub weight: Vec<f32>,
    /// `[outputs]`.
    pub bias: Vec<f32>,
}

/// A residual policy/value network.
///
/// `x = relu(stem(planes))`; for each block `x = relu(b(relu(a(x))) + x)`;
/// `p = relu(policy_hidden(x))`; the logits are `policy_planes(p)` flattened in `[plane, row, column]`
/// order, followed by `policy_extras`: a linear layer on `relu(conv(p))` flattened likewise;
/// the value logits (win, draw, loss for the player to move) are
/// `value_out(relu(value_hidden(flatten(relu(value_conv(x))))))`.
#[derive(Clone, Debug)]
pub struct Weights {
    /// Sizes of input and policy: `actions = policy planes * cells + extras`.
    pub shape: Shape,
    /// 3x3, input planes to filters.
    pub stem: Conv,
    /// Two 3x3 convolutions per block.
    pub blocks: Vec<[Conv; 2]>,
    /// 1x1, filters to filters.
    pub policy_hidden: Conv,
    /// 1x1, filters to `actions / cells` planes; `None` when that is 0.
    pub policy_planes: Option<Conv>,
    /// For the `actions % cells` actions without a square; `None` when there are none.
    pub policy_extras: Option<(Conv, Linear)>,
    /// 1x1, filters to a few planes.
    pub value_conv: Conv,
    /// `planes * cells` to hidden.
    pub value_hidden: Linear,
    /// Hidden to 3: win, draw, loss.
    pub value_out: Linear,
}
