//! The rules of tic-tac-toe, sentence by sentence.

use std::collections::HashMap;

use petteia::game::{Game, Outcome, Player};
use petteia::games::tic_tac_toe::{State, TicTacToe};

fn position(text: &str) -> State {
    TicTacToe.parse_state(text).unwrap()
}

fn actions(state: &State) -> String {
    let texts = TicTacToe.legal(state).into_iter().map(|action| TicTacToe.action_text(state, action));
    texts.collect::<Vec<_>>().join(" ")
}

/// "T1 Two players, X first, 3x3 squares a1..c3, put their marks on empty squares in turn."
#[test]
fn t1_marks_on_empty_squares() {
    let mut state = TicTacToe.initial();
    assert_eq!(TicTacToe.to_move(&state), Player::First);
    assert_eq!(actions(&state), "a1 b1 c1 a2 b2 c2 a3 b3 c3");
    for text in ["b2", "a1", "c2"] {
        let action = TicTacToe.parse_action(&state, text).unwrap();
        TicTacToe.play(&mut state, action);
    }
    assert_eq!(TicTacToe.state_text(&state), ".../.XX/O.. O");
    assert_eq!(TicTacToe.to_move(&state), Player::Second);
    assert_eq!(actions(&state), "b1 c1 a2 a3 b3 c3");
    assert_eq!(TicTacToe.parse_action(&state, "b2"), None);
}

/// "T2 Who has three marks on a rank, file or diagonal has won."
#[test]
fn t2_three_in_a_line() {
    let x = [
        "XXX/OO./...",
        "OO./XXX/...",
        ".../OO./XXX",
        "X.O/X.O/X..",
        "OX./OX./.X.",
        "O.X/O.X/..X",
        "X.O/OX./..X",
        "O.X/OX./X..",
    ];
    for board in x {
        let state = position(&format!("{board} O"));
        assert_eq!(TicTacToe.outcome(&state), Some(Outcome::Win(Player::First)), "{board}");
        assert_eq!(actions(&state), "");
        // the marks exchanged, and one more X that is off the line and makes none
        let exchanged = board.replace('X', "o").replace('O', "X").replace('o', "O");
        let at = exchanged.match_indices('.').map(|(at, _)| at);
        let won = |at: usize| {
            let mut board = exchanged.clone();
            board.replace_range(at..=at, "X");
            TicTacToe.parse_state(&format!("{board} X")).map(|state| TicTacToe.outcome(&state))
        };
        assert!(at.filter_map(|at| won(at).ok()).any(|o| o == Some(Outcome::Win(Player::Second))), "{board}");
    }
    assert_eq!(TicTacToe.outcome(&position("XX./OO./... X")), None);
}

/// "T3 A full board without such a line is a draw."
#[test]
fn t3_full_board() {
    let state = position("XOX/XOO/OXX O");
    assert_eq!(TicTacToe.outcome(&state), Some(Outcome::Draw));
    assert_eq!(actions(&state), "");
    assert_eq!(TicTacToe.outcome(&position("XOX/XOO/OX. X")), None);
    // the ninth mark may also win
    assert_eq!(TicTacToe.outcome(&position("XOX/OXO/XOX O")), Some(Outcome::Win(Player::First)));
}

/// All games: 131184 are won by X, 77904 by O, and 46080 are drawn; there are 5478 positions, and minimax finds the
/// value of the first.
#[test]
fn the_whole_game() {
    fn walk(state: &State, ends: &mut [u32; 3], values: &mut HashMap<String, i32>) -> i32 {
        let text = TicTacToe.state_text(state);
        let value = match TicTacToe.outcome(state) {
            Some(outcome) => {
                ends[match outcome {
                    Outcome::Win(player) => player.index(),
                    Outcome::Draw => 2,
                }] += 1;
                outcome.value_for(Player::First) as i32
            }
            None => {
                let after = |action| {
                    let mut next = *state;
                    TicTacToe.play(&mut next, action);
                    next
                };
                let nexts: Vec<State> = TicTacToe.legal(state).into_iter().map(after).collect();
                let values = nexts.iter().map(|next| walk(next, ends, values));
                match TicTacToe.to_move(state) {
                    Player::First => values.max(),
                    Player::Second => values.min(),
                }
                .unwrap()
            }
        };
        *values.entry(text).or_insert(value)
    }
    let (mut ends, mut values) = ([0; 3], HashMap::new());
    assert_eq!(walk(&TicTacToe.initial(), &mut ends, &mut values), 0, "perfect play draws");
    assert_eq!(ends, [131_184, 77_904, 46_080]);
    assert_eq!(values.len(), 5478);
}
