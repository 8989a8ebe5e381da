//! Evaluations of leaves: the priors of the legal actions, and the probabilities of win, draw, and loss for the
//! player to move.
//!
//! An evaluator gets one virtual call per batch. The uniform and the rollout evaluator need only the rules; the
//! network evaluator is in `net`, and `function` makes an evaluator from a plain function. To write your own,
//! implement [`Evaluator::evaluate`]:
//!
//! ```
//! use petteia::error::Result;
//! use petteia::game::Game;
//! use petteia::search::evaluator::{Evaluations, Evaluator, Request, Wdl};
//!
//! /// Knows nothing, but likes having many actions.
//! struct Mobility;
//!
//! impl<G: Game> Evaluator<G> for Mobility {
//!     fn evaluate(&mut self, requests: &[Request<G>], out: &mut Evaluations) -> Result<()> {
//!         out.clear();
//!         for request in requests {
//!             let value = 1.0 - 2.0 / (1 + request.legal.len()) as f32;
//!             out.push_uniform(request.legal.len(), Wdl::from_value(value, 0.0));
//!         }
//!         Ok(())
//!     }
//! }
//! ```

use std::fmt::{self, Debug};

use rand::SeedableRng;

use crate::error::Result;
use crate::game::{Action, Game, Outcome, Player};
use crate::random::{Random, choose};

/// A position to evaluate, where the game is not over.
pub struct Request<'a, G: Game> {
    /// The position.
    pub state: &'a G::State,
    /// The legal actions in the position, in ascending order; not empty.
    pub legal: &'a [Action],
    /// A seed for evaluators that need randomness, drawn from the game's own stream.
    pub seed: u64,
}

impl<G: Game> Debug for Request<'_, G> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Request")
            .field("state", self.state)
            .field("legal", &self.legal)
            .finish_non_exhaustive()
    }
}

impl<G: Game> Clone for Request<'_, G> {
    fn clone(&self) -> Self {
        *self
    }
}

// not derived: that would require `G: Clone`
impl<G: Game> Copy for Request<'_, G> {}

/// Probabilities of winning, drawing, and losing; they sum to 1.
///
/// ```
/// use petteia::search::evaluator::Wdl;
///
/// let wdl = Wdl::from_value(0.5, 0.25);
/// assert_eq!((wdl.win, wdl.draw, wdl.loss), (0.625, 0.25, 0.125));
/// assert_eq!(wdl.value(), 0.5);
/// // so high a value leaves less room for draws
/// assert_eq!(Wdl::from_value(0.5, 0.9), Wdl { win: 0.5, draw: 0.5, loss: 0.0 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wdl {
    /// Probability of a win.
    pub win: f32,
    /// Probability of a draw.
    pub draw: f32,
    /// Probability of a loss.
    pub loss: f32,
}

impl Wdl {
    /// Returns the certain result of a game from the point of view of `player`.
    pub fn of(outcome: Outcome, player: Player) -> Wdl {
        let value = outcome.value_for(player);
        Wdl {
            win: (value > 0.0) as u8 as f32,
            draw: (value == 0.0) as u8 as f32,
            loss: (value < 0.0) as u8 as f32,
        }
    }

    /// Converts a value in -1..1 and the probability of a draw, which is capped at what the value permits.
    pub fn from_value(value: f32, draw: f32) -> Wdl {
        let limit = 1.0 - value.abs();
        // a value that is NaN or out of range permits no draw
        let draw = if limit >= 0.0 { draw.clamp(0.0, limit) } else { 0.0 };
        Wdl { win: (1.0 - draw + value) / 2.0, draw, loss: (1.0 - draw - value) / 2.0 }
    }

    /// Returns the expected result, -1..1.
    pub fn value(self) -> f32 {
        self.win - self.loss
    }
}

/// The answer to a [`Request`], for the player to move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evaluation<'a> {
    /// One probability for each legal action, in the same order; they sum to 1.
    pub priors: &'a [f32],
    /// Win, draw, loss for the player to move.
    pub wdl: Wdl,
}

/// The answers to a batch, one row for each request, in reusable buffers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluations {
    /// The priors of all rows, concatenated.
    priors: Vec<f32>,
    /// Where each row of `priors` ends.
    ends: Vec<usize>,
    wdl: Vec<Wdl>,
}

impl Evaluations {
    /// Returns an empty list.
    pub fn new() -> Evaluations {
        Evaluations::default()
    }

    /// Drops all rows but keeps the memory.
    pub fn clear(&mut self) {
        self.priors.clear();
        self.ends.clear();
        self.wdl.clear();
    }

    /// Adds a row and returns its priors, one for each of `actions`, for the caller to fill in.
    pub fn push(&mut self, actions: usize, wdl: Wdl) -> &mut [f32] {
        let start = self.priors.len();
        self.priors.resize(start + actions, 0.0);
        self.ends.push(start + actions);
        self.wdl.push(wdl);
        &mut self.priors[start..]
    }

    /// Adds a row with equal priors.
    pub fn push_uniform(&mut self, actions: usize, wdl: Wdl) {
        self.push(actions, wdl).fill(1.0 / actions as f32);
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the answer to request `row`.
    pub fn row(&self, row: usize) -> Evaluation<'_> {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        Evaluation { priors: &self.priors[start..self.ends[row]], wdl: self.wdl[row] }
    }

    /// Returns the answers in the order of the requests.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Evaluation<'_>> {
        (0..self.len()).map(|row| self.row(row))
    }
}

/// Something that evaluates positions.
pub trait Evaluator<G: Game>: Send {
    /// Replaces the contents of `out` with one row for each request, in order. Each row has one finite prior for each
    /// legal action of its request. A row must depend only on its request, because games share an evaluator and the
    /// number of threads determines which requests share a batch.
    ///
    /// # Errors
    /// If the evaluator cannot answer. An error ends the search or the games that called the evaluator, and the
    /// contents of `out` are then meaningless.
    fn evaluate(&mut self, requests: &[Request<G>], out: &mut Evaluations) -> Result<()>;

    /// Returns the number of requests answered from a cache so far.
    fn hits(&self) -> usize {
        0
    }

    /// Returns the number of requests that this evaluator wants in one batch. A number above 1 means that a device
    /// other than the calling thread computes the answers; self-play then has one evaluator for all its games and sends
    /// it large batches.
    fn batch(&self) -> usize {
        1
    }
}

/// Implements [`Evaluator`] for a pointer to an evaluator.
macro_rules! behind {
    ($Pointer:ty) => {
        impl<G: Game, E: Evaluator<G> + ?Sized> Evaluator<G> for $Pointer {
            fn evaluate(&mut self, requests: &[Request<G>], out: &mut Evaluations) -> Result<()> {
                (**self).evaluate(requests, out)
            }

            fn hits(&self) -> usize {
                (**self).hits()
            }

            fn batch(&self) -> usize {
                (**self).batch()
            }
        }
    };
}

behind!(&mut E);
behind!(Box<E>);

/// Calls the evaluator and checks its output. Every evaluation for a search or for self-play goes through here.
///
/// # Errors
///
/// If the evaluator fails.
///
/// # Panics
///
/// If the evaluator does not write one row for each request, or one prior for each legal action of a request.
pub fn evaluate<G: Game>(
    evaluator: &mut (impl Evaluator<G> + ?Sized),
    requests: &[Request<G>],
    out: &mut Evaluations,
) -> Result<()> {
    evaluator.evaluate(requests, out)?;
    assert_eq!(
        out.len(),
        requests.len(),
        "an evaluator must write one row for each request: `out.clear()`, then one `out.push` per request"
    );
    for (row, request) in requests.iter().enumerate() {
        assert_eq!(
            out.row(row).priors.len(),
            request.legal.len(),
            "an evaluator must write one prior for each legal action of a request: \
             `out.push(request.legal.len(), wdl)`; row {row} has a different number"
        );
    }
    Ok(())
}

/// Reuses the allocation of a list of requests for requests with a different lifetime. In today's std, collecting a
/// list into another list of the same layout allocates nothing; `tests/allocation.rs` would notice if that changed.
pub(crate) fn recycle<'a, 'b, G: Game>(mut requests: Vec<Request<'a, G>>) -> Vec<Request<'b, G>> {
    requests.clear();
    requests.into_iter().map(|_| unreachable!("the list is empty")).collect()
}

/// An evaluator that knows nothing: equal priors, value 0.
#[derive(Debug)]
pub struct Uniform;

impl<G: Game> Evaluator<G> for Uniform {
    fn evaluate(&mut self, requests: &[Request<G>], out: &mut Evaluations) -> Result<()> {
        out.clear();
        for request in requests {
            out.push_uniform(request.legal.len(), Wdl { win: 0.0, draw: 1.0, loss: 0.0 });
        }
        Ok(())
    }
}

/// An evaluator with equal priors whose value is the result of one uniformly random game (UCT, Kocsis and Szepesvari
/// 2006).
#[derive(Debug)]
pub struct Rollout<G> {
    game: G,
    legal: Vec<Action>,
}

impl<G: Game> Rollout<G> {
    /// Returns an evaluator that plays random games of `game`.
    pub fn new(game: G) -> Rollout<G> {
        Rollout { game, legal: Vec::new() }
    }

    fn play_out(&mut self, state: &G::State, random: &mut Random) -> Outcome {
        let mut state = state.clone();
        loop {
            self.game.legal_actions(&state, &mut self.legal);
            if self.legal.is_empty() {
                return self.game.outcome(&state).expect("a position without legal actions is over");
            }
            self.game.play(&mut state, choose(random, &self.legal));
        }
    }
}

impl<G: Game> Evaluator<G> for Rollout<G> {
    fn evaluate(&mut self, requests: &[Request<G>], out: &mut Evaluations) -> Result<()> {
        out.clear();
        for request in requests {
            let outcome = self.play_out(request.state, &mut Random::seed_from_u64(request.seed));
            let wdl = Wdl::of(outcome, self.game.to_move(request.state));
            out.push_uniform(request.legal.len(), wdl);
        }
        Ok(())
    }
}
