//! Mistakes in tic-tac-toe: lists of actions, texts, keys, symmetries and views.

use petteia::board::Symmetry;
use petteia::game::{Action, Game, Shape};
use petteia::games::tic_tac_toe::TicTacToe;

use super::{Fault, are_named, wrong};
use crate::support::faulty::Wrong;

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
            "legal_actions appends to the given list",
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
            "count_legal_actions returns 4, but there are 3 legal actions",
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
            Wrong { encode: Some(|_, _, planes| planes.set_bits(0, 1_u64)), ..wrong() },
            "encode leaves plane 1 unwritten or not finite",
        ),
        (
            "infinite plane",
            Wrong {
                encode: Some(|_, _, planes| {
                    planes.set_bits(0, 1_u64);
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
                    planes.set_bits(0, 0b1_u64);
                    planes.set_bits(1, 0b10_u64);
                }),
                ..wrong()
            },
            "symmetry `columns mirrored`: the mapped position's planes are not the mapped planes (plane 0), while its \
             legal actions are right: look at encode",
        ),
        (
            "no identity",
            Wrong { symmetries: Some(|_, _| &Symmetry::SQUARE[1..]), ..wrong() },
            "the first symmetry is not the identity",
        ),
        (
            "unmapped actions",
            Wrong { map_action: Some(|_, _, action| action), ..wrong() },
            "symmetry `columns mirrored`: map_action maps action `a1` (0) to action `a1` (0), but action `c1` (2) \
                leads",
        ),
        (
            "unmapped state",
            Wrong { map_state: Some(|_, _, state| *state), ..wrong() },
            "symmetry `columns mirrored`: map_action maps action `a1` (0) to action `c1` (2), but action `a1` (0) \
                leads",
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
            "action `a1` (0) touches row 3, column 0, which the view does not have",
        ),
    ]
}
