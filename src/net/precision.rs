//! Finds the fastest precision for a network on this CPU, and measures how far its answers are from those of f32.
//!
//! Input: the rules, a network, and how many positions are evaluated together. Output: a [`Trial`] of each precision
//! that the CPU has, measured on positions of random games within a few milliseconds. [`fastest`] picks a precision
//! other than f32 only if it is faster by a margin and its answers are close ([`Distance::is_small`]). The pick depends
//! on timing, so anything that must have the same bytes everywhere must name its precision.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// On Unix, the clock is the thread's CPU time, so that other programs running at the same time do not count.
#[cfg(unix)]
pub(super) use cpu_time::ThreadTime as Clock;
#[cfg(not(unix))]
pub(super) use std::time::Instant as Clock;

use super::evaluator::{NetEvaluator, SharedNet};
use super::infer::CpuNet;
use super::network::Network;
use crate::config::{EvaluatorKind, NetConfig, Precision};
use crate::conformance::random_positions;
use crate::error::Result;
use crate::game::Game;
use crate::search::evaluator::{Evaluations, Evaluator, Request};

/// The number of positions on which answers are compared.
const POSITIONS: usize = 32;
/// The minimum number of rounds, each of which times every precision once. Rounds continue until together they have
/// taken [`LONG_ENOUGH`]. The best time of each precision counts.
const ROUNDS: usize = 5;
const LONG_ENOUGH: Duration = Duration::from_millis(12);
/// The largest share of f32's time that another precision may take. The margin is wide because a small gain does not
/// justify an agent that plays differently whenever something else keeps the CPU busy.
pub(super) const WORTH_IT: f64 = 0.87;

/// The measurements of one precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Trial {
    /// The precision.
    pub precision: Precision,
    /// Time of the forward pass for one position, in seconds.
    pub seconds: f64,
    /// The distance of the precision's answers from those of f32.
    pub distance: Distance,
}

/// The distance between the answers of two forward passes, averaged over positions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Distance {
    /// Total variation of the policies over legal actions: the share of probability that is on different actions, 0
    /// to 1.
    pub policy: f32,
    /// Absolute difference of the expected scores, on a scale from 0 (loss) to 1 (win).
    pub score: f32,
}

impl Distance {
    /// The largest distance at which two forward passes count as the same player.
    pub(crate) const MOST: Distance = Distance { policy: 0.02, score: 0.01 };

    /// Returns whether the distance is at most [`Distance::MOST`].
    pub(crate) fn is_small(self) -> bool {
        self.policy <= Distance::MOST.policy && self.score <= Distance::MOST.score
    }

    fn between(answers: &Evaluations, others: &Evaluations) -> Distance {
        let (mut sum, mut count) = (Distance::default(), 0.0);
        for (a, b) in answers.rows().zip(others.rows()) {
            let difference: f32 = a.priors.iter().zip(b.priors).map(|(a, b)| (a - b).abs()).sum();
            sum.policy += difference / 2.0;
            sum.score += (a.wdl.value() - b.wdl.value()).abs() / 2.0;
            count += 1.0;
        }
        Distance { policy: sum.policy / count, score: sum.score / count }
    }
}

/// Measures these precisions of the CPU, the first of which is f32, in batches of `batch` positions.
///
/// # Errors
/// If the network's output is not finite.
pub(crate) fn trials<G: Game>(
    game: &G,
    network: &Network,
    config: &NetConfig,
    precisions: &[Precision],
    batch: usize,
) -> Result<Vec<Trial>> {
    let states = random_positions(game, POSITIONS.max(batch), 1);
    let legal: Vec<_> = states.iter().map(|state| game.legal(state)).collect();
    let requests: Vec<Request<G>> =
        states.iter().zip(&legal).map(|(state, legal)| Request { state, legal, seed: 0 }).collect();
    let mut candidates = Vec::new();
    for &precision in precisions {
        let config = NetConfig { precision, ..config.clone() };
        let net = SharedNet::new(network, &config);
        let (mut evaluator, mut answers) = (net.evaluator(game), Evaluations::new());
        evaluator.evaluate(&requests, &mut answers)?;
        evaluator.encode(&requests[..batch]);
        candidates.push(PrecisionTrial { precision, evaluator, answers, best: Duration::MAX });
    }
    let start = Instant::now();
    for round in 0.. {
        if round >= ROUNDS && start.elapsed() > LONG_ENOUGH {
            break;
        }
        candidates.iter_mut().try_for_each(PrecisionTrial::time)?;
    }
    let reference = &candidates[0].answers;
    let trial = |candidate: &PrecisionTrial<G>| Trial {
        precision: candidate.precision,
        seconds: candidate.best.as_secs_f64() / batch as f64,
        distance: Distance::between(reference, &candidate.answers),
    };
    Ok(candidates.iter().map(trial).collect())
}

struct PrecisionTrial<G> {
    precision: Precision,
    /// The evaluator, which has encoded the positions that it is timed with.
    evaluator: NetEvaluator<G>,
    answers: Evaluations,
    best: Duration,
}

impl<G: Game> PrecisionTrial<G> {
    fn time(&mut self) -> Result<()> {
        let start = Clock::now();
        self.evaluator.forward()?;
        black_box(self.evaluator.numbers());
        self.best = self.best.min(start.elapsed());
        Ok(())
    }
}

/// Returns the precision that [`trials`] find the fastest among those whose answers are close to f32's. Returns f32
/// if there is nothing to choose, or if the network's output is not finite.
pub(crate) fn fastest<G: Game>(game: &G, network: &Network, config: &NetConfig, batch: usize) -> Precision {
    let precisions = CpuNet::precisions();
    if config.evaluator != EvaluatorKind::Fused || precisions.len() == 1 {
        return Precision::F32;
    }
    trials(game, network, config, &precisions, batch).map_or(Precision::F32, |trials| pick(&trials))
}

/// Returns another precision's time relative to f32's, or `None` if the CPU lacks it or the network's output is not
/// finite.
pub(crate) fn times_of_f32<G: Game>(
    game: &G,
    network: &Network,
    config: &NetConfig,
    precision: Precision,
    batch: usize,
) -> Option<f64> {
    let both = [Precision::F32, precision];
    let trials = CpuNet::has(precision).then(|| trials(game, network, config, &both, batch))?.ok()?;
    Some(trials[1].seconds / trials[0].seconds)
}

/// Returns the precision to use; the first of the `trials` is that of f32.
pub(crate) fn pick(trials: &[Trial]) -> Precision {
    let limit = trials[0].seconds * WORTH_IT;
    let pays = |trial: &&Trial| trial.seconds < limit && trial.distance.is_small();
    trials[1..].iter().find(pays).unwrap_or(&trials[0]).precision
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_precision_must_be_faster_and_close() {
        let close = Distance { policy: 0.001, score: 0.001 };
        let trial = |precision, seconds, distance| Trial { precision, seconds, distance };
        let f32 = trial(Precision::F32, 1.0, Distance::default());
        let choice = |seconds, distance| pick(&[f32, trial(Precision::Bf16, seconds, distance)]);
        assert_eq!(choice(0.7, close), Precision::Bf16);
        assert_eq!(choice(0.9, close), Precision::F32, "not faster by enough");
        assert_eq!(choice(1.2, close), Precision::F32);
        assert_eq!(choice(0.7, Distance { policy: 0.03, score: 0.001 }), Precision::F32);
        assert_eq!(choice(0.7, Distance { policy: 0.001, score: 0.02 }), Precision::F32);
        assert_eq!(choice(0.7, Distance { policy: f32::NAN, score: 0.0 }), Precision::F32);
        assert_eq!(pick(&[f32]), Precision::F32);
    }

    #[test]
    fn distances_by_hand() {
        let mut evaluations = [Evaluations::new(), Evaluations::new()];
        let rows = [[([0.5, 0.5], 1.0), ([1.0, 0.0], 0.0)], [([0.25, 0.75], 0.5), ([1.0, 0.0], 0.0)]];
        for (evaluations, rows) in evaluations.iter_mut().zip(rows) {
            for (priors, win) in rows {
                let wdl = crate::search::evaluator::Wdl { win, draw: 0.0, loss: 1.0 - win };
                evaluations.push(2, wdl).copy_from_slice(&priors);
            }
        }
        // a quarter of the policy and half a point in one of two positions
        assert_eq!(
            Distance::between(&evaluations[0], &evaluations[1]),
            Distance { policy: 0.125, score: 0.25 }
        );
    }
}
