//! A custom evaluator: it values positions of Connect Four by the lines that can still become four in a row. It plays a
//! match of paired games against `rollout:400`, and then self-play games, which are written as a shard of records.
//!
//! `cargo run --release --example own_evaluator`

use std::path::Path;

use petteia::arena::contestant::Contestant;
use petteia::arena::spec::AgentSpec;
use petteia::arena::{Match, MatchResult, play_match};
use petteia::config::Config;
use petteia::encode::Planes;
use petteia::error::Result;
use petteia::game::{Game, GameOptions, Rules};
use petteia::games::connect_four::{ConnectFour, State};
use petteia::replay::store::write_shard;
use petteia::search::function::Heuristic;
use petteia::selfplay::starts::Starts;
use petteia::selfplay::{Generation, Monitor, play_shard};

/// The value for the player to move. The first plane of the encoding has this player's men; the second has the
/// opponent's.
fn value(state: &State) -> f32 {
    let (game, worth) = (ConnectFour, [0.0, 0.02, 0.08, 0.3]);
    let (mut planes, mut squares) = (Planes::new(game.shape()), vec![0.0; game.shape().input_len()]);
    game.encode(state, &mut planes);
    planes.expand(&mut squares);
    let mut value = 0.0f32;
    for (step, columns, ranks) in [(1, 0..4, 0..6), (7, 0..7, 0..3), (8, 0..4, 0..3), (6, 3..7, 0..3)] {
        for first in columns.flat_map(|x| ranks.clone().map(move |y| 7 * y + x)) {
            let men =
                |plane: usize| (0..4).map(|n| squares[42 * plane + first + n * step]).sum::<f32>() as usize;
            match (men(0), men(1)) {
                (own, 0) => value += worth[own],
                (0, other) => value -= worth[other],
                _ => {}
            }
        }
    }
    value.tanh()
}

/// Plays a match and self-play, each of this many games with this many simulations per action. Writes the games of
/// self-play to `shard`.
///
/// # Errors
/// If a match cannot be played, or the shard cannot be written.
pub fn play(games: usize, simulations: usize, shard: &Path) -> Result<MatchResult> {
    let rules = Rules::<ConnectFour>::new(&GameOptions::default())?;
    let (game, config) = (&rules.game, Config::new("connect-four"));
    let rows = Contestant::searching(game, "rows", &config.search, simulations, || Heuristic(value));
    let rollout = Contestant::new(&rules, &AgentSpec::Rollout(400))?;
    let plan = Match { games, seed: 1, opening_plies: 4, book: None, sprt: None };
    let result = play_match(game, &plan, [&rows, &rollout], None, |_| true)?;
    let (config, identity, evaluator) = (&config, &rules.identity, "rows".to_string());
    let generation =
        Generation { config, identity, number: 1, games, simulations, evaluator, starts: Starts::default() };
    let monitor = Monitor::default();
    let records = play_shard(game, &generation, 0..games, &mut Heuristic(value), &monitor, &|_| true)?;
    write_shard(shard, &records, None).map(|()| result)
}

#[allow(dead_code, clippy::print_stdout)] // a test includes this file as a module
fn main() -> Result<()> {
    let MatchResult { elo, elo_low, elo_high, .. } = play(200, 400, Path::new("rows.jsonl.zst"))?;
    println!("Elo {elo:+.0} against rollout:400, 95 % bounds {elo_low:+.0?} {elo_high:+.0?}");
    Ok(())
}
