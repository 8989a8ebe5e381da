//! The syntax tree of rules as text: squares, numbers, conditions, and effects, generic over their [leaves](Leaves).
//!
//! A text is parsed into a tree of names and relative directions ([`Read`](super::text::Read)) and lowered to the same
//! tree with masks and shifts ([`Compiled`](super::ops::Compiled)). This module defines what both trees share: the
//! parts of a node ([`Set::parts`]), what a node costs and depends on ([`Set::node`]), and how one tree is turned into
//! another ([`Mapping`]).

use std::fmt::Debug;
use std::ops::BitOr;

/// The types of the leaves of a tree.
pub(super) trait Leaves: Clone + Debug + PartialEq {
    /// A set of squares that is not composed of other sets.
    type Squares: Clone + Debug + PartialEq;
    /// A step to a neighbor.
    type Direction: Copy + Debug + PartialEq;
    /// A step of any length.
    type Leap: Copy + Debug + PartialEq;
    /// Squares in a row: a length and directions.
    type Row: Clone + Debug + PartialEq;
    /// The counter of a side or, if the counter is kept per piece, of one kind of a side's pieces.
    type Counter: Copy + Debug + PartialEq;

    /// Whether these squares differ between the players.
    fn is_sided(squares: &Self::Squares) -> bool;

    /// Whether this direction means the opposite one for the second player.
    fn is_relative(direction: Self::Direction) -> bool;

    /// The directions of a row.
    fn directions(row: &Self::Row) -> &[Self::Direction];
}

/// A mapping of a tree with leaves `L` to a tree with leaves `N`.
///
/// An implementation defines the new leaf for each leaf. It can also replace whole sets and conditions, because every
/// part of a tree goes through [`Mapping::set`] and [`Mapping::condition`].
pub(super) trait Mapping<L: Leaves, N: Leaves>: Sized {
    fn squares(&mut self, squares: &L::Squares) -> Set<N>;
    fn direction(&mut self, direction: L::Direction) -> N::Direction;
    fn leap(&mut self, leap: L::Leap) -> N::Leap;
    fn row(&mut self, row: &L::Row) -> N::Row;
    fn counter(&mut self, counter: L::Counter) -> N::Counter;

    fn directions(&mut self, directions: &[L::Direction]) -> Vec<N::Direction> {
        directions.iter().map(|direction| self.direction(*direction)).collect()
    }

    /// Maps directions that stand for axes: opposite directions mean the same axis.
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

/// The side that pieces or a counter belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The player who acts or, in the condition of an `end`, the player who has acted.
    Own,
    Enemy,
}

/// What a set costs and depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Nature {
    /// Takes more than a few operations, so it pays to compute the set once per position and keep it.
    pub costs_much: bool,
    /// Depends on the squares of an action: `from`, `to`, `over`.
    pub of_action: bool,
    /// Has a meaning only for a piece that moves in a direction: `up to`.
    pub ahead: bool,
    /// Excludes the piece that moves in a direction.
    pub others: bool,
    /// Depends on which piece continues: `moved`.
    pub of_moved: bool,
    /// Differs between the players.
    pub is_sided: bool,
}

impl Nature {
    const NONE: Nature = Nature {
        costs_much: false,
        of_action: false,
        ahead: false,
        others: false,
        of_moved: false,
        is_sided: false,
    };
    const COSTS_MUCH: Nature = Nature { costs_much: true, ..Nature::NONE };
    const OF_ACTION: Nature = Nature { of_action: true, ..Nature::NONE };

    /// Whether the set depends on the direction in which a piece moves.
    pub(super) fn is_directed(self) -> bool {
        self.ahead || self.others
    }

    /// Whether the set is the same for all actions of a position.
    pub(super) fn is_of_position(self) -> bool {
        !self.of_action && !self.is_directed()
    }
}

impl BitOr for Nature {
    type Output = Nature;

    fn bitor(self, other: Nature) -> Nature {
        Nature {
            costs_much: self.costs_much | other.costs_much,
            of_action: self.of_action | other.of_action,
            ahead: self.ahead | other.ahead,
            others: self.others | other.others,
            of_moved: self.of_moved | other.of_moved,
            is_sided: self.is_sided | other.is_sided,
        }
    }
}

/// A set of squares.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Set<L: Leaves> {
    Leaf(L::Squares),
    /// Squares without a piece.
    Empty,
    /// The square that the piece leaves.
    From,
    /// The square that the piece goes to.
    To,
    /// The square that a hop passes over.
    Over,
    /// The square of the piece that has just moved and continues.
    Moved,
    Not(Box<Set<L>>),
    And(Box<[Set<L>; 2]>),
    Or(Box<[Set<L>; 2]>),
    /// The squares one step away from a set.
    Step(Box<Around<L>>),
    /// As [`Set::Step`], but a piece that moves does not count as its own neighbor.
    Others(Box<Around<L>>),
    /// The squares one leap away from a set.
    Leap(Box<Leaping<L>>),
    /// The squares that lines from `of` reach over squares of `with`, including the first square that is not in `with`.
    Reach(Box<Along<L>>),
    /// The first squares behind straight runs of `of` that begin next to `with`.
    Beyond(Box<Along<L>>),
    /// Straight runs of `of` with a square of `with` at both ends.
    Enclosed(Box<Along<L>>),
    /// As [`Set::Enclosed`], but only runs with the piece that has just arrived at one of their ends.
    Custodial(Box<Along<L>>),
    /// The squares of the first set from which continuing over squares of this set, in the direction of the move, leads
    /// to a square of the second set.
    UpTo(Box<[Set<L>; 2]>),
    /// The squares of `with` that are connected to `of` through squares of `with`.
    Group(Box<Along<L>>),
    /// Squares in a row.
    Line(Box<InRow<L>>),
    /// Squares whose neighbor in this direction has a piece or is off the board: the squares where falling pieces stop.
    Floor(Box<L::Direction>),
}

/// Squares and directions from them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Around<L: Leaves> {
    pub of: Set<L>,
    pub directions: Vec<L::Direction>,
}

/// Squares and leaps from them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Leaping<L: Leaves> {
    pub of: Set<L>,
    pub leaps: Vec<L::Leap>,
}

/// Two sets and the directions that connect them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Along<L: Leaves> {
    pub of: Set<L>,
    pub with: Set<L>,
    pub directions: Vec<L::Direction>,
}

/// Rows of squares that belong to a set.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InRow<L: Leaves> {
    pub of: Set<L>,
    pub row: L::Row,
    /// Whether only rows of exactly this length count.
    pub exactly: bool,
}

impl<L: Leaves> Set<L> {
    pub(super) fn and(one: Set<L>, other: Set<L>) -> Set<L> {
        Set::And(Box::new([one, other]))
    }

    pub(super) fn or(one: Set<L>, other: Set<L>) -> Set<L> {
        Set::Or(Box::new([one, other]))
    }

    /// Returns the direct parts of this set, in their order.
    pub(super) fn parts(&self) -> impl Iterator<Item = &Set<L>> {
        let (one, other) = match self {
            Set::Leaf(_) | Set::Empty | Set::From | Set::To | Set::Over | Set::Moved | Set::Floor(_) => {
                (None, None)
            }
            Set::Not(of) => (Some(&**of), None),
            Set::Step(around) | Set::Others(around) => (Some(&around.of), None),
            Set::Leap(leaping) => (Some(&leaping.of), None),
            Set::Line(line) => (Some(&line.of), None),
            Set::And(both) | Set::Or(both) | Set::UpTo(both) => (Some(&both[0]), Some(&both[1])),
            Set::Reach(along)
            | Set::Beyond(along)
            | Set::Enclosed(along)
            | Set::Custodial(along)
            | Set::Group(along) => (Some(&along.of), Some(&along.with)),
        };
        one.into_iter().chain(other)
    }

    /// Returns what this node alone, without its parts, costs and depends on.
    pub(super) fn node(&self) -> Nature {
        let search = |directions: &[L::Direction]| Nature {
            costs_much: true,
            is_sided: directions.iter().any(|direction| L::is_relative(*direction)),
            ..Nature::NONE
        };
        match self {
            Set::Leaf(squares) => Nature { is_sided: L::is_sided(squares), ..Nature::NONE },
            Set::Empty | Set::Not(_) | Set::And(_) | Set::Or(_) => Nature::NONE,
            Set::From | Set::To | Set::Over => Nature::OF_ACTION,
            Set::Moved => Nature { of_moved: true, ..Nature::NONE },
            Set::Step(around) => search(&around.directions),
            Set::Others(around) => Nature { others: true, ..search(&around.directions) },
            Set::Leap(_) => Nature::COSTS_MUCH,
            Set::Reach(along) | Set::Beyond(along) | Set::Enclosed(along) | Set::Group(along) => {
                search(&along.directions)
            }
            Set::Custodial(along) => Nature { of_action: true, ..search(&along.directions) },
            Set::UpTo(_) => Nature { ahead: true, ..Nature::NONE },
            Set::Line(line) => search(L::directions(&line.row)),
            Set::Floor(down) => search(std::slice::from_ref(down)),
        }
    }

    /// Returns what the whole set costs and depends on.
    pub(super) fn nature(&self) -> Nature {
        self.parts().fold(self.node(), |nature, part| nature | part.nature())
    }

    /// Returns the same kind of set with mapped parts.
    pub(super) fn mapped<N: Leaves, Map: Mapping<L, N>>(&self, map: &mut Map) -> Set<N> {
        match self {
            Set::Leaf(squares) => map.squares(squares),
            Set::Empty => Set::Empty,
            Set::From => Set::From,
            Set::To => Set::To,
            Set::Over => Set::Over,
            Set::Moved => Set::Moved,
            Set::Not(of) => Set::Not(Box::new(map.set(of))),
            Set::And(both) => Set::And(Box::new(both.each_ref().map(|part| map.set(part)))),
            Set::Or(both) => Set::Or(Box::new(both.each_ref().map(|part| map.set(part)))),
            Set::Step(around) => Set::Step(around.mapped(map)),
            Set::Others(around) => Set::Others(around.mapped(map)),
            Set::Leap(leaping) => {
                Set::Leap(Box::new(Leaping { of: map.set(&leaping.of), leaps: map.leaps(&leaping.leaps) }))
            }
            Set::Reach(along) => Set::Reach(along.mapped(map, Map::directions)),
            Set::Beyond(along) => Set::Beyond(along.mapped(map, Map::directions)),
            Set::Enclosed(along) => Set::Enclosed(along.mapped(map, Map::axes)),
            Set::Custodial(along) => Set::Custodial(along.mapped(map, Map::axes)),
            Set::UpTo(both) => Set::UpTo(Box::new(both.each_ref().map(|part| map.set(part)))),
            Set::Group(along) => Set::Group(along.mapped(map, Map::directions)),
            Set::Line(line) => Set::Line(Box::new(InRow {
                of: map.set(&line.of),
                row: map.row(&line.row),
                exactly: line.exactly,
            })),
            Set::Floor(down) => Set::Floor(Box::new(map.direction(**down))),
        }
    }
}

impl<L: Leaves> Around<L> {
    fn mapped<N: Leaves>(&self, map: &mut impl Mapping<L, N>) -> Box<Around<N>> {
        Box::new(Around { of: map.set(&self.of), directions: map.directions(&self.directions) })
    }
}

impl<L: Leaves> Along<L> {
    fn mapped<N: Leaves, Map: Mapping<L, N>>(
        &self,
        map: &mut Map,
        directions: impl Fn(&mut Map, &[L::Direction]) -> Vec<N::Direction>,
    ) -> Box<Along<N>> {
        let (of, with) = (map.set(&self.of), map.set(&self.with));
        Box::new(Along { of, with, directions: directions(map, &self.directions) })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Number<L: Leaves> {
    Is(i64),
    Count(Set<L>),
    Counter(L::Counter),
    Ply,
    Quiet,
    Passes,
    Plus(Box<[Number<L>; 2]>),
    Minus(Box<[Number<L>; 2]>),
    /// The number of connected groups of these squares.
    Groups(Set<L>, Vec<L::Direction>),
}

impl<L: Leaves> Number<L> {
    pub(super) fn plus(one: Number<L>, other: Number<L>) -> Number<L> {
        Number::Plus(Box::new([one, other]))
    }

    pub(super) fn minus(one: Number<L>, other: Number<L>) -> Number<L> {
        Number::Minus(Box::new([one, other]))
    }

    /// Returns the squares that this number counts, if it counts squares.
    fn set(&self) -> Option<&Set<L>> {
        match self {
            Number::Count(set) | Number::Groups(set, _) => Some(set),
            Number::Is(_)
            | Number::Counter(_)
            | Number::Ply
            | Number::Quiet
            | Number::Passes
            | Number::Plus(_)
            | Number::Minus(_) => None,
        }
    }

    /// Collects this number and the numbers that are added or subtracted in it.
    fn collect<'a>(&'a self, numbers: &mut Vec<&'a Number<L>>) {
        numbers.push(self);
        if let Number::Plus(both) | Number::Minus(both) = self {
            both.iter().for_each(|part| part.collect(numbers));
        }
    }

    /// Returns the same kind of number with mapped parts.
    pub(super) fn mapped<N: Leaves>(&self, map: &mut impl Mapping<L, N>) -> Number<N> {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compare {
    Less,
    AtMost,
    Is,
    Differs,
    AtLeast,
    More,
}

impl Compare {
    pub(super) fn holds(self, one: i64, other: i64) -> bool {
        match self {
            Compare::Less => one < other,
            Compare::AtMost => one <= other,
            Compare::Is => one == other,
            Compare::Differs => one != other,
            Compare::AtLeast => one >= other,
            Compare::More => one > other,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Condition<L: Leaves> {
    Any(Set<L>),
    Connected {
        what: Set<L>,
        from: Set<L>,
        to: Set<L>,
        directions: Vec<L::Direction>,
    },
    /// Whether a side has no action.
    Stuck(Side),
    Compared(Number<L>, Compare, Number<L>),
    /// Whether a square of the action is in this set.
    Place(Spot, Set<L>),
    /// Whether the action leads nearer to the center.
    Inward,
    Not(Box<Condition<L>>),
    And(Box<[Condition<L>; 2]>),
    Or(Box<[Condition<L>; 2]>),
}

impl<L: Leaves> Condition<L> {
    pub(super) fn not(of: Condition<L>) -> Condition<L> {
        Condition::Not(Box::new(of))
    }

    pub(super) fn and(one: Condition<L>, other: Condition<L>) -> Condition<L> {
        Condition::And(Box::new([one, other]))
    }

    pub(super) fn or(one: Condition<L>, other: Condition<L>) -> Condition<L> {
        Condition::Or(Box::new([one, other]))
    }

    /// Returns this condition and all conditions inside it, in their order.
    pub(super) fn all(&self) -> Vec<&Condition<L>> {
        let mut all = Vec::new();
        self.collect(&mut all);
        all
    }

    fn collect<'a>(&'a self, all: &mut Vec<&'a Condition<L>>) {
        all.push(self);
        match self {
            Condition::Not(of) => of.collect(all),
            Condition::And(both) | Condition::Or(both) => both.iter().for_each(|part| part.collect(all)),
            Condition::Any(_)
            | Condition::Connected { .. }
            | Condition::Stuck(_)
            | Condition::Compared(..)
            | Condition::Place(..)
            | Condition::Inward => {}
        }
    }

    pub(super) fn any(&self, holds: impl Fn(&Condition<L>) -> bool) -> bool {
        self.all().into_iter().any(holds)
    }

    /// Returns the numbers that this condition compares, and their parts.
    pub(super) fn numbers(&self) -> Vec<&Number<L>> {
        let mut numbers = Vec::new();
        for part in self.all() {
            if let Condition::Compared(one, _, other) = part {
                one.collect(&mut numbers);
                other.collect(&mut numbers);
            }
        }
        numbers
    }

    /// Returns the sets of squares that this condition tests, except those of [places](Condition::Place).
    pub(super) fn sets(&self) -> Vec<&Set<L>> {
        let mut sets = Vec::new();
        for part in self.all() {
            match part {
                Condition::Any(set) => sets.push(set),
                Condition::Connected { what, from, to, .. } => sets.extend([what, from, to]),
                Condition::Compared(..) => sets.extend(part.numbers().into_iter().filter_map(Number::set)),
                Condition::Stuck(_)
                | Condition::Place(..)
                | Condition::Inward
                | Condition::Not(_)
                | Condition::And(_)
                | Condition::Or(_) => {}
            }
        }
        sets
    }

    /// Returns the same kind of condition with mapped parts.
    pub(super) fn mapped<N: Leaves>(&self, map: &mut impl Mapping<L, N>) -> Condition<N> {
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

/// A square of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spot {
    From,
    To,
    Over,
}

/// What an action does besides moving and capturing.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Effect<L: Leaves> {
    Remove(Set<L>),
    /// Pieces change sides.
    Flip(Set<L>),
    /// Squares get this state.
    Mark(usize, Set<L>),
    /// Squares lose this state.
    Unmark(usize, Set<L>),
    /// Pieces become this kind.
    Promote(usize, Set<L>),
    /// A counter changes by this number.
    Count(L::Counter, i64),
    /// An effect that takes place only if a condition holds.
    When(Condition<L>, Box<Effect<L>>),
}

impl<L: Leaves> Effect<L> {
    /// Returns the effect without its condition.
    pub(super) fn unconditional(&self) -> &Effect<L> {
        match self {
            Effect::When(_, effect) => effect.unconditional(),
            effect => effect,
        }
    }

    /// Returns the condition of the effect, if it has one.
    pub(super) fn condition(&self) -> Option<&Condition<L>> {
        match self {
            Effect::When(condition, _) => Some(condition),
            _ => None,
        }
    }

    /// Returns the squares whose pieces or states the effect changes.
    pub(super) fn set(&self) -> Option<&Set<L>> {
        match self {
            Effect::Remove(set)
            | Effect::Flip(set)
            | Effect::Mark(_, set)
            | Effect::Unmark(_, set)
            | Effect::Promote(_, set) => Some(set),
            Effect::Count(..) => None,
            Effect::When(_, effect) => effect.set(),
        }
    }

    /// Returns the same kind of effect with mapped parts.
    pub(super) fn mapped<N: Leaves>(&self, map: &mut impl Mapping<L, N>) -> Effect<N> {
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
