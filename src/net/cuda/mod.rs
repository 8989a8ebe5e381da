//! A forward pass on NVIDIA's GPUs: the whole network for a group of positions in one launch.
//!
//! In go [`Weights`] and batches of encoded positions, out come the wanted logits of the policy and those of win, draw and
//! loss, as from [`CpuNet`](super::cpu::CpuNet); factors have 16 bits, sums 32. A result depends on its position alone.
//! Nothing is needed but the driver, which is found at run time ([`gpu`]); without one, or with one that lies, there is an error
//! that says so in one sentence. Any number of passes may run at once, each with a stream and buffers of its own.

// the program that uses all of the driver comes next
#![allow(dead_code, unsafe_code)]

mod driver;
mod gpu;

use std::sync::Arc;

pub use self::gpu::{Gpu, gpu};
use super::forward::{Batch, Forward, Pass};
use super::weights::Weights;
use crate::encode::Shape;
use crate::error::{Error, Result};

/// A network on a GPU, read-only.
pub struct CudaNet {
    shape: Shape,
    gpu: Gpu,
}

debug_fields!(CudaNet, shape, gpu);

impl CudaNet {
    /// Packs `weights` for `gpu` and copies them there.
    ///
    /// # Errors
    /// The network has a layer or a size that the program for the GPU cannot compute, or the GPU fails.
    ///
    /// # Panics
    /// The layers do not fit to each other, or the numbers do not fit to the layers.
    pub fn new(gpu: &Gpu, weights: &Weights) -> Result<CudaNet> {
        weights.check();
        let net = CudaNet { shape: weights.layers.shape, gpu: gpu.clone() };
        Err(Error::Missing(format!("the program for {} is not written yet", net.gpu.name())))
    }
}

impl Forward for CudaNet {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn pass(self: Arc<Self>) -> Box<dyn Pass> {
        Box::new(CudaPass { net: self })
    }
}

struct CudaPass {
    net: Arc<CudaNet>,
}

impl Pass for CudaPass {
    fn run(&mut self, _: Batch) -> Result<()> {
        Err(Error::Missing(format!("the program for {} is not written yet", self.net.gpu.name())))
    }
}
