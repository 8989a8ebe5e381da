//! Decides which requests are accepted: only those of the page that this server sent.
//!
//! Another site in the same browser can also send requests to 127.0.0.1. Such a request has that site's name in `Host`
//! (if the site's DNS points here) or in `Origin`, and lacks the page's token, which the site cannot read, so all three
//! are checked. A page that is served beyond this machine also needs its [`Password`]. The page can be opened at any
//! numeric address, because another site could reach this server only under a name. The user may permit further names,
//! for a proxy or a tunnel that passes on its own name.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use rand::RngExt;
use tokio::time::timeout;

use super::connection::{Peer, UPLOAD};
use super::password::{Password, same};
use super::routes::RefusedRequest;

/// The header with the page's token.
const TOKEN: HeaderName = HeaderName::from_static("x-petteia-token");
/// The longest body of a request, in bytes, which is that of a match file.
const LARGEST_BODY: usize = 8 << 20;
/// The headers of every answer: nothing from elsewhere runs on the page, and no other page frames it.
const HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' \
         data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

/// The conditions that a request must meet.
#[derive(Clone)]
pub(super) struct Guard {
    token: String,
    /// The password, if the page is served beyond this machine.
    password: Option<Arc<Password>>,
    /// The names that the user has permitted.
    hosts: Arc<[String]>,
}

impl Guard {
    /// Returns a guard with a new token.
    pub(super) fn new(password: Option<Password>, hosts: Vec<String>) -> Guard {
        let token: u128 = rand::rng().random();
        Guard { token: format!("{token:032x}"), password: password.map(Arc::new), hosts: hosts.into() }
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Refuses requests that do not come from this site.
    fn check_site(&self, method: &Method, headers: &HeaderMap) -> Result<(), RefusedRequest> {
        // if a header occurs twice, other programs may use either of the two
        let duplicate = [header::HOST, header::ORIGIN, TOKEN]
            .into_iter()
            .find(|name| headers.get_all(name).iter().count() > 1);
        if let Some(name) = duplicate {
            return Err(RefusedRequest::new(
                StatusCode::BAD_REQUEST,
                format!("the request has the header {name} twice"),
            ));
        }
        let host = text(headers, header::HOST).unwrap_or_default();
        let is_named_here =
            is_this_machine(host) || self.password.is_some() && is_in_numbers(host) || self.is_opened(host);
        if !is_named_here {
            return refuse(match self.password {
                None => {
                    "open this page at 127.0.0.1 or localhost; `petteia serve --host NAME` allows another name"
                }
                Some(_) => "open this page at its numeric address; `petteia serve --host NAME` allows a name",
            });
        }
        if text(headers, header::ORIGIN).is_some_and(|origin| !self.is_own(origin, host)) {
            return refuse("requests from other sites are refused");
        }
        if ![Method::GET, Method::HEAD, Method::POST].contains(method) {
            return Err(RefusedRequest::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "only GET and POST requests are accepted",
            ));
        }
        Ok(())
    }

    /// Returns whether an origin is the page's own. An origin with a permitted name may use HTTPS, and the `Host` that
    /// the proxy sends may differ from the origin.
    fn is_own(&self, origin: &str, host: &str) -> bool {
        let plain = origin.strip_prefix("http://");
        let named = plain.or_else(|| origin.strip_prefix("https://"));
        plain == Some(host) || named.is_some_and(|named| self.is_opened(named))
    }

    /// Returns whether the user has permitted this host's name.
    fn is_opened(&self, host: &str) -> bool {
        let (name, port) = name_and_port(host);
        is_port(port) && self.hosts.iter().any(|opened| opened.eq_ignore_ascii_case(name))
    }

    /// Refuses requests that only the page itself may make.
    fn check_token(&self, method: &Method, path: &str, headers: &HeaderMap) -> Result<(), RefusedRequest> {
        let needs_token = *method == Method::POST || path.starts_with("/api/");
        if needs_token && text(headers, TOKEN).is_none_or(|token| !same(token, &self.token)) {
            return refuse("this page is from an earlier start of the program: reload it");
        }
        Ok(())
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or_default())
}

fn refuse(reason: &str) -> Result<(), RefusedRequest> {
    Err(RefusedRequest::new(StatusCode::FORBIDDEN, reason))
}

/// Returns whether a host is this machine, under a name that no other site can have. Any port is accepted, or none
/// (80), because a tunnel has a different port than this server; pages on other ports are recognized by their origin.
fn is_this_machine(host: &str) -> bool {
    let (name, port) = name_and_port(host);
    ["127.0.0.1", "localhost"].contains(&name) && is_port(port)
}

/// Returns whether a host is a numeric address, with or without a port.
fn is_in_numbers(host: &str) -> bool {
    let (address, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((six, "")) => (six, "80"),
        Some((six, rest)) => (six, rest.strip_prefix(':').unwrap_or_default()),
        None => name_and_port(host),
    };
    let is_six = host.starts_with('[');
    address.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6() == is_six) && is_port(port)
}

/// Returns the name of a host and its port, which is 80 if it is missing.
fn name_and_port(host: &str) -> (&str, &str) {
    host.split_once(':').unwrap_or((host, "80"))
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|digit| digit.is_ascii_digit()) && text.parse::<u16>().is_ok()
}

/// Checks a request, asks for the password if there is one, reads the body, and adds the headers of every answer.
pub(super) async fn guarded(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let mut response = match answered(&guard, request, next).await {
        Ok(response) => response,
        Err(refusal) => refusal.into_response(),
    };
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

async fn answered(guard: &Guard, request: Request, next: Next) -> Result<Response, RefusedRequest> {
    guard.check_site(request.method(), request.headers())?;
    if let Some(password) = &guard.password {
        if !password.knows(request.headers()) {
            let Peer(from) = *request.extensions().get().expect("every connection has a peer");
            return Ok(password.ask(request, from).await);
        }
        if let Some(answer) = password.again(request.uri()) {
            // the body of a form is read before the connection is closed
            read_whole(request).await?;
            return Ok(answer);
        }
    }
    guard.check_token(request.method(), request.uri().path(), request.headers())?;
    Ok(next.run(read_whole(request).await?).await)
}

/// Returns the request with its body read.
async fn read_whole(request: Request) -> Result<Request, RefusedRequest> {
    let too_large = || {
        RefusedRequest::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the request is larger than {} MB", LARGEST_BODY >> 20),
        )
    };
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    if length.and_then(|length| length.parse::<usize>().ok()).is_some_and(|length| length > LARGEST_BODY) {
        return Err(too_large());
    }
    let (head, body) = request.into_parts();
    match timeout(UPLOAD, to_bytes(body, LARGEST_BODY)).await {
        Ok(Ok(bytes)) => Ok(Request::from_parts(head, Body::from(bytes))),
        Ok(Err(_)) => Err(too_large()),
        Err(_) => Err(RefusedRequest::new(StatusCode::REQUEST_TIMEOUT, "the request took too long")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_page_is_heard() {
        let guard = Guard::new(None, Vec::new());
        let token = guard.token().to_string();
        let check = |method: Method, path: &str, fields: &[(&str, &str)]| {
            let pairs = fields.iter().map(|(name, value)| {
                (HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap())
            });
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(name, value);
            }
            let is_here = guard.check_site(&method, &headers);
            is_here
                .and_then(|()| guard.check_token(&method, path, &headers))
                .map_err(|refusal| refusal.status)
        };
        let host = ("host", "127.0.0.1:7180");
        let with_token = ("x-petteia-token", token.as_str());
        assert_eq!(check(Method::GET, "/", &[host]), Ok(()));
        // the port of a tunnel, and no port, which browsers write for port 80
        for other in ["localhost:7180", "127.0.0.1:8000", "127.0.0.1", "localhost"] {
            let origin = format!("http://{other}");
            let fields = [("host", other), ("origin", &origin), with_token];
            assert_eq!(check(Method::POST, "/api/position", &fields), Ok(()), "{other}");
        }
        assert_eq!(check(Method::POST, "/api/position", &[host, with_token]), Ok(()));
        let own = ("origin", "http://127.0.0.1:7180");
        assert_eq!(check(Method::POST, "/api/position", &[host, with_token, own]), Ok(()));
        for (method, path, fields) in [
            (Method::GET, "/", &[][..]),
            (Method::GET, "/", &[("host", "evil.example:7180")]),
            (Method::GET, "/", &[("host", "127.0.0.1:7180.evil.example")]),
            (Method::GET, "/", &[("host", "127.0.0.1.evil.example:7180")]),
            (Method::GET, "/", &[("host", "127.0.0.1:")]),
            (Method::GET, "/", &[("host", "127.0.0.1:+80")]),
            (Method::GET, "/", &[("host", "127.0.0.1:99999")]),
            (Method::GET, "/", &[("host", "evil@127.0.0.1:7180")]),
            // another address, which is refused if the page is only for this machine
            (Method::GET, "/", &[("host", "192.168.1.5:7180")]),
            (Method::GET, "/", &[("host", "[::1]:7180")]),
            (Method::GET, "/", &[host, ("origin", "http://evil.example")]),
            (Method::GET, "/", &[host, ("origin", "null")]),
            // a page of another program on this machine
            (Method::GET, "/", &[host, ("origin", "http://127.0.0.1:8000")]),
            (Method::GET, "/", &[host, ("origin", "http://localhost:7180")]),
            (Method::GET, "/", &[host, ("origin", "https://127.0.0.1:7180")]),
            (Method::GET, "/api/home", &[host]),
            (Method::POST, "/", &[host]),
            (Method::POST, "/api/search", &[host, ("x-petteia-token", "0")]),
        ] {
            assert_eq!(check(method, path, fields), Err(StatusCode::FORBIDDEN), "{path} {fields:?}");
        }
        let refused = check(Method::DELETE, "/api/home", &[host, with_token]);
        assert_eq!(refused, Err(StatusCode::METHOD_NOT_ALLOWED));
        for twice in [host, own, with_token] {
            let fields = [host, own, with_token, twice];
            assert_eq!(check(Method::GET, "/api/home", &fields), Err(StatusCode::BAD_REQUEST), "{twice:?}");
        }
        assert_ne!(token, Guard::new(None, Vec::new()).token());
    }

    #[test]
    fn a_name_that_the_user_opened_is_heard() {
        for password in [None, Some(Password::new(7180))] {
            let guard = Guard::new(password, vec!["my-box.local".into(), "x-7180.example".into()]);
            let check = |host: &str, origin: &str| {
                let mut headers = HeaderMap::new();
                headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
                headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
                guard.check_site(&Method::POST, &headers).is_ok()
            };
            for (host, origin) in [
                ("my-box.local", "http://my-box.local"),
                ("My-Box.local:7180", "http://my-box.local:7180"),
                ("x-7180.example", "https://x-7180.example"),
                // a proxy that names this machine in the host header
                ("127.0.0.1:7180", "https://x-7180.example"),
                ("localhost", "http://localhost"),
            ] {
                assert!(check(host, origin), "{host} {origin}");
            }
            for (host, origin) in [
                ("my-box.local.evil.example", "http://my-box.local.evil.example"),
                ("evil.my-box.local", "http://evil.my-box.local"),
                ("my-box.local:", "http://my-box.local"),
                ("my-box.local:+1", "http://my-box.local"),
                ("my-box.local", "http://evil.example"),
                ("my-box.local", "http://my-box.local@evil.example"),
                ("my-box.local", "ftp://my-box.local"),
                ("my-box.local", "null"),
                ("127.0.0.1:7180", "http://evil.example"),
            ] {
                assert!(!check(host, origin), "{host} {origin}");
            }
        }
    }

    #[test]
    fn beyond_this_machine_any_address_in_numbers_is_one_of_it() {
        let guard = Guard::new(Some(Password::new(7180)), Vec::new());
        let check = |host: &str, origin: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
            headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
            guard.check_site(&Method::GET, &headers).map_err(|refusal| refusal.status)
        };
        for host in
            ["192.168.1.5:7180", "192.168.1.5", "[fd00::5]:7180", "[::1]", "localhost:7180", "127.0.0.1"]
        {
            assert_eq!(check(host, &format!("http://{host}")), Ok(()), "{host}");
            for origin in
                ["http://evil.example", "http://192.168.1.6:7180", "null", &format!("https://{host}")]
            {
                assert_eq!(check(host, origin), Err(StatusCode::FORBIDDEN), "{host} {origin}");
            }
        }
        for host in [
            "",
            "evil.example:7180",
            "laptop",
            "192.168.1.5.evil.example",
            "192.168.1.5:",
            "192.168.1.5:+1",
            "fd00::5",
            "[fd00::5",
            "[192.168.1.5]",
            "[fd00::5]7180",
            "[fd00::5]:",
            "evil@192.168.1.5",
            "192.168.1.5:99999",
            "0300.0250.1.5",
            "3232235781",
        ] {
            assert_eq!(check(host, &format!("http://{host}")), Err(StatusCode::FORBIDDEN), "{host}");
        }
    }
}
