//! Emits the numbers and the conditions of a text: for a position, and for all squares of a plane of actions at once.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};

use super::emitter::{Emitter, Label, StuckArguments, ViewId};
use super::words::Words;
use crate::text_game::ast::{Compare, Side, Spot};
use crate::text_game::mask::Mask;
use crate::text_game::ops::{Ahead, Condition, Number, Set, Slot};
use crate::text_game::rules::{ActionPlane, Line};

impl<'a, M: Mask> Emitter<'a, '_, M> {
    fn number(&mut self, view: ViewId, number: &Number<M>) -> Value {
        match number {
            Number::Is(number) => self.code.number(*number),
            Number::Count(of) => {
                let of = self.set(view, of);
                self.code.count(of)
            }
            Number::Counter(index) => self.seen(view).position.counters[*index],
            Number::Ply => self.times.ply,
            Number::Quiet => self.times.quiet,
            Number::Passes => self.times.passes,
            Number::Plus(both) => {
                let [one, other] = both.each_ref().map(|number| self.number(view, number));
                self.code.builder.ins().iadd(one, other)
            }
            Number::Minus(both) => {
                let [one, other] = both.each_ref().map(|number| self.number(view, number));
                self.code.builder.ins().isub(one, other)
            }
            Number::Groups(of, directions) => {
                let of = self.set(view, of);
                self.code.groups(of, directions)
            }
        }
    }

    /// Continues if a condition holds; otherwise jumps.
    pub(super) fn require(&mut self, view: ViewId, condition: &Condition<M>, otherwise: Label) {
        match condition {
            Condition::Not(of) => self.refuse(view, of, otherwise),
            Condition::And(both) => both.iter().for_each(|part| self.require(view, part, otherwise)),
            Condition::Or(both) => {
                let holds = self.label();
                self.refuse(view, &both[0], holds);
                self.require(view, &both[1], otherwise);
                self.fall_to(holds);
            }
            condition => {
                let holds = self.holds(view, condition);
                self.jump_unless(holds, otherwise);
            }
        }
    }

    /// Jumps if a condition holds; otherwise continues.
    pub(super) fn refuse(&mut self, view: ViewId, condition: &Condition<M>, then: Label) {
        match condition {
            Condition::Not(of) => self.require(view, of, then),
            Condition::Or(both) => both.iter().for_each(|part| self.refuse(view, part, then)),
            Condition::And(both) => {
                let fails = self.label();
                self.require(view, &both[0], fails);
                self.refuse(view, &both[1], then);
                self.fall_to(fails);
            }
            condition => {
                let holds = self.holds(view, condition);
                self.jump_if(holds, then);
            }
        }
    }

    /// Returns whether a condition holds, as 0 or 1 in 8 bits.
    pub(super) fn holds(&mut self, view: ViewId, condition: &Condition<M>) -> Value {
        match condition {
            Condition::Any(Set::Line(line)) => {
                let of = self.set(view, &line.of);
                let none = self.code.none();
                let begins = line.row.iter().fold(none, |all, run| {
                    let begins = self.run_begins(run, of, line.exactly);
                    self.code.or(all, begins)
                });
                self.code.any(begins)
            }
            Condition::Any(of) => {
                if let Some(is_hit) = self.is_hit(view, of) {
                    return is_hit;
                }
                let of = self.set(view, of);
                self.code.any(of)
            }
            Condition::Compared(Number::Groups(of, directions), Compare::Is, Number::Is(1)) => {
                let of = self.set(view, of);
                let any = self.code.any(of);
                let seed = self.code.lowest(of);
                let group = self.code.flood(seed, of, directions);
                let is_one = self.code.is_equal(group, of);
                self.code.builder.ins().band(any, is_one)
            }
            Condition::Connected { what, from, to, directions } => {
                let what = self.set(view, what);
                let from = self.set(view, from);
                let group = self.code.flood(from, what, directions);
                let to = self.set(view, to);
                let met = self.code.and(group, to);
                self.code.any(met)
            }
            Condition::Compared(one, how, other) => {
                let (one, other) = (self.number(view, one), self.number(view, other));
                self.code.builder.ins().icmp(comparison(*how), one, other)
            }
            Condition::Place(spot, of) => {
                let route = self.seen(view).route;
                let of = self.set(view, of);
                let place = match spot {
                    Spot::From => route.from,
                    Spot::To => route.to,
                    Spot::Over => route.over,
                };
                let there = self.code.and(place, of);
                self.code.any(there)
            }
            Condition::Inward => self.code.byte(0),
            Condition::Stuck(side) => self.is_stuck(*side),
            Condition::Not(of) => {
                let holds = self.holds(view, of);
                self.code.builder.ins().bxor_imm_u(holds, 1)
            }
            Condition::And(both) => {
                let [one, other] = both.each_ref().map(|part| self.holds(view, part));
                self.code.builder.ins().band(one, other)
            }
            Condition::Or(both) => {
                let [one, other] = both.each_ref().map(|part| self.holds(view, part));
                self.code.builder.ins().bor(one, other)
            }
        }
    }

    /// For a set of one piece where lines or leaps from other pieces lead: returns whether it has a square. The lines
    /// are searched from the one piece, as lines to the others.
    fn is_hit(&mut self, view: ViewId, set: &Set<M>) -> Option<Value> {
        if self.code.words > 1 {
            return None;
        }
        let Set::And(both) = self.meaning(view, set) else { return None };
        let at = both.iter().position(|part| self.is_single(part))?;
        let mut ways = Vec::new();
        self.ways(view, &both[1 - at], &mut ways)?;
        let target = self.set(view, &both[at]);
        let mut hits = self.code.none();
        let mut lines: Vec<(Ahead<M>, &Set<M>, Words)> = Vec::new();
        for way in ways {
            match way {
                Set::Leap(leaping) => {
                    let of = self.set(view, &leaping.of);
                    let back: Vec<_> = leaping.leaps.iter().map(Ahead::back).collect();
                    let near = self.around(target, &back, true);
                    let near = self.code.and(near, of);
                    hits = self.code.or(hits, near);
                }
                Set::Reach(along) => {
                    let of = self.set(view, &along.of);
                    for ahead in &along.directions {
                        let back = ahead.back();
                        match lines.iter_mut().find(|(known, over, _)| *known == back && **over == along.with)
                        {
                            Some((_, _, ends)) => *ends = self.code.or(*ends, of),
                            None => lines.push((back, &along.with, of)),
                        }
                    }
                }
                _ => unreachable!("a way that `ways` has found"),
            }
        }
        for (ahead, over, ends) in lines {
            let over = self.set(view, over);
            let ray = self.ray(target, over, &ahead);
            let hit = self.code.and(ray, ends);
            hits = self.code.or(hits, hit);
        }
        Some(self.code.any(hits))
    }

    /// Adds the lines and leaps whose union a set is; returns `None` if it is anything else.
    fn ways<'s>(&self, view: ViewId, set: &'s Set<M>, ways: &mut Vec<&'s Set<M>>) -> Option<()>
    where
        'a: 's,
    {
        match self.meaning(view, set) {
            Set::Or(both) => both.iter().try_for_each(|part| self.ways(view, part, ways)),
            way @ (Set::Leap(_) | Set::Reach(_)) => {
                ways.push(way);
                Some(())
            }
            _ => None,
        }
    }

    /// Returns the definition of a named set that is not known yet.
    fn meaning<'s>(&self, view: ViewId, set: &'s Set<M>) -> &'s Set<M>
    where
        'a: 's,
    {
        match set {
            Set::Leaf(Slot::Kept(index)) if !self.known.sets.contains_key(&(view, *index)) => {
                self.meaning(view, &self.facts.rules[self.seen(view).player].sets[*index])
            }
            set => set,
        }
    }

    /// Returns whether a side has no action. Only the ends of a game ask this.
    fn is_stuck(&mut self, side: Side) -> Value {
        let Some(arguments) = self.stuck_arguments else { return self.code.byte(0) };
        let can = self.ask_can(arguments, side);
        self.code.builder.ins().icmp_imm_u(IntCC::NotEqual, can, 1)
    }

    /// Forgets who can act, because the position or the clock has changed.
    pub(super) fn forget_who_can(&mut self) {
        self.known.can = [None; 2];
    }

    /// Returns what a side can do: 0 nothing, 1 act, 2 only pass.
    pub(super) fn ask_can(&mut self, arguments: StuckArguments, side: Side) -> Value {
        let (player, clock) = match side {
            Side::Own => (arguments.actor, arguments.clock),
            Side::Enemy => (1 - arguments.actor, arguments.fresh_clock),
        };
        if let Some(can) = self.known.can[player] {
            return can;
        }
        let function = self.can[player].expect("the function is declared before it is called");
        let call = self.code.builder.ins().call(function, &[arguments.things, clock]);
        let can = self.code.builder.inst_results(call)[0];
        self.known.can[player] = Some(can);
        can
    }

    /// Emits code for a piece that moves by this plane, or for no particular piece.
    pub(super) fn with_direction<R>(
        &mut self,
        plane: Option<&ActionPlane<M>>,
        emit: impl FnOnce(&mut Self) -> R,
    ) -> R {
        let (going, ahead) = plane.map_or((u8::MAX, None), |plane| (plane.going, Some(plane.step)));
        let before =
            (std::mem::replace(&mut self.going, going), std::mem::replace(&mut self.direction, ahead));
        let result = emit(self);
        (self.going, self.direction) = before;
        result
    }

    /// Returns the squares of a plane for which a condition holds.
    pub(super) fn allowed(
        &mut self,
        view: ViewId,
        condition: &Condition<M>,
        plane: Option<&ActionPlane<M>>,
        line: &Line<M>,
    ) -> Words {
        let single = line.piece.map(|piece| self.seen(view).position.sets[piece]);
        match condition {
            Condition::Place(Spot::From, of) => {
                let squares = self.with_direction(None, |emit| emit.set(view, of));
                match (plane, single) {
                    (Some(_), _) => squares,
                    (None, Some(single)) => {
                        let there = self.code.and(single, squares);
                        let any = self.code.any(there);
                        self.code.all_if(any)
                    }
                    (None, None) => self.code.none(),
                }
            }
            Condition::Place(Spot::To, Set::Step(around)) if around.of == Set::From => match plane {
                Some(plane) => {
                    let is_near = around.directions.contains(&plane.by);
                    self.code.constant(if is_near { !M::NONE } else { M::NONE })
                }
                None => match single {
                    Some(single) => self.code.around(single, &around.directions),
                    None => self.code.none(),
                },
            },
            Condition::Place(Spot::To, of) => match plane {
                Some(plane) => {
                    let of = self.with_direction(Some(plane), |emit| emit.set(view, of));
                    self.code.before(of, &plane.by)
                }
                None => self.set(view, of),
            },
            Condition::Place(Spot::Over, of) => match plane {
                Some(plane) => {
                    let of = self.with_direction(None, |emit| emit.set(view, of));
                    self.code.before(of, &plane.step)
                }
                None => self.code.none(),
            },
            Condition::Inward => self.code.constant(plane.map_or(M::NONE, |plane| plane.inward)),
            Condition::Not(of) => {
                let of = self.allowed(view, of, plane, line);
                self.code.not(of)
            }
            Condition::And(both) => {
                let [one, other] = both.each_ref().map(|part| self.allowed(view, part, plane, line));
                self.code.and(one, other)
            }
            Condition::Or(both) => {
                let [one, other] = both.each_ref().map(|part| self.allowed(view, part, plane, line));
                self.code.or(one, other)
            }
            Condition::Any(_)
            | Condition::Connected { .. }
            | Condition::Stuck(_)
            | Condition::Compared(..) => {
                let holds = self.with_direction(None, |emit| emit.holds(view, condition));
                self.code.all_if(holds)
            }
        }
    }
}

fn comparison(how: Compare) -> IntCC {
    match how {
        Compare::Less => IntCC::SignedLessThan,
        Compare::AtMost => IntCC::SignedLessThanOrEqual,
        Compare::Is => IntCC::Equal,
        Compare::Differs => IntCC::NotEqual,
        Compare::AtLeast => IntCC::SignedGreaterThanOrEqual,
        Compare::More => IntCC::SignedGreaterThan,
    }
}
