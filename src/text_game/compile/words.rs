//! Emits operations on sets of squares, which are one 64-bit value for every 64 squares.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    Block, BlockArg, InstBuilder, MemFlagsData, StackSlotData, StackSlotKind, Type, Value, types,
};
use cranelift_frontend::{FunctionBuilder, Variable};

use crate::text_game::mask::Mask;
use crate::text_game::ops::Ahead;

/// The largest number of words of a set.
pub(super) const MOST_WORDS: usize = 7;

/// The largest number of instructions of a function, about three times as many as the longest function of a text in
/// `rules/` has. It bounds the time that compiling a text takes.
const MOST_INSTRUCTIONS: usize = 40_000;

/// A set of squares at one point of a function: a value for every 64 squares of the board.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Words {
    len: usize,
    of: [Value; MOST_WORDS],
}

impl Words {
    pub(super) fn of(&self) -> &[Value] {
        &self.of[..self.len]
    }

    pub(super) fn args(&self) -> impl Iterator<Item = BlockArg> + '_ {
        self.of().iter().map(|value| BlockArg::Value(*value))
    }
}

/// A function that is being emitted.
pub(super) struct Code<'f> {
    pub builder: FunctionBuilder<'f>,
    /// The number of words of a set.
    pub words: usize,
    /// The number 0, by which empty words are known.
    pub zero: Value,
}

impl Code<'_> {
    /// Returns whether the function has become too long to compile quickly, which is reported when it is finished.
    pub(super) fn is_too_long(&self) -> bool {
        self.builder.func.dfg.num_insts() > MOST_INSTRUCTIONS
    }

    pub(super) fn number(&mut self, number: i64) -> Value {
        self.builder.ins().iconst(types::I64, number)
    }

    pub(super) fn byte(&mut self, number: u8) -> Value {
        self.builder.ins().iconst(types::I8, i64::from(number))
    }

    pub(super) fn load(&mut self, ty: Type, from: Value, offset: usize) -> Value {
        self.builder.ins().load(ty, MemFlagsData::trusted(), from, offset as i32)
    }

    /// Loads an unsigned number as 64 bits.
    pub(super) fn load_number(&mut self, ty: Type, from: Value, offset: usize) -> Value {
        let number = self.load(ty, from, offset);
        self.builder.ins().uextend(types::I64, number)
    }

    /// Loads an unsigned number from a table of numbers of this type.
    pub(super) fn load_entry(&mut self, ty: Type, table: Value, index: Value) -> Value {
        let offset = self.builder.ins().imul_imm_u(index, i64::from(ty.bytes()));
        let entry = self.builder.ins().iadd(table, offset);
        if ty == types::I64 { self.load(ty, entry, 0) } else { self.load_number(ty, entry, 0) }
    }

    pub(super) fn store(&mut self, value: Value, to: Value, offset: usize) {
        self.builder.ins().store(MemFlagsData::trusted(), value, to, offset as i32);
    }

    pub(super) fn each(&mut self, mut word: impl FnMut(&mut Self, usize) -> Value) -> Words {
        let mut of = [Value::from_u32(0); MOST_WORDS];
        for (index, of) in of.iter_mut().enumerate().take(self.words) {
            *of = word(self, index);
        }
        Words { len: self.words, of }
    }

    pub(super) fn constant<M: Mask>(&mut self, set: M) -> Words {
        self.each(|code, index| match set.word(index) {
            0 => code.zero,
            word => code.number(word as i64),
        })
    }

    pub(super) fn none(&mut self) -> Words {
        let zero = self.zero;
        self.each(|_, _| zero)
    }

    /// Returns all squares if `holds` is true, or else none.
    pub(super) fn all_if(&mut self, holds: Value) -> Words {
        let wide = self.builder.ins().uextend(types::I64, holds);
        let all = self.builder.ins().ineg(wide);
        self.each(|_, _| all)
    }

    pub(super) fn load_set(&mut self, from: Value, offset: usize) -> Words {
        self.each(|code, index| code.load(types::I64, from, offset + 8 * index))
    }

    pub(super) fn store_set(&mut self, set: Words, to: Value, offset: usize) {
        for (index, word) in set.of().iter().enumerate() {
            self.store(*word, to, offset + 8 * index);
        }
    }

    pub(super) fn and(&mut self, one: Words, other: Words) -> Words {
        self.each(|code, index| match [one.of[index], other.of[index]] {
            [one, other] if one == code.zero || other == code.zero => code.zero,
            [one, other] => code.builder.ins().band(one, other),
        })
    }

    pub(super) fn or(&mut self, one: Words, other: Words) -> Words {
        self.each(|code, index| match [one.of[index], other.of[index]] {
            [one, other] if one == code.zero => other,
            [one, other] if other == code.zero => one,
            [one, other] => code.builder.ins().bor(one, other),
        })
    }

    pub(super) fn without(&mut self, one: Words, other: Words) -> Words {
        self.each(|code, index| match [one.of[index], other.of[index]] {
            [one, other] if one == code.zero || other == code.zero => one,
            [one, other] => code.builder.ins().band_not(one, other),
        })
    }

    pub(super) fn xor(&mut self, one: Words, other: Words) -> Words {
        self.each(|code, index| code.builder.ins().bxor(one.of[index], other.of[index]))
    }

    pub(super) fn select(&mut self, first: Value, one: Words, other: Words) -> Words {
        self.each(|code, index| code.builder.ins().select(first, one.of[index], other.of[index]))
    }

    pub(super) fn not(&mut self, set: Words) -> Words {
        self.each(|code, index| code.builder.ins().bnot(set.of[index]))
    }

    /// Returns the squares that are in a set and in a constant set.
    pub(super) fn within<M: Mask>(&mut self, set: Words, within: M) -> Words {
        self.each(|code, index| match within.word(index) {
            0 => code.zero,
            _ if set.of[index] == code.zero => code.zero,
            u64::MAX => set.of[index],
            word => code.builder.ins().band_imm_u(set.of[index], word as i64),
        })
    }

    /// Moves every square by `by`; squares that leave the words are dropped.
    pub(super) fn shifted(&mut self, set: Words, by: i32) -> Words {
        let (words, bits) = (by.unsigned_abs() as usize / 64, i64::from(by.unsigned_abs() % 64));
        let zero = self.zero;
        let at = |index: usize, back: usize| index.checked_sub(back).map_or(zero, |index| set.of[index]);
        let after = |index: usize, ahead: usize| {
            if index + ahead < set.len { set.of[index + ahead] } else { zero }
        };
        self.each(|code, index| {
            let (near, far) = if by >= 0 {
                (at(index, words), at(index, words + 1))
            } else {
                (after(index, words), after(index, words + 1))
            };
            code.joined(near, far, bits, by >= 0)
        })
    }

    /// Returns a word that takes most bits from `near` and the others from `far`.
    fn joined(&mut self, near: Value, far: Value, bits: i64, is_up: bool) -> Value {
        if bits == 0 {
            return near;
        }
        let zero = self.zero;
        let mut part = |from: Value, bits: i64, is_up: bool| {
            if from == zero {
                return zero;
            }
            let ins = self.builder.ins();
            if is_up { ins.ishl_imm_u(from, bits) } else { ins.ushr_imm_u(from, bits) }
        };
        let (near, far) = (part(near, bits, is_up), part(far, 64 - bits, !is_up));
        match (near == zero, far == zero) {
            (_, true) => near,
            (true, false) => far,
            (false, false) => self.builder.ins().bor(near, far),
        }
    }

    /// Returns the squares one step ahead of `set`.
    pub(super) fn ahead<M: Mask>(&mut self, set: Words, ahead: &Ahead<M>) -> Words {
        let inner = self.within(set, ahead.inner);
        self.shifted(inner, ahead.by)
    }

    /// Returns the squares from which the step leads to one of `set`.
    pub(super) fn before<M: Mask>(&mut self, set: Words, ahead: &Ahead<M>) -> Words {
        self.ahead(set, &ahead.back())
    }

    /// Returns the union of the squares one step from `set` in these directions.
    pub(super) fn around<'a, M: Mask>(
        &mut self,
        set: Words,
        steps: impl IntoIterator<Item = &'a Ahead<M>>,
    ) -> Words {
        let none = self.none();
        steps.into_iter().fold(none, |all, step| {
            let next = self.ahead(set, step);
            self.or(all, next)
        })
    }

    /// Returns `from` and all squares of `over` that follow it, in the direction of the step, without a gap. The reach
    /// doubles with every operation, up to `most` squares.
    pub(super) fn fill<M: Mask>(&mut self, from: Words, over: Words, step: &Ahead<M>, most: usize) -> Words {
        if step.inner.is_none() {
            return from;
        }
        let (mut filled, mut open) = (from, self.within(over, step.back().inner));
        let (mut reached, mut by) = (0, 1);
        while reached < most {
            let next = self.shifted(filled, step.by * by);
            let next = self.and(next, open);
            filled = self.or(filled, next);
            reached += by as usize;
            if reached < most {
                let next = self.shifted(open, step.by * by);
                open = self.and(open, next);
                by *= 2;
            }
        }
        filled
    }

    /// Returns the squares of a ray up to and including the first one that is not open; `is_rising` if the numbers of
    /// the squares rise along the ray. There must be one word.
    pub(super) fn open_ray(&mut self, ray: Words, open: Words, is_rising: bool) -> Words {
        self.each(|code, index| {
            let blocked = code.builder.ins().band_not(ray.of[index], open.of[index]);
            let near = if is_rising {
                let less = code.builder.ins().iadd_imm_s(blocked, -1);
                code.builder.ins().bxor(blocked, less)
            } else {
                let some = code.builder.ins().bor_imm_u(blocked, 1);
                let zeros = code.builder.ins().clz(some);
                let all = code.number(i64::MIN);
                code.builder.ins().sshr(all, zeros)
            };
            code.builder.ins().band(ray.of[index], near)
        })
    }

    pub(super) fn any_word(&mut self, set: Words) -> Value {
        let zero = self.zero;
        set.of()
            .iter()
            .filter(|word| **word != zero)
            .fold(zero, |all, word| if all == zero { *word } else { self.builder.ins().bor(all, *word) })
    }

    /// Returns whether the set has a square.
    pub(super) fn any(&mut self, set: Words) -> Value {
        let all = self.any_word(set);
        self.builder.ins().icmp_imm_u(IntCC::NotEqual, all, 0)
    }

    pub(super) fn is_equal(&mut self, one: Words, other: Words) -> Value {
        let differ = self.each(|code, index| code.builder.ins().bxor(one.of[index], other.of[index]));
        let all = self.any_word(differ);
        self.builder.ins().icmp_imm_u(IntCC::Equal, all, 0)
    }

    /// Returns the number of squares.
    pub(super) fn count(&mut self, set: Words) -> Value {
        let counts = self.each(|code, index| code.builder.ins().popcnt(set.of[index]));
        let first = counts.of[0];
        counts.of()[1..].iter().fold(first, |sum, count| self.builder.ins().iadd(sum, *count))
    }

    /// Returns the lowest square of the set alone.
    pub(super) fn lowest(&mut self, set: Words) -> Words {
        let zero = self.zero;
        let mut below: Option<Value> = None;
        self.each(|code, index| {
            let word = set.of[index];
            let negative = code.builder.ins().ineg(word);
            let lowest = code.builder.ins().band(word, negative);
            let Some(lower) = below else {
                below = Some(word);
                return lowest;
            };
            below = Some(code.builder.ins().bor(lower, word));
            let is_first = code.builder.ins().icmp_imm_u(IntCC::Equal, lower, 0);
            code.builder.ins().select(is_first, lowest, zero)
        })
    }

    /// Returns the number of the lowest square of a set that is not empty.
    pub(super) fn lowest_number(&mut self, set: Words) -> Value {
        let last = set.len - 1;
        let at = |code: &mut Self, index: usize| {
            let zeros = code.builder.ins().ctz(set.of[index]);
            code.builder.ins().iadd_imm_s(zeros, 64 * index as i64)
        };
        let mut number = at(self, last);
        for index in (0..last).rev() {
            let here = at(self, index);
            let is_empty = self.builder.ins().icmp_imm_u(IntCC::Equal, set.of[index], 0);
            number = self.builder.ins().select(is_empty, number, here);
        }
        number
    }

    /// Returns the set of the square with this number.
    pub(super) fn square(&mut self, number: Value) -> Words {
        let one = self.number(1);
        // a shift uses the lowest six bits of the number
        let bit = self.builder.ins().ishl(one, number);
        if self.words == 1 {
            return self.each(|_, _| bit);
        }
        let (zero, word) = (self.zero, self.builder.ins().ushr_imm_u(number, 6));
        self.each(|code, index| {
            let is_here = code.builder.ins().icmp_imm_u(IntCC::Equal, word, index as i64);
            code.builder.ins().select(is_here, bit, zero)
        })
    }

    /// Returns the address of room for some bytes.
    pub(super) fn scratch(&mut self, bytes: usize) -> Value {
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes as u32, 3);
        let slot = self.builder.create_sized_stack_slot(data);
        self.builder.ins().stack_addr(types::I64, slot, 0)
    }

    /// Makes a block that gets a set.
    pub(super) fn block_with_set(&mut self) -> (Block, Words) {
        let block = self.builder.create_block();
        let set = self.block_set(block);
        (block, set)
    }

    /// Adds a set to what a block gets.
    pub(super) fn block_set(&mut self, block: Block) -> Words {
        self.each(|code, _| code.block_number(block))
    }

    /// Adds a number to what a block gets.
    pub(super) fn block_number(&mut self, block: Block) -> Value {
        self.builder.append_block_param(block, types::I64)
    }

    pub(super) fn variable(&mut self, ty: Type, start: Value) -> Variable {
        let variable = self.builder.declare_var(ty);
        self.builder.def_var(variable, start);
        variable
    }

    /// Returns all squares of `within` that are connected to `seeds` through squares of `within`, including the seeds.
    pub(super) fn flood<M: Mask>(&mut self, seeds: Words, within: Words, directions: &[Ahead<M>]) -> Words {
        let seeds = self.and(seeds, within);
        let (header, now) = self.block_with_set();
        let done = self.builder.create_block();
        self.builder.ins().jump(header, &seeds.args().collect::<Vec<_>>());
        self.builder.switch_to_block(header);
        let mut reached = now;
        let mut rest: Vec<&Ahead<M>> = directions.iter().collect();
        while let Some(ahead) = rest.pop() {
            // opposite steps do not wait for each other
            let opposite =
                rest.iter().position(|other| other.by == -ahead.by).map(|index| rest.remove(index));
            let next = self.around(reached, std::iter::once(ahead).chain(opposite));
            let next = self.and(next, within);
            reached = self.or(reached, next);
        }
        let is_done = self.is_equal(reached, now);
        self.builder.ins().brif(is_done, done, &[], header, &reached.args().collect::<Vec<_>>());
        self.builder.seal_block(header);
        self.builder.switch_to_block(done);
        self.builder.seal_block(done);
        now
    }

    /// Returns the number of connected groups of squares of `of`.
    pub(super) fn groups<M: Mask>(&mut self, of: Words, directions: &[Ahead<M>]) -> Value {
        let (header, rest) = self.block_with_set();
        let groups = self.builder.append_block_param(header, types::I64);
        let (body, done) = (self.builder.create_block(), self.builder.create_block());
        let args: Vec<BlockArg> = of.args().chain([self.zero.into()]).collect();
        self.builder.ins().jump(header, &args);
        self.builder.switch_to_block(header);
        let has_more = self.any(rest);
        self.builder.ins().brif(has_more, body, &[], done, &[]);
        self.builder.switch_to_block(body);
        self.builder.seal_block(body);
        let seed = self.lowest(rest);
        let group = self.flood(seed, rest, directions);
        let rest = self.without(rest, group);
        let more = self.builder.ins().iadd_imm_s(groups, 1);
        let args: Vec<BlockArg> = rest.args().chain([more.into()]).collect();
        self.builder.ins().jump(header, &args);
        self.builder.seal_block(header);
        self.builder.switch_to_block(done);
        self.builder.seal_block(done);
        groups
    }

    /// Returns the squares after a mirroring of the rows.
    pub(super) fn rows_mirrored<M: Mask>(
        &mut self,
        set: Words,
        row: M,
        (height, width): (usize, usize),
    ) -> Words {
        if self.words == 1 && (height, width) == (8, 8) {
            return self.each(|code, index| code.builder.ins().bswap(set.of[index]));
        }
        let none = self.none();
        (0..height).fold(none, |mirrored, y| {
            let here = self.within(set, row.shifted((y * width) as i32));
            let there = self.shifted(here, ((height - 1 - y) as i32 - y as i32) * width as i32);
            self.or(mirrored, there)
        })
    }

    /// Emits a loop over the squares of a set in ascending order; `each` gets the number of a square.
    pub(super) fn each_square(&mut self, set: Words, mut each: impl FnMut(&mut Self, Value)) {
        for (index, word) in set.of().iter().enumerate() {
            let header = self.builder.create_block();
            let rest = self.builder.append_block_param(header, types::I64);
            let (body, done) = (self.builder.create_block(), self.builder.create_block());
            self.builder.ins().jump(header, &[BlockArg::Value(*word)]);
            self.builder.switch_to_block(header);
            self.builder.ins().brif(rest, body, &[], done, &[]);
            self.builder.switch_to_block(body);
            self.builder.seal_block(body);
            let zeros = self.builder.ins().ctz(rest);
            let number =
                if index == 0 { zeros } else { self.builder.ins().iadd_imm_s(zeros, 64 * index as i64) };
            each(self, number);
            let less = self.builder.ins().iadd_imm_s(rest, -1);
            let rest = self.builder.ins().band(rest, less);
            self.builder.ins().jump(header, &[BlockArg::Value(rest)]);
            self.builder.seal_block(header);
            self.builder.switch_to_block(done);
            self.builder.seal_block(done);
        }
    }
}
