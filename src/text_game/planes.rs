//! The planes in which a network sees a position. Everything that the text names has a plane.

use super::ast::Side;
use super::mask::Mask;
use super::rules::{Line, Move, Rules};
use super::text::{Next, Number, Text};

/// The content of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plane {
    /// One side's pieces of a kind.
    Pieces(Side, usize),
    Empty,
    State(usize),
    /// A named set, as a side sees it.
    Set(usize, Side),
    /// The squares that a side could go to by a line of actions, or by a line that a symmetry maps to it.
    Targets(usize, Side),
    /// The square of the piece that has moved and continues.
    Moved,
    Phase(usize),
    /// Whether a piece continues by this line of actions, or by a line that a symmetry maps to it.
    By(usize),
    /// A counter and the number by which it is divided.
    Counter(usize, Side, Option<usize>, u16),
    Passes,
    Quiet,
    Repetition,
    /// The number of actions so far, counted from the start if the field is true, or else from half of the limit.
    Ply(bool),
    /// Whether the first player is to move.
    First,
}

/// Lists the planes of a text in their order.
pub(super) fn layout<M: Mask>(
    text: &Text,
    rules: &[Rules<M>; 2],
    is_alike: bool,
    kin: &[usize],
) -> Vec<Plane> {
    let is_first = |line: usize| kin[line] == line;
    let mut planes = Vec::new();
    let sides = [Side::Own, Side::Enemy];
    for side in sides {
        planes.extend((0..text.kinds.len()).map(|kind| Plane::Pieces(side, kind)));
    }
    planes.push(Plane::Empty);
    planes.extend((0..text.states.len()).map(Plane::State));
    for (index, set) in text.sets.iter().enumerate() {
        planes.push(Plane::Set(index, Side::Own));
        if set.is_sided {
            planes.push(Plane::Set(index, Side::Enemy));
        }
    }
    for side in sides {
        let on_squares = rules[0]
            .lines
            .iter()
            .enumerate()
            .filter(|(index, line)| !is_without_square(line) && is_first(*index));
        planes.extend(on_squares.map(|(index, _)| Plane::Targets(index, side)));
    }
    if text.actions.iter().any(|line| matches!(line.next, Next::Again { .. } | Next::Then(_))) {
        planes.push(Plane::Moved);
    }
    if text.phases.len() > 1 {
        planes.extend((0..text.phases.len()).map(Plane::Phase));
    }
    let again = |line: &usize| matches!(text.actions[*line].next, Next::Again { .. }) && is_first(*line);
    let again: Vec<usize> = (0..text.actions.len()).filter(again).collect();
    if again.len() > 1 {
        planes.extend(again.into_iter().map(Plane::By));
    }
    for (index, counter) in text.counters.iter().enumerate() {
        for side in sides {
            let kinds: Vec<Option<usize>> =
                if counter.per_piece { (0..text.kinds.len()).map(Some).collect() } else { vec![None] };
            planes.extend(
                kinds.into_iter().map(|kind| Plane::Counter(index, side, kind, counter.start.max(1))),
            );
        }
    }
    if text.asks_for(&Number::Passes) {
        planes.push(Plane::Passes);
    }
    if text.quiet.is_some() || text.asks_for(&Number::Quiet) {
        planes.push(Plane::Quiet);
    }
    if text.repetition.is_some() {
        planes.push(Plane::Repetition);
    }
    planes.push(Plane::Ply(text.asks_for(&Number::Ply)));
    if !is_alike {
        planes.push(Plane::First);
    }
    planes
}

fn is_without_square<M: Mask>(line: &Line<M>) -> bool {
    matches!(line.moves, Move::Pass | Move::Swap)
}
