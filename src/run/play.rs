//! The self-play of a generation: its games are played, or read back if an interrupted run had already finished them.
//!
//! Input: the network that plays. Output: shards in the run's folder, samples in the window, and a line of metrics.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::lines::{Line, SelfplayLine};
use super::{Event, Run, rounded, signs};
use crate::config::{Bootstrap, Config, DeviceKind, RootKind};
use crate::error::{Error, Result};
use crate::game::{Game, Outcome};
use crate::net::evaluator::SharedNet;
use crate::net::source::Source;
use crate::replay::place::{self, Origin, shards_of};
use crate::replay::sample::Replayed;
use crate::replay::store::{self, Shard};
use crate::replay::window::Window;
use crate::selfplay::starts::Starts;
use crate::selfplay::{Bulk, Generation};
use crate::train::Trainer;

impl Run<'_> {
    /// Plays a generation and adds it to the window; returns the number of its positions.
    pub(super) fn play(&mut self, trainer: &Trainer, window: &mut Window, number: usize) -> Result<usize> {
        let (games, simulations) = place::games_of(self.config, number);
        let bootstrap = place::is_bootstrap(self.config, number).then_some(self.config.selfplay.bootstrap);
        let evaluator = match bootstrap {
            None => format!("generation {}", number - 1),
            Some(Bootstrap::Rollout) => format!("rollout:{simulations}"),
            Some(Bootstrap::Uniform) => format!("uniform:{simulations}"),
        };
        let config = &bootstrap.map_or(self.config.clone(), |kind| bootstrap_config(self.config, kind));
        let identity = &self.rules.identity;
        let starts = self.starts(number, games)?;
        let generation = Generation { config, identity, number, games, simulations, evaluator, starts };
        self.observer.event(Event::Generation { number, generations: self.config.train.generations, games });
        let (finished, playing) = match bootstrap {
            Some(Bootstrap::Rollout) => self.fill(&generation, &Source::Rollout)?,
            Some(Bootstrap::Uniform) => self.fill(&generation, &Source::Uniform)?,
            None => {
                let net = SharedNet::on(&trainer.snapshot(), &self.config.net, self.processor)?;
                self.fill(&generation, &Source::Net(net))?
            }
        };
        self.take_in(window, number, finished, playing)
    }

    /// The positions where the games of a generation begin.
    fn starts(&self, number: usize, games: usize) -> Result<Starts> {
        let settings = &self.config.selfplay;
        if settings.restart_share + settings.fork_share == 0.0 || number < 2 {
            return Ok(Starts::default());
        }
        let shards = (0..shards_of(self.lineage.config_of(number - 1, self.config), number - 1))
            .filter(|index| !self.is_given_up(&store::shard_name(number - 1, *index)))
            .map(|index| self.read(number - 1, index))
            .collect::<Result<Vec<_>>>()?;
        Starts::draw(self.rules, self.config, (self.config.seed, number, games), &shards)
    }

    /// Adds the games of a generation to the window, and reports how they went and how long playing them took;
    /// returns the number of their positions. The shards in `finished` were read already; `playing` is the time for
    /// the others.
    fn take_in(
        &mut self,
        window: &mut Window,
        number: usize,
        mut finished: BTreeMap<usize, Shard<Replayed>>,
        playing: Duration,
    ) -> Result<usize> {
        let started = Instant::now();
        let (mut positions, mut fresh, mut plies, mut cut_short) = (0, 0, 0, 0);
        let mut outcomes = [0usize; 3];
        let mut endings: BTreeMap<String, usize> = BTreeMap::new();
        for index in 0..shards_of(self.config, number) {
            let found = finished.remove(&index);
            let was_finished = found.is_some();
            let shard = match found {
                Some(shard) => shard,
                None => self.read(number, index)?,
            };
            for (record, found) in shard.records.iter().zip(&shard.found) {
                plies += record.actions.len();
                fresh += if was_finished { 0 } else { record.actions.len() };
                cut_short +=
                    (self.rules.game.about().drawless && record.outcome == Outcome::Draw.id()) as usize;
                let ids = ["first", "second", "draw"];
                outcomes[ids.iter().position(|id| *id == record.outcome).unwrap_or(2)] += 1;
                *endings.entry(found.ending.to_string()).or_default() += 1;
            }
            self.shards.push(shard.info(number, index));
            let split = self.split(shard);
            positions += self.add(window, split);
        }
        let seconds = time_of_all(playing, fresh, plies).map(rounded);
        let seconds = seconds.or_else(|| self.metrics.seconds_before(number));
        let games = place::games_of(self.config, number).0;
        if cut_short > 0 {
            self.observer.event(Event::Warning(format!(
                "{cut_short} of {games} games of generation {number} were cut short after {} actions and count \
                 as draws: this should not happen, look at their records",
                self.rules.game.max_plies()
            )));
        }
        endings.remove("");
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
            window_seconds: rounded(started.elapsed()),
        };
        let played = line.played();
        self.metrics.write(&Line::Selfplay(line))?;
        self.observer.event(Event::Played(played));
        Ok(positions)
    }

    /// Plays the missing games of a generation. Returns the shards that an interrupted run had already finished, and
    /// how long playing took. A shard that is damaged, or that another run played, is played again, with the games
    /// that belong there.
    fn fill(
        &self,
        generation: &Generation,
        source: &Source,
    ) -> Result<(BTreeMap<usize, Shard<Replayed>>, Duration)> {
        let number = generation.number;
        let (origin, origins) = (Origin::of(self.config), self.lineage.origins(number, self.config));
        let mut finished = BTreeMap::new();
        for index in 0..shards_of(self.config, number) {
            let path = store::shard_path(self.folder, number, index);
            if !store::is_finished(&path)? {
                continue;
            }
            let found = self.read(number, index).and_then(|shard| match store::origin(&path)? {
                Some(other) if !origins.contains(&other) => {
                    let place = path.display();
                    Err(Error::Foreign(format!(
                        "{place}: it was played by another run ({other}), not by this one ({origin})"
                    )))
                }
                _ => Ok(shard),
            });
            match found {
                Ok(shard) => {
                    finished.insert(index, shard);
                }
                Err(error @ (Error::Data(_) | Error::Foreign(_))) => self.set_aside(&path, &error)?,
                Err(error) => return Err(error),
            }
        }
        self.held.check()?;
        let (bulk, started) = (Mutex::new(Bulk::default()), Instant::now());
        let source = (source, self.config.selfplay.cache);
        self.rules.game.play_generation(generation, self.folder, &origin, source, &|progress| {
            *bulk.lock().expect("no panic while counting") = progress.bulk;
            self.observer.event(Event::Selfplay(progress));
            !self.observer.interrupted()
        })?;
        let playing = started.elapsed();
        let bulk = bulk.into_inner().expect("no panic while counting");
        if self.config.net.device != DeviceKind::Cpu
            && let Some(says) = signs::badly_fed(&bulk)
        {
            self.observer.event(Event::Sign(says));
        }
        Ok((finished, playing))
    }

    fn set_aside(&self, path: &Path, error: &Error) -> Result<()> {
        let bad = store::set_aside(path)?;
        self.observer
            .event(Event::Warning(format!("{error}; set aside as {}, not trained on", bad.display())));
        Ok(())
    }
}

/// How long all actions of a generation take if `fresh` of them took `playing`; `None` if `fresh` is 0.
fn time_of_all(playing: Duration, fresh: usize, all: usize) -> Option<Duration> {
    (fresh > 0).then(|| playing.mul_f64(all as f64 / fresh as f64))
}

/// The settings for games played before there is a network.
fn bootstrap_config(config: &Config, kind: Bootstrap) -> Config {
    let mut config = config.clone();
    // these simulations are cheap, and priors that know nothing cannot be surprised
    config.selfplay.fast_simulations = 0;
    config.selfplay.surprise_weight = 0.0;
    // a solver at a leaf takes several times as long as a playout from it
    config.search.leaf_nodes = 0;
    // without a network there are no values that a Gumbel root could rely on
    config.search.root = RootKind::Puct;
    if kind == Bootstrap::Rollout {
        // with equal priors and noisy playouts, root noise would drown the policy targets
        config.search.noise_fraction = 0.0;
    }
    config
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
