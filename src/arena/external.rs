//! External programs as agents, over UGI, the Universal Game Interface (kz04px/cutegames, ugi.md).
//!
//! In goes a command line, `ugi:COMMAND`, out comes an agent. Each game has a process of its own while it
//! lasts; a game that ends in good order leaves it to a later one. A program that crashes, does not answer in
//! time, answers no legal action or writes too much gets an [`Error::Fault`], which loses it the game; its
//! process is killed, and the next game begins with a new one.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::agent::Agent;
use super::process::{Process, QUIT_PATIENCE, Unanswered};
use crate::error::{Error, Fault, Input, Result};
use crate::game::{Action, Game};

/// The longest time that an option may name.
const MAX_SECONDS: f64 = 86_400.0;

/// How external programs are asked.
#[derive(Debug)]
pub struct Terms {
    /// What stands behind `go`.
    limit: String,
    /// The time that `limit` gives for an action.
    movetime: Duration,
    /// How long to wait for an answer, beyond `movetime` for an action.
    timeout: Duration,
    /// Where their standard error goes.
    log: Option<File>,
    /// Set when nobody wants an answer any more.
    stop: Arc<AtomicBool>,
}

impl Terms {
    /// Terms with the limit `go` (`movetime 100`, `depth 5`, `nodes 800`; milliseconds), patience of `timeout`
    /// seconds, and standard error appended to `log`.
    pub fn new(go: &str, timeout: f64, log: Option<&Path>) -> Result<Terms> {
        let (limit, movetime) = parse_limit(go)?;
        // written so that NaN fails
        if !(timeout > 0.0 && timeout <= MAX_SECONDS) {
            return Err(Error::Config(format!(
                "{timeout}: give seconds, more than 0 and at most {MAX_SECONDS}"
            ))
            .about(Input::EngineTimeout));
        }
        let open = |path| File::options().create(true).append(true).open(path).map_err(Error::io(path));
        let (timeout, log) = (Duration::from_secs_f64(timeout), log.map(open).transpose()?);
        Ok(Terms { limit, movetime, timeout, log, stop: Arc::default() })
    }

    /// The same, but once `stop` is set no answer is waited for: the game is over with [`Error::Interrupted`].
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
        let what = "\"\": there is no limit; write e.g. \"movetime 100\"";
        return Err(Error::Config(what.into()).about(Input::EngineLimit));
    }
    Ok((words.join(" "), Duration::from_millis(movetime as u64)))
}

/// The words of a command line, split as a shell would.
pub fn split(command: &str) -> Result<Vec<String>> {
    match shlex::split(command) {
        Some(words) if !words.is_empty() => Ok(words),
        _ => Err(Error::Config(format!(
            "agent `ugi:{command}`: write a program and its arguments behind `ugi:`, each quotation mark closed"
        ))),
    }
}

/// The processes of one external agent.
pub struct Program {
    command: Vec<String>,
    terms: Arc<Terms>,
    /// Those that no game has at the moment.
    idle: Mutex<Vec<Process>>,
}

debug_fields!(Program, command, terms);

impl Program {
    /// Starts a first process; the error says why `command` is no program that speaks UGI.
    pub fn start(command: &str, terms: &Arc<Terms>) -> Result<Program> {
        let words = split(command)?;
        let wrong = |what: String| Error::Config(format!("agent `ugi:{command}`: {what}"));
        let engine = Process::start(&words, terms.log.as_ref())
            .map_err(|error| wrong(format!("`{}` cannot be started: {error}", words[0])))?;
        let program = Program { command: words, terms: terms.clone(), idle: Mutex::default() };
        program.greet(&engine).map_err(|unanswered| match unanswered {
            Unanswered::Stopped => Error::Interrupted,
            Unanswered::Fault(fault) => {
                wrong(format!("it {fault} instead of answering `ugi` with `ugiok`: is it a UGI engine?"))
            }
        })?;
        program.give_back(engine);
        Ok(program)
    }

    /// What the program is asked for, in one line.
    pub(super) fn identity(&self) -> String {
        // quoted again, for other words are another program
        let words = shlex::try_join(self.command.iter().map(String::as_str));
        format!("ugi:{}, go {}", words.unwrap_or_else(|_| self.command.join(" ")), self.terms.limit)
    }

    fn greet(&self, engine: &Process) -> Result<(), Unanswered> {
        engine.say("ugi")?;
        engine.wait_for("ugiok", self.terms.timeout, &self.terms.stop).map(|_| ())
    }

    /// A process that is ready for a new game.
    fn take(&self) -> Result<Process, Unanswered> {
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
        engine.say("uginewgame")?;
        engine.ready(self.terms.timeout, &self.terms.stop)?;
        Ok(engine)
    }

    fn give_back(&self, engine: Process) {
        self.idle.lock().expect("no panic while exchanging").push(engine);
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let mut engines = std::mem::take(self.idle.get_mut().expect("no panic while exchanging"));
        engines.iter_mut().for_each(Process::ask_to_quit);
        // all at once, however many
        let deadline = Instant::now() + QUIT_PATIENCE;
        engines.iter().for_each(|engine| engine.wait_for_end(deadline));
    }
}

/// An external program in one game.
pub(super) struct External<G: Game> {
    game: G,
    program: Arc<Program>,
    /// The process; none before the first decision and after a fault.
    engine: Option<Process>,
    /// The position that the game began with, in the words of UGI.
    start: Option<String>,
    actions: Vec<String>,
}

impl<G: Game> External<G> {
    pub(super) fn new(game: &G, program: &Arc<Program>) -> External<G> {
        let (game, program) = (game.clone(), program.clone());
        External { game, program, engine: None, start: None, actions: Vec::new() }
    }

    /// What `state`, the first that is seen, is called in UGI.
    fn remember_start(&mut self, state: &G::State) {
        self.start.get_or_insert_with(|| match *state == self.game.initial() {
            true => "startpos".into(),
            false => format!("fen {}", self.game.state_text(state)),
        });
    }

    /// The program's answer to `position`.
    fn ask(&mut self, position: &str) -> Result<String, Unanswered> {
        let Program { terms, .. } = &*self.program;
        let engine = match self.engine.take() {
            Some(engine) => engine,
            None => self.program.take()?,
        };
        engine.say(position)?;
        engine.ready(terms.timeout, &terms.stop)?;
        engine.say(&format!("go {}", terms.limit))?;
        let answer = engine.wait_for("bestmove", terms.movetime + terms.timeout, &terms.stop)?;
        // only now: after a fault it is not used again
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
        let answer = self.ask(&position).map_err(|unanswered| match unanswered {
            Unanswered::Fault(fault) => Error::Fault(fault),
            Unanswered::Stopped => Error::Interrupted,
        })?;
        self.game.parse_action(state, &answer).ok_or_else(|| {
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
