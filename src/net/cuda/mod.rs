//! A forward pass on NVIDIA's GPUs: the whole network for a group of positions in one launch.
//!
//! Input: [`Weights`], and batches of encoded positions. Output: the wanted logits of the policy and the logits of win,
//! draw, and loss, as from [`CpuNet`](super::infer::CpuNet), computed with 16-bit factors and 32-bit sums. The result
//! for a position does not depend on the rest of the batch. The only requirement is NVIDIA's driver, which is found at
//! run time (`gpu`); a missing driver, or one that gives wrong answers, causes a one-sentence error. Any number of
//! passes may run at once, each with its own stream and buffers.

#![allow(unsafe_code)]

mod driver;
#[cfg(test)]
mod emulated;
mod fragments;
mod gpu;
mod memory;
mod module;
#[cfg(test)]
mod on_gpu;
mod pass;
mod plan;
mod program;
#[cfg(test)]
mod tests;
mod upload;

use std::sync::Arc;

use self::fragments::HalfFormat;
pub use self::gpu::Gpu;
pub(super) use self::gpu::gpu;
use self::memory::Remote;
use self::pass::CudaPass;
use self::plan::{Launch, Layout};
use self::program::NetProgram;
use super::forward::{Forward, Pass};
use super::weights::Weights;
use crate::encode::Shape;
use crate::error::{Error, Result};

/// Roughly the number of positions that a large GPU computes at once: 7 on each of 132 multiprocessors.
const BATCH: usize = 1024;

/// A network on a GPU, read-only.
pub struct CudaNet {
    gpu: Gpu,
    format: HalfFormat,
    program: NetProgram,
    steps: Remote,
    fragments: Remote,
    numbers: Remote,
}

debug_fields!(CudaNet, gpu, format);

impl CudaNet {
    /// Packs `weights` for `gpu` and copies them to it.
    ///
    /// # Errors
    /// If the network has a layer or a size that the program for the GPU cannot compute, or if the GPU fails.
    ///
    /// # Panics
    /// If the layers do not fit each other, or if the numbers do not fit the layers.
    pub fn new(gpu: &Gpu, weights: &Weights) -> Result<CudaNet> {
        weights.check();
        let limits = gpu.limits();
        let format = if limits.compute >= (8, 0) { HalfFormat::Bf16 } else { HalfFormat::F16 };
        let program = NetProgram::new(weights, format)?;
        if Launch::new(&program, &limits, 1).is_none() {
            let Shape { height, width, .. } = program.shape;
            let [needed, available] =
                [Layout::new(&program, 1).bytes, limits.shared[0]].map(|bytes| bytes.div_ceil(1 << 10));
            return Err(Error::Mismatch(format!(
                "the network is too wide for the GPU {}: a position of {height} x {width} squares with {} channels \
                 needs {needed} kB of shared memory, but a block has only {available}",
                gpu.name(),
                program.width
            )));
        }
        Ok(CudaNet {
            steps: Remote::of(gpu, &program.steps)?,
            fragments: Remote::of(gpu, &program.fragments)?,
            numbers: Remote::of(gpu, &program.numbers)?,
            gpu: gpu.clone(),
            format,
            program,
        })
    }
}

impl Forward for CudaNet {
    fn shape(&self) -> Shape {
        self.program.shape
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn pass(self: Arc<Self>) -> Box<dyn Pass> {
        Box::new(CudaPass::new(self))
    }
}
