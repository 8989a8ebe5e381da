//! Reads games as lines: `F5D6C3D3 33-31`, `b2 a1 c3 a2 first`, `POSITION moves a1 b2`.
//!
//! Each line is a game. It begins with a position and the word `moves`, unless the game begins in the usual position.
//! The actions follow in the game's own notation, and then the result, if it is given. Only the rules can distinguish
//! actions from results ([`super::playing`]). Empty lines and text after a `#` are ignored. Opening books are also
//! lines, without results.

use super::{LONGEST_VALUE, MOST_ACTIONS, Move, Notation, Said, Unread, Winner, Written};
use crate::replay::ended::Ended;

/// The word between a position and the actions from there, as in UGI.
const MOVES: &str = "moves";

/// The parts of a line.
pub(crate) struct Line<'a> {
    /// The whole line.
    pub whole: &'a str,
    /// The text of the position before `moves`, if there is one.
    pub start: Option<&'a str>,
    /// The words after `moves`, or all words if there is no `moves`.
    pub words: Vec<&'a str>,
}

impl<'a> Line<'a> {
    /// Splits a line into its parts; `None` if it is empty.
    pub(crate) fn of(line: &'a str) -> Option<Line<'a>> {
        let line = line.split('#').next().unwrap_or_default().trim();
        let marker = line.match_indices(MOVES).find(|(at, _)| {
            let is_apart = |letter: Option<char>| letter.is_none_or(char::is_whitespace);
            is_apart(line[..*at].chars().next_back()) && is_apart(line[at + MOVES.len()..].chars().next())
        });
        let (start, actions) = match marker {
            Some((at, _)) => (Some(line[..at].trim()), &line[at + MOVES.len()..]),
            None => (None, line),
        };
        let separators = |letter: char| letter.is_whitespace() || letter == ',' || letter == ';';
        let words = actions.split(separators).filter(|word| !word.is_empty()).collect();
        let start = start.filter(|start| !["", "startpos"].contains(start));
        (!line.is_empty()).then_some(Line { whole: line, start, words })
    }
}

/// Returns the games of a text.
pub(super) fn games(text: &str) -> impl Iterator<Item = Result<Written, Unread>> + '_ {
    text.lines().enumerate().filter_map(|(number, line)| {
        let line_number = number + 1;
        let unread = |what: String| Some(Err(Unread { line: line_number, what }));
        let line = Line::of(line)?;
        if line.words.len() > MOST_ACTIONS {
            return unread(format!("it has more than {MOST_ACTIONS} actions"));
        }
        if line.start.is_some_and(|start| start.len() > LONGEST_VALUE) {
            return unread(format!("its position has more than {LONGEST_VALUE} bytes"));
        }
        let moves = line.words.iter().map(|word| Move { by: None, text: (*word).into() });
        let written = Written {
            start: line.start.map(Into::into),
            moves: moves.collect(),
            ..Written::new(Notation::Lines, line_number)
        };
        Some(Ok(written))
    })
}

/// Returns the result that a word gives in a game whose players have these names. Examples of results are `first`,
/// `1-0`, `Black`, `33-31`, `+2`, and `B+R`.
pub(super) fn result(word: &str, players: [&str; 2]) -> Option<Said> {
    let verdict = |winner| Some(Said { winner, ended: None });
    if let Some(player) = players.iter().position(|name| name.eq_ignore_ascii_case(word)) {
        return verdict([Winner::First, Winner::Second][player]);
    }
    match word.to_lowercase().as_str() {
        "first" => return verdict(Winner::First),
        "second" => return verdict(Winner::Second),
        "draw" | "drawn" => return verdict(Winner::Nobody),
        _ => {}
    }
    if let Some(found) = super::pdn::result(word) {
        return Some(found);
    }
    let number = |text: &str| text.parse::<u32>().ok();
    let by = |order| match order {
        std::cmp::Ordering::Greater => Winner::First,
        std::cmp::Ordering::Less => Winner::Second,
        std::cmp::Ordering::Equal => Winner::Nobody,
    };
    // the scores of both players, the first player's first
    if let Some((first, second)) = word.split_once(['-', ':'])
        && let Some((first, second)) = number(first).zip(number(second))
    {
        return verdict(by(first.cmp(&second)));
    }
    // the first player's lead
    if word.starts_with(['+', '-'])
        && let Ok(lead) = word.parse::<i32>()
    {
        return verdict(by(lead.cmp(&0)));
    }
    super::sgf::result(word).filter(|_| word.contains('+'))
}

/// Returns how a game ended, from a word after its result.
pub(super) fn ended(word: &str) -> Option<Ended> {
    Ended::from_id(&word.to_lowercase())
}
