//! `petteia bench signature`: computes a number that changes if the search's behavior changes.

use crate::any::AnyGame;
use crate::config::SearchConfig;
use crate::error::Result;
use crate::game::{Game, Settings};
use crate::random::{Purpose, choose, stream};
use crate::registry::Catalog;
use crate::search::Search;
use crate::search::evaluator::{Evaluator, Rollout, Uniform};

/// The games that are searched. The list is fixed, because adding a game to the program must not change the signature.
const GAMES: [&str; 11] = [
    "cage",
    "cage-8",
    "cage-6",
    "cage-4",
    "caissa",
    "custodial-trap-intro",
    "custodial-trap-intermediate",
    "custodial-trap-advanced",
    "phage",
    "connect-four",
    "tic-tac-toe",
];
const POSITIONS: u64 = 8;
const SIMULATIONS: usize = 300;

/// Returns a hash of the visits in fixed searches of [`GAMES`]. A program without these games uses its own games.
pub(super) fn signature(games: Catalog) -> Result<u64> {
    let mut ids = games.ids();
    if GAMES.iter().all(|id| ids.iter().any(|known| known == id)) {
        ids = GAMES.map(String::from).into();
    }
    let mut signature = 0;
    for id in ids {
        signature = with_visits(signature, &games.open(&id, &Settings::default())?.game)?;
    }
    Ok(signature)
}

fn with_visits(mut signature: u64, game: &AnyGame) -> Result<u64> {
    for position in 0..POSITIONS {
        let mut random = stream(1, Purpose::Opening, &[position]);
        let mut state = game.initial();
        for _ in 0..position {
            if game.outcome(&state).is_some() {
                break;
            }
            let action = choose(&mut random, &game.legal(&state));
            game.play(&mut state, action);
        }
        let evaluators: [Box<dyn Evaluator<AnyGame>>; 2] =
            [Box::new(Uniform), Box::new(Rollout::new(game.clone()))];
        for mut evaluator in evaluators {
            let mut search = Search::new(game.clone(), SearchConfig::default().one_by_one(), state.clone());
            search.run(evaluator.as_mut(), SIMULATIONS, &mut random)?;
            for edge in search.tree().root_edges() {
                signature = (signature ^ edge.visits as u64 ^ (edge.action.0 as u64) << 32)
                    .wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    Ok(signature)
}
