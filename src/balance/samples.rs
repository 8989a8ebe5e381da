//! Sample games: a typical game and the shortest game.
//!
//! Input: finished games of one level. Output: [`SampleGame`]s, as text.

use std::collections::BTreeMap;

use serde::Serialize;

use super::game::Observed;
use crate::any::AnyGame;
use crate::game::Game;

/// A sample game.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SampleGame {
    /// The reason why it was picked.
    pub why: String,
    /// The actions.
    pub actions: Vec<String>,
    /// The first player's expected score before each action.
    pub scores: Vec<f32>,
}

/// Returns a typical game and the shortest game of a level; nothing if there are no games. `level` is the level's
/// number on the page.
pub(super) fn samples(game: &AnyGame, level: usize, games: &[Observed]) -> Vec<SampleGame> {
    let Some(shortest) = games.iter().min_by_key(|game| game.actions.len()) else { return Vec::new() };
    let mut kinds: BTreeMap<(&str, &str), Vec<&Observed>> = BTreeMap::new();
    for game in games {
        kinds.entry((game.outcome.id(), &game.ending)).or_default().push(game);
    }
    let (_, mut largest) = kinds.into_iter().max_by_key(|(_, games)| games.len()).expect("there is a game");
    largest.sort_by_key(|game| game.actions.len());
    let middle = largest[largest.len() / 2];
    let share = largest.len() * 100 / games.len();
    let why = format!(
        "A representative game: it ends like {share} % of the games of level {level} and has the median length among \
            them."
    );
    let mut found = vec![sample(game, middle, why)];
    if shortest.actions != middle.actions {
        found.push(sample(game, shortest, format!("The shortest of these {} games.", games.len())));
    }
    found
}

fn sample(game: &AnyGame, played: &Observed, why: String) -> SampleGame {
    let mut state = game.initial();
    let mut actions = Vec::new();
    for &action in &played.actions {
        actions.push(game.action_text(&state, action));
        game.play(&mut state, action);
    }
    debug_assert_eq!(game.outcome(&state), Some(played.outcome));
    SampleGame { why, actions, scores: played.scores.clone() }
}
