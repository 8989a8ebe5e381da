//! The losses: cross entropy of the policy over legal actions, cross entropy of win/draw/loss, and the losses of the
//! auxiliary heads.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Bool, Device, Element, Tensor, TensorData};
use ndarray::{Array2, ArrayRef, ArrayView1, Dimension};

use super::Losses;
use crate::net::auxiliary::{AuxiliaryHead, HeadKind};
use crate::replay::window::Batch;

/// The logit of illegal actions; not negative infinity, because 0 times infinity would be NaN.
const ILLEGAL: f32 = -1e9;

/// The temperature of the softer policy.
const SOFT: f32 = 4.0;

/// Returns the loss to minimize, and its parts, from `logits` `[n, actions]` and `wdl` `[n, 3]`.
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
        ..Losses::default()
    };
    (policy + value * value_weight, losses)
}

/// Adds the losses of auxiliary heads, whose `logits` are `[n, outputs]` each, to the losses of policy and value.
pub fn with_auxiliary(
    (mut loss, mut losses): (Tensor<1>, Losses),
    heads: &[AuxiliaryHead],
    logits: Vec<Tensor<2>>,
    batch: &Batch,
    device: &Device,
) -> (Tensor<1>, Losses) {
    for (head, logits) in heads.iter().zip(logits) {
        if let Some(divergence) = auxiliary(head.kind, logits, batch, device) {
            losses.auxiliary[head.kind as usize] = divergence.clone().into_scalar();
            loss = loss + divergence * head.weight;
        }
    }
    (loss, losses)
}

/// Returns the loss of an auxiliary head: the divergence of its prediction from its target (the cross entropy minus
/// the entropy of the target), with each row weighted by the sum of its target. Returns `None` if there are no targets.
fn auxiliary(kind: HeadKind, logits: Tensor<2>, batch: &Batch, device: &Device) -> Option<Tensor<1>> {
    let (target, logits) = match kind {
        HeadKind::SoftPolicy => {
            let illegal = Tensor::<2, Bool>::from_data(data(&batch.illegal), device);
            (softened(&batch.policy), logits.mask_fill(illegal, ILLEGAL))
        }
        // the head must learn which actions the other player will have, so no action is masked as illegal
        HeadKind::ReplyPolicy | HeadKind::ShortValue => (batch.auxiliary.get(&kind)?.clone(), logits),
    };
    let floor: f32 = target.rows().into_iter().map(|row| information(row, row.sum())).sum();
    let target = Tensor::<2>::from_data(data(&target), device);
    Some(((target * log_softmax(logits, 1)).sum().neg() + floor) / batch.rows() as f32)
}

/// Returns the sum of `share * ln(share / sum)`.
fn information(shares: ArrayView1<f32>, sum: f32) -> f32 {
    shares.iter().filter(|share| **share > 0.0).map(|share| share * (share / sum).ln()).sum()
}

/// Returns the policy target at temperature [`SOFT`].
fn softened(policy: &Array2<f32>) -> Array2<f32> {
    let mut target = policy.mapv(|share| if share > 0.0 { share.powf(1.0 / SOFT) } else { 0.0 });
    for mut row in target.rows_mut() {
        let sum = row.sum().max(f32::MIN_POSITIVE);
        row.mapv_inplace(|share| share / sum);
    }
    target
}

/// Converts an array for burn.
pub fn data<E: Element, D: Dimension>(array: &ArrayRef<E, D>) -> TensorData {
    TensorData::new(array.iter().copied().collect::<Vec<E>>(), array.shape().to_vec())
}
