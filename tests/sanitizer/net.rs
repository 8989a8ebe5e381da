//! `petteia::net`, as far as the forward pass needs it.

#[path = "../../src/net/auxiliary.rs"]
pub mod auxiliary;
#[path = "../../src/net/infer/mod.rs"]
pub mod infer;
#[path = "../../src/net/kernels/mod.rs"]
mod kernels;
#[path = "../../src/net/layers.rs"]
pub mod layers;
#[path = "../../src/net/weights.rs"]
pub mod weights;
