//! `petteia engine`: an agent for match runners and juries.

use std::ffi::OsString;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};

use super::converse::converse;
use super::flags::Device;
use super::{AGENTS, GameArgs};
use crate::arena::agent::{AgentSpec, Contestant};
use crate::config::limits::MAX_THREADS;
use crate::error::{Error, Result};
use crate::game::{Game, Rules};
use crate::program::Program;
use crate::protocol::codecup::Codecup;
use crate::protocol::gtp::Gtp;
use crate::protocol::thinker::Thinker;
use crate::protocol::ugi::Ugi;
use crate::random::{Purpose, stream};
use crate::registry::Job;

/// Run an agent as an engine for other programs: UGI, GTP, CodeCup.
#[derive(Args)]
#[command(after_help = format!("\
Protocols, on standard input and output:
  ugi      for match runners for any game: ugi, isready, uginewgame,
           setoption, position startpos|fen TEXT [moves ...],
           query p1turn|gameover|result, go [nodes|depth|movetime|p1time ...],
           stop, quit
  codecup  the protocol of the CodeCup 2003 jury: start, actions, end
  gtp      the Go Text Protocol 2; vertices are actions in the game's notation

{AGENTS}
(random and perfect do not search and cannot be engines)

Ctrl-C, SIGTERM and SIGHUP stop the search; the engine still answers and exits \
with code 0.

Examples:
  petteia engine phage --agent runs/phage
  petteia engine caissa --agent runs/caissa --protocol codecup --time 30"))]
pub struct EngineCommand {
    #[command(flatten)]
    pub game: GameArgs,
    /// The agent, see below
    #[arg(long, value_name = "AGENT")]
    agent: OsString,
    /// Protocol
    #[arg(long, value_enum, default_value_t = Language::Ugi)]
    protocol: Language,
    /// Thinking time for a whole game in a CodeCup match; without it each action gets
    /// the agent's simulations
    #[arg(long, value_name = "SECONDS")]
    time: Option<f64>,
    /// Threads of a search, until the option Threads of UGI sets another number
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = threads())]
    threads: usize,
    #[command(flatten)]
    device: Device,
}

/// The permitted numbers of threads.
pub fn threads() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=MAX_THREADS as u64)
}

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Language {
    /// Universal Game Interface
    Ugi,
    /// The jury of CodeCup 2003
    Codecup,
    /// Go Text Protocol
    Gtp,
}

impl Job for EngineCommand {
    type Output = Result<()>;

    fn run<G: Game>(self, rules: Rules<G>) -> Result<()> {
        let spec = AgentSpec::parse(&self.agent)?.at_full_speed();
        if matches!(spec, AgentSpec::Random | AgentSpec::Perfect) {
            return Err(Error::Config(format!(
                "agent `{}` does not search, so it cannot be an engine",
                self.agent.display()
            )));
        }
        let name = format!("{} {} {}", Program::current().title(), rules.identity.id, self.agent.display());
        let contestant = |rules: &Rules<G>| {
            Ok(Contestant::on(rules, &spec, &self.device.processor()?)?.with_threads(self.threads))
        };
        speak(rules, contestant, name, self.protocol, self.time, self.threads)
    }
}

/// Speaks the protocol until the other side ends the conversation, for the contestant, which is loaded meanwhile and searches with
/// so many threads.
pub fn speak<G: Game>(
    rules: Rules<G>,
    contestant: impl FnOnce(&Rules<G>) -> Result<Contestant<G>> + Send,
    name: String,
    language: Language,
    time: Option<f64>,
    threads: usize,
) -> Result<()> {
    let time = time
        .map(Duration::try_from_secs_f64)
        .transpose()
        .map_err(|error| Error::Config(format!("--time: {error}; give the seconds for a whole game")))?;
    if time.is_some() && language != Language::Codecup {
        return Err(Error::Config(
            "--time is for --protocol codecup only: the other protocols send their own clocks".into(),
        ));
    }
    let game = rules.game.clone();
    let thinker = || {
        let contestant = contestant(&rules)?;
        let agent = contestant.search_agent(stream(1, Purpose::Agent, &[]));
        Ok(Thinker::new(rules.game, agent.expect("agents that do not search were rejected")))
    };
    match language {
        Language::Ugi => converse(Ugi::new(game, name).with_threads(threads), thinker),
        Language::Codecup => converse(Codecup::new(game, time), thinker),
        Language::Gtp => converse(Gtp::new(game, name), thinker),
    }
}
