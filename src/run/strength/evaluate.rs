//! The evaluation of a generation: a match against the opponent that the settings name.

use super::judge::Judge;
use crate::arena::{Match, MatchResult};
use crate::checkpoint::Checkpoint;
use crate::error::Result;
use crate::run::event::Event;
use crate::run::metrics::lines::EvaluationLine;
use crate::run::metrics::stopwatch::PartTimer;

impl Judge<'_> {
    /// Plays the evaluation games of a generation; `None` if the settings ask for none.
    pub(super) fn evaluation(&self, checkpoint: &Checkpoint) -> Result<Option<EvaluationLine<MatchResult>>> {
        let (settings, number) = (&self.config.arena, checkpoint.manifest.generation);
        let games = self.config.evaluation_games(number);
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
        let watch = PartTimer::start();
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
