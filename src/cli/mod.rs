//! The commands, one per file. A command that needs a game receives the opened game. Only this module prints, shows
//! progress, and handles signals.

mod accuracy;
mod allocator;
mod analyze;
mod arena;
mod audit;
mod balance;
mod bench;
mod board;
mod bot;
#[cfg(feature = "train")]
mod calibration;
mod check_game;
mod completions;
mod config;
mod converse;
mod copy;
mod counter;
mod engine;
mod explain;
mod export;
mod flags;
mod forecast;
mod games;
mod help;
mod import;
mod import_games;
mod inspect;
mod ladder;
#[cfg(feature = "train")]
mod learn;
mod licenses;
mod log;
mod man;
mod new;
#[cfg(feature = "train")]
mod outline;
mod perft;
mod play;
mod progress;
mod records;
mod replay;
mod report;
mod review;
mod rules;
mod runs;
#[cfg(feature = "train")]
mod screen;
#[cfg(feature = "web")]
mod serve;
mod signals;
mod site;
mod solve;
mod subject;
mod suggestion;
mod table;
mod text;
#[cfg(feature = "train")]
mod train;
mod watch;
mod worker;

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use anstream::ColorChoice;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::arena::levels::agents_of;
use crate::config::limits::MAX_THREADS;
use crate::error::{Error, Result, shell_word, shortened};
use crate::program::Program;
use crate::registry::{self, Catalog, Registry};
use crate::storage::silence::{self, Silence};
use crate::storage::{self, attachment};
use progress::roughly;
use signals::{catch_interrupts, interrupted};
use subject::GameArgs;
use text::harmless;

/// Runs a complete program for the games of `R`: parses the command line, runs the command, and prints any error. The
/// program is a bot if a network is attached to its file.
///
/// ```no_run
/// petteia::games! { pub struct Mine: petteia::games::tic_tac_toe::TicTacToe }
///
/// fn main() -> std::process::ExitCode {
///     petteia::cli::main::<Mine>(petteia::program!())
/// }
/// ```
pub fn main<R: Registry>(program: Program) -> ExitCode {
    main_with(program, Catalog::of::<R>())
}

/// Runs the whole program. This function is compiled once for all registries.
fn main_with(program: Program, games: Catalog) -> ExitCode {
    program.declare();
    silence::listen(silence::Ears { tell: tell_silence, is_interrupted: interrupted });
    match run(games).map_err(flags::named) {
        Ok(()) => ExitCode::SUCCESS,
        // the reader of our output closed the pipe
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let style = anstyle::AnsiColor::Red.on_default().bold();
            let text = text::wrapped_error(&harmless(&help::with_own_name(error.to_string())));
            // standard error may be closed
            let _ = writeln!(anstream::stderr(), "{style}error:{style:#} {text}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(games: Catalog) -> Result<()> {
    registry::check(games)?;
    for levels in games.names().iter().filter_map(|id| games.shipped_for(id).levels) {
        agents_of(&levels)?;
    }
    refuse_too_many_threads()?;
    match attachment::own()? {
        Some(attached) => bot::run(&attached, games),
        None => {
            let matches = parsed(command(games).try_get_matches(), games);
            parsed(Cli::from_arg_matches(&matches), games).run(games)
        }
    }
}

/// Returns the complete command line of the running program.
fn command(games: Catalog) -> clap::Command {
    help::adapted(Cli::command(), games)
}

/// Returns the parsed command line. If there is nothing to run, prints clap's help or error and exits; a long command
/// line that the error repeats is shortened.
fn parsed<T>(result: clap::error::Result<T>, games: Catalog) -> T {
    result.unwrap_or_else(|error| {
        let error = suggestion::added(error, games);
        let message = error.to_string();
        let short = shortened(&message);
        if !error.use_stderr() || short == message {
            error.exit();
        }
        // standard error may be closed
        let _ = write!(anstream::stderr(), "{short}");
        std::process::exit(error.exit_code())
    })
}

/// The kinds of agents, for the help of the commands that take one.
const AGENTS: &str = "\
Agents:
  shipped[:SIMS][:f32|:bf16|:auto]
                 the trained network that comes with this program, if
                 `petteia games` lists one for the game; ./shipped is a path
  level:1 ... level:9
                 weakened versions of the shipped network; each level wins about
                 two of three games against the level below it
  random         uniformly random actions
  rollout:SIMS   tree search with random playouts, e.g. rollout:400
  uniform:SIMS   tree search that knows only the rules
  perfect        perfect play; very small games only
  RUN-OR-CHECKPOINT[:SIMS][:f32|:bf16|:auto]
                 a trained network: a run folder (its newest checkpoint), a
                 checkpoint, an exported file, or a bot, with 100 simulations
                 per action unless SIMS is given. A network computes in the
                 precision of its run unless another precision is given. auto
                 measures which precision is fastest on this CPU, as play,
                 engine, and bots do by default
An agent that searches or plays perfectly can end in :tT, e.g. shipped:20:t0.5:
it then draws its actions at temperature T instead of playing the best one.
SIMS is the number of simulations per action; each one evaluates one position
(the first evaluates the root) or reaches a known result.";

/// The line of the first steps about the browser, in programs that can serve a page.
#[cfg(feature = "web")]
macro_rules! in_a_browser {
    () => {
        "  petteia serve        play in a browser\n"
    };
}
#[cfg(not(feature = "web"))]
macro_rules! in_a_browser {
    () => {
        ""
    };
}

/// The line of the first steps about training, in programs that can train.
#[cfg(feature = "train")]
macro_rules! train_your_own {
    () => {
        "  petteia train phage  train your own agent\n"
    };
}
#[cfg(not(feature = "train"))]
macro_rules! train_your_own {
    () => {
        ""
    };
}

/// Self-play reinforcement learning for two-player abstract board games.
#[derive(Parser)]
#[command(
    name = "petteia",
    version,
    max_term_width = 80,
    after_help = concat!(
        "\
First steps:
  petteia games        list the games
  petteia play phage   play against an agent in the terminal
",
        in_a_browser!(),
        train_your_own!(),
        "
`petteia COMMAND --help` explains a command, with examples.
Exit codes: 0 for success, 1 for failure, 2 for incorrect usage."
    )
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    color: ColorFlag,
}

/// The flag for colored output.
#[derive(Args)]
struct ColorFlag {
    /// When to use color: auto (the default), always, never
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = When::Auto)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    color: When,
}

impl ColorFlag {
    /// Applies the choice to everything that the program prints from now on.
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
    #[cfg(feature = "train")]
    Train(train::Train),
    #[cfg(feature = "train")]
    Learn(learn::Learn),
    Worker(worker::WorkerCommand),
    Config(config::ConfigCommand),
    Play(play::Play),
    Arena(arena::Arena),
    Ladder(ladder::LadderCommand),
    Analyze(analyze::Analyze),
    Balance(balance::BalanceCommand),
    Accuracy(accuracy::AccuracyCommand),
    Solve(solve::Solve),
    Engine(engine::EngineCommand),
    Export(export::Export),
    Import(import::Import),
    Rules(rules::RulesCommand),
    Runs(runs::Runs),
    Watch(watch::Watch),
    Report(report::Report),
    Site(site::Site),
    #[cfg(feature = "web")]
    Serve(serve::Serve),
    Records(records::Records),
    ImportGames(import_games::ImportGames),
    Inspect(inspect::Inspect),
    Audit(audit::AuditCommand),
    Copy(copy::CopyCommand),
    Games(games::Games),
    New(new::New),
    Replay(replay::Replay),
    Perft(perft::Perft),
    Explain(explain::Explain),
    CheckGame(check_game::CheckGame),
    Bench(bench::Bench),
    Completions(completions::Completions),
    Man(man::Man),
    Licenses(licenses::Licenses),
}

impl Cli {
    /// Runs the command.
    fn run(self, games: Catalog) -> Result<()> {
        self.color.choose();
        match self.command {
            #[cfg(feature = "train")]
            Command::Train(command) => command.run(games),
            #[cfg(feature = "train")]
            Command::Learn(command) => command.run(games),
            Command::Worker(command) => command.run(games),
            Command::Arena(command) => command.game.subject(games).and_then(|subject| command.on(subject)),
            Command::Ladder(command) => command.run(games),
            Command::Play(command) => command.game.subject(games).and_then(|subject| command.on(subject)),
            Command::Analyze(command) => command.game.subject(games).and_then(|subject| command.on(subject)),
            Command::Accuracy(command) => command.run(games),
            Command::Balance(command) => command.run(games),
            Command::Solve(command) => command.game.opened(games).and_then(|rules| command.on(rules)),
            Command::Engine(command) => command.game.subject(games).and_then(|subject| command.on(subject)),
            Command::Export(command) => command.run(games),
            Command::Import(command) => command.run(),
            Command::Report(command) => command.run(games),
            Command::Site(command) => command.run(games),
            #[cfg(feature = "web")]
            Command::Serve(command) => command.run(games),
            Command::Rules(command) => command.game.opened(games).and_then(|rules| command.on(rules)),
            Command::Runs(command) => command.run(),
            Command::Watch(command) => command.run(),
            Command::Records(command) => command.run(games),
            Command::ImportGames(command) => command.game.opened(games).and_then(|rules| command.on(rules)),
            Command::Inspect(command) => command.run(games),
            Command::Audit(command) => command.run(games),
            Command::Copy(command) => command.run(games),
            Command::Games(command) => command.run(games),
            Command::New(command) => command.run(games),
            Command::Bench(command) => command.run(games),
            Command::Config(command) => command.run(games),
            Command::Completions(command) => command.run(games),
            Command::Man(command) => command.run(games),
            Command::Licenses(command) => command.run(),
            Command::Perft(command) => command.game.opened(games).and_then(|rules| command.on(rules)),
            Command::Explain(command) => command.game.opened(games).and_then(|rules| command.on(rules)),
            Command::Replay(command) => command.game.opened(games).and_then(|rules| command.on(rules)),
            Command::CheckGame(command) => command.game.opened(games).and_then(|rules| command.on(rules)),
        }
    }
}

/// Prints one line to standard output, in color if that is a terminal. `main` treats the error for a closed pipe as
/// success.
fn print(line: impl std::fmt::Display) -> Result<()> {
    let line = line.to_string();
    let line = if std::io::stdout().is_terminal() { harmless(&line) } else { line };
    let mut out = anstream::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(Error::io("standard output"))
}

/// Prints a warning on standard error.
fn warn(warning: impl std::fmt::Display) {
    // standard error may be closed
    let _ = writeln!(anstream::stderr(), "warning: {}", harmless(&warning.to_string()));
}

/// Prints a sentence on standard error.
fn note(sentence: impl std::fmt::Display) {
    // standard error may be closed
    let _ = writeln!(anstream::stderr(), "{}", harmless(&help::with_own_name(sentence.to_string())));
}

/// Reports that an object store does not answer.
fn tell_silence(silence: &Silence) {
    let Silence { place, what, most } = silence;
    note(format_args!("{place}: {what}; trying again, for up to {}", roughly(most.as_secs_f64())));
}

/// Refuses to overwrite an existing file.
fn refuse_existing(path: &Path) -> Result<()> {
    match storage::exists(path)? {
        true if storage::has_folder(path) => {
            Err(Error::Config(format!("{} is a folder; name a file in it with --out", path.display())))
        }
        true => {
            Err(Error::Config(format!("{} already exists; choose another file with --out", path.display())))
        }
        false => Ok(()),
    }
}

/// Refuses a `BURN_DEVICE` other than `flex`: burn reads its default device from the environment when it loads an
/// optimizer, and panics if that backend is not compiled in.
fn refuse_other_devices() -> Result<()> {
    match std::env::var("BURN_DEVICE") {
        Ok(name) if name != "flex" => Err(Error::Config(format!(
            "BURN_DEVICE={name}: unset this variable; choose the device with --device or train.device"
        ))),
        _ => Ok(()),
    }
}

/// Returns the command line that started this program, quoted for a shell.
fn own_command() -> String {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

/// Returns the name by which the program was called, quoted for a shell, so that printed commands can be pasted even if
/// the program is not on the PATH.
fn own_name() -> String {
    let name = std::env::args().next().unwrap_or_else(|| Program::current().name.into());
    shell_word(&name).into_owned()
}

/// Returns a path as a shell word that cannot be mistaken for the id of a game: `./phage` for `phage`.
fn path_word(path: &str) -> String {
    let here = if path.contains(std::path::MAIN_SEPARATOR) { "" } else { "./" };
    shell_word(&format!("{here}{path}")).into_owned()
}

/// Checks the environment variables that set the size of rayon's pool when `--threads` does not.
fn refuse_too_many_threads() -> Result<()> {
    let threads = |name: &str| std::env::var(name).ok()?.parse::<usize>().ok();
    match ["RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"].into_iter().find_map(|name| Some((name, threads(name)?)))
    {
        Some((name, threads)) if threads > MAX_THREADS => Err(Error::Config(format!(
            "{name}={threads}: the maximum is {MAX_THREADS} threads; lower the value or unset the variable"
        ))),
        _ => Ok(()),
    }
}

/// Sets the number of worker threads; `None` means one per core.
fn use_threads(threads: Option<usize>) -> Result<()> {
    let Some(threads) = threads else { return Ok(()) };
    if !(1..=MAX_THREADS).contains(&threads) {
        return Err(Error::Config(format!("--threads {threads}: must be from 1 to {MAX_THREADS}")));
    }
    let built = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    built.map_err(|e| Error::Config(format!("--threads {threads}: {e}")))
}
