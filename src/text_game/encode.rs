//! Writes the planes of a position.

use super::ast::Side;
use super::game::TextGame;
use super::limits::MOST_LINES;
use super::mask::Mask;
use super::planes::Plane;
use super::rules::{ANY_LINE, Clock, Move, NOWHERE};
use super::state::State;
use super::text::CounterOf;
use crate::encode::Planes;

/// Writes every plane of a position.
pub(super) fn write<M: Mask>(game: &TextGame<M>, state: &State<M>, planes: &mut Planes) {
    let of = &*game.0;
    let position = (&state.things, &state.clock);
    if !of.program.encode(of, state.to_move.index(), position, state.result.is_some(), planes) {
        write_by_trees(game, state, planes);
    }
    if let Some(plane) = of.encoding.iter().position(|plane| *plane == Plane::Repetition) {
        let times = of.rules[0].repetition.as_ref().map_or(2, |(times, _)| *times);
        let before = state.past.count(game.occurrence(state));
        planes.fill(plane, before as f32 / f32::from(times - 1));
    }
}

/// Writes every plane of a position but that of repetitions, without compiled rules.
pub(super) fn write_by_trees<M: Mask>(game: &TextGame<M>, state: &State<M>, planes: &mut Planes) {
    let of = &*game.0;
    let [own, enemy] = game.rules(state.to_move);
    let player = own.player;
    let text = &of.text;
    // the opponent's targets are found as if it were the opponent's turn
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
                        // for a hop off the board, show the last square on the board
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
            Plane::Repetition => {}
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
