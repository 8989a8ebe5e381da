//! Checkpoints: a folder with weights, optimizer and a manifest that says what they are.
//!
//! `checkpoints/generation-0003/{manifest.json, weights.safetensors, optimizer.bin}` appears whole or not
//! at all. The manifest names game, options, encoding, shape, config, step and seed, and has the SHA-256 of
//! the other files, which is checked whenever they are read. An exported safetensors file carries the same
//! manifest in its header, so it can be used wherever a checkpoint can, and so can a bot, which has such a file attached.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use crate::attachment;
use crate::config::{Config, NetConfig};
use crate::encode::MAX_CELLS;
use crate::error::{Error, Result};
use crate::game::{GameIdentity, Shape};
use crate::net::model::Network;
use crate::replay::store;
use crate::storage;
use crate::train::Trainer;

/// The version of this format.
pub const FORMAT: u32 = 1;
const FOLDER: &str = "checkpoints";
/// What a checkpoint is, in its folder.
pub const MANIFEST: &str = "manifest.json";
const WEIGHTS: &str = "weights.safetensors";
/// The optimizer's state, in a checkpoint's folder.
pub const OPTIMIZER: &str = "optimizer.bin";
/// What the gate decided about a checkpoint: beside the manifest and not named there, since it comes later.
pub const GATE: &str = "gate.json";
/// The part of the weights file behind its header, which an export carries unchanged.
pub(crate) const TENSORS: &str = "tensors";

/// What a checkpoint is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`].
    pub format: u32,
    /// The program that wrote it.
    pub program: String,
    /// Game, options, encoding and shape.
    pub game: GameIdentity,
    /// The network's sizes.
    pub net: NetConfig,
    /// Generations trained.
    pub generation: usize,
    /// Optimizer steps.
    pub step: usize,
    /// The run's seed.
    pub seed: u64,
    /// The run's resolved settings, as TOML.
    pub config: String,
    /// SHA-256 of each file beside the manifest, and of the `tensors` of the weights file.
    pub files: BTreeMap<String, String>,
}

/// A checkpoint found on disk.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Its folder, or an exported safetensors file or bot.
    pub path: PathBuf,
    /// What it is.
    pub manifest: Manifest,
}

/// Writes the checkpoint of `generation` into the run folder.
pub fn save(
    run: &Path,
    config: &Config,
    game: &GameIdentity,
    generation: usize,
    trainer: &Trainer,
) -> Result<Checkpoint> {
    let mut manifest = Manifest {
        format: FORMAT,
        program: concat!("petteia ", env!("CARGO_PKG_VERSION")).into(),
        game: game.clone(),
        net: config.net.clone(),
        generation,
        step: trainer.step,
        seed: config.seed,
        config: config.to_toml(),
        files: BTreeMap::new(),
    };
    let snapshot = trainer.snapshot();
    // the tensors are the same whatever the header says, so their checksum can stand in it
    let tensors = storage::sha256(tensors_of(&snapshot.to_safetensors("")?).unwrap_or_default());
    manifest.files.insert(TENSORS.into(), tensors);
    let weights = snapshot.to_safetensors(&manifest.text())?;
    let files = [(WEIGHTS, weights), (OPTIMIZER, trainer.optimizer_bytes()?)];
    let path = run.join(FOLDER).join(format!("generation-{generation:04}"));
    storage::write_folder_whole(&path, |folder| {
        for (name, bytes) in &files {
            storage::write_whole(&folder.join(name), bytes)?;
            manifest.files.insert(name.to_string(), storage::sha256(bytes));
        }
        storage::write_whole(&folder.join(MANIFEST), manifest.text().as_bytes())
    })?;
    Ok(Checkpoint { path, manifest })
}

/// The newest checkpoint of a run, if it has any.
pub fn latest(run: &Path) -> Result<Option<Checkpoint>> {
    list(run)?.last().map(|path| Checkpoint::open_folder(path)).transpose()
}

/// The checkpoint that stands for a run: the newest that its gate promoted, else the newest.
pub fn champion(run: &Path) -> Result<Option<Checkpoint>> {
    for path in list(run)?.iter().rev() {
        if is_promoted(path)? {
            return Checkpoint::open_folder(path).map(Some);
        }
    }
    latest(run)
}

/// The folders of a run's checkpoints, oldest first.
pub fn list(run: &Path) -> Result<Vec<PathBuf>> {
    let folder = run.join(FOLDER);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io(&folder)(error)),
    };
    let numbered =
        entries.flatten().filter_map(|entry| Some((store::generation_of(&entry.path())?, entry.path())));
    let mut numbered: Vec<(usize, PathBuf)> = numbered.collect();
    numbered.sort();
    Ok(numbered.into_iter().map(|(_, path)| path).collect())
}

fn is_promoted(checkpoint: &Path) -> Result<bool> {
    #[derive(Deserialize)]
    struct Decision {
        promoted: bool,
    }
    let path = checkpoint.join(GATE);
    match path.exists() {
        true => storage::read_json::<Decision>(&path).map(|decision| decision.promoted),
        false => Ok(false),
    }
}

/// Removes what an interrupted [`save`] left.
pub fn clean(run: &Path) -> Result<()> {
    storage::remove_temporaries(&run.join(FOLDER))
}

impl Manifest {
    /// As JSON.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("manifests are valid JSON")
    }

    fn settings(&self, place: &Path) -> Result<Config> {
        Config::parse(&place.display().to_string(), &self.config, &[])
    }

    fn parse(text: &[u8], place: &Path) -> Result<Manifest> {
        let damaged = |what: String| {
            Error::Data(format!("{}: {what}; remove the checkpoint to go on without it", place.display()))
        };
        let manifest: Manifest =
            serde_json::from_slice(text).map_err(|e| damaged(format!("no manifest of ours: {e}")))?;
        if manifest.format != FORMAT {
            return Err(Error::Mismatch(format!(
                "{}: checkpoint format {}, this program reads {FORMAT}",
                place.display(),
                manifest.format
            )));
        }
        let Shape { planes, height, width, actions } = manifest.game.shape;
        if planes == 0 || actions == 0 || !(1..=MAX_CELLS).contains(&height.saturating_mul(width)) {
            return Err(damaged(format!("{:?} is no shape of a game", manifest.game.shape)));
        }
        if manifest.settings(place)?.net != manifest.net {
            return Err(damaged("`net` and `config` differ".into()));
        }
        Ok(manifest)
    }
}

impl Checkpoint {
    /// Finds what a user means by `path`: a checkpoint folder, a run folder (its [`champion`]), or an exported
    /// safetensors file or bot.
    pub fn find(path: &Path) -> Result<Checkpoint> {
        if path.is_file() {
            return Checkpoint::open_file(path);
        }
        if path.join(MANIFEST).is_file() {
            return Checkpoint::open_folder(path);
        }
        let missing = |what: &str| Error::Missing(format!("{} {what}{}", path.display(), runs_beside(path)));
        if !path.exists() {
            return Err(missing("does not exist"));
        }
        champion(path)?
            .ok_or_else(|| missing("has no checkpoint (is it a run folder, and did a generation finish?)"))
    }

    /// The network, loaded on `device`.
    pub fn network(&self, device: &Device) -> Result<Network> {
        let place = if self.path.is_file() { self.path.clone() } else { self.path.join(WEIGHTS) };
        let bytes = self.weights()?;
        let Manifest { net, game, .. } = &self.manifest;
        Network::from_safetensors(bytes, &place.display().to_string(), net, game.shape, device)
    }

    /// The SHA-256 of the tensors, the same for a checkpoint and its export.
    pub fn tensors_sha256(&self) -> &str {
        self.manifest.files.get(TENSORS).map_or("unknown", String::as_str)
    }

    /// The weights file as it is.
    pub fn weights(&self) -> Result<Vec<u8>> {
        match self.path.is_file() {
            true => {
                let bytes = exported(&self.path)?;
                let found = tensors_of(&bytes).map(storage::sha256);
                match found.is_some() && found.as_ref() == self.manifest.files.get(TENSORS) {
                    true => Ok(bytes),
                    false => Err(Error::Data(format!(
                        "{}: the SHA-256 of the weights differs from the header's: the file is damaged, export it again",
                        self.path.display()
                    ))),
                }
            }
            false => Ok(self.file(WEIGHTS)?.0),
        }
    }

    /// A trainer that goes on from here.
    pub fn trainer(&self, config: &Config, device: &Device) -> Result<Trainer> {
        let (optimizer, place) = self.file(OPTIMIZER)?;
        let trainer = Trainer::new(&config.train, self.network(device)?);
        trainer.resume(self.manifest.step, optimizer, &place.display().to_string())
    }

    /// The settings of the run that made it.
    pub fn config(&self) -> Result<Config> {
        self.manifest.settings(&self.path)
    }

    fn open_folder(path: &Path) -> Result<Checkpoint> {
        let place = path.join(MANIFEST);
        let manifest = Manifest::parse(&storage::read(&place)?, &place)?;
        Ok(Checkpoint { path: path.to_path_buf(), manifest })
    }

    fn open_file(path: &Path) -> Result<Checkpoint> {
        let bytes = exported(path)?;
        let about = header_entry(&bytes).ok_or_else(|| {
            Error::Data(format!(
                "{} is no safetensors file or bot that `petteia export` wrote",
                path.display()
            ))
        })?;
        let manifest = Manifest::parse(about.as_bytes(), path)?;
        Ok(Checkpoint { path: path.to_path_buf(), manifest })
    }

    /// A file of the folder, checked against the manifest.
    fn file(&self, name: &str) -> Result<(Vec<u8>, PathBuf)> {
        let path = self.path.join(name);
        if self.path.is_file() {
            return Err(Error::Missing(format!("{} is an export: it has no {name}", self.path.display())));
        }
        let bytes = storage::read(&path)?;
        if self.manifest.files.get(name) != Some(&storage::sha256(&bytes)) {
            return Err(Error::Data(format!(
                "{}: the SHA-256 differs from the manifest's: the file is damaged; \
                 remove the checkpoint to go on without it",
                path.display()
            )));
        }
        Ok((bytes, path))
    }
}

/// The safetensors file at `path`, or that of the bot at `path`.
fn exported(path: &Path) -> Result<Vec<u8>> {
    match attachment::extract(path)? {
        Some(bytes) => Ok(bytes),
        None => storage::read(path),
    }
}

/// Header and tensors of a safetensors file: 8 bytes of length, JSON, numbers.
pub(crate) fn parts(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
    bytes.get(8..)?.split_at_checked(usize::try_from(length).ok()?)
}

fn tensors_of(bytes: &[u8]) -> Option<&[u8]> {
    parts(bytes).map(|(_, tensors)| tensors)
}

/// The entry `petteia` of a safetensors header.
fn header_entry(bytes: &[u8]) -> Option<String> {
    let header: serde_json::Value = serde_json::from_slice(parts(bytes)?.0).ok()?;
    Some(header.get("__metadata__")?.get("petteia")?.as_str()?.to_string())
}

/// `; runs here: a, b` when there are run folders where the user looked, or in `runs`.
fn runs_beside(path: &Path) -> String {
    let beside = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("runs"));
    let mut found: Vec<String> = fs::read_dir(beside)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().join(FOLDER).is_dir())
        .map(|entry| entry.path().display().to_string())
        .collect();
    found.sort();
    match found.as_slice() {
        [] => "; train one with `petteia train CONFIG`".into(),
        _ => format!("; runs here: {}", found.join(", ")),
    }
}
