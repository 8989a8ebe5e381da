//! What a text must not say, although each of its words has its place.

use super::syntax::{ActionLine, Condition, Effect, End, Next, Number, Spot, Squares, Text, Verdict, Way};
use super::tree::{any_part, parts, speaks_of_action};
use super::words::{Parsed, Problem};

/// The first thing that a text says where it has no meaning.
///
/// # Errors
/// With its line.
pub fn check(text: &Text) -> Parsed<()> {
    text.actions.iter().try_for_each(|line| action(line).map_err(|what| at(line.line, what)))?;
    let can_pass =
        |phase: usize| text.actions.iter().any(|line| line.way == Way::Pass && line.phase == phase);
    let cannot_stop =
        |line: &&ActionLine| matches!(line.next, Next::Again { may: true }) && !can_pass(line.phase);
    if let Some(line) = text.actions.iter().find(cannot_stop) {
        let what = "who may go on may also stop, so the phase needs a line `otherwise pass`".into();
        return Err(at(line.line, what));
    }
    // the same player acts in another phase, in which the other one would begin if nothing led out of it
    let leads_out = |phase: usize| {
        let mut here = text.actions.iter().filter(|line| line.phase == phase);
        here.any(|line| matches!(line.next, Next::Then(other) | Next::Phase(other) if other != phase))
    };
    for line in &text.actions {
        if let Next::Then(phase) = line.next
            && !leads_out(phase)
        {
            let [into, from] = [phase, line.phase].map(|phase| &text.phases[phase]);
            let what = format!(
                "no action leaves the phase `{into}`, so the other player would begin there: add `phase {from}` to its actions"
            );
            return Err(at(line.line, what));
        }
    }
    text.ends.iter().try_for_each(|end_line| end(end_line).map_err(|what| at(end_line.line, what)))?;
    let verdicts = [&text.stuck, &text.repetition.as_ref().map(|rule| rule.1.clone())];
    let later = verdicts.into_iter().flatten().flatten();
    let later = later.chain(text.quiet.iter().flat_map(|rule| &rule.1)).chain(&text.limit.1);
    for verdict in later {
        if let Verdict::Most(squares) = verdict {
            no_action(squares).map_err(|what| at(text.actions.last().map_or(1, |line| line.line), what))?;
        }
    }
    Ok(())
}

fn at(line: usize, what: String) -> Problem {
    Problem { line, column: 1, what }
}

type Found = Result<(), String>;

fn no_action(squares: &Squares) -> Found {
    if speaks_of_action(squares) || any_part(squares, &|part| matches!(part, Squares::UpTo { .. })) {
        Err("`from`, `to`, `over`, `custodial` and `up to` have no meaning here, since nothing is being done"
            .into())
    } else {
        Ok(())
    }
}

fn end(end: &End) -> Found {
    parts(&end.condition, &mut |condition| match condition {
        Condition::Place(..) | Condition::Inward => {
            Err("an end cannot ask where a piece comes from or goes: it sees only the position".into())
        }
        _ => Ok(()),
    })?;
    let in_position = |squares: &Squares| {
        if any_part(squares, &|part| *part == Squares::Moved) {
            Err("`moved` has no meaning in an end: nobody is on the way".into())
        } else {
            no_action(squares)
        }
    };
    each(&end.condition, &mut |squares| in_position(squares))?;
    end.verdicts.iter().try_for_each(|verdict| match verdict {
        Verdict::Most(squares) => in_position(squares),
        _ => Ok(()),
    })
}

fn action(line: &ActionLine) -> Found {
    let moves = !matches!(line.way, Way::Place | Way::Drop | Way::Pass | Way::Swap);
    if !moves && line.effects.contains(&Effect::Exchange) {
        return Err("`exchange` needs a piece that moves".into());
    }
    let places_nothing_to_move = line.way == Way::Place && line.piece.is_none();
    if places_nothing_to_move && matches!(line.next, Next::Again { .. }) {
        return Err("`again` needs a piece that goes on, and nothing of a player is placed here".into());
    }
    let to = |squares: &Squares| {
        if speaks_of_action(squares) {
            return Err("where a piece may go cannot speak of `from`, `to`, `over` or `custodial`: use `if`, or name a set".into());
        }
        let ahead = any_part(squares, &|part| matches!(part, Squares::UpTo { .. }));
        if ahead && !moves { Err("`up to` needs a direction, which placing has not".into()) } else { Ok(()) }
    };
    to(&line.to)?;
    match &line.way {
        Way::Slide { through, exactly, .. } => {
            no_action(through)?;
            exactly.iter().try_for_each(no_action)?;
        }
        Way::Hop { over, .. } => no_action(over)?,
        _ => {}
    }
    for condition in &line.conditions {
        parts(condition, &mut |part| match part {
            Condition::Place(Spot::From, _) | Condition::Inward if !moves => {
                Err("nothing comes from anywhere by this action".into())
            }
            Condition::Place(Spot::To, _) if matches!(line.way, Way::Pass | Way::Swap) => {
                Err("nothing goes anywhere by this action".into())
            }
            Condition::Place(Spot::Over, _) if !matches!(line.way, Way::Hop { .. }) => {
                Err("only a hop goes over a square".into())
            }
            Condition::Place(Spot::To, Squares::Step(_, of)) if moves && **of == Squares::From => Ok(()),
            Condition::Place(Spot::To, squares) => to(squares),
            Condition::Place(_, squares) => no_action(squares),
            _ => Ok(()),
        })?;
        each(condition, &mut |squares| {
            if speaks_of_action(squares) {
                Err("`if` is asked before the action: `require` is asked after it".into())
            } else {
                Ok(())
            }
        })?;
    }
    let after = |condition: &Condition| {
        parts(condition, &mut |part| match part {
            Condition::Inward => Err("`inward` belongs to `if`".into()),
            _ => Ok(()),
        })?;
        each(condition, &mut without_direction)
    };
    line.required.iter().try_for_each(after)?;
    line.effects.iter().try_for_each(|effect| effects(effect, &after))
}

fn without_direction(squares: &Squares) -> Found {
    if any_part(squares, &|part| matches!(part, Squares::UpTo { .. })) {
        Err("`up to` has a meaning only where a piece may go".into())
    } else {
        Ok(())
    }
}

fn effects(effect: &Effect, after: &dyn Fn(&Condition) -> Found) -> Found {
    match effect {
        Effect::Remove(squares)
        | Effect::Flip(squares)
        | Effect::Mark(_, squares)
        | Effect::Unmark(_, squares)
        | Effect::Promote(_, squares) => without_direction(squares),
        Effect::When(condition, more) => {
            after(condition)?;
            more.iter().try_for_each(|effect| match effect {
                Effect::Capture | Effect::Exchange => {
                    Err("`capture` and `exchange` belong to the whole line: write two lines".into())
                }
                effect => effects(effect, after),
            })
        }
        Effect::Capture | Effect::Exchange | Effect::Count(..) => Ok(()),
    }
}

/// The squares of a condition, but for those of places.
fn each(condition: &Condition, found: &mut dyn FnMut(&Squares) -> Found) -> Found {
    fn of_number(number: &Number, found: &mut dyn FnMut(&Squares) -> Found) -> Found {
        match number {
            Number::Count(squares) | Number::Groups(squares, _) => found(squares),
            Number::Plus(one, other) | Number::Minus(one, other) => {
                of_number(one, found)?;
                of_number(other, found)
            }
            _ => Ok(()),
        }
    }
    parts(condition, &mut |part| match part {
        Condition::Any(squares) => found(squares),
        Condition::Connected { what, from, to, .. } => {
            found(what)?;
            found(from)?;
            found(to)
        }
        Condition::Compared(one, _, other) => {
            of_number(one, found)?;
            of_number(other, found)
        }
        _ => Ok(()),
    })
}
