//! A record's positions as training rows that do not depend on the type of the game; the trainer reads them.

use super::auxiliary::{self, AuxiliaryTarget};
use super::record::Record;
use super::returns::{PlyTarget, value_targets};
use crate::board::Symmetry;
use crate::config::{Config, ReplayConfig};
use crate::encode::Planes;
use crate::error::Result;
use crate::game::{Action, Game, Outcome, Player, Rules};
use crate::search::evaluator::Wdl;

/// One position.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The planes from the point of view of the player to move.
    pub planes: Planes,
    /// Every legal action with its share of the search's policy target, ascending by action. The shares sum to 1.
    pub policy: Vec<(Action, f32)>,
    /// The game's outcome for the player to move. (A player may act twice in a row, so counting plies does not show who
    /// is to move.)
    pub outcome: Wdl,
    /// The search's result for the player to move; the outcome if the search estimated no values.
    pub search: Wdl,
    /// The target of the value head: the outcome, or the result of `value_targets`.
    pub target: Wdl,
    /// How often training draws the sample, relative to the usual 1.
    pub weight: f32,
    /// The symmetries under which the sample remains valid.
    pub symmetries: Vec<Symmetry>,
    /// The targets of the network's auxiliary heads, at most one per head; [`Replayed::teach`] sets them.
    pub auxiliary: Vec<AuxiliaryTarget>,
}

/// A replayed record, with everything that training needs from it.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// One sample for each ply with a full search.
    pub samples: Vec<Sample>,
    /// [`Game::ending`] for the final position, or [how the game ended](Record::ended) if not by the rules.
    pub ending: String,
    /// The player to move at each ply.
    pub movers: Vec<Player>,
}

impl Replayed {
    /// Sets the value targets and the targets of the auxiliary heads according to `config`. The samples must be those
    /// of `record`.
    pub fn teach<G: Game>(&mut self, game: &G, record: &Record, config: &Config) {
        let Some(outcome) = Outcome::from_id(&record.outcome) else { return };
        let (settings, heads) = (&config.replay, auxiliary::taught(&config.net));
        if settings.value_decay == 0.0 && settings.blunder == 0.0 && heads.is_empty() {
            return;
        }
        let plies = self.plies(record);
        let targets = value_targets(&plies, outcome, settings);
        let searched: Vec<usize> = searched(&plies).collect();
        for (sample, ply) in self.samples.iter_mut().zip(&searched) {
            sample.target = targets[*ply];
        }
        let mut policies = vec![None; plies.len()];
        for (sample, ply) in self.samples.iter().zip(&searched) {
            policies[*ply] = Some(sample.policy.as_slice());
        }
        let of_head = |head| auxiliary::targets(head, game, &plies, &policies, (outcome, settings));
        let head_targets: Vec<Vec<AuxiliaryTarget>> = heads.into_iter().map(of_head).collect();
        for (sample, ply) in self.samples.iter_mut().zip(&searched) {
            let targets = head_targets.iter().map(|targets| targets[*ply].clone());
            sample.auxiliary = targets.filter(|target| !target.shares.is_empty()).collect();
            sample.auxiliary.shrink_to_fit();
        }
    }

    /// Returns the value target of each sample according to `settings`.
    pub fn value_targets(&self, record: &Record, outcome: Outcome, settings: &ReplayConfig) -> Vec<Wdl> {
        let plies = self.plies(record);
        let targets = value_targets(&plies, outcome, settings);
        searched(&plies).map(|ply| targets[ply]).collect()
    }

    fn plies(&self, record: &Record) -> Vec<PlyTarget> {
        let mut samples = self.samples.iter();
        (self.movers.iter().enumerate())
            .map(|(ply, mover)| {
                let visits = &record.visits[ply];
                let own_visits = visits.get(&record.actions[ply]);
                let best = own_visits.is_some() && own_visits == visits.values().max();
                // random plies and fast searches have no visits
                let search =
                    if visits.is_empty() { None } else { samples.next().map(|sample| sample.search) };
                PlyTarget { mover: *mover, search, best }
            })
            .collect()
    }
}

/// Returns the plies that have a sample.
fn searched(plies: &[PlyTarget]) -> impl Iterator<Item = usize> {
    (0..plies.len()).filter(|ply| plies[*ply].search.is_some())
}

/// Returns the samples of a record: one for each ply with a full search.
///
/// With `records` from [`play_shard`](crate::selfplay::play_shard):
///
/// ```
/// use petteia::replay::sample::samples;
///
/// # use petteia::{config::Config, game::{GameOptions, Rules}, games::tic_tac_toe::TicTacToe};
/// # use petteia::{search::evaluator::Rollout, selfplay::{Generation, Monitor, play_shard}};
/// # let rules = Rules::<TicTacToe>::new(&GameOptions::default())?;
/// # let (config, identity) = (&Config::new("tic-tac-toe"), &rules.identity);
/// # let (simulations, evaluator, starts) = (8, "rollout:8".to_string(), Default::default());
/// # let generation = Generation { config, identity, number: 1, games: 4, simulations, evaluator, starts };
/// # let (mut rollout, monitor) = (Rollout::new(rules.game.clone()), Monitor::default());
/// # let records = play_shard(&rules.game, &generation, 0..4, &mut rollout, &monitor, &|_| true)?;
/// let samples = samples(&rules, &records[0])?;
/// assert_eq!(samples.len(), records[0].positions());
/// for sample in samples {
///     let sum: f32 = sample.policy.iter().map(|(_action, share)| share).sum();
///     assert!((sum - 1.0).abs() < 1e-5);
/// }
/// # Ok::<(), petteia::error::Error>(())
/// ```
///
/// # Errors
/// As for [`Record::replay`].
pub fn samples<G: Game>(rules: &Rules<G>, record: &Record) -> Result<Vec<Sample>> {
    replayed(rules, record).map(|replayed| replayed.samples)
}

/// Returns the samples of a record and how its game ended.
///
/// # Errors
/// As for [`Record::replay`].
pub fn replayed<G: Game>(rules: &Rules<G>, record: &Record) -> Result<Replayed> {
    let mut samples = Vec::new();
    let outcome = Outcome::from_id(&record.outcome);
    let mut movers = Vec::new();
    let end = record.replay(rules, |ply| {
        movers.push(rules.game.to_move(ply.state));
        let (Some(outcome), false) = (outcome, ply.policy.is_empty()) else { return };
        let total: u64 = ply.policy.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let result = Wdl::of(outcome, rules.game.to_move(ply.state));
        let share = |action: &Action| {
            let place = ply.policy.binary_search_by_key(action, |(action, _)| *action);
            place.map_or(0.0, |at| ply.policy[at].1 as f32 / total as f32)
        };
        let mut planes = Planes::new(rules.identity.shape);
        rules.game.encode(ply.state, &mut planes);
        samples.push(Sample {
            planes,
            policy: ply.legal.iter().map(|action| (*action, share(action))).collect(),
            outcome: result,
            search: if record.has_values() { ply.wdl } else { result },
            target: result,
            weight: ply.weight,
            symmetries: rules.game.symmetries(ply.state).to_vec(),
            auxiliary: Vec::new(),
        });
    })?;
    let ending = record.ended.map_or_else(|| rules.game.ending(&end).to_string(), |ended| ended.id().into());
    Ok(Replayed { samples, ending, movers })
}
