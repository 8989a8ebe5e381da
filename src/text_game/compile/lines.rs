//! Emits the search for legal actions, as [`Rules::each`] finds them.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::Variable;

use super::emitter::{Emitter, Label, ViewId};
use super::words::Words;
use crate::text_game::ast::Side;
use crate::text_game::mask::Mask;
use crate::text_game::ops::Ahead;
use crate::text_game::rules::{ANY_LINE, ActionPlane, Clock, Line, Move, Rays, Through};
use crate::text_game::text::Next;

/// What is done with the actions that are found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sink {
    /// They are marked in `words`, which are empty before (see [`super::actions`]). The variable becomes other than 0
    /// if there is an action; it is kept if lines of later groups depend on it.
    Mark { words: Value, any: Option<Variable> },
    /// The search ends at `yes` when an action other than passing is found. The variable becomes 2 if the player can
    /// only pass.
    Can { yes: Label, can: Variable },
    /// The squares to which each line leads are added to the planes of a side at `out`; the variable becomes 1 if there
    /// is an action.
    Targets { out: Value, side: Side, any: Variable },
}

/// A search for the actions of one player.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    pub view: ViewId,
    pub clock: Value,
    pub sink: Sink,
    /// Whether a piece continues by the line that is searched.
    goes_on: bool,
}

impl Search {
    pub(super) fn new(view: ViewId, clock: Value, sink: Sink) -> Search {
        Search { view, clock, sink, goes_on: false }
    }
}

impl<'a, M: Mask> Emitter<'a, '_, M> {
    pub(super) fn lines(&self, search: Search) -> &'a [Line<M>] {
        &self.facts.rules[self.seen(search.view).player].lines
    }

    /// Emits the search of all lines.
    pub(super) fn find(&mut self, search: Search) {
        let lines = self.lines(search);
        let end = self.label();
        let phases = lines.iter().map(|line| line.phase).max().unwrap_or(0) + 1;
        for phase in 0..phases {
            let next = self.label();
            if self.facts.text.phases.len() > 1 {
                let now = self.code.load(types::I8, search.clock, offset_of!(Clock, phase));
                let is_now = self.code.builder.ins().icmp_imm_u(IntCC::Equal, now, phase as i64);
                self.jump_unless(is_now, next);
            }
            self.aside(|emit| emit.find_in_phase(search, phase, end));
            self.jump(end);
            self.place(next);
        }
        self.fall_to(end);
    }

    fn find_in_phase(&mut self, search: Search, phase: usize, end: Label) {
        let lines = self.lines(search);
        let here = || lines.iter().enumerate().filter(move |(_, line)| line.phase == phase);
        let again: Vec<usize> = here()
            .filter(|(_, line)| matches!(line.next, Next::Again { .. }))
            .map(|(index, _)| index)
            .collect();
        if !again.is_empty() {
            let any_line = self.label();
            let only = self.code.load(types::I8, search.clock, offset_of!(Clock, line));
            let is_any = self.code.builder.ins().icmp_imm_u(IntCC::Equal, only, i64::from(ANY_LINE));
            self.jump_if(is_any, any_line);
            for index in again {
                let other = self.label();
                let is_it = self.code.builder.ins().icmp_imm_u(IntCC::Equal, only, index as i64);
                self.jump_unless(is_it, other);
                let may_stop = lines[index].next == Next::Again { may: true };
                for (at, line) in here() {
                    // a piece that continues may also stop
                    if at == index || may_stop && line.moves.is_pass() {
                        self.aside(|emit| emit.line(Search { goes_on: true, ..search }, at));
                    }
                }
                self.jump(end);
                self.place(other);
            }
            self.jump(end);
            self.place(any_line);
        }
        if matches!(search.sink, Sink::Mark { .. }) {
            self.hold(search.view, here().map(|(_, line)| line));
        }
        let mut group = None;
        for (index, line) in here() {
            if group.is_some_and(|group| group != line.group) {
                self.end_of_group(search.sink, end);
            }
            group = Some(line.group);
            self.line(search, index);
        }
        self.held.clear();
    }

    /// Ends the search if an earlier group of lines has an action.
    fn end_of_group(&mut self, sink: Sink, end: Label) {
        let has_any = match sink {
            Sink::Mark { any: None, .. } => unreachable!("a text with groups of lines"),
            Sink::Mark { any: Some(any), .. } | Sink::Can { can: any, .. } | Sink::Targets { any, .. } => {
                self.code.builder.use_var(any)
            }
        };
        self.jump_if(has_any, end);
    }

    fn line(&mut self, search: Search, index: usize) {
        let Sink::Targets { out, side, .. } = search.sink else { return self.squares_of_line(search, index) };
        let none = self.code.none();
        self.targets = none.of().iter().map(|word| self.code.variable(types::I64, *word)).collect();
        self.squares_of_line(search, index);
        if let Some(offset) = self.plane_of_targets(index, side) {
            let targets = self.gathered();
            let before = self.code.load_set(out, offset);
            let after = self.code.or(before, targets);
            self.code.store_set(after, out, offset);
        }
    }

    /// Jumps if a set is empty. The search for targets has so little to do that it does not test.
    pub(super) fn skip_if_none(&mut self, search: Search, set: Words, none: Label) {
        if !matches!(search.sink, Sink::Targets { .. }) {
            self.jump_if_none(set, none);
        }
    }

    fn squares_of_line(&mut self, search: Search, index: usize) {
        let line = &self.lines(search)[index];
        let view = search.view;
        let skip = self.label();
        for condition in &line.general {
            self.require(view, condition, skip);
        }
        let who = match line.piece {
            Some(piece) => self.seen(view).position.sets[piece],
            None => self.seen(view).own,
        };
        let who = if search.goes_on {
            let moved = self.seen(view).moved;
            self.code.and(who, moved)
        } else {
            who
        };
        let reached = match &line.moves {
            Move::From(planes) => {
                self.line_from(search, index, planes, who, skip);
                return self.fall_to(skip);
            }
            Move::Pass | Move::Swap => {
                let squares = self.code.constant(M::of(0));
                self.found(search, index, 0, squares);
                return self.fall_to(skip);
            }
            Move::Place | Move::Drop => self.set(view, &line.to),
            Move::To(steps) => {
                let to = self.set(view, &line.to);
                let reached = match &line.through {
                    Some(through) => {
                        let open = self.set(view, &through.set);
                        self.slides(who, steps, through, open)
                    }
                    None => self.code.around(who, steps),
                };
                self.code.and(to, reached)
            }
            Move::Ray(rays) => {
                self.jump_if_none(who, skip);
                let to = self.set(view, &line.to);
                let open = match &line.through {
                    Some(through) => self.set(view, &through.set),
                    None => self.code.none(),
                };
                let reached = self.rays(who, rays, open);
                self.code.and(to, reached)
            }
        };
        let squares = self.permitted(search, line, None, reached, skip);
        self.found(search, index, 0, squares);
        self.fall_to(skip);
    }

    /// Returns the squares that slides reach from `who`.
    fn slides(&mut self, who: Words, steps: &[Ahead<M>], through: &Through<M>, open: Words) -> Words {
        let mut all = self.code.none();
        for step in steps {
            if through.least == 1 && through.most >= self.longest {
                let filled = self.code.fill(who, open, step, self.longest);
                let reached = self.code.ahead(filled, step);
                all = self.code.or(all, reached);
                continue;
            }
            let mut front = self.code.ahead(who, step);
            for distance in 1..=through.most {
                if distance >= through.least {
                    all = self.code.or(all, front);
                }
                if distance < through.most {
                    let on = self.code.and(front, open);
                    front = self.code.ahead(on, step);
                }
            }
        }
        all
    }

    /// Returns the squares of the rays from the only square of `who`, each up to and including its first square that is
    /// not open.
    fn rays(&mut self, who: Words, rays: &[Rays<M>], open: Words) -> Words {
        let none = self.code.none();
        rays.iter().fold(none, |all, rays| {
            let reached = self.ray(who, open, &rays.ahead);
            self.code.or(all, reached)
        })
    }

    /// Returns the squares of a plane for which all conditions of a line hold; jumps to `none` when none is left.
    fn permitted(
        &mut self,
        search: Search,
        line: &Line<M>,
        plane: Option<&ActionPlane<M>>,
        squares: Words,
        none: Label,
    ) -> Words {
        line.conditions.iter().fold(squares, |squares, condition| {
            self.skip_if_none(search, squares, none);
            let allowed = self.allowed(search.view, condition, plane, line);
            self.code.and(squares, allowed)
        })
    }

    /// Emits the search of a line whose pieces leave the squares of its planes.
    fn line_from(
        &mut self,
        search: Search,
        index: usize,
        planes: &'a [ActionPlane<M>],
        who: Words,
        skip: Label,
    ) {
        let line = &self.lines(search)[index];
        let view = search.view;
        self.skip_if_none(search, who, skip);
        let who = line.of_piece.iter().fold(who, |who, condition| {
            let allowed = self.allowed(view, condition, planes.first(), line);
            let who = self.code.and(who, allowed);
            self.skip_if_none(search, who, skip);
            who
        });
        let to = (!line.by_direction).then(|| self.set(view, &line.to));
        let over = line.over.as_ref().map(|over| (self.set(view, &over.set), over.off_board));
        let through = line.through.as_ref().map(|through| self.set(view, &through.set));
        if let (Sink::Targets { any, .. }, Some(to), Some(open), Some(slide)) =
            (search.sink, to, through, &line.through)
            && line.conditions.is_empty()
            && line.required.is_empty()
            && line.exactly.is_none()
        {
            let steps: Vec<Ahead<M>> = planes.iter().step_by(slide.most).map(|plane| plane.step).collect();
            let reached = self.slides(who, &steps, slide, open);
            let reached = self.code.and(reached, to);
            return self.gather(reached, any);
        }
        let by_count = line.exactly.as_ref().map(|(of, lines)| {
            let of = self.set(view, of);
            self.lines_by_count(lines, of)
        });
        // to search further costs less than to test whether there is anything to search
        let is_short = line.conditions.is_empty() && line.required.is_empty();
        let run = line.through.as_ref().map_or(1, |through| through.most);
        let least = line.through.as_ref().map_or(0, |through| through.least);
        for (direction, planes) in planes.chunks(run).enumerate() {
            if self.code.is_too_long() {
                return;
            }
            let known_before = self.label();
            self.aside(|emit| {
                let mut before: Option<Words> = None;
                for (distance, plane) in planes.iter().enumerate() {
                    let to = to
                        .unwrap_or_else(|| emit.with_direction(Some(plane), |emit| emit.set(view, &line.to)));
                    let squares = match (over, through) {
                        (Some((over, off_board)), _) => emit.hops(plane, over, to, off_board),
                        (None, Some(open)) => {
                            let squares = emit.slide_before(line, plane, before, to, open, distance);
                            before = Some(squares);
                            if !(line.by_direction || is_short && matches!(search.sink, Sink::Mark { .. })) {
                                emit.jump_if_none(squares, known_before);
                            }
                            squares
                        }
                        (None, None) => emit.code.before(to, &plane.by),
                    };
                    if plane.distance < least {
                        continue;
                    }
                    let at = direction * run + distance;
                    let mut squares = emit.code.and(squares, who);
                    if let Some(by_count) = &by_count {
                        let offset = 8 * emit.code.words * plane.distance;
                        let counted = emit.code.load_set(by_count[at], offset);
                        squares = emit.code.and(squares, counted);
                    }
                    let none = emit.label();
                    if !line.conditions.is_empty() {
                        squares = emit.permitted(search, line, Some(plane), squares, none);
                    }
                    emit.found(search, index, at, squares);
                    emit.fall_to(none);
                }
            });
            self.fall_to(known_before);
        }
    }

    fn hops(&mut self, plane: &ActionPlane<M>, over: Words, to: Words, off_board: bool) -> Words {
        let mut landing = self.code.before(to, &plane.step);
        if off_board {
            let outside = self.code.constant(self.facts.rules[0].board & !plane.step.inner);
            landing = self.code.or(landing, outside);
        }
        let jumped = self.code.and(over, landing);
        self.code.before(jumped, &plane.step)
    }

    /// See the function of this name in `moves.rs`.
    fn slide_before(
        &mut self,
        line: &Line<M>,
        plane: &ActionPlane<M>,
        before: Option<Words>,
        to: Words,
        open: Words,
        distance: usize,
    ) -> Words {
        let further = |emit: &mut Self, before: Words| {
            let on = emit.code.and(before, open);
            emit.code.before(on, &plane.step)
        };
        match before {
            Some(before) if !line.by_direction => further(self, before),
            _ => {
                let first = self.code.before(to, &plane.step);
                (0..distance).fold(first, |before, _| further(self, before))
            }
        }
    }

    /// Sorts the lines of the board by how many squares of `of` they contain. Returns, for each plane, the address of
    /// the squares of its lines by this number, from 0 to [`Emitter::longest`] and one more. Opposite directions share
    /// their lines.
    fn lines_by_count(&mut self, planes: &[Vec<M>], of: Words) -> Vec<Value> {
        let mut axes: Vec<(Vec<M>, Value)> = Vec::new();
        let mut addresses = Vec::new();
        for lines in planes {
            let mut sorted = lines.clone();
            sorted.sort_unstable_by_key(|line| line.lowest());
            let known = axes.iter().find(|(known, _)| *known == sorted).map(|(_, address)| *address);
            addresses.push(known.unwrap_or_else(|| {
                let address = self.lines_of_axis(&sorted, of);
                axes.push((sorted, address));
                address
            }));
        }
        addresses
    }

    fn lines_of_axis(&mut self, lines: &[M], of: Words) -> Value {
        let bytes = 8 * self.code.words;
        let counts = self.longest + 2;
        let address = self.code.scratch(bytes * counts);
        let none = self.code.none();
        for count in 0..counts {
            self.code.store_set(none, address, bytes * count);
        }
        for line in lines {
            let on = self.code.within(of, *line);
            let count = self.code.count(on);
            let offset = self.code.builder.ins().imul_imm_u(count, bytes as i64);
            let place = self.code.builder.ins().iadd(address, offset);
            let (before, line) = (self.code.load_set(place, 0), self.code.constant(*line));
            let after = self.code.or(before, line);
            self.code.store_set(after, place, 0);
        }
        address
    }
}
