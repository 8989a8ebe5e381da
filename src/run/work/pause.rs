//! The pauses of a process that waits for others, and its messages while it waits.

use std::path::Path;
use std::time::Duration;

use crate::storage;

/// A waiting process reports what it waits for at this interval.
pub(in crate::run) const BETWEEN_REPORTS: Duration = Duration::from_secs(60);
/// The growth factor of an idle process's pauses.
const GROWTH: f64 = 1.25;
/// The longest pause, as a multiple of the shortest.
const LONGEST_PAUSES: u32 = 10;

/// Returns the pause that follows `pause` if nothing has happened; zero stands for no earlier pause. Pauses grow,
/// because a thousand processes that look at everything each second would cost more than they gain.
pub(in crate::run) fn longer(pause: Duration, run: &Path) -> Duration {
    let first = storage::between_looks(run);
    pause.mul_f64(GROWTH).clamp(first, LONGEST_PAUSES * first)
}
