//! A text as one player means it, as operations on whole boards, and their meaning in a position.
//!
//! A line of actions costs a few shifts for each direction, whatever the number of pieces: what a direction allows is
//! a set of squares. Only what a line requires of the position afterward is tried action by action.

use std::cell::Cell;

use super::geometry::{Ahead, Board, STEPS, opposite};
use super::limits::{MOST_COUNTERS, MOST_KEPT, MOST_SETS};
use super::mask::Mask;
use super::syntax::{self, Compare, Directions, Side, Spot};
use super::tree::has_own;

/// Where pieces and states are, and the counters; the part of a position that actions change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Things<M> {
    /// The first player's pieces by kind, the second's, and the states.
    pub sets: [M; MOST_SETS],
    pub counters: [u16; MOST_COUNTERS],
}

/// Squares as operations.
#[derive(Clone, Debug, PartialEq)]
pub enum Set<M> {
    Fixed(M),
    /// One of the sets of a position.
    Of(usize),
    Own,
    Enemy,
    All,
    Empty,
    /// What is found once in a position: a named set, or another one that [costs much](super::share).
    Kept(usize),
    From,
    To,
    Over,
    Moved,
    Not(Box<Set<M>>),
    And(Box<(Set<M>, Set<M>)>),
    Or(Box<(Set<M>, Set<M>)>),
    Step {
        aheads: Vec<Ahead<M>>,
        of: Box<Set<M>>,
    },
    /// What each direction leads to, but for the one in which a piece comes: it does not count itself.
    Others(Vec<(u8, Set<M>)>),
    Reach {
        aheads: Vec<Ahead<M>>,
        parts: Box<(Set<M>, Set<M>)>,
    },
    Beyond {
        aheads: Vec<Ahead<M>>,
        parts: Box<(Set<M>, Set<M>)>,
    },
    Enclosed {
        axes: Vec<Ahead<M>>,
        parts: Box<(Set<M>, Set<M>)>,
        to: bool,
    },
    UpTo(Box<(Set<M>, Set<M>)>),
    Group {
        aheads: Vec<Ahead<M>>,
        parts: Box<(Set<M>, Set<M>)>,
    },
    Line {
        exactly: bool,
        axes: Vec<Run<M>>,
        of: Box<Set<M>>,
    },
    Floor(Ahead<M>),
}

/// Runs of a number of squares along an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Run<M> {
    length: usize,
    one: Ahead<M>,
    /// Runs of the length that is reached so far, begun so many squares apart, make a longer one.
    jumps: Vec<Ahead<M>>,
}

#[derive(Clone, Debug)]
pub enum Value<M> {
    Is(i64),
    Count(Set<M>),
    Counter(usize),
    Ply,
    Quiet,
    Passes,
    Plus(Box<(Value<M>, Value<M>)>),
    Minus(Box<(Value<M>, Value<M>)>),
    Groups(Set<M>, Vec<Ahead<M>>),
}

#[derive(Clone, Debug)]
pub enum Test<M> {
    Any(Set<M>),
    Connected { what: Set<M>, from: Set<M>, to: Set<M>, aheads: Vec<Ahead<M>> },
    Stuck(Side),
    Compared(Value<M>, Compare, Value<M>),
    Place(Spot, Set<M>),
    Inward,
    Not(Box<Test<M>>),
    And(Box<(Test<M>, Test<M>)>),
    Or(Box<(Test<M>, Test<M>)>),
}

#[derive(Clone, Debug)]
pub enum Doing<M> {
    Remove(Set<M>),
    Flip(Set<M>),
    Mark(usize, Set<M>),
    Unmark(usize, Set<M>),
    Promote(usize, Set<M>),
    Count(usize, i64),
    When(Test<M>, Vec<Doing<M>>),
}

/// Makes operations of a tree.
#[derive(Clone, Copy)]
pub struct Compiler<'a> {
    pub board: &'a Board,
    pub text: &'a syntax::Text,
    pub player: usize,
}

impl Compiler<'_> {
    pub fn aheads<M: Mask>(&self, directions: &Directions) -> Vec<Ahead<M>> {
        directions.iter().map(|direction| Ahead::new(self.board, STEPS[direction.compass as usize])).collect()
    }

    /// A step in one direction of each axis.
    fn axes(directions: &Directions) -> impl Iterator<Item = (i32, i32)> {
        let compass: Vec<usize> = directions.iter().map(|direction| direction.compass as usize).collect();
        let is_first = |at: usize| !compass[..at].contains(&opposite(compass[at]));
        let first: Vec<usize> = (0..compass.len()).filter(|at| is_first(*at)).collect();
        first.into_iter().map(move |at| STEPS[compass[at]])
    }

    fn run<M: Mask>(&self, step: (i32, i32), length: usize) -> Run<M> {
        let by = |squares: usize| Ahead::new(self.board, (step.0 * squares as i32, step.1 * squares as i32));
        let (mut jumps, mut reached) = (Vec::new(), 1);
        while reached < length {
            let jump = reached.min(length - reached);
            jumps.push(by(jump));
            reached += jump;
        }
        Run { length, one: by(1), jumps }
    }

    /// The index of a kind of piece of one side among the sets of a position.
    pub fn pieces(&self, side: Side, kind: usize) -> usize {
        let player = if side == Side::Own { self.player } else { 1 - self.player };
        player * self.text.kinds.len() + kind
    }

    pub fn counter(&self, counter: usize, side: Side, kind: Option<usize>) -> usize {
        let player = if side == Side::Own { self.player } else { 1 - self.player };
        self.text.numbers_of(counter, player).start + kind.unwrap_or(0)
    }

    fn parts<M: Mask>(&self, one: &syntax::Squares, other: &syntax::Squares) -> Box<(Set<M>, Set<M>)> {
        Box::new((self.set(one), self.set(other)))
    }

    pub fn set<M: Mask>(&self, squares: &syntax::Squares) -> Set<M> {
        use syntax::Squares as From;
        match squares {
            From::Fixed(squares) => Set::Fixed(M::from_wide(squares[self.player])),
            From::Each(of) => self.set(&of[self.player]),
            From::Pieces(None, None) => Set::All,
            From::Pieces(Some(side), None) if self.text.kinds.len() == 1 => Set::Of(self.pieces(*side, 0)),
            From::Pieces(Some(Side::Own), None) => Set::Own,
            From::Pieces(Some(Side::Enemy), None) => Set::Enemy,
            From::Pieces(Some(side), Some(kind)) => Set::Of(self.pieces(*side, *kind)),
            From::Pieces(None, Some(kind)) => Set::Or(Box::new((
                Set::Of(self.pieces(Side::Own, *kind)),
                Set::Of(self.pieces(Side::Enemy, *kind)),
            ))),
            From::Empty => Set::Empty,
            From::State(state) => Set::Of(2 * self.text.kinds.len() + state),
            From::Set(set) => Set::Kept(*set),
            From::From => Set::From,
            From::To => Set::To,
            From::Over => Set::Over,
            From::Moved => Set::Moved,
            From::Not(of) => Set::Not(Box::new(self.set(of))),
            From::And(one, other) => Set::And(self.parts(one, other)),
            From::Or(one, other) => Set::Or(self.parts(one, other)),
            From::Step(directions, of) if has_own(of) => {
                let step = |ahead: Ahead<M>| Set::Step { aheads: vec![ahead], of: Box::new(self.set(of)) };
                let steps = self.aheads(directions).into_iter().map(step);
                Set::Others(directions.iter().map(|direction| direction.compass).zip(steps).collect())
            }
            From::Step(directions, of) => {
                Set::Step { aheads: self.aheads(directions), of: Box::new(self.set(of)) }
            }
            From::Leap(steps, of) => Set::Step {
                aheads: steps.iter().map(|step| Ahead::new(self.board, *step)).collect(),
                of: Box::new(self.set(of)),
            },
            From::Reach { of, over, directions } => {
                Set::Reach { aheads: self.aheads(directions), parts: self.parts(of, over) }
            }
            From::Beyond { what, from, directions } => {
                Set::Beyond { aheads: self.aheads(directions), parts: self.parts(what, from) }
            }
            From::Enclosed { what, by, directions, to } => {
                let axes = Self::axes(directions).map(|step| Ahead::new(self.board, step)).collect();
                Set::Enclosed { axes, parts: self.parts(what, by), to: *to }
            }
            From::UpTo { what, then } => Set::UpTo(self.parts(what, then)),
            From::Group { of, within, directions } => {
                Set::Group { aheads: self.aheads(directions), parts: self.parts(of, within) }
            }
            From::Line { length, exactly, what, directions } => Set::Line {
                exactly: *exactly,
                axes: Self::axes(directions).map(|step| self.run(step, *length)).collect(),
                of: Box::new(self.set(what)),
            },
            From::Floor(down) => Set::Floor(Ahead::new(self.board, STEPS[down.compass as usize])),
        }
    }

    fn value<M: Mask>(&self, number: &syntax::Number) -> Value<M> {
        use syntax::Number as From;
        let both = |one: &From, other: &From| Box::new((self.value(one), self.value(other)));
        match number {
            From::Is(number) => Value::Is(*number),
            From::Count(of) => Value::Count(self.set(of)),
            From::Counter(counter, side, kind) => Value::Counter(self.counter(*counter, *side, *kind)),
            From::Ply => Value::Ply,
            From::Quiet => Value::Quiet,
            From::Passes => Value::Passes,
            From::Plus(one, other) => Value::Plus(both(one, other)),
            From::Minus(one, other) => Value::Minus(both(one, other)),
            From::Groups(of, directions) => Value::Groups(self.set(of), self.aheads(directions)),
        }
    }

    pub fn test<M: Mask>(&self, condition: &syntax::Condition) -> Test<M> {
        use syntax::Condition as From;
        let both = |one: &From, other: &From| Box::new((self.test(one), self.test(other)));
        match condition {
            From::Any(of) => Test::Any(self.set(of)),
            From::Connected { what, from, to, directions } => Test::Connected {
                what: self.set(what),
                from: self.set(from),
                to: self.set(to),
                aheads: self.aheads(directions),
            },
            From::Stuck(side) => Test::Stuck(*side),
            From::Compared(one, how, other) => Test::Compared(self.value(one), *how, self.value(other)),
            From::Place(spot, of) => Test::Place(*spot, self.set(of)),
            From::Inward => Test::Inward,
            From::Not(of) => Test::Not(Box::new(self.test(of))),
            From::And(one, other) => Test::And(both(one, other)),
            From::Or(one, other) => Test::Or(both(one, other)),
        }
    }

    /// What is done besides moving, capturing and exchanging, which belong to a line.
    pub fn doing<M: Mask>(&self, effect: &syntax::Effect, kind: Option<usize>) -> Option<Doing<M>> {
        use syntax::Effect as From;
        Some(match effect {
            From::Capture | From::Exchange => return None,
            From::Remove(of) => Doing::Remove(self.set(of)),
            From::Flip(of) => Doing::Flip(self.set(of)),
            From::Mark(state, of) => Doing::Mark(2 * self.text.kinds.len() + state, self.set(of)),
            From::Unmark(state, of) => Doing::Unmark(2 * self.text.kinds.len() + state, self.set(of)),
            From::Promote(kind, of) => Doing::Promote(*kind, self.set(of)),
            From::Count(counter, side, by) => {
                let kind = kind.filter(|_| self.text.counters[*counter].per_piece);
                Doing::Count(self.counter(*counter, *side, kind), *by)
            }
            From::When(condition, effects) => Doing::When(
                self.test(condition),
                effects.iter().filter_map(|effect| self.doing(effect, kind)).collect(),
            ),
        })
    }
}

/// A position as one player sees it, in which sets have a meaning.
pub struct Sight<'a, M: Mask> {
    /// The squares of the board.
    pub board: M,
    pub things: &'a Things<M>,
    /// The player's sets that are found once, those that were, and a bit for each of these.
    pub sets: &'a [Set<M>],
    pub kept: [Cell<M>; MOST_KEPT],
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
    /// The direction in which a piece takes one step, while it is asked where it may go.
    pub going: Cell<u8>,
    pub ahead: Cell<Option<Ahead<M>>>,
}

/// All squares that are connected to `seeds` through squares of `within`, themselves among them.
#[inline]
pub fn flood<M: Mask>(mut seeds: M, within: M, aheads: &[Ahead<M>]) -> M {
    seeds &= within;
    loop {
        let before = seeds;
        // each direction goes on from what the ones before it have reached
        for ahead in aheads {
            seeds |= ahead.of(seeds) & within;
        }
        if seeds == before {
            return seeds;
        }
    }
}

impl<M: Mask> Sight<'_, M> {
    /// The squares of a set.
    #[inline]
    pub fn set(&self, set: &Set<M>) -> M {
        match set {
            Set::Fixed(squares) => *squares,
            Set::Of(index) => self.things.sets[*index],
            Set::Own => self.own,
            Set::Enemy => self.enemy,
            Set::All => self.own | self.enemy,
            Set::Empty => self.board & !(self.own | self.enemy),
            Set::From => self.from,
            Set::To => self.to,
            Set::Over => self.over,
            Set::Moved => self.moved,
            Set::Kept(index) if *index < MOST_KEPT && self.is_kept.get() >> index & 1 == 1 => {
                self.kept[*index].get()
            }
            set => self.found(set),
        }
    }

    /// The same for sets that consist of others.
    fn found(&self, set: &Set<M>) -> M {
        match set {
            Set::Kept(index) => {
                let squares = self.set(&self.sets[*index]);
                if let Some(kept) = self.kept.get(*index) {
                    kept.set(squares);
                    self.is_kept.set(self.is_kept.get() | 1 << index);
                }
                squares
            }
            Set::Not(of) => self.board & !self.set(of),
            Set::And(both) => self.set(&both.0) & self.set(&both.1),
            Set::Or(both) => self.set(&both.0) | self.set(&both.1),
            Set::Step { aheads, of } => {
                let of = self.set(of);
                aheads.iter().fold(M::NONE, |set, ahead| set | ahead.of(of))
            }
            Set::Others(steps) => {
                let going = self.going.get();
                let others = steps.iter().filter(|(direction, _)| *direction != going);
                others.fold(M::NONE, |set, (_, step)| set | self.set(step))
            }
            set => self.far(set),
        }
    }

    /// The same for sets that need more than a step.
    #[inline(never)]
    fn far(&self, set: &Set<M>) -> M {
        match set {
            Set::Reach { aheads, parts } => {
                let (of, over) = (self.set(&parts.0), self.set(&parts.1));
                aheads.iter().fold(M::NONE, |reached, ahead| {
                    let (mut set, mut front) = (reached, ahead.of(of));
                    while front.any() {
                        set |= front;
                        front = ahead.of(front & over);
                    }
                    set
                })
            }
            Set::Beyond { aheads, parts } => {
                let (what, from) = (self.set(&parts.0), self.set(&parts.1));
                aheads.iter().fold(M::NONE, |found, ahead| {
                    let (mut set, mut front) = (found, ahead.of(from) & what);
                    while front.any() {
                        let next = ahead.of(front);
                        set |= next & !what;
                        front = next & what;
                    }
                    set
                })
            }
            Set::Enclosed { axes, parts, to } => {
                let (what, by) = (self.set(&parts.0), self.set(&parts.1));
                axes.iter().fold(M::NONE, |found, ahead| {
                    // squares of `what` from which the run behind, and the one ahead, ends at `by`
                    let run = |mut set: M, front: M| {
                        let mut front = front & what;
                        while front.any() {
                            set |= front;
                            front = ahead.of(front) & what & !set;
                        }
                        set
                    };
                    let back = |mut front: M| {
                        let mut set = M::NONE;
                        front &= what;
                        while front.any() {
                            set |= front;
                            front = ahead.before(front) & what & !set;
                        }
                        set
                    };
                    let behind = |ends: M| run(M::NONE, ahead.of(ends));
                    let before = |ends: M| back(ahead.before(ends));
                    found
                        | if *to {
                            let end = self.to & by;
                            behind(end) & before(by) | behind(by) & before(end)
                        } else {
                            behind(by) & before(by)
                        }
                })
            }
            Set::UpTo(parts) => {
                let (what, then) = (self.set(&parts.0), self.set(&parts.1));
                let Some(ahead) = self.ahead.get() else { return M::NONE };
                let (mut set, mut front) = (M::NONE, ahead.before(then & !what) & what);
                while front.any() {
                    set |= front;
                    front = ahead.before(front) & what;
                }
                set
            }
            Set::Group { aheads, parts } => {
                let within = self.set(&parts.1);
                flood(self.set(&parts.0), within, aheads)
            }
            Set::Line { exactly, axes, of } => {
                let of = self.set(of);
                axes.iter().fold(M::NONE, |found, run| found | run.all(of, *exactly))
            }
            Set::Floor(down) => {
                // squares without one below, or with a piece there
                let stays = !down.inner | down.before(self.own | self.enemy);
                stays & self.board
            }
            _ => unreachable!("these are found at once"),
        }
    }

    fn value(&self, value: &Value<M>) -> i64 {
        match value {
            Value::Is(number) => *number,
            Value::Count(of) => self.set(of).count() as i64,
            Value::Counter(index) => i64::from(self.things.counters[*index]),
            Value::Ply => i64::from(self.ply),
            Value::Quiet => i64::from(self.quiet),
            Value::Passes => i64::from(self.passes),
            Value::Plus(both) => self.value(&both.0).saturating_add(self.value(&both.1)),
            Value::Minus(both) => self.value(&both.0).saturating_sub(self.value(&both.1)),
            Value::Groups(of, aheads) => {
                let mut rest = self.set(of);
                let mut groups = 0;
                while rest.any() {
                    rest &= !flood(M::of(rest.lowest()), rest, aheads);
                    groups += 1;
                }
                groups
            }
        }
    }

    /// Whether a condition holds; `stuck` says whether a side has no action.
    pub fn holds(&self, test: &Test<M>, stuck: &dyn Fn(Side) -> bool) -> bool {
        match test {
            Test::Compared(Value::Counter(index), how, Value::Is(number)) => {
                how.holds(self.things.counters[*index].into(), *number)
            }
            Test::Not(of) => !self.holds(of, stuck),
            Test::And(both) => self.holds(&both.0, stuck) && self.holds(&both.1, stuck),
            Test::Or(both) => self.holds(&both.0, stuck) || self.holds(&both.1, stuck),
            Test::Stuck(side) => stuck(*side),
            test => self.holds_of_sets(test),
        }
    }

    /// The same for conditions of sets and numbers.
    fn holds_of_sets(&self, test: &Test<M>) -> bool {
        match test {
            // where the lines are does not matter
            Test::Any(Set::Line { exactly, axes, of }) => {
                let of = self.set(of);
                axes.iter().any(|run| run.begins(of, *exactly).any())
            }
            Test::Any(of) => self.set(of).any(),
            // whether there is just one group is known as soon as one is
            Test::Compared(Value::Groups(of, aheads), Compare::Is, Value::Is(1)) => {
                let of = self.set(of);
                of.any() && flood(M::of(of.lowest()), of, aheads) == of
            }
            Test::Connected { what, from, to, aheads } => {
                let what = self.set(what);
                (flood(self.set(from), what, aheads) & self.set(to)).any()
            }
            Test::Compared(one, how, other) => how.holds(self.value(one), self.value(other)),
            Test::Place(spot, of) => {
                let place = match spot {
                    Spot::From => self.from,
                    Spot::To => self.to,
                    Spot::Over => self.over,
                };
                (place & self.set(of)).any()
            }
            // only where pieces may go is asked for it
            Test::Inward => false,
            Test::Stuck(_) | Test::Not(_) | Test::And(_) | Test::Or(_) => unreachable!("these are no sets"),
        }
    }
}

impl<M: Mask> Run<M> {
    /// Squares at which such runs of these begin; with `exactly`, of those that are no longer.
    #[inline]
    fn begins(&self, of: M, exactly: bool) -> M {
        let begins = self.jumps.iter().fold(of, |begins, jump| begins & jump.before(begins));
        if exactly { begins & !(self.one.before(begins) & of) & !self.one.of(of) } else { begins }
    }

    /// Their squares.
    fn all(&self, of: M, exactly: bool) -> M {
        let begins = self.begins(of, exactly);
        (1..self.length).fold(begins, |all, _| begins | self.one.of(all))
    }
}
