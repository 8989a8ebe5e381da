//! Emits the play of an action: what it does, whose turn it is, and whether the game is over.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, JumpTableData, Type, Value, types};
use cranelift_frontend::Variable;

use super::emitter::{Emitter, Position, Route, StuckArguments, ViewId};
use super::report::{CHANGED, NOT_COMPILED, OUTCOME, REASON, TURN, outcome_bits};
use super::words::Words;
use crate::encode::Shape;
use crate::game::{Outcome, Player};
use crate::text_game::ast::Side;
use crate::text_game::mask::Mask;
use crate::text_game::ops::{Condition, Things};
use crate::text_game::rules::{ANY_LINE, Clock, Ending, Line, Move, NOWHERE};
use crate::text_game::text::Next;

/// The pointers to a position, and the player who acts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Act {
    pub player: usize,
    pub things: Value,
    pub clock: Value,
    pub action: Value,
}

/// What the play of an action has found out so far.
#[derive(Clone, Copy, Debug)]
struct Played {
    /// Whether it is the other player's turn, as 32 bits.
    turn: Variable,
    /// [`CHANGED`] if the number of pieces has changed, or else 0.
    changed: Variable,
}

impl<'a, M: Mask> Emitter<'a, '_, M> {
    fn store_position(&mut self, things: Value, before: &Position, after: &Position) {
        for (index, (before, after)) in before.sets.iter().zip(&after.sets).enumerate() {
            if before != after {
                let offset = offset_of!(Things<M>, sets) + index * size_of::<M>();
                self.code.store_set(*after, things, offset);
            }
        }
        for (index, (before, after)) in before.counters.iter().zip(&after.counters).enumerate() {
            if before != after {
                let small = self.code.builder.ins().ireduce(types::I16, *after);
                self.code.store(small, things, offset_of!(Things<M>, counters) + 2 * index);
            }
        }
    }

    /// Emits the play of an action.
    pub(super) fn play(&mut self, act: Act) {
        let rules = &self.facts.rules[act.player];
        let zero = self.code.builder.ins().iconst(types::I32, 0);
        let played = Played {
            turn: self.code.variable(types::I32, zero),
            changed: self.code.variable(types::I32, zero),
        };
        let action = self.code.builder.ins().uextend(types::I64, act.action);
        let cells = self.facts.shape.cells() as u64;
        // exact for all actions, which are less than 2^16, since there are fewer than 2^16 squares
        let product = self.code.builder.ins().imul_imm_u(action, (1_u64 << 32).div_ceil(cells) as i64);
        let plane = self.code.builder.ins().ushr_imm_u(product, 32);
        let before = self.code.builder.ins().imul_imm_u(plane, cells as i64);
        let square = self.code.builder.ins().isub(action, before);
        if let [line] = &rules.lines[..] {
            let position = self.line_played(act, line, 0, [action, plane, square], played);
            let position = position.unwrap_or_else(|| self.load_position(act.things));
            return self.judge(act, position, played);
        }
        let judge = self.label();
        let on_squares = rules.planes as i64 * cells as i64;
        let extra = self.code.builder.ins().iadd_imm_s(action, rules.planes as i64 - on_squares);
        let is_on_square = self.code.builder.ins().icmp_imm_u(IntCC::UnsignedLessThan, action, on_squares);
        let owner = self.code.builder.ins().select(is_on_square, plane, extra);
        let owners = self.code.number(rules.owners.as_ptr() as i64);
        let owner = self.code.load_entry(types::I8, owners, owner);
        let owner = self.code.builder.ins().ireduce(types::I32, owner);
        let blocks: Vec<_> = rules.lines.iter().map(|_| self.code.builder.create_block()).collect();
        let calls: Vec<_> =
            blocks.iter().map(|block| self.code.builder.func.dfg.block_call(*block, &[])).collect();
        let table = self.code.builder.create_jump_table(JumpTableData::new(calls[0], &calls));
        self.code.builder.ins().br_table(owner, table);
        for (index, block) in blocks.into_iter().enumerate() {
            self.code.builder.switch_to_block(block);
            self.code.builder.seal_block(block);
            self.aside(|emit| {
                let line = &rules.lines[index];
                emit.line_played(act, line, index, [action, plane, square], played);
            });
            self.jump(judge);
        }
        self.place(judge);
        let position = self.load_position(act.things);
        self.judge(act, position, played);
    }

    /// Emits the play of an action of a line: all but the judgment.
    fn line_played(
        &mut self,
        act: Act,
        line: &Line<M>,
        index: usize,
        [action, plane, square]: [Value; 3],
        played: Played,
    ) -> Option<Position> {
        if matches!(line.moves, Move::Swap) {
            let code = self.code.builder.ins().iconst(types::I32, i64::from(NOT_COMPILED));
            self.code.builder.ins().return_(&[code]);
            let unreachable = self.code.builder.create_block();
            self.code.builder.switch_to_block(unreachable);
            self.code.builder.seal_block(unreachable);
            return None;
        }
        let before = self.load_position(act.things);
        let moved = self.load_moved(act.clock);
        self.load_times(act.clock);
        let route = self.route_of_action(act.player, line, &before, [action, plane, square]);
        let after = self.performed(act.player, line, route, before.clone(), moved);
        self.store_position(act.things, &before, &after);
        self.tick(act, line, &before, &after, played);
        self.next(act, line, index, route, &after, played);
        Some(after)
    }

    /// Maps the square of an action to the board.
    fn on_board(&mut self, square: Value, player: usize) -> Value {
        if !self.is_turned(player) {
            return square;
        }
        let table = self.code.number(self.facts.turned.as_ptr() as i64);
        self.code.load_entry(types::I16, table, square)
    }

    /// Returns the squares of an action.
    fn route_of_action(
        &mut self,
        player: usize,
        line: &Line<M>,
        position: &Position,
        [action, plane, square]: [Value; 3],
    ) -> Route {
        let none = self.code.none();
        let Shape { width, .. } = self.facts.shape;
        match &line.moves {
            Move::Pass | Move::Swap => Route { from: none, to: none, over: none },
            Move::Place => {
                let square = self.on_board(square, player);
                Route { from: none, to: self.code.square(square), over: none }
            }
            Move::To(_) | Move::Ray(_) => {
                let square = self.on_board(square, player);
                let from = line.piece.map_or(none, |piece| position.sets[piece]);
                Route { from, to: self.code.square(square), over: none }
            }
            Move::Drop => {
                let place = self.code.builder.ins().iadd_imm_s(action, -(line.first as i64));
                let place = self.on_board(place, player);
                let columns = self.tables.sets((0..self.facts.turned.len()).map(|square| {
                    let rules = &self.facts.rules[player];
                    rules.columns[square % width] & rules.board
                }));
                let column = self.set_of_table(columns, place);
                let kinds = self.facts.rules[player].kinds;
                let pieces = position.sets[..2 * kinds].iter().fold(none, |all, set| self.code.or(all, *set));
                let free = self.code.without(column, pieces);
                Route { from: none, to: self.code.lowest(free), over: none }
            }
            Move::From(planes) => {
                let square = self.on_board(square, player);
                let plane = self.code.builder.ins().iadd_imm_s(plane, -(line.first as i64));
                let from = self.code.square(square);
                let ahead = |emit: &mut Self, by: &dyn Fn(usize) -> i32| {
                    let table = emit.tables.numbers((0..planes.len()).map(|plane| i64::from(by(plane))));
                    let table = emit.code.number(table);
                    let by = emit.code.load_entry(types::I64, table, plane);
                    let to = emit.code.builder.ins().iadd(square, by);
                    emit.code.square(to)
                };
                let mut to = ahead(self, &|plane| planes[plane].by.by);
                let mut over = none;
                if let Some(what) = &line.over {
                    over = ahead(self, &|plane| planes[plane].step.by);
                    if what.off_board {
                        let inner = self.tables.sets(planes.iter().map(|plane| plane.by.inner));
                        let inner = self.set_of_table(inner, plane);
                        let inside = self.code.and(from, inner);
                        let any = self.code.any(inside);
                        let any = self.code.all_if(any);
                        to = self.code.and(to, any);
                    }
                }
                // no action leads off the board, whoever calls for it
                Route { from, to: self.code.within(to, self.facts.rules[player].board), over }
            }
        }
    }

    /// Adds one to a number of the clock, which stays in its range.
    fn counted_on(&mut self, ty: Type, clock: Value, offset: usize) {
        let number = self.code.load_number(ty, clock, offset);
        let more = self.code.builder.ins().iadd_imm_s(number, 1);
        let most = self.code.number((1 << ty.bits()) - 1);
        let more = self.code.builder.ins().smin(more, most);
        let more = self.code.builder.ins().ireduce(ty, more);
        self.code.store(more, clock, offset);
    }

    /// Emits what an action does to the clock, apart from whose turn it is.
    fn tick(&mut self, act: Act, line: &Line<M>, before: &Position, after: &Position, played: Played) {
        self.counted_on(types::I16, act.clock, offset_of!(Clock, ply));
        let pieces = 2 * self.facts.rules[0].kinds;
        let remembers = self.facts.rules[0].repetition.is_some();
        let counts_quiet = self.facts.words.counts_quiet;
        if remembers || counts_quiet {
            let changed: Vec<usize> =
                (0..before.sets.len()).filter(|set| before.sets[*set] != after.sets[*set]).collect();
            let mut number = |sets: &mut dyn Iterator<Item = Words>| {
                let zero = self.code.number(0);
                sets.fold(zero, |sum, set| {
                    let count = self.code.count(set);
                    self.code.builder.ins().iadd(sum, count)
                })
            };
            let on_board = || changed.iter().filter(|set| **set < pieces);
            let was = number(&mut on_board().map(|set| before.sets[*set]));
            let is = number(&mut on_board().map(|set| after.sets[*set]));
            let states = changed.iter().filter(|set| **set >= pieces);
            let states: Vec<[Value; 2]> = states
                .map(|set| [before, after].map(|position| number(&mut [position.sets[*set]].into_iter())))
                .collect();
            let differ = self.code.builder.ins().icmp(IntCC::NotEqual, was, is);
            let [none, some] =
                [0, CHANGED].map(|bits| self.code.builder.ins().iconst(types::I32, i64::from(bits)));
            let bits = self.code.builder.ins().select(differ, some, none);
            self.code.builder.def_var(played.changed, bits);
            if counts_quiet {
                let differ = states.into_iter().fold(differ, |all, [was, is]| {
                    let differ = self.code.builder.ins().icmp(IntCC::NotEqual, was, is);
                    self.code.builder.ins().bor(all, differ)
                });
                self.counted_on(types::I16, act.clock, offset_of!(Clock, quiet));
                let quiet = self.code.load(types::I16, act.clock, offset_of!(Clock, quiet));
                let zero = self.code.builder.ins().iconst(types::I16, 0);
                let quiet = self.code.builder.ins().select(differ, zero, quiet);
                self.code.store(quiet, act.clock, offset_of!(Clock, quiet));
            }
        }
        let zero = self.code.byte(0);
        if !line.moves.is_pass() {
            return self.code.store(zero, act.clock, offset_of!(Clock, passes));
        }
        let only = self.code.load(types::I8, act.clock, offset_of!(Clock, line));
        self.counted_on(types::I8, act.clock, offset_of!(Clock, passes));
        let passes = self.code.load(types::I8, act.clock, offset_of!(Clock, passes));
        let is_pass = self.code.builder.ins().icmp_imm_u(IntCC::Equal, only, i64::from(ANY_LINE));
        let passes = self.code.builder.ins().select(is_pass, passes, zero);
        self.code.store(passes, act.clock, offset_of!(Clock, passes));
    }

    /// Emits whose turn it is.
    fn next(
        &mut self,
        act: Act,
        line: &Line<M>,
        index: usize,
        route: Route,
        after: &Position,
        played: Played,
    ) {
        let turn = self.code.builder.ins().iconst(types::I32, i64::from(TURN));
        let nowhere = self.code.builder.ins().iconst(types::I16, i64::from(NOWHERE));
        if self.may_go_on() {
            self.go_on(act.clock, false, nowhere, ANY_LINE);
        }
        if let Next::Phase(phase) | Next::Then(phase) = line.next {
            let phase = self.code.byte(phase as u8);
            self.code.store(phase, act.clock, offset_of!(Clock, phase));
        }
        if let Next::Turn | Next::Phase(_) = line.next {
            return self.code.builder.def_var(played.turn, turn);
        }
        let has_moved = self.code.any(route.to);
        let to = self.code.lowest_number(route.to);
        let to = self.code.builder.ins().ireduce(types::I16, to);
        let to = self.code.builder.ins().select(has_moved, to, nowhere);
        if let Next::Then(_) = line.next {
            return self.go_on(act.clock, true, to, ANY_LINE);
        }
        let (stops, done) = (self.label(), self.label());
        let view = self.view(act.player, after.clone(), route, route.to);
        let own = self.seen(view).own;
        let stays = self.code.and(own, route.to);
        self.jump_if_none(stays, stops);
        self.go_on(act.clock, true, to, index as u8);
        let arguments = StuckArguments {
            actor: act.player,
            things: act.things,
            clock: act.clock,
            fresh_clock: act.clock,
        };
        let can = self.ask_can(arguments, Side::Own);
        let can = self.code.builder.ins().icmp_imm_u(IntCC::Equal, can, 1);
        self.jump_if(can, done);
        self.go_on(act.clock, false, nowhere, ANY_LINE);
        self.fall_to(stops);
        self.code.builder.def_var(played.turn, turn);
        self.fall_to(done);
    }

    /// Emits the judgment of a position after an action, and the return of what was found out.
    fn judge(&mut self, act: Act, position: Position, played: Played) {
        let rules = &self.facts.rules[act.player];
        self.forget_who_can();
        let (route, none) = (self.no_route(), self.code.none());
        let view = self.view(act.player, position, route, none);
        self.load_times(act.clock);
        let may_go_on = self.may_go_on();
        let fresh_clock = if may_go_on { self.fresh_clock(act.clock) } else { act.clock };
        let arguments =
            StuckArguments { actor: act.player, things: act.things, clock: act.clock, fresh_clock };
        self.stuck_arguments = Some(arguments);
        let asks_stuck =
            |(condition, _): &(Condition<M>, _)| condition.any(|part| matches!(part, Condition::Stuck(_)));
        if !may_go_on && self.asks_can(1 - act.player) && rules.ends.iter().any(asks_stuck) {
            // the answer is needed anyway
            self.ask_can(arguments, Side::Enemy);
        }
        for (index, (condition, ending)) in rules.ends.iter().enumerate() {
            let next = self.label();
            self.require(view, condition, next);
            self.end(act, view, ending, act.player, index, played);
            self.place(next);
        }
        self.stuck_arguments = None;
        if may_go_on {
            let (turn, goes_on) = (self.label(), self.label());
            let is_turn = self.code.builder.use_var(played.turn);
            self.jump_if(is_turn, turn);
            let line = self.code.load(types::I8, act.clock, offset_of!(Clock, line));
            let any_line = self.code.builder.ins().icmp_imm_u(IntCC::Equal, line, i64::from(ANY_LINE));
            // a piece that continues can act
            self.jump_unless(any_line, goes_on);
            self.judge_stuck(act, view, Side::Own, arguments, played);
            self.jump(goes_on);
            self.place(turn);
            self.judge_stuck(act, view, Side::Enemy, arguments, played);
            self.fall_to(goes_on);
        } else {
            self.judge_stuck(act, view, Side::Enemy, arguments, played);
        }
        let first = rules.ends.len();
        let late = [
            rules.quiet.as_ref().map(|(most, ending)| (self.times.quiet, most, ending, first + 2)),
            Some((self.times.ply, &rules.limit.0, &rules.limit.1, first + 3)),
        ];
        for (now, most, ending, reason) in late.into_iter().flatten() {
            let next = self.label();
            let is_over =
                self.code.builder.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, now, i64::from(*most));
            self.jump_unless(is_over, next);
            self.end(act, view, ending, act.player, reason, played);
            self.place(next);
        }
        let bits = self.code.builder.ins().iconst(types::I32, 0);
        self.report(bits, played);
    }

    /// Returns whether the judgment asks if a player to move can act.
    fn asks_can(&self, player: usize) -> bool {
        !self.facts.rules[player].passes.iter().all(|passes| *passes)
    }

    /// Emits the end of the game if the player to move can neither act nor pass.
    fn judge_stuck(&mut self, act: Act, view: ViewId, side: Side, arguments: StuckArguments, played: Played) {
        let player = if side == Side::Own { act.player } else { 1 - act.player };
        if !self.asks_can(player) {
            return;
        }
        let next = &self.facts.rules[player];
        let done = self.label();
        for phase in (0..next.passes.len()).filter(|phase| next.passes[*phase]) {
            let now = self.code.load(types::I8, act.clock, offset_of!(Clock, phase));
            let is_now = self.code.builder.ins().icmp_imm_u(IntCC::Equal, now, phase as i64);
            self.jump_if(is_now, done);
        }
        let can = self.ask_can(arguments, side);
        self.jump_if(can, done);
        let ending = next.stuck.as_ref().unwrap_or(&Ending::Loss);
        self.end(act, view, ending, player, self.facts.rules[act.player].ends.len(), played);
        self.place(done);
    }

    /// Emits the return of a result from the point of view of `player`.
    fn end(
        &mut self,
        act: Act,
        view: ViewId,
        ending: &Ending<M>,
        player: usize,
        reason: usize,
        played: Played,
    ) {
        let of = [Player::First, Player::Second][player];
        let bits = |outcome: Outcome| i64::from(outcome_bits(outcome) << OUTCOME);
        let mut constant = |outcome| self.code.builder.ins().iconst(types::I32, bits(outcome));
        let outcome = match ending {
            Ending::Win => constant(Outcome::Win(of)),
            Ending::Loss => constant(Outcome::Win(of.other())),
            Ending::Draw => constant(Outcome::Draw),
            Ending::Most(sets) => {
                let results = [Outcome::Win(of), Outcome::Win(of.other()), Outcome::Draw];
                let [win, loss, draw] = results.map(constant);
                let (route, moved) = (self.no_route(), self.load_moved(act.clock));
                let position = self.seen(view).position.clone();
                let [own, enemy] = [0, 1].map(|side| {
                    let player = if side == 0 { player } else { 1 - player };
                    let view = self.view(player, position.clone(), route, moved);
                    let set = self.set(view, &sets[side]);
                    self.code.count(set)
                });
                let is_less = self.code.builder.ins().icmp(IntCC::SignedLessThan, own, enemy);
                let is_more = self.code.builder.ins().icmp(IntCC::SignedGreaterThan, own, enemy);
                let not_more = self.code.builder.ins().select(is_less, loss, draw);
                self.code.builder.ins().select(is_more, win, not_more)
            }
        };
        let bits = self.code.builder.ins().bor_imm_u(outcome, (reason as i64) << REASON);
        self.report(bits, played);
    }

    fn report(&mut self, bits: Value, played: Played) {
        let (turn, changed) =
            (self.code.builder.use_var(played.turn), self.code.builder.use_var(played.changed));
        let bits = self.code.builder.ins().bor(bits, turn);
        let bits = self.code.builder.ins().bor(bits, changed);
        self.code.builder.ins().return_(&[bits]);
    }
}
