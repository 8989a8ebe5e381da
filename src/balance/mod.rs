//! Is a game balanced, for players who can play it? The numbers of `petteia balance`.
//!
//! Input: the rules and a list of levels, players of growing strength. Output: a [`Balance`]: what games between
//! equal players of each level look like, how far each level beats the one below, and what the strongest level thinks
//! of every first action. Games vary because actions at their start are drawn from visits; the seed alone determines
//! which ones are played. `game` plays, `metrics` describes the character of games, `page` presents the results to
//! people.

mod game;
mod metrics;
pub mod page;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use self::game::{Observed, Table};
pub use self::metrics::Character;
use crate::any::{AnyGame, Opened};
use crate::arena::agent::Contestant;
use crate::arena::elo::wilson;
use crate::error::Result;
use crate::game::{Game, Outcome, Player};

/// How balance is measured.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// The number of games of each level against itself, and against its neighbor.
    pub games: usize,
    /// Plies at the start of a game whose actions are drawn from the visits of the search; after them the best is
    /// played.
    pub varied_plies: usize,
    /// The seed from which all games follow.
    pub seed: u64,
}

/// A player with a name; a list of levels ascends in strength.
#[derive(Debug)]
pub struct Level {
    /// Its name.
    pub name: String,
    /// The player itself.
    pub contestant: Contestant<AnyGame>,
}

/// The measurements of a game.
#[derive(Clone, Debug, Serialize)]
pub struct Balance {
    /// The game's id and options.
    pub game: String,
    /// The names of the players.
    pub players: [String; 2],
    /// The plan of the measurement.
    pub plan: Plan,
    /// Each level against itself, the weakest first.
    pub levels: Vec<Equals>,
    /// Each level against the one below.
    pub steps: Vec<Step>,
    /// The number of levels that score at least two thirds of the points against the level below.
    pub skill_chain: usize,
    /// Every first action, the best for the first player first.
    pub openings: Vec<Opening>,
    /// How often actions touched each square, by row and column of the drawing, in games of the strongest level,
    /// relative to the most used square.
    pub heat: Vec<Vec<f32>>,
}

/// Games between two players of one level.
#[derive(Clone, Debug, Serialize)]
pub struct Equals {
    /// The level.
    pub name: String,
    /// The number of games.
    pub games: usize,
    /// The number of different games among them.
    pub distinct: usize,
    /// The first player's mean score, and its 95 % bounds (Wilson), for which repeated games count once.
    pub first_score: [f64; 3],
    /// The share of draws.
    pub draws: f64,
    /// The share of each reason for which games ended.
    pub endings: BTreeMap<String, f64>,
    /// The character of the games, on average.
    pub character: Character,
}

/// Games of a level against the one below.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// The level, which should be the stronger one.
    pub name: String,
    /// The level below.
    pub below: String,
    /// Games.
    pub games: usize,
    /// The mean score of the level, and its 95 % bounds.
    pub score: [f64; 3],
}

/// A first action.
#[derive(Clone, Debug, Serialize)]
pub struct Opening {
    /// The action.
    pub action: String,
    /// The first player's expected score after it, by a search of the strongest level.
    pub expected: f64,
    /// The number of games of the strongest level that began with it.
    pub games: usize,
    /// The first player's mean score in them.
    pub score: Option<f64>,
}

/// Plays and measures. `tick` is given the number of finished games, and returns whether to continue.
///
/// # Errors
/// An agent fails, or the measurement is interrupted. Every level must search.
pub fn measure(
    rules: &Opened,
    levels: &[Level],
    plan: &Plan,
    tick: &(dyn Fn(usize) -> bool + Sync),
) -> Result<Balance> {
    let pairs = levels.len().saturating_sub(1);
    let all = plan.games * (levels.len() + pairs);
    let table = Table { game: &rules.game, levels, plan };
    let planned = |index: usize| {
        let (of, number) = (index / plan.games, index % plan.games);
        let levels = match of.checked_sub(levels.len()) {
            None => [of, of],
            // sides alternate
            Some(below) if number % 2 == 0 => [below + 1, below],
            Some(below) => [below, below + 1],
        };
        (levels, number)
    };
    // all games at once, so that no core waits at the end of a level
    let played = table.play(all, planned, tick)?;
    let mut groups = played.chunks(plan.games);
    let equals: Vec<&[Observed]> = groups.by_ref().take(levels.len()).collect();
    let steps: Vec<Step> = groups
        .enumerate()
        .map(|(below, games)| Step {
            name: levels[below + 1].name.clone(),
            below: levels[below].name.clone(),
            games: games.len(),
            score: bounded(games.iter().enumerate().map(|(number, observed)| {
                let first = observed.score(Player::First);
                if number % 2 == 0 { first } else { 1.0 - first }
            })),
        })
        .collect();
    let strongest = equals.last().copied().unwrap_or_default();
    Ok(Balance {
        game: rules.identity.id.clone(),
        players: rules.game.players().map(String::from),
        plan: plan.clone(),
        skill_chain: steps.iter().filter(|step| step.score[0] >= 2.0 / 3.0).count(),
        levels: levels.iter().zip(&equals).map(|(level, games)| of_equals(&level.name, games)).collect(),
        steps,
        openings: table.openings(strongest)?,
        heat: table.heat(strongest),
    })
}

fn of_equals(name: &str, games: &[Observed]) -> Equals {
    let mut seen = BTreeSet::new();
    let distinct: Vec<&Observed> = games.iter().filter(|game| seen.insert(game.actions.clone())).collect();
    let mut endings = BTreeMap::new();
    for game in games {
        *endings.entry(game.ending.to_string()).or_insert(0.0) += 1.0 / games.len() as f64;
    }
    let draws = games.iter().filter(|game| game.outcome == Outcome::Draw).count();
    let scores: Vec<f64> = games.iter().map(|game| game.score(Player::First)).collect();
    // repeated games count in the mean, but make the bounds no narrower
    let first_score = bounded_by(&scores, distinct.len());
    Equals {
        name: name.into(),
        games: games.len(),
        distinct: distinct.len(),
        first_score,
        draws: draws as f64 / games.len().max(1) as f64,
        endings,
        character: Character::of(games),
    }
}

/// A mean of scores from 0 to 1, and Wilson's 95 % bounds.
fn bounded(scores: impl Iterator<Item = f64>) -> [f64; 3] {
    let scores: Vec<f64> = scores.collect();
    bounded_by(&scores, scores.len())
}

/// [`bounded`] for scores that count as `worth` independent ones.
fn bounded_by(scores: &[f64], worth: usize) -> [f64; 3] {
    if scores.is_empty() {
        return [0.5, 0.0, 1.0];
    }
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    let (low, high) = wilson(mean, worth as f64);
    [mean, low.max(0.0), high.min(1.0)]
}
