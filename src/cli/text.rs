//! Text for people: colors, wrapping at the width of the terminal, counted nouns.

use std::fmt::Display;

use anstyle::{AnsiColor, Color, Style};
use indicatif::ProgressDrawTarget;
use serde_json::Value;
use terminal_size::{Width, terminal_size_of};
use textwrap::WordSplitter;

/// The style of text that should stand out.
pub const ACCENT: Style = Style::new().bold().fg_color(Some(Color::Ansi(AnsiColor::Green)));
/// The maximum width of a paragraph, in columns.
const MAX_WIDTH: usize = 80;

/// The width of the terminal on standard output, in columns; `None` if it is not a terminal.
pub fn terminal_width() -> Option<usize> {
    terminal_size_of(std::io::stdout()).map(|(Width(columns), _)| columns as usize)
}

/// Whether standard error is a terminal that can draw a bar over what it shows. Emacs's shell and some consoles of editors
/// are terminals that cannot (`TERM=dumb`); they get the lines that a file gets.
pub fn draws_bars() -> bool {
    !ProgressDrawTarget::stderr().is_hidden()
}

/// `text` in a style.
pub fn painted(text: impl Display, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

/// `text` in lines of at most `width` columns, with indented continuation lines; unchanged if there is no width.
pub fn wrapped(text: &str, width: Option<usize>) -> String {
    hanging(text, 2, width)
}

/// Like [`wrapped`], with continuation lines in column `indent`, but never more than two thirds of the width.
pub fn hanging(text: &str, indent: usize, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_string() };
    let indent = " ".repeat(indent.min(width * 2 / 3));
    let fill = |line| textwrap::fill(line, whole_words(width).subsequent_indent(&indent));
    // line by line: textwrap treats every line after the first as a continuation
    text.lines().map(fill).collect::<Vec<_>>().join("\n")
}

/// A number with its noun: `1 draw`, `2 draws`.
pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// `text` as a paragraph of readable width, on a terminal or not.
pub fn paragraph(text: &str) -> String {
    textwrap::fill(text, whole_words(terminal_width().map_or(MAX_WIDTH, |width| width.min(MAX_WIDTH))))
}

/// Options that do not split an action such as a1-b2.
fn whole_words<'a>(width: usize) -> textwrap::Options<'a> {
    textwrap::Options::new(width).break_words(false).word_splitter(WordSplitter::NoHyphenation)
}

/// A value as text for people.
pub fn display_value(value: &Value) -> String {
    let join = |parts: Vec<String>| if parts.is_empty() { "none".into() } else { parts.join(", ") };
    match value {
        Value::Null => "none".into(),
        Value::String(text) => text.clone(),
        Value::Array(values) => join(values.iter().map(display_value).collect()),
        Value::Object(fields) => {
            join(fields.iter().map(|(name, value)| format!("{name} {}", display_value(value))).collect())
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Text without its escape sequences.
    pub fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
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
