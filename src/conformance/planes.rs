//! Checks that the planes are complete: positions that look the same to a network must have the same legal actions.
//!
//! Positions with equal planes occur in random games. They occur more often among texts with a word from another
//! position ([`super::fuzz`]), such as the same board with a different piece to act.

use crate::game::{Action, Game};
use crate::random::mix;

use super::{Checked, Checker, Encoded};

impl<G: Game> Checker<'_, G> {
    /// Checks that all positions with these planes have the same legal actions. Finished games are not checked: they
    /// may have ended by a limit that no plane shows, and no network evaluates them.
    pub(super) fn same_planes(
        &mut self,
        state: &G::State,
        text: &str,
        legal: &[Action],
        encoded: &Encoded,
    ) -> Checked {
        if legal.is_empty() {
            return Ok(());
        }
        let seen = encoded.numbers.iter().fold(0, |hash, number| mix(hash ^ u64::from(number.to_bits())));
        let digest = legal.iter().fold(0, |digest, action| mix(digest ^ u64::from(action.0) << 1 ^ 1));
        let (other, other_text) = self.planes.entry(seen).or_insert_with(|| (digest, text.to_string()));
        if *other == digest {
            return Ok(());
        }
        let other_text = other_text.clone();
        // an exchanged position may have a text that cannot be parsed
        let difference = self.game.parse_state(&other_text).map_or(String::new(), |other| {
            format!(": {}", self.difference(state, legal, &self.game.legal(&other)))
        });
        Err(format!(
            "`{text}` has the same planes as `{other_text}`, but different legal actions{difference}; look at encode: \
             everything that determines the legal actions must be on a plane"
        ))
    }
}
