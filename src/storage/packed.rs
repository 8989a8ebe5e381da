//! Compression by zstd, for shards and sets of positions.
//!
//! Packs bytes, and unpacks them again. zstd is written in C, which cannot be compiled for WebAssembly here; in a
//! program for WebAssembly, every call returns an error that says so.

use std::io::{BufRead, Read, Result};
#[cfg(target_family = "wasm")]
use std::io::{Error, ErrorKind};

/// Returns the result of zstd or, in a program without zstd, an error; the arguments are then unused.
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

/// Packs bytes; the levels are zstd's, 1 to 22.
///
/// # Errors
/// If this program is for WebAssembly.
pub fn pack(bytes: &[u8], level: i32) -> Result<Vec<u8>> {
    codec!(zstd::encode_all(bytes, level), bytes, level)
}

/// Unpacks bytes that this program contains, whose size is known to be harmless.
///
/// # Errors
/// If the bytes were not packed, or if this program is for WebAssembly.
pub fn unpack(bytes: &[u8]) -> Result<Vec<u8>> {
    codec!(zstd::decode_all(bytes), bytes)
}

/// Returns a reader that unpacks only as far as it is read, with a window of at most 2 to the power of `window_log`
/// bytes.
///
/// # Errors
/// If no memory is left, or if this program is for WebAssembly. Damage is found only by reading from the reader.
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
