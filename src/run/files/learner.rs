//! The learner of a run: the process that trains it, as recorded in `work/`.
//!
//! In a file system, a lock ensures that there is only one learner. An object store has no locks, and a learner cannot
//! find out whether a learner on another machine is still alive. A second learner therefore refuses to start, unless
//! the user asks it to take over: a scheduler that starts learners one after another knows that the first is gone. If
//! the user is wrong, nothing is lost: the earlier learner notices before it writes again, and ends.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::shared::{Identity, WORK, create, read};
use crate::error::{Error, Result};
use crate::game::GameIdentity;
use crate::program::Program;
use crate::storage;

/// The remedy for users who know that the other process is gone.
pub(crate) const GONE: &str = "; if you are sure that it is gone, --take-over continues without it";

/// A process that trains a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Learner {
    /// The process.
    pub process: Identity,
    /// The program that the process runs, with its version.
    pub program: String,
    /// The rules of the game that the process trains.
    pub game: GameIdentity,
    /// The time when the process began.
    pub started: String,
}

/// A note that a learner has ended.
#[derive(Serialize, Deserialize)]
struct Left {
    process: Identity,
}

impl Learner {
    /// Describes this process.
    pub(crate) fn here(process: Identity, game: &GameIdentity) -> Learner {
        let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        Learner { process, program: Program::current().to_string(), game: game.clone(), started }
    }

    /// Reads the newest learner of a run, and its number; `None` if there was none.
    pub(crate) fn newest(run: &Path) -> Result<Option<(usize, Learner)>> {
        newest_number(run)?.map(|number| Ok((number, read(&path_of(run, number))?))).transpose()
    }

    /// Makes the error that tells another learner that this learner trains the run.
    pub(crate) fn in_use(&self, run: &Path, remedy: &str) -> Error {
        let (place, Learner { process, started, .. }) = (run.display(), self);
        Error::Config(format!("{place} is being trained by {process}, started {started}{remedy}"))
    }

    /// Returns whether there is a learner that has not recorded its end.
    pub(crate) fn is_at_work(run: &Path) -> Result<bool> {
        newest_number(run)?
            .map_or(Ok(false), |number| storage::exists(&left_path(run, number)).map(|left| !left))
    }

    /// Fails if a worker that runs this program with these rules cannot play for this learner.
    ///
    /// # Errors
    /// If the learner runs another program, or has other rules.
    pub(crate) fn expect(&self, game: &GameIdentity) -> Result<()> {
        let own = Program::current().to_string();
        if self.program != own {
            let theirs = &self.program;
            return Err(Error::Config(format!(
                "the run is trained by {theirs}, but this is {own}: use {theirs}"
            )));
        }
        self.game.expect(game, "the run").map_err(|error| Error::Config(error.to_string()))
    }
}

/// The right to train a run, until another learner takes it over.
#[derive(Debug)]
pub(crate) struct Tenure {
    run: PathBuf,
    number: usize,
    learner: Learner,
}

impl Tenure {
    /// Begins a tenure. An earlier learner must have recorded its end, must be gone according to `is_gone`, or must
    /// have run on this machine and no longer do so.
    ///
    /// # Errors
    /// If another learner may be at work, or has just begun.
    pub(crate) fn begin(run: &Path, learner: Learner, is_gone: bool) -> Result<Tenure> {
        storage::create_folder_in(run, &run.join(WORK))?;
        let before = Learner::newest(run)?;
        if let Some((number, before)) = &before
            && !is_gone
            && before.process != learner.process
            && !storage::exists(&left_path(run, *number))?
            && !is_dead(&before.process, &learner.process)
        {
            return Err(before.in_use(run, GONE));
        }
        let mut number = before.map_or(0, |(number, _)| number) + 1;
        while let Some(other) = create(&path_of(run, number), &learner)? {
            // another learner has just begun, or the list of files was out of date
            if !is_gone {
                return Err(other.in_use(run, ""));
            }
            number += 1;
        }
        Ok(Tenure { run: run.to_path_buf(), number, learner })
    }

    /// Fails if another learner has taken over.
    ///
    /// # Errors
    /// If another learner has taken over; the message names it.
    pub(crate) fn check(&self) -> Result<()> {
        match newest_number(&self.run)? {
            Some(number) if number > self.number => {
                let other: Learner = read(&path_of(&self.run, number))?;
                Err(other.in_use(&self.run, ""))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Tenure {
    /// Records that this learner has ended, so that the next learner can begin without asking.
    fn drop(&mut self) {
        let left = Left { process: self.learner.process.clone() };
        // if this fails, the user must tell the next learner that this one is gone
        let _ = create(&left_path(&self.run, self.number), &left);
    }
}

/// Returns whether a process is certainly gone: it ran on this machine, and no longer does.
fn is_dead(other: &Identity, own: &Identity) -> bool {
    if other.machine != own.machine {
        return false;
    }
    #[cfg(unix)]
    {
        use nix::errno::Errno;
        use nix::sys::signal::kill;
        use nix::unistd::Pid;
        // in a restarted container, the first process gets the same process ID again
        let Ok(process) = i32::try_from(other.process) else { return false };
        other.process == own.process || kill(Pid::from_raw(process), None) == Err(Errno::ESRCH)
    }
    #[cfg(not(unix))]
    false
}

fn path_of(run: &Path, number: usize) -> PathBuf {
    run.join(WORK).join(format!("learner-{number:04}.json"))
}

fn left_path(run: &Path, number: usize) -> PathBuf {
    run.join(WORK).join(format!("learner-{number:04}.left.json"))
}

/// Returns the number of the newest learner.
fn newest_number(run: &Path) -> Result<Option<usize>> {
    Ok(storage::list(&run.join(WORK))?.into_iter().filter_map(|path| number_of(&path)).max())
}

fn number_of(path: &Path) -> Option<usize> {
    path.file_name()?.to_str()?.strip_prefix("learner-")?.strip_suffix(".json")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{GameOptions, Rules};
    use crate::games::tic_tac_toe::TicTacToe;

    fn learner(machine: &str, process: u32, nonce: &str) -> Learner {
        let rules = Rules::<TicTacToe>::new(&GameOptions::default()).unwrap();
        let process = Identity { machine: machine.into(), process, nonce: nonce.into() };
        Learner::here(process, &rules.identity)
    }

    #[test]
    fn a_second_learner_gives_way_or_takes_over() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path();
        let first = Tenure::begin(run, learner("far", 5, "a"), false).unwrap();
        let refused = Tenure::begin(run, learner("here", 7, "b"), false).unwrap_err();
        let text = refused.to_string();
        assert!(
            text.contains("is being trained by process 5 on far, started 20") && text.contains("--take-over"),
            "{text}"
        );
        assert_eq!(refused.exit_code(), 2);
        first.check().unwrap();
        let second = Tenure::begin(run, learner("here", 7, "b"), true).unwrap();
        let succeeded = first.check().unwrap_err();
        assert!(succeeded.to_string().contains("is being trained by process 7 on here"), "{succeeded}");
        assert_eq!(succeeded.exit_code(), 2);
        second.check().unwrap();
        drop(second);
        Tenure::begin(run, learner("elsewhere", 1, "c"), false).unwrap().check().unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_process_of_this_machine_is_asked_itself() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let begin =
            |process: u32, nonce: &str| Tenure::begin(folder.path(), learner("here", process, nonce), false);
        // a process that is killed does not record its end
        std::mem::forget(begin(child.id(), "a").unwrap());
        assert!(begin(1, "b").is_err());
        child.kill().unwrap();
        child.wait().unwrap();
        std::mem::forget(begin(1, "b").unwrap());
        // a restarted container
        begin(1, "c").unwrap();
    }

    #[test]
    fn a_worker_with_other_rules_is_told() {
        let learner = learner("here", 1, "a");
        learner.expect(&learner.game).unwrap();
        let other = GameIdentity { encoding: 99, ..learner.game.clone() };
        let error = learner.expect(&other).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{error}");
        let newer = Learner { program: "petteia 99.0.0".into(), ..learner.clone() };
        let error = newer.expect(&learner.game).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("petteia 99.0.0"), "{error}");
    }
}
