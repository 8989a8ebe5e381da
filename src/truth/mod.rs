//! Positions whose value is known, and how often an agent errs in them.
//!
//! [`set`] is a file of such positions, [`endgames`] makes one with a solver, and [`accuracy`] measures an agent.

pub mod accuracy;
pub mod endgames;
pub mod set;
