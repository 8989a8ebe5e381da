//! Lines of actions: how a piece moves, on what conditions, and what it does.

use super::geometry::Direction;
use super::limits::{MOST_CLAUSES, MOST_LINES};
use super::parse::Parser;
use super::syntax::{ActionLine, Condition, Directions, Effect, Next, Side, Squares, Verdict, Verdicts, Way};
use super::tree::any_condition;
use super::words::{Parsed, Statement};
use crate::error::did_you_mean;

impl Parser<'_> {
    pub fn action(&mut self, words: &mut Statement) -> Parsed<()> {
        let line = words.line();
        if self.text.actions.len() >= MOST_LINES {
            return Err(words.problem(format!("there are more than {MOST_LINES} actions")));
        }
        let way = words.next();
        let mut action = ActionLine {
            line,
            phase: self.phase,
            group: self.group,
            piece: None,
            way: Way::Pass,
            to: Squares::Empty,
            conditions: Vec::new(),
            required: Vec::new(),
            effects: Vec::new(),
            next: Next::Turn,
        };
        if !["pass", "swap"].contains(&way) {
            if !["place", "drop", "step", "slide", "hop", "leap"].contains(&way) {
                let hint =
                    did_you_mean(way, ["place", "drop", "step", "slide", "hop", "leap", "swap", "pass"]);
                return Err(words.problem_before(format!(
                    "place, drop, step, slide, hop, leap, swap or pass is expected{hint}"
                )));
            }
            let state =
                self.text.states.iter().position(|(state, _)| way == "place" && state == words.peek());
            if let Some(state) = state {
                // what has no owner is put on a square, too
                words.next();
                action.effects.push(Effect::Mark(state, Squares::To));
            } else if !words.takes("piece") {
                action.piece = Some(words.expect_one("a piece", self.text.kind_names())?);
            } else if ["place", "drop"].contains(&way) {
                return Err(words.problem_before("which piece?"));
            }
            self.line_kind = action.piece;
        }
        action.way = match way {
            "place" => Way::Place,
            "drop" => Way::Drop,
            "step" => Way::Step(self.some_directions(words)?),
            "slide" => self.slide(words)?,
            "hop" => {
                let directions = self.some_directions(words)?;
                words.expect("over")?;
                Way::Hop { directions, over: self.squares(words)?, off_board: false }
            }
            "leap" => Way::Leap(self.leaps(words)?),
            "swap" => Way::Swap,
            _ => Way::Pass,
        };
        match &mut action.way {
            Way::Pass | Way::Swap => {}
            Way::Drop => {
                action.to = Squares::And(Box::new(Squares::Empty), Box::new(Squares::Floor(Direction::of(4))))
            }
            way => {
                if matches!(way, Way::Hop { .. }) && words.peek() != "to" {
                    // a hop leads to an empty square unless it is said otherwise
                } else {
                    words.expect("to")?;
                    action.to = self.squares(words)?;
                }
                if let Way::Hop { off_board, .. } = way {
                    *off_board = words.takes_all(&["or", "off", "board"]);
                }
            }
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

    fn some_directions(&mut self, words: &mut Statement) -> Parsed<Directions> {
        let directions = self.directions(words, true)?;
        if directions.is_empty() {
            Err(words.expected(
                "a direction",
                [
                    "any",
                    "orthogonally",
                    "diagonally",
                    "forward",
                    "backward",
                    "sideways",
                    "north",
                    "east",
                    "south",
                    "west",
                ],
            ))
        } else {
            Ok(directions)
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
        let through = if words.takes("through") { self.squares(words)? } else { Squares::Empty };
        Ok(Way::Slide { directions, least, most, through, exactly })
    }

    fn clause(&mut self, words: &mut Statement, action: &mut ActionLine) -> Parsed<()> {
        let next = |action: &mut ActionLine, words: &Statement, next: Next| match action.next {
            Next::Turn => {
                action.next = next;
                Ok(())
            }
            _ => Err(words.problem_before("what follows the action was said already")),
        };
        match words.peek() {
            "if" => {
                words.next();
                let condition = self.condition_of_action(words)?;
                action.conditions.push(condition);
            }
            "require" => {
                words.next();
                let condition = self.condition_of_action(words)?;
                action.required.push(condition);
            }
            "again" => {
                words.next();
                let may = words.takes("may");
                if !may {
                    words.takes("must");
                }
                next(action, words, Next::Again { may })?;
            }
            "then" | "phase" => {
                let is_same = words.next() == "then";
                let phases = self.text.phases.iter().map(String::as_str);
                let phase = words.expect_one("a phase of this text", phases)?;
                next(action, words, if is_same { Next::Then(phase) } else { Next::Phase(phase) })?;
            }
            _ => {
                let effect = self.effect(words)?;
                action.effects.push(effect);
            }
        }
        Ok(())
    }

    /// A condition that does not ask who can act, which is known only after an action.
    fn condition_of_action(&mut self, words: &mut Statement) -> Parsed<Condition> {
        let begin = words.clone();
        let condition = self.condition(words)?;
        if any_condition(&condition, &|part| matches!(part, Condition::Stuck(_))) {
            Err(begin.problem("only `end` can ask who is stuck"))
        } else {
            Ok(condition)
        }
    }

    fn effect(&mut self, words: &mut Statement) -> Parsed<Effect> {
        let known = [
            "if", "require", "capture", "remove", "flip", "mark", "unmark", "promote", "count", "exchange",
            "when", "again", "then", "phase",
        ];
        let effect = words.peek();
        if !known.contains(&effect) {
            return Err(words.expected("a condition or an effect", known));
        }
        words.next();
        Ok(match effect {
            "capture" => Effect::Capture,
            "exchange" => Effect::Exchange,
            "remove" => Effect::Remove(self.squares(words)?),
            "flip" => Effect::Flip(self.squares(words)?),
            "mark" | "unmark" => {
                let state = words.expect_one("a state", self.text.state_names())?;
                words.expect("at")?;
                let squares = self.squares(words)?;
                if effect == "mark" { Effect::Mark(state, squares) } else { Effect::Unmark(state, squares) }
            }
            "promote" => {
                words.expect("to")?;
                let kind = words.expect_one("a piece", self.text.kind_names())?;
                let at = if words.takes("at") { self.squares(words)? } else { Squares::To };
                Effect::Promote(kind, at)
            }
            "count" => {
                let by = match words.next() {
                    "down" => -1,
                    "up" => 1,
                    _ => return Err(words.problem_before("`count down` or `count up` is expected")),
                };
                let counters = self.text.counters.iter().map(|counter| counter.name.as_str());
                let counter = words.expect_one("a counter", counters)?;
                if self.text.counters[counter].per_piece && self.line_kind.is_none() {
                    return Err(words.problem_before("which piece's? The line must name one"));
                }
                let mut side = Side::Own;
                if words.takes("of") {
                    words.expect("enemy")?;
                    side = Side::Enemy;
                }
                Effect::Count(counter, side, by)
            }
            _ => {
                let condition = self.condition_of_action(words)?;
                words.expect(":")?;
                if words.peek() == "when" {
                    return Err(words.problem("join the two conditions with `and`"));
                }
                Effect::When(condition, vec![self.effect(words)?])
            }
        })
    }

    pub fn verdicts(&mut self, words: &mut Statement) -> Parsed<Verdicts> {
        let first = self.verdict(words)?;
        let second = if words.takes("|") { self.verdict(words)? } else { first.clone() };
        Ok([first, second])
    }

    fn verdict(&mut self, words: &mut Statement) -> Parsed<Verdict> {
        let known = ["win", "loss", "draw", "most"];
        let verdict = words.peek();
        if !known.contains(&verdict) {
            return Err(words.expected("win, loss, draw or `most own ...`", known));
        }
        words.next();
        Ok(match verdict {
            "win" => Verdict::Win,
            "loss" => Verdict::Loss,
            "draw" => Verdict::Draw,
            _ => Verdict::Most(self.squares(words)?),
        })
    }
}
