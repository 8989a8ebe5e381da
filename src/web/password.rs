//! The password of a page that is served beyond this machine: `petteia serve --listen`.
//!
//! Input: requests, and the addresses that they come from. Output: whether the browser has given the password, or the
//! answer to a browser that has not: a form, and nothing else. The password is new at each start. A browser that gives
//! the password, in the form or in the address, gets a cookie with another secret and is sent to an address without the
//! password, so that only its history can contain the password. Password and cookie are compared in constant time, and
//! each address has a limited number of tries.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};
use rand::RngExt;
use subtle::ConstantTimeEq;
use tokio::time::timeout;

use super::connection::UPLOAD;
use crate::page::locked;

/// The path to which the form is sent.
const FORM: &str = "/password";
/// The name of the form's field, which the printed address also uses.
const FIELD: &str = "password";
/// Letters and digits that cannot be mistaken for each other.
const LETTERS: &[u8] = b"abcdefghjkmnpqrstuvwxyz23456789";
/// The number of letters in a password, which gives it 79 bits, and in each group of its letters.
const LENGTH: usize = 16;
const GROUP: usize = 4;
/// The number of wrong passwords that an address may give within [`WINDOW`].
const TRIES: usize = 10;
const WINDOW: Duration = Duration::from_secs(600);
/// The maximum number of addresses whose wrong passwords are counted. While the count is at this maximum, no other
/// address may try.
const ADDRESSES: usize = 1024;
/// The longest body of the form, in bytes.
const LARGEST_FORM: usize = 1 << 10;
/// The policy of the form's page: the form may be sent to this site, and the page loads nothing.
const FORM_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; \
    frame-ancestors 'none'";
const STYLE: &str = "\
    :root{color-scheme:light dark;--page:#fdfdfb;--ink:#22252a;--soft:#5c6068;\
    --green:#0a7d55;--on-green:#fff;--error:#b3263f}\
    @media (prefers-color-scheme:dark){:root{--page:#191a1c;--ink:#e6e4df;--soft:#a5a7ab;\
    --green:#4fc592;--on-green:#10231b;--error:#ff8d9d}}\
    body{margin:0;padding:2rem 1rem;background:var(--page);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}\
    main{max-width:26rem;margin:auto}h1{font-size:1.3rem}p{color:var(--soft)}p[role=alert]{color:var(--error)}\
    label{display:block;margin-bottom:.2rem}input,button{font:inherit;width:100%;box-sizing:border-box;\
    min-height:2.8rem;padding:.4rem .7rem;\
    border:1px solid var(--soft);border-radius:6px;background:var(--page);color:var(--ink)}\
    button{margin-top:.8rem;background:var(--green);border-color:var(--green);color:var(--on-green);font-weight:600}";

/// The password of one start of the program.
pub struct Password {
    text: String,
    cookie: String,
    secret: String,
    tries: Mutex<Tries>,
}

// shows neither the password nor the cookie
debug_fields!(Password, tries);

impl Password {
    /// Makes a new password for the page on `port`. The port is part of the cookie's name, because browsers share
    /// cookies among all ports of a machine.
    pub fn new(port: u16) -> Password {
        let mut random = rand::rng();
        let letters: Vec<u8> = (0..LENGTH).map(|_| LETTERS[random.random_range(0..LETTERS.len())]).collect();
        let groups: Vec<&str> =
            letters.chunks(GROUP).map(|group| str::from_utf8(group).expect("letters are ASCII")).collect();
        Password {
            text: groups.join("-"),
            cookie: format!("petteia-{port}"),
            secret: format!("{:032x}", random.random::<u128>()),
            tries: Mutex::default(),
        }
    }

    /// Returns the password in readable form.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns what follows the host and port in the address that opens the page.
    pub fn path(&self) -> String {
        format!("/?{FIELD}={}", self.text)
    }

    /// Returns whether a request comes from a browser that has given the password.
    pub(super) fn knows(&self, headers: &HeaderMap) -> bool {
        let texts = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let cookies =
            texts.flat_map(|text| text.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
        { cookies }.any(|(name, value)| name == self.cookie && same(value, &self.secret))
    }

    /// Returns the answer to a browser that has not given the password yet and may give it with this request.
    pub(super) async fn ask(&self, request: Request, from: IpAddr) -> Response {
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let attempt = match method {
            Method::GET if uri.path() == "/" => field(uri.query().unwrap_or_default()),
            Method::POST if uri.path() == FORM => {
                let body = timeout(UPLOAD, to_bytes(request.into_body(), LARGEST_FORM)).await;
                let bytes = body.ok().and_then(Result::ok).unwrap_or_default();
                field(&String::from_utf8_lossy(&bytes))
            }
            _ => None,
        };
        let Some(attempt) = attempt else { return form(StatusCode::UNAUTHORIZED, "") };
        match locked(&self.tries).judge(from, Instant::now(), same(&attempt, &plain(&self.text))) {
            Ok(true) => self.admit(),
            Ok(false) => form(StatusCode::UNAUTHORIZED, "The password is wrong."),
            Err(left) => {
                let message =
                    format!("Too many attempts. Wait {} minutes.", left.as_secs().div_ceil(60).max(1));
                form(StatusCode::TOO_MANY_REQUESTS, &message)
            }
        }
    }

    /// Returns the answer to a browser that has given the password and gives it again, in the address or in a form that
    /// was still open. The answer sends the browser to the page, so that no address keeps the password.
    pub(super) fn again(&self, uri: &Uri) -> Option<Response> {
        let is_given = uri.path() == FORM || uri.path() == "/" && uri.query().and_then(field).is_some();
        is_given.then(|| self.admit())
    }

    /// Gives the browser its cookie and sends it to the page. The answer is a page instead of a redirection, because a
    /// browser that followed a link from another program does not send a strict cookie until a page of this site makes
    /// the request.
    fn admit(&self) -> Response {
        let body = html! { p { a href="./" { "Continue to the page" } } };
        let head = html! { meta http-equiv="refresh" content="0; url=./"; };
        let mut response = page(StatusCode::OK, &head, &body);
        // a cookie without a path applies to this folder, whatever name a proxy gives the folder
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict", self.cookie, self.secret);
        let cookie = HeaderValue::from_str(&cookie).expect("the cookie is ASCII");
        response.headers_mut().insert(header::SET_COOKIE, cookie);
        response
    }
}

/// Compares secrets in a time that does not depend on where they differ.
pub(super) fn same(text: &str, secret: &str) -> bool {
    text.as_bytes().ct_eq(secret.as_bytes()).into()
}

/// Returns a password in the form in which it is compared: in lowercase, without hyphens and spaces.
fn plain(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// Returns the password in a query or in the body of a form.
fn field(text: &str) -> Option<String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    { pairs }.find(|(name, _)| *name == FIELD).map(|(_, value)| plain(value))
}

/// The number of wrong passwords from each address, and when the first one came.
#[derive(Debug, Default)]
struct Tries(HashMap<IpAddr, (usize, Instant)>);

impl Tries {
    /// Returns whether the password is right, or, as an error, how long this address must wait for its next try.
    fn judge(&mut self, from: IpAddr, now: Instant, is_right: bool) -> Result<bool, Duration> {
        let from = network(from);
        self.0.retain(|_, (_, first)| now.duration_since(*first) < WINDOW);
        if self.0.len() >= ADDRESSES && !self.0.contains_key(&from) {
            return Err(WINDOW);
        }
        let (count, first) = self.0.get(&from).copied().unwrap_or((0, now));
        if count >= TRIES {
            return Err(WINDOW.saturating_sub(now.duration_since(first)));
        }
        if is_right {
            self.0.remove(&from)
        } else {
            self.0.insert(from, (count + 1, first))
        };
        Ok(is_right)
    }
}

/// Returns the address for which tries are counted: in IPv6, the network's, because a device has many addresses in its
/// network.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(six) => {
            let [a, b, c, d, ..] = six.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        four => four,
    }
}

fn form(status: StatusCode, problem: &str) -> Response {
    let body = html! {
        p { "The program that serves this page printed the password when it started." }
        @if !problem.is_empty() { p role="alert" { (problem) } }
        form method="post" action=(&FORM[1..]) {
            label for=(FIELD) { "Password" }
            input #(FIELD) name=(FIELD) type="text" required autofocus autocomplete="off"
                autocapitalize="none" spellcheck="false";
            button { "Open the page" }
        }
    };
    page(status, &html! {}, &body)
}

fn page(status: StatusCode, head: &Markup, body: &Markup) -> Response {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Petteia: password" }
                (head)
                style { (maud::PreEscaped(STYLE)) }
            }
            body { main { h1 { "Petteia" } (body) } }
        }
    };
    let headers = [
        (header::CONTENT_SECURITY_POLICY, FORM_POLICY),
        // without a referrer, browsers would also hide the origin of the form
        (header::REFERRER_POLICY, "same-origin"),
    ];
    (status, headers, Html(page.into_string())).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_can_be_typed_in_other_ways() {
        let password = Password::new(7180);
        let text = password.text().to_string();
        assert_eq!((text.len(), text.split('-').count()), (19, 4));
        assert_ne!(text, Password::new(7180).text());
        let secret = plain(&text);
        for typed in [text.clone(), text.to_uppercase(), text.replace('-', "+"), secret.clone()] {
            assert_eq!(field(&format!("a=b&password={typed}&c")), Some(secret.clone()));
        }
        assert_eq!(field("a=b&passwords=c&password"), None);
        assert!(same("ab", "ab") && !same("ab", "ac") && !same("a", "ab") && !same("", "ab"));
    }

    #[test]
    fn only_the_cookie_of_this_start_is_known() {
        let password = Password::new(7180);
        let knows = |cookies: &[String]| {
            let mut headers = HeaderMap::new();
            for cookie in cookies {
                headers.append(header::COOKIE, HeaderValue::from_str(cookie).unwrap());
            }
            password.knows(&headers)
        };
        let Password { cookie, secret, text, .. } = &password;
        assert!(knows(&[format!("{cookie}={secret}")]) && knows(&[format!("a=b; {cookie}={secret};c")]));
        assert!(knows(&["a=b".into(), format!("{cookie}={secret}")]));
        for wrong in [
            String::new(),
            format!("{cookie}="),
            format!("{cookie}={secret}0"),
            format!("{cookie}={text}"),
            format!("petteia-7181={secret}"),
        ] {
            assert!(!knows(&[wrong]));
        }
    }

    #[test]
    fn an_address_has_only_so_many_tries() {
        let mut tries = Tries::default();
        let now = Instant::now();
        let [one, other] = ["10.0.0.1", "10.0.0.2"].map(|text| text.parse::<IpAddr>().unwrap());
        for _ in 0..TRIES - 1 {
            assert_eq!(tries.judge(one, now, false), Ok(false));
        }
        // the right password resets the count if it is given before the tries run out
        assert_eq!(tries.judge(one, now, true), Ok(true));
        for _ in 0..TRIES {
            assert_eq!(tries.judge(one, now, false), Ok(false));
        }
        let later = now + Duration::from_secs(60);
        assert_eq!(tries.judge(one, later, true), Err(WINDOW - Duration::from_secs(60)));
        assert_eq!(
            tries.judge("::ffff:10.0.0.1".parse().unwrap(), later, true),
            Err(WINDOW - Duration::from_secs(60))
        );
        assert_eq!(tries.judge(other, later, true), Ok(true));
        assert_eq!(tries.judge(one, now + WINDOW, true), Ok(true));
        // more addresses than are counted
        for count in 0..ADDRESSES as u32 {
            assert_eq!(tries.judge(IpAddr::V4(count.into()), later, false), Ok(false));
        }
        assert_eq!(tries.judge(one, later, true), Err(WINDOW));
        // all addresses of one IPv6 network count as one
        let mut tries = Tries::default();
        for device in 0..TRIES as u16 {
            let address = Ipv6Addr::new(0xfd00, 0, 0, 1, 0, 0, 0, device);
            assert_eq!(tries.judge(address.into(), now, false), Ok(false));
        }
        assert!(tries.judge("fd00:0:0:1::9999".parse().unwrap(), now, true).is_err());
        assert_eq!(tries.judge("fd00:0:0:2::1".parse().unwrap(), now, true), Ok(true));
    }
}
