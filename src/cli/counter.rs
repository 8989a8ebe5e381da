//! Shows the progress of a command on standard error: as a bar on a terminal, otherwise as a line from time to time.

use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::forecast::BegunGames;
use super::progress::roughly;
use super::text::draws_bars;
use crate::any::AnyGame;
use crate::arena::Standing;
use crate::game::Game;
use crate::random::{Purpose, choose, stream};

/// The time between progress lines if there is no terminal.
const INTERVAL: Duration = Duration::from_secs(10);
/// The time between progress lines about games; a match that takes less time prints none.
const GAMES_INTERVAL: Duration = Duration::from_secs(30);

/// Shows how much of a known amount of work is done.
pub(super) struct Counter {
    bar: Option<ProgressBar>,
    all: u64,
    unit: &'static str,
    interval: Duration,
    /// The mean number of chosen actions in a random game, if games are counted.
    plies: f64,
    began: Instant,
    shown: Mutex<Instant>,
}

/// The number of random games whose mean length is the assumed length of a game until some games have ended.
const RANDOM: u64 = 16;

/// The number of steps of a bar.
const STEPS: u64 = 1000;

impl Counter {
    /// Makes a counter from 0 to `all`.
    pub(super) fn new(all: u64, unit: &'static str) -> Counter {
        let bar = draws_bars().then(|| {
            let style = ProgressStyle::with_template("{bar:24} {msg}").expect("the template is constant");
            ProgressBar::new(STEPS).with_style(style)
        });
        let now = Instant::now();
        Counter { bar, all, unit, interval: INTERVAL, plies: 0.0, began: now, shown: Mutex::new(now) }
    }

    /// Makes the counter of a match with this many games.
    pub(super) fn of_games(games: usize) -> Counter {
        let mut counter = Counter::new(games as u64, "games");
        counter.interval = GAMES_INTERVAL;
        counter
    }

    /// Makes the counter of a match of `game` with this many games, each with an opening.
    pub(super) fn of_match(game: &AnyGame, games: usize, opening_plies: usize) -> Counter {
        let plies: usize = (0..RANDOM).map(|number| random_game(game, number)).sum();
        let chosen = plies as f64 / RANDOM as f64 - opening_plies as f64;
        let mut counter = Counter::of_games(games);
        counter.plies = chosen.max(1.0);
        counter
    }

    /// Shows that `done` units are finished; `about` is added to the text.
    pub(super) fn show(&self, done: u64, about: &str) {
        self.show_part(done, done as f64, 0.0, about);
    }

    /// Calls `print`, which prints on standard output, while the bar is hidden.
    pub(super) fn hidden_while<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Shows the progress of a match.
    pub(super) fn show_match(&self, standing: &Standing, about: &str) {
        let begun = match standing.playing {
            0 => String::new(),
            playing => format!(", {playing} more begun"),
        };
        let kept = standing.kept as f64;
        self.show_part(standing.games as u64, kept + worth(standing, self.plies), kept, &(begun + about));
    }

    /// Shows the progress; `part` also counts work in progress, and `kept` is the part that took no time because it was
    /// read from a file.
    fn show_part(&self, done: u64, part: f64, kept: f64, about: &str) {
        let all = self.all as f64;
        let left = if part > kept {
            let seconds = self.began.elapsed().as_secs_f64() * (all - part).max(0.0) / (part - kept);
            format!(", {} left", roughly(seconds))
        } else {
            String::new()
        };
        if let Some(bar) = &self.bar {
            bar.set_position((STEPS as f64 * part / all.max(1.0)) as u64);
            return bar.set_message(format!("{done}/{} {}{about}{left}", self.all, self.unit));
        }
        let Ok(mut shown) = self.shown.try_lock() else { return };
        if shown.elapsed() >= self.interval {
            *shown = Instant::now();
            // standard error may be closed
            let _ = writeln!(anstream::stderr(), "{done} of {} {}{about}{left}", self.all, self.unit);
        }
    }
}

/// Returns the length of a random game.
fn random_game(game: &AnyGame, number: u64) -> usize {
    let (mut state, mut random) = (game.initial(), stream(0, Purpose::Opening, &[number]));
    let mut plies = 0;
    while game.outcome(&state).is_none() {
        let action = choose(&mut random, &game.legal(&state));
        game.play(&mut state, action);
        plies += 1;
    }
    plies
}

/// Returns the work since the match began as a number of whole games, if random games have `plies` actions.
fn worth(standing: &Standing, plies: f64) -> f64 {
    let begun = BegunGames::of_match(standing);
    begun.worth(begun.length(plies))
}

impl Drop for Counter {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games::connect_four::ConnectFour;

    #[test]
    fn games_in_progress_count_in_part() {
        let standing = |games, playing, actions, unfinished| {
            let kept = 2;
            Standing { games: games + kept, kept, playing, actions, unfinished, sprt: None }
        };
        assert_eq!(worth(&standing(0, 10, 0, 0), 30.0), 0.0);
        assert_eq!(worth(&standing(4, 0, 120, 0), 30.0), 4.0);
        // ten games, each halfway through the length of a random game
        let begun = worth(&standing(0, 10, 150, 150), 30.0);
        assert!((4.5..5.5).contains(&begun), "{begun}");
        // the games have 30 actions, and ten of them are halfway; the length of random games does not matter
        for plies in [20.0, 50.0] {
            let half = worth(&standing(40, 10, 1350, 150), plies);
            assert!((44.4..45.6).contains(&half), "{half}");
        }
        // the games in progress have already lasted longer than the finished games, so they must end soon
        let nearly = worth(&standing(2, 10, 310, 290), 20.0);
        assert!((10.0..12.0).contains(&nearly), "{nearly}");
        assert!((9..43).contains(&random_game(&AnyGame::of(ConnectFour), 3)));
    }
}
