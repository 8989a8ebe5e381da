//! Keeps the batch of a refused training step in a file, for people to look at.
//!
//! `refused-step-N.safetensors` in the run's folder holds at most [`ROWS`] rows of the batch. Rows with numbers that
//! are not finite come first. The tensors are `planes`, `policy`, `illegal`, and `wdl` as in [`Batch`], and the targets
//! of the auxiliary heads under the names of their settings. The entry `petteia` of the metadata is a [`Refused`]. Only
//! `petteia inspect` reads the file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ndarray::{Array, Axis, Dimension, RemoveAxis};
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::net::auxiliary::HeadKind;
use crate::replay::window::Batch;
use crate::storage;

/// The largest number of rows that is kept.
const ROWS: usize = 1024;
/// The prefix of the name of a refused batch's file.
const PREFIX: &str = "refused-step-";
/// The suffix of the name of a refused batch's file.
const SUFFIX: &str = ".safetensors";
/// The size of the largest file that is read, in bytes.
const LARGEST: u64 = 1 << 31;
/// The name of the metadata entry.
const ABOUT: &str = "petteia";

/// A refused training step, and the reason for the refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Refused {
    /// The generation in training.
    pub generation: usize,
    /// The number of optimizer steps before the refused one.
    pub step: usize,
    /// The run's seed.
    pub seed: u64,
    /// The reason for the refusal.
    pub reason: String,
    /// The number of rows of the whole batch.
    pub rows: usize,
}

/// A part of a refused batch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BatchPart {
    /// The part's name, as in [`Batch`].
    pub name: String,
    /// The part's sizes, rows first.
    pub sizes: Vec<usize>,
    /// How many of the part's numbers are not finite.
    pub bad: usize,
}

impl Refused {
    /// Returns whether a path is a file with the name of a refused batch.
    pub fn is(path: &Path) -> bool {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        storage::has_file(path) && name.starts_with(PREFIX) && name.ends_with(SUFFIX)
    }

    /// Writes the batch to the run's folder and returns the path.
    pub(in crate::run) fn write(&self, folder: &Path, batch: &Batch) -> Result<PathBuf> {
        let path = folder.join(format!("{PREFIX}{}{SUFFIX}", self.step));
        let rows = kept(batch);
        let number = |number: &f32| number.to_le_bytes().to_vec();
        let parts = [
            ("planes", Dtype::F32, picked(&batch.planes, &rows, number)),
            ("policy", Dtype::F32, picked(&batch.policy, &rows, number)),
            ("illegal", Dtype::BOOL, picked(&batch.illegal, &rows, |illegal| vec![u8::from(*illegal)])),
            ("wdl", Dtype::F32, picked(&batch.wdl, &rows, number)),
        ];
        let head_part =
            |(head, targets): (&HeadKind, &_)| (head.name(), Dtype::F32, picked(targets, &rows, number));
        let parts: Vec<_> = parts.into_iter().chain(batch.auxiliary.iter().map(head_part)).collect();
        let failed = |error| Error::Data(format!("{}: {error}", path.display()));
        let views: Vec<(&str, TensorView)> = parts
            .iter()
            .map(|(name, dtype, (sizes, bytes))| Ok((*name, TensorView::new(*dtype, sizes.clone(), bytes)?)))
            .collect::<Result<_, safetensors::SafeTensorError>>()
            .map_err(failed)?;
        let about = serde_json::to_string(self).expect("texts and numbers are valid JSON");
        let metadata = HashMap::from([(ABOUT.to_string(), about)]);
        storage::write_whole(&path, &serialize(views, Some(metadata)).map_err(failed)?)?;
        Ok(path)
    }

    /// Reads a refused batch, and returns its metadata and its parts, sorted by name.
    ///
    /// # Errors
    /// If the file is not a refused batch, or is damaged.
    pub fn read(path: &Path) -> Result<(Refused, Vec<BatchPart>)> {
        let bytes = storage::read_at_most(path, LARGEST, "a refused batch")?;
        let damaged = |what: String| Error::Data(format!("{}: not a refused batch: {what}", path.display()));
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|error| damaged(error.to_string()))?;
        let about = header.metadata().as_ref().and_then(|metadata| metadata.get(ABOUT));
        let about = about.ok_or_else(|| damaged("its header does not describe it".into()))?;
        let about = serde_json::from_str(about).map_err(|error| damaged(error.to_string()))?;
        let tensors = SafeTensors::deserialize(&bytes).map_err(|error| damaged(error.to_string()))?;
        let mut parts: Vec<BatchPart> = tensors
            .iter()
            .map(|(name, tensor)| {
                let numbers = tensor.data().as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
                let bad = match tensor.dtype() {
                    Dtype::F32 => numbers.filter(|number| !number.is_finite()).count(),
                    _ => 0,
                };
                BatchPart { name: name.to_string(), sizes: tensor.shape().to_vec(), bad }
            })
            .collect();
        parts.sort();
        Ok((about, parts))
    }
}

/// Returns the indices of the rows of a batch that are kept.
fn kept(batch: &Batch) -> Vec<usize> {
    let is_bad = |row: &usize| {
        let row = *row;
        let planes = batch.planes.index_axis(Axis(0), row);
        let (policy, wdl) = (batch.policy.row(row), batch.wdl.row(row));
        let auxiliary = batch.auxiliary.values().flat_map(|targets| targets.row(row));
        !planes.iter().chain(policy).chain(wdl).chain(auxiliary).all(|number| number.is_finite())
    };
    let mut rows: Vec<usize> = (0..batch.rows()).collect();
    rows.sort_by_key(|row| !is_bad(row));
    rows.truncate(ROWS);
    rows
}

/// Returns the sizes and the bytes of the given rows of an array.
fn picked<T: Clone, D: Dimension + RemoveAxis>(
    array: &Array<T, D>,
    rows: &[usize],
    bytes: impl Fn(&T) -> Vec<u8>,
) -> (Vec<usize>, Vec<u8>) {
    let rows = array.select(Axis(0), rows);
    (rows.shape().to_vec(), rows.iter().flat_map(bytes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Shape;

    #[test]
    fn the_bad_rows_of_a_large_batch_are_kept() {
        let folder = std::env::temp_dir().join(format!("petteia-refused-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut batch = Batch::empty(ROWS + 5, Shape { planes: 2, height: 2, width: 3, actions: 7 });
        batch.planes[[ROWS + 3, 1, 1, 2]] = f32::NAN;
        batch.wdl[[ROWS + 4, 0]] = f32::INFINITY;
        let reason = "a test".to_string();
        let about = Refused { generation: 2, step: 30, seed: 4, reason, rows: batch.rows() };
        let path = about.write(&folder, &batch).unwrap();
        assert!(Refused::is(&path) && path.ends_with("refused-step-30.safetensors"));
        let (read, parts) = Refused::read(&path).unwrap();
        assert_eq!(read, about);
        let expected = [
            ("illegal", vec![ROWS, 7], 0),
            ("planes", vec![ROWS, 2, 2, 3], 1),
            ("policy", vec![ROWS, 7], 0),
            ("wdl", vec![ROWS, 3], 1),
        ];
        assert_eq!(
            parts,
            expected.map(|(name, sizes, bad)| BatchPart { name: name.to_string(), sizes, bad })
        );
        // files that were cut off or are of another kind
        let bytes = std::fs::read(&path).unwrap();
        for bad in [&bytes[..bytes.len() - 1], &bytes[..20], b"", &[255; 40]] {
            std::fs::write(&path, bad).unwrap();
            let error = Refused::read(&path).unwrap_err().to_string();
            assert!(error.contains("not a refused batch"), "{error}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
