//! A training run: generations of self-play, training, checkpoint, and judgment, in one folder.
//!
//! The run folder holds `config.toml` (the resolved settings), `selfplay/` (shards of records), `checkpoints/`,
//! `metrics.jsonl`, `lock`, and, if the run took something over ([`extend`], [`fork`], [`start`]), `lineage.json`. If
//! the program is killed at any point, [`train`] resumes the run: it keeps the finished shards of the current
//! generation, reads the window back from the shards, and loads the network and the optimizer from the newest
//! checkpoint. A resumed run plays the same games and ends with the same weights, byte for byte, as an uninterrupted
//! one. If files that are needed to resume are missing (see [`audit`](mod@audit)), nothing is trained until the user
//! decides.
//!
//! Each module here imports only from the modules above it, and each file in a module only from the files above it. The
//! names below are for other parts of the library; the modules of a run use each other's files directly.

mod metrics;
mod event;
mod files;
mod plan;
mod strength;
pub mod work;
mod care;
#[cfg(feature = "train")]
mod turn;

pub use self::care::inherit::CopyProgress;
#[cfg(feature = "train")]
pub use self::care::start;
pub use self::care::{audit, copy, extend, fork, repair};
pub use self::event::{Event, Observer, Summary};
pub(crate) use self::files::folder::check_folder;
pub use self::files::folder::{has_run, is_run, resuming, run_of};
pub use self::files::look::{LOG, State, doing, seconds_left, state_of};
pub use self::files::refused::{BatchPart, Refused};
pub use self::files::settings::{SETTINGS, reading_of, settings_of};
pub use self::metrics::health::Health;
pub use self::metrics::history::{History, Reader, Unreadable};
pub use self::metrics::ladder::{RatedGeneration, Rating};
pub use self::metrics::lines::{METRICS, Played, SelfplayLine, TrainLine};
pub use self::metrics::stopwatch::Times;
pub use self::metrics::tensorboard::EVENTS;
pub use self::metrics::thinned::Thinned;
pub(crate) use self::plan::assignment::bootstrap_config;
#[cfg(feature = "train")]
pub(crate) use self::plan::device::with_named_device;
#[cfg(feature = "train")]
pub(crate) use self::plan::precision::resolve_precision;
pub use self::plan::suited::{GameNature, suited};
pub(crate) use self::plan::suited::{SHORT, suited_in};
#[cfg(feature = "train")]
pub use self::turn::modes::train;
#[cfg(feature = "train")]
pub use self::turn::training::{Training, check_rules};
