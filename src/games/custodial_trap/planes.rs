//! The planes; the parent module has a table of them.

use crate::encode::Planes;

use super::settings::Variant;
use super::squares::{INNER, captured, captures, one_group, trapped};
use super::{CustodialTrap, MEN, NOWHERE, Phase, State};

const PLAY: usize = 16;
const SET_UP: usize = 13;

/// Returns the number of planes of a variant.
pub(super) fn count(variant: Variant) -> usize {
    if variant == Variant::Advanced { PLAY + SET_UP } else { PLAY }
}

/// Writes all planes.
pub(super) fn encode(game: &CustodialTrap, state: &State, planes: &mut Planes) {
    let (own, other) = state.sides();
    let (own_trapped, other_trapped) = (trapped(own, other), trapped(other, own));
    let taken = |movers, own, enemies| captured(captures(movers, own, enemies, game.diagonal_capture));
    let sets = [
        own,
        other,
        state.empty(),
        own_trapped,
        other_trapped,
        taken(other & !other_trapped, other, own),
        taken(own & !own_trapped, own, other),
        INNER,
    ];
    for (plane, set) in sets.into_iter().enumerate() {
        planes.set_bits(plane, set);
    }
    let turn = state.turn as usize;
    for (side, (color, men)) in [(turn, own), (1 - turn, other)].into_iter().enumerate() {
        planes.fill(8 + side, state.total(color) as f32 / MEN as f32);
        planes.fill(10 + side, state.reserve[color] as f32 / MEN as f32);
        planes.fill(14 + side, if one_group(men) { 1.0 } else { 0.0 });
    }
    planes.fill(12, state.clock as f32 / game.no_progress as f32);
    let most = game.repetition.saturating_sub(1).max(1);
    planes.fill(13, (state.occurrences - 1) as f32 / most as f32);
    if game.variant == Variant::Advanced {
        encode_set_up(state, planes);
    }
}

fn encode_set_up(state: &State, planes: &mut Planes) {
    let set_up = state.phase != Phase::Play;
    for phase in 0..8 {
        planes.fill(PLAY + phase, if phase == state.phase as usize { 1.0 } else { 0.0 });
    }
    for color in 0..2 {
        planes.set_bits(PLAY + 8 + color, state.places(color));
        // the color that goes first matters only until the setup ends
        let begins = set_up && state.first as usize == color;
        planes.fill(PLAY + 11 + color, if begins { 1.0 } else { 0.0 });
    }
    planes.set_bits(PLAY + 10, if state.pointer == NOWHERE { 0_u64 } else { 1 << state.pointer });
}
