//! `petteia::net`, as far as the forward pass goes.

#[path = "../../src/net/auxiliary.rs"]
pub mod auxiliary;
#[path = "../../src/net/cpu/mod.rs"]
pub mod cpu;
#[path = "../../src/net/layers.rs"]
pub mod layers;
#[path = "../../src/net/ranges.rs"]
pub mod ranges;
#[path = "../../src/net/tiles/mod.rs"]
mod tiles;
#[path = "../../src/net/vector.rs"]
mod vector;
#[path = "../../src/net/weights.rs"]
pub mod weights;
