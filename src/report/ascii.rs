//! Converts the texts of a page to ASCII, so that the page reads the same whatever charset the host declares.
//!
//! Input: a script, JSON, a style, or HTML without scripts and styles. Output: an equivalent text in ASCII.

use std::fmt::Write;

/// Returns a script or JSON in ASCII. Characters outside ASCII may occur only in strings and comments.
pub(crate) fn script(text: &str) -> String {
    escaped(text, |letter, out| {
        for unit in letter.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    })
}

/// Returns a style in ASCII. Characters outside ASCII may occur only in strings and comments.
pub(crate) fn style(text: &str) -> String {
    escaped(text, |letter, out| {
        let _ = write!(out, "\\{:x} ", u32::from(letter));
    })
}

/// Returns HTML without scripts and styles in ASCII.
pub(crate) fn markup(text: &str) -> String {
    escaped(text, |letter, out| {
        let _ = write!(out, "&#{};", u32::from(letter));
    })
}

fn escaped(text: &str, escape: impl Fn(char, &mut String)) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_ascii() { out.push(letter) } else { escape(letter, &mut out) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_beyond_ascii_are_escaped_as_each_language_has_it() {
        let text = "a \u{bd} \u{2026}\u{1f600}";
        assert_eq!(script(text), "a \\u00bd \\u2026\\ud83d\\ude00");
        assert_eq!(style(text), "a \\bd  \\2026 \\1f600 ");
        assert_eq!(markup(text), "a &#189; &#8230;&#128512;");
        let read: String = serde_json::from_str(&format!("\"{}\"", script(text))).unwrap();
        assert_eq!(read, text);
    }
}
