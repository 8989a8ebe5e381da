//! Performs actions.

use super::mask::Mask;
use super::moves::never;
use super::ops::{Effect, Set, Things};
use super::rules::{Clock, Line, Move, Rules, Trip};

impl<M: Mask> Rules<M> {
    /// Performs an action, but does not change whose turn it is.
    pub(super) fn perform(&self, line: &Line<M>, trip: &Trip<M>, things: &mut Things<M>, clock: &Clock) {
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

    fn effect(&self, effect: &Effect<M>, trip: &Trip<M>, things: &mut Things<M>, clock: &Clock) {
        let squares = |things: &Things<M>, set: &Set<M>| match set {
            // most effects use these squares
            Set::From => trip.from,
            Set::To => trip.to,
            Set::Over => trip.over,
            set => self.sight_of_action(trip, things, clock).set(set),
        };
        let kinds = self.kinds;
        match effect {
            Effect::Remove(set) => {
                let gone = squares(things, set);
                things.sets[..2 * kinds].iter_mut().for_each(|set| *set &= !gone);
            }
            Effect::Flip(set) => {
                let flipped = squares(things, set);
                for kind in 0..kinds {
                    let (first, second) = (things.sets[kind], things.sets[kinds + kind]);
                    things.sets[kind] = first & !flipped | second & flipped;
                    things.sets[kinds + kind] = second & !flipped | first & flipped;
                }
            }
            Effect::Mark(state, set) => {
                let marked = squares(things, set) & self.board;
                things.sets[2 * kinds + state] |= marked;
            }
            Effect::Unmark(state, set) => {
                let unmarked = squares(things, set);
                things.sets[2 * kinds + state] &= !unmarked;
            }
            Effect::Promote(kind, set) => {
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
            Effect::Count(counter, by) => {
                let now = i64::from(things.counters[*counter]) + by;
                things.counters[*counter] = now.clamp(0, i64::from(u16::MAX)) as u16;
            }
            Effect::When(condition, effect) => {
                if self.sight_of_action(trip, things, clock).holds(condition, &never) {
                    self.effect(effect, trip, things, clock);
                }
            }
        }
    }
}
