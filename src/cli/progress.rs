//! Progress of long work: a bar on a terminal, plain lines elsewhere. Everything goes to standard error.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::arena::MatchResult;
use crate::pipeline::{Event, Observer};

/// Without a terminal a line is printed at most this often while a phase goes on.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// Shows the events of a run.
pub struct Screen {
    bar: Option<ProgressBar>,
    state: Mutex<State>,
}

struct State {
    started: Instant,
    phase_started: Instant,
    last_plain: Instant,
    generation: usize,
    generations: usize,
    first_generation: Option<usize>,
    games: usize,
    losses: String,
}

impl Screen {
    /// A screen for a run that begins now.
    pub fn new() -> Screen {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style =
                ProgressStyle::with_template("{prefix} {bar:24} {msg}").expect("the template is constant");
            let bar = ProgressBar::new(1).with_style(style.progress_chars("=> "));
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(8));
            bar
        });
        let now = Instant::now();
        let state = State {
            started: now,
            phase_started: now,
            last_plain: now,
            generation: 0,
            generations: 0,
            first_generation: None,
            games: 0,
            losses: String::new(),
        };
        Screen { bar, state: Mutex::new(state) }
    }

    /// Clears the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// A line that stays.
    pub fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => eprintln!("{text}"),
        }
    }

    /// Moves the bar; without a terminal, prints a line now and then and at the phase's end.
    fn show(&self, state: &mut State, phase: &str, done: usize, all: usize, message: &str) {
        let prefix = format!("generation {}/{} {phase:<9}", state.generation, state.generations);
        match &self.bar {
            Some(bar) => {
                bar.set_prefix(prefix);
                bar.set_length(all.max(1) as u64);
                bar.set_position(done as u64);
                bar.set_message(format!("{message}{}", state.time_left()));
            }
            None if state.last_plain.elapsed() >= PLAIN_INTERVAL => {
                state.last_plain = Instant::now();
                eprintln!("{prefix} {message}{}", state.time_left());
            }
            None => {}
        }
    }
}

impl State {
    /// From the mean time of the generations finished since the start, when there is one.
    fn time_left(&self) -> String {
        let done = self.generation.saturating_sub(self.first_generation.unwrap_or(self.generation));
        if done == 0 {
            return String::new();
        }
        // the generation under way counts as half done
        let left = (self.generations - self.generation) as f64 + 0.5;
        let mean = self.started.elapsed().as_secs_f64() / (done as f64 + 0.5);
        format!(", about {} left", duration(mean * left))
    }
}

impl Observer for Screen {
    fn event(&self, event: Event) {
        let mut guard = self.state.lock().expect("no panic while drawing");
        let state = &mut *guard;
        match event {
            Event::Resumed(done, positions) => {
                self.line(&format!(
                    "resumed after generation {done} with {positions} positions in the window"
                ));
            }
            Event::Generation(number, all, games) => {
                (state.generation, state.generations, state.games) = (number, all, games);
                state.first_generation.get_or_insert(number);
                state.phase_started = Instant::now();
            }
            Event::Selfplay(progress) => {
                let seconds = state.phase_started.elapsed().as_secs_f64().max(1e-3);
                let message = format!(
                    "{}/{} games, {:.0} positions/s, {:.0} evaluations/s",
                    progress.games,
                    state.games,
                    progress.positions as f64 / seconds,
                    progress.evaluations as f64 / seconds
                );
                self.show(state, "self-play", progress.games, state.games, &message);
            }
            Event::Training(step, steps, losses) => {
                state.losses = format!(
                    "policy loss {:.3} (floor {:.3}), value loss {:.3}",
                    losses.policy, losses.policy_floor, losses.value
                );
                let message = format!("step {step}/{steps}, {}", state.losses);
                self.show(state, "training", step, steps, &message);
            }
            Event::Evaluating(done, all) => {
                self.show(state, "arena", done, all, &format!("{done}/{all} games"));
            }
            Event::Saved(path) => {
                let took = duration(state.phase_started.elapsed().as_secs_f64());
                self.line(&format!(
                    "generation {}/{}: {}, {took}, saved {}",
                    state.generation,
                    state.generations,
                    state.losses,
                    path.display()
                ));
            }
            Event::Evaluated(generation, opponent, result) => {
                self.line(&format!("generation {generation} against {opponent}: {}", verdict(&result)));
            }
            Event::Warning(text) => self.line(&format!("warning: {text}")),
        }
    }

    fn interrupted(&self) -> bool {
        super::interrupted()
    }
}

/// A match result in one line.
pub fn verdict(result: &MatchResult) -> String {
    format!(
        "{} wins, {} draws, {} losses in {} games ({} distinct): Elo {:+.0}, 95 % {:+.0} to {:+.0}",
        result.wins,
        result.draws,
        result.losses,
        result.games,
        result.distinct_games,
        result.elo,
        result.elo_low,
        result.elo_high
    )
}

/// `75 s`, `3 min 20 s` or `2 h 5 min`.
pub fn duration(seconds: f64) -> String {
    let seconds = seconds.round() as u64;
    match seconds {
        0..=99 => format!("{seconds} s"),
        100..=5999 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}
