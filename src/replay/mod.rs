//! From games to training rows: [`record`] is one game, [`ended`] describes how it ended if not by the rules,
//! [`played`] makes records of games from elsewhere, [`place`] determines where a record belongs, [`store`] keeps
//! records in checksummed shards, [`sample`] turns records into positions, `returns` computes their value targets,
//! [`auxiliary`] computes the targets of auxiliary heads, and training draws from the [`window`].

pub mod auxiliary;
pub mod ended;
pub mod place;
pub mod played;
pub mod record;
pub(crate) mod returns;
pub mod sample;
mod shards;
pub mod store;
pub mod window;
