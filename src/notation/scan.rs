//! A place in a text: characters one by one, and the line where it is.

/// A text that is read from its beginning to its end.
pub struct Scan<'a> {
    text: &'a str,
    at: usize,
    pub line: usize,
}

impl<'a> Scan<'a> {
    pub fn new(text: &'a str) -> Scan<'a> {
        Scan { text, at: 0, line: 1 }
    }

    /// The next character, which stays.
    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The next character.
    pub fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        self.line += usize::from(next == '\n');
        Some(next)
    }

    /// Takes the next character if it is this one.
    pub fn takes(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        if is_there {
            self.next();
        }
        is_there
    }

    /// Passes over white space.
    pub fn skip_space(&mut self) {
        self.while_next(char::is_whitespace);
    }

    /// The characters up to the first that is not `wanted`.
    pub fn while_next(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(&wanted) {
            self.next();
        }
        &self.text[start..self.at]
    }

    /// What is left.
    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }
}
