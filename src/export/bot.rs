//! A bot: a copy of this program with a network attached, in a single self-contained file.
//!
//! The attached file is the safetensors export. Without a network, the program is `petteia`; with one, it is a bot
//! (`cli::bot`). Contests start a bot without arguments, so its behavior without arguments can be set here; the
//! settings are stored in the header, in the entry `bot`. Paths from the machine that built the program are removed.

use serde::{Deserialize, Serialize};

use super::scrub::scrub;
use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result};
use crate::net::tensors;
use crate::storage;
use crate::storage::attachment::{self, Attached};
use crate::storage::own_file::own_file;

/// The name of the header's entry.
const ENTRY: &str = "bot";

/// A bot's defaults, which its command line overrides; `None` leaves the program's own default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Defaults {
    /// The protocol, by its name on the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The seconds for a whole game.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<f64>,
    /// The simulations per action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulations: Option<usize>,
    /// The MiB for the search tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<usize>,
    /// The threads of a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<usize>,
}

/// Returns the bytes of the bot's file.
pub fn file(checkpoint: &Checkpoint, defaults: &Defaults) -> Result<Vec<u8>> {
    let entry = (*defaults != Defaults::default())
        .then(|| (ENTRY, serde_json::to_string(defaults).expect("finite numbers are valid JSON")));
    let payload = super::safetensors::file_as_stored(checkpoint, entry)?;
    let mut program = storage::read(&own_file()?)?;
    scrub(&mut program);
    attachment::attach(&program, &payload)
}

/// Reads the defaults of a bot.
///
/// # Errors
/// If the header is damaged.
pub fn defaults(bot: &Attached) -> Result<Defaults> {
    let error = |why: String| {
        Error::Data(format!("{}: its header is damaged: {why}; export it again", bot.path.display()))
    };
    let header = tensors::read_header(&mut bot.open()?, bot.length).map_err(error)?;
    match tensors::metadata(&header, ENTRY) {
        Some(text) => serde_json::from_str(&text).map_err(|e| error(e.to_string())),
        None => Ok(Defaults::default()),
    }
}
