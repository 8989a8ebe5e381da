//! Agents by name, including agents whose games are played together, like those of networks.

use petteia::arena::contestant::Contestant;
use petteia::arena::spec::AgentSpec;
use petteia::config::SearchConfig;
use petteia::game::{Game, Rules};
use petteia::search::evaluator::Rollout;

/// The agent that a text describes; `batches:N` is `rollout:N` with an evaluator that claims to gain from batches.
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
