//! Agents by name, and some whose games are played together as those of networks are.

use petteia::arena::agent::{AgentSpec, Contestant};
use petteia::config::SearchConfig;
use petteia::game::{Game, Rules};
use petteia::search::evaluator::Rollout;

/// The agent of a text; `batches:N` is `rollout:N` that takes its evaluator for one that gains by batches.
pub fn contestant<G: Game>(rules: &Rules<G>, text: &str) -> Contestant<G> {
    let Some(simulations) = text.strip_prefix("batches:") else {
        return Contestant::new(rules, &AgentSpec::parse(text).unwrap()).unwrap();
    };
    let game = rules.game.clone();
    let config = SearchConfig::default().one_by_one();
    Contestant::searching(&rules.game, text, &config, simulations.parse().unwrap(), move || {
        Rollout::new(game.clone())
    })
}
