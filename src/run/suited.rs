//! Settings that follow from the game: how many actions there are to choose from, how long games last, and how often a
//! small proof settles a position.
//!
//! In: the rules, by which games are played between players who look one action ahead, always the same games. Out: a
//! config of the newest format that has the derived settings in the place of general defaults; a config that names them
//! has the last word. A run writes what it got, so nothing is derived again when it is resumed.

use crate::any::{AnyGame, AnyState, Opened};
use crate::config::{Bootstrap, Config};
use crate::game::{Action, Game, Outcome, Player};
use crate::random::{Purpose, Random, choose, stream};
use crate::solve::{Limits, Solver};

/// Games that are played.
const GAMES: u64 = 64;
/// So many random actions are looked at for one after which the opponent does not win at once.
const TRIES: usize = 8;
/// Positions that a generation should have.
const POSITIONS: f64 = 16_000.0;
/// Games of more plies find no end by themselves: playouts inside a search would be too expensive, and games of
/// those who have learned something are far shorter.
const ENDLESS: f64 = 200.0;
/// How long they are then, as in all variants of Custodial Trap.
const LEARNED: f64 = 50.0;
/// Among more actions the Gumbel root cannot tell those apart that it looks at, unless values weigh as in the paper.
const MANY: f64 = 40.0;
/// The solver is on where it proves at least this share of positions: 0.06 to 0.42 in Connect Four, Phage, Caïssa and Cage
/// up to 8x8; 0.03 in Cage 10x10, 0.02 in Breakthrough, less in Custodial Trap. In
/// Breakthrough a generation takes half as long again with it.
const PROVEN: f64 = 0.05;
/// The solver is asked about one of so many positions, with so many nodes and so much memory.
const ASKED_EACH: usize = 7;
const LEAF_NODES: u64 = 16;
const LIMITS: Limits = Limits { nodes: LEAF_NODES, table: 1 << 20 };
/// What the Gumbel root needs at least, and how many simulations each action adds.
const SIMULATIONS: (f64, f64) = (24.0, 0.3);

/// What games are like between players who see what wins at once, for them and for the opponent, and otherwise play at
/// random.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Nature {
    /// Legal actions of a position, on average.
    pub actions: f64,
    /// Actions of a game, on average.
    pub plies: f64,
    /// Share of positions that a solver proves with as many nodes as it has at a leaf.
    pub proven: f64,
}

impl Nature {
    /// Plays the games, always the same ones.
    pub fn of(game: &AnyGame) -> Nature {
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
        Nature {
            actions: share(actions, plies),
            plies: plies as f64 / GAMES as f64,
            proven: share(proven, asked),
        }
    }
}

/// An action that wins at once; else the first of some random ones after which the opponent does not.
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

/// The settings for `rules` where a config says nothing, and what they were derived from.
pub fn suited(rules: &Opened) -> (Config, Nature) {
    let nature = Nature::of(&rules.game);
    let mut config = Config::new(&*rules.identity.id);
    config.game.options = rules.identity.options.clone();
    suit(&mut config, nature);
    (config, nature)
}

/// The derived settings.
///
/// - `search.simulations`: more where there are more actions; `search.gumbel_scale`: the paper's where there are many.
/// - `search.leaf_nodes`, `selfplay.solve_nodes`: none where so few nodes hardly ever prove anything.
/// - `selfplay.games`: as many as make some 16,000 positions; fewer, longer games make a few more.
/// - `selfplay.random_plies`: a fifth of a game, at most 12; `temperature_plies`: two fifths, from 8 to 40.
/// - `selfplay.bootstrap`: playouts, unless games find no end; then random games themselves, which are soon forgotten
///   (`replay.window`, `train.samples_per_position`).
/// - `replay.value_decay`: the outcome of a long game says little of its beginning.
/// - `arena.games`, `final_games`, `ladder_games`, `opponent`: fewer where a game, or a playout, takes longer.
fn suit(config: &mut Config, Nature { actions, plies: measured, proven }: Nature) {
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
        // at less, 16 of so many actions are told apart by values that few simulations made
        config.search.gumbel_scale = 1.0;
    }
    selfplay.games = shards(plies);
    selfplay.bootstrap_games = shards(measured);
    selfplay.random_plies = (plies / 5.0).min(12.0) as usize;
    selfplay.temperature_plies = (plies * 2.0 / 5.0).clamp(8.0, 40.0) as usize;
    if is_endless {
        // it evaluates the root, so every action is drawn with the same probability
        (selfplay.bootstrap, selfplay.bootstrap_simulations) = (Bootstrap::Uniform, 1);
        // random games are many positions, and are wrong as soon as something is learned
        (config.train.samples_per_position, config.replay.window) = (2.0, 60_000);
    }
    // to two digits
    config.replay.value_decay = ((1.2 / plies).clamp(0.02, 0.1) * 100.0).round() as f32 / 100.0;
    let arena = &mut config.arena;
    arena.games = even(1_000.0 / measured, 4, 20);
    arena.final_games = 5 * arena.games;
    arena.ladder_games = even(1_000.0 / measured, 6, 20);
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
            // what was derived holds in a file, too
            assert_eq!(Config::parse("a run", &config.to_toml(), &[]).unwrap(), config, "{id}");
            config.check().unwrap_or_else(|error| panic!("{id}: {error}"));
        }
    }

    #[test]
    fn extreme_games_get_settings_that_are_permitted() {
        for actions in [1.0, 20.0, 65_536.0] {
            for plies in [1.0, 5.0, 200.0, 201.0, 100_000.0] {
                let mut config = Config::new("x");
                suit(&mut config, Nature { actions, plies, proven: 0.5 });
                config.check().unwrap();
                assert!(config.selfplay.games * plies as usize >= 1000 || plies < 10.0, "{plies}");
            }
        }
    }
}
