//! Which actions a position allows, and what they do.

use std::cell::Cell;

use super::geometry::Ahead;
use super::mask::Mask;
use super::program::{Doing, Set, Sight, Test, Things};
use super::syntax::{Next, Side, Spot};

/// How a piece moves on one plane of actions.
#[derive(Clone, Debug)]
pub struct Plane<M> {
    /// From the square left to the one gone to.
    pub by: Ahead<M>,
    /// One step on the way.
    pub step: Ahead<M>,
    pub distance: usize,
    /// The direction of the compass if it is a single step, else `u8::MAX`.
    pub going: u8,
    /// Squares from which this leads nearer to the center.
    pub inward: M,
}

#[derive(Clone, Debug)]
pub enum Move<M> {
    Place,
    Drop,
    /// One plane for each direction and distance; a square of it is where the piece comes from.
    From(Vec<Plane<M>>),
    /// One plane for all, since there is only one piece of the kind: a square of it is where the piece goes.
    To(Vec<Ahead<M>>),
    /// The same for slides of any length: for each direction, whether numbers rise in it, and from each square the squares
    /// to the edge.
    Ray(Vec<(bool, Vec<M>)>),
    Pass,
    Swap,
}

/// A line of actions, as one player does them.
#[derive(Clone, Debug)]
pub struct Line<M> {
    pub phase: usize,
    pub group: usize,
    /// The set of the piece among those of a position.
    pub piece: Option<usize>,
    pub moves: Move<M>,
    pub to: Set<M>,
    /// What a hop goes over, and whether it may leave the board.
    pub over: Option<(Set<M>, bool)>,
    /// What a slide goes through, and its least and longest way.
    pub through: Option<(Set<M>, usize, usize)>,
    /// Slides go as far as there are such squares in their line.
    pub exactly: Option<(Set<M>, Vec<Vec<M>>)>,
    /// Conditions of the position alone.
    pub general: Vec<Test<M>>,
    /// Those of where an action leads.
    pub conditions: Vec<Test<M>>,
    /// Conditions of pieces that move that are the same wherever they go.
    pub of_piece: Vec<Test<M>>,
    pub required: Vec<Test<M>>,
    pub effects: Vec<Doing<M>>,
    pub next: Next,
    pub captures: bool,
    pub exchanges: bool,
    pub by_direction: bool,
    /// The plane of its first actions, or the first of its actions that belong to no square.
    pub first: usize,
}

/// The rules as one player means them.
#[derive(Clone, Debug)]
pub struct Rules<M> {
    pub player: usize,
    pub kinds: usize,
    pub board: M,
    pub lines: Vec<Line<M>>,
    /// The number of planes of actions, and of all actions.
    pub planes: usize,
    pub actions: usize,
    /// Named sets, and others that are [found once](super::share).
    pub sets: Vec<Set<M>>,
    pub ends: Vec<(Test<M>, Outcome<M>)>,
    pub stuck: Option<Outcome<M>>,
    pub repetition: Option<(u16, Outcome<M>)>,
    pub quiet: Option<(u16, Outcome<M>)>,
    pub limit: (u16, Outcome<M>),
    pub columns: Vec<M>,
    /// The line of each plane of actions, then of each action that belongs to no square.
    pub owners: Vec<u8>,
    /// For each phase, whether a player can always pass.
    pub passes: Vec<bool>,
}

#[derive(Clone, Debug)]
pub enum Outcome<M> {
    Win,
    Loss,
    Draw,
    /// The player with more of these wins: what they are to this player, and to the other.
    Most(Box<[Set<M>; 2]>),
}

/// What a position has beside its things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    pub ply: u16,
    pub quiet: u16,
    pub passes: u8,
    pub phase: u8,
    /// Whether the player who has acted goes on.
    pub goes_on: bool,
    /// Where the piece is that has moved and whose player goes on; [`NOWHERE`] if there is none.
    pub moved: u16,
    /// The line by which it must go on; [`ANY_LINE`] if any will do.
    pub line: u8,
}

pub const NOWHERE: u16 = u16::MAX;
pub const ANY_LINE: u8 = u8::MAX;

/// Where an action leads: the squares left, gone to and jumped over, as far as there are any.
#[derive(Clone, Copy, Debug)]
pub struct Trip<M> {
    pub from: M,
    pub to: M,
    pub over: M,
}

impl<M: Mask> Trip<M> {
    const NONE: Trip<M> = Trip { from: M::NONE, to: M::NONE, over: M::NONE };
}

impl<M: Mask> Rules<M> {
    /// A position as this player sees it.
    #[inline]
    pub fn sight<'a>(&'a self, things: &'a Things<M>, clock: &Clock) -> Sight<'a, M> {
        let (first, second) = things.sets[..2 * self.kinds].split_at(self.kinds);
        let all = |pieces: &[M]| pieces.iter().fold(M::NONE, |set, more| set | *more);
        let (own, enemy) = if self.player == 0 { (first, second) } else { (second, first) };
        Sight {
            board: self.board,
            things,
            sets: &self.sets,
            kept: [const { Cell::new(M::NONE) }; _],
            is_kept: Cell::new(0),
            own: all(own),
            enemy: all(enemy),
            from: M::NONE,
            to: M::NONE,
            over: M::NONE,
            moved: if clock.moved == NOWHERE { M::NONE } else { M::of(clock.moved as usize) },
            ply: clock.ply,
            quiet: clock.quiet,
            passes: clock.passes,
            going: Cell::new(u8::MAX),
            ahead: Cell::new(None),
        }
    }

    /// Calls `found` with the line, the plane and the squares of legal actions, and with square 0 for those that
    /// belong to no square, in the order of the text, until it says that it has enough.
    #[inline]
    pub fn each(&self, sight: &Sight<M>, clock: &Clock, found: &mut impl FnMut(usize, usize, M) -> bool) {
        let mut group = 0;
        let mut has_any = false;
        for (index, line) in self.lines.iter().enumerate() {
            if line.phase != clock.phase as usize {
                continue;
            }
            let only = clock.line;
            if line.group != group {
                // to stop is no matter of priority
                if has_any && only == ANY_LINE {
                    return;
                }
                group = line.group;
            }
            if only != ANY_LINE && index != only as usize {
                // a piece that goes on may also stop
                let may_stop = line.moves.is_pass()
                    && matches!(self.lines[only as usize].next, Next::Again { may: true });
                if !may_stop {
                    continue;
                }
            }
            let has_enough = self.squares(line, sight, clock, &mut |plane, squares| {
                let squares = if line.required.is_empty() {
                    squares
                } else {
                    self.without_refused(line, plane, squares, sight.things, clock)
                };
                has_any |= squares.any();
                squares.any() && found(index, plane, squares)
            });
            if has_enough {
                return;
            }
        }
    }

    /// Whether there is a legal action besides passing.
    pub fn can_act(&self, sight: &Sight<M>, clock: &Clock) -> bool {
        let mut any = false;
        self.each(sight, clock, &mut |line, _, _| {
            any |= !self.lines[line].moves.is_pass();
            any
        });
        any
    }

    /// Calls `found` with the squares of a line's planes that its own words allow, until it says that it has enough;
    /// returns whether it did.
    #[inline]
    fn squares(
        &self,
        line: &Line<M>,
        sight: &Sight<M>,
        clock: &Clock,
        found: &mut impl FnMut(usize, M) -> bool,
    ) -> bool {
        if !line.general.iter().all(|condition| sight.holds(condition, &never)) {
            return false;
        }
        let allowed = |plane: Option<&Plane<M>>, mut squares: M| {
            for condition in &line.conditions {
                if squares.is_none() {
                    break;
                }
                squares &= self.allowed(condition, sight, plane, line);
            }
            squares
        };
        let who = match line.piece {
            Some(piece) => sight.things.sets[piece],
            None => sight.own,
        };
        let who = if clock.line == ANY_LINE { who } else { who & sight.moved };
        match &line.moves {
            Move::Pass | Move::Swap => found(line.first, M::of(0)),
            Move::Place | Move::Drop => found(line.first, allowed(None, sight.set(&line.to))),
            Move::To(aheads) => {
                let to = sight.set(&line.to);
                let squares = match &line.through {
                    Some((through, least, most)) => {
                        let through = sight.set(through);
                        aheads.iter().fold(M::NONE, |all, ahead| {
                            let (mut set, mut front) = (all, ahead.of(who));
                            for distance in 1..=*most {
                                if front.is_none() {
                                    break;
                                }
                                if distance >= *least {
                                    set |= front;
                                }
                                front = ahead.of(front & through);
                            }
                            set
                        })
                    }
                    None => aheads.iter().fold(M::NONE, |set, ahead| set | ahead.of(who)),
                };
                found(line.first, allowed(None, squares & to))
            }
            Move::Ray(rays) => {
                let to = sight.set(&line.to);
                let through = line.through.as_ref().map_or(M::NONE, |(through, ..)| sight.set(through));
                let from = who.lowest();
                if who.is_none() {
                    return false;
                }
                let squares = rays.iter().fold(M::NONE, |set, (is_rising, rays)| {
                    let blocked = rays[from] & !through;
                    let near = if *is_rising { blocked.up_to_lowest() } else { blocked.up_from_highest() };
                    set | rays[from] & near
                });
                found(line.first, allowed(None, squares & to))
            }
            Move::From(planes) => self.found_from((line, planes), sight, who, &allowed, found),
        }
    }

    #[inline]
    fn found_from(
        &self,
        (line, planes): (&Line<M>, &[Plane<M>]),
        sight: &Sight<M>,
        who: M,
        allowed: &impl Fn(Option<&Plane<M>>, M) -> M,
        found: &mut impl FnMut(usize, M) -> bool,
    ) -> bool {
        // what is asked of the piece alone is asked once
        let who = line.of_piece.iter().fold(who, |who, condition| {
            if who.is_none() { who } else { who & self.allowed(condition, sight, planes.first(), line) }
        });
        if who.is_none() {
            return false;
        }
        let mut to = if line.by_direction { M::NONE } else { sight.set(&line.to) };
        let over = line.over.as_ref().map(|(over, _)| sight.set(over));
        let through = line.through.as_ref().map(|(through, ..)| sight.set(through));
        let exact = line.exactly.as_ref().map(|(of, lines)| (sight.set(of), lines));
        // the distances of a slide in one direction follow each other
        let run = line.through.as_ref().map_or(1, |(_, _, most)| *most);
        let mut has_enough = false;
        for (direction, planes) in planes.chunks(run).enumerate() {
            // squares from which so many steps ahead lead to a target
            let mut before = M::NONE;
            for (distance, plane) in planes.iter().enumerate() {
                if line.by_direction {
                    sight.going.set(plane.going);
                    sight.ahead.set(Some(plane.step));
                    to = sight.set(&line.to);
                }
                let squares = match (over, through) {
                    (Some(over), _) => {
                        let mut behind = plane.step.before(to);
                        if line.over.as_ref().is_some_and(|(_, off_board)| *off_board) {
                            behind |= self.board & !plane.step.inner;
                        }
                        plane.step.before(over & behind)
                    }
                    (None, Some(through)) => {
                        before = match distance {
                            0 => plane.step.before(to),
                            // everything in between is open
                            _ if !line.by_direction => plane.step.before(before & through),
                            _ => {
                                let last = plane.step.before(to);
                                (0..distance).fold(last, |before, _| plane.step.before(before & through))
                            }
                        };
                        if before.is_none() && !line.by_direction {
                            break;
                        }
                        before
                    }
                    (None, None) => plane.by.before(to),
                };
                let index = direction * run + distance;
                let mut squares = squares & who;
                if let Some((of, lines)) = &exact {
                    squares &= with_count(&lines[index], *of, plane.distance);
                }
                let is_long_enough =
                    line.through.as_ref().is_none_or(|(_, least, _)| plane.distance >= *least);
                if squares.any() && is_long_enough && found(line.first + index, allowed(Some(plane), squares))
                {
                    has_enough = true;
                    break;
                }
            }
            if has_enough {
                break;
            }
        }
        if line.by_direction {
            sight.going.set(u8::MAX);
            sight.ahead.set(None);
        }
        has_enough
    }

    /// The squares of a plane for which a condition holds.
    fn allowed(&self, condition: &Test<M>, sight: &Sight<M>, plane: Option<&Plane<M>>, line: &Line<M>) -> M {
        let all = !M::NONE;
        // where a piece goes does not matter to what is asked of elsewhere
        let without_direction = |asked: &dyn Fn() -> M| {
            let (going, ahead) = (sight.going.replace(u8::MAX), sight.ahead.replace(None));
            let squares = asked();
            sight.going.set(going);
            sight.ahead.set(ahead);
            squares
        };
        let both =
            |both: &(Test<M>, Test<M>)| [&both.0, &both.1].map(|test| self.allowed(test, sight, plane, line));
        match condition {
            Test::Place(Spot::From, of) => match plane {
                Some(_) => without_direction(&|| sight.set(of)),
                // the one piece of its kind
                None => {
                    let who = line.piece.map_or(M::NONE, |piece| sight.things.sets[piece]);
                    if (who & sight.set(of)).any() { all } else { M::NONE }
                }
            },
            // whether it goes to a neighbor of where it comes from
            Test::Place(Spot::To, Set::Step { aheads, of }) if **of == Set::From => match plane {
                Some(plane) => {
                    let is_near = aheads.contains(&plane.by);
                    if is_near { all } else { M::NONE }
                }
                None => {
                    let who = line.piece.map_or(M::NONE, |piece| sight.things.sets[piece]);
                    aheads.iter().fold(M::NONE, |set, ahead| set | ahead.of(who))
                }
            },
            Test::Place(Spot::To, of) => match plane {
                Some(plane) => {
                    let (going, ahead) = (sight.going.get(), sight.ahead.get());
                    sight.going.set(plane.going);
                    sight.ahead.set(Some(plane.step));
                    let squares = plane.by.before(sight.set(of));
                    sight.going.set(going);
                    sight.ahead.set(ahead);
                    squares
                }
                None => sight.set(of),
            },
            Test::Place(Spot::Over, of) => {
                plane.map_or(M::NONE, |plane| without_direction(&|| plane.step.before(sight.set(of))))
            }
            Test::Inward => plane.map_or(M::NONE, |plane| plane.inward),
            Test::Not(of) => !self.allowed(of, sight, plane, line),
            Test::And(tests) => {
                let [one, other] = both(tests);
                one & other
            }
            Test::Or(tests) => {
                let [one, other] = both(tests);
                one | other
            }
            Test::Any(_) | Test::Connected { .. } | Test::Stuck(_) | Test::Compared(..) => {
                without_direction(&|| if sight.holds(condition, &never) { all } else { M::NONE })
            }
        }
    }

    /// The actions after which everything that the line requires holds.
    fn without_refused(
        &self,
        line: &Line<M>,
        plane: usize,
        squares: M,
        things: &Things<M>,
        clock: &Clock,
    ) -> M {
        let mut kept = M::NONE;
        for square in squares.squares() {
            let trip = self.trip(line, plane, square, things);
            let mut after = *things;
            self.perform(line, &trip, &mut after, clock);
            let mut sight = self.sight(&after, clock);
            (sight.from, sight.to, sight.over) = (trip.from, trip.to, trip.over);
            if line.required.iter().all(|required| sight.holds(required, &never)) {
                kept |= M::of(square);
            }
        }
        kept
    }

    /// The squares of an action: of this square of this plane.
    #[inline]
    pub fn trip(&self, line: &Line<M>, plane: usize, square: usize, things: &Things<M>) -> Trip<M> {
        match &line.moves {
            Move::Place | Move::Drop => Trip { to: M::of(square), ..Trip::NONE },
            Move::To(_) | Move::Ray(_) => {
                let from = line.piece.map_or(M::NONE, |piece| things.sets[piece]);
                Trip { from, to: M::of(square), ..Trip::NONE }
            }
            Move::From(planes) => {
                let (plane, from) = (&planes[plane - line.first], M::of(square));
                let over = if line.over.is_some() { plane.step.of(from) } else { M::NONE };
                Trip { from, to: plane.by.of(from), over }
            }
            Move::Pass | Move::Swap => Trip::NONE,
        }
    }

    /// Does an action, but for whose turn it is then.
    pub fn perform(&self, line: &Line<M>, trip: &Trip<M>, things: &mut Things<M>, clock: &Clock) {
        let (kinds, own) = (self.kinds, self.player * self.kinds);
        let enemy = (1 - self.player) * kinds;
        if line.captures {
            let taken = if line.over.is_some() { trip.over } else { trip.to };
            things.sets[enemy..][..kinds].iter_mut().for_each(|set| *set &= !taken);
        }
        match &line.moves {
            Move::Place | Move::Drop => {
                if let Some(piece) = line.piece {
                    things.sets[piece] |= trip.to;
                }
            }
            Move::From(_) | Move::To(_) | Move::Ray(_) => {
                if line.exchanges && trip.to.any() {
                    for set in &mut things.sets[..2 * kinds] {
                        let (was_from, was_to) = ((*set & trip.from).any(), (*set & trip.to).any());
                        *set &= !(trip.from | trip.to);
                        if was_from {
                            *set |= trip.to;
                        }
                        if was_to {
                            *set |= trip.from;
                        }
                    }
                } else {
                    for set in &mut things.sets[own..][..kinds] {
                        if (*set & trip.from).any() {
                            *set &= !trip.from;
                            *set |= trip.to;
                        }
                    }
                }
            }
            Move::Pass | Move::Swap => {}
        }
        for effect in &line.effects {
            self.effect(effect, trip, things, clock);
        }
    }

    fn effect(&self, effect: &Doing<M>, trip: &Trip<M>, things: &mut Things<M>, clock: &Clock) {
        let squares = |things: &Things<M>, set: &Set<M>| match set {
            // what most effects speak of
            Set::From => trip.from,
            Set::To => trip.to,
            Set::Over => trip.over,
            set => {
                let mut sight = self.sight(things, clock);
                (sight.from, sight.to, sight.over) = (trip.from, trip.to, trip.over);
                sight.set(set)
            }
        };
        let kinds = self.kinds;
        match effect {
            Doing::Remove(set) => {
                let gone = squares(things, set);
                things.sets[..2 * kinds].iter_mut().for_each(|set| *set &= !gone);
            }
            Doing::Flip(set) => {
                let flipped = squares(things, set);
                for kind in 0..kinds {
                    let (first, second) = (things.sets[kind], things.sets[kinds + kind]);
                    things.sets[kind] = first & !flipped | second & flipped;
                    things.sets[kinds + kind] = second & !flipped | first & flipped;
                }
            }
            Doing::Mark(state, set) => {
                let marked = squares(things, set) & self.board;
                things.sets[*state] |= marked;
            }
            Doing::Unmark(state, set) => {
                let unmarked = squares(things, set);
                things.sets[*state] &= !unmarked;
            }
            Doing::Promote(kind, set) => {
                let promoted = squares(things, set);
                for player in 0..2 {
                    let pieces = &mut things.sets[player * kinds..][..kinds];
                    let mut here = M::NONE;
                    for set in pieces.iter_mut() {
                        here |= *set & promoted;
                        *set &= !promoted;
                    }
                    pieces[*kind] |= here;
                }
            }
            Doing::Count(counter, by) => {
                let now = i64::from(things.counters[*counter]) + by;
                things.counters[*counter] = now.clamp(0, i64::from(u16::MAX)) as u16;
            }
            Doing::When(test, effects) => {
                let holds = {
                    let mut sight = self.sight(things, clock);
                    (sight.from, sight.to, sight.over) = (trip.from, trip.to, trip.over);
                    sight.holds(test, &never)
                };
                if holds {
                    effects.iter().for_each(|effect| self.effect(effect, trip, things, clock));
                }
            }
        }
    }

    /// The line of an action that belongs to no square; `cells` are the squares of a plane.
    pub fn owner(&self, action: usize, cells: usize) -> usize {
        self.owners[self.planes + action - self.planes * cells].into()
    }

    /// The square of a column to which a piece falls.
    pub fn lowest_empty(&self, column: usize, things: &Things<M>) -> usize {
        let pieces = things.sets[..2 * self.kinds].iter().fold(M::NONE, |set, more| set | *more);
        (self.columns[column] & self.board & !pieces).lowest()
    }
}

impl<M> Move<M> {
    pub fn is_pass(&self) -> bool {
        matches!(self, Move::Pass)
    }
}

/// Only the ends of a game speak of who is stuck.
fn never(_: Side) -> bool {
    false
}

/// Squares of the lines that have exactly so many of these.
fn with_count<M: Mask>(lines: &[M], of: M, count: usize) -> M {
    let fitting = lines.iter().filter(|line| (of & **line).count() == count);
    fitting.fold(M::NONE, |set, line| set | *line)
}
