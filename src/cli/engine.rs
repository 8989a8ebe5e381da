//! `petteia engine`: runs an agent for match runners and juries.

use std::ffi::OsString;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};

use super::converse::converse;
use super::flags::Device;
use super::subject::Subject;
use super::{AGENTS, GameArgs, note};
use crate::any::{AnyGame, Opened};
use crate::arena::contestant::Contestant;
use crate::arena::spec::AgentSpec;
use crate::config::limits::{MAX_HASH, MAX_SIMULATIONS, MAX_THREADS};
use crate::error::{Error, Result};
use crate::export::bot::Defaults;
use crate::program::Program;
use crate::protocol::codecup::Codecup;
use crate::protocol::gtp::Gtp;
use crate::protocol::thinker::{DEFAULT_HASH, Thinker};
use crate::protocol::ugi::Ugi;
use crate::random::{Purpose, stream};
use crate::registry::resized;

/// Run an agent as an engine for other programs: UGI, GTP, CodeCup.
#[derive(Args)]
#[command(after_help = format!("\
Protocols, on standard input and output:
  ugi      for match runners for any game: ugi, isready, uginewgame,
           setoption, position startpos|fen TEXT [moves ...],
           query p1turn|gameover|result, go [nodes|depth|movetime|p1time ...],
           stop, quit
  codecup  the protocol of the CodeCup jury: start, actions, end (2003), or
           Start and Quit (newer years)
  gtp      the Go Text Protocol 2; vertices are actions in the game's notation

{AGENTS}
(random and perfect do not search, so they cannot be engines)

Ctrl-C, SIGTERM, and SIGHUP stop the search; the engine still answers, and exits \
with code 0.

Examples:
  petteia engine phage
  petteia engine runs/phage
  petteia engine caissa --agent runs/caissa --codecup --time 30"))]
pub(super) struct EngineCommand {
    #[command(flatten)]
    pub game: GameArgs,
    /// The agent, see below [default: the run given as GAME, or shipped, or rollout:400 if no agent is shipped]
    #[arg(long, value_name = "AGENT")]
    agent: Option<OsString>,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    device: Device,
}

/// The protocol and the limits of an engine: flags of `engine`, of bots, and of `export`, where they set what a bot
/// does without arguments.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct EngineArgs {
    /// Protocol [default: ugi]
    #[arg(long, value_enum, conflicts_with_all = ["gtp", "codecup"])]
    protocol: Option<Language>,
    /// Same as --protocol gtp
    #[arg(long)]
    gtp: bool,
    /// Same as --protocol codecup
    #[arg(long, conflicts_with = "gtp")]
    codecup: bool,
    /// Thinking time for a whole game in a CodeCup match; without it, each action gets
    /// the agent's number of simulations
    #[arg(long, value_name = "SECONDS")]
    time: Option<f64>,
    /// Simulations per action if the search has no other limit [default: the agent's number, or 100]
    #[arg(long, value_name = "N", value_parser = up_to(MAX_SIMULATIONS))]
    simulations: Option<usize>,
    /// Memory for the search tree in MiB; the UGI option Hash changes it [default: 256]
    #[arg(long, value_name = "MIB", value_parser = up_to(MAX_HASH))]
    hash: Option<usize>,
    /// Number of threads for a search; the UGI option Threads changes it [default: 1]
    #[arg(long, value_name = "N", value_parser = up_to(MAX_THREADS))]
    threads: Option<usize>,
}

/// Accepts numbers from 1 to `most`.
fn up_to(most: usize) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=most as u64)
}

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(super) enum Language {
    /// Universal Game Interface
    Ugi,
    /// Protocol of the CodeCup jury
    Codecup,
    /// Go Text Protocol
    Gtp,
}

impl Language {
    /// Returns the protocol's name for people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Language::Ugi => "UGI",
            Language::Codecup => "the CodeCup protocol",
            Language::Gtp => "GTP",
        }
    }

    fn name(self) -> String {
        let value = self.to_possible_value().expect("no protocol is hidden");
        value.get_name().into()
    }
}

impl EngineArgs {
    fn language(&self) -> Option<Language> {
        match self {
            EngineArgs { gtp: true, .. } => Some(Language::Gtp),
            EngineArgs { codecup: true, .. } => Some(Language::Codecup),
            _ => self.protocol,
        }
    }

    /// Returns the flags in the form in which a bot keeps them.
    ///
    /// # Errors
    /// If the flags contradict each other.
    pub(super) fn as_defaults(&self) -> Result<Defaults> {
        Manner::of(self, &Defaults::default())?;
        let &EngineArgs { time, simulations, hash, threads, .. } = self;
        let protocol = self.language().map(Language::name);
        Ok(Defaults { protocol, time, simulations, hash, threads })
    }
}

/// The protocol and the limits of an engine, after flags and defaults are combined.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    pub language: Language,
    pub time: Option<Duration>,
    pub simulations: Option<usize>,
    /// The memory of the search tree in MiB.
    pub hash: Option<usize>,
    pub threads: usize,
}

impl Manner {
    /// Combines the flags with a bot's defaults, which apply if a flag is missing.
    ///
    /// # Errors
    /// If the flags contradict each other, or the defaults come from another version.
    pub(super) fn of(args: &EngineArgs, defaults: &Defaults) -> Result<Manner> {
        let default = defaults.protocol.as_deref().map(|name| {
            Language::from_str(name, false).map_err(|_| {
                Error::Mismatch(format!("this program does not know the bot's default protocol, `{name}`"))
            })
        });
        let default = default.transpose()?;
        let language = args.language().or(default).unwrap_or(Language::Ugi);
        // the bot's default time applies only to the CodeCup protocol
        let default_time = defaults.time.filter(|_| language == Language::Codecup);
        let time = args.time.or(default_time).map(Duration::try_from_secs_f64).transpose();
        let time =
            time.map_err(|error| Error::Config(format!("--time: {error}; give seconds for a whole game")))?;
        if time.is_some() && language != Language::Codecup {
            return Err(Error::Config(
                "--time applies only to --protocol codecup; the other protocols send their own clocks".into(),
            ));
        }
        Ok(Manner {
            language,
            time,
            simulations: args.simulations.or(defaults.simulations),
            hash: args.hash.or(defaults.hash).map(|hash| hash.clamp(1, MAX_HASH)),
            threads: args.threads.or(defaults.threads).unwrap_or(1).clamp(1, MAX_THREADS),
        })
    }
}

impl EngineCommand {
    /// Runs the engine for a game.
    pub(super) fn on(self, subject: Subject) -> Result<()> {
        let manner = Manner::of(&self.engine, &Defaults::default())?;
        let (agent, remark) = subject.agent_or_usual(self.agent.as_ref(), "the agent");
        if let Some(remark) = remark {
            note(remark);
        }
        let rules = subject.rules;
        let mut spec = AgentSpec::parse(&agent)?.resolved(&rules)?.at_full_speed();
        if !spec.searches() {
            return Err(Error::Config(format!(
                "agent `{}` does not search, so it cannot be an engine",
                agent.display()
            )));
        }
        if let Some(simulations) = manner.simulations {
            spec = spec.with_simulations(simulations);
        }
        let name = format!("{} {} {}", Program::current().title(), rules.identity.id, agent.display());
        let contestant = |rules: &Opened| Contestant::on(rules, &spec, &self.device.processor()?);
        // a network fits only one size of board
        let (AgentSpec::Rollout(_) | AgentSpec::Uniform(_)) = spec.clone().searching() else {
            return speak(rules, contestant, name, manner);
        };
        speak_on(rules, contestant, name, manner, true)
    }
}

/// Speaks the protocol for the contestant until the other side ends the conversation. The conversation begins while the
/// contestant is still being loaded.
pub(super) fn speak(
    rules: Opened,
    contestant: impl FnOnce(&Opened) -> Result<Contestant<AnyGame>> + Send,
    name: String,
    manner: Manner,
) -> Result<()> {
    speak_on(rules, contestant, name, manner, false)
}

/// Does the same as [`speak`]; GTP may change the size of the board if the contestant plays on `any_board`.
fn speak_on(
    rules: Opened,
    contestant: impl FnOnce(&Opened) -> Result<Contestant<AnyGame>> + Send,
    name: String,
    manner: Manner,
    any_board: bool,
) -> Result<()> {
    let Manner { language, time, hash, threads, .. } = manner;
    let (game, identity) = (rules.game.clone(), rules.identity.clone());
    let thinker = || {
        let contestant = contestant(&rules)?.with_threads(threads);
        let random = || stream(1, Purpose::Agent, &[]);
        let agent = contestant.search_agent(random()).expect("agents that do not search were rejected");
        let thinker = Thinker::new(rules.game, agent);
        Ok(if any_board {
            thinker.with_boards(move |game| {
                let agent = contestant.of_game(game).and_then(|contestant| contestant.search_agent(random()));
                agent.expect("the contestant has no evaluator that depends on the game")
            })
        } else {
            thinker
        })
    };
    let hash = hash.unwrap_or(DEFAULT_HASH);
    match language {
        Language::Ugi => converse(Ugi::new(game, name).with_threads(threads).with_hash(hash), thinker),
        Language::Codecup => converse(Codecup::new(game, time).with_hash(hash), thinker),
        Language::Gtp => {
            let gtp = Gtp::new(game, name).with_hash(hash);
            if any_board {
                converse(gtp.with_boards(move |width, height| resized(&identity, width, height)), thinker)
            } else {
                converse(gtp, thinker)
            }
        }
    }
}
