//! The protocol of the CodeCup 2003 jury (rules/caissa.md): one process for each game, one line for each action.
//!
//! `start` orders the program to play first. Any other first line is the first player's action. `end` ends the program.
//! The juries of later years write `Start` and `Quit`, so `quit` means the same as `end`, and case does not matter. The
//! protocol also works for games in which a player moves several times in a row: the program prints, or receives, one
//! line for each action. The jury's input is always valid; an invalid line has no effect and is reported on the stream
//! for people.

use std::time::Duration;

use super::clock::Clock;
use super::thinker::{DEFAULT_MEMORY, Limits, Report, Task};
use super::{MEBIBYTE, OVERHEAD, Order, Protocol, Reply, Urgency};
use crate::any::AnyGame;
use crate::error::quoted;
use crate::game::{Game, Player};
use crate::session::Session;

/// A game under the jury.
#[derive(Debug)]
pub struct Codecup {
    session: Session<AnyGame>,
    /// The side that the program plays, known after the first line.
    side: Option<Player>,
    /// The thinking time left in the whole game.
    left: Option<Duration>,
    /// Whether `end` was received, after which nothing more is sent.
    over: bool,
    /// The memory for the tree, in bytes.
    memory: usize,
}

impl Codecup {
    /// Returns a game with `time` as the total thinking time, or with the agent's own number of simulations for each
    /// action.
    pub fn new(game: AnyGame, time: Option<Duration>) -> Codecup {
        Codecup { session: Session::new(game), side: None, left: time, over: false, memory: DEFAULT_MEMORY }
    }

    /// Sets the memory of the tree, in MiB.
    pub fn with_hash(mut self, mebibytes: usize) -> Codecup {
        self.memory = mebibytes * MEBIBYTE;
        self
    }

    /// Orders a search if it is the program's turn.
    fn next(&self) -> Order {
        let (game, state) = (self.session.game(), self.session.state());
        if game.outcome(state).is_some() || Some(game.to_move(state)) != self.side {
            return Order::Nothing;
        }
        let clock =
            self.left.map(|left| Clock { left, increment: Duration::ZERO, to_go: None, overhead: OVERHEAD });
        let task = Task::of(&self.session, Limits { clock, ..Limits::default() });
        Order::Search(Task { memory: self.memory, ..task })
    }
}

impl Protocol for Codecup {
    fn line(&mut self, line: &str) -> Reply {
        match line.trim() {
            "" => return Reply::nothing(),
            text if is_end(text) => {
                self.over = true;
                return Reply::order(Order::Quit(Duration::ZERO));
            }
            text if self.side.is_none() && text.eq_ignore_ascii_case("start") => {
                self.side = Some(Player::First);
            }
            text => {
                if self.session.play_text(text).is_err() {
                    let aside = format!("{} is not a legal action here and is ignored", quoted(text));
                    return Reply { aside: Some(aside), ..Reply::nothing() };
                }
                self.side = self.side.or(Some(Player::Second));
            }
        }
        Reply::order(self.next())
    }

    fn urgency(&self, line: &str) -> Urgency {
        if is_end(line.trim()) { Urgency::Now } else { Urgency::AfterSearch }
    }

    fn found(&mut self, report: &Report) -> Reply {
        if self.over {
            return Reply::nothing();
        }
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(report.elapsed.saturating_add(OVERHEAD));
        }
        self.session.play(report.action);
        Reply::new(report.line.first().cloned().into_iter().collect(), self.next())
    }

    /// Returns no lines: the protocol cannot report a failure. The program ends and prints the reason on the stream for
    /// people.
    fn failed(&mut self, _problem: &str) -> Vec<String> {
        Vec::new()
    }

    fn refuse(&mut self, problem: &str) -> Reply {
        Reply { aside: Some(problem.into()), ..Reply::nothing() }
    }
}

/// Returns whether the jury ends the game.
fn is_end(text: &str) -> bool {
    ["end", "quit"].iter().any(|word| text.eq_ignore_ascii_case(word))
}
