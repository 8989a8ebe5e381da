//! The place of a run's records: which games each shard holds, and which run plays them.
//!
//! The settings of a run determine which generations, shards, and games it must have. A shard from elsewhere, or with
//! other games, does not belong to the run. Everything here is a function of the settings alone.

use std::fmt;
use std::ops::Range;

use rand::RngExt;

use crate::config::{Config, GATE_OFF};
use crate::random::{Purpose, stream};
use crate::storage;

/// Number of hexadecimal digits of the settings' checksum in an [`Origin`].
const DIGITS: usize = 16;

/// The games that a shard must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The generation, from 1.
    pub generation: usize,
    /// The numbers of the games within the generation, in order.
    pub games: Range<usize>,
    /// Maximum number of new simulations per action.
    pub simulations: usize,
}

impl Place {
    /// Returns the place of shard `shard` of `generation` in a run with this `config`; `None` if the run has no such
    /// shard.
    pub fn of(config: &Config, generation: usize, shard: usize) -> Option<Place> {
        let (games, simulations) = games_of(config, generation);
        let batch = config.selfplay.batch;
        let first = shard.checked_mul(batch).filter(|first| generation > 0 && *first < games)?;
        Some(Place { generation, games: first..(first + batch).min(games), simulations })
    }
}

/// Returns the number of games in a shard of a run; 0 if it has no such shard.
pub(crate) fn games_in(config: &Config, generation: usize, shard: usize) -> usize {
    Place::of(config, generation, shard).map_or(0, |place| place.games.len())
}

/// Returns whether `generation` is played before there is a network.
pub fn is_bootstrap(config: &Config, generation: usize) -> bool {
    generation == 1 && config.selfplay.bootstrap_games > 0
}

/// Returns the number of games of a generation, and of simulations per action.
pub(crate) fn games_of(config: &Config, generation: usize) -> (usize, usize) {
    let settings = &config.selfplay;
    if is_bootstrap(config, generation) {
        (settings.bootstrap_games, settings.bootstrap_simulations)
    } else {
        (settings.games, simulations_of(config, generation))
    }
}

/// Returns the simulations per action in a generation that the network plays.
fn simulations_of(config: &Config, generation: usize) -> usize {
    let (first, last) = (config.search.first_simulations, config.search.simulations);
    if first == 0 {
        return last;
    }
    let start = 1 + usize::from(is_bootstrap(config, 1));
    let steps = config.train.generations.saturating_sub(start).max(1);
    let step = generation.saturating_sub(start).min(steps);
    (first * (steps - step) + last * step) / steps
}

/// Returns the number of positions that the window holds in a generation.
pub fn window_of(config: &Config, generation: usize) -> usize {
    let growth = f64::from(config.replay.growth);
    (config.replay.window as f64 * (generation.max(1) as f64).powf(growth)) as usize
}

/// Returns whether a game is excluded from training; see `replay.held_out`.
pub fn is_held_out(config: &Config, generation: usize, game: usize) -> bool {
    let share = config.replay.held_out;
    let number = || stream(config.seed, Purpose::HeldOut, &[generation as u64, game as u64]).random::<f32>();
    share > 0.0 && number() < share
}

/// Returns the number of shards of a generation.
pub(crate) fn shards_of(config: &Config, generation: usize) -> usize {
    games_of(config, generation).0.div_ceil(config.selfplay.batch)
}

/// Identifies the run that played a shard, by the seed and the settings, which determine its games.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(String);

impl Origin {
    /// Returns the origin of the games of a run with this `config`.
    pub fn of(config: &Config) -> Origin {
        let settings = storage::sha256((config.to_toml() + GATE_OFF).as_bytes());
        Origin(format!("seed {}, settings {}", config.seed, &settings[..DIGITS]))
    }

    /// Parses an origin from the text that [`Origin`] displays.
    pub fn parse(text: &str) -> Origin {
        Origin(text.trim().to_string())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(sets: &[&str]) -> Config {
        let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
        Config::parse_kept("test", "game.id = 'tic-tac-toe'", &sets).unwrap()
    }

    #[test]
    fn every_game_has_one_place() {
        let config = config(&[
            "selfplay.games=10",
            "selfplay.batch=4",
            "selfplay.bootstrap_games=5",
            "selfplay.bootstrap_simulations=7",
            "search.simulations=9",
        ]);
        let places = |generation| -> Vec<Place> {
            (0..shards_of(&config, generation))
                .map(|shard| Place::of(&config, generation, shard).unwrap())
                .collect()
        };
        let games = |generation| places(generation).into_iter().flat_map(|place| place.games);
        assert_eq!((places(1).len(), places(2).len()), (2, 3));
        assert!(games(1).eq(0..5) && games(2).eq(0..10));
        assert_eq!((places(1)[0].simulations, places(2)[0].simulations), (7, 9));
        assert_eq!(Place::of(&config, 2, 3), None);
        assert_eq!(Place::of(&config, 0, 0), None);
        assert_eq!(Place::of(&config, 1, usize::MAX), None);
    }

    #[test]
    fn about_the_asked_share_of_games_is_held_out() {
        let held = |share: f32, seed: u64| {
            let config = config(&[&format!("replay.held_out={share}"), &format!("seed={seed}")]);
            let games = (1..=20).flat_map(|generation| (0..100).map(move |game| (generation, game)));
            games.filter(|(generation, game)| is_held_out(&config, *generation, *game)).collect::<Vec<_>>()
        };
        assert!(held(0.0, 1).is_empty());
        assert!((350..450).contains(&held(0.2, 1).len()), "{}", held(0.2, 1).len());
        assert_ne!(held(0.2, 1), held(0.2, 2));
    }

    #[test]
    fn simulations_and_the_window_grow() {
        let of = |sets: &[&str], generation| simulations_of(&config(sets), generation);
        let sets = ["search.simulations=100", "search.first_simulations=20", "train.generations=6"];
        assert_eq!([2, 3, 4, 5, 6, 7].map(|generation| of(&sets, generation)), [20, 40, 60, 80, 100, 100]);
        assert_eq!(of(&sets[..1], 2), 100);
        let window = |growth: &str, generation| {
            window_of(&config(&["replay.window=1000", &format!("replay.growth={growth}")]), generation)
        };
        assert_eq!([1, 4, 9].map(|generation| window("0.5", generation)), [1000, 2000, 3000]);
        assert_eq!(window("0", 9), 1000);
    }

    #[test]
    fn an_origin_is_of_a_seed_and_its_settings() {
        let (one, other) = (Origin::of(&config(&[])), Origin::of(&config(&["seed=2"])));
        assert_ne!(one, other);
        assert_ne!(one, Origin::of(&config(&["search.cpuct=2"])));
        assert_eq!(one, Origin::parse(&one.to_string()));
        assert!(one.to_string().starts_with("seed 1, settings "), "{one}");
    }

    #[test]
    fn an_origin_is_what_it_was_when_there_were_gates() {
        let settings = "
            game.id = 'tic-tac-toe'
            net = { filters = 2, blocks = 1, value_hidden = 2 }
            search.simulations = 4
            selfplay = { games = 4, batch = 2, bootstrap_games = 4, bootstrap_simulations = 4, random_plies = 2 }
            replay.window = 60
            train = { generations = 3, batch = 8, warmup_steps = 2 }
            arena = { opponent = 'random', opening_plies = 2, games = 2, final_games = 4, simulations = 4, gate = \
            'none' }";
        let config = Config::parse_kept("test", settings, &[]).unwrap();
        assert_eq!(Origin::of(&config).to_string(), "seed 1, settings e5a843397e73ec4d");
    }
}
