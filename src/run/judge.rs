//! The steps after a checkpoint: the gate's decision about it, and the evaluation of the network that represents the
//! run.

use std::time::Instant;

use super::lines::{EvaluationLine, GateLine, Line};
use super::{Event, Run, gate, rounded};
use crate::any::AnyGame;
use crate::arena::Match;
use crate::arena::agent::Contestant;
use crate::checkpoint::{self, Checkpoint};
use crate::config::GateKind;
use crate::error::Result;
use crate::net::evaluator::SharedNet;
use crate::net::network::Network;
use crate::train::Trainer;

impl Run<'_> {
    /// The network that plays, and its generation: the champion if there is a gate, otherwise the `newest`.
    pub(super) fn player(&self, trainer: &Trainer, newest: usize) -> Result<(usize, Network)> {
        let champion = match self.config.arena.gate {
            GateKind::None => None,
            GateKind::Sprt => checkpoint::champion(self.folder)?,
        };
        match champion {
            Some(champion) => Ok((champion.manifest.generation, champion.network()?)),
            None => Ok((newest, trainer.snapshot())),
        }
    }

    /// Carries out the steps after a checkpoint: the gate, the evaluation of the network that represents the run, and
    /// its rating.
    pub(super) fn judge(
        &mut self,
        checkpoint: &Checkpoint,
        trainer: &Trainer,
        opponent: &Contestant<AnyGame>,
    ) -> Result<()> {
        let number = checkpoint.manifest.generation;
        let changed = match self.config.arena.gate {
            GateKind::None => true,
            GateKind::Sprt => self.gate(checkpoint)?,
        };
        // an unchanged champion would only play the same games again
        if changed || number == self.config.train.generations {
            self.evaluate(trainer, opponent, number)?;
        }
        self.rate(checkpoint)
    }

    /// Plays the gate's match, and returns whether the checkpoint is the champion now.
    fn gate(&mut self, checkpoint: &Checkpoint) -> Result<bool> {
        let number = checkpoint.manifest.generation;
        let games = self.config.arena.gate_games;
        let started = Instant::now();
        let decision =
            gate::decide(self.rules, self.config, self.processor, self.folder, checkpoint, |standing| {
                self.observer.event(Event::Gating { standing: *standing, games });
                !self.observer.interrupted()
            })?;
        let promoted = decision.promoted;
        if self.metrics.history().last_gate != Some(number) {
            self.metrics.write(&Line::Gate(GateLine {
                generation: number,
                promoted,
                champion: decision.champion,
                result: decision.result.as_ref(),
                seconds: rounded(started.elapsed()),
            }))?;
            self.observer.event(Event::Gated { generation: number, decision: Box::new(decision) });
        }
        Ok(promoted)
    }

    /// Plays the evaluation games of a generation, unless they were played before.
    fn evaluate(&mut self, trainer: &Trainer, opponent: &Contestant<AnyGame>, number: usize) -> Result<()> {
        let settings = &self.config.arena;
        let last = number == self.config.train.generations;
        let games = if last { settings.final_games } else { settings.games };
        if games == 0 || self.metrics.evaluation_of(number).is_some() {
            return Ok(());
        }
        let (player, network) = self.player(trainer, number)?;
        let net = SharedNet::on(&network, &self.config.net, self.processor)?;
        let agent = Contestant::trained(
            &self.rules.game,
            &self.config.search.one_by_one(),
            net,
            settings.simulations,
        );
        let plan = Match { games, seed: self.config.seed, opening_plies: settings.opening_plies, sprt: None };
        let started = Instant::now();
        let result = self.rules.game.play_match(&plan, [&agent, opponent], None, |standing| {
            self.observer.event(Event::Evaluating { standing: *standing, games });
            !self.observer.interrupted()
        })?;
        self.metrics.write(&Line::Evaluation(EvaluationLine {
            generation: number,
            player,
            opponent: settings.opponent.clone(),
            simulations: settings.simulations,
            result: &result,
            seconds: rounded(started.elapsed()),
        }))?;
        let opponent = settings.opponent.clone();
        self.observer.event(Event::Evaluated { generation: player, opponent, result: Box::new(result) });
        Ok(())
    }
}
