//! Compression by zstd, in which shards and sets of positions are written.
//!
//! In go bytes, out come packed bytes, and back. zstd is C: a program for WebAssembly has no compiler for it, and so
//! every call there is an error that says so.

use std::io::{BufRead, Read, Result};
#[cfg(target_family = "wasm")]
use std::io::{Error, ErrorKind};

/// What zstd answers, or the error that there is no zstd for these arguments.
macro_rules! codec {
    ($answer:expr, $($argument:ident),*) => {{
        #[cfg(not(target_family = "wasm"))]
        let answer = $answer;
        #[cfg(target_family = "wasm")]
        let answer = {
            let _ = ($($argument),*);
            Err(Error::new(ErrorKind::Unsupported, "this program was built without zstd"))
        };
        answer
    }};
}

/// Packs bytes; levels are those of zstd, 1 to 22.
///
/// # Errors
/// This program is for WebAssembly.
pub fn pack(bytes: &[u8], level: i32) -> Result<Vec<u8>> {
    codec!(zstd::encode_all(bytes, level), bytes, level)
}

/// Unpacks bytes of this program itself, whose size is known to be harmless.
///
/// # Errors
/// They were not packed, or this program is for WebAssembly.
pub fn unpack(bytes: &[u8]) -> Result<Vec<u8>> {
    codec!(zstd::decode_all(bytes), bytes)
}

/// Unpacks as far as it is read, with a window of at most 2 to the power of `window_log` bytes.
///
/// # Errors
/// No memory is left, or this program is for WebAssembly; reading finds out what is damaged.
pub fn unpacking(packed: impl BufRead + 'static, window_log: u32) -> Result<Box<dyn Read>> {
    codec!(
        {
            let mut unpacking = zstd::Decoder::with_buffer(packed)?;
            unpacking.window_log_max(window_log)?;
            Ok(Box::new(unpacking) as Box<dyn Read>)
        },
        packed,
        window_log
    )
}
