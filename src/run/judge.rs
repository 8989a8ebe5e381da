//! The steps after a checkpoint: the evaluation of its network, and its rating.

use std::time::Instant;

use super::lines::{EvaluationLine, Line};
use super::{Event, Run, rounded};
use crate::any::AnyGame;
use crate::arena::Match;
use crate::arena::agent::Contestant;
use crate::checkpoint::Checkpoint;
use crate::error::Result;
use crate::net::evaluator::SharedNet;
use crate::net::network::Network;
use crate::train::Trainer;

impl Run<'_> {
    /// Carries out the steps after a checkpoint: the evaluation of its network, and its rating.
    pub(super) fn judge(
        &mut self,
        checkpoint: &Checkpoint,
        trainer: &Trainer,
        opponent: &Contestant<AnyGame>,
    ) -> Result<()> {
        self.evaluate(trainer, opponent, checkpoint.manifest.generation)?;
        self.rate(checkpoint)
    }

    /// A network of the run as it plays in its matches.
    pub(super) fn contestant(&self, network: &Network) -> Result<Contestant<AnyGame>> {
        let net = SharedNet::on(network, &self.config.net, self.processor)?;
        let search = self.config.search.one_by_one();
        Ok(Contestant::trained(&self.rules.game, &search, net, self.config.arena.simulations))
    }

    /// Plays the evaluation games of a generation, unless they were played before.
    fn evaluate(&mut self, trainer: &Trainer, opponent: &Contestant<AnyGame>, number: usize) -> Result<()> {
        let settings = &self.config.arena;
        let last = number == self.config.train.generations;
        let games = if last { settings.final_games } else { settings.games };
        if games == 0 || self.metrics.evaluation_of(number).is_some() {
            return Ok(());
        }
        let agent = self.contestant(&trainer.snapshot())?;
        let plan = Match {
            games,
            seed: self.config.seed,
            opening_plies: settings.opening_plies,
            book: None,
            sprt: None,
        };
        let started = Instant::now();
        let result = self.rules.game.play_match(&plan, [&agent, opponent], None, |standing| {
            self.observer.event(Event::Evaluating { standing: *standing, games });
            !self.observer.interrupted()
        })?;
        self.metrics.write(&Line::Evaluation(EvaluationLine {
            generation: number,
            player: number,
            opponent: settings.opponent.clone(),
            simulations: settings.simulations,
            result: &result,
            seconds: rounded(started.elapsed()),
        }))?;
        let opponent = settings.opponent.clone();
        self.observer.event(Event::Evaluated { generation: number, opponent, result: Box::new(result) });
        Ok(())
    }
}
