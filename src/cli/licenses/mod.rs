//! `petteia licenses`: prints the notices of everything that is linked into the program. Anyone who distributes a
//! program or a bot must distribute the notices with it.
//!
//! `scripts/release/licenses.py` makes the texts; `licenses.py --check` reports whether the dependencies have changed
//! since then.

use std::borrow::Cow;

use clap::Args;

use super::print;
use crate::error::Result;
use crate::program::Program;

const MIT: &str = include_str!("../../../LICENSE-MIT");
/// Notices of the code that is linked into every program.
const LINKED: &str = include_str!("linked.txt");
/// Notices of the code that the feature `cloud` adds.
#[cfg(feature = "cloud")]
const CLOUD: &str = include_str!("cloud.txt");
/// Notices of the code that the feature `vulkan` adds.
#[cfg(feature = "vulkan")]
const VULKAN: &str = include_str!("vulkan.txt");

/// Print the licenses of Petteia and of everything linked into this program.
///
/// A bot prints its licenses with `--licenses`.
#[derive(Args)]
#[command(after_help = "\
Example:
  petteia licenses > LICENSES.txt")]
pub(super) struct Licenses {}

impl Licenses {
    /// Prints the licenses.
    pub(super) fn run(self) -> Result<()> {
        notices()
    }
}

/// Prints the notices of the running program.
pub(super) fn notices() -> Result<()> {
    let program = Program::current();
    let own: Cow<str> = if program.is_petteia() {
        format!("{program} may be used under the MIT license or the Apache License 2.0.").into()
    } else {
        format!(
            "{program} is built with Petteia, which may be used under the MIT license or the Apache License 2.0.\n\
             The licenses of {} itself, and of packages that only it uses, are stated by its makers.",
            program.name
        )
        .into()
    };
    print(format_args!("{own}\n\n{MIT}"))?;
    let parts = [
        LINKED,
        #[cfg(feature = "cloud")]
        CLOUD,
        #[cfg(feature = "vulkan")]
        VULKAN,
    ];
    print(parts.join("\n").trim_end())
}
