//! Training: self-play, gradient steps, checkpoint, and judgment, generation after generation.
//!
//! `generation` is the algorithm, and `play`, `learn`, and `examine` are its steps. `run` is the state that they share,
//! and each of them is a part of `Run`. `training` opens a run, resumes it, and trains its generations; `modes` says
//! who plays for it. Nothing here knows how a file looks: that is for `files`, `metrics`, and `work`.

mod run;
mod gathered;
mod gather;
mod judged;
mod window;
mod play;
mod learn;
mod examine;
mod generation;
mod resume;
pub(super) mod training;
mod beside;
pub(super) mod modes;
