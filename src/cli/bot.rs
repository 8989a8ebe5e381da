//! An exported bot: the program with a network attached. Without arguments, a bot speaks UGI or the protocol chosen
//! when it was exported. A bot also has the program's commands `play`, `analyze`, and `arena`, with itself as the
//! default agent.

use std::io::{IsTerminal, Write};
use std::path::Path;

use clap::builder::OsStr;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use super::engine::{EngineArgs, Manner, speak};
use super::licenses::notices;
use super::text::{counted, network_size};
use super::{AGENTS, ColorFlag, analyze, arena, parsed, play, print};
use crate::any::Opened;
use crate::arena::contestant::Contestant;
use crate::arena::spec::{AgentSpec, DEFAULT_SIMULATIONS};
use crate::checkpoint::{Checkpoint, Manifest};
use crate::config::Precision;
use crate::error::Result;
use crate::export::bot::{Defaults, defaults};
use crate::program::Program;
use crate::protocol::thinker::DEFAULT_HASH;
use crate::registry::Catalog;
use crate::storage;
use crate::storage::attachment::Attached;

/// A trained agent that speaks a protocol on standard input and output.
#[derive(Parser)]
#[command(version, max_term_width = 80, args_conflicts_with_subcommands = true)]
#[command(after_help = format!("This bot is the default wherever an agent is expected.\n\n{AGENTS}"))]
struct Bot {
    #[command(flatten)]
    engine: EngineArgs,
    /// Describe this bot and its training
    #[arg(long, conflicts_with_all = ["codecup", "gtp", "protocol"])]
    about: bool,
    /// Print the licenses of everything linked into this bot
    #[arg(long, conflicts_with_all = ["codecup", "gtp", "protocol", "about"])]
    licenses: bool,
    #[command(subcommand)]
    command: Option<BotCommand>,
    #[command(flatten)]
    color: ColorFlag,
}

#[derive(Subcommand)]
enum BotCommand {
    Play(play::Play),
    Analyze(analyze::Analyze),
    Arena(arena::Arena),
}

/// Runs this program as a bot with the attached network.
pub(super) fn run(attached: &Attached, games: Catalog) -> Result<()> {
    let me = &attached.path;
    let (checkpoint, defaults) = (Checkpoint::find(me)?, defaults(attached)?);
    let manifest = &checkpoint.manifest;
    let matches = parsed(command(me, manifest, &defaults)?.try_get_matches(), games);
    let bot = parsed(Bot::from_arg_matches(&matches), games);
    bot.color.choose();
    match bot.command {
        Some(BotCommand::Play(command)) => {
            command.game.subject(games).and_then(|subject| command.on(subject))
        }
        Some(BotCommand::Analyze(command)) => {
            command.game.subject(games).and_then(|subject| command.on(subject))
        }
        Some(BotCommand::Arena(command)) => {
            // a single named agent is the opponent
            let alone = matches.subcommand().is_some_and(|(_, arena)| is_default(arena, "second"));
            let command = if alone { command.swapped() } else { command };
            command.game.subject(games).and_then(|subject| command.on(subject))
        }
        None if bot.licenses => notices(),
        None if bot.about => about(me, &checkpoint, &defaults),
        None => {
            let manner = Manner::of(&bot.engine, &defaults)?;
            converse(games.open(&manifest.game.id, &manifest.game.options)?, manner, me, manifest)
        }
    }
}

fn is_default(matches: &ArgMatches, argument: &str) -> bool {
    matches.value_source(argument) == Some(ValueSource::DefaultValue)
}

/// Returns the bot's command line, whose commands use the bot's game and options, with the bot as the default agent.
fn command(me: &Path, manifest: &Manifest, defaults: &Defaults) -> Result<Command> {
    let language = Manner::of(&EngineArgs::default(), defaults)?.language.title();
    let agent = OsStr::from(&*me.as_os_str().to_os_string().leak());
    let own =
        move |argument: Arg| argument.required(false).hide_default_value(true).default_value(agent.clone());
    let id = os_str(manifest.game.id.clone());
    let options = manifest.game.options.iter().map(|(name, value)| os_str(format!("game.{name}={value}")));
    let options: Vec<OsStr> = options.collect();
    let for_game = move |command: Command| {
        // an argument with a long name is not positional, so the command line does not need the game
        let game = |id: OsStr| {
            move |argument: Arg| argument.long("game-id").hide(true).required(false).default_value(id)
        };
        let set = |options: Vec<OsStr>| {
            move |argument: Arg| {
                if options.is_empty() {
                    argument.hide(true)
                } else {
                    argument.hide(true).default_values(options)
                }
            }
        };
        command.mut_arg("id", game(id.clone())).mut_arg("set", set(options.clone()))
    };
    Ok(Bot::command()
        .name(Program::current().name)
        .version(Program::current().version)
        .about(format!(
            "{}: plays {}. Without arguments, it speaks {language}.",
            title(manifest),
            manifest.game.id
        ))
        .mut_subcommand("play", |play| {
            let play =
                for_game(play).after_help(examples("play --side second")).mut_arg("opponent", own.clone());
            // only shipped agents have levels
            play.mut_arg("level", |level| level.hide(true))
        })
        .mut_subcommand("analyze", |analyze| {
            for_game(analyze).after_help(examples("analyze < positions.txt")).mut_arg("agent", own.clone())
        })
        .mut_subcommand("arena", |arena| {
            for_game(arena)
                .after_help(examples("arena rollout:400 --games 200"))
                .mut_arg("first", |first| {
                    first.required(true).help("Opponent of the bot, or the first of two agents")
                })
                .mut_arg("second", |second| {
                    own(second).help("Second of two agents, for a match without this bot")
                })
        }))
}

/// Leaks a text, because clap needs static defaults; the few texts of a bot are leaked only once.
fn os_str(text: String) -> OsStr {
    OsStr::from(&*text.leak())
}

/// Returns the end of a command's help.
fn examples(command: &str) -> String {
    let me = std::env::args().next().unwrap_or_else(|| "bot".into());
    format!("This bot is the default agent.\n\n{AGENTS}\n\nExample:\n  {me} {command}")
}

fn title(manifest: &Manifest) -> String {
    format!("{} {} generation {}", Program::current().title(), manifest.game.id, manifest.generation)
}

fn about(me: &Path, checkpoint: &Checkpoint, defaults: &Defaults) -> Result<()> {
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
    print(format_args!("speaks:      {}", manner_text(defaults)?))?;
    let net = &manifest.net;
    print(format_args!("network:     {}", network_size(net.filters, net.blocks)))?;
    print(format_args!(
        "training:    {}, {}, seed {}",
        counted(manifest.generation, "generation", "generations"),
        counted(manifest.step, "step", "steps"),
        manifest.seed
    ))?;
    if let Some(like) = &manifest.imported {
        print(format_args!("imported:    as a replacement for {}", like.path))?;
    }
    let program = Program::current().name;
    print(format_args!("made by:     {}, `{program} train` with these settings:", manifest.program))?;
    print(format_args!("\n{}", manifest.config.trim_end()))
}

/// Describes a bot's behavior without arguments: `the CodeCup protocol, 30 s for a game, 128 MiB`.
fn manner_text(defaults: &Defaults) -> Result<String> {
    let Manner { language, time, simulations, hash, threads } = Manner::of(&EngineArgs::default(), defaults)?;
    let parts = [
        time.map(|time| format!("{} s for a game", time.as_secs_f64())),
        time.is_none()
            .then(|| counted(simulations.unwrap_or(DEFAULT_SIMULATIONS), "simulation", "simulations")),
        Some(format!("{} MiB for the tree", hash.unwrap_or(DEFAULT_HASH))),
        Some(counted(threads, "thread", "threads")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Ok(format!("{}, {}", language.title(), parts.join(", ")))
}

/// Runs the bot as an engine.
fn converse(rules: Opened, manner: Manner, me: &Path, manifest: &Manifest) -> Result<()> {
    if std::io::stdin().is_terminal() {
        let hint = "reads a protocol for programs from standard input; to use it yourself, try --help, --about, or \
            play";
        let _ = writeln!(std::io::stderr(), "{} {hint}", title(manifest));
    }
    let simulations = manner.simulations.unwrap_or(DEFAULT_SIMULATIONS);
    let spec = AgentSpec::Trained(me.to_path_buf(), simulations, Some(Precision::Auto));
    let contestant = |rules: &Opened| Contestant::new(rules, &spec);
    speak(rules, contestant, title(manifest), manner)
}
