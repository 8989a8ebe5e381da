//! From batches to weights: [`loss`], [`schedule`], and, in programs with the feature `train`, `Trainer`, which owns
//! the network being trained. Also measures how well a network predicts: [`quality`], [`reliability`].

#[cfg(feature = "train")]
mod adamw;
#[cfg(feature = "train")]
mod average;
pub mod loss;
pub mod quality;
#[cfg(feature = "train")]
mod read;
#[cfg(feature = "train")]
mod refusal;
pub mod reliability;
pub mod schedule;
#[cfg(feature = "train")]
mod state;
#[cfg(feature = "train")]
mod trainer;

#[cfg(feature = "train")]
pub use self::refusal::Refusal;
#[cfg(feature = "train")]
pub use self::trainer::Trainer;
