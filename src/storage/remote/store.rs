//! Opens a bucket of a store through the crate `object_store`, and waits for the answers to requests.
//!
//! Input: a request that may be repeated. Output: its answer. While there is no answer, [`silence`] notifies the
//! program; if there will be none, the output is an error in one line that says what the user can do.

use std::future::Future;
use std::io::{Error as IoError, ErrorKind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};
use tokio::runtime::Runtime;

use super::heard::{HEARD, Heard, Listening, Trouble};
use super::silence::{self, Silence};
use crate::error::{Error, Result};

/// The number of attempts at a request whose answers make no sense.
const ATTEMPTS: u32 = 8;
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// The time between checks of whether a request can still succeed.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    // TLS needs a provider for the whole process
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("threads for requests can be started")
});

/// A bucket of an object store.
#[derive(Debug)]
pub(crate) struct Store {
    scheme: String,
    bucket: String,
    pub objects: Arc<dyn ObjectStore>,
    /// Whether the store has ever answered.
    has_answered: Arc<AtomicBool>,
    /// When the program was last notified that the store does not answer.
    told: Mutex<Option<Instant>>,
}

/// The reason why a request has no answer.
pub(crate) struct Failure {
    error: Box<object_store::Error>,
    trouble: Option<Trouble>,
    /// The time waited for an answer before giving up, if this process gave up.
    waited: Option<Duration>,
    is_interrupted: bool,
}

impl Store {
    /// Opens a bucket with the settings in the environment.
    pub(crate) fn open(scheme: &str, bucket: &str) -> object_store::Result<Store> {
        LazyLock::force(&RUNTIME);
        let has_answered = Arc::new(AtomicBool::new(false));
        let listening = Listening { has_answered: has_answered.clone() };
        // a restarted server is back within a minute or two
        let backoff = BackoffConfig { max_backoff: LONGEST_PAUSE, ..BackoffConfig::default() };
        let retry = RetryConfig { backoff, max_retries: 100, retry_timeout: Duration::from_secs(180) };
        let objects: Arc<dyn ObjectStore> = match scheme {
            "s3" => {
                let builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
                Arc::new(builder.with_retry(retry).with_http_connector(listening).build()?)
            }
            "gs" => {
                let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket);
                Arc::new(builder.with_retry(retry).with_http_connector(listening).build()?)
            }
            "az" => {
                let builder = MicrosoftAzureBuilder::from_env().with_container_name(bucket);
                Arc::new(builder.with_retry(retry).with_http_connector(listening).build()?)
            }
            _ => Arc::new(object_store::memory::InMemory::new()),
        };
        let (scheme, bucket) = (scheme.to_string(), bucket.to_string());
        Ok(Store { scheme, bucket, objects, has_answered, told: Mutex::default() })
    }

    /// Waits for a request, from any thread. Every request may be made twice: failures that the crate does not retry,
    /// such as an answer that ends in the middle, are retried here.
    pub(crate) fn try_for<T: Send + 'static, F: Future<Output = object_store::Result<T>> + Send + 'static>(
        &self,
        path: &Path,
        request: impl Fn() -> F,
    ) -> Result<T, Failure> {
        let heard = Arc::new(Heard::new());
        let mut pause = FIRST_PAUSE;
        for attempt in 1.. {
            let (sender, receiver) = mpsc::channel();
            let future = HEARD.scope(heard.clone(), request());
            let task = RUNTIME.spawn(async move { sender.send(future.await) });
            let answer = loop {
                match receiver.recv_timeout(BETWEEN_LOOKS) {
                    Ok(answer) => break answer,
                    Err(RecvTimeoutError::Timeout) => {
                        if let Some(failure) = self.given_up(path, &heard) {
                            task.abort();
                            return Err(failure);
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        unreachable!("a request ends with an answer or an error")
                    }
                }
            };
            match answer {
                Err(object_store::Error::Generic { .. }) if heard.may_try_again(attempt < ATTEMPTS) => {
                    if let Some(failure) = self.given_up(path, &heard) {
                        return Err(failure);
                    }
                }
                answer => {
                    let failure = |error| Failure {
                        error: Box::new(error),
                        trouble: heard.trouble(),
                        waited: None,
                        is_interrupted: false,
                    };
                    return answer.map_err(failure);
                }
            }
            thread::sleep(pause);
            pause = LONGEST_PAUSE.min(2 * pause);
        }
        unreachable!("the last attempt is answered")
    }

    /// Notifies the program, if it is time, that the store does not answer; returns the reason if this process should
    /// stop waiting.
    fn given_up(&self, path: &Path, heard: &Heard) -> Option<Failure> {
        let (duration, trouble) = heard.silence()?;
        let limit = silence::longest(self.has_answered.load(Ordering::Relaxed));
        let is_final = trouble.as_ref().is_some_and(|trouble| trouble.is_final);
        let is_over = duration >= limit;
        let is_interrupted = duration >= silence::FIRST_WORD && silence::is_interrupted();
        if is_final || is_over || is_interrupted {
            let what = "it does not answer".to_string().into();
            let error = Box::new(object_store::Error::Generic { store: "a store", source: what });
            let waited = (is_over && !is_final).then_some(duration);
            return Some(Failure { error, trouble, waited, is_interrupted });
        }
        if duration >= silence::FIRST_WORD {
            let mut notice = self.told.lock().expect("no panic while a notice is given");
            if notice.is_none_or(|notice| notice.elapsed() >= silence::NEXT_WORD) {
                *notice = Some(Instant::now());
                let what = trouble.map_or_else(|| "no answer yet".into(), |trouble| trouble.to_string());
                silence::tell(&Silence { place: path.display().to_string(), what, most: limit });
            }
        }
        None
    }

    /// Returns the error for a request without an answer. If retrying cannot help, the error says what the user can
    /// do.
    pub(crate) fn error(&self, path: &Path, failure: Failure) -> Error {
        let Failure { error, trouble, waited, is_interrupted } = failure;
        let (place, Store { scheme, bucket, .. }) = (path.display(), self);
        if is_interrupted {
            return Error::Interrupted;
        }
        let what = match (&trouble, waited) {
            (Some(trouble), Some(waited)) => {
                format!("no answer for {} s: {trouble}", waited.as_secs())
            }
            (None, Some(waited)) => format!("no answer for {} s", waited.as_secs()),
            (Some(trouble), None) => trouble.to_string(),
            (None, None) => plain(&error),
        };
        if let Some(trouble) = trouble.filter(|trouble| trouble.is_final) {
            return Error::Config(format!("{place}: {what}{}", trouble.remedy(scheme, bucket)));
        }
        let kind = match *error {
            object_store::Error::NotFound { .. } => ErrorKind::NotFound,
            _ => ErrorKind::Other,
        };
        Error::io(path)(IoError::new(kind, what))
    }
}

impl Failure {
    /// Returns whether the object does not exist.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(*self.error, object_store::Error::NotFound { .. }) && !self.is_final()
    }

    /// Returns whether the store reports that the object exists, or that it is not the expected one.
    pub(crate) fn is_there(&self) -> bool {
        use object_store::Error::{AlreadyExists, Precondition};
        matches!(*self.error, AlreadyExists { .. } | Precondition { .. })
    }

    fn is_final(&self) -> bool {
        self.trouble.as_ref().is_some_and(|trouble| trouble.is_final)
    }
}

/// Returns the text of the crate's error, on one line.
pub(crate) fn plain(error: &object_store::Error) -> String {
    let text = match error {
        object_store::Error::Generic { source, .. } => source.to_string(),
        error => error.to_string(),
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.as_str() {
        "Account must be specified" => "no account name: set AZURE_STORAGE_ACCOUNT_NAME".into(),
        _ => text,
    }
}
