//! Measures rates by repeating a piece of work for a while, several times. The result is the minimum, median, and
//! maximum of the units per second, by wall-clock time and by CPU time. The work is either a closure
//! ([`Measuring::measure`]) or threads that count their work and are sampled ([`Measuring::watch`]).

use std::io::{IsTerminal, Write};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use cpu_time::{ProcessTime, ThreadTime};
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};

/// Measurements shorter than this number of seconds are not announced.
const SHORT: f64 = 3.0;

/// How long and how often to measure, and the output format.
#[derive(Args, Clone)]
#[command(next_help_heading = "Measurement")]
pub(super) struct Measuring {
    /// Number of repetitions of each measurement, at least 5
    #[arg(long, value_name = "N", default_value_t = 5)]
    repetitions: usize,
    /// Minimum seconds per repetition
    #[arg(long, value_name = "S", default_value_t = 0.2)]
    seconds: f64,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// Units of work per second: minimum, median, maximum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RateSpread([f64; 3]);

/// The result of a measurement.
pub(super) struct Measurement {
    bench: &'static str,
    game: String,
    unit: &'static str,
    wall: RateSpread,
    cpu: RateSpread,
    /// Additional fields of the JSON line.
    pub about: Map<String, Value>,
}

impl Measurement {
    /// Whether most of the repetitions finished no unit of work.
    pub(super) fn is_nothing(&self) -> bool {
        self.wall.0[1] == 0.0
    }
}

/// Counters that threads increase and that the measurement samples.
pub(super) struct Counters<const N: usize> {
    counts: [AtomicU64; N],
    stopped: AtomicBool,
}

impl<const N: usize> Counters<N> {
    /// Adds to one of the counters.
    pub(super) fn add(&self, which: usize, count: usize) {
        self.counts[which].fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Whether the threads should stop.
    pub(super) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn read(&self) -> [u64; N] {
        self.counts.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    /// Waits until the first counter differs from `before` or `ended` returns true.
    fn wait_beyond(&self, before: u64, pause: Duration, ended: &dyn Fn() -> bool) {
        while self.counts[0].load(Ordering::Relaxed) == before && !ended() {
            std::thread::sleep(pause);
        }
    }
}

impl Measuring {
    /// Returns the minimum duration of a repetition, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Rejects flags that are out of range.
    pub(super) fn check(&self) -> Result<()> {
        if !(5..=1000).contains(&self.repetitions) {
            return Err(Error::Config(format!("--repetitions {}: must be from 5 to 1000", self.repetitions)));
        }
        // the condition is written so that NaN fails
        if !(self.seconds > 0.0 && self.seconds <= 600.0) {
            return Err(Error::Config(format!(
                "--seconds {}: must be more than 0 and at most 600",
                self.seconds
            )));
        }
        Ok(())
    }

    /// Prints on a terminal what is being measured and for how long, unless the time is short.
    pub(super) fn announce(&self, bench: &str, repetitions: usize) {
        let seconds = self.seconds * repetitions as f64;
        if seconds >= SHORT && std::io::stderr().is_terminal() {
            let note = format!("{bench}: measuring for {seconds:.0} s ({repetitions} x {} s)", self.seconds);
            let _ = writeln!(std::io::stderr(), "{note}");
        }
    }

    /// Measures `work`, which returns the number of units that it has done.
    pub(super) fn measure(
        &self,
        bench: &'static str,
        game: &str,
        unit: &'static str,
        work: &mut dyn FnMut() -> u64,
    ) -> Measurement {
        self.announce(bench, self.repetitions);
        work();
        let (mut wall, mut cpu) = (Vec::new(), Vec::new());
        for _ in 0..self.repetitions {
            let (clock, processor) = (Instant::now(), ThreadTime::now());
            let mut units = 0;
            while clock.elapsed().as_secs_f64() < self.seconds {
                units += work();
            }
            // the CPU clock may be coarse
            wall.push(units as f64 / clock.elapsed().as_secs_f64());
            cpu.push(units as f64 / processor.elapsed().as_secs_f64().max(1e-9));
        }
        let (wall, cpu) = (RateSpread::of(wall), RateSpread::of(cpu));
        Measurement { bench, game: game.into(), unit, wall, cpu, about: Map::new() }
    }

    /// Runs `work` in `threads` threads and measures their counters, each of which has a name `(bench, unit)`. CPU time
    /// is the sum over all threads. Repetitions begin and end when the first counter moves, so that a unit longer than
    /// `--seconds` can also be measured. If a thread fails, the measurement ends early and fails, too.
    pub(super) fn watch<const N: usize>(
        &self,
        threads: usize,
        game: &str,
        named: [(&'static str, &'static str); N],
        work: &(dyn Fn(usize, &Counters<N>) -> Result<()> + Sync),
    ) -> Result<[Measurement; N]> {
        // the first repetition is not counted
        self.announce(named[0].0, 1 + self.repetitions);
        let counters =
            Counters { counts: [(); N].map(|()| AtomicU64::new(0)), stopped: AtomicBool::new(false) };
        let mut rates = [(); N].map(|()| [Vec::new(), Vec::new()]);
        std::thread::scope(|scope| -> Result<()> {
            let counters = &counters;
            let spawn = |thread| {
                let work: Box<dyn FnOnce() -> Result<()> + Send> = Box::new(move || work(thread, counters));
                scope.spawn(work)
            };
            let running: Vec<_> = (0..threads).map(spawn).collect();
            // the error of a failed thread is returned when all threads have ended
            let ended = || running.iter().all(|thread| thread.is_finished());
            let pause = Duration::from_secs_f64((self.seconds / 200.0).min(0.005));
            // one-time work at the start is not measured
            std::thread::sleep(Duration::from_secs_f64(self.seconds));
            counters.wait_beyond(counters.read()[0], pause, &ended);
            for _ in 0..self.repetitions {
                let (clock, processor, before) = (Instant::now(), ProcessTime::now(), counters.read());
                while clock.elapsed().as_secs_f64() < self.seconds && !ended() {
                    std::thread::sleep(Duration::from_secs_f64(self.seconds / 20.0));
                }
                counters.wait_beyond(counters.read()[0], pause, &ended);
                let after = counters.read();
                let seconds = [clock.elapsed(), processor.elapsed()].map(|time| time.as_secs_f64().max(1e-9));
                for (which, rates) in rates.iter_mut().enumerate() {
                    let done = (after[which] - before[which]) as f64;
                    rates.iter_mut().zip(seconds).for_each(|(rates, seconds)| rates.push(done / seconds));
                }
            }
            counters.stopped.store(true, Ordering::Relaxed);
            running
                .into_iter()
                .try_for_each(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
        })?;
        let mut named = named.into_iter();
        Ok(rates.map(|[wall, cpu]| {
            let (bench, unit) = named.next().expect("a name for each counter");
            let (wall, cpu) = (RateSpread::of(wall), RateSpread::of(cpu));
            Measurement { bench, game: game.into(), unit, wall, cpu, about: Map::new() }
        }))
    }

    /// Formats the measurement as a line.
    pub(super) fn line(&self, measured: &Measurement) -> String {
        let Measurement { bench, game, unit, wall, cpu, about } = measured;
        if self.json {
            let mut line = json!({
                "bench": bench, "game": game, "unit": unit, "wall": wall.0, "cpu": cpu.0,
            });
            line.as_object_mut().expect("it is an object").extend(about.clone());
            return line.to_string();
        }
        if !about.is_empty() {
            let [low, median, high] = wall.0.map(thousands);
            let cpu = thousands(cpu.0[1]);
            let facts: Vec<String> = about.iter().map(|(name, value)| describe(name, value)).collect();
            let facts = facts.join(", ");
            return format!(
                "{bench:<21} {median:>10} {unit:<14} ({low} to {high}; per CPU second {cpu})  {facts}"
            );
        }
        let [low, median, high] = wall.0.map(millions);
        let cpu = millions(cpu.0[1]);
        format!("{bench:<17} {game:<27} {median:>9} million {unit:<12} ({low} to {high}; by CPU time {cpu})")
    }
}

impl RateSpread {
    fn of(mut rates: Vec<f64>) -> RateSpread {
        rates.sort_unstable_by(f64::total_cmp);
        let half = rates.len() / 2;
        let median = match rates.len() % 2 {
            0 => (rates[half - 1] + rates[half]) / 2.0,
            _ => rates[half],
        };
        RateSpread([rates[0], median, rates[rates.len() - 1]])
    }
}

/// Formats a rate in millions, rounded to about three digits.
fn millions(rate: f64) -> String {
    let millions = rate / 1e6;
    match millions {
        100.0.. => format!("{millions:.0}"),
        10.0.. => format!("{millions:.1}"),
        1.0.. => format!("{millions:.2}"),
        _ => format!("{millions:.4}"),
    }
}

/// Formats a rate as a whole number in groups of three digits, or with one decimal if it is below a hundred.
fn thousands(rate: f64) -> String {
    if rate < 100.0 {
        return format!("{rate:.1}");
    }
    let digits = format!("{rate:.0}");
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| str::from_utf8(group).expect("ASCII digits"))
        .collect();
    groups.join(",")
}

/// Formats an additional field of a measurement for people.
fn describe(name: &str, value: &Value) -> String {
    match value {
        Value::String(text) => format!("{name} {text}"),
        Value::Object(parts) => {
            let parts: Vec<String> = parts.iter().map(|(name, part)| describe(name, part)).collect();
            format!("{name}: {}", parts.join(", "))
        }
        Value::Number(number) if number.is_f64() => {
            format!("{name} {:.1} %", number.as_f64().unwrap_or(0.0) * 100.0)
        }
        _ => format!("{name} {value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_minimum_median_and_maximum() {
        assert_eq!(RateSpread::of(vec![5.0, 1.0, 2.0]), RateSpread([1.0, 2.0, 5.0]));
        assert_eq!(RateSpread::of(vec![4.0, 1.0, 2.0, 3.0]), RateSpread([1.0, 2.5, 4.0]));
    }

    #[test]
    fn a_unit_longer_than_a_repetition_is_measured() {
        let measuring = Measuring { repetitions: 5, seconds: 0.001, json: false };
        let [measured] = measuring
            .watch(1, "a-game", [("slow", "units/s")], &|_, counters| {
                while !counters.stopped() {
                    std::thread::sleep(Duration::from_millis(20));
                    counters.add(0, 1);
                }
                Ok(())
            })
            .expect("nothing fails");
        let RateSpread([low, _, high]) = measured.wall;
        assert!(low > 0.0, "{low} to {high} units of 20 ms per second");
    }

    #[test]
    fn rates_are_grouped() {
        assert_eq!([9.96, 100.0, 1234.4, 1234567.0].map(thousands), ["10.0", "100", "1,234", "1,234,567"]);
    }
}
