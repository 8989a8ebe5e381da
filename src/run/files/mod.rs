//! The folder of a run: its settings, its lock, its shards, and what its processes leave there for each other.
//!
//! `folder` opens and locks the folder, and `settings` reads and writes the settings in it. `look` says what a run is
//! doing, judging by its files. Nothing here plays a game or trains a network.

pub(super) mod shared;
pub(super) mod learner;
pub(super) mod settings;
pub(super) mod folder;
pub(super) mod refused;
pub(super) mod archive;
pub(super) mod look;
