//! `petteia worker`: plays games and judges generations for a run that a learner trains.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use clap::{Args, ValueEnum};

use super::subject::tell_slow_rules;
use super::text::counted;
use super::{catch_interrupts, interrupted, print, use_threads};
use crate::error::{Error, Result};
use crate::registry::Catalog;
use crate::run::work::Identity;
use crate::run::work::worker::{Worker, work};
use crate::run::{self, Event, Observer};
use crate::storage;

/// The time between messages that there is no run yet.
const REMINDER: Duration = Duration::from_secs(60);

/// Play games and judge generations for a run that a learner trains.
#[derive(Args)]
#[command(after_help = "\
Start one worker on each machine, before or after the learner. Each worker plays shards of games that are still \
missing; if two workers play the same shard, the one that is finished first counts. A worker keeps no state, so it can \
be stopped and restarted at any time. With --index and --of, each worker begins with its own share of the shards; \
without these flags, each begins at a different place.

Exit codes: 0 if the run is finished, 1 if trying again may help (interrupted, or \
files could not be read or written), 2 if it cannot (other rules, another \
version of the program, or an object store that denies access).

Examples:
  petteia worker runs/phage
  petteia worker runs/phage --index 0 --of 8
  petteia worker runs/phage --only judge")]
pub(super) struct WorkerCommand {
    /// Run folder; if there is no run yet, the worker waits for it
    #[arg(value_name = "RUN")]
    folder: PathBuf,
    /// Number of this worker, counting from 0
    #[arg(long, value_name = "I", requires = "of")]
    index: Option<usize>,
    /// Number of workers that are given an --index
    #[arg(long, value_name = "N", requires = "index")]
    of: Option<usize>,
    /// Only play self-play games, or only judge generations
    #[arg(long, value_name = "WORK", value_enum)]
    only: Option<Only>,
    /// How long the worker may go on finishing games after it is told to stop, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    grace: f64,
    /// Name of this machine in the files that the worker writes [default: the host name]
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
    pub(super) fn run(self, games: Catalog) -> Result<()> {
        let number = self.number()?;
        let grace = Duration::try_from_secs_f64(self.grace)
            .map_err(|_| Error::Config(format!("--grace {}: must be 0 or more seconds", self.grace)))?;
        use_threads(self.threads)?;
        catch_interrupts();
        storage::silence::be_patient();
        self.wait()?;
        let config = run::settings_of(&self.folder)?;
        let rules = games.open(&config.game.id, &config.game.options)?;
        tell_slow_rules(&rules);
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
                "--index {index} --of {of}: the index must be from 0 to {}",
                of.saturating_sub(1)
            ))),
            (index, of) => Ok(index.zip(of)),
        }
    }

    /// Waits until there is a run.
    fn wait(&self) -> Result<()> {
        let mut reminded: Option<Instant> = None;
        while !run::has_run(&self.folder)? {
            if interrupted() {
                return Err(Error::Interrupted);
            }
            if reminded.is_none_or(|time| time.elapsed() >= REMINDER) {
                reminded = Some(Instant::now());
                say(&format!("{} is not a run yet; waiting for its learner", self.folder.display()));
            }
            thread::sleep(storage::between_looks(Path::new(&self.folder)));
        }
        Ok(())
    }
}

/// Prints one line for each event.
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

/// Prints a line with the time, for logs of many processes. Errors are ignored: a worker continues even if its output
/// cannot be written.
fn say(text: &str) {
    let _ = print(format_args!("{} {text}", humantime::format_rfc3339_seconds(SystemTime::now())));
}
