//! Determines what is played in a generation. The learner and the workers get the same answer.
//!
//! Input: the settings, the number of the generation, and the network that plays. Output: everything that self-play
//! needs to play any shard of the generation. Apart from the network, all of this follows from the settings and from
//! the games of an earlier generation.

use crate::config::{Bootstrap, Config, RootKind};
use crate::error::Result;
use crate::game::GameIdentity;
use crate::net::evaluator::SharedNet;
use crate::net::source::Source;
use crate::replay::place;
use crate::selfplay::Generation;
use crate::selfplay::starts::Starts;

/// A generation to be played by a network or, if it is the first, without one.
pub(in crate::run) struct Assignment {
    config: Config,
    number: usize,
    /// The number of games in the generation.
    pub(in crate::run) games: usize,
    simulations: usize,
    /// What evaluates positions, as written in the records.
    pub(in crate::run) evaluator: String,
    bootstrap: Option<Bootstrap>,
}

impl Assignment {
    /// Assigns generation `number` to the network of generation `model`.
    pub(in crate::run) fn of(config: &Config, number: usize, model: usize) -> Assignment {
        let (games, simulations) = place::games_of(config, number);
        let bootstrap = place::is_bootstrap(config, number).then_some(config.selfplay.bootstrap);
        let evaluator = match bootstrap {
            None => format!("generation {model}"),
            Some(Bootstrap::Rollout) => format!("rollout:{simulations}"),
            Some(Bootstrap::Uniform) => format!("uniform:{simulations}"),
        };
        let config = bootstrap.map_or(config.clone(), |kind| bootstrap_config(config, kind));
        Assignment { config, number, games, simulations, evaluator, bootstrap }
    }

    /// Returns the source of evaluations; `net` makes the network if one plays.
    pub(in crate::run) fn source(&self, net: impl FnOnce() -> Result<SharedNet>) -> Result<Source> {
        Ok(match self.bootstrap {
            Some(Bootstrap::Rollout) => Source::Rollout,
            Some(Bootstrap::Uniform) => Source::Uniform,
            None => Source::Net(net()?),
        })
    }

    /// Describes the generation for self-play.
    pub(in crate::run) fn generation<'a>(
        &'a self,
        identity: &'a GameIdentity,
        starts: Starts,
    ) -> Generation<'a> {
        let Assignment { config, number, games, simulations, evaluator, .. } = self;
        Generation {
            config,
            identity,
            number: *number,
            games: *games,
            simulations: *simulations,
            evaluator: evaluator.clone(),
            starts,
        }
    }
}

/// Returns the settings for games that are played before there is a network.
pub(crate) fn bootstrap_config(config: &Config, kind: Bootstrap) -> Config {
    let mut config = config.clone();
    // simulations without a network are cheap, so no search makes fewer; and uninformed priors cannot be surprised
    config.selfplay.fast_simulations = 0;
    config.selfplay.surprise_weight = 0.0;
    // a solver at a leaf takes several times as long as a playout from it
    config.search.leaf_nodes = 0;
    // a Gumbel root relies on values, which only a network gives
    config.search.root = RootKind::Puct;
    if kind == Bootstrap::Rollout {
        // with equal priors and noisy playouts, root noise would drown the policy targets
        config.search.noise_fraction = 0.0;
    }
    config
}
