//! Export and import of network weights as the bytes of safetensors files.

use std::path::PathBuf;

use petteia::arena::levels::shipped_agent;
use petteia::checkpoint::Checkpoint;
use petteia::error::Result;
use petteia::export::import::import_bytes;
use petteia::export::safetensors;
use petteia::export::untrained::untrained;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::agents::configured;
use crate::convert::{Whole, raised};
use crate::game::Game;

/// Opens a run, a checkpoint, or a file. With a game, it can also open the agent that the program carries for the game.
fn checkpoint(path: &std::path::Path, game: Option<&Game>) -> Result<Checkpoint> {
    match game.filter(|_| path.as_os_str() == "shipped") {
        Some(game) => shipped_agent(&game.rules),
        None => Checkpoint::find(path),
    }
}

/// Returns the network in the form that `petteia export --format safetensors` writes.
#[pyfunction]
#[pyo3(name = "_weights", signature = (path, game = None))]
pub fn weights<'py>(py: Python<'py>, path: PathBuf, game: Option<&Game>) -> PyResult<Bound<'py, PyBytes>> {
    let file =
        checkpoint(&path, game).and_then(|checkpoint| safetensors::file(&checkpoint)).map_err(raised)?;
    Ok(PyBytes::new(py, &file))
}

/// Writes the tensors of a safetensors file in place of those of `like`.
#[pyfunction]
#[pyo3(name = "_write_weights", signature = (path, tensors, like, game = None))]
pub fn write_weights(path: PathBuf, tensors: &[u8], like: PathBuf, game: Option<&Game>) -> PyResult<()> {
    let like = checkpoint(&like, game).map_err(raised)?;
    import_bytes(tensors, std::path::Path::new("the tensors"), &like, &path).map_err(raised)?;
    Ok(())
}

/// Writes a network with random weights.
#[pyfunction]
#[pyo3(name = "_new_network")]
pub fn new_network(
    path: PathBuf,
    game: &Game,
    seed: Whole<u64>,
    settings: Option<&Bound<PyDict>>,
) -> PyResult<()> {
    let mut config = configured(game, "net.", settings)?;
    config.seed = seed.0;
    untrained(&config, &game.rules.identity, &path).map_err(raised)?;
    Ok(())
}
