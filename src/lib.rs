//! Self-play reinforcement learning for two-player abstract board games: rules, search, a policy/value network,
//! self-play, training, matches, and exported bots, on a plain CPU.
//!
//! The `petteia` program is a thin layer over this library; [`cli::main`] makes the same program for your own games.
//! The library never prints. It returns values and reports events to an observer.
//!
//! # Rules
//!
//! A game is a value of a type that implements [`game::Game`]. The module [`games`](mod@games) has the games that come
//! with Petteia.
//!
//! ```
//! use petteia::game::{Game, GameOptions, Rules, perft};
//! use petteia::games::connect_four::ConnectFour;
//!
//! let rules = Rules::<ConnectFour>::new(&GameOptions::default())?;
//! let game = &rules.game;
//! let mut state = game.initial();
//! for text in ["4", "4", "3"] {
//!     let action = game.parse_action(&state, text).expect("a legal action");
//!     game.play(&mut state, action);
//! }
//! assert_eq!(game.to_move(&state).id(), "second");
//! assert_eq!(game.legal(&state).len(), 7);
//! assert_eq!(perft(game, &game.initial(), 4), 7 * 7 * 7 * 7);
//! # Ok::<(), petteia::error::Error>(())
//! ```
//!
//! # A match
//!
//! Agents are named as on the command line: `rollout:400`, a run, a checkpoint, an exported file.
//!
//! ```
//! use petteia::arena::contestant::Contestant;
//! use petteia::arena::spec::AgentSpec;
//! use petteia::arena::{Match, play_match};
//! use petteia::game::{GameOptions, Rules};
//! use petteia::games::tic_tac_toe::TicTacToe;
//!
//! let rules = Rules::<TicTacToe>::new(&GameOptions::default())?;
//! let agent = |text: &str| Contestant::new(&rules, &AgentSpec::parse(text)?);
//! let (rollout, random) = (agent("rollout:50")?, agent("random")?);
//! let plan = Match { games: 40, seed: 1, opening_plies: 0, book: None, sprt: None };
//! let result = play_match(&rules.game, &plan, [&rollout, &random], None, |_| true)?;
//! println!("{} wins, {} draws, {} losses: Elo {:+.0}", result.wins, result.draws, result.losses, result.elo);
//! assert!(result.wins > 30);
//! # Ok::<(), petteia::error::Error>(())
//! ```
//!
//! # A training run
//!
//! Equal settings and seeds give equal bytes; the same call resumes an interrupted run.
//!
//! ```
//! use petteia::config::Config;
//! use petteia::game::{GameOptions, Rules};
//! use petteia::games::tic_tac_toe::TicTacToe;
//! use petteia::run::{Event, Observer, train};
//!
//! struct Show;
//!
//! impl Observer for Show {
//!     fn event(&self, event: Event) {
//!         if let Event::Saved(checkpoint) = event {
//!             println!("saved {}", checkpoint.display());
//!         }
//!     }
//! }
//!
//! let settings = "
//!     game.id = 'tic-tac-toe'
//!     net.filters = 4
//!     selfplay.bootstrap_games = 8
//!     train.generations = 1
//!     arena = { games = 0, final_games = 2 }";
//! let config = Config::parse("example", settings, &[])?;
//! let rules = Rules::<TicTacToe>::new(&GameOptions::default())?;
//! # let folder = tempfile::tempdir().map_err(petteia::error::Error::io("a temporary folder"))?;
//! # let folder = folder.path();
//! let summary = train(&rules.opened(), &config, &folder.join("runs/first"), &Show)?;
//! assert_eq!(summary.generations, 1);
//! # Ok::<(), petteia::error::Error>(())
//! ```
//!
//! # The modules
//!
//! These modules are the public interface: the changelog marks incompatible changes to it as breaking. Each module
//! imports only from modules that this list names before it.
//!
//! - The base: [`error`], [`program`](mod@program), [`shipped`] (what a program carries for its games), [`options`],
//!   [`config`] (every setting with its range and default), [`random`]
//! - Games: [`board`], [`encode`], [`game`] (the contract), [`session`], [`conformance`] (the test of a game),
//!   [`text_game`] (rules as text)
//! - Learning: [`solve`], [`search`], [`net`], [`replay`], [`notation`] (recorded games from files), [`selfplay`],
//!   [`train`], [`checkpoint`], [`arena`]
//! - Opening games: [`any`] (games whose type is not known at compile time), [`registry`] (finds a game by its name),
//!   [`games`](mod@games)
//! - Programs: [`run`], [`cli::main`]
//!
//! All other modules are internal. This reference does not list them, and they may change in any release.
// code that only optional parts use is unused if a program leaves these parts out
#![cfg_attr(not(all(feature = "train", feature = "cli", feature = "web")), allow(dead_code, unused_imports))]
#![deny(missing_docs)]
// what only this crate needs is `pub(crate)`, so that `pub` means the interface
#![warn(unreachable_pub)]
#![warn(missing_debug_implementations)]
#![deny(unsafe_code)]

/// Implements `Debug` with some of the fields of a type that is too large to print or has fields that cannot be
/// printed.
macro_rules! debug_fields {
    ($Type:ident $(<$G:ident: $Bound:ident>)?, $($field:ident),*) => {
        impl $(<$G: $Bound>)? std::fmt::Debug for $Type $(<$G>)? {
            fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
                let mut fields = out.debug_struct(stringify!($Type));
                $(fields.field(stringify!($field), &self.$field);)*
                fields.finish_non_exhaustive()
            }
        }
    };
}

/// The tensor library for networks that learn, in the version that this crate uses.
#[cfg(feature = "train")]
pub use burn;

// Modules with `#[doc(hidden)]` are internal. They are public because the program, the Python module, the checks, and
// the tests are other crates.

pub mod error;
pub mod program;
pub mod shipped;
pub mod options;
pub mod config;
pub mod random;
#[doc(hidden)]
pub mod parallel;
#[doc(hidden)]
pub mod storage;
#[cfg(not(target_family = "wasm"))]
mod template;

pub mod board;
pub mod encode;
pub mod game;
#[doc(hidden)]
pub mod draw;
#[doc(hidden)]
pub mod manual;
pub mod session;
#[doc(hidden)]
pub mod memory;
pub mod conformance;
pub mod text_game;

pub mod solve;
pub mod search;
pub mod net;
pub mod replay;
pub mod notation;
pub mod selfplay;
pub mod train;
pub mod checkpoint;

pub mod arena;
pub mod any;
pub mod registry;
pub mod games;

#[doc(hidden)]
pub mod truth;
pub mod run;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod balance;
#[doc(hidden)]
pub mod page;
#[doc(hidden)]
pub mod export;
#[doc(hidden)]
pub mod protocol;
#[cfg(feature = "web")]
#[doc(hidden)]
pub mod web;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(target_family = "wasm")]
#[doc(hidden)]
pub mod wasm;

/// The examples of the guides, which run as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../docs/library.md")]
struct Guides;
