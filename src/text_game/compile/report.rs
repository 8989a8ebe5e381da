//! What the compiled play of an action reports, in the bits of one number.

use crate::game::{Outcome, Player};

/// It is the other player's turn.
pub(super) const TURN: u32 = 1;
/// The place of the outcome: two bits.
pub(super) const OUTCOME: u32 = 1;
/// The number of pieces has changed.
pub(super) const CHANGED: u32 = 1 << 3;
/// The place of the index of the reason for the outcome.
pub(super) const REASON: u32 = 8;
/// The action is not compiled, and nothing was done.
pub(super) const NOT_COMPILED: u32 = u32::MAX;

/// What the play of an action has found out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::text_game) struct Report(u32);

pub(super) fn outcome_bits(outcome: Outcome) -> u32 {
    match outcome {
        Outcome::Draw => 1,
        Outcome::Win(Player::First) => 2,
        Outcome::Win(Player::Second) => 3,
    }
}

impl Report {
    /// Reads the bits; `None` means that the action was not played.
    pub(super) fn of(bits: u32) -> Option<Report> {
        (bits != NOT_COMPILED).then_some(Report(bits))
    }

    /// Returns whether it is the other player's turn.
    #[inline]
    pub(in crate::text_game) fn is_turn(self) -> bool {
        self.0 & TURN != 0
    }

    /// Returns whether the number of pieces has changed.
    #[inline]
    pub(in crate::text_game) fn has_changed(self) -> bool {
        self.0 & CHANGED != 0
    }

    /// Returns the result and the index of its reason.
    #[inline]
    pub(in crate::text_game) fn result(self) -> Option<(Outcome, u16)> {
        let outcome = match self.0 >> OUTCOME & 3 {
            0 => return None,
            1 => Outcome::Draw,
            2 => Outcome::Win(Player::First),
            _ => Outcome::Win(Player::Second),
        };
        Some((outcome, (self.0 >> REASON) as u16))
    }
}
