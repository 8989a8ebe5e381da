//! The display of a training run: a summary at the start, a progress bar on a terminal or plain lines elsewhere, and a
//! table row for each generation. Everything goes to standard error, in lines that fit the terminal.
//!
//! Input: the events of the run. Output: text. The remaining time comes from [`Forecast`].

use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use terminal_size::{Width, terminal_size_of};

use super::forecast::Forecast;
use super::help::with_own_name;
use super::log::Log;
use super::outline::Outline;
use super::progress::{cpu_duration, duration, rating_parts, roughly, verdict};
use super::table::{Column, Table};
use super::text::{draws_bars, hanging, harmless};
use crate::run::{Event, Observer, Played};
use crate::selfplay;
use crate::train::loss::Losses;

/// The minimum time between progress lines without a terminal.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);
/// The minimum time between text updates on a terminal.
const BAR_INTERVAL: Duration = Duration::from_millis(100);
/// Nothing is drawn until this many times the duration of the last drawing has passed, so that drawing costs at most a
/// hundredth of the time.
const REST: u32 = 100;
/// The minimum width of the bar if the terminal has [`WITH_BAR`] columns.
const BAR: usize = 8;
/// The minimum width of a terminal with room for a bar next to the text.
const WITH_BAR: usize = 60;
/// The assumed width of a terminal if its width is unknown or the output is not a terminal.
const USUAL_WIDTH: usize = 80;
/// The indentation of lines about a generation, in columns.
const MARGIN: usize = 4;
/// The number of steps of the bar.
const BAR_STEPS: u64 = 1000;
/// An explanation of the losses that is printed when training begins.
const LOSSES: [&str; 2] = [
    "policy loss: falls toward its floor, the entropy of the search targets",
    "value loss: may rise without harm, as games between better players are closer",
];

/// Shows the events of a run.
pub(super) struct Screen<'a> {
    bar: Option<ProgressBar>,
    state: Mutex<ScreenState<'a>>,
    log: Mutex<Log>,
}

struct ScreenState<'a> {
    outline: Outline<'a>,
    /// The forecast, which is created when the run begins.
    forecast: Option<Forecast>,
    /// Whether the forecast is based on a measurement.
    measured: bool,
    started: Instant,
    phase_started: Instant,
    generation_started: Instant,
    /// When text was last shown, and how long that took.
    shown: (Instant, Duration),
    generation: usize,
    generations: usize,
    /// The number of games in the current generation.
    games: usize,
    played: Option<Played>,
    steps: usize,
    losses: Losses,
    /// The CPU seconds of the current generation, when they are known.
    cpu_seconds: Option<f64>,
    /// The table of generations; created with the first row.
    table: Option<Table>,
}

/// The current phase of the run.
struct ScreenPhase<'a> {
    name: &'a str,
    done: usize,
    all: usize,
    unit: &'a str,
    details: Vec<String>,
}

impl Screen<'_> {
    /// Makes the display for a run that is about to begin.
    pub(super) fn new(outline: Outline) -> Screen {
        let bar = draws_bars().then(|| {
            let style =
                ProgressStyle::with_template("{prefix} {wide_bar} {msg}").expect("the template is constant");
            let bar = ProgressBar::new(BAR_STEPS).with_style(style.progress_chars("=> "));
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(8));
            bar
        });
        let now = Instant::now();
        let log = Mutex::new(Log::new(outline.folder));
        let state = ScreenState {
            outline,
            forecast: None,
            measured: false,
            started: now,
            phase_started: now,
            generation_started: now,
            shown: (now, Duration::ZERO),
            generation: 0,
            generations: 0,
            games: 0,
            played: None,
            steps: 0,
            losses: Losses::default(),
            cpu_seconds: None,
            table: None,
        };
        Screen { bar, state: Mutex::new(state), log }
    }

    /// Clears the bar.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// Adds a text that is printed elsewhere to the run's log.
    pub(super) fn note(&self, text: &str) {
        self.log.lock().expect("no panic while logging").line(text);
    }

    /// Prints a permanent line, wrapped between words, with continuation lines indented by `indent`.
    fn line(&self, text: &str, indent: usize) {
        self.note(text);
        self.show_line(text, indent);
    }

    fn show_line(&self, text: &str, indent: usize) {
        let text = hanging(text, indent, Some(self.width()));
        match &self.bar {
            Some(bar) => bar.println(text),
            None => print_line(&text),
        }
    }

    /// Prints a sentence about a step before the run begins.
    pub(super) fn say(&self, text: &str) {
        self.sentence(&with_own_name(text.to_string()));
    }

    /// Shows how many files have been copied before the run begins.
    pub(super) fn copying(&self, done: usize, all: usize) {
        let mut state = self.state.lock().expect("no panic while drawing");
        self.show(&mut state, ScreenPhase { name: "copying", done, all, unit: "files", details: Vec::new() });
    }

    /// Prints a permanent sentence; without a terminal, it is not wrapped, so that it can be searched for.
    fn sentence(&self, text: &str) {
        self.note(text);
        match &self.bar {
            Some(_) => self.show_line(text, 2),
            None => print_line(text),
        }
    }

    /// Prints a match result below its generation; if it does not fit on one line, the Elo part gets its own line.
    fn result(&self, text: &str) {
        let fits = MARGIN + text.len() <= self.width();
        let (games, elo) = text.split_once("): ").filter(|_| !fits).unwrap_or((text, ""));
        let margin = " ".repeat(MARGIN);
        self.line(&format!("{margin}{games}{}", if elo.is_empty() { "" } else { "):" }), MARGIN + 2);
        if !elo.is_empty() {
            self.line(&format!("{margin}  {elo}"), MARGIN + 2);
        }
    }

    /// Prints a sentence about a generation below its row.
    fn remark(&self, text: &str) {
        self.line(&format!("{}note: {text}", " ".repeat(MARGIN)), MARGIN + 2);
    }

    /// Returns the width of a line in columns.
    fn width(&self) -> usize {
        let size = self.bar.as_ref().and_then(|_| terminal_size_of(std::io::stderr()));
        size.map_or(USUAL_WIDTH, |(Width(columns), _)| columns as usize)
    }

    /// Prints the plan, and measures how long it may take.
    fn begin(&self, state: &mut ScreenState, done: usize, lines: Vec<String>) {
        lines.iter().for_each(|line| self.line(line, MARGIN));
        let (forecast, text) = state.outline.forecast(done);
        state.measured = !text.is_empty();
        text.iter().for_each(|line| self.line(line, MARGIN));
        state.forecast = Some(forecast);
    }

    /// Updates the bar and the text next to it: progress, remaining time, and details, as far as they fit. Without a
    /// terminal, prints a line from time to time. Waits for [`REST`] times the duration of the last drawing.
    fn show(&self, state: &mut ScreenState, phase: ScreenPhase) {
        let interval = match &self.bar {
            Some(_) if phase.done >= phase.all => Duration::ZERO,
            Some(_) => BAR_INTERVAL,
            None => PLAIN_INTERVAL,
        };
        let (shown, took) = state.shown;
        if shown.elapsed() < interval.max(REST * took) {
            return;
        }
        let begun = Instant::now();
        self.draw(state, phase);
        state.shown = (Instant::now(), begun.elapsed());
    }

    fn draw(&self, state: &ScreenState, phase: ScreenPhase) {
        let place = match state.generations {
            0 => phase.name.to_string(),
            all => format!("{}/{all} {}", state.generation, phase.name),
        };
        let mut parts = vec![format!("{}/{} {}", phase.done, phase.all, phase.unit)];
        parts.extend(state.time_left());
        parts.extend(phase.details);
        match &self.bar {
            Some(bar) => {
                let width = self.width();
                let bar_width = if width < WITH_BAR { 0 } else { BAR };
                bar.set_message(fitting(&parts, width.saturating_sub(place.len() + bar_width + 2)));
                bar.set_prefix(place);
                let part = state.forecast.as_ref().map_or(0.0, Forecast::part);
                bar.set_position((part * BAR_STEPS as f64) as u64);
            }
            None => {
                let place = format!("{}{place}: ", if state.generations > 0 { "generation " } else { "" });
                let line = format!("{place}{}", fitting(&parts, USUAL_WIDTH - place.len()));
                self.note(&line);
                print_line(&line);
            }
        }
    }

    /// Prints the row of the generation that was just saved.
    fn row(&self, state: &mut ScreenState) {
        if state.table.is_none() {
            let table = Table::new(columns(), Some(self.width()));
            self.line(&table.head(), 0);
            state.table = Some(table);
        }
        let Losses { policy, policy_floor, value, .. } = state.losses;
        let played =
            |count: fn(Played) -> usize| state.played.map(count).map_or("?".into(), |n| n.to_string());
        let cells = [
            state.generation.to_string(),
            played(|played| played.games),
            played(|played| played.positions),
            state.steps.to_string(),
            format!("{policy:.3}"),
            format!("{policy_floor:.3}"),
            format!("{value:.3}"),
            duration(state.generation_started.elapsed().as_secs_f64()),
            state.cpu_seconds.map_or("?".into(), cpu_duration),
        ];
        self.line(&state.table.as_ref().map(|table| table.line(&cells)).unwrap_or_default(), 0);
    }

    fn handle(&self, state: &mut ScreenState, event: Event) {
        match event {
            Event::Resumed { done, generations, positions } => {
                (state.generation, state.generations) = (done, generations);
                self.begin(state, done, state.outline.resuming(done, Some(positions)));
            }
            Event::Generation { number, generations, games } => {
                if state.forecast.is_none() {
                    self.begin(state, 0, state.outline.beginning());
                }
                (state.generation, state.generations, state.games) = (number, generations, games);
                (state.played, state.steps) = (None, 0);
                state.generation_started = Instant::now();
                state.phase_started = state.generation_started;
            }
            Event::Selfplay(progress) => self.show_selfplay(state, &progress),
            Event::Played(played) => state.played = Some(played),
            Event::Step { done, steps } => self.show_training(state, done, steps),
            Event::Training { losses, .. } => state.losses = losses,
            Event::Took { cpu_seconds } => state.cpu_seconds = cpu_seconds,
            Event::Saved(_) => self.row(state),
            Event::Evaluating { standing, games: all } => {
                let done = standing.games;
                self.show(
                    state,
                    ScreenPhase { name: "arena", done, all, unit: "games", details: Vec::new() },
                );
            }
            // the few games of an evaluation are part of the rating; alone, they would be misleading
            Event::Evaluated { .. } if state.rates() && state.generation < state.generations => {}
            Event::Evaluated { opponent, result, .. } => {
                self.result(&format!("against {opponent}: {}", verdict(&result)));
            }
            Event::Rating { standing, games: all } => {
                let done = standing.games;
                self.show(
                    state,
                    ScreenPhase { name: "rating", done, all, unit: "games", details: Vec::new() },
                );
            }
            Event::Rated(rating) => rating_parts(&rating).iter().for_each(|part| self.result(part)),
            Event::Sign(text) | Event::Waiting(text) => self.remark(&text),
            // events of a worker, which has no screen like this
            Event::Committed { .. } | Event::Judged { .. } => {}
            Event::Warning(text) => self.sentence(&with_own_name(format!("warning: {text}"))),
        }
    }

    fn show_training(&self, state: &mut ScreenState, done: usize, all: usize) {
        // the explanation is printed once, in the first generation of a session
        if state.table.is_none() && state.steps == 0 {
            LOSSES.iter().for_each(|line| self.line(line, MARGIN));
        }
        state.steps = all;
        let Losses { policy, policy_floor, value, .. } = state.losses;
        let named = [("policy loss", policy), ("value loss", value), ("policy floor", policy_floor)];
        let known = named.iter().filter(|(_, loss)| *loss > 0.0);
        let details = known.map(|(name, loss)| format!("{name} {loss:.3}")).collect();
        self.show(state, ScreenPhase { name: "training", done, all, unit: "steps", details });
    }

    fn show_selfplay(&self, state: &mut ScreenState, progress: &selfplay::Progress) {
        let seconds = state.phase_started.elapsed().as_secs_f64().max(1e-3);
        let rate = |count: usize, unit: &str| format!("{:.0} {unit}/s", count as f64 / seconds);
        let details = vec![
            rate(progress.positions, "positions"),
            rate(progress.evaluations - progress.hits, "evaluations"),
        ];
        let (done, all) = (progress.games, state.games);
        self.show(state, ScreenPhase { name: "self-play", done, all, unit: "games", details });
    }
}

impl ScreenState<'_> {
    /// Whether the run rates its generations.
    fn rates(&self) -> bool {
        self.outline.config.arena.ladder_games > 0
    }

    /// Returns the remaining time; `None` while too little is known.
    fn time_left(&self) -> Option<String> {
        let forecast = self.forecast.as_ref()?;
        let known = self.measured || forecast.part() > 0.05;
        known.then(|| format!("{} left", roughly(forecast.left(self.started.elapsed().as_secs_f64()))))
    }
}

impl Observer for Screen<'_> {
    fn event(&self, event: Event) {
        // the log stays unchanged if the run is refused or already finished
        let is_finished = matches!(event, Event::Resumed { done, generations, .. } if done == generations);
        if !is_finished && !matches!(event, Event::Warning(_)) {
            self.log.lock().expect("no panic while logging").begin();
        }
        let mut guard = match event {
            // threads that play do not wait for a thread that draws, because another progress event will follow
            Event::Selfplay(progress) if progress.in_flight > 0 => match self.state.try_lock() {
                Ok(guard) => guard,
                Err(_) => return,
            },
            _ => self.state.lock().expect("no panic while drawing"),
        };
        let state = &mut *guard;
        let now = state.started.elapsed().as_secs_f64();
        if let Some(forecast) = &mut state.forecast {
            forecast.observe(now, &event);
            return self.handle(state, event);
        }
        // the first event creates the forecast
        let first = event.clone();
        self.handle(state, event);
        let now = state.started.elapsed().as_secs_f64();
        if let Some(forecast) = &mut state.forecast {
            forecast.observe(now, &first);
        }
    }

    fn interrupted(&self) -> bool {
        super::interrupted()
    }

    fn accepts_missing(&self) -> bool {
        self.state.lock().expect("no panic while drawing").outline.accept_missing
    }
}

/// Returns the columns of the table of generations; on narrow terminals, the CPU time and some of the first columns are
/// omitted.
fn columns() -> Vec<Column> {
    vec![
        Column::number("gen", 3, 0),
        Column::number("games", 6, 3),
        Column::number("positions", 9, 2),
        Column::number("steps", 6, 1),
        Column::number("policy loss", 11, 0),
        Column::number("floor", 5, 0),
        Column::number("value loss", 10, 0),
        Column::number("time", 11, 0),
        Column::number("CPU time", 11, 4),
    ]
}

/// Joins as many of the first `parts` as fit into `width` columns.
fn fitting(parts: &[String], width: usize) -> String {
    let fits = |shown: &usize| parts[..*shown].join(", ").len() <= width;
    parts[..(1..=parts.len()).rev().find(fits).unwrap_or(0)].join(", ")
}

/// Prints a line to standard error. Errors are ignored: a run continues even if its output cannot be written.
fn print_line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", harmless(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_parts_have_priority() {
        let parts = ["12/40 steps", "3 min 20 s left", "policy loss 1.234"].map(String::from);
        assert_eq!(fitting(&parts, 80), "12/40 steps, 3 min 20 s left, policy loss 1.234");
        assert_eq!(fitting(&parts, 28), "12/40 steps, 3 min 20 s left");
        assert_eq!(fitting(&parts, 27), "12/40 steps");
        assert_eq!(fitting(&parts, 10), "");
    }

    #[test]
    fn rows_fit() {
        for width in [60, 80] {
            let table = Table::new(columns(), Some(width));
            let cells =
                ["100", "4096", "1234567", "12345", "2.345", "2.100", "0.712", "23 min 59 s", "45 min 59 s"];
            let line = table.line(&cells.map(String::from));
            assert!(table.head().len() <= width && line.len() <= width, "{line}");
            assert!(table.head().contains("policy loss floor value loss"), "{}", table.head());
        }
        assert!(LOSSES.iter().all(|line| line.len() <= USUAL_WIDTH));
    }
}
