//! Runs work that takes more than a moment on threads other than those that listen.
//!
//! Work that reads files can wait forever, for a network drive that does not answer or a pipe in place of a file. A
//! thread that hangs cannot be stopped, so it is left behind, and after a time its request is answered with an
//! explanation. At most [`SAME`] threads read the same files. If they hang, another thread may try after a while, and
//! the next one after a longer while. Files that become readable again are therefore read again, and threads remain for
//! other files and for work that reads no files.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::{sleep, timeout};

use super::routes::RefusedRequest;
use crate::error::Result;
use crate::page::locked;

/// The time limit for reading files.
pub(super) const READING: Duration = Duration::from_secs(20);
/// The time limit for loading an agent, which takes longer than reading if its network is large.
pub(super) const LOADING: Duration = Duration::from_secs(30);
/// The time limit for anything else, which is more than the longest search.
pub(super) const COMPUTING: Duration = Duration::from_secs(65);

/// The number of threads that may read the same files at once.
const SAME: usize = 2;
/// The number of threads that may read any files at once.
const READERS: usize = 64;
/// The factor by which the wait for each further try grows, and how many times it grows.
const PATIENCE: u32 = 4;
const GROWTH: u32 = 8;
/// The number of threads that compute.
const COMPUTERS: usize = 8;
/// The number of all threads.
pub(super) const THREADS: usize = READERS + COMPUTERS;

/// The threads that work for requests. Work keeps its permits until it ends, even if nobody waits for it anymore.
pub(super) struct Workers {
    readers: Arc<Semaphore>,
    computers: Arc<Semaphore>,
    /// The readers of the same files, by a name for these files. An entry is useful as long as somebody reads them.
    same: Mutex<HashMap<String, Weak<Same>>>,
}

/// The readers of the same files.
struct Same {
    readers: Arc<Semaphore>,
    /// The number of readers that were left behind.
    left: AtomicU32,
}

/// A reader's place among the readers of the same files. The reader holds it until its work ends or the place is
/// taken away.
type Place = Arc<Mutex<Option<OwnedSemaphorePermit>>>;

/// Gives a place back when the work ends, even by a panic.
struct Held(Place);

impl Drop for Held {
    fn drop(&mut self) {
        drop(locked(&self.0).take());
    }
}

/// A request that waits for a reader. If it is dropped before the work ends, the reader is left behind.
struct Waiting {
    same: Arc<Same>,
    place: Place,
    limit: Duration,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // without a runtime, the program is about to end
        let (true, Ok(runtime)) = (locked(&self.place).is_some(), Handle::try_current()) else { return };
        let (same, place) = (self.same.clone(), self.place.clone());
        let wait = self.limit * PATIENCE.pow(same.left.fetch_add(1, Ordering::Relaxed).min(GROWTH));
        runtime.spawn(async move {
            sleep(wait).await;
            // another reader may try now; if the work has already ended, this has no effect
            drop(locked(&place).take());
            drop(same);
        });
    }
}

impl Workers {
    pub(super) fn new() -> Workers {
        Workers {
            readers: Arc::new(Semaphore::new(READERS)),
            computers: Arc::new(Semaphore::new(COMPUTERS)),
            same: Mutex::default(),
        }
    }

    /// Runs work that reads the files called `files`.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        files: &str,
        limit: Duration,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> std::result::Result<T, RefusedRequest> {
        let same = self.same(files);
        let task = async {
            let place: Place = Arc::new(Mutex::new(same.readers.clone().acquire_owned().await.ok()));
            let permit = self.readers.clone().acquire_owned().await;
            let _waiting = Waiting { same: same.clone(), place: place.clone(), limit };
            let work = move || {
                let _held = (Held(place), permit);
                work()
            };
            apart(work).await
        };
        let result = timeout(limit, task).await;
        result.unwrap_or_else(|_| {
            Err(RefusedRequest::new(
                StatusCode::GATEWAY_TIMEOUT,
                format!(
                    "reading the files takes more than {} s: a disk or network drive is slow, or something that does \
                     not answer is in place of a file",
                    limit.as_secs()
                ),
            ))
        })
    }

    /// Runs work that reads no files.
    pub(super) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> std::result::Result<T, RefusedRequest> {
        let task = async {
            let permit = self.computers.clone().acquire_owned().await;
            let work = move || {
                let _permit = permit;
                work()
            };
            apart(work).await
        };
        timeout(COMPUTING, task).await.unwrap_or_else(|_| {
            Err(RefusedRequest::new(
                StatusCode::GATEWAY_TIMEOUT,
                format!("the computation takes more than {} s", COMPUTING.as_secs()),
            ))
        })
    }

    fn same(&self, files: &str) -> Arc<Same> {
        let mut all = locked(&self.same);
        if let Some(same) = all.get(files).and_then(Weak::upgrade) {
            return same;
        }
        all.retain(|_, same| same.strong_count() > 0);
        let same = Arc::new(Same { readers: Arc::new(Semaphore::new(SAME)), left: AtomicU32::new(0) });
        all.insert(files.into(), Arc::downgrade(&same));
        same
    }
}

/// Runs work on a separate thread.
async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> std::result::Result<T, RefusedRequest> {
    match spawn_blocking(work).await {
        Ok(result) => result.map_err(RefusedRequest::from),
        Err(error) => Err(of_a_panic(&error)),
    }
}

fn of_a_panic(_: &JoinError) -> RefusedRequest {
    RefusedRequest::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "the program failed; its terminal shows the reason",
    )
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const SOON: Duration = Duration::from_millis(20);
    const LATE: Duration = Duration::from_secs(3600);

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(THREADS)
            .enable_time()
            .build()
            .unwrap()
    }

    /// Returns work that hangs until the other end is dropped.
    fn hanging(hangs: &Arc<Mutex<mpsc::Receiver<()>>>) -> impl FnOnce() -> Result<()> + Send + 'static {
        let hangs = hangs.clone();
        move || {
            let _ = hangs.lock().unwrap().recv();
            Ok(())
        }
    }

    #[test]
    fn work_that_hangs_is_answered_and_blocks_nobody_else() {
        let workers = Workers::new();
        let (release, hangs) = mpsc::channel::<()>();
        let hangs = Arc::new(Mutex::new(hangs));
        let busy = || READERS - workers.readers.available_permits();
        runtime().block_on(async {
            // one page asks repeatedly, but only a few of its requests take a thread
            for _ in 0..40 {
                let refused = workers.read("a run", SOON, hanging(&hangs)).await.unwrap_err();
                assert_eq!(refused.status, StatusCode::GATEWAY_TIMEOUT);
                assert!(refused.words().contains("takes more than"), "{}", refused.words());
            }
            assert!((SAME..SAME + 10).contains(&busy()), "{} threads", busy());
            assert_eq!(workers.read("another run", LATE, || Ok(1)).await.unwrap(), 1);
            // with many such runs, other readers must wait, but work that reads no files continues
            for run in 0..READERS {
                assert!(workers.read(&format!("run {run}"), SOON, hanging(&hangs)).await.is_err());
            }
            assert_eq!(busy(), READERS);
            assert!(workers.read("another run", SOON, || Ok(1)).await.is_err());
            for _ in 0..2 * COMPUTERS {
                assert_eq!(workers.compute(|| Ok(2)).await.unwrap(), 2);
            }
            drop(release);
            assert_eq!(workers.read("another run", LATE, || Ok(3)).await.unwrap(), 3);
        });
    }

    #[test]
    fn files_that_answer_again_are_read_again() {
        let workers = Workers::new();
        let (release, hangs) = mpsc::channel::<()>();
        let hangs = Arc::new(Mutex::new(hangs));
        runtime().block_on(async {
            for _ in 0..SAME {
                assert!(workers.read("a run", SOON, hanging(&hangs)).await.is_err());
            }
            // the threads that were left behind still hang
            assert_eq!(workers.read("a run", LATE, || Ok(3)).await.unwrap(), 3);
            drop(release);
        });
    }

    #[test]
    fn names_of_files_are_forgotten() {
        let workers = Workers::new();
        runtime().block_on(async {
            for run in 0..50 {
                workers.read(&format!("run {run}"), LATE, || Ok(())).await.unwrap();
            }
        });
        assert!(locked(&workers.same).len() <= 1);
    }
}
