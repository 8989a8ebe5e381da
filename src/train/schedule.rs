//! The learning rate: a linear warm-up, then half a cosine over the whole run (Loshchilov and Hutter 2017).
//!
//! The learning rate is a function of (step, progress), not of a counter inside an optimizer, so a resumed run
//! continues exactly.

use crate::config::TrainConfig;

/// Returns the learning rate at optimizer step `step` (from 0) when the fraction `progress` (0..1) of the run is
/// done.
pub fn learning_rate(config: &TrainConfig, step: usize, progress: f64) -> f64 {
    let (high, low) = (config.learning_rate, config.learning_rate_final);
    let cosine = (1.0 + (std::f64::consts::PI * progress.clamp(0.0, 1.0)).cos()) / 2.0;
    let warm = ((step + 1) as f64 / config.warmup_steps.max(1) as f64).min(1.0);
    (low + (high - low) * cosine) * warm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warms_up_and_descends() {
        let config = TrainConfig { warmup_steps: 10, ..TrainConfig::default() };
        assert!(learning_rate(&config, 0, 0.0) < config.learning_rate / 9.0);
        assert_eq!(learning_rate(&config, 10, 0.0), config.learning_rate);
        assert!((learning_rate(&config, 999, 1.0) - config.learning_rate_final).abs() < 1e-12);
    }
}
