//! Checkpoints: folders with weights, optimizer state, and a manifest that describes them.
//!
//! `checkpoints/generation-0003/{manifest.json, weights.safetensors, optimizer.bin}` is written completely or not at
//! all. With `train.average`, the weights are the average, and `training.safetensors` has the weights in training. The
//! manifest names game, options, encoding, shape, config, step, and seed; it lists the records that were trained on;
//! and it has its own SHA-256 and those of the other files, which are checked whenever they are read. The header of the
//! weights contains the same information except for the records. An exported safetensors file has that header, so it
//! can be used wherever a checkpoint can. A bot can be used the same way, because an exported file is attached to it.

pub mod lineage;
mod manifest;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

#[cfg(feature = "train")]
use burn::tensor::Device;

use self::manifest::damaged;
pub use self::manifest::{Manifest, TrainingData};
use crate::config::{Config, NetConfig, Reading};
use crate::error::{Error, Result};
#[cfg(feature = "train")]
use crate::game::GameIdentity;
use crate::net::auxiliary::has_heads;
use crate::net::network::Network;
use crate::net::tensors;
#[cfg(feature = "train")]
use crate::program::Program;
use crate::replay::store;
use crate::shipped::Shipped;
use crate::storage;
use crate::storage::attachment;
#[cfg(feature = "train")]
use crate::train::Trainer;

/// The newest version of this format. Unknown keys are ignored, so the version is raised when a network can compute
/// something that the previously known keys do not describe: 2 is for networks with `net.value_pooling`,
/// `net.block_pooling`, or auxiliary heads.
pub const FORMAT: u32 = 2;
/// The format version for networks that do not need [`FORMAT`].
const PLAIN_FORMAT: u32 = 1;
/// A run's folder for its checkpoints.
pub(crate) const FOLDER: &str = "checkpoints";
/// The description of a checkpoint, in its folder.
pub(crate) const MANIFEST: &str = "manifest.json";
const WEIGHTS: &str = "weights.safetensors";
/// The weights that training continues with, if they differ from the weights that play.
const IN_TRAINING: &str = "training.safetensors";
/// The optimizer's state, in a checkpoint's folder.
pub const OPTIMIZER: &str = "optimizer.bin";
/// The upper bound of an optimizer file's size: this many numbers for each number of the network, plus this many
/// bytes of names.
const OPTIMIZER_SHARE: u64 = 3;
const OPTIMIZER_NAMES: u64 = 4 << 20;
/// The entry of a safetensors header that holds the manifest.
const ABOUT: &str = "petteia";
/// The entry of an exported header with the SHA-256 of the manifest, which determines how an agent plays; older
/// exports have none.
pub(crate) const ABOUT_SHA256: &str = "petteia_sha256";
/// The part of the weights file after its header, which an export keeps unchanged.
pub(crate) const TENSORS: &str = "tensors";

/// A checkpoint found on disk.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// The checkpoint's folder, an exported or imported safetensors file, or a bot. If the program carries the
    /// checkpoint, this is a name for messages.
    pub path: PathBuf,
    /// The description of the checkpoint.
    pub manifest: Manifest,
    /// The file, if the program carries the checkpoint.
    carried: Option<Shipped>,
}

/// Writes the checkpoint of `generation` into the run folder, which must exist; `data` describes what the checkpoint
/// was trained on.
///
/// ```
/// use petteia::checkpoint::{Checkpoint, TrainingData, save};
/// use petteia::config::{Config, NetConfig};
/// use petteia::game::{GameOptions, Rules};
/// use petteia::games::tic_tac_toe::TicTacToe;
/// use petteia::net::network::Network;
/// use petteia::train::Trainer;
///
/// # let folder = tempfile::tempdir().map_err(petteia::error::Error::io("a temporary folder"))?;
/// # let folder = folder.path();
/// let rules = Rules::<TicTacToe>::new(&GameOptions::default())?;
/// let mut config = Config::new("tic-tac-toe");
/// config.net = NetConfig::with(|net| (net.filters, net.blocks) = (4, 1));
/// let network = Network::new(&config.net, rules.identity.shape, config.seed);
/// let trainer = Trainer::new(&config.train, &network);
/// save(folder, &config, &rules.identity, 1, &trainer, TrainingData::default())?;
///
/// let found = Checkpoint::find(folder)?;
/// assert_eq!((found.manifest.generation, found.network()?), (1, network));
/// # Ok::<(), petteia::error::Error>(())
/// ```
///
/// # Errors
/// If a file cannot be written.
#[cfg(feature = "train")]
pub fn save(
    run: &Path,
    config: &Config,
    game: &GameIdentity,
    generation: usize,
    trainer: &Trainer,
    data: TrainingData,
) -> Result<Checkpoint> {
    let manifest = Manifest {
        format: format_of(&config.net),
        program: Program::current().to_string(),
        game: game.clone(),
        net: config.net.clone(),
        generation,
        step: trainer.step,
        seed: config.seed,
        config: config.to_toml(),
        files: BTreeMap::new(),
        imported: None,
        data: None,
    };
    let (mut manifest, weights) = described(&manifest, &trainer.snapshot())?;
    let mut files = vec![(WEIGHTS, weights), (OPTIMIZER, trainer.optimizer_bytes()?)];
    if let Some(network) = trainer.in_training() {
        files.push((IN_TRAINING, described(&manifest, &network)?.1));
    }
    manifest.data = Some(data);
    let path = path_of(run, generation);
    storage::create_folder_in(run, &run.join(FOLDER))?;
    storage::write_folder_whole(&path, MANIFEST, |folder| {
        for (name, bytes) in &files {
            storage::write_whole(&folder.join(name), bytes)?;
            manifest.files.insert(name.to_string(), storage::sha256(bytes));
        }
        storage::write_whole(&folder.join(MANIFEST), storage::sealed(&manifest).as_bytes())
    })?;
    Ok(Checkpoint { path, manifest, carried: None })
}

/// Returns the weights file of a snapshot, and the manifest in its header: `manifest` with the checksum of the
/// tensors.
pub(crate) fn described(manifest: &Manifest, snapshot: &Network) -> Result<(Manifest, Vec<u8>)> {
    // the tensors do not depend on the header, so it can contain their checksum
    let tensors = storage::sha256(tensors_of(&snapshot.to_safetensors("")?).unwrap_or_default());
    let header = Manifest { files: BTreeMap::from([(TENSORS.into(), tensors)]), ..manifest.clone() };
    let weights = snapshot.to_safetensors(&header.text())?;
    Ok((header, weights))
}

/// Returns the format version of a checkpoint with this network.
pub(crate) fn format_of(net: &NetConfig) -> u32 {
    if net.value_pooling || net.block_pooling > 0 || has_heads(net) { FORMAT } else { PLAIN_FORMAT }
}

/// Returns the newest checkpoint of a run, if there is one.
///
/// # Errors
/// If the newest checkpoint is damaged or of a newer format.
pub fn latest(run: &Path) -> Result<Option<Checkpoint>> {
    list(run)?.last().map(|path| Checkpoint::open_folder(path)).transpose()
}

/// Returns the generation of the newest checkpoint of a run, without reading it; 0 if there is none.
///
/// # Errors
/// If the folder cannot be read.
pub fn newest_generation(run: &Path) -> Result<usize> {
    Ok(list(run)?.last().and_then(|path| store::generation_of(path)).unwrap_or(0))
}

/// Returns the folder of a generation's checkpoint.
pub fn path_of(run: &Path, generation: usize) -> PathBuf {
    run.join(FOLDER).join(store::folder_name(generation))
}

/// Returns the folders of a run's checkpoints, oldest first.
///
/// # Errors
/// If the folder cannot be read.
pub fn list(run: &Path) -> Result<Vec<PathBuf>> {
    let entries = storage::list_whole(&run.join(FOLDER), MANIFEST)?.into_iter();
    let numbered = entries.filter_map(|path| Some((store::generation_of(&path)?, path)));
    let mut numbered: Vec<(usize, PathBuf)> = numbered.collect();
    numbered.sort();
    Ok(numbered.into_iter().map(|(_, path)| path).collect())
}

/// Removes temporaries that an interrupted [`save`] left behind.
///
/// # Errors
/// If a temporary cannot be removed.
pub fn clean(run: &Path) -> Result<()> {
    storage::remove_temporaries(&run.join(FOLDER))
}

impl Checkpoint {
    /// Resolves a path given by a user: a checkpoint folder, a run folder (for its newest checkpoint), an exported
    /// safetensors file, or a bot.
    ///
    /// # Errors
    /// If there is no checkpoint, or if the checkpoint is damaged or of a newer format.
    pub fn find(path: &Path) -> Result<Checkpoint> {
        if storage::is_file(path)? {
            return Checkpoint::open_file(path);
        }
        if storage::is_file(&path.join(MANIFEST))? {
            return Checkpoint::open_folder(path);
        }
        let missing = |what: &str| Error::Missing(format!("{} {what}{}", path.display(), runs_beside(path)));
        if !storage::exists(path)? {
            return Err(missing("does not exist"));
        }
        latest(path)?
            .ok_or_else(|| missing("has no checkpoint (is it a run folder, and did a generation finish?)"))
    }

    /// Opens the checkpoint in a folder; only the manifest is read.
    ///
    /// # Errors
    /// If the folder is not a complete checkpoint, or if the checkpoint is of a newer format.
    pub fn open_folder(path: &Path) -> Result<Checkpoint> {
        let place = path.join(MANIFEST);
        if !storage::exists(&place)? {
            return Err(damaged(path, "it has no manifest.json, so it is not a complete checkpoint"));
        }
        let bytes = storage::read_at_most(&place, storage::LARGEST_TEXT, "a manifest")?;
        let manifest = Manifest::parse_sealed(&bytes, &place)?;
        match store::generation_of(path) {
            Some(number) if number != manifest.generation => {
                Err(damaged(&place, &format!("it is the manifest of generation {}", manifest.generation)))
            }
            _ => Ok(Checkpoint { path: path.to_path_buf(), manifest, carried: None }),
        }
    }

    /// Returns the network that plays.
    ///
    /// # Errors
    /// If the weights are damaged, or do not match the manifest.
    pub fn network(&self) -> Result<Network> {
        let place = if self.is_one_file() { self.path.clone() } else { self.path.join(WEIGHTS) };
        self.load(&self.weights()?, &place)
    }

    /// Returns the network that training continues with, if it is not the one that plays.
    ///
    /// # Errors
    /// As for [`Checkpoint::network`].
    pub(crate) fn network_in_training(&self) -> Result<Option<Network>> {
        if !self.manifest.files.contains_key(IN_TRAINING) {
            return Ok(None);
        }
        let (bytes, place) = self.file(IN_TRAINING, self.most_bytes())?;
        self.load(&bytes, &place).map(Some)
    }

    /// Returns the network of a weights file at `place`.
    fn load(&self, bytes: &[u8], place: &Path) -> Result<Network> {
        let Manifest { net, game, .. } = &self.manifest;
        if !self.is_one_file() {
            self.compare_header(bytes, place)?;
        }
        Network::from_safetensors(bytes, &place.display().to_string(), net, game.shape)
    }

    /// Checks that the header of a folder's weights agrees with the manifest beside them.
    fn compare_header(&self, weights: &[u8], place: &Path) -> Result<()> {
        let header = tensors::read_header(&mut &*weights, weights.len() as u64).ok();
        let about = header.and_then(|header| tensors::metadata(&header, ABOUT)).ok_or_else(|| {
            Error::Data(format!("{} has no Petteia metadata, so Petteia did not write it", place.display()))
        })?;
        let differences = self.manifest.differences(&Manifest::parse(about.as_bytes(), place)?);
        if differences.is_empty() {
            Ok(())
        } else {
            Err(damaged(
                &self.path.join(MANIFEST),
                &format!(
                    "it was changed; compared with the weights next to it, it has {}",
                    differences.join(", ")
                ),
            ))
        }
    }

    /// Returns the largest possible size of the weights file, in bytes.
    pub(crate) fn most_bytes(&self) -> u64 {
        let tensors = tensors::bytes_of(&self.manifest.net, self.manifest.game.shape);
        tensors.saturating_add(tensors::PREFIX + tensors::LARGEST_HEADER)
    }

    /// Returns the SHA-256 of the tensors, which is the same for a checkpoint and its export unless there are
    /// auxiliary heads to leave out.
    pub fn tensors_sha256(&self) -> &str {
        self.manifest.files.get(TENSORS).map_or("unknown", String::as_str)
    }

    /// Returns the bytes of the weights file.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read.
    pub fn weights(&self) -> Result<Vec<u8>> {
        if self.is_one_file() {
            let bytes = self.exported()?;
            let sha256 = tensors_of(&bytes).map(storage::sha256);
            if sha256.is_some() && sha256.as_ref() == self.manifest.files.get(TENSORS) {
                Ok(bytes)
            } else {
                Err(Error::Data(format!(
                    "{}: the SHA-256 of the weights differs from the one in the header: if another program changed \
                     the weights, import them with `petteia import`; otherwise, the file is damaged: export it again",
                    self.path.display()
                )))
            }
        } else {
            Ok(self.file(WEIGHTS, self.most_bytes())?.0)
        }
    }

    /// Returns whether the checkpoint is a single file, not a folder.
    fn is_one_file(&self) -> bool {
        self.carried.is_some() || storage::has_file(&self.path)
    }

    /// Returns the exported safetensors file: the file itself, the one attached to the bot, or the one that the
    /// program carries.
    fn exported(&self) -> Result<Vec<u8>> {
        if let Some(file) = &self.carried {
            return Ok(file.bytes.to_vec());
        }
        match attachment::find(&self.path)? {
            Some(attached) => attached.read(self.most_bytes()),
            None => storage::read_at_most(&self.path, self.most_bytes(), "a network of these sizes"),
        }
    }

    /// Returns a trainer that resumes from this checkpoint. If the settings want no average, the trainer continues with
    /// the network that plays. If the settings want an average that the checkpoint lacks, the average begins as a copy
    /// of the network that plays.
    ///
    /// # Errors
    /// If the weights or the optimizer's state are damaged, or if this is an export, which has no optimizer state.
    #[cfg(feature = "train")]
    pub fn trainer(&self, config: &Config, device: &Device) -> Result<Trainer> {
        let limit = self.most_bytes().saturating_mul(OPTIMIZER_SHARE).saturating_add(OPTIMIZER_NAMES);
        let (optimizer, place) = self.file(OPTIMIZER, limit)?;
        let network = self.network()?;
        let source = if config.train.average > 0.0 { self.network_in_training()? } else { None };
        let trainer = match source {
            Some(source) => Trainer::on(&config.train, &source, device).with_average(&network),
            None => Trainer::on(&config.train, &network, device),
        };
        trainer.resume(self.manifest.step, optimizer, &place.display().to_string())
    }

    /// Returns the settings of the run that made the checkpoint, for resuming the run.
    ///
    /// # Errors
    /// If this program does not know all of the settings, or if a setting is not permitted.
    pub fn config(&self) -> Result<Config> {
        self.manifest.settings(&self.path)
    }

    /// Returns the settings of the run that made the checkpoint, as far as this program knows them, for playing with
    /// the checkpoint or showing the settings.
    ///
    /// # Errors
    /// If the settings are not TOML, or do not name a game.
    pub fn reading(&self) -> Result<Reading> {
        self.manifest.reading(&self.path)
    }

    /// Returns an agent that the program carries.
    ///
    /// # Errors
    /// If `petteia export` did not write the file, or if it is of a newer format.
    pub fn shipped(file: Shipped) -> Result<Checkpoint> {
        let path = PathBuf::from(format!("the shipped agent of {}", file.name()));
        let manifest = exported_manifest(&mut &*file.bytes, file.bytes.len() as u64, &path)?;
        Ok(Checkpoint { path, manifest, carried: Some(file) })
    }

    fn open_file(path: &Path) -> Result<Checkpoint> {
        let (mut file, length) = match attachment::find(path)? {
            Some(attached) => (attached.open()?, attached.length),
            None => {
                let file = storage::open(path)?;
                let length = file.metadata().map_err(Error::io(path))?.len();
                (file, length)
            }
        };
        let manifest = exported_manifest(&mut file.by_ref().take(length), length, path)?;
        Ok(Checkpoint { path: path.to_path_buf(), manifest, carried: None })
    }

    /// Reads a file in the folder, and checks it against the manifest.
    fn file(&self, name: &str, limit: u64) -> Result<(Vec<u8>, PathBuf)> {
        let path = self.path.join(name);
        if self.is_one_file() {
            return Err(Error::Missing(format!("{} is an export, so it has no {name}", self.path.display())));
        }
        let error = |what: &str| {
            Error::Data(format!("{}: {what}; remove the checkpoint to resume without it", path.display()))
        };
        if !storage::exists(&path)? {
            return Err(error("it is missing"));
        }
        let bytes = storage::read_at_most(&path, limit, "a file of this network")?;
        if self.manifest.files.get(name) != Some(&storage::sha256(&bytes)) {
            return Err(error("the SHA-256 differs from the one in the manifest: the file is damaged"));
        }
        Ok((bytes, path))
    }
}

/// Returns the manifest in the header of an exported file of this length, which is at `path`.
fn exported_manifest(file: &mut impl Read, length: u64, path: &Path) -> Result<Manifest> {
    let error = |why: String| {
        let place = path.display();
        Error::Data(format!("{place} is not a safetensors file or bot that `petteia export` wrote{why}"))
    };
    let is_config = path.extension().is_some_and(|extension| extension == "toml");
    let hint = "; to use the weights of another program, import them with `petteia import`";
    let header = tensors::read_header(file, length).map_err(|why| {
        error(if is_config {
            "; it looks like a config: make an agent from it with `petteia train`".into()
        } else {
            format!(": {why}; an agent is such a file, a run, or a checkpoint")
        })
    })?;
    let about = tensors::metadata(&header, ABOUT).ok_or_else(|| error(hint.into()))?;
    let checksum = tensors::metadata(&header, ABOUT_SHA256);
    if checksum.is_some_and(|checksum| checksum != storage::sha256(about.as_bytes())) {
        return Err(Error::Data(format!(
            "{}: the SHA-256 of the settings differs from the one in the header: the file is damaged; export it again",
            path.display()
        )));
    }
    Manifest::parse(about.as_bytes(), path)
}

/// Splits a safetensors file into header and tensors: 8 bytes of length, JSON, numbers.
pub(crate) fn parts(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?);
    bytes.get(8..)?.split_at_checked(usize::try_from(length).ok()?)
}

fn tensors_of(bytes: &[u8]) -> Option<&[u8]> {
    parts(bytes).map(|(_, tensors)| tensors)
}

/// The default folder of runs.
pub(crate) const RUNS: &str = "runs";

/// Returns a text such as `; runs/a has generations 1 to 3` about a run.
fn generations_of(run: &Path) -> String {
    let numbers: Vec<usize> =
        list(run).unwrap_or_default().iter().filter_map(|path| store::generation_of(path)).collect();
    match numbers[..] {
        [] => format!("; {} has no generations yet", run.display()),
        [only] => format!("; {} has only generation {only}", run.display()),
        [first, .., last] if last - first + 1 == numbers.len() => {
            format!("; {} has generations {first} to {last}", run.display())
        }
        _ => {
            let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
            format!("; {} has generations {}", run.display(), numbers.join(", "))
        }
    }
}

/// Returns `; runs here: a, b` if there are run folders beside `path` or, if it has no parent, in `runs`; for a
/// checkpoint, returns the generations of its run.
pub(crate) fn runs_beside(path: &Path) -> String {
    let parent = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(RUNS));
    if let Some(run) =
        parent.parent().filter(|_| parent.ends_with(FOLDER) && store::generation_of(path).is_some())
    {
        return generations_of(run);
    }
    let is_run = |path: &PathBuf| {
        storage::has_folder(&path.join(FOLDER)) && !path.file_name().is_some_and(storage::is_temporary)
    };
    let runs = storage::list(parent).unwrap_or_default().into_iter().filter(is_run);
    let names: Vec<String> = runs.map(|path| path.display().to_string()).collect();
    match names.as_slice() {
        [] => "; train one with `petteia train GAME`".into(),
        _ => format!("; runs here: {}", names.join(", ")),
    }
}
