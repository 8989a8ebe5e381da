//! The development of games from beginning to end, and the use of squares.
//!
//! Input: finished games of one level. Output: [`Stages`], which are means over the tenths of a game, and
//! [`Squares`], which are maps of the board.

use serde::Serialize;

use super::game::Observed;
use super::metrics::SAFE;
use crate::any::{AnyGame, AnyState};
use crate::game::{Game, Player};

/// The number of stages of a game, which have equal length.
pub const STAGES: usize = 10;
/// The largest number of games that are replayed.
const REPLAYED: usize = 400;
/// The minimum number of games that a square needs to have a score.
const ENOUGH: usize = 20;

/// Means over each tenth of a game, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stages {
    /// The number of legal actions. Here and below, `None` is for a stage in which no game has a ply.
    pub branching: Vec<Option<f64>>,
    /// The number of pieces on the board.
    pub pieces: Vec<Option<f64>>,
    /// The share of games in which one of the players expects at least 0.9, openings excluded.
    pub safe_leads: Vec<Option<f64>>,
}

/// How squares of the board are used, by row and column of the drawing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Squares {
    /// How often actions touched each square, relative to the most used square.
    pub heat: Vec<Vec<f32>>,
    /// The mean score of players who touched the square at least once in a game in which the other player did not;
    /// `None` if there are few such games.
    pub score: Vec<Vec<Option<f32>>>,
}

/// Replays games and returns their stages and squares.
pub(super) fn developed(game: &AnyGame, games: &[Observed]) -> (Stages, Squares) {
    let view = game.view(&game.initial());
    let (height, width) = (view.rows.len(), view.columns.len());
    let mut heat = vec![vec![0.0f32; width]; height];
    // for each square, the points and games of players who touched it when the other player did not
    let mut alone = vec![vec![(0.0f32, 0usize); width]; height];
    let (mut sums, mut plies) = ([[0.0f64; STAGES]; 2], [0usize; STAGES]);
    let (mut safe_games, mut judged_games) = ([0usize; STAGES], [0usize; STAGES]);
    for played in games.iter().take(REPLAYED) {
        let mut state = game.initial();
        let mut touched = vec![vec![[false; 2]; width]; height];
        // short games have no ply in some stages
        let mut is_safe = [None; STAGES];
        for (ply, &action) in played.actions.iter().enumerate() {
            let stage = ply * STAGES / played.actions.len();
            plies[stage] += 1;
            sums[0][stage] += f64::from(played.branching[ply]);
            sums[1][stage] += pieces(game, &state) as f64;
            if ply >= played.opening {
                let score = played.scores[ply];
                *is_safe[stage].get_or_insert(false) |= score.max(1.0 - score) >= SAFE;
            }
            let mover = game.to_move(&state).index();
            for (y, x) in game.touched(&state, action) {
                heat[y][x] += 1.0;
                touched[y][x][mover] = true;
            }
            game.play(&mut state, action);
        }
        for (stage, is_safe) in is_safe.into_iter().enumerate() {
            judged_games[stage] += usize::from(is_safe.is_some());
            safe_games[stage] += usize::from(is_safe == Some(true));
        }
        let score = [Player::First, Player::Second].map(|player| played.score(player) as f32);
        for (touched, alone) in touched.iter().flatten().zip(alone.iter_mut().flatten()) {
            if touched[0] != touched[1] {
                *alone = (alone.0 + score[usize::from(touched[1])], alone.1 + 1);
            }
        }
    }
    let largest = heat.iter().flatten().copied().fold(1.0, f32::max);
    heat.iter_mut().flatten().for_each(|count| *count /= largest);
    let score = alone.iter().map(|row| {
        row.iter().map(|(points, games)| (*games >= ENOUGH).then(|| points / *games as f32)).collect()
    });
    let mean = |sum: f64, count: usize| (count > 0).then(|| sum / count as f64);
    let per_ply =
        |sums: &[f64; STAGES]| sums.iter().zip(plies).map(|(sum, plies)| mean(*sum, plies)).collect();
    let safe_leads = safe_games.iter().zip(judged_games);
    let stages = Stages {
        branching: per_ply(&sums[0]),
        pieces: per_ply(&sums[1]),
        safe_leads: safe_leads.map(|(safe, judged)| mean(*safe as f64, judged)).collect(),
    };
    (stages, Squares { heat, score: score.collect() })
}

/// Returns the number of pieces on the board, as the drawing shows them.
fn pieces(game: &AnyGame, state: &AnyState) -> usize {
    let view = game.view(state);
    let is_piece =
        |cell: &String| cell.chars().any(|letter| view.pieces.iter().any(|own| own.contains(letter)));
    view.cells.iter().flatten().filter(|cell| is_piece(cell)).count()
}
