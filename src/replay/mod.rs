//! From games to training rows: [`record`] is one game, [`store`] keeps records in checksummed shards,
//! [`sample`] makes positions of them, [`window`] is what training draws from.

pub mod record;
pub mod sample;
pub mod store;
pub mod window;
