//! External programs as agents, over UGI, the Universal Game Interface (kz04px/cutegames, ugi.md).
//!
//! A command line, `ugi:COMMAND`, becomes an agent. While a game lasts, it has its own process; after a normal end, a
//! later game reuses the process. A program that crashes, does not answer in time, gives an illegal answer, or writes
//! too much commits an [`Error::Fault`] and loses the game. The program's process is killed, and the next game starts a
//! new one.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::agent::Agent;
use super::process::{NoAnswer, Process, QUIT_PATIENCE};
use crate::error::{Error, Fault, Input, Result};
use crate::game::{Action, Game};
use crate::session::meant;
use crate::storage;

/// The maximum timeout in seconds.
const MAX_SECONDS: f64 = 86_400.0;

/// The conditions under which external programs play.
#[derive(Debug)]
pub struct Terms {
    /// The arguments of `go`.
    limit: String,
    /// The time per action in `limit`.
    movetime: Duration,
    /// How long to wait for an answer; for an action, this is in addition to `movetime`.
    timeout: Duration,
    /// The file that receives the programs' standard error.
    log: Option<File>,
    /// Whether answers are no longer needed.
    stop: Arc<AtomicBool>,
}

impl Terms {
    /// Returns terms with the limit `go` (`movetime 100`, `depth 5`, or `nodes 800`; times in milliseconds) and a
    /// timeout in seconds; standard error is appended to `log`.
    ///
    /// # Errors
    /// If the limit or the timeout is not permitted, or `log` cannot be opened.
    pub fn new(go: &str, timeout: f64, log: Option<&Path>) -> Result<Terms> {
        let (limit, movetime) = parse_limit(go)?;
        // this condition rejects NaN, too
        if !(timeout > 0.0 && timeout <= MAX_SECONDS) {
            return Err(Error::Config(format!(
                "{timeout}: must be more than 0 and at most {MAX_SECONDS} seconds"
            ))
            .about(Input::EngineTimeout));
        }
        let (timeout, log) = (Duration::from_secs_f64(timeout), log.map(storage::open_log).transpose()?);
        Ok(Terms { limit, movetime, timeout, log, stop: Arc::default() })
    }

    /// Makes the terms end all waiting once `stop` is set; the game then ends with [`Error::Interrupted`].
    pub fn until(self, stop: Arc<AtomicBool>) -> Terms {
        Terms { stop, ..self }
    }
}

fn parse_limit(go: &str) -> Result<(String, Duration)> {
    let words: Vec<&str> = go.split_whitespace().collect();
    let mut movetime = 0;
    for pair in words.chunks(2) {
        let number = pair.get(1).and_then(|text| text.parse::<u32>().ok()).filter(|number| *number > 0);
        match (pair[0], number) {
            ("movetime", Some(number)) => movetime = number,
            ("nodes" | "depth", Some(_)) => {}
            _ => {
                return Err(Error::Config(format!(
                    "\"{go}\": `{}` is not a limit; write `movetime MILLISECONDS`, `nodes N` or `depth N`",
                    pair.join(" ")
                ))
                .about(Input::EngineLimit));
            }
        }
    }
    if words.is_empty() {
        let what = "\"\": the limit is empty; write e.g. \"movetime 100\"";
        return Err(Error::Config(what.into()).about(Input::EngineLimit));
    }
    Ok((words.join(" "), Duration::from_millis(movetime as u64)))
}

/// Returns the words of a command line, split as a shell would split them.
///
/// # Errors
/// If there are no words, or a quotation mark is not closed.
pub fn split(command: &str) -> Result<Vec<String>> {
    match shlex::split(command) {
        Some(words) if !words.is_empty() => Ok(words),
        _ => Err(Error::Config(format!(
            "agent `ugi:{command}`: write a program and its arguments after `ugi:`, and close all quotation marks"
        ))),
    }
}

/// The processes of one external agent.
pub struct ExternalProgram {
    command: Vec<String>,
    terms: Arc<Terms>,
    /// The processes that no game is using.
    idle: Mutex<Vec<Process>>,
}

debug_fields!(ExternalProgram, command, terms);

impl ExternalProgram {
    /// Starts the first process.
    ///
    /// # Errors
    /// If `command` is not a program that speaks UGI; the error says why.
    pub fn start(command: &str, terms: &Arc<Terms>) -> Result<ExternalProgram> {
        let words = split(command)?;
        let wrong = |what: String| Error::Config(format!("agent `ugi:{command}`: {what}"));
        let engine = Process::start(&words, terms.log.as_ref())
            .map_err(|error| wrong(format!("`{}` cannot be started: {error}", words[0])))?;
        let program = ExternalProgram { command: words, terms: terms.clone(), idle: Mutex::default() };
        program.greet(&engine).map_err(|no_answer| match no_answer {
            NoAnswer::Stopped => Error::Interrupted,
            NoAnswer::Fault(fault) => {
                wrong(format!("it {fault} instead of answering `ugi` with `ugiok`: is it a UGI engine?"))
            }
        })?;
        program.give_back(engine);
        Ok(program)
    }

    /// Returns the command and the search limit on one line.
    pub(super) fn identity(&self) -> String {
        // the words are quoted again, because the same text split into other words is a different command
        let words = shlex::try_join(self.command.iter().map(String::as_str));
        format!("ugi:{}, go {}", words.unwrap_or_else(|_| self.command.join(" ")), self.terms.limit)
    }

    fn greet(&self, engine: &Process) -> Result<(), NoAnswer> {
        engine.send("ugi")?;
        engine.wait_for("ugiok", self.terms.timeout, &self.terms.stop).map(|_| ())
    }

    /// Returns a process that is ready for a new game.
    fn take(&self) -> Result<Process, NoAnswer> {
        let idle = self.idle.lock().expect("no panic while exchanging").pop();
        let engine = match idle {
            Some(engine) => engine,
            None => {
                let engine = Process::start(&self.command, self.terms.log.as_ref());
                let engine = engine.map_err(|_| Fault::Crashed)?;
                self.greet(&engine)?;
                engine
            }
        };
        engine.send("uginewgame")?;
        engine.ready(self.terms.timeout, &self.terms.stop)?;
        Ok(engine)
    }

    fn give_back(&self, engine: Process) {
        self.idle.lock().expect("no panic while exchanging").push(engine);
    }
}

impl Drop for ExternalProgram {
    fn drop(&mut self) {
        let mut engines = std::mem::take(self.idle.get_mut().expect("no panic while exchanging"));
        engines.iter_mut().for_each(Process::ask_to_quit);
        // all processes share one deadline
        let deadline = Instant::now() + QUIT_PATIENCE;
        engines.iter().for_each(|engine| engine.wait_for_end(deadline));
    }
}

/// An external program in one game.
pub(super) struct External<G: Game> {
    game: G,
    program: Arc<ExternalProgram>,
    /// The process; `None` before the first decision and after a fault.
    engine: Option<Process>,
    /// The initial position of the game in UGI notation.
    start: Option<String>,
    actions: Vec<String>,
}

impl<G: Game> External<G> {
    pub(super) fn new(game: &G, program: &Arc<ExternalProgram>) -> External<G> {
        let (game, program) = (game.clone(), program.clone());
        External { game, program, engine: None, start: None, actions: Vec::new() }
    }

    /// Stores `state` as the initial position, unless there is one.
    fn remember_start(&mut self, state: &G::State) {
        self.start.get_or_insert_with(|| {
            if *state == self.game.initial() {
                "startpos".into()
            } else {
                format!("fen {}", self.game.state_text(state))
            }
        });
    }

    /// Returns the program's answer to `position`.
    fn ask(&mut self, position: &str) -> Result<String, NoAnswer> {
        let ExternalProgram { terms, .. } = &*self.program;
        let engine = match self.engine.take() {
            Some(engine) => engine,
            None => self.program.take()?,
        };
        engine.send(position)?;
        engine.ready(terms.timeout, &terms.stop)?;
        engine.send(&format!("go {}", terms.limit))?;
        let answer = engine.wait_for("bestmove", terms.movetime + terms.timeout, &terms.stop)?;
        // the process is kept only now, because it is not used again after a fault
        self.engine = Some(engine);
        Ok(answer)
    }
}

impl<G: Game> Agent<G> for External<G> {
    fn choose(&mut self, state: &G::State) -> Result<Action> {
        self.remember_start(state);
        let mut position = format!("position {}", self.start.as_deref().unwrap_or_default());
        if !self.actions.is_empty() {
            position.push_str(" moves ");
            position.push_str(&self.actions.join(" "));
        }
        let answer = self.ask(&position).map_err(|no_answer| match no_answer {
            NoAnswer::Fault(fault) => Error::Fault(fault),
            NoAnswer::Stopped => Error::Interrupted,
        })?;
        meant(&self.game, state, &answer).ok_or_else(|| {
            self.engine = None;
            Error::Fault(Fault::Illegal)
        })
    }

    fn played(&mut self, before: &G::State, action: Action) {
        self.remember_start(before);
        self.actions.push(self.game.action_text(before, action));
    }
}

impl<G: Game> Drop for External<G> {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.take() {
            self.program.give_back(engine);
        }
    }
}
