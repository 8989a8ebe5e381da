//! From the tree of one player to what is done with it.

use super::geometry::{Ahead, STEPS};
use super::mask::Mask;
use super::program::{Compiler, Set, Test};
use super::rules::{Line, Move, Outcome, Plane, Rules};
use super::share::share;
use super::syntax::{self, Side, Spot, Text, Verdict, Way};
use super::tree::{any_condition, any_effect, any_part, depends_on_direction};

/// The kinds of which no player can ever have two pieces, since they begin with at most one and nothing makes more.
pub fn single_kinds(text: &Text) -> Vec<bool> {
    let any = |is: &dyn Fn(&syntax::Effect) -> bool| {
        text.actions.iter().flat_map(|line| &line.effects).any(|effect| any_effect(effect, is))
    };
    let flips = any(&|effect| matches!(effect, syntax::Effect::Flip(_)));
    let is_single = |kind: usize| {
        let placed = |line: &syntax::ActionLine| {
            matches!(line.way, Way::Place | Way::Drop) && line.piece == Some(kind)
        };
        !flips
            && !text.actions.iter().any(placed)
            && !any(&|effect| matches!(effect, syntax::Effect::Promote(to, _) if *to == kind))
            && text.pieces_at_start[kind].iter().all(|squares| squares.count() <= 1)
    };
    (0..text.kinds.len()).map(is_single).collect()
}

impl<M: Mask> Rules<M> {
    /// The rules of a text that is [one player's](super::tree::for_player).
    pub fn new(text: &Text, player: usize) -> Rules<M> {
        let compiler = Compiler { board: &text.board, text, player };
        let single = single_kinds(text);
        let mut planes = 0;
        let mut lines: Vec<Line<M>> =
            text.actions.iter().map(|line| compile(&compiler, line, &single)).collect();
        for line in &mut lines {
            line.first = planes;
            planes += if line.moves.is_on_squares() { line.moves.width(text.board.width) } else { 0 };
        }
        let mut actions = planes * text.board.cells();
        for line in lines.iter_mut().filter(|line| !line.moves.is_on_squares()) {
            line.first = actions;
            actions += line.moves.width(text.board.width);
        }
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
        let owners = |is_on_squares: bool| {
            let lines =
                lines.iter().enumerate().filter(move |(_, line)| line.moves.is_on_squares() == is_on_squares);
            lines.flat_map(|(index, line)| vec![index as u8; line.moves.width(text.board.width)])
        };
        let mut rules = Rules {
            player,
            owners: owners(true).chain(owners(false)).collect(),
            passes: (0..text.phases.len()).map(|phase| text.can_always_pass(phase)).collect(),
            kinds: text.kinds.len(),
            board: M::from_wide(text.board.squares),
            lines,
            planes,
            actions,
            sets: text.sets.iter().map(|set| compiler.set(&set.squares)).collect(),
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
        };
        share(&mut rules);
        rules
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
    let depends_on_way = |condition: &syntax::Condition| {
        any_condition(condition, &|part| {
            matches!(part, syntax::Condition::Inward | syntax::Condition::Place(Spot::To | Spot::Over, _))
        })
    };
    let places = |condition: &syntax::Condition| {
        any_condition(condition, &|part| match part {
            syntax::Condition::Inward | syntax::Condition::Place(Spot::Over, _) => true,
            syntax::Condition::Place(_, of) => depends_on_direction(of),
            _ => false,
        })
    };
    let is_placed = |condition: &syntax::Condition| {
        any_condition(condition, &|part| {
            matches!(part, syntax::Condition::Inward | syntax::Condition::Place(..))
        })
    };
    // a neighbor of where a piece goes can be itself only after one step
    let is_step = matches!(line.way, Way::Step(_) | Way::Slide { .. });
    let by_direction = depends_on_direction(&line.to)
        && (is_step || any_part(&line.to, &|part| matches!(part, syntax::Squares::UpTo { .. })));
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
            let longest = board.width.max(board.height) - 1;
            if is_single && (*least, *most) == (1, longest.max(1)) {
                let rays = |ahead: &Ahead<M>| (0..board.cells()).map(|square| ray(square, ahead)).collect();
                let aheads = compiler.aheads(directions);
                Move::Ray(aheads.iter().map(|ahead| (ahead.by > 0, rays(ahead))).collect())
            } else if is_single {
                Move::To(compiler.aheads(directions))
            } else {
                // shorter ways come first, since the longer ones go on from them
                let planes: Vec<Plane<M>> = directions
                    .iter()
                    .flat_map(|d| (1..=*most as i32).map(|distance| (d.compass, distance)))
                    .map(|(compass, distance)| {
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
    let moves_from = matches!(moves, Move::From(_));
    let tests = |wanted: &dyn Fn(&syntax::Condition) -> bool| -> Vec<Test<M>> {
        let wanted = line.conditions.iter().filter(|condition| wanted(condition));
        wanted.map(|condition| compiler.test(condition)).collect()
    };
    let has = |wanted: &syntax::Effect| line.effects.contains(wanted);
    Line {
        phase: line.phase,
        group: line.group,
        piece: line.piece.map(|kind| compiler.pieces(Side::Own, kind)),
        moves,
        to: bounded(compiler, line, over.is_some()),
        over,
        through,
        exactly,
        general: tests(&|condition| !is_placed(condition)),
        conditions: tests(&|condition| is_placed(condition) && (!moves_from || depends_on_way(condition))),
        of_piece: tests(&|condition| is_placed(condition) && moves_from && !depends_on_way(condition)),
        required: line.required.iter().map(|condition| compiler.test(condition)).collect(),
        effects: line.effects.iter().filter_map(|effect| compiler.doing(effect, line.piece)).collect(),
        next: line.next,
        captures: has(&syntax::Effect::Capture),
        exchanges: has(&syntax::Effect::Exchange),
        by_direction,
        first: 0,
    }
}

/// What a line says about where a piece goes, and that squares are empty, or the enemy's if it captures there; with
/// `exchange` it can be any, and a state can be put on any square.
fn bounded<M: Mask>(compiler: &Compiler, line: &syntax::ActionLine, is_hop: bool) -> Set<M> {
    let to = compiler.set(&line.to);
    let captures = line.effects.contains(&syntax::Effect::Capture) && !is_hop;
    let all = |side: Side| compiler.set(&syntax::Squares::Pieces(Some(side), None));
    let (own, enemy) = (all(Side::Own), all(Side::Enemy));
    let puts_state = line.way == Way::Place && line.piece.is_none();
    let exchanges = line.effects.contains(&syntax::Effect::Exchange);
    if puts_state || exchanges || is_free(&to, captures, &own, &enemy) {
        return to;
    }
    let free = if captures { Set::Not(Box::new(own)) } else { Set::Empty };
    Set::And(Box::new((to, free)))
}

/// Whether there are only empty squares among these, and the enemy's if it is captured.
fn is_free<M: Mask>(to: &Set<M>, captures: bool, own: &Set<M>, enemy: &Set<M>) -> bool {
    let part = |part: &Set<M>| is_free(part, captures, own, enemy);
    match to {
        Set::Empty => true,
        Set::And(both) => part(&both.0) || part(&both.1),
        Set::Or(both) => part(&both.0) && part(&both.1),
        Set::UpTo(parts) => part(&parts.0),
        Set::Not(of) => captures && **of == *own,
        set => captures && set == enemy,
    }
}

/// The lines of the board along an axis.
fn lines_along<M: Mask>(board: M, ahead: &Ahead<M>) -> Vec<M> {
    let first = board & !ahead.of(board);
    first.squares().map(|square| M::of(square) | ray(square, ahead)).collect()
}

/// The squares from a square in a direction up to the edge, but for the first.
fn ray<M: Mask>(square: usize, ahead: &Ahead<M>) -> M {
    let (mut ray, mut front) = (M::NONE, ahead.of(M::of(square)));
    while front.any() {
        ray |= front;
        front = ahead.of(front);
    }
    ray
}
