//! `petteia serve`, and requests to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Child;

use serde_json::Value;

use super::command::{PETTEIA, start};

/// A server program, which runs until this value is dropped.
pub struct Server {
    pub program: Child,
    pub address: SocketAddr,
    pub token: String,
}

impl Server {
    /// A server whose page has not been requested yet, and the first lines that it prints.
    pub fn begun(sources: &[&str], count: usize) -> (Server, Vec<String>) {
        let mut program = start(PETTEIA, &[&["serve", "--port", "0"], sources].concat());
        let printed = BufReader::new(program.stdout.as_mut().unwrap());
        let lines: Vec<String> = printed.lines().take(count).map(Result::unwrap).collect();
        let address = lines[0].trim_start_matches("http://").split('/').next().unwrap().parse().unwrap();
        (Server { program, address, token: String::new() }, lines)
    }

    pub fn of(sources: &[&str]) -> Server {
        let mut server = Server::begun(sources, 1).0;
        let address = server.address;
        let page = server.answer(format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes());
        let token = page.1.split("name=\"token\" content=\"").nth(1).unwrap();
        server.token = token.split('"').next().unwrap().into();
        server
    }

    /// The status and body of the answer to these bytes; the status is 0 if there is no answer.
    pub fn answer(&self, request: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        // the server may answer, and close the connection, before it has read everything
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        if status == 200 {
            assert!(head.contains("content-security-policy: default-src 'none'"), "{head}");
        }
        (status, body.into())
    }

    pub fn request(&self, method: &str, path: &str, body: &str) -> String {
        let Server { address, token, .. } = self;
        let length = body.len();
        format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nx-petteia-token: {token}\r\ncontent-length: \
                {length}\r\n\r\n{body}"
        )
    }

    pub fn get(&self, path: &str) -> Value {
        let (status, body) = self.answer(self.request("GET", path, "").as_bytes());
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }

    pub fn try_post(&self, path: &str, body: &Value) -> (u16, Value) {
        let (status, body) = self.answer(self.request("POST", path, &body.to_string()).as_bytes());
        (status, serde_json::from_str(&body).unwrap_or_else(|_| panic!("{status} {body}")))
    }

    pub fn post(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.try_post(path, body);
        assert_eq!(status, 200, "{path} {body}: {answer}");
        answer
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}
