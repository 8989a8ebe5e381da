//! The plan of a run: settings that follow from the game (`suited`) and from the machine (`device`, `precision`), and
//! the games of a generation (`assignment`). Nothing here writes to the folder of a run.

pub(super) mod suited;
#[cfg(feature = "train")]
pub(super) mod device;
#[cfg(feature = "train")]
pub(super) mod precision;
pub(super) mod assignment;
