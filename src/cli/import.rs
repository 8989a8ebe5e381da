//! `petteia import`: turns weights that another program trained into a network of Petteia.

use std::path::PathBuf;

use clap::Args;

use super::text::network_size;
use super::{print, refuse_existing};
use crate::checkpoint::Checkpoint;
use crate::error::Result;
use crate::export::import::import;

/// Make a network from weights that another program trained.
#[derive(Args)]
#[command(after_help = "\
FILE is a safetensors file with the tensors of `petteia export --format safetensors`: \
the same names, shapes, and type (F32), in any order and with or without metadata. The \
metadata of an export (layers, layer_kinds, tensors) explains the names, and docs/python.md \
has an example in PyTorch. Game, sizes, and settings are taken from the network of --like. The new \
network can play, be exported, and start a run with `train --from`.

Example:
  petteia import trained.safetensors --like runs/phage --out phage.safetensors")]
pub(super) struct Import {
    /// Weights in the safetensors format
    #[arg(value_name = "FILE")]
    weights: PathBuf,
    /// Run folder, checkpoint folder, or exported file with the game, sizes, and
    /// settings of the network
    #[arg(long, value_name = "RUN-OR-CHECKPOINT")]
    like: PathBuf,
    /// File to write, which must not exist
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl Import {
    /// Writes the network.
    pub(super) fn run(self) -> Result<()> {
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
