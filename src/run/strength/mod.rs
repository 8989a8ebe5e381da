//! The strength of a generation: its games against the opponent of the evaluation and against earlier generations.
//!
//! Input: a checkpoint, and the earlier games of the run. Output: lines for the metrics. Nothing here trains, and no
//! weights depend on these games, so any process can play them. The ratings themselves are computed in
//! `metrics::ladder`.

pub(super) mod judge;
pub(super) mod evaluate;
pub(super) mod rate;
pub(super) mod judgment;
