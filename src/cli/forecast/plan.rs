//! The amount of work in a run, computed from its settings: games, simulations, steps, and the number of threads that
//! share them.

use std::ops::Range;

use crate::config::Config;
use crate::replay::place::games_of;

/// The plan of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The total number of generations.
    pub generations: usize,
    /// The games of the first generation, if no network plays them.
    pub bootstrap: Option<Games>,
    /// The games by the network in the last generation.
    pub selfplay: Games,
    /// For each generation, the sum over all earlier generations of the simulations per action of games by the
    /// network, averaged over full and fast searches.
    searches: Vec<f64>,
    /// Games that one thread plays at the same time.
    pub shard: usize,
    /// Threads of self-play.
    pub players: usize,
    /// Threads of everything else.
    pub threads: usize,
    /// Optimizer steps per position.
    pub steps_per_position: f64,
    /// Games of the evaluation after each generation.
    pub evaluation: usize,
    /// Games of the evaluation after the last one.
    pub final_evaluation: usize,
    /// Games of each generation against earlier ones.
    pub rating: usize,
    /// Random actions at the start of a game of a match.
    pub opening_plies: usize,
}

/// The self-play games of a generation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Games {
    /// The number of games.
    pub games: usize,
    /// Simulations per action, averaged over full and fast searches.
    pub simulations: f64,
    /// The share of the searched positions that are trained on.
    pub trained: f64,
}

impl Plan {
    /// The plan of a run with these settings on this many threads.
    pub fn new(config: &Config, threads: usize) -> Plan {
        let (play, arena) = (&config.selfplay, &config.arena);
        let trained = if play.fast_simulations > 0 { play.full_share as f64 } else { 1.0 };
        let averaged = |full: usize| trained * full as f64 + (1.0 - trained) * play.fast_simulations as f64;
        let bootstrap = Games {
            games: play.bootstrap_games,
            simulations: play.bootstrap_simulations as f64,
            trained: 1.0,
        };
        let mut sum = 0.0;
        let mut before = |generation: usize| {
            sum += averaged(games_of(config, generation).1);
            sum
        };
        let by_generation = (1..=config.train.generations).map(&mut before);
        let searches: Vec<f64> = std::iter::once(0.0).chain(by_generation).collect();
        Plan {
            generations: config.train.generations,
            bootstrap: (bootstrap.games > 0).then_some(bootstrap),
            selfplay: Games { games: play.games, simulations: averaged(config.search.simulations), trained },
            searches,
            shard: play.batch,
            // in bulk one shard is played after another, each on all cores
            players: if config.net.in_bulk() { 1 } else { threads },
            threads,
            steps_per_position: config.train.samples_per_position as f64 / config.train.batch as f64,
            evaluation: arena.games,
            final_evaluation: arena.final_games,
            rating: arena.ladder_games,
            opening_plies: arena.opening_plies,
        }
    }

    /// The self-play games of a generation.
    pub fn games(&self, generation: usize) -> Games {
        let by_network = || {
            let planned = self.mean_simulations(generation..generation + 1);
            Games { simulations: planned.unwrap_or(self.selfplay.simulations), ..self.selfplay }
        };
        self.bootstrap.filter(|_| generation == 1).unwrap_or_else(by_network)
    }

    /// The mean simulations per action in these generations; `None` if there are none, or none that are planned.
    pub fn mean_simulations(&self, generations: Range<usize>) -> Option<f64> {
        let before = |generation: usize| self.searches.get(generation.checked_sub(1)?).copied();
        let sum = before(generations.end)? - before(generations.start)?;
        (!generations.is_empty()).then(|| sum / generations.len() as f64)
    }

    /// The number of portions into which these games of self-play are divided: threads share those of the last
    /// shards.
    pub fn jobs(&self, games: usize) -> usize {
        let shards = games.div_ceil(self.shard);
        match shards % self.players {
            0 => shards,
            last => (shards - last) + self.players.min(games),
        }
    }

    /// The number of games that rate a generation; the last one also plays the final games against the first.
    pub fn rating_games(&self, generation: usize) -> usize {
        match generation {
            1 => 0,
            _ if generation == self.generations && self.rating > 0 => self.rating + self.final_evaluation,
            _ => self.rating,
        }
    }
}

/// An amount of work, divided into equal jobs for several threads.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The amount of work.
    pub units: f64,
    /// The number of jobs.
    pub jobs: usize,
    /// The number of threads.
    pub threads: usize,
}

impl Load {
    /// Work that cannot be divided.
    pub fn alone(units: f64) -> Load {
        Load { units, jobs: 1, threads: 1 }
    }

    /// The time for its first `done` units if a unit takes a thread time 1. During the last jobs, threads may be idle.
    pub fn span(&self, done: f64) -> f64 {
        let last = self.jobs % self.threads;
        let shared = self.units * (self.jobs - last) as f64 / self.jobs.max(1) as f64;
        let remainder = if last > 0 { (done - shared).max(0.0) / last as f64 } else { 0.0 };
        done.min(shared) / self.threads as f64 + remainder
    }

    /// The time for all of it, likewise.
    pub fn whole(&self) -> f64 {
        self.span(self.units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_jobs_leave_threads_idle() {
        let span = |jobs, threads, done| Load { units: 60.0, jobs, threads }.span(done);
        assert_eq!([span(6, 2, 30.0), span(6, 2, 60.0)], [15.0, 30.0]);
        assert_eq!([span(3, 2, 40.0), span(3, 2, 50.0), span(3, 2, 60.0)], [20.0, 30.0, 40.0]);
        assert_eq!([span(1, 8, 30.0), span(1, 8, 60.0), span(8, 16, 60.0)], [30.0, 60.0, 7.5]);
        assert_eq!(Load { units: 0.0, jobs: 0, threads: 2 }.whole(), 0.0);
    }
}
