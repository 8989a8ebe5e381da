//! Mistakes in Hex, whose second player sees the board transposed and may swap.

use petteia::board::{Symmetry, square_text};
use petteia::conformance::{check, random_game};
use petteia::game::{BoardView, Game, Player};

use super::hex::{CELLS, Hex, SIDE, SWAP, State, TRANSPOSED, view_of};
use super::{Fault, GAMES, SEED, are_named, found, reversed, shown, wrong};
use crate::support::faulty::{Faulty, Wrong};

#[test]
fn mistakes_in_hex_are_named() {
    are_named(&Hex::RIGHT, &seen_by_the_wrong_player());
    are_named(&Hex::RIGHT, &rights_and_symmetries());
}

/// Planes, actions, squares and texts that are not turned for Blue.
fn seen_by_the_wrong_player() -> Vec<Fault<Hex>> {
    vec![
        (
            "planes of Red and Blue",
            Wrong {
                encode: Some(|game, state, planes| {
                    game.encode(state, planes);
                    (0..2).for_each(|plane| planes.set_bits(plane, state.stones[plane]));
                }),
                ..wrong()
            },
            "the planes differ (plane 0), but the legal actions do not: look at encode",
        ),
        (
            "planes not turned",
            Wrong {
                encode: Some(|game, state, planes| {
                    game.encode(state, planes);
                    *planes = planes.mapped(view_of(state.mover));
                }),
                ..wrong()
            },
            "the planes differ (plane 1), but the legal actions do not: look at encode",
        ),
        (
            "the opponent's plane not turned",
            Wrong {
                encode: Some(|game, state, planes| {
                    game.encode(state, planes);
                    planes.set_bits(1, state.stones[state.mover.other().index()]);
                }),
                ..wrong()
            },
            "the planes differ (plane 1), but the legal actions do not: look at encode",
        ),
        (
            "legal actions not turned",
            Wrong {
                legal_actions: Some(|game, state, out| {
                    game.legal_actions(state, out);
                    out.iter_mut()
                        .for_each(|action| *action = game.map_action(view_of(state.mover), *action));
                    out.sort();
                }),
                ..wrong()
            },
            "look at ",
        ),
        (
            "exchanged not turned",
            Wrong {
                exchanged: Some(|_, state| {
                    let [red, blue] = state.stones;
                    Some(State { stones: [blue, red], mover: state.mover.other(), ..*state })
                }),
                ..wrong()
            },
            "look at play and exchanged",
        ),
        (
            "touched not turned",
            Wrong {
                touched: Some(|game, state, action| match action {
                    SWAP => game.touched(state, action),
                    _ => vec![BoardView::place(action.index(), SIDE, SIDE)],
                }),
                ..wrong()
            },
            "not those squares turned by `transposed`: look at touched and turning",
        ),
        (
            "turning left out",
            Wrong { turning: Some(|_| Symmetry::IDENTITY), ..wrong() },
            "not those squares turned by `identity`: look at touched and turning",
        ),
        (
            "texts not turned",
            Wrong {
                action_text: Some(|game, state, action| match action {
                    SWAP => game.action_text(state, action),
                    _ => square_text(action.index(), SIDE),
                }),
                parse_action: Some(|game, state, text| {
                    let turned = game.map_action(view_of(state.mover), game.parse_action(state, text)?);
                    game.legal(state).contains(&turned).then_some(turned)
                }),
                ..wrong()
            },
            "whose squares are not those turned by `transposed`: look at action_text and parse_action",
        ),
    ]
}

fn rights_and_symmetries() -> Vec<Fault<Hex>> {
    vec![
        (
            "key without the side",
            Wrong { key: Some(|game, state| game.key(&State { mover: Player::First, ..*state })), ..wrong() },
            "the key is the same: the player to move must be part of it",
        ),
        (
            "key without the right to swap",
            Wrong { key: Some(|game, state| game.key(&State { swap: false, ..*state })), ..wrong() },
            "have the same key",
        ),
        (
            "columns mirrored",
            Wrong { symmetries: Some(|_, _| &Symmetry::COLUMN_MIRROR), ..wrong() },
            "symmetry `columns mirrored`: ",
        ),
        (
            "transposed as a symmetry",
            Wrong {
                symmetries: Some(|_, _| {
                    const WITH: [Symmetry; 2] = [Symmetry::IDENTITY, TRANSPOSED];
                    &WITH
                }),
                ..wrong()
            },
            "symmetry `transposed`: ",
        ),
        (
            "swapped twice",
            Wrong {
                play: Some(|game, state, action| {
                    game.play(state, action);
                    state.swap |= action == SWAP;
                }),
                ..wrong()
            },
            "the game is not over after max_plies",
        ),
        (
            "text without the right to swap",
            Wrong {
                state_text: Some(|game, state| game.state_text(&State { swap: false, ..*state })),
                ..wrong()
            },
            "the position parsed from its own text is different: its text does not describe everything",
        ),
        (
            "no plane for the right to swap",
            Wrong {
                encode: Some(|game, state, planes| {
                    game.encode(state, planes);
                    planes.fill(2, 0.0);
                }),
                ..wrong()
            },
            "action `swap` (16); look at encode: everything that determines the legal actions must be on a plane",
        ),
        (
            "max_plies without the swap",
            Wrong { max_plies: Some(|_| CELLS), ..wrong() },
            "the game is not over after max_plies = 16 actions",
        ),
    ]
}

/// Rules that are consistent but not those of Hex: there is nothing to compare them with. The last board of
/// `check-game --show` shows the mistake.
#[test]
fn other_rules_than_those_of_hex_are_not_named() {
    let right = Hex::RIGHT;
    shown(&right, &Faulty { game: right.clone(), wrong: Wrong { outcome: Some(reversed), ..wrong() } });

    let slanted = Hex { slant: [(1, 1), (-1, -1)] };
    assert_eq!(check(&slanted, GAMES, SEED).err(), None);
    let last = |game: &Hex, seed| random_game(game, seed).0.pop().unwrap();
    let other = (1..20).filter(|seed| {
        let state = last(&slanted, *seed);
        slanted.outcome(&state) != right.outcome(&state)
    });
    assert!(other.count() > 2);

    let unreflected = Wrong {
        play: Some(|game: &Hex, state: &mut State, action| match action {
            SWAP => {
                state.stones.swap(0, 1);
                (state.mover, state.swap) = (state.mover.other(), false);
            }
            _ => game.play(state, action),
        }),
        ..wrong()
    };
    assert_eq!(found(&right, &unreflected), None);
}
