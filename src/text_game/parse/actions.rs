//! Reads lines of actions: how a piece moves, under which conditions, and with which effects.

use super::Parser;
use crate::error::did_you_mean;
use crate::text_game::ast::Side;
use crate::text_game::geometry::Direction;
use crate::text_game::lex::{Parsed, Statement};
use crate::text_game::limits::{MOST_CLAUSES, MOST_LINES};
use crate::text_game::text::{ActionLine, Condition, CounterOf, Effect, Next, Set, Way};
use crate::text_game::words::{ClauseWord, Vocabulary, WayWord};

impl Parser<'_> {
    pub(super) fn action(&mut self, words: &mut Statement) -> Parsed<()> {
        let line = words.line();
        if self.text.actions.len() >= MOST_LINES {
            return Err(words.problem(format!("there are more than {MOST_LINES} actions")));
        }
        let word = words.next();
        let Some(way) = WayWord::of(word) else {
            let hint = did_you_mean(word, WayWord::words());
            return Err(words.problem_before(format!(
                "place, drop, step, slide, hop, leap, swap or pass is expected{hint}"
            )));
        };
        let mut action = ActionLine {
            line,
            phase: self.phase,
            group: self.group,
            piece: None,
            way: Way::Pass,
            to: Set::Empty,
            captures: false,
            exchanges: false,
            conditions: Vec::new(),
            required: Vec::new(),
            effects: Vec::new(),
            next: Next::Turn,
        };
        if !matches!(way, WayWord::Pass | WayWord::Swap) {
            self.subject(way, words, &mut action)?;
        }
        action.way = self.way(way, words)?;
        action.to = self.target(&action.way, words)?;
        if let Way::Hop { off_board, .. } = &mut action.way {
            *off_board = words.takes_all(&["or", "off", "board"]);
        }
        let mut clauses = 0;
        while words.takes(",") {
            clauses += 1;
            if clauses > MOST_CLAUSES {
                return Err(words.problem(format!("an action has at most {MOST_CLAUSES} clauses")));
            }
            self.clause(words, &mut action)?;
        }
        self.text.actions.push(action);
        Ok(())
    }

    /// Reads what moves or is placed.
    fn subject(&mut self, way: WayWord, words: &mut Statement, action: &mut ActionLine) -> Parsed<()> {
        let state = self.text.state_names().position(|state| state == words.peek());
        if let Some(state) = state.filter(|_| way == WayWord::Place) {
            // a state is placed on a square like a piece, but belongs to no player
            words.next();
            action.effects.push(Effect::Mark(state, Set::To));
        } else if !words.takes("piece") {
            action.piece = Some(words.expect_one("a piece", self.text.kind_names())?);
        } else if matches!(way, WayWord::Place | WayWord::Drop) {
            return Err(words.problem_before("which piece?"));
        }
        self.line_kind = action.piece;
        Ok(())
    }

    fn way(&mut self, way: WayWord, words: &mut Statement) -> Parsed<Way> {
        Ok(match way {
            WayWord::Place => Way::Place,
            WayWord::Drop => Way::Drop,
            WayWord::Step => Way::Step(self.some_directions(words)?),
            WayWord::Slide => self.slide(words)?,
            WayWord::Hop => {
                let directions = self.some_directions(words)?;
                words.expect("over")?;
                Way::Hop { directions, over: self.squares(words)?, off_board: false }
            }
            WayWord::Leap => Way::Leap(self.leaps(words)?),
            WayWord::Swap => Way::Swap,
            WayWord::Pass => Way::Pass,
        })
    }

    /// Reads the squares that a piece goes to.
    fn target(&mut self, way: &Way, words: &mut Statement) -> Parsed<Set> {
        match way {
            Way::Pass | Way::Swap => Ok(Set::Empty),
            Way::Drop => Ok(Set::and(Set::Empty, Set::Floor(Box::new(Direction::of(4))))),
            // a hop leads to an empty square unless the line says otherwise
            Way::Hop { .. } if words.peek() != "to" => Ok(Set::Empty),
            Way::Place | Way::Step(_) | Way::Slide { .. } | Way::Hop { .. } | Way::Leap(_) => {
                words.expect("to")?;
                self.squares(words)
            }
        }
    }

    fn slide(&mut self, words: &mut Statement) -> Parsed<Way> {
        let directions = self.some_directions(words)?;
        let longest = self.text.board.width.max(self.text.board.height).max(2) - 1;
        let (mut least, mut most, mut exactly) = (1, longest, None);
        if words.takes_all(&["at", "most"]) {
            most = self.whole(words, 1..=longest)?;
        } else if words.takes_all(&["at", "least"]) {
            least = self.whole(words, 1..=longest)?;
        } else if words.takes("exactly") {
            if words.takes("count") {
                exactly = Some(self.term(words)?);
            } else {
                least = self.whole(words, 1..=longest)?;
                most = least;
            }
        }
        let through = if words.takes("through") { self.squares(words)? } else { Set::Empty };
        Ok(Way::Slide { directions, least, most, through, exactly })
    }

    fn clause(&mut self, words: &mut Statement, action: &mut ActionLine) -> Parsed<()> {
        let Some(word) = ClauseWord::of(words.peek()) else {
            return Err(words.expected("a condition or an effect", ClauseWord::words()));
        };
        words.next();
        match word {
            ClauseWord::If => action.conditions.push(self.condition_of_action(words)?),
            ClauseWord::Require => action.required.push(self.condition_of_action(words)?),
            ClauseWord::Capture => action.captures = true,
            ClauseWord::Exchange => action.exchanges = true,
            ClauseWord::Again => {
                let may = words.takes("may");
                if !may {
                    words.takes("must");
                }
                set_next(action, words, Next::Again { may })?;
            }
            ClauseWord::Then | ClauseWord::Phase => {
                let phases = self.text.phases.iter().map(String::as_str);
                let phase = words.expect_one("a phase of this text", phases)?;
                let is_same = word == ClauseWord::Then;
                set_next(action, words, if is_same { Next::Then(phase) } else { Next::Phase(phase) })?;
            }
            ClauseWord::Remove
            | ClauseWord::Flip
            | ClauseWord::Mark
            | ClauseWord::Unmark
            | ClauseWord::Promote
            | ClauseWord::Count
            | ClauseWord::When => {
                let effect = self.effect(word, words)?;
                action.effects.push(effect);
            }
        }
        Ok(())
    }

    /// Reads a condition that does not test who can act, which is known only after an action.
    fn condition_of_action(&mut self, words: &mut Statement) -> Parsed<Condition> {
        let begin = words.clone();
        let condition = self.condition(words)?;
        if condition.any(|part| matches!(part, Condition::Stuck(_))) {
            Err(begin.problem("only `end` can test who is stuck"))
        } else {
            Ok(condition)
        }
    }

    /// Reads the effect that begins with a word.
    fn effect(&mut self, word: ClauseWord, words: &mut Statement) -> Parsed<Effect> {
        Ok(match word {
            ClauseWord::Remove => Effect::Remove(self.squares(words)?),
            ClauseWord::Flip => Effect::Flip(self.squares(words)?),
            ClauseWord::Mark => {
                let (state, squares) = self.state_at(words)?;
                Effect::Mark(state, squares)
            }
            ClauseWord::Unmark => {
                let (state, squares) = self.state_at(words)?;
                Effect::Unmark(state, squares)
            }
            ClauseWord::Promote => {
                words.expect("to")?;
                let kind = words.expect_one("a piece", self.text.kind_names())?;
                let at = if words.takes("at") { self.squares(words)? } else { Set::To };
                Effect::Promote(kind, at)
            }
            ClauseWord::Count => self.count(words)?,
            ClauseWord::When => self.when(words)?,
            ClauseWord::Capture | ClauseWord::Exchange => {
                return Err(
                    words.problem_before("`capture` and `exchange` apply to the whole line: write two lines")
                );
            }
            ClauseWord::If
            | ClauseWord::Require
            | ClauseWord::Again
            | ClauseWord::Then
            | ClauseWord::Phase => {
                return Err(words.problem_before("an effect is expected, such as `remove` or `mark`"));
            }
        })
    }

    fn state_at(&mut self, words: &mut Statement) -> Parsed<(usize, Set)> {
        let state = words.expect_one("a state", self.text.state_names())?;
        words.expect("at")?;
        Ok((state, self.squares(words)?))
    }

    fn count(&mut self, words: &mut Statement) -> Parsed<Effect> {
        let by = match words.next() {
            "down" => -1,
            "up" => 1,
            _ => return Err(words.problem_before("`count down` or `count up` is expected")),
        };
        let counters = self.text.counters.iter().map(|counter| counter.name.as_str());
        let counter = words.expect_one("a counter", counters)?;
        let kind = self.line_kind.filter(|_| self.text.counters[counter].per_piece);
        if kind.is_none() && self.text.counters[counter].per_piece {
            return Err(words.problem_before("which piece's counter? The line must name a piece"));
        }
        let side = if words.takes("of") {
            words.expect("enemy")?;
            Side::Enemy
        } else {
            Side::Own
        };
        Ok(Effect::Count(CounterOf { counter, side, kind }, by))
    }

    fn when(&mut self, words: &mut Statement) -> Parsed<Effect> {
        let condition = self.condition_of_action(words)?;
        words.expect(":")?;
        let Some(word) = ClauseWord::of(words.peek()) else {
            return Err(words.expected("an effect", ClauseWord::words()));
        };
        if word == ClauseWord::When {
            return Err(words.problem("join the two conditions with `and`"));
        }
        words.next();
        Ok(Effect::When(condition, Box::new(self.effect(word, words)?)))
    }
}

fn set_next(action: &mut ActionLine, words: &Statement, next: Next) -> Parsed<()> {
    if action.next != Next::Turn {
        return Err(words.problem_before("this line already says what follows the action"));
    }
    action.next = next;
    Ok(())
}
