//! The ways to train a run: alone, with a worker beside the learner in one process, or with workers elsewhere.

use std::path::Path;

use super::beside;
use super::run::Role;
use super::training::Training;
use crate::any::Opened;
use crate::config::Config;
use crate::error::Result;
use crate::run::event::{Observer, Summary};

/// Trains in `folder`, which is created if it does not exist, resumed if it has the same settings, and rejected
/// otherwise.
///
/// # Errors
/// As for [`Training::train`].
pub fn train(rules: &Opened, config: &Config, folder: &Path, observer: &dyn Observer) -> Result<Summary> {
    Training { rules, config, folder, observer, is_gone: false }.train()
}

impl Training<'_> {
    /// Trains in the folder, which is created if it does not exist, resumed if it has the same settings, and rejected
    /// otherwise. With `selfplay.ahead`, a worker plays in the same process.
    ///
    /// # Errors
    /// If settings are out of range or belong to a different game than the rules, if the folder cannot be used, or if
    /// playing, training, reading, or writing fails.
    pub fn train(&self) -> Result<Summary> {
        match self.config.selfplay.ahead {
            0 => self.train_as(Role::Both),
            _ => beside::train(self),
        }
    }

    /// Trains as [`Training::train`] does, but on games of [workers](crate::run::work::worker), which also judge the
    /// generations.
    ///
    /// # Errors
    /// As for [`Training::train`]. [`Error::Config`](crate::error::Error::Config) if another learner is at work, or
    /// takes over.
    pub fn learn(&self) -> Result<Summary> {
        self.train_as(Role::Learner)
    }
}
