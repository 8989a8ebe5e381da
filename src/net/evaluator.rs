//! The network as an [`Evaluator`]: encode, one forward pass for the whole batch, softmax over legal actions.
//!
//! Network values are for the player to move, as evaluations are, so nothing changes sign here.

use std::sync::Arc;

use burn::tensor::{Tensor, TensorData};

use super::cpu::{CpuNet, Scratch};
use super::model::{self, Network};
use crate::config::EvaluatorKind;
use crate::encode::Planes;
use crate::game::{Game, Shape};
use crate::search::evaluator::{Evaluations, Evaluator, Request, Wdl};

/// Read-only weights, shared by all threads.
#[derive(Clone)]
pub struct SharedNet {
    shape: Shape,
    forward: Forward,
}

#[derive(Clone)]
enum Forward {
    Fused(Arc<CpuNet>),
    Burn(Arc<Network>),
}

impl SharedNet {
    /// From a [`Network::snapshot`].
    pub fn new(snapshot: &Network, shape: Shape, kind: EvaluatorKind) -> SharedNet {
        let forward = match kind {
            EvaluatorKind::Fused => Forward::Fused(Arc::new(CpuNet::new(&snapshot.weights(shape)))),
            EvaluatorKind::Burn => Forward::Burn(Arc::new(snapshot.snapshot())),
        };
        SharedNet { shape, forward }
    }

    /// An evaluator of its own for one thread.
    pub fn evaluator<G: Game>(&self, game: &G) -> NetEvaluator<G> {
        let scratch = match &self.forward {
            Forward::Fused(net) => Some(net.scratch()),
            Forward::Burn(_) => None,
        };
        NetEvaluator {
            net: self.clone(),
            game: game.clone(),
            scratch,
            planes: Planes::new(self.shape),
            input: Vec::new(),
            policy: Vec::new(),
            wdl: Vec::new(),
        }
    }
}

/// One thread's evaluator.
pub struct NetEvaluator<G> {
    net: SharedNet,
    game: G,
    scratch: Option<Scratch>,
    planes: Planes,
    /// `[n, planes, h, w]`
    input: Vec<f32>,
    /// `[n, actions]`
    policy: Vec<f32>,
    /// `[n, 3]`
    wdl: Vec<f32>,
}

/// The three parts of an evaluation, in their order; apart so that each can be timed.
impl<G: Game> NetEvaluator<G> {
    /// Writes the input of every request.
    pub fn encode(&mut self, requests: &[Request<G>]) {
        let shape = self.net.shape;
        self.input.resize(requests.len() * shape.input_len(), 0.0);
        for (request, input) in requests.iter().zip(self.input.chunks_exact_mut(shape.input_len())) {
            self.game.encode(request.state, &mut self.planes);
            self.planes.expand(input);
        }
    }

    /// The network's logits for everything that was encoded.
    pub fn forward(&mut self) {
        let shape = self.net.shape;
        let n = self.input.len() / shape.input_len();
        match &self.net.forward {
            Forward::Fused(net) => {
                self.policy.resize(n * shape.actions, 0.0);
                self.wdl.resize(n * 3, 0.0);
                let scratch = self.scratch.as_mut().expect("made for the fused forward");
                net.forward(scratch, &self.input, &mut self.policy, &mut self.wdl);
            }
            Forward::Burn(network) => {
                let input = TensorData::new(self.input.clone(), [n, shape.planes, shape.height, shape.width]);
                let (policy, wdl) = network.forward(Tensor::from_data(input, &model::device()));
                self.policy = policy.into_data().try_into_vec::<f32>().expect("our networks are f32");
                self.wdl = wdl.into_data().try_into_vec::<f32>().expect("our networks are f32");
            }
        }
    }

    /// Probabilities from the logits.
    pub fn answer(&self, requests: &[Request<G>], out: &mut Evaluations) {
        out.clear();
        let logits = self.policy.chunks_exact(self.net.shape.actions).zip(self.wdl.chunks_exact(3));
        for (request, (policy, wdl)) in requests.iter().zip(logits) {
            let mut wdl = [wdl[0], wdl[1], wdl[2]];
            softmax(&mut wdl);
            let wdl = Wdl { win: wdl[0], draw: wdl[1], loss: wdl[2] };
            let priors = out.push(request.legal.len(), wdl);
            for (prior, action) in priors.iter_mut().zip(request.legal) {
                *prior = policy[action.index()];
            }
            softmax(priors);
        }
    }
}

impl<G: Game> Evaluator<G> for NetEvaluator<G> {
    fn evaluate(&mut self, requests: &[Request<G>], out: &mut Evaluations) {
        self.encode(requests);
        self.forward();
        self.answer(requests, out);
    }
}

fn softmax(values: &mut [f32]) {
    let top = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for value in values.iter_mut() {
        *value = (*value - top).exp();
        sum += *value;
    }
    values.iter_mut().for_each(|value| *value /= sum);
}
