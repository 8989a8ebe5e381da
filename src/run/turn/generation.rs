//! The algorithm that makes one generation of a run in training.

use super::examine;
use super::run::Run;
use crate::checkpoint::{self, TrainingData};
use crate::error::Result;
use crate::replay::place;
use crate::replay::window::Window;
use crate::run::event::Event;
use crate::train::Trainer;

impl Run<'_> {
    /// Makes one generation: self-play, training, checkpoint, and judgment.
    pub(super) fn turn(&mut self, trainer: &mut Trainer, window: &mut Window, number: usize) -> Result<()> {
        let before = trainer.step;
        window.set_capacity(place::window_of(self.config, number));
        let new_positions = self.play(trainer, window, number)?;
        let fresh = examine::fresh(trainer, window, new_positions);
        if self.config.replay.merge {
            self.train(trainer, &window.merged(), number, new_positions)?
        } else {
            self.train(trainer, window, number, new_positions)?
        }
        let signs = self.examine(trainer, window, number, fresh)?;
        let data = self.data(window, number, new_positions, trainer.step - before);
        self.held.check()?;
        // everything that a checkpoint refers to must be on disk first
        self.metrics.sync()?;
        let saved = checkpoint::save(self.folder, self.config, &self.rules.identity, number, trainer, data)?;
        let cpu_seconds = self.metrics.history().cpu_seconds_of(number);
        self.observer.event(Event::Took { cpu_seconds });
        self.observer.event(Event::Saved(saved.path.clone()));
        signs.into_iter().for_each(|sign| self.observer.event(Event::Sign(sign)));
        self.metrics.publish()?;
        self.sweep(number)?;
        self.judge(&saved)?;
        self.metrics.publish()
    }

    /// Describes the training data of generation `number` for its checkpoint.
    fn data(
        &mut self,
        window: &Window,
        number: usize,
        new_positions: usize,
        new_steps: usize,
    ) -> TrainingData {
        let own = self.shards.iter().filter(|shard| shard.generation == number).count();
        let kept = window.shards().max(own).min(self.shards.len());
        self.shards.drain(..self.shards.len() - kept);
        let is_listed = |path: &String| self.shards.iter().any(|shard| path.ends_with(&shard.name));
        TrainingData {
            shards: self.shards.clone(),
            window_shards: window.shards(),
            window_positions: window.len(),
            new_positions,
            new_steps,
            given_up: self.given_up.iter().filter(|path| !is_listed(path)).cloned().collect(),
            lineage: self.lineage.chapters().to_vec(),
        }
    }
}
