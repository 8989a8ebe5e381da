//! Chooses which agents of a ladder play next.
//!
//! Adaptive pairing: after a round of pairs that connects all agents, each pair of games goes to the two agents whose
//! games are expected to reduce the sum of the variances of all rating differences most (an A-optimal design). Games
//! between agents that are far apart reveal little, and so do games between agents whose ratings are well known. How
//! much a pair of games reveals depends on the difference between the agents. The difference is not well known at
//! first, so the information is averaged over all possible differences, as in MacKay (Neural Computation 4, 1992, "The
//! evidence framework applied to classification networks").
//!
//! The choice must not depend too much on the results so far: if games went only to agents that seem close, a gap that
//! seems large by chance would never be examined again, and ladders would come out too long, with their ends too far
//! apart. If only the variances between neighbors counted, simulated ladders of 10 agents and 100 pairs came out 4 to
//! 31% too long; with the variances of all differences, the error was between -2 and +10%.

use std::f64::consts::PI;

use serde::Serialize;

use super::rating::{Ratings, SquareMatrix, sigmoid};

/// The prior precision for an agent that has not played: a standard deviation of 520 Elo.
const ASSUMED: f64 = 1.0 / 9.0;

/// How opponents are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Pairing {
    /// The two agents whose games reveal the most play next.
    Adaptive,
    /// Every agent plays every other, again and again.
    RoundRobin,
    /// The agent with this number plays each of the others, again and again.
    Gauntlet(usize),
}

impl Pairing {
    /// Returns the pairs of agents that may play, in the order of a round; the first ones connect all agents.
    pub fn candidates(self, count: usize) -> Vec<[usize; 2]> {
        match self {
            Pairing::Gauntlet(one) => (0..count)
                .filter(|other| *other != one)
                .map(|other| [one.min(other), one.max(other)])
                .collect(),
            // neighbors first
            _ => (1..count).flat_map(|apart| (apart..count).map(move |high| [high - apart, high])).collect(),
        }
    }
}

/// The current knowledge of the ratings, from which games are planned.
#[derive(Debug)]
pub struct Planner {
    logits: Vec<f64>,
    covariance: SquareMatrix,
}

impl Planner {
    /// Starts from these ratings. An agent without games is assumed to be as strong as the previous agent.
    pub fn new(ratings: &Ratings) -> Planner {
        let (logits, information) = ratings.parts();
        let (mut logits, mut precision) = (logits.to_vec(), information.clone());
        for agent in 0..logits.len() {
            if agent > 0 && precision.at(agent, agent) == 0.0 {
                logits[agent] = logits[agent - 1];
            }
            precision.add(agent, agent, ASSUMED);
        }
        Planner { logits, covariance: precision.inverse() }
    }

    /// Chooses the two agents that should play a pair of games next, and then counts that pair as played. If several
    /// choices are equally good, it takes the first. `None` if there are no candidates.
    pub fn choose(&mut self, candidates: &[[usize; 2]]) -> Option<[usize; 2]> {
        let mut best: Option<(f64, [usize; 2])> = None;
        for &pair in candidates {
            let gain = self.gain(pair);
            if best.is_none_or(|(most, _)| gain > most) {
                best = Some((gain, pair));
            }
        }
        let (_, pair) = best?;
        self.count(pair);
        Some(pair)
    }

    /// Returns the factor by which to multiply the square of [`Planner::towards`] to get the change of the covariance
    /// after a pair of games (Sherman and Morrison 1950).
    fn weight(&self, [a, b]: [usize; 2]) -> f64 {
        let variance = self.covariance.of_difference(a, b);
        let unsure = (1.0 + PI / 8.0 * variance).sqrt();
        let expected = sigmoid((self.logits[a] - self.logits[b]) / unsure);
        let information = 2.0 * expected * (1.0 - expected);
        information / (1.0 + information * variance)
    }

    /// Returns the covariance of each agent's rating with the difference between the ratings of agents `a` and `b`.
    fn towards(&self, [a, b]: [usize; 2]) -> impl Iterator<Item = f64> {
        // the matrix is symmetric, so its rows are its columns
        let size = self.covariance.size;
        let row = |agent: usize| &self.covariance.values[agent * size..][..size];
        row(a).iter().zip(row(b)).map(|(a, b)| a - b)
    }

    /// Returns how much the sum of the variances of all differences is expected to fall.
    fn gain(&self, pair: [usize; 2]) -> f64 {
        let (mut sum, mut squares) = (0.0, 0.0);
        for shared in self.towards(pair) {
            sum += shared;
            squares += shared * shared;
        }
        self.weight(pair) * (self.logits.len() as f64 * squares - sum * sum)
    }

    fn count(&mut self, pair: [usize; 2]) {
        let weight = self.weight(pair);
        let towards: Vec<f64> = self.towards(pair).collect();
        for (row, first) in towards.iter().enumerate() {
            for (column, second) in towards.iter().enumerate() {
                self.covariance.add(row, column, -weight * first * second);
            }
        }
    }
}
