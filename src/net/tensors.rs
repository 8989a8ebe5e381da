//! Checks a file of weights (safetensors) before anything is built from it.
//!
//! Given the bytes of a file and the sizes of a network, this module checks that the file contains that network: the
//! same tensors, with the same shapes, without gaps, every number finite and every variance at least 0. A number has 32
//! bits or, in kernels and matrices of a smaller export, 16 bits (bf16). The size of the header is bounded, so a
//! malformed file costs little time and little memory.
//!
//! The format: 8 bytes with the length of the header (little endian), the header as JSON, and the tensors
//! (<https://github.com/huggingface/safetensors#format>).

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::layers::Layers;
use crate::config::NetConfig;
use crate::encode::Shape;
use crate::error::{Error, Result};

/// The size, in bytes, of the header's length at the start of the file.
pub(crate) const PREFIX: u64 = 8;
/// The maximum length of a header, in bytes. The header of the largest network takes a tenth of this length, or a third
/// in exports of earlier versions, which also recorded how large the network's activations become.
pub(crate) const LARGEST_HEADER: u64 = 1 << 22;
/// The header entry that is not a tensor.
const METADATA: &str = "__metadata__";

/// The header entry of a tensor.
#[derive(Deserialize)]
struct TensorEntry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

/// Reads the header at the beginning of a file of `whole` bytes.
///
/// # Errors
/// If the header is not valid; the error says why.
pub(crate) fn read_header(file: &mut impl Read, whole: u64) -> Result<Map<String, Value>, String> {
    let mut prefix = [0; PREFIX as usize];
    file.read_exact(&mut prefix).map_err(|_| "it is too short for a header".to_string())?;
    let length = u64::from_le_bytes(prefix);
    if length > whole.saturating_sub(PREFIX) {
        return Err("it does not begin with a safetensors header that fits in the file".into());
    }
    if length > LARGEST_HEADER {
        return Err(format!("its header has {length} bytes, more than the limit of {LARGEST_HEADER}"));
    }
    let mut header = vec![0; length as usize];
    file.read_exact(&mut header).map_err(|error| error.to_string())?;
    let header: TensorHeader = serde_json::from_slice(&header).map_err(|error| {
        if error.is_data() {
            format!("its header cannot be used: {error}")
        } else {
            format!("its header is not JSON: {error}")
        }
    })?;
    Ok(header.0)
}

/// A header in which no name occurs twice, because readers differ in which of two tensors with the same name they use.
struct TensorHeader(Map<String, Value>);

impl<'de> Deserialize<'de> for TensorHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TensorHeader, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Map<String, Value>;

            fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
                let mut header = Map::new();
                while let Some((name, value)) = entries.next_entry::<String, Value>()? {
                    if header.contains_key(&name) {
                        let name = shortened(&name);
                        return Err(A::Error::custom(format_args!("it has the entry `{name}` twice")));
                    }
                    header.insert(name, value);
                }
                Ok(header)
            }
        }

        deserializer.deserialize_map(Entries).map(TensorHeader)
    }
}

/// Returns the entry `name` in the metadata of a header.
pub(crate) fn metadata(header: &Map<String, Value>, name: &str) -> Option<String> {
    Some(header.get(METADATA)?.get(name)?.as_str()?.to_string())
}

/// Returns whether a header has tensors whose numbers have 16 bits.
pub(crate) fn has_bf16(header: &Map<String, Value>) -> bool {
    header.values().any(|entry| entry.get("dtype").is_some_and(|kind| kind == "BF16"))
}

/// Returns the tensors of a network of these sizes, with their shapes.
fn expected(config: &NetConfig, shape: Shape) -> BTreeMap<String, Vec<u64>> {
    let layers = Layers::new(config, shape);
    let tensors = layers.weighted().flat_map(|layer| layer.tensors());
    tensors.map(|(name, sizes)| (name, sizes.iter().map(|&size| size as u64).collect())).collect()
}

/// Returns the total size, in bytes, of the tensors of a network of these sizes.
pub(crate) fn bytes_of(config: &NetConfig, shape: Shape) -> u64 {
    let numbers = |sizes: &Vec<u64>| sizes.iter().fold(1u64, |product, size| product.saturating_mul(*size));
    let all = expected(config, shape).values().fold(0u64, |sum, sizes| sum.saturating_add(numbers(sizes)));
    all.saturating_mul(size_of::<f32>() as u64)
}

/// Rejects a file, called `place` in the error, that does not contain a network of these sizes.
///
/// # Errors
/// If the file does not contain exactly the tensors of the network.
pub(crate) fn check(bytes: &[u8], place: &str, config: &NetConfig, shape: Shape) -> Result<()> {
    let mismatch =
        |what: String| Error::Data(format!("{place} does not hold the weights of this network: {what}"));
    let mut rest = bytes;
    let header = read_header(&mut rest, bytes.len() as u64).map_err(mismatch)?;
    let expected = expected(config, shape);
    let is_expected = |name: &String| name == METADATA || expected.contains_key(name);
    if let Some(name) = header.keys().find(|name| !is_expected(name)) {
        return Err(mismatch(format!("it has the extra tensor `{}`", shortened(name))));
    }
    let mut places = Vec::with_capacity(expected.len());
    for (name, sizes) in &expected {
        let entry = header.get(name).ok_or_else(|| mismatch(format!("it lacks the tensor `{name}`")))?;
        let entry = TensorEntry::deserialize(entry).map_err(|e| mismatch(format!("tensor `{name}`: {e}")))?;
        let width = match entry.dtype.as_str() {
            "F32" => size_of::<f32>(),
            "BF16" => size_of::<u16>(),
            _ => 0,
        };
        if width == 0 || &entry.shape != sizes {
            let (kind, dimensions) = (shortened(&entry.dtype), shortened(&format!("{:?}", entry.shape)));
            return Err(mismatch(format!("tensor `{name}` is {kind} {dimensions} instead of F32 {sizes:?}")));
        }
        places.push((entry.data_offsets, sizes.iter().product::<u64>() * width as u64, width, name));
    }
    places.sort();
    let mut end = 0;
    for ([from, to], length, width, name) in places {
        if from != end || to != end + length || to > rest.len() as u64 {
            return Err(mismatch(format!("tensor `{name}` does not fit at bytes {from} to {to}")));
        }
        check_numbers(name, numbers(&rest[from as usize..to as usize], width)).map_err(mismatch)?;
        end = to;
    }
    if end == rest.len() as u64 {
        Ok(())
    } else {
        Err(mismatch(format!("{} bytes follow the last tensor", rest.len() as u64 - end)))
    }
}

/// Returns the numbers of a tensor, each of which takes `width` bytes: 4 (f32) or 2 (bf16, the upper half of an f32).
pub(crate) fn numbers(bytes: &[u8], width: usize) -> Vec<f32> {
    if width == size_of::<u16>() {
        let upper = |bytes: &[u8; 2]| f32::from_bits(u32::from(u16::from_le_bytes(*bytes)) << 16);
        bytes.as_chunks().0.iter().map(upper).collect()
    } else {
        bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    }
}

fn check_numbers(name: &str, numbers: Vec<f32>) -> Result<(), String> {
    let is_variance = name.ends_with("running_var");
    for (index, number) in numbers.into_iter().enumerate() {
        if !number.is_finite() {
            return Err(format!("number {index} of tensor `{name}` is {number}, not a finite number"));
        }
        if is_variance && number < 0.0 {
            return Err(format!(
                "number {index} of tensor `{name}` is {number}: a variance must be at least 0"
            ));
        }
    }
    Ok(())
}

fn shortened(name: &str) -> String {
    name.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::net::network::Network;

    const SHAPES: [Shape; 3] = [
        Shape { planes: 2, height: 3, width: 3, actions: 9 },
        Shape { planes: 3, height: 2, width: 4, actions: 7 },
        Shape { planes: 1, height: 2, width: 2, actions: 9 },
    ];

    fn net() -> NetConfig {
        NetConfig { filters: 4, blocks: 1, value_planes: 2, value_hidden: 5, ..NetConfig::default() }
    }

    fn file(shape: Shape) -> Vec<u8> {
        Network::new(&net(), shape, 1).to_safetensors("about").unwrap()
    }

    /// Makes a file of these tensors whose header is altered by `change`.
    fn changed(shape: Shape, change: impl Fn(&mut Map<String, Value>)) -> Vec<u8> {
        let bytes = file(shape);
        let mut rest = bytes.as_slice();
        let mut header = read_header(&mut rest, bytes.len() as u64).unwrap();
        change(&mut header);
        let header = Value::Object(header).to_string().into_bytes();
        [&(header.len() as u64).to_le_bytes(), header.as_slice(), rest].concat()
    }

    #[test]
    fn every_network_has_the_expected_tensors() {
        for shape in SHAPES {
            let bytes = file(shape);
            check(&bytes, "a", &net(), shape).unwrap();
            let header = u64::from_le_bytes(*bytes.first_chunk().unwrap());
            assert_eq!(bytes.len() as u64, PREFIX + header + bytes_of(&net(), shape));
            let header = read_header(&mut bytes.as_slice(), bytes.len() as u64).unwrap();
            assert_eq!(metadata(&header, "petteia").as_deref(), Some("about"));
            for blocks in [0, 2] {
                assert!(check(&bytes, "a", &NetConfig { blocks, ..net() }, shape).is_err());
            }
        }
        // the largest network that the settings allow
        let largest = NetConfig { filters: 512, blocks: 40, value_planes: 64, value_hidden: 1024, ..net() };
        let names: usize = expected(&largest, SHAPES[2]).keys().map(|name| name.len() + 100).sum();
        assert!((names as u64) < LARGEST_HEADER / 10, "{names}");
    }

    #[test]
    fn a_header_that_differs_is_rejected() {
        let shape = SHAPES[0];
        let refused = |bytes: &[u8], part: &str| {
            let error = check(bytes, "a.safetensors", &net(), shape).unwrap_err().to_string();
            assert!(
                error.starts_with("a.safetensors ") && error.contains(part),
                "`{part}` is not in {error}"
            );
        };
        let name = "value_out.bias";
        refused(&changed(shape, |header| drop(header.remove(name))), "lacks the tensor `value_out.bias`");
        refused(
            &changed(shape, |header| drop(header.insert("x".into(), header[name].clone()))),
            "has the extra tensor `x`",
        );
        let with =
            |key: &'static str, value: Value| changed(shape, move |header| header[name][key] = value.clone());
        refused(&with("shape", serde_json::json!([1u64 << 50])), "instead of F32 [3]");
        refused(&with("dtype", "F16".into()), "is F16 [3]");
        refused(&with("data_offsets", serde_json::json!([0, 12])), "does not fit");
        refused(&with("data_offsets", serde_json::json!([u64::MAX, 12])), "does not fit");
        refused(&with("data_offsets", "x".into()), "tensor `value_out.bias`: ");
        let bytes = file(shape);
        refused(&[&bytes[..], &[0; 4]].concat(), "4 bytes follow");
        refused(&bytes[..bytes.len() - 4], "does not fit");
        refused(&bytes[..4], "too short");
        refused(&u64::MAX.to_le_bytes(), "it does not begin with a safetensors header that fits in the file");
        let text = r#"{"value_out.bias":{},"value_out.bias":{}}"#;
        let twice = [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat();
        refused(&twice, "it has the entry `value_out.bias` twice");
        let long =
            [&(LARGEST_HEADER + 1).to_le_bytes()[..], &vec![b' '; LARGEST_HEADER as usize + 1]].concat();
        refused(&long, "more than the limit");
        let deep = [b"{\"a\":", &vec![b'['; 1 << 16][..]].concat();
        refused(&[&(deep.len() as u64).to_le_bytes(), &deep[..]].concat(), "its header");
        let list = [&(1u64 << 16).to_le_bytes()[..], &vec![b'['; 1 << 16]].concat();
        refused(&list, "its header cannot be used");
    }

    /// Versions that also computed in int8 wrote into their exports how large activations become.
    #[test]
    fn ranges_of_activations_in_the_metadata_are_ignored() {
        let shape = SHAPES[0];
        let bytes = changed(shape, |header| {
            let about = header.get_mut(METADATA).and_then(Value::as_object_mut).expect("metadata");
            about.insert("int8_ranges".into(), r#"{"input":{"largest":[1.5],"mean":[0.25]}}"#.into());
        });
        let network = Network::from_safetensors(&bytes, "a", &net(), shape).unwrap();
        assert_eq!(network, Network::from_safetensors(&file(shape), "a", &net(), shape).unwrap());
    }

    #[test]
    fn invalid_numbers_are_rejected() {
        let shape = SHAPES[0];
        let bytes = file(shape);
        let header = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
        let with = |number: f32, at: usize| {
            let mut changed = bytes.clone();
            changed[8 + header + at..][..4].copy_from_slice(&number.to_le_bytes());
            check(&changed, "a", &net(), shape).unwrap_err().to_string()
        };
        let last = bytes.len() - 8 - header - 4;
        assert!(with(f32::NAN, last).contains("number 14 of tensor `value_out.weight` is NaN"));
        assert!(with(f32::INFINITY, 0).contains("number 0 of tensor `blocks.0.first.conv.weight` is inf"));
        let text = String::from_utf8_lossy(&bytes[8..8 + header]).into_owned();
        let parsed: Value = serde_json::from_str(&text).unwrap();
        let variance = parsed["stem.norm.running_var"]["data_offsets"][0].as_u64().unwrap() as usize;
        assert!(with(-1e-30, variance).contains("a variance must be at least 0"));
    }
}
