//! Explains why an action of Caïssa is not legal, by the rulings in [`super`].

use super::squares::{AROUND, reconnecting, removable};
use super::{Caissa, KINDS, QUEEN, SIDE, State, bit, lines};
use crate::board::{parse_square, square_text};
use crate::game::Player;

const NAMES: [&str; KINDS] = ["queen", "rook", "bishop", "knight"];

/// Returns the reason, if `text` names two squares.
pub(super) fn why_illegal(rules: &Caissa, state: &State, text: &str) -> Option<String> {
    let squares =
        text.split_once('-').map(|(from, to)| [from, to].map(|text| parse_square(text, SIDE, SIDE)));
    let [Some(from), Some(to)] = squares? else { return None };
    let name = |square: usize| square_text(square, SIDE);
    let player = state.to_move;
    let kind = match state.piece(from) {
        Some((owner, kind)) if owner == player.index() => kind,
        _ => return Some(format!("{} has no piece on {}", super::ABOUT.player(player), name(from))),
    };
    let piece = NAMES[kind];
    let sight = state.sight();
    let occupied = sight.own_set | sight.enemy_set;
    let target = state.piece(to);
    let is_hole = state.tiles & bit(to as u8) == 0;
    if lines(kind, from, occupied) & bit(to as u8) == 0 {
        return Some(format!("the {piece} has no free line from {} to {}", name(from), name(to)));
    }
    if target == Some((player.other().index(), QUEEN)) {
        return Some("a queen can be neither captured nor exchanged".into());
    }
    if kind == QUEEN {
        return Some(match target {
            Some((owner, _)) if owner == player.index() => {
                "the queen may not go to a piece of her own color".into()
            }
            _ if is_hole => "the queen must go to a tile".into(),
            _ if sight.in_check && AROUND[from] & bit(to as u8) == 0 => {
                "while in check, the queen may only go to one of the squares around her".into()
            }
            _ if !removable(state.tiles, from) => {
                "without the tile that the queen leaves, the others would not be connected".into()
            }
            _ => exposed(player),
        });
    }
    if target == Some((player.index(), QUEEN)) && !rules.queen_exchange {
        return Some("a player's own queen cannot be exchanged in this game".into());
    }
    if is_hole && reconnecting(state.tiles, from) & bit(to as u8) == 0 {
        return Some(format!(
            "with the tile of {} on {}, the tiles would not be connected",
            name(from),
            name(to)
        ));
    }
    if rules.exchange_ban && [from, to] == state.ban.map(usize::from) {
        return Some("it would undo the exchange that was just made".into());
    }
    Some(exposed(player))
}

fn exposed(player: Player) -> String {
    format!("{}'s queen would be in check, or the queens would see each other", super::ABOUT.player(player))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::game::{Game, GameOptions, Variants};

    #[test]
    fn every_illegal_move_of_an_own_piece_has_a_reason_that_holds() {
        let game = Caissa::new(&GameOptions::default()).unwrap();
        let state = game.initial();
        let why = |text: &str| {
            assert_eq!(game.parse_action(&state, text), None, "{text} is legal");
            game.why_illegal(&state, text).unwrap_or_default()
        };
        assert_eq!(why("a1-a2"), "White has no piece on a1");
        assert_eq!(why("c3-d4"), "the rook has no free line from c3 to d4");
        assert_eq!(why("c2-b2"), "the queen may not go to a piece of her own color");
        assert_eq!(why("d6-d5"), "White has no piece on d6");
        for nonsense in ["", "c3", "c3-", "c3-z9", "pass"] {
            assert_eq!(why(nonsense), "");
        }
        // throughout a game, every action that is not legal has a nonempty reason
        let mut state = game.initial();
        for ply in 0..60 {
            let legal = game.legal(&state);
            let Some(action) = legal.get(ply * 11 % legal.len().max(1)) else { break };
            for from in 0..SIDE * SIDE {
                for to in 0..SIDE * SIDE {
                    let text = format!("{}-{}", square_text(from, SIDE), square_text(to, SIDE));
                    if from != to && game.parse_action(&state, &text).is_none() {
                        assert!(!game.why_illegal(&state, &text).unwrap_or_default().is_empty(), "{text}");
                    }
                }
            }
            game.play(&mut state, *action);
        }
    }
}
