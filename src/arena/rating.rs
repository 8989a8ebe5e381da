//! Ratings of many agents, from the games among them, with 95% bounds.
//!
//! The model is that of Bradley and Terry (Biometrika 39, 1952): an agent rated 400 Elo higher scores ten times as
//! much, and a draw is half a win. [`Ratings::fit`] maximizes the likelihood by Newton's method.
//!
//! - **Prior**: Jeffreys' prior, which keeps perfect scores finite and removes most of the bias that comes with few
//!   games (Firth, Biometrika 80, 1993). The prior amounts to one drawn game for every agent but one; more of it goes
//!   to meetings on which the ratings depend more. A clean sweep between two agents is rated as in `super::elo`: n
//!   games count as n + ½ points in n + 1 games.
//! - **Bounds** follow from the normal distribution on the logit scale, with the inverse of the Fisher information.
//!   That information assumes that games are independent and not drawn; the observed scatter of the pairs around the
//!   fit, over all matches, corrects it (quasi-likelihood: Wedderburn, Biometrika 61, 1974). Draws and pairs with
//!   unequal halves make the bounds narrower; pairs with equal halves and results that one number per agent cannot
//!   explain make them wider. One additional pair of the greatest possible variance keeps a few equal scores from
//!   looking certain.
//! - **Open bounds**: how much stronger one agent is than another is limited only by the prior, unless a chain of
//!   agents leads from the weaker agent to the stronger one in which each agent scored something against the next
//!   (Ford, American Mathematical Monthly 64, 1957). Without such a chain, the bound is `None`.
//! - **Repeated games** have a weight below 1; see `super::repeats`.
//! - **Decided openings**: if the same side wins both games in a share of the pairs, whoever plays it, no agent can
//!   score more than the other pairs allow. Plain ratings then contradict each other: the differences between neighbors
//!   add up to more than a match between the first and the last agent shows. `Ratings::fit_openings` estimates that
//!   share from the number of one-sided pairs in excess of what the scores explain. The ratings are those on open
//!   openings; a difference is reported as a match would show it, decided openings included. An opening that is decided
//!   between players of the game need not be decided against a much weaker yardstick, such as random playouts, so the
//!   yardstick's games are assumed to have open openings.
//!
//! Agents that are not connected by a chain of games are not compared at all.

use std::collections::BTreeMap;

use serde::Serialize;

use super::elo::Z;
use super::one_sided_pairs;
use super::sprt::Pentanomial;

/// The Elo difference for a factor of e in the odds.
const ELO: f64 = 400.0 / std::f64::consts::LN_10;
/// The largest change of a difference in one step of Newton's method; the likelihood is far from quadratic beyond it.
const LONGEST_STEP: f64 = 2.0;
const MOST_STEPS: usize = 1000;
const SMALLEST_STEP: f64 = 1e-11;
/// Limits of the search for the share of decided openings: the maximum number of fits, the largest share, and the
/// smallest change of the share.
const MOST_ROUNDS: usize = 20;
const MOST_DECIDED: f64 = 0.9;
const SMALLEST_CHANGE: f64 = 1e-3;
const LEAST_INFORMATION: f64 = 1e-6;
/// The largest share of drawn games, as a multiple of the smaller of the two expected scores. At 2, the most that the
/// score allows, the stronger agent would win every game that is not drawn.
const MOST_DRAWN: f64 = 1.9;
/// The number of additional pairs without a draw that are assumed to be decided by chance alone. The additional pairs
/// are needed because a few pairs prove nothing about openings.
const ASSUMED_OPEN: f64 = 8.0;

/// The pairs of games that two agents played against each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Meeting {
    /// The two agents, by number.
    pub agents: [usize; 2],
    /// The number of pairs with each score of the first agent.
    pub pairs: Pentanomial,
    /// The number of drawn games; [`Ratings::fit`] does not need it.
    pub draws: usize,
    /// The weight of a pair, 0..1: less than 1 if games repeat.
    pub worth: f64,
}

/// How much higher one agent is rated than another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The most likely difference.
    pub elo: f64,
    /// The standard error of the difference.
    pub error: f64,
    /// The lower 95% bound; `None` if the games give no lower bound on the difference.
    pub low: Option<f64>,
    /// The upper 95% bound; `None` if the games give no upper bound on the difference.
    pub high: Option<f64>,
}

/// The ratings of some agents, known up to a constant.
#[derive(Clone, Debug)]
pub struct Ratings {
    /// The ratings in units of [`ELO`]; the first agent of each connected group has 0.
    logits: Vec<f64>,
    /// The group of each agent: the index of the group's first agent.
    groups: Vec<usize>,
    /// The information about the differences, a square matrix.
    information: SquareMatrix,
    /// The covariance of the ratings; 0 for the first agent of a group.
    covariance: SquareMatrix,
    /// How scores follow from the ratings.
    link: ScoreCurve,
    /// The variance of a pair's score divided by that of two independent games without draws.
    spread: f64,
    /// For each agent, the agents against which it scored anything.
    scored: Vec<Vec<usize>>,
}

/// All games between two agents.
struct RatedPair {
    agents: [usize; 2],
    /// The weighted number of pairs with each score of the first agent.
    pairs: [f64; 5],
}

impl RatedPair {
    fn games(&self) -> f64 {
        2.0 * self.pairs.iter().sum::<f64>()
    }

    /// Returns the first agent's score in [`RatedPair::games`].
    fn score(&self) -> f64 {
        self.pairs.iter().zip(0..).map(|(pairs, points)| pairs * points as f64 / 2.0).sum()
    }
}

impl Ratings {
    /// Returns the ratings of agents 0 to `count` - 1. The order of the meetings does not matter.
    ///
    /// # Panics
    ///
    /// If a meeting has an agent with a higher number, or pairs an agent with itself.
    pub fn fit(count: usize, meetings: &[Meeting]) -> Ratings {
        Ratings::fit_link(count, meetings, ScoreCurve::default())
    }

    /// Returns the ratings of agents 0 to `count` - 1, together with the share of openings that are decided in games
    /// without `yardstick` (by expectation maximization).
    ///
    /// # Panics
    ///
    /// As for [`Ratings::fit`].
    pub(crate) fn fit_openings(count: usize, yardstick: usize, meetings: &[Meeting]) -> Ratings {
        let mut ratings = Ratings::fit(count, meetings);
        let between: Vec<Meeting> =
            meetings.iter().filter(|meeting| !meeting.agents.contains(&yardstick)).cloned().collect();
        for _ in 0..MOST_ROUNDS {
            let [share, error] = decided(ratings.link, &ratings.logits, &between);
            let change = (share - ratings.link.decided).abs();
            if change < SMALLEST_CHANGE {
                ratings.link.error = error;
                break;
            }
            ratings = Ratings::fit_link(
                count,
                meetings,
                ScoreCurve { decided: share, error, yardstick: Some(yardstick) },
            );
        }
        ratings
    }

    fn fit_link(count: usize, meetings: &[Meeting], link: ScoreCurve) -> Ratings {
        let edges = edges(count, meetings);
        let groups = groups(count, &edges);
        let is_fixed: Vec<bool> = groups.iter().enumerate().map(|(agent, group)| agent == *group).collect();
        let mut logits = vec![0.0; count];
        let mut covariance = SquareMatrix::new(count);
        for _ in 0..MOST_STEPS {
            covariance = covariance_of(&information(link, &logits, &edges), &is_fixed);
            let slope = slope(link, &logits, &edges, &covariance);
            let step = match link.decided {
                0.0 => covariance.times(&slope),
                // the prior's share of the curvature matters if decided openings leave little information
                _ => covariance_of(&curvature(link, &logits, &edges, &covariance), &is_fixed).times(&slope),
            };
            let across = |edge: &RatedPair| (step[edge.agents[0]] - step[edge.agents[1]]).abs();
            let longest = edges.iter().map(across).fold(0.0, f64::max);
            let share = if longest > LONGEST_STEP { LONGEST_STEP / longest } else { 1.0 };
            logits.iter_mut().zip(&step).for_each(|(logit, step)| *logit += share * step);
            if longest < SMALLEST_STEP {
                break;
            }
        }
        let spread = spread(link, &logits, &edges, count);
        covariance.values.iter_mut().for_each(|value| *value *= spread);
        let information = information(link, &logits, &edges);
        let scored = scored(count, &edges);
        Ratings { logits, groups, information, covariance, link, spread, scored }
    }

    /// Returns the number of agents.
    pub fn len(&self) -> usize {
        self.logits.len()
    }

    /// Returns whether there are no agents.
    pub fn is_empty(&self) -> bool {
        self.logits.is_empty()
    }

    /// Returns how much higher agent `a` is rated than `b`; `None` if no games connect them.
    pub fn difference(&self, a: usize, b: usize) -> Option<Difference> {
        if self.groups[a] != self.groups[b] {
            return None;
        }
        let logit = self.logits[a] - self.logits[b];
        let error = self.covariance.of_difference(a, b).max(0.0).sqrt();
        let link = self.link.of([a, b]);
        let elo = link.elo(logit);
        let bound = |sign: f64, known: bool| {
            let by_rating = link.elo(logit + sign * Z * error) - elo;
            let by_openings = link.shifted(-sign * logit.signum() * Z).elo(logit) - elo;
            known.then_some(elo + sign * by_rating.hypot(by_openings) + 0.0)
        };
        let by_openings = (link.shifted(1.0).elo(logit) - link.shifted(-1.0).elo(logit)) / 2.0;
        Some(Difference {
            elo,
            error: (ELO * error * link.steepness(logit)).hypot(by_openings),
            low: bound(-1.0, self.is_limited(a, b)),
            high: bound(1.0, self.is_limited(b, a)),
        })
    }

    /// Returns the expected score of agent `a` in a game against `b`; `None` if no games connect them.
    pub fn expected(&self, a: usize, b: usize) -> Option<f64> {
        (self.groups[a] == self.groups[b])
            .then(|| self.link.of([a, b]).score(self.logits[a] - self.logits[b]))
    }

    /// Returns the agents that are connected with `agent` by games, strongest first.
    pub fn ranking(&self, agent: usize) -> Vec<usize> {
        let mut ranking: Vec<usize> =
            (0..self.len()).filter(|other| self.groups[*other] == self.groups[agent]).collect();
        ranking.sort_by(|a, b| self.logits[*b].total_cmp(&self.logits[*a]).then(a.cmp(b)));
        ranking
    }

    /// Returns the share of openings that are decided; 0 for ratings from [`Ratings::fit`].
    pub fn decided(&self) -> f64 {
        self.link.decided
    }

    /// Returns the variance of the pairs' scores around the fit, divided by that of two independent games without
    /// draws.
    pub fn spread(&self) -> f64 {
        self.spread
    }

    /// Returns the ratings on the logit scale, and the information about their differences.
    pub(super) fn parts(&self) -> (&[f64], &SquareMatrix) {
        (&self.logits, &self.information)
    }

    /// Returns whether there is a chain from agent `from` to agent `to` in which each agent scored against the next.
    fn is_limited(&self, from: usize, to: usize) -> bool {
        let mut reached = vec![false; self.len()];
        let mut open = vec![from];
        while let Some(agent) = open.pop() {
            if !std::mem::replace(&mut reached[agent], true) {
                open.extend(&self.scored[agent]);
            }
        }
        reached[to]
    }
}

pub(super) fn sigmoid(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

/// The function that gives the expected score of a game for the difference of two ratings if a share of the openings is
/// decided.
#[derive(Clone, Copy, Debug, Default)]
struct ScoreCurve {
    decided: f64,
    /// The standard error of the share.
    error: f64,
    /// The agent in whose games no opening is decided, if there is one.
    yardstick: Option<usize>,
}

impl ScoreCurve {
    /// Returns the curve for games between two agents.
    fn of(self, agents: [usize; 2]) -> ScoreCurve {
        if self.yardstick.is_some_and(|yardstick| agents.contains(&yardstick)) {
            ScoreCurve::default()
        } else {
            self
        }
    }

    fn score(self, logit: f64) -> f64 {
        self.decided / 2.0 + (1.0 - self.decided) * sigmoid(logit)
    }

    /// Returns the derivative of the score with respect to the difference.
    fn slope(self, logit: f64) -> f64 {
        let open = sigmoid(logit);
        (1.0 - self.decided) * (open * (1.0 - open))
    }

    /// Returns how fast the logit of the score changes with the difference; this is 1 without decided openings.
    fn steepness(self, logit: f64) -> f64 {
        if self.decided == 0.0 {
            return 1.0;
        }
        let score = self.score(logit);
        self.slope(logit) / (score * (1.0 - score))
    }

    /// Returns the difference in Elo that a match would show.
    fn elo(self, logit: f64) -> f64 {
        // adding 0.0 turns negative zero into zero
        if self.decided == 0.0 {
            return ELO * logit + 0.0;
        }
        let score = self.score(logit);
        ELO * (score / (1.0 - score)).ln() + 0.0
    }

    /// Returns the curve for a share of decided openings that is larger by `errors` standard errors.
    fn shifted(self, errors: f64) -> ScoreCurve {
        ScoreCurve { decided: (self.decided + errors * self.error).clamp(0.0, MOST_DECIDED), ..self }
    }

    /// Returns the information that a game gives about the difference. The information is close to 0 if decided
    /// openings leave nothing to gain.
    fn information(self, logit: f64) -> f64 {
        let information = self.slope(logit) * self.steepness(logit);
        if self.decided == 0.0 { information } else { information.max(LEAST_INFORMATION) }
    }
}

/// Returns the meetings, added up for every two agents.
fn edges(count: usize, meetings: &[Meeting]) -> Vec<RatedPair> {
    let mut sums: BTreeMap<[usize; 2], [f64; 5]> = BTreeMap::new();
    for meeting in meetings.iter().filter(|meeting| meeting.pairs != [0; 5]) {
        let ([a, b], mut pairs) = (meeting.agents, meeting.pairs);
        assert!(a != b && a.max(b) < count, "no such meeting: {meeting:?}");
        if a > b {
            pairs.reverse();
        }
        let sum = sums.entry([a.min(b), a.max(b)]).or_default();
        sum.iter_mut().zip(pairs).for_each(|(sum, pairs)| *sum += meeting.worth * pairs as f64);
    }
    sums.into_iter().map(|(agents, pairs)| RatedPair { agents, pairs }).collect()
}

/// Returns the most likely share of decided openings for these ratings, and its standard error.
fn decided(link: ScoreCurve, logits: &[f64], meetings: &[Meeting]) -> [f64; 2] {
    let all: f64 =
        meetings.iter().map(|meeting| meeting.worth * meeting.pairs.iter().sum::<usize>() as f64).sum();
    let drawn: f64 = meetings.iter().map(|meeting| meeting.worth * meeting.draws as f64).sum();
    // the share of draws on open openings
    let draws = drawn / (2.0 * all * (1.0 - link.decided)).max(1.0);
    // pairs without a draw: how many were one-sided, how many were not, and the chance that an open opening looks
    // one-sided
    let counts: Vec<[f64; 3]> = meetings
        .iter()
        .map(|Meeting { agents: [a, b], pairs, draws: drawn, worth }| {
            let ([lost, .., won], one_sided) = (pairs, one_sided_pairs(pairs, *drawn));
            let score = sigmoid(logits[*a] - logits[*b]);
            let draws = draws.min(MOST_DRAWN * score.min(1.0 - score));
            let win = (score - draws / 2.0) / (1.0 - draws);
            [worth * one_sided as f64, worth * (lost + won) as f64, 2.0 * win * (1.0 - win)]
        })
        .collect();
    let decisive: f64 = counts.iter().map(|[one_sided, others, _]| one_sided + others).sum();
    let mut share = MOST_DECIDED;
    for _ in 0..MOST_STEPS {
        let before = share;
        let of_decided =
            |[one_sided, _, chance]: &[f64; 3]| one_sided * before / (before + (1.0 - before) * chance);
        share = counts.iter().map(of_decided).sum::<f64>() / (decisive + ASSUMED_OPEN);
        if (share - before).abs() < SMALLEST_CHANGE / 10.0 {
            break;
        }
    }
    // the expected information; a share of 0 is known no more precisely than a single pair could show
    let least = share.max(1.0 / (decisive + ASSUMED_OPEN));
    let information = |[one_sided, others, chance]: &[f64; 3]| {
        let one_side = least + (1.0 - least) * chance;
        (one_sided + others) * (1.0 - chance).powi(2) / (one_side * (1.0 - one_side))
    };
    let precision = counts.iter().map(information).sum::<f64>() + ASSUMED_OPEN;
    // pairs with a draw have open openings
    let part = decisive / all.max(1.0);
    [(part * share).min(MOST_DECIDED), part / precision.sqrt()]
}

/// Returns, for each agent, the first agent that is connected with it.
fn groups(count: usize, edges: &[RatedPair]) -> Vec<usize> {
    let mut groups: Vec<usize> = (0..count).collect();
    for RatedPair { agents: [a, b], .. } in edges {
        let (low, high) = (groups[*a].min(groups[*b]), groups[*a].max(groups[*b]));
        groups.iter_mut().filter(|group| **group == high).for_each(|group| *group = low);
    }
    groups
}

/// Returns, for each agent, the agents against which it scored anything.
fn scored(count: usize, edges: &[RatedPair]) -> Vec<Vec<usize>> {
    let mut scored = vec![Vec::new(); count];
    for edge in edges {
        let [a, b] = edge.agents;
        if edge.pairs[1..].iter().any(|pairs| *pairs > 0.0) {
            scored[a].push(b);
        }
        if edge.pairs[..4].iter().any(|pairs| *pairs > 0.0) {
            scored[b].push(a);
        }
    }
    scored
}

fn information(link: ScoreCurve, logits: &[f64], edges: &[RatedPair]) -> SquareMatrix {
    let mut information = SquareMatrix::new(logits.len());
    for edge in edges {
        let [a, b] = edge.agents;
        information.add_difference(a, b, edge.games() * link.of([a, b]).information(logits[a] - logits[b]));
    }
    information
}

/// Returns the information, including that of the prior's games.
fn curvature(
    link: ScoreCurve,
    logits: &[f64],
    edges: &[RatedPair],
    covariance: &SquareMatrix,
) -> SquareMatrix {
    let mut curvature = information(link, logits, edges);
    for edge in edges {
        let [a, b] = edge.agents;
        let drawn = drawn_by_prior(link, logits, edge, covariance);
        curvature.add_difference(a, b, drawn * ScoreCurve::default().information(logits[a] - logits[b]));
    }
    curvature
}

/// Returns the number of drawn games that the prior adds between two agents. This number is the share of the
/// information about the agents' difference that comes from their own games; without information from other games, the
/// share is 1.
fn drawn_by_prior(link: ScoreCurve, logits: &[f64], edge: &RatedPair, covariance: &SquareMatrix) -> f64 {
    let [a, b] = edge.agents;
    edge.games() * link.of([a, b]).information(logits[a] - logits[b]) * covariance.of_difference(a, b)
}

/// Returns the inverse of the information, with 0 for agents that are fixed.
fn covariance_of(information: &SquareMatrix, is_fixed: &[bool]) -> SquareMatrix {
    let size = information.size;
    let in_fixed = |at: usize| is_fixed[at / size] || is_fixed[at % size];
    let mut free = information.clone();
    for (at, value) in free.values.iter_mut().enumerate().filter(|(at, _)| in_fixed(*at)) {
        *value = (at / size == at % size) as u8 as f64;
    }
    let mut covariance = free.inverse();
    covariance
        .values
        .iter_mut()
        .enumerate()
        .filter(|(at, _)| in_fixed(*at))
        .for_each(|(_, value)| *value = 0.0);
    covariance
}

/// Returns the gradient of the log-likelihood with the prior, for the covariance at these ratings.
fn slope(link: ScoreCurve, logits: &[f64], edges: &[RatedPair], covariance: &SquareMatrix) -> Vec<f64> {
    let mut slope = vec![0.0; logits.len()];
    for edge in edges {
        let [a, b] = edge.agents;
        let logit = logits[a] - logits[b];
        let drawn = drawn_by_prior(link, logits, edge, covariance);
        // the prior's drawn games have open openings
        let link = link.of([a, b]);
        let excess = link.steepness(logit) * (edge.score() - edge.games() * link.score(logit))
            + drawn * (0.5 - sigmoid(logit));
        slope[a] += excess;
        slope[b] -= excess;
    }
    slope
}

/// Computes [`Ratings::spread`]. Each match counts in proportion to its expected variance.
fn spread(link: ScoreCurve, logits: &[f64], edges: &[RatedPair], count: usize) -> f64 {
    let (mut seen, mut expected, mut pairs) = (0.0, 0.0, 0.0);
    for edge in edges {
        let [a, b] = edge.agents;
        let mean = link.of([a, b]).score(logits[a] - logits[b]);
        let square = |score: f64| (score - mean) * (score - mean);
        seen += edge
            .pairs
            .iter()
            .zip(0..)
            .map(|(pairs, quarters)| pairs * square(quarters as f64 / 4.0))
            .sum::<f64>();
        expected += edge.games() / 2.0 * mean * (1.0 - mean) / 2.0;
        pairs += edge.games() / 2.0;
    }
    // the ratings were fitted to the results, which reduces the scatter of the results by this factor
    let left = ((pairs - (count as f64 - 1.0)) / pairs.max(1.0)).max(0.0);
    // one pair is added in which one of two equal agents won both games
    (seen + 0.25) / (expected * left + 0.125)
}

/// A square matrix.
#[derive(Clone, Debug)]
pub(super) struct SquareMatrix {
    pub(super) size: usize,
    pub(super) values: Vec<f64>,
}

impl SquareMatrix {
    fn new(size: usize) -> SquareMatrix {
        SquareMatrix { size, values: vec![0.0; size * size] }
    }

    pub(super) fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.size + column]
    }

    pub(super) fn add(&mut self, row: usize, column: usize, value: f64) {
        self.values[row * self.size + column] += value;
    }

    fn times(&self, vector: &[f64]) -> Vec<f64> {
        let product = |row: &[f64]| row.iter().zip(vector).map(|(a, b)| a * b).sum();
        self.values.chunks_exact(self.size.max(1)).map(product).collect()
    }

    /// Returns the variance of the difference of two agents, if this is a covariance.
    pub(super) fn of_difference(&self, a: usize, b: usize) -> f64 {
        self.at(a, a) + self.at(b, b) - 2.0 * self.at(a, b)
    }

    fn add_difference(&mut self, a: usize, b: usize, value: f64) {
        for (row, column, sign) in [(a, a, 1.0), (b, b, 1.0), (a, b, -1.0), (b, a, -1.0)] {
            self.add(row, column, sign * value);
        }
    }

    /// Returns the inverse of a symmetric positive definite matrix, by Cholesky decomposition.
    pub(super) fn inverse(&self) -> SquareMatrix {
        let n = self.size;
        let mut lower = SquareMatrix::new(n);
        for row in 0..n {
            for column in 0..=row {
                let known: f64 = (0..column).map(|k| lower.at(row, k) * lower.at(column, k)).sum();
                let rest = self.at(row, column) - known;
                // the diagonal can be zero or negative only because of rounding
                let value = if row == column {
                    rest.max(f64::MIN_POSITIVE).sqrt()
                } else {
                    rest / lower.at(column, column)
                };
                lower.add(row, column, value);
            }
        }
        let mut inverse = SquareMatrix::new(n);
        for unit in 0..n {
            let mut column = vec![0.0; n];
            column[unit] = 1.0;
            for row in unit..n {
                let known: f64 = (unit..row).map(|k| lower.at(row, k) * column[k]).sum();
                column[row] = (column[row] - known) / lower.at(row, row);
            }
            for row in (0..n).rev() {
                let known: f64 = (row + 1..n).map(|k| lower.at(k, row) * column[k]).sum();
                column[row] = (column[row] - known) / lower.at(row, row);
            }
            column.iter().enumerate().for_each(|(row, value)| inverse.add(row, unit, *value));
        }
        inverse
    }
}

#[cfg(test)]
mod tests;
