//! A network that has learned nothing, in a file like an export: a template for weights that another program trains.

use std::collections::BTreeMap;
use std::path::Path;

use super::safetensors::file_of;
use crate::checkpoint::{Manifest, described, format_of};
use crate::config::Config;
use crate::error::Result;
use crate::game::GameIdentity;
use crate::net::auxiliary::without_heads;
use crate::net::network::Network;
use crate::program::Program;
use crate::storage;

/// Writes a network with the sizes in `config.net` and random weights that depend on `config.seed` to `out`. Returns
/// its size in bytes.
///
/// ```
/// use petteia::checkpoint::Checkpoint;
/// use petteia::config::{Config, NetConfig};
/// use petteia::export::untrained::untrained;
/// use petteia::game::{GameOptions, Rules};
/// use petteia::games::tic_tac_toe::TicTacToe;
///
/// # let folder = tempfile::tempdir().map_err(petteia::error::Error::io("a temporary folder"))?;
/// # let folder = folder.path();
/// let rules = Rules::<TicTacToe>::new(&GameOptions::default())?;
/// let mut config = Config::new("tic-tac-toe");
/// config.net = NetConfig::with(|net| (net.filters, net.blocks) = (4, 1));
/// let file = folder.join("untrained.safetensors");
/// untrained(&config, &rules.identity, &file)?;
/// assert_eq!(Checkpoint::find(&file)?.manifest.step, 0);
/// # Ok::<(), petteia::error::Error>(())
/// ```
///
/// # Errors
/// If the file cannot be written.
pub fn untrained(config: &Config, game: &GameIdentity, out: &Path) -> Result<usize> {
    let net = without_heads(&config.net);
    let network = Network::new(&net, game.shape, config.seed);
    let manifest = Manifest {
        format: format_of(&net),
        program: Program::current().to_string(),
        game: game.clone(),
        net,
        generation: 0,
        step: 0,
        seed: config.seed,
        config: config.to_toml(),
        files: BTreeMap::new(),
        imported: None,
        data: None,
    };
    let (manifest, weights) = described(&manifest, &network)?;
    let file = file_of(&manifest, out, &weights, None)?;
    storage::write_whole(out, &file)?;
    Ok(file.len())
}
