//! The forward pass behind a trait: whatever turns encoded positions into logits.
//!
//! A [`Forward`] holds the weights and is shared by all threads; each thread takes a [`Pass`] of its own, which has the
//! buffers. The caller decides the batch: a pass may compute it at once, as here, or put it into a queue with those of
//! other threads and wait. The two here are the fused pass of [`infer`](super::infer) and burn's own, the reference.

use std::sync::Arc;

#[cfg(feature = "train")]
use burn::tensor::{Device, Tensor, TensorData};

use super::infer::{CpuNet, Scratch, Wanted};
#[cfg(feature = "train")]
use super::model::{self, Model};
#[cfg(feature = "train")]
use super::network::Network;
#[cfg(feature = "train")]
use super::vulkan;
use crate::encode::Shape;
use crate::error::Result;

/// A network that evaluates batches of positions, read-only.
pub trait Forward: Send + Sync {
    /// The sizes of input and policy.
    fn shape(&self) -> Shape;

    /// The positions that it wants together. More than 1 says that it computes on something else than the caller's
    /// core, which stays free in the meantime: self-play then feeds it from all cores, half of the games at a time.
    fn batch(&self) -> usize {
        1
    }

    /// A forward pass for one thread.
    fn pass(self: Arc<Self>) -> Box<dyn Pass>;
}

/// One thread's forward pass.
pub trait Pass: Send {
    /// Evaluates a batch. A result depends on its position alone, not on the rest of the batch (on a GPU where burn
    /// computes, within rounding).
    ///
    /// # Errors
    /// The device that computes it has failed.
    fn run(&mut self, batch: Batch) -> Result<()>;
}

/// Positions to evaluate, and where the results go.
#[derive(Debug)]
pub struct Batch<'a> {
    /// `[n, planes, height, width]`
    pub planes: &'a [f32],
    /// The actions of each position whose logits are wanted.
    pub wanted: Wanted<'a>,
    /// Takes the wanted logits of the policy.
    pub logits: &'a mut [f32],
    /// `[n, 3]`: takes the logits of win, draw and loss for the player to move.
    pub wdl: &'a mut [f32],
}

struct FusedPass {
    net: Arc<CpuNet>,
    scratch: Scratch,
}

impl Forward for CpuNet {
    fn shape(&self) -> Shape {
        self.shape()
    }

    fn pass(self: Arc<Self>) -> Box<dyn Pass> {
        Box::new(FusedPass { scratch: self.scratch(), net: self })
    }
}

impl Pass for FusedPass {
    fn run(&mut self, batch: Batch) -> Result<()> {
        self.net.forward(&mut self.scratch, batch.planes, batch.wanted, batch.logits, batch.wdl);
        Ok(())
    }
}

/// On the CPU, burn goes through a network operation by operation, each on all cores, which pays for a few positions.
#[cfg(feature = "train")]
const BATCH_ON_CPU: usize = 16;

/// burn's forward pass on a device.
#[cfg(feature = "train")]
pub(super) struct BurnNet {
    model: Model,
    device: Device,
}

#[cfg(feature = "train")]
impl BurnNet {
    /// The network on `device`.
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
        if self.device == model::device() { BATCH_ON_CPU } else { vulkan::BATCH }
    }

    fn pass(self: Arc<Self>) -> Box<dyn Pass> {
        Box::new(self)
    }
}

/// The numbers of a tensor; an error if what computed them failed.
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
        let input = TensorData::new(planes.to_vec(), [ends.len(), shape.planes, shape.height, shape.width]);
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
