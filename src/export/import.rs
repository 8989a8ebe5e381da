//! Imports, the reverse of exports: turns weights that another program changed or trained into a network file.
//!
//! The weights of a safetensors file (names, shapes, and types as in an export) replace those of the checkpoint
//! `like`, which supplies the game, sizes, and settings. The result is a file like an export, with its own hashes; it
//! can play, be exported, and start a run. Its manifest records that it was imported and which checkpoint `like` was;
//! its generation and step are 0, because no Petteia run made these weights.

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use super::safetensors::file_of;
use crate::checkpoint::lineage::Ancestor;
use crate::checkpoint::{Checkpoint, Manifest, described, format_of};
use crate::config::{NetConfig, Precision};
use crate::error::{Error, Result, quoted};
use crate::net::auxiliary::without_heads;
use crate::net::infer::{CpuNet, Wanted};
use crate::net::layers::Layers;
use crate::net::network::Network;
use crate::net::tensors;
use crate::program::Program;
use crate::storage;

/// The largest permitted size of a file, as a multiple of the expected size. Numbers of twice the size are accepted at
/// first, so that an error can name the tensor with the wrong type instead of rejecting the whole file as too large.
const WIDEST: u64 = 2;
/// The number of tensor names that an error lists.
const NAMED: usize = 3;

/// Writes a copy of the network `like` with the weights of the safetensors file at `path` to `out`. Returns the
/// manifest and the size in bytes.
///
/// # Errors
/// If the file is not safetensors or belongs to another game; if a tensor is missing, unknown, has the wrong shape or
/// type, or contains a number that is not finite (the error names it); if the sums of its numbers are not finite; or
/// if a file cannot be read or written.
pub fn import(path: &Path, like: &Checkpoint, out: &Path) -> Result<(Manifest, usize)> {
    let bytes =
        storage::read_at_most(path, like.most_bytes().saturating_mul(WIDEST), "a network of these sizes")?;
    import_bytes(&bytes, path, like, out)
}

/// Does the same as [`import`] with a file in memory, which errors call `path`.
///
/// # Errors
/// As for [`import`].
pub fn import_bytes(bytes: &[u8], path: &Path, like: &Checkpoint, out: &Path) -> Result<(Manifest, usize)> {
    let source = SafeTensors::deserialize(bytes)
        .map_err(|error| Error::Data(format!("{}: it is not a safetensors file: {error}", path.display())))?;
    check_game(path, bytes, like)?;
    let template = &like.manifest;
    let net = without_heads(&template.net);
    let selection = chosen(path, &source, &net, like)?;
    let weights = safetensors::serialize(selection, None)
        .map_err(|error| Error::Data(format!("{}: {error}", path.display())))?;
    let place = path.display().to_string();
    let network = Network::from_safetensors(&weights, &place, &net, template.game.shape)?;
    check_sums(&network, &place)?;
    let manifest = Manifest {
        format: format_of(&net),
        program: Program::current().to_string(),
        game: template.game.clone(),
        net,
        generation: 0,
        step: 0,
        seed: template.seed,
        config: template.config.clone(),
        files: BTreeMap::new(),
        imported: Some(Ancestor::of(like)),
        data: None,
    };
    let (manifest, weights) = described(&manifest, &network)?;
    let file = file_of(&manifest, path, &weights, None)?;
    storage::write_whole(out, &file)?;
    Ok((manifest, file.len()))
}

/// Rejects weights with which the network cannot compute: each weight is a finite number, but the sums are too large to
/// be finite.
fn check_sums(network: &Network, place: &str) -> Result<()> {
    let net = CpuNet::new(&network.weights(), Precision::F32).expect("every CPU has f32");
    let shape = net.shape();
    let actions: Vec<u16> = (0..shape.actions).map(|action| action as u16).collect();
    let (mut logits, mut wdl) = (vec![0.0; actions.len()], [0.0; 3]);
    // planes are 0 or 1
    for plane in [0.0, 1.0] {
        let planes = vec![plane; shape.input_len()];
        let wanted = Wanted { actions: &actions, ends: &[actions.len()] };
        net.forward(&mut net.scratch(), &planes, wanted, &mut logits, &mut wdl);
        if !logits.iter().chain(&wdl).all(|number| number.is_finite()) {
            return Err(Error::Data(format!(
                "{place}: these weights are too large: with them, the network's output for a board whose planes are \
                 all {plane} is not a number"
            )));
        }
    }
    Ok(())
}

/// Rejects a file whose manifest names a different game or a different encoding of its positions. Most files have no
/// manifest.
fn check_game(path: &Path, bytes: &[u8], like: &Checkpoint) -> Result<()> {
    let header = tensors::read_header(&mut &*bytes, bytes.len() as u64);
    let header = header.map_err(|what| Error::Data(format!("{}: {what}", path.display())))?;
    let about = tensors::metadata(&header, "petteia");
    match about {
        Some(about) => {
            let manifest = Manifest::parse(about.as_bytes(), path)?;
            manifest.game.expect(&like.manifest.game, &path.display().to_string())
        }
        None => Ok(()),
    }
}

/// Returns the tensors of the network without auxiliary heads. The file may also contain those of auxiliary heads.
fn chosen<'a>(
    path: &Path,
    source: &'a SafeTensors,
    net: &NetConfig,
    like: &Checkpoint,
) -> Result<Vec<(String, TensorView<'a>)>> {
    let (place, shape) = (path.display(), like.manifest.game.shape);
    let error = |what: String| {
        Error::Data(format!(
            "{place} does not hold the weights of a network like {}: {what}",
            like.path.display()
        ))
    };
    let layout = |net: &NetConfig| -> Vec<(String, Vec<usize>)> {
        Layers::new(net, shape).weighted().flat_map(|layer| layer.tensors()).collect()
    };
    let (wanted, known) = (layout(net), layout(&like.manifest.net));
    let is_known = |name: &str| known.iter().any(|(known, _)| known == name);
    let mut others: Vec<&str> = source.names().into_iter().filter(|name| !is_known(name)).collect();
    others.sort_unstable();
    let others: Vec<String> = others.into_iter().map(quoted).collect();
    let names = || others.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let mut selection = Vec::with_capacity(wanted.len());
    for (name, sizes) in wanted {
        let Ok(tensor) = source.tensor(&name) else {
            let others = if others.is_empty() { String::new() } else { format!(", but has {}", names()) };
            return Err(error(format!(
                "it lacks the tensor `{name}`{others}; name the tensors as `petteia export --format safetensors` does"
            )));
        };
        if tensor.shape() != sizes {
            let is_turned = sizes.len() == 2 && tensor.shape().iter().rev().eq(&sizes);
            let hint = "; weights of linear layers are [inputs, outputs], the transpose of PyTorch's";
            let hint = if is_turned { hint } else { "" };
            return Err(error(format!(
                "tensor `{name}` has the shape {:?} instead of {sizes:?}{hint}",
                tensor.shape()
            )));
        }
        if !matches!(tensor.dtype(), Dtype::F32 | Dtype::BF16) {
            return Err(error(format!("tensor `{name}` is {:?}: save it as F32", tensor.dtype())));
        }
        selection.push((name, tensor));
    }
    if others.is_empty() {
        Ok(selection)
    } else {
        Err(error(format!("it also has {}, which that network does not have", names())))
    }
}
