//! A GPU is trusted only after it has computed the same results as the CPU.
//!
//! A driver may report success and write nothing, and a GPU may have broken memory. With such a GPU, a network would
//! train or play with meaningless numbers. A GPU that was found must therefore first compute a small network
//! ([`expect_same`]), and the results for the first batch of each loaded network are compared with the CPU's
//! ([`watched`]). Input: a forward pass. Output: the same forward pass, or an error that blames the GPU and not the
//! weights.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rand::RngExt;

use super::forward::{Batch, Forward, Pass};
use super::infer::{CpuNet, Wanted};
use super::network::Network;
use super::weights::Weights;
use crate::config::{NetConfig, Precision};
use crate::encode::{MAX_CELLS, Planes, Shape};
use crate::error::{Error, Result};
use crate::random::{Purpose, stream};

/// The permitted difference between a logit and the CPU's when factors have 16 bits, relative to the largest logit or
/// to 1, whichever is larger. Networks of all shapes with random weights differ by up to 0.04.
pub(super) const WITH_16_BITS: f32 = 0.25;
/// Like [`WITH_16_BITS`], but for engines that compute in 32 bits.
#[cfg(feature = "train")]
pub(super) const WITH_32_BITS: f32 = 0.01;
/// The maximum number of positions that are compared.
const POSITIONS: usize = 16;

/// Returns an untrained network for testing a GPU that was just found.
pub(super) fn sample() -> Network {
    let config = NetConfig::with(|net| (net.filters, net.blocks) = (32, 2));
    let shape = Shape { planes: 4, height: 6, width: 7, actions: 42 };
    Network::new(&config, shape, 1)
}

/// Evaluates some random positions with `forward`, and fails if the results differ from the CPU's with the same
/// `weights`.
pub(super) fn expect_same(
    forward: Arc<dyn Forward>,
    weights: &Weights,
    tolerance: f32,
    name: &str,
) -> Result<()> {
    let shape = forward.shape();
    let mut random = stream(1, Purpose::Weights, &[]);
    let mut planes = Planes::new(Shape { planes: POSITIONS * shape.planes, ..shape });
    for plane in 0..POSITIONS * shape.planes {
        let mut squares = [0_u64; MAX_CELLS.div_ceil(64)];
        (0..shape.cells())
            .for_each(|square| squares[square / 64] |= u64::from(random.random::<bool>()) << (square % 64));
        planes.set_bits(plane, squares);
    }
    let actions: Vec<u16> = (0..POSITIONS * shape.actions).map(|i| (i % shape.actions) as u16).collect();
    let ends: Vec<usize> = (1..=POSITIONS).map(|position| position * shape.actions).collect();
    let (mut logits, mut wdl) = (vec![0.0; actions.len()], vec![0.0; 3 * POSITIONS]);
    let wanted = Wanted { actions: &actions, ends: &ends };
    let batch = Batch { planes: planes.words(), wanted, logits: &mut logits, wdl: &mut wdl };
    watched(forward, weights, tolerance, name.into()).pass().run(batch)
}

/// Wraps a forward pass so that its first batch is compared with the CPU's results from the same `weights`; a
/// difference of more than `tolerance` is an error. `name` is the GPU's name.
pub(super) fn watched(
    forward: Arc<dyn Forward>,
    weights: &Weights,
    tolerance: f32,
    name: String,
) -> Arc<dyn Forward> {
    let cpu = CpuNet::new(weights, Precision::F32).expect("every CPU has f32");
    Arc::new(WatchedNet {
        forward,
        cpu: Arc::new(cpu),
        apart: tolerance,
        name,
        is_compared: AtomicBool::new(false),
    })
}

struct WatchedNet {
    forward: Arc<dyn Forward>,
    cpu: Arc<CpuNet>,
    apart: f32,
    name: String,
    is_compared: AtomicBool,
}

impl Forward for WatchedNet {
    fn shape(&self) -> Shape {
        self.forward.shape()
    }

    fn batch(&self) -> usize {
        self.forward.batch()
    }

    fn pass(self: Arc<Self>) -> Box<dyn Pass> {
        Box::new(WatchedPass { pass: self.forward.clone().pass(), net: self })
    }
}

struct WatchedPass {
    pass: Box<dyn Pass>,
    net: Arc<WatchedNet>,
}

impl Pass for WatchedPass {
    fn run(&mut self, batch: Batch) -> Result<()> {
        let Batch { planes, wanted, logits, wdl } = batch;
        self.pass.run(Batch { planes, wanted, logits: &mut *logits, wdl: &mut *wdl })?;
        if wanted.ends.is_empty() || self.net.is_compared.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        self.net.compare(planes, wanted, logits, wdl)
    }
}

impl WatchedNet {
    /// Compares the first positions of a batch with the CPU's results.
    fn compare(&self, planes: &[u64], wanted: Wanted, logits: &[f32], wdl: &[f32]) -> Result<()> {
        let positions = wanted.ends.len().min(POSITIONS);
        let ends = &wanted.ends[..positions];
        let actions = &wanted.actions[..ends[positions - 1]];
        let (mut exact, mut exact_wdl) = (vec![0.0; actions.len()], vec![0.0; 3 * positions]);
        let planes = &planes[..positions * self.shape().words()];
        let wanted = Wanted { actions, ends };
        let batch = Batch { planes, wanted, logits: &mut exact, wdl: &mut exact_wdl };
        self.cpu.clone().pass().run(batch)?;
        for (what, results, exact) in [("an action", logits, &exact), ("win, draw, or loss", wdl, &exact_wdl)]
        {
            // if the CPU's result is not finite either, the weights are at fault
            if !exact.iter().all(|x| x.is_finite()) {
                continue;
            }
            let scale = exact.iter().fold(1.0, |largest: f32, x| largest.max(x.abs()));
            let mut pairs = results.iter().zip(exact);
            if let Some((result, exact)) =
                pairs.find(|(result, exact)| !is_near(**result, **exact, self.apart * scale))
            {
                return Err(Error::Missing(format!(
                    "the GPU {} gives different results from the CPU (a logit of {what} is {result:.4} on the GPU and \
                     {exact:.4} on the CPU): the GPU, its memory, or its driver is broken, so it is not used; \"cpu\" \
                     computes without it",
                    self.name
                )));
            }
        }
        Ok(())
    }
}

/// Returns whether two numbers differ by at most `tolerance`; false if either is not a number.
fn is_near(result: f32, exact: f32, tolerance: f32) -> bool {
    (result - exact).abs() <= tolerance
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A forward pass that falsifies the CPU's results.
    struct Liar(Arc<CpuNet>, fn(usize, f32) -> f32);

    impl Forward for Liar {
        fn shape(&self) -> Shape {
            self.0.shape()
        }

        fn pass(self: Arc<Self>) -> Box<dyn Pass> {
            Box::new(self)
        }
    }

    impl Pass for Arc<Liar> {
        fn run(&mut self, batch: Batch) -> Result<()> {
            let Batch { planes, wanted, logits, wdl } = batch;
            self.0.clone().pass().run(Batch { planes, wanted, logits: &mut *logits, wdl: &mut *wdl })?;
            for numbers in [logits, wdl] {
                numbers.iter_mut().enumerate().for_each(|(at, number)| *number = (self.1)(at, *number));
            }
            Ok(())
        }
    }

    #[test]
    fn a_gpu_that_computes_something_else_is_named() {
        let weights = sample().weights();
        let net = Arc::new(CpuNet::new(&weights, Precision::F32).unwrap());
        let error = |lie: fn(usize, f32) -> f32, tolerance: f32| {
            let result = expect_same(Arc::new(Liar(net.clone(), lie)), &weights, tolerance, "Pinocchio");
            result.err().map(|error| error.to_string())
        };
        let lies: [fn(usize, f32) -> f32; 5] = [
            |_, _| 0.0,
            |_, _| f32::NAN,
            |_, right| -right,
            |at, right| if at == 5 { f32::INFINITY } else { right },
            |at, right| if at == 500 { right + 2.0 } else { right },
        ];
        for (number, lie) in lies.into_iter().enumerate() {
            for tolerance in [WITH_16_BITS, WITH_32_BITS] {
                let message = error(lie, tolerance)
                    .unwrap_or_else(|| panic!("lie {number} is believed at {tolerance}"));
                assert!(
                    message.starts_with("the GPU Pinocchio gives different results from the CPU"),
                    "{message}"
                );
            }
        }
        // rounding errors are accepted
        assert_eq!(error(|_, right| right, WITH_32_BITS), None);
        assert_eq!(error(|_, right| right * 1.002, WITH_32_BITS), None);
        assert_eq!(error(|_, right| right * 1.04, WITH_16_BITS), None);
    }

    #[test]
    fn weights_that_compute_nothing_are_not_the_fault_of_the_gpu() {
        let mut weights = sample().weights();
        weights.numbers.values_mut().for_each(|numbers| numbers.bias.fill(f32::NAN));
        let net = Arc::new(CpuNet::new(&weights, Precision::F32).unwrap());
        expect_same(net, &weights, WITH_32_BITS, "any").unwrap();
    }

    #[test]
    fn only_the_first_batch_is_compared() {
        let weights = sample().weights();
        let net = Arc::new(CpuNet::new(&weights, Precision::F32).unwrap());
        let net = watched(Arc::new(Liar(net, |_, _| 0.0)), &weights, WITH_32_BITS, "any".into());
        let mut planes = Planes::new(net.shape());
        (0..net.shape().planes).for_each(|plane| planes.fill(plane, 1.0));
        let run = || {
            let wanted = Wanted { actions: &[0], ends: &[1] };
            net.clone().pass().run(Batch {
                planes: planes.words(),
                wanted,
                logits: &mut [0.0],
                wdl: &mut [0.0; 3],
            })
        };
        assert!(run().is_err() && run().is_ok());
    }
}
