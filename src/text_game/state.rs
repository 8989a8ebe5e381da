//! A position of a text game, and the earlier positions that a repetition rule remembers.

use std::fmt::{self, Debug};
use std::sync::Arc;

use super::mask::Mask;
use super::ops::Things;
use super::rules::Clock;
use crate::game::{Outcome, Player};
use crate::random::mix;

/// A position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State<M: Mask> {
    pub(super) things: Things<M>,
    pub(super) clock: Clock,
    pub(super) to_move: Player,
    /// The result and the rule that gave it.
    pub(super) result: Option<(Outcome, u16)>,
    pub(super) past: Past<M>,
}

/// The earlier positions, newest first. Later positions share the list, which is empty if no rule depends on earlier
/// positions.
#[derive(Clone)]
pub(super) struct Past<M>(Option<Arc<HistoryLink<M>>>);

struct HistoryLink<M> {
    /// The hash of the parts of the position that are compared to find repetitions.
    hash: u64,
    things: Things<M>,
    clock: Clock,
    to_move: Player,
    before: Option<Arc<HistoryLink<M>>>,
    length: u32,
    /// A hash of the whole list.
    digest: u64,
}

impl<M> Drop for HistoryLink<M> {
    fn drop(&mut self) {
        // drop the links one after the other, since dropping a long list recursively would need a deep stack
        let mut before = self.before.take();
        while let Some(link) = before {
            before = Arc::into_inner(link).and_then(|mut link| link.before.take());
        }
    }
}

impl<M> Default for Past<M> {
    fn default() -> Past<M> {
        Past(None)
    }
}

impl<M: Mask> Past<M> {
    /// Returns the list with one more position.
    pub(super) fn with(&self, hash: u64, state: &State<M>) -> Past<M> {
        let (length, digest) = self.0.as_ref().map_or((0, 0), |link| (link.length, link.digest));
        let State { things, clock, to_move, .. } = *state;
        let (before, length, digest) = (self.0.clone(), length + 1, mix(digest.rotate_left(5) ^ hash));
        Past(Some(Arc::new(HistoryLink { hash, things, clock, to_move, before, length, digest })))
    }

    fn links(&self) -> impl Iterator<Item = &HistoryLink<M>> {
        std::iter::successors(self.0.as_deref(), |link| link.before.as_deref())
    }

    /// Counts how often a position occurs among the earlier positions.
    pub(super) fn count(&self, hash: u64) -> usize {
        self.links().filter(|link| link.hash == hash).count()
    }

    /// Hashes the positions that occur at least `times` times among the earlier positions.
    pub(super) fn often(&self, times: usize) -> u64 {
        let mut all: Vec<u64> = self.links().map(|link| link.hash).collect();
        all.sort_unstable();
        let runs = all.chunk_by(|one, other| one == other).filter(|run| run.len() >= times);
        runs.fold(0, |hash, run| hash ^ mix(run[0]))
    }

    /// Applies `changed` to every position; `hash` hashes the changed positions.
    pub(super) fn changed(
        &self,
        changed: impl Fn(State<M>) -> State<M>,
        hash: impl Fn(&State<M>) -> u64,
    ) -> Past<M> {
        let links: Vec<&HistoryLink<M>> = self.links().collect();
        links.into_iter().rev().fold(Past::default(), |past, link| {
            let HistoryLink { things, clock, to_move, .. } = *link;
            let state = changed(State { things, clock, to_move, result: None, past: Past::default() });
            past.with(hash(&state), &state)
        })
    }
}

impl<M> PartialEq for Past<M> {
    fn eq(&self, other: &Past<M>) -> bool {
        let digest = |past: &Past<M>| past.0.as_ref().map(|link| (link.length, link.digest));
        digest(self) == digest(other)
    }
}

impl<M> Eq for Past<M> {}

impl<M> Debug for Past<M> {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{} earlier positions", self.0.as_ref().map_or(0, |link| link.length))
    }
}

impl<M: Mask> State<M> {
    /// Hashes the parts of a position that are compared to find repetitions, with the first `sets` sets and the first
    /// `counters` counters.
    pub(super) fn occurrence(&self, sets: usize, counters: usize) -> u64 {
        let clock = self.clock;
        let small = u64::from(clock.moved) | u64::from(clock.phase) << 16 | u64::from(clock.line) << 24;
        let small = small << 1 | u64::from(clock.goes_on);
        let mut hash = mix(small << 1 | self.to_move.index() as u64);
        for set in &self.things.sets[..sets] {
            for word in 0..M::WORDS {
                hash = mix(hash.rotate_left(1) ^ set.word(word));
            }
        }
        for four in self.things.counters[..counters].chunks(4) {
            let word = four.iter().fold(0, |word, counter| word << 16 | u64::from(*counter));
            hash = mix(hash.rotate_left(1) ^ word);
        }
        hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_past_is_counted_and_dropped() {
        let things = Things { sets: [0_u64; _], counters: [0; _] };
        let clock = Clock { ply: 0, quiet: 0, passes: 0, phase: 0, goes_on: false, moved: 0, line: 0 };
        let state = State { things, clock, to_move: Player::First, result: None, past: Past::default() };
        let mut past = Past::default();
        for ply in 0..300_000_u64 {
            past = past.with(ply % 1000, &state);
        }
        assert_eq!((past.count(7), past.count(1000)), (300, 0));
        assert_eq!(past.often(300), (0..1000).fold(0, |hash, one| hash ^ mix(one)));
        assert_ne!(past, past.with(1, &state));
        drop(past);
    }
}
