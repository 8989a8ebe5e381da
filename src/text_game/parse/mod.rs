//! Parses words into trees, one statement at a time. A statement can use only names from the statements before it.

mod actions;
mod conditions;
mod declarations;
mod directions;
mod squares;

use std::ops::RangeInclusive;

use super::ast::{Condition as Asked, Side};
use super::geometry::{Board, Tiling};
use super::lex::{Parsed, Problem, Statement, statements};
use super::limits::{LARGEST, LONGEST, MOST_ENDS, MOST_KEPT};
use super::mask::{Mask, Wide};
use super::text::{End, Named, Set, Squares, Text, Verdict};
use super::words::{StatementWord, Vocabulary, is_reserved};
use crate::board::parse_square;
use crate::options::Settings;

pub(super) struct Parser<'a> {
    text: Text,
    /// All names so far, for proposing the nearest name if one is misspelled.
    names: Vec<String>,
    /// The piece of the line that is being read.
    line_kind: Option<usize>,
    /// Whether a named set is being read, in which no piece is moving.
    in_named_set: bool,
    depth: usize,
    /// The number of joined parts of the statement so far.
    links: usize,
    settings: &'a Settings,
    /// The phase that the next line of actions belongs to.
    phase: usize,
    group: usize,
    seen: Vec<StatementWord>,
}

/// Reads a text, with the values that a user gave to its options.
///
/// # Errors
/// If the text has a problem; the error is the first one.
pub(super) fn parse(text: &str, settings: &Settings) -> Parsed<Text> {
    let first = |what: String| Problem { line: 1, column: 1, what };
    if text.len() > LARGEST {
        return Err(first(format!("a text has at most {LARGEST} bytes, not {}", text.len())));
    }
    let statements = statements(text)?;
    let mut parser = Parser::new(settings);
    parser.text.phases = statements
        .iter()
        .filter(|statement| statement.peek() == "phase")
        .map(|statement| statement.peek_at(1).to_string())
        .collect();
    for statement in statements {
        parser.depth = 0;
        parser.links = 0;
        parser.line_kind = None;
        parser.statement(statement)?;
    }
    let end = text.lines().count().max(1);
    parser.is_complete().map_err(|what| Problem { line: end, column: 1, what })?;
    if let Some(name) = settings.keys().find(|name| parser.text.option(name).is_none()) {
        let known: Vec<&str> = parser.text.options.iter().map(|option| &*option.name).collect();
        let has =
            if known.is_empty() { "it has none".into() } else { format!("it has {}", known.join(", ")) };
        return Err(first(format!("the text has no `option {name}`: {has}")));
    }
    if parser.text.phases.is_empty() {
        parser.text.phases.push(String::new());
    }
    parser.knows_stuck().map_err(|what| Problem { line: end, column: 1, what })?;
    Ok(parser.text)
}

impl<'a> Parser<'a> {
    fn new(settings: &'a Settings) -> Parser<'a> {
        let text = Text {
            title: String::new(),
            author: "unknown".into(),
            about: Vec::new(),
            statements: Vec::new(),
            players: ["White".into(), "Black".into()],
            board: Board::new(1, 1, Tiling::Squares),
            options: Vec::new(),
            kinds: Vec::new(),
            states: Vec::new(),
            counters: Vec::new(),
            sets: Vec::new(),
            phases: Vec::new(),
            actions: Vec::new(),
            ends: Vec::new(),
            stuck: None,
            repetition: None,
            quiet: None,
            limit: (0, [Verdict::Draw, Verdict::Draw]),
            pieces_at_start: Vec::new(),
            states_at_start: Vec::new(),
        };
        Parser {
            text,
            names: Vec::new(),
            line_kind: None,
            in_named_set: false,
            depth: 0,
            links: 0,
            settings,
            phase: 0,
            group: 0,
            seen: Vec::new(),
        }
    }

    fn has(&self, word: StatementWord) -> bool {
        self.seen.contains(&word)
    }

    /// Checks that the text has the lines that every text needs.
    fn is_complete(&self) -> Result<(), String> {
        for (word, name, example) in [
            (StatementWord::Game, "game", "game My Game by Me"),
            (StatementWord::Board, "board", "board 8 x 8"),
            (StatementWord::Piece, "piece", "piece man"),
            (StatementWord::Action, "action", "action place man to empty"),
            (StatementWord::Limit, "limit", "limit 200: draw"),
        ] {
            if !self.has(word) {
                let why = if word == StatementWord::Limit { ", so that every game ends" } else { "" };
                return Err(format!("a line that begins with `{name}` is missing{why}: `{example}`"));
            }
        }
        Ok(())
    }

    /// Checks that the text says what happens to a player who cannot act, unless players can always act.
    fn knows_stuck(&self) -> Result<(), String> {
        let text = &self.text;
        let can_pass = (0..text.phases.len()).all(|phase| text.can_always_pass(phase));
        let is_stuck = |end: &End| end.condition == Asked::Stuck(Side::Enemy);
        if text.stuck.is_some() || can_pass || text.ends.iter().any(is_stuck) {
            Ok(())
        } else {
            Err("no line says what happens to a player without an action: add `stuck: loss`, `stuck: draw`, \
                 or an action `otherwise pass`"
                .into())
        }
    }

    fn statement(&mut self, mut words: Statement) -> Parsed<()> {
        let name = words.peek();
        let Some(word) = StatementWord::of(name) else {
            return Err(words.expected("the beginning of a line", StatementWord::words()));
        };
        if can_occur_once(word) && self.has(word) {
            return Err(words.problem(format!("there is already a line `{name}`")));
        }
        if needs_board(word) && !self.has(StatementWord::Board) {
            return Err(words.problem(format!("the line `board ...` must come before `{name}`")));
        }
        self.seen.push(word);
        if is_rule(word) {
            self.text.statements.push((words.line(), format!("{name} {}", words.rest)));
        }
        let begin = words.clone();
        words.next();
        match word {
            // these statements take the rest of the line unchanged
            StatementWord::Game => return self.game(&begin),
            StatementWord::Players => return self.players(&begin),
            StatementWord::About => {
                self.text.about.push(words.rest.to_string());
                return Ok(());
            }
            StatementWord::Board => self.board(&mut words)?,
            StatementWord::Option => self.option(&mut words)?,
            StatementWord::Hole => self.hole(&mut words)?,
            StatementWord::Piece => self.piece(&mut words)?,
            StatementWord::State => self.state(&mut words)?,
            StatementWord::Counter => self.counter(&mut words)?,
            StatementWord::Start => self.start(&mut words)?,
            StatementWord::Set => self.named_set(&mut words)?,
            StatementWord::Phase => self.phase(&mut words)?,
            StatementWord::Action => self.action(&mut words)?,
            StatementWord::Otherwise => {
                self.group += 1;
                words.takes("action");
                self.action(&mut words)?;
            }
            StatementWord::End => self.end(&mut words)?,
            StatementWord::Stuck => {
                words.expect(":")?;
                self.text.stuck = Some(self.verdicts(&mut words)?);
            }
            StatementWord::Repetition => self.text.repetition = Some(self.counted(&mut words, 2..=10)?),
            StatementWord::Quiet => self.text.quiet = Some(self.counted(&mut words, 1..=LONGEST)?),
            StatementWord::Limit => self.text.limit = self.counted(&mut words, 1..=LONGEST)?,
        }
        words.finish()
    }

    fn hole(&mut self, words: &mut Statement) -> Parsed<()> {
        if let Some(late) = self.seen.iter().find(|word| mentions_squares(**word)) {
            let late =
                StatementWord::WORDS.iter().find(|(_, word)| word == late).map_or("", |(name, _)| name);
            return Err(words.problem_before(format!("holes must come before the lines `{late}`")));
        }
        let holes = self.constant(words)?;
        let there = self.text.board.squares & !(holes[0] | holes[1]);
        if there.is_none() {
            return Err(words.problem("no square is left"));
        }
        self.text.board.squares = there;
        Ok(())
    }

    fn named_set(&mut self, words: &mut Statement) -> Parsed<()> {
        let line = words.line();
        let name = self.name(words)?;
        words.expect("=")?;
        self.in_named_set = true;
        let first = self.squares(words)?;
        let second = if words.takes("|") { Some(self.squares(words)?) } else { None };
        self.in_named_set = false;
        let nature = second.iter().fold(first.nature(), |nature, set| nature | set.nature());
        if nature.of_action || nature.ahead {
            return Err(words.problem_before(
                "a set cannot mention `from`, `to`, `over`, `custodial` or `up to`, which only an action has",
            ));
        }
        if self.text.sets.len() >= MOST_KEPT {
            return Err(words.problem_before(format!("there are more than {MOST_KEPT} sets")));
        }
        let is_sided = second.is_some() || nature.is_sided;
        let squares = [first.clone(), second.unwrap_or(first)];
        let of_each = squares.each_ref().map(|set| fixed(set, &self.text));
        let fixed = of_each[0].zip(of_each[1]).map(|(first, second)| [first[0], second[1]]);
        self.text.sets.push(Named { line, name: name.clone(), squares, fixed, is_sided });
        self.names.push(name);
        Ok(())
    }

    fn phase(&mut self, words: &mut Statement) -> Parsed<()> {
        let phases = &self.text.phases;
        let is_this = |phase: &&String| *phase == words.peek();
        let is_doubled = phases.iter().filter(is_this).count() > 1;
        self.phase = phases.iter().position(|phase| is_this(&phase)).expect("it was listed");
        self.group = 0;
        self.plain_name(words)?;
        if is_doubled {
            return Err(words.problem_before("there are two phases with this name"));
        }
        Ok(())
    }

    fn end(&mut self, words: &mut Statement) -> Parsed<()> {
        let line = words.line();
        let begin = words.clone();
        let condition = self.condition(words)?;
        words.expect(":")?;
        let verdicts = self.verdicts(words)?;
        if self.text.ends.len() >= MOST_ENDS {
            return Err(words.problem_before(format!("there are more than {MOST_ENDS} ends")));
        }
        self.text.ends.push(End { line, reason: until_colon(begin), condition, verdicts });
        Ok(())
    }

    /// Reads a number and results, as in `50: draw`.
    fn counted(
        &mut self,
        words: &mut Statement,
        permitted: RangeInclusive<usize>,
    ) -> Parsed<(usize, [Verdict; 2])> {
        let count = self.whole(words, permitted)?;
        words.expect(":")?;
        Ok((count, self.verdicts(words)?))
    }

    /// Reads squares that are the same in every position, and returns those of the first player and those of the
    /// second.
    fn constant(&mut self, words: &mut Statement) -> Parsed<[Wide; 2]> {
        let begin = words.clone();
        let squares = self.squares(words)?;
        fixed(&squares, &self.text).ok_or_else(|| {
            begin.problem("squares that never change are expected: rows, columns, edge, a1 b2 ...")
        })
    }

    /// Reads a new name.
    fn name(&mut self, words: &mut Statement) -> Parsed<String> {
        let name = self.plain_name(words)?;
        if self.names.contains(&name) {
            return Err(words.problem_before(format!("`{name}` already has a meaning")));
        }
        Ok(name)
    }

    fn plain_name(&mut self, words: &mut Statement) -> Parsed<String> {
        let word = words.next();
        let is_name = word.starts_with(|letter: char| letter.is_ascii_lowercase())
            && word.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_'
            })
            && (2..=20).contains(&word.len())
            && parse_square(word, 99, 26).is_none();
        if !is_name {
            return Err(words.problem_before(
                "a name is expected: 2 to 20 lower-case letters, digits and hyphens, that are not a square like a1",
            ));
        }
        if is_reserved(word) {
            return Err(
                words.problem_before(format!("`{word}` is a word of the language: choose another name"))
            );
        }
        Ok(word.into())
    }

    /// Returns whether a word is a number or an option.
    fn is_whole(&self, word: &str) -> bool {
        (!word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()))
            || self.text.option(word).is_some()
    }

    /// Returns whether a number can begin with this name.
    fn is_number(&self, word: &str) -> bool {
        self.text.counters.iter().any(|counter| counter.name == word) || self.text.option(word).is_some()
    }

    /// Reads a whole number or an option.
    fn whole(&mut self, words: &mut Statement, permitted: RangeInclusive<usize>) -> Parsed<usize> {
        let (least, most) = (permitted.start(), permitted.end());
        let what = format!("a whole number from {least} to {most}");
        if !self.is_whole(words.peek()) {
            let options: Vec<&str> = self.text.options.iter().map(|option| option.name.as_str()).collect();
            return Err(words.expected(&what, options));
        }
        let word = words.next();
        let option = self.text.option(word).map(|option| option.value as usize);
        let number = option.or_else(|| word.parse().ok()).filter(|number| permitted.contains(number));
        number.ok_or_else(|| words.problem_before(format!("{what} is expected, not `{word}`")))
    }
}

/// Returns whether a text can have only one line that begins with this word.
fn can_occur_once(word: StatementWord) -> bool {
    use StatementWord::*;
    matches!(word, Game | Board | Players | Stuck | Repetition | Quiet | Limit)
}

fn needs_board(word: StatementWord) -> bool {
    use StatementWord::*;
    matches!(word, Hole | Start | Set | Action | Otherwise | End | Stuck | Repetition | Quiet | Limit)
}

/// Returns whether a line that begins with this word mentions squares, so the board cannot change after it.
fn mentions_squares(word: StatementWord) -> bool {
    use StatementWord::*;
    matches!(word, Start | Set | Action | Otherwise | End)
}

/// Returns whether a line that begins with this word belongs to the rules that are shown to readers.
fn is_rule(word: StatementWord) -> bool {
    use StatementWord::*;
    !matches!(word, Game | About | Option | Players)
}

/// Returns the words of a statement up to its colon.
fn until_colon(mut words: Statement) -> String {
    let mut text: Vec<&str> = Vec::new();
    while !["", ":"].contains(&words.peek()) {
        text.push(words.next());
    }
    text.join(" ").replace("( ", "(").replace(" )", ")")
}

/// Returns the squares of a set if they do not depend on the position.
fn fixed(set: &Set, text: &Text) -> Option<[Wide; 2]> {
    let both = |both: &[Set; 2], join: fn(Wide, Wide) -> Wide| {
        let (one, other) = (fixed(&both[0], text)?, fixed(&both[1], text)?);
        Some([join(one[0], other[0]), join(one[1], other[1])])
    };
    match set {
        Set::Leaf(Squares::Fixed(squares)) => Some(**squares),
        Set::Leaf(Squares::Named { index, .. }) => text.sets[*index].fixed,
        Set::Not(of) => Some(fixed(of, text)?.map(|squares| text.board.squares & !squares)),
        Set::And(sets) => both(sets, |one, other| one & other),
        Set::Or(sets) => both(sets, |one, other| one | other),
        _ => None,
    }
}
