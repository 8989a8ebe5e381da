//! The device on which a run's network plays if its settings leave the choice to the program.

use std::path::Path;

use crate::config::{Config, DeviceKind};
use crate::error::Result;
use crate::net::device::Processor;
use crate::run::files::folder::has_run;
use crate::run::files::settings::settings_of;

/// Replaces `net.device = "auto"` in `config` by a name: the device of the run in `folder` or, for a new run, a GPU if
/// there is one. Without a GPU, the device is the CPU, and the returned sentence says why. A run keeps its device,
/// because its bytes depend on it.
///
/// # Errors
/// If the settings of the run in `folder` cannot be read.
pub(crate) fn with_named_device(config: &Config, folder: &Path) -> Result<(Config, Option<String>)> {
    let mut config = config.clone();
    if config.net.device != DeviceKind::Auto {
        return Ok((config, None));
    }
    if has_run(folder)? {
        config.net.device = settings_of(folder)?.net.device;
        return Ok((config, None));
    }
    let (processor, warning) = Processor::of(DeviceKind::Auto)?;
    config.net.device = processor.kind();
    Ok((config, warning))
}
