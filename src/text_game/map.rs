//! How a tree becomes another one: node by node, with other leaves.

use super::ast::{Condition, Effect, Leaves, Number, Set};

/// A change of the leaves `L` of a tree into the leaves `N`.
///
/// A type that implements it says what becomes of each leaf, and may change what becomes of whole sets and conditions:
/// every part of a tree goes through [`Mapping::set`] and [`Mapping::condition`].
pub trait Mapping<L: Leaves, N: Leaves>: Sized {
    fn squares(&mut self, squares: &L::Squares) -> Set<N>;
    fn direction(&mut self, direction: L::Direction) -> N::Direction;
    fn leap(&mut self, leap: L::Leap) -> N::Leap;
    fn row(&mut self, row: &L::Row) -> N::Row;
    fn counter(&mut self, counter: L::Counter) -> N::Counter;

    fn directions(&mut self, directions: &[L::Direction]) -> Vec<N::Direction> {
        directions.iter().map(|direction| self.direction(*direction)).collect()
    }

    /// Directions of which opposite ones mean the same.
    fn axes(&mut self, axes: &[L::Direction]) -> Vec<N::Direction> {
        self.directions(axes)
    }

    fn leaps(&mut self, leaps: &[L::Leap]) -> Vec<N::Leap> {
        leaps.iter().map(|leap| self.leap(*leap)).collect()
    }

    fn set(&mut self, set: &Set<L>) -> Set<N> {
        set.mapped(self)
    }

    fn condition(&mut self, condition: &Condition<L>) -> Condition<N> {
        condition.mapped(self)
    }
}

impl<L: Leaves> Set<L> {
    /// The same set of mapped parts.
    pub fn mapped<N: Leaves>(&self, map: &mut impl Mapping<L, N>) -> Set<N> {
        match self {
            Set::Leaf(squares) => map.squares(squares),
            Set::Empty => Set::Empty,
            Set::From => Set::From,
            Set::To => Set::To,
            Set::Over => Set::Over,
            Set::Moved => Set::Moved,
            Set::Not(of) => Set::Not(boxed(of, map)),
            Set::And(both) => Set::And(Box::new(both.each_ref().map(|part| map.set(part)))),
            Set::Or(both) => Set::Or(Box::new(both.each_ref().map(|part| map.set(part)))),
            Set::Step { of, directions, others } => {
                Set::Step { of: boxed(of, map), directions: map.directions(directions), others: *others }
            }
            Set::Leap { of, leaps } => Set::Leap { of: boxed(of, map), leaps: map.leaps(leaps) },
            Set::Reach { of, over, directions } => Set::Reach {
                of: boxed(of, map),
                over: boxed(over, map),
                directions: map.directions(directions),
            },
            Set::Beyond { what, from, directions } => Set::Beyond {
                what: boxed(what, map),
                from: boxed(from, map),
                directions: map.directions(directions),
            },
            Set::Enclosed { what, by, axes, to } => {
                Set::Enclosed { what: boxed(what, map), by: boxed(by, map), axes: map.axes(axes), to: *to }
            }
            Set::UpTo { what, then } => Set::UpTo { what: boxed(what, map), then: boxed(then, map) },
            Set::Group { of, within, directions } => Set::Group {
                of: boxed(of, map),
                within: boxed(within, map),
                directions: map.directions(directions),
            },
            Set::Line { of, row, exactly } => {
                Set::Line { of: boxed(of, map), row: map.row(row), exactly: *exactly }
            }
            Set::Floor(down) => Set::Floor(map.direction(*down)),
        }
    }
}

fn boxed<L: Leaves, N: Leaves>(set: &Set<L>, map: &mut impl Mapping<L, N>) -> Box<Set<N>> {
    Box::new(map.set(set))
}

impl<L: Leaves> Number<L> {
    /// The same number of mapped parts.
    pub fn mapped<N: Leaves>(&self, map: &mut impl Mapping<L, N>) -> Number<N> {
        match self {
            Number::Is(number) => Number::Is(*number),
            Number::Count(of) => Number::Count(map.set(of)),
            Number::Counter(counter) => Number::Counter(map.counter(*counter)),
            Number::Ply => Number::Ply,
            Number::Quiet => Number::Quiet,
            Number::Passes => Number::Passes,
            Number::Plus(both) => Number::Plus(Box::new(both.each_ref().map(|part| part.mapped(map)))),
            Number::Minus(both) => Number::Minus(Box::new(both.each_ref().map(|part| part.mapped(map)))),
            Number::Groups(of, directions) => Number::Groups(map.set(of), map.directions(directions)),
        }
    }
}

impl<L: Leaves> Condition<L> {
    /// The same condition of mapped parts.
    pub fn mapped<N: Leaves>(&self, map: &mut impl Mapping<L, N>) -> Condition<N> {
        match self {
            Condition::Any(of) => Condition::Any(map.set(of)),
            Condition::Connected { what, from, to, directions } => Condition::Connected {
                what: map.set(what),
                from: map.set(from),
                to: map.set(to),
                directions: map.directions(directions),
            },
            Condition::Stuck(side) => Condition::Stuck(*side),
            Condition::Compared(one, how, other) => {
                Condition::Compared(one.mapped(map), *how, other.mapped(map))
            }
            Condition::Place(spot, of) => Condition::Place(*spot, map.set(of)),
            Condition::Inward => Condition::Inward,
            Condition::Not(of) => Condition::not(map.condition(of)),
            Condition::And(both) => Condition::And(Box::new(both.each_ref().map(|part| map.condition(part)))),
            Condition::Or(both) => Condition::Or(Box::new(both.each_ref().map(|part| map.condition(part)))),
        }
    }
}

impl<L: Leaves> Effect<L> {
    /// The same effect of mapped parts.
    pub fn mapped<N: Leaves>(&self, map: &mut impl Mapping<L, N>) -> Effect<N> {
        match self {
            Effect::Remove(of) => Effect::Remove(map.set(of)),
            Effect::Flip(of) => Effect::Flip(map.set(of)),
            Effect::Mark(state, of) => Effect::Mark(*state, map.set(of)),
            Effect::Unmark(state, of) => Effect::Unmark(*state, map.set(of)),
            Effect::Promote(kind, of) => Effect::Promote(*kind, map.set(of)),
            Effect::Count(counter, by) => Effect::Count(map.counter(*counter), *by),
            Effect::When(condition, effect) => {
                Effect::When(map.condition(condition), Box::new(effect.mapped(map)))
            }
        }
    }
}
