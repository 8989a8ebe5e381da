//! A fixed-size cache of evaluations in front of an evaluator.
//!
//! The cache looks up entries by [`Game::key`] and returns exactly the original numbers. With a deterministic evaluator
//! (a network, not rollouts), games are therefore the same with a cache as without one. A position and its mirror
//! images do not share a key, because a network evaluates them slightly differently and a game would depend on which of
//! them was evaluated first. Requests with the same key in one batch are evaluated once.
//!
//! A table with one slot for each remainder of a key points into a ring buffer of priors. A slot counts as empty once
//! its priors have been overwritten.

use std::fmt::{self, Debug};

use super::evaluator::{Evaluations, Evaluator, Request, Wdl, evaluate, recycle};
use crate::error::Result;
use crate::game::Game;

const MEBIBYTE: usize = 1 << 20;

/// An evaluator with a cache.
///
/// ```
/// use petteia::game::Game;
/// use petteia::games::connect_four::ConnectFour;
/// use petteia::search::cache::Cached;
/// use petteia::search::evaluator::{Evaluations, Evaluator, Request, Uniform};
///
/// let (mut cached, mut out) = (Cached::new(ConnectFour, Uniform, 1), Evaluations::new());
/// for text in ["123", "321"] {
///     let state = ConnectFour.parse_state(text)?;
///     let legal = ConnectFour.legal(&state);
///     cached.evaluate(&[Request { state: &state, legal: &legal, seed: 0 }], &mut out)?;
/// }
/// // the same discs in another order
/// assert_eq!(cached.hits(), 1);
/// # Ok::<(), petteia::error::Error>(())
/// ```
pub struct Cached<G: Game, E> {
    game: G,
    inner: E,
    places: Vec<CacheSlot>,
    /// The priors of cached evaluations, concatenated; the oldest ones are overwritten.
    ring: Vec<f32>,
    /// Number of priors ever written to the ring.
    written: u64,
    /// The number of the current batch, from 1.
    batch: u64,
    hits: usize,
    /// Where the answer to each request of the batch comes from.
    sources: Vec<AnswerFrom>,
    /// The slots of the requests that were not found.
    missed: Vec<usize>,
    answers: Evaluations,
    /// Reused allocation for the requests that are passed on.
    spare: Vec<Request<'static, G>>,
}

/// The entry of a position in the table.
#[derive(Clone, Copy)]
struct CacheSlot {
    key: u64,
    /// The index of the position's first prior, counting all priors ever written.
    start: u64,
    /// The number of the position's priors.
    len: u32,
    /// The batch that wrote this entry, and the entry's row among the cache misses of that batch.
    batch: u64,
    row: u32,
    wdl: Wdl,
}

const NOWHERE: u64 = u64::MAX;

#[derive(Clone, Copy)]
enum AnswerFrom {
    Ring(u64, Wdl),
    Row(u32),
}

impl<G: Game, E> Debug for Cached<G, E> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Cached")
            .field("places", &self.places.len())
            .field("hits", &self.hits)
            .finish_non_exhaustive()
    }
}

impl<G: Game, E> Cached<G, E> {
    /// Returns a cache of at most `mebibytes` MiB (at least 1), half of which holds priors.
    pub fn new(game: G, inner: E, mebibytes: usize) -> Cached<G, E> {
        let bytes = mebibytes * MEBIBYTE;
        let places = bytes / 2 / size_of::<CacheSlot>();
        let wdl = Wdl { win: 0.0, draw: 1.0, loss: 0.0 };
        let empty = CacheSlot { key: 0, start: NOWHERE, len: 0, batch: 0, row: 0, wdl };
        Cached {
            game,
            inner,
            places: vec![empty; places],
            ring: vec![0.0; (bytes - places * size_of::<CacheSlot>()) / size_of::<f32>()],
            written: 0,
            batch: 0,
            hits: 0,
            sources: Vec::new(),
            missed: Vec::new(),
            answers: Evaluations::new(),
            spare: Vec::new(),
        }
    }

    /// Returns the bytes that the cache allocates, however full it is.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.places[..]) + size_of_val(&self.ring[..])
    }

    /// Finds out where the answer to a request will come from. A request that is not in the cache takes the slot of
    /// its key.
    fn look_up(&mut self, request: &Request<G>) -> AnswerFrom {
        let key = self.game.key(request.state);
        let at = (key % self.places.len() as u64) as usize;
        let place = &mut self.places[at];
        // a different number of actions means a different position with the same key
        let fits = place.key == key && place.len as usize == request.legal.len();
        if fits && place.batch == self.batch {
            return AnswerFrom::Row(place.row);
        }
        let age = self.written.checked_sub(place.start);
        if fits && age.is_some_and(|age| age <= self.ring.len() as u64) {
            return AnswerFrom::Ring(place.start, place.wdl);
        }
        let row = self.missed.len() as u32;
        let len = request.legal.len() as u32;
        *place = CacheSlot { key, start: NOWHERE, len, batch: self.batch, row, ..*place };
        self.missed.push(at);
        AnswerFrom::Row(row)
    }

    /// Stores the new evaluations, except where another request of the batch took the slot.
    fn keep(&mut self) {
        for (row, &at) in self.missed.iter().enumerate() {
            let place = &mut self.places[at];
            if (place.batch, place.row) != (self.batch, row as u32) {
                continue;
            }
            let answer = self.answers.row(row);
            let (len, ring) = (answer.priors.len(), self.ring.len());
            let mut begin = (self.written % ring as u64) as usize;
            if begin + len > ring {
                // the priors of a position do not wrap around the end of the ring
                self.written += (ring - begin) as u64;
                begin = 0;
            }
            self.ring[begin..begin + len].copy_from_slice(answer.priors);
            (place.start, place.wdl) = (self.written, answer.wdl);
            self.written += len as u64;
        }
    }
}

/// Returns `inner` behind a cache of `mebibytes` MiB, or `inner` without a cache if `mebibytes` is 0.
pub fn cached<G: Game>(
    game: &G,
    inner: impl Evaluator<G> + 'static,
    mebibytes: usize,
) -> Box<dyn Evaluator<G>> {
    match mebibytes {
        0 => Box::new(inner),
        _ => Box::new(Cached::new(game.clone(), inner, mebibytes)),
    }
}

impl<G: Game, E: Evaluator<G>> Evaluator<G> for Cached<G, E> {
    fn batch(&self) -> usize {
        self.inner.batch()
    }

    fn evaluate(&mut self, requests: &[Request<G>], out: &mut Evaluations) -> Result<()> {
        self.batch += 1;
        self.sources.clear();
        self.missed.clear();
        let mut passed_on = recycle(std::mem::take(&mut self.spare));
        for request in requests {
            let before = self.missed.len();
            let source = self.look_up(request);
            self.sources.push(source);
            if self.missed.len() > before {
                passed_on.push(*request);
            }
        }
        self.answers.clear();
        if !passed_on.is_empty() {
            // if the evaluation fails, the slots that were taken stay empty
            evaluate(&mut self.inner, &passed_on, &mut self.answers)?;
        }
        self.hits += requests.len() - passed_on.len();
        self.spare = recycle(passed_on);
        out.clear();
        for (request, source) in requests.iter().zip(&self.sources) {
            match *source {
                AnswerFrom::Ring(start, wdl) => {
                    let begin = (start % self.ring.len() as u64) as usize;
                    let len = request.legal.len();
                    out.push(len, wdl).copy_from_slice(&self.ring[begin..begin + len]);
                }
                AnswerFrom::Row(row) => {
                    let answer = self.answers.row(row as usize);
                    out.push(answer.priors.len(), answer.wdl).copy_from_slice(answer.priors);
                }
            }
        }
        self.keep();
        Ok(())
    }

    fn hits(&self) -> usize {
        self.hits
    }
}
