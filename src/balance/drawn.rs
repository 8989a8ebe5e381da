//! The drawings on the page: squares, positions after first actions, and games position by position.

use super::figures::percent;
use super::{Balance, SampleGame};
use crate::any::{AnyGame, Opened};
use crate::draw::{self, Marks, Place};
use crate::game::{Game, Player, outcome_text};
use crate::report::chart::counted;

/// The largest number of positions of a game that are drawn.
const LONGEST_STRIP: usize = 40;
/// The number of openings that are drawn.
const PICTURED: usize = 6;

/// A measured variant: its numbers and drawings.
#[derive(Debug)]
pub struct Measured {
    /// The variant's name on the page.
    pub name: String,
    /// The variant's rules in short.
    pub rules: String,
    /// The size of the board, such as "6x6".
    pub board: String,
    /// The numbers.
    pub balance: Balance,
    /// A map of the squares that actions touch, as SVG.
    pub used: String,
    /// A map of the squares that win, as SVG; empty if no square is known to win.
    pub winning: String,
    /// Positions after first actions, with captions.
    pub openings: Vec<(String, String)>,
    /// The sample games, each with the reason why it was picked and its positions with captions.
    pub games: Vec<(String, Vec<(String, String)>)>,
}

impl Measured {
    /// Draws the result of [`super::measure`].
    pub fn new(rules: &Opened, name: String, balance: Balance) -> Measured {
        let game = &rules.game;
        let initial = game.initial();
        let weighted = |weights: Vec<(Vec<Place>, f32)>, title: &str| {
            draw::svg(game, &initial, &Marks { weights, ..Marks::default() }, title)
        };
        let squares = &balance.squares;
        let used = places(&squares.heat).filter(|(_, heat)| *heat > 0.0);
        let used = weighted(used.collect(), "how often each square was used");
        // the excess over half of the points, doubled
        let score = |share: &Option<f32>| share.map_or(0.0, |share| ((share - 0.5) * 2.0).max(0.0));
        let scores: Vec<Vec<f32>> = squares.score.iter().map(|row| row.iter().map(score).collect()).collect();
        let winners: Vec<_> = places(&scores).filter(|(_, weight)| *weight > 0.0).collect();
        let winning = if winners.is_empty() {
            String::new()
        } else {
            weighted(winners, "how much each square helps to win")
        };
        let openings = balance.openings.iter().filter(|opening| opening.games > 0).take(PICTURED);
        let openings = openings.filter_map(|opening| {
            let action = game.parse_action(&initial, &opening.action)?;
            let mut after = initial.clone();
            game.play(&mut after, action);
            let caption = format!(
                "{}: {} expected, {} scored in {}",
                opening.action,
                percent(opening.expected),
                opening.score.map(percent).unwrap_or_default(),
                counted(opening.games, "game", "games")
            );
            Some((draw::svg(game, &after, &Marks::after(game, &initial, action), &caption), caption))
        });
        let openings = openings.collect();
        let games =
            balance.samples.iter().map(|sample| (sample.why.clone(), positions(game, sample))).collect();
        let board = format!("{}x{}", game.shape().width, game.shape().height);
        Measured {
            name,
            rules: crate::manual::brief(game).join(" "),
            board,
            balance,
            used,
            winning,
            openings,
            games,
        }
    }
}

/// Returns the squares with their weights.
fn places(weights: &[Vec<f32>]) -> impl Iterator<Item = (Vec<Place>, f32)> {
    weights
        .iter()
        .enumerate()
        .flat_map(|(y, row)| row.iter().enumerate().map(move |(x, weight)| (vec![(y, x)], *weight)))
}

/// Returns the positions of a game with captions: all positions, or only every second, third, and so on if the game is
/// long.
fn positions(game: &AnyGame, sample: &SampleGame) -> Vec<(String, String)> {
    let every = sample.actions.len().div_ceil(LONGEST_STRIP).max(1);
    let (mut state, mut marks, mut positions) = (game.initial(), Marks::default(), Vec::new());
    let first = game.about().player(Player::First);
    for (ply, text) in sample.actions.iter().enumerate() {
        let Some(action) = game.parse_action(&state, text) else { break };
        if ply % every == 0 {
            let player = game.about().player(game.to_move(&state));
            let caption = format!(
                "{ply}: {player} plays {text}; {first} expects {}",
                percent(f64::from(sample.scores[ply]))
            );
            positions.push((draw::svg(game, &state, &marks, &caption), caption));
        }
        marks = Marks::after(game, &state, action);
        game.play(&mut state, action);
    }
    let result = game.outcome(&state).map_or_else(String::new, |outcome| outcome_text(game, outcome));
    let ending = game.ending(&state);
    let ending = if ending.is_empty() { String::new() } else { format!(" ({ending})") };
    let caption = format!("After {} actions: {result}{ending}", sample.actions.len());
    positions.push((draw::svg(game, &state, &marks, &caption), caption));
    positions
}
