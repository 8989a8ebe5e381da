//! Sets that cost much are found once in a position: each gets a number, and the same ones get the same.
//!
//! Input: the rules of one player. What depends on the action that is asked for, or on the direction in which a piece
//! goes, stays where it is.

use super::mask::Mask;
use super::program::{Doing, Set, Test, Value};
use super::rules::Rules;

/// Gives numbers to the sets of these rules.
pub fn share<M: Mask>(rules: &mut Rules<M>) {
    let Rules { sets, lines, ends, .. } = rules;
    for index in 0..sets.len() {
        let mut set = std::mem::replace(&mut sets[index], Set::Empty);
        // what has a name means the same wherever a piece comes from
        for_each_set(&mut set, &mut |part| {
            if let Set::Others(steps) = part {
                let steps = std::mem::take(steps).into_iter().map(|(_, step)| step);
                *part = steps.reduce(|one, other| Set::Or(Box::new((one, other)))).unwrap_or(Set::Empty);
            }
        });
        set.parts().into_iter().for_each(|part| number(part, sets));
        sets[index] = set;
    }
    for line in lines {
        let over = line.over.iter_mut().map(|(over, _)| over);
        let through = line.through.iter_mut().map(|(through, ..)| through);
        let exactly = line.exactly.iter_mut().map(|(of, _)| of);
        std::iter::once(&mut line.to)
            .chain(over)
            .chain(through)
            .chain(exactly)
            .for_each(|set| number(set, sets));
        let conditions = line.general.iter_mut().chain(&mut line.of_piece).chain(&mut line.conditions);
        conditions.chain(&mut line.required).for_each(|test| in_test(test, sets));
        line.effects.iter_mut().for_each(|effect| in_effect(effect, sets));
    }
    ends.iter_mut().for_each(|(test, _)| in_test(test, sets));
}

/// Gives numbers to a set or its parts.
fn number<M: Mask>(set: &mut Set<M>, sets: &mut Vec<Set<M>>) {
    set.parts().into_iter().for_each(|part| number(part, sets));
    let costs_much = matches!(
        set,
        Set::Step { .. }
            | Set::Reach { .. }
            | Set::Beyond { .. }
            | Set::Enclosed { .. }
            | Set::Group { .. }
            | Set::Line { .. }
            | Set::Floor(_)
    );
    if costs_much && is_of_position(set) {
        let known = sets.iter().position(|known| known == set);
        let index = known.unwrap_or(sets.len());
        let set = std::mem::replace(set, Set::Kept(index));
        if known.is_none() {
            sets.push(set);
        }
    }
}

/// Whether a set depends on nothing but the position.
fn is_of_position<M: Mask>(set: &mut Set<M>) -> bool {
    let mut is = true;
    for_each_set(set, &mut |part| {
        is &= !matches!(
            part,
            Set::From | Set::To | Set::Over | Set::UpTo(_) | Set::Others(_) | Set::Enclosed { to: true, .. }
        );
    });
    is
}

fn for_each_set<M: Mask>(set: &mut Set<M>, found: &mut dyn FnMut(&mut Set<M>)) {
    found(set);
    set.parts().into_iter().for_each(|part| for_each_set(part, found));
}

fn in_test<M: Mask>(test: &mut Test<M>, sets: &mut Vec<Set<M>>) {
    match test {
        // only whether there is one is asked of a line
        Test::Any(Set::Line { of, .. }) => number(of, sets),
        Test::Any(set) | Test::Place(_, set) => number(set, sets),
        Test::Connected { what, from, to, .. } => {
            [what, from, to].into_iter().for_each(|set| number(set, sets))
        }
        Test::Compared(one, _, other) => [one, other].into_iter().for_each(|value| in_value(value, sets)),
        Test::Not(of) => in_test(of, sets),
        Test::And(both) | Test::Or(both) => {
            in_test(&mut both.0, sets);
            in_test(&mut both.1, sets);
        }
        Test::Stuck(_) | Test::Inward => {}
    }
}

fn in_value<M: Mask>(value: &mut Value<M>, sets: &mut Vec<Set<M>>) {
    match value {
        Value::Count(set) | Value::Groups(set, _) => number(set, sets),
        Value::Plus(both) | Value::Minus(both) => {
            in_value(&mut both.0, sets);
            in_value(&mut both.1, sets);
        }
        Value::Is(_) | Value::Counter(_) | Value::Ply | Value::Quiet | Value::Passes => {}
    }
}

fn in_effect<M: Mask>(effect: &mut Doing<M>, sets: &mut Vec<Set<M>>) {
    match effect {
        Doing::Remove(set)
        | Doing::Flip(set)
        | Doing::Mark(_, set)
        | Doing::Unmark(_, set)
        | Doing::Promote(_, set) => number(set, sets),
        Doing::When(test, effects) => {
            in_test(test, sets);
            effects.iter_mut().for_each(|effect| in_effect(effect, sets));
        }
        Doing::Count(..) => {}
    }
}

impl<M> Set<M> {
    /// The sets of which this one consists.
    fn parts(&mut self) -> Vec<&mut Set<M>> {
        match self {
            Set::Not(of) | Set::Step { of, .. } | Set::Line { of, .. } => vec![of],
            Set::And(parts)
            | Set::Or(parts)
            | Set::Reach { parts, .. }
            | Set::Beyond { parts, .. }
            | Set::Enclosed { parts, .. }
            | Set::UpTo(parts)
            | Set::Group { parts, .. } => {
                let (one, other) = &mut **parts;
                vec![one, other]
            }
            Set::Others(steps) => steps.iter_mut().map(|(_, step)| step).collect(),
            Set::Fixed(_)
            | Set::Of(_)
            | Set::Own
            | Set::Enemy
            | Set::All
            | Set::Empty
            | Set::Kept(_)
            | Set::From
            | Set::To
            | Set::Over
            | Set::Moved
            | Set::Floor(_) => Vec::new(),
        }
    }
}
