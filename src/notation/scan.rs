//! Scans a text character by character, and keeps track of the current line.

/// A text that is read from beginning to end.
pub(super) struct Scan<'a> {
    text: &'a str,
    at: usize,
    pub line: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str) -> Scan<'a> {
        Scan { text, at: 0, line: 1 }
    }

    /// Returns the next character without taking it.
    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Takes the next character.
    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        self.line += usize::from(next == '\n');
        Some(next)
    }

    /// Takes the next character if it is `wanted`, and returns whether it was.
    pub(super) fn takes(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        if is_there {
            self.next();
        }
        is_there
    }

    /// Skips white space.
    pub(super) fn skip_space(&mut self) {
        self.while_next(char::is_whitespace);
    }

    /// Takes all characters up to the first one that is not `wanted`.
    pub(super) fn while_next(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(&wanted) {
            self.next();
        }
        &self.text[start..self.at]
    }

    /// Returns the rest of the text.
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }
}
