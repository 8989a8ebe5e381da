#![doc = include_str!("../README.md")]
//!
//! # The modules
//!
//! They stand in the order of the data flow; each imports only from those above it.
#![deny(missing_docs)]
#![warn(missing_debug_implementations)]
#![deny(unsafe_code)]

/// `Debug` of a type that is too large to print, or that holds what cannot be printed: some of its fields.
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
