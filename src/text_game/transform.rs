//! Transforms a whole text: to one player's view, by a symmetry, or into an order in which texts can be compared.

use super::ast::Mapping;
use super::geometry::{Board, Direction, STEPS, direction_of};
use super::text::{
    ActionLine, Condition, CounterOf, Directions, Read, Row, Set, Squares, Text, Verdict, Verdicts, Way,
};
use crate::board::Symmetry;

/// A transformation of everything in a text that depends on where things are.
struct Transform<'a> {
    board: &'a Board,
    /// The player whose squares and directions the result has; `None` keeps those of both players.
    player: Option<usize>,
    symmetry: Symmetry,
    /// Whether directions are sorted, which makes texts equal if they differ only in the order of directions.
    sorted: bool,
}

impl Mapping<Read, Read> for Transform<'_> {
    fn squares(&mut self, squares: &Squares) -> Set {
        Set::Leaf(match squares {
            Squares::Fixed(of) => {
                let of = self.player.map_or(**of, |player| [of[player]; 2]);
                Squares::Fixed(Box::new(of.map(|squares| self.board.mapped(self.symmetry, squares))))
            }
            Squares::Pieces(..) | Squares::State(_) | Squares::Named { .. } => squares.clone(),
        })
    }

    fn direction(&mut self, direction: Direction) -> Direction {
        let compass = match self.player {
            Some(player) => direction.for_player(player),
            None => direction.compass as usize,
        };
        let step = self.symmetry.step(STEPS[compass]);
        Direction::of(direction_of(step).expect("a symmetry maps directions to directions") as u8)
    }

    fn leap(&mut self, leap: (i32, i32)) -> (i32, i32) {
        self.symmetry.step(leap)
    }

    fn row(&mut self, row: &Row) -> Row {
        Row { length: row.length, directions: self.directions(&row.directions) }
    }

    fn counter(&mut self, counter: CounterOf) -> CounterOf {
        counter
    }

    fn directions(&mut self, directions: &[Direction]) -> Directions {
        let mut changed: Directions = directions.iter().map(|direction| self.direction(*direction)).collect();
        if self.sorted {
            changed.sort();
        }
        changed
    }

    fn leaps(&mut self, leaps: &[(i32, i32)]) -> Vec<(i32, i32)> {
        let mut changed: Vec<(i32, i32)> = leaps.iter().map(|leap| self.leap(*leap)).collect();
        if self.sorted {
            changed.sort();
        }
        changed
    }

    fn condition(&mut self, condition: &Condition) -> Condition {
        let mut changed = condition.mapped(self);
        // a connection works in both directions, so the order of its ends does not matter
        if let Condition::Connected { from, to, .. } = &mut changed
            && self.sorted
            && format!("{from:?}") > format!("{to:?}")
        {
            std::mem::swap(from, to);
        }
        changed
    }
}

impl Transform<'_> {
    fn way(&mut self, way: &Way) -> Way {
        match way {
            Way::Step(directions) => Way::Step(self.directions(directions)),
            Way::Slide { directions, least, most, through, exactly } => Way::Slide {
                directions: self.directions(directions),
                least: *least,
                most: *most,
                through: self.set(through),
                exactly: exactly.as_ref().map(|of| self.set(of)),
            },
            Way::Hop { directions, over, off_board } => Way::Hop {
                directions: self.directions(directions),
                over: self.set(over),
                off_board: *off_board,
            },
            Way::Leap(leaps) => Way::Leap(self.leaps(leaps)),
            Way::Place | Way::Drop | Way::Pass | Way::Swap => way.clone(),
        }
    }

    /// Transforms the values of both players. If the result is for one player, that player's value is returned twice.
    fn for_each<T>(&mut self, of: &[T; 2], change: impl Fn(&mut Self, &T) -> T) -> [T; 2] {
        [0, 1].map(|player| change(self, &of[self.player.unwrap_or(player)]))
    }

    fn verdicts(&mut self, verdicts: &Verdicts) -> Verdicts {
        self.for_each(verdicts, |change, verdict| match verdict {
            Verdict::Most(of) => Verdict::Most(change.set(of)),
            Verdict::Win | Verdict::Loss | Verdict::Draw => verdict.clone(),
        })
    }

    fn line(&mut self, line: &ActionLine) -> ActionLine {
        ActionLine {
            way: self.way(&line.way),
            to: self.set(&line.to),
            conditions: line.conditions.iter().map(|condition| self.condition(condition)).collect(),
            required: line.required.iter().map(|condition| self.condition(condition)).collect(),
            effects: line.effects.iter().map(|effect| effect.mapped(self)).collect(),
            ..*line
        }
    }

    fn text(mut self, text: &Text) -> Text {
        let mut changed = text.clone();
        for set in &mut changed.sets {
            set.squares = self.for_each(&set.squares, |change, squares| change.set(squares));
        }
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

/// Returns the text from one player's point of view, with compass directions and that player's squares and results.
pub(super) fn for_player(text: &Text, player: usize) -> Text {
    let player = Some(player);
    Transform { board: &text.board, player, symmetry: Symmetry::IDENTITY, sorted: false }.text(text)
}

/// Returns the text of one player on a board that is mapped by a symmetry.
pub(super) fn mapped(text: &Text, symmetry: Symmetry) -> Text {
    Transform { board: &text.board, player: None, symmetry, sorted: false }.text(text)
}

/// The parts of a one-player text that must be equal in two texts for the same actions to be possible in both.
#[derive(Debug, PartialEq)]
pub(super) struct Comparable {
    /// The lines of actions, in a form that does not depend on the order of directions.
    pub actions: Vec<String>,
    sets: Vec<[Set; 2]>,
    results: String,
}

impl Comparable {
    pub(super) fn of(text: &Text) -> Comparable {
        let sorted =
            Transform { board: &text.board, player: None, symmetry: Symmetry::IDENTITY, sorted: true };
        let text = sorted.text(text);
        let action = |line: &ActionLine| format!("{:?}", ActionLine { line: 0, ..line.clone() });
        let ends: Vec<_> = text.ends.iter().map(|end| (&end.condition, &end.verdicts)).collect();
        Comparable {
            actions: text.actions.iter().map(action).collect(),
            sets: text.sets.iter().map(|set| set.squares.clone()).collect(),
            results: format!(
                "{ends:?} {:?} {:?} {:?} {:?}",
                text.stuck, text.repetition, text.quiet, text.limit
            ),
        }
    }

    /// Returns, for each line of actions, the equal line of `other`. Returns `None` if a line has no equal line or if
    /// sets differ.
    pub(super) fn lines_in(&self, other: &Comparable) -> Option<Vec<usize>> {
        let mut free: Vec<usize> = (0..other.actions.len()).collect();
        let same = |action: &String| {
            let at = free.iter().position(|index| other.actions[*index] == *action)?;
            Some(free.remove(at))
        };
        let lines: Vec<usize> = self.actions.iter().map_while(same).collect();
        (self.sets == other.sets && lines.len() == self.actions.len()).then_some(lines)
    }

    /// Returns whether games end in the same way in both texts.
    pub(super) fn ends_as(&self, other: &Comparable) -> bool {
        self.results == other.results
    }
}
