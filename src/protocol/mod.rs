//! How other programs talk to an agent: a line in, lines and at most one order out.
//!
//! A [`Protocol`] is a pure state machine: it reads no stream, starts no thread and knows no clock but the one that it
//! is told of. It orders searches as a [`thinker::Task`]; whoever drives it gives the task to an [`thinker::Thinker`] and
//! what that found back to the protocol. [`ugi`] for match runners, [`codecup`] for that contest's jury,
//! [`gtp`] for programs from the world of Go.

pub mod clock;
pub mod codecup;
pub mod thinker;
pub mod gtp;
pub mod ugi;

use std::time::Duration;

use crate::game::{Action, Game};
use thinker::{Report, Task};

/// What a protocol answers.
#[derive(Debug)]
pub struct Reply<G: Game> {
    /// Lines to print, without line ends.
    pub lines: Vec<String>,
    /// A line for people, who read another stream.
    pub aside: Option<String>,
    /// What is to be done then.
    pub order: Order<G>,
}

/// What a protocol wants done.
#[derive(Debug)]
pub enum Order<G: Game> {
    /// Nothing more.
    Nothing,
    /// A search; its report goes to [`Protocol::found`].
    Search(Task<G>),
    /// The position of a task, for a search to come; all lines wait until the search is there.
    Follow(Task<G>),
    /// The search under way shall end now.
    Stop,
    /// The conversation is over. What was asked for before may take so long still; then it is stopped.
    Quit(Duration),
}

/// When a line is handled that arrives during a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// At once, before lines that wait.
    Now,
    /// At once unless other lines wait.
    InTurn,
    /// After the search, which ends for it if it is infinite.
    AfterSearch,
}

/// A conversation about one game.
pub trait Protocol<G: Game> {
    /// Handles a line, without its end; it may hold anything.
    fn line(&mut self, line: &str) -> Reply<G>;
    /// When a line is handled that arrives during a search.
    fn urgency(&self, line: &str) -> Urgency;
    /// A line about a search under way.
    fn progress(&self, _report: &Report) -> Option<String> {
        None
    }
    /// Takes the result of an ordered search.
    fn found(&mut self, report: &Report) -> Reply<G>;
    /// The search failed, which ends the conversation: its last lines, which name the problem where the protocol
    /// can.
    fn failed(&mut self, problem: &str) -> Vec<String>;
    /// The answer to a line that could not be read.
    fn refuse(&self, problem: &str) -> Vec<String>;
}

impl<G: Game> Reply<G> {
    /// Lines, then an order.
    pub fn new(lines: Vec<String>, order: Order<G>) -> Reply<G> {
        Reply { lines, aside: None, order }
    }

    /// Nothing to say, nothing to do.
    pub fn nothing() -> Reply<G> {
        Reply::new(Vec::new(), Order::Nothing)
    }

    /// One line.
    pub fn line(line: impl Into<String>) -> Reply<G> {
        Reply::new(vec![line.into()], Order::Nothing)
    }

    /// An order without a word.
    pub fn order(order: Order<G>) -> Reply<G> {
        Reply::new(Vec::new(), order)
    }
}

/// What goes by outside the search for an action where a protocol does not say.
const OVERHEAD: Duration = Duration::from_millis(50);

/// The game of a conversation: where it began and what was played.
#[derive(Debug)]
pub struct Course<G: Game> {
    game: G,
    start: G::State,
    actions: Vec<Action>,
    state: G::State,
}

impl<G: Game> Course<G> {
    /// A game that begins at the start position.
    pub fn new(game: G) -> Course<G> {
        let start = game.initial();
        Course { game, state: start.clone(), start, actions: Vec::new() }
    }

    /// The rules.
    pub fn game(&self) -> &G {
        &self.game
    }

    /// The position now.
    pub fn state(&self) -> &G::State {
        &self.state
    }

    /// Begins again at `start`.
    pub fn restart(&mut self, start: G::State) {
        self.state.clone_from(&start);
        self.start = start;
        self.actions.clear();
    }

    /// Plays a legal action.
    pub fn play(&mut self, action: Action) {
        self.game.play(&mut self.state, action);
        self.actions.push(action);
    }

    /// Plays the action of this text if it is legal.
    pub fn play_text(&mut self, text: &str) -> bool {
        let legal = |action: &Action| self.game.legal(&self.state).contains(action);
        let action = self.game.parse_action(&self.state, text).filter(legal);
        action.inspect(|action| self.play(*action)).is_some()
    }

    /// Takes the last action back; false when there is none.
    pub fn undo(&mut self) -> bool {
        let taken = self.actions.pop().is_some();
        self.state.clone_from(&self.start);
        for &action in &self.actions {
            self.game.play(&mut self.state, action);
        }
        taken
    }

    /// The search of the position now.
    pub fn task(&self, limits: thinker::Limits) -> Task<G> {
        let (start, actions) = (self.start.clone(), self.actions.clone());
        Task { start, actions, limits, memory: thinker::DEFAULT_MEMORY, ponder: false, fresh: false }
    }
}
