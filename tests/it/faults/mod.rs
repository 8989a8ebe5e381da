//! Faults from outside the program: failing disks, kills, damaged and hostile files, mutated input, engines that
//! misbehave.
//!
//! Each module causes one kind of fault and says what must hold. By default, the faults are a sample, spread evenly
//! from a fixed seed; with `PETTEIA_DEEP` in the environment (`scripts/check.sh --deep`), all faults are caused, or a
//! much larger sample. If something cannot be tested on a machine, it is skipped with a
//! message (`--nocapture` shows it).
#![cfg(unix)]

mod damage;
mod dialogues;
mod engines;
mod hostile;
mod kills;
mod mutation;
mod operations;
mod places;
mod positions;
mod scene;
mod settings;
mod shim;
mod strange;
mod streams;
