//! A record's positions as training rows, independent of the game: what the trainer reads.

use super::record::Record;
use crate::board::Symmetry;
use crate::encode::Planes;
use crate::error::Result;
use crate::game::{Action, Game, Outcome, Rules};
use crate::search::evaluator::Wdl;

/// One position.
#[derive(Clone, Debug)]
pub struct Sample {
    /// From the point of view of the player to move.
    pub planes: Planes,
    /// Every legal action with its share of the search's policy target, ascending by action; the shares sum to 1.
    pub policy: Vec<(Action, f32)>,
    /// The game's outcome for the player to move. A player may act twice in a row, so counting plies would not give
    /// it.
    pub outcome: Wdl,
    /// The search's result, for the player to move.
    pub search: Wdl,
    /// How often it is drawn, relative to the usual 1.
    pub weight: f32,
    /// The symmetries under which the sample remains valid.
    pub symmetries: &'static [Symmetry],
}

/// What a record holds for training.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// One for each ply with a full search.
    pub samples: Vec<Sample>,
    /// [`Game::ending`] of the final position.
    pub ending: &'static str,
}

/// The samples of a record: one for each ply with a full search.
///
/// # Errors
/// As [`Record::replay`].
pub fn samples<G: Game>(rules: &Rules<G>, record: &Record) -> Result<Vec<Sample>> {
    replayed(rules, record).map(|replayed| replayed.samples)
}

/// The samples of a record and how its game ended.
///
/// # Errors
/// As [`Record::replay`].
pub fn replayed<G: Game>(rules: &Rules<G>, record: &Record) -> Result<Replayed> {
    let mut samples = Vec::new();
    let outcome = Outcome::from_id(&record.outcome);
    let end = record.replay(rules, |ply| {
        let (Some(outcome), false) = (outcome, ply.policy.is_empty()) else { return };
        let total: u64 = ply.policy.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let share = |action: &Action| {
            let found = ply.policy.binary_search_by_key(action, |(action, _)| *action);
            found.map_or(0.0, |at| ply.policy[at].1 as f32 / total as f32)
        };
        let mut planes = Planes::new(rules.identity.shape);
        rules.game.encode(ply.state, &mut planes);
        samples.push(Sample {
            planes,
            policy: ply.legal.iter().map(|action| (*action, share(action))).collect(),
            outcome: Wdl::of(outcome, rules.game.to_move(ply.state)),
            search: ply.wdl,
            weight: ply.weight,
            symmetries: rules.game.symmetries(ply.state),
        });
    })?;
    Ok(Replayed { samples, ending: rules.game.ending(&end) })
}
