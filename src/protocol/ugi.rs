//! UGI, the Universal Game Interface: the protocol of match runners for any game (K. Pearce's `ugi.md` in cutegames;
//! UCI with `query`).
//!
//! Player 1 is [`Player::First`]. A UGI move is one action, whoever moves next: each jump of a chain is a move, and so
//! is a pass. `fen` is the game's own position text. `score cp` is the expected result for the player to move in
//! hundredths of a win, from -100 to 100. `query moves` (an extension) lists the legal actions. A line that cannot be
//! understood is answered with `info string` and has no effect. After a refused `position` there is no position,
//! because a runner that does not know the rules must not mistake answers about the previous position for answers about
//! this one. Until a `position` is accepted or a new game begins, `go` is answered with `bestmove none`, `query
//! gameover` with `true`, and other queries with `none`, each with an explanation. The answer to `query gameover` is
//! `true` because cutegames ends a game for no other reason. `go` always gets its `bestmove`, unless the agent's
//! network fails. In this case a last `info string error: ...` is sent, and the conversation ends.

use std::time::Duration;

use super::clock::Clock;
use super::thinker::{DEFAULT_HASH, Limits, Report, Task};
use super::{MEBIBYTE, Order, Protocol, Reply, Urgency};
use crate::any::AnyGame;
use crate::config::limits::{MAX_HASH, MAX_SIMULATIONS, MAX_THREADS};
use crate::error::quoted;
use crate::game::{Game, Outcome, Player};
use crate::program::Program;
use crate::session::Session;

/// The default for the time lost outside the search for each action, in milliseconds.
const DEFAULT_OVERHEAD: i64 = 10;

/// The message about the state after a refused `position`.
const NO_POSITION: &str = "there is no position until one is accepted or a new game begins";

/// The longest message, in characters.
const LONGEST: usize = 400;
/// The largest number of wrong words that are reported for one `go`.
const COMPLAINTS: usize = 4;
/// The time limit for searches after `quit`, when they must "finish normally" and the program must end "as soon as
/// possible".
const QUIT_TIME: Duration = Duration::from_secs(1);

/// The numbers that `setoption` can set: name, default, minimum, and maximum.
const SPINS: [(&str, i64, i64, i64); 4] = [
    ("Hash", DEFAULT_HASH as i64, 1, MAX_HASH as i64),
    ("MoveOverhead", DEFAULT_OVERHEAD, 0, 10_000),
    ("Simulations", 0, 0, MAX_SIMULATIONS as i64),
    ("Threads", 1, 1, MAX_THREADS as i64),
];
const PONDER: &str = "Ponder";

/// A conversation in UGI.
#[derive(Debug)]
pub struct Ugi {
    name: String,
    session: Session<AnyGame>,
    /// Whether there is no position because the last `position` was refused.
    lost: bool,
    /// The values of [`SPINS`].
    spins: [i64; 4],
    ponder: bool,
    /// Whether `uginewgame` was received and no search has begun since.
    fresh: bool,
}

impl Ugi {
    /// Returns a conversation with an engine named `name`.
    pub fn new(game: AnyGame, name: impl Into<String>) -> Ugi {
        let spins = SPINS.map(|(_, default, ..)| default);
        Ugi { name: name.into(), session: Session::new(game), lost: false, spins, ponder: false, fresh: true }
    }

    /// Sets the default of the option Threads.
    pub fn with_threads(mut self, threads: usize) -> Ugi {
        self.spins[3] = threads as i64;
        self
    }

    /// Sets the default of the option Hash, the memory of the tree in MiB.
    pub fn with_hash(mut self, mebibytes: usize) -> Ugi {
        self.spins[0] = mebibytes as i64;
        self
    }

    fn introduce(&self) -> Reply {
        let mut lines = vec![
            format!("id name {}", self.name),
            format!("id author the {} developers", Program::current().title()),
        ];
        for ((name, _, smallest, largest), default) in SPINS.into_iter().zip(self.spins) {
            lines
                .push(format!("option name {name} type spin default {default} min {smallest} max {largest}"));
        }
        lines.push(format!("option name {PONDER} type check default false"));
        lines.push("ugiok".into());
        Reply::new(lines, Order::Nothing)
    }

    fn set_option(&mut self, words: &[&str]) -> Reply {
        let (name, value) = match words.iter().position(|word| *word == "value") {
            Some(at) => (&words[..at], words[at + 1..].join(" ")),
            None => (words, String::new()),
        };
        let name = match name {
            ["name", rest @ ..] if !rest.is_empty() => rest.join(" "),
            _ => return info("usage: setoption name NAME value VALUE"),
        };
        if name.eq_ignore_ascii_case(PONDER) {
            match value.to_ascii_lowercase().as_str() {
                "true" => self.ponder = true,
                "false" => {
                    self.ponder = false;
                    return Reply::order(Order::Stop);
                }
                _ => return info(&format!("option {PONDER}: {} is neither true nor false", quoted(&value))),
            }
            return Reply::nothing();
        }
        let Some(at) = SPINS.iter().position(|(known, ..)| name.eq_ignore_ascii_case(known)) else {
            return info(&format!("unknown option {}: see the list after ugi", quoted(&name)));
        };
        let (option, _, smallest, largest) = SPINS[at];
        match value.parse() {
            Ok(number) if (smallest..=largest).contains(&number) => self.spins[at] = number,
            _ => {
                return info(&format!(
                    "option {option}: {} is not a number from {smallest} to {largest}",
                    quoted(&value)
                ));
            }
        }
        Reply::nothing()
    }

    /// Handles `startpos|fen TEXT [moves ...]`. If any of these words is wrong, there is no position afterward.
    fn position(&mut self, words: &[&str]) -> Reply {
        let result = self.read_position(words);
        self.lost = result.is_err();
        match result {
            Ok(session) => {
                self.session = session;
                Reply::order(Order::Follow(self.task(Limits::default())))
            }
            Err(problem) => info(&problem),
        }
    }

    /// Returns the game given by the words after `position`, or what is wrong with them.
    fn read_position(&self, words: &[&str]) -> Result<Session<AnyGame>, String> {
        let (place, moves) = match words.iter().position(|word| *word == "moves") {
            Some(at) => (&words[..at], &words[at + 1..]),
            None => (words, &words[..0]),
        };
        let mut session = Session::new(self.session.game().clone());
        match place {
            ["startpos"] => {}
            ["fen", text @ ..] => match session.game().parse_state(&text.join(" ")) {
                Ok(state) => session.restart(state),
                Err(error) => return Err(format!("invalid position: {error}; {NO_POSITION}")),
            },
            _ => {
                let usage = "usage: position startpos [moves ...] or position fen TEXT [moves ...]";
                return Err(format!("{usage}; {NO_POSITION}"));
            }
        }
        for (ply, text) in moves.iter().enumerate() {
            if session.play_text(text).is_err() {
                return Err(format!("move {} ({}) is not legal; {NO_POSITION}", ply + 1, quoted(text)));
            }
        }
        Ok(session)
    }

    /// Returns the task to search the current position.
    fn task(&mut self, limits: Limits) -> Task {
        let mut task = Task::of(&self.session, limits);
        task.memory = self.spins[0] as usize * MEBIBYTE;
        task.ponder = self.ponder;
        task.fresh = std::mem::take(&mut self.fresh);
        task.threads = Some(self.spins[3] as usize);
        task
    }

    fn query(&self, what: &[&str]) -> Reply {
        let (game, state) = (self.session.game(), self.session.state());
        let outcome = game.outcome(state);
        let response = match what {
            [known @ ("p1turn" | "gameover" | "moves" | "result")] if self.lost => {
                // the game cannot continue from here, and with any other answer the runner would continue forever
                let response = if *known == "gameover" { "response true" } else { "response none" };
                return Reply::new(vec![message(NO_POSITION), response.into()], Order::Nothing);
            }
            ["p1turn"] => (game.to_move(state) == Player::First).to_string(),
            ["gameover"] => outcome.is_some().to_string(),
            ["moves"] => {
                let legal = game.legal(state);
                legal.iter().map(|action| game.action_text(state, *action)).collect::<Vec<_>>().join(" ")
            }
            ["result"] => match outcome {
                None => "none",
                Some(Outcome::Draw) => "draw",
                Some(Outcome::Win(Player::First)) => "p1win",
                Some(Outcome::Win(Player::Second)) => "p2win",
            }
            .into(),
            _ => {
                return info(&format!(
                    "unknown query {}: use p1turn, gameover, result, or moves",
                    quoted(&what.join(" "))
                ));
            }
        };
        Reply::line(format!("response {response}"))
    }

    fn go(&mut self, words: &[&str]) -> Reply {
        if self.lost {
            return Reply::new(vec![message(NO_POSITION), "bestmove none".into()], Order::Nothing);
        }
        if self.session.game().outcome(self.session.state()).is_some() {
            return Reply::line("bestmove none");
        }
        let (limits, mut lines) = self.limits(words);
        if lines.len() > COMPLAINTS {
            let more = lines.len() - COMPLAINTS;
            lines.truncate(COMPLAINTS);
            lines.push(message(&format!("go: {more} more words are ignored")));
        }
        Reply::new(lines, Order::Search(self.task(limits)))
    }

    /// Returns the limits given by the words after `go`, and messages about words without a meaning.
    fn limits(&self, words: &[&str]) -> (Limits, Vec<String>) {
        let mut limits = Limits::default();
        let mut complaints = Vec::new();
        // the time left and the increment for each player, then the number of actions to go
        let mut clocks = [(None, 0u64); 2];
        let mut to_go = None;
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            if word == "infinite" {
                limits.infinite = true;
                continue;
            }
            let keywords = [
                "nodes",
                "depth",
                "movetime",
                "movestogo",
                "p1time",
                "wtime",
                "p2time",
                "btime",
                "p1inc",
                "winc",
                "p2inc",
                "binc",
            ];
            if !keywords.contains(&word) {
                complaints.push(message(&format!("go: {} is ignored", quoted(word))));
                continue;
            }
            let value = words.next().copied().unwrap_or_default();
            let Some(number) = number(value) else {
                let what = format!("go: {word} {} is not a number and is ignored", quoted(value));
                complaints.push(message(&what));
                continue;
            };
            match word {
                "nodes" => limits.simulations = Some(number as usize),
                "depth" => limits.depth = Some(number as usize),
                "movetime" => limits.time = Some(Duration::from_millis(number)),
                "movestogo" => to_go = Some(number as usize).filter(|to_go| *to_go > 0),
                "p1time" | "wtime" => clocks[0].0 = Some(number),
                "p2time" | "btime" => clocks[1].0 = Some(number),
                "p1inc" | "winc" => clocks[0].1 = number,
                _ => clocks[1].1 = number,
            }
        }
        let to_move = self.session.game().to_move(self.session.state());
        let (left, increment) = clocks[to_move.index()];
        limits.clock = left.map(|left| Clock {
            left: Duration::from_millis(left),
            increment: Duration::from_millis(increment),
            to_go,
            overhead: Duration::from_millis(self.spins[1] as u64),
        });
        let unlimited = limits == Limits::default();
        if unlimited && self.spins[2] > 0 {
            limits.simulations = Some(self.spins[2] as usize);
        }
        (limits, complaints)
    }
}

impl Protocol for Ugi {
    fn line(&mut self, line: &str) -> Reply {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] => Reply::nothing(),
            ["ugi"] => self.introduce(),
            ["isready"] => Reply::line("readyok"),
            ["uginewgame"] => {
                self.session = Session::new(self.session.game().clone());
                (self.lost, self.fresh) = (false, true);
                Reply::order(Order::Follow(self.task(Limits::default())))
            }
            ["setoption", rest @ ..] => self.set_option(rest),
            ["position", rest @ ..] => self.position(rest),
            ["query", rest @ ..] => self.query(rest),
            ["go", rest @ ..] => self.go(rest),
            ["stop"] => Reply::order(Order::Stop),
            ["quit"] => Reply::order(Order::Quit(QUIT_TIME)),
            [unknown, ..] => info(&format!("unknown command {}", quoted(unknown))),
        }
    }

    fn urgency(&self, line: &str) -> Urgency {
        match line.split_whitespace().next() {
            Some("isready" | "stop" | "quit") => Urgency::Now,
            Some("go" | "position" | "uginewgame" | "setoption") => Urgency::AfterSearch,
            _ => Urgency::InTurn,
        }
    }

    fn progress(&self, report: &Report) -> Option<String> {
        let milliseconds = report.elapsed.as_millis();
        let rate = report.simulations as f64 / report.elapsed.as_secs_f64().max(1e-6);
        Some(format!(
            "info depth {} nodes {} time {milliseconds} nps {:.0} score cp {:.0} pv {}",
            report.line.len(),
            report.simulations,
            rate,
            // + 0.0 turns a negative zero into zero
            (100.0 * report.value).round() + 0.0,
            report.line.join(" ")
        ))
    }

    fn found(&mut self, report: &Report) -> Reply {
        let best = report.line.first().expect("a line begins with its action");
        let lines = self.progress(report).into_iter().chain([format!("bestmove {best}")]);
        Reply::new(lines.collect(), Order::Nothing)
    }

    fn failed(&mut self, problem: &str) -> Vec<String> {
        vec![message(&format!("error: {problem}"))]
    }

    fn refuse(&mut self, problem: &str) -> Reply {
        // the unreadable line may have been a `position`
        self.lost = true;
        info(&format!("{problem}; {NO_POSITION}"))
    }
}

/// Parses a whole number. A negative number, such as the time of a clock that has run out, becomes zero. A number that
/// is too large becomes the largest possible one.
fn number(text: &str) -> Option<u64> {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    match text.parse::<i64>() {
        Ok(number) => Some(number.max(0) as u64),
        Err(error) if *error.kind() == PosOverflow => Some(i64::MAX as u64),
        Err(error) if *error.kind() == NegOverflow => Some(0),
        Err(_) => None,
    }
}

fn info(what: &str) -> Reply {
    Reply::line(message(what))
}

fn message(what: &str) -> String {
    // messages in the protocol cannot have several lines, and nobody reads a very long message
    let line: String = what.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect();
    format!("info string {line}")
}
