//! `petteia serve --listen`: other devices need the password, and without it they learn nothing.

use crate::support::command::{fails, petteia};
use crate::support::server::Server;

/// A page for other devices, the password that it printed, and the address with it.
fn listening() -> (Server, String, String) {
    let (server, lines) = Server::begun(&["--folder", "nowhere", "--listen", "127.0.0.1"], 2);
    let address = lines[0].split_whitespace().next().unwrap().to_string();
    let password = lines[1].strip_prefix("password: ").unwrap().to_string();
    (server, password, address)
}

/// The whole answer, with its head.
fn answer(server: &Server, method: &str, path: &str, headers: &[&str], body: &str) -> String {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(server.address).unwrap();
    let more: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {}\r\n{more}content-length: {}\r\n\r\n",
        server.address,
        body.len()
    );
    let _ = stream.write_all((head + body).as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

fn cookie(answer: &str) -> Option<&str> {
    answer.split("set-cookie: ").nth(1)?.split("\r\n").next()
}

#[test]
fn nothing_but_a_form_is_served_without_the_password() {
    let (server, password, address) = listening();
    assert_eq!(address, format!("http://{}/?password={password}", server.address));
    let port = server.address.port();
    let wrong_cookie = format!("cookie: petteia-{port}={}", "0".repeat(32));
    for (method, path, headers, body) in [
        ("GET", "/", &[][..], ""),
        ("HEAD", "/", &[], ""),
        ("GET", "/", &[wrong_cookie.as_str()], ""),
        ("GET", "/assets/app.js", &[], ""),
        ("GET", "/api/home", &["x-petteia-token: 0"], ""),
        ("POST", "/api/load", &[], "{\"text\":\"\"}"),
        ("POST", "/api/search", &[], "{}"),
        ("GET", "/password?password=x", &[], ""),
        ("POST", "/", &[], "password=x"),
        ("POST", "/password", &[], "word=x"),
        ("POST", "/password", &[], ""),
        ("GET", "/?password", &[], ""),
    ] {
        let answer = answer(&server, method, path, headers, body);
        assert_eq!(status(&answer), 401, "{method} {path}: {answer}");
        assert!(method == "HEAD" || answer.contains("<form"), "{answer}");
        assert!(!answer.contains("name=\"token\"") && cookie(&answer).is_none(), "{answer}");
        assert!(
            answer.contains("form-action 'self'") && answer.contains("cache-control: no-store"),
            "{answer}"
        );
    }
    // a form that is too long is not read
    let long = format!("password={}", "a".repeat(4000));
    assert_eq!(status(&answer(&server, "POST", "/password", &[], &long)), 401);
    // requests of other sites are refused before the password is looked at
    let given = format!("password={password}");
    for headers in [&["origin: http://evil.example"][..], &["origin: null"], &["host: evil.example"]] {
        let answer = answer(&server, "POST", "/password", headers, &given);
        assert!([400, 403].contains(&status(&answer)) && cookie(&answer).is_none(), "{headers:?}: {answer}");
    }
}

#[test]
fn who_gives_the_password_gets_a_cookie() {
    let (server, password, _) = listening();
    let own = format!("origin: http://{}", server.address);
    let typed = password.to_uppercase().replace('-', "+");
    for answer in [
        answer(&server, "GET", &format!("/?password={password}"), &[], ""),
        answer(&server, "POST", "/password", &[&own], &format!("a=b&password={typed}")),
    ] {
        assert_eq!(status(&answer), 200, "{answer}");
        assert!(!answer.contains("name=\"token\"") && answer.contains("url=./"), "{answer}");
        let cookie = cookie(&answer).unwrap();
        let (pair, rest) = cookie.split_once("; ").unwrap();
        assert_eq!(rest, "HttpOnly; SameSite=Strict");
        assert!(!pair.contains(&password) && pair.starts_with("petteia-"), "{cookie}");
        let pair = format!("cookie: other=1; {pair}");
        let page = self::answer(&server, "GET", "/", &[&pair], "");
        assert_eq!(status(&page), 200, "{page}");
        let token = page.split("name=\"token\" content=\"").nth(1).unwrap().split('"').next().unwrap();
        let token = format!("x-petteia-token: {token}");
        // the password once more, in the address or in a form that was still open
        let form = format!("password={password}");
        for (method, path, body) in [
            ("GET", &*format!("/?{form}"), ""),
            ("GET", "/?password=x", ""),
            ("POST", "/password", &*form),
            ("POST", "/password", "password=x"),
            ("GET", "/password", ""),
        ] {
            let again = self::answer(&server, method, path, &[&pair, &own], body);
            assert!(status(&again) == 200 && again.contains("url=./\""), "{method} {path}: {again}");
            assert!(!again.contains("name=\"token\""), "{method} {path}: {again}");
        }
        let evil = "origin: http://evil.example";
        let refused = self::answer(&server, "POST", "/password", &[&pair, evil], &form);
        assert!(status(&refused) == 403 && self::cookie(&refused).is_none(), "{refused}");
        // the cookie and the token are both needed, as is the page's own origin
        let home = |headers: &[&str]| status(&self::answer(&server, "GET", "/api/home", headers, ""));
        assert_eq!(home(&[&pair, &token]), 200);
        assert_eq!(home(&[&pair]), 403);
        assert_eq!(home(&[&token]), 401);
        assert_eq!(home(&[&pair, &token, "origin: http://evil.example"]), 403);
    }
    // a cookie from another start is not valid
    let other = listening().0;
    let first = answer(&server, "GET", &format!("/?password={password}"), &[], "");
    let pair = format!("cookie: {}", cookie(&first).unwrap().split(';').next().unwrap());
    assert_eq!(status(&answer(&other, "GET", "/", &[&pair], "")), 401);
}

#[test]
fn tries_are_limited() {
    let (server, password, _) = listening();
    let given = |text: &str| answer(&server, "POST", "/password", &[], &format!("password={text}"));
    let first = answer(&server, "GET", &format!("/?password={password}"), &[], "");
    let pair = format!("cookie: {}", cookie(&first).unwrap().split(';').next().unwrap());
    for _ in 0..10 {
        let answer = given("wrong");
        assert!(status(&answer) == 401 && answer.contains("The password is wrong."), "{answer}");
    }
    for text in ["wrong", password.as_str()] {
        let answer = given(text);
        assert!(status(&answer) == 429 && answer.contains("Wait 10 minutes."), "{answer}");
        assert!(cookie(&answer).is_none());
    }
    // devices that are logged in remain so
    assert_eq!(status(&answer(&server, "GET", "/", &[&pair], "")), 200);
}

#[test]
fn without_the_flag_there_is_no_password_and_no_other_device() {
    let (server, lines) = Server::begun(&["--folder", "nowhere"], 1);
    assert!(server.address.ip().is_loopback() && !lines[0].contains("password"), "{lines:?}");
    let page = answer(&server, "GET", "/", &[], "");
    assert!(status(&page) == 200 && cookie(&page).is_none() && page.contains("name=\"token\""), "{page}");
    let host = server.answer(b"GET / HTTP/1.1\r\nHost: 192.168.1.5:7180\r\n\r\n");
    assert_eq!(host.0, 403);
    // all addresses of the machine: the printed one is among them
    let (all, lines) = Server::begun(&["--folder", "nowhere", "--listen", "0.0.0.0"], 2);
    assert!(lines[0].starts_with("http://") && lines[1].starts_with("password: "), "{lines:?}");
    let body = all.answer(format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", all.address).as_bytes());
    assert!(body.0 == 401 && body.1.contains("<form"), "{body:?}");
    fails(
        &["serve", "--port", "0", "--listen", "203.0.113.7"],
        2,
        &["does not have that address", "0.0.0.0"],
    );
    assert!(!petteia(&["serve", "--listen", "everywhere"], "").status.success());
}
