//! From words to a tree: one statement at a time, each name known from the statements before it.

use super::expression::{CONDITIONS, DIRECTIONS, SQUARES};
use super::geometry::{Board, Tiling};
use super::limits::{LARGEST, LONGEST, MOST_ENDS, MOST_KEPT};
use super::mask::{Mask, Wide};
use super::syntax::{Condition, Directions, End, Named, Side, Squares, Text, Verdict};
use super::tree::{any_part, speaks_of_action};
use super::words::{Parsed, Problem, Statement, statements};
use crate::options::Settings;

/// What begins a statement.
const STATEMENTS: &[&str] = &[
    "game",
    "about",
    "board",
    "option",
    "players",
    "hole",
    "piece",
    "state",
    "counter",
    "start",
    "set",
    "phase",
    "action",
    "otherwise",
    "end",
    "stuck",
    "repetition",
    "quiet",
    "limit",
];

/// Statements after which the board cannot change.
const SPEAK_OF_SQUARES: &[&str] = &["start", "set", "action", "otherwise", "end"];

/// Words inside statements that begin neither squares nor conditions.
const OTHER_WORDS: &[&str] = &[
    "on",
    "and",
    "or",
    "of",
    "in",
    "at",
    "by",
    "if",
    "require",
    "when",
    "place",
    "drop",
    "step",
    "slide",
    "hop",
    "pass",
    "swap",
    "through",
    "exactly",
    "most",
    "least",
    "win",
    "loss",
    "draw",
    "up",
    "enclosed",
    "direction",
    "off",
];

pub struct Parser<'a> {
    pub text: Text,
    /// All names so far, for proposals.
    pub names: Vec<String>,
    /// The piece of the line that is read.
    pub line_kind: Option<usize>,
    pub depth: usize,
    /// The joined parts of the statement so far.
    pub links: usize,
    pub settings: &'a Settings,
    /// Where a line of actions belongs.
    pub phase: usize,
    pub group: usize,
    pub has_board: bool,
    seen: Vec<&'static str>,
}

/// Reads a text, with the values that a user gave to its options.
///
/// # Errors
/// The first problem.
pub fn parse(text: &str, settings: &Settings) -> Parsed<Text> {
    let first = |what: String| Problem { line: 1, column: 1, what };
    if text.len() > LARGEST {
        return Err(first(format!("a text has at most {LARGEST} bytes, not {}", text.len())));
    }
    let statements = statements(text)?;
    let end = text.lines().count().max(1);
    let at_end = |what: &str| Problem { line: end, column: 1, what: what.into() };
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
    for (statement, example) in [
        ("game", "game My Game by Me"),
        ("board", "board 8 x 8"),
        ("piece", "piece man"),
        ("action", "action place man to empty"),
        ("limit", "limit 200: draw"),
    ] {
        if !parser.seen.contains(&statement) {
            let why = match statement {
                "limit" => ", so that every game ends",
                _ => "",
            };
            return Err(at_end(&format!(
                "a line that begins with `{statement}` is missing{why}: `{example}`"
            )));
        }
    }
    if let Some(name) = settings.keys().find(|name| parser.text.option(name).is_none()) {
        let known: Vec<&str> = parser.text.options.iter().map(|option| &*option.name).collect();
        let has =
            if known.is_empty() { "it has none".into() } else { format!("it has {}", known.join(", ")) };
        return Err(first(format!("the text has no `option {name}`: {has}")));
    }
    if parser.text.phases.is_empty() {
        parser.text.phases.push(String::new());
    }
    let can_pass = (0..parser.text.phases.len()).all(|phase| parser.text.can_always_pass(phase));
    let is_stuck = |end: &End| end.condition == Condition::Stuck(Side::Enemy);
    if parser.text.stuck.is_none() && !can_pass && !parser.text.ends.iter().any(is_stuck) {
        return Err(at_end(
            "a line is missing that says what happens to a player without an action: `stuck: loss`, `stuck: draw`, or an \
             action `otherwise pass`",
        ));
    }
    Ok(parser.text)
}

impl<'a> Parser<'a> {
    fn new(settings: &'a Settings) -> Parser<'a> {
        let draw = || [Verdict::Draw, Verdict::Draw];
        let text = Text {
            title: String::new(),
            author: "unknown".into(),
            about: Vec::new(),
            said: Vec::new(),
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
            limit: (0, draw()),
            pieces_at_start: Vec::new(),
            states_at_start: Vec::new(),
        };
        Parser {
            text,
            names: Vec::new(),
            line_kind: None,
            depth: 0,
            links: 0,
            settings,
            phase: 0,
            group: 0,
            has_board: false,
            seen: Vec::new(),
        }
    }

    fn statement(&mut self, mut words: Statement) -> Parsed<()> {
        let Some(name) = STATEMENTS.iter().find(|name| **name == words.peek()) else {
            return Err(words.expected("the beginning of a line", STATEMENTS.iter().copied()));
        };
        let once = ["game", "board", "players", "stuck", "repetition", "quiet", "limit"];
        if once.contains(name) && self.seen.contains(name) {
            return Err(words.problem(format!("there is a line `{name}` already")));
        }
        let needs_board =
            ["hole", "start", "set", "action", "otherwise", "end", "stuck", "repetition", "quiet", "limit"];
        if needs_board.contains(name) && !self.has_board {
            return Err(words.problem(format!("the line `board ...` must come before `{name}`")));
        }
        self.seen.push(name);
        if !["game", "about", "option", "players"].contains(name) {
            self.text.said.push((words.line(), format!("{name} {}", words.rest)));
        }
        let begin = words.clone();
        words.next();
        match *name {
            "game" => return self.game(&begin),
            "about" => {
                self.text.about.push(words.rest.to_string());
                return Ok(());
            }
            "players" => return self.players(&begin),
            "board" => self.board(&mut words)?,
            "option" => self.option(&mut words)?,
            "hole" => {
                if let Some(late) = self.seen.iter().find(|name| SPEAK_OF_SQUARES.contains(name)) {
                    return Err(words.problem_before(format!("holes come before the lines `{late}`")));
                }
                let holes = self.constant(&mut words)?;
                let there = self.text.board.squares & !(holes[0] | holes[1]);
                if there.is_none() {
                    return Err(words.problem("no square is left"));
                }
                self.text.board.squares = there;
            }
            "piece" => self.piece(&mut words)?,
            "state" => self.state(&mut words)?,
            "counter" => self.counter(&mut words)?,
            "start" => self.start(&mut words)?,
            "set" => {
                let line = words.line();
                let name = self.name(&mut words)?;
                words.expect("=")?;
                let mut squares = self.squares(&mut words)?;
                if words.takes("|") {
                    squares = Squares::Each(Box::new([squares, self.squares(&mut words)?]));
                }
                self.not_now(&squares, &words)?;
                if self.text.sets.len() >= MOST_KEPT {
                    return Err(words.problem_before(format!("there are more than {MOST_KEPT} sets")));
                }
                let fixed = fixed(&squares, &self.text, self.text.board.squares);
                let has_sides = has_sides(&squares, &self.text);
                self.text.sets.push(Named { line, name: name.clone(), squares, fixed, has_sides });
                self.names.push(name);
            }
            "phase" => {
                self.phase =
                    self.text.phases.iter().position(|phase| phase == words.peek()).expect("it was listed");
                self.group = 0;
                self.plain_name(&mut words)?;
                if self.text.phases.iter().filter(|phase| **phase == self.text.phases[self.phase]).count() > 1
                {
                    return Err(words.problem_before("there are two phases with this name"));
                }
            }
            "action" => self.action(&mut words)?,
            "otherwise" => {
                self.group += 1;
                words.takes("action");
                self.action(&mut words)?;
            }
            "end" => {
                let line = words.line();
                let from = words.clone();
                let condition = self.condition(&mut words)?;
                let reason = until_colon(&from);
                words.expect(":")?;
                let verdicts = self.verdicts(&mut words)?;
                if self.text.ends.len() >= MOST_ENDS {
                    return Err(words.problem_before(format!("there are more than {MOST_ENDS} ends")));
                }
                self.text.ends.push(End { line, reason, condition, verdicts });
            }
            "stuck" => {
                words.expect(":")?;
                self.text.stuck = Some(self.verdicts(&mut words)?);
            }
            number => {
                let least = if number == "repetition" { 2 } else { 1 };
                let most = match number {
                    "repetition" => 10,
                    _ => LONGEST,
                };
                let count = self.whole(&mut words, least..=most)?;
                words.expect(":")?;
                let verdicts = self.verdicts(&mut words)?;
                match number {
                    "repetition" => self.text.repetition = Some((count, verdicts)),
                    "quiet" => self.text.quiet = Some((count, verdicts)),
                    _ => self.text.limit = (count, verdicts),
                }
            }
        }
        words.finish()
    }

    fn game(&mut self, words: &Statement) -> Parsed<()> {
        let (title, author) = words.rest.rsplit_once(" by ").unwrap_or((&words.rest, "unknown"));
        let title = title.trim();
        if title.is_empty()
            || !title.chars().any(|letter| letter.is_ascii_alphanumeric())
            || title.chars().count() > 40
        {
            return Err(words.problem("a title of 1 to 40 letters is expected: `game My Game by Me`"));
        }
        (self.text.title, self.text.author) = (title.into(), author.trim().chars().take(80).collect());
        Ok(())
    }

    fn players(&mut self, words: &Statement) -> Parsed<()> {
        let names: Vec<&str> = words.rest.split(',').map(str::trim).collect();
        match names[..] {
            [first, second]
                if first != second
                    && [first, second].iter().all(|name| (1..=20).contains(&name.chars().count())) =>
            {
                self.text.players = [first.into(), second.into()];
                Ok(())
            }
            _ => Err(words.problem("two names of at most 20 letters are expected: `players White, Black`")),
        }
    }

    /// Squares that are the same in every position; those of the first player and of the second.
    pub fn constant(&mut self, words: &mut Statement) -> Parsed<[Wide; 2]> {
        let begin = words.clone();
        let squares = self.squares(words)?;
        fixed(&squares, &self.text, self.text.board.squares).ok_or_else(|| {
            begin.problem("squares that never change are expected: rows, columns, edge, a1 b2 ...")
        })
    }

    /// Squares outside an action must not speak of one.
    fn not_now(&self, squares: &Squares, words: &Statement) -> Parsed<()> {
        let ahead = any_part(squares, &|part| matches!(part, Squares::UpTo { .. }));
        if ahead || speaks_of_action(squares) {
            Err(words.problem_before("a set cannot speak of `from`, `to`, `over`, `custodial` or `up to`, which only an action has"))
        } else {
            Ok(())
        }
    }

    /// A new name.
    pub fn name(&mut self, words: &mut Statement) -> Parsed<String> {
        let name = self.plain_name(words)?;
        if self.names.contains(&name) {
            return Err(words.problem_before(format!("`{name}` has a meaning already")));
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
            && crate::board::parse_square(word, 99, 26).is_none();
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

    /// Whether a word is a number or an option.
    pub fn is_whole(&self, word: &str) -> bool {
        (!word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()))
            || self.text.option(word).is_some()
    }

    /// Whether a number begins with this name.
    pub fn is_number(&self, word: &str) -> bool {
        self.text.counters.iter().any(|counter| counter.name == word) || self.text.option(word).is_some()
    }

    /// A whole number or an option.
    pub fn whole(
        &mut self,
        words: &mut Statement,
        permitted: std::ops::RangeInclusive<usize>,
    ) -> Parsed<usize> {
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

/// Whether a word has a meaning in the language, so that nothing can be called by it.
fn is_reserved(word: &str) -> bool {
    [STATEMENTS, SQUARES, CONDITIONS, OTHER_WORDS].iter().any(|words| words.contains(&word))
        || DIRECTIONS.iter().any(|(direction, _)| *direction == word)
}

/// Whether these squares are others for the other player.
fn has_sides(squares: &Squares, text: &Text) -> bool {
    let is_relative = |directions: &Directions| directions.iter().any(|direction| direction.relative);
    any_part(squares, &|part| match part {
        Squares::Pieces(side, _) => side.is_some(),
        Squares::Each(_) => true,
        Squares::Fixed(of) => of[0] != of[1],
        Squares::Set(set) => text.sets[*set].has_sides,
        Squares::Step(directions, _)
        | Squares::Reach { directions, .. }
        | Squares::Beyond { directions, .. }
        | Squares::Enclosed { directions, .. }
        | Squares::Group { directions, .. }
        | Squares::Line { directions, .. } => is_relative(directions),
        _ => false,
    })
}

/// The words of a statement up to its colon.
fn until_colon(words: &Statement) -> String {
    let mut words = words.clone();
    let mut text: Vec<&str> = Vec::new();
    while !["", ":"].contains(&words.peek()) {
        text.push(words.next());
    }
    text.join(" ").replace("( ", "(").replace(" )", ")")
}

/// Squares that do not depend on the position, if these do not.
pub fn fixed(squares: &Squares, text: &Text, all: Wide) -> Option<[Wide; 2]> {
    let both = |one: &Squares, other: &Squares, join: fn(Wide, Wide) -> Wide| {
        let (one, other) = (fixed(one, text, all)?, fixed(other, text, all)?);
        Some([join(one[0], other[0]), join(one[1], other[1])])
    };
    match squares {
        Squares::Fixed(squares) => Some(**squares),
        Squares::Each(of) => Some([fixed(&of[0], text, all)?[0], fixed(&of[1], text, all)?[1]]),
        Squares::Not(of) => Some(fixed(of, text, all)?.map(|squares| all & !squares)),
        Squares::And(one, other) => both(one, other, |one, other| one & other),
        Squares::Or(one, other) => both(one, other, |one, other| one | other),
        Squares::Set(set) => text.sets[*set].fixed,
        _ => None,
    }
}
