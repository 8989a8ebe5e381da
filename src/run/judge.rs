//! The games that say how strong a generation is: against the opponent of the evaluation, and against earlier
//! generations ([`rate`](super::rate)). No weight depends on them, so any process can play them.

use std::path::Path;

use serde_json::Value;

use super::ladder::Games;
use super::lines::{EvaluationLine, Line};
use super::stopwatch::Stopwatch;
use super::{Event, Observer};
use crate::any::{AnyGame, Opened};
use crate::arena::contestant::Contestant;
use crate::arena::spec::AgentSpec;
use crate::arena::{Match, MatchResult};
use crate::checkpoint::Checkpoint;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::net::device::Processor;
use crate::net::evaluator::SharedNet;
use crate::net::network::Network;

/// Who judges the generations of a run.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) rules: &'a Opened,
    pub(super) config: &'a Config,
    pub(super) folder: &'a Path,
    pub(super) processor: &'a Processor,
    pub(super) opponent: &'a Contestant<AnyGame>,
    pub(super) observer: &'a dyn Observer,
}

/// The opponent of a run's evaluation.
pub(super) fn opponent(rules: &Opened, config: &Config) -> Result<Contestant<AnyGame>> {
    AgentSpec::parse(&config.arena.opponent)
        .and_then(|spec| Contestant::new(rules, &spec))
        .map_err(|e| Error::Config(format!("arena.opponent: {e}")))
}

impl Judge<'_> {
    /// A network of the run as it plays in its matches.
    pub(super) fn contestant(&self, network: &Network) -> Result<Contestant<AnyGame>> {
        let net = SharedNet::on(network, &self.config.net, self.processor)?;
        let search = self.config.search.one_by_one();
        Ok(Contestant::trained(&self.rules.game, &search, net, self.config.arena.simulations))
    }

    /// Plays the games that a generation lacks: of its evaluation, unless `has_evaluation`, and of its rating. Each line
    /// for the metrics is given to `keep` as soon as its games are over; `games` are those of the run before.
    pub(super) fn judge(
        &self,
        checkpoint: &Checkpoint,
        [has_evaluation, has_rating]: [bool; 2],
        games: &Games,
        keep: &mut dyn FnMut(Value) -> Result<()>,
    ) -> Result<()> {
        let mut games = games.clone();
        if !has_evaluation && let Some(line) = self.evaluation(checkpoint)? {
            let line = serde_json::to_value(Line::Evaluation(line)).expect("a line is valid JSON");
            if let Ok(Some(Line::Evaluation(line))) = Line::read(line.to_string().as_bytes()) {
                games.evaluation(line);
            }
            keep(line)?;
        }
        if !has_rating && let Some(line) = self.rating(checkpoint, &games)? {
            let line: Line<MatchResult> = Line::Ladder(line);
            keep(serde_json::to_value(line).expect("a line is valid JSON"))?;
        }
        Ok(())
    }

    /// Plays the evaluation games of a generation; `None` if there are none.
    fn evaluation(&self, checkpoint: &Checkpoint) -> Result<Option<EvaluationLine<MatchResult>>> {
        let (settings, number) = (&self.config.arena, checkpoint.manifest.generation);
        let last = number == self.config.train.generations;
        let games = if last { settings.final_games } else { settings.games };
        if games == 0 {
            return Ok(None);
        }
        let agent = self.contestant(&checkpoint.network()?)?;
        let plan = Match {
            games,
            seed: self.config.seed,
            opening_plies: settings.opening_plies,
            book: None,
            sprt: None,
        };
        let watch = Stopwatch::start();
        let result = self.rules.game.play_match(&plan, [&agent, self.opponent], None, |standing| {
            self.observer.event(Event::Evaluating { standing: *standing, games });
            !self.observer.interrupted()
        })?;
        let took = watch.took();
        Ok(Some(EvaluationLine {
            generation: number,
            player: number,
            opponent: settings.opponent.clone(),
            simulations: settings.simulations,
            result,
            seconds: took.seconds(),
            cpu_seconds: took.cpu_seconds(),
        }))
    }
}
