//! What is played in a generation: the same for the process that trains and for those that only play.
//!
//! Input: settings, the number of the generation, and the network that plays. Output: what self-play needs to play any
//! shard of it. Apart from that network, it follows from the settings and from the games of an earlier generation.

use std::path::Path;

use crate::any::Opened;
use crate::checkpoint::lineage::Lineage;
use crate::config::{Bootstrap, Config, RootKind};
use crate::error::Result;
use crate::game::GameIdentity;
use crate::net::evaluator::SharedNet;
use crate::net::source::Source;
use crate::replay::place::{self, Place, shards_of};
use crate::replay::sample::Replayed;
use crate::replay::store::{self, Shard};
use crate::selfplay::Generation;
use crate::selfplay::starts::Starts;

/// A generation of a run, to be played by a network or, if it is the first, without one.
pub(super) struct Assignment {
    config: Config,
    number: usize,
    pub(super) games: usize,
    simulations: usize,
    /// Who plays, as the records say.
    pub(super) evaluator: String,
    bootstrap: Option<Bootstrap>,
}

impl Assignment {
    /// Generation `number`, played by the network of generation `model`.
    pub(super) fn of(config: &Config, number: usize, model: usize) -> Assignment {
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

    /// The source of evaluations; `net` makes the network if it plays.
    pub(super) fn source(&self, net: impl FnOnce() -> Result<SharedNet>) -> Result<Source> {
        Ok(match self.bootstrap {
            Some(Bootstrap::Rollout) => Source::Rollout,
            Some(Bootstrap::Uniform) => Source::Uniform,
            None => Source::Net(net()?),
        })
    }

    /// The generation, for self-play.
    pub(super) fn generation<'a>(&'a self, identity: &'a GameIdentity, starts: Starts) -> Generation<'a> {
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

/// The shards of a run, as its folder has them.
#[derive(Clone, Copy)]
pub(super) struct Archive<'a> {
    pub(super) rules: &'a Opened,
    pub(super) config: &'a Config,
    pub(super) folder: &'a Path,
    pub(super) lineage: &'a Lineage,
}

impl Archive<'_> {
    /// Reads a shard of this run.
    pub(super) fn read(&self, generation: usize, shard: usize) -> Result<Shard<Replayed>> {
        let path = store::shard_path(self.folder, generation, shard);
        let place = Place::of(self.lineage.config_of(generation, self.config), generation, shard);
        store::read_samples(&path, self.rules, place.as_ref())
    }

    /// The positions where the games of generation `number` begin: drawn from the games of generation `from`, except
    /// for shards that were given up.
    pub(super) fn starts(
        &self,
        number: usize,
        from: usize,
        is_given_up: impl Fn(&str) -> bool,
    ) -> Result<Starts> {
        let settings = &self.config.selfplay;
        if settings.restart_share + settings.fork_share == 0.0 || from < 1 {
            return Ok(Starts::default());
        }
        let shards = (0..shards_of(self.lineage.config_of(from, self.config), from))
            .filter(|index| !is_given_up(&store::shard_name(from, *index)))
            .map(|index| self.read(from, index))
            .collect::<Result<Vec<_>>>()?;
        let games = place::games_of(self.config, number).0;
        Starts::draw(self.rules, self.config, (self.config.seed, number, games), &shards)
    }
}

/// The settings for games played before there is a network.
pub(crate) fn bootstrap_config(config: &Config, kind: Bootstrap) -> Config {
    let mut config = config.clone();
    // these simulations are cheap, and priors that know nothing cannot be surprised
    config.selfplay.fast_simulations = 0;
    config.selfplay.surprise_weight = 0.0;
    // a solver at a leaf takes several times as long as a playout from it
    config.search.leaf_nodes = 0;
    // without a network there are no values that a Gumbel root could rely on
    config.search.root = RootKind::Puct;
    if kind == Bootstrap::Rollout {
        // with equal priors and noisy playouts, root noise would drown the policy targets
        config.search.noise_fraction = 0.0;
    }
    config
}
