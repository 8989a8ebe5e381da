//! What people do with an existing run: check it, repair it, extend it, copy it, or begin another run from it.
//!
//! Nothing here trains. Games are played only to rebuild lost shards ([`repair`](mod@repair)).

pub mod audit;
pub(super) mod inherit;
pub mod copy;
pub mod extend;
pub mod fork;
#[cfg(feature = "train")]
pub mod start;
pub mod repair;
