//! The weights as a safetensors file: `[out, in, k, k]` kernels, `[in, out]` matrices, and batch norms with their
//! running statistics. The header's `__metadata__` has the entries of `metadata`; one of them, `petteia`, is the
//! checkpoint's manifest, so the file alone is a usable agent.
//!
//! The format: the length of the header in 8 little-endian bytes, a JSON header padded with spaces to a multiple of
//! 8, and the tensors, which are those of the checkpoint except for auxiliary heads
//! (<https://github.com/huggingface/safetensors#format>).

use std::path::Path;

use serde_json::{Map, Value, json};

use super::metadata::{self, Entries};
use crate::checkpoint::{Checkpoint, Manifest, parts};
use crate::error::{Error, Result};
use crate::net::auxiliary::{has_heads, without_heads};
use crate::net::network::Network;
use crate::net::tensors;

/// Returns the bytes of the file, with numbers of 32 bits.
pub fn file(checkpoint: &Checkpoint) -> Result<Vec<u8>> {
    let (_, weights) = network(checkpoint)?;
    file_of(&checkpoint.manifest, &checkpoint.path, &weights, None)
}

/// Does the same as [`file()`] with kernels and matrices rounded to bf16, in about half the bytes.
pub fn file_bf16(checkpoint: &Checkpoint) -> Result<Vec<u8>> {
    let (network, _) = network(checkpoint)?;
    file_of(&checkpoint.manifest, &checkpoint.path, &network.to_safetensors_bf16("")?, None)
}

/// Does the same as [`file()`] with numbers of as many bits as the checkpoint has, and with one more entry in the
/// header.
pub(super) fn file_as_stored(
    checkpoint: &Checkpoint,
    entry: Option<(&'static str, String)>,
) -> Result<Vec<u8>> {
    let (_, whole) = network(checkpoint)?;
    let weights = if has_heads(&checkpoint.manifest.net) { whole } else { checkpoint.weights()? };
    file_of(&checkpoint.manifest, &checkpoint.path, &weights, entry)
}

/// Returns the file for this manifest and `weights`, a weights file without auxiliary heads; `entry` is added to its
/// header. Errors name the file `place`.
pub(super) fn file_of(
    manifest: &Manifest,
    place: &Path,
    weights: &[u8],
    entry: Option<(&'static str, String)>,
) -> Result<Vec<u8>> {
    let (header, tensors) = split(place, weights)?;
    let mut entries = metadata::entries(manifest, tensors);
    entries.extend(entry);
    Ok(with_header(header, &entries, tensors))
}

/// Returns the network without auxiliary heads, and its weights file with numbers of 32 bits. Loading the network also
/// checks that it is intact.
pub(super) fn network(checkpoint: &Checkpoint) -> Result<(Network, Vec<u8>)> {
    let net = &checkpoint.manifest.net;
    let network = checkpoint.network()?;
    if !has_heads(net) {
        let weights = checkpoint.weights()?;
        let (header, _) = split(&checkpoint.path, &weights)?;
        let weights = if tensors::has_bf16(&header) { network.to_safetensors("")? } else { weights };
        return Ok((network, weights));
    }
    let shape = network.layers().shape;
    let (network, _) = network.adapted(&without_heads(net), shape, 0);
    let weights = network.to_safetensors("")?;
    Ok((network, weights))
}

/// Returns the header and the tensors of the weights file of a checkpoint at `place`.
pub(super) fn split<'a>(place: &Path, weights: &'a [u8]) -> Result<(Map<String, Value>, &'a [u8])> {
    let (header, tensors) = parts(weights).unwrap_or_default();
    match serde_json::from_slice(header) {
        Ok(header) => Ok((header, tensors)),
        Err(error) => Err(Error::Data(format!("{}: invalid safetensors header: {error}", place.display()))),
    }
}

fn with_header(mut header: Map<String, Value>, entries: &Entries, tensors: &[u8]) -> Vec<u8> {
    header.insert("__metadata__".into(), json!(entries));
    let mut header = Value::Object(header).to_string().into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    let length = header.len() as u64;
    [&length.to_le_bytes(), header.as_slice(), tensors].concat()
}
