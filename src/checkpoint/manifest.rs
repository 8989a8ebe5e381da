//! The description of a checkpoint: `manifest.json`, and the entry `petteia` in the header of a weights file.
//!
//! The manifest is parsed from bytes, and its parts are checked against each other. The file in a checkpoint's folder
//! is sealed with its own SHA-256 and lists the records that the run trained on; manifests of version 0.1 and those in
//! headers have neither the seal nor the list.

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::lineage::{Ancestor, Chapter};
use super::{FORMAT, MANIFEST, PLAIN_FORMAT};
use crate::config::{Config, NetConfig, Reading};
use crate::error::{Error, Result};
use crate::game::GameIdentity;
use crate::replay::store::{self, ShardInfo};
use crate::storage;

/// The description of a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format version, at most [`FORMAT`].
    pub format: u32,
    /// The program that wrote the manifest.
    pub program: String,
    /// Game, options, encoding, and shape.
    pub game: GameIdentity,
    /// The network's sizes.
    #[serde(deserialize_with = "net_of_any_version")]
    pub net: NetConfig,
    /// Number of generations trained.
    pub generation: usize,
    /// Optimizer steps.
    pub step: usize,
    /// The run's seed.
    pub seed: u64,
    /// The run's resolved settings, as TOML.
    pub config: String,
    /// SHA-256 of each file next to the manifest, and of the `tensors` of the weights file.
    pub files: BTreeMap<String, String>,
    /// If the weights were imported from another program, the checkpoint whose weights they replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Ancestor>,
    /// The records that the run had when the checkpoint was saved; `None` in headers and in checkpoints of version 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<TrainingData>,
}

/// The records that a run had, and what it trained on, when a checkpoint was saved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingData {
    /// The shards of this generation and of the window, oldest first.
    pub shards: Vec<ShardInfo>,
    /// The number of shards, counted from the end of `shards`, that are in the window.
    pub window_shards: usize,
    /// Number of positions in the window.
    pub window_positions: usize,
    /// Number of positions that this generation added.
    pub new_positions: usize,
    /// Number of optimizer steps since the previous checkpoint.
    pub new_steps: usize,
    /// Names of lost shards that the user decided to train without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given_up: Vec<String>,
    /// The run's lineage; see [`lineage`](super::lineage).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lineage: Vec<Chapter>,
}

impl TrainingData {
    /// Returns the shards of the window, oldest first.
    pub fn window(&self) -> &[ShardInfo] {
        &self.shards[self.shards.len().saturating_sub(self.window_shards)..]
    }

    /// Returns whether the run was continued without the shard of this name.
    pub(crate) fn has_given_up(&self, name: &str) -> bool {
        self.given_up.contains(&store::path_in_run(name))
    }
}

impl Manifest {
    /// Returns the manifest as JSON.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("manifests are valid JSON")
    }

    /// Returns the run's settings, read from `place`; all of them must be known and agree with `net`.
    pub(super) fn settings(&self, place: &Path) -> Result<Config> {
        let config = Config::parse_kept(&place.display().to_string(), &self.config, &[])?;
        if config.net == self.net { Ok(config) } else { Err(damaged(place, "`net` and `config` differ")) }
    }

    /// Returns the run's settings, as far as this program knows them.
    pub(super) fn reading(&self, place: &Path) -> Result<Reading> {
        Config::read(&place.display().to_string(), &self.config)
    }

    /// Parses the bytes of a file in a checkpoint's folder, whose seal must be correct.
    pub(super) fn parse_sealed(bytes: &[u8], place: &Path) -> Result<Manifest> {
        if storage::has_seal(bytes) {
            storage::check_seal(bytes).map_err(|why| damaged(place, why))?;
            return Manifest::parse(bytes, place);
        }
        let manifest = Manifest::parse(bytes, place)?;
        // headers of exports and checkpoints of version 0.1 have no seal, and no data either
        if manifest.data.is_some() {
            storage::check_seal(bytes).map_err(|why| damaged(place, why))?;
        }
        Ok(manifest)
    }

    /// Parses JSON, which must describe a possible game and network.
    pub(crate) fn parse(text: &[u8], place: &Path) -> Result<Manifest> {
        let manifest: Manifest = serde_json::from_slice(text)
            .map_err(|e| damaged(place, &format!("it is not a Petteia manifest: {e}")))?;
        if !(PLAIN_FORMAT..=FORMAT).contains(&manifest.format) {
            return Err(Error::Mismatch(format!(
                "{}: checkpoint format {}, but this program reads up to {FORMAT}",
                place.display(),
                manifest.format
            )));
        }
        if !manifest.game.shape.is_possible() {
            return Err(damaged(place, &format!("no game has the shape {:?}", manifest.game.shape)));
        }
        manifest.reading(place)?;
        Ok(manifest)
    }

    /// Returns the differences between `self`, the manifest of a folder, and `header`, the manifest in its weights
    /// file.
    pub(super) fn differences(&self, header: &Manifest) -> Vec<String> {
        let rows = [
            ("generation", self.generation.to_string(), header.generation.to_string()),
            ("step", self.step.to_string(), header.step.to_string()),
            ("seed", self.seed.to_string(), header.seed.to_string()),
            ("game", self.game.id.clone(), header.game.id.clone()),
        ];
        let differs = |(name, here, there): &(&str, String, String)| {
            (here != there).then(|| format!("{name} {here} instead of {there}"))
        };
        let mut differences: Vec<String> = rows.iter().filter_map(differs).collect();
        let same = (&self.game, &self.net, &self.config) == (&header.game, &header.net, &header.config);
        if differences.is_empty() && !same {
            differences.push("other settings".into());
        }
        differences
    }
}

/// Reads the network of a checkpoint of any version; its sizes must be possible, whatever else is stored.
fn net_of_any_version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NetConfig, D::Error> {
    NetConfig::of_checkpoint(toml::Table::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// Returns the error for an unusable manifest at `place`, a file or folder of a checkpoint or an export.
pub(super) fn damaged(place: &Path, what: &str) -> Error {
    let remedy = if place.ends_with(MANIFEST) || storage::has_folder(place) {
        "remove the checkpoint to resume without it"
    } else {
        "export it again"
    };
    Error::Data(format!("{}: {what}; {remedy}", place.display()))
}
