//! Measures how well a network predicts positions, in evaluation mode.
//!
//! Input: batches, and the forward pass that plays. Output: means over positions, in nats unless stated otherwise.
//! Everything is plain arithmetic on arrays, independent of burn, so it also checks the losses used in training.

use ndarray::{Array2, ArrayView1, Axis};
use serde::{Deserialize, Serialize};

use super::reliability::Reliability;
use crate::error::{Error, Result};
use crate::net::infer::{CpuNet, Wanted};
use crate::parallel;
use crate::replay::window::Batch;

/// A network's outputs for a batch.
struct Predictions {
    /// `[rows, actions]`: logarithms of probabilities; meaningless for illegal actions.
    log_policy: Array2<f32>,
    /// `[rows, 3]`: logarithms of the probabilities of win, draw, loss.
    log_wdl: Array2<f32>,
}

/// Means over positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Quality {
    /// Number of positions.
    pub positions: usize,
    /// Cross entropy of the policy target and the network's policy.
    pub policy_loss: f64,
    /// Entropy of the targets, which is a lower bound for `policy_loss`. The difference is the surprise of the
    /// search: the divergence of its policy from the network's.
    pub policy_floor: f64,
    /// Entropy of the network's policy.
    pub policy_entropy: f64,
    /// The policy loss of a uniform policy.
    pub policy_uniform: f64,
    /// Cross entropy of the value target and the network's win, draw, loss.
    pub value_loss: f64,
    /// The value loss of a constant prediction, namely the mean of the value targets.
    pub value_constant: f64,
    /// The mean squared error of the expected score, which is 0 to 1.
    pub brier: f64,
    /// The average error of the values, in points of a game's score; see [`Reliability::error`].
    pub calibration: f64,
}

/// Measures how well a network predicts these batches, on all cores.
///
/// # Errors
/// If an output is not finite.
pub fn measure(net: &CpuNet, batches: &[Batch]) -> Result<Quality> {
    let predictions = parallel::map(batches.len(), &|index| predict(net, &batches[index]))?;
    let mut tally = LossTally::default();
    batches.iter().zip(&predictions).for_each(|(batch, predictions)| tally.add(batch, predictions));
    Ok(tally.quality())
}

/// Returns a network's outputs for a batch.
fn predict(net: &CpuNet, batch: &Batch) -> Result<Predictions> {
    let (mut actions, mut ends) = (Vec::new(), Vec::new());
    for row in batch.illegal.rows() {
        let legal = row.iter().enumerate().filter(|(_, illegal)| !**illegal);
        actions.extend(legal.map(|(action, _)| action as u16));
        ends.push(actions.len());
    }
    let (mut logits, mut wdl) = (vec![0.0; actions.len()], vec![0.0; 3 * ends.len()]);
    let planes = batch.planes.as_slice().expect("a batch is contiguous");
    let wanted = Wanted { actions: &actions, ends: &ends };
    net.forward(&mut net.scratch(), planes, wanted, &mut logits, &mut wdl);
    let mut predictions = Predictions {
        log_policy: Array2::zeros(batch.policy.dim()),
        log_wdl: Array2::from_shape_vec((ends.len(), 3), wdl).expect("three numbers for each row"),
    };
    let mut begin = 0;
    for (row, end) in ends.into_iter().enumerate() {
        log_softmax(&mut logits[begin..end]);
        log_softmax(predictions.log_wdl.row_mut(row).as_slice_mut().expect("rows are contiguous"));
        for (action, logit) in actions[begin..end].iter().zip(&logits[begin..end]) {
            predictions.log_policy[[row, usize::from(*action)]] = *logit;
        }
        begin = end;
    }
    if predictions.log_policy.iter().chain(&predictions.log_wdl).all(|log| log.is_finite()) {
        Ok(predictions)
    } else {
        Err(Error::Data(
            "training diverged: the network's output is not a number; start a run, or fork this one, with a lower \
             train.learning_rate"
                .into(),
        ))
    }
}

/// Turns logits into log probabilities.
fn log_softmax(logits: &mut [f32]) {
    let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f32 = logits.iter().map(|logit| (logit - top).exp()).sum();
    logits.iter_mut().for_each(|logit| *logit -= top + sum.ln());
}

/// Sums over positions; see [`Quality`].
#[derive(Default)]
struct LossTally {
    sums: Quality,
    targets: [f64; 3],
    reliability: Reliability,
}

impl LossTally {
    /// Adds a batch.
    fn add(&mut self, batch: &Batch, predictions: &Predictions) {
        for row in 0..batch.rows() {
            let of = |array: &Array2<f32>| array.index_axis(Axis(0), row).mapv(f64::from);
            let illegal = batch.illegal.index_axis(Axis(0), row);
            self.add_policy(of(&batch.policy).view(), of(&predictions.log_policy).view(), illegal);
            self.add_value(of(&batch.wdl).view(), of(&predictions.log_wdl).view());
            self.sums.positions += 1;
        }
    }

    fn add_policy(&mut self, target: ArrayView1<f64>, log: ArrayView1<f64>, illegal: ArrayView1<bool>) {
        let mut legal = 0;
        for ((target, log), _) in target.iter().zip(log).zip(illegal).filter(|(_, illegal)| !**illegal) {
            legal += 1;
            self.sums.policy_loss -= target * log;
            self.sums.policy_entropy -= log.exp() * log;
            self.sums.policy_floor -= self_information(*target);
        }
        self.sums.policy_uniform += f64::from(legal.max(1)).ln();
    }

    fn add_value(&mut self, target: ArrayView1<f64>, log: ArrayView1<f64>) {
        let value = |wdl: [f64; 3]| wdl[0] - wdl[2];
        for (column, (target, log)) in target.iter().zip(log).enumerate() {
            self.sums.value_loss -= target * log;
            self.targets[column] += target;
        }
        let expected = value([log[0].exp(), log[1].exp(), log[2].exp()]);
        let result = value([target[0], target[1], target[2]]);
        self.sums.brier += (expected - result).powi(2) / 4.0;
        self.reliability.add(expected as f32, result);
    }

    /// Returns the means.
    fn quality(&self) -> Quality {
        let n = self.sums.positions.max(1) as f64;
        let Quality {
            positions, policy_loss, policy_floor, policy_entropy, policy_uniform, value_loss, ..
        } = self.sums;
        Quality {
            positions,
            policy_loss: policy_loss / n,
            policy_floor: policy_floor / n,
            policy_entropy: policy_entropy / n,
            policy_uniform: policy_uniform / n,
            value_loss: value_loss / n,
            value_constant: -self.targets.iter().map(|sum| self_information(sum / n)).sum::<f64>(),
            brier: self.sums.brier / n,
            calibration: self.reliability.error(),
        }
    }
}

impl Quality {
    /// Returns the mean divergence of the search's policy from the network's (Kullback and Leibler).
    pub fn surprise(&self) -> f64 {
        self.policy_loss - self.policy_floor
    }
}

/// Returns `p * ln(p)`.
fn self_information(p: f64) -> f64 {
    if p > 0.0 { p * p.ln() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Shape;

    #[test]
    fn means_by_hand() {
        let shape = Shape { planes: 1, height: 1, width: 2, actions: 3 };
        let mut batch = Batch::empty(2, shape);
        // row 0: two legal actions, one of which is the target; row 1: three, two of which have half of the visits
        // each
        for (row, policy) in [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]].iter().enumerate() {
            (0..3).for_each(|action| batch.policy[[row, action]] = policy[action]);
            (0..2 + row).for_each(|action| batch.illegal[[row, action]] = false);
        }
        batch.wdl[[0, 0]] = 1.0;
        batch.wdl[[1, 2]] = 1.0;
        let logs =
            |rows: [[f32; 3]; 2]| Array2::from_shape_fn((2, 3), |(row, column)| rows[row][column].ln());
        let third = 1.0 / 3.0;
        let predictions = Predictions {
            // the first row's illegal action has no meaning
            log_policy: logs([[0.5, 0.5, 7.0], [third; 3]]),
            log_wdl: logs([[0.6, 0.2, 0.2], [0.6, 0.2, 0.2]]),
        };
        let mut tally = LossTally::default();
        tally.add(&batch, &predictions);
        let found = tally.quality();
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        assert_eq!(found.positions, 2);
        near(found.policy_loss, (2f64.ln() + 3f64.ln()) / 2.0);
        near(found.policy_floor, 2f64.ln() / 2.0);
        near(found.surprise(), 3f64.ln() / 2.0);
        near(found.policy_entropy, (2f64.ln() + 3f64.ln()) / 2.0);
        near(found.policy_uniform, (2f64.ln() + 3f64.ln()) / 2.0);
        near(found.value_loss, -(0.6f64.ln() + 0.2f64.ln()) / 2.0);
        near(found.value_constant, 2f64.ln());
        // the expected value was 0.4 both for a win and for a loss
        near(found.brier, (0.6f64.powi(2) + 1.4f64.powi(2)) / 8.0);
        near(found.calibration, 0.2);
    }
}
