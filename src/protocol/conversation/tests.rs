use std::io::{BufReader, Cursor, Read};
use std::sync::OnceLock;

use super::*;
use crate::any::AnyGame;
use crate::arena::searching::SearchAgent;
use crate::config::SearchConfig;
use crate::games::tic_tac_toe::TicTacToe;
use crate::protocol::thinker::Limits;
use crate::protocol::ugi::Ugi;
use crate::random::{Purpose, stream};
use crate::search::evaluator::Uniform;
use crate::session::Session;

fn game() -> AnyGame {
    AnyGame::of(TicTacToe)
}

fn thinker() -> Result<Thinker> {
    let random = stream(1, Purpose::Agent, &[]);
    let agent = SearchAgent::new(game(), SearchConfig::default(), 50, Uniform, random);
    Ok(Thinker::new(game(), agent))
}

fn talk(input: &str, interrupter: impl FnOnce(Interrupter)) -> String {
    let (input, mut output) = (Cursor::new(input.to_string()), Vec::new());
    let mut aside = std::io::sink();
    let streams = Streams { input: Box::new(|| Box::new(input)), output: &mut output, aside: &mut aside };
    converse(&mut Ugi::new(game(), "test"), streams, Box::new(thinker), Box::new(interrupter)).unwrap();
    String::from_utf8(output).unwrap()
}

#[test]
fn a_conversation_needs_no_standard_streams() {
    let output = talk("isready\nposition fen XX./OO./... X\ngo nodes 200\nquit\n", |_| ());
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!((lines[0], *lines.last().unwrap()), ("readyok", "bestmove c3"), "{output}");
}

/// A reader that returns its text and then never reaches an end.
struct Endless(Cursor<&'static str>);

impl Read for Endless {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(to)? {
            0 => loop {
                thread::park();
            },
            read => Ok(read),
        }
    }
}

/// Stores everything that is written, and interrupts the conversation at the first line about a search.
struct Interrupting<'a>(Vec<u8>, &'a OnceLock<Interrupter>);

impl Write for Interrupting<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.extend_from_slice(bytes);
        if String::from_utf8_lossy(&self.0).contains("info depth") {
            let interrupter = self.1.get().cloned();
            // interrupt from another thread: the channel of events may be full, and only this thread empties it
            thread::spawn(move || interrupter.map(|interrupter| interrupter.interrupt()));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_infinite_search_is_answered_when_it_is_interrupted() {
    let interrupter = OnceLock::new();
    let mut output = Interrupting(Vec::new(), &interrupter);
    let input =
        Box::new(|| Box::new(BufReader::new(Endless(Cursor::new("go infinite\n")))) as Box<dyn BufRead>);
    let streams = Streams { input, output: &mut output, aside: &mut std::io::sink() };
    let keep = Box::new(|handle| interrupter.set(handle).unwrap());
    converse(&mut Ugi::new(game(), "test"), streams, Box::new(thinker), keep).unwrap();
    let output = String::from_utf8(output.0).unwrap();
    assert_eq!(output.matches("bestmove").count(), 1, "{output}");
}

/// A protocol that orders an endless search and panics when its progress is reported.
struct Panics;

impl Protocol for Panics {
    fn line(&mut self, _: &str) -> Reply {
        let session = Session::new(game());
        Reply::new(
            Vec::new(),
            Order::Search(Task::of(&session, Limits { infinite: true, ..Limits::default() })),
        )
    }

    fn urgency(&self, _: &str) -> Urgency {
        Urgency::InTurn
    }

    fn progress(&self, _: &Report) -> Option<String> {
        panic!("a planted panic")
    }

    fn found(&mut self, _: &Report) -> Reply {
        Reply::nothing()
    }

    fn failed(&mut self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn refuse(&mut self, _: &str) -> Reply {
        Reply::nothing()
    }
}

#[test]
fn a_panic_ends_the_conversation_and_its_search() {
    let input = Box::new(|| Box::new(BufReader::new(Endless(Cursor::new("go\n")))) as Box<dyn BufRead>);
    let (mut output, mut aside) = (std::io::sink(), std::io::sink());
    let streams = Streams { input, output: &mut output, aside: &mut aside };
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        converse(&mut Panics, streams, Box::new(thinker), Box::new(|_| ()))
    }));
    assert!(ended.is_err());
}
