//! The program in a single-file page, as WebAssembly: functions of plain numbers that call
//! [`page::engine`](crate::page::engine).
//!
//! The caller (`page/file/answering.js`) requests space ([`petteia_take`]), writes the bytes of a request there, and
//! asks for the answer ([`petteia_open`], [`petteia_ask`]). The answer is a JSON object, `{"ok": ...}`, `{"later":
//! true}`, or `{"error": "for people"}`, whose bytes are at [`petteia_answer`].

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

/// Returns space for a request of `bytes` bytes and forgets the previous request.
#[unsafe(no_mangle)]
pub extern "C" fn petteia_take(bytes: usize) -> *mut u8 {
    DOOR.with_borrow_mut(|door| {
        door.taken = vec![0; bytes];
        door.taken.as_mut_ptr()
    })
}

/// Opens the game of a file. The request is the file's contents as JSON, `contents` bytes long, followed by the weights
/// of its agent, if it has one. Returns the length of the answer.
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
    // a file has its own contents, which replace the files that a program carries for its games
    Engine::new(Catalog::bare::<Games>(), Contents::parse(contents)?, agent)
}

/// Answers a request, which consists of its path, `path` bytes long, followed by its body. Returns the length of the
/// answer.
#[unsafe(no_mangle)]
pub extern "C" fn petteia_ask(path: usize) -> usize {
    DOOR.with_borrow_mut(|door| {
        let Door { taken, answer, engine } = door;
        let (path, body) = taken.split_at(path.min(taken.len()));
        let reply = match engine {
            Some(engine) => engine.ask(&String::from_utf8_lossy(path), body),
            None => Err(Error::Config("no game is open".into())),
        };
        *answer = match reply {
            Ok(Reply::Answer(json)) => format!("{{\"ok\":{json}}}"),
            Ok(Reply::Later) => "{\"later\":true}".into(),
            Err(error) => error_answer(&error),
        };
        answer.len()
    })
}

/// Returns the address of the answer, which is valid until the next request.
#[unsafe(no_mangle)]
pub extern "C" fn petteia_answer() -> *const u8 {
    DOOR.with_borrow(|door| door.answer.as_ptr())
}
