//! A page about games: positions with their drawings and agents that play, for `petteia serve` and for a page in a
//! single file.
//!
//! Input: a game as the page holds it, with all its actions. Output: what the page shows and does next. `api` has the
//! requests and answers as types, `table` answers questions about a game, `players` names the agents of the program,
//! `agents` keeps loaded agents, `listed` describes games for a list, `games` reads recorded games, and `assets` has
//! the scripts and styles. `bundle` combines the scripts into one, and `engine` answers everything that a page in a
//! single file asks.

pub(crate) mod agents;
pub(crate) mod api;
pub(crate) mod assets;
pub(crate) mod bundle;
pub mod engine;
pub(crate) mod games;
pub(crate) mod listed;
pub(crate) mod players;
pub(crate) mod table;

use std::sync::{Mutex, MutexGuard};

use crate::net::device::Processor;

/// The resources for agents' searches.
#[derive(Clone, Debug)]
pub struct Means {
    /// The number of threads of each search.
    pub threads: usize,
    /// The device that evaluates networks.
    pub processor: Processor,
}

/// Locks a mutex, even a poisoned one: poison only means that some request panicked, and the guarded value is always
/// replaced as a whole.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|broken| broken.into_inner())
}
