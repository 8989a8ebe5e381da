//! Elo differences from the scores of paired games, with 95 % bounds.
//!
//! The two games of a pair share an opening and are not independent, so the pair's score (0, 1/4, 1/2, 3/4
//! or 1) is the unit. The bounds are Wilson's score interval (Wilson 1927) with the number of pairs
//! corrected for their observed variance; one pseudo-pair of the greatest variance keeps a run of
//! equal scores from looking certain.

/// 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// An Elo difference and its 95 % bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The most likely difference.
    pub elo: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// From the pairs' mean scores, each 0..1. Differences are finite: a perfect score counts as half a game
/// less in twice as many games. Without pairs nothing is known.
pub fn estimate(pairs: &[f64]) -> Estimate {
    if pairs.is_empty() {
        return Estimate { elo: 0.0, low: from_score(0.0, 1.0), high: from_score(1.0, 1.0) };
    }
    let n = pairs.len() as f64;
    let mean = pairs.iter().sum::<f64>() / n;
    let greatest = mean * (1.0 - mean);
    let spread = (pairs.iter().map(|score| (score - mean).powi(2)).sum::<f64>() + greatest) / n;
    let effective = if greatest > 0.0 { n * (greatest / spread).max(1.0) } else { n };
    let centre = (mean + Z * Z / (2.0 * effective)) / (1.0 + Z * Z / effective);
    let inside = greatest / effective + Z * Z / (4.0 * effective * effective);
    let half = Z * inside.sqrt() / (1.0 + Z * Z / effective);
    Estimate {
        elo: from_score(mean, n),
        low: from_score(centre - half, n),
        high: from_score(centre + half, n),
    }
}

/// The Elo difference at which this score is expected (logistic, 400 points a decade).
fn from_score(score: f64, pairs: f64) -> f64 {
    let edge = 1.0 / (4.0 * pairs + 2.0);
    let score = score.clamp(edge, 1.0 - edge);
    // + 0.0 turns a negative zero into zero
    400.0 * (score / (1.0 - score)).log10() + 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_scores() {
        // 64 % is 100 Elo: the logistic curve's textbook value
        let pairs: Vec<f64> = (0..100).map(|i| if i < 64 { 1.0 } else { 0.0 }).collect();
        let estimate = estimate(&pairs);
        assert!((estimate.elo - 99.95).abs() < 0.01, "{estimate:?}");
        // Wilson's interval for 64 of 100: 0.5424 to 0.7273
        assert!((estimate.low - 29.5).abs() < 1.0, "{estimate:?}");
        assert!((estimate.high - 170.4).abs() < 1.5, "{estimate:?}");
    }

    #[test]
    fn symmetric_finite_and_ordered() {
        for pairs in [vec![1.0; 10], vec![0.0; 10], vec![0.5; 10], vec![0.25, 1.0, 0.5], vec![1.0]] {
            let mirrored: Vec<f64> = pairs.iter().map(|score| 1.0 - score).collect();
            let (a, b) = (estimate(&pairs), estimate(&mirrored));
            assert!((a.elo + b.elo).abs() < 1e-9 && (a.low + b.high).abs() < 1e-9);
            assert!(a.low.is_finite() && a.low <= a.elo && a.elo <= a.high && a.high.is_finite(), "{a:?}");
            assert!(a.low < a.high);
        }
        let nothing = estimate(&[]);
        assert!(nothing.low < 0.0 && nothing.high > 0.0);
    }

    #[test]
    fn balanced_pairs_are_surer_than_split_ones() {
        let split: Vec<f64> = (0..50).map(|i| (i % 2) as f64).collect();
        let (even, split) = (estimate(&[0.5; 50]), estimate(&split));
        assert!(even.high - even.low < split.high - split.low);
    }

    /// The bounds cover the truth in at least 93 % of simulated matches.
    #[test]
    fn bounds_cover_the_truth() {
        use rand::{RngExt, SeedableRng};
        let mut random = crate::random::Random::seed_from_u64(7);
        for chance in [0.5, 0.7, 0.9] {
            let truth = from_score(chance, 1e9);
            let covered = (0..2000)
                .filter(|_| {
                    let mut game = || (random.random::<f64>() < chance) as u8 as f64;
                    let pairs: Vec<f64> = (0..50).map(|_| (game() + game()) / 2.0).collect();
                    let bounds = estimate(&pairs);
                    (bounds.low..=bounds.high).contains(&truth)
                })
                .count();
            assert!(covered >= 1860, "{chance}: {covered} of 2000");
        }
    }
}
