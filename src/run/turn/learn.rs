//! The gradient steps of a generation.
//!
//! Input: the window. Output: a trainer that has made the steps, and lines of metrics. A step with a number that is not
//! finite is refused, which ends the run. During each step, the batch of the next step is drawn.

use super::run::Run;
use crate::error::{Error, Result};
use crate::parallel;
use crate::random::{Purpose, stream};
use crate::replay::window::{Batch, Window};
use crate::run::event::Event;
use crate::run::files::refused::Refused;
use crate::run::metrics::lines::{Line, TrainLine};
use crate::run::metrics::stopwatch::PartTimer;
use crate::train::loss::Losses;
use crate::train::schedule::learning_rate;
use crate::train::{Refusal, Trainer};

/// The approximate number of training lines of a generation in `metrics.jsonl`.
const LOSS_LINES: usize = 20;

impl Run<'_> {
    /// Trains on the window, with a number of steps that follows from the number of new positions.
    pub(super) fn train(
        &mut self,
        trainer: &mut Trainer,
        window: &Window,
        number: usize,
        new_positions: usize,
    ) -> Result<()> {
        let settings = &self.config.train;
        if window.is_empty() {
            return Err(Error::Data("self-play wrote no position to train on".into()));
        }
        let samples = new_positions as f64 * settings.samples_per_position as f64;
        let steps = ((samples / settings.batch as f64).round() as usize).max(1);
        let every = steps.div_ceil(LOSS_LINES);
        let watch = PartTimer::start();
        let mut mean = Mean::default();
        let draw = |step: usize| {
            let mut random = stream(self.config.seed, Purpose::Sampling, &[step as u64]);
            window.draw(settings.batch, settings.search_value_share, &mut random)
        };
        let mut batch = draw(trainer.step);
        for step in 0..steps {
            if self.observer.interrupted() {
                return Err(Error::Interrupted);
            }
            self.observer.event(Event::Step { done: step, steps });
            let progress = (number as f64 - 1.0 + step as f64 / steps as f64) / settings.generations as f64;
            let rate = learning_rate(settings, trainer.step, progress);
            let (following, mut losses, mut next) = (trainer.step + 1, None, None);
            parallel::both(&mut || losses = Some(trainer.train(&batch, rate)), &mut || {
                next = (step + 1 < steps).then(|| draw(following));
            });
            let losses = losses.expect("the step has been made");
            mean.add(losses.map_err(|refusal| self.refuse(refusal, &batch, number, trainer.step))?);
            batch = next.unwrap_or(batch);
            if (step + 1) % every == 0 || step + 1 == steps {
                let losses = mean.take();
                self.observer.event(Event::Training { done: step + 1, steps, losses });
                let heads = trainer.heads().map(|head| {
                    (format!("{}_loss", head.name()), f64::from(losses.auxiliary[head as usize]))
                });
                let took = watch.took();
                let line = TrainLine {
                    generation: number,
                    step: trainer.step,
                    learning_rate: rate,
                    policy_loss: Some(losses.policy.into()),
                    policy_floor: Some(losses.policy_floor.into()),
                    value_loss: Some(losses.value.into()),
                    seconds: took.seconds(),
                    cpu_seconds: took.cpu_seconds(),
                    heads: heads.collect(),
                };
                self.metrics.write(&Line::Train(line))?;
            }
        }
        self.observer.event(Event::Step { done: steps, steps });
        Ok(())
    }

    /// Saves the batch of a refused step, and returns an error that says what was wrong and what to do. This
    /// generation's training is not saved, so the newest checkpoint remains the last good one.
    fn refuse(&self, refusal: Refusal, batch: &Batch, generation: usize, step: usize) -> Error {
        let reason = refusal.to_string();
        let refused = Refused { generation, step, seed: self.config.seed, reason, rows: batch.rows() };
        let kept = match refused.write(self.folder, batch) {
            Ok(path) => format!("its batch is in {}", path.display()),
            Err(error) => format!("its batch could not be saved: {error}"),
        };
        let what = match refusal {
            Refusal::Batch => {
                "a training record is at fault, or a plane that the game encodes: check the records with `petteia \
                 records RUN verify`, and a game of your own with `petteia check-game`"
            }
            _ => {
                "the records are intact, and training diverged: start a run, or a fork of this one, with a lower \
                 train.learning_rate or train.clip_norm"
            }
        };
        Error::Data(format!(
            "training step {} of generation {generation} was refused: {refusal}; {kept}, and the newest checkpoint is \
             unchanged; {what}",
            step + 1
        ))
    }
}

/// The mean of losses.
#[derive(Default)]
struct Mean {
    sum: Losses,
    count: usize,
}

impl Mean {
    fn add(&mut self, losses: Losses) {
        self.sum.policy += losses.policy;
        self.sum.policy_floor += losses.policy_floor;
        self.sum.value += losses.value;
        self.sum.auxiliary.iter_mut().zip(losses.auxiliary).for_each(|(sum, loss)| *sum += loss);
        self.count += 1;
    }

    /// Returns the mean, and starts over.
    fn take(&mut self) -> Losses {
        let Mean { sum, count } = std::mem::take(self);
        let n = count.max(1) as f32;
        Losses {
            policy: sum.policy / n,
            policy_floor: sum.policy_floor / n,
            value: sum.value / n,
            auxiliary: sum.auxiliary.map(|sum| sum / n),
        }
    }
}
