//! The summary that `petteia train` prints before it begins: the planned work, the expected time and disk space, and a
//! note that the run may be interrupted.
//!
//! Input: the settings and, on request, a measurement of this machine. Output: lines of text and the forecast of the
//! run.

use std::path::Path;

use super::forecast::{Costs, Forecast};
use super::progress::roughly;
use super::text::counted;
use crate::config::{Bootstrap, Config};
use crate::error::Result;
use crate::replay::place::games_of;
use crate::run::History;

/// The factor by which a run may take more or less time than estimated.
const RANGE: f64 = 1.6;

/// Measures this machine; the argument says whether the bootstrap is still to come.
type MeasureCosts<'a> = Box<dyn Fn(bool) -> Result<Costs> + Send + 'a>;

/// A run before it begins.
pub(super) struct Outline<'a> {
    /// The settings of the run.
    pub config: &'a Config,
    /// The folder of the run.
    pub folder: &'a Path,
    /// Whether the user agrees to resume without missing files.
    pub accept_missing: bool,
    /// The number of worker threads.
    pub threads: usize,
    /// See [`MeasureCosts`].
    pub measure: MeasureCosts<'a>,
}

impl Outline<'_> {
    /// Returns the lines for a new run.
    pub(super) fn beginning(&self) -> Vec<String> {
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

    /// Returns the lines for a run that resumes after `done` generations. `positions` is the number of positions in its
    /// window, if the window was read.
    pub(super) fn resuming(&self, done: usize, positions: Option<usize>) -> Vec<String> {
        let (all, folder) = (self.config.train.generations, self.folder.display());
        if done == 0 {
            // the run began with the weights of another run
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

    /// Returns the mean number of actions per game in the newest generation.
    fn plies_so_far(&self) -> Option<f64> {
        let played = History::of(self.folder).ok()?.selfplay.newest()?.1.played();
        (played.games > 0).then(|| played.plies as f64 / played.games as f64)
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
        let (arena, generations) = (&self.config.arena, self.config.train.generations);
        let at_the_end = |none: &str| match arena.final_games {
            0 => none.to_string(),
            games => format!(", {games} at the end"),
        };
        let (after, of) = match arena.every {
            1 => ("after each generation".to_string(), "of each generation".to_string()),
            every => (format!("after every {every} generations"), format!("every {every} generations")),
        };
        let (games, end) = (counted(arena.games, "game", "games"), at_the_end(", none at the end"));
        let evaluation = format!("  evaluation: {games} against {} {after}{end}", arena.opponent);
        let (games, end) = (arena.ladder_games, at_the_end(""));
        let rating = format!("  rating: {games} games {of} against earlier ones{end}");
        let wanted = [arena.games + arena.final_games > 0, games > 0 && generations > 1];
        [evaluation, rating].into_iter().zip(wanted).filter_map(|(line, is)| is.then_some(line)).collect()
    }

    /// Measures this machine for the rest of a run after `done` generations. Returns the forecast, and its text.
    pub(super) fn forecast(&self, done: usize) -> (Forecast, Vec<String>) {
        let (config, all) = (self.config, self.config.train.generations);
        let measured = (done < all).then(|| (self.measure)(done == 0)).and_then(Result::ok);
        let Some(costs) = measured else {
            return (Forecast::new(config, self.threads, Costs::default(), done), Vec::new());
        };
        let costs = costs.with_plies(self.plies_so_far().unwrap_or(costs.plies));
        let forecast = Forecast::new(config, self.threads, costs, done);
        let games: usize = (done + 1..=all).map(|generation| games_of(config, generation).0).sum();
        let records = games as f64 * costs.plies * costs.position_bytes;
        let bytes = records + (all - done) as f64 * costs.checkpoint_bytes;
        let seconds = forecast.left(0.0);
        let line = format!(
            "  about {}{} ({} to {}) and {} of disk",
            roughly(seconds),
            if done > 0 { " more" } else { "" },
            roughly(seconds / RANGE),
            roughly(seconds * RANGE),
            megabytes(bytes),
        );
        (forecast, vec![line, "  Ctrl-C is safe: the same command resumes".into()])
    }
}

/// Formats a size, rounded to about two digits.
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

    /// A folder without metrics. The metrics of a folder that a user may have, such as runs/phage, would change the
    /// forecast.
    const FOLDER: &str = "no-such/phage";

    fn outline(sets: &[&str], look: impl Fn(&Outline)) {
        let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
        let config = Config::parse_kept("test", "game.id = 'phage'", &sets).unwrap();
        let paces = [15e-6, 15e-4, 3.0, 0.15, 0.15];
        let costs = Costs { paces, plies: 30.0, position_bytes: 50.0, checkpoint_bytes: 1e6 };
        let (folder, measure) = (Path::new(FOLDER), Box::new(move |_| Ok(costs)));
        look(&Outline { config: &config, folder, accept_missing: false, threads: 2, measure });
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
            let forecast = outline.forecast(0).1;
            let about = "  about 25 min (15 min to 40 min) and 18 MB of disk";
            assert_eq!(forecast, [about, "  Ctrl-C is safe: the same command resumes"]);
            assert!(outline.beginning().iter().chain(&forecast).all(|line| line.len() <= 80));
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
        outline(&["arena.every=3"], |outline| {
            assert_eq!(
                outline.beginning()[3..],
                [
                    "  evaluation: 20 games against rollout:400 after every 3 generations, 100 at the end",
                    "  rating: 20 games every 3 generations against earlier ones, 100 at the end",
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
                    "phage: resumed after generation 4 of 10 in no-such/phage, with 61234 positions in the window, 2 \
                        threads"
                ]
            );
            let more = &outline.forecast(4).1[0];
            assert_eq!(more, "  about 16 min more (9 min 40 s to 25 min) and 11 MB of disk");
            assert!(outline.resuming(10, None)[0].contains("already complete"));
            assert!(outline.forecast(10).1.is_empty());
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
