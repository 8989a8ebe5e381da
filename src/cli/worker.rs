//! `petteia worker`: plays and judges for a run that a learner trains.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use clap::{Args, ValueEnum};

use super::text::counted;
use super::{catch_interrupts, interrupted, print, use_threads};
use crate::error::{Error, Result};
use crate::registry::Catalog;
use crate::run::work::Identity;
use crate::run::work::worker::{Worker, work};
use crate::run::{self, Event, Observer};
use crate::storage;

/// How often a worker says that there is no run yet.
const SAYS: Duration = Duration::from_secs(60);

/// Play and judge for a run that a learner trains.
#[derive(Args)]
#[command(after_help = "\
Start as many workers as there are machines, before or after the learner: each plays \
what is missing, and where two have played the same, the first one counts. A worker \
keeps nothing, so it may be ended and started at any time. With --index and --of, \
workers do not get into each other's way; without, each begins elsewhere.

Exit codes: 0 when the run is finished, 1 if it may be tried again (interrupted, or \
files could not be read or written), 2 if it can never help (other rules, another \
version of the program, or a store that does not let it in).

Examples:
  petteia worker runs/phage
  petteia worker runs/phage --index 0 --of 8
  petteia worker runs/phage --only judge")]
pub struct WorkerCommand {
    /// Run folder; if there is no run yet, the worker waits for it
    #[arg(value_name = "RUN")]
    folder: PathBuf,
    /// Number of this worker, from 0
    #[arg(long, value_name = "I", requires = "of")]
    index: Option<usize>,
    /// How many workers have numbers
    #[arg(long, value_name = "N", requires = "index")]
    of: Option<usize>,
    /// Only play games of self-play, or only judge generations
    #[arg(long, value_name = "WORK", value_enum)]
    only: Option<Only>,
    /// How long it may finish games when it is ended, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    grace: f64,
    /// Name of this machine, in what the worker writes [default: the host's name]
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// Threads; the result does not depend on them [default: all cores]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Only {
    Play,
    Judge,
}

impl WorkerCommand {
    /// Works until the run is finished.
    pub fn run(self, games: Catalog) -> Result<()> {
        let number = self.number()?;
        let grace = Duration::try_from_secs_f64(self.grace)
            .map_err(|_| Error::Config(format!("--grace {}: give seconds, 0 or more", self.grace)))?;
        use_threads(self.threads)?;
        catch_interrupts();
        storage::silence::be_patient();
        self.wait()?;
        let config = run::settings_of(&self.folder)?;
        let rules = games.open(&config.game.id, &config.game.options)?;
        let mut identity = Identity::here();
        identity.machine = self.machine.clone().unwrap_or(identity.machine);
        let worker = Worker {
            is_alone: true,
            identity,
            number,
            plays: !matches!(self.only, Some(Only::Judge)),
            judges: !matches!(self.only, Some(Only::Play)),
            grace,
        };
        say(&format!("{} works on {}", worker.identity, self.folder.display()));
        work(&rules, &self.folder, &worker, &Lines)?;
        say(&format!("{} is finished", self.folder.display()));
        Ok(())
    }

    fn number(&self) -> Result<Option<(usize, usize)>> {
        match (self.index, self.of) {
            (Some(index), Some(of)) if index >= of => Err(Error::Config(format!(
                "--index {index} --of {of}: the numbers are 0 to {}",
                of.saturating_sub(1)
            ))),
            (index, of) => Ok(index.zip(of)),
        }
    }

    /// Waits until there is a run.
    fn wait(&self) -> Result<()> {
        let mut said: Option<Instant> = None;
        while !run::has_run(&self.folder)? {
            if interrupted() {
                return Err(Error::Interrupted);
            }
            if said.is_none_or(|said| said.elapsed() >= SAYS) {
                said = Some(Instant::now());
                say(&format!("{} is no run yet: waiting for its learner", self.folder.display()));
            }
            thread::sleep(storage::between_looks(Path::new(&self.folder)));
        }
        Ok(())
    }
}

/// Prints what happens, one line each.
struct Lines;

impl Observer for Lines {
    fn event(&self, event: Event) {
        match event {
            Event::Committed { generation, shard, games, seconds, counts } => say(&format!(
                "generation {generation}: shard {shard}, {} in {seconds:.1} s{}",
                counted(games, "game", "games"),
                if counts { "" } else { "; another worker was first" }
            )),
            Event::Judged { generation, counts } => say(&format!(
                "generation {generation}: judged{}",
                if counts { "" } else { "; another worker was first" }
            )),
            Event::Waiting(text) => say(&text),
            Event::Warning(text) => say(&format!("warning: {text}")),
            _ => {}
        }
    }

    fn interrupted(&self) -> bool {
        interrupted()
    }
}

/// Prints a line with the time, as logs of many processes want it; a worker does not depend on whether anyone reads it.
fn say(text: &str) {
    let _ = print(format_args!("{} {text}", humantime::format_rfc3339_seconds(SystemTime::now())));
}
