//! The judgment of a generation: its evaluation, then its rating.

use serde_json::Value;

use super::judge::Judge;
use crate::arena::MatchResult;
use crate::checkpoint::Checkpoint;
use crate::error::Result;
use crate::run::metrics::ladder::Games;
use crate::run::metrics::lines::Line;

impl Judge<'_> {
    /// Plays the games that a generation lacks: those of its evaluation unless `has_evaluation`, and those of its
    /// rating unless `has_rating`. Passes each line for the metrics to `keep` as soon as its games are over. `games`
    /// are the earlier games of the run.
    pub(in crate::run) fn judge(
        &self,
        checkpoint: &Checkpoint,
        [has_evaluation, has_rating]: [bool; 2],
        games: &Games,
        keep: &mut dyn FnMut(Value) -> Result<()>,
    ) -> Result<()> {
        let mut games = games.clone();
        if !has_evaluation && let Some(line) = self.evaluation(checkpoint)? {
            games.evaluation(line.scored());
            keep(to_json(&Line::Evaluation(line)))?;
        }
        if !has_rating && let Some(line) = self.rating(checkpoint, &games)? {
            keep(to_json(&Line::Ladder(line)))?;
        }
        Ok(())
    }
}

/// Returns a line as it is written, without its time.
fn to_json(line: &Line<MatchResult>) -> Value {
    serde_json::to_value(line).expect("a line is valid JSON")
}
