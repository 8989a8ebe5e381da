//! Lowers one player's tree of the rules to operations on the board.
//!
//! Sets that are expensive to compute and depend only on the position are computed once per position. When such a set
//! is lowered, it gets a number among the [kept](super::ops::Slot::Kept) sets; equal sets get the same number.

use super::ast::{Mapping, Side, Spot};
use super::geometry::{Direction, STEPS, opposite};
use super::mask::Mask;
use super::ops::{Ahead, Compiled, Condition, Set, Slot, SquareRun};
use super::rules::{ActionPlane, Ending, Line, Move, Over, Rays, Rules, Through};
use super::text::{self, ActionLine, CounterOf, Read, Row, Squares, Text, Verdict, Verdicts, Way};

/// Lowers a text from one player's point of view.
struct Lowering<'a, M: Mask> {
    text: &'a Text,
    player: usize,
    /// The sets that are computed once per position; `None` if none may be added.
    kept: Option<Vec<Set<M>>>,
}

impl<M: Mask> Mapping<Read, Compiled<M>> for Lowering<'_, M> {
    fn squares(&mut self, squares: &Squares) -> Set<M> {
        Set::Leaf(match squares {
            Squares::Fixed(squares) => Slot::Fixed(M::from_wide(squares[self.player])),
            Squares::Pieces(None, None) => Slot::All,
            Squares::Pieces(Some(side), None) if self.text.kinds.len() == 1 => {
                Slot::Of(self.pieces(*side, 0))
            }
            Squares::Pieces(Some(Side::Own), None) => Slot::Own,
            Squares::Pieces(Some(Side::Enemy), None) => Slot::Enemy,
            Squares::Pieces(Some(side), Some(kind)) => Slot::Of(self.pieces(*side, *kind)),
            Squares::Pieces(None, Some(kind)) => {
                let of = |side: Side| Set::Leaf(Slot::Of(self.pieces(side, *kind)));
                return Set::or(of(Side::Own), of(Side::Enemy));
            }
            Squares::State(state) => Slot::Of(2 * self.text.kinds.len() + state),
            Squares::Named { index, .. } => Slot::Kept(*index),
        })
    }

    fn direction(&mut self, direction: Direction) -> Ahead<M> {
        self.ahead(step_of(direction))
    }

    fn leap(&mut self, leap: (i32, i32)) -> Ahead<M> {
        self.ahead(leap)
    }

    fn row(&mut self, row: &Row) -> Vec<SquareRun<M>> {
        axes_of(&row.directions).map(|step| SquareRun::new(&self.text.board, step, row.length)).collect()
    }

    fn counter(&mut self, counter: CounterOf) -> usize {
        self.text.number_of(counter, self.player)
    }

    fn axes(&mut self, axes: &[Direction]) -> Vec<Ahead<M>> {
        axes_of(axes).map(|step| self.ahead(step)).collect()
    }

    fn set(&mut self, set: &text::Set) -> Set<M> {
        let lowered = set.mapped(self);
        match &mut self.kept {
            Some(kept) if lowered.node().costs_much && lowered.nature().is_of_position() => {
                let known = kept.iter().position(|known| *known == lowered);
                Set::Leaf(Slot::Kept(known.unwrap_or_else(|| {
                    kept.push(lowered);
                    kept.len() - 1
                })))
            }
            _ => lowered,
        }
    }

    fn condition(&mut self, condition: &text::Condition) -> Condition<M> {
        match condition {
            // `line of N A` as a condition is tested directly, not on a kept set
            text::Condition::Any(line @ text::Set::Line(_)) => Condition::Any(line.mapped(self)),
            condition => condition.mapped(self),
        }
    }
}

impl<M: Mask> Rules<M> {
    /// Makes the rules from a text that [`for_player`](super::transform::for_player) has made for one player.
    pub(super) fn new(text: &Text, player: usize) -> Rules<M> {
        let single = text.single_kinds();
        let mut lowering = Lowering { text, player, kept: None };
        lowering.keep_named_sets();
        let mut lines: Vec<Line<M>> = text.actions.iter().map(|line| lowering.line(line, &single)).collect();
        let (planes, actions) = number_actions(&mut lines, text);
        let ends =
            text.ends.iter().map(|end| (lowering.condition(&end.condition), lowering.outcome(&end.verdicts)));
        let ends = ends.collect();
        let counted = |rule: &Option<(usize, Verdicts)>| {
            rule.as_ref().map(|(count, verdicts)| (*count as u16, lowering.outcome(verdicts)))
        };
        let (width, height) = (text.board.width, text.board.height);
        let column = |x: usize| (0..height).fold(M::NONE, |set, y| set | M::of(y * width + x));
        let owners = |is_on_squares: bool| {
            let lines =
                lines.iter().enumerate().filter(move |(_, line)| line.moves.is_on_squares() == is_on_squares);
            lines.flat_map(|(index, line)| vec![index as u8; line.moves.width(width)])
        };
        Rules {
            player,
            owners: owners(true).chain(owners(false)).collect(),
            passes: (0..text.phases.len()).map(|phase| text.can_always_pass(phase)).collect(),
            kinds: text.kinds.len(),
            board: M::from_wide(text.board.squares),
            planes,
            actions,
            ends,
            stuck: text.stuck.as_ref().map(|verdicts| lowering.outcome(verdicts)),
            repetition: counted(&text.repetition),
            quiet: counted(&text.quiet),
            limit: (text.limit.0 as u16, lowering.outcome(&text.limit.1)),
            columns: (0..width).map(column).collect(),
            lines,
            sets: lowering.kept.unwrap_or_default(),
        }
    }
}

/// Gives each line its first plane or action; returns the number of planes and of actions.
fn number_actions<M: Mask>(lines: &mut [Line<M>], text: &Text) -> (usize, usize) {
    let mut planes = 0;
    for line in lines.iter_mut().filter(|line| line.moves.is_on_squares()) {
        line.first = planes;
        planes += line.moves.width(text.board.width);
    }
    let mut actions = planes * text.board.cells();
    for line in lines.iter_mut().filter(|line| !line.moves.is_on_squares()) {
        line.first = actions;
        actions += line.moves.width(text.board.width);
    }
    (planes, actions)
}

impl<M: Mask> Lowering<'_, M> {
    fn ahead(&self, step: (i32, i32)) -> Ahead<M> {
        Ahead::new(&self.text.board, step)
    }

    /// Returns the index, among the sets of a position, of one side's pieces of a kind.
    fn pieces(&self, side: Side, kind: usize) -> usize {
        let player = if side == Side::Own { self.player } else { 1 - self.player };
        player * self.text.kinds.len() + kind
    }

    /// Lowers the named sets, which get the first numbers.
    fn keep_named_sets(&mut self) {
        // reserve the numbers of named sets that are not lowered yet, so no other set takes them
        let placeholder = Set::Empty;
        self.kept = Some(vec![placeholder; self.text.sets.len()]);
        for (index, named) in self.text.sets.iter().enumerate() {
            let set = named.squares[self.player].mapped(self);
            if let Some(kept) = &mut self.kept {
                kept[index] = set;
            }
        }
    }

    fn outcome(&self, verdicts: &Verdicts) -> Ending<M> {
        match &verdicts[self.player] {
            Verdict::Win => Ending::Win,
            Verdict::Loss => Ending::Loss,
            Verdict::Draw => Ending::Draw,
            Verdict::Most(of) => {
                // each player's squares are lowered from that player's point of view
                let of_player = |player: usize| Lowering { text: self.text, player, kept: None }.set(of);
                Ending::Most(Box::new([of_player(self.player), of_player(1 - self.player)]))
            }
        }
    }

    /// Lowers a line. `single` is, for each kind, whether a player has at most one piece of it.
    fn line(&mut self, line: &ActionLine, single: &[bool]) -> Line<M> {
        let plan = Plan::of(line, single);
        let to = self.bounded(line);
        let over = match &line.way {
            Way::Hop { over, off_board, .. } => Some(Over { set: self.set(over), off_board: *off_board }),
            _ => None,
        };
        let (through, exactly) = match &line.way {
            Way::Slide { through, least, most, exactly, .. } => (
                Some(Through { set: self.set(through), least: *least, most: *most }),
                exactly.as_ref().map(|of| self.set(of)),
            ),
            _ => (None, None),
        };
        let moves = self.moves(line, plan.is_single);
        let exactly = exactly.map(|of| (of, self.lines_along(&moves)));
        let moves_from = matches!(moves, Move::From(_));
        let mut tests = |wanted: &dyn Fn(&text::Condition) -> bool| -> Vec<Condition<M>> {
            let wanted = line.conditions.iter().filter(|condition| wanted(condition));
            wanted.map(|condition| self.condition(condition)).collect()
        };
        let general = tests(&|condition| !asks_for_place(condition));
        let of_piece =
            tests(&|condition| asks_for_place(condition) && moves_from && !depends_on_way(condition));
        let conditions =
            tests(&|condition| asks_for_place(condition) && (!moves_from || depends_on_way(condition)));
        Line {
            phase: line.phase,
            group: line.group,
            piece: line.piece.map(|kind| self.pieces(Side::Own, kind)),
            moves,
            to,
            over,
            through,
            exactly,
            general,
            conditions,
            of_piece,
            required: line.required.iter().map(|condition| self.condition(condition)).collect(),
            effects: line.effects.iter().map(|effect| effect.mapped(self)).collect(),
            next: line.next,
            captures: line.captures,
            exchanges: line.exchanges,
            by_direction: plan.by_direction,
            first: 0,
        }
    }

    /// Returns how pieces move by a line of actions. If `is_single`, the line has one plane, since it moves only one
    /// piece.
    fn moves(&self, line: &ActionLine, is_single: bool) -> Move<M> {
        let towards = |directions: &[Direction]| -> Vec<Ahead<M>> {
            directions.iter().map(|direction| self.ahead(step_of(*direction))).collect()
        };
        match &line.way {
            Way::Place => Move::Place,
            Way::Drop => Move::Drop,
            Way::Pass => Move::Pass,
            Way::Swap => Move::Swap,
            Way::Step(directions) if is_single => Move::To(towards(directions)),
            Way::Step(directions) => {
                Move::From(directions.iter().map(|towards| self.step_plane(*towards, 1)).collect())
            }
            Way::Leap(leaps) if is_single => Move::To(leaps.iter().map(|leap| self.ahead(*leap)).collect()),
            Way::Leap(leaps) => Move::From(leaps.iter().map(|leap| self.plane(*leap, 1, u8::MAX)).collect()),
            Way::Hop { directions, .. } => {
                Move::From(directions.iter().map(|towards| self.step_plane(*towards, 2)).collect())
            }
            Way::Slide { directions, least, most, .. } => {
                let longest = self.text.board.width.max(self.text.board.height) - 1;
                if is_single && (*least, *most) == (1, longest.max(1)) {
                    Move::Ray(towards(directions).iter().map(|ahead| self.rays(ahead)).collect())
                } else if is_single {
                    Move::To(towards(directions))
                } else {
                    // shorter distances come first, since longer slides continue them
                    let planes = directions
                        .iter()
                        .flat_map(|towards| (1..=*most).map(|distance| self.step_plane(*towards, distance)));
                    Move::From(planes.collect())
                }
            }
        }
    }

    /// Returns the plane of moves of `distance` steps in a direction.
    fn step_plane(&self, towards: Direction, distance: usize) -> ActionPlane<M> {
        let going = if distance == 1 { towards.compass } else { u8::MAX };
        self.plane(step_of(towards), distance, going)
    }

    fn plane(&self, (columns, rows): (i32, i32), distance: usize, going: u8) -> ActionPlane<M> {
        let board = &self.text.board;
        let far = (columns * distance as i32, rows * distance as i32);
        let inward = board.squares.squares().filter(|square| {
            let to = board.neighbor(*square, far);
            to.is_some_and(|to| board.off_center(to) < board.off_center(*square))
        });
        ActionPlane {
            by: self.ahead(far),
            step: self.ahead((columns, rows)),
            distance,
            going,
            inward: inward.fold(M::NONE, |set, square| set | M::of(square)),
        }
    }

    fn rays(&self, ahead: &Ahead<M>) -> Rays<M> {
        let from = (0..self.text.board.cells()).map(|square| ahead.ray(square)).collect();
        Rays { ahead: *ahead, is_rising: ahead.by > 0, from }
    }

    /// Returns, for each plane, the lines of the board along its steps.
    fn lines_along(&self, moves: &Move<M>) -> Vec<Vec<M>> {
        let board = M::from_wide(self.text.board.squares);
        let along = |ahead: &Ahead<M>| {
            let first = board & !ahead.of(board);
            first.squares().map(|square| M::of(square) | ahead.ray(square)).collect()
        };
        match moves {
            Move::From(planes) => planes.iter().map(|plane| along(&plane.step)).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the squares that a line of actions names as targets, limited to empty squares and, if the line captures,
    /// squares with enemy pieces. Lines with `exchange` and lines that place a state are not limited.
    fn bounded(&mut self, line: &ActionLine) -> Set<M> {
        let to = self.set(&line.to);
        let captures = line.captures && !matches!(line.way, Way::Hop { .. });
        let [own, enemy] = [Side::Own, Side::Enemy].map(|side| self.set(&Squares::of(side)));
        let puts_state = line.way == Way::Place && line.piece.is_none();
        if puts_state || line.exchanges || is_free(&to, captures, &own, &enemy) {
            return to;
        }
        Set::and(to, if captures { Set::Not(Box::new(own)) } else { Set::Empty })
    }
}

/// What must be known about a line before it is lowered.
struct Plan {
    /// Whether the line's actions have one plane, since there is only one piece of the kind.
    is_single: bool,
    /// Whether `to` depends on the direction in which the piece moves.
    by_direction: bool,
}

impl Plan {
    fn of(line: &ActionLine, single: &[bool]) -> Plan {
        let to = line.to.nature();
        // the moving piece can be a neighbor of its target square only if it moves by one step
        let is_step = matches!(line.way, Way::Step(_) | Way::Slide { .. });
        let by_direction = to.ahead || to.others && is_step;
        let asks_by_direction = |condition: &text::Condition| {
            condition.any(|part| match part {
                text::Condition::Inward | text::Condition::Place(Spot::Over, _) => true,
                text::Condition::Place(_, of) => of.nature().is_directed(),
                _ => false,
            })
        };
        let is_single = line.piece.is_some_and(|kind| single[kind])
            && !by_direction
            && !line.conditions.iter().any(asks_by_direction)
            && !matches!(line.way, Way::Slide { exactly: Some(_), .. } | Way::Hop { .. });
        Plan { is_single, by_direction }
    }
}

fn asks_for_place(condition: &text::Condition) -> bool {
    condition.any(|part| matches!(part, text::Condition::Inward | text::Condition::Place(..)))
}

/// Returns whether a condition depends on where the piece goes.
fn depends_on_way(condition: &text::Condition) -> bool {
    condition.any(|part| {
        matches!(part, text::Condition::Inward | text::Condition::Place(Spot::To | Spot::Over, _))
    })
}

fn step_of(direction: Direction) -> (i32, i32) {
    STEPS[direction.compass as usize]
}

/// Returns a step in one direction of each axis.
fn axes_of(directions: &[Direction]) -> impl Iterator<Item = (i32, i32)> {
    let compass: Vec<usize> = directions.iter().map(|direction| direction.compass as usize).collect();
    let is_first = |at: usize| !compass[..at].contains(&opposite(compass[at]));
    let first: Vec<usize> = (0..compass.len()).filter(|at| is_first(*at)).collect();
    first.into_iter().map(move |at| STEPS[compass[at]])
}

/// Returns whether the set contains only empty squares and, if the line captures, squares with enemy pieces.
fn is_free<M: Mask>(to: &Set<M>, captures: bool, own: &Set<M>, enemy: &Set<M>) -> bool {
    let part = |part: &Set<M>| is_free(part, captures, own, enemy);
    match to {
        Set::Empty => true,
        Set::And(both) => both.iter().any(part),
        Set::Or(both) => both.iter().all(part),
        Set::UpTo(both) => part(&both[0]),
        Set::Not(of) => captures && **of == *own,
        set => captures && set == enemy,
    }
}
