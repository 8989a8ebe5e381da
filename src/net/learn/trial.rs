//! Measures whether training with pairs of bf16 is faster than with f32 on this CPU. On some CPUs that have the
//! instruction for pairs, it takes as long as the two f32 instructions that it replaces.
//!
//! Input: the filters of a tower and the size of its board. Output: the time that training a convolution of the tower
//! takes with [`pairs`](super::pairs), relative to f32, measured in some milliseconds.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::conv::Target;
use super::geometry::{Conv, Gradient, Halves};
use crate::net::kernels::vector::{Isa, padded};
use crate::net::precision::{Clock, WORTH_IT};

/// The number of images, enough for whole tiles of products.
const IMAGES: usize = 32;
/// The minimum number of measurements of each layer. The layers are measured in turn until all measurements together
/// have taken [`LONG_ENOUGH`]; the best time counts.
const ROUNDS: usize = 3;
const LONG_ENOUGH: Duration = Duration::from_millis(20);

/// Returns whether training convolutions of this many filters is faster with `halves`, by at least the required
/// margin.
pub(in crate::net) fn is_faster(halves: Halves, filters: usize, board: [usize; 2]) -> bool {
    times_of_f32(halves, filters, board).is_some_and(|times| times < WORTH_IT)
}

/// Returns the time that training convolutions of this many filters takes with `halves`, relative to f32, or `None`
/// if no thread can be started to measure it.
pub(in crate::net) fn times_of_f32(
    halves: Halves,
    filters: usize,
    [height, width]: [usize; 2],
) -> Option<f64> {
    let conv = |halves| Conv {
        height,
        width,
        inputs: filters,
        outputs: filters,
        kernel: 3,
        isa: Isa::widest(),
        halves,
    };
    let mut layers = [None, Some(halves)].map(|halves| TrialLayer::new(conv(halves)));
    let timed = || {
        let start = Instant::now();
        for round in 0.. {
            if round >= ROUNDS && start.elapsed() > LONG_ENOUGH {
                break;
            }
            layers.iter_mut().for_each(TrialLayer::time);
        }
        layers[1].best.as_secs_f64() / layers[0].best.as_secs_f64()
    };
    // a pool of one thread, so that the measured time covers all of the work
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.ok().map(|pool| pool.install(timed))
}

/// A layer to train, with meaningless numbers.
struct TrialLayer {
    conv: Conv,
    x: Vec<f32>,
    z: Vec<f32>,
    weight: Vec<f32>,
    of_channel: Vec<f32>,
    best: Duration,
}

impl TrialLayer {
    fn new(conv: Conv) -> TrialLayer {
        let numbers = |len: usize| (0..len).map(|i| (i % 7) as f32 - 3.0).collect::<Vec<f32>>();
        let boards = IMAGES * conv.input_len();
        let weight = numbers(conv.inputs * conv.outputs * conv.kernel * conv.kernel);
        let of_channel = numbers(padded(conv.outputs));
        TrialLayer { x: numbers(boards), z: vec![0.0; boards], weight, of_channel, best: Duration::MAX, conv }
    }

    fn time(&mut self) {
        let TrialLayer { conv, x, z, weight, of_channel, best } = self;
        let start = Clock::now();
        conv.forward(weight, x, z);
        let [mean, scale, slope, shift] = [&of_channel[..]; 4];
        let gradient = Gradient { g: x, mean, scale, slope, shift };
        black_box(conv.backward(weight, x, &gradient, z, Target::OverZ));
        *best = (*best).min(start.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::kernels::pairs::PairSet;

    #[test]
    fn what_is_slower_does_not_pay() {
        assert!(!is_faster(Halves::Pairs(PairSet::EMULATED), 16, [3, 3]));
    }
}
