//! How games develop, from their beginning to their end, and where.
//!
//! Input: finished games of one level. Output: [`Stages`], means over the tenths of a game, and maps of the board.

use serde::Serialize;

use super::game::Observed;
use super::metrics::SAFE;
use crate::any::{AnyGame, AnyState};
use crate::game::{Game, Player};

/// The stages of a game, of equal length.
pub const STAGES: usize = 10;
/// The games that are replayed, at most.
const REPLAYED: usize = 400;
/// The least number of games that touched a square, for its weight.
const ENOUGH: usize = 20;

/// Means over the tenths of a game, from its beginning on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stages {
    /// Legal actions.
    pub branching: Vec<f64>,
    /// Pieces on the board.
    pub pieces: Vec<f64>,
    /// The share of games in which some player expects at least 0.9.
    pub safe_leads: Vec<f64>,
}

/// What the squares of the board are used for, by row and column of the drawing.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Squares {
    /// How often actions touched each square, relative to the most used one.
    pub heat: Vec<Vec<f32>>,
    /// The mean score of players who touched the square at least once in a game in which the other one did not; `None`
    /// if there are few such games.
    pub score: Vec<Vec<Option<f32>>>,
}

/// Replays games.
pub(super) fn developed(game: &AnyGame, games: &[Observed]) -> (Stages, Squares) {
    let view = game.view(&game.initial());
    let (height, width) = (view.rows.len(), view.columns.len());
    let mut heat = vec![vec![0.0f32; width]; height];
    // points and games of players who alone touched a square
    let mut alone = vec![vec![(0.0f32, 0usize); width]; height];
    let (mut sums, mut counts) = ([[0.0f64; STAGES]; 3], [0usize; STAGES]);
    for played in games.iter().take(REPLAYED) {
        let mut state = game.initial();
        let mut touched = vec![vec![[false; 2]; width]; height];
        // short games have no ply in some stages
        let mut safe = [false; STAGES];
        for (ply, &action) in played.actions.iter().enumerate() {
            let stage = ply * STAGES / played.actions.len();
            counts[stage] += 1;
            sums[0][stage] += f64::from(played.branching[ply]);
            sums[1][stage] += pieces(game, &state) as f64;
            let score = played.scores[ply];
            safe[stage] |= score.max(1.0 - score) >= SAFE;
            let mover = game.to_move(&state).index();
            for (y, x) in game.touched(&state, action) {
                heat[y][x] += 1.0;
                touched[y][x][mover] = true;
            }
            game.play(&mut state, action);
        }
        for (sum, safe) in sums[2].iter_mut().zip(safe) {
            *sum += f64::from(u8::from(safe));
        }
        let score = [Player::First, Player::Second].map(|player| played.score(player) as f32);
        for (touched, alone) in touched.iter().flatten().zip(alone.iter_mut().flatten()) {
            if touched[0] != touched[1] {
                *alone = (alone.0 + score[usize::from(touched[1])], alone.1 + 1);
            }
        }
    }
    let most = heat.iter().flatten().copied().fold(1.0, f32::max);
    heat.iter_mut().flatten().for_each(|count| *count /= most);
    let score = alone.iter().map(|row| {
        row.iter().map(|(points, games)| (*games >= ENOUGH).then(|| points / *games as f32)).collect()
    });
    let replayed = games.len().clamp(1, REPLAYED) as f64;
    let per_ply = |sums: &[f64; STAGES]| {
        sums.iter().zip(&counts).map(|(sum, count)| sum / (*count).max(1) as f64).collect::<Vec<_>>()
    };
    let stages = Stages {
        branching: per_ply(&sums[0]),
        pieces: per_ply(&sums[1]),
        safe_leads: sums[2].iter().map(|sum| sum / replayed).collect(),
    };
    (stages, Squares { heat, score: score.collect() })
}

/// The pieces on the board, as the drawing shows them.
fn pieces(game: &AnyGame, state: &AnyState) -> usize {
    let view = game.view(state);
    let is_piece =
        |cell: &String| cell.chars().any(|letter| view.pieces.iter().any(|own| own.contains(letter)));
    view.cells.iter().flatten().filter(|cell| is_piece(cell)).count()
}
