//! Emits the planes of a position, as [`encode`](crate::text_game::encode) writes them.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};

use super::emitter::{Emitter, View, ViewId};
use super::lines::{Search, Sink};
use super::words::Words;
use crate::text_game::ast::Side;
use crate::text_game::mask::Mask;
use crate::text_game::planes::Plane;
use crate::text_game::rules::Clock;
use crate::text_game::text::CounterOf;

/// The pointers to a position, to the words of the planes, and whether the game is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Encode {
    pub player: usize,
    pub things: Value,
    pub clock: Value,
    pub out: Value,
    pub is_over: Value,
}

/// A position as both players see it, on the board as the player to move sees it.
#[derive(Clone, Copy, Debug)]
struct Views {
    own: ViewId,
    enemy: ViewId,
}

impl<M: Mask> Emitter<'_, '_, M> {
    /// Emits all planes but that of repetitions.
    pub(super) fn encode(&mut self, encode: Encode) {
        let mut own = self.opening(encode.player, encode.things, encode.clock);
        if self.is_turned(encode.player) {
            own = self.turned_view(own);
        }
        let View { player, position, .. } = self.seen(own).clone();
        let (route, none) = (self.no_route(), self.code.none());
        let enemy = self.view(1 - player, position, route, none);
        let views = Views { own, enemy };
        let encoding = &self.facts.encoding;
        for (plane, what) in encoding.iter().enumerate() {
            if let Plane::Targets(..) = what {
                self.write_plane(encode.out, plane, none);
            }
        }
        let over = self.label();
        self.jump_if(encode.is_over, over);
        self.targets(encode, views);
        self.fall_to(over);
        for (plane, what) in encoding.iter().enumerate() {
            match self.squares_of_plane(views, *what) {
                Some(squares) => self.write_plane(encode.out, plane, squares),
                None => {
                    if let Some(number) = self.number_of_plane(encode, views, *what) {
                        self.fill_plane(encode.out, plane, number);
                    }
                }
            }
        }
    }

    /// Adds the squares to which each line leads to the planes.
    fn targets(&mut self, encode: Encode, views: Views) {
        let fresh = if self.may_go_on() { self.fresh_clock(encode.clock) } else { encode.clock };
        let sides = [(views.own, encode.clock, Side::Own), (views.enemy, fresh, Side::Enemy)];
        for (view, clock, side) in sides {
            let any = self.code.variable(types::I64, self.code.zero);
            self.find(Search::new(view, clock, Sink::Targets { out: encode.out, side, any }));
        }
    }

    /// Returns the offset of the plane with the squares to which a line leads, if there is one.
    pub(super) fn plane_of_targets(&self, line: usize, side: Side) -> Option<usize> {
        let plane = Plane::Targets(self.facts.kin[line], side);
        let plane = self.facts.encoding.iter().position(|known| *known == plane)?;
        Some(8 * plane * self.facts.shape.plane_words())
    }

    /// Returns the squares of a plane that has squares and is not written yet.
    fn squares_of_plane(&mut self, views: Views, plane: Plane) -> Option<Words> {
        let view = |side: Side| if side == Side::Own { views.own } else { views.enemy };
        let kinds = self.facts.rules[0].kinds;
        Some(match plane {
            Plane::Pieces(side, kind) => {
                let View { player, position, .. } = self.seen(view(side));
                position.sets[player * kinds + kind]
            }
            Plane::Empty => {
                let all = self.all(views.own);
                self.off(all)
            }
            Plane::State(index) => self.seen(views.own).position.sets[2 * kinds + index],
            Plane::Set(index, side) => self.kept(view(side), index),
            Plane::Moved => self.seen(views.own).moved,
            _ => return None,
        })
    }

    /// Returns the number of a plane that is filled with one, as 32 bits with a fraction.
    fn number_of_plane(&mut self, encode: Encode, views: Views, plane: Plane) -> Option<Value> {
        let facts = self.facts;
        let rules = &facts.rules[encode.player];
        let share = |emit: &mut Self, number: Value, most: f32| {
            let number = emit.code.builder.ins().fcvt_from_uint(types::F32, number);
            let most = emit.code.builder.ins().f32const(most);
            emit.code.builder.ins().fdiv(number, most)
        };
        Some(match plane {
            Plane::Phase(phase) => self.is_byte(encode.clock, offset_of!(Clock, phase), &[phase]),
            Plane::By(line) => {
                let kin: Vec<usize> = (0..facts.kin.len()).filter(|at| facts.kin[*at] == line).collect();
                self.is_byte(encode.clock, offset_of!(Clock, line), &kin)
            }
            Plane::Counter(counter, side, kind, most) => {
                let View { player, position, .. } = self.seen(views.own).clone();
                let whose = if side == Side::Own { player } else { 1 - player };
                let number = facts.text.number_of(CounterOf { counter, side: Side::Own, kind }, whose);
                share(self, position.counters[number], f32::from(most))
            }
            Plane::Passes => {
                let two = self.code.number(2);
                let passes = self.code.builder.ins().umin(self.times.passes, two);
                share(self, passes, 2.0)
            }
            Plane::Quiet => {
                let most = rules.quiet.as_ref().map_or(100, |(most, _)| *most);
                share(self, self.times.quiet, f32::from(most))
            }
            Plane::Ply(true) => share(self, self.times.ply, f32::from(rules.limit.0)),
            Plane::Ply(false) => {
                let limit = f32::from(rules.limit.0);
                let half = (limit / 2.0).floor();
                let start = self.code.number(half as i64);
                let late = self.code.builder.ins().isub(self.times.ply, start);
                let late = self.code.builder.ins().smax(late, self.code.zero);
                share(self, late, limit - half)
            }
            Plane::First => self.code.builder.ins().f32const(f32::from(u8::from(encode.player == 0))),
            _ => return None,
        })
    }

    /// Returns 1 or 0 with a fraction: whether a byte is one of these numbers.
    fn is_byte(&mut self, clock: Value, offset: usize, numbers: &[usize]) -> Value {
        let byte = self.code.load(types::I8, clock, offset);
        let [mut is_one, one] = [0.0, 1.0].map(|number| self.code.builder.ins().f32const(number));
        for number in numbers {
            let is_it = self.code.builder.ins().icmp_imm_u(IntCC::Equal, byte, *number as i64);
            is_one = self.code.builder.ins().select(is_it, one, is_one);
        }
        is_one
    }

    fn write_plane(&mut self, out: Value, plane: usize, squares: Words) {
        let offset = 8 * plane * self.facts.shape.plane_words();
        self.code.store_set(squares, out, offset);
        let one = self.code.number(1.0_f32.to_bits().into());
        self.code.store(one, out, offset + 8 * self.code.words);
    }

    fn fill_plane(&mut self, out: Value, plane: usize, number: Value) {
        let offset = 8 * plane * self.facts.shape.plane_words();
        let all = self.code.number(-1);
        let all = self.code.each(|_, _| all);
        self.code.store_set(all, out, offset);
        let bits = self.code.builder.ins().bitcast(types::I32, MemFlagsData::new(), number);
        let bits = self.code.builder.ins().uextend(types::I64, bits);
        self.code.store(bits, out, offset + 8 * self.code.words);
    }
}
