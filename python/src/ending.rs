//! The end of the interpreter. When the interpreter ends, it ends threads that are running Python. Rust code on such a
//! thread cannot be unwound, so the process would abort.
//!
//! Input: [`at_work`] around everything that calls a user's Python code. Output: once the interpreter begins to end,
//! [`is_near`] tells the work to stop, and the interpreter waits until it has stopped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PySystemExit;
use pyo3::prelude::*;

/// The longest wait for an evaluator or for rules that do not return.
const LONGEST: Duration = Duration::from_secs(10);
/// The longest time between two checks for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(100);

static IS_NEAR: AtomicBool = AtomicBool::new(false);
static WORK: Mutex<Work> = Mutex::new(Work { process: 0, count: 0 });
static DONE: Condvar = Condvar::new();

/// The work of one process; a forked process does not have the threads that did it.
struct Work {
    process: u32,
    count: usize,
}

fn work() -> MutexGuard<'static, Work> {
    WORK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A guard that marks work as possibly calling a user's Python code, until the guard is dropped.
pub struct AtWork(());

impl Drop for AtWork {
    fn drop(&mut self) {
        let mut work = work();
        work.count = work.count.saturating_sub(1);
        DONE.notify_all();
    }
}

/// Returns whether the interpreter is about to end.
pub fn is_near() -> bool {
    IS_NEAR.load(Ordering::Relaxed)
}

/// Returns the exception that ends a thread quietly.
pub fn refusal() -> PyErr {
    PySystemExit::new_err("the interpreter is ending")
}

/// Begins work, for which the end of the interpreter waits.
pub fn at_work() -> PyResult<AtWork> {
    if is_near() {
        return Err(refusal());
    }
    let (mut work, me) = (work(), std::process::id());
    if work.process != me {
        *work = Work { process: me, count: 0 };
    }
    work.count += 1;
    Ok(AtWork(()))
}

/// Stops all work and waits until it has ended; for `atexit`.
#[pyfunction]
#[pyo3(name = "_end")]
pub fn end(py: Python) -> PyResult<()> {
    IS_NEAR.store(true, Ordering::Relaxed);
    let begun = Instant::now();
    while begun.elapsed() < LONGEST {
        let is_done = py.detach(|| {
            let is_busy = |work: &mut Work| work.count > 0 && work.process == std::process::id();
            let waited = DONE.wait_timeout_while(work(), PATIENCE, is_busy);
            !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
        });
        if is_done {
            break;
        }
        py.check_signals()?;
    }
    Ok(())
}
