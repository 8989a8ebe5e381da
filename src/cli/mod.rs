//! The commands. Each file is one command: its clap struct is a [`Job`] where it needs a
//! game. Only this module prints, draws progress and hears signals.

mod allocator;
mod analyze;
mod arena;
mod bench;
mod board;
mod bot;
mod calibration;
mod check_game;
mod completions;
mod converse;
mod engine;
mod export;
mod forecast;
mod games;
mod help;
mod inspect;
mod man;
mod new;
mod outline;
mod perft;
mod play;
mod progress;
mod records;
mod replay;
mod screen;
mod signals;
mod table;
mod train;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::config::game_settings;
use crate::error::{Error, Result, shortened};
use crate::program::Program;
use crate::registry::{self, Job, Registry};
use crate::storage::attachment;
use signals::{catch_interrupts, interrupted};

/// A whole program for the games of `R`: reads the command line, runs, and prints the error. A bot when a network is
/// attached to its file.
///
/// ```no_run
/// petteia::games! { pub struct Mine: petteia::games::tic_tac_toe::TicTacToe }
///
/// fn main() -> std::process::ExitCode {
///     petteia::cli::main::<Mine>(petteia::program!())
/// }
/// ```
pub fn main<R: Registry>(program: Program) -> ExitCode {
    program.declare();
    match run::<R>() {
        Ok(()) => ExitCode::SUCCESS,
        // whoever reads our output has had enough
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let style = anstyle::AnsiColor::Red.on_default().bold();
            let text = help::in_own_name(error.to_string());
            // nobody may be left to read it
            let _ = writeln!(anstream::stderr(), "{style}error:{style:#} {text}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn run<R: Registry>() -> Result<()> {
    registry::check::<R>()?;
    refuse_too_many_threads()?;
    match attachment::own()? {
        Some(_) => bot::run::<R>(),
        None => {
            let matches = parsed(command::<R>().try_get_matches());
            parsed(Cli::from_arg_matches(&matches)).run::<R>()
        }
    }
}

/// The whole command line of the program that runs.
fn command<R: Registry>() -> clap::Command {
    help::adapted::<R>(Cli::command())
}

/// The most threads that a command takes.
const MAX_THREADS: usize = 512;

const ON_CPU: &str = "\nThis build computes on the CPU only: there is no device to choose.\n";

/// What clap made of the command line, or the end of the program with what it says: help, or an error that repeats no
/// more of the command line than helps.
fn parsed<T>(result: clap::error::Result<T>) -> T {
    result.unwrap_or_else(|error| {
        let said = error.to_string();
        let short = shortened(&said);
        let tip = tip(&error).unwrap_or_default();
        if !error.use_stderr() || (tip.is_empty() && short == said) {
            error.exit();
        }
        // nobody may be left to read it
        let _ = write!(anstream::stderr(), "{short}{tip}");
        std::process::exit(error.exit_code())
    })
}

/// For whoever looks for the other device that programs of this kind have.
fn tip(error: &clap::Error) -> Option<&'static str> {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else { return None };
    let device = ["--gpu", "--cuda", "--device"].contains(&argument.split('=').next().unwrap_or_default());
    (error.kind() == ErrorKind::UnknownArgument && device).then_some(ON_CPU)
}

/// What an agent can be, for the help of the commands that ask for one.
const AGENTS: &str = "\
Agents:
  random         any action
  rollout:SIMS   tree search with random playouts, e.g. rollout:400
  uniform:SIMS   tree search that knows only the rules
  perfect        never errs; small games such as tic-tac-toe only
  RUN-OR-CHECKPOINT[:SIMS][:f32|:bf16]
                 what a run trained: a run folder (its newest checkpoint, with
                 a gate its champion), a checkpoint, an exported file or bot;
                 searches 100 simulations an action unless SIMS says otherwise,
                 in the run's own precision unless f32 or bf16 is named";

/// Self-play reinforcement learning for two-player abstract board games.
#[derive(Parser)]
#[command(
    name = "petteia",
    version,
    max_term_width = 80,
    after_help = "\
First steps:
  petteia games                                    what can be played
  petteia play tic-tac-toe --opponent rollout:400  a game in the terminal
  petteia train configs/tic-tac-toe.toml           an agent of your own

`petteia COMMAND --help` explains a command, with examples.
Exit codes: 0 for success, 1 for a failure, 2 for wrong usage."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    color: Color,
}

/// Whether what is printed has colours.
#[derive(Args)]
struct Color {
    /// Colours: auto (the default), always, never
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = When::Auto)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    color: When,
}

impl Color {
    /// For everything that the program prints from now on.
    fn choose(&self) {
        let choice = match self.color {
            When::Auto => ColorChoice::Auto,
            When::Always => ColorChoice::Always,
            When::Never => ColorChoice::Never,
        };
        choice.write_global();
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

#[derive(Subcommand)]
enum Command {
    Train(train::Train),
    Play(play::Play),
    Arena(arena::Arena),
    Analyze(analyze::Analyze),
    Engine(engine::EngineCommand),
    Export(export::Export),
    Records(records::Records),
    Inspect(inspect::Inspect),
    Games(games::Games),
    New(new::New),
    Replay(replay::Replay),
    Perft(perft::Perft),
    CheckGame(check_game::CheckGame),
    Bench(bench::Bench),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Cli {
    /// Runs the command.
    fn run<R: Registry>(self) -> Result<()> {
        self.color.choose();
        match self.command {
            Command::Train(command) => command.run::<R>(),
            Command::Arena(command) => on_game::<R>(&command.game.clone(), command),
            Command::Play(command) => on_game::<R>(&command.game.clone(), command),
            Command::Analyze(command) => on_game::<R>(&command.game.clone(), command),
            Command::Engine(command) => on_game::<R>(&command.game.clone(), command),
            Command::Export(command) => command.run::<R>(),
            Command::Records(command) => command.run::<R>(),
            Command::Inspect(command) => command.run::<R>(),
            Command::Games(command) => command.run::<R>(),
            Command::New(command) => command.run(),
            Command::Bench(command) => command.run::<R>(),
            Command::Completions(command) => command.run::<R>(),
            Command::Man(command) => command.run::<R>(),
            Command::Perft(command) => on_game::<R>(&command.game.clone(), command),
            Command::Replay(command) => on_game::<R>(&command.game.clone(), command),
            Command::CheckGame(command) => on_game::<R>(&command.game.clone(), command),
        }
    }
}

/// A game as the user names it.
#[derive(Args, Clone)]
struct GameArgs {
    /// Game id (see `petteia games`)
    #[arg(value_name = "GAME")]
    id: String,
    /// An option of the game, e.g. game.start=blocks; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

fn on_game<R: Registry>(game: &GameArgs, job: impl Job<Output = Result<()>>) -> Result<()> {
    R::with_game(&game.id, &game_settings(&game.set)?, job)?
}

/// Prints one line on standard output, with colours where they will be seen; a closed pipe is an error that `main` takes for success.
fn print(line: impl std::fmt::Display) -> Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(Error::io("standard output"))
}

/// Refuses to write over what exists.
fn refuse_existing(path: &Path) -> Result<()> {
    match path.exists() {
        true => Err(Error::Config(format!("{} exists: give another file with --out", path.display()))),
        false => Ok(()),
    }
}

/// burn asks the environment for its default device when it loads an optimizer, and panics at a backend
/// that is not compiled in. The CPU backend is the only one here.
fn refuse_other_devices() -> Result<()> {
    match std::env::var("BURN_DEVICE") {
        Ok(name) if name != "flex" => Err(Error::Config(format!(
            "BURN_DEVICE={name}: this build has the CPU backend `flex` only; unset the variable"
        ))),
        _ => Ok(()),
    }
}

/// The command line that this program was started with, to be pasted into a shell.
fn own_command() -> String {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

/// The variables by which rayon sizes its pool where `--threads` does not.
fn refuse_too_many_threads() -> Result<()> {
    let threads = |name: &str| std::env::var(name).ok()?.parse::<usize>().ok();
    match ["RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"].into_iter().find_map(|name| Some((name, threads(name)?)))
    {
        Some((name, threads)) if threads > MAX_THREADS => Err(Error::Config(format!(
            "{name}={threads}: at most {MAX_THREADS} threads make sense; set fewer, or unset the variable"
        ))),
        _ => Ok(()),
    }
}

/// Limits the worker threads; all cores otherwise.
fn use_threads(threads: Option<usize>) -> Result<()> {
    let Some(threads) = threads else { return Ok(()) };
    if !(1..=MAX_THREADS).contains(&threads) {
        return Err(Error::Config(format!("--threads {threads}: give 1 to {MAX_THREADS}")));
    }
    let built = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    built.map_err(|e| Error::Config(format!("--threads {threads}: {e}")))
}
