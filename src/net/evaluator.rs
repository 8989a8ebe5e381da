//! The network as an [`Evaluator`]: encode, one forward pass for the whole batch, softmax over legal actions.
//!
//! Like evaluations, the network's values are for the player to move, so no sign changes here. Output of the network
//! that is not finite is an error and never used.

use std::sync::Arc;

#[cfg(feature = "train")]
use super::backend;
#[cfg(feature = "train")]
use super::compared::WITH_32_BITS;
use super::compared::{WITH_16_BITS, watched};
use super::cuda::CudaNet;
use super::device::Processor;
#[cfg(feature = "train")]
use super::forward::BurnNet;
use super::forward::{Batch, Forward, Pass};
use super::infer::{CpuNet, Wanted};
use super::network::Network;
use crate::config::{EvaluatorKind, NetConfig, Precision};
use crate::encode::{Planes, Shape};
use crate::error::Result;
use crate::game::Game;
use crate::search::evaluator::{Evaluations, Evaluator, Request, Wdl};
use crate::search::policy::{not_finite, softmax};

/// Read-only weights, shared by all threads.
///
/// ```
/// use petteia::config::{NetConfig, SearchConfig};
/// use petteia::game::Game;
/// use petteia::games::tic_tac_toe::TicTacToe;
/// use petteia::net::{evaluator::SharedNet, network::Network};
/// use petteia::random::{Purpose, stream};
/// use petteia::search::Search;
///
/// let config = NetConfig::with(|net| (net.filters, net.blocks) = (4, 1));
/// let net = SharedNet::new(&Network::new(&config, TicTacToe.shape(), 1), &config);
/// let mut search = Search::new(TicTacToe, SearchConfig::default(), TicTacToe.initial());
/// search.run(&mut net.evaluator(&TicTacToe), 50, &mut stream(1, Purpose::Agent, &[]))?;
/// assert_eq!(search.tree().visits(), 50);
/// # Ok::<(), petteia::error::Error>(())
/// ```
#[derive(Clone)]
pub struct SharedNet {
    shape: Shape,
    batch: usize,
    forward: Arc<dyn Forward>,
}

debug_fields!(SharedNet, shape);

impl SharedNet {
    /// Returns the forward pass that `config` asks for, on the CPU: the fused pass or burn's. The fused pass computes
    /// in f32 if the CPU lacks the configured precision or if that precision is `auto` (`precision::fastest` replaces
    /// `auto`).
    #[expect(clippy::missing_panics_doc, reason = "every CPU has f32")]
    pub fn new(network: &Network, config: &NetConfig) -> SharedNet {
        SharedNet::from_forward(match config.evaluator {
            EvaluatorKind::Fused => {
                let weights = network.weights();
                let net = CpuNet::new(&weights, config.precision);
                let net = net.or_else(|| CpuNet::new(&weights, Precision::F32));
                Arc::new(net.expect("every CPU has f32"))
            }
            #[cfg(feature = "train")]
            EvaluatorKind::Burn => Arc::new(BurnNet::new(network, &backend::cpu())),
            // the fused pass computes the same numbers within rounding errors
            #[cfg(not(feature = "train"))]
            EvaluatorKind::Burn => {
                Arc::new(CpuNet::new(&network.weights(), Precision::F32).expect("every CPU has f32"))
            }
        })
    }

    /// Returns the forward pass of a network on a processor; on the CPU, this is the pass of [`SharedNet::new`]. The
    /// results for the first batch on a GPU are compared with those of the CPU's pass, and a difference is an error.
    ///
    /// # Errors
    /// If the processor cannot compute this network, or fails.
    pub fn on(network: &Network, config: &NetConfig, processor: &Processor) -> Result<SharedNet> {
        match processor {
            Processor::Cpu => Ok(SharedNet::new(network, config)),
            Processor::Cuda(gpu) => {
                let weights = network.weights();
                let net = Arc::new(CudaNet::new(gpu, &weights)?);
                Ok(SharedNet::from_forward(watched(net, &weights, WITH_16_BITS, gpu.name().into())))
            }
            #[cfg(feature = "train")]
            Processor::Vulkan(device) => {
                let (net, name) = (Arc::new(BurnNet::new(network, device)), backend::name(device));
                Ok(SharedNet::from_forward(watched(net, &network.weights(), WITH_32_BITS, name)))
            }
        }
    }

    /// Returns the number of positions that the forward pass wants in one batch (see [`Forward::batch`]).
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Wraps your own forward pass.
    pub fn from_forward(forward: Arc<dyn Forward>) -> SharedNet {
        SharedNet { shape: forward.shape(), batch: forward.batch(), forward }
    }

    /// Returns a separate evaluator for one thread.
    pub fn evaluator<G: Game>(&self, game: &G) -> NetEvaluator<G> {
        NetEvaluator {
            net: self.clone(),
            game: game.clone(),
            pass: self.forward.clone().pass(),
            planes: Planes::new(self.shape),
            input: Vec::new(),
            actions: Vec::new(),
            ends: Vec::new(),
            logits: Vec::new(),
            wdl: Vec::new(),
        }
    }
}

/// One thread's evaluator.
///
/// ```
/// use petteia::config::NetConfig;
/// use petteia::game::Game;
/// use petteia::games::connect_four::ConnectFour;
/// use petteia::net::{evaluator::SharedNet, network::Network};
/// use petteia::search::evaluator::{Evaluations, Evaluator, Request};
///
/// let config = NetConfig::with(|net| (net.filters, net.blocks) = (4, 1));
/// let net = SharedNet::new(&Network::new(&config, ConnectFour.shape(), 1), &config);
/// let state = ConnectFour.parse_state("4455")?;
/// let legal = ConnectFour.legal(&state);
/// let (mut evaluator, mut out) = (net.evaluator(&ConnectFour), Evaluations::new());
/// evaluator.evaluate(&[Request { state: &state, legal: &legal, seed: 0 }], &mut out)?;
/// let sum: f32 = out.row(0).priors.iter().sum();
/// assert!(out.row(0).priors.len() == 7 && (sum - 1.0).abs() < 1e-5);
/// # Ok::<(), petteia::error::Error>(())
/// ```
pub struct NetEvaluator<G> {
    net: SharedNet,
    game: G,
    pass: Box<dyn Pass>,
    planes: Planes,
    /// `[n, words]`: the [`Planes::words`] of each position.
    input: Vec<u64>,
    /// The legal actions of all positions; `ends` has, for each position, the index where its actions end.
    actions: Vec<u16>,
    ends: Vec<usize>,
    /// One logit for each of `actions`.
    logits: Vec<f32>,
    /// `[n, 3]`
    wdl: Vec<f32>,
}

debug_fields!(NetEvaluator<G: Game>, net);

/// The three stages of an evaluation, in order; separate so that each can be timed.
impl<G: Game> NetEvaluator<G> {
    /// Writes the input planes of every request.
    pub fn encode(&mut self, requests: &[Request<G>]) {
        self.input.clear();
        self.actions.clear();
        self.ends.clear();
        for request in requests {
            self.game.encode(request.state, &mut self.planes);
            self.input.extend_from_slice(self.planes.words());
            self.actions.extend(request.legal.iter().map(|action| action.0));
            self.ends.push(self.actions.len());
        }
    }

    /// Computes the network's logits for all encoded positions.
    ///
    /// # Errors
    /// If the device that computes the network fails.
    pub fn forward(&mut self) -> Result<()> {
        self.logits.resize(self.actions.len(), 0.0);
        self.wdl.resize(self.ends.len() * 3, 0.0);
        let wanted = Wanted { actions: &self.actions, ends: &self.ends };
        let (planes, logits, wdl) = (&self.input, &mut self.logits, &mut self.wdl);
        self.pass.run(Batch { planes, wanted, logits, wdl })
    }

    /// Returns the encoded input and the logits that [`NetEvaluator::forward`] computed from it: `[n, words]` of
    /// [`Planes::words`], one policy logit for each legal action, and `[n, 3]` logits of win, draw and loss.
    pub fn numbers(&self) -> (&[u64], &[f32], &[f32]) {
        (&self.input, &self.logits, &self.wdl)
    }

    /// Turns the logits of these encoded requests into probabilities.
    ///
    /// # Errors
    /// If the logits of a request are not finite.
    pub fn answer(&mut self, requests: &[Request<G>], out: &mut Evaluations) -> Result<()> {
        out.clear();
        for (row, wdl) in self.wdl.as_chunks::<3>().0.iter().enumerate() {
            let logits = &self.logits[self.begin(row)..self.ends[row]];
            let mut wdl = *wdl;
            let is_finite = softmax(&mut wdl);
            let priors = out.push(logits.len(), Wdl { win: wdl[0], draw: wdl[1], loss: wdl[2] });
            priors.copy_from_slice(logits);
            if !(softmax(priors) && is_finite) {
                return Err(not_finite(&self.game, requests[row].state));
            }
        }
        Ok(())
    }

    /// Returns the index of a position's first action.
    fn begin(&self, row: usize) -> usize {
        if row == 0 { 0 } else { self.ends[row - 1] }
    }
}

impl<G: Game> Evaluator<G> for NetEvaluator<G> {
    fn batch(&self) -> usize {
        self.net.batch
    }

    fn evaluate(&mut self, requests: &[Request<G>], out: &mut Evaluations) -> Result<()> {
        self.encode(requests);
        self.forward()?;
        self.answer(requests, out)
    }
}
