//! Counts action sequences, so that the rules can be compared with those of other programs.

use super::{Action, Game};

/// Returns the number of action sequences of exactly `depth` actions; the last ply is counted, not played.
///
/// ```
/// use petteia::game::{Game, perft};
/// use petteia::games::tic_tac_toe::TicTacToe;
///
/// let start = TicTacToe.initial();
/// assert_eq!(perft(&TicTacToe, &start, 5), 9 * 8 * 7 * 6 * 5);
/// // 1440 of these games are won with the fifth mark and do not go on
/// assert_eq!(perft(&TicTacToe, &start, 6), 4 * (9 * 8 * 7 * 6 * 5 - 1440));
/// ```
pub fn perft<G: Game>(game: &G, state: &G::State, depth: usize) -> u64 {
    let mut lists = vec![Vec::new(); depth];
    perft_into::<G, true>(game, state, depth, &mut lists)
}

/// Returns the same number as [`perft`], but plays every leaf and is slower.
pub fn perft_played<G: Game>(game: &G, state: &G::State, depth: usize) -> u64 {
    let mut lists = vec![Vec::new(); depth];
    perft_into::<G, false>(game, state, depth, &mut lists)
}

fn perft_into<G: Game, const COUNT: bool>(
    game: &G,
    state: &G::State,
    depth: usize,
    lists: &mut [Vec<Action>],
) -> u64 {
    let Some((legal, deeper)) = lists.split_first_mut() else {
        // `black_box` keeps the compiler from optimizing the last play away
        std::hint::black_box(state);
        return 1;
    };
    if COUNT && depth == 1 {
        return game.count_legal_actions(state, legal) as u64;
    }
    game.legal_actions(state, legal);
    let mut nodes = 0;
    for &action in legal.iter() {
        let mut next = state.clone();
        game.play(&mut next, action);
        nodes += perft_into::<G, COUNT>(game, &next, depth - 1, deeper);
    }
    nodes
}
