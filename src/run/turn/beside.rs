//! Trains and plays at the same time in one process: a learner and a worker, as if on two machines.
//!
//! The worker plays on separate threads, so that the learner and the worker do not wait for each other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::run::Role;
use super::training::Training;
use crate::error::{Error, Result};
use crate::run::event::{Event, Observer, Summary};
use crate::run::files::folder::is_run;
use crate::run::files::shared::Identity;
use crate::run::work::worker::{Worker, work};

/// Observes the worker, which ends when the learner ends. Only the worker's warnings are passed on; the learner reports
/// the progress.
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

/// Trains with a worker in this process.
pub(super) fn train(training: &Training) -> Result<Summary> {
    let Training { rules, folder, observer, .. } = *training;
    let threads = rayon::current_num_threads();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool =
        pool.map_err(|error| Error::Config(format!("cannot start {threads} more threads: {error}")))?;
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
            // the learner creates the run
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
        let summary = Training { observer: learner, ..*training }.train_as(Role::Learner);
        is_over.store(true, Ordering::Relaxed);
        let played = playing.join().expect("a worker's panics are caught");
        match (summary, played) {
            // the learner was ended because of the worker
            (Err(Error::Interrupted), Err(error)) => Err(error),
            (summary, _) => summary,
        }
    })
}

/// Observes the learner, which ends if the worker fails.
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
