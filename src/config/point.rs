//! Shows where a text of settings is wrong: the line, with carets under the place, as compilers do.
//!
//! If a line is too long to show, only the part around the carets is shown.

use std::ops::Range;

/// The number of characters of a line that are shown.
const WIDEST: usize = 120;
/// The number of characters shown before the carets if the line does not fit.
const BEFORE: usize = 40;

/// Returns the line of `source` that holds the bytes `span`, with carets under them and `says` below.
pub(super) fn point(source: &str, span: Range<usize>, says: &str) -> String {
    let at = floor(source, span.start);
    let begin = source[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = source[begin..].split('\n').next().unwrap_or_default().trim_end_matches('\r');
    let number = source[..begin].matches('\n').count() + 1;
    // a place at the end of the line is after its last character
    let inside = |place: usize| floor(line, place.saturating_sub(begin).min(line.len()));
    let (first, last) = (inside(at), inside(span.end));
    let column = line[..first].chars().count();
    let width = line[first..last.max(first)].chars().count().max(1);
    let (line, indent, width) = window(line, column, width);
    let gutter = " ".repeat(number.to_string().len());
    let (indent, carets) = (" ".repeat(indent), "^".repeat(width));
    format!(
        "line {number}, column {}\n{gutter} |\n{number} | {line}\n{gutter} | {indent}{carets}\n{}",
        column + 1,
        says.trim_end()
    )
}

/// Returns the visible part of a line whose carets begin after `column` characters: the text, and the new column and
/// number of the carets.
fn window(line: &str, column: usize, width: usize) -> (String, usize, usize) {
    if line.len() <= WIDEST {
        return (line.into(), column, width);
    }
    let first = column.saturating_sub(BEFORE);
    let shown: String = line.chars().skip(first).take(WIDEST).collect();
    let more = line.chars().nth(first + WIDEST).is_some();
    let (left, right) = (if first > 0 { "..." } else { "" }, if more { "..." } else { "" });
    let indent = column - first;
    (format!("{left}{shown}{right}"), left.len() + indent, width.min(WIDEST - indent))
}

/// Returns the byte range of the value of `key` (`section.name`) in its line of `source`.
pub(super) fn find(source: &str, key: &str) -> Option<Range<usize>> {
    let (section, name) = key.split_once('.').unwrap_or(("", key));
    let mut inside = section.is_empty();
    let mut begin = 0;
    for line in source.split_inclusive('\n') {
        let text = line.trim();
        if text.starts_with('[') {
            let header = text.trim_start_matches('[').split(']').next().unwrap_or_default();
            inside = header.trim() == section;
        }
        if let Some((key, value)) = line.split_once('=').filter(|_| inside)
            && key.trim() == name
        {
            let at = begin + line.len() - value.trim_start().len();
            return Some(at..at + value.split('#').next().unwrap_or_default().trim().len());
        }
        begin += line.len();
    }
    None
}

/// Returns the last character boundary up to `at`.
fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at.min(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_long_line_is_shown_around_the_carets() {
        let (before, after) = ("é".repeat(1000), "x".repeat(1_000_000));
        let source = format!("a = 1\nb = [\"{before}\", oops, \"{after}\"]\n");
        let at = source.find("oops").unwrap();
        let text = point(&source, at..at + 4, "no value");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines[4]), ("line 2, column 1010", "no value"));
        assert!(lines[2].starts_with("2 | ...éé") && lines[2].ends_with("xx..."), "{text}");
        let column = |line: &str, what: char| line.chars().position(|letter| letter == what);
        assert_eq!(column(lines[2], 'o'), column(lines[3], '^'), "{text}");
        assert_eq!(lines[3].matches('^').count(), 4);
        assert!(text.chars().count() < 400);
    }

    #[test]
    fn a_key_is_found_in_its_section() {
        let source = "cpuct = 1\n[ search ] # tuned\ncpuct = 22 # much\n[net]\nblocks=3";
        let value = |key| find(source, key).map(|span| &source[span]);
        assert_eq!(
            [value("search.cpuct"), value("net.blocks"), value("cpuct")],
            [Some("22"), Some("3"), Some("1")]
        );
        assert_eq!(value("net.filters"), None);
    }

    proptest! {
        #[test]
        fn no_position_is_out_of_bounds(source in "[aé =\\[\n\r#]{0,300}", start in 0usize..400, len in 0usize..400) {
            let text = point(&source, start..start + len, "wrong");
            prop_assert!(text.lines().all(|line| line.chars().count() < 2 * WIDEST), "{text}");
            find(&source, "a.a");
        }
    }
}
