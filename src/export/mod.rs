//! A trained network as one file that others can use. Each format is a module of its own; `metadata` says in each of
//! them what the network is.

mod metadata;
pub mod onnx;
pub mod safetensors;

use std::path::Path;

use crate::checkpoint::Checkpoint;
use crate::error::Result;
use crate::storage;

/// The formats of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Weights with the manifest (game, encoding, network, training) in the header; can be used as an agent.
    Safetensors,
    /// The network's function for other programs (ONNX Runtime and the like), with the same metadata.
    Onnx,
}

/// Writes `checkpoint` to `out` and returns the size in bytes.
pub fn export(checkpoint: &Checkpoint, format: Format, out: &Path) -> Result<usize> {
    let bytes = match format {
        Format::Safetensors => safetensors::file(checkpoint)?,
        Format::Onnx => onnx::file(checkpoint)?,
    };
    storage::write_whole(out, &bytes)?;
    Ok(bytes.len())
}
