//! Checks for statements that are grammatical but have no meaning.

use super::ast::Spot;
use super::lex::{Parsed, Problem};
use super::text::{ActionLine, Condition, End, Next, Set, Text, Verdict, Way};

/// Checks that everything in a text has a meaning in its context.
///
/// # Errors
/// If the text has a problem; the error is the first problem, with its line.
pub(super) fn check(text: &Text) -> Parsed<()> {
    text.actions.iter().try_for_each(|line| action(line).map_err(|what| at(line.line, what)))?;
    let can_pass =
        |phase: usize| text.actions.iter().any(|line| line.way == Way::Pass && line.phase == phase);
    let cannot_stop =
        |line: &&ActionLine| matches!(line.next, Next::Again { may: true }) && !can_pass(line.phase);
    if let Some(line) = text.actions.iter().find(cannot_stop) {
        let what =
            "a piece that may continue may also stop, so the phase needs a line `otherwise pass`".into();
        return Err(at(line.line, what));
    }
    // `then` gives the same player an action in another phase; if nothing led out of that phase, the other player's
    // next turn would begin there
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
                "no action leaves the phase `{into}`, so the other player would begin there: add `phase {from}` to its \
                    actions"
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

type Checked = Result<(), String>;

fn no_action(set: &Set) -> Checked {
    let nature = set.nature();
    if nature.of_action || nature.ahead {
        Err("`from`, `to`, `over`, `custodial` and `up to` have no meaning here, since there is no action"
            .into())
    } else {
        Ok(())
    }
}

fn end(end: &End) -> Checked {
    let asks_for_place = |part: &Condition| matches!(part, Condition::Place(..) | Condition::Inward);
    if end.condition.any(asks_for_place) {
        return Err(
            "an end cannot test where a piece comes from or goes to: it sees only the position".into()
        );
    }
    let in_position = |set: &Set| {
        if set.nature().of_moved {
            Err("`moved` has no meaning in an end: no piece is about to continue".into())
        } else {
            no_action(set)
        }
    };
    end.condition.sets().into_iter().try_for_each(in_position)?;
    end.verdicts.iter().try_for_each(|verdict| match verdict {
        Verdict::Most(set) => in_position(set),
        Verdict::Win | Verdict::Loss | Verdict::Draw => Ok(()),
    })
}

fn action(line: &ActionLine) -> Checked {
    if !line.way.moves() && line.exchanges {
        return Err("`exchange` needs a piece that moves".into());
    }
    let places_nothing_to_move = line.way == Way::Place && line.piece.is_none();
    if places_nothing_to_move && matches!(line.next, Next::Again { .. }) {
        return Err("`again` needs a piece that continues, and only a state is placed here".into());
    }
    target(line, &line.to)?;
    match &line.way {
        Way::Slide { through, exactly, .. } => {
            no_action(through)?;
            exactly.iter().try_for_each(no_action)?;
        }
        Way::Hop { over, .. } => no_action(over)?,
        Way::Place | Way::Drop | Way::Step(_) | Way::Leap(_) | Way::Pass | Way::Swap => {}
    }
    line.conditions.iter().try_for_each(|condition| before(line, condition))?;
    line.required.iter().try_for_each(after)?;
    line.effects.iter().try_for_each(|effect| {
        effect.condition().iter().try_for_each(|condition| after(condition))?;
        effect.set().iter().try_for_each(|set| without_direction(set))
    })
}

/// Checks the squares that a piece can go to.
fn target(line: &ActionLine, set: &Set) -> Checked {
    let nature = set.nature();
    if nature.of_action {
        return Err(
            "the target squares cannot mention `from`, `to`, `over` or `custodial`: use `if`, or name a set"
                .into(),
        );
    }
    if nature.ahead && !line.way.moves() {
        return Err("`up to` needs a direction, which placing does not have".into());
    }
    Ok(())
}

/// Checks a condition that is tested before the action.
fn before(line: &ActionLine, condition: &Condition) -> Checked {
    let moves = line.way.moves();
    for part in condition.all() {
        match part {
            Condition::Place(Spot::From, _) | Condition::Inward if !moves => {
                return Err("this action does not move a piece".into());
            }
            Condition::Place(Spot::To, _) if matches!(line.way, Way::Pass | Way::Swap) => {
                return Err("this action has no target square".into());
            }
            Condition::Place(Spot::Over, _) if !matches!(line.way, Way::Hop { .. }) => {
                return Err("only a hop passes over a square".into());
            }
            Condition::Place(Spot::To, Set::Step(around)) if moves && around.of == Set::From => {}
            Condition::Place(Spot::To, set) => target(line, set)?,
            Condition::Place(_, set) => no_action(set)?,
            Condition::Any(_)
            | Condition::Connected { .. }
            | Condition::Stuck(_)
            | Condition::Compared(..)
            | Condition::Inward
            | Condition::Not(_)
            | Condition::And(_)
            | Condition::Or(_) => {}
        }
    }
    if condition.sets().into_iter().any(|set| set.nature().of_action) {
        return Err("`if` is tested before the action: use `require`, which is tested after it".into());
    }
    Ok(())
}

/// Checks a condition that is tested after the action.
fn after(condition: &Condition) -> Checked {
    if condition.any(|part| *part == Condition::Inward) {
        return Err("`inward` belongs to `if`".into());
    }
    condition.sets().into_iter().try_for_each(without_direction)
}

fn without_direction(set: &Set) -> Checked {
    if set.nature().ahead { Err("`up to` has a meaning only in target squares".into()) } else { Ok(()) }
}
