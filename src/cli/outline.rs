//! The summary that `petteia train` prints before it begins: the planned work, the expected time and disk space, and
//! the note that it may be interrupted.
//!
//! Input: the settings and, on request, a measurement of this machine. Output: lines of text and the forecast of the
//! run.

use std::path::Path;

use super::calibration::Calibration;
use super::forecast::{Costs, Forecast, Plan};
use super::progress::roughly;
use super::text::counted;
use crate::config::{Bootstrap, Config};
use crate::error::Result;
use crate::run::History;

/// Measures this machine; the argument tells whether the bootstrap is still ahead.
type MeasureCosts<'a> = Box<dyn Fn(bool) -> Result<Calibration> + Send + 'a>;

/// A run before it begins.
pub struct Outline<'a> {
    /// Its settings.
    pub config: &'a Config,
    /// Its folder.
    pub folder: &'a Path,
    /// Whether the user agrees to resume without missing files.
    pub accept_missing: bool,
    /// The number of worker threads.
    pub threads: usize,
    /// See [`MeasureCosts`].
    pub measure: MeasureCosts<'a>,
}

impl Outline<'_> {
    /// The lines for a new run.
    pub fn beginning(&self) -> Vec<String> {
        let Config { game, net, train, .. } = self.config;
        let head = format!(
            "{}: {} into {}, network {}x{}, {}",
            game.id,
            counted(train.generations, "generation", "generations"),
            self.folder.display(),
            net.filters,
            net.blocks,
            counted(self.threads, "thread", "threads")
        );
        [vec![head], self.selfplay(), self.matches()].concat()
    }

    /// The lines for a run that resumes after `done` generations; `positions` is the number of those in its window, if
    /// it was read.
    pub fn resuming(&self, done: usize, positions: Option<usize>) -> Vec<String> {
        let (all, folder) = (self.config.train.generations, self.folder.display());
        if done == 0 {
            // it began with the weights of another run
            let window = positions
                .filter(|positions| *positions > 0)
                .map(|positions| format!("  in the window: {}", counted(positions, "position", "positions")));
            return self.beginning().into_iter().chain(window).collect();
        }
        if done >= all {
            return vec![format!("{folder} is already complete: there is nothing left to train")];
        }
        let window = positions.map_or(String::new(), |positions| {
            format!(" with {} in the window,", counted(positions, "position", "positions"))
        });
        vec![format!(
            "{}: resumed after generation {done} of {all} in {folder},{window} {}",
            self.config.game.id,
            counted(self.threads, "thread", "threads"),
        )]
    }

    /// The mean number of searched actions per game in the newest generation played by the network.
    fn plies_so_far(&self) -> Option<f64> {
        let settings = &self.config.selfplay;
        let first = if settings.bootstrap_games > 0 { 2 } else { 1 };
        let history = History::of(self.folder).ok()?;
        let (generation, line) = history.selfplay.newest()?;
        let last = Some(line.played()).filter(|played| generation >= first && played.games > 0)?;
        // on average an opening has half of its longest length
        let opening = (settings.random_plies + settings.policy_plies) as f64 / 2.0;
        let unsearched = opening * (1.0 - f64::from(settings.opening_share));
        Some(last.plies as f64 / last.games as f64 - unsearched)
    }

    fn selfplay(&self) -> Vec<String> {
        let Config { selfplay, search, train, .. } = self.config;
        let searches = match selfplay.fast_simulations {
            0 if search.first_simulations > 0 => {
                format!("{} to {} simulations per action", search.first_simulations, search.simulations)
            }
            0 => format!("{} simulations per action", search.simulations),
            fast => format!("{} or {fast} simulations per action", search.simulations),
        };
        let network = format!("{} games each by the network, {searches}", selfplay.games);
        if selfplay.bootstrap_games == 0 {
            return vec![format!("  self-play: {network}")];
        }
        let by = match selfplay.bootstrap {
            Bootstrap::Rollout => "random playouts",
            Bootstrap::Uniform => "the rules alone",
        };
        let first = format!(
            "  generation 1: {} by {by}, {} per action",
            counted(selfplay.bootstrap_games, "game", "games"),
            counted(selfplay.bootstrap_simulations, "simulation", "simulations")
        );
        match train.generations {
            1 => vec![first],
            2 => vec![first, format!("  generation 2: {}", network.replace(" each", ""))],
            all => vec![first, format!("  generations 2 to {all}: {network}")],
        }
    }

    fn matches(&self) -> Vec<String> {
        let arena = &self.config.arena;
        let mut lines = Vec::new();
        if arena.games + arena.final_games > 0 {
            let at_the_end = match arena.final_games {
                0 => "none at the end".to_string(),
                games => format!("{games} at the end"),
            };
            lines.push(format!(
                "  evaluation: {} against {} after each generation, {at_the_end}",
                counted(arena.games, "game", "games"),
                arena.opponent
            ));
        }
        if arena.ladder_games > 0 && self.config.train.generations > 1 {
            let last = match arena.final_games {
                0 => String::new(),
                games => format!(", {games} at the end"),
            };
            lines.push(format!(
                "  rating: {} games of each generation against earlier ones{last}",
                arena.ladder_games
            ));
        }
        lines
    }

    /// Measures this machine for the rest of a run after `done` generations. Returns the forecast, and its text.
    pub fn forecast(&self, done: usize) -> (Forecast, Option<String>) {
        let plan = Plan::new(self.config, self.threads);
        let measured = (done < plan.generations).then(|| (self.measure)(done == 0)).and_then(Result::ok);
        let Some(Calibration { costs, mut is_random, position_bytes, checkpoint_bytes }) = measured else {
            return (Forecast::new(plan, Costs::default()), None);
        };
        let mut forecast = Forecast::new(plan, costs);
        forecast.resume(done);
        if let Some(plies) = self.plies_so_far() {
            forecast.know_plies(plies);
            is_random = false;
        }
        let checkpoints = (self.config.train.generations - done) as f64 * checkpoint_bytes;
        let bytes = forecast.positions() * position_bytes + checkpoints;
        let line = format!(
            "  about {}{} and {} of disk{}; Ctrl-C is safe: the same command resumes",
            roughly(forecast.left(0.0)),
            if done > 0 { " more" } else { "" },
            megabytes(bytes),
            if is_random { ", if games last as long as random ones" } else { "" },
        );
        (forecast, Some(line))
    }
}

/// A size rounded to about two digits.
fn megabytes(bytes: f64) -> String {
    match bytes / 1e6 {
        megabytes @ 9500.0.. => format!("{:.0} GB", megabytes / 1e3),
        megabytes @ 950.0.. => format!("{:.1} GB", megabytes / 1e3),
        megabytes @ 95.0.. => format!("{:.0} MB", (megabytes / 10.0).round() * 10.0),
        megabytes => format!("{:.0} MB", megabytes.ceil()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder without metrics: one that a user may have, such as runs/phage, would change the forecast.
    const FOLDER: &str = "no-such/phage";

    fn outline(sets: &[&str], look: impl Fn(&Outline)) {
        let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
        let config = Config::parse_kept("test", "game.id = 'phage'", &sets).unwrap();
        let costs = Costs {
            bootstrap: 1e-6,
            selfplay: 1e-4,
            step: 0.1,
            agent: 0.01,
            evaluation: 0.01,
            plies: 30.0,
            spent: [1.0; 2],
        };
        let measure = Box::new(move |_| {
            Ok(Calibration { costs, is_random: false, position_bytes: 50.0, checkpoint_bytes: 1e6 })
        });
        look(&Outline {
            config: &config,
            folder: Path::new(FOLDER),
            accept_missing: false,
            threads: 2,
            measure,
        });
    }

    #[test]
    fn a_run_announces_its_plan() {
        outline(&[], |outline| {
            assert_eq!(
                outline.beginning(),
                [
                    "phage: 10 generations into no-such/phage, network 32x4, 2 threads",
                    "  generation 1: 512 games by random playouts, 200 simulations per action",
                    "  generations 2 to 10: 512 games each by the network, 64 simulations per action",
                    "  evaluation: 20 games against rollout:400 after each generation, 100 at the end",
                    "  rating: 20 games of each generation against earlier ones, 100 at the end",
                ]
            );
            let forecast = outline.forecast(0).1.unwrap();
            assert_eq!(
                forecast,
                "  about 25 min and 18 MB of disk; Ctrl-C is safe: the same command resumes"
            );
            assert!(outline.beginning().iter().chain([&forecast]).all(|line| line.len() <= 80));
        });
        let sets = ["selfplay.bootstrap_games=0", "arena.games=0", "arena.final_games=0"];
        outline(&sets, |outline| {
            assert_eq!(
                outline.beginning()[1..],
                [
                    "  self-play: 512 games each by the network, 64 simulations per action",
                    "  rating: 20 games of each generation against earlier ones",
                ]
            );
        });
    }

    #[test]
    fn a_resumed_run_states_its_progress() {
        outline(&[], |outline| {
            assert_eq!(
                outline.resuming(4, Some(61234)),
                [
                    "phage: resumed after generation 4 of 10 in no-such/phage, with 61234 positions in the window, 2 threads"
                ]
            );
            let more = outline.forecast(4).1.unwrap();
            assert_eq!(
                more,
                "  about 15 min more and 11 MB of disk; Ctrl-C is safe: the same command resumes"
            );
            assert!(outline.resuming(10, None)[0].contains("already complete"));
            assert!(outline.forecast(10).1.is_none());
        });
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(
            [2e5, 27.3e6, 234.6e6, 1.26e9, 1.2e11].map(megabytes),
            ["1 MB", "28 MB", "230 MB", "1.3 GB", "120 GB"]
        );
    }
}
