//! The reliability of values: expected values compared with actual ones, in ranges of values.

use serde::Serialize;

/// The number of ranges.
const BINS: usize = 10;

/// Positions whose value was in one range.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Bin {
    /// The beginning of the range.
    pub from: f32,
    /// The end of the range.
    pub to: f32,
    /// The number of positions.
    pub positions: usize,
    /// The mean of the expected values, -1 to 1.
    pub expected: f64,
    /// The mean of the actual values, -1 to 1.
    pub found: f64,
}

/// A table of reliability: equal ranges from -1 to 1.
#[derive(Clone, Debug)]
pub struct Reliability {
    /// The ranges, with sums instead of means.
    sums: Vec<Bin>,
}

impl Default for Reliability {
    fn default() -> Reliability {
        let edge = |bin: usize| bin as f32 * 2.0 / BINS as f32 - 1.0;
        let bin = |bin| Bin { from: edge(bin), to: edge(bin + 1), ..Bin::default() };
        Reliability { sums: (0..BINS).map(bin).collect() }
    }
}

impl Reliability {
    /// Adds a position whose value was expected to be `expected` and turned out to be `found`.
    pub fn add(&mut self, expected: f32, found: f64) {
        let place = ((expected + 1.0) / 2.0 * BINS as f32) as usize;
        let bin = &mut self.sums[place.min(BINS - 1)];
        bin.positions += 1;
        bin.expected += f64::from(expected);
        bin.found += found;
    }

    /// Returns the ranges with positions.
    pub fn bins(&self) -> Vec<Bin> {
        let mean = |bin: &Bin| {
            let n = bin.positions as f64;
            Bin { expected: bin.expected / n, found: bin.found / n, ..bin.clone() }
        };
        self.sums.iter().filter(|bin| bin.positions > 0).map(mean).collect()
    }

    /// Returns the expected calibration error (Naeini, Cooper, and Hauskrecht 2015): the average error of the values,
    /// in points of a game's score (a win is 1, a loss 0). With a thousand positions, chance alone causes an error of a
    /// few hundredths.
    pub fn error(&self) -> f64 {
        let positions: usize = self.sums.iter().map(|bin| bin.positions).sum();
        let off: f64 = self.sums.iter().map(|bin| (bin.expected - bin.found).abs() / 2.0).sum();
        off / positions.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_come_true_have_no_error() {
        let mut right = Reliability::default();
        // 0.5 expected: 3 of 4 games are won
        [1.0, 1.0, 1.0, -1.0].into_iter().for_each(|found| right.add(0.5, found));
        assert_eq!(right.error(), 0.0);
        let mut wrong = right.clone();
        // a loss expected with certainty was won twice: off by a whole point in 2 of 6
        wrong.add(-1.0, 1.0);
        wrong.add(-1.0, 1.0);
        assert!((wrong.error() - 2.0 / 6.0).abs() < 1e-12);
        let bins = wrong.bins();
        assert_eq!(bins.len(), 2);
        assert_eq!((bins[0].from, bins[0].positions, bins[0].expected, bins[0].found), (-1.0, 2, -1.0, 1.0));
        assert_eq!((bins[1].positions, bins[1].expected, bins[1].found), (4, 0.5, 0.5));
        assert_eq!(Reliability::default().error(), 0.0);
    }

    #[test]
    fn both_ends_belong_to_a_range() {
        let mut ends = Reliability::default();
        [-1.0, 1.0].into_iter().for_each(|value| ends.add(value, f64::from(value)));
        assert_eq!(ends.bins().iter().map(|bin| bin.positions).collect::<Vec<_>>(), [1, 1]);
    }
}
