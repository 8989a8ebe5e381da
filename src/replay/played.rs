//! Records of games that were played elsewhere.
//!
//! Input: the actions of a game, and its outcome if the rules do not determine it. Output: a record that training can
//! begin with. The record's positions have not been searched: the actions played are the policy to learn, and the
//! outcome is the value.

use super::ended::Ended;
use super::record::Record;
use crate::error::{Error, Result};
use crate::game::{Game, Outcome, Rules};
use crate::session::Session;

/// The name of the evaluator in the records of these games; the name says that the games have no values.
const EVALUATOR: &str = "uniform:1";

/// A game that was played elsewhere.
///
/// ```
/// use petteia::game::{GameOptions, Outcome, Rules};
/// use petteia::games::connect_four::ConnectFour;
/// use petteia::replay::ended::Ended;
/// use petteia::replay::played::Played;
///
/// let rules = Rules::<ConnectFour>::new(&GameOptions::default())?;
/// let actions: Vec<String> = ["4", "4", "3"].map(String::from).into();
/// let played = Played { actions: actions.clone(), outcome: Some(Outcome::Draw), ..Played::default() };
/// let record = played.record(&rules, 0)?;
/// assert_eq!((record.outcome.as_str(), record.ended), ("draw", Some(Ended::Agreed)));
/// // a game that is not over needs an outcome
/// assert!(Played { actions, ..Played::default() }.record(&rules, 0).is_err());
/// # Ok::<(), petteia::error::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// The position in which the game began; the usual position if `None`.
    pub start: Option<String>,
    /// The actions, in any form that [`meant`](crate::session::meant) reads.
    pub actions: Vec<String>,
    /// The outcome, which may be omitted if the rules determine it.
    pub outcome: Option<Outcome>,
    /// How the game ended if not by the rules; the [usual](Ended::usual) way if `None`.
    pub ended: Option<Ended>,
}

impl Played {
    /// Returns the record of this game, which is number `index` of its shard.
    ///
    /// # Errors
    /// If an action is not legal, if the game is not over and no outcome is given, or if a given fact contradicts the
    /// rules.
    pub fn record<G: Game>(&self, rules: &Rules<G>, index: usize) -> Result<Record> {
        let Rules { game, identity, .. } = rules;
        let start = self.start.as_ref().map_or_else(|| Ok(game.initial()), |text| game.parse_state(text))?;
        let mut session = Session::from(game.clone(), start);
        for (ply, text) in self.actions.iter().enumerate() {
            session.play_text(text).map_err(|error| Error::Data(format!("ply {ply}: {error}")))?;
        }
        let by_rules = game.outcome(session.state());
        let Some(outcome) = self.outcome.or(by_rules) else {
            return Err(Error::Data("the game is not over after its last action: give its outcome".into()));
        };
        let ended = self.ended.or_else(|| by_rules.is_none().then(|| Ended::usual(outcome)));
        let actions = session.texts();
        let record = Record {
            index,
            visits: actions.iter().map(|text| [(text.clone(), 1)].into()).collect(),
            wdl: vec![[0.0, 1.0, 0.0]; actions.len()],
            outcome: outcome.id().into(),
            ended,
            actions,
            ..Record::new(identity, EVALUATOR, game.state_text(session.start()))
        };
        record.check_end(by_rules)?;
        Ok(record.with_its_format())
    }
}
