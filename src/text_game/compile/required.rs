//! Emits the test of what a line requires after its actions.
//!
//! Testing an action means performing it. What the position after an action does not decide anew is found before: a
//! condition on sets that all actions of a plane leave, or change, alike is tested once; and a costly condition is
//! tested again only if an action changes what it depends on.

use cranelift_codegen::ir::{BlockArg, InstBuilder, Value};

use super::emitter::{Emitter, Label, Position, Route, View, ViewId};
use super::lines::{Search, Sink};
use super::words::Words;
use crate::text_game::ast::Number as AnyNumber;
use crate::text_game::mask::Mask;
use crate::text_game::ops::{Compiled, Condition, Effect, Number, Set, Slot};
use crate::text_game::rules::{Line, Move, Rules};

/// What a condition or a set depends on.
#[derive(Clone, Copy, Debug, Default)]
struct Reads {
    /// A bit for each set of a position.
    sets: u32,
    /// The square that a piece leaves.
    from: bool,
    /// Anything that is not a set of the position or the square that a piece leaves.
    others: bool,
}

impl Reads {
    fn and(self, other: Reads) -> Reads {
        Reads {
            sets: self.sets | other.sets,
            from: self.from | other.from,
            others: self.others | other.others,
        }
    }

    fn of_sets(sets: impl Iterator<Item = usize>) -> Reads {
        Reads { sets: sets.fold(0, |all, set| all | 1 << set), ..Reads::default() }
    }

    fn of_set<M: Mask>(rules: &Rules<M>, set: &Set<M>) -> Reads {
        let (kinds, own) = (rules.kinds, rules.player * rules.kinds);
        let enemy = kinds - own;
        let all = || Reads::of_sets(0..2 * kinds);
        let node = match set {
            Set::Leaf(Slot::Of(index)) => Reads::of_sets([*index].into_iter()),
            Set::Leaf(Slot::Own) => Reads::of_sets(own..own + kinds),
            Set::Leaf(Slot::Enemy) => Reads::of_sets(enemy..enemy + kinds),
            Set::Leaf(Slot::Kept(index)) => Reads::of_set(rules, &rules.sets[*index]),
            Set::Leaf(Slot::All) | Set::Empty | Set::Floor(_) => all(),
            Set::From => Reads { from: true, ..Reads::default() },
            Set::To | Set::Over | Set::Moved | Set::Custodial(_) | Set::UpTo(_) | Set::Others(_) => {
                Reads { others: true, ..Reads::default() }
            }
            _ => Reads::default(),
        };
        set.parts().fold(node, |reads, part| reads.and(Reads::of_set(rules, part)))
    }

    fn of_condition<M: Mask>(rules: &Rules<M>, condition: &Condition<M>) -> Reads {
        let sets = condition.sets().into_iter().map(|set| Reads::of_set(rules, set));
        let reads = sets.fold(Reads::default(), Reads::and);
        let is_place = |part: &Condition<M>| {
            matches!(part, Condition::Place(..) | Condition::Inward | Condition::Stuck(_))
        };
        let counts = condition.numbers().into_iter().any(|number| {
            !matches!(
                number,
                AnyNumber::Is(_)
                    | AnyNumber::Count(_)
                    | AnyNumber::Groups(..)
                    | AnyNumber::Plus(_)
                    | AnyNumber::Minus(_)
            )
        });
        Reads { others: reads.others || counts || condition.any(is_place), ..reads }
    }
}

/// Returns a bit for each set of a position that depends, after an action of a line, on which action of a plane it is.
fn varied<M: Mask>(rules: &Rules<M>, line: &Line<M>) -> u32 {
    let (kinds, own) = (rules.kinds, rules.player * rules.kinds);
    let all = |from: usize| ((1_u32 << kinds) - 1) << from;
    let from_varies = matches!(line.moves, Move::From(_));
    let mut sets = 0;
    if line.captures || line.exchanges {
        sets |= all(kinds - own);
    }
    match (&line.moves, line.piece) {
        (Move::Pass | Move::Swap, _) => {}
        (_, Some(piece)) if !line.exchanges => sets |= 1 << piece,
        _ => sets |= all(own),
    }
    for effect in &line.effects {
        let varies = |reads: Reads| reads.others || from_varies && reads.from || reads.sets & sets != 0;
        let by_set = effect.set().is_some_and(|set| varies(Reads::of_set(rules, set)));
        let by_condition =
            conditions_of(effect).into_iter().any(|condition| varies(Reads::of_condition(rules, condition)));
        let pieces = (1 << (2 * kinds)) - 1;
        sets |= match effect.unconditional() {
            // these move squares from one set to another
            Effect::Flip(_) | Effect::Promote(..) => pieces,
            Effect::Remove(_) if by_set || by_condition => pieces,
            Effect::Mark(state, _) | Effect::Unmark(state, _) if by_set || by_condition => {
                1 << (2 * kinds + state)
            }
            _ => 0,
        };
    }
    sets
}

/// Returns the conditions on which an effect depends.
fn conditions_of<M: Mask>(effect: &Effect<M>) -> Vec<&Condition<M>> {
    match effect {
        Effect::When(condition, inner) => [vec![condition], conditions_of(inner)].concat(),
        _ => Vec::new(),
    }
}

/// Whether a condition searches the board until nothing changes.
fn costs_much<M: Mask>(condition: &Condition<M>) -> bool {
    let floods = |set: &Set<M>| matches!(set, Set::Group(_));
    let groups = |number: &Number<M>| matches!(number, AnyNumber::<Compiled<M>>::Groups(..));
    condition.any(|part| matches!(part, Condition::Connected { .. }))
        || condition.numbers().into_iter().any(groups)
        || condition.sets().into_iter().any(floods)
}

/// Splits conditions that are joined by `and`.
fn split<M: Mask>(condition: &Condition<M>) -> Vec<&Condition<M>> {
    match condition {
        Condition::And(both) => both.iter().flat_map(split).collect(),
        condition => vec![condition],
    }
}

/// How a required condition is tested.
enum Test<'a, M: Mask> {
    Again(&'a Condition<M>),
    /// Only if these sets have changed; otherwise the value before the action counts.
    IfChanged(&'a Condition<M>, u32, Value),
}

/// Returns whether a required condition is tested after an action only if the action changes what it depends on.
fn is_kept<M: Mask>(rules: &Rules<M>, condition: &Condition<M>, varied: u32) -> bool {
    let reads = Reads::of_condition(rules, condition);
    !(reads.others || reads.from || reads.sets & varied == 0) && costs_much(condition)
}

impl<'a, M: Mask> Emitter<'a, '_, M> {
    /// Tests, before a search of lines, what several of them require and most actions leave as it is.
    pub(super) fn hold(&mut self, view: ViewId, lines: impl Iterator<Item = &'a Line<M>>) {
        let rules = &self.facts.rules[self.seen(view).player];
        let mut conditions: Vec<&'a Condition<M>> = Vec::new();
        for line in lines {
            let varied = varied(rules, line);
            let kept =
                line.required.iter().flat_map(split).filter(|condition| is_kept(rules, condition, varied));
            conditions.extend(kept);
        }
        let mut rest = &conditions[..];
        while let [condition, others @ ..] = rest {
            rest = others;
            let is_known = self.held.iter().any(|(known, _)| known == condition);
            if !is_known && others.contains(condition) {
                let holds = self.holds(view, condition);
                self.held.push((condition, holds));
            }
        }
    }

    /// Returns the squares of the actions after which all conditions that the line requires hold; jumps to `none` if a
    /// condition holds for none of them. If the search only asks whether there is an action, it ends at the first.
    pub(super) fn without_refused(
        &mut self,
        search: Search,
        line: &Line<M>,
        plane: usize,
        squares: Words,
        none: Label,
    ) -> Words {
        let View { player, position, moved, .. } = self.seen(search.view).clone();
        let rules = &self.facts.rules[player];
        let varied = varied(rules, line);
        // a view in which only the sets that all actions leave, or change, alike have a meaning
        let mut alike = None;
        let mut tests = Vec::new();
        for condition in line.required.iter().flat_map(split) {
            let reads = Reads::of_condition(rules, condition);
            if reads.others || reads.from {
                tests.push(Test::Again(condition));
            } else if reads.sets & varied == 0 {
                let view = match alike {
                    Some(view) => view,
                    None => {
                        let no_square = self.code.none();
                        let route = self.route(search.view, line, plane, no_square);
                        let after = self.performed(player, line, route, position.clone(), moved);
                        self.view(player, after, route, moved)
                    }
                };
                alike = Some(view);
                self.require(view, condition, none);
            } else if costs_much(condition) {
                let known = self.held.iter().find(|(known, _)| *known == condition).map(|(_, value)| *value);
                let before = known.unwrap_or_else(|| self.holds(search.view, condition));
                tests.push(Test::IfChanged(condition, reads.sets, before));
            } else {
                tests.push(Test::Again(condition));
            }
        }
        // the cheap tests come first
        tests.sort_by_key(|test| match test {
            Test::Again(condition) if costs_much(condition) => 2,
            Test::IfChanged(..) => 1,
            Test::Again(_) => 0,
        });
        self.kept_squares(search, line, plane, squares, &tests)
    }

    /// Emits the loop over the actions.
    fn kept_squares(
        &mut self,
        search: Search,
        line: &Line<M>,
        plane: usize,
        squares: Words,
        tests: &[Test<M>],
    ) -> Words {
        if tests.is_empty() {
            return squares;
        }
        let (header, rest) = self.code.block_with_set();
        let kept = self.code.block_set(header);
        let (body, done) = (self.code.builder.create_block(), self.code.builder.create_block());
        let none = self.code.none();
        let args = |rest: &Words, kept: &Words| rest.args().chain(kept.args()).collect::<Vec<BlockArg>>();
        self.code.builder.ins().jump(header, &args(&squares, &none));
        self.code.builder.switch_to_block(header);
        let has_more = self.code.any_word(rest);
        self.code.builder.ins().brif(has_more, body, &[], done, &[]);
        self.code.builder.switch_to_block(body);
        self.code.builder.seal_block(body);
        self.aside(|emit| {
            let square = emit.code.lowest(rest);
            let rest = emit.code.without(rest, square);
            let route = emit.route(search.view, line, plane, square);
            let View { player, position, moved, .. } = emit.seen(search.view).clone();
            let after = emit.performed(player, line, route, position.clone(), moved);
            let view = emit.view(player, after.clone(), route, moved);
            let refused = emit.label();
            for test in tests {
                emit.test(test, view, [&position, &after], refused);
            }
            if let (Sink::Can { yes, .. }, false) = (search.sink, line.moves.is_pass()) {
                emit.jump(yes);
            } else {
                let kept = emit.code.or(kept, square);
                emit.code.builder.ins().jump(header, &args(&rest, &kept));
            }
            emit.place(refused);
            emit.code.builder.ins().jump(header, &args(&rest, &kept));
        });
        self.code.builder.seal_block(header);
        self.code.builder.switch_to_block(done);
        self.code.builder.seal_block(done);
        kept
    }

    fn test(&mut self, test: &Test<M>, view: ViewId, [before, after]: [&Position; 2], refused: Label) {
        match test {
            Test::Again(condition) => self.require(view, condition, refused),
            Test::IfChanged(condition, sets, held) => {
                let (changed, passed) = (self.label(), self.label());
                for set in (0..before.sets.len()).filter(|set| sets >> set & 1 == 1) {
                    if before.sets[set] != after.sets[set] {
                        let is_same = self.code.is_equal(before.sets[set], after.sets[set]);
                        self.jump_unless(is_same, changed);
                    }
                }
                self.jump_unless(*held, refused);
                self.jump(passed);
                self.place(changed);
                self.require(view, condition, refused);
                self.fall_to(passed);
            }
        }
    }

    /// Returns the squares that an action of a plane leaves, goes to, and jumps over; `square` is that of the action.
    fn route(&mut self, view: ViewId, line: &Line<M>, plane: usize, square: Words) -> Route {
        let none = self.code.none();
        match &line.moves {
            Move::Place | Move::Drop => Route { from: none, to: square, over: none },
            Move::To(_) | Move::Ray(_) => {
                let from = line.piece.map_or(none, |piece| self.seen(view).position.sets[piece]);
                Route { from, to: square, over: none }
            }
            Move::From(planes) => {
                let plane = &planes[plane];
                let over = if line.over.is_some() { self.code.ahead(square, &plane.step) } else { none };
                Route { from: square, to: self.code.ahead(square, &plane.by), over }
            }
            Move::Pass | Move::Swap => Route { from: none, to: none, over: none },
        }
    }
}
