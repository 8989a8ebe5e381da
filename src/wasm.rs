//! The program in a page of a single file, as WebAssembly: functions without types for [`page::engine`](crate::page::engine).
//!
//! Whoever drives it (`page/file/answering.js`) asks for space ([`petteia_take`]), writes the bytes of a request there, and has
//! it answered ([`petteia_open`], [`petteia_ask`]); the answer is a JSON object `{"ok": ...}`, `{"later": true}` or
//! `{"error": "for people"}`, whose bytes are at [`petteia_answer`].

#![allow(unsafe_code)]

use std::cell::RefCell;

use crate::error::{Error, Result};
use crate::games::Games;
use crate::page::engine::{Contents, Engine, Reply, error_answer};
use crate::registry::Catalog;

#[derive(Default)]
struct Door {
    taken: Vec<u8>,
    answer: String,
    engine: Option<Engine>,
}

thread_local! {
    static DOOR: RefCell<Door> = RefCell::default();
}

/// Space for a request of so many bytes; the one before is forgotten.
#[unsafe(no_mangle)]
pub extern "C" fn petteia_take(bytes: usize) -> *mut u8 {
    DOOR.with_borrow_mut(|door| {
        door.taken = vec![0; bytes];
        door.taken.as_mut_ptr()
    })
}

/// Opens the game of a file: the request is its contents as JSON in so many bytes, then the weights of its agent, if it has
/// one. Returns the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn petteia_open(contents: usize) -> usize {
    DOOR.with_borrow_mut(|door| {
        let mut agent = std::mem::take(&mut door.taken);
        let contents: Vec<u8> = agent.drain(..contents.min(agent.len())).collect();
        let opened = opened(&contents, (!agent.is_empty()).then_some(agent));
        door.answer = match opened {
            Ok(engine) => {
                door.engine = Some(engine);
                "{\"ok\":null}".into()
            }
            Err(error) => error_answer(&error),
        };
        door.answer.len()
    })
}

fn opened(contents: &[u8], agent: Option<Vec<u8>>) -> Result<Engine> {
    // what a program carries for its games, a file has for its own
    Engine::new(Catalog::bare::<Games>(), Contents::parse(contents)?, agent)
}

/// Answers a request: its path in so many bytes, then its body. Returns the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn petteia_ask(path: usize) -> usize {
    DOOR.with_borrow_mut(|door| {
        let Door { taken, answer, engine } = door;
        let (path, body) = taken.split_at(path.min(taken.len()));
        let asked = match engine {
            Some(engine) => engine.ask(&String::from_utf8_lossy(path), body),
            None => Err(Error::Config("no game is open".into())),
        };
        *answer = match asked {
            Ok(Reply::Answer(found)) => format!("{{\"ok\":{found}}}"),
            Ok(Reply::Later) => "{\"later\":true}".into(),
            Err(error) => error_answer(&error),
        };
        answer.len()
    })
}

/// Where the answer is, until the next request.
#[unsafe(no_mangle)]
pub extern "C" fn petteia_answer() -> *const u8 {
    DOOR.with_borrow(|door| door.answer.as_ptr())
}
