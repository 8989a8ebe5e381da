//! The integration tests: a single program, because each program links all of the library. There is one module per
//! subject; `cargo test --release --test it playthrough` runs one of them.
//!
//! The tests run in parallel as threads of this program, so none may change anything that affects all of it:
//! environment variables, the working folder, rayon's global pool, signals. A test that needs such a change makes it
//! in a child process. `tests/allocation.rs` is a separate program, because its allocator counts for a whole program.
#![allow(clippy::default_trait_access, clippy::print_stderr, clippy::print_stdout)]

mod support;

mod accuracy;
mod arena;
mod audit;
mod average;
mod balance;
mod bot;
mod cache;
mod cli;
mod conformance_faults;
mod contract;
mod coverage;
mod data_cage;
mod data_caissa;
mod data_custodial_trap;
mod device;
mod docs;
mod economy;
mod elsewhere;
mod export;
mod export_html;
mod external;
mod faults;
mod files;
mod foreign_text;
mod gumbel;
mod heads;
mod health;
mod import;
mod layering;
mod levels;
mod ladder;
mod learning;
mod lineage;
mod limits;
mod net;
mod notation;
mod numbers;
mod old_run;
mod own;
mod perft;
mod pipeline;
mod play;
mod playthrough;
mod progress;
mod protocol;
mod repair;
mod report;
mod rules_cage;
mod rules_caissa;
mod rules_connect_four;
mod rules_custodial_trap;
mod rules_pages;
mod rules_phage;
mod rules_tic_tac_toe;
mod search;
mod selfplay;
mod settings;
mod shipped;
mod signals;
mod solve;
#[cfg(all(feature = "cloud", target_os = "linux"))]
mod stores;
mod surroundings;
mod tables;
mod text_games;
mod threads;
mod times;
mod traces;
mod trees;
mod trycmd;
mod tutorial;
#[cfg(feature = "vulkan")]
mod vulkan;
mod watching;
#[cfg(feature = "web")]
mod web;
#[cfg(feature = "web")]
mod web_agents;
#[cfg(feature = "web")]
mod web_password;
#[cfg(feature = "web")]
mod web_review;
#[cfg(feature = "web")]
mod web_texts;
mod wide;
mod workers;
