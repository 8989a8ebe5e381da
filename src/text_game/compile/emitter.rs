//! What is known while a function of the rules is emitted, and the ways through the function.
//!
//! A value may be used only where its computation has been passed. Sets that are kept are therefore remembered along
//! the way: after a branch, only those that every way to a place has computed are known there.

use std::collections::BTreeMap;
use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, FuncRef, InstBuilder, Value, types};
use cranelift_frontend::Variable;

use super::tables::Tables;
use super::words::{Code, Words};
use crate::board::Symmetry;
use crate::text_game::game::Facts;
use crate::text_game::mask::Mask;
use crate::text_game::ops::{Ahead, Condition, Things};
use crate::text_game::rules::{ANY_LINE, Clock, Line, NOWHERE};
use crate::text_game::text::Next;

/// The sets and the counters of a position.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Position {
    pub sets: Vec<Words>,
    pub counters: Vec<Value>,
}

/// The squares that an action leaves, moves to, and jumps over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    pub from: Words,
    pub to: Words,
    pub over: Words,
}

/// A position as one player sees it.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub player: usize,
    pub position: Position,
    pub own: Words,
    pub enemy: Words,
    pub route: Route,
    pub moved: Words,
}

/// The number of a view in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ViewId(usize);

/// The numbers of the clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub ply: Value,
    pub quiet: Value,
    pub passes: Value,
}

/// A place that several ways lead to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label(usize);

/// What has been computed on every way to a place: kept sets, and whether a player can act.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub sets: BTreeMap<(ViewId, usize), Words>,
    pub can: [Option<Value>; 2],
}

impl Known {
    /// Keeps only what is known there, too.
    fn keep_common(&mut self, there: &Known) {
        self.sets.retain(|key, set| there.sets.get(key) == Some(set));
        for (can, there) in self.can.iter_mut().zip(there.can) {
            *can = can.filter(|can| there == Some(*can));
        }
    }
}

/// Emits a function of the rules.
pub(super) struct Emitter<'a, 'f, M: Mask> {
    pub code: Code<'f>,
    pub facts: &'a Facts<M>,
    pub tables: &'a mut Tables<M>,
    /// The most steps from one edge of the board to the other.
    pub longest: usize,
    pub times: Times,
    /// For each player, the function that returns whether the player can act, and its arguments.
    pub can: [Option<FuncRef>; 2],
    pub stuck_arguments: Option<StuckArguments>,
    views: Vec<View>,
    /// What has been computed on every way to here.
    pub known: Known,
    labels: Vec<(Block, Option<Known>)>,
    /// Conditions that several lines require, and whether they hold before an action.
    pub held: Vec<(&'a Condition<M>, Value)>,
    /// The words of the squares that a line leads to.
    pub targets: Vec<Variable>,
    /// The direction in which a piece moves, while the sets of its target squares are evaluated.
    pub going: u8,
    pub direction: Option<Ahead<M>>,
}

/// The pointers to a position for the test of who is stuck, and the player who has acted.
#[derive(Clone, Copy, Debug)]
pub(super) struct StuckArguments {
    pub actor: usize,
    pub things: Value,
    /// The clock, and the clock without a piece that continues.
    pub clock: Value,
    pub fresh_clock: Value,
}

impl<'a, 'f, M: Mask> Emitter<'a, 'f, M> {
    pub(super) fn new(
        code: Code<'f>,
        facts: &'a Facts<M>,
        tables: &'a mut Tables<M>,
        times: Times,
        can: [Option<FuncRef>; 2],
    ) -> Emitter<'a, 'f, M> {
        Emitter {
            code,
            facts,
            tables,
            longest: facts.shape.width.max(facts.shape.height) - 1,
            times,
            can,
            stuck_arguments: None,
            views: Vec::new(),
            known: Known::default(),
            labels: Vec::new(),
            held: Vec::new(),
            targets: Vec::new(),
            going: u8::MAX,
            direction: None,
        }
    }

    pub(super) fn view(&mut self, player: usize, position: Position, route: Route, moved: Words) -> ViewId {
        let kinds = self.facts.rules[player].kinds;
        let none = self.code.none();
        let mut all = |pieces: &[Words]| {
            let mut pieces = pieces.iter();
            let first = pieces.next().copied().unwrap_or(none);
            pieces.fold(first, |set, more| self.code.or(set, *more))
        };
        let sides = [all(&position.sets[..kinds]), all(&position.sets[kinds..2 * kinds])];
        let (own, enemy) = (sides[player], sides[1 - player]);
        self.views.push(View { player, position, own, enemy, route, moved });
        ViewId(self.views.len() - 1)
    }

    pub(super) fn seen(&self, view: ViewId) -> &View {
        &self.views[view.0]
    }

    pub(super) fn no_route(&mut self) -> Route {
        let none = self.code.none();
        Route { from: none, to: none, over: none }
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels.push((self.code.builder.create_block(), None));
        Label(self.labels.len() - 1)
    }

    /// Returns the block of a label, for a jump from here.
    fn target(&mut self, label: Label) -> Block {
        let (block, known) = &mut self.labels[label.0];
        match known {
            Some(known) => known.keep_common(&self.known),
            None => *known = Some(self.known.clone()),
        }
        *block
    }

    pub(super) fn jump(&mut self, label: Label) {
        let block = self.target(label);
        self.code.builder.ins().jump(block, &[]);
    }

    /// Jumps if a value is true; otherwise continues.
    pub(super) fn jump_if(&mut self, holds: Value, label: Label) {
        let (block, next) = (self.target(label), self.code.builder.create_block());
        self.code.builder.ins().brif(holds, block, &[], next, &[]);
        self.code.builder.switch_to_block(next);
        self.code.builder.seal_block(next);
    }

    /// Jumps if a value is false; otherwise continues.
    pub(super) fn jump_unless(&mut self, holds: Value, label: Label) {
        let (block, next) = (self.target(label), self.code.builder.create_block());
        self.code.builder.ins().brif(holds, next, &[], block, &[]);
        self.code.builder.switch_to_block(next);
        self.code.builder.seal_block(next);
    }

    pub(super) fn jump_if_none(&mut self, set: Words, label: Label) {
        let any = self.code.any_word(set);
        self.jump_unless(any, label);
    }

    /// Continues at a label, to which all jumps have been made.
    pub(super) fn place(&mut self, label: Label) {
        let (block, known) = &mut self.labels[label.0];
        let (block, known) = (*block, known.take());
        self.known = known.unwrap_or_default();
        self.code.builder.switch_to_block(block);
        self.code.builder.seal_block(block);
    }

    /// Jumps to a label and continues there.
    pub(super) fn fall_to(&mut self, label: Label) {
        self.jump(label);
        self.place(label);
    }

    /// Emits code that may run any number of times, or not at all: the sets that it computes are forgotten afterwards.
    pub(super) fn aside<R>(&mut self, emit: impl FnOnce(&mut Self) -> R) -> R {
        let known = self.known.clone();
        let result = emit(self);
        self.known = known;
        result
    }

    /// Loads a position and returns the view of the player to move.
    pub(super) fn opening(&mut self, player: usize, things: Value, clock: Value) -> ViewId {
        let position = self.load_position(things);
        self.load_times(clock);
        let (route, moved) = (self.no_route(), self.load_moved(clock));
        self.view(player, position, route, moved)
    }

    pub(super) fn load_position(&mut self, things: Value) -> Position {
        let sets = offset_of!(Things<M>, sets);
        let counters = offset_of!(Things<M>, counters);
        Position {
            sets: (0..self.facts.sets)
                .map(|index| self.code.load_set(things, sets + index * size_of::<M>()))
                .collect(),
            counters: (0..self.facts.counters)
                .map(|index| self.code.load_number(types::I16, things, counters + 2 * index))
                .collect(),
        }
    }

    /// Loads the square of the piece that continues.
    pub(super) fn load_moved(&mut self, clock: Value) -> Words {
        let number = self.code.load_number(types::I16, clock, offset_of!(Clock, moved));
        let is_there = self.code.builder.ins().icmp_imm_u(IntCC::NotEqual, number, i64::from(NOWHERE));
        let (square, there) = (self.code.square(number), self.code.all_if(is_there));
        self.code.and(square, there)
    }

    pub(super) fn load_times(&mut self, clock: Value) {
        self.times = Times {
            ply: self.code.load_number(types::I16, clock, offset_of!(Clock, ply)),
            quiet: self.code.load_number(types::I16, clock, offset_of!(Clock, quiet)),
            passes: self.code.load_number(types::I8, clock, offset_of!(Clock, passes)),
        };
    }

    /// Returns whether a player sees the board turned.
    pub(super) fn is_turned(&self, player: usize) -> bool {
        player == 1 && self.facts.turning != Symmetry::IDENTITY
    }

    /// Returns whether a player may act twice in a row.
    pub(super) fn may_go_on(&self) -> bool {
        let goes_on = |line: &Line<M>| matches!(line.next, Next::Again { .. } | Next::Then(_));
        self.facts.rules[0].lines.iter().any(goes_on)
    }

    /// Returns the address of a copy of the clock without a piece that continues.
    pub(super) fn fresh_clock(&mut self, clock: Value) -> Value {
        let copy = self.code.scratch(size_of::<Clock>());
        let fields = [
            (types::I16, offset_of!(Clock, ply)),
            (types::I16, offset_of!(Clock, quiet)),
            (types::I8, offset_of!(Clock, passes)),
            (types::I8, offset_of!(Clock, phase)),
        ];
        for (ty, offset) in fields {
            let value = self.code.load(ty, clock, offset);
            self.code.store(value, copy, offset);
        }
        let nowhere = self.code.builder.ins().iconst(types::I16, i64::from(NOWHERE));
        self.go_on(copy, false, nowhere, ANY_LINE);
        copy
    }

    /// Stores whether and how a player continues.
    pub(super) fn go_on(&mut self, clock: Value, goes_on: bool, moved: Value, line: u8) {
        let [goes_on, line] = [u8::from(goes_on), line].map(|byte| self.code.byte(byte));
        self.code.store(goes_on, clock, offset_of!(Clock, goes_on));
        self.code.store(moved, clock, offset_of!(Clock, moved));
        self.code.store(line, clock, offset_of!(Clock, line));
    }
}
