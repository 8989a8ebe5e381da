#![doc = include_str!("../README.md")]
//!
//! # The modules
//!
//! They stand in the order of the data flow; each imports only from those above it.
#![deny(missing_docs)]
#![deny(unsafe_code)]

pub mod error;
pub mod config;
pub mod random;
pub mod storage;
pub mod attachment;

pub mod board;
pub mod encode;
pub mod game;
pub mod memory;
pub mod conformance;
pub mod games;

pub mod search;
pub mod net;
pub mod replay;
pub mod selfplay;
pub mod train;
pub mod checkpoint;

pub mod arena;
pub mod gate;
pub mod audit;
pub mod pipeline;
pub mod export;
pub mod protocol;
pub mod cli;
