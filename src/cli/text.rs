//! Formats text for people: colors, wrapping at the width of the terminal, nouns with numbers.

use std::fmt::Display;

use anstyle::{AnsiColor, Color, Style};
use indicatif::ProgressDrawTarget;
use serde_json::Value;
use terminal_size::{Width, terminal_size_of};
use textwrap::WordSplitter;

pub(super) use crate::report::chart::counted;

/// The style of text that should stand out.
pub(super) const ACCENT: Style = Style::new().bold().fg_color(Some(Color::Ansi(AnsiColor::Green)));
/// The maximum width of a paragraph, in columns.
const MAX_WIDTH: usize = 80;

/// Returns the width of the terminal on standard output, in columns; `None` if it is not a terminal.
pub(super) fn terminal_width() -> Option<usize> {
    terminal_size_of(std::io::stdout()).map(|(Width(columns), _)| columns as usize)
}

/// Whether standard error is a terminal that can redraw a progress bar. Emacs's shell and the consoles of some editors
/// cannot (`TERM=dumb`); they get the same lines as an output file.
pub(super) fn draws_bars() -> bool {
    !ProgressDrawTarget::stderr().is_hidden()
}

/// Returns `text` in a style.
pub(super) fn painted(text: impl Display, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

/// Wraps `text` at `width` columns and indents continuation lines; without a width, returns it unchanged.
pub(super) fn wrapped(text: &str, width: Option<usize>) -> String {
    hanging(text, 2, width)
}

/// Wraps like [`wrapped`], with continuation lines indented by `indent` columns, but by at most two thirds of the
/// width.
pub(super) fn hanging(text: &str, indent: usize, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_string() };
    let indent = " ".repeat(indent.min(width * 2 / 3));
    let fill = |line| textwrap::fill(line, whole_words(width).subsequent_indent(&indent));
    // line by line: textwrap treats every line after the first as a continuation
    text.lines().map(fill).collect::<Vec<_>>().join("\n")
}

/// Returns the size of a network, as commands print it.
pub(super) fn network_size(filters: usize, blocks: usize) -> String {
    format!("{}, {}", counted(filters, "filter", "filters"), counted(blocks, "block", "blocks"))
}

/// Wraps an error, which follows `error: `, for the terminal on standard error. An error that shows a place in a text
/// is left unchanged.
pub(super) fn wrapped_error(text: &str) -> String {
    let width = terminal_size_of(std::io::stderr()).map(|(Width(columns), _)| columns as usize);
    if width.is_none() || text.lines().any(|line| line.trim_start().starts_with('|')) {
        return text.to_string();
    }
    const BEFORE: &str = "error: ";
    let whole = hanging(&format!("{BEFORE}{text}"), 2, width);
    whole.strip_prefix(BEFORE).unwrap_or(text).to_string()
}

/// Wraps `text` as a paragraph of readable width, on a terminal or not.
pub(super) fn paragraph(text: &str) -> String {
    textwrap::fill(text, whole_words(terminal_width().map_or(MAX_WIDTH, |width| width.min(MAX_WIDTH))))
}

/// Returns wrapping options that do not split an action such as a1-b2.
fn whole_words<'a>(width: usize) -> textwrap::Options<'a> {
    textwrap::Options::new(width).break_words(false).word_splitter(WordSplitter::NoHyphenation)
}

/// Removes from foreign text (a log, the name of a folder or a program) everything that controls the terminal: escape
/// sequences, control characters, and characters that change the direction of the following text.
pub(super) fn foreign(text: &str) -> String {
    let commands = |letter: char| {
        let turns =
            matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        (letter.is_control() && letter != '\t') || turns
    };
    anstream::adapter::strip_str(text).to_string().replace(commands, "")
}

/// Removes everything that controls the terminal, except colors, from a line of the program's own output. Foreign text
/// in the line should already have passed through [`foreign`]; this function is a second safeguard.
pub(super) fn harmless(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(|letter: char| letter.is_control() && !matches!(letter, '\n' | '\t')) {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        match color(rest) {
            Some(length) => {
                kept.push_str(&rest[..length]);
                rest = &rest[length..];
            }
            None => rest = &rest[rest.chars().next().map_or(0, char::len_utf8)..],
        }
    }
    kept.push_str(rest);
    kept
}

/// Returns the length of the escape sequence for a color or style at the beginning of `text`; `None` if there is none.
fn color(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("\x1b[")?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != ';')?;
    rest[end..].starts_with('m').then_some(2 + end + 1)
}

/// Formats a value for people.
pub(super) fn display_value(value: &Value) -> String {
    let join = |parts: Vec<String>| if parts.is_empty() { "none".into() } else { parts.join(", ") };
    match value {
        Value::Null => "none".into(),
        Value::String(text) => foreign(text),
        Value::Array(values) => join(values.iter().map(display_value).collect()),
        Value::Object(fields) => {
            join(fields.iter().map(|(name, value)| format!("{name} {}", display_value(value))).collect())
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns text without its escape sequences.
    pub(crate) fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn foreign_text_does_not_control_the_terminal() {
        for (text, shown) in [
            ("runs/a", "runs/a"),
            ("\u{1b}[31mred", "red"),
            ("\u{1b}]0;title\u{7}log", "log"),
            ("\u{1b}[2J\u{1b}[Hcleared", "cleared"),
            ("a\rb\u{8}\u{9b}31mc\td", "ab31mc\td"),
            ("\u{202e}txt.exe\u{2066}", "txt.exe"),
            ("é Ω 木", "é Ω 木"),
        ] {
            assert_eq!(foreign(text), shown, "{text:?}");
        }
        let ours = painted("b2-b3", ACCENT);
        assert_eq!(harmless(&format!("hint {ours}\n\tmore")), format!("hint {ours}\n\tmore"));
        let theirs = "\u{1b}]0;title\u{7}x\u{1b}[2Jy\u{1b}[1;31mz\u{9b}w\u{1b}";
        assert_eq!(harmless(theirs), "]0;titlex[2Jy\u{1b}[1;31mzw");
    }

    #[test]
    fn lines_are_wrapped_between_actions() {
        assert_eq!(wrapped("your actions: a1-b2 c3-d4", Some(20)), "your actions: a1-b2\n  c3-d4");
        assert_eq!(wrapped("your actions: a1-b2 c3-d4", None), "your actions: a1-b2 c3-d4");
        // the lines of a table keep their indentation
        assert_eq!(wrapped("  a  one\n  b  two", Some(20)), "  a  one\n  b  two");
        assert_eq!(hanging("  key  a value of words", 7, Some(15)), "  key  a value\n       of words");
        assert_eq!(hanging("  key  a be", 40, Some(9)), "  key  a\n      be");
        // color codes have no width
        let painted = painted("b2-b3", ACCENT);
        assert_eq!(plain(&wrapped(&format!("hint {painted} (+0.5)"), Some(17))), "hint b2-b3 (+0.5)");
    }
}
