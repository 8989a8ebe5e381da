//! How long to wait for a store that does not answer, and whom to notify.
//!
//! A person who mistyped an endpoint wants to know at once, while a worker at night should outlast a server that is
//! restarted. So the wait for a store's first answer is brief, unless the process [is patient](be_patient); the wait
//! for a store that has answered before is much longer. While a store is silent, the program that uses this library
//! is notified ([`listen`]), and may end the wait.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a store is silent before the program is first notified.
#[cfg(feature = "cloud")]
pub(super) const FIRST_WORD: Duration = Duration::from_secs(5);
/// How long until the program is notified again.
#[cfg(feature = "cloud")]
pub(super) const NEXT_WORD: Duration = Duration::from_secs(60);
/// How long to wait for the first answer of a store, and for any other answer.
#[cfg(feature = "cloud")]
const FIRST_ANSWER: Duration = Duration::from_secs(30);
#[cfg(feature = "cloud")]
const ANSWER: Duration = Duration::from_secs(20 * 60);

static EARS: OnceLock<Ears> = OnceLock::new();
static IS_PATIENT: AtomicBool = AtomicBool::new(false);

/// A store that does not answer.
#[derive(Clone, Debug)]
pub struct Silence {
    /// What was requested.
    pub place: String,
    /// The problem, as far as it is known.
    pub what: String,
    /// The maximum time to wait.
    pub most: Duration,
}

/// The functions of a program that is notified of silent stores.
#[derive(Clone, Copy, Debug)]
pub struct Ears {
    /// Receives each notification.
    pub tell: fn(&Silence),
    /// Returns whether to stop waiting.
    pub is_interrupted: fn() -> bool,
}

/// Sets the functions that are notified of silent stores, from any thread; only the first call counts.
pub fn listen(ears: Ears) {
    let _ = EARS.set(ears);
}

/// Makes this process outlast restarts of servers: it waits for a store's first answer as long as for any other answer.
pub fn be_patient() {
    IS_PATIENT.store(true, Ordering::Relaxed);
}

/// Returns how long to wait for a store.
#[cfg(feature = "cloud")]
pub(super) fn longest(has_answered: bool) -> Duration {
    if has_answered || IS_PATIENT.load(Ordering::Relaxed) { ANSWER } else { FIRST_ANSWER }
}

#[cfg(feature = "cloud")]
pub(super) fn tell(silence: &Silence) {
    if let Some(ears) = EARS.get() {
        (ears.tell)(silence);
    }
}

#[cfg(feature = "cloud")]
pub(super) fn is_interrupted() -> bool {
    EARS.get().is_some_and(|ears| (ears.is_interrupted)())
}
