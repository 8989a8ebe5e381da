//! What a run is to do, before it does it: settings that follow from the game (`suited`) and from the machine (`device`,
//! `precision`), and what is played in a generation (`assignment`). Nothing here writes to the folder of a run.

pub(super) mod suited;
#[cfg(feature = "train")]
pub(super) mod device;
#[cfg(feature = "train")]
pub(super) mod precision;
pub(super) mod assignment;
