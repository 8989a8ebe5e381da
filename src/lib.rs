//! Petteia teaches itself two-player abstract board games.
//!
//! The modules stand in the order of the data flow: rules, encoding, search, network, self-play, records,
//! training, checkpoint, arena, export. Each imports only from those above it.
#![deny(missing_docs)]
#![deny(unsafe_code)]

pub mod config;
pub mod error;
pub mod random;
pub mod storage;

pub mod board;
pub mod conformance;
pub mod encode;
pub mod game;
pub mod games;

pub mod checkpoint;
pub mod net;
pub mod replay;
pub mod search;
pub mod selfplay;
pub mod train;

pub mod arena;
pub mod cli;
pub mod export;
pub mod pipeline;
