//! From games to training rows: [`record`] is one game, [`place`] says where it belongs, [`store`] keeps records in
//! checksummed shards, [`sample`] turns records into positions, [`returns`] says what they are worth, [`auxiliary`]
//! what else is taught about them, and [`window`] is what training draws from.

pub mod auxiliary;
pub mod place;
pub mod record;
pub mod returns;
pub mod sample;
pub mod store;
pub mod window;
