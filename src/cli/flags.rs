//! Flags that several commands share, and the names of flags in errors of the library, which knows only [`Input`]s.

use clap::{Args, ValueEnum};

use super::note;
use crate::config::DeviceKind;
use crate::error::{Error, Input, Result};
use crate::net::device::Processor;

/// Adds to an error the name of the flag that it is about.
pub fn named(error: Error) -> Error {
    let Error::About { input, error } = error else { return error };
    let prefixed = |flag: &str| format!("{flag} {error}");
    let followed = |hint: &str| format!("{error}{hint}");
    let text = match input {
        Input::Setting => prefixed("--set"),
        Input::EngineLimit => prefixed("--go"),
        Input::EngineTimeout => prefixed("--engine-timeout"),
        Input::RunFolder => followed(" with --run DIR"),
        Input::RunSettings => followed(
            " with --run DIR; --run without a CONFIG resumes it as it is, and --fork continues a copy with other settings",
        ),
        Input::RunLength(generations) => followed(&format!(
            " with --run DIR; --run without a CONFIG resumes it as it is, and --generations {generations} (instead of \
             --set train.generations={generations}) extends it"
        )),
        Input::RunDevice => followed(", and a run that exists goes on with it as a copy (--fork)"),
        Input::MatchFile => followed(" with --save FILE"),
        Input::GameOptions => followed("; set options with --set game.NAME=VALUE"),
        Input::AcceptMissing => followed(
            "; `petteia inspect RUN --repair` rebuilds what can be rebuilt, and --accept-missing accepts the rest",
        ),
        Input::Threads => followed(" (--threads N)"),
    };
    error.reworded(text)
}

/// `--device`: what computes networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceArg {
    Cpu,
    Cuda,
    Vulkan,
    Auto,
}

impl DeviceArg {
    /// The same device in the settings.
    pub fn kind(self) -> DeviceKind {
        match self {
            DeviceArg::Cpu => DeviceKind::Cpu,
            DeviceArg::Cuda => DeviceKind::Cuda,
            DeviceArg::Vulkan => DeviceKind::Vulkan,
            DeviceArg::Auto => DeviceKind::Auto,
        }
    }
}

/// What computes the networks of agents.
#[derive(Args, Clone, Debug)]
pub struct Device {
    /// What computes networks: cpu, cuda (an NVIDIA GPU), vulkan (any GPU, in a build for it), or auto (cuda or cpu)
    #[arg(long, value_name = "DEVICE", value_enum, hide_possible_values = true, hide_default_value = true)]
    #[arg(default_value_t = DeviceArg::Cpu)]
    device: DeviceArg,
}

impl Device {
    /// Finds the device. If `auto` selects the CPU, the reason is printed on standard error.
    pub fn processor(&self) -> Result<Processor> {
        let (processor, said) = Processor::of(self.device.kind())?;
        if let Some(said) = said {
            note(said);
        }
        Ok(processor)
    }
}
