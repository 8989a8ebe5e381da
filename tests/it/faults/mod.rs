//! What breaks a program from outside: failing disks, kills, damaged and hostile files, mutated input, engines that
//! misbehave.
//!
//! Each module brings back one kind of fault and says what must hold. By default the faults are a sample, spread evenly
//! from a fixed seed; with `PETTEIA_DEEP` in the environment (`scripts/check.sh --deep`) they are all of them, or as
//! many as the program was once searched with. What cannot be tried on a machine is skipped, in words (`--nocapture`
//! shows them).
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
