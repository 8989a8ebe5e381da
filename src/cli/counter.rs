//! The progress of a command that counts: a bar on a terminal, otherwise a line from time to time. On standard error.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// The time between lines without a terminal.
const INTERVAL: Duration = Duration::from_secs(10);
/// The same for games; short matches print none.
const GAMES_INTERVAL: Duration = Duration::from_secs(30);

/// Shows how much is done.
pub struct Counter {
    bar: Option<ProgressBar>,
    all: u64,
    unit: &'static str,
    interval: Duration,
    shown: Mutex<Instant>,
}

impl Counter {
    /// Nothing of `all` is done yet.
    pub fn new(all: u64, unit: &'static str) -> Counter {
        let bar = std::io::stderr().is_terminal().then(|| {
            let template = format!("{{bar:24}} {{pos}}/{{len}} {unit}{{msg}}, {{eta}} left");
            let style = ProgressStyle::with_template(&template).expect("units are plain words");
            ProgressBar::new(all).with_style(style)
        });
        Counter { bar, all, unit, interval: INTERVAL, shown: Mutex::new(Instant::now()) }
    }

    /// Of a match of so many games.
    pub fn of_games(games: usize) -> Counter {
        let mut counter = Counter::new(games as u64, "games");
        counter.interval = GAMES_INTERVAL;
        counter
    }

    /// This much is done; `about` says of what.
    pub fn show(&self, done: u64, about: &str) {
        if let Some(bar) = &self.bar {
            bar.set_position(done);
            return bar.set_message(about.to_string());
        }
        let Ok(mut shown) = self.shown.try_lock() else { return };
        if shown.elapsed() >= self.interval {
            *shown = Instant::now();
            // standard error may be closed
            let _ = writeln!(anstream::stderr(), "{done} of {} {}{about}", self.all, self.unit);
        }
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
