//! The state of a run in training, which the steps of a generation share.

use std::collections::BTreeSet;
use std::path::Path;

use crate::any::{AnyGame, Opened};
use crate::arena::contestant::Contestant;
use crate::checkpoint::lineage::Lineage;
use crate::config::Config;
use crate::net::device::Processor;
use crate::replay::store::{self, ShardInfo};
use crate::replay::window::Window;
use crate::run::event::Observer;
use crate::run::files::archive::Archive;
use crate::run::files::folder::Folder;
use crate::run::metrics::writer::Metrics;

/// A run in training.
pub(super) struct Run<'a> {
    pub(super) rules: &'a Opened,
    pub(super) config: &'a Config,
    pub(super) folder: &'a Path,
    pub(super) held: &'a Folder,
    pub(super) lineage: Lineage,
    /// The device that evaluates the run's networks during play.
    pub(super) processor: &'a Processor,
    pub(super) observer: &'a dyn Observer,
    pub(super) metrics: Metrics,
    /// The shards that the next checkpoint lists, oldest first.
    pub(super) shards: Vec<ShardInfo>,
    /// Lost shards that the user gave up.
    pub(super) given_up: BTreeSet<String>,
    /// The positions of the window's shards that are held out from training.
    pub(super) held_out: Window,
    pub(super) role: Role,
    /// The opponent of the evaluation.
    pub(super) opponent: &'a Contestant<AnyGame>,
    /// Generations that workers have not judged yet, if they judge.
    pub(super) unjudged: BTreeSet<usize>,
}

/// The role of a process that trains a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// The process plays, trains, and judges.
    Both,
    /// The process trains; [workers](crate::run::work::worker) play and judge.
    Learner,
}

impl Run<'_> {
    /// Returns the shards of the run.
    pub(super) fn archive(&self) -> Archive<'_> {
        let Run { rules, config, folder, lineage, .. } = self;
        Archive { rules, config, folder, lineage }
    }

    /// Returns whether the user gave up the shard with this name.
    pub(super) fn is_given_up(&self, name: &str) -> bool {
        self.given_up.contains(&store::path_in_run(name))
    }
}
