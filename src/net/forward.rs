//! The forward pass as a trait: anything that turns encoded positions into logits.
//!
//! A [`Forward`] holds the weights and is shared by all threads; each thread has its own [`Pass`], which holds the
//! buffers. The caller decides the size of a batch. A pass may compute a batch at once or queue it with the batches of
//! other threads and wait. This crate has two passes, both of which compute at once: the fused one of
//! [`infer`](super::infer) and burn's own, which is the reference.

use std::sync::Arc;

#[cfg(feature = "train")]
use burn::tensor::{Device, Tensor, TensorData};

#[cfg(feature = "train")]
use super::backend;
use super::infer::{CpuNet, Scratch, Wanted};
#[cfg(feature = "train")]
use super::model::Model;
#[cfg(feature = "train")]
use super::network::Network;
use crate::encode::Shape;
use crate::error::Result;

/// A read-only network that evaluates batches of positions.
pub trait Forward: Send + Sync {
    /// Returns the sizes of the input and of the policy.
    fn shape(&self) -> Shape;

    /// Returns the number of positions that the network wants in one batch. A number above 1 means that the network
    /// does not compute on the caller's core, which is free in the meantime: self-play then feeds the network from all
    /// cores, with half of the games at a time.
    fn batch(&self) -> usize {
        1
    }

    /// Returns a forward pass for one thread.
    fn pass(self: Arc<Self>) -> Box<dyn Pass>;
}

/// One thread's forward pass.
pub trait Pass: Send {
    /// Evaluates a batch. The result for a position does not depend on the rest of the batch (except for rounding
    /// errors if burn computes on a GPU).
    ///
    /// # Errors
    /// If the device that computes the batch fails.
    fn run(&mut self, batch: Batch) -> Result<()>;
}

/// Positions to evaluate, and where the results go.
#[derive(Debug)]
pub struct Batch<'a> {
    /// The encoded positions, `[n, words]`: the [`Planes::words`](crate::encode::Planes::words) of each.
    /// [`Shape::expand`] turns the words into floats.
    pub planes: &'a [u64],
    /// The actions of each position for which logits are wanted.
    pub wanted: Wanted<'a>,
    /// Receives the wanted logits of the policy.
    pub logits: &'a mut [f32],
    /// `[n, 3]`: receives the logits of win, draw and loss for the player to move.
    pub wdl: &'a mut [f32],
}

struct FusedPass {
    net: Arc<CpuNet>,
    scratch: Scratch,
    /// `[n, planes, height, width]`
    input: Vec<f32>,
}

impl Forward for CpuNet {
    fn shape(&self) -> Shape {
        self.shape()
    }

    fn pass(self: Arc<Self>) -> Box<dyn Pass> {
        Box::new(FusedPass { scratch: self.scratch(), input: Vec::new(), net: self })
    }
}

impl Pass for FusedPass {
    fn run(&mut self, batch: Batch) -> Result<()> {
        let Batch { planes, wanted, logits, wdl } = batch;
        self.input.resize(wanted.ends.len() * self.net.shape().input_len(), 0.0);
        self.net.shape().expand(planes, &mut self.input);
        self.net.forward(&mut self.scratch, &self.input, wanted, logits, wdl);
        Ok(())
    }
}

/// burn's forward pass on a device.
#[cfg(feature = "train")]
pub(super) struct BurnNet {
    model: Model,
    device: Device,
}

#[cfg(feature = "train")]
impl BurnNet {
    /// Puts the network on `device`.
    pub(super) fn new(network: &Network, device: &Device) -> BurnNet {
        BurnNet { model: Model::of(network, device), device: device.clone() }
    }
}

#[cfg(feature = "train")]
impl Forward for BurnNet {
    fn shape(&self) -> Shape {
        self.model.layers().shape
    }

    fn batch(&self) -> usize {
        backend::batch(&self.device)
    }

    fn pass(self: Arc<Self>) -> Box<dyn Pass> {
        Box::new(self)
    }
}

/// Reads the numbers of a tensor. Fails if the device that computed them failed.
#[cfg(feature = "train")]
fn read(tensor: Tensor<2>) -> Result<Vec<f32>> {
    let data = tensor.try_into_data().map_err(|e| {
        crate::error::Error::Data(format!("the device that computes the network failed: {e}"))
    })?;
    Ok(data.try_into_vec().expect("our networks are f32"))
}

#[cfg(feature = "train")]
impl Pass for Arc<BurnNet> {
    fn run(&mut self, batch: Batch) -> Result<()> {
        let Batch { planes, wanted: Wanted { actions, ends }, logits, wdl } = batch;
        let shape = self.shape();
        let mut input = vec![0.0_f32; ends.len() * shape.input_len()];
        shape.expand(planes, &mut input);
        let input = TensorData::new(input, [ends.len(), shape.planes, shape.height, shape.width]);
        let (policy, value) = self.model.forward(Tensor::from_data(input, &self.device));
        let policy = read(policy)?;
        wdl.copy_from_slice(&read(value)?);
        let mut begin = 0;
        for (policy, &end) in policy.chunks_exact(shape.actions).zip(ends) {
            for (logit, &action) in logits[begin..end].iter_mut().zip(&actions[begin..end]) {
                *logit = policy[action as usize];
            }
            begin = end;
        }
        Ok(())
    }
}
