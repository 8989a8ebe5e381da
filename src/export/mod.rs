//! Exports of a trained network as a single file for use elsewhere. Each format has its own module; in all of them,
//! `metadata` describes the network.

pub mod bot;
#[cfg(not(target_family = "wasm"))]
pub mod html;
pub mod import;
mod metadata;
pub mod onnx;
pub mod safetensors;
mod scrub;
pub mod untrained;

use std::path::Path;

use crate::checkpoint::Checkpoint;
use crate::error::Result;
use crate::storage;
use bot::Defaults;

/// The formats of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A standalone program that plays; it speaks UGI, GTP, and the CodeCup protocol.
    Bot,
    /// Weights with the manifest (game, encoding, network, training) in the header; usable as an agent.
    Safetensors,
    /// The same with kernels and matrices rounded to 16 bits (bf16), in about half the bytes.
    SafetensorsBf16,
    /// The network for other programs (such as ONNX Runtime), with the same metadata.
    Onnx,
}

/// Writes `checkpoint` to `out` and returns the size in bytes.
///
/// ```
/// use petteia::arena::contestant::Contestant;
/// use petteia::arena::spec::AgentSpec;
/// use petteia::export::{Format, export};
///
/// # use petteia::config::{Config, NetConfig};
/// # use petteia::game::{GameOptions, Rules};
/// # use petteia::{games::tic_tac_toe::TicTacToe, net::network::Network, train::Trainer};
/// # let folder = tempfile::tempdir().map_err(petteia::error::Error::io("a temporary folder"))?;
/// # let folder = folder.path();
/// # let rules = Rules::<TicTacToe>::new(&GameOptions::default())?;
/// # let mut config = Config::new("tic-tac-toe");
/// # config.net = NetConfig::with(|net| (net.filters, net.blocks) = (4, 1));
/// # let network = Network::new(&config.net, rules.identity.shape, config.seed);
/// # let trainer = Trainer::new(&config.train, &network);
/// # let data = Default::default();
/// # let checkpoint = petteia::checkpoint::save(folder, &config, &rules.identity, 1, &trainer, data)?;
/// let file = folder.join("small.safetensors");
/// export(&checkpoint, Format::Safetensors, &file)?;
/// // the file is an agent
/// let agent = Contestant::new(&rules, &AgentSpec::parse(&file)?)?;
/// assert!(agent.identity().contains(checkpoint.tensors_sha256()));
/// # Ok::<(), petteia::error::Error>(())
/// ```
pub fn export(checkpoint: &Checkpoint, format: Format, out: &Path) -> Result<usize> {
    let bytes = match format {
        Format::Bot => return export_bot(checkpoint, &Defaults::default(), out),
        Format::Safetensors => safetensors::file(checkpoint)?,
        Format::SafetensorsBf16 => safetensors::file_bf16(checkpoint)?,
        Format::Onnx => onnx::file(checkpoint)?,
    };
    storage::write_whole(out, &bytes)?;
    Ok(bytes.len())
}

/// Does the same as [`export`] for a bot that follows `defaults` unless its command line says otherwise.
pub fn export_bot(checkpoint: &Checkpoint, defaults: &Defaults, out: &Path) -> Result<usize> {
    let bytes = bot::file(checkpoint, defaults)?;
    storage::write_program_whole(out, &bytes)?;
    Ok(bytes.len())
}
