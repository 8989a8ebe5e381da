//! The judgments of workers: lines for the metrics.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Result;
use crate::run::files::shared::{Identity, create, folder_of, read};
use crate::storage;

/// The name of a judgment's file.
const JUDGED: &str = "judged.json";

/// The judgment of a generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Judged {
    /// Lines for the metrics, without their time.
    pub lines: Vec<Value>,
    /// The process that played.
    pub worker: Identity,
}

impl Judged {
    /// Returns the path of a generation's judgment.
    pub(crate) fn path(run: &Path, generation: usize) -> PathBuf {
        folder_of(run, generation).join(JUDGED)
    }

    /// Commits the judgment. Returns whether the judgment counts; if another judge was first, it does not.
    pub(crate) fn commit(&self, run: &Path, generation: usize) -> Result<bool> {
        storage::create_folder_in(run, &folder_of(run, generation))?;
        Ok(create(&Judged::path(run, generation), self)?.is_none())
    }

    /// Returns whether a generation is judged.
    pub(crate) fn exists(run: &Path, generation: usize) -> Result<bool> {
        storage::exists(&Judged::path(run, generation))
    }

    /// Reads the judgment of a generation, if there is one.
    pub(crate) fn read(run: &Path, generation: usize) -> Result<Option<Judged>> {
        if Judged::exists(run, generation)? {
            read(&Judged::path(run, generation)).map(Some)
        } else {
            Ok(None)
        }
    }
}
