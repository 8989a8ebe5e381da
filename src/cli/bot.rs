//! An exported bot: the program with a network attached. Without arguments it speaks UGI. It also has the program's
//! commands `play`, `analyze` and `arena`, with this bot as the default agent.

use std::io::{IsTerminal, Write};
use std::path::Path;

use clap::builder::{OsStr, RangedU64ValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use super::engine::{Language, speak, threads};
use super::{AGENTS, Color, analyze, arena, on_game, parsed, play, print};
use crate::arena::agent::{AgentSpec, Contestant, DEFAULT_SIMULATIONS};
use crate::checkpoint::{Checkpoint, Manifest};
use crate::config::Precision;
use crate::config::limits::MAX_SIMULATIONS;
use crate::error::{Error, Result};
use crate::game::{Game, Rules};
use crate::program::Program;
use crate::registry::{Job, Registry};
use crate::storage;

/// A trained agent. Without arguments it speaks UGI on standard input and output.
#[derive(Parser)]
#[command(version, max_term_width = 80, args_conflicts_with_subcommands = true)]
#[command(after_help = format!("This bot is the default wherever an agent is expected.\n\n{AGENTS}"))]
struct Bot {
    #[command(flatten)]
    engine: EngineArgs,
    #[command(subcommand)]
    command: Option<BotCommand>,
    #[command(flatten)]
    color: Color,
}

#[derive(Args)]
struct EngineArgs {
    /// Speak the protocol of the CodeCup jury
    #[arg(long, conflicts_with = "gtp")]
    codecup: bool,
    /// Speak GTP, the Go Text Protocol
    #[arg(long)]
    gtp: bool,
    /// Simulations per action when the search has no other limit
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SIMULATIONS, value_parser = simulations())]
    simulations: usize,
    /// Thinking time for a whole game in a CodeCup match
    #[arg(long, value_name = "SECONDS", requires = "codecup")]
    time: Option<f64>,
    /// Threads of a search, until the option Threads of UGI sets another number
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = threads())]
    threads: usize,
    /// Describe this bot and its training
    #[arg(long, conflicts_with_all = ["codecup", "gtp"])]
    about: bool,
}

#[derive(Subcommand)]
enum BotCommand {
    Play(play::Play),
    Analyze(analyze::Analyze),
    Arena(arena::Arena),
}

/// Runs this program as a bot.
pub fn run<R: Registry>() -> Result<()> {
    let me = std::env::current_exe().map_err(Error::io("the program's own file"))?;
    let checkpoint = Checkpoint::find(&me)?;
    let manifest = &checkpoint.manifest;
    let matches = parsed(command(&me, manifest).try_get_matches());
    let bot = parsed(Bot::from_arg_matches(&matches));
    bot.color.choose();
    match bot.command {
        Some(BotCommand::Play(command)) => on_game::<R>(&command.game.clone(), command),
        Some(BotCommand::Analyze(command)) => on_game::<R>(&command.game.clone(), command),
        Some(BotCommand::Arena(command)) => {
            // a single agent is the opponent
            let alone = matches.subcommand().is_some_and(|(_, arena)| is_default(arena, "second"));
            on_game::<R>(&command.game.clone(), if alone { command.swapped() } else { command })
        }
        None if bot.engine.about => about(&me, &checkpoint),
        None => {
            let id = manifest.game.id.clone();
            let settings = manifest.game.options.clone();
            R::with_game(&id, &settings, Conversation { args: bot.engine, me: &me, manifest })?
        }
    }
}

/// The permitted numbers of simulations.
fn simulations() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=MAX_SIMULATIONS as u64)
}

fn is_default(matches: &ArgMatches, argument: &str) -> bool {
    matches.value_source(argument) == Some(ValueSource::DefaultValue)
}

/// The command line: the program's own commands use this bot's game and options, and this bot is their default agent.
fn command(me: &Path, manifest: &Manifest) -> Command {
    let agent = OsStr::from(&*me.as_os_str().to_os_string().leak());
    let own =
        move |argument: Arg| argument.required(false).hide_default_value(true).default_value(agent.clone());
    let id = os_str(manifest.game.id.clone());
    let options = manifest.game.options.iter().map(|(name, value)| os_str(format!("game.{name}={value}")));
    let options: Vec<OsStr> = options.collect();
    let of_game = move |command: Command| {
        // a named option is not a positional argument
        let game = |id: OsStr| {
            move |argument: Arg| argument.long("game-id").hide(true).required(false).default_value(id)
        };
        let set = |options: Vec<OsStr>| {
            move |argument: Arg| match options.is_empty() {
                true => argument.hide(true),
                false => argument.hide(true).default_values(options),
            }
        };
        command.mut_arg("id", game(id.clone())).mut_arg("set", set(options.clone()))
    };
    Bot::command()
        .name(Program::current().name)
        .version(Program::current().version)
        .about(format!("{}: plays {}. Without arguments it speaks UGI.", title(manifest), manifest.game.id))
        .mut_subcommand("play", |play| {
            of_game(play).after_help(examples("play --side second")).mut_arg("opponent", own.clone())
        })
        .mut_subcommand("analyze", |analyze| {
            of_game(analyze).after_help(examples("analyze < positions.txt")).mut_arg("agent", own.clone())
        })
        .mut_subcommand("arena", |arena| {
            of_game(arena)
                .after_help(examples("arena rollout:400 --games 200"))
                .mut_arg("first", |first| first.help("The bot's opponent, or the first of two agents"))
                .mut_arg("second", |second| {
                    own(second).help("The second of two agents, to play without this bot")
                })
        })
}

/// clap needs defaults that are static; a bot creates its own once.
fn os_str(text: String) -> OsStr {
    OsStr::from(&*text.leak())
}

/// The end of a command's help.
fn examples(command: &str) -> String {
    let me = std::env::args().next().unwrap_or_else(|| "bot".into());
    format!("This bot is the default agent.\n\n{AGENTS}\n\nExample:\n  {me} {command}")
}

fn title(manifest: &Manifest) -> String {
    format!("{} {} generation {}", Program::current().title(), manifest.game.id, manifest.generation)
}

fn about(me: &Path, checkpoint: &Checkpoint) -> Result<()> {
    let manifest = &checkpoint.manifest;
    let payload = checkpoint.weights()?;
    let game = &manifest.game;
    let shape = game.shape;
    print(title(manifest))?;
    print(format_args!("file:        {}, {} bytes", me.display(), storage::read(me)?.len()))?;
    print(format_args!("model:       {} bytes, SHA-256 {}", payload.len(), storage::sha256(&payload)))?;
    print(format_args!("game:        {}", game.id))?;
    let options: Vec<String> = game.options.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    print(format_args!(
        "options:     {}",
        if options.is_empty() { "none".into() } else { options.join(", ") }
    ))?;
    print(format_args!(
        "encoding:    version {}, {} planes of {}x{}, {} actions",
        game.encoding, shape.planes, shape.height, shape.width, shape.actions
    ))?;
    print(format_args!("network:     {} filters, {} blocks", manifest.net.filters, manifest.net.blocks))?;
    print(format_args!(
        "training:    {} generations, {} steps, seed {}",
        manifest.generation, manifest.step, manifest.seed
    ))?;
    if let Some(like) = &manifest.imported {
        print(format_args!("imported:    in the place of {}", like.path))?;
    }
    let program = Program::current().name;
    print(format_args!("made by:     {}, `{program} train` with these settings:", manifest.program))?;
    print(format_args!("\n{}", manifest.config.trim_end()))
}

/// The bot as an engine.
struct Conversation<'a> {
    args: EngineArgs,
    me: &'a Path,
    manifest: &'a Manifest,
}

impl Job for Conversation<'_> {
    type Output = Result<()>;

    fn run<G: Game>(self, rules: Rules<G>) -> Result<()> {
        let language = match &self.args {
            EngineArgs { codecup: true, .. } => Language::Codecup,
            EngineArgs { gtp: true, .. } => Language::Gtp,
            _ => Language::Ugi,
        };
        if std::io::stdin().is_terminal() {
            let hint = "expects a protocol for programs on standard input; to use it yourself: --help, --about, play";
            let _ = writeln!(std::io::stderr(), "{} {hint}", title(self.manifest));
        }
        let spec = AgentSpec::Trained(self.me.to_path_buf(), self.args.simulations, Some(Precision::Auto));
        let threads = self.args.threads;
        let contestant = |rules: &Rules<G>| Ok(Contestant::new(rules, &spec)?.with_threads(threads));
        speak(rules, contestant, title(self.manifest), language, self.args.time, threads)
    }
}
