//! A bot: this program with a network attached, a single self-contained file.
//!
//! The attached file is the safetensors export. Without a network the program is `petteia`; with one it is a bot
//! (`cli::bot`).

use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result};
use crate::net::ranges::Ranges;
use crate::storage;
use crate::storage::attachment;

/// The file's bytes.
pub fn file(checkpoint: &Checkpoint, ranges: Option<Ranges>) -> Result<Vec<u8>> {
    let program = std::env::current_exe().map_err(Error::io("this program's own file"))?;
    attachment::attach(&storage::read(&program)?, &super::safetensors::file(checkpoint, ranges)?)
}
