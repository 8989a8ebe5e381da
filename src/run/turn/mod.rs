//! Training: self-play, gradient steps, checkpoint, and judgment, generation after generation.
//!
//! `generation` is the algorithm, and `play`, `learn`, and `examine` are its steps. `run` defines `Run`, the state that
//! the steps share; each step is implemented on it. `training` opens a run, resumes it, and trains its generations;
//! `modes` determines which processes play its games. Nothing here knows the format of a file: that is left to `files`,
//! `metrics`, and `work`.

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
