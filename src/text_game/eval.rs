//! Evaluates a compiled tree in a position.

use std::cell::Cell;

use super::ast::{Compare, Side, Spot};
use super::limits::MOST_KEPT;
use super::mask::Mask;
use super::ops::{self, Ahead, Condition, Number, Set, Slot, Things, flood};

/// A position as one player sees it, in which sets are evaluated.
pub(super) struct Sight<'a, M: Mask> {
    /// The squares of the board.
    pub board: M,
    pub things: &'a Things<M>,
    /// The player's sets that are computed once per position.
    pub sets: &'a [Set<M>],
    /// The squares of the sets that have been computed so far.
    pub kept: [Cell<M>; MOST_KEPT],
    /// A bit for each set that has been computed.
    pub is_kept: Cell<u32>,
    pub own: M,
    pub enemy: M,
    pub from: M,
    pub to: M,
    pub over: M,
    pub moved: M,
    pub ply: u16,
    pub quiet: u16,
    pub passes: u8,
    /// The direction in which a piece takes one step, while the sets of its target squares are evaluated.
    pub going: Cell<u8>,
    pub ahead: Cell<Option<Ahead<M>>>,
}

impl<M: Mask> Sight<'_, M> {
    /// Returns the squares of a set.
    #[inline(always)]
    pub(super) fn set(&self, set: &Set<M>) -> M {
        match set {
            Set::Leaf(Slot::Fixed(squares)) => *squares,
            Set::Leaf(Slot::Of(index)) => self.things.sets[*index],
            Set::Leaf(Slot::Own) => self.own,
            Set::Leaf(Slot::Enemy) => self.enemy,
            Set::Leaf(Slot::All) => self.own | self.enemy,
            Set::Leaf(Slot::Kept(index)) if self.has_found(*index) => self.kept[*index].get(),
            Set::Empty => self.board & !(self.own | self.enemy),
            Set::From => self.from,
            Set::To => self.to,
            Set::Over => self.over,
            Set::Moved => self.moved,
            set => self.found(set),
        }
    }

    /// Returns the squares of a set that is computed once per position.
    pub(super) fn kept(&self, index: usize) -> M {
        self.set(&Set::Leaf(Slot::Kept(index)))
    }

    #[inline(always)]
    fn has_found(&self, index: usize) -> bool {
        index < MOST_KEPT && self.is_kept.get() >> index & 1 == 1
    }

    /// Returns the squares of a set that is composed of other sets.
    #[inline(never)]
    fn found(&self, set: &Set<M>) -> M {
        match set {
            Set::Leaf(Slot::Kept(index)) => {
                let squares = self.set(&self.sets[*index]);
                if let Some(kept) = self.kept.get(*index) {
                    kept.set(squares);
                    self.is_kept.set(self.is_kept.get() | 1 << index);
                }
                squares
            }
            Set::Not(of) => self.board & !self.set(of),
            Set::And(both) => self.set(&both[0]) & self.set(&both[1]),
            Set::Or(both) => self.set(&both[0]) | self.set(&both[1]),
            Set::Step(around) => {
                let of = self.set(&around.of);
                around.directions.iter().fold(M::NONE, |set, ahead| set | ahead.of(of))
            }
            Set::Others(around) => {
                let (of, going) = (self.set(&around.of), self.going.get());
                let others = around.directions.iter().filter(|ahead| ahead.compass != going);
                others.fold(M::NONE, |set, ahead| set | ahead.of(of))
            }
            Set::Leap(leaping) => {
                let of = self.set(&leaping.of);
                leaping.leaps.iter().fold(M::NONE, |set, leap| set | leap.of(of))
            }
            set => self.far(set),
        }
    }

    /// Returns the squares of a set whose evaluation takes more than one step.
    #[inline(never)]
    fn far(&self, set: &Set<M>) -> M {
        match set {
            Set::Reach(along) => ops::reach(self.set(&along.of), self.set(&along.with), &along.directions),
            Set::Beyond(along) => ops::beyond(self.set(&along.of), self.set(&along.with), &along.directions),
            Set::Enclosed(along) => {
                ops::enclosed(self.set(&along.of), self.set(&along.with), &along.directions)
            }
            Set::Custodial(along) => {
                let by = self.set(&along.with);
                ops::custodial(self.set(&along.of), by, self.to & by, &along.directions)
            }
            Set::UpTo(both) => match self.ahead.get() {
                Some(ahead) => ops::up_to(self.set(&both[0]), self.set(&both[1]), &ahead),
                None => M::NONE,
            },
            Set::Group(along) => flood(self.set(&along.of), self.set(&along.with), &along.directions),
            Set::Line(line) => {
                let of = self.set(&line.of);
                line.row.iter().fold(M::NONE, |found, run| found | run.all(of, line.exactly))
            }
            Set::Floor(down) => {
                // squares with no square below, or with a piece below
                let stays = !down.inner | down.before(self.own | self.enemy);
                stays & self.board
            }
            Set::Leaf(_)
            | Set::Empty
            | Set::From
            | Set::To
            | Set::Over
            | Set::Moved
            | Set::Not(_)
            | Set::And(_)
            | Set::Or(_)
            | Set::Step(_)
            | Set::Others(_)
            | Set::Leap(_) => unreachable!("these sets are evaluated without a search"),
        }
    }

    fn number(&self, number: &Number<M>) -> i64 {
        match number {
            Number::Is(number) => *number,
            Number::Count(of) => self.set(of).count() as i64,
            Number::Counter(index) => i64::from(self.things.counters[*index]),
            Number::Ply => i64::from(self.ply),
            Number::Quiet => i64::from(self.quiet),
            Number::Passes => i64::from(self.passes),
            Number::Plus(both) => self.number(&both[0]).saturating_add(self.number(&both[1])),
            Number::Minus(both) => self.number(&both[0]).saturating_sub(self.number(&both[1])),
            Number::Groups(of, directions) => ops::groups(self.set(of), directions),
        }
    }

    /// Returns whether a condition holds. `stuck` returns whether a side has no action.
    pub(super) fn holds(&self, condition: &Condition<M>, stuck: &dyn Fn(Side) -> bool) -> bool {
        match condition {
            Condition::Compared(Number::Counter(index), how, Number::Is(number)) => {
                how.holds(self.things.counters[*index].into(), *number)
            }
            Condition::Not(of) => !self.holds(of, stuck),
            Condition::And(both) => self.holds(&both[0], stuck) && self.holds(&both[1], stuck),
            Condition::Or(both) => self.holds(&both[0], stuck) || self.holds(&both[1], stuck),
            Condition::Stuck(side) => stuck(*side),
            condition => self.holds_of_sets(condition),
        }
    }

    /// Returns whether a condition about sets and numbers holds.
    fn holds_of_sets(&self, condition: &Condition<M>) -> bool {
        match condition {
            // it is enough to know whether a row begins anywhere
            Condition::Any(Set::Line(line)) => {
                let of = self.set(&line.of);
                line.row.iter().any(|run| run.begins(of, line.exactly).any())
            }
            Condition::Any(of) => self.set(of).any(),
            // whether there is exactly one group can be decided without counting all groups
            Condition::Compared(Number::Groups(of, directions), Compare::Is, Number::Is(1)) => {
                let of = self.set(of);
                of.any() && flood(M::of(of.lowest()), of, directions) == of
            }
            Condition::Connected { what, from, to, directions } => {
                let what = self.set(what);
                (flood(self.set(from), what, directions) & self.set(to)).any()
            }
            Condition::Compared(one, how, other) => how.holds(self.number(one), self.number(other)),
            Condition::Place(spot, of) => {
                let place = match spot {
                    Spot::From => self.from,
                    Spot::To => self.to,
                    Spot::Over => self.over,
                };
                (place & self.set(of)).any()
            }
            // this condition is evaluated only for target squares
            Condition::Inward => false,
            Condition::Stuck(_) | Condition::Not(_) | Condition::And(_) | Condition::Or(_) => {
                unreachable!("these conditions are not about sets")
            }
        }
    }
}
