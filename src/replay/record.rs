//! One game as text, from self-play or from elsewhere: everything needed to replay it by the rules.
//!
//! A record is one JSON line. Positions and actions are in the game's own notation, so a record remains valid when
//! the planes or the action layout change, and reading a record checks it against the rules again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ended::Ended;
use crate::config::limits::MAX_SIMULATIONS;
use crate::error::{Error, Result, quoted};
use crate::game::{Action, Game, GameIdentity, Outcome, Rules, Settings, option_differences, outcome_text};
use crate::search::evaluator::Wdl;

/// The newest version of this format: version 3 adds `ended` to version 2. A record is written in the oldest version
/// that has all its fields.
pub const FORMAT: u32 = 3;

/// The version that adds `policy` and `weights` to version 1.
pub const POLICY_FORMAT: u32 = 2;

/// The version of records without `policy`, `weights`, and `ended`.
pub const PLAIN_FORMAT: u32 = 1;

/// The approximate sum of a ply's weights if they are shares of a policy or priors instead of simulation counts.
const SHARES: u64 = 10_000;

/// One game.
///
/// ```
/// use petteia::game::{Game, GameOptions, Rules};
/// use petteia::games::tic_tac_toe::TicTacToe;
/// use petteia::replay::record::Record;
///
/// let record = Record::parse(r#"{"format": 1, "game": "tic-tac-toe", "options": {}, "encoding": 1,
///     "generation": 1, "index": 0, "evaluator": "rollout:10", "start": ".../.../... X",
///     "actions": ["a1", "a2", "b1", "b2", "c1"], "visits": [{"a1": 4, "b2": 6}, {}, {}, {}, {"c1": 10}],
///     "wdl": [[0.5, 0.2, 0.3], [0, 1, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0]], "outcome": "first"}"#)?;
/// let rules = Rules::<TicTacToe>::new(&GameOptions::default())?;
/// let mut policies = Vec::new();
/// let end = record.replay(&rules, |ply| policies.push(ply.policy))?;
/// assert_eq!((policies.len(), policies[0].len()), (5, 2));
/// assert_eq!(rules.game.ending(&end), "three in a row");
/// // a record that contradicts the rules is an error
/// let wrong = Record { outcome: "draw".into(), ..record };
/// assert!(wrong.replay(&rules, |_ply| {}).is_err());
/// # Ok::<(), petteia::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// From [`PLAIN_FORMAT`] to [`FORMAT`].
    pub format: u32,
    /// The registry id.
    pub game: String,
    /// The game's switches.
    pub options: Settings,
    /// The encoding version of the program that wrote the record.
    pub encoding: u32,
    /// The generation that played the game, from 1.
    pub generation: usize,
    /// The game's number within the generation.
    pub index: usize,
    /// The evaluator of the game's positions: `rollout:200`, `uniform:200`, or `generation 3`.
    pub evaluator: String,
    /// The start position.
    pub start: String,
    /// The actions.
    pub actions: Vec<String>,
    /// For each ply, the visits of the actions that the search considered; empty for a ply that training ignores (a
    /// random action or a fast search).
    pub visits: Vec<BTreeMap<String, u32>>,
    /// For each ply, the weights of the search's policy target if it differs from the visits; empty for a ply where the
    /// two do not differ, and omitted if they never do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policy: Vec<BTreeMap<String, u32>>,
    /// For each ply, how often training draws it, relative to the usual 1; omitted if all weights are 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<f32>,
    /// For each ply, the search's win, draw, and loss for the player to move.
    pub wdl: Vec<[f32; 3]>,
    /// `first`, `second`, or `draw`.
    pub outcome: String,
    /// How the game ended if not by the rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
}

/// One ply of a replayed record.
#[derive(Debug)]
pub struct Ply<'a, G: Game> {
    /// The position before the action.
    pub state: &'a G::State,
    /// The legal actions of that position.
    pub legal: &'a [Action],
    /// The weights of the search's policy target, ascending by action; empty for a ply without one.
    pub policy: Vec<(Action, u32)>,
    /// How often training draws this ply, relative to the usual 1.
    pub weight: f32,
    /// The search's result for the player to move.
    pub wdl: Wdl,
}

impl Record {
    /// Returns a record without actions or outcome, in [`PLAIN_FORMAT`], as the first game of generation 1 under these
    /// rules. All records are made from this record, so a new field gets its default here.
    pub fn new(identity: &GameIdentity, evaluator: impl Into<String>, start: impl Into<String>) -> Record {
        Record {
            format: PLAIN_FORMAT,
            game: identity.id.clone(),
            options: identity.options_of_records(),
            encoding: identity.encoding,
            generation: 1,
            index: 0,
            evaluator: evaluator.into(),
            start: start.into(),
            actions: Vec::new(),
            visits: Vec::new(),
            policy: Vec::new(),
            weights: Vec::new(),
            wdl: Vec::new(),
            outcome: String::new(),
            ended: None,
        }
    }

    /// Parses a JSON line as a record. A newer format is an error, but is not reported as damage.
    ///
    /// # Errors
    /// If the line is not a record, or is a record of a newer format.
    pub fn parse(line: &str) -> Result<Record> {
        #[derive(Deserialize)]
        struct Header {
            format: u32,
        }
        serde_json::from_str(line).map_err(|error| {
            let mismatch =
                serde_json::from_str(line).ok().and_then(|head: Header| check_format(head.format).err());
            mismatch.unwrap_or_else(|| Error::Data(error.to_string()))
        })
    }

    /// Returns the number of positions that are used for training.
    pub fn positions(&self) -> usize {
        self.visits.iter().filter(|visits| !visits.is_empty()).count()
    }

    /// Returns whether the searches estimated values. With a uniform evaluator they did not, because it gives every
    /// position the value 0.
    pub fn has_values(&self) -> bool {
        !self.evaluator.starts_with("uniform:")
    }

    /// Returns the value for the player to move that a search or the network found at each ply; `None` if the action
    /// was drawn without a search or a network.
    pub fn values(&self) -> impl Iterator<Item = Option<f32>> {
        (0..self.wdl.len()).map(|ply| self.value(ply))
    }

    /// Returns the value at one ply; see [`Record::values`].
    pub fn value(&self, ply: usize) -> Option<f32> {
        let [win, _, loss] = self.wdl[ply];
        (!self.visits[ply].is_empty() || win + loss > 0.0).then_some(win - loss)
    }

    /// Returns the number of simulations per action in the name of the evaluator or, if the name does not contain it,
    /// the upper limit.
    fn simulations(&self) -> u64 {
        let number = self.evaluator.split_once(':').and_then(|(_, simulations)| simulations.parse().ok());
        number.unwrap_or(MAX_SIMULATIONS as u64).min(MAX_SIMULATIONS as u64)
    }

    /// Rejects visits or policy weights with a larger sum than `simulations` per action can produce; the limit allows
    /// for visits that a tree keeps from earlier actions.
    pub(super) fn check_sums(&self, simulations: u64) -> Result<()> {
        for (ply, weights) in self.visits.iter().enumerate().chain(self.policy.iter().enumerate()) {
            let sum: u64 = weights.values().map(|weight| u64::from(*weight)).sum();
            let limit = simulations.saturating_mul(ply as u64 + 1).max(SHARES + weights.len() as u64);
            if sum > limit {
                return Err(Error::Data(format!(
                    "ply {ply}: the visits or the policy sum to {sum}, but {simulations} simulations per action \
                     produce at most {limit}"
                )));
            }
        }
        Ok(())
    }

    /// Replays the record by the rules, passes every ply to `see`, checks the actions, the visits, and the outcome,
    /// and returns the final position.
    ///
    /// # Errors
    /// If the record is of another game, or contradicts the rules.
    pub fn replay<G: Game>(&self, rules: &Rules<G>, mut see: impl FnMut(Ply<G>)) -> Result<G::State> {
        self.replayed(rules, &mut see)
    }

    fn replayed<G: Game>(&self, rules: &Rules<G>, see: &mut dyn FnMut(Ply<G>)) -> Result<G::State> {
        let Rules { game, identity, .. } = rules;
        self.check_header(identity)?;
        self.check_sums(self.simulations())?;
        let mut state = game.parse_state(&self.start)?;
        let mut legal = Vec::new();
        for (ply, text) in self.actions.iter().enumerate() {
            game.legal_actions(&state, &mut legal);
            let parse = |text: &str| {
                game.parse_action(&state, text)
                    .filter(|action| legal.binary_search(action).is_ok())
                    .ok_or_else(|| Error::Data(format!("ply {ply}: `{text}` is not legal")))
            };
            let action = parse(text)?;
            let weights = |texts: &BTreeMap<String, u32>| {
                let mut weights = texts
                    .iter()
                    .map(|(text, &weight)| Ok((parse(text)?, weight)))
                    .collect::<Result<Vec<_>>>()?;
                weights.sort_unstable();
                if !weights.is_empty() && weights.iter().all(|(_, weight)| *weight == 0) {
                    return Err(Error::Data(format!("ply {ply}: the visits or the policy sum to 0")));
                }
                Ok(weights)
            };
            let visits = weights(&self.visits[ply])?;
            let policy = self.policy.get(ply).map_or(Ok(Vec::new()), weights)?;
            let policy = if policy.is_empty() { visits } else { policy };
            let [win, draw, loss] = self.wdl[ply];
            if ![win, draw, loss].iter().all(|p| (-0.01..=1.01).contains(p))
                || (win + draw + loss - 1.0).abs() > 0.01
            {
                return Err(Error::Data(format!("ply {ply}: {:?} are not probabilities", self.wdl[ply])));
            }
            let weight = self.weights.get(ply).copied().unwrap_or(1.0);
            see(Ply { state: &state, legal: &legal, policy, weight, wdl: Wdl { win, draw, loss } });
            game.play(&mut state, action);
        }
        self.check_end(game.outcome(&state)).map(|()| state)
    }

    /// Rejects an end that contradicts the rules' verdict on the last position.
    pub(super) fn check_end(&self, by_rules: Option<Outcome>) -> Result<()> {
        let failure = |what: String| Err(Error::Data(what));
        let Some(outcome) = Outcome::from_id(&self.outcome) else {
            return failure(format!("the outcome is {}, not first, second, or draw", quoted(&self.outcome)));
        };
        match (self.ended, by_rules) {
            (_, Some(found)) if found != outcome => failure(format!(
                "the record says that the outcome is {}, but the rules say {}",
                outcome.id(),
                found.id()
            )),
            (Some(ended), Some(_)) => failure(format!(
                "the record says that the game ended outside the rules ({}), but the rules say that it is over: omit \
                 `ended`",
                ended.id()
            )),
            (None, None) => failure(format!(
                "the record says that the outcome is {}, but the rules say that the game is not over; if it ended \
                 outside the rules, set `ended` to one of: {}",
                outcome.id(),
                Ended::ALL.map(Ended::id).join(", ")
            )),
            (Some(ended), None) if !ended.allows(outcome) => {
                failure(format!("a {} game has a winner, but the record says that it is a draw", ended.id()))
            }
            _ => Ok(()),
        }
    }

    /// Returns the outcome, and how it came about if not by the rules: "White wins by resignation". The record must
    /// have been replayed.
    ///
    /// # Panics
    /// If the record was not replayed and its outcome is not `first`, `second`, or `draw`.
    pub fn result<G: Game>(&self, game: &G) -> String {
        let outcome = Outcome::from_id(&self.outcome).expect("the replay checked the outcome");
        let words = self.ended.map_or(String::new(), |ended| format!(" {}", ended.words()));
        outcome_text(game, outcome) + &words
    }

    /// Returns the record with the oldest version of the format that has all its fields.
    pub(crate) fn with_its_format(mut self) -> Record {
        self.format = match (self.ended, self.policy.is_empty() && self.weights.is_empty()) {
            (Some(_), _) => FORMAT,
            (None, false) => POLICY_FORMAT,
            (None, true) => PLAIN_FORMAT,
        };
        self
    }

    fn check_header(&self, identity: &GameIdentity) -> Result<()> {
        check_format(self.format)?;
        if self.game != identity.id {
            return Err(Error::Mismatch(format!("a record of game {}, not of {}", self.game, identity.id)));
        }
        if self.encoding > identity.encoding {
            let (version, newest) = (self.encoding, identity.encoding);
            return Err(Error::Mismatch(format!(
                "a record of encoding version {version}, but this program reads up to {newest}"
            )));
        }
        let options = identity.options_of_records();
        if self.options != options {
            let differences = option_differences(&self.options, &options);
            return Err(Error::Mismatch(format!(
                "a record of {} with different game options (there / requested): {differences}",
                self.game
            )));
        }
        if self.visits.len() != self.actions.len() || self.wdl.len() != self.actions.len() {
            return Err(Error::Data("actions, visits, and wdl differ in length".into()));
        }
        let fits = |len: usize| len == 0 || len == self.actions.len();
        if !fits(self.policy.len()) || !fits(self.weights.len()) {
            return Err(Error::Data("actions, policy, and weights differ in length".into()));
        }
        if !self.weights.iter().all(|weight| (0.0..=1e6).contains(weight)) {
            return Err(Error::Data("a weight is negative or not a number".into()));
        }
        Ok(())
    }
}

fn check_format(format: u32) -> Result<()> {
    match format {
        PLAIN_FORMAT..=FORMAT => Ok(()),
        _ => Err(Error::Mismatch(format!("record format {format}, but this program reads up to {FORMAT}"))),
    }
}
