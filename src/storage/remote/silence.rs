//! How long a store that does not answer is waited for, and who is told.
//!
//! A person who mistyped an endpoint wants to know at once; a worker in the night is to outlast a server that is started
//! again. So the first answer of a store is waited for briefly, unless the process [is patient](be_patient); a store that
//! has answered before is waited for much longer. While it is silent, the program that uses this library is told
//! ([`listen`]), and may end the waiting.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A store is silent for so long before somebody is told.
#[cfg(feature = "cloud")]
pub(super) const FIRST_WORD: Duration = Duration::from_secs(5);
/// And for so long before he is told again.
#[cfg(feature = "cloud")]
pub(super) const NEXT_WORD: Duration = Duration::from_secs(60);
/// How long the first answer of a store is waited for, and any other.
#[cfg(feature = "cloud")]
const FIRST_ANSWER: Duration = Duration::from_secs(30);
#[cfg(feature = "cloud")]
const ANSWER: Duration = Duration::from_secs(20 * 60);

static EARS: OnceLock<Ears> = OnceLock::new();
static IS_PATIENT: AtomicBool = AtomicBool::new(false);

/// A store that does not answer.
#[derive(Clone, Debug)]
pub struct Silence {
    /// What was asked for.
    pub place: String,
    /// What is wrong, as far as that is known.
    pub what: String,
    /// How long it is waited for in all.
    pub most: Duration,
}

/// A program that hears of silent stores.
#[derive(Clone, Copy, Debug)]
pub struct Ears {
    /// Is told of one.
    pub tell: fn(&Silence),
    /// Whether to wait no longer.
    pub is_interrupted: fn() -> bool,
}

/// Tells the program of silent stores, from any thread; only the first call counts.
pub fn listen(ears: Ears) {
    let _ = EARS.set(ears);
}

/// Waits for the first answer of a store as long as for any other: this process is to outlast servers.
pub fn be_patient() {
    IS_PATIENT.store(true, Ordering::Relaxed);
}

/// How long a store is waited for.
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
