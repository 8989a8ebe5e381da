//! Evaluators made of plain functions: [`Heuristic`] calls a function that maps a position to its value, for
//! handwritten knowledge, and [`FnEvaluator`] calls a function that maps planes to logits, for your own network.

use super::evaluator::{Evaluations, Evaluator, Request, Wdl};
use super::policy::{legal_softmax, not_finite, softmax};
use crate::encode::Planes;
use crate::error::Result;
use crate::game::Game;

/// An evaluator with equal priors whose function returns the value of a position, -1..1 for the player to move.
/// Values outside that range count as -1 or 1, and the probability of a draw is 0.
///
/// ```
/// use petteia::config::SearchConfig;
/// use petteia::game::Game;
/// use petteia::games::tic_tac_toe::TicTacToe;
/// use petteia::random::{Purpose, stream};
/// use petteia::search::{Search, function::Heuristic};
///
/// let game = TicTacToe;
/// let rules = game.clone();
/// // a player with few replies is in trouble
/// let value = move |state: &<TicTacToe as Game>::State| rules.legal(state).len() as f32 / 9.0;
/// let mut search = Search::new(game.clone(), SearchConfig::default(), game.initial());
/// search.run(&mut Heuristic(value), 100, &mut stream(1, Purpose::Agent, &[]))?;
/// println!("{:?}", search.tree().best_action());
/// # Ok::<(), petteia::error::Error>(())
/// ```
#[derive(Debug)]
pub struct Heuristic<F>(pub F);

/// # Panics
///
/// If the function returns NaN.
impl<G: Game, F: FnMut(&G::State) -> f32 + Send> Evaluator<G> for Heuristic<F> {
    fn evaluate(&mut self, requests: &[Request<G>], out: &mut Evaluations) -> Result<()> {
        out.clear();
        for request in requests {
            let value = (self.0)(request.state);
            assert!(!value.is_nan(), "the value of a position must be a number");
            out.push_uniform(request.legal.len(), Wdl::from_value(value.clamp(-1.0, 1.0), 0.0));
        }
        Ok(())
    }
}

/// The output of a function for a batch of `n` positions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Logits {
    /// `[n, actions]`, one logit for every action of the game.
    pub policy: Vec<f32>,
    /// `[n, 3]`: logits of win, draw, loss for the player to move.
    pub wdl: Vec<f32>,
}

/// An evaluator that calls a function with the planes of a batch, `[n, planes, height, width]` as the game encodes
/// them, and with `n`.
///
/// ```
/// use petteia::game::Game;
/// use petteia::games::tic_tac_toe::TicTacToe;
/// use petteia::search::function::{FnEvaluator, Logits};
///
/// let game = TicTacToe;
/// let actions = game.shape().actions;
/// // a network would look at the planes
/// let evaluator = FnEvaluator::new(&game, move |_planes: Vec<f32>, n| Logits {
///     policy: vec![0.0; n * actions],
///     wdl: vec![0.0; n * 3],
/// });
/// # Ok::<(), petteia::error::Error>(())
/// ```
#[derive(Debug)]
pub struct FnEvaluator<G, F> {
    game: G,
    function: F,
    planes: Planes,
}

impl<G: Game, F: FnMut(Vec<f32>, usize) -> Logits + Send> FnEvaluator<G, F> {
    /// Returns an evaluator that calls `function`.
    pub fn new(game: &G, function: F) -> FnEvaluator<G, F> {
        FnEvaluator { game: game.clone(), function, planes: Planes::new(game.shape()) }
    }
}

/// # Panics
///
/// If the function returns too few or too many logits.
impl<G: Game, F: FnMut(Vec<f32>, usize) -> Logits + Send> Evaluator<G> for FnEvaluator<G, F> {
    fn evaluate(&mut self, requests: &[Request<G>], out: &mut Evaluations) -> Result<()> {
        let (shape, n) = (self.game.shape(), requests.len());
        let mut input = vec![0.0; n * shape.input_len()];
        for (request, input) in requests.iter().zip(input.chunks_exact_mut(shape.input_len())) {
            self.game.encode(request.state, &mut self.planes);
            self.planes.expand(input);
        }
        let Logits { policy, mut wdl } = (self.function)(input, n);
        assert_eq!(
            policy.len(),
            n * shape.actions,
            "the function must return [{n}, {}] policy logits",
            shape.actions
        );
        assert_eq!(wdl.len(), n * 3, "the function must return [{n}, 3] logits of win, draw, loss");
        out.clear();
        let rows = policy.chunks_exact(shape.actions).zip(wdl.as_chunks_mut::<3>().0);
        for (request, (policy, wdl)) in requests.iter().zip(rows) {
            let is_finite = softmax(wdl);
            let priors = out.push(request.legal.len(), Wdl { win: wdl[0], draw: wdl[1], loss: wdl[2] });
            if !(legal_softmax(policy, request.legal, priors) && is_finite) {
                return Err(not_finite(&self.game, request.state));
            }
        }
        Ok(())
    }
}
