//! Measures how long the parts of a run take, in wall-clock time and in CPU time of the threads that do the work.
//!
//! On a machine that does other work, too, only CPU times are comparable. CPU times include the pool's threads and the
//! thread that waits for them ([`parallel::cpu_time`]), but neither the threads of another pool, where another part of
//! the run may be at work, nor those of a GPU's driver.

use std::time::{Duration, Instant};

use crate::parallel;

/// A running measurement of the time that a part of a run takes.
#[derive(Clone, Copy, Debug)]
pub(in crate::run) struct PartTimer {
    began: Instant,
    cpu: Option<Duration>,
}

/// The time that a part took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::run) struct Took {
    /// The wall-clock time.
    pub(in crate::run) clock: Duration,
    /// The CPU time, if known.
    pub(in crate::run) cpu: Option<Duration>,
}

impl PartTimer {
    /// Starts measuring.
    pub(in crate::run) fn start() -> PartTimer {
        PartTimer { began: Instant::now(), cpu: parallel::cpu_time() }
    }

    /// Returns the time since the start. To get the CPU time of finished work, call this between pieces of work.
    pub(in crate::run) fn took(&self) -> Took {
        let cpu = self.cpu.and_then(|before| Some(parallel::cpu_time()?.saturating_sub(before)));
        Took { clock: self.began.elapsed(), cpu }
    }
}

impl Took {
    /// Returns wall-clock seconds, rounded to thousandths as in the metrics.
    pub(in crate::run) fn seconds(self) -> f64 {
        rounded(self.clock)
    }

    /// Returns CPU seconds, rounded to thousandths.
    pub(in crate::run) fn cpu_seconds(self) -> Option<f64> {
        self.cpu.map(rounded)
    }
}

/// Returns a time in seconds, rounded to thousandths: a small generation takes a few of them.
pub(in crate::run) fn rounded(time: Duration) -> f64 {
    (time.as_secs_f64() * 1000.0).round() / 1000.0
}

/// The time that each part of a run took over all sessions, in seconds of wall-clock time or of CPU time. Work that was
/// interrupted and repeated counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Times {
    /// Games played before there was a network.
    pub bootstrap: f64,
    /// Games played by the network.
    pub selfplay: f64,
    /// Reading the games back for training.
    pub window: f64,
    /// Gradient steps.
    pub training: f64,
    /// Evaluation.
    pub evaluation: f64,
    /// Games between generations.
    pub rating: f64,
}

impl Times {
    /// Returns the parts with their names, in the order of a generation.
    pub fn parts(&self) -> [(&'static str, f64); 6] {
        let Times { bootstrap, selfplay, window, training, evaluation, rating } = *self;
        [
            ("bootstrap", bootstrap),
            ("self-play", selfplay),
            ("reading games", window),
            ("training", training),
            ("evaluation", evaluation),
            ("rating", rating),
        ]
    }

    /// Returns the sum of all parts.
    pub fn whole(&self) -> f64 {
        self.parts().iter().map(|(_, seconds)| seconds).sum()
    }
}
