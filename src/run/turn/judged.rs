//! The judgment of generations: by this process, or by workers for which it waits.

use std::thread;
use std::time::Instant;

use serde_json::Value;

use super::run::{Role, Run};
use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result};
use crate::run::event::Event;
use crate::run::metrics::lines::Line;
use crate::run::strength::judge::Judge;
use crate::run::work::judging::Judged;
use crate::run::work::pause::BETWEEN_REPORTS;
use crate::storage;

impl Run<'_> {
    /// Evaluates and rates the generation of a checkpoint, unless that was done before. If workers judge, takes in the
    /// judgments that are available.
    pub(super) fn judge(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let number = checkpoint.manifest.generation;
        if self.role == Role::Learner {
            let games = self.config.evaluation_games(number) + self.config.rating_games(number);
            if games > 0 && self.metrics.judged(number) == [false; 2] {
                self.unjudged.insert(number);
            }
            return self.absorb_judged().map(|_| ());
        }
        let judge = Judge {
            rules: self.rules,
            config: self.config,
            folder: self.folder,
            processor: self.processor,
            opponent: self.opponent,
            observer: self.observer,
        };
        let (has, games) = (self.metrics.judged(number), self.metrics.games().clone());
        judge.judge(checkpoint, has, &games, &mut |line| self.add_judged(number, line))
    }

    /// Adds a line of a judge to the metrics, and reports its result.
    fn add_judged(&mut self, number: usize, line: Value) -> Result<()> {
        let is_evaluation = line["kind"] == "evaluation";
        self.metrics.add(line)?;
        if is_evaluation && let Some((opponent, result)) = self.metrics.evaluation_of(number) {
            self.observer.event(Event::Evaluated { generation: number, opponent, result: Box::new(result) });
        } else if let Some(rating) = self.metrics.games().rating(&self.config.arena.opponent, number) {
            self.observer.event(Event::Rated(Box::new(rating)));
        }
        Ok(())
    }

    /// Adds the judgments of workers to the metrics, and returns the number of generations that still wait for one.
    fn absorb_judged(&mut self) -> Result<usize> {
        for number in self.unjudged.clone() {
            let Some(judged) = Judged::read(self.folder, number)? else { continue };
            let [evaluated, rated] = self.metrics.judged(number);
            for line in judged.lines {
                let is_wanted = match Line::read(line.to_string().as_bytes()) {
                    Ok(Some(Line::Evaluation(line))) => !evaluated && line.generation == number,
                    Ok(Some(Line::Ladder(line))) => !rated && line.generation == number,
                    _ => false,
                };
                if is_wanted {
                    self.add_judged(number, line)?;
                }
            }
            self.unjudged.remove(&number);
        }
        Ok(self.unjudged.len())
    }

    /// Waits until workers have judged all generations.
    pub(super) fn await_judges(&mut self) -> Result<()> {
        let mut reported = Instant::now();
        while self.absorb_judged()? > 0 {
            if self.observer.interrupted() {
                return Err(Error::Interrupted);
            }
            if reported.elapsed() >= BETWEEN_REPORTS {
                reported = Instant::now();
                let numbers: Vec<String> = self.unjudged.iter().map(usize::to_string).collect();
                self.observer.event(Event::Waiting(format!(
                    "everything is trained; a worker still has to judge generation {}",
                    numbers.join(", ")
                )));
            }
            self.held.check()?;
            thread::sleep(storage::between_looks(self.folder));
        }
        Ok(())
    }
}
