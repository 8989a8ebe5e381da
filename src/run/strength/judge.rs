//! A judge and its players: networks of the run, and the opponent of the evaluation.

use std::path::Path;

use crate::any::{AnyGame, Opened};
use crate::arena::contestant::Contestant;
use crate::arena::spec::AgentSpec;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::net::device::Processor;
use crate::net::evaluator::SharedNet;
use crate::net::network::Network;
use crate::run::event::Observer;

/// Judges the generations of a run.
#[derive(Clone, Copy)]
pub(in crate::run) struct Judge<'a> {
    pub(in crate::run) rules: &'a Opened,
    pub(in crate::run) config: &'a Config,
    pub(in crate::run) folder: &'a Path,
    pub(in crate::run) processor: &'a Processor,
    pub(in crate::run) opponent: &'a Contestant<AnyGame>,
    pub(in crate::run) observer: &'a dyn Observer,
}

/// Loads the opponent of a run's evaluation.
pub(in crate::run) fn opponent(rules: &Opened, config: &Config) -> Result<Contestant<AnyGame>> {
    AgentSpec::parse(&config.arena.opponent)
        .and_then(|spec| Contestant::new(rules, &spec))
        .map_err(|e| Error::Config(format!("arena.opponent: {e}")))
}

impl Judge<'_> {
    /// Makes a player of a network of the run.
    pub(super) fn contestant(&self, network: &Network) -> Result<Contestant<AnyGame>> {
        let net = SharedNet::on(network, &self.config.net, self.processor)?;
        let search = self.config.search.one_by_one();
        Ok(Contestant::trained(&self.rules.game, &search, net, self.config.arena.simulations))
    }
}
