//! What several tests share.

pub mod command;
pub mod runs;
pub mod training;
pub mod tree_game;
