//! How other programs talk to an agent: one line comes in, and lines and at most one order go out.
//!
//! A [`Protocol`] is a pure state machine: it reads no stream, starts no thread, and knows no clock but the times that
//! it is given. It orders searches as a [`thinker::Task`]; [`conversation`] drives it on any reader and writer, gives
//! the task to a [`thinker::Thinker`], and hands the result back. [`ugi`] is for match runners, [`codecup`] for that
//! contest's jury, [`gtp`] for programs from the world of Go.

pub mod clock;
pub mod codecup;
pub mod conversation;
pub mod gtp;
pub mod thinker;
pub mod ugi;

use std::time::Duration;

use thinker::{Report, Task};

/// A protocol's answer to a line.
#[derive(Debug)]
pub struct Reply {
    /// Lines to print, without line ends.
    pub lines: Vec<String>,
    /// A line for people, on another stream.
    pub aside: Option<String>,
    /// The order that follows.
    pub order: Order,
}

/// An order from a protocol to the code that runs it.
#[derive(Debug)]
pub enum Order {
    /// There is nothing to do.
    Nothing,
    /// A search; its report goes to [`Protocol::found`].
    Search(Task),
    /// Goes to the position of a task, for a later search; all lines wait until the searching thread has arrived
    /// there.
    Follow(Task),
    /// Ends the current search now.
    Stop,
    /// The conversation is over. Searches ordered earlier may take this much longer; then they are stopped.
    Quit(Duration),
}

/// When to handle a line that arrives during a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// At once, before lines that wait.
    Now,
    /// At once unless other lines wait.
    InTurn,
    /// After the search; an infinite search ends for it.
    AfterSearch,
}

/// A conversation about one game.
pub trait Protocol {
    /// Handles a line, without its end; it may hold anything.
    fn line(&mut self, line: &str) -> Reply;
    /// When to handle this line if it arrives during a search.
    fn urgency(&self, line: &str) -> Urgency;
    /// A line about a search in progress.
    fn progress(&self, _report: &Report) -> Option<String> {
        None
    }
    /// Takes the result of an ordered search.
    fn found(&mut self, report: &Report) -> Reply;
    /// The last lines of the conversation, which ends because the search failed; they name the problem if the
    /// protocol can.
    fn failed(&mut self, problem: &str) -> Vec<String>;
    /// The answer to a line that could not be read.
    fn refuse(&mut self, problem: &str) -> Reply;
}

impl Reply {
    /// A reply with lines and an order.
    pub fn new(lines: Vec<String>, order: Order) -> Reply {
        Reply { lines, aside: None, order }
    }

    /// A reply without lines and without an order.
    pub fn nothing() -> Reply {
        Reply::new(Vec::new(), Order::Nothing)
    }

    /// A reply with one line.
    pub fn line(line: impl Into<String>) -> Reply {
        Reply::new(vec![line.into()], Order::Nothing)
    }

    /// A reply with an order and no lines.
    pub fn order(order: Order) -> Reply {
        Reply::new(Vec::new(), order)
    }
}

const MEBIBYTE: usize = 1 << 20;

/// Time lost outside the search for each action, if a protocol does not give it.
const OVERHEAD: Duration = Duration::from_millis(50);
