//! What can be done to a tree as a whole: seen by one player, mapped by a symmetry, compared.

use super::geometry::{Board, Direction, STEPS, direction_of};
use super::syntax::{
    ActionLine, Condition, Directions, Effect, Number, Squares, Text, Verdict, Verdicts, Way,
};
use crate::board::Symmetry;

/// A change of the parts of a tree that depend on where things are.
struct Change<'a> {
    board: &'a Board,
    /// Directions and squares become those of this player.
    player: Option<usize>,
    symmetry: Symmetry,
    /// Directions are sorted, so that trees that differ only in their order are equal.
    sorted: bool,
}

impl Change<'_> {
    fn direction(&self, direction: Direction) -> Direction {
        let compass = match self.player {
            Some(player) => direction.for_player(player),
            None => direction.compass as usize,
        };
        let step = self.symmetry.step(STEPS[compass]);
        Direction::of(direction_of(step).expect("a symmetry maps directions to directions") as u8)
    }

    fn directions(&self, directions: &Directions) -> Directions {
        let mut changed: Directions = directions.iter().map(|direction| self.direction(*direction)).collect();
        if self.sorted {
            changed.sort();
        }
        changed
    }

    fn steps(&self, steps: &[(i32, i32)]) -> Vec<(i32, i32)> {
        let mut changed: Vec<(i32, i32)> = steps.iter().map(|step| self.symmetry.step(*step)).collect();
        if self.sorted {
            changed.sort();
        }
        changed
    }

    fn boxed(&self, squares: &Squares) -> Box<Squares> {
        Box::new(self.squares(squares))
    }

    fn squares(&self, squares: &Squares) -> Squares {
        match squares {
            Squares::Fixed(of) => {
                let of = self.player.map_or(**of, |player| [of[player]; 2]);
                Squares::Fixed(Box::new(of.map(|squares| self.board.mapped(self.symmetry, squares))))
            }
            Squares::Each(of) => match self.player {
                Some(player) => self.squares(&of[player]),
                None => Squares::Each(Box::new([self.squares(&of[0]), self.squares(&of[1])])),
            },
            Squares::Floor(down) => Squares::Floor(self.direction(*down)),
            Squares::Not(of) => Squares::Not(self.boxed(of)),
            Squares::And(one, other) => Squares::And(self.boxed(one), self.boxed(other)),
            Squares::Or(one, other) => Squares::Or(self.boxed(one), self.boxed(other)),
            Squares::Step(directions, of) => Squares::Step(self.directions(directions), self.boxed(of)),
            Squares::Leap(steps, of) => Squares::Leap(self.steps(steps), self.boxed(of)),
            Squares::Reach { of, over, directions } => Squares::Reach {
                of: self.boxed(of),
                over: self.boxed(over),
                directions: self.directions(directions),
            },
            Squares::Beyond { what, from, directions } => Squares::Beyond {
                what: self.boxed(what),
                from: self.boxed(from),
                directions: self.directions(directions),
            },
            Squares::Enclosed { what, by, directions, to } => Squares::Enclosed {
                what: self.boxed(what),
                by: self.boxed(by),
                directions: self.directions(directions),
                to: *to,
            },
            Squares::UpTo { what, then } => Squares::UpTo { what: self.boxed(what), then: self.boxed(then) },
            Squares::Group { of, within, directions } => Squares::Group {
                of: self.boxed(of),
                within: self.boxed(within),
                directions: self.directions(directions),
            },
            Squares::Line { length, exactly, what, directions } => Squares::Line {
                length: *length,
                exactly: *exactly,
                what: self.boxed(what),
                directions: self.directions(directions),
            },
            Squares::Pieces(..)
            | Squares::Empty
            | Squares::State(_)
            | Squares::Set(_)
            | Squares::From
            | Squares::To
            | Squares::Over
            | Squares::Moved => squares.clone(),
        }
    }

    fn number(&self, number: &Number) -> Number {
        match number {
            Number::Count(of) => Number::Count(self.squares(of)),
            Number::Groups(of, directions) => Number::Groups(self.squares(of), self.directions(directions)),
            Number::Plus(one, other) => {
                Number::Plus(Box::new(self.number(one)), Box::new(self.number(other)))
            }
            Number::Minus(one, other) => {
                Number::Minus(Box::new(self.number(one)), Box::new(self.number(other)))
            }
            Number::Is(_) | Number::Counter(..) | Number::Ply | Number::Quiet | Number::Passes => {
                number.clone()
            }
        }
    }

    fn condition(&self, condition: &Condition) -> Condition {
        let boxed = |of: &Condition| Box::new(self.condition(of));
        match condition {
            Condition::Any(of) => Condition::Any(self.squares(of)),
            Condition::Connected { what, from, to, directions } => {
                let (mut from, mut to) = (self.squares(from), self.squares(to));
                // it does not matter from where to where
                if self.sorted && format!("{from:?}") > format!("{to:?}") {
                    std::mem::swap(&mut from, &mut to);
                }
                let directions = self.directions(directions);
                Condition::Connected { what: self.squares(what), from, to, directions }
            }
            Condition::Compared(one, how, other) => {
                Condition::Compared(self.number(one), *how, self.number(other))
            }
            Condition::Place(spot, of) => Condition::Place(*spot, self.squares(of)),
            Condition::Not(of) => Condition::Not(boxed(of)),
            Condition::And(one, other) => Condition::And(boxed(one), boxed(other)),
            Condition::Or(one, other) => Condition::Or(boxed(one), boxed(other)),
            Condition::Stuck(_) | Condition::Inward => condition.clone(),
        }
    }

    fn effect(&self, effect: &Effect) -> Effect {
        match effect {
            Effect::Remove(of) => Effect::Remove(self.squares(of)),
            Effect::Flip(of) => Effect::Flip(self.squares(of)),
            Effect::Mark(state, of) => Effect::Mark(*state, self.squares(of)),
            Effect::Unmark(state, of) => Effect::Unmark(*state, self.squares(of)),
            Effect::Promote(kind, of) => Effect::Promote(*kind, self.squares(of)),
            Effect::When(condition, effects) => Effect::When(
                self.condition(condition),
                effects.iter().map(|effect| self.effect(effect)).collect(),
            ),
            Effect::Capture | Effect::Count(..) | Effect::Exchange => effect.clone(),
        }
    }

    fn way(&self, way: &Way) -> Way {
        match way {
            Way::Step(directions) => Way::Step(self.directions(directions)),
            Way::Slide { directions, least, most, through, exactly } => Way::Slide {
                directions: self.directions(directions),
                least: *least,
                most: *most,
                through: self.squares(through),
                exactly: exactly.as_ref().map(|of| self.squares(of)),
            },
            Way::Hop { directions, over, off_board } => Way::Hop {
                directions: self.directions(directions),
                over: self.squares(over),
                off_board: *off_board,
            },
            Way::Leap(steps) => Way::Leap(self.steps(steps)),
            Way::Place | Way::Drop | Way::Pass | Way::Swap => way.clone(),
        }
    }

    fn verdicts(&self, verdicts: &Verdicts) -> Verdicts {
        let verdict = |verdict: &Verdict| match verdict {
            Verdict::Most(of) => Verdict::Most(self.squares(of)),
            Verdict::Win | Verdict::Loss | Verdict::Draw => verdict.clone(),
        };
        match self.player {
            Some(player) => [verdict(&verdicts[player]), verdict(&verdicts[player])],
            None => [verdict(&verdicts[0]), verdict(&verdicts[1])],
        }
    }

    fn line(&self, line: &ActionLine) -> ActionLine {
        let conditions = |of: &[Condition]| of.iter().map(|condition| self.condition(condition)).collect();
        ActionLine {
            way: self.way(&line.way),
            to: self.squares(&line.to),
            conditions: conditions(&line.conditions),
            required: conditions(&line.required),
            effects: line.effects.iter().map(|effect| self.effect(effect)).collect(),
            ..*line
        }
    }

    fn text(&self, text: &Text) -> Text {
        let mut changed = text.clone();
        changed.sets.iter_mut().for_each(|set| set.squares = self.squares(&set.squares));
        changed.actions = text.actions.iter().map(|line| self.line(line)).collect();
        for end in &mut changed.ends {
            end.condition = self.condition(&end.condition);
            end.verdicts = self.verdicts(&end.verdicts);
        }
        changed.stuck = text.stuck.as_ref().map(|verdicts| self.verdicts(verdicts));
        changed.repetition = text.repetition.as_ref().map(|(n, verdicts)| (*n, self.verdicts(verdicts)));
        changed.quiet = text.quiet.as_ref().map(|(n, verdicts)| (*n, self.verdicts(verdicts)));
        changed.limit.1 = self.verdicts(&text.limit.1);
        changed
    }
}

/// The text as one player means it: with directions of the compass, and that player's squares and results.
pub fn for_player(text: &Text, player: usize) -> Text {
    let player = Some(player);
    Change { board: &text.board, player, symmetry: Symmetry::IDENTITY, sorted: false }.text(text)
}

/// The text of one player on a board that is mapped by a symmetry.
pub fn mapped(text: &Text, symmetry: Symmetry) -> Text {
    Change { board: &text.board, player: None, symmetry, sorted: false }.text(text)
}

/// What two texts of one player must share so that what is possible in one is possible in the other.
#[derive(Debug, PartialEq)]
pub struct Comparable {
    /// Lines of actions, in words that do not depend on the order of directions.
    pub actions: Vec<String>,
    sets: Vec<Squares>,
    judged: String,
}

impl Comparable {
    pub fn of(text: &Text) -> Comparable {
        let sorted = Change { board: &text.board, player: None, symmetry: Symmetry::IDENTITY, sorted: true };
        let text = sorted.text(text);
        let action = |line: &ActionLine| format!("{:?}", ActionLine { line: 0, ..line.clone() });
        let ends: Vec<_> = text.ends.iter().map(|end| (&end.condition, &end.verdicts)).collect();
        Comparable {
            actions: text.actions.iter().map(action).collect(),
            sets: text.sets.iter().map(|set| set.squares.clone()).collect(),
            judged: format!(
                "{ends:?} {:?} {:?} {:?} {:?}",
                text.stuck, text.repetition, text.quiet, text.limit
            ),
        }
    }

    /// For each line of actions the one of `other` that is the same; `None` if there is none, or if sets differ.
    pub fn lines_in(&self, other: &Comparable) -> Option<Vec<usize>> {
        let mut free: Vec<usize> = (0..other.actions.len()).collect();
        let same = |action: &String| {
            let at = free.iter().position(|index| other.actions[*index] == *action)?;
            Some(free.remove(at))
        };
        let lines: Vec<usize> = self.actions.iter().map_while(same).collect();
        (self.sets == other.sets && lines.len() == self.actions.len()).then_some(lines)
    }

    /// Whether games end in the same way, too.
    pub fn ends_as(&self, other: &Comparable) -> bool {
        self.judged == other.judged
    }
}

/// Each part of a condition, until something is wrong with one.
pub fn parts(
    condition: &Condition,
    found: &mut dyn FnMut(&Condition) -> Result<(), String>,
) -> Result<(), String> {
    found(condition)?;
    match condition {
        Condition::Not(of) => parts(of, found),
        Condition::And(one, other) | Condition::Or(one, other) => {
            parts(one, found)?;
            parts(other, found)
        }
        _ => Ok(()),
    }
}

/// Whether a part of a condition holds.
pub fn any_condition(condition: &Condition, holds: &dyn Fn(&Condition) -> bool) -> bool {
    let mut any = false;
    let found = parts(condition, &mut |part| {
        any |= holds(part);
        Ok(())
    });
    found.is_ok() && any
}

/// Whether an effect, or one that it has under a condition, is such.
pub fn any_effect(effect: &Effect, is: &dyn Fn(&Effect) -> bool) -> bool {
    is(effect)
        || match effect {
            Effect::When(_, more) => more.iter().any(|effect| any_effect(effect, is)),
            _ => false,
        }
}

/// Whether actions or ends of a text ask for this number.
pub fn speaks_of(text: &Text, number: &Number) -> bool {
    fn is_in(whole: &Number, number: &Number) -> bool {
        match whole {
            Number::Plus(one, other) | Number::Minus(one, other) => {
                is_in(one, number) || is_in(other, number)
            }
            whole => whole == number,
        }
    }
    let asks = |condition: &Condition| {
        any_condition(condition, &|part| match part {
            Condition::Compared(one, _, other) => is_in(one, number) || is_in(other, number),
            _ => false,
        })
    };
    let asks_in = |effect: &Effect| {
        any_effect(effect, &|part| matches!(part, Effect::When(condition, _) if asks(condition)))
    };
    text.ends.iter().any(|end| asks(&end.condition))
        || text.actions.iter().any(|line| {
            line.conditions.iter().chain(&line.required).any(asks) || line.effects.iter().any(asks_in)
        })
}

/// Whether a part of these squares holds.
pub fn any_part(squares: &Squares, holds: &dyn Fn(&Squares) -> bool) -> bool {
    holds(squares)
        || match squares {
            Squares::Not(of)
            | Squares::Step(_, of)
            | Squares::Leap(_, of)
            | Squares::Line { what: of, .. } => any_part(of, holds),
            Squares::Each(of) => of.iter().any(|of| any_part(of, holds)),
            Squares::And(one, other)
            | Squares::Or(one, other)
            | Squares::Reach { of: one, over: other, .. }
            | Squares::Beyond { what: one, from: other, .. }
            | Squares::Enclosed { what: one, by: other, .. }
            | Squares::UpTo { what: one, then: other }
            | Squares::Group { of: one, within: other, .. } => any_part(one, holds) || any_part(other, holds),
            Squares::Fixed(_)
            | Squares::Pieces(..)
            | Squares::Empty
            | Squares::State(_)
            | Squares::Set(_)
            | Squares::From
            | Squares::To
            | Squares::Over
            | Squares::Moved
            | Squares::Floor(_) => false,
        }
}

/// Whether squares have a meaning only while something is done.
pub fn speaks_of_action(squares: &Squares) -> bool {
    any_part(squares, &|part| {
        matches!(part, Squares::From | Squares::To | Squares::Over | Squares::Enclosed { to: true, .. })
    })
}

/// Whether squares depend on the direction in which a piece goes.
pub fn depends_on_direction(squares: &Squares) -> bool {
    any_part(squares, &|part| {
        matches!(part, Squares::UpTo { .. }) || matches!(part, Squares::Step(_, of) if has_own(of))
    })
}

/// Whether own pieces are among these squares, so that a piece that goes there must not count itself.
pub fn has_own(squares: &Squares) -> bool {
    use super::syntax::Side;
    match squares {
        Squares::Pieces(side, _) => *side != Some(Side::Enemy),
        Squares::And(one, other) | Squares::Or(one, other) => has_own(one) || has_own(other),
        _ => false,
    }
}
