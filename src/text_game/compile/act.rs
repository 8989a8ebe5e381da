//! Emits what an action does, as [`Rules::perform`](crate::text_game::rules::Rules::perform) does it.

use cranelift_codegen::ir::{BlockArg, InstBuilder, Value};

use super::emitter::{Emitter, Position, Route};
use super::words::Words;
use crate::text_game::mask::Mask;
use crate::text_game::ops::Effect;
use crate::text_game::rules::{Line, Move};

/// The player who acts, the squares of the action, and the square of the piece that continues.
#[derive(Clone, Copy, Debug)]
struct Doing {
    player: usize,
    route: Route,
    moved: Words,
}

impl<M: Mask> Emitter<'_, '_, M> {
    /// Returns a position after an action.
    pub(super) fn performed(
        &mut self,
        player: usize,
        line: &Line<M>,
        route: Route,
        mut position: Position,
        moved: Words,
    ) -> Position {
        let kinds = self.facts.rules[player].kinds;
        let (own, enemy) = (player * kinds, (1 - player) * kinds);
        if line.captures {
            let taken = if line.over.is_some() { route.over } else { route.to };
            for set in &mut position.sets[enemy..][..kinds] {
                *set = self.code.without(*set, taken);
            }
        }
        match &line.moves {
            Move::Place | Move::Drop => {
                if let Some(piece) = line.piece {
                    position.sets[piece] = self.code.or(position.sets[piece], route.to);
                }
            }
            Move::From(_) | Move::To(_) | Move::Ray(_) if line.exchanges => {
                let (both, none) = (self.code.or(route.from, route.to), self.code.none());
                for (index, set) in position.sets[..2 * kinds].iter_mut().enumerate() {
                    let [at_from, at_to] = [route.from, route.to].map(|place| self.code.and(*set, place));
                    // a set changes if it has one of both squares, and only one set has a square
                    let [changed, kept] = match line.piece {
                        Some(piece) if piece == index => [none, both],
                        Some(_) => [both, none],
                        None => {
                            let leaves = self.code.any(at_from);
                            let all = self.code.all_if(leaves);
                            let gone = self.code.without(both, all);
                            [gone, self.code.and(both, all)]
                        }
                    };
                    let arrives = self.code.any(at_to);
                    let changed = self.code.select(arrives, changed, kept);
                    *set = self.code.xor(*set, changed);
                }
            }
            Move::From(_) | Move::To(_) | Move::Ray(_) => {
                // a square holds at most one piece, so a line that names its piece changes only the set of its kind
                let moving = match line.piece {
                    Some(piece) => piece..piece + 1,
                    None => own..own + kinds,
                };
                let is_one = moving.len() == 1;
                for set in &mut position.sets[moving] {
                    let left = self.code.without(*set, route.from);
                    let to = if is_one {
                        route.to
                    } else {
                        let there = self.code.and(*set, route.from);
                        let any = self.code.any(there);
                        let is_moving = self.code.all_if(any);
                        self.code.and(route.to, is_moving)
                    };
                    *set = self.code.or(left, to);
                }
            }
            Move::Pass | Move::Swap => {}
        }
        let doing = Doing { player, route, moved };
        line.effects.iter().fold(position, |position, effect| self.effect(effect, doing, position))
    }

    fn effect(&mut self, effect: &Effect<M>, doing: Doing, mut position: Position) -> Position {
        let kinds = self.facts.rules[0].kinds;
        match effect {
            Effect::Remove(of) => {
                let gone = self.squares_of_effect(of, doing, &position);
                for set in &mut position.sets[..2 * kinds] {
                    *set = self.code.without(*set, gone);
                }
            }
            Effect::Flip(of) => {
                let flipped = self.squares_of_effect(of, doing, &position);
                for kind in 0..kinds {
                    // the squares that change sides are in exactly one of both sets
                    let (first, second) = (position.sets[kind], position.sets[kinds + kind]);
                    let [stay, come] = [first, second].map(|set| self.code.without(set, flipped));
                    let [go, arrive] = [first, second].map(|set| self.code.and(set, flipped));
                    position.sets[kind] = self.code.or(stay, arrive);
                    position.sets[kinds + kind] = self.code.or(come, go);
                }
            }
            Effect::Mark(state, of) => {
                let marked = self.squares_of_effect(of, doing, &position);
                let marked = self.code.within(marked, self.facts.rules[0].board);
                let set = &mut position.sets[2 * kinds + state];
                *set = self.code.or(*set, marked);
            }
            Effect::Unmark(state, of) => {
                let unmarked = self.squares_of_effect(of, doing, &position);
                let set = &mut position.sets[2 * kinds + state];
                *set = self.code.without(*set, unmarked);
            }
            Effect::Promote(kind, of) => {
                let promoted = self.squares_of_effect(of, doing, &position);
                for player in 0..2 {
                    let mut here = self.code.none();
                    for set in &mut position.sets[player * kinds..][..kinds] {
                        let these = self.code.and(*set, promoted);
                        here = self.code.or(here, these);
                        *set = self.code.without(*set, promoted);
                    }
                    let set = &mut position.sets[player * kinds + kind];
                    *set = self.code.or(*set, here);
                }
            }
            Effect::Count(counter, by) => {
                let now = self.code.builder.ins().iadd_imm_s(position.counters[*counter], *by);
                let (least, most) = (self.code.number(0), self.code.number(i64::from(u16::MAX)));
                let now = self.code.builder.ins().smax(now, least);
                position.counters[*counter] = self.code.builder.ins().smin(now, most);
            }
            Effect::When(condition, effect) => {
                let view = self.view(doing.player, position.clone(), doing.route, doing.moved);
                let holds = self.holds(view, condition);
                position = self.effect_if(holds, effect, doing, position);
            }
        }
        position
    }

    fn squares_of_effect(
        &mut self,
        of: &crate::text_game::ops::Set<M>,
        doing: Doing,
        position: &Position,
    ) -> Words {
        let view = self.view(doing.player, position.clone(), doing.route, doing.moved);
        self.set(view, of)
    }

    /// Emits an effect that takes place only if a value is true.
    fn effect_if(&mut self, holds: Value, effect: &Effect<M>, doing: Doing, position: Position) -> Position {
        let (then, done) = (self.code.builder.create_block(), self.code.builder.create_block());
        let mut merged = position.clone();
        let (sets, counters) = self.changed_by(effect);
        let changed = |position: &Position| -> Vec<BlockArg> {
            let sets = sets.iter().flat_map(|set| position.sets[*set].args().collect::<Vec<_>>());
            sets.chain(counters.iter().map(|counter| BlockArg::Value(position.counters[*counter]))).collect()
        };
        self.code.builder.ins().brif(holds, then, &[], done, &changed(&position));
        self.code.builder.switch_to_block(then);
        self.code.builder.seal_block(then);
        let after = self.aside(|emit| emit.effect(effect, doing, position));
        self.code.builder.ins().jump(done, &changed(&after));
        for set in &sets {
            merged.sets[*set] = self.code.block_set(done);
        }
        for counter in &counters {
            merged.counters[*counter] = self.code.block_number(done);
        }
        self.code.builder.switch_to_block(done);
        self.code.builder.seal_block(done);
        merged
    }

    /// Returns the sets and the counters that an effect can change.
    fn changed_by(&self, effect: &Effect<M>) -> (Vec<usize>, Vec<usize>) {
        let kinds = self.facts.rules[0].kinds;
        match effect.unconditional() {
            Effect::Remove(_) | Effect::Flip(_) | Effect::Promote(..) => {
                ((0..2 * kinds).collect(), Vec::new())
            }
            Effect::Mark(state, _) | Effect::Unmark(state, _) => (vec![2 * kinds + state], Vec::new()),
            Effect::Count(counter, _) => (Vec::new(), vec![*counter]),
            Effect::When(..) => (Vec::new(), Vec::new()),
        }
    }
}
