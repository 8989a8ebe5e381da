//! The self-play of a generation. Games that an interrupted session finished are read back instead of played.
//!
//! Input: the network that plays. Output: shards in the run's folder, samples in the window, and a line of metrics.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::gathered::Gathered;
use super::run::{Role, Run};
use crate::config::DeviceKind;
use crate::error::Result;
use crate::game::{Game, Outcome};
use crate::net::evaluator::SharedNet;
use crate::net::source::Source;
use crate::replay::place::{self, Origin, shards_of};
use crate::replay::record::Record;
use crate::replay::store;
use crate::replay::window::Window;
use crate::run::event::Event;
use crate::run::metrics::lines::{Line, SelfplayLine};
use crate::run::metrics::signs;
use crate::run::metrics::stopwatch::{PartTimer, Took, rounded};
use crate::run::plan::assignment::Assignment;
use crate::run::work::listing::Listing;
use crate::selfplay::{Bulk, Generation, Shards};
use crate::train::Trainer;

impl Run<'_> {
    /// Plays a generation, or waits until workers have played it, and adds it to the window. Returns the number of its
    /// positions.
    pub(super) fn play(&mut self, trainer: &Trainer, window: &mut Window, number: usize) -> Result<usize> {
        let assignment = Assignment::of(self.config, number, number - 1);
        let (games, generations) = (assignment.games, self.config.train.generations);
        self.observer.event(Event::Generation { number, generations, games });
        let gathered = match self.role {
            Role::Both => {
                let starts = self.archive().starts(number, number - 1, |name| self.is_given_up(name))?;
                let source = assignment
                    .source(|| SharedNet::on(&trainer.snapshot(), &self.config.net, self.processor))?;
                self.fill(&assignment.generation(&self.rules.identity, starts), &source)?
            }
            Role::Learner => self.gather(number)?,
        };
        self.consume(number, &gathered)?;
        self.take_in(window, number, gathered)
    }

    /// Adds the games of a generation to the window, and reports their results and the time that they took. Returns the
    /// number of their positions. Shards that were not gathered are read from the run's folder.
    fn take_in(&mut self, window: &mut Window, number: usize, mut gathered: Gathered) -> Result<usize> {
        let watch = PartTimer::start();
        let (mut positions, mut fresh, mut plies, mut cut_short) = (0, 0, 0, 0);
        let mut outcomes = [0usize; 3];
        let mut endings: BTreeMap<String, usize> = BTreeMap::new();
        for index in 0..shards_of(self.config, number) {
            if gathered.aside.contains(&index) {
                self.given_up.insert(store::path_in_run(&store::shard_name(number, index)));
                continue;
            }
            let was_finished = gathered.kept.contains(&index);
            let shard = match gathered.shards.remove(&index) {
                Some(shard) => shard,
                None => self.archive().read(number, index)?,
            };
            for (record, replayed) in shard.records.iter().zip(&shard.found) {
                plies += record.actions.len();
                fresh += if was_finished { 0 } else { record.actions.len() };
                let is_cut_short = self.rules.game.about().drawless
                    && record.outcome == Outcome::Draw.id()
                    && record.ended.is_none();
                cut_short += usize::from(is_cut_short);
                let ids = ["first", "second", "draw"];
                outcomes[ids.iter().position(|id| *id == record.outcome).unwrap_or(2)] += 1;
                *endings.entry(replayed.ending.to_string()).or_default() += 1;
            }
            self.shards.push(shard.info(number, index));
            let split = self.split(shard);
            positions += self.add(window, split);
        }
        let all = |took: Duration| time_of_all(took, fresh, plies).map(rounded);
        let [seconds, cpu_seconds] = match all(gathered.took.clock) {
            Some(seconds) => [Some(seconds), gathered.took.cpu.and_then(all)],
            None => self.metrics.seconds_before(number),
        };
        let games = place::games_of(self.config, number).0;
        if cut_short > 0 {
            self.observer.event(Event::Warning(format!(
                "{cut_short} of {games} games of generation {number} were cut short after {} actions and count \
                 as draws: this should not happen; look at their records",
                self.rules.game.max_plies()
            )));
        }
        endings.remove("");
        let reading = watch.took();
        let line = SelfplayLine {
            generation: number,
            games,
            positions,
            plies,
            first: outcomes[0],
            second: outcomes[1],
            draw: outcomes[2],
            endings,
            window: window.len(),
            bootstrap: place::is_bootstrap(self.config, number),
            seconds,
            cpu_seconds,
            window_seconds: reading.seconds(),
            window_cpu_seconds: reading.cpu_seconds(),
        };
        let played = line.played();
        self.metrics.write(&Line::Selfplay(line))?;
        self.observer.event(Event::Played(played));
        Ok(positions)
    }

    /// Plays the missing games of a generation, except for those that workers have committed.
    fn fill(&self, generation: &Generation, source: &Source) -> Result<Gathered> {
        let number = generation.number;
        let mut gathered = self.finished(number)?;
        self.held.check()?;
        let (bulk, watch) = (Mutex::new(Bulk::default()), PartTimer::start());
        let source = (source, self.config.selfplay.cache);
        store::create_generation_folder(self.folder, number)?;
        loop {
            self.absorb(number, &mut gathered)?;
            let own = Own::new(self, number, &gathered);
            self.rules.game.play_shards(generation, &own, source, &|progress| {
                *bulk.lock().expect("no panic while counting") = progress.bulk;
                self.observer.event(Event::Selfplay(progress));
                !self.observer.interrupted()
            })?;
            if own.is_all() {
                break;
            }
        }
        let own = watch.took();
        gathered.took =
            Took { cpu: own.cpu.zip(gathered.cpu_of_workers()).map(|(own, others)| own + others), ..own };
        let bulk = bulk.into_inner().expect("no panic while counting");
        if self.config.net.device != DeviceKind::Cpu
            && let Some(sign) = signs::badly_fed(&bulk)
        {
            self.observer.event(Event::Sign(sign));
        }
        Ok(gathered)
    }
}

/// The shards that this process plays itself: those that no worker has committed by the time their games would begin.
struct Own<'a> {
    run: &'a Run<'a>,
    number: usize,
    origin: Origin,
    /// The shards that are missing.
    missing: Vec<usize>,
    /// The number of missing shards considered so far.
    begun: AtomicUsize,
    /// The number of considered shards that were left to workers.
    left: AtomicUsize,
    /// The number of games in shards that are not missing.
    kept: usize,
}

impl<'a> Own<'a> {
    fn new(run: &'a Run, number: usize, gathered: &Gathered) -> Own<'a> {
        let is_missing =
            |shard: &usize| !gathered.shards.contains_key(shard) && !gathered.aside.contains(shard);
        let (missing, kept): (Vec<usize>, Vec<usize>) =
            (0..shards_of(run.config, number)).partition(|shard| is_missing(shard));
        Own {
            run,
            number,
            origin: Origin::of(run.config),
            missing,
            begun: AtomicUsize::new(0),
            left: AtomicUsize::new(0),
            kept: kept.iter().map(|shard| place::games_in(run.config, number, *shard)).sum(),
        }
    }

    /// Returns whether all missing shards were played by this process.
    fn is_all(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }
}

impl Shards for Own<'_> {
    fn next(&self) -> Result<Option<usize>> {
        while let Some(&shard) = self.missing.get(self.begun.fetch_add(1, Ordering::Relaxed)) {
            // without workers the folder does not exist, and the listing is empty
            let listing = Listing::of(self.run.folder, self.number)?;
            if listing.shard(shard).is_open() {
                return Ok(Some(shard));
            }
            self.left.fetch_add(1, Ordering::Relaxed);
        }
        Ok(None)
    }

    fn played(&self, shard: usize, records: Vec<Record>) -> Result<()> {
        let path = store::shard_path(self.run.folder, self.number, shard);
        store::write_shard(&path, &records, Some(&self.origin))
    }

    fn kept(&self) -> usize {
        self.kept
    }
}

/// Estimates the time that all actions of a generation take if `fresh` of them took `playing`; `None` if `fresh` is 0.
fn time_of_all(playing: Duration, fresh: usize, all: usize) -> Option<Duration> {
    (fresh > 0).then(|| playing.mul_f64(all as f64 / fresh as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_of_an_interrupted_generation_take_as_long_as_the_others() {
        let second = Duration::from_secs(1);
        assert_eq!(time_of_all(second, 25, 100), Some(4 * second));
        assert_eq!(time_of_all(second, 100, 100), Some(second));
        assert_eq!(time_of_all(second, 0, 100), None);
    }
}
