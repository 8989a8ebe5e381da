//! The policy/value network: encoded planes in, policy logits and win, draw, loss out.
//!
//! [`model`] is the burn module that training changes; [`tensors`] checks a file of its weights; [`weights`] are its folded numbers; [`cpu`] the fused
//! forward pass that self-play uses; [`evaluator`] joins a network to the search. Training goes through
//! burn too, but `autodiff` gives it one operation for its convolutions, which `conv`
//! (through `winograd`) and `norm` compute; `vector` is what all kernels are written in.

mod autodiff;
mod conv;
pub mod cpu;
pub mod evaluator;
pub mod model;
mod norm;
pub mod tensors;
mod vector;
pub mod weights;
mod winograd;
