//! Mistakes in Amazons, whose players act twice in a row.

use petteia::board::square_text;
use petteia::game::{Action, Game};

use super::amazons::{Amazons, SIDE, State, squares};
use super::{Fault, are_named, reversed, shown, wrong};
use crate::support::faulty::{Faulty, Wrong};

#[test]
fn mistakes_in_amazons_are_named() {
    are_named(&Amazons, &what_is_seen());
    are_named(&Amazons, &what_is_played());
}

/// Mistakes in planes and keys.
fn what_is_seen() -> Vec<Fault<Amazons>> {
    vec![
        (
            "planes of White and Black",
            Wrong {
                encode: Some(|game, state, planes| {
                    game.encode(state, planes);
                    (0..2).for_each(|plane| planes.set_bits(plane, state.amazons[plane]));
                }),
                ..wrong()
            },
            "the planes differ (plane 0), but the legal actions do not: look at encode",
        ),
        (
            "no arrows on the planes",
            Wrong {
                encode: Some(|game, state, planes| {
                    game.encode(state, planes);
                    planes.set_bits(2, 0_u64);
                }),
                ..wrong()
            },
            "look at encode: everything that determines the legal actions must be on a plane",
        ),
        (
            "no shooter on the planes",
            Wrong {
                encode: Some(|game, state, planes| {
                    game.encode(state, planes);
                    planes.set_bits(3, 0_u64);
                }),
                ..wrong()
            },
            "look at encode: everything that determines the legal actions must be on a plane",
        ),
        (
            "neither shooter nor phase on the planes",
            Wrong {
                encode: Some(|game, state, planes| {
                    game.encode(state, planes);
                    planes.set_bits(3, 0_u64);
                    planes.fill(4, 0.0);
                }),
                ..wrong()
            },
            "look at encode: everything that determines the legal actions must be on a plane",
        ),
        (
            "key without the shooter",
            Wrong { key: Some(|game, state| game.key(&State { shooter: None, ..*state })), ..wrong() },
            "have the same key",
        ),
        (
            "exchanged without the mover",
            Wrong {
                exchanged: Some(|_, state| {
                    let [white, black] = state.amazons;
                    Some(State { amazons: [black, white], ..*state })
                }),
                ..wrong()
            },
            "the same player is to move",
        ),
    ]
}

/// Mistakes in actions, symmetries, texts and the end of the game.
fn what_is_played() -> Vec<Fault<Amazons>> {
    vec![
        (
            "direction not mapped",
            Wrong {
                map_action: Some(|game, symmetry, action| {
                    let (cells, mapped) = (SIDE * SIDE, game.map_action(symmetry, action));
                    Action((action.index() / cells * cells + mapped.index() % cells) as u16)
                }),
                ..wrong()
            },
            "look at map_action",
        ),
        (
            "arrows not mapped",
            Wrong {
                map_state: Some(|game, symmetry, state| State {
                    arrows: state.arrows,
                    ..game.map_state(symmetry, state)
                }),
                ..wrong()
            },
            "map_state",
        ),
        (
            "shooter not mapped",
            Wrong {
                map_state: Some(|game, symmetry, state| State {
                    shooter: state.shooter,
                    ..game.map_state(symmetry, state)
                }),
                ..wrong()
            },
            "map_state",
        ),
        (
            "actions listed by amazon",
            Wrong {
                legal_actions: Some(|game, state, out| {
                    game.legal_actions(state, out);
                    out.sort_by_key(|action| action.index() % (SIDE * SIDE));
                }),
                ..wrong()
            },
            "the legal actions are not ascending: action `",
        ),
        (
            "the opponent shoots",
            Wrong {
                play: Some(|game, state, action| {
                    game.play(state, action);
                    if state.shooter.is_some() {
                        state.mover = state.mover.other();
                    }
                }),
                ..wrong()
            },
            "the position's own text is rejected",
        ),
        (
            "max_plies of whole turns",
            Wrong { max_plies: Some(|game| game.max_plies() / 2), ..wrong() },
            "the game is not over after max_plies = 21 actions",
        ),
        (
            "no outcome without actions",
            Wrong { outcome: Some(|_, _| None), ..wrong() },
            "there are 0 legal actions, but the outcome is None",
        ),
        (
            "texts without the square of departure",
            Wrong {
                action_text: Some(|_, _, action| square_text(squares(action)[1], SIDE)),
                parse_action: Some(|game, state, text| {
                    let to = |action: &Action| square_text(squares(*action)[1], SIDE) == text;
                    game.legal(state).into_iter().find(to)
                }),
                ..wrong()
            },
            " is parsed as action `",
        ),
    ]
}

#[test]
fn the_wrong_winner_of_amazons_is_shown() {
    shown(&Amazons, &Faulty { game: Amazons, wrong: Wrong { outcome: Some(reversed), ..wrong() } });
}
