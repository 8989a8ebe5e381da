//! Mistakes in Othello, a game with passes and captures in lines.

use petteia::board::{Symmetry, parse_square};
use petteia::conformance::check;
use petteia::game::{About, Action, Game, Player, Shape};
use petteia::random::mix;

use super::{GAMES, SEED, are_named, upside_down, wrong};
use crate::support::faulty::Wrong;
use crate::support::othello::{CELLS, Othello, PASS, SIDE};

static NAMED_ALIKE: About = About::new("othello", ["Black", "Black"]);

#[test]
fn mistakes_in_othello_are_named() {
    are_named(
        &Othello::RIGHT,
        &[
            (
                "pass mapped wrong",
                Wrong {
                    map_action: Some(|game, symmetry, action| match action {
                        PASS if symmetry != Symmetry::IDENTITY => Action(0),
                        _ => game.map_action(symmetry, action),
                    }),
                    ..wrong()
                },
                "look at map_action",
            ),
            (
                "actions not mapped",
                Wrong { map_action: Some(|_, _, action| action), ..wrong() },
                "symmetry `columns mirrored`: the mapped position's legal actions are not the mapped ones, but without \
             action `",
            ),
            (
                "inverse symmetry",
                Wrong {
                    map_action: Some(|game, symmetry, action| {
                        let inverse = |other: &&Symmetry| {
                            (0..CELLS)
                                .all(|at| symmetry.square(other.square(at, SIDE, SIDE), SIDE, SIDE) == at)
                        };
                        game.map_action(*Symmetry::SQUARE.iter().find(inverse).unwrap(), action)
                    }),
                    ..wrong()
                },
                "symmetry `transposed, ",
            ),
            (
                "key without the side",
                Wrong {
                    key: Some(|_, state| mix(mix(state.discs[0]) ^ state.discs[1].rotate_left(1))),
                    ..wrong()
                },
                "have the same key",
            ),
            (
                "key without White",
                Wrong { key: Some(|_, state| mix(state.discs[0]) ^ state.mover.index() as u64), ..wrong() },
                "have the same key",
            ),
            (
                "pass missing",
                Wrong {
                    legal_actions: Some(|game, state, out| {
                        game.legal_actions(state, out);
                        out.retain(|action| *action != PASS);
                    }),
                    ..wrong()
                },
                "there are 0 legal actions, but the outcome is None",
            ),
            (
                "pass outside the shape",
                Wrong { shape: Some(|game| Shape { actions: CELLS, ..game.shape() }), ..wrong() },
                "the legal action 36 is not below shape.actions = 36",
            ),
            (
                "pass has the text of a square",
                Wrong {
                    action_text: Some(|game, state, action| match action {
                        PASS => "a7".into(),
                        _ => game.action_text(state, action),
                    }),
                    ..wrong()
                },
                "the text `a7` of action 36 is parsed as nothing",
            ),
            (
                "pass played as a disc",
                Wrong {
                    play: Some(|game, state, action| match action {
                        PASS => game.play(state, Action(0)),
                        _ => game.play(state, action),
                    }),
                    ..wrong()
                },
                "look at play and ",
            ),
            (
                "actions not sorted",
                Wrong {
                    legal_actions: Some(|game, state, out| {
                        game.legal_actions(state, out);
                        out.reverse();
                    }),
                    ..wrong()
                },
                "the legal actions are not ascending: action `",
            ),
            (
                "max_plies too short",
                Wrong { max_plies: Some(|_| 30), ..wrong() },
                "the game is not over after max_plies = 30 actions",
            ),
            (
                "count wrong",
                Wrong {
                    count_legal_actions: Some(|game, state, _| game.legal(state).len().max(1)),
                    ..wrong()
                },
                "count_legal_actions says 1, but there are 0",
            ),
            (
                "side not parsed",
                Wrong {
                    parse_state: Some(|game, text| game.parse_state(&text.replace(" O", " X"))),
                    ..wrong()
                },
                "the position parsed from its own text is different: that has the text `",
            ),
            (
                "map_state drops the side",
                Wrong {
                    map_state: Some(|game, symmetry, state| {
                        let mut mapped = game.map_state(symmetry, state);
                        mapped.mover = Player::First;
                        mapped
                    }),
                    ..wrong()
                },
                "look at play and map_state",
            ),
            (
                "equal names",
                Wrong { about: Some(|_| &NAMED_ALIKE), ..wrong() },
                "both players are called Black",
            ),
            (
                "absolute planes",
                Wrong {
                    encode: Some(|game, state, planes| {
                        game.encode(state, planes);
                        planes.set_bits(0, state.discs[0]);
                        planes.set_bits(1, state.discs[1]);
                    }),
                    ..wrong()
                },
                "the planes differ (plane 0), and the legal actions do not: look at encode",
            ),
            (
                "touched upside down",
                Wrong { touched: Some(upside_down), ..wrong() },
                "it is upside down: row 0 is the top one",
            ),
            (
                "a text with a space",
                Wrong {
                    action_text: Some(|game, state, action| {
                        format!("at {}", game.action_text(state, action))
                    }),
                    parse_action: Some(|game, state, text| {
                        game.parse_action(state, text.strip_prefix("at ")?)
                    }),
                    ..wrong()
                },
                "must not be empty or have spaces in it",
            ),
            (
                "a position with two spaces",
                Wrong {
                    state_text: Some(|game, state| game.state_text(state).replace(' ', "  ")),
                    parse_state: Some(|game, text| game.parse_state(&text.replace("  ", " "))),
                    ..wrong()
                },
                "one line of words with single spaces",
            ),
            (
                "actions are parsed that are not legal",
                Wrong {
                    parse_action: Some(|_, _, text| {
                        let square = || parse_square(text, SIDE, SIDE);
                        if text == "pass" { Some(PASS) } else { square().map(|square| Action(square as u16)) }
                    }),
                    ..wrong()
                },
                "which is not legal here",
            ),
            (
                "a parser that panics",
                Wrong {
                    parse_state: Some(|game, text| {
                        let (board, side) = text.split_once(' ').expect("a side");
                        game.parse_state(&format!("{board} {side}"))
                    }),
                    ..wrong()
                },
                "panics: a side",
            ),
            (
                "a parser that forgives",
                Wrong {
                    parse_state: Some(|game, text| game.parse_state(text.trim_end_matches('x'))),
                    ..wrong()
                },
                ": it is printed as `",
            ),
            (
                "rules that panic",
                Wrong {
                    view: Some(|game, state| {
                        let mut view = game.view(state);
                        if state.discs[0].count_ones() > 5 {
                            view.cells[SIDE].clear();
                        }
                        view
                    }),
                    ..wrong()
                },
                "a function of the rules panics: index out of bounds",
            ),
            (
                "one player is exchanged",
                Wrong {
                    exchanged: Some(|_, state| {
                        let mut other = *state;
                        other.mover = state.mover.other();
                        Some(other)
                    }),
                    ..wrong()
                },
                "look at exchanged",
            ),
        ],
    );
}

#[test]
fn mistakes_in_the_lines_of_othello_are_named() {
    for wrong in [Othello { wraps: true, ..Othello::RIGHT }, Othello { directions: 4, ..Othello::RIGHT }] {
        let violation = check(&wrong, GAMES, SEED).expect_err("lines are wrong");
        assert!(violation.rule.contains("at legal_actions if the rules have this symmetry"), "{violation}");
    }
}
