//! Derives settings from the game: from the number of legal actions, the length of games, and how often a small proof
//! settles a position.
//!
//! Input: the rules. The numbers come from games between players who look one action ahead; the games are the same
//! each time. Output: a config of the newest format with the derived settings in place of the general defaults.
//! Settings in a user's config take precedence. A run records its settings, so nothing is derived again when it is
//! resumed.

use crate::any::{AnyGame, AnyState, Opened};
use crate::config::{Bootstrap, CONFIG_FORMAT, Config, GameConfig};
use crate::game::{Action, Game, Outcome, Player};
use crate::random::{Purpose, Random, choose, stream};
use crate::solve::{Limits, Solver};

/// The number of games played.
const GAMES: u64 = 64;
/// The largest number of random actions that a player tries in order to find one after which the opponent cannot win at
/// once.
const TRIES: usize = 8;
/// The number of positions that a generation should have.
const POSITIONS: f64 = 16_000.0;
/// The mean length of random games, in plies, above which they hardly end by themselves. Playouts inside a search would
/// then be too expensive, and trained players finish far sooner.
const ENDLESS: f64 = 200.0;
/// The assumed length of a game between trained players, in plies, if random games are longer than [`ENDLESS`]. Games
/// of Custodial Trap have about this length in all variants.
const LEARNED: f64 = 50.0;
/// The number of actions above which the Gumbel root cannot distinguish the actions that it considers, unless values
/// weigh as much as in the paper.
const MANY: f64 = 40.0;
/// The solver is used if it proves at least this share of positions. The share is 0.06 to 0.42 in Connect Four, Phage,
/// Caïssa, and Cage up to 8x8; 0.03 in Cage 10x10, 0.02 in Breakthrough, and less in Custodial Trap. In Breakthrough,
/// a generation takes 1.5 times as long with the solver.
const PROVEN: f64 = 0.05;
/// The solver is asked about one in this many positions.
const ASKED_EACH: usize = 7;
/// The solver's budget for a position, in nodes.
const LEAF_NODES: u64 = 16;
/// The limits of the solver.
const LIMITS: Limits = Limits { nodes: LEAF_NODES, table: 1 << 20 };
/// The number of generations up to which a run is short: its time is too short for more than a small network.
pub(crate) const SHORT: usize = 20;
/// The filters and blocks of the network of a longer run.
const LARGER: (usize, usize) = (32, 4);
/// The share of a run's work that goes into matches after generations. The matches at its end get as much again, in a
/// run of [`USUAL`] generations.
const MATCHES: f64 = 0.025;
/// The number of generations of a usual run.
const USUAL: f64 = SHORT as f64;
/// The work of training on a sample, in simulations of self-play.
const SAMPLE: f64 = 6.0;
/// The work of a ply of a match, in simulations of self-play: one game of the rating and one of the evaluation have two
/// players with 100 simulations, and one with half as many, whose opponent is cheaper. A simulation of a match takes
/// 0.6 times as long as one of self-play, whose solver looks further.
const PLY_OF_MATCHES: f64 = 105.0;
/// The smallest number of simulations of the Gumbel root, and the number that each action adds.
const SIMULATIONS: (f64, f64) = (24.0, 0.3);

/// Averages over games between players who see their own and the opponent's immediate wins, and otherwise play at
/// random.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct GameNature {
    /// The average number of legal actions in a position.
    pub actions: f64,
    /// The average number of actions in a game.
    pub plies: f64,
    /// The share of positions that a solver proves with the node budget that it has at a leaf.
    pub proven: f64,
}

impl GameNature {
    /// Plays the games, always the same ones.
    pub fn of(game: &AnyGame) -> GameNature {
        let (mut legal, mut actions, mut plies) = (Vec::new(), 0, 0);
        let (mut solver, mut asked, mut proven) = (Solver::new(game.clone(), LIMITS), 0, 0);
        for number in 0..GAMES {
            let (mut state, mut random) = (game.initial(), stream(0, Purpose::Start, &[number]));
            loop {
                game.legal_actions(&state, &mut legal);
                if legal.is_empty() {
                    break;
                }
                (actions, plies) = (actions + legal.len(), plies + 1);
                if plies % ASKED_EACH == 0 {
                    asked += 1;
                    proven += usize::from(solver.probe(&state, LEAF_NODES).is_some());
                }
                let action = one_ahead(game, &state, &legal, &mut random);
                game.play(&mut state, action);
            }
        }
        let share = |part: usize, whole: usize| part as f64 / f64::max(whole as f64, 1.0);
        GameNature {
            actions: share(actions, plies),
            plies: plies as f64 / GAMES as f64,
            proven: share(proven, asked),
        }
    }
}

/// Returns an action that wins at once. If there is none, returns a random action; a few tries look for one after which
/// the opponent cannot win at once.
fn one_ahead(game: &AnyGame, state: &AnyState, legal: &[Action], random: &mut Random) -> Action {
    let mover = game.to_move(state);
    let after = |state: &AnyState, action: Action| {
        let mut next = state.clone();
        game.play(&mut next, action);
        next
    };
    let wins = |state: &AnyState, legal: &[Action], player: Player| {
        let won = Some(Outcome::Win(player));
        legal.iter().copied().find(|action| game.outcome(&after(state, *action)) == won)
    };
    if let Some(action) = wins(state, legal, mover) {
        return action;
    }
    let mut action = choose(random, legal);
    for _ in 1..TRIES {
        let next = after(state, action);
        let other = game.to_move(&next);
        if other == mover || wins(&next, &game.legal(&next), other).is_none() {
            break;
        }
        action = choose(random, legal);
    }
    action
}

/// Returns the settings for `rules` that apply where a config of the newest format does not set them, and the
/// measurements from which they are derived.
pub fn suited(rules: &Opened) -> (Config, GameNature) {
    suited_in(CONFIG_FORMAT, SHORT, rules)
}

/// Returns the settings of a format, from 2 on, like [`suited`], for a run of this number of generations: a longer run
/// has a larger network.
pub(crate) fn suited_in(format: u32, generations: usize, rules: &Opened) -> (Config, GameNature) {
    let nature = GameNature::of(&rules.game);
    let (id, options) = (rules.identity.id.clone(), rules.identity.options.clone());
    let mut config = Config::of_format(format, GameConfig { id, options });
    if format > 2 && generations > SHORT {
        (config.net.filters, config.net.blocks) = LARGER;
    }
    suit(&mut config, nature);
    (config, nature)
}

/// Derives the settings.
///
/// - `search.simulations`: more if there are more actions; `search.gumbel_scale`: the paper's value if there are many
///   actions.
/// - `search.leaf_nodes`, `selfplay.solve_nodes`: 0 if a few nodes hardly ever prove anything.
/// - `selfplay.games`: enough for about 16,000 positions; somewhat more positions if games are long.
/// - `selfplay.random_plies`: a fifth of a game, at most 12; `temperature_plies`: two fifths, from 8 to 40.
/// - `selfplay.bootstrap`: playouts, unless random games hardly end; then random games, which are soon dropped
///   (`replay.window`, `train.samples_per_position`).
/// - `replay.value_decay`: higher for short games; the outcome of a long game says little about its beginning.
/// - `arena.games`, `ladder_games`, `final_games`: fewer games if games are longer; `every`: such that matches take
///   about a twentieth of a run, half of it at the end; `opponent`: a weaker one if random games hardly end.
fn suit(config: &mut Config, GameNature { actions, plies: measured, proven }: GameNature) {
    let even = |number: f64, low: usize, high: usize| (number as usize / 2 * 2).clamp(low, high);
    let shards = |plies: f64| (POSITIONS / plies / 64.0).round().clamp(2.0, 16.0) as usize * 64;
    let is_endless = measured > ENDLESS;
    let plies = if is_endless { LEARNED } else { measured };
    let (least, each) = SIMULATIONS;
    config.search.simulations = even(least + each * actions, 32, 64);
    let selfplay = &mut config.selfplay;
    if proven < PROVEN {
        (config.search.leaf_nodes, selfplay.solve_nodes) = (0, 0);
    }
    if actions > MANY {
        // with a smaller scale, values of few simulations weigh too little to distinguish the 16 actions considered
        config.search.gumbel_scale = 1.0;
    }
    selfplay.games = shards(plies);
    selfplay.bootstrap_games = shards(measured);
    selfplay.random_plies = (plies / 5.0).min(12.0) as usize;
    selfplay.temperature_plies = (plies * 2.0 / 5.0).clamp(8.0, 40.0) as usize;
    if is_endless {
        // a single simulation evaluates the root only, so every action is drawn with the same probability
        (selfplay.bootstrap, selfplay.bootstrap_simulations) = (Bootstrap::Uniform, 1);
        // random games have many positions, which mislead the network as soon as it has learned something
        (config.train.samples_per_position, config.replay.window) = (2.0, 60_000);
    }
    // rounded to two decimal places
    config.replay.value_decay = ((1.2 / plies).clamp(0.02, 0.1) * 100.0).round() as f32 / 100.0;
    let work = POSITIONS
        * (config.search.simulations as f64 + SAMPLE * f64::from(config.train.samples_per_position));
    let is_second = config.format() == 2;
    let arena = &mut config.arena;
    if is_second {
        arena.games = even(1_000.0 / measured, 4, 20);
        arena.final_games = 5 * arena.games;
        arena.ladder_games = even(1_000.0 / measured, 6, 20);
    } else {
        let cost = PLY_OF_MATCHES * plies;
        arena.games = even(400.0 / plies, 4, 10);
        arena.ladder_games = arena.games;
        arena.every = (arena.games as f64 * cost / (MATCHES * work)).round().clamp(1.0, USUAL / 2.0) as usize;
        arena.final_games = even(MATCHES * USUAL * work / cost, 20, 100);
    }
    arena.opponent = if is_endless { "rollout:100" } else { "rollout:400" }.into();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games::Games;
    use crate::options::Settings;
    use crate::registry::Registry;

    #[test]
    fn every_game_gets_settings_that_are_permitted() {
        for id in Games::ids() {
            let rules = Games::open(&id, &Settings::new()).unwrap();
            let (config, nature) = suited(&rules);
            assert_eq!((config.clone(), nature), suited(&rules), "the games are always the same");
            assert!(
                nature.actions >= 1.0 && nature.plies <= rules.game.max_plies() as f64,
                "{id}: {nature:?}"
            );
            // derived settings must be accepted in a file, too
            assert_eq!(Config::parse("a run", &config.to_toml(), &[]).unwrap(), config, "{id}");
            config.check().unwrap_or_else(|error| panic!("{id}: {error}"));
        }
    }

    #[test]
    fn extreme_games_get_settings_that_are_permitted() {
        for actions in [1.0, 20.0, 65_536.0] {
            for plies in [1.0, 5.0, 200.0, 201.0, 100_000.0] {
                let mut config = Config::new("x");
                suit(&mut config, GameNature { actions, plies, proven: 0.5 });
                config.check().unwrap();
                assert!(config.selfplay.games * plies as usize >= 1000 || plies < 10.0, "{plies}");
            }
        }
    }

    #[test]
    fn a_config_of_format_2_keeps_its_matches() {
        let rules = Games::open("phage", &Settings::new()).unwrap();
        let [second, newest] = [2, CONFIG_FORMAT].map(|format| suited_in(format, SHORT, &rules).0);
        assert_eq!((second.arena.every, second.arena.games, second.arena.final_games), (1, 20, 100));
        assert!(newest.arena.every > 1, "{:?}", newest.arena);
        assert_eq!(second.search.simulations, newest.search.simulations);
    }

    #[test]
    fn a_longer_run_has_a_larger_network() {
        let rules = Games::open("tic-tac-toe", &Settings::new()).unwrap();
        let size = |format, generations| {
            let net = suited_in(format, generations, &rules).0.net;
            (net.filters, net.blocks)
        };
        assert_eq!([size(3, 2), size(3, SHORT), size(3, SHORT + 1)], [(16, 3), (16, 3), LARGER]);
        assert_eq!([size(2, 2), size(2, 100)], [LARGER; 2], "format 2 has one size");
    }

    #[test]
    fn matches_take_a_small_part_of_a_run() {
        for (plies, proven) in [(9.0, 0.4), (39.0, 0.15), (75.0, 0.19), (150.0, 0.0), (400.0, 0.0)] {
            let mut config = Config::new("x");
            suit(&mut config, GameNature { actions: 20.0, plies, proven });
            let generations = config.train.generations;
            let judged: Vec<usize> = (1..=generations).filter(|number| config.has_matches(*number)).collect();
            assert_eq!(judged.last(), Some(&generations));
            assert!(judged.len() > 1 || generations == 1, "a run shows its progress: {config:?}");
            let games = |number: &usize| {
                let last = if *number == generations { config.arena.final_games } else { 0 };
                (config.evaluation_games(*number) + config.rating_games(*number) + last) as f64
            };
            let plies = if plies > ENDLESS { LEARNED } else { plies };
            let matches: f64 = judged.iter().map(games).sum::<f64>() * plies * PLY_OF_MATCHES / 2.0;
            let positions = config.selfplay.games as f64 * plies * generations as f64;
            let simulations = config.search.simulations as f64;
            let work = positions * (simulations + SAMPLE * f64::from(config.train.samples_per_position));
            assert!(matches < 0.1 * work, "{plies}: {matches} of {work}");
        }
    }
}
