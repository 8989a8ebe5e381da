//! The character of games. Definitions follow C. Browne, "Automatic Generation and Evaluation of Recombination Games"
//! (2008), chapter 6, and the reports of Ludii and Ai Ai, with the search's expected score as the evaluation of a
//! position. Metrics of expected scores ignore the positions of the opening, because the players did not choose it.

use serde::{Deserialize, Serialize};

use super::game::Observed;
use crate::game::{Outcome, Player};

/// A player leads if its expected score is at least this far above ½.
const LEAD: f32 = 0.1;
/// The expected score of a lead that looks safe.
pub(super) const SAFE: f32 = 0.9;
/// The share of a game that counts as its end, for late uncertainty.
const LATE: f64 = 0.25;

/// The character of a set of games. Unless stated otherwise, each field is a mean over the games.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Character {
    /// The number of actions in a game.
    pub length: f64,
    /// The lengths of the shortest and the longest game.
    pub lengths: [usize; 2],
    /// The number of legal actions in a position.
    pub branching: f64,
    /// The decimal logarithm of the size of the game tree: the sum of the logarithms of the numbers of legal actions
    /// in a game.
    pub tree: f64,
    /// Drama: how far the eventual winner was behind, as the square root of twice the deficit from ½, averaged over
    /// the positions of a game in which that player was behind (0 if there are none). Browne, section 6.3. This field
    /// and the next three are `None` if no game has a winner.
    pub drama: Option<f64>,
    /// The share of games whose winner was once clearly behind (an expected score of at most 0.4).
    pub comebacks: Option<f64>,
    /// The share of games whose loser once had a lead that looked safe (an expected score of at least 0.9).
    pub lost_leads: Option<f64>,
    /// Decisiveness: the share of a game, without its opening, that was played after the winner took the lead for
    /// good, in games with a winner.
    pub decided: Option<f64>,
    /// Lead changes: how often the leading player changes in a game, where a lead is an expected score of at least 0.6.
    pub lead_changes: f64,
    /// Killer moves: the greatest change of the expected score by a single action of a game, averaged over games.
    pub killer_move: f64,
    /// Late uncertainty: how open the last quarter of a game is, from 0 if all its positions are decided to 1 if all
    /// are even.
    pub late_uncertainty: f64,
}

impl Character {
    /// Returns the character of `games`; zeros and `None` if there are no games.
    pub(super) fn of(games: &[Observed]) -> Character {
        let mean_of_some = |of: &dyn Fn(&Observed) -> Option<f64>| {
            let values: Vec<f64> = games.iter().filter_map(of).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let mean = |of: &dyn Fn(&Observed) -> Option<f64>| mean_of_some(of).unwrap_or(0.0);
        let plies = || games.iter().map(|game| game.actions.len());
        let choices: Vec<f64> =
            games.iter().flat_map(|game| &game.branching).map(|n| f64::from(*n)).collect();
        Character {
            length: mean(&|game| Some(game.actions.len() as f64)),
            lengths: [plies().min().unwrap_or(0), plies().max().unwrap_or(0)],
            branching: choices.iter().sum::<f64>() / choices.len().max(1) as f64,
            tree: mean(&|game| Some(game.branching.iter().map(|n| f64::from(*n).log10()).sum())),
            drama: mean_of_some(&drama),
            comebacks: mean_of_some(&|game| {
                let winner = winners_scores(game)?;
                Some(f64::from(u8::from(winner.iter().any(|score| *score <= 0.5 - LEAD))))
            }),
            lost_leads: mean_of_some(&|game| {
                let winner = winners_scores(game)?;
                Some(f64::from(u8::from(winner.iter().any(|score| *score <= 1.0 - SAFE))))
            }),
            decided: mean_of_some(&decided),
            lead_changes: mean(&|game| Some(lead_changes(game.own_scores()) as f64)),
            killer_move: mean(&|game| Some(f64::from(killer_move(game)))),
            late_uncertainty: mean(&late_uncertainty),
        }
    }
}

/// Returns the expected scores of the eventual winner; `None` for a draw.
fn winners_scores(game: &Observed) -> Option<Vec<f32>> {
    match game.outcome {
        Outcome::Draw => None,
        Outcome::Win(Player::First) => Some(game.own_scores().to_vec()),
        Outcome::Win(Player::Second) => Some(game.own_scores().iter().map(|score| 1.0 - score).collect()),
    }
}

fn drama(game: &Observed) -> Option<f64> {
    let behind: Vec<f64> = winners_scores(game)?
        .into_iter()
        .filter(|score| *score < 0.5)
        .map(|score| (f64::from(0.5 - score) * 2.0).sqrt())
        .collect();
    Some(behind.iter().sum::<f64>() / behind.len().max(1) as f64)
}

fn decided(game: &Observed) -> Option<f64> {
    let scores = winners_scores(game)?;
    let open = scores.iter().rposition(|score| *score < 0.5 + LEAD).map_or(0, |last| last + 1);
    Some((scores.len() - open) as f64 / scores.len().max(1) as f64)
}

fn lead_changes(scores: &[f32]) -> usize {
    let leaders = scores.iter().filter(|score| (*score - 0.5).abs() >= LEAD).map(|score| *score > 0.5);
    let leaders: Vec<bool> = leaders.collect();
    leaders.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// Returns the greatest change of the expected score, in either player's favor, from one position to the next. The
/// change from the last position to the result counts, too.
fn killer_move(game: &Observed) -> f32 {
    let result = game.outcome.score_for(Player::First);
    let next = game.own_scores().iter().skip(1).chain([&result]);
    game.own_scores().iter().zip(next).map(|(before, after)| (after - before).abs()).fold(0.0, f32::max)
}

fn late_uncertainty(game: &Observed) -> Option<f64> {
    let scores = game.own_scores();
    let late = ((game.actions.len() as f64 * LATE).ceil() as usize).max(1).min(scores.len());
    let last = &scores[scores.len() - late..];
    (late > 0).then(|| {
        last.iter().map(|score| 1.0 - 2.0 * f64::from((score - 0.5).abs())).sum::<f64>() / late as f64
    })
}
