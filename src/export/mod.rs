//! A trained network as one file that others can use. Each format is a module of its own; `metadata` says in each of
//! them what the network is.

pub mod bot;
mod metadata;
pub mod onnx;
pub mod safetensors;

use std::path::Path;

use crate::checkpoint::Checkpoint;
use crate::error::Result;
use crate::storage;

/// The formats of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A program that plays: runs alone, speaks UGI, GTP and the CodeCup jury's dialogue.
    Bot,
    /// Weights with the manifest (game, encoding, network, training) in the header; can be used as an agent.
    Safetensors,
    /// The network's function for other programs (ONNX Runtime and the like), with the same metadata.
    Onnx,
}

/// Writes `checkpoint` to `out` and returns the size in bytes.
pub fn export(checkpoint: &Checkpoint, format: Format, out: &Path) -> Result<usize> {
    let bytes = match format {
        Format::Bot => bot::file(checkpoint)?,
        Format::Safetensors => safetensors::file(checkpoint)?,
        Format::Onnx => onnx::file(checkpoint)?,
    };
    match format {
        Format::Bot => storage::write_program_whole(out, &bytes)?,
        Format::Safetensors | Format::Onnx => storage::write_whole(out, &bytes)?,
    }
    Ok(bytes.len())
}
