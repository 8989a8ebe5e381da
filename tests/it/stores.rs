//! Messages about object stores that do not answer or refuse. The stores here are a few lines of code;
//! `scripts/check/cluster.sh` trains runs in real ones.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::command::{PETTEIA, err};

/// A store that gives every request the same answer; returns its address.
fn store(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || answer(stream.unwrap(), status, body));
        }
    });
    address
}

fn answer(mut stream: TcpStream, status: &str, body: &str) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|length| length > 2) {
        line.clear();
    }
    let length = body.len();
    let text = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    let _ = stream.write_all(text.as_bytes());
}

/// Starts petteia in an environment with no variables of stores except these.
fn start(arguments: &[&str], variables: &[(&str, &str)]) -> Child {
    let mut command = Command::new(PETTEIA);
    for (name, _) in std::env::vars() {
        if ["AWS_", "AZURE_", "GOOGLE_"].iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.args(arguments).envs(variables.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

const KEYS: [(&str, &str); 4] = [
    ("AWS_ACCESS_KEY_ID", "any"),
    ("AWS_SECRET_ACCESS_KEY", "any"),
    ("AWS_REGION", "us-east-1"),
    ("AWS_ALLOW_HTTP", "true"),
];

const COMMANDS: [&[&str]; 9] = [
    &["runs", "s3://probe"],
    &["inspect", "s3://probe/x"],
    &["audit", "s3://probe/x"],
    &["watch", "s3://probe/x"],
    &["report", "s3://probe/x"],
    &["records", "s3://probe/x", "list"],
    &["worker", "s3://probe/x"],
    &["learn", "s3://probe/x", "tic-tac-toe"],
    &["analyze", "tic-tac-toe", "--agent", "s3://probe/x"],
];

/// The store's answer is reported at once and on one line, with advice, and the exit code says that trying again
/// cannot help.
#[test]
fn what_a_store_refuses_is_told() {
    let denied = "<?xml version=\"1.0\"?>\n<Error>\n<Code>InvalidAccessKeyId</Code>\n<Message>The AWS access key does \
        not exist\
                  </Message>\n<RequestId>1</RequestId>\n</Error>";
    let lost =
        "<Error><Code>NoSuchBucket</Code><Message>The specified bucket does not exist</Message></Error>";
    for (status, body, says, remedy) in [
        (
            "403 Forbidden",
            denied,
            "the store answered 403 InvalidAccessKeyId: The AWS access key",
            "AWS_SECRET_ACCESS_KEY",
        ),
        ("404 Not Found", lost, "the store answered 404 NoSuchBucket", "create the bucket `probe` first"),
        ("501 Not Implemented", "", "the store answered 501", ""),
    ] {
        let address = store(status, body);
        let variables = [&KEYS[..], &[("AWS_ENDPOINT", &address)]].concat();
        for command in COMMANDS {
            let began = Instant::now();
            let output = start(command, &variables).wait_with_output().unwrap();
            let said = err(&output);
            assert!(said.contains(says) && said.contains(remedy), "{command:?}: {said}");
            assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{command:?}: {said}");
            assert!(began.elapsed() < Duration::from_secs(20), "{command:?}: {:?}", began.elapsed());
        }
    }
    let address = store("200 OK", "");
    for (variables, place, says) in [
        (vec![("AWS_ENDPOINT", &*address), KEYS[0], KEYS[1]], "s3://probe/x", "set AWS_ALLOW_HTTP=true"),
        (vec![], "az://probe/x", "set AZURE_STORAGE_ACCOUNT_NAME"),
        (
            vec![
                ("AZURE_STORAGE_ENDPOINT", &*address),
                ("AZURE_STORAGE_ACCOUNT_NAME", "any"),
                ("AZURE_STORAGE_ACCOUNT_KEY", "YW55"),
            ],
            "az://probe/x",
            "set AZURE_ALLOW_HTTP=true",
        ),
    ] {
        for command in ["runs", "inspect", "worker"] {
            let output = start(&[command, place], &variables).wait_with_output().unwrap();
            let said = err(&output);
            assert!(said.starts_with(&format!("error: {place}")) && said.contains(says), "{command}: {said}");
            assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{command}: {said}");
        }
    }
}

/// Within seconds, a message says that the store does not answer, and for how long the program keeps trying; a worker
/// continues for longer.
#[test]
fn silence_is_told_and_bounded() {
    // nothing listens on this port anymore
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let address = format!("http://{free}");
    let variables = [&KEYS[..], &[("AWS_ENDPOINT", &*address)]].concat();
    let mut worker = start(&["worker", "s3://probe/x"], &variables);
    let mut audit = start(&["audit", "s3://probe/x"], &variables);
    let began = Instant::now();
    for (child, bound) in [(&mut audit, "30 s"), (&mut worker, "20 min")] {
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        let says = format!(
            "s3://probe/x/config.toml: {free}: connection refused; trying again, for up to {bound}\n"
        );
        assert!(line == says || line == says.replace("/config.toml", ""), "{line}");
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    }
    // a waiting process can be ended
    Command::new("kill").args(["-s", "TERM", &worker.id().to_string()]).status().unwrap();
    let ended = Instant::now();
    assert_eq!(worker.wait().unwrap().code(), Some(1));
    assert!(ended.elapsed() < Duration::from_secs(10));
    let output = audit.wait_with_output().unwrap();
    let said = err(&output);
    assert!(said.contains(&format!("no answer for 30 s: {free}: connection refused")), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert!(began.elapsed() < Duration::from_secs(45), "{:?}", began.elapsed());
}
