//! `petteia train`: trains an agent.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;

use super::allocator;
use super::calibration::calibrate;
use super::outline::Outline;
use super::progress::{duration, rating_parts, verdict};
use super::screen::Screen;
use super::text::{counted, terminal_width, wrapped};
use super::{catch_interrupts, own_command, print, refuse_other_devices, shell_word, use_threads};
use crate::config::{self, Config, GateKind};
use crate::error::{Error, Result};
use crate::game::{Game, Rules};
use crate::memory;
use crate::program::Program;
use crate::registry::{Job, Registry};
use crate::run::{self, METRICS, Played, Rating, Summary};
use crate::storage;

/// Train an agent by self-play, or resume a run.
#[derive(Args)]
#[command(after_help = "\
Settings that are not in the config have defaults; all settings are saved in the \
run's config.toml. To estimate the duration, a new run first measures about a second \
of work, which is then discarded. Ctrl-C, SIGTERM and SIGHUP save and exit with code \
0; the same command resumes the run, which ends with the same games and weights as \
an uninterrupted run.

Printed for each generation:
  policy loss  cross-entropy between the network's policy and the search
               results; it falls toward the floor but never below it
  floor        the entropy of the search results, which no network can beat
  value loss   cross-entropy between the predicted and the actual result; may
               rise without harm: games between better players are closer
  Elo          how much stronger the generation is than one of half its age, and
               than arena.opponent, with 95 % bounds, by all games of the run so
               far; `petteia ladder` rates all generations by more games

Examples:
  petteia train configs/phage.toml
  petteia train configs/phage.toml --run runs/long --set train.generations=40")]
pub struct Train {
    /// Settings file, e.g. configs/phage.toml
    #[arg(value_name = "CONFIG")]
    config: PathBuf,
    /// Run folder [default: runs/NAME-OF-THE-CONFIG]
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    /// Setting, e.g. search.simulations=64; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Resume without records and checkpoints that are missing or wrong; the run then ends with different games and
    /// weights than an undisturbed run
    #[arg(long)]
    accept_missing: bool,
    /// Worker threads; the result does not depend on them [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

struct TrainGame<'a> {
    config: &'a Config,
    folder: &'a Path,
    accept_missing: bool,
}

impl Train {
    /// Reads the config, trains, and prints a summary.
    pub fn run<R: Registry>(self) -> Result<()> {
        let (config, source) = self.read_config()?;
        let name = self.config.file_stem().unwrap_or_default();
        let folder = self.run.clone().unwrap_or_else(|| Path::new("runs").join(name));
        refuse_other_devices()?;
        use_threads(self.threads)?;
        catch_interrupts();
        let job = TrainGame { config: &config, folder: &folder, accept_missing: self.accept_missing };
        match R::with_game(&config.game.id, &config.game.options, job) {
            Ok(result) => result,
            Err(error) => Err(self.locate(&config, &source, error)),
        }
    }

    /// The error for an id or option that the registry rejected, with its place in the config.
    fn locate(&self, config: &Config, source: &str, error: Error) -> Error {
        let text = error.to_string();
        // the one that the error names, if the file is not the culprit
        let is_named =
            |set: &&String| match set.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
                Some(("game.id", _)) => true,
                Some((key, _)) => key.starts_with("game.") && text.contains(key),
                None => false,
            };
        if let Some(set) = self.set.iter().rev().find(is_named) {
            return Error::Config(format!("--set {set}: {text}"));
        }
        let option =
            config.game.options.keys().map(|name| format!("game.{name}")).find(|key| text.contains(key));
        let key = option.unwrap_or_else(|| "game.id".into());
        Error::Config(format!("{}: {}", self.config.display(), config::show(source, &key, &text)))
    }

    /// A user who gives a game's id instead of a config means the config of that name.
    fn hint(&self) -> String {
        let meant = Path::new("configs").join(&self.config).with_extension("toml");
        if meant.is_file() { format!("; did you mean {}?", meant.display()) } else { String::new() }
    }

    fn read_config(&self) -> Result<(Config, String)> {
        let place = self.config.display().to_string();
        let bytes = storage::read(&self.config)
            .map_err(|e| Error::Config(format!("cannot read the config: {e}{}", self.hint())))?;
        let text = String::from_utf8(bytes).map_err(|e| Error::Config(format!("{place}: {e}")))?;
        Ok((Config::parse(&place, &text, &self.set)?, text))
    }
}

impl Job for TrainGame<'_> {
    type Output = Result<()>;

    fn run<G: Game>(self, rules: Rules<G>) -> Result<()> {
        let game = &rules.game;
        let started = Instant::now();
        memory::check_run(self.config, game.shape(), rayon::current_num_threads())?;
        allocator::keep_freed();
        let screen = Screen::new(Outline {
            config: self.config,
            folder: self.folder,
            accept_missing: self.accept_missing,
            threads: rayon::current_num_threads(),
            measure: Box::new(|bootstrap| calibrate(&rules, self.config, bootstrap)),
        });
        let result = run::train(&rules, self.config, self.folder, &screen);
        screen.finish();
        match result {
            Ok(summary) => print_summary(self.config, &summary, game.players(), started),
            Err(Error::Interrupted) => {
                // the run is saved even if this cannot be printed
                let _ = print(format_args!(
                    "interrupted; {} is saved; this command resumes it: {}",
                    self.folder.display(),
                    own_command()
                ));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

fn print_summary(config: &Config, summary: &Summary, players: [&str; 2], started: Instant) -> Result<()> {
    let (id, run) = (&config.game.id, summary.run.display());
    let took = duration(started.elapsed().as_secs_f64());
    print(format_args!(
        "\n{id}: {}, {}, {took} in this session",
        counted(summary.generations, "generation", "generations"),
        counted(summary.steps, "step", "steps")
    ))?;
    if let Some(last) = summary.played.last() {
        let sum = |count: fn(&Played) -> usize| summary.played.iter().map(count).sum::<usize>();
        let [first, second] = players;
        print_paragraph(&format!(
            "self-play: {}, {}; in the last generation {first} won {}, {second} {}, {}",
            counted(sum(|played| played.games), "game", "games"),
            counted(sum(|played| played.positions), "position", "positions"),
            last.first,
            last.second,
            counted(last.draw, "draw", "draws")
        ))?;
    }
    if config.arena.gate != GateKind::None {
        print_paragraph(&format!(
            "the gate's champion, generation {}, represents the run; {run}/checkpoints has the others",
            summary.champion
        ))?;
    }
    match &summary.evaluation {
        Some((opponent, result)) => {
            let simulations = config.arena.simulations;
            print_paragraph(&format!(
                "strength at {simulations} simulations against {opponent}: {}",
                verdict(result)
            ))?;
        }
        None => print("strength: not measured (arena.final_games = 0)")?,
    }
    if let Some(rating) = &summary.rating {
        print_rating(rating)?;
    }
    let checkpoints = match summary.generations {
        1 => "generation-0001".into(),
        last => format!("generation-0001 to generation-{last:04}"),
    };
    print_paragraph(&format!("checkpoints: {run}/checkpoints, {checkpoints}; metrics: {run}/{METRICS}"))?;
    print_commands(config, &run.to_string())
}

/// Prints how the last generation is rated.
fn print_rating(rating: &Rating) -> Result<()> {
    let parts = rating_parts(rating);
    if !parts.is_empty() {
        print_paragraph(&format!(
            "rating: generation {} is {}; {} of the run's own took {}",
            rating.generation,
            parts.join(" and "),
            counted(rating.games, "game", "games"),
            duration(rating.seconds)
        ))?;
    }
    Ok(())
}

/// Prints commands for the finished run.
fn print_commands(config: &Config, run: &str) -> Result<()> {
    let id = &config.game.id;
    let run = &shell_word(run);
    // the program as it was called, so that the lines can be pasted even if it is not on the PATH
    let me = std::env::args().next().unwrap_or_else(|| Program::current().name.into());
    let me = &shell_word(&me);
    print(format_args!("\nplay against it:  {me} play {id} --opponent {run}"))?;
    let (simulations, opponent, plies) =
        (config.arena.simulations, &config.arena.opponent, config.arena.opening_plies);
    print(format_args!(
        "measure it:       {me} arena {id} {run}:{simulations} {opponent} --games 200 --opening-plies {plies} --seed 2"
    ))?;
    print(format_args!("export it:        {me} export {run} --format bot --out {id}-bot"))
}

/// Prints a text, wrapped on a terminal and on one line elsewhere.
fn print_paragraph(text: &str) -> Result<()> {
    print(wrapped(text, terminal_width()))
}
