//! Progress of long work: a bar on a terminal, plain lines elsewhere. Everything goes to standard error.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::arena::sprt::{SprtResult, Verdict};
use crate::arena::{Faults, MatchResult};
use crate::gate::Decision;
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
    /// How much of the generation under way is done, 0..1.
    part: f64,
    games: usize,
    losses: String,
}

impl Screen {
    /// A screen for a run that begins now.
    pub fn new() -> Screen {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{prefix} {bar:16} {wide_msg}")
                .expect("the template is constant");
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
            part: 0.0,
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
            None => say(text),
        }
    }

    /// Moves the bar; without a terminal, prints a line now and then.
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
                say(&format!("{prefix} {message}{}", state.time_left()));
            }
            None => {}
        }
    }
}

impl State {
    /// From the part of this session's generations that is done; the halves of a generation are self-play and
    /// training.
    fn time_left(&self) -> String {
        let Some(first) = self.first_generation else { return String::new() };
        let done = (self.generation - first) as f64 + self.part;
        let all = (self.generations - first + 1) as f64;
        if done < 0.02 {
            return String::new();
        }
        let left = self.started.elapsed().as_secs_f64() * (all - done) / done;
        format!(", about {} left", duration(left))
    }
}

/// A line on standard error; whether anyone still reads it is no concern of a run.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

impl Observer for Screen {
    fn event(&self, event: Event) {
        let mut guard = self.state.lock().expect("no panic while drawing");
        let state = &mut *guard;
        match event {
            Event::Resumed(done, all, positions) => {
                (state.generation, state.generations) = (done, all);
                self.line(&format!(
                    "resumed after generation {done} with {positions} positions in the window"
                ));
            }
            Event::Generation(number, all, games) => {
                (state.generation, state.generations, state.games) = (number, all, games);
                state.first_generation.get_or_insert(number);
                state.phase_started = Instant::now();
                state.part = 0.0;
            }
            Event::Selfplay(progress) => {
                state.part = progress.games as f64 / state.games.max(1) as f64 / 2.0;
                let seconds = state.phase_started.elapsed().as_secs_f64().max(1e-3);
                let message = format!(
                    "{}/{} games, {:.0} positions/s, {:.0} evaluations/s",
                    progress.games,
                    state.games,
                    progress.positions as f64 / seconds,
                    (progress.evaluations - progress.hits) as f64 / seconds
                );
                self.show(state, "self-play", progress.games, state.games, &message);
            }
            Event::Training(step, steps, losses) => {
                state.part = 0.5 + step as f64 / steps as f64 / 2.0;
                state.losses = format!(
                    "policy loss {:.3} (floor {:.3}), value loss {:.3}",
                    losses.policy, losses.policy_floor, losses.value
                );
                let message = format!("step {step}/{steps}, {}", state.losses);
                self.show(state, "training", step, steps, &message);
            }
            Event::Evaluating(done, all) => {
                state.part = 1.0;
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
            Event::Gating(progress, most) => {
                state.part = 1.0;
                let standing = progress.sprt.map(|sprt| format!(", {}", sprt_standing(&sprt)));
                let message = format!("{}/{most} games{}", progress.games, standing.unwrap_or_default());
                self.show(state, "gate", progress.games, most, &message);
            }
            Event::Gated(generation, decision) => self.line(&gate_line(generation, &decision)),
            Event::Warning(text) => self.line(&format!("warning: {text}")),
        }
    }

    fn interrupted(&self) -> bool {
        super::interrupted()
    }
}

/// A match result in one line.
pub fn verdict(result: &MatchResult) -> String {
    let cut_short = match result.cut_short {
        0 => String::new(),
        games => {
            format!("; WARNING: {games} games were cut short by the limit of actions and count as draws")
        }
    };
    format!(
        "{} wins, {} draws, {} losses in {} games ({} distinct): Elo {:+.0}, 95 % {:+.0} to {:+.0}{cut_short}",
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

/// Games that `agent` lost by forfeit, in one line.
pub fn fault_line(agent: &str, faults: &Faults) -> String {
    let kinds = [
        (faults.crashed, "crashed"),
        (faults.slow, "too slow"),
        (faults.illegal, "illegal answers"),
        (faults.flooded, "wrote too much"),
    ];
    let named: Vec<String> =
        kinds.iter().filter(|(games, _)| *games > 0).map(|(games, kind)| format!("{games} {kind}")).collect();
    let total = faults.total();
    let games = if total == 1 { "game" } else { "games" };
    format!("{agent} lost {total} {games} by its own fault: {}", named.join(", "))
}

/// What the gate said of a generation, in one line.
fn gate_line(generation: usize, decision: &Decision) -> String {
    let (Some(champion), Some(result)) = (decision.champion, &decision.result) else {
        return format!("generation {generation} is the champion: it is the first");
    };
    let says = match decision.promoted {
        true => "is the new champion",
        false => "is not promoted",
    };
    let test = result.sprt.map(|sprt| format!("; {}", sprt_verdict(&sprt, result.games))).unwrap_or_default();
    format!("generation {generation} {says}; against generation {champion}: {}{test}", verdict(result))
}

/// Ratio and bounds of a test.
pub fn sprt_standing(result: &SprtResult) -> String {
    format!("LLR {:.2} ({:.2} to {:.2})", result.llr, result.lower, result.upper)
}

/// A test and its verdict in one line.
pub fn sprt_verdict(result: &SprtResult, games: usize) -> String {
    let sprt = &result.sprt;
    let says = match result.verdict {
        Verdict::H1 => format!("H1 accepted: {:+} Elo rather than {:+}", sprt.elo1, sprt.elo0),
        Verdict::H0 => format!("H0 accepted: {:+} Elo rather than {:+}", sprt.elo0, sprt.elo1),
        Verdict::Undecided => format!("undecided after {games} games"),
    };
    format!(
        "SPRT of {:+} against {:+} Elo (alpha {}, beta {}): {}, {says}",
        sprt.elo0,
        sprt.elo1,
        sprt.alpha,
        sprt.beta,
        sprt_standing(result)
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
