//! Measures what a generation has learned: its [`Health`], and signs that something is wrong.

use super::run::Run;
use crate::error::Result;
use crate::replay::window::Window;
use crate::run::metrics::health::Health;
use crate::run::metrics::lines::{HealthLine, Line};
use crate::run::metrics::signs;
use crate::run::metrics::stopwatch::PartTimer;
use crate::train::Trainer;
use crate::train::quality::Quality;

/// The largest number of positions that are measured.
const POSITIONS: usize = 2048;
/// The number of positions in a batch.
const BATCH: usize = 256;

/// Measures how well the network predicts the window's newest positions before it is trained on them. `None` if the
/// network was never trained, or if there are no positions. Positions that cannot be measured also give `None`, because
/// the training steps will refuse them.
pub(super) fn fresh(trainer: &Trainer, window: &Window, positions: usize) -> Option<Quality> {
    let first = window.len().saturating_sub(positions);
    (trainer.step > 0 && positions > 0).then(|| quality(trainer, window, first).ok()).flatten()
}

/// Measures how well the network predicts the window's positions from number `first` on: at most [`POSITIONS`] of them,
/// evenly spread.
fn quality(trainer: &Trainer, window: &Window, first: usize) -> Result<Quality> {
    let all = window.len() - first;
    let count = all.min(POSITIONS);
    let picked: Vec<usize> = (0..count).map(|index| first + index * all / count).collect();
    trainer.quality(picked.chunks(BATCH).map(|picked| window.rows(picked)))
}

impl Run<'_> {
    /// Measures what a generation has learned, and returns signs that something is wrong.
    pub(super) fn examine(
        &mut self,
        trainer: &Trainer,
        window: &Window,
        number: usize,
        fresh: Option<Quality>,
    ) -> Result<Vec<String>> {
        let watch = PartTimer::start();
        let games = self.metrics.history().last_selfplay.clone().unwrap_or_default();
        let played = games.played();
        let share = |count: f64| count / played.games.max(1) as f64;
        let (dead, channels) = trainer.snapshot().weights().dead_channels();
        let health = Health {
            generation: number,
            fresh,
            seen: quality(trainer, window, 0)?,
            held_out: (!self.held_out.is_empty()).then(|| quality(trainer, &self.held_out, 0)).transpose()?,
            surprise: fresh.map(|fresh| fresh.surprise()),
            duplicates: 1.0 - window.distinct() as f64 / window.len() as f64,
            dead_channels: dead as f64 / channels.max(1) as f64,
            length: share(played.plies as f64),
            first_score: share(played.first as f64 + 0.5 * played.draw as f64),
            draws: share(played.draw as f64),
            endings: games.endings,
        };
        let signs = signs::new_ones(&self.metrics.learning().with(health.clone()));
        let took = watch.took();
        let (seconds, cpu_seconds) = (took.seconds(), took.cpu_seconds());
        let line = HealthLine { health, signs: signs.clone(), seconds, cpu_seconds };
        self.metrics.write(&Line::Health(Box::new(line)))?;
        Ok(signs)
    }
}
