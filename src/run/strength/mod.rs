//! The strength of a generation: its games against the opponent of the evaluation and against earlier generations.
//!
//! Input: a checkpoint, and the games of the run before. Output: lines for the metrics. Nothing here trains, and no
//! weight depends on it, so any process can do it. The ratings themselves are computed in `metrics::ladder`.

pub(super) mod judge;
pub(super) mod evaluate;
pub(super) mod rate;
pub(super) mod judgment;
