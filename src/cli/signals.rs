//! Handles the signals that end a long command: they set a flag that asks the work to stop.
//!
//! SIGINT (Ctrl-C), SIGTERM, and SIGHUP are treated alike: the command saves its current work and exits. A signal that
//! was ignored when the program started stays ignored, as `nohup` and shells with background jobs expect. A second
//! SIGINT or SIGTERM ends the program at once. A second SIGHUP does not end the program, because the shell and the
//! system each send one when a terminal closes. Commands that do not install these handlers are killed by the first
//! signal, like any other program.

#[cfg(unix)]
mod ignored;

use std::ffi::c_int;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Once};

#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGXFSZ};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// A second signal of one of these kinds ends the program at once.
const REPEATED: [c_int; 2] = [SIGINT, SIGTERM];

static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Makes SIGINT, SIGTERM, and SIGHUP ask the work to stop cleanly, and turns a write beyond the maximum file size
/// (`ulimit -f`) into an ordinary error. Handlers are set only once, even if a command calls this function again: with
/// two handlers for a signal, its first occurrence would count as the second.
pub(super) fn catch_interrupts() {
    static CAUGHT: Once = Once::new();
    CAUGHT.call_once(|| {
        let caught = catch_endings();
        #[cfg(unix)]
        let caught = caught.and_then(|()| survive_long_files());
        warn(caught);
    });
}

/// Does the same as [`catch_interrupts`], and calls `on_signal` at the first signal, on a separate thread.
pub(super) fn on_interrupt(on_signal: impl FnOnce() + Send + 'static) {
    // on other systems a signal ends the program
    #[cfg(unix)]
    {
        // this handler is set before the others, so that no signal is lost in between
        match signal_hook::iterator::Signals::new(endings()) {
            Ok(mut signals) => {
                std::thread::spawn(move || signals.forever().next().map(|_| on_signal()));
                catch_interrupts();
            }
            Err(error) => warn(Err(error)),
        }
    }
    #[cfg(not(unix))]
    drop(on_signal);
}

/// Whether the work should stop.
pub(super) fn interrupted() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Returns the flag that is set when the work should stop.
pub(super) fn stop_flag() -> Arc<AtomicBool> {
    STOP.clone()
}

fn catch_endings() -> io::Result<()> {
    for signal in endings() {
        // this handler is registered before the flag, so that the first signal does not count as the second
        if REPEATED.contains(&signal) {
            flag::register_conditional_shutdown(signal, 128 + signal, stop_flag())?;
        }
        flag::register(signal, stop_flag())?;
    }
    Ok(())
}

#[cfg(unix)]
fn endings() -> Vec<c_int> {
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !ignored::is_ignored(*signal)).collect()
}

#[cfg(not(unix))]
fn endings() -> Vec<c_int> {
    REPEATED.to_vec()
}

/// Catches SIGXFSZ, which kills a program that makes a file too long; once it is caught, the write fails instead.
#[cfg(unix)]
fn survive_long_files() -> io::Result<()> {
    if ignored::is_ignored(SIGXFSZ) {
        Ok(())
    } else {
        // the flag is never read: the write reports the error
        flag::register(SIGXFSZ, Arc::default()).map(|_| ())
    }
}

fn warn(caught: io::Result<()>) {
    if let Err(error) = caught {
        let _ = writeln!(io::stderr(), "warning: Ctrl-C will not stop the program cleanly: {error}");
    }
}
