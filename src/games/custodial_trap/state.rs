//! A position and the slides that led to it.
//!
//! The third occurrence (C5e) is detected exactly: the slides since the last capture or drop are kept, and an earlier
//! position equals the current one if the slides since then cancel out. A capture or drop is never undone, so no
//! position before it can occur again. For most positions, two sets of squares rule out a repetition, so the slides
//! need not be read back.

use crate::board::Symmetry;
use crate::game::{Outcome, Player};
use crate::random::mix;

use super::squares::{INNER, map, map_square};
use super::{BLACK, MAX_NO_PROGRESS, NEITHER, NOWHERE, Phase, WHITE};

/// A position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// The men of White and of Black.
    pub(super) men: [u64; 2],
    /// The untrapped men of the color to move; empty in the setup.
    pub(super) movers: u64,
    /// The squares that men of each color have left and reached in `slides`.
    pub(super) left: [u64; 2],
    pub(super) reached: [u64; 2],
    /// The slides since the earliest position that can be repeated, as from | to << 6. The unused entries are zeros.
    pub(super) slides: [u16; MAX_NO_PROGRESS],
    /// The number of slides; less than `clock` if the position was loaded from text.
    pub(super) known: u8,
    /// How often this position has occurred.
    pub(super) occurrences: u8,
    /// Whether some position in the list has occurred twice.
    pub(super) repeated: bool,
    pub(super) reserve: [u8; 2],
    /// The number of plies since the last capture or drop.
    pub(super) clock: u8,
    pub(super) ply: u16,
    pub(super) phase: Phase,
    /// The color to move; White in the setup.
    pub(super) turn: u8,
    /// The last square of the setup's ascending order.
    pub(super) pointer: u8,
    /// The color that goes first, once A has named it.
    pub(super) first: u8,
    /// The color of A (`Player::First`), once it is known.
    pub(super) color: u8,
    pub(super) outcome: Option<Outcome>,
}

impl State {
    /// A position with no men and White to move.
    pub(super) const EMPTY: State = State {
        men: [0; 2],
        movers: 0,
        left: [0; 2],
        reached: [0; 2],
        slides: [0; MAX_NO_PROGRESS],
        known: 0,
        occurrences: 1,
        repeated: false,
        reserve: [0; 2],
        clock: 0,
        ply: 0,
        phase: Phase::Play,
        turn: WHITE as u8,
        pointer: NOWHERE,
        first: NEITHER,
        color: NEITHER,
        outcome: None,
    };

    /// Maps the position and its list by a symmetry.
    pub(super) fn mapped(&self, symmetry: Symmetry) -> State {
        let set = |set| map(symmetry, set);
        let mut mapped = State {
            men: self.men.map(set),
            movers: set(self.movers),
            left: self.left.map(set),
            reached: self.reached.map(set),
            ..*self
        };
        for slide in &mut mapped.slides[..self.known as usize] {
            *slide = map_square(symmetry, *slide & 63) | map_square(symmetry, *slide >> 6) << 6;
        }
        mapped
    }

    /// Returns the position in play with the colors of all men exchanged. The players keep their colors, so each has
    /// the other's men.
    pub(super) fn exchanged(&self) -> State {
        let swapped = |[white, black]: [u64; 2]| [black, white];
        let [white, black] = self.reserve;
        State {
            men: swapped(self.men),
            left: swapped(self.left),
            reached: swapped(self.reached),
            reserve: [black, white],
            turn: 1 - self.turn,
            first: if self.first == NEITHER { NEITHER } else { 1 - self.first },
            outcome: self.outcome.map(Outcome::opposite),
            ..*self
        }
    }

    /// Returns the men of the color to move and those of the other color.
    #[inline(always)]
    pub(super) fn sides(&self) -> (u64, u64) {
        let turn = (self.turn & 1) as usize;
        (self.men[turn], self.men[1 - turn])
    }

    pub(super) fn empty(&self) -> u64 {
        !(self.men[WHITE] | self.men[BLACK])
    }

    /// Returns the number of a color's men, board and reserve together.
    pub(super) fn total(&self, color: usize) -> u32 {
        self.men[color].count_ones() + self.reserve[color] as u32
    }

    /// Returns the player who has this color.
    pub(super) fn owner(&self, color: u8) -> Player {
        if color == self.color { Player::First } else { Player::Second }
    }

    /// Returns the squares, in the setup, where a man of this color can be put now, all after the last square used.
    pub(super) fn places(&self, color: usize) -> u64 {
        let put =
            self.phase == Phase::Place || self.phase.lifted().is_some_and(|what| what == color || what >= 2);
        let behind = if self.pointer == NOWHERE { !0 } else { !1 << self.pointer };
        if put && self.reserve[color] > 0 { self.empty() & INNER & behind } else { 0 }
    }

    /// Starts a list of positions that contains only this one.
    pub(super) fn forget(&mut self) {
        self.slides[..self.known as usize].fill(0);
        (self.known, self.occurrences, self.repeated) = (0, 1, false);
        (self.left, self.reached) = ([0; 2], [0; 2]);
    }

    /// Adds a slide of the color to move, which is already on the board, and counts how often the position has
    /// occurred.
    pub(super) fn remember(&mut self, from: usize, to: usize) {
        let turn = (self.turn & 1) as usize;
        self.slides[self.known as usize] = slide_code(from, to);
        self.known += 1;
        // an earlier equal position had a man on `to` and none on `from`, so a man must have left `to` since, and one
        // must have reached `from`
        let possible = self.left[turn] >> to & self.reached[turn] >> from & 1 == 1;
        self.left[turn] |= 1 << from;
        self.reached[turn] |= 1 << to;
        self.occurrences = 1;
        if possible {
            // an earlier position equals this one if the slides since then cancel out
            let (mut own, mut other) = (0, 0);
            for pair in self.slides[..self.known as usize].rchunks_exact(2) {
                own ^= slide_squares(pair[1]);
                other ^= slide_squares(pair[0]);
                self.occurrences += (own | other == 0) as u8;
            }
        }
        self.repeated |= self.occurrences > 1;
    }

    /// Returns the listed positions that have occurred at least `occurrences` times, combined into a number that does
    /// not depend on their order.
    pub(super) fn often(&self, occurrences: usize) -> u64 {
        let (mut men, mut hashes) = (self.men, [0; MAX_NO_PROGRESS + 1]);
        let slides = &self.slides[..self.known as usize];
        let hashes = &mut hashes[..=slides.len()];
        // the player who made the last slide also made the third to last, and so on
        let mut mover = 1 - self.turn as usize;
        for (hash, slide) in hashes.iter_mut().zip(slides.iter().rev().map(Some).chain([None])) {
            *hash = mix(men[0] ^ mix(men[1].wrapping_add(mover as u64 + 1)));
            men[mover] ^= slide.map_or(0, |slide| slide_squares(*slide));
            mover = 1 - mover;
        }
        hashes.sort_unstable();
        let often = hashes.chunk_by(|a, b| a == b).filter(|same| same.len() >= occurrences);
        often.fold(0, |sum, same| mix(same[0]).wrapping_add(sum))
    }
}

fn slide_code(from: usize, to: usize) -> u16 {
    (from | to << 6) as u16
}

/// Returns the two squares that a slide changes.
#[inline(always)]
fn slide_squares(code: u16) -> u64 {
    1 << (code & 63) ^ 1 << (code >> 6 & 63)
}
