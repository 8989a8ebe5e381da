//! The symmetries of a text, and how its second player sees the board.

use super::geometry::{Direction, STEPS};
use super::mask::Mask;
use super::rules::{Move, Rules};
use super::text::{Text, Way};
use super::transform::{Comparable, mapped};
use crate::board::Symmetry;

/// Finds the symmetry ("turning") of the board that gives the second player the same lines of actions as the first, in
/// the same order. Also returns whether games then end in the same way. Returns `None` if there is no such symmetry.
pub(super) fn turning_of(first: &Text, second: &Text) -> Option<(Symmetry, bool)> {
    let board = &first.board;
    let meant = Comparable::of(second);
    let turned = |symmetry: Symmetry| {
        let seen = Comparable::of(&mapped(first, symmetry));
        let again = is_involution(symmetry, board.width, board.height);
        let lines = again.then(|| seen.lines_in(&meant)).flatten()?;
        // the lines must keep their order so that their planes keep theirs
        let is_ordered = lines.iter().enumerate().all(|(at, line)| at == *line);
        is_ordered.then(|| (symmetry, seen.ends_as(&meant)))
    };
    let turnings: Vec<(Symmetry, bool)> =
        preferred(&board.symmetries()).into_iter().filter_map(turned).collect();
    turnings.iter().find(|(_, ends)| *ends).or(turnings.first()).copied()
}

/// Returns whether a symmetry is its own inverse.
fn is_involution(symmetry: Symmetry, width: usize, height: usize) -> bool {
    let twice = |square: usize| symmetry.square(symmetry.square(square, height, width), height, width);
    (0..width * height).all(|square| twice(square) == square)
}

/// Sorts symmetries into the order in which they are tried for the second player's view.
fn preferred(there: &[Symmetry]) -> Vec<Symmetry> {
    let turn = |transpose: bool, mirror_columns: bool, mirror_rows: bool| Symmetry {
        transpose,
        mirror_columns,
        mirror_rows,
    };
    let order = [
        Symmetry::IDENTITY,
        Symmetry::ROW_MIRROR,
        turn(false, true, true),
        turn(false, true, false),
        turn(true, false, false),
        turn(true, true, true),
    ];
    order.into_iter().filter(|symmetry| there.contains(symmetry)).collect()
}

/// Returns `text` with the ends and results of `other`.
pub(super) fn with_ends_of(text: Text, other: &Text) -> Text {
    Text {
        ends: other.ends.clone(),
        stuck: other.stuck.clone(),
        repetition: other.repetition.clone(),
        quiet: other.quiet.clone(),
        limit: other.limit.clone(),
        ..text
    }
}

/// The symmetries of a text.
pub(super) struct Symmetries {
    pub symmetries: Vec<Symmetry>,
    /// For each symmetry, the plane of actions to which it maps each plane.
    pub plane_maps: Vec<Vec<u16>>,
    /// For each symmetry, the line of actions to which it maps each line.
    pub line_maps: Vec<Vec<u8>>,
    /// For each line of actions, the first line that a symmetry maps it to. A network sees a position and its image on
    /// the same planes, so lines that are mapped to each other share their planes.
    pub kin: Vec<usize>,
}

/// Finds the symmetries of both players' rules. A symmetry in the view of the player to move must also be one in the
/// other player's view, where it is a different symmetry if the turning exchanges rows and columns.
pub(super) fn symmetries<M: Mask>(
    text: &Text,
    seen: [&Text; 2],
    turning: Symmetry,
    rules: &Rules<M>,
) -> Symmetries {
    let plain = seen.map(Comparable::of);
    let of_lines = |symmetry: Symmetry| {
        let both = [0, 1].map(|player| {
            let turned = Comparable::of(&mapped(seen[player], symmetry));
            turned.lines_in(&plain[player]).filter(|_| turned.ends_as(&plain[player]))
        });
        let [Some(lines), Some(others)] = both else { return None };
        let map = (lines == others).then(|| plane_map(seen[0], rules, &lines, symmetry)).flatten()?;
        Some((symmetry, lines, map))
    };
    let there = text.board.symmetries();
    let mut found: Vec<_> = there.iter().filter_map(|symmetry| of_lines(*symmetry)).collect();
    let (width, height) = (text.board.width, text.board.height);
    let is_seen_as = |one: Symmetry, other: Symmetry| {
        let turned = |square| turning.square(square, height, width);
        (0..width * height).all(|square| {
            turned(one.square(turned(square), height, width)) == other.square(square, height, width)
        })
    };
    let both_ways: Vec<Symmetry> = found.iter().map(|(symmetry, ..)| *symmetry).collect();
    found.retain(|(symmetry, ..)| both_ways.iter().any(|other| is_seen_as(*symmetry, *other)));
    let mut kin: Vec<usize> = (0..text.actions.len()).collect();
    for (_, lines, _) in &found {
        // the symmetries form a group, so the images of a line are all lines that it is related to
        lines.iter().enumerate().for_each(|(line, image)| kin[line] = kin[line].min(*image));
    }
    let symmetries: Vec<Symmetry> = found.iter().map(|(symmetry, ..)| *symmetry).collect();
    let line_maps = found.iter().map(|(_, lines, _)| lines.iter().map(|line| *line as u8).collect());
    Symmetries {
        symmetries,
        line_maps: line_maps.collect(),
        plane_maps: found.into_iter().map(|(.., map)| map).collect(),
        kin,
    }
}

/// Finds the planes that a symmetry maps the planes of all lines to, if it maps the lines to `lines`.
fn plane_map<M: Mask>(
    text: &Text,
    rules: &Rules<M>,
    lines: &[usize],
    symmetry: Symmetry,
) -> Option<Vec<u16>> {
    let mut map = Vec::new();
    for (index, line) in rules.lines.iter().enumerate() {
        let to = &rules.lines[lines[index]];
        match &line.moves {
            Move::Place | Move::To(_) | Move::Ray(_) => map.push(to.first as u16),
            Move::From(_) => {
                let there = steps_of(&text.actions[lines[index]].way);
                for step in steps_of(&text.actions[index].way) {
                    let image = symmetry.step(step);
                    let at = there.iter().position(|step| *step == image)?;
                    map.push((to.first + at) as u16);
                }
            }
            Move::Drop | Move::Pass | Move::Swap => {}
        }
    }
    Some(map)
}

/// Returns, for each plane of a line, the step from the square that the piece leaves to the square that it moves to.
pub(super) fn steps_of(way: &Way) -> Vec<(i32, i32)> {
    let step = |direction: &Direction| STEPS[direction.compass as usize];
    let far = |(x, y): (i32, i32), distance: i32| (x * distance, y * distance);
    match way {
        Way::Step(directions) => directions.iter().map(step).collect(),
        Way::Hop { directions, .. } => directions.iter().map(|direction| far(step(direction), 2)).collect(),
        Way::Slide { directions, most, .. } => {
            let all = |direction| (1..=*most as i32).map(move |distance| far(step(direction), distance));
            directions.iter().flat_map(all).collect()
        }
        Way::Leap(steps) => steps.clone(),
        Way::Place | Way::Drop | Way::Pass | Way::Swap => Vec::new(),
    }
}
