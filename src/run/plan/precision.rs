//! The precisions of a run: the meaning of `"auto"`, whether this CPU supports them, and whether f32 would be faster.
//!
//! Input: the rules and the settings. Output: settings that name their precisions, or sentences for people. A
//! measurement takes a few milliseconds of CPU time.

use std::path::Path;

use crate::any::{AnyGame, Opened};
use crate::config::{Config, DeviceKind, EvaluatorKind, Precision, TrainDevice};
use crate::error::{Error, Result};
use crate::game::Game;
use crate::net::infer::CpuNet;
use crate::net::model;
use crate::net::network::Network;
use crate::net::precision::{fastest, times_of_f32};
use crate::run::files::folder::has_run;
use crate::run::files::settings::settings_of;

/// The approximate number of positions that self-play evaluates in one batch.
const TOGETHER: usize = 64;
/// The factor by which a precision must be slower than f32 to be worth a warning.
const SLOW: f64 = 1.15;

/// Replaces `net.precision = "auto"` and `train.precision = "auto"` in `config` by names: the precisions of the run in
/// `folder` or, for a new run, the fastest ones on this CPU for a network of this size. A run keeps its precisions,
/// because its bytes depend on them.
///
/// # Errors
/// If the settings of the run in `folder` cannot be read.
pub(crate) fn resolve_precision(rules: &Opened, config: &Config, folder: &Path) -> Result<Config> {
    let mut config = config.clone();
    let [net, training] =
        [config.net.precision, config.train.precision].map(|named| named == Precision::Auto);
    if (net || training) && has_run(folder)? {
        let run = settings_of(folder)?;
        if net {
            config.net.precision = run.net.precision;
        }
        if training {
            config.train.precision = run.train.precision;
        }
        return Ok(config);
    }
    if net {
        let network = Network::new(&config.net, rules.game.shape(), config.seed);
        config.net.precision = fastest(&rules.game, &network, &config.net, TOGETHER);
    }
    if training {
        config.train.precision = match config.train.device {
            TrainDevice::Cpu => model::fastest_training(config.net.filters, rules.game.shape()),
            TrainDevice::Vulkan => Precision::F32,
        };
    }
    Ok(config)
}

/// Rejects precisions that this CPU does not support.
pub(in crate::run) fn check(config: &Config) -> Result<()> {
    let lacks = |setting: &str, instructions: &str| {
        Error::Config(format!(
            "{setting} = \"bf16\" needs a CPU with {instructions} instructions, which this one lacks: \
             start a run with \"f32\" (a run started in bf16 can only be resumed on a CPU that has them)"
        ))
    };
    if !CpuNet::has(config.net.precision) {
        return Err(lacks("net.precision", "AVX-512 BF16"));
    }
    if !model::trains_in(config.train.precision) {
        return Err(lacks("train.precision", "AMX or AVX-512 BF16"));
    }
    Ok(())
}

/// Returns a sentence for each setting that asks for bf16 although f32 is faster on this CPU. Some CPUs have bf16
/// instructions, but take twice as long with them.
pub(in crate::run) fn slower_than_f32(game: &AnyGame, config: &Config) -> Vec<String> {
    let plays = config.net.precision == Precision::Bf16
        && config.net.evaluator == EvaluatorKind::Fused
        && config.net.device == DeviceKind::Cpu;
    let learns = config.train.precision == Precision::Bf16 && config.train.device == TrainDevice::Cpu;
    let network = || Network::new(&config.net, game.shape(), config.seed);
    let play =
        plays.then(|| times_of_f32(game, &network(), &config.net, Precision::Bf16, TOGETHER)).flatten();
    let learn = learns.then(|| model::training_times_of_f32(config.net.filters, game.shape())).flatten();
    [("net.precision", play), ("train.precision", learn)]
        .into_iter()
        .filter_map(|(setting, times)| warning(setting, times?))
        .collect()
}

/// Returns a warning about a setting for which bf16 takes `times` times as long as f32; `None` if that is not much
/// longer.
fn warning(setting: &str, times: f64) -> Option<String> {
    (times > SLOW).then(|| {
        format!(
            "{setting} = \"bf16\" takes {times:.1} times as long as \"f32\" on this CPU; \
             \"auto\" lets a new run choose the faster one"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_clearly_slower_is_said() {
        assert_eq!(warning("net.precision", 0.5), None);
        assert_eq!(warning("net.precision", 1.1), None);
        let text = warning("net.precision", 2.13).expect("twice the time");
        assert!(text.starts_with("net.precision = \"bf16\" takes 2.1 times as long as \"f32\""), "{text}");
    }
}
