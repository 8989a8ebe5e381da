//! The policy/value network: encoded planes in, policy logits and win, draw, loss out.
//!
//! [`model`] is the burn module that training changes; [`weights`] its folded numbers; [`cpu`] the fused
//! forward pass that self-play uses; [`evaluator`] joins a network to the search.

pub mod cpu;
pub mod evaluator;
pub mod model;
pub mod weights;
