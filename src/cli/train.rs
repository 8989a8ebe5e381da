//! `petteia train`: trains an agent.
//!
//! [`Plan`] determines the settings, the folder, and what must be made before training; `within` trains for other
//! commands.

mod plan;
mod source;
pub(super) mod within;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use clap::Args;

use self::plan::Plan;
use super::allocator;
use super::calibration::calibrate;
use super::flags::DeviceArg;
use super::help::with_own_name;
use super::outline::Outline;
use super::progress::{cpu_duration, duration, rating_parts, verdict};
use super::report::{PAGE, refuse_other_pages};
use super::screen::Screen;
use super::subject::tell_slow_rules;
use super::text::{counted, terminal_width, wrapped};
use super::{
    catch_interrupts, own_command, own_name, path_word, print, refuse_other_devices, shell_word, use_threads,
};
use crate::any::Opened;
use crate::config::{self, Config};
use crate::error::{Error, Result};
use crate::game::Game;
use crate::memory;
use crate::net::device::{Processor, for_training};
use crate::registry::Catalog;
use crate::report;
use crate::run::{self, Event, METRICS, Observer, Played, Rating, Summary, Times, Training};
use crate::storage;

/// Train an agent by self-play, or resume a run.
#[derive(Args, Default)]
#[command(after_help = "\
Settings that are not in the config have defaults; all settings are saved in the \
run's config.toml. To estimate the duration, a new run first measures about a second \
of work, which is then discarded. Ctrl-C, SIGTERM, and SIGHUP save the run and exit with code \
0; the same command resumes it, and so does --run DIR alone. A resumed run ends with the \
same games and weights as an uninterrupted one.

An extended run keeps its generations. The learning rate of an extended run continues as in a run of the new length, \
so the rate rises again if it had already fallen further; with learning_rate_final = learning_rate, an extended run \
ends with the same games and weights as a run that had the new length from the start.

Printed for each generation:
  policy loss  cross-entropy between the network's policy and the search
               results; it falls toward the floor but never below it
  floor        the entropy of the search results, which no network can beat
  value loss   cross-entropy between the predicted and the actual result; it may
               rise without harm, because games between better players are closer
  Elo          how much stronger the generation is than the generation of half
               its age, the first generation, and arena.opponent, with 95 %
               bounds, from all games of the run so far; `petteia runs`,
               `watch`, and `report` show the same; `petteia ladder` rates all
               generations from more games

If CONFIG is not a file, it is the name of a shipped config (`petteia config` lists \
them) or the id of a game; an id alone is enough for training.

Examples:
  petteia train phage
  petteia train phage --dry-run
  petteia train my-phage.toml --run runs/long --set train.generations=40
  petteia train --run runs/phage
  petteia train --run runs/phage --generations 20
  petteia train phage --run runs/next --from runs/phage
  petteia train --fork runs/phage --at 5 --run runs/fork --set seed=2")]
pub(super) struct Train {
    /// Settings: a file, the name of a shipped config, or the id of a game [default: the settings of the run in DIR]
    #[arg(value_name = "CONFIG", required_unless_present_any = ["run", "from", "fork"], conflicts_with = "fork")]
    pub(super) config: Option<PathBuf>,
    /// Run folder [default: runs/NAME-OF-THE-CONFIG]
    #[arg(long, value_name = "DIR")]
    pub(super) run: Option<PathBuf>,
    /// Setting, e.g. search.simulations=64; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// Number of generations (train.generations); for an existing run, extends it to that number
    #[arg(long, value_name = "N")]
    pub(super) generations: Option<usize>,
    /// Begin a new run with the weights of this run or checkpoint and, without CONFIG, with its settings
    #[arg(long, value_name = "RUN-OR-CHECKPOINT", conflicts_with = "fork")]
    from: Option<PathBuf>,
    /// Also begin with the replay window of the run given by --from
    #[arg(long, requires = "from")]
    with_window: bool,
    /// Also begin with these games: a shard of records, or the records of a run
    #[arg(long, value_name = "RECORDS", requires = "from", conflicts_with = "with_window")]
    with_records: Option<PathBuf>,
    /// Copy this run into DIR (by default RUN-fork) and continue the copy, with settings changed by --set
    #[arg(long, value_name = "RUN")]
    fork: Option<PathBuf>,
    /// The last generation to copy [default: the newest]
    #[arg(long, value_name = "GENERATION", requires = "fork")]
    at: Option<usize>,
    /// Resume although records or checkpoints are missing or wrong; the run then ends with other games and weights than
    /// an undamaged run
    #[arg(long)]
    pub(super) accept_missing: bool,
    /// Check the settings, the folder, the device, and the memory, and print the plan and its estimated duration, but
    /// create nothing
    #[arg(long, alias = "check")]
    dry_run: bool,
    /// Write the page of `petteia report` to report.html in the run folder, after generations (spending at most a
    /// hundredth of the time) and at the end
    #[arg(long)]
    report: bool,
    /// Worker threads; the result does not depend on them [default: all cores]
    #[arg(long, value_name = "N")]
    pub(super) threads: Option<usize>,
    /// Device that evaluates the network in self-play (net.device): cpu, cuda, vulkan, or auto
    #[arg(long, value_name = "DEVICE", value_enum, hide_possible_values = true)]
    device: Option<DeviceArg>,
    /// Take over the run from a process that has certainly ended; needed only in an object store, where petteia cannot
    /// tell
    #[arg(long)]
    pub(super) take_over: bool,
    /// What this process does.
    #[arg(skip)]
    pub(super) role: ProcessRole,
}

/// What the process does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ProcessRole {
    /// The process plays and trains.
    #[default]
    Both,
    /// The process trains, and workers play.
    Learner,
}

impl Train {
    /// Reads the config, trains, and prints a summary.
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        let plan = Plan::of(&self, games)?;
        refuse_other_devices()?;
        use_threads(self.threads)?;
        catch_interrupts();
        let Plan { config, text, place, .. } = &plan;
        match games.open(&config.game.id, &config.game.options) {
            Ok(rules) => {
                tell_slow_rules(&rules);
                TrainGame { plan: &plan, flags: &self }.on(rules)
            }
            Err(error) => Err(self.locate(config, place, text, error)),
        }
    }

    /// Adds the place in the config to an error for an id or option that the registry rejected.
    fn locate(&self, config: &Config, place: &str, text: &str, error: Error) -> Error {
        let message = error.to_string();
        // find the `--set` that the error names, if this setting and not the file is at fault
        let is_named =
            |set: &&String| match set.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
                Some(("game.id", _)) => true,
                // an error shortens a long key; an error about a game's text has only the option's name
                Some((key, value)) => key.strip_prefix("game.").is_some_and(|name| {
                    message.contains(&key.chars().take(20).collect::<String>())
                        || message.contains(&format!("{name} = {value}"))
                        || message.contains(&format!("`option {name}`"))
                }),
                None => false,
            };
        if let Some(set) = self.set.iter().rev().find(is_named) {
            return Error::Config(format!("--set {set}: {message}"));
        }
        let option =
            config.game.options.keys().map(|name| format!("game.{name}")).find(|key| message.contains(key));
        let key = option.unwrap_or_else(|| "game.id".into());
        Error::Config(format!("{place}: {}", config::show(text, &key, &message)))
    }

    /// Returns the command that resumes the run in `folder` with unchanged settings.
    fn resuming(&self, folder: &Path) -> String {
        let threads = self.threads.map_or(String::new(), |threads| format!(" --threads {threads}"));
        let folder = folder.display().to_string();
        let command = match self.role {
            ProcessRole::Both => "train --run",
            ProcessRole::Learner => "learn",
        };
        format!("{} {command} {}{threads}", own_name(), shell_word(&folder))
    }
}

struct TrainGame<'a> {
    plan: &'a Plan,
    flags: &'a Train,
}

impl TrainGame<'_> {
    /// Trains on a game.
    pub(crate) fn on(self, rules: Opened) -> Result<()> {
        let started = Instant::now();
        run::check_rules(&rules)?;
        let (config, derived) = self.plan.suited(&rules)?;
        let (config, remark) = run::with_named_device(&config, &self.plan.folder)?;
        // checks the device before anything is created
        Processor::of(config.net.device)?;
        for_training(config.train.device)?;
        let config = run::resolve_precision(&rules, &config, &self.plan.folder)?;
        let plan = self.plan.clone().with(config);
        let (Plan { config, folder, note, .. }, game) = (&plan, &rules.game);
        memory::check_run(config, game.shape(), rayon::current_num_threads())?;
        let remarks: Vec<String> =
            note.iter().cloned().chain(remark).chain(derived).chain(self.plan.gentle()).collect();
        let outline = Outline {
            config,
            folder,
            accept_missing: self.flags.accept_missing,
            threads: rayon::current_num_threads(),
            measure: Box::new(|bootstrap| match self.flags.role {
                ProcessRole::Both => calibrate(&rules, config, bootstrap),
                // the duration depends on the workers
                ProcessRole::Learner => Err(Error::Interrupted),
            }),
        };
        if self.flags.dry_run {
            return print_plan(&plan, &rules, &remarks, &outline);
        }
        allocator::keep_freed();
        let screen = Screen::new(outline);
        remarks.iter().for_each(|remark| screen.say(remark));
        let prepared = plan.prepare(&rules, &screen);
        let reporting = Reporting {
            screen: &screen,
            rules: &rules,
            folder,
            wanted: self.flags.report,
            written: Mutex::new(None),
        };
        let is_gone = self.flags.take_over;
        let training = Training { rules: &rules, config, folder, observer: &reporting, is_gone };
        let result = prepared.and_then(|()| match self.flags.role {
            ProcessRole::Both => training.train(),
            ProcessRole::Learner => training.learn(),
        });
        reporting.write();
        screen.finish();
        match result {
            Ok(summary) => self.finished(config, &summary, game.about().player_names(), &screen, started),
            Err(Error::Interrupted) => {
                self.interrupted(folder, &screen);
                Ok(())
            }
            Err(error) => {
                screen.note(&format!("error: {error}"));
                Err(error)
            }
        }
    }

    /// Prints what a finished run did, and commands that use it.
    fn finished(
        &self,
        config: &Config,
        summary: &Summary,
        players: [&str; 2],
        screen: &Screen,
        started: Instant,
    ) -> Result<()> {
        let mut lines = summary_lines(config, summary, players, started);
        if self.flags.report {
            lines.push(format!("report: {}", summary.run.join(PAGE).display()));
        }
        screen.note(&lines.join("\n"));
        lines.iter().try_for_each(|line| print(wrapped(line, terminal_width())))?;
        print_commands(config, &summary.run.display().to_string())
    }

    /// Prints the command that continues an interrupted run.
    fn interrupted(&self, folder: &Path, screen: &Screen) {
        let place = folder.display();
        let line = if run::is_run(folder) {
            format!("interrupted; {place} is saved; this command resumes it: {}", self.flags.resuming(folder))
        } else {
            format!("interrupted; {place} was not created; this command creates it: {}", own_command())
        };
        screen.note(&line);
        // the run is saved even if this line cannot be printed
        let _ = print(line);
    }
}

/// Prints what a run would do, after all checks have passed.
fn print_plan(plan: &Plan, rules: &Opened, remarks: &[String], outline: &Outline) -> Result<()> {
    let done = plan.done(rules)?;
    let forecast = outline.forecast(done).1;
    let lines = outline.resuming(done, None).into_iter().chain(forecast);
    let all = remarks.iter().map(|line| with_own_name(line.clone())).chain(lines);
    all.map(|line| wrapped(&line, terminal_width())).try_for_each(print)?;
    let (left, folder) = (plan.config.train.generations.saturating_sub(done), plan.folder.display());
    let plan = format!(
        "all checks passed, and nothing was created; without --dry-run, this command trains {} in {folder}",
        counted(left, "generation", "generations")
    );
    print(wrapped(&plan, terminal_width()))
}

/// The page is not written again until this many times the duration of writing it has passed, so that it costs at most
/// a hundredth of the time.
const REST: u32 = 100;

/// Shows the run and, if wanted, writes a page about it after a generation.
struct Reporting<'a, 's> {
    screen: &'a Screen<'s>,
    rules: &'a Opened,
    folder: &'a Path,
    wanted: bool,
    /// When the page was last written, and how long that took.
    written: Mutex<Option<(Instant, Duration)>>,
}

impl Reporting<'_, '_> {
    /// Writes the page; if this fails, the run continues.
    fn write(&self) {
        if !self.wanted || !run::is_run(self.folder) {
            return;
        }
        let begun = Instant::now();
        let path = self.folder.join(PAGE);
        let page = report::read(&[self.folder]).and_then(|runs| report::report(self.rules, &runs, None));
        // before the first generation there is nothing to show
        let written = page.and_then(|page| {
            refuse_other_pages(&path, &page)?;
            storage::write_whole(&path, page.as_bytes())
        });
        if let Err(error) = written
            && !matches!(error, Error::Missing(_))
        {
            self.screen.say(&format!("warning: {} was not written: {error}", path.display()));
        }
        *self.written.lock().expect("no panic while writing") = Some((Instant::now(), begun.elapsed()));
    }

    /// Writes the page, unless it was written a short time ago.
    fn write_sometimes(&self) {
        let written = *self.written.lock().expect("no panic while writing");
        if written.is_none_or(|(at, took)| at.elapsed() >= REST * took) {
            self.write();
        }
    }
}

impl Observer for Reporting<'_, '_> {
    fn event(&self, event: Event) {
        if matches!(event, Event::Generation { number, .. } if number > 1) {
            self.write_sometimes();
        }
        self.screen.event(event);
    }

    fn interrupted(&self) -> bool {
        self.screen.interrupted()
    }

    fn accepts_missing(&self) -> bool {
        self.screen.accepts_missing()
    }
}

/// Returns the results of a finished run, in paragraphs.
fn summary_lines(config: &Config, summary: &Summary, players: [&str; 2], started: Instant) -> Vec<String> {
    let (id, run) = (&config.game.id, summary.run.display());
    let took = duration(started.elapsed().as_secs_f64());
    let mut lines = vec![
        String::new(),
        format!(
            "{id}: {}, {}, {took} in this session",
            counted(summary.generations, "generation", "generations"),
            counted(summary.steps, "step", "steps")
        ),
    ];
    if let Some(last) = summary.played.last() {
        let sum = |count: fn(&Played) -> usize| summary.played.iter().map(count).sum::<usize>();
        let [first, second] = players;
        lines.push(format!(
            "self-play: {}, {}; in the last generation {first} won {}, {second} {}, {}",
            counted(sum(|played| played.games), "game", "games"),
            counted(sum(|played| played.positions), "position", "positions"),
            last.first,
            last.second,
            counted(last.draw, "draw", "draws")
        ));
    }
    lines.extend(times_line(&summary.times, summary.cpu_times.as_ref()));
    lines.push(match &summary.evaluation {
        Some((opponent, result)) => format!(
            "strength at {} simulations against {opponent}: {}",
            config.arena.simulations,
            verdict(result)
        ),
        None => "strength: not measured (arena.final_games = 0)".into(),
    });
    lines.extend(summary.rating.as_ref().and_then(rating_line));
    let checkpoints = match summary.generations {
        1 => "generation-0001".into(),
        last => format!("generation-0001 to generation-{last:04}"),
    };
    lines.push(format!("checkpoints: {run}/checkpoints, {checkpoints}; metrics: {run}/{METRICS}"));
    lines
}

/// Describes how the time of all sessions was spent, in CPU time if that is known; returns `None` if no time was spent.
fn times_line(times: &Times, cpu_times: Option<&Times>) -> Option<String> {
    let parts = cpu_times.unwrap_or(times);
    let all = parts.whole();
    let shares: Vec<String> = parts
        .parts()
        .iter()
        .filter(|(_, seconds)| *seconds >= 0.005 * all && *seconds > 0.0)
        .map(|(name, seconds)| format!("{name} {:.0} %", 100.0 * seconds / all))
        .collect();
    let clock = duration(times.whole());
    let took = match cpu_times {
        Some(_) => format!("{clock} by the clock, {} of CPU time", cpu_duration(all)),
        None => clock,
    };
    (!shares.is_empty()).then(|| format!("time of all sessions: {took}: {}", shares.join(", ")))
}

/// Describes the rating of the last generation; returns `None` if it was not compared with anything.
fn rating_line(rating: &Rating) -> Option<String> {
    let parts = rating_parts(rating);
    (!parts.is_empty()).then(|| {
        format!(
            "rating: generation {} is {}{}",
            rating.generation,
            parts.join(" and "),
            match rating.games {
                0 => String::new(),
                games => format!(
                    "; {} took {}",
                    counted(games, "rating game", "rating games"),
                    rating.cpu_seconds.map_or_else(
                        || duration(rating.seconds),
                        |seconds| format!("{} of CPU time", cpu_duration(seconds))
                    )
                ),
            }
        )
    })
}

/// Prints commands for using the finished run.
fn print_commands(config: &Config, run: &str) -> Result<()> {
    let run = &path_word(run);
    let me = own_name();
    print(format_args!("\nplay against it:  {me} play {run}"))?;
    let (simulations, opponent, plies) =
        (config.arena.simulations, &config.arena.opponent, config.arena.opening_plies);
    print(format_args!(
        "measure it:       {me} arena {run}:{simulations} {opponent} --games 200 --opening-plies {plies} --seed 2"
    ))?;
    print(format_args!("export it:        {me} export {run}"))
}
