//! Tells whether a signal is ignored, as the parent process may have arranged. The code is `unsafe` because neither the
//! standard library nor a dependency can query the action of a signal without changing it.

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;

/// Whether `signal` is currently ignored.
pub(super) fn is_ignored(signal: c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with a null pointer for the new action, the call changes nothing and writes the current action to our
    // memory, which has the right type. If the call fails, the zeros remain; they are valid numbers and optional
    // function pointers.
    let (answer, action) =
        unsafe { (libc::sigaction(signal, ptr::null(), action.as_mut_ptr()), action.assume_init()) };
    answer == 0 && action.sa_sigaction == libc::SIG_IGN
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rust's startup code ignores SIGPIPE; nothing ignores SIGUSR2.
    #[test]
    fn ignored_signals_are_recognized() {
        assert!(is_ignored(libc::SIGPIPE));
        assert!(!is_ignored(libc::SIGUSR2) && !is_ignored(-1));
    }
}
