//! The games of judges: lines for the metrics that a worker played for.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Identity, create, folder_of, read};
use crate::error::Result;
use crate::storage;

const JUDGED: &str = "judged.json";

/// What a judge found about a generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// Lines for the metrics, without their time.
    pub lines: Vec<Value>,
    /// The process that played.
    pub worker: Identity,
}

impl Judged {
    /// Commits it; returns whether it counts: another judge may have been first.
    pub fn commit(&self, run: &Path, generation: usize) -> Result<bool> {
        storage::create_folder_in(run, &folder_of(run, generation))?;
        Ok(create(&folder_of(run, generation).join(JUDGED), self)?.is_none())
    }

    /// Whether a generation is judged.
    pub fn exists(run: &Path, generation: usize) -> Result<bool> {
        storage::exists(&folder_of(run, generation).join(JUDGED))
    }

    /// What was found about a generation, if it is judged.
    pub fn read(run: &Path, generation: usize) -> Result<Option<Judged>> {
        match Judged::exists(run, generation)? {
            true => read(&folder_of(run, generation).join(JUDGED)).map(Some),
            false => Ok(None),
        }
    }
}
