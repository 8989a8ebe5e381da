//! The policy/value network: encoded planes in, policy logits and win, draw, loss out.
//!
//! Three parts:
//! - the network as burn knows it: [`model`] is the module that training changes, [`tensors`] checks a file of its
//!   weights, [`weights`] are its folded numbers;
//! - `training`, the kernels of its forward and backward pass while it learns: one operation for burn's autodiff;
//! - [`cpu`], inference on a CPU: the fused forward pass that self-play and agents use.
//!
//! [`evaluator`] joins a network to the search; `vector` is what the kernels of both are written in.

pub mod cpu;
pub mod evaluator;
pub mod model;
pub mod tensors;
mod training;
mod vector;
pub mod weights;
