//! The sequential probability ratio test (Wald 1945), which determines in as few games as possible whether an agent is
//! stronger.
//!
//! Input: the number of pairs with each score (the pentanomial model). Output: the log-likelihood ratio (LLR) of H1,
//! "the Elo difference is elo1", against H0, "it is elo0", and a verdict once the ratio leaves its bounds. Elo is
//! logistic. The ratio is the generalized one of fishtest (server/fishtest/stats/LLRcalc.py, `LLR_logistic`): each
//! hypothesis is represented by the distribution over scores that has its mean and maximizes the likelihood of the
//! results (M. Van den Bergh, support_MLE_multinomial.pdf, proposition 1.1, cited there). Fishtest's correction for
//! overshoot is omitted, which makes errors slightly rarer than requested. If games repeat, every pair gets a weight
//! below 1 (`super::repeats`): the ratio is that of the effective number of pairs, with the same share of each score,
//! so copies of a game decide nothing.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The number of pairs with each score: 0, 1/4, 1/2, 3/4, 1.
pub type Pentanomial = [usize; 5];

/// Fishtest's count for a score that did not occur, so that every score has a positive probability.
const ABSENT: f64 = 1e-3;
/// The number of bisections after which an interval contains no further double.
const BISECTIONS: usize = 64;
/// The greatest Elo difference of a hypothesis.
const MAX_ELO: f64 = 1000.0;

/// The two hypotheses and their error probabilities.
///
/// ```
/// use petteia::arena::sprt::{Sprt, Verdict};
///
/// let test = Sprt::new(0.0, 20.0, 0.05, 0.05)?;
/// assert_eq!(test.result(&[1, 5, 12, 9, 3], 1.0).verdict, Verdict::Undecided);
/// // ten times as many pairs with the same shares of each score
/// assert_eq!(test.result(&[10, 50, 120, 90, 30], 1.0).verdict, Verdict::H1);
/// # Ok::<(), petteia::error::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sprt {
    /// The logistic Elo difference under H0.
    pub elo0: f64,
    /// The logistic Elo difference under H1; greater than `elo0`.
    pub elo1: f64,
    /// The probability of accepting H1 when H0 is true.
    pub alpha: f64,
    /// The probability of accepting H0 when H1 is true.
    pub beta: f64,
}

/// The verdict of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// H0 is accepted.
    H0,
    /// H1 is accepted.
    H1,
    /// More games are needed.
    Undecided,
}

/// A test and its result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SprtResult {
    /// The test.
    #[serde(flatten)]
    pub sprt: Sprt,
    /// The log-likelihood ratio.
    pub llr: f64,
    /// H0 is accepted if the ratio is not above this.
    pub lower: f64,
    /// H1 is accepted if the ratio is not below this.
    pub upper: f64,
    /// The verdict.
    pub verdict: Verdict,
}

impl Sprt {
    /// Makes a test of these hypotheses.
    ///
    /// # Errors
    /// If a number is out of range; the error names it.
    pub fn new(elo0: f64, elo1: f64, alpha: f64, beta: f64) -> Result<Sprt> {
        let wrong = |what: String| Err(Error::Config(format!("SPRT: {what}")));
        if !(elo0.abs() <= MAX_ELO && elo1.abs() <= MAX_ELO && elo0 < elo1) {
            return wrong(format!("elo0 = {elo0} must be below elo1 = {elo1}, both from -1000 to 1000"));
        }
        for (name, rate) in [("alpha", alpha), ("beta", beta)] {
            if !(1e-6..=0.4).contains(&rate) {
                return wrong(format!("{name} = {rate} is out of range: 0.000001 to 0.4 is permitted"));
            }
        }
        Ok(Sprt { elo0, elo1, alpha, beta })
    }

    /// Returns the lower and upper bounds of the ratio.
    pub fn bounds(&self) -> (f64, f64) {
        ((self.beta / (1.0 - self.alpha)).ln(), ((1.0 - self.beta) / self.alpha).ln())
    }

    /// Returns the result for these pairs, each with the weight `worth`, 0..1; see `super::repeats`.
    pub fn result(&self, pairs: &Pentanomial, worth: f64) -> SprtResult {
        let llr = self.llr(pairs, worth);
        let (lower, upper) = self.bounds();
        let verdict = if llr >= upper {
            Verdict::H1
        } else if llr <= lower {
            Verdict::H0
        } else {
            Verdict::Undecided
        };
        SprtResult { sprt: *self, llr, lower, upper, verdict }
    }

    /// Returns the generalized log-likelihood ratio of H1 against H0.
    pub fn llr(&self, pairs: &Pentanomial, worth: f64) -> f64 {
        let counts = pairs.map(|count| if count == 0 { ABSENT } else { worth * count as f64 });
        log_likelihood(&counts, expected_score(self.elo1))
            - log_likelihood(&counts, expected_score(self.elo0))
    }
}

fn expected_score(elo: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-elo / 400.0))
}

/// Returns the log-likelihood of `counts`, up to a term that depends only on `counts`, under the distribution with mean
/// `mean` that maximizes the likelihood. The probabilities are `frequency / (1 + tilt * (score - mean))`, with the
/// `tilt` that yields the mean.
fn log_likelihood(counts: &[f64; 5], mean: f64) -> f64 {
    let distances: [f64; 5] = std::array::from_fn(|i| i as f64 / 4.0 - mean);
    let excess = |tilt: f64| -> f64 {
        counts.iter().zip(distances).map(|(count, distance)| count * distance / (1.0 + tilt * distance)).sum()
    };
    // between these bounds all probabilities are positive, and the excess falls from plus to minus infinity
    let (mut low, mut high) = (-1.0 / distances[4], -1.0 / distances[0]);
    for _ in 0..BISECTIONS {
        let middle = (low + high) / 2.0;
        if excess(middle) > 0.0 { low = middle } else { high = middle }
    }
    let tilt = (low + high) / 2.0;
    -counts.iter().zip(distances).map(|(count, distance)| count * (tilt * distance).ln_1p()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::random::Random;

    /// Checks the pentanomial logistic cases of fastchess, app/tests/sprt_test.cpp, with its tolerance.
    #[test]
    fn published_ratios() {
        for (elo0, elo1, pairs, published) in [
            (0.5, 2.5, [223, 9863, 21279, 10037, 246], -3.07),
            (0.0, 2.0, [871, 26175, 55983, 26678, 821], -4.98),
        ] {
            let llr = Sprt::new(elo0, elo1, 0.05, 0.05).unwrap().llr(&pairs, 1.0);
            assert!((llr / published - 1.0f64).abs() < 0.01, "{pairs:?}: {llr}, published {published}");
        }
    }

    /// Checks the bounds that fishtest and fastchess print for alpha = beta = 0.05: -2.94 and 2.94.
    #[test]
    fn published_bounds() {
        let (lower, upper) = Sprt::new(0.0, 5.0, 0.05, 0.05).unwrap().bounds();
        assert!((lower + 2.944_439).abs() < 1e-6 && (upper - 2.944_439).abs() < 1e-6);
        let (lower, upper) = Sprt::new(0.0, 5.0, 0.01, 0.2).unwrap().bounds();
        assert!((lower - (0.2f64 / 0.99).ln()).abs() < 1e-12 && (upper - 80f64.ln()).abs() < 1e-12);
    }

    /// With only two scores, the mean determines the distribution, and the ratio has a closed form.
    #[test]
    fn two_scores_have_a_closed_form() {
        let sprt = Sprt::new(-20.0, 60.0, 0.05, 0.05).unwrap();
        let [s0, s1] = [sprt.elo0, sprt.elo1].map(expected_score);
        let exact = 600.0 * (s1 / s0).ln() + 400.0 * ((1.0 - s1) / (1.0 - s0)).ln();
        let llr = sprt.llr(&[400, 0, 0, 0, 600], 1.0);
        // scores that did not occur count as a thousandth of a pair each
        assert!((llr - exact).abs() < 0.01, "{llr}, exactly {exact}");
    }

    #[test]
    fn mirrored_results_have_the_opposite_ratio() {
        let sprt = Sprt::new(-30.0, 30.0, 0.05, 0.05).unwrap();
        for pairs in [[3, 5, 9, 4, 1], [0, 0, 0, 0, 7], [0, 0, 0, 0, 0], [0, 0, 12, 1, 0]] {
            let mut mirrored = pairs;
            mirrored.reverse();
            let (llr, opposite) = (sprt.llr(&pairs, 1.0), sprt.llr(&mirrored, 1.0));
            assert!((llr + opposite).abs() < 1e-9 && llr.is_finite(), "{pairs:?}: {llr}, {opposite}");
        }
    }

    #[test]
    fn numbers_out_of_range_are_rejected() {
        for (elo0, elo1, alpha, beta, part) in [
            (5.0, 5.0, 0.05, 0.05, "must be below"),
            (f64::NAN, 5.0, 0.05, 0.05, "elo0 = NaN"),
            (0.0, 2000.0, 0.05, 0.05, "-1000 to 1000"),
            (0.0, 5.0, 0.0, 0.05, "alpha = 0 "),
            (0.0, 5.0, 0.05, f64::NAN, "beta = NaN"),
        ] {
            let error = Sprt::new(elo0, elo1, alpha, beta).unwrap_err();
            assert!(error.exit_code() == 2 && error.to_string().contains(part), "{error}");
        }
    }

    /// Draws a pair's score in half points; the expected score corresponds to this Elo difference, and 20% of the games
    /// are drawn.
    fn half_points(random: &mut Random, elo: f64) -> usize {
        let draws = 0.2;
        let wins = expected_score(elo) - draws / 2.0;
        let mut game = || {
            let x: f64 = random.random();
            if x < wins { 2 } else { (x < wins + draws) as usize }
        };
        game() + game()
    }

    /// Agents whose difference is exactly elo0 or elo1 get the wrong verdict about as often as requested.
    #[test]
    fn error_rates_are_as_requested() {
        let sprt = Sprt::new(0.0, 60.0, 0.1, 0.05).unwrap();
        let mut random = Random::seed_from_u64(11);
        let mut wrong_rate = |elo: f64, wrong: Verdict| {
            let mut verdict = || {
                let mut pairs = [0; 5];
                loop {
                    pairs[half_points(&mut random, elo)] += 1;
                    match sprt.result(&pairs, 1.0).verdict {
                        Verdict::Undecided => {}
                        verdict => return verdict,
                    }
                }
            };
            (0..1000).filter(|_| verdict() == wrong).count() as f64 / 1000.0
        };
        let (alpha, beta) = (wrong_rate(0.0, Verdict::H1), wrong_rate(60.0, Verdict::H0));
        assert!((0.06..=0.13).contains(&alpha), "H1 accepted under H0: {alpha}");
        assert!((0.025..=0.07).contains(&beta), "H0 accepted under H1: {beta}");
    }

    /// Returns the verdict on deterministic agents with this many openings: the result of each opening is drawn once,
    /// and openings recur in the match. All pairs have weight 1 if `corrected` is false.
    fn verdict_of_few_openings(
        sprt: &Sprt,
        random: &mut Random,
        elo: f64,
        openings: usize,
        corrected: bool,
    ) -> Verdict {
        let results: Vec<usize> = (0..openings).map(|_| half_points(random, elo)).collect();
        let (mut pairs, mut met, mut squares) = ([0; 5], vec![0; openings], 0);
        for played in 1..=15 * openings {
            let opening = random.random_range(0..openings);
            squares += 2 * met[opening] + 1;
            met[opening] += 1;
            pairs[results[opening]] += 1;
            let worth = if corrected { played as f64 / squares as f64 } else { 1.0 };
            let verdict = sprt.result(&pairs, worth).verdict;
            if verdict != Verdict::Undecided {
                return verdict;
            }
        }
        Verdict::Undecided
    }

    /// Repeated games decide nothing: the error rates stay near those requested. If each repeated game counted as a new
    /// one, the rates would be much higher.
    #[test]
    fn repeated_games_do_not_mislead_the_test() {
        let sprt = Sprt::new(0.0, 60.0, 0.05, 0.05).unwrap();
        let mut random = Random::seed_from_u64(12);
        for openings in [5, 20, 60] {
            for (elo, wrong) in [(0.0, Verdict::H1), (60.0, Verdict::H0)] {
                let mut rate = |corrected| {
                    let wrong = (0..400).filter(|_| {
                        verdict_of_few_openings(&sprt, &mut random, elo, openings, corrected) == wrong
                    });
                    wrong.count() as f64 / 400.0
                };
                let (corrected, uncorrected) = (rate(true), rate(false));
                let about = format!("{openings} openings, {elo} Elo: {corrected}, uncorrected {uncorrected}");
                assert!(corrected <= 0.07, "{about}");
                assert!(uncorrected >= 0.12, "{about}");
            }
        }
    }
}
