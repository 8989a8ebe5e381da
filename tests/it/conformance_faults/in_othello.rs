//! Mistakes in Othello, a game with passes and captures in lines.

use petteia::board::{Symmetry, parse_square};
use petteia::game::{About, Action, Game, Player, Shape};
use petteia::random::mix;

use super::othello::{Othello, PASS, SIDE, SQUARES, State, step};
use super::{are_named, upside_down, wrong};
use crate::support::faulty::Wrong;

static NAMED_ALIKE: About = About::new("othello", ["Black", "Black"]);

/// Whether a disk on `square` encloses others in the line of these steps.
fn encloses(state: &State, square: usize, step: impl Fn(u64) -> u64) -> bool {
    let (own, other) = state.sides();
    let line = || std::iter::successors(Some(step(1 << square)), |at| Some(step(*at)));
    let end = line().find(|at| at & other == 0).expect("every line leaves the board");
    line().next() != Some(end) && end & own != 0
}

#[test]
fn mistakes_in_othello_are_named() {
    are_named(
        &Othello,
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
                "symmetry `columns mirrored`: the mapped position's legal actions are not the mapped ones (without \
             action `",
            ),
            (
                "inverse symmetry",
                Wrong {
                    map_action: Some(|game, symmetry, action| {
                        let inverse = |other: &&Symmetry| {
                            (0..SQUARES)
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
                    key: Some(|_, state| mix(mix(state.disks[0]) ^ state.disks[1].rotate_left(1))),
                    ..wrong()
                },
                "have the same key",
            ),
            (
                "key without White",
                Wrong { key: Some(|_, state| mix(state.disks[0]) ^ state.mover.index() as u64), ..wrong() },
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
                Wrong { shape: Some(|game| Shape { actions: SQUARES, ..game.shape() }), ..wrong() },
                "the legal action 64 is not below shape.actions = 64",
            ),
            (
                "pass has the text of a square",
                Wrong {
                    action_text: Some(|game, state, action| match action {
                        PASS => "a9".into(),
                        _ => game.action_text(state, action),
                    }),
                    ..wrong()
                },
                "the text `a9` of action 64 is parsed as nothing",
            ),
            (
                "pass played as a disk",
                Wrong {
                    play: Some(|game, state, action| match action {
                        PASS => {
                            state.disks[state.mover.index()] |= 1;
                            state.mover = state.mover.other();
                        }
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
                "count_legal_actions returns 1, but there are 0",
            ),
            (
                "side not parsed",
                Wrong {
                    parse_state: Some(|game, text| game.parse_state(&text.replace(" W", " B"))),
                    ..wrong()
                },
                "the position parsed from its own text is different: its text is `",
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
                        planes.set_bits(0, state.disks[0]);
                        planes.set_bits(1, state.disks[1]);
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
                "must not be empty or contain spaces",
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
                        if state.disks[0].count_ones() > 5 {
                            view.cells[SIDE].clear();
                        }
                        view
                    }),
                    ..wrong()
                },
                "a function of the rules panics: index out of bounds",
            ),
            (
                "lines in four directions",
                Wrong {
                    legal_actions: Some(|game, state, out| {
                        game.legal_actions(state, out);
                        let in_one =
                            |square| (0..4).any(|way| encloses(state, square, |at| step(at, 2 * way)));
                        out.retain(|action| *action == PASS || in_one(action.index()));
                    }),
                    ..wrong()
                },
                "while its planes are right: look at map_action and legal_actions",
            ),
            (
                "lines that go on in the next row",
                Wrong {
                    legal_actions: Some(|game, state, out| {
                        game.legal_actions(state, out);
                        let empty = |square: &usize| (state.disks[0] | state.disks[1]) >> square & 1 == 0;
                        let beyond = (0..SQUARES)
                            .filter(empty)
                            .filter(|square| encloses(state, *square, |at| at << 1));
                        out.extend(beyond.map(|square| Action(square as u16)));
                        out.sort();
                        out.dedup();
                    }),
                    ..wrong()
                },
                "while its planes are right: look at map_action and legal_actions",
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
