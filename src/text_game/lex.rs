//! Splits a text into statements of words with their places, and reports problems with a place.

use std::fmt::{self, Display};
use std::rc::Rc;

use crate::error::{did_you_mean, quoted};

/// A problem of a text, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// The number of the character in the line, from 1.
    pub column: usize,
    /// What is wrong, and what was expected.
    pub what: String,
}

impl Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "line {}, column {}: {}", self.line, self.column, self.what)
    }
}

pub(super) type Parsed<T> = Result<T, Problem>;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Word<'a> {
    pub text: &'a str,
    pub line: usize,
    pub column: usize,
}

/// A line of the text and the indented lines after it, as words. Clone it to look ahead; a clone is cheap.
#[derive(Clone, Debug)]
pub(super) struct Statement<'a> {
    pub words: Rc<Vec<Word<'a>>>,
    at: usize,
    /// Everything after the first word, unchanged but joined into one line.
    pub rest: Rc<str>,
    end: (usize, usize),
}

/// Splits a text into statements. `#` begins a comment; an indented line continues the previous one.
pub(super) fn statements(text: &str) -> Parsed<Vec<Statement<'_>>> {
    let mut statements: Vec<Statement> = Vec::new();
    for (index, whole) in text.lines().enumerate() {
        let line = index + 1;
        let code = whole.split('#').next().expect("a text has a first part").trim_end();
        if code.trim().is_empty() {
            continue;
        }
        let words = words(code, line)?;
        let end = (line, code.chars().count() + 1);
        if code.starts_with([' ', '\t'])
            && let Some(last) = statements.last_mut()
        {
            Rc::make_mut(&mut last.words).extend(words);
            last.rest = format!("{} {}", last.rest, code.trim()).into();
            last.end = end;
            continue;
        }
        let first = words.first().map_or(0, |word| word.text.len());
        let rest = code.trim_start().get(first..).unwrap_or_default().trim().into();
        statements.push(Statement { words: Rc::new(words), at: 0, rest, end });
    }
    Ok(statements)
}

/// Splits a line into words, numbers, and signs.
fn words(code: &str, line: usize) -> Parsed<Vec<Word<'_>>> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '\'';
    let mut words = Vec::new();
    let letters: Vec<(usize, char)> = code.char_indices().collect();
    let mut at = 0;
    while let Some(&(begin, letter)) = letters.get(at) {
        let column = at + 1;
        let next = letters.get(at + 1).map(|(_, letter)| *letter);
        if letter.is_whitespace() {
            at += 1;
            continue;
        }
        if is_part(letter) {
            // a hyphen joins words if there is no space around it
            while let Some((_, letter)) = letters.get(at)
                && (is_part(*letter)
                    || *letter == '-' && letters.get(at + 1).is_some_and(|(_, next)| is_part(*next)))
            {
                at += 1;
            }
        } else {
            match (letter, next) {
                ('<' | '>' | '!', Some('=')) => at += 2,
                _ => at += 1,
            }
        }
        let end = letters.get(at).map_or(code.len(), |(end, _)| *end);
        words.push(Word { text: &code[begin..end], line, column });
    }
    Ok(words)
}

impl<'a> Statement<'a> {
    pub(super) fn line(&self) -> usize {
        self.words.first().map_or(0, |word| word.line)
    }

    pub(super) fn peek(&self) -> &'a str {
        self.peek_at(0)
    }

    /// Returns the word `further` places ahead, or "" after the last word.
    pub(super) fn peek_at(&self, further: usize) -> &'a str {
        self.words.get(self.at + further).map_or("", |word| word.text)
    }

    pub(super) fn next(&mut self) -> &'a str {
        let word = self.peek();
        self.at += 1;
        word
    }

    pub(super) fn is_done(&self) -> bool {
        self.at >= self.words.len()
    }

    /// Takes the word if it is the next one.
    pub(super) fn takes(&mut self, word: &str) -> bool {
        let is_next = self.peek() == word;
        self.at += usize::from(is_next);
        is_next
    }

    /// Takes these words if they are the next ones.
    pub(super) fn takes_all(&mut self, words: &[&str]) -> bool {
        let are_next = words.iter().enumerate().all(|(index, word)| self.peek_at(index) == *word);
        self.at += if are_next { words.len() } else { 0 };
        are_next
    }

    /// Takes the word, which must be the next one.
    pub(super) fn expect(&mut self, word: &str) -> Parsed<()> {
        if self.takes(word) { Ok(()) } else { Err(self.expected(&format!("`{word}`"), [word])) }
    }

    /// Makes a problem at the next word.
    pub(super) fn problem(&self, what: impl Into<String>) -> Problem {
        let (line, column) = self.words.get(self.at).map_or(self.end, |word| (word.line, word.column));
        Problem { line, column, what: what.into() }
    }

    /// Makes a problem at the word that was just taken.
    pub(super) fn problem_before(&self, what: impl Into<String>) -> Problem {
        let word = &self.words[self.at.saturating_sub(1).min(self.words.len() - 1)];
        Problem { line: word.line, column: word.column, what: what.into() }
    }

    /// Makes a problem for a next word that is not what was expected, and proposes the nearest word of `known`.
    pub(super) fn expected<'b>(&self, what: &str, known: impl IntoIterator<Item = &'b str>) -> Problem {
        match self.peek() {
            "" => self.problem(format!("the line ends where {what} is expected")),
            word => self.problem(format!("{} is not {what}{}", quoted(word), did_you_mean(word, known))),
        }
    }

    /// Takes the next word, which must be one of these names, and returns its index among them.
    pub(super) fn expect_one<'b>(
        &mut self,
        what: &str,
        names: impl Iterator<Item = &'b str> + Clone,
    ) -> Parsed<usize> {
        let index = names.clone().position(|name| name == self.peek());
        let index = index.ok_or_else(|| self.expected(what, names))?;
        self.next();
        Ok(index)
    }

    /// Checks that no word is left.
    pub(super) fn finish(&self) -> Parsed<()> {
        if self.is_done() {
            Ok(())
        } else {
            Err(self.problem(format!("{} is not expected here", quoted(self.peek()))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_their_places() {
        let text = "# a comment\nmove  step-by a1 <= 3, (x)  # more\n  and so\nend";
        let found = statements(text).unwrap();
        let shown = |statement: &Statement| {
            let words =
                statement.words.iter().map(|word| format!("{}@{}:{}", word.text, word.line, word.column));
            words.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            shown(&found[0]),
            "move@2:1 step-by@2:7 a1@2:15 <=@2:18 3@2:21 ,@2:22 (@2:24 x@2:25 )@2:26 and@3:3 so@3:7"
        );
        assert_eq!((shown(&found[1]).as_str(), found.len()), ("end@4:1", 2));
        assert_eq!(&*found[0].rest, "step-by a1 <= 3, (x) and so");
        let mut first = found[0].clone();
        assert!(first.takes("move") && !first.takes("and") && first.takes_all(&["step-by", "a1"]));
        assert_eq!(
            first.expect("=").unwrap_err().to_string(),
            "line 2, column 18: `<=` is not `=`; did you mean `=`?"
        );
    }
}
