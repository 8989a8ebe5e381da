//! How long a part of a run takes: by the clock, and in CPU time of the threads that do it.
//!
//! On a machine with other work only CPU time can be compared. It is that of the pool's threads and of the one that
//! waits for them ([`parallel::cpu_time`]), so what another part of the run does at the same time in a pool of its own
//! does not count; nor do threads of a GPU's driver.

use std::time::{Duration, Instant};

use crate::parallel;

/// A part of a run that has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopwatch {
    began: Instant,
    cpu: Option<Duration>,
}

/// How long it took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Took {
    /// By the clock.
    pub(super) clock: Duration,
    /// In CPU time, if that is known.
    pub(super) cpu: Option<Duration>,
}

impl Stopwatch {
    /// Begins now.
    pub(super) fn start() -> Stopwatch {
        Stopwatch { began: Instant::now(), cpu: parallel::cpu_time() }
    }

    /// How long it has taken so far. Ask between pieces of work.
    pub(super) fn took(&self) -> Took {
        let cpu = self.cpu.and_then(|before| Some(parallel::cpu_time()?.saturating_sub(before)));
        Took { clock: self.began.elapsed(), cpu }
    }
}

impl Took {
    /// Seconds by the clock, rounded to hundredths as in the metrics.
    pub(super) fn seconds(self) -> f64 {
        rounded(self.clock)
    }

    /// CPU seconds, rounded likewise.
    pub(super) fn cpu_seconds(self) -> Option<f64> {
        self.cpu.map(rounded)
    }
}

/// A time in seconds, rounded to hundredths.
pub(super) fn rounded(time: Duration) -> f64 {
    (time.as_secs_f64() * 100.0).round() / 100.0
}
