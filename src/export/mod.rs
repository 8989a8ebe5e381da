//! A trained network as one file that others can use. Each format is a module of its own.

pub mod safetensors;

use std::path::Path;

use crate::checkpoint::Checkpoint;
use crate::error::Result;
use crate::storage;

/// The formats of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Weights with the manifest (game, encoding, network, training) in the header.
    Safetensors,
}

/// Writes `checkpoint` to `out` and returns the size in bytes.
pub fn export(checkpoint: &Checkpoint, format: Format, out: &Path) -> Result<usize> {
    let bytes = match format {
        Format::Safetensors => safetensors::file(checkpoint)?,
    };
    storage::write_whole(out, &bytes)?;
    Ok(bytes.len())
}
