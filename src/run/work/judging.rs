//! The games of judges: lines for the metrics that a worker played for.

use std::path::{Path, PathBuf};

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
    /// The file of a generation.
    pub fn path(run: &Path, generation: usize) -> PathBuf {
        folder_of(run, generation).join(JUDGED)
    }

    /// Commits it; returns whether it counts: another judge may have been first.
    pub fn commit(&self, run: &Path, generation: usize) -> Result<bool> {
        storage::create_folder_in(run, &folder_of(run, generation))?;
        Ok(create(&Judged::path(run, generation), self)?.is_none())
    }

    /// Whether a generation is judged.
    pub fn exists(run: &Path, generation: usize) -> Result<bool> {
        storage::exists(&Judged::path(run, generation))
    }

    /// What was found about a generation, if it is judged.
    pub fn read(run: &Path, generation: usize) -> Result<Option<Judged>> {
        if Judged::exists(run, generation)? {
            read(&Judged::path(run, generation)).map(Some)
        } else {
            Ok(None)
        }
    }
}
