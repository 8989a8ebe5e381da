//! Which requests are heard: those of the page that this server gave out.
//!
//! Another site in the same browser can send requests to 127.0.0.1, too. Its name stands in `Host` (if its DNS points
//! here) or in `Origin`, and it cannot read the page's token; so each of the three is checked.

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use rand::RngExt;
use tokio::time::timeout;

use super::connection::UPLOAD;
use super::routes::Refusal;

/// The header with the page's token.
const TOKEN: HeaderName = HeaderName::from_static("x-petteia-token");
/// The longest body of a request, in bytes: a match file.
const LARGEST_BODY: usize = 8 << 20;
/// What every answer says: nothing from elsewhere runs on the page, and it is shown in no frame of others.
const HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

/// What a request must say.
#[derive(Clone)]
pub(super) struct Guard {
    /// The names of this server, with its port.
    hosts: [String; 2],
    token: String,
}

impl Guard {
    /// The guard of a server on this port, with a new token.
    pub(super) fn new(port: u16) -> Guard {
        let token: u128 = rand::rng().random();
        Guard {
            hosts: ["127.0.0.1", "localhost"].map(|name| format!("{name}:{port}")),
            token: format!("{token:032x}"),
        }
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    fn check(&self, method: &Method, path: &str, headers: &HeaderMap) -> Result<(), Refusal> {
        let text = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or_default());
        let refuse = |words: &str| Err(Refusal::new(StatusCode::FORBIDDEN, words));
        if !text(header::HOST).is_some_and(|host| self.hosts.iter().any(|own| own == host)) {
            return refuse("this page is served to 127.0.0.1 and localhost only");
        }
        let is_own = |origin: &str| self.hosts.iter().any(|own| origin == format!("http://{own}"));
        if text(header::ORIGIN).is_some_and(|origin| !is_own(origin)) {
            return refuse("requests of other sites are not answered");
        }
        if ![Method::GET, Method::HEAD, Method::POST].contains(method) {
            return Err(Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "only GET and POST are known here"));
        }
        let needs_token = *method == Method::POST || path.starts_with("/api/");
        if needs_token && text(TOKEN).is_none_or(|token| token != self.token) {
            return refuse("the page belongs to an earlier start of the program: load it again");
        }
        Ok(())
    }
}

/// Checks a request, reads its body, and adds the headers of every answer.
pub(super) async fn guarded(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let mut response = match admitted(&guard, request).await {
        Ok(request) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn admitted(guard: &Guard, request: Request) -> Result<Request, Refusal> {
    guard.check(request.method(), request.uri().path(), request.headers())?;
    let too_large =
        || Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("more than {} MB", LARGEST_BODY >> 20));
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    if length.and_then(|length| length.parse::<usize>().ok()).is_some_and(|length| length > LARGEST_BODY) {
        return Err(too_large());
    }
    let (head, body) = request.into_parts();
    match timeout(UPLOAD, to_bytes(body, LARGEST_BODY)).await {
        Ok(Ok(bytes)) => Ok(Request::from_parts(head, Body::from(bytes))),
        Ok(Err(_)) => Err(too_large()),
        Err(_) => Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "the request took too long")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_page_is_heard() {
        let guard = Guard::new(80);
        let token = guard.token().to_string();
        let check = |method: Method, path: &str, said: &[(&str, &str)]| {
            let pairs = said.iter().map(|(name, value)| {
                (HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap())
            });
            guard.check(&method, path, &pairs.collect()).map_err(|refusal| refusal.status)
        };
        let host = ("host", "127.0.0.1:80");
        let with_token = ("x-petteia-token", token.as_str());
        assert_eq!(check(Method::GET, "/", &[host]), Ok(()));
        assert_eq!(check(Method::GET, "/", &[("host", "localhost:80")]), Ok(()));
        assert_eq!(check(Method::POST, "/api/position", &[host, with_token]), Ok(()));
        let own = ("origin", "http://127.0.0.1:80");
        assert_eq!(check(Method::POST, "/api/position", &[host, with_token, own]), Ok(()));
        for (method, path, said) in [
            (Method::GET, "/", &[][..]),
            (Method::GET, "/", &[("host", "evil.example:80")]),
            (Method::GET, "/", &[("host", "127.0.0.1:81")]),
            (Method::GET, "/", &[host, ("origin", "http://evil.example")]),
            (Method::GET, "/", &[host, ("origin", "null")]),
            (Method::GET, "/api/home", &[host]),
            (Method::POST, "/", &[host]),
            (Method::POST, "/api/search", &[host, ("x-petteia-token", "0")]),
        ] {
            assert_eq!(check(method, path, said), Err(StatusCode::FORBIDDEN), "{path} {said:?}");
        }
        let refused = check(Method::DELETE, "/api/home", &[host, with_token]);
        assert_eq!(refused, Err(StatusCode::METHOD_NOT_ALLOWED));
        assert_ne!(token, Guard::new(80).token());
    }
}
