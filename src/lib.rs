//! Petteia teaches itself two-player abstract board games.
//!
//! The modules stand in the order of the data flow: rules, encoding, search, network, self-play, records,
//! training, checkpoint, arena, export. Each imports only from those above it.
#![deny(missing_docs)]
#![deny(unsafe_code)]

pub mod error;
pub mod config;
pub mod random;
pub mod storage;

pub mod game;
pub mod board;
pub mod encode;
pub mod games;

pub mod search;
pub mod net;
pub mod replay;
pub mod selfplay;
pub mod train;
pub mod checkpoint;

pub mod arena;
pub mod pipeline;
pub mod export;
pub mod cli;
