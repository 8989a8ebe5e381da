//! Listens to what a store says while a request is in progress. The crate `object_store` retries silently and puts the
//! store's XML into its errors, so it is given an HTTP client that listens.
//!
//! Input: the HTTP requests and answers of a task. Output: whether the store is silent, and a description of its
//! trouble in one line.

use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
    ReqwestConnector,
};

use crate::error::shown;

tokio::task_local! {
    /// What was heard in the requests of this task.
    pub static HEARD: Arc<Heard>;
}

/// The addresses where machines in a cloud get their credentials.
const METADATA: [&str; 3] = ["169.254.169.254", "169.254.170.2", "metadata.google.internal"];
/// Besides the statuses 401 and 403, the codes with which stores report problems with names and credentials that no
/// later attempt can fix.
const FINAL: [&str; 8] = [
    "NoSuchBucket",
    "ContainerNotFound",
    "InvalidBucketName",
    "InvalidResourceName",
    "AuthorizationHeaderMalformed",
    "InvalidAuthenticationInfo",
    "InvalidToken",
    "ExpiredToken",
];
/// The longest part of a store's own message that is repeated, in bytes.
const LONGEST_WORDS: usize = 1 << 16;

/// Makes HTTP clients that listen.
#[derive(Debug)]
pub(crate) struct Listening {
    /// Set when the store answers.
    pub has_answered: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Client {
    http: HttpClient,
    has_answered: Arc<AtomicBool>,
}

/// What was heard during a request.
#[derive(Debug)]
pub(crate) struct Heard(Mutex<State>);

#[derive(Debug)]
struct State {
    /// The time when the request was made, or when the store last sent something useful.
    since: Instant,
    /// Whether the rest of an answer is still arriving.
    is_answered: bool,
    trouble: Option<Trouble>,
}

/// The reason why a request failed.
#[derive(Clone, Debug)]
pub(crate) struct Trouble {
    status: Option<u16>,
    /// The store's name for the failure.
    code: String,
    text: String,
    /// Whether retrying cannot help.
    pub is_final: bool,
}

impl HttpConnector for Listening {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let http = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(Client { http, has_answered: self.has_answered.clone() }))
    }
}

impl HttpService for Client {
    fn call<'a, 'b>(&'a self, request: HttpRequest) -> BoxFuture<'b, Result<HttpResponse, HttpError>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let heard = HEARD.try_with(Arc::clone).unwrap_or_else(|_| Arc::new(Heard::new()));
            let host = request.uri().authority().map(ToString::to_string).unwrap_or_default();
            let is_list = request
                .uri()
                .query()
                .is_some_and(|query| ["list-type=", "comp=list"].iter().any(|part| query.contains(part)));
            heard.lock().is_answered = false;
            let answer = match self.http.execute(request).await {
                Ok(answer) => answer,
                Err(error) => {
                    heard.lock().trouble = Some(Trouble::of_error(&host, &error));
                    return Err(error);
                }
            };
            let status = answer.status();
            if !status.is_server_error() {
                self.has_answered.store(true, Ordering::Relaxed);
            }
            if status.is_success() {
                *heard.lock() = State { since: Instant::now(), is_answered: true, trouble: None };
                return Ok(answer);
            }
            let (parts, body) = answer.into_parts();
            let body = body.bytes().await?;
            let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
            let (code, text) = words(&body[..body.len().min(LONGEST_WORDS)]);
            let code = code.or_else(|| header("x-ms-error-code").map(String::from));
            let text = match header("x-amz-bucket-region") {
                Some(region) if status.is_redirection() => {
                    format!("the bucket is in the region {region}: set AWS_REGION")
                }
                _ => text.unwrap_or_default(),
            };
            heard.lock().trouble = Some(Trouble::of_answer(status.as_u16(), code, text, is_list));
            Ok(HttpResponse::from_parts(parts, body.into()))
        })
    }
}

impl Heard {
    pub(crate) fn new() -> Heard {
        Heard(Mutex::new(State { since: Instant::now(), is_answered: false, trouble: None }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no panic while the state is changed")
    }

    /// Returns how long the store has been silent, and why, or `None` while an answer arrives.
    pub(crate) fn silence(&self) -> Option<(Duration, Option<Trouble>)> {
        let state = self.lock();
        (!state.is_answered).then(|| (state.since.elapsed(), state.trouble.clone()))
    }

    /// Returns the last failure.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        self.lock().trouble.clone()
    }

    /// Returns whether to retry a request whose answer was an error. If no trouble was heard, the answer made no sense,
    /// and the number of attempts is limited.
    pub(crate) fn may_try_again(&self, are_attempts_left: bool) -> bool {
        let mut state = self.lock();
        // the answer has ended
        state.is_answered = false;
        match &state.trouble {
            Some(trouble) => {
                !trouble.is_final
                    && trouble.status.is_none_or(|status| status >= 500 || [408, 429].contains(&status))
            }
            None => are_attempts_left,
        }
    }
}

impl Trouble {
    fn of_error(host: &str, error: &HttpError) -> Trouble {
        let mut deepest: &dyn Error = error;
        while let Some(source) = deepest.source() {
            deepest = source;
        }
        let message = deepest.to_string();
        let message = message.split(" (os error").next().unwrap_or_default();
        let is_forbidden = message.contains("scheme is not allowed");
        let what = match (error.kind(), is_forbidden) {
            (_, true) => "an address that begins with http:// is not allowed".into(),
            (HttpErrorKind::Timeout, _) => "no answer in time".into(),
            _ => {
                let mut letters = message.chars();
                let first =
                    letters.next().map(|letter| letter.to_lowercase().to_string()).unwrap_or_default();
                first + letters.as_str()
            }
        };
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let purpose = if METADATA.contains(&name) {
            " (asked for credentials, because the environment has none)"
        } else {
            ""
        };
        let code = if is_forbidden { "http" } else { "" }.to_string();
        Trouble {
            status: None,
            code,
            text: shown(&format!("{host}{purpose}: {what}")),
            is_final: is_forbidden,
        }
    }

    fn of_answer(status: u16, code: Option<String>, text: String, is_list: bool) -> Trouble {
        let code = code.unwrap_or_default();
        // if a list is not found, only the bucket can be missing
        let is_lost = status == 404 && is_list;
        let is_final =
            matches!(status, 301 | 307 | 308 | 401 | 403 | 501) || is_lost || FINAL.contains(&&*code);
        let code = if is_lost && code.is_empty() { "NoSuchBucket".into() } else { code };
        Trouble { status: Some(status), code: shown(&code), text: shown(&text), is_final }
    }

    /// Returns what the user can do, as the end of a sentence.
    pub(crate) fn remedy(&self, scheme: &str, bucket: &str) -> String {
        let (allow, key, container) = match scheme {
            "az" => {
                ("AZURE_ALLOW_HTTP", "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY", "container")
            }
            "gs" => ("GOOGLE_ALLOW_HTTP", "GOOGLE_APPLICATION_CREDENTIALS", "bucket"),
            _ => ("AWS_ALLOW_HTTP", "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", "bucket"),
        };
        match (self.status, &*self.code) {
            (_, "http") => format!(": set {allow}=true to allow it"),
            (_, "NoSuchBucket" | "ContainerNotFound") => {
                format!("; create the {container} `{bucket}` first, or correct its name")
            }
            (Some(401 | 403), _) => {
                format!("; check {key} in the environment and the permissions of these credentials")
            }
            _ => String::new(),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let Trouble { status, code, text, .. } = self;
        match status {
            None => out.write_str(text),
            Some(status) => {
                let code = if code.is_empty() { String::new() } else { format!(" {code}") };
                let text = if text.is_empty() { String::new() } else { format!(": {text}") };
                write!(out, "the store answered {status}{code}{text}")
            }
        }
    }
}

/// Returns the code, and the first line of the message, from a store's answer, which is XML.
fn words(body: &[u8]) -> (Option<String>, Option<String>) {
    let text = String::from_utf8_lossy(body);
    let between = |name: &str| {
        let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
        let inside = text.split_once(&begin)?.1.split_once(&end)?.0;
        let inside =
            inside.replace("&quot;", "\"").replace("&apos;", "'").replace("&lt;", "<").replace("&gt;", ">");
        let line =
            inside.replace("&amp;", "&").trim().lines().next()?.trim().trim_end_matches('.').to_string();
        (!line.is_empty()).then_some(line)
    };
    (between("Code"), between("Message"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_store_answers_is_one_line() {
        let azure = "<?xml version=\"1.0\"?>\n<Error>\n  <Code>AuthorizationFailure</Code>\n  <Message>Server failed \
                     to authenticate the request.\nRequestId:1\nTime:2</Message>\n</Error>";
        let (code, text) = words(azure.as_bytes());
        let trouble = Trouble::of_answer(403, code, text.unwrap(), true);
        assert_eq!(
            trouble.to_string(),
            "the store answered 403 AuthorizationFailure: Server failed to authenticate the request"
        );
        assert!(trouble.is_final && trouble.remedy("az", "runs").contains("AZURE_STORAGE_ACCOUNT_KEY"));
        let lost = Trouble::of_answer(404, None, String::new(), true);
        assert_eq!(lost.to_string(), "the store answered 404 NoSuchBucket");
        assert_eq!(lost.remedy("az", "runs"), "; create the container `runs` first, or correct its name");
        assert!(!Trouble::of_answer(404, Some("NoSuchKey".into()), String::new(), false).is_final);
        assert!(Trouble::of_answer(404, Some("NoSuchBucket".into()), String::new(), false).is_final);
        for status in [400, 404, 409, 412, 429, 500, 503] {
            assert!(!Trouble::of_answer(status, None, String::new(), false).is_final, "{status}");
        }
        assert_eq!(words(b"<html>no</html>"), (None, None));
    }
}
