//! A training run: generations of self-play, training, checkpoint and evaluation, in one folder.
//!
//! The run folder holds `config.toml` (the resolved settings), `selfplay/` (shards of records), `checkpoints/`,
//! `metrics.jsonl`, `lock`, and `lineage.json` if it took something over ([`extend`], [`fork`], [`start`]). If the
//! program is killed at any point, [`train`] resumes the run: the finished shards of the current generation are kept,
//! the window is read back from the shards, and network and optimizer come from the newest checkpoint. A resumed run
//! plays the same games and ends with the same weights, byte for byte, as an uninterrupted one. If files that are
//! needed for this are missing (see [`audit`](mod@audit)), nothing is trained until the user decides.

pub mod audit;
#[cfg(feature = "train")]
mod beside;
pub mod copy;
mod event;
pub mod extend;
mod folder;
pub mod fork;
mod generation;
mod health;
mod history;
#[cfg(feature = "train")]
mod examine;
mod inherit;
mod judge;
mod ladder;
#[cfg(feature = "train")]
mod learn;
mod lines;
mod look;
mod metrics;
#[cfg(feature = "train")]
mod play;
#[cfg(feature = "train")]
mod precision;
mod rate;
mod refused;
pub mod repair;
#[cfg(feature = "train")]
mod resume;
mod signs;
#[cfg(feature = "train")]
pub mod start;
mod stopwatch;
mod suited;
mod tensorboard;
mod thinned;
#[cfg(feature = "train")]
mod training;
pub mod work;

pub use self::event::{Event, Observer, Played, Summary, Times};
pub use self::folder::{
    State, check_folder, has_run, is_run, reading_of, resuming, run_of, settings_of, state_of,
};
pub(crate) use self::generation::bootstrap_config;
pub use self::health::Health;
pub use self::history::{History, Reader, Unreadable};
pub use self::inherit::CopyProgress;
pub use self::ladder::{RatedGeneration, Rating};
pub use self::lines::{SelfplayLine, TrainLine};
pub use self::look::{LOG, doing, seconds_left};
pub use self::metrics::METRICS;
#[cfg(feature = "train")]
pub use self::precision::resolve_precision;
pub use self::refused::{Part, Refused};
pub use self::suited::{Nature, suited};
pub use self::tensorboard::EVENTS;
pub use self::thinned::Thinned;
#[cfg(feature = "train")]
use self::training::Run;
#[cfg(feature = "train")]
pub use self::training::{check_rules, learn, train, train_after, with_named_device};

/// The file of resolved settings in the run folder.
pub const SETTINGS: &str = "config.toml";
