//! Mistakes in Breakthrough, whose board is turned for the second player.

use petteia::board::Symmetry;
use petteia::game::{Action, Game, Player};
use petteia::random::mix;

use super::breakthrough::Breakthrough;
use super::{Fault, MIRRORED_ROWS, are_named, breakthrough, encoded, seen, squares, upside_down, wrong};
use crate::support::faulty::Wrong;

#[test]
fn mistakes_in_breakthrough_are_named() {
    for game in [breakthrough(""), breakthrough("5")] {
        are_named(&game, &breakthrough_faults());
    }
}

fn breakthrough_faults() -> Vec<Fault<Breakthrough>> {
    vec![
        (
            "direction not mirrored",
            Wrong {
                map_action: Some(|game, symmetry, action| {
                    let cells = game.shape().cells();
                    let from =
                        symmetry.square(action.index() % cells, game.shape().height, game.shape().width);
                    Action((action.index() / cells * cells + from) as u16)
                }),
                ..wrong()
            },
            "while its planes are right: look at map_action",
        ),
        (
            "symmetries of the square",
            Wrong { symmetries: Some(|_, _| &Symmetry::SQUARE), ..wrong() },
            "symmetry `rows mirrored`: the mapped position has a different outcome: look at map_state, or leave",
        ),
        (
            "key without the side",
            Wrong { key: Some(seen), ..wrong() },
            "the key is the same: the player to move must be part of it",
        ),
        (
            "key of the board without the side",
            Wrong {
                key: Some(|game, state| {
                    let text = game.state_text(state);
                    let board = text.split(' ').next().unwrap_or_default();
                    board.bytes().fold(0, |hash, letter| mix(hash ^ letter as u64))
                }),
                ..wrong()
            },
            "the key is the same: the player to move must be part of it",
        ),
        (
            "plane not written",
            Wrong {
                encode: Some(|game, state, planes| {
                    let right = encoded(game, state);
                    planes.set_bits(0, squares(&right, game.shape(), 0));
                    planes.fill(2, 1.0);
                }),
                ..wrong()
            },
            "encode leaves plane 1 unwritten",
        ),
        (
            "actions listed by man",
            Wrong {
                legal_actions: Some(|game, state, out| {
                    game.legal_actions(state, out);
                    out.sort_by_key(|action| action.index() % game.shape().cells());
                }),
                ..wrong()
            },
            "the legal actions are not ascending: action `",
        ),
        (
            "enemy plane not turned for Black",
            Wrong {
                encode: Some(|game, state, planes| {
                    game.encode(state, planes);
                    if game.to_move(state) == Player::Second {
                        let turned = planes.mapped(MIRRORED_ROWS);
                        planes.set_bits(1, squares(&turned, game.shape(), 1));
                    }
                }),
                ..wrong()
            },
            "the planes differ (plane 1), but the legal actions do not: look at encode",
        ),
        (
            "planes not turned but actions are",
            Wrong {
                encode: Some(|game, state, planes| {
                    game.encode(state, planes);
                    if game.to_move(state) == Player::Second {
                        *planes = planes.mapped(MIRRORED_ROWS);
                    }
                }),
                ..wrong()
            },
            "the planes differ (plane 0), but the legal actions do not: look at encode",
        ),
        (
            "touched upside down",
            Wrong { touched: Some(upside_down), ..wrong() },
            "the rows are upside down: row 0 is the top one",
        ),
    ]
}
