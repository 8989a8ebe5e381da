//! From the tree of one player to what is done with it.

use super::geometry::{Ahead, STEPS};
use super::mask::Mask;
use super::program::{Compiler, Test};
use super::rules::{Line, Move, Outcome, Plane, Rules};
use super::syntax::{self, Side, Spot, Text, Verdict, Way};
use super::tree::depends_on_direction;

/// The kinds of which no player can ever have two pieces, since they begin with at most one and nothing makes more.
pub fn single_kinds(text: &Text) -> Vec<bool> {
    let flips = text
        .actions
        .iter()
        .flat_map(|line| &line.effects)
        .any(|effect| matches!(effect, syntax::Effect::Flip(_)));
    let is_single = |kind: usize| {
        let made = text.actions.iter().any(|line| {
            let promotes =
                |effect: &syntax::Effect| matches!(effect, syntax::Effect::Promote(to, _) if *to == kind);
            let in_when = |effect: &syntax::Effect| match effect {
                syntax::Effect::When(_, inner) => inner.iter().any(promotes),
                effect => promotes(effect),
            };
            matches!(line.way, Way::Place | Way::Drop) && line.piece == Some(kind)
                || line.effects.iter().any(in_when)
        });
        let when_flips = text.actions.iter().flat_map(|line| &line.effects).any(|effect| {
            matches!(effect, syntax::Effect::When(_, inner) if inner.iter().any(|e| matches!(e, syntax::Effect::Flip(_))))
        });
        !made
            && !flips
            && !when_flips
            && text.pieces_at_start[kind].iter().all(|squares| squares.count() <= 1)
    };
    (0..text.kinds.len()).map(is_single).collect()
}

impl<M: Mask> Rules<M> {
    /// The rules of a text that is [one player's](super::tree::for_player).
    pub fn new(text: &Text, player: usize, firsts: &mut Vec<usize>) -> Rules<M> {
        let compiler = Compiler { board: &text.board, text, player };
        let single = single_kinds(text);
        let mut planes = 0;
        let mut lines: Vec<Line<M>> =
            text.actions.iter().map(|line| compile(&compiler, line, &single)).collect();
        for line in &mut lines {
            line.first = planes;
            planes += match &line.moves {
                Move::Place | Move::To(_) => 1,
                Move::From(more) => more.len(),
                Move::Drop | Move::Pass | Move::Swap => 0,
            };
        }
        let mut extras = planes * text.board.cells();
        for line in &mut lines {
            let more = match &line.moves {
                Move::Drop => text.board.width,
                Move::Pass | Move::Swap => 1,
                Move::Place | Move::To(_) | Move::From(_) => continue,
            };
            line.first = extras;
            extras += more;
        }
        *firsts = vec![planes, extras];
        let outcome = |verdicts: &syntax::Verdicts| match &verdicts[player] {
            Verdict::Win => Outcome::Win,
            Verdict::Loss => Outcome::Loss,
            Verdict::Draw => Outcome::Draw,
            Verdict::Most(of) => {
                let other = Compiler { player: 1 - player, ..compiler };
                Outcome::Most(Box::new([compiler.set(of), other.set(of)]))
            }
        };
        let counted = |rule: &Option<(usize, syntax::Verdicts)>| {
            rule.as_ref().map(|(count, verdicts)| (*count as u16, outcome(verdicts)))
        };
        let (width, height) = (text.board.width, text.board.height);
        let column = |x: usize| (0..height).fold(M::NONE, |set, y| set | M::of(y * width + x));
        Rules {
            player,
            kinds: text.kinds.len(),
            board: M::from_wide(text.board.squares),
            lines,
            named: text.sets.iter().map(|set| compiler.set(&set.squares)).collect(),
            ends: text
                .ends
                .iter()
                .map(|end| (compiler.test(&end.condition), outcome(&end.verdicts)))
                .collect(),
            stuck: text.stuck.as_ref().map(outcome),
            repetition: counted(&text.repetition),
            quiet: counted(&text.quiet),
            limit: (text.limit.0 as u16, outcome(&text.limit.1)),
            columns: (0..width).map(column).collect(),
        }
    }
}

fn compile<M: Mask>(compiler: &Compiler, line: &syntax::ActionLine, single: &[bool]) -> Line<M> {
    let board = compiler.board;
    let all = M::from_wide(board.squares);
    let step = |compass: u8| STEPS[compass as usize];
    let inward = |(dx, dy): (i32, i32)| {
        let nearer = board.squares.squares().filter(|square| {
            let to = board.neighbor(*square, (dx, dy));
            to.is_some_and(|to| board.off_center(to) < board.off_center(*square))
        });
        nearer.fold(M::NONE, |set, square| set | M::of(square))
    };
    let plane = |one: (i32, i32), distance: i32, going: u8| {
        let far = (one.0 * distance, one.1 * distance);
        Plane {
            by: Ahead::new(board, far),
            step: Ahead::new(board, one),
            distance: distance as usize,
            going,
            inward: inward(far),
        }
    };
    let conditions: Vec<Test<M>> = line.conditions.iter().map(|condition| compiler.test(condition)).collect();
    let places = |condition: &syntax::Condition| {
        super::parse::any_condition(condition, &|part| match part {
            syntax::Condition::Inward | syntax::Condition::Place(Spot::Over, _) => true,
            syntax::Condition::Place(_, of) => depends_on_direction(of),
            _ => false,
        })
    };
    let by_direction = depends_on_direction(&line.to);
    let is_single = line.piece.is_some_and(|kind| single[kind])
        && !by_direction
        && !line.conditions.iter().any(places)
        && !matches!(line.way, Way::Slide { exactly: Some(_), .. } | Way::Hop { .. });
    let (mut through, mut over, mut exactly) = (None, None, None);
    let moves = match &line.way {
        Way::Place => Move::Place,
        Way::Drop => Move::Drop,
        Way::Pass => Move::Pass,
        Way::Swap => Move::Swap,
        Way::Step(directions) if is_single => Move::To(compiler.aheads(directions)),
        Way::Step(directions) => {
            Move::From(directions.iter().map(|d| plane(step(d.compass), 1, d.compass)).collect())
        }
        Way::Leap(steps) if is_single => {
            Move::To(steps.iter().map(|step| Ahead::new(board, *step)).collect())
        }
        Way::Leap(steps) => Move::From(steps.iter().map(|step| plane(*step, 1, u8::MAX)).collect()),
        Way::Hop { directions, over: jumped, off_board } => {
            over = Some((compiler.set(jumped), *off_board));
            Move::From(directions.iter().map(|d| plane(step(d.compass), 2, u8::MAX)).collect())
        }
        Way::Slide { directions, least, most, through: open, exactly: of } => {
            through = Some((compiler.set(open), *least, *most));
            if is_single {
                Move::To(compiler.aheads(directions))
            } else {
                // shorter ways come first, since the longer ones go on from them
                let planes: Vec<Plane<M>> = directions
                    .iter()
                    .flat_map(|d| (1..=*most as i32).map(|distance| (d.compass, distance)))
                    .map(|(compass, distance)| {
                        // a neighbor of where it goes can be itself only after one step
                        let going = if distance == 1 { compass } else { u8::MAX };
                        plane(step(compass), distance, going)
                    })
                    .collect();
                if let Some(of) = of {
                    let lines = planes.iter().map(|plane| lines_along(all, &plane.step)).collect();
                    exactly = Some((compiler.set(of), lines));
                }
                Move::From(planes)
            }
        }
    };
    let has = |wanted: &syntax::Effect| line.effects.contains(wanted);
    Line {
        phase: line.phase,
        group: line.group,
        piece: line.piece.map(|kind| compiler.pieces(Side::Own, kind)),
        moves,
        to: compiler.set(&line.to),
        over,
        through,
        exactly,
        conditions,
        required: line.required.iter().map(|condition| compiler.test(condition)).collect(),
        effects: line
            .effects
            .iter()
            .filter(|effect| !matches!(effect, syntax::Effect::Capture | syntax::Effect::Exchange))
            .map(|effect| compiler.doing(effect, line.piece))
            .collect(),
        next: line.next,
        captures: has(&syntax::Effect::Capture),
        exchanges: has(&syntax::Effect::Exchange),
        by_direction,
        first: 0,
    }
}

/// The lines of the board along an axis.
fn lines_along<M: Mask>(board: M, ahead: &Ahead<M>) -> Vec<M> {
    let first = board & !ahead.of(board);
    let line = |square: usize| {
        let mut line = M::of(square);
        let mut front = line;
        while front.any() {
            line |= front;
            front = ahead.of(front);
        }
        line
    };
    first.squares().map(line).collect()
}
