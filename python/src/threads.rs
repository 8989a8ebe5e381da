//! Checks which threads may wait for the work of other threads.

use std::cell::Cell;
use std::sync::OnceLock;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The id of the process whose threads do the work.
static OWNER: OnceLock<u32> = OnceLock::new();

thread_local! {
    /// Whether this thread is inside a Python evaluator or Python rules for which other threads wait.
    static ANSWERS: Cell<bool> = const { Cell::new(false) };
}

/// Refuses to wait for threads that cannot work: threads of the process from which this process was forked, and threads
/// that are waiting for the calling evaluator.
pub fn expect_threads() -> PyResult<()> {
    let me = std::process::id();
    if *OWNER.get_or_init(|| me) != me {
        return Err(PyRuntimeError::new_err(
            "this process was forked after petteia had started threads, which do not exist in this process: use \
             multiprocessing.get_context(\"spawn\")",
        ));
    }
    if ANSWERS.get() {
        return Err(PyRuntimeError::new_err(
            "evaluators and rules cannot search, play, or step large batches themselves: the threads are waiting \
                for their answer",
        ));
    }
    Ok(())
}

/// Runs a user's Python code, which must not require work from the threads that are waiting for it.
pub fn answering<T>(python: impl FnOnce() -> T) -> T {
    /// Restores the previous value when dropped, even during a panic.
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            ANSWERS.set(self.0);
        }
    }
    let _before = Before(ANSWERS.replace(true));
    python()
}
