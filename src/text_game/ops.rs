//! The leaves of a lowered tree: masks and shifts of whole boards.

use super::ast::{self, Leaves};
use super::geometry::{Board, direction_of};
use super::limits::{MOST_COUNTERS, MOST_SETS};
use super::mask::Mask;

/// The leaves of a tree that is lowered for one player, on boards that fit into `M`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Compiled<M>(std::marker::PhantomData<M>);

impl<M: Mask> Leaves for Compiled<M> {
    type Squares = Slot<M>;
    type Direction = Ahead<M>;
    type Leap = Ahead<M>;
    type Row = Vec<SquareRun<M>>;
    /// An index among the counters of a position.
    type Counter = usize;

    fn is_sided(_squares: &Slot<M>) -> bool {
        false
    }

    fn is_relative(_direction: Ahead<M>) -> bool {
        false
    }

    fn directions(_row: &Vec<SquareRun<M>>) -> &[Ahead<M>] {
        &[]
    }
}

pub(super) type Set<M> = ast::Set<Compiled<M>>;
pub(super) type Number<M> = ast::Number<Compiled<M>>;
pub(super) type Condition<M> = ast::Condition<Compiled<M>>;
pub(super) type Effect<M> = ast::Effect<Compiled<M>>;

/// Where the squares of a leaf are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Slot<M> {
    Fixed(M),
    /// One of the sets of a position.
    Of(usize),
    Own,
    Enemy,
    All,
    /// A set that is computed once per position because it is named or expensive to compute.
    Kept(usize),
}

/// The part of a position that actions change: where pieces and states are, and the counters.
#[derive(Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub(super) struct Things<M> {
    /// The first player's pieces by kind, then the second player's, then the states.
    pub sets: [M; MOST_SETS],
    pub counters: [u16; MOST_COUNTERS],
}

impl<M: Copy> Clone for Things<M> {
    /// Copies all bytes at once. The derived method would clone set by set into a temporary, and copy that.
    #[inline]
    fn clone(&self) -> Things<M> {
        *self
    }
}

/// A step as an operation on sets of squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ahead<M> {
    /// The squares from which the step stays on the board.
    pub inner: M,
    /// The number of the square ahead minus that of the square itself.
    pub by: i32,
    /// The compass direction; `u8::MAX` if the step is longer than to a neighbor.
    pub compass: u8,
}

impl<M: Mask> Ahead<M> {
    pub(super) fn new(board: &Board, step: (i32, i32)) -> Ahead<M> {
        let inner = M::from_wide(board.with_neighbor(step));
        // a step that always leaves the board can be longer than the board
        let by = if inner.is_none() { 0 } else { board.difference(step) };
        Ahead { inner, by, compass: direction_of(step).map_or(u8::MAX, |compass| compass as u8) }
    }

    /// Returns the squares one step ahead of `squares`.
    #[inline(always)]
    pub(super) fn of(&self, squares: M) -> M {
        (squares & self.inner).shifted(self.by)
    }

    /// Returns the squares from which the step leads to one of `squares`.
    #[inline(always)]
    pub(super) fn before(&self, squares: M) -> M {
        squares.shifted(-self.by) & self.inner
    }

    /// Returns the step in the opposite direction.
    pub(super) fn back(&self) -> Ahead<M> {
        Ahead { inner: self.of(self.inner), by: -self.by, compass: u8::MAX }
    }

    /// Returns the squares ahead of a square, up to the edge.
    pub(super) fn ray(&self, square: usize) -> M {
        let (mut ray, mut front) = (M::NONE, self.of(M::of(square)));
        while front.any() {
            ray |= front;
            front = self.of(front);
        }
        ray
    }
}

/// Finds runs of a given number of squares along an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SquareRun<M> {
    pub length: usize,
    pub one: Ahead<M>,
    /// Steps that double the length of a run or complete it. A longer run begins on a square if a run of the length
    /// reached so far begins there and another run of this length begins one jump ahead.
    pub jumps: Vec<Ahead<M>>,
}

impl<M: Mask> SquareRun<M> {
    pub(super) fn new(board: &Board, step: (i32, i32), length: usize) -> SquareRun<M> {
        let by = |squares: usize| Ahead::new(board, (step.0 * squares as i32, step.1 * squares as i32));
        let (mut jumps, mut reached) = (Vec::new(), 1);
        while reached < length {
            let jump = reached.min(length - reached);
            jumps.push(by(jump));
            reached += jump;
        }
        SquareRun { length, one: by(1), jumps }
    }

    /// Returns the squares where runs in `of` begin; with `exactly`, only runs of exactly this length.
    #[inline]
    pub(super) fn begins(&self, of: M, exactly: bool) -> M {
        let begins = self.jumps.iter().fold(of, |begins, jump| begins & jump.before(begins));
        if exactly { begins & !(self.one.before(begins) & of) & !self.one.of(of) } else { begins }
    }

    /// Returns all squares of the runs that [`Self::begins`] finds.
    pub(super) fn all(&self, of: M, exactly: bool) -> M {
        let begins = self.begins(of, exactly);
        (1..self.length).fold(begins, |all, _| begins | self.one.of(all))
    }
}

/// Returns all squares of `within` that are connected to `seeds` through squares of `within`, including the seeds.
#[inline]
pub(super) fn flood<M: Mask>(mut seeds: M, within: M, directions: &[Ahead<M>]) -> M {
    seeds &= within;
    loop {
        let before = seeds;
        // each direction continues from the squares that the directions before it have reached
        for ahead in directions {
            seeds |= ahead.of(seeds) & within;
        }
        if seeds == before {
            return seeds;
        }
    }
}

// The searches below are loops because a closure that is folded over the directions is not always inlined.

/// Returns the squares that lines from `of` reach over squares of `over`, including the first square not in `over`.
#[inline(always)]
pub(super) fn reach<M: Mask>(of: M, over: M, directions: &[Ahead<M>]) -> M {
    let mut set = M::NONE;
    for ahead in directions {
        let mut front = ahead.of(of);
        while front.any() {
            set |= front;
            front = ahead.of(front & over);
        }
    }
    set
}

/// Returns the first squares behind straight runs of `what` that begin next to `from`.
#[inline(always)]
pub(super) fn beyond<M: Mask>(what: M, from: M, directions: &[Ahead<M>]) -> M {
    let mut set = M::NONE;
    for ahead in directions {
        let mut front = ahead.of(from) & what;
        while front.any() {
            let next = ahead.of(front);
            set |= next & !what;
            front = next & what;
        }
    }
    set
}

/// Returns the straight runs of `what`, along each axis, with a square of `by` at both ends.
#[inline(always)]
pub(super) fn enclosed<M: Mask>(what: M, by: M, axes: &[Ahead<M>]) -> M {
    let mut set = M::NONE;
    for axis in axes {
        set |= run(what, by, |squares| axis.of(squares)) & run(what, by, |squares| axis.before(squares));
    }
    set
}

/// Returns the straight runs of `what`, along each axis, with a square of `by` at one end and a square of `to` at the
/// other.
#[inline(always)]
pub(super) fn custodial<M: Mask>(what: M, by: M, to: M, axes: &[Ahead<M>]) -> M {
    let mut set = M::NONE;
    for axis in axes {
        let after = |begin: M| run(what, begin, |squares| axis.of(squares));
        let before = |begin: M| run(what, begin, |squares| axis.before(squares));
        set |= after(to) & before(by) | after(by) & before(to);
    }
    set
}

/// Returns the squares of `what` that follow `begin` without a gap.
#[inline(always)]
fn run<M: Mask>(what: M, begin: M, next: impl Fn(M) -> M) -> M {
    let (mut set, mut front) = (M::NONE, next(begin) & what);
    while front.any() {
        set |= front;
        front = next(front) & what & !set;
    }
    set
}

/// Returns the squares of `what` for which the first square ahead that is outside `what` is in `then`.
#[inline(always)]
pub(super) fn up_to<M: Mask>(what: M, then: M, ahead: &Ahead<M>) -> M {
    let (mut set, mut front) = (M::NONE, ahead.before(then & !what) & what);
    while front.any() {
        set |= front;
        front = ahead.before(front) & what;
    }
    set
}

/// Returns the number of connected groups of squares of `of`.
pub(super) fn groups<M: Mask>(of: M, directions: &[Ahead<M>]) -> i64 {
    let (mut rest, mut groups) = (of, 0);
    while rest.any() {
        rest &= !flood(M::of(rest.lowest()), rest, directions);
        groups += 1;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text_game::geometry::{STEPS, Tiling};

    #[test]
    fn steps_stay_on_the_board() {
        let mut board = Board::new(5, 4, Tiling::Squares);
        board.keep(|column, row| (column, row) != (2, 1));
        for step in STEPS {
            let ahead = Ahead::<u64>::new(&board, step);
            for square in board.squares.squares() {
                let to = board.neighbor(square, step);
                assert_eq!(ahead.of(u64::of(square)), to.map_or(0, u64::of));
                if let Some(to) = to {
                    assert_eq!(ahead.before(u64::of(to)), u64::of(square));
                    assert!(board.squares.has(to));
                }
            }
        }
    }
}
