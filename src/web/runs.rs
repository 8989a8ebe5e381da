//! The runs that a page can watch: finding them, numbering them, and describing them.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use super::Shown;
use super::api::{Charts, CheckpointRow, RunAnswer, RunInShort};
use super::keys::key_of;
use crate::checkpoint::{self, Checkpoint};
use crate::config::GameConfig;
use crate::error::{Error, Result};
use crate::options::{Settings, TEXT};
use crate::page::locked;
use crate::page::players::PagePlayer;
use crate::replay::record::Record;
use crate::replay::store;
use crate::report::RunNumbers;
use crate::run::work::roster::Roster;
use crate::run::{self, LOG, METRICS, Reader, State};
use crate::storage::{self, FileAbout};

/// The number of a run's generations that are offered as opponents; all of them can be played from the run's own
/// page.
const OFFERED: usize = 8;
/// The number of bytes that are shown from the end of a log.
const END_OF_LOG: u64 = 6000;
/// The number of bytes of all runs' metrics that are read for one answer; later answers read the rest.
const PORTION: u64 = 64 << 20;
/// The largest number of checkpoints that are listed: the newest ones and some of the others.
const LISTED: usize = 200;
/// The state of a run that cannot be read.
const DAMAGED: &str = "damaged";
/// The largest number of the newest generation's games that are shown.
const GAMES: usize = 200;
/// The largest number of new runs with the same name.
#[cfg(feature = "train")]
const MOST_OF_A_NAME: usize = 99;

/// The runs and files that the page shows.
pub(super) struct ShownRuns {
    /// The folder in which new runs are made.
    folder: PathBuf,
    /// The folder whose runs are all shown; `None` if the user named runs.
    within: Option<PathBuf>,
    /// The runs found so far. The index of a run is its number and never changes.
    known: Mutex<Vec<PathBuf>>,
    files: Vec<PathBuf>,
    /// The metrics of the runs that have been read so far.
    read: Mutex<BTreeMap<PathBuf, Arc<Mutex<WatchedRun>>>>,
}

/// The runs on the page's list, with their agents and games.
#[derive(Default)]
pub(super) struct Listed {
    pub(super) runs: Vec<RunInShort>,
    /// The agents, by the id of their game.
    pub(super) players: BTreeMap<String, Vec<PagePlayer>>,
    /// The ids of the runs' games, with their options.
    pub(super) games: Vec<(String, Settings)>,
}

/// The metrics of a run; each call reads only what was added since the previous call.
struct WatchedRun {
    reader: Reader,
    /// The strength of the run's generations, with the number of lines and the opponent for which it was computed.
    strengths: (usize, String, Strengths),
    /// The processes that work on the run.
    roster: Roster,
}

/// The strength of each generation in Elo above the first rated generation, with its bounds.
type Strengths = BTreeMap<usize, [Option<f64>; 3]>;

impl WatchedRun {
    fn new(folder: &Path) -> WatchedRun {
        WatchedRun { reader: Reader::new(folder), strengths: Default::default(), roster: Roster::default() }
    }

    /// Reads at most `budget` bytes of the metrics that were added, and subtracts the number of bytes read from
    /// `budget`.
    fn read(&mut self, budget: &mut u64) -> Result<()> {
        let before = self.reader.position();
        self.reader.read(*budget)?;
        *budget = budget.saturating_sub(self.reader.position().saturating_sub(before));
        Ok(())
    }

    fn strengths(&mut self, opponent: &str) -> &Strengths {
        let history = self.reader.history();
        let lines = history.rated_lines();
        if (self.strengths.0, &*self.strengths.1) != (lines, opponent) {
            let ratings = history.ratings(opponent);
            let of = ratings.iter().map(|rated| (rated.generation, [Some(rated.elo), rated.low, rated.high]));
            self.strengths = (lines, opponent.to_string(), of.collect());
        }
        &self.strengths.2
    }
}

impl ShownRuns {
    pub(super) fn new(shown: &Shown) -> Result<ShownRuns> {
        let (mut known, mut files) = (Vec::new(), Vec::new());
        for source in &shown.sources {
            if run::is_run(source) {
                known.push(source.clone());
            } else {
                Checkpoint::find(source)?;
                files.push(source.clone());
            }
        }
        let within = shown.sources.is_empty().then(|| shown.folder.clone());
        let folder = shown.folder.clone();
        Ok(ShownRuns { folder, within, known: Mutex::new(known), files, read: Mutex::default() })
    }

    /// Returns a folder for a new run named `name`, with a number if the name is taken.
    ///
    /// # Errors
    /// If too many runs have this name.
    #[cfg(feature = "train")]
    pub(super) fn new_folder(&self, name: &str) -> Result<PathBuf> {
        let numbered = |number: usize| match number {
            1 => self.folder.join(name),
            _ => self.folder.join(format!("{name}-{number}")),
        };
        (1..=MOST_OF_A_NAME).map(numbered).find(|folder| !storage::has(folder)).ok_or_else(|| {
            let place = self.folder.join(name);
            Error::Config(format!(
                "{} to {}-{MOST_OF_A_NAME} already exist: move some of them elsewhere",
                place.display(),
                place.display()
            ))
        })
    }

    /// Returns the number of the run in a folder, and lists the run from now on.
    #[cfg(feature = "train")]
    pub(super) fn number_of(&self, folder: &Path) -> usize {
        let mut known = locked(&self.known);
        known.iter().position(|other| other == folder).unwrap_or_else(|| {
            known.push(folder.to_path_buf());
            known.len() - 1
        })
    }

    /// Returns the exported files.
    pub(super) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns the folder of a run.
    pub(super) fn folder(&self, id: usize) -> Result<PathBuf> {
        let unknown = || Error::Missing(format!("there is no run {id}: reload the page"));
        self.all().get(id).cloned().ok_or_else(unknown)
    }

    /// Returns all runs, including those that appeared since the last call.
    fn all(&self) -> Vec<PathBuf> {
        let mut known = locked(&self.known);
        if let Some(within) = &self.within {
            let found = storage::list(within).unwrap_or_default();
            let new: Vec<PathBuf> =
                found.into_iter().filter(|folder| !known.contains(folder) && run::is_run(folder)).collect();
            known.extend(new);
        }
        known.clone()
    }

    /// Returns the metrics of a run that have been read so far.
    fn watched(&self, folder: &Path) -> Arc<Mutex<WatchedRun>> {
        let mut runs = locked(&self.read);
        let new = || Arc::new(Mutex::new(WatchedRun::new(folder)));
        runs.entry(folder.to_path_buf()).or_insert_with(new).clone()
    }

    /// Returns a summary of each run, the agents that the runs and the files offer, by game, and the options of the
    /// runs' games. A run that cannot be read is listed with the reason.
    pub(super) fn list(&self) -> Listed {
        let (mut runs, mut players) = (Vec::new(), BTreeMap::<String, Vec<PagePlayer>>::new());
        let mut games = Vec::new();
        let mut budget = PORTION;
        for (id, folder) in self.all().iter().enumerate() {
            // a problem with one run must not affect the others
            let found = catch_unwind(AssertUnwindSafe(|| self.in_short(id, folder, &mut budget)));
            match found.unwrap_or_else(|_| {
                Err(Error::Data("the program failed; its terminal shows the reason".into()))
            }) {
                Ok((run, game, offered)) => {
                    runs.push(run);
                    players.entry(game.id.clone()).or_default().extend(offered);
                    games.push((game.id, game.options));
                }
                Err(error) => {
                    let problem = error.to_string();
                    runs.push(RunInShort::Damaged { id, name: name(folder), state: DAMAGED, problem });
                }
            }
        }
        for (number, file) in self.files.iter().enumerate() {
            let Ok(checkpoint) = Checkpoint::find(file) else { continue };
            let identity = checkpoint.manifest.game;
            let player = PagePlayer::trained(format!("file-{number}"), name(file), identity.options);
            players.entry(identity.id).or_default().push(player);
        }
        Listed { runs, players, games }
    }

    /// Returns a summary of a run, its game, and the agents that it offers.
    fn in_short(
        &self,
        id: usize,
        folder: &Path,
        budget: &mut u64,
    ) -> Result<(RunInShort, GameConfig, Vec<PagePlayer>)> {
        let config = run::reading_of(folder)?.config;
        let game = &config.game;
        let generations = generations(folder);
        let run = RunInShort::Known {
            id,
            name: name(folder),
            game: game.id.clone(),
            state: state(folder),
            generation: generations.last().copied().unwrap_or(0),
            planned: config.train.generations,
            changed: changed(storage::about(&folder.join(METRICS)).ok().flatten()) as u64,
        };
        let watched = self.watched(folder);
        let mut watched = locked(&watched);
        watched.read(budget)?;
        let elo = watched.strengths(&config.arena.opponent);
        let players = spaced(&generations, OFFERED).into_iter().rev().map(|generation| {
            let title = format!("{}, generation {generation}", name(folder));
            let player = PagePlayer::trained(key_of(id, generation), title, game.options.clone());
            let elo = elo.get(&generation).map(|[elo, ..]| elo.unwrap_or(0.0));
            PagePlayer { elo, generation: Some(generation), run: Some(id), ..player }
        });
        let players = players.collect();
        Ok((run, config.game, players))
    }

    /// Returns a run's state and what it is doing now.
    pub(super) fn about(&self, id: usize) -> Result<RunAnswer> {
        let folder = self.folder(id)?;
        let config = run::reading_of(&folder)?.config;
        let (generations, planned) = (generations(&folder), config.train.generations);
        let state = state(&folder);
        let is_running = state == "running";
        let watched = self.watched(&folder);
        let mut watched = locked(&watched);
        watched.read(&mut { PORTION })?;
        let elo = watched.strengths(&config.arena.opponent).clone();
        // if the list of workers cannot be read now, it is shown the next time
        let workers = watched.roster.read(&folder).unwrap_or_default();
        let history = watched.reader.history();
        let steps: BTreeMap<usize, usize> =
            history.training.iter().map(|(at, line)| (at, line.step)).collect();
        let newest = history.selfplay.newest().map(|(_, line)| line);
        let checkpoints = listed(&generations).into_iter().map(|generation| {
            let [elo, low, high] = elo.get(&generation).copied().unwrap_or_default();
            let (agent, steps) = (key_of(id, generation), steps.get(&generation).copied());
            CheckpointRow { generation, elo, low, high, agent, steps }
        });
        Ok(RunAnswer {
            id,
            name: name(&folder),
            game: config.game.id,
            options: config.game.options,
            state,
            resuming: (state == State::Interrupted.id()).then(|| run::resuming(&folder)),
            doing: is_running.then(|| run::doing(&folder, history)),
            generation: generations.last().copied().unwrap_or(0),
            planned,
            seconds_left: run::seconds_left(history, planned).filter(|_| is_running),
            positions_per_second: newest.and_then(|line| line.speed(|line| line.seconds)),
            positions_per_cpu_second: newest.and_then(|line| line.speed(|line| line.cpu_seconds)),
            cpu_seconds: history.cpu_times().map(|times| times.whole()),
            workers,
            log: end_of_log(&folder.join(LOG)),
            stamp: stamp(&folder, &watched.reader),
            checkpoints: checkpoints.collect(),
            all_checkpoints: generations.len(),
        })
    }

    /// Returns the curves of a run.
    pub(super) fn charts(&self, id: usize) -> Result<Charts> {
        let folder = self.folder(id)?;
        let config = run::reading_of(&folder)?.config;
        let (stamp, history) = {
            let watched = self.watched(&folder);
            let mut watched = locked(&watched);
            watched.read(&mut { PORTION })?;
            (stamp(&folder, &watched.reader), watched.reader.history().clone())
        };
        let html = crate::report::charts(&[RunNumbers::of(&folder, config, history)?]).into_string();
        Ok(Charts { stamp, html })
    }

    /// Returns games of the newest generation; if that generation is in progress, only the games of its finished
    /// shards.
    pub(super) fn games(&self, id: usize) -> Result<(usize, Vec<Record>)> {
        let folder = self.folder(id)?;
        let text = run::reading_of(&folder)?.config.game.options.remove(TEXT);
        let mut shards = store::list(&folder)?;
        shards.retain(|(_, path)| store::is_finished(path).unwrap_or(false));
        let newest = shards.iter().map(|(generation, _)| *generation).max();
        let newest = newest.ok_or_else(|| Error::Missing("the run has no recorded games yet".into()))?;
        let mut records = Vec::new();
        for (_, path) in shards.iter().filter(|(generation, _)| *generation == newest) {
            records.extend(store::read_unplayed(path)?);
            if records.len() >= GAMES {
                break;
            }
        }
        records.truncate(GAMES);
        // a record contains only the checksum of its game's text
        for record in &mut records {
            record.options.extend(text.clone().map(|text| (TEXT.to_string(), text)));
        }
        Ok((newest, records))
    }
}

fn name(path: &Path) -> String {
    storage::name_of(path).unwrap_or_else(|| "run".into())
}

fn state(folder: &Path) -> &'static str {
    run::state_of(folder).map_or(DAMAGED, State::id)
}

/// Returns the generations that have a checkpoint.
fn generations(folder: &Path) -> Vec<usize> {
    let folders = checkpoint::list(folder).unwrap_or_default();
    folders.iter().filter_map(|folder| store::generation_of(folder)).collect()
}

/// Returns up to `limit` of the generations: the first, the last, and some in between.
fn spaced(generations: &[usize], limit: usize) -> Vec<usize> {
    let last = generations.len().saturating_sub(1);
    let count = limit.min(generations.len());
    let at = |index: usize| generations[if count > 1 { index * last / (count - 1) } else { last }];
    (0..count).map(at).collect()
}

/// Returns up to [`LISTED`] of the generations: half of the list is the newest generations, the other half a selection
/// of older ones.
fn listed(generations: &[usize]) -> Vec<usize> {
    match generations.len().checked_sub(LISTED / 2) {
        Some(others) if generations.len() > LISTED => {
            let (others, newest) = generations.split_at(others);
            [&spaced(others, LISTED / 2)[..], newest].concat()
        }
        _ => generations.to_vec(),
    }
}

/// Returns a text that changes whenever the run has written something, or more of it has been read.
fn stamp(folder: &Path, reader: &Reader) -> String {
    let of = |file: FileAbout| (changed(Some(file)), file.length);
    let files = [METRICS, checkpoint::FOLDER].map(|name| storage::about(&folder.join(name)).ok().flatten());
    let parts = files.into_iter().flatten().map(of);
    let parts = parts.map(|(changed, length)| format!("{changed:x}-{length:x}"));
    parts.chain([format!("{:x}", reader.position())]).collect::<Vec<_>>().join("-")
}

/// Returns when a file was last written, in milliseconds since 1970; 0 if the time is unknown.
fn changed(file: Option<FileAbout>) -> u128 {
    let modified = file.and_then(|file| file.modified).unwrap_or(SystemTime::UNIX_EPOCH);
    modified.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis())
}

fn end_of_log(path: &Path) -> Vec<String> {
    let read = || {
        let mut file = storage::open(path).ok()?;
        let begin = file.metadata().ok()?.len().saturating_sub(END_OF_LOG);
        file.seek(SeekFrom::Start(begin)).ok()?;
        let mut text = Vec::new();
        file.take(END_OF_LOG).read_to_end(&mut text).ok()?;
        Some((text, begin > 0))
    };
    let (text, is_cut) = read().unwrap_or_default();
    // the beginning of the first line may be missing
    String::from_utf8_lossy(&text).lines().skip(usize::from(is_cut)).map(String::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offered_generations_have_both_ends() {
        let offered = |generations: &[usize]| spaced(generations, OFFERED);
        assert!(offered(&[]).is_empty());
        assert_eq!(offered(&[3]), [3]);
        assert_eq!(offered(&[1, 2, 3]), [1, 2, 3]);
        let many: Vec<usize> = (1..=30).collect();
        let found = offered(&many);
        assert_eq!((found.len(), found[0], found[OFFERED - 1]), (OFFERED, 1, 30));
    }

    #[test]
    fn of_many_checkpoints_some_are_listed() {
        let all = |count: usize| (1..=count).collect::<Vec<usize>>();
        assert_eq!([0, 1, 150, LISTED].map(|count| listed(&all(count)).len()), [0, 1, 150, LISTED]);
        let found = listed(&all(5000));
        assert_eq!((found.len(), found[0], found[LISTED / 2], found[LISTED - 1]), (LISTED, 1, 4901, 5000));
        assert!(found.windows(2).all(|two| two[0] < two[1]));
    }
}
