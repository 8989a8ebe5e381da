//! Mutated text. Input: something valid, and randomness. Output: something similar that may be invalid.

use petteia::random::Random;
use rand::RngExt;

/// Texts that are often limits.
pub const EXTREMES: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "340282366920938463463374607431768211456",
    "0.0",
    "1e-45",
    "1e-400",
    "3.4e38",
    "3.5e38",
    "1.8e308",
    "1e309",
    "-1e309",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "0.1",
    "1e19",
    "+1",
    "01",
    "1_000",
    "0x10",
    "1.",
    ".5",
    "1e",
    "٣",
    "½",
];

/// Pieces of text that may confuse a reader.
pub const PIECES: &[&str] = &[
    "",
    " ",
    "\t",
    "\r",
    "\n",
    "\0",
    "\"",
    "'",
    "\\",
    "/",
    "//",
    ":",
    "::",
    "=",
    "==",
    ",",
    ";",
    "#",
    ".",
    "..",
    "-",
    "--",
    "_",
    "[",
    "]",
    "[[",
    "{",
    "}",
    "(",
    ")",
    "%s",
    "%n",
    "$(x)",
    "`",
    "~",
    "*",
    "?",
    "<",
    ">",
    "|",
    "&",
    "\u{7f}",
    "\u{80}",
    "\u{fffd}",
    "\u{feff}",
    "\u{202e}",
    "é",
    "ß",
    "İ",
    "漢",
    "👍",
    "a\u{301}",
    "\u{1b}[31m",
    "true",
    "false",
    "null",
    "none",
    "\\u0000",
    "A",
    "z",
    "0",
    "9",
];

fn piece(random: &mut Random) -> String {
    match random.random_range(0..4) {
        0 => EXTREMES[random.random_range(0..EXTREMES.len())].into(),
        1 => PIECES[random.random_range(0..PIECES.len())].repeat(random.random_range(1..40)),
        _ => PIECES[random.random_range(0..PIECES.len())].into(),
    }
}

/// A random range of at most 16 of `len` items.
fn stretch(len: usize, random: &mut Random) -> std::ops::Range<usize> {
    let start = random.random_range(0..=len);
    start..random.random_range(start..=len.min(start + 16))
}

/// Makes one to four changes to letters, words or lines.
pub fn mutate(text: &str, random: &mut Random) -> String {
    let mut text = text.to_string();
    for _ in 0..random.random_range(1..=4) {
        text = match random.random_range(0..3) {
            0 => letters(&text, random),
            1 => parts(&text, ' ', random),
            _ => parts(&text, if text.contains('\n') { '\n' } else { ' ' }, random),
        };
    }
    text
}

fn letters(text: &str, random: &mut Random) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    let place = stretch(letters.len(), random);
    match random.random_range(0..5) {
        0 => drop(letters.drain(place)),
        1 => letters.truncate(place.start),
        2 => {
            let again = letters[place.clone()].to_vec();
            letters.splice(place.start..place.start, again);
        }
        _ => drop(letters.splice(place, piece(random).chars().collect::<Vec<_>>())),
    }
    letters.into_iter().collect()
}

fn parts(text: &str, separator: char, random: &mut Random) -> String {
    let mut parts: Vec<String> = text.split(separator).map(String::from).collect();
    let (one, other) = (random.random_range(0..parts.len()), random.random_range(0..parts.len()));
    match random.random_range(0..5) {
        0 => drop(parts.remove(one)),
        1 => parts.swap(one, other),
        2 => parts.insert(other, parts[one].clone()),
        3 => parts[one] = piece(random),
        // replaces a number in the text by another one
        _ => {
            let numbers = |c: char| c.is_ascii_digit() || c == '.';
            let extreme = EXTREMES[random.random_range(0..EXTREMES.len())];
            parts[one] = match parts[one].rfind(|c| !numbers(c)) {
                Some(at) if parts[one].ends_with(numbers) => {
                    let end = at + parts[one][at..].chars().next().map_or(0, char::len_utf8);
                    format!("{}{extreme}", &parts[one][..end])
                }
                _ => extreme.into(),
            };
        }
    }
    parts.join(&separator.to_string())
}

/// Makes one to four changes, in which bytes are replaced, removed or added.
pub fn mutate_bytes(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..random.random_range(1..=4) {
        let place = stretch(bytes.len(), random);
        match random.random_range(0..4) {
            0 if place.start < bytes.len() => bytes[place.start] ^= 1 << random.random_range(0..8),
            1 => drop(bytes.drain(place)),
            2 => bytes.insert(place.start, random.random()),
            _ => drop(bytes.splice(place.clone(), (place).map(|_| random.random()).collect::<Vec<u8>>())),
        }
    }
    bytes
}
