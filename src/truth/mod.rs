//! Positions whose value is known, and how often an agent errs in them.
//!
//! [`set`] reads and writes files of such positions, [`endgames`] makes such a file with a solver, and [`accuracy`]
//! measures an agent.

pub mod accuracy;
pub mod endgames;
pub mod set;
