//! Rates: a piece of work is repeated for a while, several times; minimum, median and maximum of what was
//! done in a second, by the clock on the wall and by the time that this thread had a processor.

use std::time::Instant;

use clap::Args;
use cpu_time::ThreadTime;
use serde_json::json;

use crate::error::{Error, Result};

/// How long and how often to measure, and how to say it.
#[derive(Args, Clone)]
pub struct Measuring {
    /// Repetitions of each measurement, at least 5
    #[arg(long, value_name = "N", default_value_t = 5)]
    repetitions: usize,
    /// Seconds that a repetition takes at least
    #[arg(long, value_name = "S", default_value_t = 0.2)]
    seconds: f64,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// Work done in a second: minimum, median, maximum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread([f64; 3]);

/// What was measured.
pub struct Measurement {
    bench: &'static str,
    game: String,
    unit: &'static str,
    wall: Spread,
    cpu: Spread,
}

impl Measuring {
    /// Refuses numbers that measure nothing.
    pub fn check(&self) -> Result<()> {
        if !(5..=1000).contains(&self.repetitions) {
            return Err(Error::Config(format!("--repetitions {}: give 5 to 1000", self.repetitions)));
        }
        // written so that NaN fails
        if !(self.seconds > 0.0 && self.seconds <= 600.0) {
            return Err(Error::Config(format!("--seconds {}: give more than 0, up to 600", self.seconds)));
        }
        Ok(())
    }

    /// Repeats `work`, which returns how many units it did.
    pub fn measure(
        &self,
        bench: &'static str,
        game: &str,
        unit: &'static str,
        mut work: impl FnMut() -> u64,
    ) -> Measurement {
        work();
        let (mut wall, mut cpu) = (Vec::new(), Vec::new());
        for _ in 0..self.repetitions {
            let (clock, processor) = (Instant::now(), ThreadTime::now());
            let mut units = 0;
            while clock.elapsed().as_secs_f64() < self.seconds {
                units += work();
            }
            // a processor's clock may tick coarsely
            wall.push(units as f64 / clock.elapsed().as_secs_f64());
            cpu.push(units as f64 / processor.elapsed().as_secs_f64().max(1e-9));
        }
        Measurement { bench, game: game.into(), unit, wall: Spread::of(wall), cpu: Spread::of(cpu) }
    }

    /// The measurement as a line.
    pub fn line(&self, measured: &Measurement) -> String {
        let Measurement { bench, game, unit, wall, cpu } = measured;
        if self.json {
            return json!({
                "bench": bench, "game": game, "unit": unit, "wall": wall.0, "cpu": cpu.0,
            })
            .to_string();
        }
        let [low, median, high] = wall.0.map(millions);
        let cpu = millions(cpu.0[1]);
        format!("{bench:<17} {game:<27} {median:>9} million {unit:<12} ({low} to {high}; by CPU time {cpu})")
    }
}

impl Spread {
    fn of(mut rates: Vec<f64>) -> Spread {
        rates.sort_unstable_by(f64::total_cmp);
        let half = rates.len() / 2;
        let median = match rates.len() % 2 {
            0 => (rates[half - 1] + rates[half]) / 2.0,
            _ => rates[half],
        };
        Spread([rates[0], median, rates[rates.len() - 1]])
    }
}

/// Four digits or so.
fn millions(rate: f64) -> String {
    let millions = rate / 1e6;
    match millions {
        100.0.. => format!("{millions:.0}"),
        10.0.. => format!("{millions:.1}"),
        1.0.. => format!("{millions:.2}"),
        _ => format!("{millions:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_minimum_median_and_maximum() {
        assert_eq!(Spread::of(vec![5.0, 1.0, 2.0]), Spread([1.0, 2.0, 5.0]));
        assert_eq!(Spread::of(vec![4.0, 1.0, 2.0, 3.0]), Spread([1.0, 2.5, 4.0]));
    }
}
