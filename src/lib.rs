#![doc = include_str!("../README.md")]
//!
//! # The modules
//!
//! They stand in the order of the data flow; each imports only from those above it.
#![deny(missing_docs)]
#![deny(unsafe_code)]

pub mod error;
pub mod program;
pub mod options;
pub mod config;
pub mod random;
pub mod storage;

pub mod board;
pub mod encode;
pub mod game;
pub mod session;
pub mod memory;
pub mod conformance;
pub mod registry;
pub mod any;
pub mod games;

pub mod search;
pub mod net;
pub mod replay;
pub mod selfplay;
pub mod train;
pub mod checkpoint;

pub mod arena;
pub mod run;
pub mod export;
pub mod protocol;
pub mod cli;
