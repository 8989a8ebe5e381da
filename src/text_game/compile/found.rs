//! Emits what is done with the actions that a search finds.

use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::Variable;

use super::actions::first_word;
use super::emitter::{Emitter, Position, View, ViewId};
use super::lines::{Search, Sink};
use super::words::Words;
use crate::board::Symmetry;
use crate::encode::Shape;
use crate::text_game::mask::Mask;
use crate::text_game::rules::{Line, Move};

impl<M: Mask> Emitter<'_, '_, M> {
    /// Returns the squares that the line, so far, leads to.
    pub(super) fn gathered(&mut self) -> Words {
        let targets = self.targets.clone();
        self.code.each(|code, index| code.builder.use_var(targets[index]))
    }

    /// Adds the squares that a line leads to, and notes that the line has actions if there are any.
    pub(super) fn gather(&mut self, to: Words, any: Variable) {
        let before = self.gathered();
        let after = self.code.or(before, to);
        for (variable, word) in self.targets.clone().into_iter().zip(after.of()) {
            self.code.builder.def_var(variable, *word);
        }
        let (some, more) = (self.code.builder.use_var(any), self.code.any_word(to));
        let some = self.code.builder.ins().bor(some, more);
        self.code.builder.def_var(any, some);
    }

    /// Passes on the squares of the legal actions of a plane of a line.
    pub(super) fn found(&mut self, search: Search, index: usize, plane: usize, squares: Words) {
        let line = &self.lines(search)[index];
        if let Sink::Can { yes, .. } = search.sink
            && line.required.is_empty()
            && !line.moves.is_pass()
        {
            let any = self.code.any_word(squares);
            return self.jump_if(any, yes);
        }
        let none = self.label();
        if !(line.required.is_empty() && matches!(search.sink, Sink::Mark { .. })) {
            self.skip_if_none(search, squares, none);
        }
        let squares = if line.required.is_empty() {
            squares
        } else {
            let squares = self.without_refused(search, line, plane, squares, none);
            self.jump_if_none(squares, none);
            squares
        };
        match search.sink {
            Sink::Mark { words, any } => {
                self.mark(search, line, plane, squares, words);
                if let Some(any) = any {
                    let (before, more) = (self.code.builder.use_var(any), self.code.any_word(squares));
                    let after = self.code.builder.ins().bor(before, more);
                    self.code.builder.def_var(any, after);
                }
            }
            Sink::Can { can, .. } => {
                let only_passing = self.code.byte(2);
                self.code.builder.def_var(can, only_passing);
            }
            Sink::Targets { any, .. } => {
                let to = self.reached(line, plane, squares);
                self.gather(to, any);
            }
        }
        self.fall_to(none);
    }

    /// Returns the squares that the actions of a plane lead to.
    fn reached(&mut self, line: &Line<M>, plane: usize, squares: Words) -> Words {
        let Move::From(planes) = &line.moves else { return squares };
        let plane = &planes[plane];
        let inside = self.code.ahead(squares, &plane.by);
        // for a hop off the board, the last square on the board
        let outside = self.code.within(squares, !plane.by.inner);
        let outside = self.code.ahead(outside, &plane.step);
        self.code.or(inside, outside)
    }

    /// Marks the actions of a plane.
    fn mark(&mut self, search: Search, line: &Line<M>, plane: usize, squares: Words, words: Value) {
        let player = self.seen(search.view).player;
        let squares = match line.moves {
            Move::Drop => self.columns_seen(squares, player),
            Move::Pass | Move::Swap => squares,
            _ => self.turned(squares, player),
        };
        let first = first_word(&self.facts.rules[player], line, self.code.words);
        self.code.store_set(squares, words, 8 * (first + self.code.words * plane));
    }

    /// Returns the second player's view of a position with both players exchanged. In it, the first player has the
    /// second player's actions.
    pub(super) fn turned_view(&mut self, view: ViewId) -> ViewId {
        let facts = self.facts;
        let View { player, position, moved, .. } = self.seen(view).clone();
        let kinds = facts.rules[player].kinds;
        let mut sets: Vec<Words> = position.sets.iter().map(|set| self.turned(*set, player)).collect();
        sets[..2 * kinds].rotate_left(kinds);
        let mut counters = position.counters;
        for counter in 0..facts.text.counters.len() {
            for (one, other) in facts.text.numbers_of(counter, 0).zip(facts.text.numbers_of(counter, 1)) {
                counters.swap(one, other);
            }
        }
        let (route, moved) = (self.no_route(), self.turned(moved, player));
        self.view(1 - player, Position { sets, counters }, route, moved)
    }

    /// Maps squares of the board to those in a player's view.
    fn turned(&mut self, squares: Words, player: usize) -> Words {
        let facts = self.facts;
        if !self.is_turned(player) {
            return squares;
        }
        if facts.turning == Symmetry::ROW_MIRROR {
            let Shape { height, width, .. } = facts.shape;
            return self.code.rows_mirrored(squares, facts.row, (height, width));
        }
        let slot = self.code.scratch(8 * self.code.words);
        let none = self.code.none();
        self.code.store_set(none, slot, 0);
        let table = self.code.number(facts.turned.as_ptr() as i64);
        let is_one_word = self.code.words == 1;
        self.code.each_square(squares, |code, square| {
            let turned = code.load_entry(types::I16, table, square);
            let place = if is_one_word {
                slot
            } else {
                let word = code.builder.ins().ushr_imm_u(turned, 6);
                let bytes = code.builder.ins().ishl_imm_u(word, 3);
                code.builder.ins().iadd(slot, bytes)
            };
            let one = code.number(1);
            let bit = code.builder.ins().ishl(one, turned);
            let before = code.load(types::I64, place, 0);
            let after = code.builder.ins().bor(before, bit);
            code.store(after, place, 0);
        });
        self.code.load_set(slot, 0)
    }

    /// Returns the columns of these squares, as the squares of the first row.
    fn columns(&mut self, squares: Words) -> Words {
        let Shape { height, width, .. } = self.facts.shape;
        let row = self.facts.row;
        let none = self.code.none();
        (0..height).fold(none, |columns, y| {
            let here = self.code.shifted(squares, -((y * width) as i32));
            let here = self.code.within(here, row);
            self.code.or(columns, here)
        })
    }

    /// Returns the columns of these squares in a player's view.
    fn columns_seen(&mut self, squares: Words, player: usize) -> Words {
        let width = self.facts.shape.width;
        let keeps_columns =
            self.facts.turned.iter().enumerate().all(|(from, to)| from % width == usize::from(*to) % width);
        let squares = if keeps_columns { squares } else { self.turned(squares, player) };
        self.columns(squares)
    }
}
