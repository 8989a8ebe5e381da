//! The numbers of action sequences, compared with counts of independent slow generators.
//!
//! Counts above 20 million need a release build or `PETTEIA_DEEP=1`.

use std::collections::BTreeMap;

use petteia::game::{Game, GameOptions, Variants, perft};
use petteia::games::connect_four::ConnectFour;
use petteia::games::phage::Phage;
use petteia::games::tic_tac_toe::TicTacToe;

/// The part of a data file that contains the counts.
#[derive(serde::Deserialize)]
struct Data {
    perft: Vec<Counts>,
}

#[derive(serde::Deserialize)]
struct Counts {
    name: String,
    fen: String,
    perft: BTreeMap<usize, u64>,
}

fn game<G: Variants>() -> G {
    G::new(&GameOptions::default()).unwrap()
}

fn affordable(leaves: u64) -> bool {
    leaves <= 20_000_000 || !cfg!(debug_assertions) || std::env::var_os("PETTEIA_DEEP").is_some()
}

fn expect<G: Game>(game: &G, position: &str, counts: impl IntoIterator<Item = (usize, u64)>) {
    let state = game.parse_state(position).unwrap();
    for (depth, leaves) in counts {
        if affordable(leaves) {
            assert_eq!(
                perft(game, &state, depth),
                leaves,
                "{} `{position}` depth {depth}",
                game.about().name
            );
        }
    }
}

fn expect_file<G: Variants>(json: &str) {
    let data: Data = serde_json::from_str(json).unwrap();
    assert!(!data.perft.is_empty());
    for Counts { name, fen, perft } in data.perft {
        assert!(!perft.is_empty(), "{name}");
        expect(&game::<G>(), &fen, perft);
    }
}

#[test]
fn phage() {
    expect_file::<Phage>(include_str!("../data/phage.json"));
}

#[test]
fn connect_four() {
    // up to depth 9 these are also counted by the slow rules in rules_connect_four.rs
    let leaves = [7, 49, 343, 2401, 16807, 117649, 823536, 5673234, 39394572];
    expect(&game::<ConnectFour>(), "-", (1..).zip(leaves));
}

#[test]
fn tic_tac_toe() {
    let leaves = [9, 72, 504, 3024, 15120, 54720, 148176, 200448, 127872];
    expect(&game::<TicTacToe>(), ".../.../... X", (1..).zip(leaves));
}

#[test]
fn depth_zero_is_the_position_itself() {
    assert_eq!(perft(&TicTacToe, &TicTacToe.initial(), 0), 1);
    assert_eq!(perft(&TicTacToe, &TicTacToe.initial(), 10), 0);
}

#[test]
fn tic_tac_toe_has_255168_games() {
    fn games(state: petteia::games::tic_tac_toe::State) -> u64 {
        let after = |action| {
            let mut next = state;
            TicTacToe.play(&mut next, action);
            next
        };
        match TicTacToe.outcome(&state) {
            Some(_) => 1,
            None => TicTacToe.legal(&state).into_iter().map(|action| games(after(action))).sum(),
        }
    }
    assert_eq!(games(TicTacToe.initial()), 255_168);
}
