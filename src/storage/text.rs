//! Text written by other programs: files, and lines of a stream.
//!
//! Some editors and shells put a byte order mark in front of UTF-8, and some write UTF-16 by default (PowerShell 5 with
//! `>`). The mark is skipped; UTF-16 is rejected with advice, because it would be nonsense if read as UTF-8.

use std::borrow::Cow;

/// The byte order mark in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";
/// The byte order mark in UTF-16, little and big endian.
const MARKS_16: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];
/// The error for text in UTF-16.
const UTF_16: &str = "this is text in UTF-16: save it as UTF-8";

/// Returns the text without its byte order mark, if it has one.
///
/// # Errors
/// If the text is UTF-16; the error says so, and says how to fix it.
pub fn unmarked(bytes: &[u8]) -> Result<&[u8], String> {
    if MARKS_16.iter().any(|mark| bytes.starts_with(mark)) {
        Err(UTF_16.into())
    } else {
        Ok(bytes.strip_prefix(MARK).unwrap_or(bytes))
    }
}

/// Returns a whole text, or one line of it, without the mark; bytes that are not UTF-8 are replaced.
///
/// # Errors
/// As for [`unmarked`].
pub fn readable(bytes: &[u8]) -> Result<Cow<'_, str>, String> {
    unmarked(bytes).map(String::from_utf8_lossy)
}

/// Does the same as [`unmarked`] for a text that a browser has decoded, so bytes that are not UTF-8 are already
/// replaced.
///
/// # Errors
/// As for [`unmarked`].
pub fn unmarked_text(text: &str) -> Result<&str, String> {
    let replaced = text.starts_with("\u{fffd}\u{fffd}") && text.contains('\0');
    if replaced { Err(UTF_16.into()) } else { Ok(text.strip_prefix('\u{feff}').unwrap_or(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text as Notepad and PowerShell write it: UTF-16, in both byte orders.
    fn in_utf_16(text: &str) -> [Vec<u8>; 2] {
        let units = || "\u{feff}".encode_utf16().chain(text.encode_utf16());
        [units().flat_map(u16::to_le_bytes).collect(), units().flat_map(u16::to_be_bytes).collect()]
    }

    #[test]
    fn the_mark_is_skipped_once_and_at_the_start_only() {
        assert_eq!(readable(b"\xef\xbb\xbfb2 a1").unwrap(), "b2 a1");
        assert_eq!(readable("\u{feff}\u{feff}b2".as_bytes()).unwrap(), "\u{feff}b2");
        assert_eq!(readable("b2\u{feff}".as_bytes()).unwrap(), "b2\u{feff}");
        assert_eq!(readable(b"\xef\xbb").unwrap(), "\u{fffd}");
        assert_eq!(unmarked_text("\u{feff}{}").unwrap(), "{}");
        assert_eq!(readable(b"").unwrap(), "");
    }

    #[test]
    fn utf_16_is_named() {
        for bytes in in_utf_16("startpos\n") {
            for error in [readable(&bytes).unwrap_err(), unmarked(&bytes).unwrap_err()] {
                assert!(error.contains("UTF-16") && error.contains("save it as UTF-8"), "{error}");
            }
            let decoded = String::from_utf8_lossy(&bytes);
            assert!(unmarked_text(&decoded).unwrap_err().contains("UTF-16"), "{decoded:?}");
        }
        assert!(unmarked_text("\u{fffd}\u{fffd} without zeros").is_ok());
    }
}
