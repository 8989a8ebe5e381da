//! Begins a run with the weights of another run.
//!
//! The weights become generation 0 of the new run, with a new optimizer; from then on, the new run's settings apply.
//! Layers that the weights lack start from scratch: auxiliary heads and, if the weights are for another board size or
//! variant, the layers that depend on it. The new run can also take over the window of the other run, or records from
//! elsewhere; their shards are copied and renumbered. The new run appears only when it is complete.

use std::path::{Path, PathBuf};

use super::inherit::{CopyProgress, check_new, check_whole, other_net};
use crate::any::Opened;
use crate::checkpoint::lineage::{Ancestor, Change, Chapter, Lineage};
use crate::checkpoint::{self, Checkpoint, Manifest, TrainingData};
use crate::config::{Config, TrainConfig};
use crate::error::{Error, Result};
use crate::net::auxiliary::without_heads;
use crate::net::device::cpu;
use crate::replay::place::shards_of;
use crate::replay::store::{self, ShardInfo};
use crate::run::files::settings::{SETTINGS, settings_of, write_settings};
use crate::storage;
use crate::train::Trainer;
use crate::train::schedule::learning_rate;

/// A run to be made, and the weights with which it begins.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// The checkpoint with the weights.
    pub source: &'a Checkpoint,
    /// The games to begin with.
    pub games: Games<'a>,
    /// The settings of the new run.
    pub config: &'a Config,
    /// The folder of the new run, which must not exist.
    pub folder: &'a Path,
}

/// The games with which a run begins.
#[derive(Clone, Copy, Debug)]
pub enum Games<'a> {
    /// No games.
    Nothing,
    /// The window of the run from which the weights come.
    Window,
    /// The records at this path: a shard, JSON lines, or a folder of shards as in a run.
    Records(&'a Path),
}

/// The initial learning rate of a trained network is at most this many times lower than that of a new network.
const GENTLER: f64 = 10.0;

/// Returns the learning rate at which a run with these settings begins if its network is trained already: the rate at
/// which that training ended, or a tenth of the full rate, whichever is higher. At the full rate, a trained network
/// forgets before it learns: Phage's shipped agent loses about 90 Elo in the first generation. Returns `None` if the
/// network was not trained by this program, or was trained for another game or board, because it then has much to
/// learn.
pub(crate) fn rate_after(source: &Checkpoint, config: &Config) -> Option<f64> {
    let Manifest { config: theirs, game, generation, step, .. } = &source.manifest;
    let is_same = (&game.id, &game.options) == (&config.game.id, &config.game.options);
    if *step == 0 || !is_same {
        return None;
    }
    let ended = Config::parse_kept(&source.path.display().to_string(), theirs, &[]).ok().map(|theirs| {
        let TrainConfig { generations, warmup_steps, .. } = theirs.train;
        learning_rate(&theirs.train, warmup_steps, *generation as f64 / generations as f64)
    });
    let full = config.train.learning_rate;
    let least = (full / GENTLER).max(config.train.learning_rate_final.min(full));
    Some(ended.unwrap_or(0.0).clamp(least, full))
}

impl Start<'_> {
    /// Makes the run's folder, and reports its progress to `tick`. Returns the names of the layers that start from
    /// scratch.
    ///
    /// # Errors
    /// If the game, the network, or the settings do not fit the weights, if there is no window, if the records are of
    /// another game, or if the folder exists.
    pub fn make(&self, rules: &Opened, tick: &mut CopyProgress) -> Result<Vec<String>> {
        let Start { source, config, folder, .. } = *self;
        let shards = self.check(rules)?;
        let _device = cpu().autodiff();
        let (network, anew) = source.network()?.adapted(&config.net, rules.identity.shape, config.seed);
        let chapter = Chapter {
            change: Change::Started,
            generation: 0,
            settings: source.manifest.config.clone(),
            from: Some(Ancestor::of(source)),
        };
        let lineage = Lineage::default().followed_by(chapter)?;
        storage::create_parent(folder)?;
        storage::write_folder_whole(folder, SETTINGS, |run| {
            let mut data = TrainingData { lineage: lineage.chapters().to_vec(), ..TrainingData::default() };
            for (number, (path, info)) in shards.iter().enumerate() {
                if !tick(number, shards.len()) {
                    return Err(Error::Interrupted);
                }
                let name = store::inherited_name(number);
                let sha256 = store::take_over(path, &run.join(store::FOLDER).join(&name))?;
                data.window_positions += info.positions;
                data.shards.push(ShardInfo { name, sha256, generation: 0, ..info.clone() });
            }
            data.window_shards = data.shards.len();
            let trainer = Trainer::new(&config.train, &network);
            checkpoint::save(run, config, &rules.identity, 0, &trainer, data)?;
            lineage.write(run)?;
            write_settings(run, config)?;
            check_whole(run, &source.path, config, rules)
        })?;
        Ok(anew)
    }

    /// Returns the shards to take over, if [`Start::make`] has no reason to refuse. The weights are not read.
    ///
    /// # Errors
    /// As for [`Start::make`].
    pub fn check(&self, rules: &Opened) -> Result<Vec<(PathBuf, ShardInfo)>> {
        self.config.check()?;
        check_new(self.folder)?;
        self.check_weights(rules)?;
        match self.games {
            Games::Nothing => Ok(Vec::new()),
            Games::Window => self.window(rules),
            Games::Records(path) => self.records(path, rules),
        }
    }

    /// Rejects weights of another network or of a game that is not a variant of this one, and settings that fit only a
    /// run without initial weights.
    fn check_weights(&self, rules: &Opened) -> Result<()> {
        let (place, manifest) = (self.source.path.display(), &self.source.manifest);
        let [there, here] = [&manifest.game, &rules.identity];
        let is_variant = rules.variants.contains(&there.id);
        if there.id == here.id || there.encoding != here.encoding || !is_variant {
            there.expect(here, &place.to_string())?;
        }
        let [theirs, ours] = [&manifest.net, &self.config.net].map(without_heads);
        if let Some(difference) = other_net(&theirs, &ours) {
            return Err(Error::Config(format!(
                "{place} has a different network than the settings ask for ({difference}): use the same sizes in the \
                 settings"
            )));
        }
        match self.config.selfplay.bootstrap_games {
            0 => Ok(()),
            games => Err(Error::Config(format!(
                "selfplay.bootstrap_games = {games}: this must be 0, because a run that begins with weights plays no \
                 games without a network"
            ))),
        }
    }

    /// Returns the newest shards of the source's window, as many as fill the new window, oldest first.
    fn window(&self, rules: &Opened) -> Result<Vec<(PathBuf, ShardInfo)>> {
        let place = self.source.path.display();
        self.source.manifest.game.expect(&rules.identity, &format!("the window of {place}"))?;
        let run = self
            .source
            .path
            .parent()
            .and_then(Path::parent)
            .filter(|run| storage::has_file(&run.join(SETTINGS)));
        let run = run.ok_or_else(|| {
            Error::Config(format!(
                "{place} is not a checkpoint in the folder of its run, so there is no window to take over"
            ))
        })?;
        let shards = run.join(store::FOLDER);
        let listed: Vec<ShardInfo> = match &self.source.manifest.data {
            Some(data) => data.window().to_vec(),
            None => self.all(run, rules)?,
        };
        let listed = listed.into_iter().map(|info| (shards.join(&info.name), info)).collect();
        Ok(self.newest(listed))
    }

    /// Returns the newest of the records at `path`, as many as fill the window, oldest first. All records are checked
    /// against the rules.
    fn records(&self, path: &Path, rules: &Opened) -> Result<Vec<(PathBuf, ShardInfo)>> {
        let paths: Vec<PathBuf> = store::find(path)?.all().cloned().collect();
        if paths.is_empty() {
            return Err(Error::Missing(format!("{}: there are no records", path.display())));
        }
        let read = |path: PathBuf| {
            let info = store::read_shard(&path, rules, None)?.info(0, 0);
            Ok((path, info))
        };
        let listed = paths.into_iter().map(read).collect::<Result<Vec<_>>>()?;
        Ok(self.newest(listed))
    }

    /// Keeps as many of the newest shards as fill the window.
    fn newest(&self, listed: Vec<(PathBuf, ShardInfo)>) -> Vec<(PathBuf, ShardInfo)> {
        let mut positions = 0;
        let is_needed = |(_, info): &(PathBuf, ShardInfo)| {
            let is_needed = positions < self.config.replay.window;
            positions += info.positions;
            is_needed
        };
        let mut newest: Vec<_> = listed.into_iter().rev().take_while(is_needed).collect();
        newest.reverse();
        newest
    }

    /// Lists all shards up to a checkpoint of version 0.1, which has no list of shards.
    fn all(&self, run: &Path, rules: &Opened) -> Result<Vec<ShardInfo>> {
        let config = settings_of(run)?;
        let mut listed = Vec::new();
        for generation in 1..=self.source.manifest.generation {
            for shard in 0..shards_of(&config, generation) {
                let path = store::shard_path(run, generation, shard);
                listed.push(store::read_shard(&path, rules, None)?.info(generation, shard));
            }
        }
        Ok(listed)
    }
}
