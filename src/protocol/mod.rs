//! The protocols by which other programs talk to an agent: one line comes in, and lines and at most one order go out.
//!
//! A [`Protocol`] is a pure state machine: it reads no stream, starts no thread, and knows no clock except the times
//! that it receives. It orders a search as a [`thinker::Task`]. [`conversation`] drives the protocol on any reader and
//! writer, gives the task to a [`thinker::Thinker`], and returns the result to the protocol. [`ugi`] is for match
//! runners, [`codecup`] for the jury of that contest, and [`gtp`] for programs from the world of Go.

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
    /// A line for people, on a separate stream.
    pub aside: Option<String>,
    /// The order that follows.
    pub order: Order,
}

/// An order from a protocol to the code that runs it.
#[derive(Debug)]
pub enum Order {
    /// There is nothing to do.
    Nothing,
    /// Run a search; its report goes to [`Protocol::found`].
    Search(Task),
    /// Go to the position of a task, for a later search. All lines wait until the searching thread has arrived there.
    Follow(Task),
    /// End the current search now.
    Stop,
    /// End the conversation. Searches that were ordered earlier may continue for this long before they are stopped.
    Quit(Duration),
}

/// When to handle a line that arrives during a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// At once, before lines that wait.
    Now,
    /// At once, unless other lines wait.
    InTurn,
    /// After the search; an infinite search ends so that the line can be handled.
    AfterSearch,
}

/// A conversation about one game.
pub trait Protocol {
    /// Handles a line without its end; the line may contain anything.
    fn line(&mut self, line: &str) -> Reply;
    /// Returns when to handle this line if it arrives during a search.
    fn urgency(&self, line: &str) -> Urgency;
    /// Returns a line about a search in progress.
    fn progress(&self, _report: &Report) -> Option<String> {
        None
    }
    /// Takes the result of an ordered search.
    fn found(&mut self, report: &Report) -> Reply;
    /// Returns the last lines of a conversation that ends because the search failed. The lines name the problem if the
    /// protocol allows that.
    fn failed(&mut self, problem: &str) -> Vec<String>;
    /// Returns the answer to a line that could not be read.
    fn refuse(&mut self, problem: &str) -> Reply;
}

impl Reply {
    /// Returns a reply with lines and an order.
    pub fn new(lines: Vec<String>, order: Order) -> Reply {
        Reply { lines, aside: None, order }
    }

    /// Returns a reply without lines and without an order.
    pub fn nothing() -> Reply {
        Reply::new(Vec::new(), Order::Nothing)
    }

    /// Returns a reply with one line.
    pub fn line(line: impl Into<String>) -> Reply {
        Reply::new(vec![line.into()], Order::Nothing)
    }

    /// Returns a reply with an order and no lines.
    pub fn order(order: Order) -> Reply {
        Reply::new(Vec::new(), order)
    }
}

const MEBIBYTE: usize = 1 << 20;

/// The default for the time lost outside the search for each action, if a protocol does not specify that time.
const OVERHEAD: Duration = Duration::from_millis(50);
