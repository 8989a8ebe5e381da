//! Emits the sets of a text, as [`Sight::set`](crate::text_game::eval::Sight::set) evaluates them.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};

use super::emitter::{Emitter, ViewId};
use super::words::Words;
use crate::text_game::ast::Along;
use crate::text_game::mask::Mask;
use crate::text_game::ops::{Ahead, Compiled, Set, Slot, SquareRun};

impl<M: Mask> Emitter<'_, '_, M> {
    pub(super) fn set(&mut self, view: ViewId, set: &Set<M>) -> Words {
        if self.code.is_too_long() {
            return self.code.none();
        }
        match set {
            Set::Leaf(Slot::Fixed(squares)) => self.code.constant(*squares),
            Set::Leaf(Slot::Of(index)) => self.seen(view).position.sets[*index],
            Set::Leaf(Slot::Own) => self.seen(view).own,
            Set::Leaf(Slot::Enemy) => self.seen(view).enemy,
            Set::Leaf(Slot::All) => self.all(view),
            Set::Leaf(Slot::Kept(index)) => self.kept(view, *index),
            Set::Empty => {
                let all = self.all(view);
                self.off(all)
            }
            Set::From => self.seen(view).route.from,
            Set::To => self.seen(view).route.to,
            Set::Over => self.seen(view).route.over,
            Set::Moved => self.seen(view).moved,
            Set::Not(of) => {
                let of = self.set(view, of);
                self.off(of)
            }
            Set::And(both) => {
                let [one, other] = self.both(view, both);
                self.code.and(one, other)
            }
            Set::Or(both) => {
                let [one, other] = self.both(view, both);
                self.code.or(one, other)
            }
            Set::Step(around) => {
                let of = self.set(view, &around.of);
                self.around(of, &around.directions, self.is_single(&around.of))
            }
            Set::Others(around) => {
                let (of, going) = (self.set(view, &around.of), self.going);
                let others = around.directions.iter().filter(|ahead| ahead.compass != going);
                self.code.around(of, others)
            }
            Set::Leap(leaping) => {
                let of = self.set(view, &leaping.of);
                self.around(of, &leaping.leaps, self.is_single(&leaping.of))
            }
            Set::UpTo(both) => self.up_to(view, both),
            Set::Line(line) => {
                let of = self.set(view, &line.of);
                let none = self.code.none();
                line.row.iter().fold(none, |found, run| {
                    let all = self.run_squares(run, of, line.exactly);
                    self.code.or(found, all)
                })
            }
            Set::Floor(down) => {
                let all = self.all(view);
                let on_pieces = self.code.before(all, down);
                let at_edge = self.code.constant(!down.inner);
                let stays = self.code.or(at_edge, on_pieces);
                self.code.within(stays, self.facts.rules[0].board)
            }
            Set::Reach(along)
            | Set::Beyond(along)
            | Set::Enclosed(along)
            | Set::Custodial(along)
            | Set::Group(along) => self.search(view, set, along),
        }
    }

    fn both(&mut self, view: ViewId, both: &[Set<M>; 2]) -> [Words; 2] {
        [self.set(view, &both[0]), self.set(view, &both[1])]
    }

    /// Returns all pieces.
    pub(super) fn all(&mut self, view: ViewId) -> Words {
        let (own, enemy) = (self.seen(view).own, self.seen(view).enemy);
        self.code.or(own, enemy)
    }

    /// Returns the squares of the board that are not in `set`.
    pub(super) fn off(&mut self, set: Words) -> Words {
        let not = self.code.not(set);
        self.code.within(not, self.facts.rules[0].board)
    }

    /// Returns a set that is computed once per position.
    pub(super) fn kept(&mut self, view: ViewId, index: usize) -> Words {
        if let Some(known) = self.known.sets.get(&(view, index)) {
            return *known;
        }
        let rules = &self.facts.rules;
        // what a piece does in one direction does not matter to a set of the whole position
        let direction = (std::mem::replace(&mut self.going, u8::MAX), self.direction.take());
        let set = self.set(view, &rules[self.seen(view).player].sets[index]);
        (self.going, self.direction) = direction;
        self.known.sets.insert((view, index), set);
        set
    }

    fn up_to(&mut self, view: ViewId, both: &[Set<M>; 2]) -> Words {
        let [what, then] = self.both(view, both);
        let Some(ahead) = self.direction else { return self.code.none() };
        let then = if self.are_apart(&both[0], &both[1]) { then } else { self.code.without(then, what) };
        let front = self.code.before(then, &ahead);
        let front = self.code.and(front, what);
        self.code.fill(front, what, &ahead.back(), self.longest)
    }

    /// Returns the squares of a set that is searched for along several directions.
    fn search(&mut self, view: ViewId, set: &Set<M>, along: &Along<Compiled<M>>) -> Words {
        let (of, with) = (self.set(view, &along.of), self.set(view, &along.with));
        if matches!(set, Set::Group(_)) {
            return self.code.flood(of, with, &along.directions);
        }
        let to = self.seen(view).route.to;
        let mut all = self.code.none();
        for ahead in &along.directions {
            let steps = [*ahead, ahead.back()];
            let found = match set {
                Set::Reach(_) if self.is_single(&along.of) => self.ray(of, with, ahead),
                Set::Reach(_) => {
                    let filled = self.code.fill(of, with, &steps[0], self.longest);
                    self.code.ahead(filled, &steps[0])
                }
                Set::Beyond(_) => {
                    let run = self.run(of, with, &steps[0]);
                    let next = self.code.ahead(run, &steps[0]);
                    self.code.without(next, of)
                }
                Set::Custodial(_) if self.code.words == 1 && self.are_apart(&along.of, &along.with) => {
                    let to = self.code.and(to, with);
                    let [one, other] = steps.map(|step| {
                        let reached = self.ray(to, of, &step);
                        let end = self.code.and(reached, with);
                        let is_closed = self.code.any(end);
                        let (run, none) = (self.code.and(reached, of), self.code.none());
                        self.code.select(is_closed, run, none)
                    });
                    self.code.or(one, other)
                }
                Set::Custodial(_) => {
                    let to = self.code.and(to, with);
                    let arrived = steps.map(|step| self.run(of, to, &step));
                    let other = steps.map(|step| self.run(of, with, &step));
                    let one = self.code.and(arrived[0], other[1]);
                    let two = self.code.and(other[0], arrived[1]);
                    self.code.or(one, two)
                }
                _ => {
                    let [one, other] = steps.map(|step| self.run(of, with, &step));
                    self.code.and(one, other)
                }
            };
            all = self.code.or(all, found);
        }
        all
    }

    /// Returns whether a set has at most one square.
    pub(super) fn is_single(&self, set: &Set<M>) -> bool {
        let facts = self.facts;
        let kinds = facts.rules[0].kinds;
        match set {
            Set::Leaf(Slot::Of(index)) => *index < 2 * kinds && facts.words.single[index % kinds],
            Set::From | Set::To | Set::Over | Set::Moved => true,
            _ => false,
        }
    }

    /// Returns whether two sets are pieces of different kinds or sides, and so have no square in common.
    fn are_apart(&self, one: &Set<M>, other: &Set<M>) -> bool {
        let pieces = 2 * self.facts.rules[0].kinds;
        match (one, other) {
            (Set::Leaf(Slot::Of(one)), Set::Leaf(Slot::Of(other))) => {
                one != other && *one.max(other) < pieces
            }
            (Set::Leaf(one), Set::Leaf(other)) => {
                matches!((one, other), (Slot::Own, Slot::Enemy) | (Slot::Enemy, Slot::Own))
            }
            _ => false,
        }
    }

    /// Returns the squares one step from a set in any of these directions. For a single square, they are looked up.
    pub(super) fn around(&mut self, of: Words, steps: &[Ahead<M>], is_single: bool) -> Words {
        if !is_single || steps.len() < 3 || of.of().contains(&self.code.zero) {
            return self.code.around(of, steps);
        }
        let near = |square: usize| steps.iter().fold(M::NONE, |set, step| set | step.of(M::of(square)));
        let table = self.tables.near(steps, self.facts.shape.cells(), near);
        let square = self.code.lowest_number(of);
        self.set_of_table(table, square)
    }

    /// Returns the squares that a line from a set, which has at most one square, reaches over open squares, including
    /// the first square that is not open.
    pub(super) fn ray(&mut self, from: Words, open: Words, ahead: &Ahead<M>) -> Words {
        if self.code.words > 1 {
            let filled = self.code.fill(from, open, ahead, self.longest);
            return self.code.ahead(filled, ahead);
        }
        let rays = self.tables.rays(ahead, self.facts.shape.cells());
        let square = self.code.lowest_number(from);
        let ray = self.set_of_table(rays, square);
        self.code.open_ray(ray, open, ahead.by > 0)
    }

    /// Loads a set from a table.
    pub(super) fn set_of_table(&mut self, table: i64, index: Value) -> Words {
        let offset = self.code.builder.ins().imul_imm_u(index, size_of::<M>() as i64);
        let table = self.code.number(table);
        let entry = self.code.builder.ins().iadd(table, offset);
        // a table never changes, so what a loop needs of it can be loaded before the loop
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        self.code.each(|code, index| code.builder.ins().load(types::I64, flags, entry, 8 * index as i32))
    }

    /// Returns the squares of `what` that follow `begin` without a gap.
    fn run(&mut self, what: Words, begin: Words, step: &Ahead<M>) -> Words {
        let front = self.code.ahead(begin, step);
        let front = self.code.and(front, what);
        self.code.fill(front, what, step, self.longest)
    }

    /// Returns the squares where rows begin; see [`SquareRun::begins`].
    pub(super) fn run_begins(&mut self, run: &SquareRun<M>, of: Words, exactly: bool) -> Words {
        let begins = run.jumps.iter().fold(of, |begins, jump| {
            let before = self.code.before(begins, jump);
            self.code.and(begins, before)
        });
        if !exactly {
            return begins;
        }
        let longer = self.code.before(begins, &run.one);
        let longer = self.code.and(longer, of);
        let begins = self.code.without(begins, longer);
        let continued = self.code.ahead(of, &run.one);
        self.code.without(begins, continued)
    }

    fn run_squares(&mut self, run: &SquareRun<M>, of: Words, exactly: bool) -> Words {
        let begins = self.run_begins(run, of, exactly);
        (1..run.length).fold(begins, |all, _| {
            let next = self.code.ahead(all, &run.one);
            self.code.or(begins, next)
        })
    }
}
