//! Finds the squares of the legal actions of each line of actions, for all pieces at once.
//!
//! A line costs a few shifts for each direction, whatever the number of pieces, since the legal moves in a direction
//! are a set of squares. Only the requirements for the position after the action are tested action by action.

use super::ast::{Side, Spot};
use super::eval::Sight;
use super::mask::Mask;
use super::ops::{Ahead, Condition, Set, Things};
use super::rules::{ANY_LINE, ActionPlane, Clock, Line, Move, Rays, Rules, Through};
use super::text::Next;

impl<M: Mask> Rules<M> {
    /// Calls `found` with the line, the plane, and the squares of legal actions, in the order of the text, until
    /// `found` returns true. Actions that belong to no square have square 0.
    #[inline]
    pub(super) fn each(
        &self,
        sight: &Sight<M>,
        clock: &Clock,
        found: &mut impl FnMut(usize, usize, M) -> bool,
    ) {
        let mut group = 0;
        let mut has_any = false;
        for (index, line) in self.lines.iter().enumerate() {
            if line.phase != clock.phase as usize {
                continue;
            }
            let only = clock.line;
            if line.group != group {
                // while a piece continues, later groups are tested even if earlier ones allow an action, since the
                // piece may stop
                if has_any && only == ANY_LINE {
                    return;
                }
                group = line.group;
            }
            if only != ANY_LINE && index != only as usize {
                // a piece that continues may also stop
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

    /// Returns whether there is a legal action other than passing.
    pub(super) fn can_act(&self, sight: &Sight<M>, clock: &Clock) -> bool {
        let mut any = false;
        self.each(sight, clock, &mut |line, _, _| {
            any |= !self.lines[line].moves.is_pass();
            any
        });
        any
    }

    /// Calls `found` with the squares that a line, apart from its `require` conditions, allows on its planes, until
    /// `found` returns true. Returns whether `found` returned true.
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
        let who = match line.piece {
            Some(piece) => sight.things.sets[piece],
            None => sight.own,
        };
        let who = if clock.line == ANY_LINE { who } else { who & sight.moved };
        let reached = match &line.moves {
            Move::From(planes) => return self.found_from((line, planes), sight, who, found),
            Move::Pass | Move::Swap => return found(line.first, M::of(0)),
            Move::Place | Move::Drop => sight.set(&line.to),
            Move::To(steps) => {
                let to = sight.set(&line.to);
                to & match &line.through {
                    Some(through) => slides(who, steps, through, sight.set(&through.set)),
                    None => steps.iter().fold(M::NONE, |set, step| set | step.of(who)),
                }
            }
            Move::Ray(rays) => {
                if who.is_none() {
                    return false;
                }
                let to = sight.set(&line.to);
                let through = line.through.as_ref().map_or(M::NONE, |through| sight.set(&through.set));
                to & open_rays(who.lowest(), rays, through)
            }
        };
        found(line.first, self.permitted(line, sight, None, reached))
    }

    /// Returns the squares of a plane for which all conditions of a line hold.
    #[inline]
    fn permitted(
        &self,
        line: &Line<M>,
        sight: &Sight<M>,
        plane: Option<&ActionPlane<M>>,
        mut squares: M,
    ) -> M {
        for condition in &line.conditions {
            if squares.is_none() {
                break;
            }
            squares &= self.allowed(condition, sight, plane, line);
        }
        squares
    }

    /// Calls `found` with the squares that pieces of `who` can leave, plane by plane, until `found` returns true.
    #[inline]
    fn found_from(
        &self,
        (line, planes): (&Line<M>, &[ActionPlane<M>]),
        sight: &Sight<M>,
        who: M,
        found: &mut impl FnMut(usize, M) -> bool,
    ) -> bool {
        // conditions that depend only on the piece are tested once
        let who = line.of_piece.iter().fold(who, |who, condition| {
            if who.is_none() { who } else { who & self.allowed(condition, sight, planes.first(), line) }
        });
        if who.is_none() {
            return false;
        }
        let mut to = if line.by_direction { M::NONE } else { sight.set(&line.to) };
        let over = line.over.as_ref().map(|over| (sight.set(&over.set), over.off_board));
        let through = line.through.as_ref().map(|through| sight.set(&through.set));
        let exact = line.exactly.as_ref().map(|(of, lines)| (sight.set(of), lines));
        // the planes of a slide in one direction are consecutive, one for each distance
        let run = line.through.as_ref().map_or(1, |through| through.most);
        let least = line.through.as_ref().map_or(0, |through| through.least);
        let mut has_enough = false;
        'directions: for (direction, planes) in planes.chunks(run).enumerate() {
            // squares from which `distance` more steps lead to a target
            let mut before = M::NONE;
            for (distance, plane) in planes.iter().enumerate() {
                if line.by_direction {
                    sight.going.set(plane.going);
                    sight.ahead.set(Some(plane.step));
                    to = sight.set(&line.to);
                }
                let squares = match (over, through) {
                    (Some((over, off_board)), _) => {
                        let outside = if off_board { self.board & !plane.step.inner } else { M::NONE };
                        plane.step.before(over & (plane.step.before(to) | outside))
                    }
                    (None, Some(through)) => {
                        before = slide_before(line, plane, before, to, through, distance);
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
                if squares.any()
                    && plane.distance >= least
                    && found(line.first + index, self.permitted(line, sight, Some(plane), squares))
                {
                    has_enough = true;
                    break 'directions;
                }
            }
        }
        if line.by_direction {
            sight.going.set(u8::MAX);
            sight.ahead.set(None);
        }
        has_enough
    }

    /// Returns the squares of a plane for which a condition holds.
    fn allowed(
        &self,
        condition: &Condition<M>,
        sight: &Sight<M>,
        plane: Option<&ActionPlane<M>>,
        line: &Line<M>,
    ) -> M {
        let all_if = |holds: bool| if holds { !M::NONE } else { M::NONE };
        let both = |both: &[Condition<M>; 2]| {
            both.each_ref().map(|condition| self.allowed(condition, sight, plane, line))
        };
        // the square of the only piece of its kind
        let single = || line.piece.map_or(M::NONE, |piece| sight.things.sets[piece]);
        match condition {
            Condition::Place(Spot::From, of) => match plane {
                Some(_) => without_direction(sight, || sight.set(of)),
                None => all_if((single() & sight.set(of)).any()),
            },
            // whether the piece goes to a neighbor of the square that it leaves
            Condition::Place(Spot::To, Set::Step(around)) if around.of == Set::From => match plane {
                Some(plane) => all_if(around.directions.contains(&plane.by)),
                None => around.directions.iter().fold(M::NONE, |set, ahead| set | ahead.of(single())),
            },
            Condition::Place(Spot::To, of) => match plane {
                Some(plane) => {
                    with_direction(sight, plane.going, Some(plane.step), || plane.by.before(sight.set(of)))
                }
                None => sight.set(of),
            },
            Condition::Place(Spot::Over, of) => {
                plane.map_or(M::NONE, |plane| without_direction(sight, || plane.step.before(sight.set(of))))
            }
            Condition::Inward => plane.map_or(M::NONE, |plane| plane.inward),
            Condition::Not(of) => !self.allowed(of, sight, plane, line),
            Condition::And(conditions) => {
                let [one, other] = both(conditions);
                one & other
            }
            Condition::Or(conditions) => {
                let [one, other] = both(conditions);
                one | other
            }
            Condition::Any(_)
            | Condition::Connected { .. }
            | Condition::Stuck(_)
            | Condition::Compared(..) => without_direction(sight, || all_if(sight.holds(condition, &never))),
        }
    }

    /// Returns the squares of the actions after which all conditions that the line requires hold.
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
            let sight = self.sight_of_action(&trip, &after, clock);
            if line.required.iter().all(|required| sight.holds(required, &never)) {
                kept |= M::of(square);
            }
        }
        kept
    }
}

/// Returns the squares that slides in these directions reach from `who`.
#[inline]
fn slides<M: Mask>(who: M, steps: &[Ahead<M>], through: &Through<M>, open: M) -> M {
    steps.iter().fold(M::NONE, |all, step| {
        let (mut set, mut front) = (all, step.of(who));
        for distance in 1..=through.most {
            if front.is_none() {
                break;
            }
            if distance >= through.least {
                set |= front;
            }
            front = step.of(front & open);
        }
        set
    })
}

/// Returns the squares of the rays from a square, each up to and including its first square that is not open.
#[inline]
fn open_rays<M: Mask>(from: usize, rays: &[Rays<M>], open: M) -> M {
    rays.iter().fold(M::NONE, |set, rays| {
        let ray = rays.from[from];
        let blocked = ray & !open;
        let near = if rays.is_rising { blocked.up_to_lowest() } else { blocked.up_from_highest() };
        set | ray & near
    })
}

/// Returns the squares from which a slide of `distance + 1` steps over open squares leads to a target. `before` has the
/// squares for a slide that is one step shorter.
#[inline]
fn slide_before<M: Mask>(
    line: &Line<M>,
    plane: &ActionPlane<M>,
    before: M,
    to: M,
    open: M,
    distance: usize,
) -> M {
    let step = &plane.step;
    match distance {
        0 => step.before(to),
        // all squares in between are open
        _ if !line.by_direction => step.before(before & open),
        _ => (0..distance).fold(step.before(to), |before, _| step.before(before & open)),
    }
}

/// Calls `find` while sets are evaluated for a piece that moves in this direction, and returns its result.
#[inline]
fn with_direction<M: Mask>(
    sight: &Sight<M>,
    going: u8,
    ahead: Option<Ahead<M>>,
    find: impl FnOnce() -> M,
) -> M {
    let before = (sight.going.replace(going), sight.ahead.replace(ahead));
    let squares = find();
    sight.going.set(before.0);
    sight.ahead.set(before.1);
    squares
}

/// Calls `find` while sets are evaluated for no particular piece, and returns its result: outside target squares, it
/// does not matter where a piece goes.
#[inline]
fn without_direction<M: Mask>(sight: &Sight<M>, find: impl FnOnce() -> M) -> M {
    with_direction(sight, u8::MAX, None, find)
}

/// Stands in for the test of who is stuck, which only the ends of a game use.
pub(super) fn never(_: Side) -> bool {
    false
}

/// Returns the squares of the lines that contain exactly `count` squares of `of`.
fn with_count<M: Mask>(lines: &[M], of: M, count: usize) -> M {
    let fitting = lines.iter().filter(|line| (of & **line).count() == count);
    fitting.fold(M::NONE, |set, line| set | *line)
}
