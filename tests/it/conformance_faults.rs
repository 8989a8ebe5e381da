//! Mistakes that people make in games of their own, planted one at a time in right games: `conformance::check` names
//! them, or a test here says what shows them instead.

#[path = "../../examples/breakthrough/src/rules.rs"]
mod breakthrough;

use petteia::board::{Symmetry, parse_square};
use petteia::conformance::{Violation, check, playthrough, random_game};
use petteia::encode::Planes;
use petteia::game::{Action, Game, GameOptions, Outcome, Player, Rules, Shape, perft};
use petteia::games::tic_tac_toe::TicTacToe;
use petteia::random::mix;

use crate::support::faulty::{Faulty, Wrong};
use crate::support::othello::{CELLS, Othello, PASS, SIDE};
use breakthrough::Breakthrough;

const GAMES: usize = 100;
const SEED: u64 = 1;
const MIRRORED_ROWS: Symmetry = Symmetry::SQUARE[2];

/// A mistake: what it is, and what the message must say.
type Fault<G> = (&'static str, Wrong<G>, &'static str);

fn breakthrough(variant: &str) -> Breakthrough {
    Breakthrough::new(&GameOptions { variant: variant.into(), ..GameOptions::default() }).unwrap()
}

/// A game without a fault.
fn wrong<G: Game>() -> Wrong<G> {
    Wrong::default()
}

fn found<G: Game>(game: &G, wrong: &Wrong<G>) -> Option<Violation> {
    check(&Faulty { game: game.clone(), wrong: wrong.clone() }, GAMES, SEED).err()
}

/// Every one of these faults is found, and its message says what to look at.
fn are_named<G: Game>(game: &G, faults: &[Fault<G>]) {
    if let Some(violation) = found(game, &Wrong::default()) {
        panic!("{} without a fault: {violation}", G::NAME);
    }
    let missing: Vec<String> = faults
        .iter()
        .filter_map(|(name, wrong, expected)| {
            let Some(violation) = found(game, wrong) else {
                return Some(format!("{}, {name}: not found", G::NAME));
            };
            let message = violation.to_string();
            // the seed shows the fault again, unless it needs several games
            let one_game = !["same key", "upside down"].iter().any(|rule| message.contains(rule));
            let again = check(&Faulty { game: game.clone(), wrong: wrong.clone() }, 1, violation.seed);
            let right = message.contains(expected) && (!one_game || again == Err(violation));
            (!right).then(|| format!("{}, {name}: {message}", G::NAME))
        })
        .collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

fn encoded<G: Game>(game: &G, state: &G::State) -> Planes {
    let mut planes = Planes::new(game.shape());
    game.encode(state, &mut planes);
    planes
}

/// The squares of a plane.
fn squares(planes: &Planes, shape: Shape, plane: usize) -> u128 {
    let mut numbers = vec![f32::NAN; shape.input_len()];
    planes.expand(&mut numbers);
    let squares = numbers[plane * shape.cells()..][..shape.cells()].iter().enumerate();
    squares.filter(|(_, number)| **number == 1.0).fold(0, |set, (square, _)| set | 1 << square)
}

/// A hash of the planes: what the player to move sees.
fn seen<G: Game>(game: &G, state: &G::State) -> u64 {
    let shape = game.shape();
    let planes = encoded(game, state);
    (0..shape.planes).fold(0, |hash, plane| {
        let squares = squares(&planes, shape, plane);
        mix(mix(hash ^ squares as u64) ^ (squares >> 64) as u64)
    })
}

fn reversed<G: Game>(game: &G, state: &G::State) -> Option<Outcome> {
    game.outcome(state).map(Outcome::opposite)
}

fn upside_down<G: Game>(game: &G, before: &G::State, action: Action) -> Vec<(usize, usize)> {
    let rows = game.view(before).rows.len();
    game.touched(before, action).into_iter().map(|(row, column)| (rows - 1 - row, column)).collect()
}

#[test]
fn mistakes_in_tic_tac_toe_are_named() {
    are_named(&TicTacToe, &list_faults());
    are_named(&TicTacToe, &other_faults());
}

fn list_faults() -> Vec<Fault<TicTacToe>> {
    vec![
        (
            "unsorted actions",
            Wrong {
                legal_actions: Some(|game, state, out| {
                    game.legal_actions(state, out);
                    out.reverse();
                }),
                ..wrong()
            },
            "the legal actions are not ascending: action `c3` (8) comes before action `b3` (7)",
        ),
        (
            "repeated action",
            Wrong {
                legal_actions: Some(|game, state, out| {
                    game.legal_actions(state, out);
                    out.extend(out.last().copied());
                }),
                ..wrong()
            },
            "the legal actions are not ascending: action `c3` (8) is listed twice",
        ),
        (
            "action out of range",
            Wrong { shape: Some(|game| Shape { actions: 8, ..game.shape() }), ..wrong() },
            "the legal action 8 is not below shape.actions = 8",
        ),
        (
            "list not cleared",
            Wrong { legal_actions: Some(|game, state, out| out.extend(game.legal(state))), ..wrong() },
            "legal_actions adds to the list that it is given",
        ),
        (
            "plays on",
            Wrong {
                legal_actions: Some(|game, state, out| {
                    game.legal_actions(state, out);
                    if out.is_empty() {
                        out.push(Action(0));
                    }
                }),
                ..wrong()
            },
            "there are 1 legal actions, but the outcome is Some(",
        ),
        (
            "miscounts",
            Wrong {
                count_legal_actions: Some(|game, state, _| {
                    let count = game.legal(state).len();
                    count + (count == 3) as usize
                }),
                ..wrong()
            },
            "count_legal_actions says 4, but there are 3 legal actions",
        ),
        (
            "too long",
            Wrong { max_plies: Some(|_| 6), ..wrong() },
            "the game is not over after max_plies = 6 actions",
        ),
        (
            "plays illegal actions",
            Wrong {
                try_play: Some(|game, state, action| {
                    let _ = game.try_play(state, action);
                    Ok(())
                }),
                ..wrong()
            },
            "try_play plays the illegal action",
        ),
        (
            "changes when it refuses",
            Wrong {
                try_play: Some(|game, state, action| {
                    let refused = game.try_play(state, action);
                    if let (Err(_), Some(first)) = (&refused, game.legal(state).first()) {
                        game.play(state, *first);
                    }
                    refused
                }),
                ..wrong()
            },
            "changes the position",
        ),
    ]
}

fn other_faults() -> Vec<Fault<TicTacToe>> {
    vec![
        (
            "history stays",
            Wrong { without_history: Some(|game, _| game.initial()), ..wrong() },
            "the position parsed from its own text is different",
        ),
        (
            "forgotten plane",
            Wrong { encode: Some(|_, _, planes| planes.set_bits(0, 1)), ..wrong() },
            "encode leaves plane 1 unwritten or not finite",
        ),
        (
            "infinite plane",
            Wrong {
                encode: Some(|_, _, planes| {
                    planes.set_bits(0, 1);
                    planes.fill(1, f32::INFINITY);
                }),
                ..wrong()
            },
            "encode leaves plane 1 unwritten or not finite",
        ),
        (
            "planes without symmetries",
            Wrong {
                encode: Some(|_, _, planes| {
                    planes.set_bits(0, 0b1);
                    planes.set_bits(1, 0b10);
                }),
                ..wrong()
            },
            "symmetry `columns mirrored`: the mapped position's planes are not the mapped planes (plane 0), while its \
             legal actions are right: look at encode",
        ),
        (
            "no identity",
            Wrong { symmetries: Some(|_, _| &Symmetry::SQUARE[1..]), ..wrong() },
            "the identity is not the first of the symmetries",
        ),
        (
            "unmapped actions",
            Wrong { map_action: Some(|_, _, action| action), ..wrong() },
            "symmetry `columns mirrored`: map_action maps action `a1` (0) to action `a1` (0), but action `c1` (2) leads",
        ),
        (
            "unmapped state",
            Wrong { map_state: Some(|_, _, state| *state), ..wrong() },
            "symmetry `columns mirrored`: map_action maps action `a1` (0) to action `c1` (2), but action `a1` (0) leads",
        ),
        (
            "key ignores noughts",
            Wrong {
                key: Some(|game, state| {
                    game.state_text(state).bytes().fold(0, |key, c| key << 1 | (c == b'X') as u64)
                }),
                ..wrong()
            },
            "have the same key",
        ),
        (
            "shared action text",
            Wrong {
                action_text: Some(|_, _, _| "a1".into()),
                parse_action: Some(|game, state, _| game.legal(state).first().copied()),
                ..wrong()
            },
            "the text `a1` of action 1 is parsed as action `a1` (0)",
        ),
        (
            "action text not parsed",
            Wrong { parse_action: Some(|_, _, _| None), ..wrong() },
            "the text `a1` of action 0 is parsed as nothing",
        ),
        (
            "forgetful position text",
            Wrong { parse_state: Some(|game, _| Ok(game.initial())), ..wrong() },
            ": it is printed as `.../.../... X`",
        ),
        (
            "a text of two lines",
            Wrong { state_text: Some(|game, state| game.state_text(state).replace(' ', "\n")), ..wrong() },
            "one line of words with single spaces",
        ),
        (
            "missing label",
            Wrong {
                view: Some(|game, state| {
                    let mut view = game.view(state);
                    view.columns.pop();
                    view
                }),
                ..wrong()
            },
            "the view has 3 row labels and 2 column labels",
        ),
        (
            "touches nowhere",
            Wrong { touched: Some(|_, _, _| vec![(3, 0)]), ..wrong() },
            "action `a1` (0) touches row 3, column 0, which is not on the view",
        ),
    ]
}

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
                Wrong { players: Some(|_| ["Black"; 2]), ..wrong() },
                "both players are called Black",
            ),
            (
                "absolute planes",
                Wrong {
                    encode: Some(|game, state, planes| {
                        game.encode(state, planes);
                        planes.set_bits(0, state.discs[0].into());
                        planes.set_bits(1, state.discs[1].into());
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

/// Of the three directions of an action of Breakthrough, the one in the middle.
const STRAIGHT: usize = 1;

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
            "the planes differ (plane 1), and the legal actions do not: look at encode",
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
            "the planes differ (plane 0), and the legal actions do not: look at encode",
        ),
        (
            "touched upside down",
            Wrong { touched: Some(upside_down), ..wrong() },
            "it is upside down: row 0 is the top one",
        ),
    ]
}

/// No check of a game against itself can see these: the last board of `check-game --show` does, or perft does.
#[test]
fn what_the_check_cannot_see_is_shown() {
    let othello = Othello::RIGHT;
    let reversed_othello =
        Faulty { game: othello.clone(), wrong: Wrong { outcome: Some(reversed), ..wrong() } };
    shown(&othello, &reversed_othello);
    let five = breakthrough("5");
    let reversed_five = Faulty { game: five.clone(), wrong: Wrong { outcome: Some(reversed), ..wrong() } };
    shown(&five, &reversed_five);
    let mover_wins = Wrong {
        outcome: Some(|game: &Othello, state| game.outcome(state).map(|_| Outcome::Win(state.mover))),
        ..wrong()
    };
    shown(&othello, &Faulty { game: othello.clone(), wrong: mover_wins });

    // planes in another order, but always the same one, do no harm
    let exchanged = Wrong {
        encode: Some(|game: &Othello, state, planes| {
            game.encode(state, planes);
            let targets = [2, 3].map(|plane| squares(planes, game.shape(), plane));
            planes.set_bits(2, targets[1]);
            planes.set_bits(3, targets[0]);
        }),
        ..wrong()
    };
    assert_eq!(found(&othello, &exchanged), None);
    let text = |game: Faulty<Othello>| playthrough(&Rules::of(game, &GameOptions::default()), SEED);
    let right = text(Faulty { game: othello.clone(), wrong: wrong() });
    assert_ne!(text(Faulty { game: othello.clone(), wrong: exchanged }), right);

    let passing = Wrong {
        legal_actions: Some(|game: &Othello, state, out| {
            game.legal_actions(state, out);
            if out.last().is_some_and(|last| *last != PASS) {
                out.push(PASS);
            }
        }),
        max_plies: Some(|_| 10_000),
        ..wrong()
    };
    counted(&othello, &Faulty { game: othello.clone(), wrong: passing }, 3);
    counted(
        &five,
        &Faulty { game: five.clone(), wrong: Wrong { legal_actions: Some(straight_captures), ..wrong() } },
        6,
    );
}

/// Adds straight captures to the legal actions.
fn straight_captures(game: &Breakthrough, state: &breakthrough::State, out: &mut Vec<Action>) {
    game.legal_actions(state, out);
    if out.is_empty() {
        return;
    }
    let (shape, planes) = (game.shape(), encoded(game, state));
    let [own, enemy] = [0, 1].map(|plane| squares(&planes, shape, plane));
    let capturing = (0..shape.cells()).filter(|square| (own & enemy >> shape.width) >> square & 1 == 1);
    out.extend(capturing.map(|square| Action((STRAIGHT * shape.cells() + square) as u16)));
    out.sort();
}

/// The check passes the wrong game, and a finished game says another winner.
fn shown<G: Game>(right: &G, wrong: &Faulty<G>) {
    assert_eq!(check(wrong, GAMES, SEED).err(), None);
    let said = (1..20).filter(|seed| {
        let (states, _) = random_game(wrong, *seed);
        let last = &states[states.len() - 1];
        wrong.outcome(last) != right.outcome(last)
    });
    assert!(said.count() > 2);
}

/// The check passes the wrong game, and perft differs.
fn counted<G: Game>(right: &G, wrong: &Faulty<G>, depth: usize) {
    assert_eq!(check(wrong, 20, SEED).err(), None);
    let count = |depth| (perft(right, &right.initial(), depth), perft(wrong, &right.initial(), depth));
    let (right, wrong) = count(depth);
    assert!(wrong > right, "{right} {wrong}");
}
