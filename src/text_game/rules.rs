//! The rules of a text from one player's point of view, compiled from its lines of actions and its ends.

use std::cell::Cell;

use super::eval::Sight;
use super::mask::Mask;
use super::ops::{Ahead, Condition, Effect, Set, Things};
use super::text::Next;

/// How a piece moves on one plane of actions.
#[derive(Clone, Debug)]
pub(super) struct ActionPlane<M> {
    /// The step from the square that the piece leaves to its target square.
    pub by: Ahead<M>,
    /// A single step in the direction of the move.
    pub step: Ahead<M>,
    pub distance: usize,
    /// The compass direction if the move is a single step; otherwise `u8::MAX`.
    pub going: u8,
    /// Squares from which the move leads nearer to the center.
    pub inward: M,
}

#[derive(Clone, Debug)]
pub(super) enum Move<M> {
    Place,
    Drop,
    /// One plane for each direction and distance; its squares are those that the piece leaves.
    From(Vec<ActionPlane<M>>),
    /// One plane for all actions, since there is only one piece of the kind; the squares of the plane are those that
    /// the piece moves to.
    To(Vec<Ahead<M>>),
    /// As [`Move::To`], for slides of any length.
    Ray(Vec<Rays<M>>),
    Pass,
    Swap,
}

/// The rays from all squares in one direction.
#[derive(Clone, Debug)]
pub(super) struct Rays<M> {
    pub ahead: Ahead<M>,
    /// Whether the numbers of the squares rise along the rays.
    pub is_rising: bool,
    /// For each square, the squares from there to the edge.
    pub from: Vec<M>,
}

impl<M> Move<M> {
    pub(super) fn is_pass(&self) -> bool {
        matches!(self, Move::Pass)
    }

    /// Returns whether the actions belong to squares.
    pub(super) fn is_on_squares(&self) -> bool {
        !matches!(self, Move::Drop | Move::Pass | Move::Swap)
    }

    /// Returns the number of planes of a line's actions, or the number of its actions if they belong to no square.
    pub(super) fn width(&self, columns: usize) -> usize {
        match self {
            Move::From(planes) => planes.len(),
            Move::Drop => columns,
            Move::Place | Move::To(_) | Move::Ray(_) | Move::Pass | Move::Swap => 1,
        }
    }
}

/// What a slide passes through.
#[derive(Clone, Debug)]
pub(super) struct Through<M: Mask> {
    pub set: Set<M>,
    /// The fewest and the most steps.
    pub least: usize,
    pub most: usize,
}

/// What a hop passes over.
#[derive(Clone, Debug)]
pub(super) struct Over<M: Mask> {
    pub set: Set<M>,
    /// Whether the hop may leave the board.
    pub off_board: bool,
}

/// A line of actions, as one player plays it.
#[derive(Clone, Debug)]
pub(super) struct Line<M: Mask> {
    pub phase: usize,
    pub group: usize,
    /// The index, among the sets of a position, of the set of pieces that this line moves or places.
    pub piece: Option<usize>,
    pub moves: Move<M>,
    pub to: Set<M>,
    pub over: Option<Over<M>>,
    pub through: Option<Through<M>>,
    /// For slides with `exactly count`: the set whose squares are counted in the line of the slide, and the lines of
    /// the board for each plane.
    pub exactly: Option<(Set<M>, Vec<Vec<M>>)>,
    /// Conditions that depend only on the position.
    pub general: Vec<Condition<M>>,
    /// Conditions that depend on where an action leads.
    pub conditions: Vec<Condition<M>>,
    /// Conditions that depend on the piece that moves, but not on where it goes.
    pub of_piece: Vec<Condition<M>>,
    /// Conditions for the position after the action.
    pub required: Vec<Condition<M>>,
    pub effects: Vec<Effect<M>>,
    pub next: Next,
    pub captures: bool,
    pub exchanges: bool,
    /// Whether `to` depends on the direction in which the piece moves.
    pub by_direction: bool,
    /// The first plane of the line's actions, or its first action if its actions belong to no square.
    pub first: usize,
}

/// The rules from one player's point of view.
#[derive(Clone, Debug)]
pub(super) struct Rules<M: Mask> {
    pub player: usize,
    pub kinds: usize,
    pub board: M,
    pub lines: Vec<Line<M>>,
    /// The number of planes of actions.
    pub planes: usize,
    /// The number of all actions.
    pub actions: usize,
    /// Sets that are computed once per position. Named sets come first.
    pub sets: Vec<Set<M>>,
    pub ends: Vec<(Condition<M>, Ending<M>)>,
    pub stuck: Option<Ending<M>>,
    pub repetition: Option<(u16, Ending<M>)>,
    pub quiet: Option<(u16, Ending<M>)>,
    pub limit: (u16, Ending<M>),
    pub columns: Vec<M>,
    /// The line of each plane of actions, then of each action that belongs to no square.
    pub owners: Vec<u8>,
    /// For each phase, whether a player can always pass.
    pub passes: Vec<bool>,
}

#[derive(Clone, Debug)]
pub(super) enum Ending<M: Mask> {
    Win,
    Loss,
    Draw,
    /// The player with more of these squares wins. The first set has this player's squares, the second the opponent's.
    Most(Box<[Set<M>; 2]>),
}

/// Everything in a position except its [things](Things).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Clock {
    pub ply: u16,
    pub quiet: u16,
    pub passes: u8,
    pub phase: u8,
    /// Whether the player who has acted continues.
    pub goes_on: bool,
    /// The square of the piece that has moved and whose player continues; [`NOWHERE`] if there is none.
    pub moved: u16,
    /// The line of actions by which this piece must continue; [`ANY_LINE`] if any line is permitted.
    pub line: u8,
}

pub(super) const NOWHERE: u16 = u16::MAX;
pub(super) const ANY_LINE: u8 = u8::MAX;

/// The squares that an action leaves, moves to, and jumps over. A set is empty if there is no such square.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trip<M> {
    pub from: M,
    pub to: M,
    pub over: M,
}

impl<M: Mask> Trip<M> {
    const NONE: Trip<M> = Trip { from: M::NONE, to: M::NONE, over: M::NONE };
}

impl<M: Mask> Rules<M> {
    /// Returns a position as this player sees it.
    #[inline]
    pub(super) fn sight<'a>(&'a self, things: &'a Things<M>, clock: &Clock) -> Sight<'a, M> {
        self.sight_of_action(&Trip::NONE, things, clock)
    }

    /// Returns a position as this player sees it during or after an action.
    #[inline]
    pub(super) fn sight_of_action<'a>(
        &'a self,
        trip: &Trip<M>,
        things: &'a Things<M>,
        clock: &Clock,
    ) -> Sight<'a, M> {
        let (first, second) = things.sets[..2 * self.kinds].split_at(self.kinds);
        let all = |pieces: &[M]| pieces.iter().fold(M::NONE, |set, more| set | *more);
        let (own, enemy) = if self.player == 0 { (first, second) } else { (second, first) };
        Sight {
            board: self.board,
            things,
            sets: &self.sets,
            kept: [const { Cell::new(M::NONE) }; _],
            is_kept: Cell::new(0),
            own: all(own),
            enemy: all(enemy),
            from: trip.from,
            to: trip.to,
            over: trip.over,
            moved: if clock.moved == NOWHERE { M::NONE } else { M::of(clock.moved as usize) },
            ply: clock.ply,
            quiet: clock.quiet,
            passes: clock.passes,
            going: Cell::new(u8::MAX),
            ahead: Cell::new(None),
        }
    }

    /// Returns the squares of the action that belongs to this square of this plane.
    #[inline]
    pub(super) fn trip(&self, line: &Line<M>, plane: usize, square: usize, things: &Things<M>) -> Trip<M> {
        match &line.moves {
            Move::Place | Move::Drop => Trip { to: M::of(square), ..Trip::NONE },
            Move::To(_) | Move::Ray(_) => {
                let from = line.piece.map_or(M::NONE, |piece| things.sets[piece]);
                Trip { from, to: M::of(square), ..Trip::NONE }
            }
            Move::From(planes) => {
                let (plane, from) = (&planes[plane - line.first], M::of(square));
                let over = if line.over.is_some() { plane.step.of(from) } else { M::NONE };
                Trip { from, to: plane.by.of(from), over }
            }
            Move::Pass | Move::Swap => Trip::NONE,
        }
    }

    /// Returns the line of an action that belongs to no square. `cells` is the number of squares of a plane.
    pub(super) fn owner(&self, action: usize, cells: usize) -> usize {
        self.owners[self.planes + action - self.planes * cells].into()
    }

    /// Returns the square of a column that a piece falls to.
    pub(super) fn lowest_empty(&self, column: usize, things: &Things<M>) -> usize {
        let pieces = things.sets[..2 * self.kinds].iter().fold(M::NONE, |set, more| set | *more);
        (self.columns[column] & self.board & !pieces).lowest()
    }
}
