//! The two losses: cross entropy of the policy over legal actions, cross entropy of win/draw/loss.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Bool, Device, Element, Tensor, TensorData};
use ndarray::{ArrayRef, Dimension};

use crate::replay::window::Batch;

/// The logit of illegal actions: not negative infinity, because 0 times that would be NaN.
const ILLEGAL: f32 = -1e9;

/// The temperature of the softer policy.
const SOFT: f32 = 4.0;

/// Means over a batch, in nats.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    /// Cross entropy of the policy target and the predicted policy.
    pub policy: f32,
    /// Cross entropy of the value target and the predicted win, draw, loss.
    pub value: f32,
    /// Entropy of the policy targets: a lower bound for `policy`.
    pub policy_floor: f32,
}

/// The loss to minimize, and its parts, from `logits` `[n, actions]` and `wdl` `[n, 3]`.
pub fn losses(
    logits: Tensor<2>,
    wdl: Tensor<2>,
    batch: &Batch,
    value_weight: f32,
    device: &Device,
) -> (Tensor<1>, Losses) {
    let n = batch.rows();
    let target = Tensor::<2>::from_data(data(&batch.policy), device);
    let illegal = Tensor::<2, Bool>::from_data(data(&batch.illegal), device);
    let log_policy = log_softmax(logits.mask_fill(illegal, ILLEGAL), 1);
    let policy = (target * log_policy).sum().neg() / n as f32;
    let target = Tensor::<2>::from_data(data(&batch.wdl), device);
    let value = (target * log_softmax(wdl, 1)).sum().neg() / n as f32;
    let losses = Losses {
        policy: policy.clone().into_scalar(),
        value: value.clone().into_scalar(),
        policy_floor: batch.policy.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum::<f32>() / n as f32,
    };
    (policy + value * value_weight, losses)
}

/// The cross entropy of the policy target at temperature 4 and a policy with `logits` `[n, actions]`, without its
/// floor, so that it is a divergence.
pub fn soft_loss(logits: Tensor<2>, batch: &Batch, device: &Device) -> Tensor<1> {
    let n = batch.rows();
    let mut target = batch.policy.mapv(|share| if share > 0.0 { share.powf(1.0 / SOFT) } else { 0.0 });
    for mut row in target.rows_mut() {
        let sum = row.sum().max(f32::MIN_POSITIVE);
        row.mapv_inplace(|share| share / sum);
    }
    let floor = target.iter().filter(|share| **share > 0.0).map(|share| share * share.ln()).sum::<f32>();
    let illegal = Tensor::<2, Bool>::from_data(data(&batch.illegal), device);
    let log_policy = log_softmax(logits.mask_fill(illegal, ILLEGAL), 1);
    let target = Tensor::<2>::from_data(data(&target), device);
    ((target * log_policy).sum().neg() + floor) / n as f32
}

/// Converts an array for burn.
pub fn data<E: Element, D: Dimension>(array: &ArrayRef<E, D>) -> TensorData {
    TensorData::new(array.iter().copied().collect::<Vec<E>>(), array.shape().to_vec())
}
