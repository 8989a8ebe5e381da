//! The weights as a safetensors file: `[out, in, k, k]` kernels, `[in, out]` matrices, batch norms with
//! their running statistics. The header's entry `petteia` holds the checkpoint's manifest, so the file
//! can be used as an agent by itself.

use crate::checkpoint::Checkpoint;
use crate::error::Result;
use crate::net::model;

/// The file's bytes. The network is loaded first, so that what is exported is known to be whole.
pub fn file(checkpoint: &Checkpoint) -> Result<Vec<u8>> {
    checkpoint.network(&model::device())?;
    checkpoint.weights()
}
