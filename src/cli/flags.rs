//! Flags that several commands share. Also adds the names of flags to errors of the library, which knows only
//! [`Input`]s.

use clap::{Args, ValueEnum};

use super::note;
use crate::config::DeviceKind;
use crate::error::{Error, Input, Result};
use crate::net::device::Processor;

/// Adds the name of the flag to an error about its value.
pub(super) fn named(error: Error) -> Error {
    let Error::About { input, error } = error else { return error };
    let prefixed = |flag: &str| format!("{flag} {error}");
    let followed = |hint: &str| format!("{error}{hint}");
    let text = match input {
        Input::Setting => prefixed("--set"),
        Input::EngineLimit => prefixed("--go"),
        Input::EngineTimeout => prefixed("--engine-timeout"),
        Input::RunFolder => followed(" with --run DIR"),
        Input::RunSettings => followed(
            " with --run DIR; --run without a CONFIG resumes the run unchanged, and --fork continues a copy with other \
             settings",
        ),
        Input::RunLength(generations) => followed(&format!(
            " with --run DIR; --run without a CONFIG resumes the run unchanged, and --generations {generations} \
             (instead of --set train.generations={generations}) extends it"
        )),
        Input::RunDevice => followed("; to use it for an existing run, continue a copy (--fork)"),
        Input::MatchFile => followed(" with --save FILE"),
        Input::GameOptions => followed("; set options with --set game.NAME=VALUE"),
        Input::AcceptMissing => followed(
            "; `petteia inspect RUN --repair` rebuilds what it can, and --accept-missing accepts the loss of the rest",
        ),
        Input::Threads => followed(" (--threads N)"),
    };
    error.reworded(text)
}

/// `--device`: the device that evaluates networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DeviceArg {
    Cpu,
    Cuda,
    Vulkan,
    Auto,
}

impl DeviceArg {
    /// Returns the same device as a setting.
    pub(super) fn kind(self) -> DeviceKind {
        match self {
            DeviceArg::Cpu => DeviceKind::Cpu,
            DeviceArg::Cuda => DeviceKind::Cuda,
            DeviceArg::Vulkan => DeviceKind::Vulkan,
            DeviceArg::Auto => DeviceKind::Auto,
        }
    }
}

/// The device that evaluates the networks of agents.
#[derive(Args, Clone, Debug)]
pub(super) struct Device {
    /// Device that evaluates networks: cpu, cuda (an NVIDIA GPU), vulkan (any GPU, in a build with Vulkan), or auto
    /// (cuda if the machine has an NVIDIA GPU, otherwise cpu)
    #[arg(long, value_name = "DEVICE", value_enum, hide_possible_values = true, hide_default_value = true)]
    #[arg(default_value_t = DeviceArg::Cpu)]
    device: DeviceArg,
}

impl Device {
    /// Finds the device. If `auto` selects the CPU, the reason is printed on standard error.
    pub(super) fn processor(&self) -> Result<Processor> {
        let (processor, remark) = Processor::of(self.device.kind())?;
        if let Some(remark) = remark {
            note(remark);
        }
        Ok(processor)
    }
}
