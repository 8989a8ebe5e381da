//! The planes by which a network sees a position: one for everything that the text names.

use super::ast::Side;
use super::game::TextGame;
use super::limits::MOST_LINES;
use super::mask::Mask;
use super::rules::{ANY_LINE, Clock, Line, Move, NOWHERE, Rules};
use super::state::State;
use super::text::{CounterOf, Next, Number, Text};
use crate::encode::Planes;

/// The content of a plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plane {
    /// Pieces of a kind of one side.
    Pieces(Side, usize),
    Empty,
    State(usize),
    /// A named set, as a side sees it.
    Set(usize, Side),
    /// The squares to which a side could go by a line of actions, or by one that a symmetry maps to it.
    Targets(usize, Side),
    /// The square of the piece that has moved and continues.
    Moved,
    Phase(usize),
    /// Whether a piece continues by this line of actions, or by one that a symmetry maps to it.
    By(usize),
    /// A counter and the number by which it is divided.
    Counter(usize, Side, Option<usize>, u16),
    Passes,
    Quiet,
    Repetition,
    /// The number of actions so far, counted from the start if true, else from half of the limit.
    Ply(bool),
    /// Whether the first player is to move.
    First,
}

/// Lists the planes of a text in their order.
pub fn layout<M: Mask>(text: &Text, rules: &[Rules<M>; 2], is_alike: bool, kin: &[usize]) -> Vec<Plane> {
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

/// Writes every plane.
pub fn write<M: Mask>(game: &TextGame<M>, state: &State<M>, planes: &mut Planes) {
    let of = &*game.0;
    let [own, enemy] = game.rules(state.to_move);
    let player = own.player;
    let text = &of.text;
    // the other player's view, as if that player were to move
    let clock = Clock { goes_on: false, moved: NOWHERE, line: ANY_LINE, ..state.clock };
    let sights = [own.sight(&state.things, &state.clock), enemy.sight(&state.things, &clock)];
    let side = |side: Side| usize::from(side == Side::Enemy);
    let seen = |squares: M| game.seen(squares, player);
    // the squares to which each line leads
    let mut targets = [[M::NONE; MOST_LINES]; 2];
    if state.result.is_none() {
        for (at, (rules, clock)) in [(own, &state.clock), (enemy, &clock)].into_iter().enumerate() {
            rules.each(&sights[at], clock, &mut |line, plane, squares| {
                let to = match &rules.lines[line].moves {
                    Move::From(planes) => {
                        let plane = &planes[plane - rules.lines[line].first];
                        // a hop over the edge shows its last square on the board
                        let inside = squares & plane.by.inner;
                        let outside = squares & !plane.by.inner;
                        plane.by.of(inside) | plane.step.of(outside)
                    }
                    _ => squares,
                };
                targets[at][of.kin[line]] |= to;
                false
            });
        }
    }
    for (plane, what) in of.encoding.iter().enumerate() {
        match *what {
            Plane::Pieces(whose, kind) => {
                let rules = if whose == Side::Own { own } else { enemy };
                planes.set_bits(plane, seen(state.things.sets[rules.player * rules.kinds + kind]));
            }
            Plane::Empty => planes.set_bits(plane, seen(own.board & !(sights[0].own | sights[0].enemy))),
            Plane::State(index) => planes.set_bits(plane, seen(state.things.sets[2 * own.kinds + index])),
            Plane::Set(index, whose) => {
                let squares = sights[side(whose)].kept(index);
                planes.set_bits(plane, seen(squares));
            }
            Plane::Targets(line, whose) => planes.set_bits(plane, seen(targets[side(whose)][line])),
            Plane::Moved => planes.set_bits(plane, seen(sights[0].moved)),
            Plane::Phase(phase) => planes.fill(plane, f32::from(phase == state.clock.phase as usize)),
            Plane::By(line) => {
                let by = of.kin.get(usize::from(state.clock.line));
                planes.fill(plane, f32::from(by == Some(&line)));
            }
            Plane::Counter(counter, whose, kind, most) => {
                let whose = if whose == Side::Own { player } else { 1 - player };
                let number = text.number_of(CounterOf { counter, side: Side::Own, kind }, whose);
                let now = state.things.counters[number];
                planes.fill(plane, f32::from(now) / f32::from(most));
            }
            Plane::Passes => planes.fill(plane, f32::from(state.clock.passes.min(2)) / 2.0),
            Plane::Quiet => {
                let most = own.quiet.as_ref().map_or(100, |(most, _)| *most);
                planes.fill(plane, f32::from(state.clock.quiet) / f32::from(most));
            }
            Plane::Repetition => {
                let times = own.repetition.as_ref().map_or(2, |(times, _)| *times);
                let before = state.past.count(game.occurrence(state));
                planes.fill(plane, before as f32 / f32::from(times - 1));
            }
            Plane::Ply(from_start) => {
                let limit = f32::from(own.limit.0);
                let ply = f32::from(state.clock.ply);
                let half = (limit / 2.0).floor();
                let share = if from_start { ply / limit } else { (ply - half).max(0.0) / (limit - half) };
                planes.fill(plane, share);
            }
            Plane::First => planes.fill(plane, f32::from(player == 0)),
        }
    }
}
