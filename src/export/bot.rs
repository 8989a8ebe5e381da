//! A bot: this program with a network attached, a single self-contained file.
//!
//! The attached file is the safetensors export. Without a network the program is `petteia`; with one it is a bot
//! (`cli::bot`). What the bot does without arguments can be set here, because a contest starts it without any: it
//! stands in the header, entry `bot`. The paths of whoever built the program are taken out.

use serde::{Deserialize, Serialize};

use super::scrub::scrub;
use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result};
use crate::net::ranges::Ranges;
use crate::net::tensors;
use crate::storage;
use crate::storage::attachment::{self, Attached};
use crate::storage::own_file::own_file;

/// The entry of the header.
const ENTRY: &str = "bot";

/// A bot's defaults, which its command line overrides; `None` is the program's own default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Defaults {
    /// The protocol, as it is called on the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Seconds for a whole game.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// Simulations per action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulations: Option<usize>,
    /// MiB for the search tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<usize>,
    /// Threads of a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
}

/// The file's bytes.
pub fn file(checkpoint: &Checkpoint, ranges: Option<Ranges>, defaults: &Defaults) -> Result<Vec<u8>> {
    let more = (*defaults != Defaults::default())
        .then(|| (ENTRY, serde_json::to_string(defaults).expect("finite numbers are valid JSON")));
    let payload = super::safetensors::file_with(checkpoint, ranges, more)?;
    let mut program = storage::read(&own_file()?)?;
    scrub(&mut program);
    attachment::attach(&program, &payload)
}

/// The defaults of a bot.
///
/// # Errors
/// The header is damaged.
pub fn defaults(bot: &Attached) -> Result<Defaults> {
    let wrong =
        |why: String| Error::Data(format!("{}: its header: {why}; export it again", bot.path.display()));
    let header = tensors::read_header(&mut bot.open()?, bot.length).map_err(wrong)?;
    match tensors::metadata(&header, ENTRY) {
        Some(text) => serde_json::from_str(&text).map_err(|error| wrong(error.to_string())),
        None => Ok(Defaults::default()),
    }
}
