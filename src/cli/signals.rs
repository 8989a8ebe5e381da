//! The signals that end a long command: in goes what the system sends, out comes a wish to stop.
//!
//! SIGINT (Ctrl-C), SIGTERM and SIGHUP are the same wish: the command saves the work in hand and ends. One that was
//! ignored when the program began stays ignored, as `nohup` and shells with background jobs want it. A second
//! SIGINT or SIGTERM ends the program at once. A second SIGHUP does not: when a terminal closes, its shell and the
//! system send one each. Commands that do not ask for this die of the first signal, as any program does.

#[cfg(unix)]
mod ignored;

use std::ffi::c_int;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGXFSZ};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

/// Those after which a second one means impatience.
const REPEATED: [c_int; 2] = [SIGINT, SIGTERM];

static WISH: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From now on a signal that ends programs asks the work to stop cleanly, and a write beyond the largest size of a
/// file that is permitted (`ulimit -f`) is an error like any other.
pub fn catch_interrupts() {
    let caught = catch_endings();
    #[cfg(unix)]
    let caught = caught.and_then(|()| survive_long_files());
    warn(caught);
}

/// [`catch_interrupts`], and `told` is called at the first signal, on a thread of its own.
pub fn tell_of_interrupts(told: impl FnOnce() + Send + 'static) {
    // elsewhere a signal ends the program
    #[cfg(unix)]
    {
        // before the others: a signal between the two must not get lost
        match signal_hook::iterator::Signals::new(endings()) {
            Ok(mut signals) => {
                std::thread::spawn(move || signals.forever().next().map(|_| told()));
                catch_interrupts();
            }
            Err(error) => warn(Err(error)),
        }
    }
    #[cfg(not(unix))]
    drop(told);
}

/// Whether the work shall stop.
pub fn interrupted() -> bool {
    WISH.load(Ordering::Relaxed)
}

/// What is set when the work shall stop.
pub fn wish() -> Arc<AtomicBool> {
    WISH.clone()
}

fn catch_endings() -> io::Result<()> {
    for signal in endings() {
        // before the first signal is noted: it must not be taken for the second
        if REPEATED.contains(&signal) {
            flag::register_conditional_shutdown(signal, 128 + signal, wish())?;
        }
        flag::register(signal, wish())?;
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

/// The signal of a write that makes a file too long kills; once it is caught, the write fails instead.
#[cfg(unix)]
fn survive_long_files() -> io::Result<()> {
    match ignored::is_ignored(SIGXFSZ) {
        true => Ok(()),
        // nobody asks: the write says it
        false => flag::register(SIGXFSZ, Arc::default()).map(|_| ()),
    }
}

fn warn(caught: io::Result<()>) {
    if let Err(error) = caught {
        let _ = writeln!(io::stderr(), "warning: Ctrl-C will not be clean: {error}");
    }
}
