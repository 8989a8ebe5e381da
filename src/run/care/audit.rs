//! Compares the files that a run should have with those that it has.
//!
//! An audit finds shards that are missing, damaged, swapped, or from another run, and checkpoints that do not belong to
//! the run. The settings determine which shards must exist; the checkpoints list the SHA-256 of each shard. Auditing
//! changes nothing. [`settle`] sets wrong files aside once the user has decided to continue without them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::checkpoint::lineage::{LINEAGE, Lineage};
use crate::checkpoint::{self, Checkpoint};
use crate::config::Config;
use crate::error::{Error, Input, Result};
use crate::game::GameIdentity;
use crate::replay::place::{Origin, Place, shards_of};
use crate::replay::store::{self, ShardInfo};
use crate::run::files::settings::SETTINGS;
use crate::storage;

/// The effect of resuming without records.
const OTHER_END: &str = "and ends with different games and weights than the undisturbed run";

/// How thoroughly shards are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Checks what a resumed run needs: the bytes of shards in the window, and the checksum files of older shards.
    /// Shards that no checkpoint lists are read only if the newest checkpoint has no list (version 0.1).
    Window,
    /// Reads all shards.
    All,
}

/// Reads the shard at a path and replays its games by the rules. If the shard's place in the run is given, the games
/// must be those that belong there.
pub type Read<'a> = dyn FnMut(&Path, Option<&Place>) -> Result<()> + 'a;

/// The kind of a problem with a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The file or folder is missing.
    Missing,
    /// The checksum or the text is wrong.
    Damaged,
    /// The file or folder is intact, but does not belong in its place.
    Foreign,
}

/// A problem with a file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file or folder.
    pub path: PathBuf,
    /// The kind of the problem.
    pub defect: Defect,
    /// A description of the defect, worded to follow the path.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}: {}", self.path.display(), self.what)
    }
}

/// The result of an audit.
#[derive(Debug, Default)]
pub struct Audit {
    /// The problems; problems with checkpoints come first.
    pub problems: Vec<Problem>,
    /// A sentence about checks that were not possible, if any.
    pub unchecked: Option<String>,
    /// Shards that were set aside as damaged.
    pub set_aside: Vec<PathBuf>,
    /// Shards that are intact according to a checkpoint's list, although their checksum files are wrong.
    pub without_checksum: Vec<(PathBuf, String)>,
    /// The newest checkpoint that belongs to the run.
    pub(in crate::run) newest: Option<Checkpoint>,
    /// The run's changes of settings, and what it took over from other runs.
    pub(in crate::run) lineage: Lineage,
    /// Every shard that a checkpoint lists, by name.
    pub(in crate::run) listed: BTreeMap<String, ShardInfo>,
}

/// Checks the run in `run`, except for the paths in `without`.
///
/// # Errors
/// If the operating system reports an error, or if the lineage is damaged.
pub fn audit(
    run: &Path,
    config: &Config,
    game: &GameIdentity,
    without: &BTreeSet<String>,
    depth: Depth,
    read: &mut Read,
) -> Result<Audit> {
    let mut audit = Audit { lineage: Lineage::of(run)?, ..Audit::default() };
    let mut lists = audit.checkpoints(run, config, game)?;
    lists.given_up.extend(without.iter().cloned());
    audit.records(run, config, &lists, depth, read)?;
    audit.listed = lists.shards;
    audit.set_aside = store::find(run)?.set_aside;
    Ok(audit)
}

/// The shards that a run's checkpoints list.
#[derive(Default)]
struct Lists {
    /// Every listed shard, by name; the entry comes from the newest checkpoint that lists the shard.
    shards: BTreeMap<String, ShardInfo>,
    /// Names of the shards in the newest checkpoint's window.
    window: BTreeSet<String>,
    /// Paths, relative to the run's folder, of the files that the user gave up.
    given_up: BTreeSet<String>,
    /// The newest checkpoint that belongs to the run.
    newest: Option<Checkpoint>,
}

impl Audit {
    fn add(&mut self, path: PathBuf, defect: Defect, what: impl Into<String>) {
        self.problems.push(Problem { path, defect, what: what.into() });
    }

    /// Writes the checksum files of intact shards that lack them.
    pub(in crate::run) fn write_checksums(&self, config: &Config) -> Result<()> {
        for (path, sha256) in &self.without_checksum {
            let generation = path.parent().and_then(store::generation_of);
            let origin = generation.map(|generation| Origin::of(self.lineage.config_of(generation, config)));
            store::write_checksum(path, sha256, origin.as_ref())?;
        }
        Ok(())
    }

    /// Checks each checkpoint, newest first, and compares it with the newer ones.
    fn checkpoints(&mut self, run: &Path, config: &Config, game: &GameIdentity) -> Result<Lists> {
        let mut lists = Lists::default();
        for path in checkpoint::list(run)?.into_iter().rev() {
            let checkpoint = match Checkpoint::open_folder(&path) {
                Ok(checkpoint) => checkpoint,
                Err(error @ (Error::Data(_) | Error::Mismatch(_) | Error::Config(_))) => {
                    let what = without_place(&error.to_string(), &path);
                    self.add(path, Defect::Damaged, what);
                    continue;
                }
                Err(error) => return Err(error),
            };
            match foreign(&checkpoint, &self.lineage, config, game).or_else(|| lists.contradicts(&checkpoint))
            {
                Some(what) => self.add(path, Defect::Foreign, what),
                None => lists.add(checkpoint),
            }
        }
        self.newest = lists.newest.take();
        let listed = self.newest.as_ref().and_then(|newest| newest.manifest.data.as_ref());
        let listed = listed.map_or(&[][..], |data| &data.lineage);
        if let Some((path, what)) = self.lineage.contradicts(run, listed) {
            self.add(path, Defect::Foreign, what);
        }
        if let Some(newest) = self.newest.as_ref().filter(|newest| newest.manifest.data.is_none()) {
            self.unchecked = Some(format!(
                "{} was written by version 0.1 and lists no records. It can be checked that all records exist, are in \
                 their places, and obey the rules, but not that they are the ones that were trained on",
                newest.path.display()
            ));
        }
        Ok(lists)
    }

    /// Checks that the shards of the finished generations are complete, and that no other shards exist.
    fn records(
        &mut self,
        run: &Path,
        config: &Config,
        lists: &Lists,
        depth: Depth,
        read: &mut Read,
    ) -> Result<()> {
        let done = self.newest.as_ref().map_or(0, |newest| newest.manifest.generation);
        let lineage = self.lineage.clone();
        let own = (1..=done).flat_map(|generation| {
            let config = lineage.config_of(generation, config);
            let place =
                move |shard| (store::shard_name(generation, shard), Place::of(config, generation, shard));
            (0..shards_of(config, generation)).map(place)
        });
        let inherited = lists.shards.keys().filter(|name| store::is_inherited(name));
        let mut known = BTreeSet::new();
        for (name, place) in inherited.map(|name| (name.clone(), None)).chain(own) {
            let path = run.join(store::FOLDER).join(&name);
            if !lists.given_up.contains(&below(run, &path)) {
                self.shard(&path, &name, lists, depth, &mut |path| read(path, place.as_ref()))?;
            }
            known.insert(path);
        }
        for (_, path) in store::list(run)?.into_iter().filter(|(generation, _)| *generation <= done) {
            if !known.contains(&path) {
                self.add(path, Defect::Foreign, "the run has no such shard");
            }
        }
        Ok(())
    }

    /// Checks a shard against the lists of the checkpoints, and reads it if the lists alone are not enough.
    fn shard(
        &mut self,
        path: &Path,
        name: &str,
        lists: &Lists,
        depth: Depth,
        read: &mut dyn FnMut(&Path) -> Result<()>,
    ) -> Result<()> {
        let mut reading = || match read(path) {
            Ok(()) => Ok(None),
            Err(error) => failure(path, error).map(Some),
        };
        let listed = lists.shards.get(name);
        if !storage::exists(path)? {
            let holds = listed.map_or(String::new(), |shard| {
                format!(" ({} games, {} positions)", shard.games, shard.positions)
            });
            let what = if storage::exists(&store::bad_path(path))? {
                format!("it was set aside{holds}")
            } else {
                format!("it is missing{holds}")
            };
            self.add(path.to_path_buf(), Defect::Missing, what);
            return Ok(());
        }
        let Some(listed) = listed else {
            if (depth == Depth::All || self.unchecked.is_some())
                && let Some((defect, what)) = reading()?
            {
                self.add(path.to_path_buf(), defect, what);
            }
            return Ok(());
        };
        let recorded = match store::checksum(path) {
            // a file that cannot be read does not count as lost: its error is passed on
            Err(error @ Error::Io { .. }) => return Err(error),
            recorded => recorded.unwrap_or_default(),
        };
        let is_marked = recorded.starts_with(&listed.sha256);
        if depth == Depth::Window && is_marked && !lists.window.contains(name) {
            return Ok(());
        }
        let sha256 = storage::sha256_of(path)?;
        let wrong = if sha256 != listed.sha256 {
            let other = lists.shards.values().find(|other| other.sha256 == sha256);
            Some(match other {
                Some(other) => (
                    Defect::Foreign,
                    format!("it holds the records of {}, which was put in its place", other.name),
                ),
                None => other_than(path, listed, reading()?),
            })
        } else if !is_marked {
            self.without_checksum.push((path.to_path_buf(), sha256));
            None
        } else if depth == Depth::All {
            reading()?
        } else {
            None
        };
        if let Some((defect, what)) = wrong {
            self.add(path.to_path_buf(), defect, what);
        }
        Ok(())
    }
}

impl Lists {
    fn add(&mut self, checkpoint: Checkpoint) {
        if let Some(data) = &checkpoint.manifest.data {
            if self.newest.is_none() {
                self.window.extend(data.window().iter().map(|shard| shard.name.clone()));
            }
            for shard in &data.shards {
                self.shards.entry(shard.name.clone()).or_insert_with(|| shard.clone());
            }
            self.given_up.extend(data.given_up.iter().cloned());
        }
        self.newest.get_or_insert(checkpoint);
    }

    /// Describes how a checkpoint contradicts the newer ones; `None` if it does not. All checkpoints of a run list the
    /// same shards.
    fn contradicts(&self, checkpoint: &Checkpoint) -> Option<String> {
        let data = checkpoint.manifest.data.as_ref()?;
        let newer = |shard: &&ShardInfo| self.shards.get(&shard.name).is_some_and(|newer| newer != *shard);
        let shard = data.shards.iter().find(newer)?;
        Some(format!(
            "it is a checkpoint of another run: it was trained on a different {} than the checkpoints after it",
            shard.name
        ))
    }
}

/// Returns the reason why a checkpoint does not belong to this run; `None` if it does.
fn foreign(
    checkpoint: &Checkpoint,
    lineage: &Lineage,
    config: &Config,
    game: &GameIdentity,
) -> Option<String> {
    let manifest = &checkpoint.manifest;
    let planned = config.train.generations;
    let config = lineage.config_of(manifest.generation, config);
    let another = |what: String| Some(format!("it is a checkpoint of another run: {what}"));
    if manifest.seed != config.seed {
        return another(format!("its seed is {}, but this run has seed {}", manifest.seed, config.seed));
    }
    if let Err(error) = manifest.game.expect(game, "it") {
        return another(error.to_string());
    }
    if manifest.net != config.net {
        return another("its network has other sizes or settings".into());
    }
    match checkpoint.reading() {
        Err(error) => return another(error.to_string()),
        Ok(theirs) => {
            let differences: Vec<String> = theirs
                .config
                .differences(config)
                .into_iter()
                .map(|[key, there, here]| format!("{key} {there} instead of {here}"))
                .collect();
            if !differences.is_empty() {
                return another(differences.join(", "));
            }
        }
    }
    let (generation, first) = (manifest.generation, if lineage.is_started() { 0 } else { 1 });
    (!(first..=planned).contains(&generation))
        .then(|| format!("it is of generation {generation}, but this run has only {planned}"))
}

/// Returns the message of an error about `path` or a file in it, without the path.
fn without_place(message: &str, path: &Path) -> String {
    let place = path.display().to_string();
    let rest = message.strip_prefix(&place).unwrap_or(message);
    rest.trim_start_matches([':', '/', ' ']).to_string()
}

/// Turns an error from reading the shard at `path` into a defect and its description. Errors of the operating system
/// are passed on.
fn failure(path: &Path, error: Error) -> Result<(Defect, String)> {
    let what = without_place(&error.to_string(), path);
    match error {
        Error::About { error, .. } => failure(path, *error),
        Error::Mismatch(_) | Error::Foreign(_) => Ok((Defect::Foreign, what)),
        Error::Data(_) => Ok((Defect::Damaged, what)),
        error => Err(error),
    }
}

/// Describes a file that is in the place of a listed shard but matches no listed shard. `wrong` is the defect found
/// when reading the file.
fn other_than(path: &Path, listed: &ShardInfo, wrong: Option<(Defect, String)>) -> (Defect, String) {
    let origin = store::origin(path).ok().flatten();
    let origin = origin.map_or(String::new(), |origin| format!(", played with {origin}"));
    match wrong {
        Some((Defect::Damaged, what)) => (Defect::Damaged, what),
        Some((_, what)) => {
            (Defect::Foreign, format!("it is not the shard that was trained on{origin}: {what}"))
        }
        None => {
            let sum = listed.sha256.get(..16).unwrap_or_default();
            let what =
                format!("it is not the shard that was trained on, whose SHA-256 begins with {sum}{origin}");
            (Defect::Foreign, what)
        }
    }
}

/// Returns a path relative to the run's folder, as in the list of given-up files.
fn below(run: &Path, path: &Path) -> String {
    path.strip_prefix(run).unwrap_or(path).to_string_lossy().into_owned()
}

/// Sets damaged shards aside, so that they cause no trouble again, and rewrites the lost checksum files of intact
/// shards. If any files are wrong and the user has agreed to continue without them (`accepts`), sets all wrong files
/// aside and returns their paths relative to the run's folder.
///
/// # Errors
/// If anything is wrong and the user does not accept it, or if the newest checkpoint has settings that this program
/// does not know.
pub fn settle(audit: &mut Audit, run: &Path, config: &Config, accepts: bool) -> Result<Vec<String>> {
    if let Some(newest) = &audit.newest {
        // an unknown setting may have affected the games
        newest.config()?;
    }
    audit.write_checksums(config)?;
    for problem in &mut audit.problems {
        if problem.defect == Defect::Damaged && store::is_shard(&problem.path) {
            let bad = store::set_aside(&problem.path)?;
            problem.what += &format!("; set aside as {}", bad.display());
            problem.defect = Defect::Missing;
        }
    }
    if audit.problems.is_empty() {
        return Ok(Vec::new());
    }
    if !accepts {
        return Err(refusal(audit, run));
    }
    let mut given_up = Vec::new();
    for problem in &audit.problems {
        if problem.defect != Defect::Missing {
            store::set_aside(&problem.path)?;
        }
        given_up.push(below(run, &problem.path));
    }
    Ok(given_up)
}

/// Makes the error about everything that is wrong.
fn refusal(audit: &Audit, run: &Path) -> Error {
    let lines: Vec<String> = audit.problems.iter().map(|problem| format!("\n  {problem}")).collect();
    let unchecked = audit.unchecked.as_ref().map_or(String::new(), |what| format!("\n{what}"));
    let is_foreign = |problem: &Problem| {
        problem.defect == Defect::Foreign && store::generation_of(&problem.path).is_some()
    };
    let lineage = run.join(LINEAGE);
    let past = match (audit.problems.iter().any(is_foreign), audit.lineage.chapters().is_empty()) {
        (false, _) => String::new(),
        (true, true) => format!(
            "\n{} defines this run: was it changed? If the run was extended, forked, or begun with weights, the \
             file that says so is missing: {}",
            run.join(SETTINGS).display(),
            lineage.display()
        ),
        (true, false) => {
            format!(
                "\n{} says which settings made each generation: does it belong to this run?",
                lineage.display()
            )
        }
    };
    Error::Data(format!(
        "{} does not hold what it was trained on, so nothing is trained:{}{unchecked}{past}\n\
         put the files back from a copy of the run, or accept that it resumes without them: {}",
        run.display(),
        lines.concat(),
        cost(audit, run)
    ))
    .about(Input::AcceptMissing)
}

/// Describes what it costs to resume the run without the wrong files.
pub(in crate::run) fn cost(audit: &Audit, run: &Path) -> String {
    let is_lost = |shard: &&ShardInfo| {
        let lost = |problem: &Problem| below(run, &problem.path).ends_with(&shard.name);
        audit.problems.iter().any(lost)
    };
    let newest = audit.newest.as_ref();
    let data = newest.and_then(|newest| newest.manifest.data.as_ref());
    let are_checkpoints = audit.problems.iter().all(|problem| store::generation_of(&problem.path).is_some());
    match (are_checkpoints, newest, data) {
        (true, Some(newest), _) => format!("it continues from {}", newest.path.display()),
        (true, None, _) => "it starts over".into(),
        (false, _, None) => format!("it trains on fewer positions, {OTHER_END}"),
        (false, _, Some(data)) => {
            let lost: usize = data.window().iter().filter(is_lost).map(|shard| shard.positions).sum();
            let (left, all) = (data.window_positions.saturating_sub(lost), data.window_positions);
            format!("it trains on {left} of the {all} positions of its window, {OTHER_END}")
        }
    }
}
