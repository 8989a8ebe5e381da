//! `petteia import`: weights that another program made, as a network of ours.

use std::path::PathBuf;

use clap::Args;

use super::text::network_size;
use super::{print, refuse_existing};
use crate::checkpoint::Checkpoint;
use crate::error::Result;
use crate::export::import::import;

/// Make a network of weights that another program trained.
#[derive(Args)]
#[command(after_help = "\
FILE is a safetensors file with the tensors of `petteia export --format safetensors`: \
the same names, shapes and type (F32), in any order and with or without metadata. The \
names and what they mean are in the metadata of an export (layers, layer_kinds, \
tensors), and docs/python.md has an example in PyTorch. Game, sizes and settings are \
those of RUN. The network that is written plays, can be exported, and begins a run \
with `train --from`.

Example:
  petteia import trained.safetensors --like runs/phage --out phage.safetensors")]
pub struct Import {
    /// The weights, in the safetensors format
    #[arg(value_name = "FILE")]
    weights: PathBuf,
    /// Run folder, checkpoint folder or exported file of the network whose place
    /// they take
    #[arg(long, value_name = "RUN-OR-CHECKPOINT")]
    like: PathBuf,
    /// File to write, which must not exist
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl Import {
    /// Writes the network.
    pub fn run(self) -> Result<()> {
        refuse_existing(&self.out)?;
        let like = Checkpoint::find(&self.like)?;
        let (manifest, size) = import(&self.weights, &like, &self.out)?;
        print(format_args!(
            "{}: {}, {}, {size} bytes",
            self.out.display(),
            manifest.game.id,
            network_size(manifest.net.filters, manifest.net.blocks)
        ))
    }
}
