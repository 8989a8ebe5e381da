//! Whether a signal is ignored, which only the system knows: whoever started the program may have asked for it.
//! `unsafe` because neither the standard library nor a crate of ours asks without changing the answer.

#![allow(unsafe_code)]

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;

/// Whether `signal` is ignored now.
pub(super) fn is_ignored(signal: c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action nothing is changed; the present one is written to memory that is ours, of its type,
    // for which zeros are valid too (numbers and optional function pointers), should the call fail.
    let (answer, action) =
        unsafe { (libc::sigaction(signal, ptr::null(), action.as_mut_ptr()), action.assume_init()) };
    answer == 0 && action.sa_sigaction == libc::SIG_IGN
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Rust's own start-up does to SIGPIPE, and what nobody does to SIGUSR2.
    #[test]
    fn the_system_is_asked() {
        assert!(is_ignored(libc::SIGPIPE));
        assert!(!is_ignored(libc::SIGUSR2) && !is_ignored(-1));
    }
}
