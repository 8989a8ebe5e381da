//! Ends of games outside the rules: resignation, agreement, time, and adjudication.
//!
//! A self-play record always ends by the rules. The record of a game from elsewhere may state another end and its
//! outcome; the rules then do not end the game in its last position.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::record::Record;
use crate::game::Outcome;

/// How a game ended if not by the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// A player gave up.
    Resigned,
    /// The players agreed on the outcome, most often on a draw.
    Agreed,
    /// Somebody else decided the outcome.
    Adjudicated,
    /// A player ran out of time.
    Time,
}

impl Ended {
    /// All ways in which a game can end outside the rules.
    pub const ALL: [Ended; 4] = [Ended::Resigned, Ended::Agreed, Ended::Adjudicated, Ended::Time];

    /// Returns `"resigned"`, `"agreed"`, `"adjudicated"`, or `"time"`, as in records.
    pub fn id(self) -> &'static str {
        match self {
            Ended::Resigned => "resigned",
            Ended::Agreed => "agreed",
            Ended::Adjudicated => "adjudicated",
            Ended::Time => "time",
        }
    }

    /// Parses what [`Ended::id`] returns.
    pub fn from_id(text: &str) -> Option<Ended> {
        Ended::ALL.into_iter().find(|ended| ended.id() == text)
    }

    /// Returns the words that follow the outcome ("White wins" or "a draw").
    pub fn words(self) -> &'static str {
        match self {
            Ended::Resigned => "by resignation",
            Ended::Agreed => "by agreement",
            Ended::Adjudicated => "by adjudication",
            Ended::Time => "on time",
        }
    }

    /// Returns the usual way for a game to end if only its outcome is known. Unless a game file (PGN, PDN) says
    /// otherwise, a win in it is by resignation, and a draw is by agreement.
    pub fn usual(outcome: Outcome) -> Ended {
        match outcome {
            Outcome::Win(_) => Ended::Resigned,
            Outcome::Draw => Ended::Agreed,
        }
    }

    /// Returns whether a game can end in this way with this outcome. A player who resigns loses (Laws of Chess, 5.1.2);
    /// every other combination is possible, such as a draw on time if the other player could not have won (6.9), or an
    /// agreement that one player wins.
    pub fn allows(self, outcome: Outcome) -> bool {
        self != Ended::Resigned || outcome != Outcome::Draw
    }
}

/// The number of games that ended in each way, without those that ended by the rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ends(BTreeMap<Ended, usize>);

impl Ends {
    /// Adds the ends of these games to the counts.
    pub fn add(&mut self, records: &[Record]) {
        for ended in records.iter().filter_map(|record| record.ended) {
            *self.0.entry(ended).or_default() += 1;
        }
    }

    /// Returns whether all games ended by the rules.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Ends {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let counts: Vec<String> =
            self.0.iter().map(|(ended, games)| format!("{games} {}", ended.id())).collect();
        out.write_str(&counts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::Player;

    #[test]
    fn names_are_those_of_the_files() {
        for ended in Ended::ALL {
            assert_eq!(serde_json::to_string(&ended).unwrap(), format!("\"{}\"", ended.id()));
            assert_eq!(Ended::from_id(ended.id()), Some(ended));
        }
        assert_eq!(Ended::from_id("mate"), None);
    }

    #[test]
    fn only_a_resigned_game_needs_a_winner() {
        let won = Outcome::Win(Player::Second);
        assert!(Ended::ALL.into_iter().all(|ended| ended.allows(won)));
        let drawn = Ended::ALL.into_iter().filter(|ended| ended.allows(Outcome::Draw));
        assert_eq!(drawn.collect::<Vec<_>>(), [Ended::Agreed, Ended::Adjudicated, Ended::Time]);
        assert!([won, Outcome::Draw].into_iter().all(|outcome| Ended::usual(outcome).allows(outcome)));
    }
}
