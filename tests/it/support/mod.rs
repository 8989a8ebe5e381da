//! Code that several tests share.

pub mod batches;
pub mod command;
pub mod faulty;
pub mod runs;
#[cfg(feature = "web")]
pub mod server;
pub mod training;
pub mod tree_game;
pub mod wide;
