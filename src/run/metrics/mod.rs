//! The numbers of a run: the lines of `metrics.jsonl`, and everything computed from them.
//!
//! `lines` defines the format, `writer` appends to the file, and `history` summarizes it in bounded memory. `ladder`
//! rates generations from the results in the lines, `signs` turns measurements into sentences, and `tensorboard` copies
//! the lines to an event file. Nothing here plays a game, trains a network, or knows about checkpoints and records.

pub(super) mod stopwatch;
pub(super) mod health;
pub(super) mod thinned;
pub(super) mod signs;
pub(super) mod lines;
pub(super) mod ladder;
pub(super) mod history;
pub(super) mod tensorboard;
pub(super) mod writer;
