//! AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101) in one pass over the numbers of each parameter.
//!
//! burn's own AdamW makes a dozen tensors for each parameter at every step, which takes longer than a step's products
//! in bf16. The AdamW here rounds as burn's does, operation by operation, and keeps the same state, so it computes the
//! same numbers to the last bit, except for subnormal moments. In burn, the moments of weights without a gradient
//! become subnormal and stay so, which slows arithmetic on many CPUs; here, subnormal moments become 0. On a GPU,
//! burn's own AdamW is used, so that the numbers stay on the GPU.

use burn::optim::{AdamWConfig, AdamWState, AdaptiveMomentumState, LearningRate, Optimizer};
use burn::tensor::{Device, Tensor, TensorData};

use crate::net::device::cpu;

/// The shares of the gradient's first and second moments that a step keeps.
const KEPT: [f32; 2] = [0.9, 0.999];
const EPSILON: f32 = 1e-8;

/// The optimizer of a group of parameters.
#[derive(Clone, Debug)]
pub(super) struct AdamW {
    /// The share of the learning rate by which weights shrink at each step.
    pub weight_decay: f32,
}

impl Optimizer for AdamW {
    type State<const D: usize> = AdamWState<D>;

    fn step<const D: usize>(
        &self,
        rate: LearningRate,
        tensor: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<AdamWState<D>>,
    ) -> (Tensor<D>, Option<AdamWState<D>>) {
        let (device, shape) = (tensor.device(), tensor.dims());
        if device != cpu() {
            return self.of_burn().build().step(rate, tensor, gradient, state);
        }
        let (mut weights, gradient) = (numbers(tensor), numbers(gradient));
        let old = state.map(|state| state.momentum);
        let time = old.as_ref().map_or(0, |old| old.time) + 1;
        let corrections = KEPT.map(|kept| 1.0 - kept.powi(time as i32));
        let decay = rate * f64::from(self.weight_decay);
        let step = Update { rate: rate as f32, corrections, left: (1.0 - decay) as f32 };
        let mut moments = match old {
            Some(old) => [numbers(old.moment_1), numbers(old.moment_2)],
            None => [vec![0.0; weights.len()], vec![0.0; weights.len()]],
        };
        step.apply(&mut weights, &gradient, &mut moments);
        let [first, second] = moments;
        let tensor = |numbers: Vec<f32>| Tensor::from_data(TensorData::new(numbers, shape), &device);
        let momentum = AdaptiveMomentumState {
            time,
            moment_1: tensor(first),
            moment_2: tensor(second),
            max_moment_2: None,
        };
        (tensor(weights), Some(AdamWState { momentum }))
    }

    fn to_device<const D: usize>(mut state: AdamWState<D>, device: &Device) -> AdamWState<D> {
        state.momentum = state.momentum.to_device(device);
        state
    }
}

impl AdamW {
    /// Returns the configuration of the same optimizer in burn.
    fn of_burn(&self) -> AdamWConfig {
        AdamWConfig::new().with_epsilon(EPSILON).with_weight_decay(self.weight_decay)
    }
}

/// The numbers of one step.
struct Update {
    rate: f32,
    /// The corrections for moments that are too small because they begin at 0.
    corrections: [f32; 2],
    /// The share of a weight that is left after the decay.
    left: f32,
}

impl Update {
    fn apply(&self, weights: &mut [f32], gradient: &[f32], [first, second]: &mut [Vec<f32>; 2]) {
        let moments = first.iter_mut().zip(second);
        for ((weight, gradient), (first, second)) in weights.iter_mut().zip(gradient).zip(moments) {
            *first = normal(*first * KEPT[0] + gradient * (1.0 - KEPT[0]));
            *second = normal(*second * KEPT[1] + gradient * gradient * (1.0 - KEPT[1]));
            let [mean, square] = [*first / self.corrections[0], *second / self.corrections[1]];
            *weight = *weight * self.left - mean / (square.sqrt() + EPSILON) * self.rate;
        }
    }
}

/// Returns the number, or 0 if it is subnormal.
#[inline(always)]
fn normal(number: f32) -> f32 {
    if number.abs() < f32::MIN_POSITIVE { 0.0 } else { number }
}

fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec().expect("parameters and their gradients are f32")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};
    use rand::RngExt;

    #[test]
    fn it_is_that_of_burn_to_the_last_bit() {
        let device = cpu();
        let mut random = stream(1, Purpose::Agent, &[]);
        // numbers of very different sizes, and zeros
        let mut random_tensor = || -> Tensor<2> {
            let number = |_| match random.random_range(0..8) {
                0 => 0.0,
                power => (random.random::<f32>() - 0.5) * 10f32.powi(3 - power),
            };
            Tensor::from_data(TensorData::new((0..700).map(number).collect::<Vec<f32>>(), [35, 20]), &device)
        };
        let normal = |numbers: Vec<f32>| numbers.into_iter().map(super::normal).collect::<Vec<f32>>();
        for weight_decay in [0.0, 0.3] {
            let ours = AdamW { weight_decay };
            let burn = ours.of_burn().build();
            let (mut found, mut expected) = (random_tensor(), None);
            let (mut state, mut expected_state) = (None, None);
            for step in 0..1200 {
                // the last steps have no gradient, until the first moments vanish
                let gradient = if step < 40 { random_tensor() } else { random_tensor().mul_scalar(0.0) };
                let rate = 0.02 / (1.0 + f64::from(step));
                let before = expected.take().unwrap_or_else(|| found.clone());
                let (after, new_state) = burn.step(rate, before, gradient.clone(), expected_state.take());
                (expected, expected_state) = (Some(after.clone()), new_state);
                (found, state) = ours.step(rate, found, gradient, state);
                assert_eq!(numbers(found.clone()), numbers(after), "step {step}, decay {weight_decay}");
                let momentum = |state: &Option<AdamWState<2>>| {
                    let AdaptiveMomentumState { time, moment_1, moment_2, .. } =
                        state.clone().expect("a state").momentum;
                    (time, normal(numbers(moment_1)), normal(numbers(moment_2)))
                };
                assert_eq!(momentum(&state), momentum(&expected_state), "step {step}");
            }
            let [ours, burns] =
                [state, expected_state].map(|state| numbers(state.expect("a state").momentum.moment_1));
            assert!(ours.iter().all(|number| *number == 0.0) && burns.iter().any(|number| *number != 0.0));
        }
    }
}
