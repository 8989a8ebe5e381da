//! Mean scores, and Elo differences from the scores of paired games, with 95% bounds.
//!
//! The two games of a pair share an opening and are not independent, so the unit is the pair's score (0, 1/4, 1/2, 3/4,
//! or 1). The bounds are Wilson's score interval (Wilson 1927), with the number of pairs corrected for their observed
//! variance. One pseudo-pair of the greatest possible variance keeps a series of equal scores from looking certain. If
//! games repeat, each pair has a weight below 1 (see `super::repeats`): the mean is that of all pairs, but the number
//! of pairs is the sum of their weights. A bound is left open if it is so close to a perfect score that less than one
//! game of the match would be lost (or won, at the other end). A match has too few games to show a score that close to
//! perfect, and Wilson's interval is too narrow near both ends.

/// The 97.5% quantile of the normal distribution.
pub const Z: f64 = 1.959_963_984_540_054;

/// An Elo difference and its 95% bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The most likely difference.
    pub elo: f64,
    /// The lower bound; `None` if there are too few pairs or they are too one-sided to give one.
    pub low: Option<f64>,
    /// The upper bound; `None` if there are too few pairs or they are too one-sided to give one.
    pub high: Option<f64>,
}

/// Returns the estimate from the pairs' mean scores, each 0..1, and the weight `worth` of a pair, 0..1. Differences are
/// finite: a perfect score in n games counts as n + ½ points in n + 1 games. Without pairs, the difference is 0 and has
/// no bounds.
///
/// ```
/// use petteia::arena::elo::estimate;
///
/// // 20 pairs: the first agent won both games of 12 pairs, and one game of each of the other 8
/// let found = estimate(&[[1.0; 12].as_slice(), &[0.5; 8]].concat(), 1.0);
/// assert_eq!(found.elo.round(), 241.0);
/// assert!(found.low > Some(100.0) && found.high < Some(400.0));
/// // if an agent never lost, nothing limits how much stronger it may be
/// assert_eq!(estimate(&[1.0; 20], 1.0).high, None);
/// ```
pub fn estimate(pairs: &[f64], worth: f64) -> Estimate {
    if pairs.is_empty() {
        return Estimate { elo: 0.0, low: None, high: None };
    }
    let n = worth * pairs.len() as f64;
    let [mean, lower, upper] = mean_and_bounds(pairs, worth, Z);
    // in n games, the greatest score is (n + 1/2) / (n + 1), and the greatest bound is (n - 1) / n
    let (perfect, one) = (1.0 / (4.0 * n + 2.0), 1.0 / (2.0 * n));
    let bound = |score: f64| (one < score && score < 1.0 - one).then(|| from_score(score));
    Estimate { elo: from_score(mean.clamp(perfect, 1.0 - perfect)), low: bound(lower), high: bound(upper) }
}

/// Returns a rounded Elo difference as text, with its sign; no difference is `+0`.
pub fn signed(elo: f64) -> String {
    format!("{:+}", elo.round() + 0.0)
}

/// Returns the bounds of an Elo difference as text; either may be open.
pub fn bounds(low: Option<f64>, high: Option<f64>) -> String {
    match [low, high].map(|bound| bound.map(signed)) {
        [Some(low), Some(high)] => format!("{low} to {high}"),
        [Some(low), None] => format!("{low} or more"),
        [None, Some(high)] => format!("{high} or less"),
        [None, None] => "unknown".into(),
    }
}

/// Returns the mean of scores, each 0..1, and its bounds `z` standard errors away; `worth` is the weight of a score,
/// 0..1. Without scores, the mean is ½, with bounds 0 and 1.
///
/// The method works for the scores of single games with draws as well as for the scores of pairs. In simulations with
/// 0, 50, 95, and 99% draws and 20 to 2,000 games, the 95% bounds contain the truth in 93 to 97% of all cases, and more
/// often if fewer than about five games are expected to be decisive.
///
/// ```
/// use petteia::arena::elo::{Z, mean_and_bounds};
///
/// // 99 draws and a win
/// let [mean, low, high] = mean_and_bounds(&[[0.5; 99].as_slice(), &[1.0]].concat(), 1.0, Z);
/// assert!(mean == 0.505 && low > 0.485 && high < 0.525, "{low} {high}");
/// ```
pub fn mean_and_bounds(scores: &[f64], worth: f64, z: f64) -> [f64; 3] {
    if scores.is_empty() {
        return [0.5, 0.0, 1.0];
    }
    let n = worth * scores.len() as f64;
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    let greatest = mean * (1.0 - mean);
    let seen = worth * scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>();
    let spread = (seen + greatest) / n;
    let effective = if greatest > 0.0 { n * (greatest / spread).max(1.0) } else { n };
    let (low, high) = interval(mean, effective, z);
    [mean, low, high]
}

/// Returns the 95% bounds of Wilson's score interval for a mean of `n` observations that are each 0 or 1.
pub(crate) fn wilson(mean: f64, n: f64) -> (f64, f64) {
    interval(mean, n, Z)
}

fn interval(mean: f64, n: f64, z: f64) -> (f64, f64) {
    let center = (mean + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let inside = mean * (1.0 - mean) / n + z * z / (4.0 * n * n);
    let half = z * inside.sqrt() / (1.0 + z * z / n);
    ((center - half).max(0.0), (center + half).min(1.0))
}

/// Returns the Elo difference that corresponds to this expected score (logistic, 400 points per factor of ten in the
/// odds).
fn from_score(score: f64) -> f64 {
    // adding 0.0 turns negative zero into zero
    400.0 * (score / (1.0 - score)).log10() + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    use crate::random::Random;

    #[test]
    fn known_scores() {
        // 64% is 100 Elo, the textbook value of the logistic curve
        let pairs: Vec<f64> = (0..100).map(|i| if i < 64 { 1.0 } else { 0.0 }).collect();
        let estimate = estimate(&pairs, 1.0);
        assert!((estimate.elo - 99.95).abs() < 0.01, "{estimate:?}");
        // Wilson's interval for 64 of 100: 0.5424 to 0.7273
        assert!((estimate.low.unwrap() - 29.5).abs() < 1.0, "{estimate:?}");
        assert!((estimate.high.unwrap() - 170.4).abs() < 1.5, "{estimate:?}");
    }

    #[test]
    fn symmetric_and_ordered() {
        for pairs in [vec![1.0; 10], vec![0.0; 10], vec![0.5; 10], vec![0.25, 1.0, 0.5], vec![1.0]] {
            let mirrored: Vec<f64> = pairs.iter().map(|score| 1.0 - score).collect();
            for worth in [1.0, 0.4] {
                let (a, b) = (estimate(&pairs, worth), estimate(&mirrored, worth));
                assert!((a.elo + b.elo).abs() < 1e-9, "{a:?} {b:?}");
                assert!((a.low.unwrap_or(-1e4) + b.high.unwrap_or(1e4)).abs() < 1e-9, "{a:?} {b:?}");
                assert!(a.elo.is_finite() && a.low.is_none_or(|low| low <= a.elo), "{a:?}");
                assert!(a.high.is_none_or(|high| a.elo <= high), "{a:?}");
            }
        }
        assert_eq!(estimate(&[], 1.0), Estimate { elo: 0.0, low: None, high: None });
    }

    /// Checks a series of 19 wins and a draw, among others.
    #[test]
    fn bounds_are_open_if_there_are_too_few_pairs() {
        let nineteen = [&[1.0; 9][..], &[0.75]].concat();
        let Estimate { elo, low, high } = estimate(&nineteen, 1.0);
        assert!((elo - 636.4).abs() < 0.1 && (low.unwrap() - 297.0).abs() < 0.5, "{elo}, {low:?}");
        // the difference asserted above is the greatest that this many games can show
        assert_eq!(high, None);
        assert_eq!(estimate(&[1.0; 200], 1.0).high, None, "a clean sweep has no upper bound");
        let one = estimate(&[0.5], 1.0);
        assert_eq!((one.low, one.high), (None, None), "a single pair proves almost nothing");
        let even = estimate(&[0.5; 20], 1.0);
        assert!(even.low.is_some() && even.high.is_some());
    }

    #[test]
    fn balanced_pairs_have_tighter_bounds_than_split_ones() {
        let split: Vec<f64> = (0..50).map(|i| (i % 2) as f64).collect();
        let width = |pairs: &[f64]| {
            let bounds = estimate(pairs, 1.0);
            bounds.high.unwrap() - bounds.low.unwrap()
        };
        assert!(width(&[0.5; 50]) < width(&split));
    }

    /// Returns the score of a pair of independent games, each won with this probability.
    fn pair(random: &mut Random, chance: f64) -> f64 {
        let mut game = || (random.random::<f64>() < chance) as u8 as f64;
        (game() + game()) / 2.0
    }

    /// The bounds of a mean score contain the truth as often as they claim, whatever the share of draws. If few games
    /// are decisive, the bounds contain the truth more often, because there are few possible results.
    #[test]
    fn bounds_of_a_mean_cover_the_truth() {
        let mut random = Random::seed_from_u64(9);
        for draws in [0.0, 0.5, 0.95, 0.99] {
            for won in [0.5, 0.6, 0.8] {
                for games in [20, 100, 300, 1000, 2000] {
                    let truth = draws / 2.0 + (1.0 - draws) * won;
                    let mut game = || {
                        if random.random::<f64>() < draws {
                            0.5
                        } else {
                            f64::from(u8::from(random.random::<f64>() < won))
                        }
                    };
                    let covered = (0..1000).filter(|_| {
                        let scores: Vec<f64> = (0..games).map(|_| game()).collect();
                        let [_, low, high] = mean_and_bounds(&scores, 1.0, Z);
                        (low..=high).contains(&truth)
                    });
                    let covered = covered.count();
                    let decided = games as f64 * (1.0 - draws);
                    // three standard deviations of 1,000 repetitions are 2%
                    let most = if decided < 20.0 { 1000 } else { 985 };
                    let about =
                        format!("{games} games, {draws} drawn, {won} of the others won: {covered} of 1000");
                    assert!((925..=most).contains(&covered), "{about}");
                }
            }
        }
    }

    fn covers(bounds: &Estimate, truth: f64) -> bool {
        bounds.low.is_none_or(|low| low <= truth) && bounds.high.is_none_or(|high| truth <= high)
    }

    /// The bounds cover the truth in at least 93% of simulated matches, even with few pairs and great differences.
    #[test]
    fn bounds_cover_the_truth() {
        let mut random = Random::seed_from_u64(7);
        for pairs in [5, 10, 50] {
            for chance in [0.02, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98] {
                let truth = from_score(chance);
                let covered = (0..2000)
                    .filter(|_| {
                        let pairs: Vec<f64> = (0..pairs).map(|_| pair(&mut random, chance)).collect();
                        covers(&estimate(&pairs, 1.0), truth)
                    })
                    .count();
                assert!(covered >= 1860, "{pairs} pairs at {chance}: {covered} of 2000");
            }
        }
    }

    /// Deterministic agents with few openings: the result of each opening is drawn once, and openings recur in a match.
    /// If all games had the weight 1, the bounds would be far too narrow.
    #[test]
    fn repeated_games_do_not_narrow_the_bounds() {
        let mut random = Random::seed_from_u64(8);
        for (openings, pairs) in [(5, 50), (10, 50), (20, 100), (50, 200)] {
            for chance in [0.5, 0.7, 0.9] {
                let truth = from_score(chance);
                let mut covered = [0; 2];
                for _ in 0..1000 {
                    let results: Vec<f64> = (0..openings).map(|_| pair(&mut random, chance)).collect();
                    let mut met = vec![0u64; openings];
                    (0..pairs).for_each(|_| met[random.random_range(0..openings)] += 1);
                    let scores: Vec<f64> = results
                        .iter()
                        .zip(&met)
                        .flat_map(|(score, times)| vec![*score; *times as usize])
                        .collect();
                    let worth = pairs as f64 / met.iter().map(|times| times * times).sum::<u64>() as f64;
                    for (covered, worth) in covered.iter_mut().zip([worth, 1.0]) {
                        *covered += covers(&estimate(&scores, worth), truth) as usize;
                    }
                }
                let about = format!("{openings} openings, {pairs} pairs at {chance}: {covered:?} of 1000");
                assert!(covered[0] >= 930, "{about}");
                assert!(covered[1] < 800, "{about}");
            }
        }
    }
}
