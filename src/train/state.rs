//! The optimizer's state as bytes (burnpack), in a defined order.
//!
//! burn writes the tensors in the order of a hash map, so equal states could differ as files; here, the tensors are
//! sorted by name. Only states with finite numbers are accepted when reading.

use burn::tensor::Bytes;
use burn_pack::{DType, Reader, Writer};

use crate::error::{Error, Result};

/// Returns the state with its tensors sorted by name.
pub(super) fn in_order(bytes: Bytes) -> Result<Vec<u8>> {
    let failed = |e: &dyn std::fmt::Debug| Error::Data(format!("cannot write the optimizer's state: {e:?}"));
    let reader = Reader::from_bytes(bytes).map_err(|e| failed(&e))?;
    let (texts, scalars) = (reader.metadata().clone(), reader.scalars().clone());
    // a reader returns the tensors sorted by name
    let mut writer = Writer::new(reader.into_tensors().map_err(|e| failed(&e))?);
    for (name, text) in &texts {
        writer = writer.with_metadata(name, text);
    }
    for (name, scalar) in scalars {
        writer = writer.with_scalar(&name, scalar);
    }
    Ok(writer.into_bytes().map_err(|e| failed(&e))?.to_vec())
}

/// Rejects a state that contains a number that is not finite.
pub(super) fn check(bytes: &Bytes, place: &str) -> Result<()> {
    let damaged = |what: String| Error::Data(format!("{place} is not an optimizer state: {what}"));
    let reader = Reader::from_bytes(bytes.clone()).map_err(|e| damaged(format!("{e:?}")))?;
    for tensor in reader.into_tensors().map_err(|e| damaged(format!("{e:?}")))? {
        let name = tensor.name.clone();
        if tensor.dtype != DType::F32 {
            return Err(damaged(format!("tensor `{name}` is {:?} instead of F32", tensor.dtype)));
        }
        let bytes = tensor.into_bytes().map_err(|e| damaged(format!("{e:?}")))?;
        let numbers = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
        if let Some((index, number)) = numbers.enumerate().find(|(_, number)| !number.is_finite()) {
            return Err(damaged(format!("number {index} of tensor `{name}` is {number}")));
        }
    }
    Ok(())
}
