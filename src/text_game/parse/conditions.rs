//! Reads the conditions, numbers, and results in a text.

use super::Parser;
use crate::text_game::ast::{Compare, Side, Spot};
use crate::text_game::lex::{Parsed, Statement};
use crate::text_game::limits::DEEPEST;
use crate::text_game::text::{Condition, CounterOf, Number, Verdict, Verdicts};
use crate::text_game::words::{ConditionWord, NumberWord, ResultWord, SuffixWord, Vocabulary};

impl Parser<'_> {
    /// Reads a condition, as in `no enemy or count own = 1`.
    pub(super) fn condition(&mut self, words: &mut Statement) -> Parsed<Condition> {
        let mut condition = self.both(words)?;
        while SuffixWord::of(words.peek()) == Some(SuffixWord::Or) {
            words.next();
            self.link(words)?;
            condition = Condition::or(condition, self.both(words)?);
        }
        Ok(condition)
    }

    fn both(&mut self, words: &mut Statement) -> Parsed<Condition> {
        let mut condition = self.single(words)?;
        while SuffixWord::of(words.peek()) == Some(SuffixWord::And) {
            words.next();
            self.link(words)?;
            condition = Condition::and(condition, self.single(words)?);
        }
        Ok(condition)
    }

    fn single(&mut self, words: &mut Statement) -> Parsed<Condition> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(words.problem("this is nested too deeply"));
        }
        let condition = self.one_condition(words);
        self.depth -= 1;
        condition
    }

    fn one_condition(&mut self, words: &mut Statement) -> Parsed<Condition> {
        let word = words.peek();
        if words.takes("(") {
            let condition = self.condition(words)?;
            words.expect(")")?;
            return Ok(condition);
        }
        if words.takes("not") {
            return Ok(Condition::not(self.single(words)?));
        }
        if word == "line" {
            return Ok(Condition::Any(self.term(words)?));
        }
        if let Some(word) = ConditionWord::of(word) {
            words.next();
            return self.condition_of(word, words);
        }
        let spots = [("from", Spot::From), ("to", Spot::To), ("over", Spot::Over)];
        if let Some((_, spot)) = spots.into_iter().find(|(name, _)| *name == word) {
            words.next();
            words.takes("in");
            return Ok(Condition::Place(spot, self.term(words)?));
        }
        if self.is_number(word) || self.is_whole(word) || NumberWord::of(word).is_some() {
            return self.comparison(words);
        }
        let counters = self.text.counters.iter().map(|counter| counter.name.as_str());
        let known = ConditionWord::words().chain(NumberWord::words());
        let known = known.chain(["line", "from", "to", "over", "not"]).chain(counters);
        Err(words.expected("a condition (any, no, line, connected, stuck, count, from, to ...)", known))
    }

    /// Reads the condition that begins with a word of the language.
    fn condition_of(&mut self, word: ConditionWord, words: &mut Statement) -> Parsed<Condition> {
        Ok(match word {
            ConditionWord::Any => Condition::Any(self.squares(words)?),
            ConditionWord::No => Condition::not(Condition::Any(self.squares(words)?)),
            ConditionWord::Inward => Condition::Inward,
            ConditionWord::Stuck => match words.next() {
                "own" => Condition::Stuck(Side::Own),
                "enemy" => Condition::Stuck(Side::Enemy),
                _ => return Err(words.problem_before("`stuck own` or `stuck enemy` is expected")),
            },
            ConditionWord::Connected => {
                let what = self.term(words)?;
                words.expect("from")?;
                let from = self.term(words)?;
                words.expect("to")?;
                let to = self.term(words)?;
                Condition::Connected { what, from, to, directions: self.directions_or_all(words)? }
            }
        })
    }

    fn comparison(&mut self, words: &mut Statement) -> Parsed<Condition> {
        let one = self.number(words)?;
        let compare = match words.peek() {
            "<" => Compare::Less,
            "<=" => Compare::AtMost,
            "=" => Compare::Is,
            "!=" => Compare::Differs,
            ">=" => Compare::AtLeast,
            ">" => Compare::More,
            _ => return Err(words.expected("one of < <= = != >= >", [])),
        };
        words.next();
        Ok(Condition::Compared(one, compare, self.number(words)?))
    }

    /// Reads a sum of numbers.
    fn number(&mut self, words: &mut Statement) -> Parsed<Number> {
        let mut number = self.summand(words)?;
        loop {
            number = if words.takes("+") {
                Number::plus(number, self.summand(words)?)
            } else if words.takes("-") {
                Number::minus(number, self.summand(words)?)
            } else {
                return Ok(number);
            };
            self.link(words)?;
        }
    }

    fn summand(&mut self, words: &mut Statement) -> Parsed<Number> {
        let word = words.peek();
        if self.is_whole(word) {
            return Ok(Number::Is(self.whole(words, 0..=1_000_000)? as i64));
        }
        if let Some(counter) = self.text.counters.iter().position(|counter| counter.name == word) {
            return self.counter_of(counter, words);
        }
        words.next();
        let Some(word) = NumberWord::of(word) else {
            let what = "a number is expected: 3, `count own`, `ply`, or a counter";
            return Err(words.problem_before(what));
        };
        Ok(match word {
            NumberWord::Count => Number::Count(self.term(words)?),
            NumberWord::Groups => {
                words.expect("of")?;
                let of = self.term(words)?;
                Number::Groups(of, self.directions_or_all(words)?)
            }
            NumberWord::Ply => Number::Ply,
            NumberWord::Quiet => Number::Quiet,
            NumberWord::Passes => Number::Passes,
        })
    }

    /// Reads the side and the kind of a counter whose name comes next.
    fn counter_of(&mut self, counter: usize, words: &mut Statement) -> Parsed<Number> {
        let name = words.next();
        let mut side = Side::Own;
        let mut kind = self.line_kind;
        if words.takes("of") {
            side = match words.next() {
                "own" => Side::Own,
                "enemy" => Side::Enemy,
                _ => return Err(words.problem_before("`own` or `enemy` is expected after `of`")),
            };
            kind = self.kind(words).or(kind);
        }
        let kind = kind.filter(|_| self.text.counters[counter].per_piece);
        if kind.is_none() && self.text.counters[counter].per_piece {
            let example = format!("which piece? `{name} of own {}`", self.text.kinds[0].name);
            return Err(words.problem_before(example));
        }
        Ok(Number::Counter(CounterOf { counter, side, kind }))
    }

    /// Reads results, as in `win | draw`.
    pub(super) fn verdicts(&mut self, words: &mut Statement) -> Parsed<Verdicts> {
        let first = self.verdict(words)?;
        let second = if words.takes("|") { self.verdict(words)? } else { first.clone() };
        Ok([first, second])
    }

    fn verdict(&mut self, words: &mut Statement) -> Parsed<Verdict> {
        let Some(word) = ResultWord::of(words.peek()) else {
            return Err(words.expected("win, loss, draw or `most own ...`", ResultWord::words()));
        };
        words.next();
        Ok(match word {
            ResultWord::Win => Verdict::Win,
            ResultWord::Loss => Verdict::Loss,
            ResultWord::Draw => Verdict::Draw,
            ResultWord::Most => Verdict::Most(self.squares(words)?),
        })
    }
}
