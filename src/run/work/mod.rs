//! Work of several processes on one run. The processes do not talk to each other, but leave files in the run's folder
//! `work/`.
//!
//! A shard is a function of the settings, its generation and number, and the network that plays. Every process that
//! plays the shard gets the same games, and playing it twice only wastes time, so no process assigns work to another. A
//! worker plays a missing shard ([`worker`]), writes it under a name that no other process uses, and then *commits* it
//! (`commit`): it creates a small file that only the first worker can create. The learner (`turn::gather`) takes in the
//! committed shards, checks them like everything else that it trains on, and moves them to the run's own shards. Before
//! it trains, it creates the list of shards that it took (`commit::Consumed`), which is authoritative from then on.
//! Nothing here trains.
//!
//! ```text
//! work/learner-0001.json                                 a process that trains (`files::learner`); the newest counts
//! work/generation-0003/shard-0007-1-5be1....jsonl.zst    games that a worker played, until the learner has them
//! work/generation-0003/shard-0007.commit-1.json          names the first of these files that was committed
//! work/generation-0003/shard-0007.rejected-1.json        the learner rejected it; commit-2 may follow
//! work/generation-0003/shard-0007.failed-5be1....json    a worker could not play it
//! work/generation-0003/shard-0007.aside.json             no worker can play it: the run continues without it
//! work/generation-0003/judged.json                       the games of a judge with the network of generation 3
//! work/generation-0003/consumed.json                     what generation 3 was trained on
//! ```

pub(super) mod listing;
pub(super) mod commit;
pub(super) mod failed;
pub(super) mod judging;
pub mod tally;
pub mod roster;
pub(super) mod pause;
mod claims;
pub mod worker;

pub use crate::run::files::shared::Identity;
