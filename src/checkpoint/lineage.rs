//! The parts of a run that its current settings did not make: the run's generations from before it was extended, the
//! generations of the run that it was forked from, or the weights that it began with.
//!
//! `lineage.json` in the run's folder holds the lineage, sealed, and every manifest repeats it. A run that was trained
//! from beginning to end with one config has no lineage. A lineage may hold settings of any version, because only the
//! parts of a run that they determined are compared.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Checkpoint, latest};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::replay::place::Origin;
use crate::storage;

/// The lineage file in a run's folder.
pub(crate) const LINEAGE: &str = "lineage.json";
/// The version of the file.
const FORMAT: u32 = 1;

/// The way in which a run acquired something that its settings do not make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// The run's own settings were changed: its number of generations, for example.
    Extended,
    /// The run was copied from another run.
    Forked,
    /// The run began with the weights of another run.
    Started,
}

/// One change in the past of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chapter {
    /// The kind of change.
    pub change: Change,
    /// The number of generations that the run had before the change. Unless the change is [`Change::Started`],
    /// `settings` made these generations.
    pub generation: usize,
    /// The settings before the change, as TOML.
    pub settings: String,
    /// The checkpoint of the other run that this run was copied from or began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Ancestor>,
}

/// A checkpoint that another run made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ancestor {
    /// The path where the checkpoint was.
    pub path: String,
    /// The checkpoint's generation.
    pub generation: usize,
    /// The number of optimizer steps before the checkpoint.
    pub step: usize,
    /// The SHA-256 of the checkpoint's tensors.
    pub tensors: String,
}

impl Ancestor {
    /// Describes a checkpoint.
    pub fn of(checkpoint: &Checkpoint) -> Ancestor {
        Ancestor {
            path: checkpoint.path.display().to_string(),
            generation: checkpoint.manifest.generation,
            step: checkpoint.manifest.step,
            tensors: checkpoint.tensors_sha256().to_string(),
        }
    }
}

/// The past of a run, oldest change first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lineage {
    chapters: Vec<Chapter>,
    /// The settings of each chapter.
    settings: Vec<Config>,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    format: u32,
    chapters: Vec<Chapter>,
}

impl Lineage {
    /// Returns the past of the run in `folder`: from its file or, if the file is lost, from the newest checkpoint.
    ///
    /// # Errors
    /// If the file is damaged or of a newer version.
    pub fn of(folder: &Path) -> Result<Lineage> {
        let path = folder.join(LINEAGE);
        if storage::exists(&path)? {
            return Lineage::read(&path);
        }
        // a damaged checkpoint is reported by the audit
        match latest(folder).ok().flatten() {
            Some(Checkpoint { path, manifest, .. }) => {
                Lineage::new(manifest.data.unwrap_or_default().lineage, &path)
            }
            None => Ok(Lineage::default()),
        }
    }

    fn read(path: &Path) -> Result<Lineage> {
        let error = |what: String| {
            Error::Data(format!(
                "{}: {what}; restore it from a copy, or remove it: the newest checkpoint contains the same lineage",
                path.display()
            ))
        };
        let bytes = storage::read_at_most(path, storage::LARGEST_TEXT, "a lineage")?;
        storage::check_seal(&bytes).map_err(|why| error(why.into()))?;
        let stored: Stored =
            serde_json::from_slice(&bytes).map_err(|e| error(format!("it is not a lineage: {e}")))?;
        if stored.format != FORMAT {
            return Err(Error::Mismatch(format!(
                "{}: lineage format {}, but this program reads {FORMAT}",
                path.display(),
                stored.format
            )));
        }
        Lineage::new(stored.chapters, path)
    }

    /// Makes a lineage from chapters, which were read from `place`.
    ///
    /// # Errors
    /// If the settings in the chapters are not TOML, or do not name a game.
    pub fn new(chapters: Vec<Chapter>, place: &Path) -> Result<Lineage> {
        let place = place.display().to_string();
        let settings = chapters.iter().map(|chapter| Ok(Config::read(&place, &chapter.settings)?.config));
        let settings = settings.collect::<Result<_>>()?;
        Ok(Lineage { chapters, settings })
    }

    /// Writes the file into the run's folder, unless there are no chapters.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        if self.chapters.is_empty() {
            Ok(())
        } else {
            let stored = Stored { format: FORMAT, chapters: self.chapters.clone() };
            storage::write_whole(&folder.join(LINEAGE), storage::sealed(&stored).as_bytes())
        }
    }

    /// Returns the changes, oldest first.
    pub(crate) fn chapters(&self) -> &[Chapter] {
        &self.chapters
    }

    /// Returns each change with the settings that it changed: key, value before, value after. `now` are the run's
    /// settings.
    pub fn changes(&self, now: &Config) -> Vec<(&Chapter, Vec<[String; 3]>)> {
        let after = self.settings.iter().skip(1).chain([now]);
        let differences = self.settings.iter().zip(after).map(|(before, after)| before.differences(after));
        self.chapters.iter().zip(differences).collect()
    }

    /// Returns this lineage, followed by `chapter`; a change that is already the newest is not repeated.
    ///
    /// # Errors
    /// As for [`Lineage::new`].
    pub(crate) fn followed_by(&self, chapter: Chapter) -> Result<Lineage> {
        let mut chapters = self.chapters.clone();
        if chapters.last() != Some(&chapter) {
            chapters.push(chapter);
        }
        Lineage::new(chapters, Path::new(LINEAGE))
    }

    /// Returns the lineage as it was when the run had `generation` generations.
    pub fn until(&self, generation: usize) -> Lineage {
        let count = self.chapters.iter().take_while(|chapter| chapter.generation < generation).count();
        Lineage { chapters: self.chapters[..count].to_vec(), settings: self.settings[..count].to_vec() }
    }

    /// Returns whether the weights of this run's generation 0 came from another run.
    pub(crate) fn is_started(&self) -> bool {
        self.chapters.iter().any(|chapter| chapter.change == Change::Started)
    }

    /// Returns whether the run has a change of the kind `change` from a checkpoint at `source` or inside it. If
    /// `generation` is given, the checkpoint must be of that generation.
    pub fn has(&self, change: Change, source: &Path, generation: Option<usize>) -> bool {
        // the same folder may be named in different ways
        let real =
            |path: &Path| storage::real(path).or_else(|_| std::path::absolute(path)).unwrap_or(path.into());
        let source = real(source);
        let is_meant = |from: &Ancestor| {
            real(Path::new(&from.path)).starts_with(&source)
                && generation.is_none_or(|number| number == from.generation)
        };
        let chapters = self.chapters.iter().filter(|chapter| chapter.change == change);
        chapters.filter_map(|chapter| chapter.from.as_ref()).any(is_meant)
    }

    /// Returns the settings that made `generation`; `now` are the run's settings.
    pub(crate) fn config_of<'a>(&'a self, generation: usize, now: &'a Config) -> &'a Config {
        let made = |(chapter, _): &(&Chapter, &Config)| {
            chapter.change != Change::Started && generation <= chapter.generation
        };
        self.chapters.iter().zip(&self.settings).find(made).map_or(now, |(_, settings)| settings)
    }

    /// Returns the origins that shards of a `generation` in progress may have. There may be several origins, because
    /// extending a run does not change its games.
    pub fn origins(&self, generation: usize, now: &Config) -> Vec<Origin> {
        let is_before = |(chapter, _): &(&Chapter, &Config)| {
            chapter.change == Change::Extended && chapter.generation + 1 == generation
        };
        let before = self.chapters.iter().zip(&self.settings).filter(is_before);
        before.map(|(_, settings)| settings).chain([now]).map(Origin::of).collect()
    }

    /// Describes the contradiction unless this lineage begins with `chapters`, which are the changes that the newest
    /// checkpoint of the run in `folder` lists.
    pub fn contradicts(&self, folder: &Path, chapters: &[Chapter]) -> Option<(PathBuf, String)> {
        let what =
            "the newest checkpoint has a different lineage: it belongs to another run, or to an older copy";
        (!self.chapters.starts_with(chapters)).then(|| (folder.join(LINEAGE), what.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(generations: usize) -> Config {
        Config::parse_kept("test", "game.id = 'x'", &[format!("train.generations={generations}")]).unwrap()
    }

    fn chapter(change: Change, generation: usize, generations: usize) -> Chapter {
        Chapter { change, generation, settings: config(generations).to_toml(), from: None }
    }

    #[test]
    fn each_generation_has_the_settings_that_made_it() {
        let chapters = [
            chapter(Change::Started, 0, 77),
            chapter(Change::Extended, 3, 3),
            chapter(Change::Extended, 3, 4),
            chapter(Change::Forked, 5, 9),
        ];
        let lineage = Lineage::new(chapters.to_vec(), Path::new("test")).unwrap();
        let now = config(20);
        let made = |generation| lineage.config_of(generation, &now).train.generations;
        assert_eq!([0, 1, 3, 4, 5, 6].map(made), [3, 3, 3, 9, 9, 20]);
        assert!(lineage.is_started());
        // the games of a generation in progress do not depend on the number of generations that follow
        assert_eq!(lineage.origins(4, &now), [config(3), config(4), config(20)].map(|c| Origin::of(&c)));
        assert_eq!(lineage.origins(6, &now), [Origin::of(&now)]);
        assert_eq!(lineage.until(4).chapters().len(), 3);
        assert_eq!(lineage.until(3).chapters().len(), 1);
    }

    #[test]
    fn a_lineage_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Lineage::of(folder.path()).unwrap(), Lineage::default());
        let lineage = Lineage::default().followed_by(chapter(Change::Extended, 3, 3)).unwrap();
        assert_eq!(lineage.followed_by(chapter(Change::Extended, 3, 3)).unwrap(), lineage);
        lineage.write(folder.path()).unwrap();
        assert_eq!(Lineage::of(folder.path()).unwrap(), lineage);
        let path = folder.path().join(LINEAGE);
        let changed =
            std::fs::read_to_string(&path).unwrap().replace("\"generation\": 3", "\"generation\": 2");
        std::fs::write(&path, changed).unwrap();
        assert!(Lineage::of(folder.path()).unwrap_err().to_string().contains("changed or damaged"));
    }
}
