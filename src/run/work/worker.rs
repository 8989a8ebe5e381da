//! A worker: plays the games that a run still needs, and judges its generations. A worker keeps no state that matters,
//! so it can be ended at any time and started anywhere.
//!
//! Input: the folder of a run. Output: commits in its `work/`. A worker with a number first plays the shards that
//! belong to this number. When these shards are done and no worker has committed anything for a while, the worker also
//! plays shards that other workers have not finished; the first commit counts.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::claims::{Claims, Job};
use super::commit::{Circumstances, read_rejection};
use super::failed::WorkerFailure;
use super::judging::Judged;
use super::listing::Listing;
use super::pause::{BETWEEN_REPORTS, longer};
use crate::any::{AnyGame, Opened};
use crate::arena::contestant::Contestant;
use crate::checkpoint::lineage::Lineage;
use crate::checkpoint::{self, Checkpoint};
use crate::config::{Config, DeviceKind};
use crate::error::{Error, Result};
use crate::net::device::Processor;
use crate::net::evaluator::SharedNet;
use crate::net::infer::CpuNet;
use crate::net::network::Network;
use crate::replay::place::{Origin, is_bootstrap, shards_of};
use crate::replay::store;
use crate::run::event::{Event, Observer};
use crate::run::files::archive::Archive;
use crate::run::files::learner::Learner;
use crate::run::files::settings::settings_of;
use crate::run::files::shared::{Identity, folder_of};
use crate::run::metrics::history::History;
use crate::run::plan::assignment::Assignment;
use crate::run::strength::judge::{Judge, opponent};
use crate::storage;

/// The shortest time without a commit after which a worker also plays shards of others.
const PATIENCE: Duration = Duration::from_secs(5);
/// Like [`PATIENCE`], but as a multiple of the time that the worker's own shards take; the longer of the two times
/// applies.
const PATIENCE_IN_SHARDS: f64 = 2.0;
/// Replaces [`PATIENCE`] for a worker that has never played a shard, because there are more workers than shards.
const PATIENCE_WITHOUT_ANY: Duration = Duration::from_secs(60);
/// How often a worker tries to play a shard.
const ATTEMPTS: usize = 2;
/// A worker ends when this many of its commits were rejected: something is wrong with its machine.
const REJECTIONS: usize = 3;
/// A worker in a pause notices within this time that it must end.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);

/// What a worker does.
#[derive(Clone, Debug)]
pub struct Worker {
    /// The process.
    pub identity: Identity,
    /// The worker's number, from 0, and the number of numbered workers. A worker without a number begins anywhere.
    pub number: Option<(usize, usize)>,
    /// Whether the worker plays self-play games.
    pub plays: bool,
    /// Whether the worker judges generations.
    pub judges: bool,
    /// How long the worker may continue with the shards in flight when it must end.
    pub grace: Duration,
    /// Whether the worker's process does nothing else, so that the CPU time of the process is the time of its games.
    pub is_alone: bool,
}

/// Works on the run in `folder` until the run is finished.
///
/// # Errors
/// [`Error::Interrupted`] if the worker was asked to end before the run is finished. [`Error::Config`] if retrying
/// cannot help: the worker has other rules or another version than the learner, or no access to the store. Another
/// error if a file cannot be read or written; trying again may then succeed.
pub fn work(rules: &Opened, folder: &Path, worker: &Worker, observer: &dyn Observer) -> Result<()> {
    let config = settings_of(folder)?;
    let (processor, _) = Processor::of(config.net.device)?;
    if config.net.device == DeviceKind::Cpu
        && let Some(lacks) = CpuNet::lacks(config.net.precision)
    {
        return Err(Error::Config(format!(
            "the run computes in {:?}, for which this CPU lacks {lacks}",
            config.net.precision
        )));
    }
    let shift = u64::from_str_radix(worker.identity.nonce.get(..8).unwrap_or("0"), 16).unwrap_or(0) as usize;
    let mut working = Working {
        rules,
        folder,
        worker,
        observer,
        processor: &processor,
        opponent: &opponent(rules, &config)?,
        shift,
        model: None,
        judged: BTreeSet::new(),
        failures: BTreeMap::new(),
        heard: BTreeSet::new(),
        rejected: 0,
        is_careful: false,
        changed: (BTreeMap::new(), Instant::now()),
        pause: Duration::ZERO,
        of_a_shard: None,
        reported: Instant::now(),
    };
    working.work()
}

/// A worker at work.
struct Working<'a> {
    rules: &'a Opened,
    folder: &'a Path,
    worker: &'a Worker,
    observer: &'a dyn Observer,
    processor: &'a Processor,
    opponent: &'a Contestant<AnyGame>,
    /// The shard at which the worker begins if it has no number.
    shift: usize,
    /// The newest network that the worker has read, with its generation and the checksum of its tensors.
    model: Option<(usize, SharedNet, String)>,
    /// Generations that are known to be judged.
    judged: BTreeSet<usize>,
    /// How often the worker failed to play a shard of a generation.
    failures: BTreeMap<(usize, usize), usize>,
    /// The rejections that the worker knows: generation, shard, and number.
    heard: BTreeSet<(usize, usize, usize)>,
    /// The number of rejections of the worker's own games.
    rejected: usize,
    /// Whether the worker plays one shard at a time to find out which one fails.
    is_careful: bool,
    /// The shards that were open when the worker last looked, and the time of their last change.
    changed: (BTreeMap<usize, usize>, Instant),
    /// The time that the worker's last shard took.
    of_a_shard: Option<Duration>,
    /// When the worker last worked, or reported what it waits for.
    reported: Instant,
    /// The pause before the worker looks again.
    pause: Duration,
}

/// The run as the worker sees it.
struct SeenRun {
    config: Config,
    lineage: Lineage,
    newest: Option<Checkpoint>,
    /// The number of generations done.
    done: usize,
}

impl Working<'_> {
    fn work(&mut self) -> Result<()> {
        loop {
            if self.observer.interrupted() {
                return Err(Error::Interrupted);
            }
            let seen = self.look()?;
            if self.judge(&seen, true)? || self.play(&seen)? || self.judge(&seen, false)? {
                self.reported = Instant::now();
                self.pause = Duration::ZERO;
                continue;
            }
            if self.is_finished(&seen)? {
                return Ok(());
            }
            if self.reported.elapsed() >= BETWEEN_REPORTS {
                self.reported = Instant::now();
                self.observer.event(Event::Waiting(format!(
                    "generation {} is done, and there is nothing to do until the learner has trained the next",
                    seen.done
                )));
            }
            self.rest(&seen)?;
        }
    }

    /// Pauses, longer each time. While only the learner can continue, the worker looks only for the next checkpoint.
    fn rest(&mut self, seen: &SeenRun) -> Result<()> {
        let waits_for_others = !self.changed.0.is_empty() || seen.done >= seen.config.train.generations;
        let began = Instant::now();
        loop {
            self.pause = longer(self.pause, self.folder);
            let until = Instant::now() + self.pause;
            while Instant::now() < until {
                if self.observer.interrupted() {
                    return Err(Error::Interrupted);
                }
                thread::sleep(SHORTEST_PAUSE.min(until.saturating_duration_since(Instant::now())));
            }
            if waits_for_others || began.elapsed() >= BETWEEN_REPORTS {
                return Ok(());
            }
            if checkpoint::newest_generation(self.folder)? != seen.done {
                self.pause = Duration::ZERO;
                return Ok(());
            }
        }
    }

    /// Reads the state of the run.
    fn look(&self) -> Result<SeenRun> {
        let config = settings_of(self.folder)?;
        if let Some((_, learner)) = Learner::newest(self.folder)? {
            learner.expect(&self.rules.identity)?;
        }
        let newest = checkpoint::latest(self.folder)?;
        if let Some(newest) = &newest {
            let place = newest.path.display().to_string();
            let expected = newest.manifest.game.expect(&self.rules.identity, &place);
            expected.map_err(|error| Error::Config(error.to_string()))?;
        }
        let done = newest.as_ref().map_or(0, |checkpoint| checkpoint.manifest.generation);
        Ok(SeenRun { config, lineage: Lineage::of(self.folder)?, newest, done })
    }

    fn is_finished(&mut self, seen: &SeenRun) -> Result<bool> {
        if seen.done < seen.config.train.generations {
            return Ok(false);
        }
        // another worker may still be judging; a worker that does not judge need not wait for it
        Ok(!self.worker.judges || self.unjudged(seen, |_| true)?.is_empty())
    }

    /// Plays missing shards of the first generation that lacks some; returns whether it played anything.
    fn play(&mut self, seen: &SeenRun) -> Result<bool> {
        let SeenRun { config, done, .. } = seen;
        let last = (done + 1 + config.selfplay.ahead).min(config.train.generations);
        if !self.worker.plays {
            return Ok(false);
        }
        for number in done + 1..=last {
            // without a network, only a generation that needs none can be played
            if number > 1 && is_bootstrap(config, 1) && seen.newest.is_none() {
                break;
            }
            let open = self.open(config, number)?;
            if open.is_empty() {
                self.changed.0.clear();
            } else {
                let chosen = self.chosen(number, &open, shards_of(config, number));
                return if chosen.is_empty() {
                    Ok(false)
                } else {
                    self.play_some(seen, number, chosen).map(|()| true)
                };
            }
        }
        Ok(false)
    }

    /// Returns the shards of a generation that no worker has committed, each with the number that a commit would get.
    fn open(&mut self, config: &Config, number: usize) -> Result<BTreeMap<usize, usize>> {
        let listing = Listing::of(self.folder, number)?;
        for (shard, offers) in listing.shards() {
            for attempt in 1..=offers.rejected {
                self.hear(&listing, (number, shard, attempt))?;
            }
        }
        let finished = store::finished_in(self.folder, number)?;
        let all = 0..shards_of(config, number);
        let offers = all.filter(|shard| !finished.contains(shard)).map(|shard| (shard, listing.shard(shard)));
        let open = offers.filter(|(_, offers)| offers.is_open());
        Ok(open.map(|(shard, offers)| (shard, offers.rejected + 1)).collect())
    }

    /// Notes a rejection by the learner. Fails if it means that this worker cannot help.
    fn hear(&mut self, listing: &Listing, place: (usize, usize, usize)) -> Result<()> {
        if !self.heard.insert(place) {
            return Ok(());
        }
        let rejection = read_rejection(listing, place.1, place.2)?;
        if rejection.worker != self.worker.identity {
            return Ok(());
        }
        self.rejected += 1;
        let reason = format!("the learner does not take this worker's games: {}", rejection.reason);
        if rejection.is_final {
            return Err(Error::Config(reason));
        }
        if self.rejected < REJECTIONS { Ok(()) } else { Err(Error::Data(reason)) }
    }

    /// Chooses the open shards that this worker plays now, in the order in which it plays them.
    fn chosen(&mut self, number: usize, open: &BTreeMap<usize, usize>, all: usize) -> Vec<(usize, usize)> {
        if self.changed.0 != *open {
            self.changed = (open.clone(), Instant::now());
        }
        let tried = |shard: &usize| self.failures.get(&(number, *shard)).copied().unwrap_or(0) < ATTEMPTS;
        let can: Vec<usize> = open.keys().copied().filter(tried).collect();
        let first = self.worker.number.map_or(self.shift % all.max(1), |(index, _)| index);
        let mut own = can.clone();
        match self.worker.number {
            Some((index, workers)) => own.retain(|shard| shard % workers == index % workers),
            None => own.sort_by_key(|shard| (shard + all - first) % all),
        }
        let in_shards = |took: Duration| PATIENCE.max(took.mul_f64(PATIENCE_IN_SHARDS));
        let patience = self.of_a_shard.map_or(PATIENCE_WITHOUT_ANY, in_shards);
        if own.is_empty() && !can.is_empty() && self.changed.1.elapsed() >= patience {
            // idle workers must not all take the same shard
            own.push(can[first % can.len()]);
        }
        own.truncate(if self.is_careful { 1 } else { own.len() });
        own.into_iter().map(|shard| (shard, open[&shard])).collect()
    }

    /// Plays the chosen shards.
    fn play_some(&mut self, seen: &SeenRun, number: usize, chosen: Vec<(usize, usize)>) -> Result<()> {
        let SeenRun { config, lineage, newest, done } = seen;
        let assignment = Assignment::of(config, number, *done);
        let archive = Archive { rules: self.rules, config, folder: self.folder, lineage };
        let data = newest.as_ref().and_then(|newest| newest.manifest.data.as_ref());
        let is_given_up = |name: &str| data.is_some_and(|data| data.has_given_up(name));
        let starts = archive.starts(number, *done, is_given_up)?;
        let source = assignment.source(|| self.net(seen))?;
        let tensors = match (is_bootstrap(config, number), &self.model) {
            (false, Some((_, _, tensors))) => tensors.clone(),
            _ => String::new(),
        };
        let generation = assignment.generation(&self.rules.identity, starts);
        storage::create_folder_in(self.folder, &folder_of(self.folder, number))?;
        let about = Circumstances {
            evaluator: &assignment.evaluator,
            tensors: &tensors,
            origin: Origin::of(config).to_string(),
            game: &self.rules.identity,
            instructions: CpuNet::instructions(config.net.precision),
            worker: &self.worker.identity,
        };
        let claims = Claims::new(Job {
            folder: self.folder,
            config,
            observer: self.observer,
            about,
            number,
            model: *done,
            chosen,
            grace: self.worker.grace,
            is_alone: self.worker.is_alone,
        });
        let source = (&source, config.selfplay.cache);
        let played = catch_unwind(AssertUnwindSafe(|| {
            self.rules.game.play_shards(&generation, &claims, source, &|progress| {
                self.observer.event(Event::Selfplay(progress));
                claims.continues()
            })
        }));
        let message = match played {
            Ok(Ok(())) => None,
            // a store that refuses access is not a fault of the shard
            Ok(Err(error @ (Error::Interrupted | Error::Io { .. } | Error::Config(_)))) => return Err(error),
            Ok(Err(error)) => Some(error.to_string()),
            Err(panic) => Some(text_of(&*panic)),
        };
        let (begun, of_a_shard) = claims.end();
        self.of_a_shard = of_a_shard.or(self.of_a_shard);
        match message {
            Some(message) => self.failed(number, &begun, message),
            None => {
                self.is_careful = false;
                Ok(())
            }
        }
    }

    /// Leaves a note about the shard that failed. If it is unclear which shard failed, the worker
    /// then plays one shard at a time.
    fn failed(&mut self, number: usize, unfinished: &[usize], message: String) -> Result<()> {
        let [shard] = unfinished else {
            if self.is_careful {
                return Err(Error::Data(message));
            }
            self.is_careful = true;
            return Ok(());
        };
        let times = self.failures.entry((number, *shard)).or_default();
        *times += 1;
        self.observer.event(Event::Warning(format!(
            "shard {shard} of generation {number} could not be played: {message}"
        )));
        let failure = WorkerFailure { message, worker: self.worker.identity.clone(), times: *times };
        failure.write(&Listing::of(self.folder, number)?, *shard)
    }

    /// Returns the network of the newest checkpoint, or the one with which the run begins.
    fn net(&mut self, seen: &SeenRun) -> Result<SharedNet> {
        if let Some((generation, net, _)) = &self.model
            && *generation == seen.done
        {
            return Ok(net.clone());
        }
        let (network, tensors) = match &seen.newest {
            Some(newest) => (newest.network()?, newest.tensors_sha256().to_string()),
            None => {
                let shape = self.rules.identity.shape;
                (Network::new(&seen.config.net, shape, seen.config.seed), String::new())
            }
        };
        let net = SharedNet::on(&network, &seen.config.net, self.processor)?;
        self.model = Some((seen.done, net.clone(), tensors));
        Ok(net)
    }

    /// Returns the generations for which `is_meant` holds and that no worker has judged.
    fn unjudged(&mut self, seen: &SeenRun, is_meant: impl Fn(usize) -> bool) -> Result<Vec<usize>> {
        let config = &seen.config;
        let mut unjudged = Vec::new();
        let has_games = |number: usize| config.evaluation_games(number) + config.rating_games(number) > 0;
        // generations may be judged in any order, because a judge may be gone
        for number in (1..=seen.done).filter(|number| is_meant(*number) && has_games(*number)) {
            if self.judged.contains(&number) {
                continue;
            }
            if Judged::exists(self.folder, number)? {
                self.judged.insert(number);
            } else {
                unjudged.push(number);
            }
        }
        if !unjudged.is_empty() {
            // if one process trained and judged a generation alone, only the metrics show that it is judged
            let games = History::of(self.folder)?.games;
            let is_known = |number: &usize| games.has_evaluated(*number) || games.has_rated(*number);
            self.judged.extend(unjudged.iter().copied().filter(is_known));
            unjudged.retain(|number| !is_known(number));
        }
        Ok(unjudged)
    }

    /// Judges a generation that no worker has judged. With `first`, judges only a generation that this worker must
    /// judge before it plays. Returns whether a generation was judged.
    fn judge(&mut self, seen: &SeenRun, first: bool) -> Result<bool> {
        if !self.worker.judges || seen.done == 0 {
            return Ok(false);
        }
        let is_first = |number: usize| match self.worker.number {
            _ if !self.worker.plays => true,
            Some((index, workers)) => number % workers == index % workers,
            None => false,
        };
        let unjudged = self.unjudged(seen, |number| !first || is_first(number))?;
        let Some(&number) = unjudged.first() else { return Ok(false) };
        let checkpoint = Checkpoint::open_folder(&checkpoint::path_of(self.folder, number))?;
        let judge = Judge {
            rules: self.rules,
            config: &seen.config,
            folder: self.folder,
            processor: self.processor,
            opponent: self.opponent,
            observer: self.observer,
        };
        let games = History::of(self.folder)?.games;
        let mut lines = Vec::new();
        judge.judge(&checkpoint, [false; 2], &games, &mut |line| {
            lines.push(line);
            Ok(())
        })?;
        let counts = Judged { lines, worker: self.worker.identity.clone() }.commit(self.folder, number)?;
        self.observer.event(Event::Judged { generation: number, counts });
        Ok(true)
    }
}

/// Returns the message of a panic.
fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_string()
}
