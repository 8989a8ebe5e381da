//! Training with self-play beside it, in one process: a learner and a worker, as on two machines.
//!
//! The worker plays on threads of its own, so that neither waits for the other.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::event::{Event, Observer, Summary};
use super::training::{Role, train_as};
use super::work::Identity;
use super::work::worker::{Worker, work};
use crate::any::Opened;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::run::is_run;

/// Hears the worker: it ends with the learner, and its progress is the learner's to show.
struct Hushed<'a> {
    observer: &'a dyn Observer,
    is_over: &'a AtomicBool,
}

impl Observer for Hushed<'_> {
    fn event(&self, event: Event) {
        if let Event::Warning(_) = event {
            self.observer.event(event);
        }
    }

    fn interrupted(&self) -> bool {
        self.is_over.load(Ordering::Relaxed) || self.observer.interrupted()
    }
}

/// Trains in `folder`, with a worker in this process.
pub(super) fn train(
    rules: &Opened,
    config: &Config,
    folder: &Path,
    observer: &dyn Observer,
    is_gone: bool,
) -> Result<Summary> {
    let threads = rayon::current_num_threads();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| Error::Config(format!("{threads} more threads: {error}")))?;
    let (is_over, has_failed) = (AtomicBool::new(false), AtomicBool::new(false));
    let quiet = &Hushed { observer, is_over: &is_over };
    let learner = &Watched { observer, has_failed: &has_failed };
    let worker = Worker {
        identity: Identity::here(),
        number: Some((0, 1)),
        plays: true,
        judges: true,
        grace: Duration::ZERO,
        is_alone: false,
    };
    thread::scope(|scope| {
        let playing = scope.spawn(|| {
            // the learner makes the run
            while !is_run(folder) && !quiet.interrupted() {
                thread::sleep(Duration::from_millis(20));
            }
            let played = pool.install(|| work(rules, folder, &worker, quiet));
            has_failed.store(
                matches!(&played, Err(error) if !matches!(error, Error::Interrupted)),
                Ordering::Relaxed,
            );
            played
        });
        let summary = train_as(Role::Learner, rules, config, folder, learner, Some(is_gone));
        is_over.store(true, Ordering::Relaxed);
        let played = playing.join().expect("a worker's panics are caught");
        match (summary, played) {
            // the learner was ended because of the worker
            (Err(Error::Interrupted), Err(error)) => Err(error),
            (summary, _) => summary,
        }
    })
}

/// Hears the learner, which ends when the worker has failed.
struct Watched<'a> {
    observer: &'a dyn Observer,
    has_failed: &'a AtomicBool,
}

impl Observer for Watched<'_> {
    fn event(&self, event: Event) {
        self.observer.event(event);
    }

    fn interrupted(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed) || self.observer.interrupted()
    }

    fn accepts_missing(&self) -> bool {
        self.observer.accepts_missing()
    }
}
