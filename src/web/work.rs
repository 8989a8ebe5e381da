//! Work that takes more than a moment, away from the threads that listen.
//!
//! What reads files can wait for ever: for a network drive that does not answer, or a pipe in the place of a file. Such a
//! thread cannot be stopped, so it is left behind: its request is answered in words after a time, at most [`SAME`] threads
//! wait for the same files, and there are always threads for other files and for what reads none.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::timeout;

use super::locked;
use super::routes::Refusal;
use crate::error::Result;

/// How long files may take to be read.
pub(super) const READING: Duration = Duration::from_secs(20);
/// How long an agent may take to be loaded, which for a large network is more than reading.
pub(super) const LOADING: Duration = Duration::from_secs(30);
/// How long anything else may take: more than the longest search.
pub(super) const COMPUTING: Duration = Duration::from_secs(65);

/// Threads that read the same files.
const SAME: usize = 2;
/// Threads that read any files.
const READERS: usize = 24;
/// Threads that compute.
const COMPUTERS: usize = 8;
/// All of them.
pub(super) const THREADS: usize = READERS + COMPUTERS;

/// The threads that work for requests. Work keeps its permits until it ends, also when nobody waits for it any more.
pub(super) struct Workers {
    readers: Arc<Semaphore>,
    computers: Arc<Semaphore>,
    /// Those that read the same files, by a name for these; an entry is of use for as long as somebody reads them.
    same: Mutex<HashMap<String, Weak<Semaphore>>>,
}

impl Workers {
    pub(super) fn new() -> Workers {
        Workers {
            readers: Arc::new(Semaphore::new(READERS)),
            computers: Arc::new(Semaphore::new(COMPUTERS)),
            same: Mutex::default(),
        }
    }

    /// Does work that reads the files called `files`.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        files: &str,
        limit: Duration,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> std::result::Result<T, Refusal> {
        let same = self.same(files);
        let done = async {
            let permits = (same.acquire_owned().await, self.readers.clone().acquire_owned().await);
            apart(permits, work).await
        };
        timeout(limit, done).await.unwrap_or_else(|_| {
            Err(Refusal::new(
                StatusCode::GATEWAY_TIMEOUT,
                format!(
                    "reading the files takes more than {} s: a disk or network drive is slow, or what should be a file is \
                     something that does not answer",
                    limit.as_secs()
                ),
            ))
        })
    }

    /// Does work that reads no files.
    pub(super) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> std::result::Result<T, Refusal> {
        let done = async {
            let permit = self.computers.clone().acquire_owned().await;
            apart(permit, work).await
        };
        timeout(COMPUTING, done).await.unwrap_or_else(|_| {
            Err(Refusal::new(
                StatusCode::GATEWAY_TIMEOUT,
                format!("it takes more than {} s", COMPUTING.as_secs()),
            ))
        })
    }

    fn same(&self, files: &str) -> Arc<Semaphore> {
        let mut all = locked(&self.same);
        if let Some(same) = all.get(files).and_then(Weak::upgrade) {
            return same;
        }
        all.retain(|_, same| same.strong_count() > 0);
        let same = Arc::new(Semaphore::new(SAME));
        all.insert(files.into(), Arc::downgrade(&same));
        same
    }
}

/// Does work on a thread of its own, which holds `permits` until then.
async fn apart<T: Send + 'static>(
    permits: impl Send + 'static,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> std::result::Result<T, Refusal> {
    let work = move || {
        let _permits = permits;
        work()
    };
    match spawn_blocking(work).await {
        Ok(result) => result.map_err(Refusal::from),
        Err(failed) => Err(of_a_panic(&failed)),
    }
}

fn of_a_panic(_: &JoinError) -> Refusal {
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the program failed; its terminal says why")
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

    #[test]
    fn work_that_hangs_is_answered_and_blocks_nobody_else() {
        let workers = Workers::new();
        let (release, hangs) = mpsc::channel::<()>();
        let hangs = Arc::new(Mutex::new(hangs));
        let busy = || READERS - workers.readers.available_permits();
        runtime().block_on(async {
            let hung = |files: String| {
                let (hangs, workers) = (hangs.clone(), &workers);
                async move {
                    let work = move || {
                        let _ = hangs.lock().unwrap().recv();
                        Ok(())
                    };
                    workers.read(&files, SOON, work).await
                }
            };
            // polls of one page, over and over: only the first ones take a thread
            for _ in 0..10 {
                let refused = hung("a run".into()).await.unwrap_err();
                assert_eq!(refused.status, StatusCode::GATEWAY_TIMEOUT);
                assert!(refused.words().contains("takes more than"), "{}", refused.words());
            }
            assert_eq!(busy(), SAME);
            assert_eq!(workers.read("another run", LATE, || Ok(1)).await.unwrap(), 1);
            // many such runs: others have to wait, but what reads no files goes on
            for run in 0..READERS + 3 {
                assert!(hung(format!("run {run}")).await.is_err());
            }
            assert_eq!(busy(), READERS);
            assert!(workers.read("another run", SOON, || Ok(1)).await.is_err());
            for _ in 0..2 * COMPUTERS {
                assert_eq!(workers.compute(|| Ok(2)).await.unwrap(), 2);
            }
            drop(release);
            assert_eq!(workers.read("a run", LATE, || Ok(3)).await.unwrap(), 3);
        });
        assert!(locked(&workers.same).len() <= READERS + 5);
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
